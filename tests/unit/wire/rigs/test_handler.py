"""The rigs' handler in virtual time: who gets a place, whose values win, what is refused."""

from __future__ import annotations

import math
import time
from dataclasses import fields
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mastd.wire.common.blocks import NewestValueBlock
from mastd.wire.common.clock_offset import ClockOffset
from mastd.wire.common.rig_block import ESTOPS, RIG_ROW, STOPS
from mastd.wire.common.rig_status import RIG_STATUS, RigCounters, read_status, write_status
from mastd.wire.common.strict_messages import pack
from mastd.wire.rigs.messages import (
    REQUESTS,
    Ack,
    Close,
    Error,
    Heartbeat,
    Motion,
    RigValues,
    RigWelcome,
    Stop,
    channels_hash,
)
from mastd.wire.rigs.session import LOST_NS
from tests.support.rigs.handler import ANNA, BERT, HELLO, LEVER, MS, PEDALS, SECOND, VirtualHandler, values_of

CHANNELS = (("steering", "1"), ("throttle", "1"))
RADIANS = (("steering", "rad"),)


@pytest.fixture
def handler() -> VirtualHandler:
    return VirtualHandler()


def test_a_rig_that_joins_is_told_everything_that_holds_for_it(handler: VirtualHandler) -> None:
    welcome = handler.join(ANNA, reads=("pose.heave", "vehicle.speed"))
    assert welcome.channels == PEDALS.channels
    assert welcome.channels_sha256 == channels_hash("values", CHANNELS)
    assert welcome.reads == (("pose.heave", "m"), ("vehicle.speed", ""))
    assert welcome.reads_sha256 == channels_hash("motion", welcome.reads)
    assert (welcome.mode, welcome.period_ns, welcome.pid) == ("free-run", MS, 4711)
    assert (welcome.timeout_s, welcome.message_rate, welcome.lost_s) == (0.05, 1000.0, 0.3)
    pedals, lever = handler.rows()[:2]
    assert (pedals[RIG_ROW.joined], pedals[RIG_ROW.given], pedals[RIG_ROW.step]) == (1.0, 0.0, -1.0)
    assert lever[RIG_ROW.joined] == 0.0


def test_terms_that_are_named_and_agree_are_taken(handler: VirtualHandler) -> None:
    handler.join(
        ANNA,
        role="signals",
        mode="free-run",
        period_ns=MS,
        channels=CHANNELS,
        channels_sha256=channels_hash("values", CHANNELS),
    )
    assert handler.rows()[0, RIG_ROW.joined] == 1.0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"magic": "mastd-rag"}, ["magic: daemon mastd-rig, rig mastd-rag"]),
        (
            {"version_lowest": 2, "version_highest": 3, "role": "seat"},
            ["protocol version: daemon 1 to 1, rig 2 to 3"],
        ),
        ({"name": "pedal"}, ["name: no rig 'pedal' in the daemon's rigs file; there are pedals, lever"]),
        ({"role": "vehicle"}, ["role: daemon signals, rig vehicle"]),
        ({"frame": "sae"}, ["frame: daemon iso8855, rig sae"]),
        ({"units": "imperial"}, ["units: daemon SI, rig imperial"]),
        ({"mode": "lockstep"}, ["mode: daemon free-run, rig lockstep"]),
        ({"period_ns": 2 * MS}, ["period: daemon 1000000 ns, rig 2000000 ns"]),
        (
            {"channels": RADIANS, "channels_sha256": channels_hash("values", RADIANS)},
            ["channels: daemon steering [1], throttle [1]; rig steering [rad]"],
        ),
        (
            {"channels": CHANNELS, "channels_sha256": "0" * 64},
            [f"hash of the channels: daemon {channels_hash('values', CHANNELS)}, rig {'0' * 64}"],
        ),
        (
            {"reads": ("pose.heav", "vehicle.speed")},
            ["reads: there is no channel 'pose.heav'; did you mean pose.heave?"],
        ),
        (
            {"role": "seat", "units": "cgs", "reads": ("zzzz",)},
            [
                "role: daemon signals, rig seat",
                "units: daemon SI, rig cgs",
                "reads: there is no channel 'zzzz'; see `channels` of `mastd ctl describe`",
            ],
        ),
    ],
)
def test_each_difference_is_refused_with_both_values(
    handler: VirtualHandler, changes: dict[str, object], words: list[str]
) -> None:
    assert handler.refusal(ANNA, **changes) == words
    assert handler.rows()[0, RIG_ROW.joined] == 0.0


@pytest.mark.real_time
def test_a_refusal_of_everything_can_be_read_and_is_made_in_a_moment(handler: VirtualHandler) -> None:
    names = tuple(f"pose.heave.of.something.quite.like.it.{k}" for k in range(128))
    begun = time.process_time()
    reasons = handler.refusal(
        ANNA,
        reads=names,
        channels=tuple((name, "1" * 30) for name in names),
        role="r" * 200,
        program="p" * 200,
        channels_sha256="0" * 200,
    )
    assert time.process_time() - begun < 0.05, "others wait meanwhile"
    assert reasons[0] == f"role: daemon signals, rig {'r' * 200}"
    assert "reads: there is no channel 'pose.heave.of.something.quite.like.it.0'" in reasons[3]
    assert reasons[-1] == "reads: and 124 more that there are not"


def test_keys_that_are_not_a_rigs_or_anothers_get_no_place(handler: VirtualHandler) -> None:
    for owner, may, words in (("lever", True, "name: the key is lever's"), ("anna", False, "an observer's")):
        handler.handler.on_message(ANNA, [pack(HELLO)], handler.now, owner, may=may)
        assert words in str(handler.answers(ANNA))
    assert (handler.counters.not_allowed, handler.counters.refused) == (2, 2)
    for owner in ("pedals", ""):
        handler.handler.on_message(ANNA, [pack(HELLO)], handler.now, owner)
        assert isinstance(handler.answers(ANNA)[0], RigWelcome)


def test_a_place_that_is_taken_is_free_when_nothing_has_been_heard_for_three_beats(
    handler: VirtualHandler,
) -> None:
    handler.join(ANNA)
    handler.wait(20 * MS)
    assert handler.refusal(BERT) == ["the place of pedals is taken by bench of anna, heard 0.02 s ago"]
    handler.wait(LOST_NS - 20 * MS)
    assert handler.rows()[0, RIG_ROW.joined] == 1.0
    handler.wait(1)
    assert handler.rows()[0, RIG_ROW.joined] == 0.0
    handler.join(BERT)
    assert handler.rows()[0, RIG_ROW.joined] == 2.0


def test_whatever_is_taken_of_a_rig_keeps_its_place(handler: VirtualHandler) -> None:
    welcome = handler.join(ANNA)
    for sequence in range(1, 21):
        handler.wait(LOST_NS - MS)
        if sequence % 2:
            handler.give(welcome, sequence, (0.0, 0.0))
        else:
            handler.said(ANNA, pack(Heartbeat(welcome.session, sequence, 1, 0, 0, -1)))
    handler.refusal(BERT)
    assert handler.rows()[0, RIG_ROW.joined] == 1.0


def test_what_is_refused_keeps_no_place(handler: VirtualHandler) -> None:
    welcome = handler.join(ANNA)
    for _ in range(7):
        handler.wait(LOST_NS // 6)
        handler.handler.on_message(ANNA, [values_of(welcome.session, 1, (0.0,))], handler.now)
    handler.join(BERT)
    assert handler.rows()[0, RIG_ROW.joined] == 2.0, "the second session"


def test_a_session_is_resumed_on_another_connection_with_its_numbers(handler: VirtualHandler) -> None:
    welcome = handler.join(ANNA)
    handler.show(5)
    handler.give(welcome, 4, (0.5, 0.5), 5)
    resumed = handler.join(BERT, resume=welcome.session)
    assert resumed.session == welcome.session
    assert handler.rows()[0, [RIG_ROW.joined, RIG_ROW.given, RIG_ROW.step]].tolist() == [1.0, 1.0, 5.0]
    late = handler.said(BERT, values_of(welcome.session, 4, (0.1, 0.1)))[0]
    assert isinstance(late, Error)
    assert late.error == "out_of_order"
    assert handler.give(resumed, 5, (0.2, 0.2), 5, BERT) == []
    assert handler.rows()[0, RIG_ROW.given] == 2.0
    assert handler.trouble(ANNA, values_of(welcome.session, 6, (0.3, 0.3))).error == "unknown_session"


def test_a_session_that_has_gone_cannot_be_resumed(handler: VirtualHandler) -> None:
    welcome = handler.join(ANNA)
    handler.give(welcome, 9, (0.5, 0.5))
    handler.wait(LOST_NS + 1)
    again = handler.join(BERT, resume=welcome.session)
    assert again.session != welcome.session
    assert handler.rows()[0, [RIG_ROW.joined, RIG_ROW.given]].tolist() == [2.0, 0.0]
    assert handler.give(again, 1, (0.1, 0.1), peer=BERT) == []


def test_a_second_hello_on_one_connection_begins_a_new_session(handler: VirtualHandler) -> None:
    first, second = handler.join(ANNA), handler.join(ANNA)
    assert second.session != first.session
    assert handler.rows()[0, RIG_ROW.joined] == 2.0
    assert handler.trouble(ANNA, values_of(first.session, 1, (0.1, 0.1))).error == "unknown_session"
    assert handler.give(second, 1, (0.1, 0.1)) == []


def test_a_connection_has_one_place(handler: VirtualHandler) -> None:
    handler.join(ANNA)
    handler.join(ANNA, name="lever")
    assert handler.rows()[:2, RIG_ROW.joined].tolist() == [0.0, 1.0]
    handler.join(BERT)


def test_the_newest_values_win_and_the_overtaken_are_counted(handler: VirtualHandler) -> None:
    welcome = handler.join(ANNA)
    for sequence in (1, 2, 3):
        handler.handler.on_message(
            ANNA, [values_of(welcome.session, sequence, (sequence / 10, 0.0))], handler.now
        )
    assert handler.rows()[0, RIG_ROW.given] == 0.0, "not before the turn's end"
    assert handler.handler.poll(handler.now)
    assert handler.rows()[0, [RIG_ROW.given, RIG_ROW.values]].tolist() == [1.0, 0.3]
    assert (handler.counters.values, handler.counters.overtaken) == (3, 2)
    assert not handler.handler.poll(handler.now), "nothing new"


@given(st.lists(st.integers(0, 30), max_size=60))
def test_repeated_replayed_and_reordered_sequences_change_nothing(sequences: list[int]) -> None:
    handler = VirtualHandler()
    welcome, newest, taken = handler.join(ANNA), -1, 0
    for sequence in sequences:
        data = values_of(welcome.session, sequence, (sequence / 100, 0.0))
        if sequence > newest:
            newest, taken = sequence, taken + 1
            assert handler.said(ANNA, data) == []
        else:
            trouble = handler.trouble(ANNA, data)
            assert (trouble.error, trouble.sequence) == ("out_of_order", sequence)
            assert f"after {newest}" in trouble.reason
        assert handler.rows()[0, [RIG_ROW.given, RIG_ROW.values]].tolist() == [taken, newest / 100]


@pytest.mark.parametrize(
    ("error", "message", "words"),
    [
        ("wrong_channels", lambda s: values_of(s, 5, (0.1,)), "8 bytes, expected 16 (2 channels)"),
        ("wrong_channels", lambda s: values_of(s, 5, ()), "0 bytes, expected 16"),
        ("ahead", lambda s: values_of(s, 5, (0.1, 0.1), 8), "step 8 has not been shown yet, the newest is 7"),
        ("unknown_session", lambda s: values_of(s + 1, 5, (0.1, 0.1)), "send hello"),
        ("unknown_session", lambda s: pack(Heartbeat(s + 1, 5, 1, 0, 0, 0)), "send hello"),
        ("unknown_session", lambda s: pack(Close(s + 1, 5)), "send hello"),
        ("malformed", lambda s: values_of(s, 5, (math.nan, 0.0)), "finite"),
        ("malformed", lambda _: b"\xc1", "not a MessagePack message"),
        ("oversize", lambda _: bytes(1 << 15), "a message has at most 16384"),
    ],
)
def test_what_is_not_taken_is_answered_and_counted(
    handler: VirtualHandler, error: str, message: object, words: str
) -> None:
    welcome = handler.join(ANNA)
    handler.show(7)
    assert handler.give(welcome, 4, (0.5, 0.5), 7)[-1:] != []  # the motion of step 7
    assert callable(message)
    trouble = handler.trouble(ANNA, message(welcome.session))
    assert trouble.error == error
    assert words in trouble.reason
    assert handler.give(welcome, 5, (0.6, 0.6), 7) == [], "the number has not been used up"


def test_a_message_is_one_frame(handler: VirtualHandler) -> None:
    handler.join(ANNA)
    for frames in ([], [b"", pack(HELLO)]):
        handler.handler.on_message(ANNA, frames, handler.now)
        assert "one frame" in str(handler.answers(ANNA))
    assert handler.counters.malformed == 2


def test_the_rate_holds_for_what_is_taken_in_a_second(handler: VirtualHandler) -> None:
    welcome = handler.join(ANNA, name="lever")
    taken = 0
    for sequence in range(4000):
        handler.now += MS // 4
        taken += handler.give(welcome, sequence, (1.0,)) == []
        handler.answers(ANNA)
    assert taken == pytest.approx(LEVER.message_rate * 1.25, abs=2), "a quarter at once, and the rate"
    assert handler.counters.too_many == 4000 - taken
    for _ in range(4):
        handler.wait(LOST_NS // 2)
        handler.give(welcome, 5000 + handler.now, (2.0,))
    assert handler.rows()[1, RIG_ROW.values] == 2.0, "it keeps its place and is heard again"


@pytest.mark.parametrize("kind", ["stop", "estop"])
def test_a_stop_is_taken_from_anybody_with_any_session_however_often(
    handler: VirtualHandler, kind: str
) -> None:
    welcome = handler.join(ANNA)
    place = STOPS if kind == "stop" else ESTOPS
    number = 0
    for peer, session, sequence in (
        (ANNA, welcome.session, 4),
        (ANNA, welcome.session, 4),
        (ANNA, 0, 0),
        (BERT, welcome.session, 1),
        (BERT, 0, 99),
        ((1, b"nobody"), 12345, 0),
    ):
        number += 1
        request = pack(REQUESTS[kind](session, sequence))
        handler.handler.on_message(peer, [request], handler.now)
        handler.block.read()
        assert handler.block.values[place] == number, "at once, not at the turn's end"
        assert handler.answers(peer) == [Ack(kind, session, sequence)]
    assert handler.counters.stops == number
    assert handler.block.values[ESTOPS if kind == "stop" else STOPS] == 0.0


def test_a_stop_is_taken_beyond_the_rate(handler: VirtualHandler) -> None:
    welcome = handler.join(ANNA)
    for sequence in range(2000):
        handler.handler.on_message(ANNA, [values_of(welcome.session, sequence, (0.0, 0.0))], handler.now)
    assert handler.counters.too_many > 0
    handler.answers(ANNA)
    assert handler.said(ANNA, pack(Stop(welcome.session, 0))) == [Ack("stop", welcome.session, 0)]


def test_bye_gives_the_place_back_at_once(handler: VirtualHandler) -> None:
    welcome = handler.join(ANNA)
    assert handler.said(ANNA, pack(Close(welcome.session, 3))) == [Ack("bye", welcome.session, 3)]
    assert handler.rows()[0, RIG_ROW.joined] == 0.0
    handler.join(BERT)


def test_motions_come_as_often_as_a_rig_wants_them(handler: VirtualHandler) -> None:
    handler.join(ANNA, reads=("pose.roll", "vehicle.speed", "smoothed_pose.surge"))
    handler.join(BERT, name="lever")
    counts = {ANNA: 0, BERT: 0}
    for number in range(1, 101):
        handler.now += MS
        handler.show(number, values=(number / 100, number / 10, 0.0))
        sent = list(handler.handler.replies)
        for peer in counts:
            counts[peer] += sum(to == peer for to, _ in sent)
        (motion,) = (answer for answer in handler.answers(ANNA) if isinstance(answer, Motion))
        values = np.frombuffer(motion.block)
        assert (motion.step, motion.speed, motion.answer_due) == (number, 1.0, False)
        assert motion.sequence == number + 1, "the first message was a beat"
        assert motion.plant_time_ns == number * MS
        assert values[0] == number / 10
        assert math.isnan(values[1])
        assert values[2] == 0.0
    assert counts == {ANNA: 100, BERT: 10}


def test_in_lockstep_who_is_waited_for_sees_every_motion() -> None:
    handler = VirtualHandler("lockstep")
    welcome = handler.join(ANNA, name="lever")
    assert welcome.mode == "lockstep"
    assert handler.rows()[1, RIG_ROW.in_step] == 1.0
    for number in range(1, 1001):
        handler.show(number, asked=0b10)
        (motion,) = handler.motions(ANNA)
        assert motion.answer_due
        assert handler.give(welcome, 2 * number, (1.0,), number) == [], "the rate does not hold the loop up"
        assert handler.rows()[1, RIG_ROW.step] == number
        handler.give(welcome, 2 * number + 1, (2.0,), number)
    assert handler.counters.too_many > 900, "what nobody waits for is limited"


def test_who_comes_back_while_the_loop_waits_is_shown_the_motion_once_more() -> None:
    handler = VirtualHandler("lockstep")
    welcome = handler.join(ANNA)
    handler.show(4, asked=0b01)
    handler.answers(ANNA)  # and this connection breaks
    greeting, motion = handler.said(BERT, pack(replace(HELLO, resume=welcome.session)))[:2]
    assert isinstance(greeting, RigWelcome)
    assert isinstance(motion, Motion)
    assert (motion.step, motion.answer_due) == (4, True)
    handler.give(welcome, 1, (0.1, 0.1), 4, BERT)
    assert handler.rows()[0, RIG_ROW.step] == 4.0


def test_beats_come_only_while_the_loop_moves(handler: VirtualHandler) -> None:
    welcome = handler.join(ANNA)

    def beats(seconds: float, moving: bool) -> int:
        count = 0
        for k in range(round(seconds * 100)):
            handler.wait(10 * MS)
            if moving:
                handler.show(handler.now)
            said = handler.said(ANNA, pack(Heartbeat(welcome.session, handler.now + k, 1, 0, 0, 0)))
            count += sum(isinstance(answer, Heartbeat) for answer in said)
        return count

    handler.show(1)
    assert beats(1.0, moving=True) == pytest.approx(10, abs=1)
    assert beats(0.2, moving=False) <= 1
    assert beats(1.0, moving=False) == 0, "a loop that stands is silent"


def test_a_beat_echoes_the_newest_one_that_came(handler: VirtualHandler) -> None:
    welcome = handler.join(ANNA)
    handler.show(1)
    handler.wait(0)
    handler.answers(ANNA)
    handler.said(ANNA, pack(Heartbeat(welcome.session, 1, 123_456, 0, 0, -1)))
    handler.now += 130 * MS
    handler.show(2)
    handler.handler.poll(handler.now)
    beat = next(answer for answer in handler.answers(ANNA) if isinstance(answer, Heartbeat))
    assert (beat.echo_ns, beat.held_ns, beat.time_ns, beat.step) == (123_456, 130 * MS, handler.now, 2)


def exchange(offset_ns: int, random: Random, slowest_ns: int) -> tuple[ClockOffset, ClockOffset]:
    """Let two sides, the second's clock ``offset_ns`` ahead, beat; each way has delays of its own."""
    ours, theirs, now = ClockOffset(), ClockOffset(), SECOND
    for _ in range(40):
        echo, held = theirs.echo(now + offset_ns)
        sent, now = now + offset_ns, now + random.randrange(1000, slowest_ns)
        ours.update(sent, echo, held, now)
        now += random.randrange(slowest_ns)
        echo, held = ours.echo(now)
        sent, now = now, now + random.randrange(1000, slowest_ns // 10)
        theirs.update(sent, echo, held, now + offset_ns)
        now += random.randrange(slowest_ns)
    return ours, theirs


@given(
    st.integers(-SECOND + 1, 10**6 * SECOND), st.integers(0, 1 << 30), st.sampled_from([20_000, MS, 200 * MS])
)
def test_the_offset_of_the_clocks_is_known_within_half_a_round_trip(
    offset: int, seed: int, slowest: int
) -> None:
    for clock, true in zip(exchange(offset, Random(seed), slowest), (offset, -offset), strict=True):
        assert clock.offset_ns is not None
        assert clock.round_trip_ns is not None
        assert 0 <= clock.round_trip_ns <= 2 * slowest
        assert abs(clock.offset_ns - true) <= clock.round_trip_ns // 2 + 1


def test_an_echo_of_nothing_or_one_that_cannot_be_tells_no_offset() -> None:
    clock = ClockOffset()
    assert clock.echo(5) == (0, 0)
    for echo, held in ((0, 0), (SECOND + 1, 0), (SECOND // 2, SECOND), (1, 0)):
        clock.update(7, echo, held, SECOND if echo != 1 else 3 * SECOND)
        assert clock.offset_ns is None
        assert clock.round_trip_ns is None


def test_the_status_shows_who_is_there_and_the_counters(handler: VirtualHandler) -> None:
    welcome = handler.join(ANNA, program="Bremse am Prüfstand 3 " * 9)
    handler.show(7)
    handler.give(welcome, 1, (0.1, 0.1), 5)
    handler.said(
        ANNA, pack(Heartbeat(welcome.session, 2, handler.now + 3 * SECOND, handler.now - 2 * MS, 0, 7))
    )
    handler.trouble(ANNA, values_of(welcome.session, 1, (0.1, 0.1)))
    handler.wait(20 * MS)
    shown = NewestValueBlock(RIG_STATUS)
    write_status(shown, handler.counters, handler.handler.states(handler.now))
    read = NewestValueBlock(RIG_STATUS, shown.descriptor)
    (rig,), counters = read_status(read, [("pedals", "signals"), ("lever", "signals")])
    assert (rig["name"], rig["kind"], rig["values"], rig["delay"], rig["lockstep"]) == (
        "pedals",
        "signals",
        1,
        2.0,
        False,
    )
    assert rig["operator"].startswith("Bremse am Prüfstand 3 Bremse")
    assert rig["age_s"] == pytest.approx(0.02)
    assert rig["round_trip_s"] == pytest.approx(0.002)
    assert rig["offset_s"] == pytest.approx(3.001)
    assert counters == vars(handler.counters)
    assert counters["out_of_order"] == 1
    handler.said(ANNA, pack(Close(welcome.session, 9)))
    write_status(shown, handler.counters, handler.handler.states(handler.now))
    assert read_status(read, [("pedals", "signals"), ("lever", "signals")])[0] == []


def test_who_is_there_is_told_when_the_daemon_ends(handler: VirtualHandler) -> None:
    handler.join(ANNA)
    handler.handler.end()
    assert handler.answers(ANNA) == [Error("ended", "the daemon has ended")]


def test_every_message_is_counted_once(handler: VirtualHandler) -> None:
    random, welcome = Random(3), handler.join(ANNA)
    handler.show(3)
    messages = [
        pack(replace(HELLO, role="seat")),
        pack(Stop(0, 0)),
        b"\x00",
        bytes(1 << 15),
        *(
            pack(RigValues(welcome.session + extra, sequence, step, 1, bytes(size)))
            for extra in (0, 1)
            for sequence in (1, 3, 2)
            for step in (-1, 3, 9)
            for size in (8, 16)
        ),
    ]
    start = vars(handler.counters).copy()
    for _ in range(500):
        handler.handler.on_message(ANNA, [random.choice(messages)], handler.now)
    counted = {name: count - start[name] for name, count in vars(handler.counters).items()}
    sums = {field.name for field in fields(RigCounters)} - {"received", "overtaken", "unsent", "strangers"}
    assert counted["received"] == 500 == sum(counted[name] for name in sums)
