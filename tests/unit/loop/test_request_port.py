"""The loop's end of the request block: one verb a cycle, stops before everything, nonsense without harm."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mastd.loop.process.operator_requests import OVERTAKEN, RequestPort
from mastd.wire.access.verbs import Verb
from mastd.wire.common.blocks import REQUEST, NewestValueBlock


class Gateway:
    """Writes requests as the gateway does."""

    def __init__(self) -> None:
        self.block = NewestValueBlock(REQUEST)
        self.port = RequestPort(self.block)

    def write(self, **fields: float) -> None:
        for name, value in fields.items():
            self.block.field(name)[:] = value
        self.block.publish()


@pytest.fixture
def gateway() -> Gateway:
    return Gateway()


def test_a_request_is_taken_once_and_answered(gateway: Gateway) -> None:
    gateway.block.field("arguments")[:] = (1.0, 4.0, 0.01, 0.0)
    gateway.write(number=1, verb=Verb.JOG)
    assert gateway.port.take() is Verb.JOG
    assert gateway.port.arguments == (1.0, 4.0, 0.01, 0.0)
    gateway.port.answer("jog is refused: too far")
    assert (gateway.port.answered, gateway.port.refusal) == (1, "jog is refused: too far")
    gateway.write(heartbeat=7)
    assert gateway.port.take() is Verb.NONE
    assert gateway.port.heartbeat == 7.0


def test_a_stop_goes_before_the_request_of_the_same_cycle_which_is_refused(gateway: Gateway) -> None:
    gateway.write(number=1, verb=Verb.START)
    gateway.write(stops=1)
    assert gateway.port.take() is Verb.STOP
    assert (gateway.port.answered, gateway.port.refusal) == (1, OVERTAKEN)
    assert gateway.port.take() is Verb.NONE
    gateway.write(stops=2, estops=1)
    assert gateway.port.take() is Verb.ESTOP, "of both the more severe"
    assert (gateway.port.stops, gateway.port.estops) == (2, 1)


def test_a_request_that_is_unknown_is_refused_and_does_nothing(gateway: Gateway) -> None:
    gateway.write(number=1, verb=77)
    assert gateway.port.take() is Verb.NONE
    assert "version" in gateway.port.refusal


NUMBERS = st.one_of(st.floats(), st.integers(-3, 20).map(float))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS), max_size=20))
def test_nonsense_in_the_block_gives_verbs_or_nothing(writes: list[tuple[float, ...]]) -> None:
    gateway = Gateway()
    counts = (0, 0, 0)
    for number, verb, stops, estops in writes:
        gateway.write(number=number, verb=verb, stops=stops, estops=estops)
        taken = gateway.port.take()
        assert taken in Verb
        if taken not in (Verb.NONE, Verb.STOP, Verb.ESTOP):
            assert taken == verb
            assert math.isfinite(number)
        gateway.port.answer("")
        now = (gateway.port.answered, gateway.port.stops, gateway.port.estops)
        assert all(new >= old for new, old in zip(now, counts, strict=True)), "counts only rise"
        counts = now
