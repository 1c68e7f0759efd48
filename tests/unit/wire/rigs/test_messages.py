"""Messages of rigs: what is written is read again, and nothing else is taken, whatever it is."""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mastd.wire.rigs.messages import (
    MAX_READS,
    MAX_RIG_MESSAGE,
    MAX_TEXT_LENGTH,
    MAX_TO_RIG,
    Beat,
    Done,
    MalformedRigError,
    Motion,
    Refusal,
    Request,
    RigHello,
    RigTerms,
    RigValues,
    RigWelcome,
    Trouble,
    channels_hash,
    pack_motion,
    pack_refusal,
    pack_rig_hello,
    pack_small,
    pack_values,
    pack_welcome,
    read_from_rig,
    read_to_rig,
)
from tests.support.rigs.handler import HELLO

WELCOME = RigWelcome(
    protocol_version=1,
    session=77,
    name="mastd",
    pid=4711,
    mode="lockstep",
    period_ns=1_000_000,
    channels=(RigTerms("steering", "1", -1.0, 1.0, None, 0.0, "hold"),),
    channels_sha256="a" * 64,
    reads=(("pose.heave", "m"), ("vehicle.speed", "")),
    reads_sha256="b" * 64,
    timeout_s=0.05,
    message_rate=2000.0,
    motion_rate=1000.0,
    predict_s=0.0,
    beat_s=0.1,
    lost_s=0.3,
    states=("OFF", "RUNNING"),
)
counts = st.integers(0, (1 << 63) - 1)
sessions = st.integers(1, (1 << 63) - 1)
steps = st.integers(-1, (1 << 63) - 1)
texts = st.text(st.characters(codec="utf-8", categories=["L", "N", "P"]), max_size=MAX_TEXT_LENGTH)
numbers = st.floats(-1e300, 1e300)
blocks = st.lists(numbers, max_size=24).map(lambda values: np.array(values, dtype="<f8").tobytes())
odd: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.floats(),
    st.integers(-(1 << 63), -2),
    st.integers(1 << 63, (1 << 64) - 1),
    st.binary(max_size=9).filter(lambda block: len(block) % 8 != 0),
    st.text(st.characters(codec="utf-8", categories=["Cc"]), min_size=1),
    st.lists(st.integers(-9, 9), max_size=3),
)


@given(st.builds(RigValues, sessions, counts, steps, counts, blocks))
def test_values_are_read_as_they_were_written(values: RigValues) -> None:
    if math.isfinite(float(np.frombuffer(values.block).sum())):
        assert read_from_rig(pack_values(values)) == values


@given(
    st.builds(Beat, counts, counts, counts, counts, counts, steps)
    | st.builds(Request, st.sampled_from(["stop", "estop", "bye"]), counts, counts)
)
def test_small_messages_are_read_as_they_were_written(message: Beat | Request) -> None:
    assert read_from_rig(pack_small(message)) == message


@given(
    st.builds(
        replace,
        st.just(HELLO),
        name=texts,
        program=texts,
        mode=texts,
        period_ns=counts,
        resume=counts,
        channels=st.lists(st.tuples(texts, texts), max_size=24).map(tuple),
        reads=st.lists(texts, max_size=24).map(tuple),
    )
)
def test_hellos_are_read_as_they_were_written(hello: RigHello) -> None:
    packed = pack_rig_hello(hello)
    if len(packed) <= MAX_RIG_MESSAGE:
        assert read_from_rig(packed) == hello


@pytest.mark.parametrize(
    "data",
    [
        (pack_welcome, WELCOME),
        (pack_motion, Motion(7, 8, 9, 10, 11, 5, 0.5, True, b"\0" * 16)),
        (pack_small, Beat(1, 2, 3, 4, 5, -1)),
        (pack_small, Done(1, 2, "estop")),
        (pack_small, Trouble("ahead", "values: step 3 …", 4)),
        (pack_small, Trouble("ended", "the daemon has ended")),
        (pack_refusal, Refusal(("mode: daemon lockstep, rig free-run",))),
    ],
)
def test_what_the_gateway_says_is_read_as_it_was_written(data: tuple[Any, Any]) -> None:
    pack, message = data
    assert read_to_rig(pack(message)) == message


@given(st.binary(max_size=300))
def test_bytes_of_any_kind_are_a_message_or_malformed(data: bytes) -> None:
    for read in (read_from_rig, read_to_rig):
        with contextlib.suppress(MalformedRigError):
            read(data)


@given(st.data(), st.sampled_from([HELLO, Beat(1, 2, 3, 4, 5, 6), Request("stop", 1, 2)]))
def test_an_entry_of_another_type_or_range_is_malformed(data: st.DataObject, message: Any) -> None:
    entries = msgpack.unpackb(pack_rig_hello(HELLO) if message is HELLO else pack_small(message))
    name = data.draw(st.sampled_from(sorted(entries)))
    entries[name] = data.draw(odd)
    if name in {"reads", "channels"} and entries[name] == []:
        return
    with pytest.raises(MalformedRigError):
        read_from_rig(bytes(msgpack.packb(entries)))


@given(st.integers(0, 5), odd)
def test_an_entry_of_values_of_another_type_or_range_is_malformed(place: int, wrong: Any) -> None:
    entries: list[Any] = ["values", 1, 2, 3, 4, b"\0" * 8]
    entries[place] = wrong
    with pytest.raises(MalformedRigError):
        read_from_rig(bytes(msgpack.packb(entries)))


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        (["values", 0, 2, 3, 4, b""], "out of its range"),
        (["values", 1, 2, -2, 4, b""], "out of its range"),
        (["values", True, 2, 3, 4, b""], "are integers"),
        (["values", 1, 2.0, 3, 4, b""], "are integers"),
        (["values", 1, 2, 3, 4, b"\0" * 7], "8 bytes for each"),
        (["values", 1, 2, 3, 4, "\0" * 8], "8 bytes for each"),
        (["values", 1, 2, 3, 4, np.array([math.nan]).tobytes()], "finite"),
        (["values", 1, 2, 3, 4, np.array([0.0, -math.inf]).tobytes()], "finite"),
        (["values", 1, 2, 3, 4], "session, sequence, step"),
        (["motion", 1, 2, 3, 4, b""], "session, sequence, step"),
        ({"kind": "welcome"}, "a rig sends"),
        ({"kind": 7}, "text kind"),
        ({}, "text kind"),
        (7, "text kind"),
        ({"kind": "stop", "session": -1, "sequence": 0}, "session must be an integer"),
        ({"kind": "beat", "session": 1, "sequence": 1, "time_ns": 0, "echo_ns": 0}, "held_ns must be"),
    ],
)
def test_a_malformed_message_is_told_what_would_be_right(entries: Any, words: str) -> None:
    with pytest.raises(MalformedRigError, match=words):
        read_from_rig(bytes(msgpack.packb(entries)))


def test_the_sequence_of_malformed_values_is_known_where_it_can_be() -> None:
    for sequence, known in ((5, 5), (True, -1), (-5, -1), ("5", -1)):
        with pytest.raises(MalformedRigError) as found:
            read_from_rig(bytes(msgpack.packb(["values", 0, sequence, 3, 4, b""])))
        assert found.value.sequence == known


def test_too_long_is_told_apart_from_malformed() -> None:
    for read, most in ((read_from_rig, MAX_RIG_MESSAGE), (read_to_rig, MAX_TO_RIG)):
        with pytest.raises(MalformedRigError) as found:
            read(bytes(most + 1))
        assert found.value.oversize
        with pytest.raises(MalformedRigError) as found:
            read(b"\xc1" * most)
        assert not found.value.oversize


def test_lists_of_names_have_an_end() -> None:
    for name, entry in (("reads", "pose.heave"), ("channels", ["steering", "1"])):
        entries = {"kind": "hello", **vars(HELLO), name: [entry] * (MAX_READS + 1)}
        with pytest.raises(MalformedRigError, match=f"{name} must be an array of at most {MAX_READS}"):
            read_from_rig(bytes(msgpack.packb(entries)))


def test_unknown_keys_are_ignored() -> None:
    entries = {"kind": "hello", **vars(HELLO), "colour": "red"}
    assert read_from_rig(bytes(msgpack.packb(entries))) == HELLO


def test_a_long_list_in_few_bytes_takes_no_memory() -> None:
    for data in (b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff", b"\x91" * 4000):
        with pytest.raises(MalformedRigError):
            read_from_rig(data)


def test_names_and_units_of_other_channels_have_another_hash() -> None:
    one = channels_hash("values", [("steering", "1")])
    assert one != channels_hash("values", [("steering", "rad")])
    assert one != channels_hash("values", [("brake", "1")])
    assert one != channels_hash("motion", [("steering", "1")])
    assert one == channels_hash("values", [("steering", "1")])
