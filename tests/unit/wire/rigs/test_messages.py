"""Messages of rigs: what is written is read again, and nothing else is taken, whatever it is."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from mastd.wire.common.strict_messages import MalformedError, pack
from mastd.wire.rigs.messages import (
    MAX_READS,
    MAX_RIG_MESSAGE,
    MAX_TEXT_LENGTH,
    MAX_TO_RIG,
    Ack,
    Close,
    EmergencyStop,
    Error,
    Heartbeat,
    Motion,
    Reject,
    Request,
    RigHello,
    RigTerms,
    RigValues,
    RigWelcome,
    Stop,
    ToRig,
    channels_hash,
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
        assert read_from_rig(pack(values)) == values


@given(
    st.builds(Heartbeat, counts, counts, counts, counts, counts, steps)
    | st.one_of(*(st.builds(kind, counts, counts) for kind in (Stop, EmergencyStop, Close)))
)
def test_small_messages_are_read_as_they_were_written(message: Heartbeat | Request) -> None:
    assert read_from_rig(pack(message)) == message


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
    packed = pack(hello)
    if len(packed) <= MAX_RIG_MESSAGE:
        assert read_from_rig(packed) == hello


@pytest.mark.parametrize(
    "message",
    [
        WELCOME,
        Motion(7, 8, 9, 10, 11, 5, 0.5, True, b"\0" * 16),
        Heartbeat(1, 2, 3, 4, 5, -1),
        Ack("estop", 1, 2),
        Error("ahead", "values: step 3 …", 4),
        Error("ended", "the daemon has ended"),
        Reject(("mode: daemon lockstep, rig free-run",)),
    ],
)
def test_what_the_gateway_says_is_read_as_it_was_written(message: ToRig) -> None:
    assert read_to_rig(pack(message)) == message


@given(st.binary(max_size=300))
def test_bytes_of_any_kind_are_a_message_or_malformed(data: bytes) -> None:
    for read in (read_from_rig, read_to_rig):
        with contextlib.suppress(MalformedError):
            assert type(read(data)).__module__ == Request.__module__


@given(st.data(), st.sampled_from([HELLO, Heartbeat(1, 2, 3, 4, 5, 6), Stop(1, 2)]))
def test_an_entry_of_another_type_or_range_is_malformed(data: st.DataObject, message: Any) -> None:
    entries = msgpack.unpackb(pack(message))
    name = data.draw(st.sampled_from(sorted(entries)))
    entries[name] = data.draw(odd)
    if name in {"reads", "channels"} and entries[name] == []:
        return
    with pytest.raises(MalformedError):
        read_from_rig(bytes(msgpack.packb(entries)))


@given(st.integers(0, 5), odd)
def test_an_entry_of_values_of_another_type_or_range_is_malformed(place: int, wrong: Any) -> None:
    entries: list[Any] = ["values", 1, 2, 3, 4, b"\0" * 8]
    entries[place] = wrong
    with pytest.raises(MalformedError):
        read_from_rig(bytes(msgpack.packb(entries)))


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        (["values", 0, 2, 3, 4, b""], "expected int >= "),
        (["values", 1, 2, -2, 4, b""], "expected int >= "),
        (["values", True, 2, 3, 4, b""], "values: entry 2: expected int, got bool"),
        (["values", 1, 2.0, 3, 4, b""], "values: entry 3: expected int, got float"),
        (["values", 1, 2, 3, 4, b"\0" * 7], "8 bytes for each"),
        (["values", 1, 2, 3, 4, "\0" * 8], "entry 6: expected bytes"),
        (["values", 1, 2, 3, 4, np.array([math.nan]).tobytes()], "finite"),
        (["values", 1, 2, 3, 4, np.array([0.0, -math.inf]).tobytes()], "finite"),
        (["values", 1, 2, 3, 4], "values: expected array of at least length 6, got 5"),
        (["motion", 1, 2, 3, 4, b""], "entry 1: invalid value 'motion'"),
        ({"kind": "welcome"}, "kind: invalid value 'welcome'"),
        ({"kind": 7}, "kind: expected str"),
        ({}, "missing entry kind"),
        (7, "expected map, got int"),
        ({"kind": "stop", "session": -1, "sequence": 0}, "stop: session: expected int >= 0"),
        (
            {"kind": "beat", "session": 1, "sequence": 1, "time_ns": 0, "echo_ns": 0},
            "beat: missing entry held_",
        ),
    ],
)
def test_a_malformed_message_is_told_what_would_be_right(entries: Any, words: str) -> None:
    with pytest.raises(MalformedError, match=words):
        read_from_rig(bytes(msgpack.packb(entries)))


def test_the_sequence_of_malformed_values_is_known_where_it_can_be() -> None:
    for sequence, known in ((5, 5), (True, -1), (-5, -1), ("5", -1)):
        with pytest.raises(MalformedError) as found:
            read_from_rig(bytes(msgpack.packb(["values", 0, sequence, 3, 4, b""])))
        assert found.value.sequence == known


def test_too_long_is_told_apart_from_malformed() -> None:
    for read, most in ((read_from_rig, MAX_RIG_MESSAGE), (read_to_rig, MAX_TO_RIG)):
        with pytest.raises(MalformedError) as found:
            read(bytes(most + 1))
        assert found.value.oversize
        with pytest.raises(MalformedError) as found:
            read(b"\xc1" * most)
        assert not found.value.oversize


def test_lists_of_names_have_an_end() -> None:
    for name, entry in (("reads", "pose.heave"), ("channels", ["steering", "1"])):
        entries = {"kind": "hello", **asdict(HELLO), name: [entry] * (MAX_READS + 1)}
        with pytest.raises(MalformedError, match=f"{name}: expected array of length <= {MAX_READS}"):
            read_from_rig(bytes(msgpack.packb(entries)))


def test_unknown_keys_are_ignored() -> None:
    entries = {"kind": "hello", **asdict(HELLO), "colour": "red"}
    assert read_from_rig(bytes(msgpack.packb(entries))) == HELLO


def test_a_long_list_in_few_bytes_takes_no_memory() -> None:
    for data in (b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff", b"\x91" * 4000):
        with pytest.raises(MalformedError):
            read_from_rig(data)


def test_names_and_units_of_other_channels_have_another_hash() -> None:
    one = channels_hash("values", [("steering", "1")])
    assert one != channels_hash("values", [("steering", "rad")])
    assert one != channels_hash("values", [("brake", "1")])
    assert one != channels_hash("motion", [("steering", "1")])
    assert one == channels_hash("values", [("steering", "1")])
