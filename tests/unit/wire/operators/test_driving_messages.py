"""What somebody drives with on its way through the gateway: who may, what is read, what is dropped."""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mastd.wire.access.sessions import GatewayCounters, Session, TokenBucket
from mastd.wire.common.blocks import DRIVER, REQUEST, NewestValueBlock
from mastd.wire.common.strict_messages import MalformedError
from mastd.wire.operators.driver_forwarder import GONE_NS, SHOWN_NS, DriverForwarder
from mastd.wire.operators.messages import Drive, Error, Inputs, pack_drive, read_from_client
from tests.unit.wire.operators.test_sessions import ANNA, BERT, MS, SECOND, Counter

FLOOD = 10_000
SHARE = st.floats(0.0, 1.0)
INPUTS = st.builds(Inputs, st.floats(-1.0, 1.0), SHARE, SHARE, SHARE, st.integers(-9, 100))
NAMES = ("steering", "throttle", "brake", "clutch", "gear")


def message(**entries: object) -> bytes:
    packed: bytes = msgpack.packb(
        {"kind": "drive", "session": 7, "sequence": 3, **Inputs()._asdict(), **entries}
    )
    return packed


@given(INPUTS)
def test_inputs_come_back_as_they_were_sent(inputs: Inputs) -> None:
    assert read_from_client(pack_drive(7, 3, inputs)) == Drive(7, 3, *inputs)


def test_whole_numbers_are_numbers_and_unknown_keys_are_passed_over() -> None:
    read = read_from_client(message(steering=-1, brake=1, horn=True))
    assert read == Drive(7, 3, *Inputs(steering=-1.0, brake=1.0))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [None, "1", True, math.nan, math.inf, -math.inf, [0.0], 1e300, -1e300, 101])
def test_what_is_no_input_is_refused_with_what_would_be_right(name: str, value: object) -> None:
    with pytest.raises(MalformedError, match=f"^drive: {name}: expected (int|float)") as caught:
        read_from_client(message(**{name: value}))
    assert caught.value.sequence == 3


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("steering", 1.0001),
        ("steering", -1.0001),
        *((pedal, value) for pedal in ("throttle", "brake", "clutch") for value in (-0.0001, 1.0001)),
        ("gear", 1.0),
        ("gear", -10),
    ],
)
def test_ranges_end_where_the_page_says(name: str, value: object) -> None:
    with pytest.raises(MalformedError, match=f"drive: {name}: expected "):
        read_from_client(message(**{name: value}))


@pytest.mark.parametrize("name", ["session", "sequence", *NAMES])
def test_every_entry_is_due(name: str) -> None:
    entries = msgpack.unpackb(message())
    del entries[name]
    with pytest.raises(MalformedError, match=f"drive: missing entry {name}"):
        read_from_client(msgpack.packb(entries))


class Seats(Counter):
    """A handler at which Anna and Bert have sessions, and the loop's view of its blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.hello(ANNA, "anna")
        self.hello(BERT, "bert")
        self.view = NewestValueBlock(DRIVER, self.loop.driver.descriptor)

    def drive(self, peer: tuple[int, bytes], sequence: int, inputs: Inputs) -> None:
        """Send inputs."""
        self.handler.on_message(peer, [pack_drive(self.numbers[peer], sequence, inputs)], self.now)

    def shown(self) -> tuple[float, Inputs]:
        """Return the block's count and inputs."""
        assert self.view.read()
        count, steering, throttle, brake, clutch, gear = self.view.values.tolist()
        return count, Inputs(steering, throttle, brake, clutch, int(gear))

    def complaint(self) -> Error:
        """Return the one reply since, which is a complaint."""
        ((_, reply),) = self.heard()
        assert isinstance(reply, Error)
        return reply


@pytest.fixture
def seats() -> Seats:
    return Seats()


def test_the_newest_inputs_reach_the_loop_without_an_answer(seats: Seats) -> None:
    newest = Inputs(0.25, 0.5, 0.0, 1.0, -1)
    seats.drive(ANNA, 1, Inputs(throttle=0.1))
    seats.drive(ANNA, 2, Inputs(throttle=0.2))
    seats.drive(ANNA, 5, newest)
    seats.poll()
    assert seats.shown() == (1.0, newest)
    assert seats.heard() == []
    counters = seats.handler.counters
    assert (counters.driven, counters.overtaken) == (3, 2)


def test_the_loop_is_shown_no_more_than_the_rate_and_always_the_last(seats: Seats) -> None:
    sequences: Iterator[int] = iter(range(1, 1000))
    begun = seats.now
    last = Inputs()
    for turn in range(200):
        for _ in range(3):
            last = Inputs(throttle=(turn % 10) / 10)
            seats.drive(ANNA, next(sequences), last)
        seats.poll()
    seats.poll(SHOWN_NS // MS)
    count, shown = seats.shown()
    assert shown == last
    assert 0.9 * (seats.now - begun) / SHOWN_NS <= count <= (seats.now - begun) / SHOWN_NS + 1
    assert seats.handler.counters.driven == 600
    assert seats.handler.counters.overtaken == 600 - count


def test_whoever_drives_has_the_lease_and_keeps_it_by_driving(seats: Seats) -> None:
    seats.drive(ANNA, 1, Inputs(throttle=0.3))
    for sequence in range(2, 20):
        seats.now += 10 * SECOND
        seats.loop.cycle()
        seats.drive(ANNA, sequence, Inputs(throttle=0.3))
        seats.poll()
    seats.drive(BERT, 1, Inputs(throttle=1.0))
    complaint = seats.complaint()
    assert (complaint.error, complaint.sequence) == ("no_lease", 1)
    assert complaint.reason.startswith("drive is refused: anna has control for another 60 s; ask")
    seats.poll(20)
    assert seats.shown()[1].throttle == 0.3
    assert seats.handler.counters.no_lease == 1
    seats.say(BERT, 2, "arm")
    seats.poll()
    (answer,) = seats.answers()
    assert not answer.accepted
    seats.now += 61 * SECOND
    seats.poll()
    seats.drive(BERT, 3, Inputs(throttle=0.9))
    seats.poll()
    assert seats.shown()[1].throttle == 0.9


def test_an_observer_does_not_drive(seats: Seats) -> None:
    seats.hello(ANNA, "anna", "observer")
    seats.drive(ANNA, 1, Inputs(throttle=1.0))
    complaint = seats.complaint()
    assert (complaint.error, complaint.sequence) == ("not_allowed", 1)
    assert "anna is an observer" in complaint.reason
    seats.poll(10)
    assert seats.shown() == (0.0, Inputs())
    assert not seats.handler.lease.holder(seats.now)


def test_a_rig_drives_without_the_lease_but_not_beside_another(seats: Seats) -> None:
    seats.hello(ANNA, "anna", "rig")
    seats.say(BERT, 1, "arm")
    seats.poll()
    (answer,) = seats.answers()
    assert (answer.accepted, answer.lease) == (True, "bert")
    seats.drive(ANNA, 1, Inputs(throttle=0.4))
    seats.poll()
    assert seats.shown()[1].throttle == 0.4
    assert seats.handler.lease.holder(seats.now) == "bert", "who commands goes on commanding"
    seats.drive(BERT, 1, Inputs(throttle=0.7))
    seats.poll(SHOWN_NS // MS)
    assert seats.shown()[1].throttle == 0.7, "an operator takes over"
    seats.drive(ANNA, 2, Inputs(throttle=1.0))
    complaint = seats.complaint()
    assert (complaint.error, complaint.reason) == (
        "no_lease",
        "drive is refused: bert drives; end that first",
    )
    seats.now += GONE_NS + MS
    seats.loop.cycle()
    seats.drive(ANNA, 3, Inputs(throttle=0.1))
    seats.poll()
    assert seats.shown()[1].throttle == 0.1


@pytest.mark.parametrize("vehicle", ["", "van|hils|fl|fr|rl|rr", "van|oils|fl|fr|rl|rr"])
def test_no_car_that_waits_for_inputs_takes_none_and_no_lease(seats: Seats, vehicle: str) -> None:
    seats.loop.status.set_text("vehicle", vehicle)
    seats.loop.status.publish()
    seats.handler.poll(seats.now)
    seats.drive(ANNA, 1, Inputs(throttle=1.0))
    complaint = seats.complaint()
    assert (complaint.error, complaint.sequence) == ("not_allowed", 1)
    assert "load a profile with mode: oils and driver: {kind: operator}" in complaint.reason
    assert seats.shown() == (0.0, Inputs())
    assert not seats.handler.lease.holder(seats.now)


def test_inputs_that_are_older_or_of_no_session_change_nothing(seats: Seats) -> None:
    seats.drive(ANNA, 5, Inputs(throttle=0.5))
    seats.poll()
    for sequence in (5, 4, 0):
        seats.drive(ANNA, sequence, Inputs(throttle=1.0))
        assert seats.complaint().error == "out_of_order"
    seats.handler.on_message(BERT, [pack_drive(seats.numbers[ANNA], 9, Inputs(throttle=1.0))], seats.now)
    assert seats.complaint().error == "unknown_session"
    seats.poll(20)
    assert seats.shown() == (1.0, Inputs(throttle=0.5))


def test_commands_and_inputs_are_counted_apart(seats: Seats) -> None:
    seats.drive(ANNA, 1000, Inputs())
    seats.say(ANNA, 1, "arm")
    seats.drive(ANNA, 1001, Inputs())
    seats.say(ANNA, 2, "start")
    seats.poll(3)
    assert all(answer.accepted for answer in seats.answers())


def test_a_loop_that_stands_still_is_shown_nothing_that_it_would_take_for_new(seats: Seats) -> None:
    seats.now += SECOND
    seats.drive(ANNA, 1, Inputs(throttle=1.0))
    seats.handler.poll(seats.now)
    assert seats.heard() == []
    assert seats.shown() == (0.0, Inputs())
    assert seats.handler.counters.undriven == 1
    seats.poll(20)
    assert seats.shown() == (0.0, Inputs())


def test_a_flood_of_inputs_leaves_requests_alone_and_a_stop_does_not_wait_for_it(seats: Seats) -> None:
    requests = NewestValueBlock(REQUEST, seats.loop.request.descriptor)
    requests.read()
    for sequence in range(FLOOD):
        seats.drive(ANNA, sequence, Inputs(throttle=sequence / FLOOD))
    assert not requests.changed(), "the loop has no request to read for it"
    assert seats.shown()[0] == 0.0, "nothing is shown but at the end of a turn"
    seats.say(BERT, 1, "stop")
    assert requests.changed(), "the stop is in the block before any turn"
    seats.poll()
    assert seats.shown() == (1.0, Inputs(throttle=(FLOOD - 1) / FLOOD))
    assert seats.handler.counters.overtaken == FLOOD - 1


def test_a_second_gateway_counts_on() -> None:
    block = NewestValueBlock(DRIVER)
    for count in (1.0, 2.0):
        counters = GatewayCounters()
        forwarder = DriverForwarder(NewestValueBlock(DRIVER, block.descriptor), counters)
        session = Session(1, (0, b"anna"), "anna", "operator", TokenBucket(1.0, 1, 0))
        forwarder.on_inputs(Inputs(), session, SECOND)
        forwarder.poll(SECOND)
        block.read()
        assert block.scalar("count") == count
