"""PEER strong-motion text files (.AT2, .VT2, .DT2): reader and writer.

The layout varies between writers: the line with the count and the step may be the third or the fourth, in
either of two forms; values stand in one to many columns. So everything is found by its pattern, never by the
number of a line, and the count in the header must agree with the values found.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mastd.errors import FormatError
from mastd.units import STANDARD_GRAVITY

_HEADER_LINES = 10

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[EeDd][+-]?\d+)?"
_NAMED = re.compile(rf"NPTS\s*=\s*(\d+)\s*,?\s*DT\s*=\s*({_NUMBER})", re.IGNORECASE)
_TRAILING = re.compile(rf"^\s*(\d+)\s+({_NUMBER})\s*,?\s*NPTS\s*,\s*DT", re.IGNORECASE)
_DECIMAL_COMMA = re.compile(r"\d*,\d")
_UNITS = re.compile(
    r"(ACCELERATION|VELOCITY|DISPLACEMENT).*UNITS\s+OF\s+(CM/SEC/SEC|CM/S/S|CM/S2|CM/SEC|CM/S|CM|G)\b",
    re.IGNORECASE,
)
# One value. Fields may touch, so an exponent takes two digits where a digit and a point follow ("E-010.23"),
# and an exponent without its letter has exactly three digits, which is when Fortran leaves the letter out.
_VALUE = re.compile(
    r"\s*([+-]?(?:\d+\.?\d*|\.\d+))"
    r"(?:[EeDd]([+-]?(?:\d{2}(?=\d*\.)|\d{1,3}))|([+-]\d{3})(?![\d.]))?"
)
_FOLLOWERS = ("", *" \t+-.0123456789")
_END = re.compile(r"^\s*end\b", re.IGNORECASE)

Quantity = Literal["acceleration", "velocity", "displacement"]
_SCALES = {
    "G": STANDARD_GRAVITY,
    "CM/SEC/SEC": 0.01,
    "CM/S/S": 0.01,
    "CM/S2": 0.01,
    "CM/SEC": 0.01,
    "CM/S": 0.01,
    "CM": 0.01,
}


@dataclass(frozen=True)
class PeerRecord:
    """One component of one record; ``values`` (n,) in SI (m/s², m/s or m), every ``spacing`` s."""

    title: str
    event: str
    quantity: Quantity
    spacing: float
    values: NDArray[np.float64]


def read(path: Path) -> PeerRecord:
    """Read a PEER file; raise FormatError, one line with the place, for anything that is not one."""
    try:
        text = path.read_bytes().decode("utf-8", errors="replace")
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror}") from error
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    count, spacing, count_line = _find_count(path, lines)
    quantity, scale, units_line = _find_units(path, lines)
    first = max(count_line, units_line) + 1
    values = _read_values(path, lines, first)
    if len(values) != count:
        raise FormatError(f"{path}:{count_line + 1}: NPTS is {count}, but {len(values)} values follow")
    header = [line.strip() for k, line in enumerate(lines[:first]) if k not in (count_line, units_line)]
    return PeerRecord(
        title=header[0] if header else "",
        event=header[1] if len(header) > 1 else "",
        quantity=quantity,
        spacing=spacing,
        values=np.array(values) * scale,
    )


def write(path: Path, record: PeerRecord) -> None:
    """Write a record in the common form: four header lines, five columns, units of g, cm/s or cm."""
    units, scale = {
        "acceleration": ("G", STANDARD_GRAVITY),
        "velocity": ("CM/S", 0.01),
        "displacement": ("CM", 0.01),
    }[record.quantity]
    header = [
        record.title,
        record.event,
        f"{record.quantity.upper()} TIME SERIES IN UNITS OF {units}",
        f"NPTS= {len(record.values):6d}, DT= {record.spacing!r} SEC",
    ]
    scaled = record.values / scale
    rows = ["".join(f"{value:15.7E}" for value in scaled[k : k + 5]) for k in range(0, len(scaled), 5)]
    path.write_text("\n".join([*header, *rows, ""]), encoding="utf-8")


def _find_count(path: Path, lines: list[str]) -> tuple[int, float, int]:
    for index, line in enumerate(lines[:_HEADER_LINES]):
        match = _NAMED.search(line) or _TRAILING.search(line)
        if match is None:
            continue
        rest = line[match.end(2) :]
        if _DECIMAL_COMMA.match(rest):
            raise FormatError(f"{path}:{index + 1}:{match.end(2) + 1}: decimal comma in DT, write a point")
        spacing = float(re.sub("[Dd]", "E", match[2]))
        if not (0.0 < spacing < float("inf")):
            raise FormatError(f"{path}:{index + 1}: DT is {match[2]}, it must be above zero")
        return int(match[1]), spacing, index
    raise FormatError(f"{path}:1: no NPTS and DT in the first {_HEADER_LINES} lines, not a PEER file")


def _find_units(path: Path, lines: list[str]) -> tuple[Quantity, float, int]:
    for index, line in enumerate(lines[:_HEADER_LINES]):
        match = _UNITS.search(line)
        if match is not None:
            quantity = match[1].lower()
            unit = match[2].upper()
            return quantity, _SCALES[unit], index  # type: ignore[return-value]
    raise FormatError(
        f"{path}:1: no line like 'ACCELERATION TIME SERIES IN UNITS OF G' in the first {_HEADER_LINES} lines"
    )


def _read_values(path: Path, lines: list[str], first: int) -> list[float]:
    values: list[float] = []
    for index in range(first, len(lines)):
        line = lines[index].rstrip()
        if _END.match(line):
            break
        position = 0
        while position < len(line):
            match = _VALUE.match(line, position)
            if match is None:
                raise FormatError(_complaint(path, index, line, position))
            exponent = match[2] or match[3]
            value = float(f"{match[1]}e{exponent}" if exponent else match[1])
            position = match.end()
            follower = line[position : position + 1]
            together = follower == "." and "." in match[1]
            if together or follower not in _FOLLOWERS or not math.isfinite(value):
                raise FormatError(_complaint(path, index, line, match.start(1)))
            values.append(value)
    return values


def _complaint(path: Path, index: int, line: str, position: int) -> str:
    start = position + len(line[position:]) - len(line[position:].lstrip())
    word = line[start:].split(maxsplit=1)[0]
    place = f"{path}:{index + 1}:{start + 1}"
    if "," in word:
        return f"{place}: comma in {word[:20]!r}, write decimals with a point and part values by blanks"
    return f"{place}: {word[:20]!r} is not a number"
