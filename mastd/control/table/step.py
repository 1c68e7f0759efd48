"""One period of the table's control, compiled: from motion and measurement to the command of the actuators.

``control_step`` is a list of seven calls, in the order of the block diagram in docs/architecture.md.

Feed-forward: ``mastd.control.table.feedforward``. Acceleration feedback, in pose space: what is missing of
the acceleration, times the gain of each axis and the bare table's mass, as actuator forces over the stiffness
of their oil, added to the speed that the drive demands of the valves. Scaled by the bare table because the
payload may be absent or sprung (control study); faded towards the stops (``STIFF_RATIO``). Balance: the
internal force, that is f − J (JᵀJ)⁻¹ Jᵀ f with the rows of J as in Jin 2012, eq. (9b), at the present pose,
is taken off by a slow integration on the lengths; for any number of actuators beyond six.
"""

from __future__ import annotations

import math

from mastd.arrays import FloatArray
from mastd.control.table.body_learning import learn_body
from mastd.control.table.data import (
    INPUT,
    STIFF_RATIO,
    Control,
)
from mastd.control.table.feedforward import DRIVE, note_opening, supply_of, trim_for
from mastd.control.table.parts import forces_of, internal_part, notched, repeat_last, shift
from mastd.control.table.valve_learning import learn_valves
from mastd.dynamics.actuator import ACTUATOR, mean_over_lap, oil_spring
from mastd.dynamics.table_model import actuator_forces
from mastd.kernel import entry_kernel, kernel
from mastd.kinematics.inverse import actuator_motion
from mastd.kinematics.jacobian import geometric_jacobian

FINITE, BALANCE_SATURATED, TRIM_LIMITED = 1, 2, 4
"""Bits of the result."""

STALE_RATIO = 0.5
"""Ratio of the last feedback that stays in each period without a sample."""
FORGET_TIME = 0.5
"""Time constant in s in which the balance is given up when the drive does not follow."""


@entry_kernel
def control_step(c: Control, motion: FloatArray, later: FloatArray) -> int:
    """Write the command; return FINITE and other bits.

    ``motion`` (4, 6) and ``later`` (periods, 4, 6) as of ``Reference``.
    """
    periods = later.shape[0]
    update_valves(c, periods)
    update_payload(c, periods)
    add_openings(c, later)
    follow_motion(c, motion)
    add_feedback(c)
    bits = write_trims(c, periods) | balance_forces(c)
    return bits | FINITE if all_finite(c.command.block) else bits


@kernel
def update_valves(c: Control, periods: int) -> None:
    """Learn gain, overlap, softness and leakage of each actuator from this period's sample."""
    if c.constants.valve_learning:
        whole = c.inputs[INPUT.contiguous] > 0.0 and c.inputs[INPUT.engaged] > 0.0 and periods == 1
        seals = c.state.last_seals
        learn_valves(c.learned, c.measured, seals, c.inputs, c.constants.period, whole)


@kernel
def update_payload(c: Control, periods: int) -> None:
    """Learn mass, centre of gravity and inertia of the payload from this period's sample."""
    body, payload, inputs = c.learned.body, c.model.payload, c.inputs
    if c.constants.payload_learning:
        whole = inputs[INPUT.contiguous] > 0.0 and inputs[INPUT.supported] > 0.0 and periods == 1
        whole = whole and inputs[INPUT.accel_valid] > 0.0
        geometric_jacobian(c.model.legs, c.measured.motion[0], c.state.scratch.jacobian)
        supports, freedoms = c.model.supports, c.model.legs.freedoms
        learn_body(payload, c.learned, c.measured, c.state, c.constants.period, whole, freedoms, supports)
    else:
        for k in range(body.shape[0]):
            body[k] = payload[k]


@kernel
def add_openings(c: Control, later: FloatArray) -> None:
    """Add the openings of the periods that are new on the horizon."""
    state, scratch, rows = c.state, c.state.scratch, c.learned.actuators
    openings, seals, motions = state.openings, state.seals, state.motions
    last = motions.shape[0] - 1
    for k in range(later.shape[0]):
        coming = later[k]
        restarted = c.inputs[INPUT.discontinuous] > 0.0 and k == 0
        actuator_motion(
            c.model.legs,
            coming[0],
            coming[1],
            coming[2],
            scratch.lengths,
            scratch.rates,
            scratch.accelerations,
        )
        forces_of(c, coming, scratch.accelerations, scratch.forces)
        if restarted:
            for i in range(rows.shape[0]):
                state.earlier_forces[0, i] = state.earlier_forces[1, i] = scratch.forces[i]
        shift(openings)
        shift(seals)
        shift(motions)
        note_opening(rows, c.constants.friction, c.constants.period, c.inputs, state)
        for row in range(4):
            for axis in range(6):
                motions[last, 6 * row + axis] = coming[row, axis]
        if restarted:
            for i in range(rows.shape[0]):
                standing = mean_over_lap(rows[i], state.last_openings[i], state.last_openings[i])
                for row in range(openings.shape[0]):
                    openings[row, i] = standing
            repeat_last(seals)
            repeat_last(motions)


@kernel
def waiting(c: Control) -> bool:
    """Return whether the motion is not known ahead, so that it waits for the valves."""
    return c.inputs[INPUT.not_previewed] > 0.0 or not c.constants.preview


@kernel
def follow_motion(c: Control, motion: FloatArray) -> None:
    """Write lengths, rates, accelerations and forces where the references of length and force are now."""
    state, command, delay = c.state, c.command, c.constants.delay
    sealed = state.seals[delay]
    if waiting(c) and delay > 0:
        ratio = c.constants.oldest_ratio
        for row in range(4):
            for axis in range(6):
                k = 6 * row + axis
                state.motion[row, axis] = ratio * state.motions[0, k] + (1.0 - ratio) * state.motions[1, k]
        sealed = state.seals[state.seals.shape[0] - 1 - delay]
    else:
        for row in range(4):
            for axis in range(6):
                state.motion[row, axis] = motion[row, axis]
    actuator_motion(
        c.model.legs,
        state.motion[0],
        state.motion[1],
        state.motion[2],
        command.lengths,
        command.rates,
        command.accelerations,
    )
    forces_of(c, state.motion, command.accelerations, command.forces)
    for i in range(command.forces.shape[0]):
        # The reference is what is measured: a load cell stands after the seals.
        command.forces[i] += sealed[i] * c.model.nominal[i, ACTUATOR.felt_friction]
        state.last_seals[i] = sealed[i]


@kernel
def add_feedback(c: Control) -> None:
    """Write the acceleration feedback; remember the acceleration about which the next sample tells."""
    state, scratch, feedback = c.state, c.state.scratch, c.state.feedback
    if c.inputs[INPUT.sample_valid] > 0.0 and c.inputs[INPUT.accel_valid] > 0.0:
        missing, wanted = scratch.other, scratch.wrench
        for axis in range(6):
            missing[axis] = state.accelerations[axis] - c.measured.motion[2, axis]
        notched(c.model.notches, state.notch_memory, missing)
        for axis in range(6):
            missing[axis] *= c.model.gains[axis]
        for axis in range(6):
            total = 0.0
            for j in range(6):
                total += c.model.mass_matrix[axis, j] * missing[j]
            wanted[axis] = total
        actuator_forces(scratch.jacobian, wanted, scratch.factors, feedback)
        weight = c.inputs[INPUT.feedback]
        for i in range(feedback.shape[0]):
            spring = oil_spring(c.model.nominal[i], c.command.lengths[i])
            feedback[i] *= (
                weight * min(1.0, STIFF_RATIO * c.model.drives[i, DRIVE.stiffness] / spring) / spring
            )
    else:
        for i in range(feedback.shape[0]):
            feedback[i] *= STALE_RATIO
    for axis in range(6):
        state.accelerations[axis] = state.motion[2, axis]


@kernel
def write_trims(c: Control, periods: int) -> int:
    """Write the trims of the valves; return TRIM_LIMITED or 0."""
    state, constants, forces = c.state, c.constants, c.command.forces
    engagement, period, bits = state.engagement, constants.period, 0
    if c.inputs[INPUT.engaged] > 0.0:
        engagement[0] = min(1.0, engagement[0] + periods * period / constants.engage_time)
    else:
        engagement[0] = 0.0
    follows = c.inputs[INPUT.discontinuous] == 0.0 and periods == 1
    weights = c.model.filters[1] if waiting(c) else c.model.filters[0]
    for i in range(forces.shape[0]):
        trim = state.feedback[i]
        if constants.valve_inverse:
            opening = 0.0
            for k in range(weights.shape[0]):
                opening += weights[k, i] * state.openings[k, i]
            force_rate = (forces[i] - state.last_forces[i]) / period if follows else 0.0
            trim += trim_for(
                c.model.nominal[i],
                c.model.drives[i],
                opening,
                supply_of(c.model.nominal[i], c.inputs),
                c.command.rates[i],
                c.command.accelerations[i],
                forces[i],
                force_rate,
            )
        state.last_forces[i] = forces[i]
        trim *= engagement[0]
        if abs(trim) > constants.trim_limit:
            bits = TRIM_LIMITED
            trim = math.copysign(constants.trim_limit, trim)
        c.command.trims[i] = trim
    return bits


@kernel
def balance_forces(c: Control) -> int:
    """Take the internal force off by the lengths; return BALANCE_SATURATED or 0."""
    balance, scratch, constants, inputs = c.state.balance, c.state.scratch, c.constants, c.inputs
    lengths, part, bits = c.command.lengths, c.state.scratch.forces, 0
    ready = inputs[INPUT.supported] > 0.0 and inputs[INPUT.sample_valid] > 0.0
    if ready and constants.balance > 0.0 and c.state.engagement[0] == 1.0:
        internal_part(c.measured.forces, scratch, part)
        for i in range(balance.shape[0]):
            # As a length: how far the oil gives way under the internal force.
            strain = (part[i] - c.model.preload[i]) / oil_spring(c.model.nominal[i], lengths[i])
            balance[i] -= constants.balance * constants.period * strain
        internal_part(balance, scratch, part)
        largest = 0.0
        for i in range(balance.shape[0]):
            largest = max(largest, abs(part[i]))
        ratio = 1.0
        if largest > constants.balance_limit:
            ratio = constants.balance_limit / largest
            bits = BALANCE_SATURATED
        for i in range(balance.shape[0]):
            balance[i] = ratio * part[i]
    elif inputs[INPUT.engaged] == 0.0:
        for i in range(balance.shape[0]):
            balance[i] *= 1.0 - constants.period / FORGET_TIME
            if abs(balance[i]) < 1e-12:
                balance[i] = 0.0
    for i in range(balance.shape[0]):
        lengths[i] += balance[i]
    return bits


@kernel
def all_finite(block: FloatArray) -> bool:
    """Return whether every number of the command is finite."""
    finite = True
    for k in range(block.shape[0]):
        finite = finite and -1e300 < block[k] < 1e300
    return finite
