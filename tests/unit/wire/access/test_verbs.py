"""The table of the operators' verbs: whole, and of one mind with the state machine."""

from __future__ import annotations

from mastd.safety.states import COMMANDS, State
from mastd.wire.access.verbs import (
    BY_NAME,
    COMMANDING,
    EVENT_OF_VERB,
    STOPPING,
    TABLE,
    Kind,
    Verb,
    console_table,
    may,
)


def test_every_request_to_the_loop_is_one_verb_and_one_event() -> None:
    assert len(BY_NAME) == len(TABLE)
    assert set(EVENT_OF_VERB.values()) == COMMANDS
    requests = [verb.request for verb in TABLE if verb.request is not Verb.NONE]
    assert sorted(requests) == sorted(EVENT_OF_VERB)
    assert {verb.name for verb in TABLE if verb.request is not Verb.NONE} == COMMANDING | STOPPING
    assert [int(verb) for verb in Verb] == list(range(14)), "the numbers of the request block"


def test_states_at_which_a_verb_is_done_are_states() -> None:
    assert {state for verb in TABLE for state in verb.targets} <= {state.name for state in State}


def test_anybody_may_stop_in_every_state() -> None:
    for verb in TABLE:
        stops = verb.kind is Kind.STOP
        assert stops == (len(verb.accepted_in) == len(State))
        assert not stops or may("observer", verb.name)


def test_the_page_learns_the_states_of_each_verb() -> None:
    table = console_table()
    assert table["lower"]["states"] == ("LOW", "HIGH", "READY", "ARMED", "LOWERING", "FAULT")
    assert table["release"] == {"states": (), "button": "Release control", "confirm": False}
    assert "status" not in table
