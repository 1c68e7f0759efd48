"""Channels of files as recorded motion in SI: what a file does not say must have been given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Final

import numpy as np

from mastd.errors import FormatError
from mastd.formats import catalogue
from mastd.formats.core.measurement import START_TIME, Channel, Measurement, Series
from mastd.formats.core.units import si_unit
from mastd.motion.profile.records import Recorded
from mastd.settings.profile.segments import MAX_MOTION

_ALONG: Final = {"length": 0, "velocity": 1, "acceleration": 2}
_ABOUT: Final = {"angle": 0, "angular velocity": 1, "angular acceleration": 2}
_SHORTEST: Final = 1e-7
"""s from value to value below which a record is none."""
_FEWEST: Final = 8
"""Values below which a record is none."""


@dataclass(frozen=True)
class Source:
    """One channel of a file as motion, and its name in the file."""

    path: str
    channel: str
    record: Recorded


@dataclass
class Files:
    """The files of one segment, each read once; ``warnings`` say what is odd about them."""

    read: dict[str, Measurement] = field(default_factory=dict)

    def source(
        self,
        path: str,
        channel: str | None,
        unit: str | None,
        step: float | None,
        scale: float,
        *,
        angular: bool,
    ) -> Source:
        """Return a channel as motion along, or about, an axis; its time is that of its own file.

        ``unit`` and ``step`` (s) are what the user says. Raises FormatError that tells what to write for what
        is missing, and for what is no motion; UsageError where a library is missing.
        """
        location = Path(path)
        if path not in self.read:
            self.read[path] = catalogue.read(location)
        series, chosen = catalogue.pick(self.read[path], location, channel, unit, step)
        missing: list[str] = []
        seconds = begin = factor = 0.0
        derivative = 0
        try:
            seconds, begin = _times(series, location)
        except FormatError as error:
            missing.append(str(error))
        try:
            factor, derivative = _meaning(chosen, location, angular)
        except FormatError as error:
            missing.append(str(error))
        if missing:
            raise FormatError("\n".join(missing))
        values = chosen.values * (factor * scale)
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            raise FormatError(
                f"{path}: {chosen.name}: value {wrong[0] + 1} of {len(values)} is not a finite number"
            )
        if len(values) < _FEWEST:
            raise FormatError(
                f"{path}: {chosen.name}: {len(values)} values, a motion takes {_FEWEST} at least"
            )
        return Source(path, chosen.name, Recorded(values, seconds, begin, derivative, angular))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is odd about the files that were read, one line each."""
        return tuple(
            warning if warning.startswith(path) else f"{path}: {warning}"
            for path, measurement in self.read.items()
            for warning in measurement.warnings
        )

    def on_one_base(self, sources: Sequence[Source]) -> tuple[list[Source], str]:
        """Return the sources with times from the first value of all on, and how files were brought together.

        Channels of one file keep the times that it states. Files are placed by the start times that they
        state if all of them do and all of one kind (with or without a time zone); else they begin together.
        """
        begins = {source.path: 0.0 for source in sources}
        how = ""
        if len(begins) > 1:
            stated = _stated({path: self.read[path] for path in begins})
            if stated is None:
                how = "not all files state a start time: aligned at their beginnings"
                begins = {
                    path: -min(one.record.start for one in sources if one.path == path) for path in begins
                }
            else:
                how = "aligned by the start times in the files"
                first = min(stated.values())
                begins = {path: (time - first).total_seconds() for path, time in stated.items()}
        starts = [begins[source.path] + source.record.start for source in sources]
        zero = min(starts)
        placed = [
            replace(source, record=replace(source.record, start=start - zero))
            for source, start in zip(sources, starts, strict=True)
        ]
        return placed, how


def part_of(sources: Sequence[Source], start: float, duration: float | None) -> list[Source]:
    """Return the part of all sources that begins at ``start`` and takes ``duration`` s (None: to the end).

    Times of the result are counted from ``start``. FormatError where nothing is left of one, or too much.
    """
    end = max(source.record.end for source in sources) if duration is None else start + duration
    cut = []
    for source in sources:
        record = source.record.part(start, end)
        if len(record.values) < _FEWEST:
            raise FormatError(
                f"{source.path}: {source.channel}: goes from {source.record.start:g} s to "
                f"{source.record.end:g} s, no part of it is between start ({start:g} s) and {end:g} s"
            )
        cut.append(replace(source, record=replace(record, start=record.start - start)))
    length = max(source.record.end for source in cut) - min(source.record.start for source in cut)
    if not length <= MAX_MOTION:
        raise FormatError(
            f"{cut[0].path}: {length:g} s to run, maximum {MAX_MOTION:g} s: "
            "write a part of it, for instance start: 0 s, duration: 60 s"
        )
    return cut


def _times(series: Series, path: Path) -> tuple[float, float]:
    """Return step and start of a series in s."""
    if series.axis == "time" and series.abscissae is not None:
        raise FormatError(f"{path}: its values are unevenly spaced in time: a motion needs a constant step")
    if series.axis == "time" and not series.axis_unit and series.step is not None:
        raise FormatError(
            f"{path}: its times state no unit, they are {series.step:g} apart: write the step, "
            "for instance step: 5 ms"
        )
    unit = si_unit(series.axis_unit)
    if series.axis != "time" or unit is None or unit.dimension != "time":
        raise FormatError(
            f"{path}: its values are along {series.axis} in {series.axis_unit}, a motion needs time"
        )
    if series.step is None:
        raise FormatError(f"{path}: states no step from value to value: write it, for instance step: 5 ms")
    if not (_SHORTEST <= series.step < np.inf and np.isfinite(series.start)):
        raise FormatError(f"{path}: states a step of {series.step:g} s from {series.start:g} s on")
    return series.step * unit.factor, series.start * unit.factor


def _meaning(channel: Channel, path: Path, angular: bool) -> tuple[float, int]:
    """Return the factor to SI and the order of derivative of a channel's quantity."""
    wanted = _ABOUT if angular else _ALONG
    example = "deg/s2" if angular else "m/s2"
    location = f"{path}: {channel.name}" if channel.name else f"{path}"
    if not channel.unit:
        raise FormatError(f"{location}: states no unit: write it, for instance unit: {example}")
    unit = si_unit(channel.unit)
    if unit is None:
        raise FormatError(f"{location}: unknown unit {channel.unit!r}, expected for instance {example}")
    if unit.dimension not in wanted:
        held = unit.dimension or f"values in {channel.unit}"
        due = ", ".join(reversed(list(wanted)[1:])) + f" or {next(iter(wanted))}"
        raise FormatError(
            f"{location}: contains {held}, expected {due} {'about' if angular else 'along'} an axis"
        )
    return unit.factor, wanted[unit.dimension]


def _stated(read: Mapping[str, Measurement]) -> dict[str, datetime] | None:
    """Return when the time of each file is zero, None unless all say so in a way that can be compared."""
    times: dict[str, datetime] = {}
    for path, measurement in read.items():
        try:
            times[path] = datetime.fromisoformat(measurement.notes[START_TIME].strip())
        except (KeyError, ValueError):
            return None
    zones = {time.tzinfo is None for time in times.values()}
    return times if len(zones) == 1 else None
