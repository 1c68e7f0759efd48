"""Records in the form of Caltech's volume II, as USC writes them (.s0a): reader and writer.

Lines of text, 100 integers (16I5), 100 reals (8F10.3), then a line such as ``1887 POINTS OF ACC DATA
EQUALLY SPACED AT .020 SEC. IN UNITS CM/SEC/SEC`` and its values (8F10.3); velocity and displacement follow
in the same way, and perhaps further components. Only that line is asked for count, step and unit: ``UNITS
ARE SEC AND G/10`` in the text speaks of the raw data of volume I. Others of this family end that line with
a format and the values with ``/&``. The peak in the text often has the other sign than the values, which a
warning tells. Source: files of the University of Southern California's strong-motion group.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from mastd.errors import FormatError
from mastd.formats.core.files import lines_of, replacing
from mastd.formats.core.measurement import Channel, Format, Measurement, Series
from mastd.formats.core.text_numbers import NUMBER, Layout, laid_out_values, layout_of, number_of, rows_of
from mastd.formats.core.units import si_unit
from mastd.formats.strong_motion.common import (
    COMPONENT,
    channel_of,
    head_lines,
    in_units,
    left_out,
    line_of,
    peak_warning,
    plain_unit,
    report_renames,
    step_line,
)

_MAX_LINE_LENGTH: Final = 200
_SECTION: Final = re.compile(
    r"^\s{0,20}(?P<count>\d{1,9})\s{1,20}POINTS\s{1,9}OF\s{1,9}(?P<kind>[A-Z.]{1,20})\s{1,9}DATA"
    rf"\s{{1,9}}EQUALLY\s{{1,9}}SPACED\s{{1,9}}AT\s{{1,20}}(?P<step>{NUMBER})\s{{0,9}}SEC\w{{0,4}}\.?,?"
    r"(?:\s{1,20}IN\s{1,9}(?:UNITS?\s{1,9}(?:OF\s{1,9})?)?(?P<unit>[A-Z0-9/*^.]{1,20}))?"
    r"(?:\s{1,20}\((?P<layout>[^()]{1,20})\))?",
    re.IGNORECASE,
)
_END: Final = re.compile(r"\s{0,9}/&")
_NEXT_COMPONENT: Final = re.compile(r"\s{0,9}CORRECTED\s{1,9}ACCELEROGRAM", re.IGNORECASE)
_COMPONENT: Final = re.compile(r"\bCOMP\s{1,9}(\S{1,12})", re.IGNORECASE)
_PEAK: Final = re.compile(
    rf"\bPEAK\s{{1,9}}(?P<kind>ACC|VEL|DIS)[A-Z]{{0,12}}\s{{0,9}}=\s{{0,20}}(?P<peak>{NUMBER})", re.IGNORECASE
)
_LAYOUT: Final = Layout(8, 10)
_KINDS: Final = {
    "ACC": ("acceleration", "acceleration"),
    "VEL": ("velocity", "velocity"),
    "DIS": ("displacement", "length"),
}
_TEXTS: Final = ("title", "volume I", "event", "date", "record", "station", "site")
"""What the first lines of text are about."""
_TEXT_LINES: Final = 25
_WRITTEN: Final = {"cm/s2": ("ACC", "CM/SEC/SEC"), "cm/s": ("VEL", "CM/SEC"), "cm": ("DISPL", "CM")}
_MAX_VALUE: Final = 99999.9994
_DECIMAL: Final = 1e-3
"""The last decimal of values."""
_TITLE: Final = "a USC volume II file"


@dataclass(frozen=True)
class _Found:
    """One section: its channel, its step in s, and what is odd."""

    channel: Channel
    step: float
    warnings: tuple[str, ...]


def read(path: Path) -> Measurement:
    """Read a file of volume II: accelerations, velocities, displacements of its components.

    Raises FormatError with the location.
    """
    lines = lines_of(path)
    marks = [
        k
        for k, line in enumerate(lines)
        if "POINTS" in line[:60].upper() and _SECTION.match(line[:_MAX_LINE_LENGTH])
    ]
    if not marks:
        raise FormatError(f"{path}:1: no line like '1887 POINTS OF ACC DATA EQUALLY SPACED AT .020 SEC'")
    found: list[_Found] = []
    begin = 0
    for index, mark in enumerate(marks):
        last = marks[index + 1] if index + 1 < len(marks) else len(lines)
        end = next((k for k in range(mark + 1, last) if _ends_section(lines[k][:80])), last)
        found.append(_section(path, lines, begin, mark, end))
        begin = end if end < last else begin
    notes = _notes(lines[: marks[0]])
    warnings = tuple(warning for one in found for warning in one.warnings)
    return Measurement("usc", _joined(found), notes, warnings)


def write(path: Path, measurement: Measurement) -> tuple[str, ...]:
    """Write one component as a file of volume II with one section, in cm/s², cm/s or cm.

    Values keep three decimals and must be below 1e5 in size, the step all digits. Raises FormatError.
    """
    channel, step = channel_of(measurement, path, _TITLE)
    values, unit, lines = in_units(channel, path, _TITLE, tuple(_WRITTEN))
    maximum = float(np.max(np.abs(values)))
    if not maximum <= _MAX_VALUE:
        raise FormatError(
            f"{path}: {channel.name}: {_TITLE} holds values below 1e5 {unit}, these reach {maximum:g}"
        )
    kind, unit_text = _WRITTEN[unit]
    notes = measurement.notes
    peak = int(np.argmax(np.abs(values)))
    component = line_of(notes.get(COMPONENT, "") or channel.name, 12).replace(" ", "_")
    text = [f"CORRECTED ACCELEROGRAM   COMP {component}"]
    text += [line_of(notes.get(name, "")) for name in _TEXTS[1:]]
    text += [f"COMP {component}", *[""] * (_TEXT_LINES - 12)]
    quantity = _KINDS[kind[:3]][0].upper()
    text += [
        f"{len(values):6d}  INSTRUMENT AND BASELINE CORRECTED DATA",
        f"AT EQUALLY-SPACED INTERVALS OF  {step!r}  SEC.",
        f"PEAK {quantity} =  {values[peak]:.5f}  {unit_text} AT  {peak * step:.3f}   SEC.",
        line_of(channel.description),
    ]
    zeros = np.zeros(100)
    blocks = [rows_of(zeros, "%5d", 16), rows_of(zeros, "%10.3f", 8)]
    blocks.append(
        f"{len(values):6d} POINTS OF {kind} DATA EQUALLY SPACED AT  {step!r} SEC.  IN UNITS {unit_text}\n"
    )
    text = [_harmless(line) if k else line for k, line in enumerate(text)]
    with replacing(path) as file:
        file.write(("\n".join(text) + "\n" + "".join(blocks) + rows_of(values, "%10.3f", 8)).encode())
    left = left_out(measurement, measurement.series[0], (*_TEXTS, COMPONENT, "peak"))
    rounded = f"{channel.name}: values are kept to 0.001 {unit}"
    return (*lines, rounded, *left, *step_line(step, number_of(repr(step))))


def recognises(head: bytes) -> bool:
    """Return whether a line announces equally spaced points, in the words of this form."""
    return any(_SECTION.match(line[:_MAX_LINE_LENGTH]) for line in head_lines(head, 300))


def _section(path: Path, lines: list[str], begin: int, mark: int, end: int) -> _Found:
    match = _SECTION.match(lines[mark][:_MAX_LINE_LENGTH])
    assert match is not None
    location = f"{path}:{mark + 1}"
    kind = next((name for name in _KINDS if match["kind"].upper().startswith(name)), "")
    count, step = int(match["count"]), number_of(match["step"])
    if step is None or not step > 0.0:
        raise FormatError(f"{location}: values every {match['step']} s, must be above zero")
    unit = plain_unit((match["unit"] or "").rstrip("."))
    quantity, dimension = _KINDS.get(kind, ("", ""))
    meaning = si_unit(unit)
    if meaning is not None and dimension and meaning.dimension != dimension:
        raise FormatError(
            f"{location}: {quantity} in {match['unit']}, which is a unit of {meaning.dimension or unit}"
        )
    layout = layout_of(match["layout"] or "") or _LAYOUT
    values = laid_out_values(path, lines[mark + 1 : end], mark + 2, layout, count)
    if len(values) != count:
        raise FormatError(f"{location}: states {count} points, but {len(values)} follow")
    component = _first(_COMPONENT, lines[begin:mark])
    name = component if kind == "ACC" and component else f"{component} {quantity or match['kind']}".strip()
    warnings = peak_warning(path, _stated_peak(lines[begin:mark], kind), values, unit, _DECIMAL)
    return _Found(Channel(name, unit, values, quantity), step, warnings)


def _ends_section(line: str) -> bool:
    return _NEXT_COMPONENT.match(line) is not None or _END.match(line) is not None


def _joined(found: list[_Found]) -> tuple[Series, ...]:
    """Return one series where all have the same step and count, else one a channel."""
    channels = _apart([one.channel for one in found])
    if len({(one.step, len(one.channel.values)) for one in found}) == 1:
        return (Series(channels, found[0].step),)
    return tuple(Series((channel,), one.step) for channel, one in zip(channels, found, strict=True))


def _apart(channels: list[Channel]) -> tuple[Channel, ...]:
    names = [channel.name for channel in channels]
    return tuple(
        channel
        if names.count(channel.name) == 1
        else Channel(f"{channel.name} {k}", channel.unit, channel.values, channel.description)
        for k, channel in enumerate(channels, start=1)
    )


def _notes(head: list[str]) -> dict[str, str]:
    notes = {name: line[:_MAX_LINE_LENGTH].strip() for name, line in zip(_TEXTS, head, strict=False)}
    notes[COMPONENT] = _first(_COMPONENT, head)
    filters = (
        line[:_MAX_LINE_LENGTH].strip() for line in head[:60] if "FILTERED" in line[:_MAX_LINE_LENGTH].upper()
    )
    notes["filter"] = next(filters, "")
    return {name: value for name, value in notes.items() if value}


def _stated_peak(head: list[str], kind: str) -> float | None:
    for line in head[:80]:
        match = _PEAK.search(line[:_MAX_LINE_LENGTH])
        if match is not None and match["kind"].upper() == kind:
            return number_of(match["peak"])
    return None


def _first(pattern: re.Pattern[str], lines: list[str]) -> str:
    matches = (pattern.search(line[:_MAX_LINE_LENGTH]) for line in lines[:80])
    return next((match[1] for match in matches if match is not None), "")


def _harmless(line: str) -> str:
    """Return a line of text that begins no section and no component."""
    return "" if _SECTION.match(line) or _NEXT_COMPONENT.match(line) else line


FORMAT: Final = Format(
    "usc", "USC volume II", (".s0a", ".s0t", ".v2"), recognises, read, report_renames(write, read)
)
