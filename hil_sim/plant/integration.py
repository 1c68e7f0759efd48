"""The plant's kernels as the process calls them: advance by inner steps, read the sensors, tell the truth.

Order within one drive tick: the drive acts on what was recorded at the tick's start, the inner steps run, the
supply books the oil drawn, the sensors are recorded. A command is taken over before the first tick.
"""

from __future__ import annotations

import math

from hil_sim.plant.block import (
    ACTUATOR,
    ACTUATOR_STATE,
    AXIS,
    BODY_STATE,
    COUNTER,
    DRIVE,
    HISTORY_ROWS,
    SUPPLY,
    VALVE_ROWS,
    PlantArrays,
)
from hil_sim.plant.electric import run_power
from hil_sim.plant.sensors import (
    measure,
    measure_accelerations,
    measure_displacements,
    measure_supply,
    record,
)
from hil_sim.plant.servo_drive import STATE, plausible, run_drive, take_command
from hil_sim.plant.supply import run_supplies
from hil_sim.plant.table_body import rotation, step_plant
from mastd.arrays import FloatArray
from mastd.kernel import kernel
from mastd.wire.plant.messages import SampleFlag

_ESTOP = int(SampleFlag.ESTOP)
_SUPPLY_FAULT = int(SampleFlag.SUPPLY_FAULT)
_OIL_OVERHEATED = int(SampleFlag.OIL_OVERHEATED)
_OIL_LOW = int(SampleFlag.OIL_LOW)
_FILTER_BLOCKED = int(SampleFlag.FILTER_BLOCKED)
_DRIVE_FADING = int(SampleFlag.DRIVE_FADING)
_DRIVE_LOWERING = int(SampleFlag.DRIVE_LOWERING)
_DRIVE_TIMED_OUT = int(SampleFlag.DRIVE_TIMED_OUT)


@kernel
def advance(plant: PlantArrays, steps: int, mode: int, stage: int) -> None:
    """Advance the plant by whole inner steps; ``mode`` −1 means that no command has arrived.

    A command that no table could mean counts as none.
    """
    counters, history = plant.counters, plant.valve_history
    n = plant.actuators.shape[0]
    tick_steps = counters[COUNTER.tick_steps]
    tick = plant.drive[DRIVE.tick]
    inner_step = tick / tick_steps
    if mode >= 0 and plausible(plant.command, plant.nominal, mode):
        take_command(plant, mode, stage)
        for j in range(6):
            plant.body_state[BODY_STATE.payload_wrench + j] = plant.command[5 * n + j]
    for _ in range(steps):
        now = counters[COUNTER.step] // tick_steps
        if counters[COUNTER.step] % tick_steps == 0:
            measure(plant, now, 3 * n, plant.drive_measured)
            run_drive(plant)
            for i in range(n):
                history[now % VALVE_ROWS, i] = plant.axes[i, AXIS.valve_command]
        for i in range(n):
            # Valves of one law in parallel open on the whole as one that gets the mean of their commands.
            command = 0.0
            for valve in range(int(plant.actuators[i, ACTUATOR.valves])):
                delay = plant.actuators[i, ACTUATOR.valve_delay + valve]
                whole = int(delay)
                part = delay - whole
                newer = history[((counters[COUNTER.step] - whole) // tick_steps) % VALVE_ROWS, i]
                older = history[((counters[COUNTER.step] - whole - 1) // tick_steps) % VALVE_ROWS, i]
                share = plant.actuators[i, ACTUATOR.valve_share + valve]
                command += share * (newer + part * (older - newer))
            plant.valve_commands[i] = command
        step_plant(plant, inner_step)
        counters[COUNTER.step] += 1
        if counters[COUNTER.step] % tick_steps == 0:
            if plant.supply[0, SUPPLY.high_pressure] > 0.0:
                run_supplies(plant, tick)
            run_power(plant, STATE.closed)
            record(plant, (now + 1) % HISTORY_ROWS)


@kernel
def read(plant: PlantArrays) -> None:
    """Read all sensors at the last drive tick into ``measured``, in the sample's order, and its flags."""
    counters, measured, supplies = plant.counters, plant.measured, plant.supply
    n = plant.actuators.shape[0]
    now = counters[COUNTER.step] // counters[COUNTER.tick_steps]
    measure(plant, now, 4 * n, measured)
    for k in range(supplies.shape[0]):
        measure_supply(plant, k, now)
    measure_accelerations(plant, now)
    measure_displacements(plant, now)
    flags = 0
    state = counters[COUNTER.drive_state]
    if counters[COUNTER.estop]:
        flags |= _ESTOP
    if counters[COUNTER.supply_fault]:
        flags |= _SUPPLY_FAULT
    count = supplies.shape[0]
    for k in range(count):
        first = 4 * n + k
        if not measured[first + 3 * count] <= supplies[k, SUPPLY.max_temperature]:
            flags |= _OIL_OVERHEATED
        if not measured[first + 4 * count] >= supplies[k, SUPPLY.min_level]:
            flags |= _OIL_LOW
        if not measured[first + 6 * count] <= supplies[k, SUPPLY.max_filter_drop]:
            flags |= _FILTER_BLOCKED
    if state == STATE.fade:
        flags |= _DRIVE_FADING
    if state == STATE.lower:
        flags |= _DRIVE_LOWERING
    if counters[COUNTER.timed_out]:
        flags |= _DRIVE_TIMED_OUT
    counters[COUNTER.flags] = flags


@kernel
def report_truth(plant: PlantArrays, neutral: FloatArray) -> None:
    """Write the true pose, Euler rates and accelerations of C and the true forces into part ``truth``.

    Pose (6) against ``neutral`` (position of C in B), Euler rates (6), accelerations in B with second
    derivatives of the Euler angles (6), forces of the actuators on the table (n).
    """
    body, truth = plant.body_state, plant.truth
    r11, r12, r13, r21, r22, r23, r31, r32, r33 = rotation(body)
    for j in range(3):
        truth[j] = body[BODY_STATE.position + j] - neutral[j]
    roll = math.atan2(r32, r33)
    pitch = math.asin(min(max(-r31, -1.0), 1.0))
    truth[3] = roll
    truth[4] = pitch
    truth[5] = math.atan2(r21, r11)
    v1, v2, v3 = body[BODY_STATE.twist], body[BODY_STATE.twist + 1], body[BODY_STATE.twist + 2]
    truth[6] = r11 * v1 + r12 * v2 + r13 * v3
    truth[7] = r21 * v1 + r22 * v2 + r23 * v3
    truth[8] = r31 * v1 + r32 * v2 + r33 * v3
    a1, a2, a3 = (
        body[BODY_STATE.acceleration],
        body[BODY_STATE.acceleration + 1],
        body[BODY_STATE.acceleration + 2],
    )
    truth[12] = r11 * a1 + r12 * a2 + r13 * a3
    truth[13] = r21 * a1 + r22 * a2 + r23 * a3
    truth[14] = r31 * a1 + r32 * a2 + r33 * a3
    # Euler rates of the 3-2-1 order from the angular velocity in P, and their derivatives.
    wx, wy, wz = body[BODY_STATE.twist + 3], body[BODY_STATE.twist + 4], body[BODY_STATE.twist + 5]
    bx, by, bz = (
        body[BODY_STATE.acceleration + 3],
        body[BODY_STATE.acceleration + 4],
        body[BODY_STATE.acceleration + 5],
    )
    sine, cosine = math.sin(roll), math.cos(roll)
    tangent, secant = math.tan(pitch), 1.0 / math.cos(pitch)
    pitch_rate = cosine * wy - sine * wz
    yaw_rate = (sine * wy + cosine * wz) * secant
    roll_rate = wx + (sine * wy + cosine * wz) * tangent
    truth[9] = roll_rate
    truth[10] = pitch_rate
    truth[11] = yaw_rate
    pitch_acceleration = cosine * by - sine * bz - roll_rate * (sine * wy + cosine * wz)
    across = sine * by + cosine * bz + roll_rate * pitch_rate
    yaw_acceleration = across * secant + yaw_rate * pitch_rate * tangent
    truth[15] = bx + across * tangent + (sine * wy + cosine * wz) * secant * secant * pitch_rate
    truth[16] = pitch_acceleration
    truth[17] = yaw_acceleration
    for i in range(plant.actuators.shape[0]):
        truth[18 + i] = plant.actuator_states[i, ACTUATOR_STATE.force]
