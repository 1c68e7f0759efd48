"""The chapter "Operators" of docs/protocol.md says what the code does."""

from __future__ import annotations

import re
import struct
from dataclasses import fields, replace

import msgpack
import numpy as np
import pytest

from mastd.record.recorder import RING_SECONDS
from mastd.safety.states import State
from mastd.wire.access import sessions
from mastd.wire.access.roles import ROLES
from mastd.wire.access.verbs import BY_NAME, COMMANDING, VERBS, may, minimum_role
from mastd.wire.common.blocks import SIMULATED
from mastd.wire.common.cycle_times import CycleTimes
from mastd.wire.common.strict_messages import pack
from mastd.wire.operators import client, driver_forwarder, event_loop, sockets, telemetry, telemetry_feed
from mastd.wire.operators import messages as operator_messages
from mastd.wire.operators.handler import MAX_WAITING
from mastd.wire.operators.load_process import TIMEOUT_NS
from mastd.wire.operators.messages import Answer, Command, Error, Hello, Inputs, Welcome, pack_drive
from mastd.wire.operators.telemetry import Telemetry, pack_telemetry
from mastd.wire.operators.terms import PreviousRun
from tests.support.wire.operators import about
from tests.support.wire.protocol_page import PAGE, table_after
from tests.unit.wire.operators.test_sessions import TERMS, Counter

CHAPTER = PAGE[PAGE.index("# Operators, version 1") :]
KINDS = {"text": str, "integer": int, "boolean": bool, "number": float, "map": dict, "array": list}
TYPES = {
    "int": "integer",
    "str": "text",
    "Name": "text",
    "Role": "text",
    "bool": "boolean",
    "Finite": "number",
    "dict[str, Any] | None": "map or nil",
}


@pytest.mark.parametrize(
    ("kind", "cls"), [("hello", Hello), ("welcome", Welcome), ("answer", Answer), ("error", Error)]
)
def test_the_tables_name_every_entry_with_its_type(kind: str, cls: type) -> None:
    rows = table_after(f"<!-- operators {kind} -->")
    assert rows[0][0] == "`kind`"
    assert rows[0][2].startswith(f"`{kind}`")
    assert [(row[0].strip("`"), row[1]) for row in rows[1:]] == [
        (name, TYPES[annotation]) for name, annotation in cls.__annotations__.items()
    ]


def test_the_table_of_a_command_is_that_of_its_bytes() -> None:
    message = msgpack.unpackb(pack(Command(1, 2, "stop", {})))
    kinds = {str: "text", int: "integer", dict: "map"}
    assert [(row[0].strip("`"), row[1]) for row in table_after("<!-- operators command -->")] == [
        (key, kinds[type(value)]) for key, value in message.items()
    ]


def test_the_table_of_inputs_is_that_of_their_bytes_and_ranges() -> None:
    message = msgpack.unpackb(pack_drive(1, 2, Inputs()))
    kinds = {str: "text", int: "integer", float: "number"}
    rows = table_after("<!-- operators drive -->")
    assert [(row[0].strip("`"), row[1]) for row in rows] == [
        (key, kinds[type(value)]) for key, value in message.items()
    ]
    meanings = {row[0].strip("`"): row[2] for row in rows}
    assert meanings["gear"].startswith(f"−{-operator_messages.MIN_GEAR} to −1 reverse")
    assert f"{operator_messages.MAX_GEAR}: the car chooses" in meanings["gear"]


def test_every_verb_stands_there_with_its_need_of_the_lease() -> None:
    rows = {row[0].strip("`"): row for row in table_after("<!-- verbs -->")}
    assert set(rows) == VERBS
    assert {verb for verb, row in rows.items() if row[2] == "needed"} == COMMANDING
    assert {verb: row[3] for verb, row in rows.items()} == {verb: minimum_role(verb) for verb in VERBS}
    for verb in VERBS:
        assert all(f"`{name}`" in rows[verb][1] for name in BY_NAME[verb].arguments)


def test_every_role_stands_there_with_its_rights() -> None:
    rows = [[cell.strip("`") for cell in row] for row in table_after("<!-- roles -->")]
    assert [row[0] for row in rows] == list(ROLES)
    named = [set(re.findall(r"`(\w+)`", row[1])) for row in table_after("<!-- roles -->")]
    assert named[0] == {verb for verb in VERBS if may("observer", verb)}
    assert named[1] == {verb for verb in {*VERBS, "drive"} if minimum_role(verb) == "rig"}
    assert named[2] == named[3] == {"reload"} == {verb for verb in VERBS if not may("operator", verb)}


def test_the_snapshot_has_the_entries_of_the_page() -> None:
    times = CycleTimes(("late", "missed", "compute"), 1000.0)
    times.take(np.zeros((3, 3)))
    handler = Counter(
        terms=replace(TERMS, previous=PreviousRun("by a signal", 1, "the plant refuses")), times=times
    )
    handler.loop.fault = 10
    handler.poll()
    handler.handler.lease.take("anna", handler.now)
    snapshot = handler.handler.status_view.snapshot(handler.now)
    rows = {row[0].strip("`"): row for row in table_after("<!-- snapshot -->")}
    assert list(rows) == ["number", *snapshot]
    for key, value in snapshot.items():
        assert isinstance(value, KINDS[rows[key][1].split()[0]]), key
        if isinstance(value, dict) and key != "counters":
            assert all(f"`{entry}`" in rows[key][2] for entry in value), key
    assert all(state.name in rows["state"][2] for state in State)


def test_the_description_has_the_entries_of_the_page() -> None:
    handler = Counter(terms=replace(TERMS, description=about(), spare=3))
    handler.loop.status.set_text("vehicle", "")
    handler.loop.status.set_text("plant", f"{SIMULATED}|stand-in plant")
    handler.loop.show()
    handler.poll()
    told = handler.handler.status_view.description()
    rows = {row[0].strip("`"): row for row in table_after("<!-- description -->")}
    assert list(rows) == list(told)
    for key, value in told.items():
        assert isinstance(value, KINDS[rows[key][1].split()[0]]), key
    for words, key in ((next(iter(told["faults"].values())), "faults"), (told["links"][0], "links")):
        assert all(f"`{entry}`" in rows[key][2] for entry in words), key


def test_the_table_of_telemetry_is_that_of_its_bytes() -> None:
    numbers, frames = np.array([7, 9]), np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    message = msgpack.unpackb(pack_telemetry(Telemetry(numbers, frames, 1), 10))
    kinds = {str: "text", int: "integer", bool: "boolean", bytes: "binary"}
    assert [(row[0].strip("`"), row[1]) for row in table_after("<!-- telemetry -->")] == [
        (key, kinds[type(value)]) for key, value in message.items()
    ]
    assert message["first"] == 7
    assert struct.unpack("<2q", message["numbers"]) == (7, 9)
    assert struct.unpack("<6d", message["frames"]) == (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)


def test_every_counter_is_explained() -> None:
    names = [row[0].strip("`") for row in table_after("<!-- gateway counters -->")]
    assert names == [field.name for field in fields(sessions.GatewayCounters)]


def test_the_figures_on_the_page_are_those_of_the_code() -> None:
    assert f"of the ROUTER | {sockets.HIGH_WATER_MARK} |" in CHAPTER
    assert f"of the PUB | {sockets.SNAPSHOT_HIGH_WATER_MARK} |" in CHAPTER
    assert f"`MAXMSGSIZE` | {sockets.MAX_FRAME // 1024} kB |" in CHAPTER
    assert f"`HANDSHAKE_IVL` | {sockets.HANDSHAKE_MS // 1000} s |" in CHAPTER
    assert f"`LINGER` | {sockets.LINGER_MS} ms" in CHAPTER
    assert f"at most {event_loop.MESSAGES_PER_POLL} messages at a time" in CHAPTER
    assert f"pauses {event_loop.PAUSE_S * 1e3:g} ms" in CHAPTER
    assert f"of the XPUB | {sockets.TELEMETRY_HIGH_WATER_MARK} |" in CHAPTER
    assert f"at most {operator_messages.MAX_OPERATOR_MESSAGE} bytes" in CHAPTER
    assert f"client, {operator_messages.MAX_ANSWER} from the gateway" in CHAPTER
    assert f"at most {telemetry.MAX_TELEMETRY} bytes" in CHAPTER
    assert f"up to {2 * telemetry_feed.MAX_FRAMES} frames" in CHAPTER
    assert f"about {1_000_000_000 // telemetry_feed.MESSAGE_NS} messages a second" in CHAPTER
    assert f"every {telemetry_feed.SILENT_NS * 1e-9:g} s with n = 0" in CHAPTER
    assert f"None for {client.SILENT_S:g} s" in CHAPTER
    assert f"({RING_SECONDS} s at 1 kHz)" in CHAPTER
    assert f"until silent for {driver_forwarder.GONE_NS // 1_000_000_000} s" in CHAPTER
    assert f"at most {operator_messages.MAX_NAME_LENGTH} characters" in CHAPTER
    assert f"the last {sessions.CACHED_ANSWERS}," in CHAPTER
    assert f"At most {sessions.CAPACITY} sessions" in CHAPTER
    assert f"{MAX_WAITING} more are queued" in CHAPTER
    assert f"up to {TIMEOUT_NS // 1_000_000_000} s" in CHAPTER
    assert f"at most every {driver_forwarder.SHOWN_NS // 1_000_000} ms" in CHAPTER
    assert f"again every {client.AGAIN_S} s" in CHAPTER
    assert f"({client.HELLO_S:g} s: no daemon)" in CHAPTER


def test_the_bytes_on_the_page_are_those_of_the_command_they_describe() -> None:
    packed = pack(Command(7, 3, "jog", {"link": 5, "amount": -0.01}))
    assert packed.hex(" ") in CHAPTER.replace("\n", " ")
    packed = pack_drive(7, 3, Inputs(steering=0.25, throttle=0.5, gear=3))
    assert packed.hex(" ") in CHAPTER.replace("\n", " ")
