"""What a file of measured or commanded series holds, whatever its format: the interface of all formats.

Each format is one module with a ``FORMAT``; ``mastd.formats.catalogue`` lists them, tells them apart and adds
what a user knows and the file does not say. Values stay in the unit that the file states, so that nothing is
rounded on the way from one file to another; ``mastd.formats.core.units`` converts to SI.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import FormatError

START_TIME: Final = "start time"
"""Note that says when the time of a file is zero, by ISO 8601, with a zone where the file states one."""


def _encodable(text: str) -> str:
    """Return a text that every file takes: lone surrogates, as JSON can hold them, become ``?``."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


@dataclass(frozen=True, eq=False)
class Channel:
    """One quantity: ``values`` (n,) in ``unit`` as the file spells it, "" where the file states none."""

    name: str
    unit: str
    values: FloatArray
    description: str = ""

    def __post_init__(self) -> None:
        for key in ("name", "unit", "description"):
            object.__setattr__(self, key, _encodable(getattr(self, key)))


@dataclass(frozen=True, eq=False)
class Series:
    """Channels of equal length on one axis, as a rule time in s: value k belongs to ``start`` + k · ``step``.

    ``step`` is None where the file does not state one, or with uneven spacing: then ``abscissae`` (n,) are
    given. A road's axis is its u in m. Times whose unit the file does not state have ``axis_unit`` "".
    """

    channels: tuple[Channel, ...]
    step: float | None
    start: float = 0.0
    abscissae: FloatArray | None = None
    axis: str = "time"
    axis_unit: str = "s"
    name: str = ""

    def __post_init__(self) -> None:
        for key in ("axis", "axis_unit", "name"):
            object.__setattr__(self, key, _encodable(getattr(self, key)))

    @property
    def count(self) -> int:
        """Values of each channel."""
        return len(self.channels[0].values) if self.channels else 0

    def axis_values(self) -> FloatArray:
        """Return the axis values (n,), exactly start + k · step; FormatError if they are unknown."""
        if self.abscissae is not None:
            return self.abscissae
        if self.step is None:
            raise FormatError(f"the {self.axis} between two values is unknown: give it")
        return self.start + self.step * np.arange(self.count, dtype=np.float64)

    def matrix(self) -> FloatArray:
        """Return the channels side by side, (n, channels)."""
        return np.column_stack([channel.values for channel in self.channels])


@dataclass(frozen=True, eq=False)
class Measurement:
    """All that a file holds.

    ``format`` is the name of its format. ``notes`` are the file's own words about it (title, station, date,
    filter, provenance) by what they are called there; ``warnings`` say in one line each what is odd about the
    file, or contradicts itself, and how it was read all the same.
    """

    format: str
    series: tuple[Series, ...]
    notes: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        notes = {_encodable(key): _encodable(text) for key, text in self.notes.items()}
        object.__setattr__(self, "notes", notes)
        object.__setattr__(self, "warnings", tuple(map(_encodable, self.warnings)))

    @property
    def channels(self) -> tuple[Channel, ...]:
        """The channels of all series."""
        return tuple(channel for series in self.series for channel in series.channels)

    def with_warnings(self, *warnings: str) -> Measurement:
        """Return the same with more warnings."""
        return replace(self, warnings=(*self.warnings, *warnings))


def one_series(measurement: Measurement, path: Path, title: str) -> Series:
    """Return the only series to be written as ``title``; raise FormatError unless there is just one."""
    if len(measurement.series) != 1:
        raise FormatError(
            f"{path}: {title} has one rate for all channels, these are {len(measurement.series)} series: "
            "choose channels of a single series"
        )
    return measurement.series[0]


def even_step(series: Series, path: Path, title: str) -> float:
    """Return the step of a series to be written as ``title``; FormatError where it is uneven or unknown."""
    if series.step is None:
        raise FormatError(f"{path}: {title} needs a constant step, here it is uneven or unknown")
    return series.step


def step_in_seconds(series: Series, path: Path, title: str) -> float:
    """Return the step in s of a series to be written as ``title``; FormatError where it has none."""
    step = even_step(series, path, title)
    if series.axis == "time" and not series.axis_unit:
        raise FormatError(f"{path}: {title} has times in s, no unit is stated here: give the step")
    if (series.axis, series.axis_unit) != ("time", "s") or not 0.0 < step < math.inf:
        raise FormatError(
            f"{path}: {title} has times in s, this is {series.axis} in {series.axis_unit}, every {step:g}"
        )
    return step


def finite(series: Series, path: Path, title: str) -> None:
    """Raise FormatError where a value to be written as ``title`` is not finite."""
    for channel in series.channels:
        wrong = np.flatnonzero(~np.isfinite(channel.values))
        if len(wrong):
            raise FormatError(
                f"{path}: {title} cannot hold {channel.values[wrong[0]]:g}, which {channel.name} is at value "
                f"{wrong[0]} (and {len(wrong) - 1} more)"
            )


def lost_descriptions(series: Series) -> list[str]:
    """Return in one line, or none, which channels' descriptions a format without a place for them loses."""
    described = [channel.name for channel in series.channels if channel.description]
    if not described:
        return []
    if len(described) == 1:
        return [f"the description of {described[0]} is not written"]
    return [f"the descriptions of {len(described)} channels are not written"]


@dataclass(frozen=True)
class Format:
    """One format of files.

    ``name`` is what options call it, ``title`` what people call it. ``recognises`` tells from the first
    ``HEAD`` bytes of a file whether it is of this format. ``read`` raises FormatError, one line with its
    place for each problem, for a file that is not whole, and UsageError where the library it needs is
    missing. ``write`` returns what the file does not keep, one line each, and raises FormatError for what the
    format cannot hold; the file appears whole or not at all. ``library``: the package that reading or writing
    needs beside the product's own, and the extra that installs it.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    recognises: Callable[[bytes], bool]
    read: Callable[[Path], Measurement]
    write: Callable[[Path, Measurement], tuple[str, ...]] | None = None
    library: tuple[str, str] | None = None


HEAD = 65536
"""Bytes of a file from which its format is reported."""
