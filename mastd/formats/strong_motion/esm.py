"""ESM and ITACA records in the DYNA form (.ASC), lines ``KEY: value``, then one value a line: in and out.

The header of DYNA 1.2 has 64 lines; other makers of the form write more or fewer, so it ends where the
lines are numbers. Values are in the unit that UNITS states, as a rule cm/s^2, cm/s or cm. Source: the files
of the Engineering Strong-Motion database.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import numpy as np

from mastd.errors import FormatError
from mastd.formats.core.files import lines_of, replacing
from mastd.formats.core.measurement import START_TIME, Channel, Format, Measurement, Series
from mastd.formats.core.text_numbers import free_values, number_of, rows_of, whole_number_of
from mastd.formats.strong_motion.common import (
    COMPONENT,
    channel_of,
    head_lines,
    in_units,
    iso_time,
    left_out,
    line_of,
    peak_warning,
    plain_unit,
    report_renames,
    start_of,
    step_line,
)

_MAX_LINES: Final = 200
_ENTRY: Final = re.compile(r"(?P<key>[A-Z][A-Z0-9_/^.]{1,79}):\s?(?P<value>.*)")
_TIME: Final = re.compile(
    r"(\d{4})[-/]?(\d\d)[-/]?(\d\d)[_T ](\d\d):?(\d\d):?(\d\d(?:\.\d{1,9})?)$",
)
_TITLE: Final = "an ESM file"
_QUANTITIES: Final = {
    "cm/s2": ("ACCELERATION", "cm/s^2", "PGA_CM/S^2", "TIME_PGA_S"),
    "cm/s": ("VELOCITY", "cm/s", "PGV_CM/S", "TIME_PGV_S"),
    "cm": ("DISPLACEMENT", "cm", "PGD_CM", "TIME_PGD_S"),
}
_KEYS: Final = (
    "EVENT_NAME",
    "EVENT_ID",
    "EVENT_DATE_YYYYMMDD",
    "EVENT_TIME_HHMMSS",
    "EVENT_LATITUDE_DEGREE",
    "EVENT_LONGITUDE_DEGREE",
    "EVENT_DEPTH_KM",
    "HYPOCENTER_REFERENCE",
    "MAGNITUDE_W",
    "MAGNITUDE_W_REFERENCE",
    "MAGNITUDE_L",
    "MAGNITUDE_L_REFERENCE",
    "FOCAL_MECHANISM",
    "NETWORK",
    "STATION_CODE",
    "STATION_NAME",
    "STATION_LATITUDE_DEGREE",
    "STATION_LONGITUDE_DEGREE",
    "STATION_ELEVATION_M",
    "LOCATION",
    "SENSOR_DEPTH_M",
    "VS30_M/S",
    "SITE_CLASSIFICATION_EC8",
    "MORPHOLOGIC_CLASSIFICATION",
    "EPICENTRAL_DISTANCE_KM",
    "EARTHQUAKE_BACKAZIMUTH_DEGREE",
    "DATE_TIME_FIRST_SAMPLE_YYYYMMDD_HHMMSS",
    "DATE_TIME_FIRST_SAMPLE_PRECISION",
    "SAMPLING_INTERVAL_S",
    "NDATA",
    "DURATION_S",
    "STREAM",
    "UNITS",
    "INSTRUMENT",
    "INSTRUMENT_ANALOG/DIGITAL",
    "INSTRUMENTAL_FREQUENCY_HZ",
    "INSTRUMENTAL_DAMPING",
    "FULL_SCALE_G",
    "N_BIT_DIGITAL_CONVERTER",
    "PGA_CM/S^2",
    "TIME_PGA_S",
    "BASELINE_CORRECTION",
    "FILTER_TYPE",
    "FILTER_ORDER",
    "LOW_CUT_FREQUENCY_HZ",
    "HIGH_CUT_FREQUENCY_HZ",
    "LATE/NORMAL_TRIGGERED",
    "DATABASE_VERSION",
    "HEADER_FORMAT",
    "DATA_TYPE",
    "PROCESSING",
    "DATA_TIMESTAMP_YYYYMMDD_HHMMSS",
    "DATA_LICENSE",
    "DATA_CITATION",
    "DATA_CREATOR",
    "ORIGINAL_DATA_MEDIATOR_CITATION",
    "ORIGINAL_DATA_MEDIATOR",
    "ORIGINAL_DATA_CREATOR_CITATION",
    "ORIGINAL_DATA_CREATOR",
    "USER1",
    "USER2",
    "USER3",
    "USER4",
    "USER5",
)
"""The lines of the header, in their order."""
_OURS: Final = {
    "DATE_TIME_FIRST_SAMPLE_YYYYMMDD_HHMMSS",
    "DATE_TIME_FIRST_SAMPLE_PRECISION",
    "SAMPLING_INTERVAL_S",
    "NDATA",
    "DURATION_S",
    "STREAM",
    "UNITS",
    "DATA_TYPE",
    "PGA_CM/S^2",
    "TIME_PGA_S",
    "HEADER_FORMAT",
}
"""Those that a writer states of the values that it writes."""


def read(path: Path) -> Measurement:
    """Return the component that an ESM file holds, in the unit that it states, "" without one.

    All entries that are not empty become notes. Raises FormatError with the location.
    """
    lines = lines_of(path)
    entries, line_numbers = _entries(lines)
    if "SPECTR" in entries.get("DATA_TYPE", "").upper():
        raise FormatError(
            f"{path}:{line_numbers['DATA_TYPE']}: holds a response spectrum, not a record over time"
        )
    step = _step(path, entries, line_numbers)
    count = whole_number_of(entries.get("NDATA", ""))
    if count is None:
        raise FormatError(f"{path}:{line_numbers.get('NDATA', 1)}: NDATA is not a count of values")
    first = len(entries)
    values = free_values(path, lines[first:], first + 1)
    if len(values) != count:
        raise FormatError(
            f"{path}:{line_numbers['NDATA']}: NDATA is {count}, but {len(values)} values follow"
        )
    unit = plain_unit(entries.get("UNITS", ""))
    notes = {key: value for key, value in entries.items() if value}
    if start := _start(entries):
        notes[START_TIME] = start
    name = entries.get("STREAM", "") or "record"
    notes[COMPONENT] = name
    description = f"{entries.get('STATION_NAME', '')} {entries.get('DATA_TYPE', '').lower()}".strip()
    series = Series((Channel(name, unit, values, description),), step)
    key = _QUANTITIES[unit][2] if unit in _QUANTITIES else ""
    warnings = (
        *_duration_warning(path, entries, count, step),
        *peak_warning(path, number_of(entries.get(key, "")), values, unit),
    )
    return Measurement("esm", (series,), notes, warnings)


def write(path: Path, measurement: Measurement) -> tuple[str, ...]:
    """Write one component in the DYNA 1.2 form, in cm/s^2, cm/s or cm; values and step keep all digits."""
    channel, step = channel_of(measurement, path, _TITLE)
    values, unit, lines = in_units(channel, path, _TITLE, ("", *_QUANTITIES))
    quantity, text, peak_key, time_key = _QUANTITIES.get(unit, ("", "", "", ""))
    peak = int(np.argmax(np.abs(values)))
    start = start_of(measurement.notes)
    entries = {key: line_of(measurement.notes.get(key, ""), 400) for key in _KEYS if key not in _OURS}
    entries |= {
        "DATE_TIME_FIRST_SAMPLE_YYYYMMDD_HHMMSS": f"{start:%Y%m%d_%H%M%S}.{start.microsecond // 1000:03d}"
        if start
        else "",
        "DATE_TIME_FIRST_SAMPLE_PRECISION": "milliseconds" if start else "",
        "SAMPLING_INTERVAL_S": repr(step),
        "NDATA": str(len(values)),
        "DURATION_S": repr(len(values) * step),
        "STREAM": line_of(channel.name),
        "UNITS": text,
        "HEADER_FORMAT": "DYNA 1.2",
        "DATA_TYPE": quantity,
    }
    names = {"PGA_CM/S^2": peak_key or "PGA_CM/S^2", "TIME_PGA_S": time_key or "TIME_PGA_S"}
    entries |= {"PGA_CM/S^2": repr(float(values[peak])) if unit else "", "TIME_PGA_S": repr(peak * step)}
    head = "\n".join(f"{names.get(key, key)}: {entries.get(key, '')}" for key in _KEYS)
    with replacing(path) as file:
        file.write(f"{head}\n{rows_of(values, '%r', 1)}".encode())
    kept = {*_KEYS, *names.values(), START_TIME, COMPONENT}
    return lines + left_out(measurement, measurement.series[0], kept) + step_line(step, number_of(repr(step)))


def recognises(head: bytes) -> bool:
    """Return whether the first lines are entries, with the interval and the count among them."""
    entries, _ = _entries(head_lines(head, _MAX_LINES))
    return "SAMPLING_INTERVAL_S" in entries and "NDATA" in entries


def _entries(lines: list[str]) -> tuple[dict[str, str], dict[str, int]]:
    """Return the entries of the header and the number of the line of each."""
    entries: dict[str, str] = {}
    line_numbers: dict[str, int] = {}
    for number, line in enumerate(lines[:_MAX_LINES], start=1):
        match = _ENTRY.match(line)
        if match is None or match["key"] in entries:
            break
        entries[match["key"]] = match["value"].strip()
        line_numbers[match["key"]] = number
    return entries, line_numbers


def _step(path: Path, entries: dict[str, str], line_numbers: dict[str, int]) -> float | None:
    stated = entries.get("SAMPLING_INTERVAL_S", "")
    if not stated:
        return None
    step = number_of(stated)
    if step is None or not step > 0.0:
        location = f"{path}:{line_numbers['SAMPLING_INTERVAL_S']}"
        raise FormatError(f"{location}: SAMPLING_INTERVAL_S is {stated[:40]!r}, must be a number above zero")
    return step


def _start(entries: dict[str, str]) -> str:
    match = _TIME.match(entries.get("DATE_TIME_FIRST_SAMPLE_YYYYMMDD_HHMMSS", ""))
    if match is None:
        return ""
    year, month, day, hour, minute = (int(match[k]) for k in range(1, 6))
    return iso_time(year, month, day, hour, minute, float(match[6]))


def _duration_warning(path: Path, entries: dict[str, str], count: int, step: float | None) -> tuple[str, ...]:
    """Warn of a duration that is neither count · step nor that of the steps between the values."""
    stated = number_of(entries.get("DURATION_S", ""))
    if stated is None or step is None:
        return ()
    allowed = step + 1e-3 * (1.0 + abs(stated))
    if abs(count * step - stated) <= allowed:
        return ()
    return (
        f"{path}: states a duration of {stated:g} s, {count} values every {step:g} s are {count * step:g} s",
    )


FORMAT: Final = Format("esm", "ESM/ITACA DYNA", (".asc",), recognises, read, report_renames(write, read))
