"""Reading a record back: columns by channel name, units, metadata and events; whole or cut off."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mastd.arrays import FloatArray, IntArray
from mastd.errors import FormatError
from mastd.formats.mcap.chunks import Contents
from mastd.formats.mcap.frames import (
    END_NAME,
    EVENT_TOPIC,
    FRAME_ENCODING,
    FRAME_TOPIC,
    METADATA_NAME,
    RECOVERY_NAME,
    Frames,
    FrameSeries,
    plain_metadata,
)
from mastd.formats.mcap.integrity import Events, check_integrity
from mastd.formats.mcap.walk import walk
from mastd.record.writer import RUN_FILE
from mastd.settings.core.axes import AXES


@dataclass(frozen=True)
class Run:
    """One record.

    ``times`` (k,) in s of the record's clock are whole periods; ``numbers`` (k,) count the frames, lost ones
    included; ``columns`` gives each channel's values, of
    shape (k,) for the channels of every cycle and shorter for slower ones, whose times ``series_of`` has.
    ``damage`` is None for a whole record, else one line that says what is missing of it or out of its place
    (``mastd.formats.mcap.integrity``); ``lost`` frames are missing in all, those that the recorder dropped
    included, of ``offered``, None where the record does not tell its end.
    """

    path: Path
    times: FloatArray
    numbers: IntArray
    columns: Mapping[str, FloatArray]
    units: Mapping[str, str]
    metadata: Mapping[str, object]
    end: Mapping[str, object]
    recovery: Mapping[str, object]
    events: tuple[Mapping[str, object], ...]
    series: Mapping[str, FrameSeries]
    damage: str | None
    lost: int = 0
    offered: int | None = None

    @property
    def period(self) -> float:
        """Control period in s."""
        return 1.0 / self.series[FRAME_TOPIC].rate_hz

    @property
    def damage_ever(self) -> str | None:
        """What is damaged, or was until the file was recovered; None for a record that is whole."""
        before = [f"recovered, {self.recovery.get('damage')}"] if self.recovery else []
        return "; ".join(before + ([self.damage] if self.damage else [])) or None

    @property
    def freedoms(self) -> tuple[str, ...]:
        """Axes in which its table moves; all six where the record does not say."""
        table = self.metadata.get("table")
        stated = table.get("freedoms") if isinstance(table, Mapping) else None
        return tuple(axis for axis in AXES if not isinstance(stated, list | tuple) or axis in stated)

    def series_of(self, name: str) -> FrameSeries:
        """Return the series that holds one channel."""
        for series in self.series.values():
            if name in series.names:
                return series
        raise FormatError(f"{self.path}: no channel {name}")

    def matrix(self, names: list[str]) -> FloatArray:
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


def open_run(path: Path, wanted: Callable[[str], bool] | None = None) -> Run:
    """Read a record, given its file or its directory, as far as it is sound, in the order of its frames.

    ``wanted`` says by its name which channel is kept, all if left out: a long record fits into less memory.

    Raises FormatError with one line if there is no file, if it is not a record, or if no chunk of it is
    sound.
    """
    path = find_run(path)
    contents = Contents()
    collected: dict[int, Frames] = {}
    events = Events()
    for messages in walk(path, contents):
        for channel_id, own in messages.by_channel():
            channel = contents.channels[channel_id]
            if channel.message_encoding == FRAME_ENCODING:
                if channel_id not in collected:
                    collected[channel_id] = Frames(path, channel, contents.schemas, wanted)
                collected[channel_id].add(own)
            elif channel.topic == EVENT_TOPIC:
                events.add(own)
    series = {frames.topic: frames.series() for frames in collected.values()}
    if FRAME_TOPIC not in series:
        raise FormatError(f"{path}: holds no frames" + (f": {contents.damage}" if contents.damage else ""))
    told = events.series()
    integrity = check_integrity(contents, series[FRAME_TOPIC], told)
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
        metadata=plain_metadata(contents.metadata.get(METADATA_NAME, {})),
        end=plain_metadata(contents.metadata.get(END_NAME, {})),
        recovery=plain_metadata(contents.metadata.get(RECOVERY_NAME, {})),
        events=told.events,
        series=series,
        damage=integrity.damage,
        lost=integrity.lost,
        offered=integrity.offered,
    )
