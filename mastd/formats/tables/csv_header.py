"""Where the numbers of a text table begin, what parts them, and what stands above them.

Nothing is told from a file's name. A table begins at the first line of numbers that is followed by another of
as many, or by nothing. Above it there may be names of columns, with units in them or in a line of their own,
comments (``#``, ``%``, ``;``, ``//``), and other lines, which are notes.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from mastd.errors import FormatError
from mastd.formats.core.units import si_unit

BLANK: Final = " "
"""Any number of blanks and tabs."""
_DELIMITERS: Final = ("\t", ";", ",", BLANK)
_MARKS: Final = ("#", "%", "//", ";")
_NUMBER: Final = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+))(?:[eEdD]([+-]?\d{1,5})|([+-]\d{3}))?")
_COMMA_NUMBER: Final = re.compile(r"[+-]?\d*,\d+(?:[eEdD][+-]?\d{1,5})?")
NO_NUMBER: Final = frozenset({"", "nan", "-nan", "+nan", "na", "n/a", "null"})
_INFINITE: Final = frozenset({"inf", "-inf", "+inf", "infinity", "-infinity", "+infinity"})
_KEY: Final = re.compile(r"([^:,;\t]{1,60}?)\s*:\s+(\S.*)")
_BRACKETS: Final = re.compile(r"(.*?)\s*\[([^\[\]]*)\]")
_TOKENS: Final = re.compile(r'"[^"]*"(?:\s*\[[^\]]*\])?|[^\s\[(]+(?:\s*\[[^\]]*\]|\s*\([^)]*\))?')
_OWN_UNITS: Final = {
    "s": "s",
    "m": "m",
    "ms": "m/s",
    "ms2": "m/s2",
    "ms3": "m/s3",
    "rad": "rad",
    "rads": "rad/s",
    "rads2": "rad/s2",
    "N": "N",
    "Nm": "N m",
    "Pa": "Pa",
    "kg": "kg",
    "m3s": "m3/s",
}
"""Ends of the names of the product's own tables of SI columns (``vx_ms``, ``roll_rad``)."""
TIMES: Final = frozenset(
    {"time", "t", "times", "zeit", "temps", "tiempo", "tempo", "timestamp", "elapsed time"}
)
"""Names of a column of times, small letters."""
_MAX_NOTES: Final = 500
MAX_NAME_LENGTH: Final = 200
_MAX_NAMES_LENGTH: Final = 4000


@dataclass(frozen=True)
class Start:
    """Begin of a table: ``line`` of its first numbers (from 0 on), ``columns`` parted by ``delimiter``.

    ``names`` and ``units`` of the columns, None where no line names them. ``count`` and ``step``: values of
    the one column and what is between them, where a line above states both.
    """

    line: int
    delimiter: str
    columns: int
    names: tuple[str, ...] | None = None
    units: tuple[str, ...] = ()
    notes: dict[str, str] = field(default_factory=dict)
    count: int | None = None
    count_line: int = 0
    step: float | None = None


def start_of(path: Path, lines: Sequence[str]) -> Start | None:
    """Return the line at which the table of a text begins, None if there is none in these lines.

    Raises FormatError with the location where lines above contradict it, or numbers have decimal commas.
    """
    above: list[int] = []
    odd_numbers: list[tuple[int, str, int]] = []
    for index, line in enumerate(lines):
        if is_skipped(line, ""):
            continue
        delimiter = _delimiter(line)
        if delimiter is None:
            above.append(index)
            continue
        columns = len(cells_of(line, delimiter))
        follower = _next(lines, index)
        following = None if follower is None else _columns(lines[follower], delimiter)
        if follower is None or following == columns:
            return _with_header(path, lines, Start(index, delimiter, columns), above, odd_numbers)
        if following is None and _delimiter(lines[follower]) is None:
            odd_numbers.append((index, delimiter, columns))
            continue
        stated = _count_and_step(line) if delimiter in ("\t", BLANK) else None
        if stated is not None and _columns(lines[follower], BLANK) == 1:
            start = Start(follower, BLANK, 1, count=stated[0], count_line=index, step=stated[1])
            return _with_header(path, lines, start, above, odd_numbers)
        raise FormatError(f"{path}:{follower + 1}: unequal number of values: line {index + 1} has {columns}")
    _refuse_commas(path, lines, range(len(lines)))
    return None


def is_skipped(line: str, delimiter: str) -> bool:
    """Return whether a line is empty or a comment; ``;`` that separates columns begins no comment."""
    text = line.strip()
    if not text:
        return True
    if not text.startswith(_MARKS):
        return False
    return not text.startswith(";") or (delimiter != ";" and _columns(line, ";") is None)


def cells_of(line: str, delimiter: str) -> list[str]:
    """Return the cells of a line, without blanks and quotes around them."""
    if delimiter == BLANK and '"' not in line:
        return line.split()
    if '"' not in line:
        return [cell.strip() for cell in line.split(delimiter)]
    try:
        row = next(csv.reader([line.strip()], delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error:
        row = line.split(delimiter)
    return [cell.strip() for cell in row if cell or delimiter != BLANK]


def number_of(cell: str) -> float | None:
    """Parse the number of a cell, NaN for an empty or missing one; None for a text.

    Exponents may have a D, or no letter where they have three digits (``5.68-304``).
    """
    match = _NUMBER.fullmatch(cell)
    if match is not None:
        exponent = match[2] or match[3]
        return float(f"{match[1]}e{exponent}" if exponent else match[1])
    text = cell.lower()
    if text in NO_NUMBER:
        return float("nan")
    return float(text) if text in _INFINITE else None


def split_name(cell: str) -> tuple[str, str]:
    """Return name and unit of ``name [unit]``, ``name (unit)`` or ``name, unit``; "" for no unit.

    What stands in brackets is a unit; in parentheses or behind a comma only what is known as one.
    """
    if len(cell) > MAX_NAME_LENGTH:
        return cell, ""
    match = _BRACKETS.fullmatch(cell)
    if match is not None:
        return match[1], match[2].strip()
    if cell.endswith(")"):
        for index, letter in enumerate(cell):
            inner = cell[index + 1 : -1]
            if letter == "(" and (si_unit(inner) is not None or inner == "-"):
                return cell[:index].rstrip(), inner.strip()
    name, comma, unit = cell.rpartition(",")
    if comma and si_unit(unit) is not None:
        return name.rstrip(), unit.strip()
    return cell, ""


def _delimiter(line: str) -> str | None:
    """Return what parts the numbers of a line, None if it has anything but numbers."""
    for delimiter in _DELIMITERS:
        columns = _columns(line, delimiter)
        if columns is not None and (columns > 1 or delimiter == BLANK):
            return delimiter
    return None


def _columns(line: str, delimiter: str) -> int | None:
    """Return how many numbers a line has, None if it has anything else or none at all."""
    if delimiter not in line.strip() and delimiter != BLANK:
        return 1 if number_of(line.strip().strip('"')) is not None else None
    cells = cells_of(line, delimiter)
    if not any(cells) or any(number_of(cell) is None for cell in cells):
        return None
    return len(cells)


def _next(lines: Sequence[str], index: int) -> int | None:
    return next((k for k in range(index + 1, len(lines)) if not is_skipped(lines[k], "")), None)


def _count_and_step(line: str) -> tuple[int, float] | None:
    words = line.split()
    if len(words) != 2 or not words[0].isdecimal() or len(words[0]) > 12:
        return None
    step = number_of(words[1])
    return (int(words[0]), step) if step is not None and 0.0 < step < float("inf") else None


def _with_header(
    path: Path, lines: Sequence[str], start: Start, above: list[int], odd_numbers: list[tuple[int, str, int]]
) -> Start:
    """Return a table's begin with what stands above it."""
    for index, delimiter, columns in odd_numbers:
        if (delimiter, columns) == (start.delimiter, start.columns):
            wrong = next(k for k in above if k > index)
            raise FormatError(
                f"{path}:{wrong + 1}: {lines[wrong].strip()[:40]!r} between rows of {columns} numbers"
            )
    _refuse_commas(path, lines, above)
    rows = [_header_cells(lines[index], start) for index in above]
    taken = 0
    names: list[str] | None = None
    units: list[str] = []
    if rows and _are_names(rows[-1], start.columns):
        names, taken = rows[-1], 1
        if len(rows) > 1 and _are_units(names) and _are_names(rows[-2], start.columns):
            units, names, taken = [_bare(cell) for cell in names], rows[-2], 2
    elif rows and start.delimiter != BLANK and len(rows[-1]) > 1:
        raise FormatError(f"{path}:{above[-1] + 1}: {len(rows[-1])} names above {start.columns} columns")
    elif rows and start.delimiter == "," and start.columns == 2 and split_name(rows[-1][0])[1]:
        raise FormatError(
            f"{path}:{start.line + 1}: one name above 2 columns: a decimal comma (write a point), or one "
            "name too few"
        )
    comments = [index for index in range(start.line) if is_comment(lines[index])]
    if names is None and comments and comments[-1] == start.line - 1 and start.columns > 1:
        text = lines[comments[-1]].strip().lstrip("#%;/").strip()
        cells = _header_cells(text, start)
        if _KEY.fullmatch(text) is None and _are_names(cells, start.columns):
            names = cells
            comments.pop()
    rest = [lines[index] for index in above[: len(above) - taken]]
    rest += [lines[index] for index, _, _ in odd_numbers]
    notes = _notes([lines[index].strip().lstrip("#%;/") for index in comments], rest)
    if names is None:
        return replace(start, notes=notes)
    found, of_found = _named(names, units)
    return replace(start, names=found, units=of_found, notes=notes)


def is_comment(line: str) -> bool:
    """Return whether a line has text after a comment mark."""
    return bool(line.strip()) and is_skipped(line, "")


def _header_cells(line: str, start: Start) -> list[str]:
    """Return the cells of a line above a table, as many as it has columns if that can be."""
    if start.columns == 1:
        return [line.strip().strip('"')]
    if start.delimiter != BLANK:
        cells = cells_of(line, start.delimiter)
        while len(cells) > start.columns and not cells[-1]:
            cells.pop()
        if 1 < len(cells) == start.columns - 1:
            cells.append("")
        return cells
    if len(line) > _MAX_NAMES_LENGTH:
        return line.split()
    for cells in (line.split(), re.split(r"\t+| {2,}", line.strip()), _TOKENS.findall(line)):
        if len(cells) == start.columns:
            return [cell.strip().strip('"') for cell in cells]
    return line.split()


def _are_names(cells: list[str], columns: int) -> bool:
    """Whether cells may be names: as many as columns, the first none that is a number, and no decimals."""
    if len(cells) != columns or not any(cells) or (cells[0] and number_of(cells[0]) is not None):
        return False
    return not any(number_of(cell) is not None and "." in cell for cell in cells)


def _are_units(cells: list[str]) -> bool:
    return all(
        not cell or cell == "-" or si_unit(cell) is not None or _bare(cell) != cell for cell in cells
    ) and any(cells)


def _bare(cell: str) -> str:
    pairs = {"[": "]", "(": ")"}
    bare = cell[1:-1].strip() if len(cell) > 1 and pairs.get(cell[0]) == cell[-1] else cell
    return "" if bare == "-" else bare


def _named(names: list[str], units: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if units:
        return tuple(names), tuple(units)
    pairs = [split_name(name) for name in names]
    if not any(unit for _, unit in pairs) and not any("[" in name for name in names):
        ends = [name.rpartition("_") for name in names]
        if all(begin and end in _OWN_UNITS for begin, _, end in ends):
            of_time = ends[0][0].lower() in TIMES and ends[0][2] == "ms"
            found = [_OWN_UNITS[end] for _, _, end in ends]
            return tuple(names), ("ms" if of_time else found[0], *found[1:])
    return tuple(name for name, _ in pairs), tuple("" if unit == "-" else unit for _, unit in pairs)


def _notes(comments: list[str], rest: list[str]) -> dict[str, str]:
    notes: dict[str, str] = {}
    for kind, texts in (("comment", comments), ("title", rest)):
        number = 0
        for text in texts[:_MAX_NOTES]:
            line = text.strip()
            match = _KEY.fullmatch(line)
            if match is not None and match[1] not in notes:
                notes[match[1]] = match[2]
            elif line:
                number += 1
                notes[kind if number == 1 else f"{kind} {number}"] = line
    return notes


def _refuse_commas(path: Path, lines: Sequence[str], indices: Iterable[int]) -> None:
    """Raise FormatError where a line would be one of numbers if it had points for commas."""
    for index in indices:
        line = lines[index]
        for delimiter in ("\t", ";", BLANK):
            cells = cells_of(line, delimiter)
            commas = [cell for cell in cells if _COMMA_NUMBER.fullmatch(cell)]
            if commas and all(cell in commas or number_of(cell) is not None for cell in cells):
                column = line.index(commas[0]) + 1
                raise FormatError(
                    f"{path}:{index + 1}:{column}: decimal comma in {commas[0][:20]!r}: use a decimal point"
                )
