"""docs/protocol.md says what the code does: blocks, flags, entries of the session, hashes, figures."""

from __future__ import annotations

import hashlib
import re
from dataclasses import fields

import msgpack
import pytest

from hil_sim.plant import endpoint, process
from mastd.wire.common import address
from mastd.wire.common.layout import Layout, command_layout, sample_layout, table_layout
from mastd.wire.plant import hello, socket_link
from mastd.wire.plant.messages import Command, DriveMode, Sample, SampleFlag, Stage
from tests.support.wire.protocol_page import PAGE, table_after


def symbol(base: int, one_actuator_more: int, one_accelerometer_more: int) -> str:
    actuators, sensors = one_actuator_more - base, one_accelerometer_more - base
    if not (actuators or sensors):
        return str(base)
    return (f"{actuators}n" if actuators else f"{sensors}m").removeprefix("1")


def rows_of(base: Layout, one_actuator_more: Layout, one_accelerometer_more: Layout) -> list[list[str]]:
    return [
        [
            str(base.slices[field.name].start),
            f"`{field.name}`",
            symbol(field.size, more.size, sensors.size),
            field.unit,
            field.meaning,
        ]
        for field, more, sensors in zip(base, one_actuator_more, one_accelerometer_more, strict=True)
    ]


def test_the_blocks_are_those_of_the_layout() -> None:
    assert table_after("<!-- sample block -->") == rows_of(
        sample_layout(7, 3), sample_layout(8, 3), sample_layout(7, 4)
    )
    assert table_after("<!-- command block -->") == rows_of(
        command_layout(7), command_layout(8), command_layout(7)
    )
    described = rows_of(table_layout(7, 3), table_layout(8, 3), table_layout(7, 4))
    assert table_after("<!-- table block -->") == [row[1:] for row in described]
    assert sample_layout(9, 5).size == 4 * 9 + 7 + 5
    assert table_layout(9, 5).size == 13 * 9 + 6 * 5 + 13
    assert command_layout(9).size == 5 * 9 + 6


def test_the_flags_stages_and_modes_are_those_of_the_messages() -> None:
    rows = table_after("<!-- flags -->")
    assert {row[1].strip("`"): 1 << int(row[0]) for row in rows} == {
        flag.name: int(flag) for flag in SampleFlag
    }
    for words, members in (("0 off, 1 low, 2 high", Stage), ("0 disabled, 1 follow, 2 lower", DriveMode)):
        assert words == ", ".join(f"{int(member)} {member.name.lower()}" for member in members)
        assert words in PAGE


@pytest.mark.parametrize(
    ("heading", "kind", "cls"),
    [("### `hello`", "hello", hello.DaemonHello), ("### `welcome`", "welcome", hello.PlantHello)],
)
def test_the_session_tables_name_every_entry_with_its_type(heading: str, kind: str, cls: type) -> None:
    types = {"int": "integer", "str": "text", "bool": "boolean", "bytes": "binary"}
    rows = table_after(heading)
    assert rows[0][:3] == ["`kind`", "text", f"`{kind}`"]
    assert [(row[0].strip("`"), row[1]) for row in rows[1:]] == [
        (field.name, types[str(field.type)]) for field in fields(cls)
    ]


def test_the_message_tables_have_as_many_entries_as_the_messages() -> None:
    sample = msgpack.unpackb(Sample(sample_layout(7, 3)).pack())
    command = msgpack.unpackb(Command(command_layout(7)).pack())
    kinds = {str: "text", int: "integer", bytes: "binary"}
    assert [row[1] for row in table_after("## Sample")] == [kinds[type(part)] for part in sample]
    assert [row[1] for row in table_after("## Command")] == [kinds[type(part)] for part in command]


def test_the_layout_hashes_follow_from_the_texts_on_the_page() -> None:
    found = re.findall(r"```\n((?:command|sample);.*)\n```\n[^`]*`([0-9a-f]{64})`", PAGE)
    assert len(found) == 2
    layouts = {"command": command_layout(7), "sample": sample_layout(7, 3)}
    for text, digest in found:
        assert hashlib.sha256(text.encode()).hexdigest() == digest
        assert layouts[text.split(";")[0]].sha256 == digest


def test_the_bytes_on_the_page_are_those_of_the_command_they_describe() -> None:
    command = Command(command_layout(7))
    command.sequence = command.step = 3
    command.mode, command.stage = DriveMode.FOLLOW, Stage.HIGH
    command.field("lengths")[:] = 1.25
    packed = command.pack()
    assert f"{packed[:32].hex(' ')}\n" in PAGE
    assert f"({len(packed)} in all)" in PAGE


def test_the_figures_on_the_page_are_those_of_the_code() -> None:
    assert f"| {socket_link.HIGH_WATER_MARK} | {socket_link.HIGH_WATER_MARK} |" in PAGE
    assert socket_link.MAX_MESSAGE == 64 * 1024
    assert f"{socket_link.LINGER_MS} ms when closing" in PAGE
    assert socket_link.LOST_PLANT_NS == 2_000_000_000 == endpoint.SILENCE_NS
    assert endpoint.LATEST_COMMAND_NS == 20_000_000
    assert endpoint.COMPLAINT_INTERVAL_NS == 500_000_000
    assert process.MESSAGES_PER_PERIOD == socket_link.DRAIN_LIMIT == 1024
    assert f"at most {address.MAX_PATH_LENGTH} bytes" in PAGE
    assert f"at most {hello.MAX_TEXT_LENGTH} characters" in PAGE
    assert f"at most {hello.MAX_REASONS} are read" in PAGE
    assert f"maps of at most {hello.MAX_SESSION_BYTES} bytes" in PAGE


def test_every_counter_is_explained() -> None:
    for counters in (socket_link.LinkCounters, endpoint.EndpointCounters):
        for field in fields(counters):
            if field.name not in {"received", "commands"}:
                assert f"`{field.name}`" in PAGE, field.name
