"""The Magic Formula wheel and what acts on a car from outside, once more and plainly, from their definitions.

The formula itself is the package's (it has tests of its own,
``tests/unit/vehicle/magic_formula/test_formula.py``); contact, slip speeds, carcass, brake, air, straps and
chocks are written down here again, in numpy and inertial axes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mastd.arrays import FloatArray
from mastd.roads.ground import Ground, GroundKind
from mastd.vehicle.magic_formula import formula
from mastd.vehicle.magic_formula.tyre import MagicTyre
from mastd.vehicle.model.definition import Model
from mastd.vehicle.state.motion import State
from mastd.vehicle.tyres.linear_tyre import Tyre
from tests.support.vehicle.oracle import Motion, Oracle, cross, inputs_of, under


def turn_of(ground: Ground | None) -> FloatArray:
    """Return the ground's angular velocity (3)."""
    if ground is None or ground.kind is not GroundKind.PLANE:
        return np.zeros(3)
    return np.array(ground.values[24:27])


@dataclass(frozen=True)
class Carcass:
    """What a tyre keeps during a step."""

    u: float
    v: float
    slip_x: float
    slip_y: float
    length_x: float
    """du/dκ′, m."""
    length_y: float
    sliding: float
    load: float
    """That they are of, N."""


def carcass(c: FloatArray, load: float, u: float, v: float, least: float = 1.0) -> Carcass:
    """Return the slips that deflections (m) mean under a load (N)."""
    load = max(load, least)
    k_x, k_y = formula.slip_stiffness(c, load, 0.0)
    mu_x, mu_y = formula.peak_friction(c, load, 0.0)
    s_x, s_y = formula.relaxation_lengths(c, load, 0.0)

    def share(u: float, v: float) -> float:
        return float(np.hypot(k_x * u / (s_x * mu_x * load), k_y * v / (s_y * mu_y * load)))

    def slips(u: float, v: float) -> tuple[float, float]:
        growth = 1.0 + (share(u, v) / 0.73) ** 4
        return u * growth / s_x, v * growth / s_y

    kept = min(1.0, 2.0 / max(share(u, v), 1e-9))
    u, v = kept * u, kept * v
    slip_x, slip_y = slips(u, v)
    by_u = _slope(lambda change: slips(u + change, v)[0])
    by_v = _slope(lambda change: slips(u, v + change)[1])
    linear = share(u, v) * (1.0 + (share(u, v) / 0.73) ** 4)
    part = float(np.clip((linear - 0.7) / 0.5, 0.0, 1.0))
    return Carcass(u, v, slip_x, slip_y, 1.0 / by_u, 1.0 / by_v, part * part * (3.0 - 2.0 * part), load)


def _slope(function: Callable[[float], float], size: float = 1e-7) -> float:
    """Return a derivative at 0 by differences of the fourth order."""
    near, far = (function(k * size) - function(-k * size) for k in (1, 2))
    return (8.0 * near - far) / (12.0 * size)


@dataclass(frozen=True)
class Place:
    """How a wheel stands and moves over the ground."""

    centre: FloatArray
    axis: FloatArray
    along: FloatArray
    across: FloatArray
    normal: FloatArray
    radial: FloatArray
    camber: float
    radius: float
    load: float
    forward: float
    """V_x, m/s, then V_sx, V_sy, V_r, ψ̇."""
    slip_x: float
    slip_y: float
    rolling: float
    heading: float


def place(motion: Motion, index: int, ground: Ground | None) -> Place:
    """Return a wheel's contact and slip speeds."""
    wheel = motion.model.wheels[index]
    tyre = wheel.tyre
    assert isinstance(tyre, MagicTyre)
    c = tyre.coefficients
    centre, axis = motion.point(wheel.carrier, wheel.centre), motion.axis(wheel.carrier, wheel.axis).value
    height, gradient, velocity = under(ground, centre.value[0], centre.value[1])
    normal = np.array([-gradient[0], -gradient[1], 1.0])
    normal /= np.linalg.norm(normal)
    gamma = float(np.arcsin(axis @ normal))
    along = cross(axis, normal) / np.cos(gamma)
    across = cross(normal, along)
    radial = (normal - axis * np.sin(gamma)) / np.cos(gamma)
    foot = np.array([centre.value[0], centre.value[1], height])
    distance = float(normal @ (centre.value - foot))
    if ground is not None and ground.kind is not GroundKind.PLANE:
        # A wheel at R₀ above what it feels just touches, and sinks along the normal.
        distance += tyre.free_radius * (1.0 - normal[2])
    radius = distance / np.cos(gamma)
    turn = turn_of(ground)
    seen = centre.rate - velocity - cross(turn, centre.value - foot)
    load = float(formula.normal_load(c, tyre.free_radius - radius, -float(normal @ seen) / np.cos(gamma)))
    omega = motion.omega[wheel.carrier] - turn
    spin, pitch = float(motion.state.spin[index]), float(motion.omega[wheel.carrier] @ axis)
    rolling = (spin - pitch) * float(formula.rolling_radius(c, load))
    forward = float(along @ seen)
    slip_x = forward - float(omega @ axis) * tyre.rolling_radius - rolling
    slip_y = float(across @ (seen - tyre.rolling_radius * cross(omega, radial)))
    return Place(
        centre.value,
        axis,
        along,
        across,
        normal,
        radial,
        gamma,
        radius,
        load,
        forward,
        slip_x,
        slip_y,
        rolling,
        float(omega @ normal),
    )


@dataclass(frozen=True)
class Pull:
    """What a tyre does: force (3) and moment about the wheel centre (3), in inertial axes."""

    load: float
    along: float
    across: float
    force: FloatArray
    moment: FloatArray
    slip: FloatArray
    deflection: FloatArray


def pull(
    tyre: MagicTyre, at: Place, before: Carcass, spin: float, step: float | None, friction: float = 1.0
) -> Pull:
    """Return the tyre's force at the end of a step (s), or in steady motion (None)."""
    stretch_x, stretch_y = -at.slip_x - at.heading * before.v, at.slip_y + at.heading * before.u
    most = max(abs(at.forward), float(np.hypot(stretch_x, stretch_y)) / 1.5)
    forget = min(most, max(before.sliding * most, 2.0 * abs(at.rolling)))
    # The carcass keeps its stiffness as the load grows, so its lengths grow as the slip stiffness does.
    ratio = 1.0 if step is None else max(1.0, at.load / before.load)
    growth = min(1.0 + (ratio - 1.0) ** 2 / ratio, 20.0)
    start = np.array([before.slip_x, before.slip_y]) / growth
    stretch, lengths = np.array([stretch_x, stretch_y]), np.array([before.length_x, before.length_y]) * growth
    deflection = np.array([before.u, before.v])
    if step is None:
        slip = ahead = stretch / max(forget, 1.0)
    else:
        # Linearly implicit: (u₁ − u₀) / h = stretch − L (κ′₀ + (u₁ − u₀) / (du/dκ′))
        change = (stretch - forget * start) / (1.0 / step + forget / lengths)
        deflection = deflection + change
        slip = start + change / lengths
        # (κ′ + τ stretch / (du/dκ′)) / (1 + τ L / (du/dκ′)): a dashpot beside the carcass' spring
        dashpot = 0.01 * 0.5 / (0.5 + forget) * (1.0 - before.sliding)
        ahead = slip + dashpot / (1.0 + dashpot * forget / lengths) * (slip - start) / step
    side = -1.0 if tyre.mirrored else 1.0
    speed = spin * tyre.rolling_radius
    fx, fy, mx, my, mz = 0.0, 0.0, 0.0, 0.0, 0.0
    if at.load > 0.0:
        fx, fy, mx, my, mz = formula.slip_forces(
            tyre.coefficients,
            at.load,
            ahead[0],
            side * ahead[1],
            side * at.camber,
            speed,
            friction,
            speed**2 / (speed**2 + 0.25),
        )
    fy, mx, mz = side * fy, side * mx, side * mz
    # The force along pulls at the radius on which its slip is told.
    my -= fx * (float(formula.rolling_radius(tyre.coefficients, at.load)) - at.radius)
    force = fx * at.along + fy * at.across + at.load * at.normal
    moment = cross(-at.radius * at.radial, force) + mx * at.along + my * at.across + mz * at.normal
    return Pull(at.load, fx, fy, force, moment, slip, deflection)


@dataclass(frozen=True)
class Restraint:
    """Free lengths of the straps and wheel centres at rest in the ground's axes."""

    lengths: FloatArray
    centres: FloatArray


class PlainCar:
    """A car on Magic Formula tyres: the oracle's equations without tyres, and those of this module."""

    def __init__(self, model: Model, restraint: Restraint | None = None) -> None:
        self.model = model
        self._restraint = restraint
        none = [
            replace(
                wheel,
                tyre=Tyre(wheel.tyre.free_radius, wheel.tyre.rolling_radius, 0.0, 0.0, 0.0, 0.0, 1.0),
            )
            for wheel in model.wheels
        ]
        self.oracle = Oracle(replace(model, wheels=tuple(none)))

    def residual(
        self,
        state: State,
        row: FloatArray,
        ground: Ground | None,
        step: float | None = None,
        reach: float = 1e-3,
        loads: FloatArray | None = None,
    ) -> FloatArray:
        """Return M a − f + Gᵀλ; ``loads`` (N) of the beginning of the step."""
        model, motion = self.model, Motion(self.model, state)
        drive, motor, capacity, _, _ = inputs_of(model, row)
        open_row = row.copy()
        first = 3 * len(model.drives) + 2 * len(model.wheels)
        open_row[first : first + len(model.wheels)] = 0.0
        open_row[-9] = 0.0
        found = self.oracle.residual(state, open_row, ground)
        spins = 6 * len(model.bodies)
        for index, wheel in enumerate(model.wheels):
            at = place(motion, index, ground)
            tyre = wheel.tyre
            assert isinstance(tyre, MagicTyre)
            load = at.load if loads is None else loads[index]
            before = carcass(tyre.coefficients, load, *state.deflection[index])
            friction = 1.0 if ground is None else friction_at(ground, at.centre)
            tyre_pull = pull(tyre, at, before, float(state.spin[index]), step, friction)
            axial = float(tyre_pull.moment @ at.axis)
            stopping = float(motion.omega[wheel.carrier] @ at.axis) - state.spin[index]
            wanted = wheel.axial_inertia * (state.spin_acceleration[index] + stopping / reach)
            brake = np.clip(wanted - axial - drive[index] - motor[index], -capacity[index], capacity[index])
            force = tyre_pull.force + self._chock(motion, index, ground)
            rows = slice(6 * wheel.carrier, 6 * wheel.carrier + 6)
            arm = at.centre - state.position[wheel.carrier]
            moment = cross(arm, force) + tyre_pull.moment - (axial + brake) * at.axis
            found[rows] -= np.concatenate([force, moment])
            found[spins + index] -= axial + brake
        found[:6] -= self._air(motion) + self._straps(motion, ground)
        return found

    def _chock(self, motion: Motion, index: int, ground: Ground | None) -> FloatArray:
        chock = next((chock for chock in self.model.chocks if chock.wheel == index), None)
        if chock is None or self._restraint is None:
            return np.zeros(3)
        wheel = self.model.wheels[index]
        centre = motion.point(wheel.carrier, wheel.centre)
        origin, axes = _ground_axes(ground)
        way = axes[:, 0] @ (centre.value - origin - axes @ self._restraint.centres[index])
        _, _, velocity = under(ground, centre.value[0], centre.value[1])
        rate = axes[:, 0] @ (centre.rate - velocity)
        depth = abs(way) - chock.clearance
        if not depth > 0.0:
            return np.zeros(3)
        push = max(0.0, chock.stiffness * depth + chock.damping * np.sign(way) * rate)
        return np.asarray(-np.sign(way) * push * axes[:, 0])

    def _straps(self, motion: Motion, ground: Ground | None) -> FloatArray:
        total = np.zeros(6)
        if self._restraint is None:
            return total
        origin, axes = _ground_axes(ground)
        for strap, length in zip(self.model.tie_downs, self._restraint.lengths, strict=True):
            point = motion.point(0, strap.point)
            anchor = origin + axes @ strap.anchor
            _, _, velocity = under(ground, anchor[0], anchor[1])
            way = anchor - point.value
            distance = float(np.linalg.norm(way))
            tension = strap.stiffness * (distance - length)
            tension += strap.damping * float(way @ (velocity - point.rate)) / distance
            if distance > length and tension > 0.0:
                force = tension * way / distance
                total += np.concatenate([force, cross(point.value - motion.state.position[0], force)])
        return total

    def _air(self, motion: Motion) -> FloatArray:
        air, total = self.model.aerodynamics, np.zeros(6)
        if air is None:
            return total
        velocity = motion.state.velocity[0]
        speed, up = float(np.linalg.norm(velocity)), motion.matrix[0][:, 2]
        for point, force in (
            (air.centre, -0.5 * air.density * air.drag_area * speed * velocity),
            (air.front, 0.5 * air.density * air.front_lift_area * speed**2 * up),
            (air.rear, 0.5 * air.density * air.rear_lift_area * speed**2 * up),
        ):
            arm = motion.matrix[0] @ (point - self.model.bodies[0].centre)
            total += np.concatenate([force, cross(arm, force)])
        return total


def friction_at(ground: Ground, point: FloatArray) -> float:
    """Return the ground's factor on the friction below a point."""
    left, right, start, end = ground.values[1:5]
    origin, axes = _ground_axes(ground)
    height, _, _ = under(ground, point[0], point[1])
    x, y, _ = axes.T @ (np.array([point[0], point[1], height]) - origin)
    if not start <= x < end:
        return 1.0
    return float(left if y >= 0.0 else right)


def _ground_axes(ground: Ground | None) -> tuple[FloatArray, FloatArray]:
    if ground is None or ground.kind is not GroundKind.PLANE:
        return np.zeros(3), np.eye(3)
    return np.array(ground.values[9:12]), np.array(ground.values[12:21]).reshape(3, 3)
