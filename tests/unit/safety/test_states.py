"""The state machine over every state and every event."""

from __future__ import annotations

import itertools

import pytest

from mastd.safety.states import COMMANDS, MOVING, Conditions, Event, State, next_state

GOOD = Conditions(raised=True, supply_on=True, profile_loaded=True, at_start=True)

ACCEPTED: dict[Event, dict[State, State]] = {
    Event.RAISE: {State.OFF: State.LOW, State.READY: State.RAISING},
    Event.LOAD: {State.OFF: State.OFF, State.READY: State.READY},
    Event.ARM: {State.READY: State.ARMED},
    Event.START: {State.ARMED: State.RUNNING},
    Event.HOLD: {State.RUNNING: State.HOLD},
    Event.RESUME: {State.HOLD: State.RUNNING},
    Event.JOG: {State.READY: State.READY},
    Event.RELOAD: {State.OFF: State.OFF},
    Event.LEVEL: {state: state for state in (State.OFF, State.READY, State.ARMED, State.RUNNING, State.HOLD)},
    Event.RESET: {
        State.FAULT: State.READY,
        State.ESTOP: State.OFF,
        State.OFF: State.OFF,
        State.READY: State.READY,
    },
    Event.LOWER: {
        State.LOW: State.OFF,
        State.HIGH: State.OFF,
        **dict.fromkeys((State.READY, State.ARMED, State.FAULT, State.LOWERING), State.LOWERING),
    },
}


@pytest.mark.parametrize(("state", "event"), list(itertools.product(State, Event)))
def test_every_state_and_event_leads_where_the_design_says(state: State, event: Event) -> None:
    outcome = next_state(state, event, GOOD)
    if event is Event.ESTOP:
        assert outcome.state is State.ESTOP
    elif event is Event.FAULT_POWER_OFF:
        assert outcome.state is (State.ESTOP if state is State.ESTOP else State.FAULT)
    elif event is Event.FAULT_STOP:
        expected = State.STOPPING if state in MOVING else State.FAULT
        if state in (State.ESTOP, State.LOWERING):
            expected = state
        assert outcome.state is expected
    elif event is Event.STOP:
        assert not outcome.refusal, "anybody may stop, at any time"
        assert outcome.state not in (State.RUNNING, State.RAISING, State.HOLD)
    elif event in ACCEPTED:
        expected_state = ACCEPTED[event].get(state)
        if expected_state is None:
            assert outcome.state is state
            assert outcome.refusal.startswith(f"{event.value} is refused in {state.name}")
        else:
            assert (outcome.state, outcome.refusal) == (expected_state, "")
    else:
        assert not outcome.refusal
        if outcome.state is not state:
            assert (state, event, outcome.state) in {
                (State.LOW, Event.LOW_STAGE_REACHED, State.HIGH),
                (State.HIGH, Event.HIGH_STAGE_REACHED, State.RAISING),
                (State.RAISING, Event.RAISED, State.READY),
                (State.RUNNING, Event.PROFILE_ENDED, State.READY),
                (State.RUNNING, Event.FAULT_HOLD, State.HOLD),
                (State.RAISING, Event.FAULT_HOLD, State.STOPPING),
                (State.STOPPING, Event.STANDSTILL, State.READY),
                (State.LOWERING, Event.LOWERED, State.OFF),
            }


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("event", [Event.RESET, *(e for e in Event if e not in COMMANDS)])
def test_reset_and_observations_never_start_motion(state: State, event: Event) -> None:
    target = next_state(state, event, GOOD).state
    assert target is state or target not in (State.RUNNING, State.ARMED)
    if event is Event.RESET:
        assert target in (State.OFF, State.READY, state)


def test_a_fault_stop_ends_in_fault_and_an_operators_stop_in_ready() -> None:
    latched = Conditions(raised=True, supply_on=True, fault_latched=True)
    assert next_state(State.STOPPING, Event.STANDSTILL, latched).state is State.FAULT
    assert next_state(State.STOPPING, Event.STANDSTILL, GOOD).state is State.READY
    assert next_state(State.LOWERING, Event.LOWERED, latched).state is State.FAULT


@pytest.mark.parametrize(
    ("event", "state", "conditions", "words"),
    [
        (Event.RAISE, State.OFF, Conditions(fault_latched=True), "a fault is latched"),
        (Event.RAISE, State.OFF, Conditions(estop_released=False), "e-stop is pressed"),
        (Event.RAISE, State.OFF, Conditions(feedback_valid=False), "feedback is invalid"),
        (Event.RAISE, State.OFF, Conditions(drive_idle=False), "still lowering the table"),
        (Event.RELOAD, State.OFF, Conditions(drive_idle=False), "still lowering the table"),
        (Event.ARM, State.READY, Conditions(profile_loaded=False), "no profile"),
        (Event.ARM, State.READY, Conditions(profile_loaded=True), "start pose of the profile"),
        (
            Event.ARM,
            State.READY,
            Conditions(profile_loaded=True, at_start=True, rights=False),
            "real-time rights",
        ),
        (Event.RESET, State.ESTOP, Conditions(estop_released=False), "still pressed"),
        (Event.LOWER, State.FAULT, Conditions(supply_on=False), "supply is off"),
    ],
)
def test_a_missing_condition_is_refused_with_what_is_needed(
    event: Event, state: State, conditions: Conditions, words: str
) -> None:
    outcome = next_state(state, event, conditions)
    assert outcome.state is state
    assert words in outcome.refusal


def test_reset_leads_to_ready_only_with_supply_and_raised_table() -> None:
    assert next_state(State.FAULT, Event.RESET, GOOD).state is State.READY
    assert next_state(State.FAULT, Event.RESET, Conditions(raised=True)).state is State.OFF
    assert next_state(State.FAULT, Event.RESET, Conditions(supply_on=True)).state is State.OFF


def test_reset_is_refused_while_nobody_knows_where_the_table_stands() -> None:
    unknown = Conditions(supply_on=True, raised=False, feedback_valid=False)
    outcome = next_state(State.FAULT, Event.RESET, unknown)
    assert outcome.state is State.FAULT
    assert "not known" in outcome.refusal
    lying = Conditions(supply_on=True, raised=False)
    assert next_state(State.FAULT, Event.RESET, lying).state is State.OFF


def test_a_stop_halts_a_lowering_that_follows_the_set_points_and_no_other() -> None:
    assert next_state(State.LOWERING, Event.STOP, GOOD).state is State.STOPPING
    by_itself = Conditions(enabled=False)
    assert next_state(State.LOWERING, Event.STOP, by_itself).state is State.LOWERING
