"""Topics of an MCAP file as series: our frames, and flat ROS 2 messages with or without our metadata."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from mcap.records import Channel as McapChannel
from mcap.records import Schema
from numpy.typing import NDArray

from mastd.arrays import FloatArray, IntArray
from mastd.errors import FormatError
from mastd.formats.core.measurement import Channel, Series
from mastd.formats.mcap.chunks import Messages, one_line
from mastd.formats.mcap.frames import FRAME_TOPIC, FrameSeries
from mastd.formats.mcap.ros2_message import FieldText, body_values, flat_fields

CHANNELS_KEY: Final = "mastd.channels"
SERIES_KEY: Final = "mastd.series"
_LONG_AGO_NS: Final = 10**15
"""Times from here on (eleven days) count from another event than the record's beginning."""


def frame_series(topic: str, found: FrameSeries) -> tuple[Series, list[str]]:
    """Return the frames of a record as a series, and the warnings of missing ones."""
    gaps = np.diff(found.abscissae)
    channels = tuple(
        Channel(name, unit, found.values[:, column], meaning)
        for column, (name, unit, meaning) in enumerate(
            zip(found.names, found.units, found.meanings, strict=True)
        )
    )
    even = bool(np.all(gaps == 1))
    warnings = []
    if np.any(gaps < 1):
        warnings.append(f"{topic}: times do not ascend")
    elif not even:
        at = found.times[int(np.argmax(gaps > 1))]
        missing = int(np.sum(gaps - 1))
        lost = int(np.sum(np.diff(found.numbers) - 1)) if topic == FRAME_TOPIC else 0
        of_them = f", {lost} of them lost frames" if lost > 0 else ""
        warnings.append(
            f"{topic}: periods missing: {missing}, in {np.count_nonzero(gaps > 1)} gaps, the first"
            f" after {at:g} s{of_them}"
        )
    series = Series(
        channels,
        found.step if even else None,
        float(found.times[0]),
        None if even else found.times,
        name=topic,
    )
    return series, warnings


@dataclass(frozen=True)
class _Described:
    """What our metadata say of a topic; ``columns`` are those of its channels."""

    channels: tuple[tuple[int, str, str, str], ...]
    name: str
    axis: str
    axis_unit: str
    start: float
    step: float | None
    abscissae: int | None


class FlatTopic:
    """Collects flat float64 messages of one topic; raises FormatError for those that are not as defined."""

    def __init__(self, path: Path, topic: str, fields: list[FieldText], described: _Described | None) -> None:
        self._path = path
        self._topic, self._shown = topic, one_line(topic)
        self._fields = fields
        self._described = described
        self._values: list[FloatArray] = [np.zeros((0, len(fields)))]
        self._times: list[NDArray[np.uint64]] = [np.zeros(0, dtype=np.uint64)]
        self._sequences: list[IntArray] = [np.zeros(0, dtype=np.int64)]

    @classmethod
    def of(cls, path: Path, channel: McapChannel, schema: Schema) -> FlatTopic | None:
        """Return the topic of a channel, None if its messages hold more than float64 fields."""
        fields = flat_fields(schema.data.decode("utf-8", "replace"))
        if fields is None:
            return None
        described = None
        if SERIES_KEY in channel.metadata:
            try:
                described = _described(channel.metadata, [field.name for field in fields])
            except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
                raise FormatError(
                    f"{path}: {one_line(channel.topic)}: {SERIES_KEY}, {CHANNELS_KEY} do not fit its fields"
                ) from error
        return cls(path, channel.topic, fields, described)

    def add(self, messages: Messages) -> None:
        """Take the messages of a chunk."""
        try:
            self._values.append(body_values(messages.rows(), len(self._fields)))
        except ValueError as error:
            raise FormatError(f"{self._path}: {self._shown}: {error}") from error
        self._times.append(messages.times_ns)
        self._sequences.append(messages.sequences)

    def series(self) -> tuple[Series, list[str]]:
        """Return the series received, and warnings."""
        values = np.concatenate(self._values)
        if self._described is not None:
            return self._own_series(self._described, values)
        return self._others_series(values)

    def _own_series(self, described: _Described, values: FloatArray) -> tuple[Series, list[str]]:
        channels = tuple(
            Channel(name, unit, values[:, column], description)
            for column, name, unit, description in described.channels
        )
        sequences = np.concatenate(self._sequences)
        start, step, positions = described.start, described.step, None
        warnings = []
        if described.abscissae is not None:
            positions = values[:, described.abscissae]
        elif len(sequences) and step is not None:
            if np.any(np.diff(sequences) != 1):
                positions = start + step * sequences.astype(np.float64)
                step = None
                warnings.append(f"{self._shown}: messages are missing, its {described.axis} is uneven")
            else:
                start += step * float(sequences[0])
        return (
            Series(channels, step, start, positions, described.axis, described.axis_unit, described.name),
            warnings,
        )

    def _others_series(self, values: FloatArray) -> tuple[Series, list[str]]:
        """Names are ``topic/field``; the axis is the time of logging."""
        channels = tuple(
            Channel(f"{self._topic}/{field.name}", "", values[:, column], field.comment)
            for column, field in enumerate(self._fields)
        )
        times = np.concatenate(self._times)
        warnings = []
        first = int(times[0]) if len(times) else 0
        if first >= _LONG_AGO_NS:
            warnings.append(f"{self._shown}: times are counted from the first message, logged at {first} ns")
            start = 0.0
        else:
            start = first / 1e9
        passed = (times - times[:1]).view(np.int64).astype(np.float64) / 1e9
        steps = np.diff(times).view(np.int64)
        if len(steps) and steps[0] > 0 and np.all(steps == steps[0]):
            return Series(channels, float(steps[0]) / 1e9, start, name=self._topic), warnings
        return Series(channels, None, start, start + passed, name=self._topic), warnings


def _described(metadata: Mapping[str, str], fields: list[str]) -> _Described:
    """Return our metadata of a topic; raise some exception if they do not fit its fields."""
    stated, listed = json.loads(metadata[SERIES_KEY]), json.loads(metadata[CHANNELS_KEY])
    start = float(stated["start"])
    step = None if stated["step"] is None else float(stated["step"])
    indices = None if stated["places"] is None else fields.index(stated["places"])
    columns = {field: column for column, field in enumerate(fields)}
    channels = tuple(
        (columns[item["field"]], str(item["name"]), str(item["unit"]), str(item["description"]))
        for item in listed
    )
    even = step is not None and 0.0 < step < math.inf and math.isfinite(start)
    if not (even if indices is None else step is None) or len(channels) + (indices is not None) != len(
        fields
    ):
        raise ValueError("does not fit")
    return _Described(
        channels, str(stated["name"]), str(stated["axis"]), str(stated["axis_unit"]), start, step, indices
    )
