"""State machine: the twelve states of the table as a pure function of state, event and conditions.

``next_state`` is the whole machine: no clock, no side effects. Operators' commands that a state does not
take are refused with the reason and with what would be needed; events of the machine itself that a state
does not know change nothing. The caller applies the most severe event of a cycle first.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class State(enum.IntEnum):
    """Operating state of the table; records and status blocks hold the number."""

    OFF = 0
    LOW = 1
    HIGH = 2
    RAISING = 3
    READY = 4
    ARMED = 5
    RUNNING = 6
    HOLD = 7
    STOPPING = 8
    LOWERING = 9
    FAULT = 10
    ESTOP = 11


class Event(enum.Enum):
    """Inputs of the state machine: operators' commands first, then what the loop observes."""

    RAISE = "raise"
    LOAD = "load"
    ARM = "arm"
    START = "start"
    HOLD = "hold"
    RESUME = "resume"
    STOP = "stop"
    LOWER = "lower"
    JOG = "jog"
    ESTOP = "estop"
    RESET = "reset"
    LEVEL = "level"
    RELOAD = "reload"
    LOW_STAGE_REACHED = "low stage reached"
    HIGH_STAGE_REACHED = "high stage reached"
    RAISED = "raised"
    PROFILE_ENDED = "profile ended"
    STANDSTILL = "standstill"
    LOWERED = "lowered"
    FAULT_HOLD = "fault: hold"
    FAULT_STOP = "fault: stop"
    FAULT_POWER_OFF = "fault: power off"


ON_PROFILE = frozenset({State.RUNNING, State.HOLD, State.STOPPING})
"""States in which the path may be that of the loaded profile."""

MOVING = frozenset({State.RAISING, State.RUNNING, State.HOLD, State.STOPPING})
"""States in which a fault of action *stop* first has to bring the table to rest."""


@dataclass(frozen=True)
class Conditions:
    """Conditions on which the reaction to an event depends."""

    raised: bool = False
    """The table is clear of its lower stops, at rest."""
    supply_on: bool = False
    """The supply is on and delivers pressure."""
    fault_latched: bool = False
    """A fault of action *stop* or *power off* is latched and has not been reset."""
    estop_released: bool = True
    """The e-stop input of the plant is released."""
    profile_loaded: bool = False
    """A checked profile is loaded."""
    at_start: bool = False
    """The table is at the first pose of the loaded profile."""
    feedback_valid: bool = True
    """The newest sample can be used and a pose was found from it."""
    drive_idle: bool = True
    """The drive is neither fading nor lowering by itself, and has not timed out."""
    rights: bool = True
    """Real-time rights are granted, or the settings allow to run without them."""
    enabled: bool = True
    """The drive follows the daemon's set-points."""
    cause: bool = True
    """A first cause is latched."""
    standing: bool = True
    """No motion is commanded; in READY a jog may be moving."""
    missing_rig: str = ""
    """Name of a rig that the loaded profile uses and that has not joined or is lost; else empty."""


@dataclass(frozen=True)
class Outcome:
    """The next state; ``refusal`` is empty when the event was accepted (or did not concern the state)."""

    state: State
    refusal: str = ""


_ALLOWED: dict[Event, dict[State, State]] = {
    Event.RAISE: {State.OFF: State.LOW, State.READY: State.RAISING},
    Event.LOAD: {State.OFF: State.OFF, State.READY: State.READY},
    Event.ARM: {State.READY: State.ARMED},
    Event.START: {State.ARMED: State.RUNNING},
    Event.HOLD: {State.RUNNING: State.HOLD},
    Event.RESUME: {State.HOLD: State.RUNNING},
    Event.STOP: {
        State.LOW: State.OFF,
        State.HIGH: State.OFF,
        State.RAISING: State.STOPPING,
        State.READY: State.READY,
        State.ARMED: State.READY,
        State.RUNNING: State.STOPPING,
        State.HOLD: State.STOPPING,
        State.STOPPING: State.STOPPING,
        State.LOWERING: State.LOWERING,
        State.OFF: State.OFF,
        State.FAULT: State.FAULT,
        State.ESTOP: State.ESTOP,
    },
    Event.LOWER: {
        State.LOW: State.OFF,
        State.HIGH: State.OFF,
        State.READY: State.LOWERING,
        State.ARMED: State.LOWERING,
        State.FAULT: State.LOWERING,
        State.LOWERING: State.LOWERING,
    },
    Event.JOG: {State.READY: State.READY},
    Event.RESET: {state: state for state in (State.FAULT, State.ESTOP, State.OFF, State.READY)},
    Event.LEVEL: {state: state for state in (State.OFF, State.READY, State.ARMED, State.RUNNING, State.HOLD)},
    Event.RELOAD: {State.OFF: State.OFF},
}

COMMANDS = frozenset({*_ALLOWED, Event.ESTOP})
"""The events that an operator can send; all others come from the loop."""

_OBSERVED: dict[Event, dict[State, State]] = {
    Event.LOW_STAGE_REACHED: {State.LOW: State.HIGH},
    Event.HIGH_STAGE_REACHED: {State.HIGH: State.RAISING},
    Event.RAISED: {State.RAISING: State.READY},
    Event.PROFILE_ENDED: {State.RUNNING: State.READY},
    Event.FAULT_HOLD: {State.RUNNING: State.HOLD, State.RAISING: State.STOPPING},
}

_NEEDED: dict[Event, str] = {
    Event.RAISE: "lower or reset the table to OFF, or be in READY",
    Event.LOAD: "load in OFF or READY",
    Event.ARM: "raise the table to READY first",
    Event.START: "arm first",
    Event.HOLD: "a profile must be running",
    Event.RESUME: "a profile must be on hold",
    Event.LOWER: "lower in LOW, HIGH, READY, ARMED or FAULT",
    Event.JOG: "raise the table to READY first",
    Event.RESET: "reset in READY, OFF, FAULT or ESTOP",
    Event.LEVEL: "set the level in OFF, READY, ARMED, RUNNING or HOLD",
    Event.RELOAD: "settings can only be reloaded in OFF; lower the table first",
}


def accepting_states(command: Event) -> tuple[State, ...]:
    """Return the states in which an operator's command can be accepted, in their order."""
    return tuple(state for state in State if command is Event.ESTOP or state in _ALLOWED[command])


def next_state(state: State, event: Event, conditions: Conditions) -> Outcome:
    """Return the state after ``event``, or the same state with the reason why the event is refused."""
    if event is Event.ESTOP:
        return Outcome(State.ESTOP)
    if event is Event.FAULT_POWER_OFF:
        return Outcome(State.ESTOP if state is State.ESTOP else State.FAULT)
    if event is Event.FAULT_STOP:
        return Outcome(_after_fault_stop(state, conditions))
    if event is Event.STANDSTILL:
        if state is State.STOPPING:
            return Outcome(State.FAULT if conditions.fault_latched else State.READY)
        return Outcome(state)
    if event is Event.LOWERED:
        if state is State.LOWERING:
            return Outcome(State.FAULT if conditions.fault_latched else State.OFF)
        return Outcome(state)
    if event is Event.FAULT_HOLD and state is State.READY and not conditions.standing:
        return Outcome(State.STOPPING)
    if event in _OBSERVED:
        return Outcome(_OBSERVED[event].get(state, state))
    target = _ALLOWED[event].get(state)
    if target is None:
        return Outcome(state, f"{event.value} is refused in {state.name}: {_NEEDED[event]}")
    if event is Event.RESET:
        return _reset(state, conditions)
    if event is Event.STOP and state is State.READY and not conditions.standing:
        return Outcome(State.STOPPING)
    if event is Event.STOP and state is State.LOWERING and conditions.enabled:
        return Outcome(State.STOPPING)
    refusal = _missing_condition(state, event, conditions)
    return Outcome(state, refusal) if refusal else Outcome(target)


def _after_fault_stop(state: State, conditions: Conditions) -> State:
    if state in MOVING or (state is State.READY and not conditions.standing):
        return State.STOPPING
    if state in (State.ESTOP, State.LOWERING):
        return state
    return State.FAULT


def _reset(state: State, conditions: Conditions) -> Outcome:
    if state in (State.OFF, State.READY):
        nothing = f"reset is refused in {state.name}: no fault is latched; nothing to reset"
        return Outcome(state, "" if conditions.cause else nothing)
    if not conditions.estop_released:
        return Outcome(state, "reset is refused: the e-stop is still pressed; release it first")
    if state is State.FAULT and conditions.supply_on and conditions.enabled:
        if not conditions.feedback_valid:
            return Outcome(
                state, "reset is refused: the table position is not known; lower the table, or press e-stop"
            )
        if conditions.raised:
            return Outcome(State.READY)
    return Outcome(State.OFF)


def _missing_condition(state: State, event: Event, conditions: Conditions) -> str:
    if event in (Event.RAISE, Event.ARM) and conditions.fault_latched:
        return f"{event.value} is refused: a fault is latched; remove its cause, then reset"
    if event in (Event.RAISE, Event.ARM) and not conditions.feedback_valid:
        return f"{event.value} is refused: the feedback is invalid (pose not found); see the faults"
    if event is Event.RAISE and state is State.OFF and not conditions.drive_idle:
        return "raise is refused: the drive is still lowering the table by itself; wait until it is down"
    if event is Event.RELOAD and not conditions.drive_idle:
        return "reload is refused: the drive is still lowering the table by itself; wait until it is down"
    if event is Event.RAISE and not conditions.estop_released:
        return "raise is refused: the e-stop is pressed; release it first"
    if event is Event.LOWER and state is State.FAULT and not conditions.supply_on:
        return "lower is refused: the supply is off and the drive lowers the table by itself"
    if event is Event.JOG and not conditions.standing:
        return "jog is refused: the last jog is still moving; wait for its end, or stop it"
    if event in (Event.ARM, Event.START) and conditions.missing_rig:
        return f"{event.value} is refused: rig {conditions.missing_rig} has not joined; start it first"
    if event is Event.ARM:
        if not conditions.profile_loaded:
            return "arm is refused: no profile is loaded; load one first"
        if not conditions.at_start:
            return "arm is refused: the table is not at the start pose of the profile; raise moves it there"
        if not conditions.rights:
            return (
                "arm is refused: real-time rights are missing (DEGRADED_RT); grant them, or set "
                "realtime.allow_without_rights"
            )
    return ""
