"""What the text formats of strong-motion records share: one channel a file, stated peaks, times, units."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import FormatError
from mastd.formats.core.files import is_text, split_lines
from mastd.formats.core.measurement import (
    START_TIME,
    Channel,
    Measurement,
    Series,
    finite,
    one_series,
    step_in_seconds,
)
from mastd.formats.core.units import si_unit

COMPONENT: Final = "component"
"""Note with the direction of a channel, in the file's own words (an azimuth in degrees, ``UP``)."""
_RATIO_OF_PEAK: Final = 2e-3
"""By which a peak in the header may differ from the values' for its rounding alone."""
_MIN_PEAK: Final = 1e-300
"""Below this numbers lose their digits."""


Writer = Callable[[Path, Measurement], tuple[str, ...]]


def head_lines(head: bytes, maximum: int) -> list[str]:
    """Return the first lines of a file's head, none where it is no text."""
    return split_lines(head.decode("latin-1"))[:maximum] if is_text(head) else []


def series_of(measurement: Measurement, path: Path, title: str) -> tuple[Series, float]:
    """Return the series that is to be written as ``title`` and its step in s.

    Raises FormatError unless there is just one, over time, with an even step and finite values.
    """
    series = one_series(measurement, path, title)
    step = step_in_seconds(series, path, title)
    finite(series, path, title)
    if not series.count:
        raise FormatError(f"{path}: {title} cannot hold a record without values")
    return series, step


def channel_of(measurement: Measurement, path: Path, title: str) -> tuple[Channel, float]:
    """Return the one channel of what is to be written as ``title`` and its step in s; see ``series_of``."""
    series, step = series_of(measurement, path, title)
    if len(series.channels) != 1:
        raise FormatError(
            f"{path}: {title} holds one channel per file, these are {len(series.channels)}: choose one of "
            "them"
        )
    return series.channels[0], step


def in_units(
    channel: Channel, path: Path, title: str, units: Sequence[str]
) -> tuple[FloatArray, str, tuple[str, ...]]:
    """Return values in one of the ``units`` that a format has, that unit, and a line if they were converted.

    Raises FormatError for a unit that cannot be converted, and where the format has no place for none.
    """
    if channel.unit in units:
        return channel.values, channel.unit, ()
    stated = si_unit(channel.unit)
    for unit in units:
        meaning = si_unit(unit)
        if (
            stated is None
            or meaning is None
            or stated.symbol != meaning.symbol
            or stated.offset != meaning.offset
        ):
            continue
        values = channel.values * (stated.factor / meaning.factor)
        if not np.isfinite(values).all():
            raise FormatError(f"{path}: {channel.name}: too large for {title} in {unit}")
        return values, unit, (f"{channel.name}: the unit {channel.unit}, values are written in {unit}",)
    known = ", ".join(unit for unit in units if unit)
    raise FormatError(
        f"{path}: {channel.name}: {title} needs values in {known}, these are in {channel.unit!r}"
    )


def plain_unit(text: str) -> str:
    """Return a unit in this product's spelling (``CM/SEC/SEC`` is ``cm/s2``), an unknown one unchanged."""
    text = text.strip()
    plain = re.sub(r"sec\b|sec(?=2|\^2|\*\*2)", "s", text.lower())
    plain = re.sub(r"^cms\b", "cm", plain).replace("s**2", "s2").replace("s^2", "s2").replace("s/s", "s2")
    meaning = si_unit(text)
    return plain if meaning is not None and meaning == si_unit(plain) else text


def left_out(measurement: Measurement, series: Series, kept: Collection[str]) -> tuple[str, ...]:
    """Return lines on data that a text record cannot hold: notes but ``kept``, and a start other than 0 s."""
    notes = [name for name in measurement.notes if name not in kept]
    lines = [f"notes: {', '.join(notes)}"] if notes else []
    if series.start:
        lines.append(f"the time of the first value, {series.start:g} s: changed to 0 s")
    return tuple(lines)


def report_renames(write: Writer, read: Callable[[Path], Measurement]) -> Writer:
    """Return a writer that also reports the channels that are read back under another name.

    What of a name survives in a record's header depends on the words beside it, so the file itself is asked.
    """

    def writing(path: Path, measurement: Measurement) -> tuple[str, ...]:
        lines = write(path, measurement)
        pairs = zip(measurement.channels, read(path).channels, strict=True)
        changed = [(one.name, other.name) for one, other in pairs if one.name != other.name]
        return (*lines, *(f"the name {name[:60]!r}, changed to {other[:60]!r}" for name, other in changed))

    return writing


def step_line(step: float, again: float | None) -> tuple[str, ...]:
    """Return a line where the written step is read back as another one, ``again``."""
    return () if again == step else (f"the step of {step!r} s, changed to {again!r} s",)


def peak_warning(
    path: Path, stated: float | None, values: FloatArray, unit: str, resolution: float = 1e-6
) -> tuple[str, ...]:
    """Return a warning where the header's peak is not that of the values, sign included.

    ``resolution``: the last decimal that the format's values have.
    """
    if stated is None or not len(values):
        return ()
    peak = float(values[np.argmax(np.abs(values))])
    allowed = resolution + _RATIO_OF_PEAK * max(abs(stated), abs(peak)) + _MIN_PEAK
    if abs(peak - stated) <= allowed:
        return ()
    # A record may have its largest value on both sides, and the header may name the other.
    if stated * peak < 0.0 and np.min(np.abs(values - stated)) <= allowed:
        return ()
    other = "has the opposite sign:" if abs(abs(peak) - abs(stated)) <= allowed else "is"
    return (f"{path}: the header states a peak of {stated:g} {unit}, that of the values {other} {peak:g}",)


def line_of(text: str, maximum: int = 80) -> str:
    """Return a text as one line of at most ``maximum`` characters."""
    return " ".join(text.split())[:maximum].rstrip()


def iso_time(
    year: int, month: int, day: int, hour: int, minute: int, second: float, zone: timedelta | None = None
) -> str:
    """Return a time in ISO 8601 to the millisecond, "" where it is invalid. ``zone``: offset from UTC."""
    try:
        moment = datetime(year, month, day, hour, minute) + timedelta(milliseconds=round(second * 1e3))
    except (ValueError, OverflowError):
        return ""
    if not 0.0 <= second < 61.0:
        return ""
    return moment.isoformat(timespec="milliseconds") + ("" if zone is None else _zone(zone))


def start_of(notes: Mapping[str, str]) -> datetime | None:
    """Return the start time in the notes, without a zone (in UTC where they state one)."""
    try:
        moment = datetime.fromisoformat(notes.get(START_TIME, ""))
        return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
    except (ValueError, OverflowError):
        return None


def _zone(zone: timedelta) -> str:
    minutes = round(zone.total_seconds() / 60.0)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"
