"""The servo drive: valve and length loops of all actuators, and what it does when nobody commands it.

Drive law of one actuator (control-study.md, "Notation and pitfalls"): the no-load speed asked of the valve is

    v = k_v·rate + lead·acceleration + (dF_ref/dt)/k_oil + F_ref·(leakage/A²) + k_p·(length error)
        − (c/k_oil)·HP(F − F_ref) + trim,

and the opening follows from the orifice law at the force reference, solved for the saturating port. What an
electric drive is asked for is v over its maximum speed.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from hil_sim.plant.block import (
    ACTUATOR,
    AXIS,
    COUNTER,
    DRIVE,
    DRIVE_STATE,
    NOMINAL,
    SUPPLY,
    SUPPLY_STATE,
    PlantArrays,
)
from hil_sim.plant.set_points import begin_fade, fade, fade_duration, follow, lower
from mastd.arrays import FloatArray
from mastd.index_table import Entry, index_table
from mastd.kernel import fused_kernel
from mastd.wire.plant.messages import DriveMode


class DriveStates(NamedTuple):
    """What the drive does."""

    closed: Annotated[int, Entry("", "valves centred")]
    follow: Annotated[int, Entry("", "the command")]
    fade: Annotated[int, Entry("", "the last rate runs out within the stroke left")]
    hold: Annotated[int, Entry("", "the set-point")]
    lower: Annotated[int, Entry("", "to the rest position")]


STATE = index_table(DriveStates)
MODE_DISABLED = int(DriveMode.DISABLED)
MODE_FOLLOW = int(DriveMode.FOLLOW)
MIN_REJOIN = 0.05
"""Shortest time over which the drive moves over to a command that does not continue its set-point (s)."""
ENGAGING_TIME = 0.5
"""Shortest such time from closed valves: the chambers fill up to the force reference in it (s)."""
MAX_EXCURSION = 0.02
"""How far a difference in rate may carry an actuator away from its command while the drive rejoins (m)."""
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
"""Maximum speed that follows from the rate of the force reference (m/s)."""
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
            reach = nominal[i, NOMINAL.stroke] + MAX_OVERTRAVEL
            fine = fine and abs(command[i] - nominal[i, NOMINAL.neutral_length]) <= reach
            fine = fine and abs(command[n + i]) <= MAX_RATE
            fine = fine and abs(command[2 * n + i]) <= MAX_ACCELERATION
            fine = fine and abs(command[3 * n + i]) <= MAX_FORCE
            fine = fine and abs(command[4 * n + i]) <= MAX_RATE
    return fine


@fused_kernel
def take_command(plant: PlantArrays, mode: int, stage: int) -> None:
    """Take over a command that has just arrived: mode, stage and the five numbers of each actuator.

    A command that does not continue the drive's set-point is approached over a time that bounds the added
    acceleration.
    """
    drive, axes, parameters = plant.drive_state, plant.axes, plant.drive
    nominal, counters = plant.nominal, plant.counters
    command, measured = plant.command, plant.drive_measured
    n = axes.shape[0]
    state = counters[COUNTER.drive_state]
    counters[COUNTER.stage_request] = 0 if counters[COUNTER.estop] else stage
    counters[COUNTER.commanded] = 1
    if mode != MODE_FOLLOW or stage == 0:
        drive[DRIVE_STATE.command_age] = 0.0
        counters[COUNTER.timed_out] = 0
        if mode == MODE_DISABLED:
            counters[COUNTER.locked_out] = 0
        if state == STATE.follow:
            begin_fade(plant)
            counters[COUNTER.drive_state] = STATE.fade
        elif state == STATE.hold:
            drive[DRIVE_STATE.clock] = parameters[DRIVE.hold_time]
        return
    starved = state != STATE.follow and _starved(plant)
    if counters[COUNTER.estop] or counters[COUNTER.locked_out] or starved:
        # It cannot be followed yet, but whoever sends it is alive.
        drive[DRIVE_STATE.command_age] = 0.0
        counters[COUNTER.timed_out] = 0
        return

    late = drive[DRIVE_STATE.command_age] > 1.5 * parameters[DRIVE.period] or state != STATE.follow
    max_length = 0.0
    max_rate = 0.0
    period = parameters[DRIVE.period]
    for i in range(n):
        force_rate = 0.0 if late else (command[3 * n + i] - axes[i, AXIS.command_force]) / period
        limit = MAX_FORCE_RATE_SPEED * nominal[i, NOMINAL.stiffness]
        axes[i, AXIS.command_force_rate] = min(max(force_rate, -limit), limit)
        axes[i, AXIS.command_length] = command[i]
        axes[i, AXIS.command_rate] = command[n + i]
        axes[i, AXIS.command_acceleration] = command[2 * n + i]
        axes[i, AXIS.command_force] = command[3 * n + i]
        axes[i, AXIS.command_trim] = command[4 * n + i]
        if state == STATE.closed:
            axes[i, AXIS.set_length] = measured[i]
            axes[i, AXIS.set_rate] = 0.0
            axes[i, AXIS.set_acceleration] = 0.0
            axes[i, AXIS.set_force] = (
                measured[n + 2 * i] * nominal[i, NOMINAL.reading_1]
                + measured[n + 2 * i + 1] * nominal[i, NOMINAL.reading_2]
            )
            axes[i, AXIS.high_pass] = 0.0
        if late:
            # Where the command says the actuator should be now, one period before its set-point.
            rate = axes[i, AXIS.command_rate] - period * axes[i, AXIS.command_acceleration]
            length = axes[i, AXIS.command_length] - 0.5 * period * (rate + axes[i, AXIS.command_rate])
            axes[i, AXIS.offset_length] = axes[i, AXIS.set_length] - length
            axes[i, AXIS.offset_rate] = axes[i, AXIS.set_rate] - rate
            axes[i, AXIS.offset_acceleration] = (
                axes[i, AXIS.set_acceleration] - axes[i, AXIS.command_acceleration]
            )
            axes[i, AXIS.offset_force] = axes[i, AXIS.set_force] - axes[i, AXIS.command_force]
            max_length = max(max_length, abs(axes[i, AXIS.offset_length]))
            max_rate = max(max_rate, abs(axes[i, AXIS.offset_rate]))
    if late:
        drive[DRIVE_STATE.rejoin_clock] = 0.0
        drive[DRIVE_STATE.rejoin_duration] = ENGAGING_TIME if state == STATE.closed else 0.0
        if max_length > JUMP_LENGTH or max_rate > JUMP_RATE:
            bound = parameters[DRIVE.rejoin_acceleration]
            span = max(math.sqrt(6.0 * max_length / bound), 4.0 * max_rate / bound)
            # A difference in rate first carries the offset away, by a fifth of rate times span at most.
            if max_rate > 0.0:
                span = min(span, MAX_EXCURSION / (0.2 * max_rate))
            drive[DRIVE_STATE.rejoin_duration] = max(drive[DRIVE_STATE.rejoin_duration], MIN_REJOIN, span)
    drive[DRIVE_STATE.command_age] = 0.0
    counters[COUNTER.timed_out] = 0
    if state != STATE.follow:
        drive[DRIVE_STATE.clock] = 0.0
        counters[COUNTER.drive_state] = STATE.follow


@fused_kernel
def _starved(plant: PlantArrays) -> bool:
    """Tell whether a supply has too little pressure for the drive."""
    starved = False
    for k in range(plant.supply_state.shape[0]):
        pressure = plant.supply_state[k, SUPPLY_STATE.filtered]
        starved = starved or not pressure >= plant.supply[k, SUPPLY.drive_minimum]
    return starved


@fused_kernel
def run_drive(plant: PlantArrays) -> None:
    """Run one tick of the drive on ``drive_measured`` (lengths, forces); set the valve commands."""
    drive, axes, parameters = plant.drive_state, plant.axes, plant.drive
    counters = plant.counters
    tick = parameters[DRIVE.tick]
    drive[DRIVE_STATE.clock] += tick
    for k in range(plant.supply_state.shape[0]):
        pack = plant.supply_state[k]
        pack[SUPPLY_STATE.filtered] += (tick / SUPPLY_FILTER_TIME) * (
            pack[SUPPLY_STATE.pressure] - pack[SUPPLY_STATE.filtered]
        )
    state = counters[COUNTER.drive_state]
    if state == STATE.follow:
        follow(plant)
        late = drive[DRIVE_STATE.command_age] >= parameters[DRIVE.command_timeout]
        if drive[DRIVE_STATE.command_age] > 1.5 * parameters[DRIVE.period]:
            for i in range(axes.shape[0]):
                late = late or fade_duration(plant, i) < parameters[DRIVE.fade_time]
        starved = _starved(plant)
        if late or starved or counters[COUNTER.estop]:
            counters[COUNTER.locked_out] = 1 if starved else counters[COUNTER.locked_out]
            counters[COUNTER.timed_out] = 1 if late else counters[COUNTER.timed_out]
            begin_fade(plant)
            counters[COUNTER.drive_state] = STATE.fade
    elif state == STATE.fade:
        fade(plant)
        if drive[DRIVE_STATE.clock] >= drive[DRIVE_STATE.fade_duration]:
            drive[DRIVE_STATE.clock] = 0.0 if counters[COUNTER.timed_out] else parameters[DRIVE.hold_time]
            counters[COUNTER.drive_state] = STATE.hold
    elif state == STATE.hold:
        if drive[DRIVE_STATE.clock] >= parameters[DRIVE.hold_time] or counters[COUNTER.estop]:
            drive[DRIVE_STATE.clock] = 0.0
            drive[DRIVE_STATE.descent_rate] = 0.0
            counters[COUNTER.locked_out] = 1
            counters[COUNTER.drive_state] = STATE.lower
    elif state == STATE.lower and lower(plant):
        counters[COUNTER.drive_state] = STATE.closed
        counters[COUNTER.stage_request] = 0
        drive[DRIVE_STATE.clock] = 0.0
    drive[DRIVE_STATE.command_age] += tick
    if counters[COUNTER.drive_state] == STATE.closed:
        if counters[COUNTER.commanded] and drive[DRIVE_STATE.command_age] > parameters[DRIVE.command_timeout]:
            counters[COUNTER.timed_out] = 1
            counters[COUNTER.stage_request] = 0
        for i in range(axes.shape[0]):
            axes[i, AXIS.valve_command] = 0.0
        return
    _set_valves(plant)


@fused_kernel
def _set_valves(plant: PlantArrays) -> None:
    """The drive law of the module's head, for all actuators."""
    axes, parameters = plant.axes, plant.drive
    nominal, measured = plant.nominal, plant.drive_measured
    n = axes.shape[0]
    tick = parameters[DRIVE.tick]
    follows = plant.counters[COUNTER.drive_state] == STATE.follow
    for i in range(n):
        supply = plant.supply_state[int(plant.actuators[i, ACTUATOR.supply]), SUPPLY_STATE.filtered]
        back = nominal[i, NOMINAL.return_pressure]
        lead = nominal[i, NOMINAL.valve_lead]
        area_1 = nominal[i, NOMINAL.area_1]
        area_2 = nominal[i, NOMINAL.area_2]
        pressure_1 = measured[n + 2 * i]
        pressure_2 = measured[n + 2 * i + 1]
        force = pressure_1 * nominal[i, NOMINAL.reading_1] + pressure_2 * nominal[i, NOMINAL.reading_2]
        trim = axes[i, AXIS.command_trim]
        if not follows:
            trim = 0.0
            axes[i, AXIS.set_force_rate] = 0.0
            axes[i, AXIS.set_force] += (tick / RELAXATION_TIME) * (force - axes[i, AXIS.set_force])
        excess = force - axes[i, AXIS.set_force]
        axes[i, AXIS.high_pass] += (
            parameters[DRIVE.high_pass_rate] * tick * (excess - axes[i, AXIS.high_pass])
        )
        stiffness = nominal[i, NOMINAL.stiffness]
        speed = (
            nominal[i, NOMINAL.rate_feedforward] * axes[i, AXIS.set_rate]
            + lead * axes[i, AXIS.set_acceleration]
            + nominal[i, NOMINAL.force_feedforward] * axes[i, AXIS.set_force_rate] / stiffness
            + nominal[i, NOMINAL.leak_speed] * axes[i, AXIS.set_force]
            + nominal[i, NOMINAL.length_gain] * (axes[i, AXIS.set_length] - measured[i])
            - nominal[i, NOMINAL.pressure_damping] * (excess - axes[i, AXIS.high_pass]) / stiffness
            + trim
        )
        if nominal[i, NOMINAL.full_speed] > 0.0:
            axes[i, AXIS.valve_command] = min(max(speed / nominal[i, NOMINAL.full_speed], -1.0), 1.0)
            continue
        available = area_1 * supply - area_2 * back
        at_rest = max(available, 1.0)
        if not speed > 0.0:
            available = area_2 * supply - area_1 * back
            if area_2 > 0.0:
                at_rest = max(available, 1.0)
        if parameters[DRIVE.orifice_law] > 0.5:
            load = axes[i, AXIS.set_force] + lead * axes[i, AXIS.set_force_rate]
            available += -load if speed > 0.0 else load
        # A twentieth of the full pressure is the least the law counts on: beyond it the valve is open anyway.
        available = max(available, 0.05 * at_rest)
        ratio = abs(speed) / (nominal[i, NOMINAL.gain] * math.sqrt(available))
        saturation = nominal[i, NOMINAL.saturation] * ratio
        opening = 1.0
        if saturation < 1.0:
            opening = min(ratio / math.sqrt(1.0 - saturation * saturation), 1.0)
        if speed > 0.0:
            # Without supply pressure an open port would let the oil that carries the table out.
            opening *= min(max((supply - pressure_1) / CHECK_PRESSURE, 0.0), 1.0)
        else:
            opening = -opening
        if nominal[i, NOMINAL.descent] == 0.0 and not follows:
            # Nor do the actuators that hold the table upright sideways give their oil away.
            opening *= min(max(supply / CHECK_PRESSURE - 1.0, 0.0), 1.0)
        axes[i, AXIS.valve_command] = opening
