"""The vehicle at rest: the static equilibrium on flat ground, and the same car rolling straight ahead.

At rest all forces come from a potential (the tyres' slip forces vanish), so the equilibrium is where the
potential is least. Each iteration takes the constraints' violation away, and then moves the free coordinates
q (u = Z q, Zᵀ M Z = 1) by Newton's step on Zᵀ(−f + Gᵀλ) = 0. Curvatures enter by their absolute value, so
that a step never climbs. Directions without curvature are left alone: the centre of gravity keeps its place
on the ground, and the chassis its heading. Held motions of the chassis are constraints like the joints'.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import MastdError
from mastd.roads.ground import Ground
from mastd.vehicle.blocks.rotation import quaternion_of, roll_pitch_yaw, rotation_matrix
from mastd.vehicle.equilibrium.constraints import (
    EquationMatrices,
    Equations,
    FreeMotions,
    constraint_rows,
    coordinate_name,
    free_motions,
    joint_of_row,
)
from mastd.vehicle.model.definition import Model
from mastd.vehicle.state.motion import State

ITERATIONS = 60
"""Far more than a car needs that stands on its wheels: most take under ten."""
FORCE_TOLERANCE = 1e-9
"""Of the weight: forces in N, moments in N m."""
JOINT_TOLERANCE = 1e-11
"""Metres, and radians for dot-1."""
MAX_STEP = 0.05
"""Metres, and radians, of one iteration: the tyres' and stops' contacts are not to be jumped over."""
NEUTRAL = 1e-8
"""Of the largest curvature; under it a direction counts as free."""
HEAVE, ROLL, PITCH = 2, 3, 4
"""Places of these motions among the six of the chassis."""
TIPPED = 0.5
"""Cosine of the chassis' tilt at which the car counts as rolled over."""


class EquilibriumError(MastdError):
    """The vehicle does not stand on its wheels, with what does not balance and by how much."""


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A settled vehicle."""

    state: State
    wheel_loads: FloatArray
    """(nw) N."""
    residual_norm: float
    """Largest force (N) or moment (N m) that is not balanced."""
    iterations: int


def weight(model: Model) -> float:
    """Return the vehicle's weight in N."""
    return model.gravity * sum(body.mass for body in model.bodies)


def at_rest(state: State) -> State:
    """Return the state without velocities and accelerations."""
    nothing, still = np.zeros_like(state.position), np.zeros_like(state.spin)
    return replace(
        state,
        velocity=nothing,
        angular_velocity=nothing,
        acceleration=nothing,
        angular_acceleration=nothing,
        spin=still,
        spin_acceleration=still,
        deflection=np.zeros((len(still), 2)),
    )


def wheel_frames(model: Model, state: State) -> tuple[FloatArray, FloatArray]:
    """Return centres (nw, 3) and spin axes (nw, 3) of the wheels in inertial axes."""
    matrices = rotation_matrix(state.attitude)
    centres, axes = np.zeros((len(model.wheels), 3)), np.zeros((len(model.wheels), 3))
    for index, wheel in enumerate(model.wheels):
        matrix = matrices[wheel.carrier]
        arm = wheel.centre - model.bodies[wheel.carrier].centre
        centres[index] = state.position[wheel.carrier] + matrix @ arm
        axes[index] = matrix @ wheel.axis
    return centres, axes


def rolling(model: Model, state: State, speed: float) -> State:
    """Return the state with the whole vehicle moving along x at ``speed`` (m/s), the wheels rolling without
    slip.

    The spin is absolute; rolling: spin · rolling radius = velocity along the wheel's own direction.
    """
    _, axes = wheel_frames(model, state)
    along = axes[:, 1] / np.hypot(axes[:, 0], axes[:, 1])
    radii = np.array([wheel.tyre.rolling_radius for wheel in model.wheels])
    velocity = np.tile([speed, 0.0, 0.0], (len(model.bodies), 1))
    return replace(at_rest(state), velocity=velocity, spin=speed * along / radii)


def straight_ahead(
    system: Equations,
    settled: State,
    inputs: FloatArray | None = None,
    ground: Ground | None = None,
    *,
    speed: float,
) -> State:
    """Return the vehicle driving straight along x at ``speed`` (m/s), steady except for the drag of its toe
    angles.

    Toe and camber make the tyres pull sideways at speed; body and wheels stand a little differently than at
    rest, a lopsided car goes a little crabwise, and what slows it down is left as accelerations of the state,
    so that its residual is zero. ``settled``: the equilibrium at rest; its joints (with their drives) stay as
    they are.

    Raises EquilibriumError where there is no such motion.
    """
    model = system.model
    bodies = 6 * len(model.bodies)
    nothing = np.zeros((len(model.drives), 3))
    joints, still = system.constraints(settled, nothing)[0], np.zeros(len(model.held))
    state, slip = rolling(model, settled, speed), np.zeros(len(model.wheels))
    for _ in range(ITERATIONS):
        state = balanced_bars(system, state)
        violation = np.concatenate([system.constraints(state, nothing)[0] - joints, still])
        state, matrices, motions, forces = _balanced(system, state, inputs, ground)
        # What moves the wheels' spin is their rate, not their angle.
        slope = np.hstack([matrices.stiffness[:, :bodies], matrices.damping[:, bodies:]])
        closing = -motions.closing @ violation
        reduced = motions.free.T @ slope @ motions.free
        wanted = -motions.free.T @ (forces + slope @ closing)
        step = closing + motions.free @ np.linalg.lstsq(reduced, wanted, rcond=NEUTRAL)[0]
        spins = step[bodies:].copy()
        step[bodies:] = 0.0
        if _largest(step) <= JOINT_TOLERANCE and _largest(spins) <= FORCE_TOLERANCE * max(speed, 1.0):
            return _accelerated(model, state, -motions.free @ (motions.free.T @ forces))
        step *= min(1.0, MAX_STEP / max(_largest(step), 1e-300))
        slip = slip + spins
        state = rolling(model, system.move(state, step), speed)
        state = replace(state, spin=state.spin + slip)
    raise EquilibriumError(
        f"{model.name}: no steady drive straight ahead at {speed:g} m/s after {ITERATIONS} iterations; the "
        f"last step was {_largest(step):.3g} m"
    )


def _accelerated(model: Model, state: State, acceleration: FloatArray) -> State:
    """Return the state with accelerations (N), rotations given in inertial axes."""
    bodies = acceleration[: 6 * len(model.bodies)].reshape(-1, 6)
    return replace(
        state,
        acceleration=bodies[:, :3].copy(),
        angular_acceleration=np.einsum("bji,bj->bi", rotation_matrix(state.attitude), bodies[:, 3:]),
        spin_acceleration=acceleration[6 * len(model.bodies) :].copy(),
    )


def touch_down(system: Equations, state: State) -> State:
    """Return the state set down as one rigid piece on its tyres, which are taken to pull as well as push.

    This brings every wheel near the ground wherever the design position was, as far as the chassis may move.
    """
    model = system.model
    centres, _ = wheel_frames(model, state)
    masses = np.array([body.mass for body in model.bodies])
    # About the centre of gravity, which so keeps its place.
    origin = masses @ state.position / np.sum(masses)
    arms = centres - origin
    # Rise of each wheel's centre for heave, roll and pitch of the whole.
    rises = np.stack([np.ones(len(arms)), arms[:, 1], -arms[:, 0]], axis=1)
    stiffness = np.array([wheel.tyre.stiffness for wheel in model.wheels])
    radius = np.array([wheel.tyre.free_radius for wheel in model.wheels])
    offsets = state.position - origin
    gravity = np.array([weight(model), 0.0, 0.0])
    present = rises.T @ (stiffness * (radius - centres[:, 2]))
    move = np.array([motion not in model.held for motion in (HEAVE, ROLL, PITCH)])
    amounts = np.zeros(3)
    amounts[move] = np.linalg.lstsq(
        (rises.T @ (stiffness[:, None] * rises))[np.ix_(move, move)], (present - gravity)[move], rcond=1e-12
    )[0]
    heave, roll, pitch = amounts
    turn = np.array([roll, pitch, 0.0])
    shift = np.zeros((len(model.bodies), 6))
    shift[:, :3] = np.array([0.0, 0.0, heave]) + np.cross(turn, offsets)
    shift[:, 3:] = turn
    return system.move(state, np.concatenate([shift.ravel(), np.zeros(len(model.wheels))]))


def _put_back(system: Equations, state: State, start: State) -> State:
    """Return the vehicle moved on the ground to the centre of gravity and heading of ``start``."""
    masses = np.array([body.mass for body in system.model.bodies])
    centre = masses @ state.position / np.sum(masses)
    centroid = masses @ start.position / np.sum(masses)
    yaw = float(roll_pitch_yaw(start.attitude[0])[2] - roll_pitch_yaw(state.attitude[0])[2])
    turn = np.array([0.0, 0.0, yaw])
    arms = state.position - centre
    goal = arms @ rotation_matrix(quaternion_of(turn)).T + [centroid[0], centroid[1], centre[2]]
    shift = np.hstack([goal - state.position, np.tile(turn, (len(masses), 1))])
    return system.move(state, np.concatenate([shift.ravel(), np.zeros(len(system.model.wheels))]))


def balanced_bars(system: Equations, state: State) -> State:
    """Return the state with the anti-roll bars' forces that belong to its displacements."""
    stiffness = np.array([bar.stiffness for bar in system.model.bars])
    return replace(state, bar_forces=state.bar_forces - stiffness * system.bar_residual(state))


def settle(
    system: Equations,
    start: State,
    inputs: FloatArray | None = None,
    ground: Ground | None = None,
    drive: FloatArray | None = None,
    watch: Callable[[int, float], None] | None = None,
) -> Equilibrium:
    """Find the static equilibrium at rest on flat, level ground.

    ``start``: the design position or any state near the equilibrium; ``inputs``: a row of forces and torques
    that act, none by default; ``ground``: ``Ground.flat()`` by default; ``drive`` (drives): displacements of
    the drives in m, zero by default; ``watch`` is told each iteration's number and largest unbalanced force.

    Raises EquilibriumError where the joints cannot be closed, the forces do not balance, a wheel is off the
    ground, or the vehicle tips over.
    """
    model = system.model
    driven, still = np.zeros((len(model.drives), 3)), np.zeros(len(model.held))
    if drive is not None:
        driven[:, 0] = drive
    limit = FORCE_TOLERANCE * weight(model)
    state = touch_down(system, at_rest(start))
    for iteration in range(ITERATIONS + 1):
        state = balanced_bars(system, state)
        violation = np.concatenate([system.constraints(state, driven)[0], still])
        state, matrices, motions, forces = _balanced(system, state, inputs, ground)
        worst, opening = _largest(forces), _largest(violation)
        if watch is not None:
            watch(iteration, worst)
        _refuse_tipped(model, state)
        if worst <= limit and opening <= JOINT_TOLERANCE:
            return _checked(system, state, ground, worst, iteration, (matrices.stiffness, motions))
        if iteration < ITERATIONS:
            step = _step(matrices.stiffness, motions, forces, violation)
            state = system.move(state, step * min(1.0, MAX_STEP / max(_largest(step), 1e-300)))
            state = state if model.held else _put_back(system, state, start)
    raise EquilibriumError(_not_settled(system, state, forces, violation, ground))


def _balanced(
    system: Equations, state: State, inputs: FloatArray | None, ground: Ground | None
) -> tuple[State, EquationMatrices, FreeMotions, FloatArray]:
    """Return the state with the joints' forces that balance it best, what they were found with, and what
    is left (N)."""
    matrices = system.matrices(state, inputs, ground)
    rows = constraint_rows(system.model, matrices.joint_jacobian)
    motions = free_motions(matrices.mass, rows)
    forces = system.residual(state, inputs, ground)
    change = motions.multipliers(forces)
    state = replace(state, multipliers=state.multipliers - change[: system.model.rows])
    return state, matrices, motions, forces - rows.T @ change


def _largest(values: FloatArray) -> float:
    return float(np.max(np.abs(values), initial=0.0))


def _step(
    stiffness: FloatArray, motions: FreeMotions, forces: FloatArray, violation: FloatArray
) -> FloatArray:
    """Return the displacement that closes the joints and then goes to the bottom of the potential."""
    closing = -motions.closing @ violation
    curvatures, directions, _ = _curvatures(stiffness, motions)
    slope = directions.T @ (motions.free.T @ (forces + stiffness @ closing))
    stiff = np.abs(curvatures) > NEUTRAL * _largest(curvatures)
    amounts = np.zeros_like(slope)
    amounts[stiff] = -slope[stiff] / np.abs(curvatures[stiff])
    return np.asarray(closing + motions.free @ (directions @ amounts))


def _curvatures(stiffness: FloatArray, motions: FreeMotions) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return squared angular frequencies, their directions in q, and the reduced stiffness itself."""
    reduced = motions.free.T @ stiffness @ motions.free
    # Symmetric where forces balance; on the way there the rest is not worth a step.
    values, directions = np.linalg.eigh(0.5 * (reduced + reduced.T))
    return values, directions, reduced


def _refuse_tipped(model: Model, state: State) -> None:
    upright = float(rotation_matrix(state.attitude[0])[2, 2])
    if not upright >= TIPPED:
        raise EquilibriumError(
            f"{model.name}: the vehicle rolls over while it settles (chassis tilted by "
            f"{np.degrees(np.arccos(np.clip(upright, -1.0, 1.0))):.0f}°): springs too soft for its height, "
            "or its centre of mass outside the wheels"
        )


def _checked(
    system: Equations,
    state: State,
    ground: Ground | None,
    worst: float,
    iterations: int,
    curvature: tuple[FloatArray, FreeMotions],
) -> Equilibrium:
    """Return the equilibrium, or say why the vehicle would not stay there."""
    model = system.model
    loads = system.wheel_loads(state, ground)
    lifted = [wheel.name for wheel, load in zip(model.wheels, loads, strict=True) if not load > 0.0]
    if lifted:
        raise EquilibriumError(
            f"{model.name}: off the ground at rest: {_wheels(lifted)}; {_loads(model, loads)}"
        )
    values, directions, _ = _curvatures(*curvature)
    if values.size and not values[0] >= -NEUTRAL * _largest(values):
        shape = curvature[1].free @ directions[:, 0]
        leading = coordinate_name(model, int(np.argmax(np.abs(shape[:6]))))
        raise EquilibriumError(
            f"{model.name}: the equilibrium is unstable, the vehicle tips over ({leading}): springs too soft "
            f"for the height of its centre of mass (growth {np.sqrt(-values[0]):.3g} 1/s)"
        )
    return Equilibrium(state=state, wheel_loads=loads, residual_norm=worst, iterations=iterations)


def _not_settled(
    system: Equations, state: State, forces: FloatArray, violation: FloatArray, ground: Ground | None
) -> str:
    """Return the message for an equilibrium that was not found."""
    model = system.model
    parts = []
    row = int(np.argmax(np.abs(violation))) if violation.size else 0
    if not _largest(violation) <= JOINT_TOLERANCE:
        parts.append(f"joint {joint_of_row(model, row)} stays open by {abs(violation[row]):.3g} m")
    if not _largest(forces) <= FORCE_TOLERANCE * weight(model):
        index = int(np.argmax(np.abs(forces)))
        unit = "N m" if index >= 6 * len(model.bodies) or index % 6 >= 3 else "N"
        name = coordinate_name(model, index)
        parts.append(f"{name}: residual {abs(forces[index]):.3g} {unit}")
    loads = system.wheel_loads(state, ground)
    lifted = [wheel.name for wheel, load in zip(model.wheels, loads, strict=True) if not load > 0.0]
    if lifted:
        parts.append(f"off the ground: {_wheels(lifted)}")
    parts.append(_loads(model, loads))
    parts.append("check springs, preloads and tyres")
    return f"{model.name}: no equilibrium after {ITERATIONS} iterations: {'; '.join(parts)}"


def _wheels(names: list[str]) -> str:
    return f"wheel {names[0]}" if len(names) == 1 else f"wheels {', '.join(names)}"


def _loads(model: Model, loads: FloatArray) -> str:
    pairs = zip(model.wheels, loads, strict=True)
    return "wheel loads " + ", ".join(f"{wheel.name} {load:.1f} N" for wheel, load in pairs)
