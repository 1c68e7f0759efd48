"""What ``mastd inspect`` says of a file of series: a document for programs, a page for people."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Final

from mastd.errors import FormatError, printable
from mastd.formats import catalogue
from mastd.formats.core.measurement import Channel, Format, Measurement, Series
from mastd.formats.core.reshape import chosen
from mastd.formats.core.units import si_unit
from mastd.formats.summary import Statistics, duration, position_at, statistics
from mastd.record.plain import plain

_WIDTH: Final = 100
_MAX_CHANNELS: Final = 24
_MAX_NOTES: Final = 16
_MAX_WARNINGS: Final = 24
_MIN_NAME, _MAX_NAME = 8, 40
_GAP: Final = "  "
_NOT_STATED: Final = "not stated"
_HEADINGS: Final = ("min", "at", "max", "at", "mean", "rms", "s.d.", "crest")


@dataclass(frozen=True)
class Inspected:
    """What was found in a file: ``numbers`` has for each series those of its channels, from 1 on.

    ``remarks`` are further lines about what was done with it.
    """

    path: Path
    size: int
    format: Format
    measurement: Measurement
    numbers: tuple[tuple[int, ...], ...]
    figures: tuple[tuple[Statistics, ...], ...]
    remarks: tuple[str, ...] = ()

    def rows(self) -> Iterator[tuple[Series, int, Channel, Statistics]]:
        """Give each channel with its series, its number and its figures."""
        for series, numbers, figures in zip(self.measurement.series, self.numbers, self.figures, strict=True):
            for number, channel, found in zip(numbers, series.channels, figures, strict=True):
                yield series, number, channel, found


def inspect(path: Path, names: Sequence[str] | None, unit: str | None, step: float | None) -> Inspected:
    """Read a file; of its channels only those of these ``names``, all for None.

    ``unit`` and ``step`` (s) are what the file does not state. Raises FormatError, UsageError.
    """
    recognised = catalogue.recognise(path)
    measurement = recognised.read(path)
    size = path.stat().st_size
    if names is not None:
        measurement, numbers = chosen(measurement, path, names)
    else:
        numbers = _all_numbers(measurement)
    if not any(numbers):
        raise FormatError(f"{path}: no channels")
    series = tuple(catalogue.completed(one, path, unit, step) for one in measurement.series)
    figures = tuple(tuple(statistics(channel.values) for channel in one.channels) for one in series)
    return Inspected(path, size, recognised, replace(measurement, series=series), numbers, figures)


def _all_numbers(measurement: Measurement) -> tuple[tuple[int, ...], ...]:
    """Return the numbers of all channels, series by series."""
    number = count(1)
    return tuple(tuple(next(number) for _ in one.channels) for one in measurement.series)


def document(inspected: Inspected) -> object:
    """Return a measurement as data for JSON: SI in keys that name a unit, else the channel's own unit."""
    measurement = inspected.measurement
    return plain(
        {
            "file": str(inspected.path),
            "size_bytes": inspected.size,
            "format": {"name": measurement.format, "title": inspected.format.title},
            "series": [
                {
                    **_axis(series),
                    "channels": [
                        _entry(series, *row) for row in zip(numbers, series.channels, figures, strict=True)
                    ],
                }
                for series, numbers, figures in zip(
                    measurement.series, inspected.numbers, inspected.figures, strict=True
                )
            ],
            "notes": dict(measurement.notes),
            "warnings": list(measurement.warnings),
            "remarks": list(inspected.remarks),
        }
    )


def _axis(series: Series) -> dict[str, object]:
    known = bool(series.count) and (series.step is not None or series.abscissae is not None)
    return {
        "name": series.name,
        "axis": series.axis,
        "axis_unit": series.axis_unit,
        "count": series.count,
        "step": series.step,
        "even": series.step is not None if known else None,
        "start": position_at(series, 0) if known else None,
        "end": position_at(series, series.count - 1) if known else None,
        "duration": duration(series),
    }


def _entry(series: Series, number: int, channel: Channel, found: Statistics) -> dict[str, object]:
    meaning = si_unit(channel.unit)
    return {
        "number": number,
        "name": channel.name,
        "unit": channel.unit or None,
        "si": None
        if meaning is None
        else {
            "unit": meaning.symbol,
            "factor": meaning.factor,
            "offset": meaning.offset,
            "quantity": meaning.dimension or None,
        },
        "description": channel.description,
        "count": found.count,
        "missing": found.missing,
        "infinite": found.infinite,
        "min": found.minimum,
        "min_index": found.min_index,
        "min_at": None if found.min_index is None else position_at(series, found.min_index),
        "max": found.maximum,
        "max_index": found.max_index,
        "max_at": None if found.max_index is None else position_at(series, found.max_index),
        "mean": found.mean,
        "rms": found.rms,
        "standard_deviation": found.deviation,
        "crest_factor": found.crest,
    }


def page(inspected: Inspected, *, everything: bool) -> str:
    """Return a measurement as lines of at most 100 characters; all of it, or the first of long lists."""
    measurement = inspected.measurement
    lines = [
        clean(str(inspected.path)),
        _pair("format", f"{inspected.format.title}, {_size(inspected.size)}"),
    ]
    lines += _note_lines(measurement, everything)
    left = len(list(inspected.rows())) if everything else _MAX_CHANNELS
    channels = sum(map(len, inspected.numbers))
    hidden = max(channels - left, 0)
    for series, numbers, figures in zip(
        measurement.series, inspected.numbers, inspected.figures, strict=True
    ):
        lines += ["", _pair("series", _series_text(series))]
        shown = min(left, len(numbers))
        left -= shown
        if shown:
            lines += _table(series, numbers[:shown], series.channels[:shown], figures[:shown])
    if hidden:
        lines.append(f"  … {hidden} more of {channels} channels: --all, or --channels NAME,…")
    lines += [
        "",
        *_unit_lines(inspected),
        *_missing_lines(inspected, everything),
        *_description_lines(inspected, everything),
    ]
    warnings = measurement.warnings if everything else measurement.warnings[:_MAX_WARNINGS]
    lines += [_wrapped("warning", warning.removeprefix(f"{inspected.path}: ")) for warning in warnings]
    if len(warnings) < len(measurement.warnings):
        lines.append(f"… {len(measurement.warnings) - len(warnings)} more warnings: --all")
    lines += [_wrapped("note", remark) for remark in inspected.remarks]
    return "\n".join(lines)


def clean(text: str) -> str:
    """Return a text of a file as one line that any terminal can show, without control characters."""
    return printable(" ".join(text.split()))


def _wrapped(kind: str, text: str) -> str:
    return textwrap.fill(f"{kind}: {clean(text)}", _WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def _pair(name: str, text: str) -> str:
    return f"  {name:<10}{text}"


def _size(size: int) -> str:
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}" if size < 999.5 * factor else f"{size / factor:.0f} {unit}"
    return f"{size} bytes"


def _note_lines(measurement: Measurement, everything: bool) -> list[str]:
    """Return the file's own words; whole with ``everything``, else the beginning of the first of them."""
    notes = [(clean(key), clean(text)) for key, text in measurement.notes.items()]
    notes = [(key, text) for key, text in notes if text]
    shown = notes if everything else notes[:_MAX_NOTES]
    width = min(max((len(key) for key, _ in shown), default=0), 24)
    lines: list[str] = []
    for key, text in shown:
        line = f"{key:<{width}}{_GAP}{text}"
        lines.append(_pair("" if lines else "notes", line if everything else _cut(line, _WIDTH - 12)))
    if len(shown) < len(notes):
        lines.append(_pair("", f"… {len(notes) - len(shown)} more: --all"))
    return lines


def _series_text(series: Series) -> str:
    name = f"{_cut(clean(series.name), 30)}: " if series.name else ""
    count = f"{series.count} values"
    unit = clean(series.axis_unit)
    long = duration(series)
    if series.abscissae is not None:
        first, last = (position_at(series, index) if series.count else None for index in (0, -1))
        ends = "" if first is None or last is None else f" from {first:.7g} to {last:.7g} {unit}"
        return f"{name}{count} unevenly spaced{ends}"
    if series.step is None:
        given = "give it with --step" if series.axis == "time" else "unknown"
        return f"{name}{count}, step not stated: {given}"
    if series.axis == "time" and not unit:
        return f"{name}{count} every {series.step:.9g}, unit of time not stated: give the step with --step"
    rate = f" ({1.0 / series.step:.6g} Hz)" if series.axis == "time" and unit == "s" and series.step else ""
    length = "" if long is None else f", {long:.6g} {unit}"
    start = f" from {clean(series.axis)} {series.start:.6g} {unit} on"
    return f"{name}{count} every {series.step:.9g} {unit}{rate}{length}{start}"


def _table(
    series: Series, numbers: Sequence[int], channels: Sequence[Channel], figures: Sequence[Statistics]
) -> list[str]:
    """Return the channels below their headings; names take what width is left."""
    cells = [_figure_cells(series, found) for found in figures]
    widths = [max(len(row[k]) for row in (_HEADINGS, *cells)) for k in range(len(_HEADINGS))]
    number_width = max(len(str(number)) for number in numbers)
    units = [_cut(clean(channel.unit), 10) or "?" for channel in channels]
    unit_width = max(len("unit"), *map(len, units))
    space = _WIDTH - 2 - number_width - unit_width - sum(width + 1 for width in widths) - 3
    names = [clean(channel.name) for channel in channels]
    name_width = max(_MIN_NAME, min(space, _MAX_NAME, max(len("name"), *map(len, names))))
    lines = []
    for number, name, unit, row in (
        ("#", "name", "unit", _HEADINGS),
        *zip(map(str, numbers), names, units, cells, strict=True),
    ):
        figures_text = " ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        lines.append(
            f"  {number:>{number_width}} {_middle_cut(name, name_width):<{name_width}} {unit:<{unit_width}} "
            f"{figures_text}".rstrip()
        )
    return lines


def _figure_cells(series: Series, found: Statistics) -> list[str]:
    return [
        _number(found.minimum, 5),
        _position(series, found.min_index),
        _number(found.maximum, 5),
        _position(series, found.max_index),
        _number(found.mean, 4),
        _number(found.rms, 4),
        _number(found.deviation, 4),
        "–" if found.crest is None else f"{found.crest:.2f}" if found.crest < 1e4 else f"{found.crest:.2g}",
    ]


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else re.sub(r"e([+-])0*(\d)", _short_exponent, f"{value:.{digits}g}")


def _short_exponent(found: re.Match[str]) -> str:
    return f"e{found[1].strip('+')}{found[2]}"


def _position(series: Series, index: int | None) -> str:
    """Return a place with as many decimals as the step needs, or the value's number from 1 on."""
    if index is None:
        return "–"
    found = position_at(series, index)
    if found is None:
        return f"#{index + 1}"
    if series.step is None or not series.step > 0.0:
        return f"{found:.6g}"
    decimals = min(max(math.ceil(1e-9 - math.log10(series.step)), 0) + 1, 6)
    return f"{found:.{decimals}f}" if abs(found) < 1e6 else f"{found:.8g}"


def _unit_lines(inspected: Inspected) -> list[str]:
    """Return what the units mean, each once, and which channels state none."""
    meanings: dict[str, str] = {}
    silent: list[int] = []
    for _, number, channel, _ in inspected.rows():
        if not channel.unit:
            silent.append(number)
        elif channel.unit not in meanings:
            meanings[channel.unit] = _meaning(channel.unit)
    lines = [_pair("" if k else "units", text) for k, text in enumerate(meanings.values())]
    if silent:
        which = "" if len(silent) == sum(map(len, inspected.numbers)) else f" of channel {_ranges(silent)}"
        lines.append(_pair("" if lines else "units", f"?: {_NOT_STATED}{which}: give it with --unit"))
    return [_cut(line, _WIDTH) for line in lines]


def _meaning(unit: str) -> str:
    meaning = si_unit(unit)
    shown = _cut(clean(unit), 24)
    if meaning is None:
        return f"{shown}: unknown unit"
    quantity = f", {meaning.dimension}" if meaning.dimension else ""
    if meaning.factor == 1.0 and not meaning.offset and shown == meaning.symbol:
        return f"{shown}: SI{quantity}"
    if meaning.offset:
        return f"{shown}: {meaning.factor:.9g} · value {meaning.offset:+.9g} {meaning.symbol}{quantity}"
    return f"{shown} = {meaning.factor:.9g} {meaning.symbol}{quantity}"


def _ranges(numbers: Sequence[int]) -> str:
    """Return rising numbers as ``1, 3–5``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}–{last}" for first, last in runs)


def _missing_lines(inspected: Inspected, everything: bool) -> list[str]:
    """Return how many values of which channels are no finite numbers."""
    reported = [
        f"channel {number}: {found.missing} NaN" + (f", {found.infinite} infinite" if found.infinite else "")
        for _, number, _, found in inspected.rows()
        if found.missing or found.infinite
    ]
    shown = reported if everything else reported[:_MAX_CHANNELS]
    lines = [_pair("" if k else "missing", text) for k, text in enumerate(shown)]
    return (
        lines
        if len(shown) == len(reported)
        else [*lines, _pair("", f"… {len(reported) - len(shown)} more: --all")]
    )


def _description_lines(inspected: Inspected, everything: bool) -> list[str]:
    """Return what channels mean in the file's words, each once."""
    reported: dict[str, list[int]] = {}
    for _, number, channel, _ in inspected.rows():
        if channel.description and channel.description != channel.name:
            reported.setdefault(clean(channel.description), []).append(number)
    lines = [f"{_ranges(numbers)}: {text}" for text, numbers in reported.items()]
    shown = lines if everything else [_cut(line, _WIDTH - 12) for line in lines[:_MAX_CHANNELS]]
    return [_pair("" if k else "meaning", line) for k, line in enumerate(shown)]


def _cut(text: str, maximum: int) -> str:
    return text if len(text) <= maximum else f"{text[: maximum - 1]}…"


def _middle_cut(text: str, maximum: int) -> str:
    """Return a name that is too long without its middle: names of a set differ at their ends."""
    if len(text) <= maximum:
        return text
    head = (maximum - 1) // 2
    return f"{text[:head]}…{text[len(text) - (maximum - 1 - head) :]}"
