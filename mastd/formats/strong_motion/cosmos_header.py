"""Headers of COSMOS V1 and V2 files: where a channel's sections are, and what their numbers mean.

Each channel has lines of text, then four sections, each begun by a line with a count and a Fortran format:
integers, reals, comments, values. Source: COSMOS Strong Motion Data Format, version 1.20.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

from mastd.errors import FormatError
from mastd.formats.core.text_numbers import Layout, header_fields, layout_of, number_of, scaled_number
from mastd.formats.core.units import si_unit
from mastd.formats.strong_motion.common import iso_time, plain_unit

UNIT_CODES: Final = {
    2: "g",
    4: "cm/s2",
    5: "cm/s",
    6: "cm",
    7: "in/s2",
    8: "in/s",
    9: "in",
    10: "gal",
    11: "mg",
    50: "counts",
    51: "V",
    52: "mV",
}
"""Meaning of the code of units."""
LEVEL, QUANTITY, UNITS, AZIMUTH, RELATIVE_AZIMUTH, YEAR, MONTH, DAY, HOUR, MINUTE = (
    0,
    1,
    2,
    53,
    54,
    39,
    41,
    42,
    43,
    44,
)
"""Places in the integer header, from 0 on."""
SECOND, STEP_MS, LENGTH, PEAK, PEAK_TIME = 29, 61, 62, 63, 64
"""Places in the real header, from 0 on."""
MAX_TEXT_LINES: Final = 60
LINE: Final = 200
"""Characters of a line of text that are looked at."""

_HEADER: Final = re.compile(
    r"\s{0,20}(?P<count>\d{1,7})\s{1,9}(?P<kind>Integer|Real)-header\s{1,9}values\s{1,9}follow\s{1,9}on\s{1,9}"
    r"(?P<lines>\d{1,7})\s{1,9}lines?\s{0,9},?\s{0,9}Format\s{0,9}=\s{0,9}(?P<layout>\(.*)",
    re.IGNORECASE,
)
_COMMENTS: Final = re.compile(r"\s{0,20}(?P<count>\d{1,7})\s{1,9}Comment\s{1,9}line", re.IGNORECASE)
_DATA: Final = re.compile(
    r"\s{0,20}(?P<count>\d{1,10})\s{1,9}(?P<what>[A-Za-z][^,]{0,60}?)\s{1,9}(?:pts|points)\b(?P<rest>.*)",
    re.IGNORECASE,
)
_DATA_UNIT: Final = re.compile(
    r"units\s{0,9}=\s{0,9}(?P<unit>[^,(]{0,40})(?:\(\s{0,9}(?P<code>\d{1,4})\s{0,9}\))?", re.I
)
_DATA_LAYOUT: Final = re.compile(r"Format\s{0,9}=\s{0,9}(?P<layout>\(.*)", re.IGNORECASE)
_UNKNOWN: Final = re.compile(
    r"unknown.*:\s{0,20}(?P<integer>-?\d{1,9})\s{0,9},\s{0,9}(?P<real>-?[\d.]{1,20})", re.I
)
_CHANNEL: Final = re.compile(
    r"Sta\s{1,9}Cha\w{0,5}\.?\s{0,9}:?\s{0,9}(?P<number>\d{1,5}|--)\s{0,9}:?\s{0,9}(?P<words>[^(]{0,60})",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class ChannelHead:
    """What the sections before the values say; places are indices of lines.

    ``step`` in s, None where it is not stated. ``integers`` and ``reals`` have None for what is marked as
    unknown; ``unknown`` is the mark of the values.
    """

    text: tuple[str, ...]
    integers: tuple[int | None, ...]
    reals: tuple[float | None, ...]
    comments: tuple[str, ...]
    what: str
    unit: str
    count: int
    step: float | None
    layout: Layout
    data_line: int
    unknown: float | None

    @property
    def number(self) -> str:
        """The station's number of the channel, "" without one."""
        match = self._channel()
        return match["number"].strip("-") if match else ""

    @property
    def component(self) -> str:
        """The direction in the text's words, else as azimuth in degrees; "" without one."""
        match = self._channel()
        texts = match["words"].strip() if match else ""
        azimuth = self.integers[AZIMUTH] if len(self.integers) > AZIMUTH else None
        return texts or ("" if azimuth is None else f"{azimuth} deg")

    @property
    def start(self) -> str:
        """The time of the first value in ISO 8601, "" where it is not stated to the second."""
        indices = (YEAR, MONTH, DAY, HOUR, MINUTE)
        if len(self.integers) <= max(indices) or len(self.reals) <= SECOND:
            return ""
        second = self.reals[SECOND]
        year, month, day, hour, minute = (self.integers[index] for index in indices)
        if second is None or year is None or month is None or day is None or hour is None or minute is None:
            return ""
        universal = any(re.search(r"start time.{0,60}(UTC|GMT)", line, re.IGNORECASE) for line in self.text)
        return iso_time(year, month, day, hour, minute, second, timedelta() if universal else None)

    def real(self, index: int) -> float | None:
        """Return a number of the real header, None where it is missing or unknown."""
        return self.reals[index] if index < len(self.reals) else None

    def _channel(self) -> re.Match[str] | None:
        matches = (_CHANNEL.search(line) for line in self.text)
        return next((match for match in matches if match is not None), None)


def begins_header(line: str) -> bool:
    """Return whether a line begins the section of integers, after the text."""
    match = _HEADER.match(line[:LINE])
    return match is not None and match["kind"].lower() == "integer"


def channel_head(path: Path, lines: Sequence[str], begin: int) -> ChannelHead:
    """Return the sections before the values of the channel whose text begins at an index of ``lines``.

    Raises FormatError with the location.
    """
    position = next(
        (k for k in range(begin, min(len(lines), begin + MAX_TEXT_LINES)) if begins_header(lines[k])), None
    )
    if position is None:
        raise FormatError(
            f"{path}:{begin + 1}: no line like '100 Integer-header values follow on 10 lines' follows"
        )
    text = tuple(line[:LINE].strip() for line in lines[begin:position])
    unknown = next((match for line in text if (match := _UNKNOWN.search(line))), None)
    no_integer = number_of(unknown["integer"]) if unknown else -999.0
    no_real = number_of(unknown["real"]) if unknown else -999.0
    texts, position = _numbers(path, lines, position, "integer")
    integers = tuple(_known_integer(unit_text, no_integer) for unit_text in texts)
    texts, position = _numbers(path, lines, position, "real")
    reals = tuple(value if (value := number_of(unit_text)) != no_real else None for unit_text in texts)
    step = _step(path, texts, reals, position)
    comments, position = _comments(path, lines, position)
    what, count, unit, layout = _data_line(path, lines, position, integers)
    return ChannelHead(text, integers, reals, comments, what, unit, count, step, layout, position, no_real)


def _numbers(path: Path, lines: Sequence[str], index: int, kind: str) -> tuple[list[str], int]:
    """Return the fields of a section of numbers, and the index of the line behind it."""
    match = _HEADER.match(lines[index][:LINE]) if index < len(lines) else None
    if match is None or match["kind"].lower() != kind:
        raise FormatError(
            f"{path}:{index + 1}: no line like '100 {kind.title()}-header values follow on 10 lines'"
        )
    layout = layout_of(match["layout"])
    count, size = int(match["count"]), int(match["lines"])
    if layout is None:
        raise FormatError(
            f"{path}:{index + 1}: the format {match['layout'][:30]!r} has no columns like (10I8)"
        )
    behind = index + 1 + size
    if behind > len(lines) or count > size * layout.fields:
        raise FormatError(f"{path}:{index + 1}: states {count} values on {size} lines, which are missing")
    return header_fields(lines[index + 1 : behind], layout)[:count], behind


def _known_integer(text: str, unknown: float | None) -> int | None:
    value = number_of(text)
    return None if value is None or value == unknown or not value.is_integer() else int(value)


def _step(path: Path, texts: list[str], reals: tuple[float | None, ...], index: int) -> float | None:
    if len(reals) <= STEP_MS or reals[STEP_MS] is None:
        return None
    step = scaled_number(texts[STEP_MS], -3)
    if step is None or not step > 0.0:
        raise FormatError(
            f"{path}:{index}: real-header value {STEP_MS + 1}, the step, is {texts[STEP_MS]} ms"
        )
    return step


def _comments(path: Path, lines: Sequence[str], index: int) -> tuple[tuple[str, ...], int]:
    match = _COMMENTS.match(lines[index][:LINE]) if index < len(lines) else None
    if match is None:
        raise FormatError(f"{path}:{index + 1}: no line like '2 Comment line(s) follow'")
    begin, end = index + 1, index + 1 + int(match["count"])
    # Writers count the lines of comments wrongly; each begins with a bar.
    bars = begin
    while bars < len(lines) and lines[bars].lstrip().startswith("|"):
        bars += 1
    end = bars if bars != begin or end > len(lines) else end
    return tuple(line[:LINE].strip().lstrip("|").strip() for line in lines[begin:end]), end


def _data_line(
    path: Path, lines: Sequence[str], index: int, integers: tuple[int | None, ...]
) -> tuple[str, int, str, Layout]:
    match = _DATA.match(lines[index][:LINE]) if index < len(lines) else None
    if match is None:
        raise FormatError(
            f"{path}:{index + 1}: no line like '7000 acceleration pts, units=cm/sec2(04),Format=(8F10.5)'"
        )
    stated = _DATA_LAYOUT.search(match["rest"])
    layout = layout_of(stated["layout"]) if stated else None
    if layout is None:
        raise FormatError(f"{path}:{index + 1}: states no column format like (8F10.5)")
    named = _DATA_UNIT.search(match["rest"])
    text = plain_unit(named["unit"]) if named else ""
    code = int(named["code"]) if named and named["code"] else None
    header = integers[UNITS] if len(integers) > UNITS else None
    units = {"text": text, "code": UNIT_CODES.get(code or -1, ""), "header": UNIT_CODES.get(header or -1, "")}
    known = {name: unit for name, unit in units.items() if si_unit(unit) is not None}
    if len({si_unit(unit) for unit in known.values()}) > 1:
        stated_text = ", ".join(f"{unit} by its {name}" for name, unit in known.items())
        raise FormatError(f"{path}:{index + 1}: states contradicting units: {stated_text}")
    return match["what"], int(match["count"]), next(iter(known.values()), text), layout
