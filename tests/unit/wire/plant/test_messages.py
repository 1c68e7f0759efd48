"""Samples and commands on the wire: they come back as sent, and nothing else is taken for one."""

from __future__ import annotations

import contextlib
import math
import struct

import msgpack
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mastd.errors import ProtocolError
from mastd.wire.common.layout import command_layout, sample_layout
from mastd.wire.plant.hello import read_hello, read_refusal, read_welcome, unpack_map
from mastd.wire.plant.messages import Command, DriveMode, Sample, SampleFlag, Stage, is_finite

SAMPLE = sample_layout(7, 3)
COMMAND = command_layout(7)
signed = st.integers(-(1 << 63), (1 << 63) - 1)
floats = st.floats(width=64)


def filled_sample() -> Sample:
    sample = Sample(SAMPLE)
    sample.values[:] = np.arange(SAMPLE.size) * 0.1
    sample.boot_id, sample.sequence, sample.step, sample.time_ns = 2**62, 70000, 300, 10**12
    sample.command_sequence, sample.stage, sample.flags = 69999, 2, int(SampleFlag.DRIVE_LOWERING)
    return sample


def filled_command() -> Command:
    command = Command(COMMAND)
    command.values[:] = np.arange(COMMAND.size) * 0.1
    command.sequence, command.step = 70000, 300
    command.mode, command.stage = DriveMode.LOWER, Stage.LOW
    return command


def state(message: Sample | Command) -> list[object]:
    """Return everything a message holds, with the block as bytes so that NaN compares equal."""
    names = sorted(set(message.__slots__) - {"layout", "values", "_bytes", "_all_valid"})
    return [message.values.tobytes(), *(getattr(message, name) for name in names)]


@settings(deadline=None)
@given(
    values=st.lists(floats, min_size=SAMPLE.size, max_size=SAMPLE.size),
    integers=st.lists(signed, min_size=6, max_size=6),
    stage=st.sampled_from(Stage),
    valid=st.integers(0, (1 << SAMPLE.size) - 1),
)
def test_a_sample_comes_back_as_sent(
    values: list[float], integers: list[int], stage: Stage, valid: int
) -> None:
    sent, got = Sample(SAMPLE), Sample(SAMPLE)
    sent.values[:] = values
    sent.boot_id, sent.sequence, sent.step, sent.time_ns, sent.command_sequence, sent.flags = integers
    sent.stage, sent.valid = int(stage), valid
    got.unpack(sent.pack())
    assert state(got) == state(sent)


@settings(deadline=None)
@given(
    values=st.lists(floats, min_size=COMMAND.size, max_size=COMMAND.size),
    sequence=signed,
    step=signed,
    mode=st.sampled_from(DriveMode),
    stage=st.sampled_from(Stage),
)
def test_a_command_comes_back_as_sent(
    values: list[float], sequence: int, step: int, mode: DriveMode, stage: Stage
) -> None:
    sent, got = Command(COMMAND), Command(COMMAND)
    sent.values[:] = values
    sent.sequence, sent.step, sent.mode, sent.stage = sequence, step, int(mode), int(stage)
    got.unpack(sent.pack())
    assert state(got) == state(sent)


def test_a_message_reads_and_fills_an_array_that_was_given() -> None:
    frame = np.zeros(100)
    sample = Sample(SAMPLE, frame[10 : 10 + SAMPLE.size])
    sample.unpack(filled_sample().pack())
    assert frame[10 : 10 + SAMPLE.size].tolist() == filled_sample().values.tolist()
    assert not frame[:10].any()
    assert not frame[10 + SAMPLE.size :].any()
    command = Command(COMMAND, frame[: COMMAND.size])
    frame[0] = 42.0
    assert struct.pack("<d", 42.0) in command.pack()


def broken_samples() -> dict[str, list[object]]:
    good = list(msgpack.unpackb(filled_sample().pack()))
    return {
        "kind": ["command", *good[1:]],
        "too few parts": good[:9],
        "too many parts": [*good, 0],
        "fraction": [*good[:2], 1.0, *good[3:]],
        "truth value": [*good[:3], True, *good[4:]],
        "more than 63 bits": [good[0], 1 << 63, *good[2:]],
        "time beyond 63 bits": [*good[:4], 1 << 63, *good[5:]],
        "stage": [*good[:6], 3, *good[7:]],
        "negative stage": [*good[:6], -1, *good[7:]],
        "validity as text": [*good[:8], "xxxxxx", good[9]],
        "validity short": [*good[:8], good[8][:-1], good[9]],
        "block short": [*good[:9], good[9][:-8]],
        "block as list": [*good[:9], [0.0] * SAMPLE.size],
    }


def broken_commands() -> dict[str, list[object]]:
    good = list(msgpack.unpackb(filled_command().pack()))
    return {
        "kind": ["sample", *good[1:]],
        "too few parts": good[:5],
        "nil": [good[0], None, *good[2:]],
        "step beyond 63 bits": [*good[:2], 1 << 63, *good[3:]],
        "mode": [*good[:3], 3, *good[4:]],
        "negative mode": [*good[:3], -1, *good[4:]],
        "mode as truth value": [*good[:3], True, *good[4:]],
        "stage": [*good[:4], 3, good[5]],
        "block long": [*good[:5], good[5] + bytes(8)],
    }


@pytest.mark.parametrize("what", broken_samples())
def test_a_broken_sample_is_refused_and_changes_nothing(what: str) -> None:
    target = filled_sample()
    before = state(target)
    with pytest.raises(ProtocolError):
        target.unpack(msgpack.packb(broken_samples()[what]))
    assert state(target) == before


@pytest.mark.parametrize("what", broken_commands())
def test_a_broken_command_is_refused_and_changes_nothing(what: str) -> None:
    target = filled_command()
    before = state(target)
    with pytest.raises(ProtocolError):
        target.unpack(msgpack.packb(broken_commands()[what]))
    assert state(target) == before


def feed(data: bytes) -> None:
    """Give ``data`` to every decoder; only a ProtocolError may come out, and no half-filled message."""
    for target in (filled_sample(), filled_command()):
        before = state(target)
        try:
            target.unpack(data)
        except ProtocolError:
            assert state(target) == before
        else:
            assert target.layout.size == len(target.values)
            assert all(-(1 << 63) <= value < 1 << 63 for value in (target.sequence, target.step))
            assert target.stage in {0, 1, 2}
    try:
        message = unpack_map(data)
    except ProtocolError:
        return
    for read in (read_hello, read_welcome):
        with contextlib.suppress(ProtocolError):
            read(message)
    assert len(read_refusal(message).text) < 4000


@settings(max_examples=400, deadline=None)
@given(st.binary(max_size=400))
@example(b"\xdd\xff\xff\xff\xff")
@example(b"\x91" * 3000)
@example(b"\xc1")
@example(b"")
def test_no_bytes_break_the_decoders(data: bytes) -> None:
    feed(data)


@settings(max_examples=600, deadline=None)
@given(
    st.sampled_from([filled_sample().pack(), filled_command().pack()]),
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=6),
    st.integers(0, 400),
    st.binary(max_size=4),
)
def test_no_mutated_message_breaks_the_decoders(
    packed: bytes, changes: list[tuple[int, int]], cut: int, tail: bytes
) -> None:
    data = bytearray(packed)
    for place, byte in changes:
        data[place % len(data)] = byte
    feed(bytes(data[: max(cut, 1)]) if cut < 40 else bytes(data) + tail)


json_like = st.recursive(
    st.none() | st.booleans() | signed | floats | st.text("aé\0 ", max_size=20) | st.binary(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab", max_size=8), inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["kind", "protocol_version", "mode", "period_ns", "boot_id", "reasons", "holder"]),
        json_like,
    )
)
def test_no_session_message_breaks_the_decoders(entries: dict[str, object]) -> None:
    feed(msgpack.packb(entries))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("place", [0, COMMAND.size - 1])
def test_a_value_that_is_not_finite_is_found(value: float, place: int) -> None:
    command = filled_command()
    assert is_finite(command.values.tobytes())
    command.values[place] = value
    assert not is_finite(command.values.tobytes())


def test_infinities_of_either_sign_do_not_cancel() -> None:
    command = filled_command()
    command.values[3], command.values[4] = math.inf, -math.inf
    assert not is_finite(command.values.tobytes())
