"""MCAP, the container of robotics: our own records in, and series in and out as flat ROS 2 messages.

What is written. One topic per series, message encoding ``cdr``, schema encoding ``ros2msg``: a definition of
one ``float64`` a channel, so that Foxglove, Lichtblick, PlotJuggler and rosbags show the numbers by name. The
channel's metadata keep what a definition cannot: ``mastd.series`` (JSON: name, axis, axis_unit, start, step,
and under ``abscissae`` the field that holds an uneven axis) and ``mastd.channels`` (JSON: field, name, unit,
description of each). ``log_time`` is the place on the axis in whole nanoseconds, counted from the lowest one
if that is negative. Notes stand in the metadata record ``mastd.notes``.

What is read. That; other topics whose messages are flat float64; and records of ``mastd.record.writer``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from mcap.records import Channel as McapChannel
from mcap.records import Schema
from numpy.typing import NDArray

from mastd.arrays import FloatArray
from mastd.errors import FormatError
from mastd.formats.core.files import replacing
from mastd.formats.core.measurement import Format, Measurement, Series
from mastd.formats.mcap.bulk_writer import BulkWriter, message_dtype, message_records
from mastd.formats.mcap.chunks import Contents, one_line
from mastd.formats.mcap.frames import (
    EVENT_TOPIC,
    FRAME_ENCODING,
    FRAME_TOPIC,
    METADATA_NAME,
    Frames,
    plain_metadata,
    provenance,
)
from mastd.formats.mcap.integrity import Events, check_integrity, warnings_of
from mastd.formats.mcap.ros2_message import LITTLE_ENDIAN, FieldText, definition, field_names
from mastd.formats.mcap.topics import CHANNELS_KEY, SERIES_KEY, FlatTopic, frame_series
from mastd.formats.mcap.walk import MAGIC, walk

NOTES_NAME: Final = "mastd.notes"
_OWN_METADATA: Final = "mastd"
_TITLE: Final = "MCAP"
_CHUNK_BYTES: Final = 1 << 21
_MAX_NAMED: Final = 8
_FARTHEST: Final = 9e9
"""Of the axis: what fits into 63 bits of nanoseconds."""


def _read(path: Path) -> Measurement:
    contents, events = Contents(), Events()
    topics: dict[int, Frames | FlatTopic | None] = {}
    for messages in walk(path, contents):
        for channel_id, own in messages.by_channel():
            if channel_id not in topics:
                topics[channel_id] = _topic_of(path, contents.channels[channel_id], contents)
            if (topic := topics[channel_id]) is not None:
                topic.add(own)
            elif _is_events(contents.channels[channel_id], contents):
                events.add(own)
    for channel_id, channel in contents.channels.items():
        if channel_id not in topics and SERIES_KEY in channel.metadata:
            topics[channel_id] = _topic_of(path, channel, contents)
    series: list[Series] = []
    damage = contents.damage
    warnings: list[str] = []
    for _, topic in sorted(topics.items()):
        if isinstance(topic, Frames):
            frames = topic.series()
            found, more = frame_series(topic.topic, frames)
            if topic.topic == FRAME_TOPIC and METADATA_NAME in contents.metadata:
                damage = check_integrity(contents, frames, events.series()).damage
        elif topic is not None:
            found, more = topic.series()
        if topic is not None:
            series.append(found)
            warnings += more
    if not series:
        raise FormatError(f"{path}: {_nothing(contents)}")
    others = [
        contents.channels[channel_id]
        for channel_id, topic in topics.items()
        if topic is None and not _is_events(contents.channels[channel_id], contents)
    ]
    if others:
        warnings.append(f"not read: {_named(others, contents)}")
    warnings = [*warnings_of(contents, damage), *warnings]
    return Measurement("mcap", tuple(series), _notes(contents.metadata), tuple(warnings))


def _topic_of(path: Path, channel: McapChannel, contents: Contents) -> Frames | FlatTopic | None:
    if channel.message_encoding == FRAME_ENCODING:
        return Frames(path, channel, contents.schemas)
    schema = contents.schemas.get(channel.schema_id)
    if channel.message_encoding == "cdr" and schema is not None and schema.encoding == "ros2msg":
        return FlatTopic.of(path, channel, schema)
    return None


def _is_events(channel: McapChannel, contents: Contents) -> bool:
    return channel.topic == EVENT_TOPIC and METADATA_NAME in contents.metadata


def _nothing(contents: Contents) -> str:
    """Return why a file holds no series, with what it holds instead."""
    broken = f"; {contents.damage}" if contents.damage else ""
    if not contents.channels:
        return f"holds no topics{broken}"
    found = _named(list(contents.channels.values()), contents)
    return f"no topic of flat float64 messages (cdr of ros2msg, {FRAME_ENCODING}), there are {found}{broken}"


def _named(channels: Sequence[McapChannel], contents: Contents) -> str:
    """Return topics with their encodings, some of them if there are many."""
    texts = []
    for channel in channels[:_MAX_NAMED]:
        schema = contents.schemas.get(channel.schema_id)
        kind = f", {schema.encoding} {schema.name}" if schema is not None else ""
        texts.append(one_line(f"{channel.topic} ({channel.message_encoding or 'no encoding'}{kind})"))
    more = f", … ({len(channels)} in all)" if len(channels) > _MAX_NAMED else ""
    return ", ".join(texts) + more


def _notes(metadata: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return the notes of our own file, or the origin of a record; and others' words as they are."""
    notes = provenance(plain_metadata(metadata.get(METADATA_NAME, {})))
    notes |= metadata.get(NOTES_NAME, {})
    for name, texts in metadata.items():
        if not name.startswith(_OWN_METADATA):
            notes |= {f"{name}.{key}": text for key, text in texts.items()}
    return notes


@dataclass(frozen=True, eq=False)
class _Outgoing:
    """One series on its way out: columns (k,) each at times (k,) in ns, and how they stand in the file."""

    channel: McapChannel
    schema: Schema
    columns: tuple[FloatArray, ...]
    times_ns: NDArray[np.uint64]

    def records(self, start: int, stop: int) -> NDArray[np.void]:
        columns = [column[start:stop] for column in self.columns]
        return message_records(self.channel.id, start, self.times_ns[start:stop], LITTLE_ENDIAN, columns)


def _write(path: Path, measurement: Measurement) -> tuple[str, ...]:
    if not measurement.series:
        raise FormatError(f"{path}: no series to write")
    names = _topic_names([series.name for series in measurement.series])
    lost: list[str] = []
    outgoing = []
    for number, (series, topic) in enumerate(zip(measurement.series, names, strict=True), start=1):
        outgoing.append(_outgoing(path, number, topic, series))
        lost += _what_others_see(series)
    with replacing(path) as file:
        writer = BulkWriter(
            file, "ros2", "mastd", [one.schema for one in outgoing], [one.channel for one in outgoing]
        )
        if measurement.notes:
            writer.metadata(
                NOTES_NAME, {_storable(key): _storable(text) for key, text in measurement.notes.items()}
            )
        for spans in _chunks(outgoing):
            writer.chunk([one.records(*span) for one, span in zip(outgoing, spans, strict=True)])
        writer.finish()
    return tuple(lost)


def _outgoing(path: Path, number: int, topic: str, series: Series) -> _Outgoing:
    if not series.channels:
        raise FormatError(f"{path}: {topic}: a series without channels cannot be written as {_TITLE}")
    times_ns = _times_ns(path, topic, series)
    uneven = series.abscissae is not None
    labels = [*([series.axis] if uneven else []), *(channel.name for channel in series.channels)]
    fields = field_names(labels)
    own = fields[1:] if uneven else fields
    comments = [f"{series.axis} [{series.axis_unit}]"] if uneven else []
    comments += [_comment(channel.name, channel.unit, channel.description) for channel in series.channels]
    text = definition([FieldText(*pair) for pair in zip(fields, comments, strict=True)])
    series_document = {
        "name": series.name,
        "axis": series.axis,
        "axis_unit": series.axis_unit,
        "start": float(series.start),
        "step": None if uneven or series.step is None else float(series.step),
        "places": fields[0] if uneven else None,
    }
    described = [
        {"field": field, "name": channel.name, "unit": channel.unit, "description": channel.description}
        for field, channel in zip(own, series.channels, strict=True)
    ]
    metadata = {
        "offered_qos_profiles": "",  # rosbag2 looks for it
        SERIES_KEY: json.dumps(series_document),
        CHANNELS_KEY: json.dumps(described),
    }
    columns = [channel.values for channel in series.channels]
    return _Outgoing(
        McapChannel(id=number, topic=topic, message_encoding="cdr", metadata=metadata, schema_id=number),
        Schema(
            id=number, data=_storable(text).encode(), encoding="ros2msg", name=f"mastd/msg/Series{number}"
        ),
        tuple([series.abscissae, *columns] if series.abscissae is not None else columns),
        times_ns,
    )


def _comment(name: str, unit: str, description: str) -> str:
    return " ".join(part for part in (name, f"[{unit}]" if unit else "", description) if part)


def _storable(text: str) -> str:
    """Return text that UTF-8 can hold."""
    return text.encode("utf-8", "replace").decode()


def _topic_names(names: Sequence[str]) -> list[str]:
    """Return a topic for each series: letters, digits, underscores between slashes, each one once."""
    topics: list[str] = []
    for name in names:
        parts = [part for part in re.sub(r"[^A-Za-z0-9_/]+", "_", name).split("/") if part.strip("_")]
        base = "/" + "/".join(part if not part[0].isdigit() else f"n{part}" for part in parts)
        base = base if parts else "/series"
        topic, number = base, 2
        while topic in topics:
            topic, number = f"{base}_{number}", number + 1
        topics.append(topic)
    return topics


def _times_ns(path: Path, topic: str, series: Series) -> NDArray[np.uint64]:
    """Return the places in whole ns from 0 on, or from the lowest one if that is negative."""
    positions = series.abscissae
    if positions is not None:
        if len(wrong := np.flatnonzero(~np.isfinite(positions))):
            raise FormatError(
                f"{path}: {topic}: {series.axis} of value {wrong[0]} is {positions[wrong[0]]:g}"
            )
        _refuse_far(path, topic, float(np.max(np.abs(positions), initial=0.0)))
        lowest = float(np.min(positions, initial=0.0))
        uneven: NDArray[np.uint64] = np.rint((positions - lowest) * 1e9).astype(np.uint64)
        return uneven
    if series.step is None:
        raise FormatError(f"{path}: {topic}: the {series.axis} between two values is unknown: give it")
    if not series.step > 0.0:
        raise FormatError(f"{path}: {topic}: a step of {series.step:g}, it must be positive")
    _refuse_far(path, topic, abs(series.start) + series.step * (series.count + 1))
    step_ns = series.step * 1e9
    steps = np.arange(series.count)
    whole = round(step_ns)
    exact = steps * whole if math.isclose(step_ns, whole, rel_tol=1e-9) else np.rint(steps * step_ns)
    times: NDArray[np.uint64] = (exact.astype(np.int64) + max(0, round(series.start * 1e9))).astype(np.uint64)
    return times


def _refuse_far(path: Path, topic: str, farthest: float) -> None:
    if not farthest < _FARTHEST:
        raise FormatError(f"{path}: {topic}: reaches to {farthest:g}, {_TITLE} to {_FARTHEST:g} s")


def _what_others_see(series: Series) -> list[str]:
    """Return what of a series only this program reads back."""
    lines = []
    if (series.axis, series.axis_unit) != ("time", "s"):
        unit = series.axis_unit or "unit"
        lines.append(f"other programs interpret {series.axis} as time, 1 {unit} as 1 s")
    lowest = series.start if series.abscissae is None else min(series.abscissae, default=0.0)
    if lowest < 0.0:
        lines.append(f"other programs count {series.axis} from its minimum {lowest:g}")
    return lines


def _chunks(outgoing: Sequence[_Outgoing]) -> Iterator[list[tuple[int, int]]]:
    """Yield for each chunk the first and last-but-one message of each series, all in the order of time."""
    counts = [len(one.times_ns) for one in outgoing]
    ascending = [np.maximum.accumulate(one.times_ns) for one in outgoing]
    sizes = [message_dtype(len(one.columns)).itemsize for one in outgoing]
    order = np.argsort(np.concatenate(ascending), kind="stable")
    chunk_of = np.empty(sum(counts), dtype=np.int64)
    chunk_of[order] = np.cumsum(np.repeat(sizes, counts)[order]) // _CHUNK_BYTES
    parts = np.split(chunk_of, np.cumsum(counts)[:-1])
    numbers = np.arange(int(chunk_of.max(initial=-1)) + 2)
    edges = [np.searchsorted(part, numbers) for part in parts]
    for number in numbers[:-1]:
        yield [(int(edge[number]), int(edge[number + 1])) for edge in edges]


FORMAT: Final = Format(
    name="mcap",
    title=_TITLE,
    suffixes=(".mcap",),
    recognises=lambda head: head.startswith(MAGIC),
    read=_read,
    write=_write,
)
