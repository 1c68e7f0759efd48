"""The plant's kernels as the process calls them: advance by inner steps, read the sensors, tell the truth.

Order within one drive tick: the drive acts on what was recorded at the tick's start, the inner steps run, the
supply books the oil drawn, the sensors are recorded. A command is taken over before the first tick.
"""

from __future__ import annotations

import math

from hil_sim.plant.block import (
    ACCELERATION,
    ACCELEROMETER_COLUMNS,
    ACCELEROMETERS,
    BODY_HISTORY,
    CALIBRATION_COLUMNS,
    DRIVE_LINK_PARAMETERS,
    DRIVE_LINK_STATES,
    DRIVE_STATE,
    ESTOP,
    FLAGS,
    FORCE,
    HISTORY_ROWS,
    INTEGERS,
    LINK_PARAMETERS,
    LINK_STATES,
    LINKS,
    MAXIMUM_FILTER_DROP,
    MAXIMUM_TEMPERATURE,
    MINIMUM_LEVEL,
    PAYLOAD_WRENCH,
    POSITION,
    SEED,
    STEP,
    SUPPLY_FAULT,
    SUPPLY_PRESSURE,
    SUPPORT_COLUMNS,
    SUPPORTS,
    TICK,
    TICK_STEPS,
    TIMED_OUT,
    TWIST,
    VALVE_COMMAND,
    VALVE_DELAY,
    VALVE_ROWS,
)
from hil_sim.plant.sensors import measure, measure_rest, record
from hil_sim.plant.servo_drive import FADE, LOWER, plausible, run_drive, take_command
from hil_sim.plant.supply import run_supply
from hil_sim.plant.table_body import rotation, step_plant
from mastd.arrays import FloatArray, IntArray
from mastd.kernel import kernel


@kernel
def advance(floats: FloatArray, integers: IntArray, steps: int, mode: int, stage: int) -> None:
    """Advance the plant by whole inner steps; ``mode`` −1 means that no command has arrived.

    The command stands in the block's part ``command``: lengths, rates, accelerations, force references, trims
    (n each), payload wrench (6). One that no table could mean counts as none.
    """
    n = integers[LINKS]
    at = integers[INTEGERS:]
    link_parameters = floats[at[0] : at[1]].reshape((n, LINK_PARAMETERS))
    links = floats[at[1] : at[2]].reshape((n, LINK_STATES))
    body_parameters = floats[at[2] : at[3]]
    body = floats[at[3] : at[4]]
    supports = floats[at[4] : at[5]].reshape((integers[SUPPORTS], SUPPORT_COLUMNS))
    supply_parameters = floats[at[5] : at[6]]
    supply = floats[at[6] : at[7]]
    drive_parameters = floats[at[7] : at[8]]
    nominal = floats[at[8] : at[9]].reshape((n, DRIVE_LINK_PARAMETERS))
    drive_links = floats[at[9] : at[10]].reshape((n, DRIVE_LINK_STATES))
    drive = floats[at[10] : at[11]]
    sensor_parameters = floats[at[11] : at[12]]
    calibration = floats[at[13] : at[14]].reshape(
        ((at[14] - at[13]) // CALIBRATION_COLUMNS, CALIBRATION_COLUMNS)
    )
    history = floats[at[14] : at[15]].reshape((HISTORY_ROWS, 4 * n + BODY_HISTORY))
    valve_history = floats[at[15] : at[16]].reshape((VALVE_ROWS, n))
    measured = floats[at[16] : at[17]]
    valve_commands = floats[at[17] : at[18]]
    unit_vectors = floats[at[18] : at[19]].reshape((n, 6))
    command = floats[at[19] : at[20]]
    tick_steps = integers[TICK_STEPS]
    tick = drive_parameters[TICK]
    inner_step = tick / tick_steps

    if mode >= 0 and plausible(command, nominal, mode):
        take_command(drive, drive_links, drive_parameters, nominal, integers, measured, command, mode, stage)
        for j in range(6):
            body[PAYLOAD_WRENCH + j] = command[5 * n + j]
    for _ in range(steps):
        now = integers[STEP] // tick_steps
        if integers[STEP] % tick_steps == 0:
            measure(history, now, integers[SEED], sensor_parameters, calibration, 0, 3 * n, measured)
            run_drive(
                drive, drive_links, drive_parameters, nominal, integers, measured, supply[SUPPLY_PRESSURE]
            )
            for i in range(n):
                valve_history[now % VALVE_ROWS, i] = drive_links[i, VALVE_COMMAND]
        for i in range(n):
            delay = link_parameters[i, VALVE_DELAY]
            whole = int(delay)
            part = delay - whole
            newer = valve_history[((integers[STEP] - whole) // tick_steps) % VALVE_ROWS, i]
            older = valve_history[((integers[STEP] - whole - 1) // tick_steps) % VALVE_ROWS, i]
            valve_commands[i] = newer + part * (older - newer)
        step_plant(
            links,
            link_parameters,
            body,
            body_parameters,
            supports,
            supply,
            supply_parameters,
            valve_commands,
            unit_vectors,
            inner_step,
        )
        integers[STEP] += 1
        if integers[STEP] % tick_steps == 0:
            run_supply(supply, supply_parameters, integers, tick)
            record(history, (now + 1) % HISTORY_ROWS, links, body, body_parameters)


@kernel
def read(floats: FloatArray, integers: IntArray) -> None:
    """Read all sensors at the last drive tick into the block's part ``measured``, in the sample's order, and
    the bits of ``mastd.wire.plant.messages.SampleFlag`` into the counters.
    """
    n = integers[LINKS]
    at = integers[INTEGERS:]
    sensor_parameters = floats[at[11] : at[12]]
    accelerometers = floats[at[12] : at[13]].reshape((integers[ACCELEROMETERS], ACCELEROMETER_COLUMNS))
    calibration = floats[at[13] : at[14]].reshape(
        ((at[14] - at[13]) // CALIBRATION_COLUMNS, CALIBRATION_COLUMNS)
    )
    history = floats[at[14] : at[15]].reshape((HISTORY_ROWS, 4 * n + BODY_HISTORY))
    measured = floats[at[20] : at[21]]
    supply = floats[at[6] : at[7]]
    supply_parameters = floats[at[5] : at[6]]
    now = integers[STEP] // integers[TICK_STEPS]
    measure(history, now, integers[SEED], sensor_parameters, calibration, 0, 4 * n, measured)
    measure_rest(
        history,
        now,
        integers[SEED],
        sensor_parameters,
        calibration,
        accelerometers,
        supply,
        supply_parameters,
        measured,
    )
    flags = 0
    state = integers[DRIVE_STATE]
    if integers[ESTOP]:
        flags |= 1
    if integers[SUPPLY_FAULT]:
        flags |= 2
    if not measured[4 * n + 3] <= supply_parameters[MAXIMUM_TEMPERATURE]:
        flags |= 4
    if not measured[4 * n + 4] >= supply_parameters[MINIMUM_LEVEL]:
        flags |= 8
    if not measured[4 * n + 6] <= supply_parameters[MAXIMUM_FILTER_DROP]:
        flags |= 16
    if state == FADE:
        flags |= 32
    if state == LOWER:
        flags |= 64
    if integers[TIMED_OUT]:
        flags |= 128
    integers[FLAGS] = flags


@kernel
def tell_truth(floats: FloatArray, integers: IntArray, neutral: FloatArray) -> None:
    """Write the true pose, Euler rates and accelerations of C and the true forces into part ``truth``.

    Pose (6) against ``neutral`` (position of C in B), Euler rates (6), accelerations in B with second
    derivatives of the Euler angles (6), forces of the links on the table (n).
    """
    n = integers[LINKS]
    at = integers[INTEGERS:]
    links = floats[at[1] : at[2]].reshape((n, LINK_STATES))
    body = floats[at[3] : at[4]]
    truth = floats[at[21] : at[22]]
    r11, r12, r13, r21, r22, r23, r31, r32, r33 = rotation(body)
    for j in range(3):
        truth[j] = body[POSITION + j] - neutral[j]
    roll = math.atan2(r32, r33)
    pitch = math.asin(min(max(-r31, -1.0), 1.0))
    truth[3] = roll
    truth[4] = pitch
    truth[5] = math.atan2(r21, r11)
    v1, v2, v3 = body[TWIST], body[TWIST + 1], body[TWIST + 2]
    truth[6] = r11 * v1 + r12 * v2 + r13 * v3
    truth[7] = r21 * v1 + r22 * v2 + r23 * v3
    truth[8] = r31 * v1 + r32 * v2 + r33 * v3
    a1, a2, a3 = body[ACCELERATION], body[ACCELERATION + 1], body[ACCELERATION + 2]
    truth[12] = r11 * a1 + r12 * a2 + r13 * a3
    truth[13] = r21 * a1 + r22 * a2 + r23 * a3
    truth[14] = r31 * a1 + r32 * a2 + r33 * a3
    # Euler rates of the 3-2-1 order from the angular velocity in P, and their derivatives.
    wx, wy, wz = body[TWIST + 3], body[TWIST + 4], body[TWIST + 5]
    bx, by, bz = body[ACCELERATION + 3], body[ACCELERATION + 4], body[ACCELERATION + 5]
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
    for i in range(n):
        truth[18 + i] = links[i, FORCE]
