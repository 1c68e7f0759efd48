"""Reading a record back: columns by channel name, units, metadata and events; whole or cut off."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from mcap.records import Channel, Schema
from numpy.typing import NDArray

from mastd.errors import FormatError
from mastd.record.container import Contents, walk
from mastd.record.writer import END_NAME, EVENT_TOPIC, FRAME_ENCODING, FRAME_TOPIC, METADATA_NAME

RUN_FILE = "run.mcap"


@dataclass(frozen=True)
class Series:
    """Channels of one rate: ``times`` (k,) in s of the record's clock, ``values`` (k, channels)."""

    times: NDArray[np.float64]
    values: NDArray[np.float64]
    names: tuple[str, ...]
    units: tuple[str, ...]
    rate_hz: float


@dataclass(frozen=True)
class Run:
    """One record.

    ``times`` (k,) in s are those of the frames, step × period; ``columns`` gives each channel's values, of
    shape (k,) for the channels of every cycle and shorter for slower ones, whose times ``series_of`` has.
    ``damage`` is None for a whole file, else one line that says where it breaks off.
    """

    path: Path
    times: NDArray[np.float64]
    columns: Mapping[str, NDArray[np.float64]]
    units: Mapping[str, str]
    metadata: Mapping[str, object]
    end: Mapping[str, object]
    events: tuple[Mapping[str, object], ...]
    series: Mapping[str, Series]
    damage: str | None

    @property
    def period(self) -> float:
        """Control period in s."""
        return 1.0 / self.series[FRAME_TOPIC].rate_hz

    def series_of(self, name: str) -> Series:
        """Return the series that holds one channel."""
        for series in self.series.values():
            if name in series.names:
                return series
        raise FormatError(f"{self.path}: no channel {name}")

    def matrix(self, names: list[str]) -> NDArray[np.float64]:
        """Return channels of the same rate side by side, shape (k, len(names))."""
        missing = [name for name in names if name not in self.columns]
        if missing:
            raise FormatError(f"{self.path}: no channel {', '.join(missing)}")
        return np.column_stack([self.columns[name] for name in names])

    def numbered(self, quantity: str) -> list[str]:
        """Return the names ``quantity.1``, ``quantity.2``, … in order, as many as there are."""
        names: list[str] = []
        while f"{quantity}.{len(names) + 1}" in self.columns:
            names.append(f"{quantity}.{len(names) + 1}")
        return names


def find_run(path: Path) -> Path:
    """Return the record's file for a run's directory or for the file itself."""
    return path / RUN_FILE if path.is_dir() else path


def open_run(path: Path) -> Run:
    """Read a record, given its file or its directory, as far as it is sound.

    Raises FormatError with one line if there is no file, if it is not a record, or if it breaks off before
    its first chunk.
    """
    path = find_run(path)
    contents = Contents()
    frames: dict[int, list[memoryview]] = {}
    stamps: dict[int, list[int]] = {}
    texts: list[memoryview] = []
    event_channels: set[int] = set()
    for messages in walk(path, contents):
        event_channels = {number for number, c in contents.channels.items() if c.topic == EVENT_TOPIC}
        for message in messages:
            if message.channel_id in event_channels:
                texts.append(message.data)
            else:
                frames.setdefault(message.channel_id, []).append(message.data)
                stamps.setdefault(message.channel_id, []).append(message.time_ns)
    series: dict[str, Series] = {}
    for number, channel in contents.channels.items():
        if channel.message_encoding == FRAME_ENCODING:
            schema = contents.schemas.get(channel.schema_id)
            series[channel.topic] = _series(
                path, channel, schema, frames.get(number, []), stamps.get(number, [])
            )
    if FRAME_TOPIC not in series:
        raise FormatError(f"{path}: holds no frames" + (f": {contents.damage}" if contents.damage else ""))
    columns = {
        name: part.values[:, column] for part in series.values() for column, name in enumerate(part.names)
    }
    units = {
        name: unit for part in series.values() for name, unit in zip(part.names, part.units, strict=True)
    }
    return Run(
        path=path,
        times=series[FRAME_TOPIC].times,
        columns=columns,
        units=units,
        metadata=_plain(contents.metadata.get(METADATA_NAME, {})),
        end=_plain(contents.metadata.get(END_NAME, {})),
        events=tuple(event for event in map(_event, texts) if event is not None),
        series=series,
        damage=contents.damage,
    )


def _series(
    path: Path, channel: Channel, schema: Schema | None, frames: list[memoryview], stamps: list[int]
) -> Series:
    """Decode the frames of one MCAP channel with nothing but its schema."""
    try:
        document = json.loads(schema.data if schema is not None else b"null")
        names = tuple(str(item["name"]) for item in document["channels"])
        units = tuple(str(item["unit"]) for item in document["channels"])
        rate = float(document["rate_hz"])
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(f"{path}: the schema of channel {channel.topic} cannot be read") from error
    wrong = [len(frame) for frame in frames if len(frame) != 8 * len(names)]
    if wrong:
        raise FormatError(
            f"{path}: a message of {channel.topic} has {wrong[0]} bytes, {8 * len(names)} would be right"
        )
    data = np.frombuffer(b"".join(frames), dtype="<f8").reshape(len(frames), len(names))
    values: NDArray[np.float64] = np.asarray(data, dtype=np.float64)
    times: NDArray[np.float64] = np.array(stamps, dtype=np.int64) / 1e9
    return Series(times, values, names, units, rate)


def _plain(texts: Mapping[str, str]) -> dict[str, object]:
    """Return metadata values, each of which is JSON text, as data; other text stays text."""
    plain: dict[str, object] = {}
    for key, text in texts.items():
        try:
            plain[key] = json.loads(text)
        except ValueError:
            plain[key] = text
    return plain


def _event(data: memoryview) -> Mapping[str, object] | None:
    try:
        event = json.loads(bytes(data))
    except ValueError:
        return None
    return event if isinstance(event, dict) else None
