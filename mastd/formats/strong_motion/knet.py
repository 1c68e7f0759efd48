"""K-NET and KiK-net records: 17 lines of header, then counts of the converter; reader and writer.

The acceleration in gal is counts times ``Scale Factor`` (``3920(gal)/6182761``), here applied exactly once.
The sensors' constant offset is in the counts; it is kept, and a warning tells it. ``Max. Acc.`` is that of
the values less their mean. ``Record Time`` is Japanese time and includes the 15 s by which the recorder
delays. Source: the description of the K-NET ASCII form by the NIED.
"""

from __future__ import annotations

import math
import re
from datetime import timedelta
from pathlib import Path
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import FormatError
from mastd.formats.core.files import lines_of, replacing
from mastd.formats.core.measurement import START_TIME, Channel, Format, Measurement, Series
from mastd.formats.core.text_numbers import Layout, laid_out_values, number_of, rows_of
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

_NAMES: Final = (
    "Origin Time",
    "Lat.",
    "Long.",
    "Depth. (km)",
    "Mag.",
    "Station Code",
    "Station Lat.",
    "Station Long.",
    "Station Height(m)",
    "Record Time",
    "Sampling Freq(Hz)",
    "Duration Time(s)",
    "Dir.",
    "Scale Factor",
    "Max. Acc. (gal)",
    "Last Correction",
    "Memo.",
)
_NAME_WIDTH: Final = 18
_PEAK_LINE: Final = 14
_SCALE: Final = re.compile(
    r"([0-9.Ee+-]{1,40})\s{0,20}\(\s{0,5}gal\s{0,5}\)\s{0,20}/\s{0,20}([0-9.Ee+-]{1,40})"
)
_TIME: Final = re.compile(r"(\d{4})/(\d\d)/(\d\d)\s{1,20}(\d\d):(\d\d):(\d\d(?:\.\d{1,9})?)$")
_LAYOUT: Final = Layout(8, 9)
_DELAY: Final = 15.0
_JAPAN: Final = timedelta(hours=9)
_FULL_SCALE: Final = 8388608
"""Counts of the writer's scale, 24 bits as the recorders have."""
_SMALL_OFFSET: Final = 1e-4
"""Of the peak, below which an offset is not worth a word."""
_OURS: Final = {
    "Record Time",
    "Sampling Freq(Hz)",
    "Duration Time(s)",
    "Dir.",
    "Scale Factor",
    "Max. Acc. (gal)",
}
_TITLE: Final = "a K-NET file"


def read(path: Path) -> Measurement:
    """Return the component that a K-NET or KiK-net file holds, in gal, with its constant offset.

    Raises FormatError with the location.
    """
    lines = lines_of(path)
    header = _header(path, lines)
    step = _step(path, header)
    numerator, denominator = _scale(path, header)
    duration = number_of(header["Duration Time(s)"])
    expected = round(duration / step) if duration is not None and 0.0 < duration / step < 1e12 else 0
    first = len(_NAMES)
    counts = laid_out_values(path, lines[first:], first + 1, _LAYOUT, expected)
    broken = np.flatnonzero(counts != np.rint(counts))
    if len(broken):
        raise FormatError(
            f"{path}:{first + 1}: value {broken[0] + 1} is {counts[broken[0]]:g}, not a whole count"
        )
    warnings = _duration_warning(path, duration, len(counts), step)
    with np.errstate(over="ignore", invalid="ignore"):
        values = counts * numerator / denominator
        if not np.isfinite(values).all():
            values = counts * (numerator / denominator)
    if not np.isfinite(values).all():
        raise FormatError(
            f"{path}:14: Scale Factor {header['Scale Factor']!r} makes values that are not finite"
        )
    notes = {name.rstrip("."): value for name, value in header.items() if value}
    if start := _start(header["Record Time"]):
        notes[START_TIME] = start
    direction = header["Dir."] or "record"
    notes[COMPONENT] = direction
    series = Series((Channel(direction, "gal", values, header["Station Code"]),), step)
    return Measurement("knet", (series,), notes, (*warnings, *_value_warnings(path, header, values)))


def write(path: Path, measurement: Measurement) -> tuple[str, ...]:
    """Write one component in gal, in counts of a scale of its own.

    Values keep half a count: 6e-8 of the largest. The step keeps all digits where its frequency can say it.
    """
    channel, step = channel_of(measurement, path, _TITLE)
    values, _, lines = in_units(channel, path, _TITLE, ("gal",))
    full = _full_scale(float(np.max(np.abs(values))))
    with np.errstate(over="ignore", under="ignore"):
        counts = np.rint(values * (_FULL_SCALE / full) if full >= 1e-290 else values / full * _FULL_SCALE)
    counts = np.clip(np.nan_to_num(counts), 1 - _FULL_SCALE, _FULL_SCALE - 1)
    frequency = _frequency(step)
    notes = {name: measurement.notes.get(name.rstrip("."), "") for name in _NAMES}
    start = start_of(measurement.notes)
    record_time = ""
    if start is not None:
        local = start + timedelta(seconds=_DELAY) + (_JAPAN if _has_zone(measurement) else timedelta())
        record_time = f"{local:%Y/%m/%d %H:%M:%S}" + (
            f".{local.microsecond // 1000:03d}" if local.microsecond else ""
        )
    notes |= {
        "Record Time": record_time,
        "Sampling Freq(Hz)": f"{frequency}Hz",
        "Duration Time(s)": f"{len(values) * step:.12g}",
        "Dir.": line_of(channel.name, 60),
        "Scale Factor": f"{full!r}(gal)/{_FULL_SCALE}",
        "Max. Acc. (gal)": f"{_offset_and_peak(values)[1]:.6g}",
    }
    head = "\n".join(f"{name:<{_NAME_WIDTH}s}{line_of(notes[name], 60)}".rstrip() for name in _NAMES)
    with replacing(path) as file:
        file.write(f"{head}\n{rows_of(counts, '%9d', 8)}".encode())
    again = 1.0 / float(frequency)
    kept = {*(name.rstrip(".") for name in _NAMES), START_TIME, COMPONENT}
    left = left_out(measurement, measurement.series[0], kept)
    kept_digits = f"{channel.name}: values are kept to {full / _FULL_SCALE / 2:.2g} gal"
    return (*lines, kept_digits, *left, *step_line(step, again))


def recognises(head: bytes) -> bool:
    """Return whether the first line is the origin time and a scale factor is among the next."""
    lines = head_lines(head, len(_NAMES))
    return (
        bool(lines)
        and lines[0].startswith("Origin Time")
        and any(x.startswith("Scale Factor") for x in lines)
    )


def _header(path: Path, lines: list[str]) -> dict[str, str]:
    """Return the header's values by their names, which have their line each."""
    if len(lines) < len(_NAMES):
        raise FormatError(
            f"{path}:{len(lines)}: a K-NET file has {len(_NAMES)} lines of header, the file ends here"
        )
    header = {}
    for number, (name, line) in enumerate(zip(_NAMES, lines, strict=False), start=1):
        # One description of the form has "Max Acc.", the files have "Max. Acc.".
        spelled = line.replace("Max Acc", "Max. Acc") if number == _PEAK_LINE + 1 else line
        if not spelled.startswith(name):
            raise FormatError(f"{path}:{number}: {line[:_NAME_WIDTH].strip()!r}, expected {name!r}")
        header[name] = spelled[len(name) :].strip()
    return header


def _step(path: Path, header: dict[str, str]) -> float:
    stated = header["Sampling Freq(Hz)"]
    frequency = number_of(re.sub(r"\s*hz$", "", stated[:60], flags=re.IGNORECASE))
    if frequency is None or not 1e-300 < frequency < 1e300:
        raise FormatError(f"{path}:11: Sampling Freq(Hz) is {stated[:40]!r}, must be a number above zero")
    return 1.0 / frequency


def _scale(path: Path, header: dict[str, str]) -> tuple[float, float]:
    match = _SCALE.fullmatch(header["Scale Factor"])
    parts = (number_of(match[1]), number_of(match[2])) if match else (None, None)
    if parts[0] is None or parts[1] is None or not (parts[0] > 0.0 and parts[1] > 0.0):
        raise FormatError(
            f"{path}:14: Scale Factor is {header['Scale Factor'][:60]!r}, not like 3920(gal)/6182761"
        )
    return parts[0], parts[1]


def _duration_warning(path: Path, duration: float | None, count: int, step: float) -> tuple[str, ...]:
    """Warn of a duration that is less than a second off; refuse others, the file is then not whole."""
    if count == 0:
        raise FormatError(f"{path}:{len(_NAMES) + 1}: no values follow the header")
    if duration is None:
        return ()
    text = f"states a duration of {duration:g} s, its {count} values every {step:g} s are {count * step:g} s"
    if not abs(duration - count * step) < 1.0 + 1e-9 * abs(duration):
        raise FormatError(f"{path}:12: {text}")
    return (f"{path}:12: {text}",) if abs(duration - count * step) > step / 2 + 1e-9 * abs(duration) else ()


def _value_warnings(path: Path, header: dict[str, str], values: FloatArray) -> list[str]:
    offset, peak = _offset_and_peak(values)
    warnings = []
    if abs(offset) > _SMALL_OFFSET * peak:
        warnings.append(f"{path}: values have a constant offset of {offset:g} gal, which is retained")
    stated = number_of(header["Max. Acc. (gal)"])
    if stated is not None and not abs(stated - peak) <= 2e-3 * max(abs(stated), peak):
        warnings.append(
            f"{path}:15: states a peak of {stated:g} gal, that of the values less their mean is {peak:g} gal"
        )
    return warnings


def _offset_and_peak(values: FloatArray) -> tuple[float, float]:
    """Return the mean, and the largest size less the mean, so scaled that no sum leaves the range."""
    size = float(np.max(np.abs(values)))
    if size == 0.0:
        return 0.0, 0.0
    ratios = values / size
    offset = float(np.mean(ratios))
    return offset * size, float(np.max(np.abs(ratios - offset))) * size


def _start(stated: str) -> str:
    match = _TIME.match(stated)
    if match is None:
        return ""
    year, month, day, hour, minute = (int(match[k]) for k in range(1, 6))
    moment = iso_time(year, month, day, hour, minute, float(match[6]))
    return _earlier(moment) if moment else ""


def _earlier(moment: str) -> str:
    start = start_of({START_TIME: moment})
    if start is None or start.year < 2:
        return ""
    start -= timedelta(seconds=_DELAY)
    second = start.second + start.microsecond * 1e-6
    return iso_time(start.year, start.month, start.day, start.hour, start.minute, second, _JAPAN)


def _has_zone(measurement: Measurement) -> bool:
    return re.search(r"(?:Z|[+-]\d\d:?\d\d)$", measurement.notes.get(START_TIME, "")) is not None


def _full_scale(peak: float) -> float:
    """Return a full scale in gal in which a peak stays inside the counts, with six digits where it may."""
    if peak == 0.0:
        return 1.0
    minimum = peak * (_FULL_SCALE / (_FULL_SCALE - 1.0))
    rounded = float(f"{minimum:.5e}")
    up = rounded if rounded >= minimum else float(f"{minimum * (1.0 + 1e-5):.5e}")
    return up if math.isfinite(up) else peak


def _frequency(step: float) -> str:
    """Return the frequency in Hz whose inverse is the step, or comes nearest to it."""
    nearest = 1.0 / step
    candidates = (nearest, math.nextafter(nearest, 0.0), math.nextafter(nearest, math.inf))
    chosen = min(candidates, key=lambda value: abs(1.0 / value - step))
    return str(int(chosen)) if chosen.is_integer() and chosen < 1e9 else repr(chosen)


FORMAT: Final = Format(
    "knet",
    "K-NET, KiK-net",
    (".ns", ".ew", ".ud", ".ns1", ".ew1", ".ud1", ".ns2", ".ew2", ".ud2"),
    recognises,
    read,
    report_renames(write, read),
)
