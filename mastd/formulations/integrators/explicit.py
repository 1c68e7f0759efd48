"""Explicit time integrators over the coordinates of the tree, whatever formulation gives their accelerations.

They work on the group of rotations where a coordinate is a turn: the rotation vector since the
beginning of the step is what is integrated (Munthe-Kaas 1998). *Runge–Kutta*: the classical one of fourth
order, four evaluations a step. *Adams–Bashforth*: of second order, one evaluation a step.

Within a step inputs and ground lie on the line between the last step's and this one's; a rack on the
polynomial of fifth order with displacement, rate and acceleration of both ends, so that its stages belong to
one motion.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

from mastd.arrays import FloatArray, IntArray
from mastd.formulations.constraints.projection import displace_link, rotation_vector_rates
from mastd.formulations.methods.dispatch import EvaluationSettings, Workspaces, evaluate
from mastd.formulations.tree.arrays import LINK, Tree
from mastd.formulations.tree.recursion import FREE_LINK, SPHERICAL
from mastd.kernel import merged_kernel
from mastd.lanes import LANES
from mastd.vehicle.blocks.fields import WHEEL
from mastd.vehicle.equations.external_forces import turn_wheels
from mastd.vehicle.state.arrays import Arrays
from mastd.vehicle.state.inputs import DRIVER_COLUMNS, apply_inputs


class TimeIntegrator(IntEnum):
    """How a step goes through time."""

    RUNGE_KUTTA = 0
    ADAMS_BASHFORTH = 1
    IMPLICIT_EULER = 2
    EVALUATE_ONLY = 3
    """No step: accelerations at the state as it is."""


STAGES: Final = 4
LAST: Final = 4
"""Row of the slopes of the last step's beginning."""


class IntegratorState(NamedTuple):
    """Workspace of a step."""

    q: FloatArray
    """State at the beginning of the step."""
    u: FloatArray
    spin: FloatArray
    deflection: FloatArray
    slopes: FloatArray
    """(STAGES + 1, 2 n + 3 wheels) rates of turn vectors and coordinates, accelerations, spin and deflection
    rates."""
    increment: FloatArray
    """(2 n + 3 wheels) what a stage adds to the state."""
    inputs: FloatArray
    """Rows of the last step, of this one with the powertrain's torques, and of the present stage."""
    ground: FloatArray
    """(2, …) parameters of the last step and of the present stage."""
    known: IntArray
    """(1) 1 where the slopes of the last step stand in ``slopes``."""
    failed: IntArray
    """(1) what ``evaluate`` said in the last step."""


@merged_kernel
def save_start(tree: Tree, state: IntegratorState) -> None:
    """Keep the state at the beginning of a step."""
    for k in range(tree.q.shape[0]):
        state.q[k] = tree.q[k]
    for k in range(tree.u.shape[0]):
        state.u[k] = tree.u[k]
    for wheel in range(tree.spin.shape[0]):
        state.spin[wheel] = tree.spin[wheel]
        for k in range(2):
            state.deflection[wheel, k] = tree.deflection[wheel, k]


@merged_kernel
def displace_state(tree: Tree, state: IntegratorState) -> None:
    """Write the state that lies ``state.increment`` from the one at the beginning of the step."""
    n, wheels = tree.u.shape[0], tree.spin.shape[0]
    for i in range(tree.links.shape[0]):
        displace_link(tree, i, state.q, state.increment)
    for k in range(n):
        tree.u[k] = state.u[k] + state.increment[n + k]
    for wheel in range(wheels):
        tree.spin[wheel] = state.spin[wheel] + state.increment[2 * n + wheel]
        for k in range(2):
            change = state.increment[2 * n + wheels + 2 * wheel + k]
            tree.deflection[wheel, k] = state.deflection[wheel, k] + change


@merged_kernel
def write_slopes(tree: Tree, state: IntegratorState, stage: int) -> None:
    """Write the rates of all that a step integrates, at the present stage, after ``evaluate``."""
    n, wheels = tree.u.shape[0], tree.spin.shape[0]
    slope = state.slopes[stage]
    for k in range(n):
        slope[k] = tree.u[k]
        slope[n + k] = tree.udot[k]
    for i in range(tree.links.shape[0]):
        kind, k = tree.links[i, LINK.kind], tree.links[i, LINK.first]
        if kind == FREE_LINK:
            k += 3
        if kind in (FREE_LINK, SPHERICAL):
            rotation = state.increment[k], state.increment[k + 1], state.increment[k + 2]
            rate = rotation_vector_rates(rotation, (tree.u[k], tree.u[k + 1], tree.u[k + 2]))
            slope[k], slope[k + 1], slope[k + 2] = rate
    for wheel in range(wheels):
        slope[2 * n + wheel] = tree.spin_rate[wheel]
        for k in range(2):
            slope[2 * n + wheels + 2 * wheel + k] = tree.deflection_rate[wheel, k]


@merged_kernel
def stage_inputs(
    state: IntegratorState, drives: int, step: float, fraction: float, ground: FloatArray
) -> None:
    """Write inputs and ground of a stage, ``fraction`` of the step on from its beginning."""
    before, after, row = state.inputs[0], state.inputs[1], state.inputs[2]
    if fraction == 1.0:
        for k in range(row.shape[0]):
            row[k] = after[k]
        for k in range(state.ground.shape[1]):
            state.ground[1, k] = ground[k]
        return
    for k in range(3 * drives, row.shape[0]):
        row[k] = before[k] + fraction * (after[k] - before[k])
    # Pedals and the lever stay what they are in the step: the powertrain has taken them.
    for k in range(row.shape[0] - 6 - DRIVER_COLUMNS, row.shape[0] - 6):
        row[k] = after[k]
    for k in range(drives):
        x0, v0, b0 = before[3 * k], step * before[3 * k + 1], step * step * before[3 * k + 2]
        x1, v1, b1 = after[3 * k], step * after[3 * k + 1], step * step * after[3 * k + 2]
        way, rate, gain = x1 - x0 - v0 - 0.5 * b0, v1 - v0 - b0, b1 - b0
        c3 = 10.0 * way - 4.0 * rate + 0.5 * gain
        c4 = -15.0 * way + 7.0 * rate - gain
        c5 = 6.0 * way - 3.0 * rate + 0.5 * gain
        s = fraction
        row[3 * k] = x0 + s * (v0 + s * (0.5 * b0 + s * (c3 + s * (c4 + s * c5))))
        row[3 * k + 1] = (v0 + s * (b0 + s * (3.0 * c3 + s * (4.0 * c4 + s * 5.0 * c5)))) / step
        row[3 * k + 2] = (b0 + s * (6.0 * c3 + s * (12.0 * c4 + s * 20.0 * c5))) / (step * step)
    for k in range(state.ground.shape[1]):
        # An extent without end is the same before and after, and has no difference.
        change = ground[k] - state.ground[0, k] if ground[k] != state.ground[0, k] else 0.0
        state.ground[1, k] = state.ground[0, k] + fraction * change


@merged_kernel
def take_inputs(tree: Tree, car: Arrays, state: IntegratorState, inputs: FloatArray, step: float) -> None:
    """Take a step's inputs, and the powertrain's torques at the spins that are ahead; none without a step."""
    for k in range(inputs.shape[0]):
        state.inputs[1, k] = inputs[k]
    if car.drive_constants.shape[0] == 0 or step == 0.0:
        return
    apply_inputs(car, inputs)
    # In all lanes: one that is not in use repeats a wheel that another one has.
    for item in range(car.wheels.shape[0]):
        for lane in range(LANES):
            wheel = car.wheel_of[item, lane]
            car.wheels[item, WHEEL.spin, lane] = tree.spin[wheel] + step * tree.spin_rate[wheel]
            car.wheels[item, WHEEL.drive_torque, lane] = 0.0
    turn_wheels(car, step)
    first = inputs.shape[0] - 6 - DRIVER_COLUMNS - 3 * car.wheel_count
    for item in range(car.wheels.shape[0]):
        for lane in range(LANES):
            wheel = car.wheel_of[item, lane]
            state.inputs[1, first + wheel] = (
                inputs[first + wheel] + car.wheels[item, WHEEL.drive_torque, lane]
            )


@merged_kernel
def keep_inputs(state: IntegratorState, ground: FloatArray) -> None:
    """Keep inputs and ground for the next step's beginning."""
    for k in range(state.inputs.shape[1]):
        state.inputs[0, k] = state.inputs[1, k]
    for k in range(state.ground.shape[1]):
        state.ground[0, k] = ground[k]


@merged_kernel
def explicit_step(
    tree: Tree,
    car: Arrays,
    workspaces: Workspaces,
    settings: EvaluationSettings,
    state: IntegratorState,
    step: float,
    integrator: int,
    ground: FloatArray,
) -> int:
    """Take a step of one of the explicit integrators; the accelerations of its beginning stand in the tree,
    those of its end do after it.

    ``TimeIntegrator.EVALUATE_ONLY`` moves nothing. Returns as ``evaluate``.
    """
    failed = 0
    several = integrator == TimeIntegrator.RUNGE_KUTTA or (
        integrator == TimeIntegrator.ADAMS_BASHFORTH and state.known[0] == 0
    )
    count = STAGES if several else 1
    for k in range(state.increment.shape[0]):
        state.increment[k] = 0.0
    save_start(tree, state)
    if integrator != TimeIntegrator.EVALUATE_ONLY:
        write_slopes(tree, state, 0)
    for stage in range(1, count + 1):
        if integrator != TimeIntegrator.EVALUATE_ONLY:
            _stage_increment(state, step, stage, count)
            displace_state(tree, state)
        fraction = 0.5 if stage < count - 1 else 1.0
        stage_inputs(state, tree.drive_rows.shape[0], step, fraction, ground)
        failed = evaluate(tree, car, workspaces, settings, state.inputs[2], state.ground[1])
        if failed != 0:
            break
        if stage < count:
            write_slopes(tree, state, stage)
    for k in range(state.increment.shape[0]):
        state.slopes[LAST, k] = state.slopes[0, k]
    state.known[0] = 0 if integrator == TimeIntegrator.EVALUATE_ONLY else 1
    return failed


@merged_kernel
def _stage_increment(state: IntegratorState, step: float, stage: int, count: int) -> None:
    """Write what the state moves by since the beginning of the step, to a stage or, in the last one, to its
    end."""
    slopes, increment = state.slopes, state.increment
    for k in range(increment.shape[0]):
        if stage < count:
            increment[k] = (1.0 if stage == STAGES - 1 else 0.5) * step * slopes[stage - 1, k]
        elif count == STAGES:
            middle = slopes[1, k] + slopes[2, k]
            increment[k] = step / 6.0 * (slopes[0, k] + 2.0 * middle + slopes[3, k])
        else:
            increment[k] = step * (1.5 * slopes[0, k] - 0.5 * slopes[LAST, k])
