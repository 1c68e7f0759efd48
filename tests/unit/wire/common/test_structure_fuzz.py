"""What decodes and is wrong: entries of the wrong type, nested as deep as the decoder lets through.

Every reader of every socket gets it. What comes out is a message, or one error of the protocol in one short
line: no other exception, for that would end the process that reads.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any

import msgpack
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mastd.console.messages import read_message
from mastd.errors import MastdError
from mastd.wire.common.layout import command_layout, sample_layout
from mastd.wire.operators.messages import read_from_client, read_from_gateway, read_status
from mastd.wire.operators.telemetry import read_telemetry
from mastd.wire.plant import hello
from mastd.wire.plant.messages import decode_command, decode_sample
from mastd.wire.rigs.messages import read_from_rig, read_to_rig

LONGEST_LINE = 500
DEPTHS = (0, 1, 2, 40, 5000)
DEEP = (985, 1010)
"""The decoders go to 1022, Python's own texts to a thousand less the calls that they stand in already."""
KINDS = (
    *("hello", "welcome", "refused", "bye", "command", "drive", "close", "answer", "error", "status"),
    *("telemetry", "values", "motion", "heartbeat", "stop", "estop", "ack", "reject", "sample", "inject"),
    *("traces", "ping"),
)
KEYS = (
    *("kind", "protocol_version", "reasons", "holder", "sample_sha256", "mode", "period_ns", "boot_id"),
    *("operator", "role", "session", "sequence", "verb", "arguments", "reason", "error", "accepted", "id"),
    *("numbers", "frames", "lost", "ended", "first", "channels", "reads", "program", "level", "name"),
)
Value = tuple[int, bool, object]
Reader = Callable[[bytes], object]


def refusal(data: bytes) -> object:
    return hello.read_refusal(hello.unpack_map(data)).text


READERS: dict[str, Reader] = {
    "plant: refusal": refusal,
    "plant: welcome": lambda data: hello.read_welcome(hello.unpack_map(data)),
    "plant: hello": lambda data: hello.read_hello(hello.unpack_map(data)),
    "plant: sample": lambda data: decode_sample(data, sample_layout(7, 8)),
    "plant: command": lambda data: decode_command(data, command_layout(7)),
    "operators: gateway": read_from_client,
    "operators: client": read_from_gateway,
    "operators: status": read_status,
    "operators: telemetry": read_telemetry,
    "rigs: gateway": read_from_rig,
    "rigs: client": read_to_rig,
}

leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 63), (1 << 64) - 1),
    st.floats(),
    st.text("aé\n\0\x1b", max_size=8),
    st.binary(max_size=16),
    st.sampled_from([[], {}, [[1], {"a": 2}], ["x"] * 40, "y" * 300, *KINDS]),
)
values = st.tuples(st.sampled_from(DEPTHS), st.booleans(), leaves)
"""How deep, in arrays or else in maps, and what stands inside."""


def packed(value: Value) -> bytes:
    depth, arrays, leaf = value
    content: bytes = msgpack.packb(leaf)
    return (b"\x91" if arrays else b"\x81\xa1a") * depth + content


def packed_map(whole: dict[str, Value]) -> bytes:
    data = b"\xde" + struct.pack(">H", len(whole))
    return data + b"".join(msgpack.packb(key) + packed(value) for key, value in whole.items())


def in_json(value: Value) -> str:
    depth, arrays, leaf = value
    content = json.dumps(leaf if not isinstance(leaf, bytes) else leaf.hex())
    return ("[" if arrays else '{"a":') * depth + content + ("]" if arrays else "}") * depth


def read(reader: Callable[[Any], object], data: object) -> None:
    refused = ""
    try:
        found = reader(data)
    except MastdError as error:
        found = refused = str(error)
    assert len(refused) <= LONGEST_LINE
    assert not isinstance(found, str) or found.isprintable()


entries = st.dictionaries(st.sampled_from(KEYS), values, max_size=5)
rows = st.lists(values, min_size=1, max_size=10)


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@settings(max_examples=40)
@given(kind=st.sampled_from(KINDS), more=entries)
def test_a_map_with_wrong_entries(reader: Reader, kind: str, more: dict[str, Value]) -> None:
    read(reader, packed_map({"kind": (0, True, kind), **more}))


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@pytest.mark.parametrize("arrays", [True, False])
def test_a_map_with_an_entry_nested_as_deep_as_it_decodes(reader: Reader, arrays: bool) -> None:
    for kind in ("refused", "welcome", "hello", "command"):
        for key in KEYS:
            for depth in DEEP:
                read(reader, packed_map({"kind": (0, True, kind), key: (depth, arrays, 0)}))
    for depth in DEEP:  # a list of them, as of reasons
        read(reader, packed_map({"kind": (0, True, "refused"), "reasons": (depth, arrays, [[], "no"])}))


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@settings(max_examples=40)
@given(kind=st.sampled_from(KINDS), row=rows)
@example(kind="hello", row=[(0, True, 1), (0, True, 2)])
def test_an_array_with_wrong_entries(reader: Reader, kind: str, row: list[Value]) -> None:
    data = b"\xdc" + struct.pack(">H", 1 + len(row)) + msgpack.packb(kind) + b"".join(map(packed, row))
    read(reader, data)


@given(kind=st.sampled_from(KINDS), more=entries)
def test_a_browsers_message_with_wrong_entries(kind: str, more: dict[str, Value]) -> None:
    browser_reads({"kind": (0, True, kind), **more})


def test_a_browsers_message_with_an_entry_nested_as_deep_as_it_decodes() -> None:
    for key in KEYS:
        for depth in DEEP:
            browser_reads({"kind": (0, True, "command"), key: (depth, True, [])})


def browser_reads(whole: dict[str, Value]) -> None:
    text = ",".join(f"{json.dumps(key)}:{in_json(value)}" for key, value in whole.items())
    read(read_message, "{" + text + "}")
