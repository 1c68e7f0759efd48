"""Numbers as Fortran and its heirs write them, free or in columns; complaints name line and column.

Read are: points without digits before or behind (``.5``, ``5.``), exponents with E or D, exponents of three
digits without their letter (``5.68-304``, which Fortran writes when the field is full), fields that touch
(``-.5E-03-.6E-03``, ``0.1E-010.2E-02``). Refused are what can be read in two ways, decimal commas, what is
not a number, and numbers that are not finite. Source: the edit descriptors of ISO/IEC 1539-1.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import FormatError

NUMBER: Final = r"[+-]?(?:\d{1,40}\.?\d{0,40}|\.\d{1,40})(?:[EeDd][+-]?\d{1,3})?"
"""One number inside a header line, for a regular expression around it."""

_ORDINARY: Final = b"0123456789+-.E \t\n"
_LONG_EXPONENT: Final = re.compile(r"E[+-]?\d{4}")
_BARE_EXPONENT: Final = re.compile(r"\.\d*[+-]\d{3}(?![\d.])")
# An exponent has two digits where the next field follows at once, with at most one digit before its point.
# Without its letter it has three, and only behind a point: whole numbers that touch have none.
_VALUE: Final = re.compile(
    r"[ \t]*(?P<mantissa>[+-]?(?:(?P<pointed>\d+\.\d*|\.\d+)|\d+))"
    r"(?:[EeDd](?:(?P<closed>[+-]?\d{2})(?=\d?\.)|(?P<exponent>[+-]?\d{1,3}))"
    r"|(?(pointed)(?P<bare>[+-]\d{3})(?![\d.])|(?!)))?",
    re.ASCII,
)
_BEHIND: Final = ("", *" \t+-")
_MAX_TOKEN: Final = 24
_BLOCK: Final = 500
"""Lines that are tried at once, and looked at one by one only if that fails."""
_LAYOUT: Final = re.compile(
    r"\(*\s*(?:1P,?)?\s*(?P<fields>\d{1,3})?\s*\(?\s*(?:1P,?)?\s*(?:E[NS]?|[FDGI])(?P<width>\d{1,3})"
    r"(?:\.\d{1,3})?(?:E\d)?\s*\)*",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Layout:
    """Columns of a text: ``fields`` numbers a line, each ``width`` characters wide."""

    fields: int
    width: int


def layout_of(descriptor: str) -> Layout | None:
    """Return the columns that a Fortran format means, ``(8F10.5)`` or ``8(1PE10.4E1)``; None for others."""
    match = _LAYOUT.fullmatch(descriptor.strip()[:40])
    if match is None:
        return None
    layout = Layout(int(match["fields"] or 1), int(match["width"]))
    return layout if layout.fields and layout.width else None


def number_of(text: str) -> float | None:
    """Parse a finite number, None where the text is none."""
    return scaled_number(text, 0)


def scaled_number(text: str, power: int) -> float | None:
    """Parse a number times 10 to ``power``, rounded once, None where the text is no finite number."""
    match = _VALUE.fullmatch(text.rstrip())
    if match is None or len(text) > 400:
        return None
    value = float(f"{match['mantissa']}e{int(_exponent(match) or 0) + power}")
    return value if math.isfinite(value) else None


def whole_number_of(text: str) -> int | None:
    """Parse an integer (``12``, ``12.``), None where the text is none."""
    value = number_of(text)
    return int(value) if value is not None and value.is_integer() and abs(value) < 2**53 else None


def header_fields(lines: Sequence[str], layout: Layout) -> list[str]:
    """Return the fields of a header's lines, without blanks around them; lines may be short."""
    starts = range(0, layout.fields * layout.width, layout.width)
    return [line[start : start + layout.width].strip() for line in lines for start in starts]


def free_values(path: Path, lines: Sequence[str], first: int) -> FloatArray:
    """Return the numbers (n,) of lines in which blanks, signs or exponents part them.

    ``first`` is the number in the file of the first line. Raises FormatError with line and column.
    """
    found: list[float] = []
    for start in range(0, len(lines), _BLOCK):
        block = lines[start : start + _BLOCK]
        values = _quick("\n".join(block))
        if values is None or any(map(math.isinf, values)):
            values = [
                value
                for number, line in enumerate(block, start=first + start)
                for value in _scanned(path, number, line)
            ]
        found.extend(values)
    return np.array(found, dtype=np.float64)


def fixed_values(path: Path, lines: Sequence[str], first: int, layout: Layout) -> FloatArray:
    """Return the numbers (n,) of lines in columns, whose last ones may be missing at a line's end.

    ``first`` is the number in the file of the first line. Raises FormatError with line and column.
    """
    width, longest = layout.width, layout.fields * layout.width
    rows = [line.rstrip() for line in lines]
    for number, row in enumerate(rows, start=first):
        if len(row) > longest:
            raise FormatError(
                f"{path}:{number}:{longest + 1}: the line continues after its {layout.fields} fields of "
                f"{width} characters"
            )
    text = "".join(row.ljust(-(-len(row) // width) * width) for row in rows)
    values = _quick_fields(text, width)
    if values is not None and np.isfinite(array := np.array(values, dtype=np.float64)).all():
        return array
    found = []
    for number, row in enumerate(rows, start=first):
        for start in range(0, len(row), width):
            field = row[start : start + width]
            value = number_of(field)
            if value is None:
                phrase = field.strip()
                column = start + (len(field) - len(field.lstrip()) if phrase else 0)
                raise FormatError(_location_and_text(path, number, column, phrase[:_MAX_TOKEN]))
            found.append(value)
    return np.array(found, dtype=np.float64)


def laid_out_values(path: Path, lines: Sequence[str], first: int, layout: Layout, count: int) -> FloatArray:
    """Return the numbers of lines that are in columns, or parted by blanks where a writer kept to no columns.

    Blanks part them if that gives just the ``count`` of values which the header states; else the columns do.
    Raises FormatError with line and column.
    """
    plain = _plain("\n".join(lines))
    if plain is not None and len(plain.split()) == count and (values := _quick(plain)) is not None:
        array = np.array(values, dtype=np.float64)
        if np.isfinite(array).all():
            return array
    return fixed_values(path, lines, first, layout)


def rows_of(values: FloatArray, field: str, fields: int) -> str:
    """Format values with ``field`` (``%15.7E``), ``fields`` of them a line."""
    lines, rest = divmod(len(values), fields)
    form = (field * fields + "\n") * lines + (field * rest + "\n" if rest else "")
    return form % tuple(values.tolist())


def _quick(text: str) -> list[float] | None:
    """Return the numbers of a text in which blanks or signs part all of them, None for any other."""
    plain = _plain(text)
    if plain is None:
        return None
    try:
        return list(map(float, plain.split()))
    except ValueError:
        return _quick_signed(plain)


def _quick_signed(plain: str) -> list[float] | None:
    """Return numbers that touch, parted by their signs; None where a sign may stand for an exponent."""
    if _BARE_EXPONENT.search(plain):
        return None
    parted = plain.replace("-", " -").replace("+", " +").replace("E -", "E-").replace("E +", "E+")
    try:
        return list(map(float, parted.split()))
    except ValueError:
        return None


def _quick_fields(text: str, width: int) -> list[float] | None:
    plain = _plain(text)
    if plain is None:
        return None
    fields = np.frombuffer(plain.encode("ascii"), dtype=f"S{width}").tolist()
    try:
        return list(map(float, fields))
    except ValueError:
        return None


def _plain(text: str) -> str | None:
    """Return a text with E for D, None where it has characters of no number or exponents of four digits."""
    text = text.replace("D", "E").replace("d", "E").replace("e", "E")
    if not text.isascii() or text.encode("ascii").translate(None, _ORDINARY):
        return None
    return None if _LONG_EXPONENT.search(text) else text


def _scanned(path: Path, number: int, line: str) -> list[float]:
    line = line.rstrip()
    values = []
    position = 0
    while position < len(line):
        match = _VALUE.match(line, position)
        if match is None:
            raise FormatError(_complaint(path, number, line, position))
        position = match.end()
        behind = line[position : position + 1]
        value = float(f"{match['mantissa']}e{_exponent(match) or 0}")
        parted = behind in _BEHIND or match["closed"] is not None
        if not (parted and math.isfinite(value)):
            raise FormatError(_complaint(path, number, line, match.start("mantissa")))
        values.append(value)
    return values


def _exponent(match: re.Match[str]) -> str | None:
    return match["closed"] or match["exponent"] or match["bare"]


def _complaint(path: Path, number: int, line: str, position: int) -> str:
    """Return what is wrong with the word at, or behind blanks at, a position of a line."""
    start = position
    while start < len(line) and line[start] in " \t":
        start += 1
    tokens = line[start : start + _MAX_TOKEN].split(maxsplit=1)
    return _location_and_text(path, number, start, tokens[0] if tokens else "")


def _location_and_text(path: Path, number: int, start: int, text: str) -> str:
    location = f"{path}:{number}:{start + 1}"
    if not text:
        return f"{location}: a field contains no number"
    if "," in text:
        return f"{location}: comma in {text!r}: use a decimal point and separate values by blanks"
    return f"{location}: {text!r} is not a number"
