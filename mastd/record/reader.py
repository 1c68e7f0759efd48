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
from mastd.record.container import Contents, Message, walk
from mastd.record.writer import (
    END_NAME,
    EVENT_TOPIC,
    FRAME_ENCODING,
    FRAME_TOPIC,
    METADATA_NAME,
    RECOVERY_NAME,
    RUN_FILE,
)

_HALF_SEQUENCE = 1 << 31


@dataclass(frozen=True)
class Series:
    """Channels of one rate: ``times`` (k,) in s, frame ``numbers`` (k,), ``values`` (k, channels)."""

    times: NDArray[np.float64]
    numbers: NDArray[np.int64]
    values: NDArray[np.float64]
    names: tuple[str, ...]
    units: tuple[str, ...]
    rate_hz: float


@dataclass(frozen=True)
class Run:
    """One record.

    ``times`` (k,) in s of the record's clock are whole periods; ``numbers`` (k,) count the frames, lost ones
    included; ``columns`` gives each channel's values, of
    shape (k,) for the channels of every cycle and shorter for slower ones, whose times ``series_of`` has.
    ``damage`` is None for a whole file, else one line that says where it breaks off.
    """

    path: Path
    times: NDArray[np.float64]
    numbers: NDArray[np.int64]
    columns: Mapping[str, NDArray[np.float64]]
    units: Mapping[str, str]
    metadata: Mapping[str, object]
    end: Mapping[str, object]
    recovery: Mapping[str, object]
    events: tuple[Mapping[str, object], ...]
    series: Mapping[str, Series]
    damage: str | None

    @property
    def period(self) -> float:
        """Control period in s."""
        return 1.0 / self.series[FRAME_TOPIC].rate_hz

    @property
    def broken_off(self) -> str | None:
        """Where the recording broke off, even if the file was recovered since; None if it ended properly."""
        if self.damage is None and self.recovery:
            return f"recovered, {self.recovery.get('damage')}"
        return self.damage

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
    collected: dict[int, _Frames] = {}
    texts: list[bytes] = []
    for messages in walk(path, contents):
        for message in messages:
            channel = contents.channels[message.channel_id]
            if channel.message_encoding == FRAME_ENCODING:
                if message.channel_id not in collected:
                    collected[message.channel_id] = _Frames(path, channel, contents.schemas)
                collected[message.channel_id].add(message)
            elif channel.topic == EVENT_TOPIC:
                texts.append(bytes(message.data))
        for frames in collected.values():
            frames.end_chunk()
    series = {frames.topic: frames.series() for frames in collected.values()}
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
        numbers=series[FRAME_TOPIC].numbers,
        columns=columns,
        units=units,
        metadata=_plain(contents.metadata.get(METADATA_NAME, {})),
        end=_plain(contents.metadata.get(END_NAME, {})),
        recovery=_plain(contents.metadata.get(RECOVERY_NAME, {})),
        events=tuple(event for event in map(_event, texts) if event is not None),
        series=series,
        damage=contents.damage,
    )


class _Frames:
    """Collects the frames of one MCAP channel, decoded with nothing but its schema, chunk by chunk."""

    def __init__(self, path: Path, channel: Channel, schemas: Mapping[int, Schema]) -> None:
        self.topic = channel.topic
        self._path = path
        try:
            document = json.loads(schemas[channel.schema_id].data)
            self._names = tuple(str(item["name"]) for item in document["channels"])
            self._units = tuple(str(item["unit"]) for item in document["channels"])
            self._rate = float(document["rate_hz"])
        except (ValueError, KeyError, TypeError) as error:
            raise FormatError(f"{path}: the schema of channel {channel.topic} cannot be read") from error
        if not self._rate > 0.0:
            raise FormatError(f"{path}: channel {channel.topic} has a rate of {self._rate:g} Hz")
        self._pending: list[memoryview] = []
        self._stamps: list[int] = []
        self._numbers: list[int] = []
        self._values: list[NDArray[np.float64]] = []

    def add(self, message: Message) -> None:
        size = 8 * len(self._names)
        if len(message.data) != size:
            raise FormatError(
                f"{self._path}: {self.topic}: a message has {len(message.data)} bytes, {size} would be right"
            )
        self._pending.append(message.data)
        self._stamps.append(message.time_ns)
        self._numbers.append(message.sequence)

    def end_chunk(self) -> None:
        """Turn the chunk's frames into numbers, so that its bytes can go."""
        if self._pending:
            data = np.frombuffer(b"".join(self._pending), dtype="<f8")
            self._values.append(data.reshape(len(self._pending), len(self._names)))
            self._pending = []

    def series(self) -> Series:
        values: NDArray[np.float64] = np.concatenate(self._values).astype(np.float64, copy=False)
        times: NDArray[np.float64] = np.array(self._stamps, dtype=np.uint64) / 1e9
        numbers = np.array(self._numbers, dtype=np.int64)
        wraps = np.concatenate(([0], np.cumsum(np.diff(numbers) < -_HALF_SEQUENCE)))
        return Series(
            times, numbers + wraps * 2 * _HALF_SEQUENCE, values, self._names, self._units, self._rate
        )


def _plain(texts: Mapping[str, str]) -> dict[str, object]:
    """Return metadata values, each of which is JSON text, as data; other text stays text."""
    plain: dict[str, object] = {}
    for key, text in texts.items():
        try:
            plain[key] = json.loads(text)
        except ValueError:
            plain[key] = text
    return plain


def _event(data: bytes) -> Mapping[str, object] | None:
    try:
        event = json.loads(data)
    except ValueError:
        return None
    return event if isinstance(event, dict) else None
