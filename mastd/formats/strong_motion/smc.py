"""USGS SMC records: eleven lines of text, integer and real header, comments, then fields of ten that touch.

Integer header: 6 lines 8I10; the first field is what stands for an unknown integer, 2 to 7 are the time of
the first value (year, day of the year, hour, minute, second, ms), 13 and 14 the vertical and horizontal
orientation, 16 the count of comments, 17 that of values, 47 is 8 for values as 5E14.7 instead of 8E10.4.
Real header: 10 lines 5E15.7; 1 stands for an unknown real, 2 is the rate in 1/s, 29 to 32 are time and
value of maximum and minimum. Units are fixed by the kind of data, which the first line names: cm/s², cm/s,
cm. Source: the description of the form by the USGS strong-motion programme.
"""

from __future__ import annotations

import math
import re
from datetime import datetime
from pathlib import Path
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import FormatError
from mastd.formats.core.files import lines_of, replacing
from mastd.formats.core.measurement import START_TIME, Channel, Format, Measurement, Series
from mastd.formats.core.text_numbers import (
    Layout,
    fixed_values,
    header_fields,
    laid_out_values,
    number_of,
    whole_number_of,
)
from mastd.formats.strong_motion.common import (
    COMPONENT,
    channel_of,
    head_lines,
    in_units,
    iso_time,
    left_out,
    line_of,
    report_renames,
    start_of,
    step_line,
)

_TEXT_LINES: Final = 11
_INTEGERS: Final = Layout(8, 10)
_INTEGER_LINES: Final = 6
_REALS: Final = Layout(5, 15)
_REAL_LINES: Final = 10
_HEADER_LINES: Final = _TEXT_LINES + _INTEGER_LINES + _REAL_LINES
_ORDINARY: Final = Layout(8, 10)
_PRECISE: Final = Layout(5, 14)
_NO_INTEGER: Final = -32768
_NO_REAL: Final = 1.7e38
_MAX_RATE: Final = 1e6
"""In 1/s; headers with nonsense instead of a rate are in circulation."""
_UNITS: Final = {1: "cm/s2", 2: "cm/s2", 3: "cm/s", 4: "cm"}
_KINDS: Final = {
    "cm/s2": "2 CORRECTED ACCELEROGRAM",
    "cm/s": "3 VELOCITY",
    "cm": "4 DISPLACEMENT",
    "": "0 UNKNOWN",
}
_KIND: Final = re.compile(r"\s*(?P<digit>[0-6])?\s*(?P<word>[A-Z ]*)", re.IGNORECASE)
_NOTES: Final = (
    "title",
    "record",
    "station code",
    "event",
    "magnitude",
    "station",
    "distance and peak",
    "instrument",
    "text 9",
    "text 10",
    "text 11",
)
"""What the lines of text are about."""
_STATION: Final = 5
_COMPONENT: Final = re.compile(r"\bcomponent\s*=\s*(.*)$", re.IGNORECASE)
_MAX_VALUE: Final = 1e38
"""Of a value that is written: what stands for an unknown one is not far above."""
_TITLE: Final = "an SMC file"


def read(path: Path) -> Measurement:
    """Read the component of an SMC file, in cm/s², cm/s or cm, "" where the first line names none.

    A rate that is marked as unknown leaves the step None. Raises FormatError with the location.
    """
    lines = lines_of(path)
    if len(lines) < _HEADER_LINES:
        raise FormatError(
            f"{path}:{len(lines)}: an SMC file has {_HEADER_LINES} lines of header, the file ends here"
        )
    integers = _integers(path, lines)
    reals = _reals(path, lines)
    unit = _unit(path, lines[0])
    step = _step(path, reals)
    first, comments, warnings = _comments(path, lines, integers[15])
    count = integers[16]
    if count == integers[0] or count < 0:
        raise FormatError(f"{path}:{_TEXT_LINES + 3}:1: the count of values is {count}")
    layout = _PRECISE if integers[46] == 8 else _ORDINARY
    values = laid_out_values(path, lines[first:], first + 1, layout, count)
    if len(values) != count:
        raise FormatError(f"{path}:{_TEXT_LINES + 3}:1: states {count} values, but {len(values)} follow")
    _refuse_missing(path, values, reals[0])
    notes = _text_notes(lines)
    component = _component(lines, integers)
    notes |= {COMPONENT: component, "comments": comments, START_TIME: _start(integers)}
    warnings += _extreme_warnings(path, reals, values, unit)
    name = component or notes.get("station code", "") or "record"
    channel = Channel(name, unit, values, notes.get("station", ""))
    return Measurement("smc", (Series((channel,), step),), {k: v for k, v in notes.items() if v}, warnings)


def write(path: Path, measurement: Measurement) -> tuple[str, ...]:
    """Write one component in the common form, 8E10.4, in cm/s², cm/s or cm.

    Values keep 5 digits between 1e-9 and 1e10, 4 beyond, 3 where the exponent has three digits; the step
    keeps the 8 digits of its rate. Raises FormatError.
    """
    channel, step = channel_of(measurement, path, _TITLE)
    values, unit, lines = in_units(channel, path, _TITLE, ("cm/s2", "cm/s", "cm", ""))
    if not np.max(np.abs(values)) < _MAX_VALUE:
        raise FormatError(f"{path}: {channel.name}: {_TITLE} cannot hold values above {_MAX_VALUE:g}")
    rate = f"{1.0 / step:15.7E}"
    again = _inverse(number_of(rate))
    if again is None:
        raise FormatError(f"{path}: {_TITLE} cannot hold a step of {step:g} s, the maximum rate is 1e6/s")
    notes = measurement.notes
    text = [line_of(notes.get(name, "")) or "*" for name in _NOTES]
    text[0] = _KINDS[unit] if _unit_or_none(text[0]) != unit else text[0]
    component = notes.get(COMPONENT, "") or channel.name
    text[_STATION] = (
        f"station = {line_of(notes.get('station', ''), 30):<30s}component= {line_of(component, 28)}"
    )
    fields = [_field(value) for value in values.tolist()]
    rows = ["".join(fields[k : k + 8]) for k in range(0, len(fields), 8)]
    header = [*text, *_integer_lines(len(values), start_of(notes)), *_real_lines(rate, values, step), "|"]
    with replacing(path) as file:
        file.write(("\n".join(header + rows) + "\n").encode())
    left = left_out(measurement, measurement.series[0], (*_NOTES, COMPONENT, START_TIME))
    return (*lines, f"{channel.name}: values are kept to 5 digits", *left, *step_line(step, again))


def recognises(head: bytes) -> bool:
    """Return whether lines 12 to 17 are 48 whole numbers in fields of ten, with a rate below them."""
    lines = head_lines(head, _HEADER_LINES)
    if len(lines) < _HEADER_LINES:
        return False
    numbers = header_fields(lines[_TEXT_LINES : _TEXT_LINES + _INTEGER_LINES], _INTEGERS)
    reals = header_fields(lines[_TEXT_LINES + _INTEGER_LINES : _HEADER_LINES], _REALS)
    return all(whole_number_of(text) is not None for text in numbers) and all(
        number_of(text) is not None for text in reals
    )


def _integers(path: Path, lines: list[str]) -> list[int]:
    first = _TEXT_LINES
    values = fixed_values(path, lines[first : first + _INTEGER_LINES], first + 1, _INTEGERS)
    if len(values) != _INTEGER_LINES * _INTEGERS.fields or not np.all(values == np.rint(values)):
        raise FormatError(f"{path}:{first + 1}: the integer header is not 48 whole numbers in fields of 10")
    if not np.all(np.abs(values) < 2**53):
        raise FormatError(f"{path}:{first + 1}: a number of the integer header is too large")
    return [int(value) for value in values]


def _reals(path: Path, lines: list[str]) -> list[float]:
    first = _TEXT_LINES + _INTEGER_LINES
    values = fixed_values(path, lines[first : first + _REAL_LINES], first + 1, _REALS)
    if len(values) != _REAL_LINES * _REALS.fields:
        raise FormatError(f"{path}:{first + 1}: the real header is not 50 numbers in fields of 15")
    return [float(value) for value in values]


def _unit(path: Path, line: str) -> str:
    unit = _unit_or_none(line)
    if unit is None:
        raise FormatError(f"{path}:1: holds response spectra, not a record over time")
    return unit


def _unit_or_none(line: str) -> str | None:
    """Return the unit of the kind of data that the first line names, "" without one, None for spectra."""
    match = _KIND.match(line[:80])
    texts = match["word"].upper() if match else ""
    digit = match["digit"] if match else None
    if digit == "5" or "SPECTR" in texts:
        return None
    if digit is not None:
        return _UNITS.get(int(digit), "")
    named = {"ACCELEROGRAM": "cm/s2", "VELOCITY": "cm/s", "DISPLACEMENT": "cm"}
    return next((unit for text, unit in named.items() if text in texts), "")


def _step(path: Path, reals: list[float]) -> float | None:
    rate = reals[1]
    if rate == reals[0]:
        return None
    step = _inverse(rate)
    if step is None:
        raise FormatError(
            f"{path}:{_TEXT_LINES + _INTEGER_LINES + 1}:16: the rate is {rate:g}, expected 0 to 1e6/s"
        )
    return step


def _inverse(rate: float | None) -> float | None:
    if rate is None or not 1e-300 < rate <= _MAX_RATE:
        return None
    return 1.0 / rate


def _comments(path: Path, lines: list[str], stated: int) -> tuple[int, str, tuple[str, ...]]:
    """Return where the values begin, the comments, and a warning where the header counts them otherwise."""
    end = _HEADER_LINES
    while end < len(lines) and lines[end].startswith("|"):
        end += 1
    found = end - _HEADER_LINES
    comments = " ".join(filter(None, (line[1:].strip() for line in lines[_HEADER_LINES:end])))
    if found == max(stated, 0):
        return end, comments, ()
    return (
        end,
        comments,
        (f"{path}:{_TEXT_LINES + 2}: states {stated} comments, {found} lines begin with '|'",),
    )


def _refuse_missing(path: Path, values: FloatArray, marker: float) -> None:
    # The marker has fewer digits in the values' fields than in the header's.
    missing = np.flatnonzero(np.abs(values - marker) <= 1e-3 * abs(marker))
    if abs(marker) > 1e30 and len(missing):
        raise FormatError(
            f"{path}: {len(missing)} values are marked as missing ({marker:g}), the first is value "
            f"{missing[0] + 1}"
        )


def _text_notes(lines: list[str]) -> dict[str, str]:
    notes = {}
    for name, line in zip(_NOTES, lines, strict=False):
        text = line[:200].strip().strip("\x00").strip()
        if name == "station":
            text = re.sub(
                r"^station\s{0,9}=\s{0,9}", "", _COMPONENT.sub("", text), flags=re.IGNORECASE
            ).strip()
        if text not in ("", "*"):
            notes[name] = text
    return notes


def _component(lines: list[str], integers: list[int]) -> str:
    """Return the direction: the text's own word, else what the orientations say, in degrees."""
    match = _COMPONENT.search(lines[_STATION][:200])
    if match is not None and match[1].strip():
        return match[1].strip()
    vertical, horizontal = integers[12], integers[13]
    if vertical in (0, 180):
        return "UP" if vertical == 0 else "DOWN"
    return str(horizontal) if 0 <= horizontal <= 360 else ""


def _start(integers: list[int]) -> str:
    year, day, hour, minute, second, milliseconds = integers[1:7]
    unknown = integers[0]
    if unknown in (year, day, hour, minute, second) or not (1 <= day <= 366 and 1 <= year <= 9999):
        return ""
    date = (
        datetime.fromordinal(datetime(year, 1, 1).toordinal() + day - 1)
        if year < 9999
        else datetime(year, 1, 1)
    )
    fraction = 0 if milliseconds == unknown else milliseconds
    return iso_time(date.year, date.month, date.day, hour, minute, second + fraction * 1e-3)


def _extreme_warnings(path: Path, reals: list[float], values: FloatArray, unit: str) -> tuple[str, ...]:
    if not len(values):
        return ()
    found = (float(np.max(values)), float(np.min(values)))
    allowed = 2e-3 * float(np.max(np.abs(values)))
    return tuple(
        f"{path}: the header states a {name} of {stated:g} {unit}, that of the values is {value:g}"
        for name, stated, value in zip(("maximum", "minimum"), (reals[29], reals[31]), found, strict=True)
        if stated != reals[0] and not abs(stated - value) <= allowed
    )


def _field(value: float) -> str:
    """Return a value in ten characters, with as many digits as there is room for, its sign in the first."""
    for digits in (4, 3, 2):
        mantissa, exponent = f"{value:.{digits}E}".split("E")
        text = f"{mantissa}E{int(exponent):+d}"
        if len(text) <= _ORDINARY.width - (value >= 0.0):
            break
    return f"{text:>{_ORDINARY.width}s}"


def _integer_lines(count: int, start: datetime | None) -> list[str]:
    values = [_NO_INTEGER] * (_INTEGER_LINES * _INTEGERS.fields)
    if start is not None:
        day = start.timetuple().tm_yday
        values[1:7] = [start.year, day, start.hour, start.minute, start.second, start.microsecond // 1000]
    values[15], values[16] = 1, count
    return ["".join(f"{value:10d}" for value in values[k : k + 8]) for k in range(0, len(values), 8)]


def _real_lines(rate: str, values: FloatArray, step: float) -> list[str]:
    fields = [f"{_NO_REAL:15.7E}"] * (_REAL_LINES * _REALS.fields)
    fields[1] = rate
    top, bottom = int(np.argmax(values)), int(np.argmin(values))
    extremes = (top * step, values[top], bottom * step, values[bottom])
    if all(math.isfinite(value) for value in extremes):
        fields[28:32] = [f"{value:15.7E}" for value in extremes]
    return ["".join(fields[k : k + 5]) for k in range(0, len(fields), 5)]


FORMAT: Final = Format("smc", "USGS SMC", (".smc",), recognises, read, report_renames(write, read))
