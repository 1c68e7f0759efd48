"""PEER strong-motion text files (.AT2, .VT2, .DT2): reader and writer.

The layout varies between writers: the line with the count and the step may be the third or the fourth, in
either of two forms; values stand in one to many columns. So everything is found by its pattern, never by
the number of a line, and the count in the header must agree with the values found. Source: the files of the
PEER NGA databases and of the older strong-motion database.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mastd.errors import FormatError
from mastd.formats.core.files import lines_of, replacing
from mastd.formats.core.measurement import Channel, Format, Measurement, Series
from mastd.formats.core.text_numbers import NUMBER, free_values, number_of, rows_of, scaled_number
from mastd.formats.core.units import si_unit
from mastd.formats.strong_motion.common import (
    COMPONENT,
    channel_of,
    head_lines,
    in_units,
    left_out,
    line_of,
    plain_unit,
    report_renames,
    step_line,
)

_HEADER_LINES: Final = 12
_MAX_LINE_LENGTH: Final = 400
_COUNT: Final = re.compile(r"\bNPTS\s{0,20}[=:]\s{0,20}(\d{1,12})\b", re.IGNORECASE)
_COUNTING: Final = re.compile(r"\bNPTS\s{0,20}[=:]", re.IGNORECASE)
"""A count, whatever it is: only PEER files have it so."""
_STEP: Final = re.compile(
    rf"\bDT\s{{0,20}}[=:]\s{{0,20}}(?P<step>{NUMBER})(?P<rest>,?\d*)\s{{0,20}}(?P<milli>MSEC|MS\b)?",
    re.IGNORECASE,
)
_TRAILING: Final = re.compile(
    rf"^\s{{0,40}}(?P<count>\d{{1,12}})[\s,]{{1,40}}(?P<step>{NUMBER})(?P<rest>(?:,\d+)?)[\s,]{{0,40}}NPTS\s{{0,20}},?"
    r"\s{0,20}DT\b",
    re.IGNORECASE,
)
_QUANTITY: Final = re.compile(r"\b(ACCELERATION|VELOCITY|DISPLACEMENT)\b", re.IGNORECASE)
_UNIT: Final = re.compile(r"\bUNITS?\s{1,20}(?:OF|IN|ARE)\s{1,20}(.*)", re.IGNORECASE)
_TEXTS: Final = re.compile(r"\s*[A-Za-z(]{2}")
_NO_TEXTS: Final = re.compile(r"\s*(?:end|nan|inf)", re.IGNORECASE)
_END: Final = re.compile(r"\s*end\b", re.IGNORECASE)
_DIMENSIONS: Final = {"acceleration": "acceleration", "velocity": "velocity", "displacement": "length"}
_WRITTEN: Final = {
    "g": ("ACCELERATION", "G"),
    "cm/s2": ("ACCELERATION", "CM/S/S"),
    "m/s2": ("ACCELERATION", "M/S/S"),
    "cm/s": ("VELOCITY", "CM/S"),
    "m/s": ("VELOCITY", "M/S"),
    "cm": ("DISPLACEMENT", "CM"),
    "m": ("DISPLACEMENT", "M"),
}
_TITLE: Final = "a PEER file"


@dataclass(frozen=True)
class _Header:
    """What the first lines say: places are indices of lines."""

    count: int
    count_index: int
    step: float | None
    quantity: str
    unit: str
    texts: tuple[str, ...]
    """The lines that say nothing of the above: title, event, remarks."""
    end: int


def read(path: Path) -> Measurement:
    """Read the component of a PEER file, in its own unit, "" where it states none.

    Raises FormatError, one line with the location, for anything that is not one.
    """
    lines = lines_of(path)
    header = _header(path, lines)
    end = next((k for k in range(header.end, len(lines)) if _END.match(lines[k])), len(lines))
    values = free_values(path, lines[header.end : end], header.end + 1)
    if len(values) != header.count:
        raise FormatError(
            f"{path}:{header.count_index + 1}: NPTS is {header.count}, but {len(values)} values follow"
        )
    title, event, *remarks = (*header.texts, "", "")
    component = event.rsplit(",", 1)[-1].strip() if "," in event else ""
    notes = {
        "title": title,
        "event": event,
        COMPONENT: component,
        "remarks": " | ".join(filter(None, remarks)),
    }
    name = component or event or header.quantity or "record"
    channel = Channel(name, header.unit, values, description=event or title)
    return Measurement("peer", (Series((channel,), header.step),), {k: v for k, v in notes.items() if v})


def write(path: Path, measurement: Measurement) -> tuple[str, ...]:
    """Write one component in the common form: four header lines, five columns of E15.7.

    Values keep 8 digits, the step all. Values in other units than G, CM/S/S, M/S/S, CM/S, M/S, CM and M are
    converted; without a unit, there is no line of units. Raises FormatError.
    """
    channel, step = channel_of(measurement, path, _TITLE)
    values, unit, lines = in_units(channel, path, _TITLE, ("", *_WRITTEN))
    event = line_of(measurement.notes.get("event", "") or channel.name, 200)
    # Whatever the words are, the header's own must be told from them.
    title = line_of(measurement.notes.get("title", ""), 200) or "RECORD"
    header = [_harmless(title), _harmless(event)]
    if unit:
        quantity, text = _WRITTEN[unit]
        header.append(f"{quantity} TIME SERIES IN UNITS OF {text}")
    header.append(f"NPTS= {len(values):6d}, DT= {step!r} SEC")
    with replacing(path) as file:
        file.write("\n".join([*header, rows_of(values, "%15.7E", 5)]).encode())
    kept = ("title", "event", COMPONENT)
    return lines + left_out(measurement, measurement.series[0], kept) + step_line(step, number_of(repr(step)))


def recognises(head: bytes) -> bool:
    """Return whether the first lines have NPTS with DT, or a line of units as only PEER files have."""
    lines = [line[:_MAX_LINE_LENGTH] for line in head_lines(head, _HEADER_LINES)]
    counted = any(_TRAILING.search(line) or _COUNTING.search(line) for line in lines)
    return counted or any(_UNIT.search(line) and re.search(r"TIME (SERIES|HISTORY)", line) for line in lines)


def _header(path: Path, lines: list[str]) -> _Header:
    heads = [line[:_MAX_LINE_LENGTH] for line in lines[:_HEADER_LINES]]
    count_index, count = _find_count(path, heads)
    step_index, step = _find_step(path, heads)
    unit_index, quantity, unit = _find_unit(path, heads)
    end = max(count_index, step_index, unit_index) + 1
    while end < len(heads) and _TEXTS.match(heads[end]) and not _NO_TEXTS.match(heads[end]):
        end += 1
    used = {count_index, step_index, unit_index}
    texts = tuple(line.strip() for k, line in enumerate(heads[:end]) if k not in used)
    return _Header(count, count_index, step, quantity, unit, texts, end)


def _find_count(path: Path, heads: list[str]) -> tuple[int, int]:
    for index, line in enumerate(heads):
        if (match := _COUNT.search(line)) is not None:
            return index, int(match[1])
        if (match := _TRAILING.search(line)) is not None:
            return index, int(match["count"])
    raise FormatError(f"{path}:1: no NPTS and DT in the first {_HEADER_LINES} lines, not a PEER file")


def _find_step(path: Path, heads: list[str]) -> tuple[int, float | None]:
    for index, line in enumerate(heads):
        match = _TRAILING.search(line) or _STEP.search(line)
        if match is None:
            continue
        if re.match(r",\d", match["rest"]):
            column = match.end("step") + 1
            raise FormatError(f"{path}:{index + 1}:{column}: decimal comma in DT: use a decimal point")
        milli = "milli" in match.re.groupindex and match["milli"] is not None
        step = scaled_number(match["step"], -3 if milli else 0)
        if step is None or not step > 0.0:
            raise FormatError(f"{path}:{index + 1}: DT is {match['step']}, must be above zero")
        return index, step
    return -1, None


def _find_unit(path: Path, heads: list[str]) -> tuple[int, str, str]:
    """Return the line of units, the quantity and the unit that it names; -1, "" and "" without one."""
    for index, line in enumerate(heads):
        match = _UNIT.search(line)
        if match is None or not match[1].strip():
            continue
        rest = match[1].strip().rstrip(".,;:")
        text = rest if si_unit(rest) else rest.split()[0].rstrip(".,;:")
        named = _QUANTITY.search(line)
        quantity = named[1].lower() if named else ""
        meaning = si_unit(text)
        if quantity and meaning and meaning.dimension != _DIMENSIONS[quantity]:
            raise FormatError(
                f"{path}:{index + 1}:{match.start(1) + 1}: {quantity} in {text}, which is a unit of "
                f"{meaning.dimension or meaning.symbol}"
            )
        return index, quantity, plain_unit(text)
    return -1, "", ""


def _harmless(text: str) -> str:
    """Return words that no line of the header can be taken for."""
    patterns = (_COUNT, _STEP, _TRAILING, _UNIT)
    return "RECORD" if any(pattern.search(text) for pattern in patterns) else text


FORMAT: Final = Format(
    "peer", "PEER AT2, VT2, DT2", (".at2", ".vt2", ".dt2"), recognises, read, report_renames(write, read)
)
