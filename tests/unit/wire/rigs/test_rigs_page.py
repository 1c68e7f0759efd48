"""The chapter "Rigs" of docs/protocol.md says what the code does."""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import fields

import msgpack
import pytest

from mastd.settings.rigs.channels import (
    DRIVER,
    FELT,
    KINDS,
    POSE,
    POSE_ACCELERATIONS,
    POSE_RATES,
    POSES,
    SEAT,
    SIGNALS,
    VEHICLE,
    WHEEL_SIGNALS,
    WRENCH,
    signal,
)
from mastd.settings.rigs.rigs import RigChannelSettings
from mastd.wire.common import rig_status
from mastd.wire.common.strict_messages import pack
from mastd.wire.rigs import handler, messages, session, sockets
from mastd.wire.rigs.messages import Heartbeat, Motion, RigHello, RigValues, RigWelcome, channels_hash
from tests.support.rigs.handler import HELLO, VirtualHandler
from tests.support.wire.protocol_page import PAGE, table_after
from tests.unit.wire.rigs.test_messages import WELCOME

CHAPTER = PAGE[PAGE.index("# Rigs, version 1") :]
TYPES = {
    "Count": "integer",
    "Step": "integer",
    "Text": "text",
    "Finite": "float",
    "Annotated[tuple[Text, ...], Meta(max_length=MAX_READS)]": "array of text",
    "Annotated[tuple[Text, ...], Meta(max_length=MAX_LINES)]": "array of text",
    "ChannelLines": "array of [text, text]",
    "tuple[RigTerms, ...]": "array of arrays",
}
RADIANS = (("steering", "rad"),)
KINDS_OF_ENTRIES = {str: "text", int: "integer", float: "float", bool: "boolean", bytes: "binary"}


@pytest.mark.parametrize(
    ("kind", "cls", "packed"),
    [
        ("hello", RigHello, pack(HELLO)),
        ("welcome", RigWelcome, pack(WELCOME)),
        ("beat", Heartbeat, pack(Heartbeat(1, 2, 3, 4, 5, 6))),
    ],
)
def test_the_tables_name_every_key_with_its_type(kind: str, cls: type, packed: bytes) -> None:
    rows = table_after(f"<!-- rig {kind} -->")
    assert [(row[0].strip("`"), row[1]) for row in rows] == [
        ("kind", "text"),
        *((name, TYPES[annotation]) for name, annotation in cls.__annotations__.items()),
    ]
    message = msgpack.unpackb(packed)
    assert list(message) == [row[0].strip("`") for row in rows]
    assert message["kind"] == kind == rows[0][2].strip("`")


def test_the_arrays_have_the_entries_of_the_tables() -> None:
    motion = msgpack.unpackb(pack(Motion(1, 2, 3, 4, 5, 6, 0.5, True, b"\0" * 8)))
    values = msgpack.unpackb(pack(RigValues(1, 2, 3, 4, b"\0" * 8)))
    for message, kind in ((motion, "motion"), (values, "values")):
        rows = table_after(f"<!-- rig {kind} -->")
        assert [row[0] for row in rows] == [str(k) for k in range(1, len(message) + 1)]
        assert [row[1] for row in rows] == [KINDS_OF_ENTRIES[type(entry)] for entry in message]
        assert rows[0][2] == f"`{message[0]}`"
        assert f"An array of {len(message)} entries." in CHAPTER


def test_every_counter_is_explained_in_its_order() -> None:
    names = [row[0].strip("`") for row in table_after("<!-- rig counters -->")]
    assert names == [field.name for field in fields(rig_status.RigCounters)] == list(rig_status.COUNTERS)


def test_every_kind_and_every_signal_is_there() -> None:
    rows = {row[0].strip("`"): row[1] for row in table_after("## Kinds of rigs")}
    assert tuple(rows) == KINDS
    for kind, ends in ((VEHICLE, WRENCH), (POSE, POSES)):
        assert f"`{ends[0]}` … `{ends[-1]}`" in rows[kind]
    assert {f"{name.split('.')[0]}.*" for name in POSE_RATES + POSE_ACCELERATIONS} <= set(
        re.findall(r"`([\w.*]+)`", rows[POSE])
    )
    for name in FELT:
        assert name.rpartition(".")[0] in rows[SEAT]
    listed = [
        name
        for row in table_after("| signal | unit | meaning |")
        for name in re.findall(r"`([\w.]+)`", row[0])
    ]
    assert set(listed) == {*DRIVER, *(f"{name}.WHEEL" for name in WHEEL_SIGNALS), "auxiliary.NAME"}
    for row in table_after("| signal | unit | meaning |"):
        for name in re.findall(r"`([\w.]+)`", row[0]):
            known = signal(SIGNALS, name.replace("WHEEL", "W"))
            assert known is not None
            assert row[1] == (known.unit or "as set")


def test_every_policy_of_loss_is_explained() -> None:
    policies = [row[0].strip("`") for row in table_after("### Loss")]
    annotation = str(RigChannelSettings.model_fields["on_loss"].annotation)
    assert policies == re.findall(r"'(\w+)'", annotation)


def test_the_hash_on_the_page_is_that_of_its_channels() -> None:
    text, digest = re.findall(r"```\n(values;.*)\n```\n[^`]*`([0-9a-f]{64})`", CHAPTER)[0]
    assert hashlib.sha256(text.encode()).hexdigest() == digest
    assert channels_hash("values", [("steering", "1"), ("throttle", "1")]) == digest


def test_the_figures_on_the_page_are_those_of_the_code() -> None:
    assert f"| `SNDHWM` | {sockets.MARK} |" in CHAPTER
    assert f"| `RCVHWM` | {sockets.MARK} |" in CHAPTER
    assert f"| `MAXMSGSIZE` | {4 * messages.MAX_RIG_MESSAGE // 1024} kB |" in CHAPTER
    assert f"| `HANDSHAKE_IVL` | {sockets.HANDSHAKE_MS // 1000} s |" in CHAPTER
    assert f"`LINGER` | {sockets.LINGER_MS} ms" in CHAPTER
    assert f"at most {messages.MAX_RIG_MESSAGE} bytes, from the daemon {messages.MAX_TO_RIG}" in (CHAPTER)
    assert f"at most {messages.MAX_TEXT_LENGTH} characters" in CHAPTER
    assert f"at most {messages.MAX_READS}" in CHAPTER
    assert f"nothing has been received from it for {session.LOST_NS / 1e9:g} s" in CHAPTER
    virtual = VirtualHandler()
    welcome = virtual.join((0, b"x"))
    assert (welcome.beat_s, welcome.lost_s) == (handler.HEARTBEAT_NS / 1e9, session.LOST_NS / 1e9)
    rig_session = session.RigSession(0, virtual.places[0], 0)
    taken = sum(rig_session.bucket.take(0) for _ in range(10_000))
    assert taken == math.ceil(rig_session.config.message_rate / 4.0), "a quarter of that at once"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"role": "vehicle"}, "role: daemon signals, rig vehicle"),
        ({"mode": "lockstep"}, "mode: daemon free-run, rig lockstep"),
        (
            {"channels": RADIANS, "channels_sha256": channels_hash("values", RADIANS)},
            "; rig steering [rad]",
        ),
        ({"version_lowest": 2, "version_highest": 3}, "protocol version: daemon 1 to 1, rig 2 to 3"),
        ({"reads": ("pose.heav",)}, "reads: there is no channel 'pose.heav'; did you mean pose.heave?"),
    ],
)
def test_the_refusals_on_the_page_are_those_of_the_code(changes: dict[str, object], words: str) -> None:
    (reason,) = VirtualHandler().refusal((0, b"x"), **changes)
    assert words in reason
    page = " ".join(CHAPTER.split())
    assert words.replace("daemon signals", "daemon vehicle").replace("rig vehicle", "rig signals") in page
