"""The servo drive: valve and length loops of all links, and what it does when nobody commands it.

Drive law of one link (control-study.md, "Notation and pitfalls"): the no-load speed asked of the valve is

    v = k_v·rate + lead·acceleration + (dF_ref/dt)/k_oil + F_ref·(leakage/A²) + k_p·(length error)
        − (c/k_oil)·HP(F − F_ref) + trim,

and the opening follows from the orifice law at the force reference, solved for the saturating port.

States: CLOSED (valves centred), FOLLOW, FADE (the last rate runs out within the stroke left), HOLD, LOWER.
"""

from __future__ import annotations

import math

from hil_sim.plant.block import (
    C_ACCELERATION,
    C_FORCE,
    C_FORCE_RATE,
    C_LENGTH,
    C_RATE,
    C_TRIM,
    COMMAND_AGE,
    COMMAND_TIMEOUT,
    COMMANDED,
    D_AREA_1,
    D_AREA_2,
    D_DESCENT,
    D_GAIN,
    D_LEAK_SPEED,
    D_NEUTRAL,
    D_SATURATION,
    D_STIFFNESS,
    D_STROKE,
    DESCENT_RATE,
    DRIVE_CLOCK,
    DRIVE_STATE,
    ESTOP,
    FADE_SPAN,
    FADE_TIME,
    FILTERED_SUPPLY,
    FORCE_FEEDFORWARD,
    HIGH_PASS,
    HIGH_PASS_RATE,
    HOLD_TIME,
    LENGTH_GAIN,
    LOCKED_OUT,
    MIN_SUPPLY,
    NOMINAL_RETURN,
    OFFSET_ACCELERATION,
    OFFSET_FORCE,
    OFFSET_LENGTH,
    OFFSET_RATE,
    ORIFICE_LAW,
    PERIOD,
    PRESSURE_DAMPING,
    RATE_FEEDFORWARD,
    REJOIN_ACCELERATION,
    REJOIN_CLOCK,
    REJOIN_SPAN,
    SET_ACCELERATION,
    SET_FORCE,
    SET_FORCE_RATE,
    SET_LENGTH,
    SET_RATE,
    STAGE_REQUEST,
    TICK,
    TIMED_OUT,
    VALVE_COMMAND,
    VALVE_LEAD,
)
from hil_sim.plant.set_points import begin_fade, fade, fade_span, follow, lower
from mastd.arrays import FloatArray, IntArray
from mastd.kernel import fused_kernel

MODE_DISABLED = 0
MODE_FOLLOW = 1

CLOSED = 0
FOLLOW = 1
FADE = 2
HOLD = 3
LOWER = 4

MIN_REJOIN = 0.05
"""Shortest time over which the drive moves over to a command that does not continue its set-point (s)."""
ENGAGING_TIME = 0.5
"""Shortest such time from closed valves: the chambers fill up to the force reference in it (s)."""
MAX_EXCURSION = 0.02
"""How far a difference in rate may carry a link away from its command while the drive rejoins (m)."""
MAX_OVERTRAVEL = 5.0e-3
MAX_RATE = 5.0
MAX_ACCELERATION = 500.0
MAX_FORCE = 1.0e7
MAX_WRENCH = 1.0e8
"""Bounds of a command that is taken at all: beyond the stroke (m), m/s, m/s², N, N or N m."""
JUMP_LENGTH = 2.0e-5
JUMP_RATE = 2.0e-3
"""A command continues the set-point within this length (m) and rate (m/s)."""
RELAXATION_TIME = 0.3
"""Time over which the force reference moves over to the measured force without commands (s)."""
SUPPLY_FILTER_TIME = 0.02
"""Low-pass of the measured supply pressure in the orifice law (s)."""
MAX_FORCE_RATE_SPEED = 0.1
"""Largest share of the speed that follows from the rate of the force reference (m/s)."""
CHECK_PRESSURE = 5.0e5
"""A port to the supply opens fully when the supply exceeds the chamber by this pressure (Pa)."""


@fused_kernel
def plausible(command: FloatArray, nominal: FloatArray, mode: int) -> bool:
    """Tell whether a table could mean this command; false for any number that is not finite.

    Lengths may exceed the stroke by no more than the end stops give, the rest is bounded far above what the
    actuators can do. Without FOLLOW only the payload's wrench counts.
    """
    n = nominal.shape[0]
    fine = True
    for j in range(5 * n, 5 * n + 6):
        fine = fine and abs(command[j]) <= MAX_WRENCH
    if mode == MODE_FOLLOW:
        for i in range(n):
            reach = nominal[i, D_STROKE] + MAX_OVERTRAVEL
            fine = fine and abs(command[i] - nominal[i, D_NEUTRAL]) <= reach
            fine = fine and abs(command[n + i]) <= MAX_RATE
            fine = fine and abs(command[2 * n + i]) <= MAX_ACCELERATION
            fine = fine and abs(command[3 * n + i]) <= MAX_FORCE
            fine = fine and abs(command[4 * n + i]) <= MAX_RATE
    return fine


@fused_kernel
def take_command(
    drive: FloatArray,
    links: FloatArray,
    parameters: FloatArray,
    nominal: FloatArray,
    integers: IntArray,
    measured: FloatArray,
    command: FloatArray,
    mode: int,
    stage: int,
) -> None:
    """Take over a command that has just arrived: mode, stage and the five numbers of each link.

    ``measured`` is the row of the sensors' history whose first n values are the lengths. A command that does
    not continue the drive's set-point is approached over a time that bounds the added acceleration.
    """
    n = links.shape[0]
    state = integers[DRIVE_STATE]
    integers[STAGE_REQUEST] = 0 if integers[ESTOP] else stage
    integers[COMMANDED] = 1
    if mode != MODE_FOLLOW or stage == 0:
        drive[COMMAND_AGE] = 0.0
        integers[TIMED_OUT] = 0
        if mode == MODE_DISABLED:
            integers[LOCKED_OUT] = 0
        if state == FOLLOW:
            begin_fade(drive, links, parameters, nominal)
            integers[DRIVE_STATE] = FADE
        elif state == HOLD:
            drive[DRIVE_CLOCK] = parameters[HOLD_TIME]
        return
    starved = state != FOLLOW and not drive[FILTERED_SUPPLY] >= parameters[MIN_SUPPLY]
    if integers[ESTOP] or integers[LOCKED_OUT] or starved:
        # It cannot be followed yet, but whoever sends it is alive.
        drive[COMMAND_AGE] = 0.0
        integers[TIMED_OUT] = 0
        return

    late = drive[COMMAND_AGE] > 1.5 * parameters[PERIOD] or state != FOLLOW
    largest_length = 0.0
    largest_rate = 0.0
    period = parameters[PERIOD]
    for i in range(n):
        force_rate = 0.0 if late else (command[3 * n + i] - links[i, C_FORCE]) / period
        limit = MAX_FORCE_RATE_SPEED * nominal[i, D_STIFFNESS]
        links[i, C_FORCE_RATE] = min(max(force_rate, -limit), limit)
        links[i, C_LENGTH] = command[i]
        links[i, C_RATE] = command[n + i]
        links[i, C_ACCELERATION] = command[2 * n + i]
        links[i, C_FORCE] = command[3 * n + i]
        links[i, C_TRIM] = command[4 * n + i]
        if state == CLOSED:
            links[i, SET_LENGTH] = measured[i]
            links[i, SET_RATE] = 0.0
            links[i, SET_ACCELERATION] = 0.0
            links[i, SET_FORCE] = (
                measured[n + 2 * i] * nominal[i, D_AREA_1] - measured[n + 2 * i + 1] * nominal[i, D_AREA_2]
            )
            links[i, HIGH_PASS] = 0.0
        if late:
            # Where the command says the link should be now, one period before its set-point.
            rate = links[i, C_RATE] - period * links[i, C_ACCELERATION]
            length = links[i, C_LENGTH] - 0.5 * period * (rate + links[i, C_RATE])
            links[i, OFFSET_LENGTH] = links[i, SET_LENGTH] - length
            links[i, OFFSET_RATE] = links[i, SET_RATE] - rate
            links[i, OFFSET_ACCELERATION] = links[i, SET_ACCELERATION] - links[i, C_ACCELERATION]
            links[i, OFFSET_FORCE] = links[i, SET_FORCE] - links[i, C_FORCE]
            largest_length = max(largest_length, abs(links[i, OFFSET_LENGTH]))
            largest_rate = max(largest_rate, abs(links[i, OFFSET_RATE]))
    if late:
        drive[REJOIN_CLOCK] = 0.0
        drive[REJOIN_SPAN] = ENGAGING_TIME if state == CLOSED else 0.0
        if largest_length > JUMP_LENGTH or largest_rate > JUMP_RATE:
            bound = parameters[REJOIN_ACCELERATION]
            span = max(math.sqrt(6.0 * largest_length / bound), 4.0 * largest_rate / bound)
            # A difference in rate first carries the offset away, by a fifth of rate times span at most.
            if largest_rate > 0.0:
                span = min(span, MAX_EXCURSION / (0.2 * largest_rate))
            drive[REJOIN_SPAN] = max(drive[REJOIN_SPAN], MIN_REJOIN, span)
    drive[COMMAND_AGE] = 0.0
    integers[TIMED_OUT] = 0
    if state != FOLLOW:
        drive[DRIVE_CLOCK] = 0.0
        integers[DRIVE_STATE] = FOLLOW


@fused_kernel
def run_drive(
    drive: FloatArray,
    links: FloatArray,
    parameters: FloatArray,
    nominal: FloatArray,
    integers: IntArray,
    measured: FloatArray,
    supply_pressure: float,
) -> None:
    """Run one tick of the drive on ``measured`` (lengths, chamber pressures); set the valve commands."""
    tick = parameters[TICK]
    drive[DRIVE_CLOCK] += tick
    drive[FILTERED_SUPPLY] += (tick / SUPPLY_FILTER_TIME) * (supply_pressure - drive[FILTERED_SUPPLY])
    state = integers[DRIVE_STATE]
    if state == FOLLOW:
        follow(drive, links, parameters)
        late = drive[COMMAND_AGE] >= parameters[COMMAND_TIMEOUT]
        if drive[COMMAND_AGE] > 1.5 * parameters[PERIOD]:
            for i in range(links.shape[0]):
                late = late or fade_span(links, nominal, i) < parameters[FADE_TIME]
        starved = not drive[FILTERED_SUPPLY] >= parameters[MIN_SUPPLY]
        if late or starved or integers[ESTOP]:
            integers[LOCKED_OUT] = 1 if starved else integers[LOCKED_OUT]
            integers[TIMED_OUT] = 1 if late else integers[TIMED_OUT]
            begin_fade(drive, links, parameters, nominal)
            integers[DRIVE_STATE] = FADE
    elif state == FADE:
        fade(drive, links)
        if drive[DRIVE_CLOCK] >= drive[FADE_SPAN]:
            drive[DRIVE_CLOCK] = 0.0 if integers[TIMED_OUT] else parameters[HOLD_TIME]
            integers[DRIVE_STATE] = HOLD
    elif state == HOLD:
        if drive[DRIVE_CLOCK] >= parameters[HOLD_TIME] or integers[ESTOP]:
            drive[DRIVE_CLOCK] = 0.0
            drive[DESCENT_RATE] = 0.0
            integers[LOCKED_OUT] = 1
            integers[DRIVE_STATE] = LOWER
    elif state == LOWER and lower(drive, links, parameters, nominal):
        integers[DRIVE_STATE] = CLOSED
        integers[STAGE_REQUEST] = 0
        drive[DRIVE_CLOCK] = 0.0
    drive[COMMAND_AGE] += tick
    if integers[DRIVE_STATE] == CLOSED:
        if integers[COMMANDED] and drive[COMMAND_AGE] > parameters[COMMAND_TIMEOUT]:
            integers[TIMED_OUT] = 1
            integers[STAGE_REQUEST] = 0
        for i in range(links.shape[0]):
            links[i, VALVE_COMMAND] = 0.0
        return
    _set_valves(drive, links, parameters, nominal, integers, measured)


@fused_kernel
def _set_valves(
    drive: FloatArray,
    links: FloatArray,
    parameters: FloatArray,
    nominal: FloatArray,
    integers: IntArray,
    measured: FloatArray,
) -> None:
    """The drive law of the module's head, for all links."""
    n = links.shape[0]
    tick = parameters[TICK]
    lead = parameters[VALVE_LEAD]
    follows = integers[DRIVE_STATE] == FOLLOW
    supply = drive[FILTERED_SUPPLY]
    for i in range(n):
        area_1 = nominal[i, D_AREA_1]
        area_2 = nominal[i, D_AREA_2]
        pressure_1 = measured[n + 2 * i]
        pressure_2 = measured[n + 2 * i + 1]
        force = pressure_1 * area_1 - pressure_2 * area_2
        trim = links[i, C_TRIM]
        if not follows:
            trim = 0.0
            links[i, SET_FORCE_RATE] = 0.0
            links[i, SET_FORCE] += (tick / RELAXATION_TIME) * (force - links[i, SET_FORCE])
        excess = force - links[i, SET_FORCE]
        links[i, HIGH_PASS] += parameters[HIGH_PASS_RATE] * tick * (excess - links[i, HIGH_PASS])
        stiffness = nominal[i, D_STIFFNESS]
        speed = (
            parameters[RATE_FEEDFORWARD] * links[i, SET_RATE]
            + lead * links[i, SET_ACCELERATION]
            + parameters[FORCE_FEEDFORWARD] * links[i, SET_FORCE_RATE] / stiffness
            + nominal[i, D_LEAK_SPEED] * links[i, SET_FORCE]
            + parameters[LENGTH_GAIN] * (links[i, SET_LENGTH] - measured[i])
            - parameters[PRESSURE_DAMPING] * (excess - links[i, HIGH_PASS]) / stiffness
            + trim
        )
        available = area_1 * supply - area_2 * parameters[NOMINAL_RETURN]
        if not speed > 0.0:
            available = area_2 * supply - area_1 * parameters[NOMINAL_RETURN]
        at_rest = max(available, 1.0)
        if parameters[ORIFICE_LAW] > 0.5:
            load = links[i, SET_FORCE] + lead * links[i, SET_FORCE_RATE]
            available += -load if speed > 0.0 else load
        # A twentieth of the full pressure is the least the law counts on: beyond it the valve is open anyway.
        available = max(available, 0.05 * at_rest)
        share = abs(speed) / (nominal[i, D_GAIN] * math.sqrt(available))
        saturation = nominal[i, D_SATURATION] * share
        opening = 1.0
        if saturation < 1.0:
            opening = min(share / math.sqrt(1.0 - saturation * saturation), 1.0)
        if speed > 0.0:
            # Without supply pressure an open port would let the oil that carries the table out.
            opening *= min(max((supply - pressure_1) / CHECK_PRESSURE, 0.0), 1.0)
        else:
            opening = -opening
        if nominal[i, D_DESCENT] == 0.0 and not follows:
            # Nor do the links that hold the table upright sideways give their oil away.
            opening *= min(max(supply / CHECK_PRESSURE - 1.0, 0.0), 1.0)
        links[i, VALVE_COMMAND] = opening
