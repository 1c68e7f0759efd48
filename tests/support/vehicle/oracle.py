"""An independent calculation of the vehicle's equations: slow, plain, straight from the definitions.

It shares nothing with the package but its data: ``Model``, ``State``, the rows of inputs and the grounds'
entries. Every constraint is differentiated by the product rule from the motion of its points, every force is
put on its bodies point by point, and all matrices are central differences. ``Oracle`` has the interface of
``mastd.vehicle.equilibrium.dense_equations.System``.

Variations: per body displacement (3) and rotation δπ (3), both in inertial axes, then the wheels' spins. The
velocity's variation is that of the velocity and of the angular velocity in inertial axes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.spatial.transform import Rotation

from mastd.arrays import FloatArray
from mastd.roads.ground import Ground, GroundKind
from mastd.vehicle.elements.anti_roll_bar.element import AntiRollBar
from mastd.vehicle.elements.spring_damper.element import SpringDamper
from mastd.vehicle.elements.spring_damper.stop import Stop
from mastd.vehicle.joints.primitive import Primitive, PrimitiveKind
from mastd.vehicle.model.definition import Model
from mastd.vehicle.state.motion import State
from mastd.vehicle.tyres.linear_tyre import Tyre

UP = np.array([0.0, 0.0, 1.0])
REACH = 1e-3
"""s in which a friction brake stops a wheel, where no step says otherwise."""


def inputs_of(
    model: Model, row: FloatArray | None
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return drive torques, motor torques, capacities of the brakes (nw), force and moment (3) on the
    chassis, of a row of inputs."""
    wheels = len(model.wheels)
    if row is None:
        return np.zeros(wheels), np.zeros(wheels), np.zeros(wheels), np.zeros(3), np.zeros(3)
    drive, motor, capacity = row[3 * len(model.drives) : -10].reshape(3, wheels)
    pedal = row[-9]
    return (
        drive,
        motor,
        capacity + pedal * np.array([wheel.brake_torque for wheel in model.wheels]),
        row[-6:-3],
        row[-3:],
    )


def under(ground: Ground | None, x: float, y: float) -> tuple[float, FloatArray, FloatArray]:
    """Return height, gradient (2) and velocity (3) of the ground at (x, y), from its table of entries."""
    still = 0.0, np.zeros(2), np.zeros(3)
    if ground is None or ground.kind is GroundKind.FLAT:
        return still
    entries = np.array(ground.values)
    if ground.kind is GroundKind.BUMP:
        start, length, height, side = entries[9:13]
        phase = math.pi * (x - start) / length
        if not 0.0 < phase < math.pi or side * y < 0.0:
            return still
        slope = height * math.pi / length * math.cos(phase)
        return height * math.sin(phase), np.array([slope, 0.0]), np.zeros(3)
    point, normal = entries[9:12], entries[12:21].reshape(3, 3)[:, 2]
    velocity, rate = entries[21:27].reshape(2, 3)
    # normal · (r − point) = 0
    gradient = -normal[:2] / normal[2]
    height = point[2] + float(gradient @ (np.array([x, y]) - point[:2]))
    return height, gradient, velocity + cross(rate, np.array([x, y, height]) - point)


def cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return a × b; numpy's own takes twenty times as long for one pair."""
    (ax, ay, az), (bx, by, bz) = a.tolist(), b.tolist()
    return np.array([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])


@dataclass
class Moving:
    """A vector and its first two derivatives, in inertial axes."""

    value: FloatArray
    rate: FloatArray
    second: FloatArray

    def __sub__(self, other: Moving) -> Moving:
        return Moving(self.value - other.value, self.rate - other.rate, self.second - other.second)

    def dot(self, other: Moving) -> FloatArray:
        """Return [a·b, its rate, its second derivative] by the product rule."""
        return np.array(
            [
                self.value @ other.value,
                self.rate @ other.value + self.value @ other.rate,
                self.second @ other.value + 2.0 * self.rate @ other.rate + self.value @ other.second,
            ]
        )


class Motion:
    """All bodies' motion in inertial axes."""

    def __init__(self, model: Model, state: State) -> None:
        quaternions = np.roll(state.attitude, -1, axis=1)
        self.model = model
        self.state = state
        self.matrix: FloatArray = Rotation.from_quat(quaternions).as_matrix()
        self.omega = np.einsum("bij,bj->bi", self.matrix, state.angular_velocity)
        self.alpha = np.einsum("bij,bj->bi", self.matrix, state.angular_acceleration)

    def axis(self, body: int, direction: FloatArray) -> Moving:
        """Return a vector fixed in a body, given in design axes."""
        value = self.matrix[body] @ direction
        omega, alpha = self.omega[body], self.alpha[body]
        rate = cross(omega, value)
        return Moving(value, rate, cross(alpha, value) + cross(omega, rate))

    def point(self, body: int, design: FloatArray) -> Moving:
        """Return a point fixed in a body, given at its design position."""
        arm = self.axis(body, design - self.model.bodies[body].centre)
        state = self.state
        return Moving(
            state.position[body] + arm.value,
            state.velocity[body] + arm.rate,
            state.acceleration[body] + arm.second,
        )


def rows_of(model: Model) -> list[slice]:
    """Return the rows of each primitive."""
    ends = np.cumsum([primitive.kind.rows for primitive in model.primitives])
    return [slice(int(end) - p.kind.rows, int(end)) for end, p in zip(ends, model.primitives, strict=True)]


def constraint(motion: Motion, primitive: Primitive, drive: FloatArray) -> FloatArray:
    """Return Φ, Φ̇, Φ̈ of one primitive, (rows, 3)."""
    i, j = primitive.first, primitive.second
    if primitive.kind is PrimitiveKind.DOT_1:
        return motion.axis(i, primitive.axis_first).dot(motion.axis(j, primitive.axis_second))[None, :]
    d = motion.point(j, primitive.point_second) - motion.point(i, primitive.point_first)
    if primitive.kind is PrimitiveKind.SPHERICAL:
        return np.stack([d.value, d.rate, d.second], axis=1)
    if primitive.kind is PrimitiveKind.DOT_2:
        driven = drive[primitive.drive] if primitive.drive >= 0 else np.zeros(3)
        return (motion.axis(i, primitive.axis_first).dot(d) - driven)[None, :]
    squares = d.dot(d) - np.array([primitive.length**2, 0.0, 0.0])
    return np.asarray(squares / (2.0 * primitive.length))[None, :]


class Forces:
    """Forces on bodies in inertial axes, moments about their centres of mass."""

    def __init__(self, motion: Motion) -> None:
        self.motion = motion
        self.total = np.zeros((len(motion.model.bodies), 6))

    def at(self, body: int, point: FloatArray, force: FloatArray) -> None:
        """Put a force on a body at a point in space."""
        self.total[body, :3] += force
        self.total[body, 3:] += cross(point - self.motion.state.position[body], force)

    def moment(self, body: int, moment: FloatArray) -> None:
        """Put a free moment on a body."""
        self.total[body, 3:] += moment

    def between(
        self, first: int, at_first: FloatArray, second: int, at_second: FloatArray, force: FloatArray
    ) -> None:
        """Put a force on the second body and its reaction on the first."""
        self.at(second, at_second, force)
        self.at(first, at_first, -force)


def constraint_forces(motion: Motion, primitive: Primitive, multipliers: FloatArray, forces: Forces) -> None:
    """Add Gᵀλ of one primitive: the generalised force whose virtual power is λ · Φ̇."""
    i, j = primitive.first, primitive.second
    if primitive.kind is PrimitiveKind.DOT_1:
        first = motion.axis(i, primitive.axis_first).value
        second = motion.axis(j, primitive.axis_second).value
        couple = multipliers[0] * cross(first, second)
        forces.moment(i, couple)
        forces.moment(j, -couple)
        return
    at_first, at_second = (
        motion.point(i, primitive.point_first).value,
        motion.point(j, primitive.point_second).value,
    )
    d = at_second - at_first
    if primitive.kind is PrimitiveKind.SPHERICAL:
        forces.between(i, at_first, j, at_second, multipliers)
    elif primitive.kind is PrimitiveKind.DOT_2:
        direction = motion.axis(i, primitive.axis_first).value
        forces.between(i, at_first, j, at_second, multipliers[0] * direction)
        forces.moment(i, multipliers[0] * cross(direction, d))
    else:
        forces.between(i, at_first, j, at_second, multipliers[0] * d / primitive.length)


def stop_force(stop: Stop | None, compression: float) -> float:
    """Return the force of a bump or rebound stop, N."""
    if stop is None or not compression > 0.0:
        return 0.0
    growth = 0.0 if math.isinf(stop.doubling) else (compression / stop.doubling) ** 2
    return stop.stiffness * compression * (1.0 + growth)


def damper_force(spring: SpringDamper, rate: float) -> float:
    """Return the damper's force, tension positive, at a rate of its length in m/s."""
    if spring.damper_table is None:
        return spring.damping * rate
    speeds, values = spring.damper_table[:, 0], spring.damper_table[:, 1]
    curve = PchipInterpolator(speeds, values)
    slope = curve.derivative()
    inside = min(max(rate, float(speeds[0])), float(speeds[-1]))
    return float(curve(inside) + slope(inside) * (rate - inside))


def spring_force(motion: Motion, spring: SpringDamper, forces: Forces) -> None:
    """Put a spring-damper's force on its two bodies."""
    first = motion.point(spring.first, spring.point_first)
    second = motion.point(spring.second, spring.point_second)
    d = second - first
    length = float(np.linalg.norm(d.value))
    direction = d.value / length
    rate = float(direction @ d.rate)
    push = spring.stiffness * (spring.free_length - length) - damper_force(spring, rate)
    if spring.bump_stop is not None:
        push += stop_force(spring.bump_stop, spring.bump_stop.contact_length - length)
    if spring.rebound_stop is not None:
        push -= stop_force(spring.rebound_stop, length - spring.rebound_stop.contact_length)
    if spring.gas_spring is not None:
        gas = spring.gas_spring
        volume = gas.volume + gas.area * (length - gas.design_length)
        push += gas.area * (gas.pressure * (gas.volume / volume) ** gas.exponent - 101325.0)
    forces.between(spring.first, first.value, spring.second, second.value, push * direction)


def bar_points(motion: Motion, bar: AntiRollBar) -> tuple[FloatArray, FloatArray, float]:
    """Return the two points of a bar and z_left − z_right above the chassis."""
    left = motion.point(bar.body_left, bar.point_left).value
    right = motion.point(bar.body_right, bar.point_right).value
    return left, right, float(motion.matrix[0][:, 2] @ (left - right))


def bar_force(motion: Motion, bar: AntiRollBar, force: float, forces: Forces) -> None:
    """Put the force S of an anti-roll bar on its corners and on the chassis."""
    left, right, _ = bar_points(motion, bar)
    up = motion.matrix[0][:, 2]
    forces.between(0, left, bar.body_left, left, -force * up)
    forces.between(0, right, bar.body_right, right, force * up)


@dataclass
class Contact:
    """What one tyre does: load, force at the contact point, and that point."""

    load: float
    force: FloatArray
    point: FloatArray


def tyre_contact(motion: Motion, wheel: int, ground: Ground | None) -> Contact:
    """Return the force of one tyre, by the law in the comments of the benchmark's vehicle.yaml."""
    data = motion.model.wheels[wheel]
    tyre = data.tyre
    centre = motion.point(data.carrier, data.centre)
    axis = motion.matrix[data.carrier] @ data.axis
    height, gradient, velocity = under(ground, centre.value[0], centre.value[1])
    relative = centre.rate - velocity
    above = centre.value[2] - height
    closing = relative[2] - gradient @ relative[:2]
    depth = tyre.free_radius - above
    # The damping acts in full from 1 mm of contact on, so that a landing wheel meets no jump of the force.
    load = max(0.0, tyre.stiffness * depth - tyre.damping * min(1.0, depth / 1e-3) * closing)
    if above > tyre.free_radius:
        load = 0.0
    forward = cross(axis, UP)
    forward = forward / np.linalg.norm(forward)
    left = cross(UP, forward)
    along, across = float(forward @ relative), float(left @ relative)
    assert isinstance(tyre, Tyre)
    related = max(abs(along), tyre.least_speed)
    slip = (along - motion.state.spin[wheel] * tyre.rolling_radius) / related
    push = -tyre.longitudinal_slip_stiffness * load * slip
    side = -tyre.cornering_stiffness * load * across / related
    point = np.array([centre.value[0], centre.value[1], height])
    return Contact(load, push * forward + side * left + load * UP, point)


class Oracle:
    """The vehicle's equations, evaluated from their definitions."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.size = 6 * len(model.bodies) + len(model.wheels)
        self._rows = rows_of(model)

    def constraints(
        self, state: State, drive: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return Φ, Φ̇ and Φ̈, each (rows)."""
        driven = np.zeros((len(self.model.drives), 3)) if drive is None else drive
        motion = Motion(self.model, state)
        rows = [constraint(motion, primitive, driven) for primitive in self.model.primitives]
        table = np.concatenate(rows) if rows else np.zeros((0, 3))
        return table[:, 0], table[:, 1], table[:, 2]

    def residual(
        self, state: State, inputs: FloatArray | None = None, ground: Ground | None = None
    ) -> FloatArray:
        """Return M a − f + Gᵀλ, (6 nb + nw)."""
        model, motion = self.model, Motion(self.model, state)
        forces = Forces(motion)
        inertia_forces = np.zeros((len(model.bodies), 6))
        for index, body in enumerate(model.bodies):
            inertia = motion.matrix[index] @ body.inertia @ motion.matrix[index].T
            omega, alpha = motion.omega[index], motion.alpha[index]
            inertia_forces[index, :3] = body.mass * state.acceleration[index]
            inertia_forces[index, 3:] = inertia @ alpha + cross(omega, inertia @ omega)
            forces.total[index, :3] -= body.mass * model.gravity * UP
        for spring in model.springs:
            spring_force(motion, spring, forces)
        for bar, force in zip(model.bars, state.bar_forces, strict=True):
            bar_force(motion, bar, float(force), forces)
        drive_torque, motor_torque, capacity, force_on_chassis, moment_on_chassis = inputs_of(model, inputs)
        forces.total[0, :3] += motion.matrix[0] @ force_on_chassis
        forces.total[0, 3:] += motion.matrix[0] @ moment_on_chassis
        spins = np.zeros(len(model.wheels))
        for index, wheel in enumerate(model.wheels):
            axis = motion.axis(wheel.carrier, wheel.axis)
            contact = tyre_contact(motion, index, ground)
            centre = motion.point(wheel.carrier, wheel.centre).value
            about_centre = cross(contact.point - centre, contact.force)
            axial = float(axis.value @ about_centre)
            forces.at(wheel.carrier, centre, contact.force)
            forces.moment(wheel.carrier, about_centre - axial * axis.value)
            stopping = float(motion.omega[wheel.carrier] @ axis.value) - state.spin[index]
            wanted = wheel.axial_inertia * (state.spin_acceleration[index] + stopping / REACH)
            friction = np.clip(
                wanted - axial - drive_torque[index] - motor_torque[index], -capacity[index], capacity[index]
            )
            brake_torque = motor_torque[index] + friction
            forces.moment(wheel.carrier, -brake_torque * axis.value)
            forces.moment(0, -drive_torque[index] * axis.value)
            inertia_forces[wheel.carrier, 3:] += wheel.axial_inertia * state.spin[index] * axis.rate
            spins[index] = (
                wheel.axial_inertia * state.spin_acceleration[index]
                - axial
                - drive_torque[index]
                - brake_torque
            )
        joints = Forces(motion)
        for primitive, rows in zip(model.primitives, self._rows, strict=True):
            constraint_forces(motion, primitive, state.multipliers[rows], joints)
        bodies = inertia_forces - forces.total + joints.total
        return np.concatenate([bodies.ravel(), spins])

    def bar_residual(self, state: State) -> FloatArray:
        """Return S / stiffness − (z_left − z_right) of each bar, in metres."""
        motion = Motion(self.model, state)
        heights = np.array([bar_points(motion, bar)[2] for bar in self.model.bars])
        stiffnesses = np.array([bar.stiffness for bar in self.model.bars])
        return np.asarray(state.bar_forces / stiffnesses - heights)

    def wheel_loads(self, state: State, ground: Ground | None = None) -> FloatArray:
        """Return the load of each wheel, (nw) in N."""
        motion = Motion(self.model, state)
        return np.array([tyre_contact(motion, index, ground).load for index in range(len(self.model.wheels))])

    def move(self, state: State, displacement: FloatArray) -> State:
        """Return the state displaced by d and turned by δπ in inertial axes; nothing else changes."""
        bodies = displacement[: 6 * len(self.model.bodies)].reshape(-1, 6)
        before = Rotation.from_quat(np.roll(state.attitude, -1, axis=1))
        after = Rotation.from_rotvec(bodies[:, 3:]) * before
        attitude = np.roll(after.as_quat(), 1, axis=1)
        return replace(state, position=state.position + bodies[:, :3], attitude=attitude)

    def push(self, state: State, change: FloatArray) -> State:
        """Return the state with velocities changed by (linear, angular in inertial axes; spins)."""
        linear, angular, spins = self._split(state, change)
        return replace(
            state,
            velocity=state.velocity + linear,
            angular_velocity=state.angular_velocity + angular,
            spin=state.spin + spins,
        )

    def accelerate(self, state: State, change: FloatArray) -> State:
        """Return the state with accelerations changed by (linear, angular in inertial axes; spins)."""
        linear, angular, spins = self._split(state, change)
        return replace(
            state,
            acceleration=state.acceleration + linear,
            angular_acceleration=state.angular_acceleration + angular,
            spin_acceleration=state.spin_acceleration + spins,
        )

    def _split(self, state: State, change: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        count = 6 * len(self.model.bodies)
        bodies = change[:count].reshape(-1, 6)
        body_axes = Motion(self.model, state).matrix.transpose(0, 2, 1)
        return bodies[:, :3], np.einsum("bij,bj->bi", body_axes, bodies[:, 3:]), change[count:]

    def with_bars(self, state: State) -> State:
        """Return the state with the bars' forces that belong to its displacements."""
        stiffnesses = np.array([bar.stiffness for bar in self.model.bars])
        return replace(state, bar_forces=state.bar_forces - stiffnesses * self.bar_residual(state))

    def joint_jacobian(self, state: State) -> FloatArray:
        """Return G (rows, 6 nb + nw): Φ̇ of unit velocities, of which it is linear."""
        rest = replace(
            state,
            velocity=np.zeros_like(state.velocity),
            angular_velocity=np.zeros_like(state.angular_velocity),
        )
        columns = [self.constraints(self.push(rest, unit))[1] for unit in np.eye(self.size)]
        return np.stack(columns, axis=1)

    def matrices(
        self, state: State, inputs: FloatArray | None = None, ground: Ground | None = None
    ) -> Matrices:
        """Return the residual's derivatives, each calculated when it is asked for."""
        return Matrices(self, state, inputs, ground)


class Matrices:
    """Derivatives of the residual by central differences, the bars' forces eliminated, and G."""

    def __init__(
        self, oracle: Oracle, state: State, inputs: FloatArray | None, ground: Ground | None
    ) -> None:
        self._oracle, self._state, self._inputs, self._ground = oracle, state, inputs, ground

    def _residual(self, state: State) -> FloatArray:
        return self._oracle.residual(state, self._inputs, self._ground)

    def _differences(self, change: Callable[[State, FloatArray], State], size: float) -> FloatArray:
        columns = []
        for unit in np.eye(self._oracle.size):
            ahead = self._residual(change(self._state, size * unit))
            behind = self._residual(change(self._state, -size * unit))
            columns.append((ahead - behind) / (2.0 * size))
        return np.stack(columns, axis=1)

    @cached_property
    def mass(self) -> FloatArray:
        """With respect to accelerations, of which the residual is linear, (N, N)."""
        oracle, state = self._oracle, self._state
        columns = [self._residual(oracle.accelerate(state, unit)) for unit in np.eye(oracle.size)]
        return np.stack(columns, axis=1) - self._residual(state)[:, None]

    @cached_property
    def damping(self) -> FloatArray:
        """With respect to velocities, (N, N)."""
        return self._differences(self._oracle.push, 1e-4)

    @cached_property
    def stiffness(self) -> FloatArray:
        """With respect to displacements, (N, N)."""
        oracle = self._oracle
        return self._differences(lambda state, step: oracle.with_bars(oracle.move(state, step)), 1e-6)

    @cached_property
    def joint_jacobian(self) -> FloatArray:
        """G, (rows, N)."""
        return self._oracle.joint_jacobian(self._state)
