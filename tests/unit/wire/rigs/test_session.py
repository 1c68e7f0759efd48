"""A rig's side of the protocol against the handler: joining, motions, answers, coming back."""

from __future__ import annotations

import numpy as np
import pytest

from mastd.errors import ProtocolError
from mastd.safety.states import State
from mastd.wire.access.sessions import Peer
from mastd.wire.common.rig_block import RIG_ROW
from mastd.wire.common.strict_messages import pack
from mastd.wire.rigs.client_session import ClientSession, MotionSeen
from mastd.wire.rigs.messages import Error
from tests.support.rigs.handler import ANNA, BERT, MS, SECOND, VirtualHandler


class Ends:
    """A session and the handler, and what passes between them."""

    def __init__(self, mode: str = "free-run") -> None:
        self.handler = VirtualHandler(mode)
        self.session = ClientSession("pedals", "signals", ("pose.heave",), "bench of anna")
        self.peer: Peer = ANNA
        self.hello()

    def hello(self) -> None:
        self.session.hello()
        for data in self.session.outbox:
            self.said(data)
        self.session.outbox.clear()

    def said(self, data: bytes) -> None:
        self.handler.handler.on_message(self.peer, [data], self.handler.now)
        self.handler.handler.poll(self.handler.now)
        self.deliver()

    def deliver(self, lost: bool = False) -> None:
        """Bring what the handler has said to the session, or lose it."""
        for peer, data in self.handler.handler.replies:
            if peer == self.peer and not lost:
                self.session.on_message(data, self.handler.now)
        self.handler.handler.replies.clear()

    def motion(self) -> MotionSeen:
        motion = self.session.take()
        assert motion is not None
        return motion


def test_a_motion_is_seen_and_answered() -> None:
    ends = Ends()
    for step in (1, 2, 3):
        ends.handler.show(step, values=(step / 10, 0.0, 0.0))
        ends.deliver()
        motion = ends.motion()
        seen = (motion.step, motion.state, motion.speed, motion.missed)
        assert seen == (step, tuple(State)[5].name, 1.0, 0)
        assert motion.values.tolist() == [step / 10]
        ends.said(ends.session.values((0.5, step / 10), step, 0))
        assert ends.handler.rows()[0, [RIG_ROW.given, RIG_ROW.step, RIG_ROW.values + 1]].tolist() == [
            step,
            step,
            step / 10,
        ]
    assert ends.session.take() is None, "each motion is seen once"
    assert ends.session.errors == 0


def test_motions_that_did_not_come_or_were_not_taken_are_counted() -> None:
    ends = Ends()
    ends.handler.show(1)
    ends.deliver()
    ends.motion()
    ends.handler.show(2)
    ends.deliver(lost=True)
    for step in (3, 4):
        ends.handler.show(step)
        ends.deliver()
    motion = ends.motion()
    assert (motion.step, motion.missed) == (4, 2)


def test_values_that_do_not_fit_are_not_sent() -> None:
    ends = Ends()
    for wrong in ((0.1,), (0.1, 0.2, 0.3), ((0.1, 0.2),), (0.1, np.nan), (0.1, np.inf)):
        with pytest.raises(ValueError, match=r"expected \d+ channels|must be finite"):
            ends.session.values(wrong, 1, 0)  # type: ignore[arg-type]
    with pytest.raises(ProtocolError, match="has not joined"):
        ClientSession("pedals", "any", (), "").values((0.1, 0.2), 1, 0)


def test_an_answer_that_was_lost_with_its_connection_is_given_again() -> None:
    ends = Ends("lockstep")
    ends.handler.show(7, asked=0b01)
    ends.deliver()
    assert ends.motion().answer_due
    ends.session.values((0.1, 0.2), 7, 0)  # and it gets lost
    ends.peer = BERT
    ends.hello()
    motion = ends.motion()
    assert (motion.step, motion.answer_due) == (7, True)
    ends.said(ends.session.values((0.1, 0.2), 7, 0))
    assert ends.handler.rows()[0, [RIG_ROW.joined, RIG_ROW.step]].tolist() == [1.0, 7.0], (
        "in the same session"
    )
    assert ends.session.errors == 0


def test_a_rig_that_has_lost_its_place_is_told_and_begins_anew() -> None:
    ends = Ends()
    ends.handler.wait(SECOND)
    ends.said(ends.session.values((0.1, 0.2), -1, 0))
    assert ends.session.ended
    assert "send hello" in ends.session.last_error
    ends.hello()
    assert not ends.session.ended
    ends.said(ends.session.values((0.1, 0.2), -1, 0))
    assert ends.handler.rows()[0, [RIG_ROW.joined, RIG_ROW.given]].tolist() == [2.0, 1.0]


def test_beats_go_out_when_they_are_due_and_tell_the_round_trip() -> None:
    ends = Ends()
    sent = 0
    for step in range(1, 1001):
        ends.handler.show(step)
        ends.handler.wait(MS)
        ends.deliver()
        beat = ends.session.heartbeat(ends.handler.now)
        if beat is not None:
            sent += 1
            ends.said(beat)
    assert sent == pytest.approx(10, abs=1)
    assert ends.session.clock.offset_ns == 0
    assert not ends.session.silent(ends.handler.now)
    assert ends.session.silent(ends.handler.now + SECOND)


def test_what_is_no_message_of_a_gateway_is_passed_over() -> None:
    ends = Ends()
    for data in (b"", b"\xc1", b"\x80", bytes(1 << 17)):
        ends.session.on_message(data, ends.handler.now)
    assert ends.session.welcome is not None
    ends.session.on_message(pack(Error("ended", "the daemon has ended")), ends.handler.now)
    assert ends.session.ended


def test_a_stop_is_said_again_until_it_is_confirmed() -> None:
    ends = Ends()
    ends.session.request("stop")  # lost on its way
    for step in range(1, 31):
        ends.handler.now += 10 * MS
        ends.handler.show(step)
        ends.deliver()
        ends.session.poll(ends.handler.now)
        said, ends.session.outbox[:] = list(ends.session.outbox), []
        for data in said:
            ends.said(data)
    assert ends.handler.counters.stops == 1, "repeated, and not any more once it was confirmed"
