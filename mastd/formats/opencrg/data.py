"""The numbers after the header of an OpenCRG file, in its four codings: as many as declared, or none.

Text has lines of eight numbers of ten characters (LRFI) or four of twenty (LDFI), and each cross section
begins a new line. Binary has big-endian floats of 4 (KRBI) or 8 bytes (KDBI) one after the other, filled up
to records of 80 bytes or not. A number that is not there is a word that begins with a star, or NaN.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mastd.arrays import FloatArray
from mastd.errors import FormatError
from mastd.formats.opencrg.header import Header, number_of

Bytes = NDArray[np.uint8]
Indices = NDArray[np.intp]

TEXT: Final = {"LRFI": (10, 8), "LDFI": (20, 4)}
"""Characters of a number, numbers of a line."""
BINARY: Final = {"KRBI": ">f4", "KDBI": ">f8"}
RECORD: Final = 80
MAX_CELLS: Final = 8_000_000
"""As many heights as a ground's array may hold (``mastd.roads.entries``)."""
_BLANK, _LINE_END = 32, 10
_FILLING: Final = b"\0\x1a"
"""Bytes with which old programs end a text."""
_MAX_PROBLEMS: Final = 20
_LINES_AT_ONCE: Final = 4096
_BY_CHANCE: Final = 1.0 / 65536.0
"""How often two bytes of a number are CR LF by chance."""
_IN_NUMBERS: Final = np.zeros(256, dtype=bool)
_IN_NUMBERS[list(b"0123456789+-.eEdD ")] = True
_AS_E: Final = np.arange(256, dtype=np.uint8)
_AS_E[list(b"dD")] = ord("e")


def read_cells(header: Header, data: bytes, rows: int | None) -> FloatArray:
    """Return the cells (rows, columns), NaN for those that have no number.

    ``rows`` as declared, None where the header does not tell. Raises FormatError where ``data`` are not as
    many, or a cell is neither a finite number nor missing.
    """
    read = _text if header.coding in TEXT else _binary
    values = read(header, data, rows)
    if len(values) < 2:
        raise FormatError(f"{header.path}: {len(values)} rows of data, expected two or more")
    return values


def _check_count(header: Header, rows: int) -> None:
    if rows * len(header.columns) > MAX_CELLS:
        raise FormatError(
            f"{header.path}: too large: {rows} rows of {len(header.columns)} columns, at most {MAX_CELLS} "
            "numbers"
        )


def _text(header: Header, data: bytes, rows: int | None) -> FloatArray:
    width, per_line = TEXT[header.coding]
    columns = len(header.columns)
    text, size = _lines(data)
    count = text.count(b"\n", 0, size) + 1 if size else 0
    per_row = math.ceil(columns / per_line)
    due = count if rows is None else rows * per_row
    if count != due or count % per_row:
        declared = "whole rows" if rows is None else f"{due} for {rows} rows"
        raise FormatError(
            f"{header.path}: {count} lines of data, expected {declared} of {columns} columns, {per_row} a "
            f"row: {'truncated or damaged' if count <= due else 'damaged, or the header is'}"
        )
    _check_count(header, count // per_row)
    buffer = np.frombuffer(text, dtype=np.uint8, count=size)
    ends = np.append(np.flatnonzero(buffer == _LINE_END), size)
    starts = np.append(0, ends[:-1] + 1)
    values = np.empty((count // per_row, columns))
    problems: list[str] = []
    for part in range(per_row):
        cells = min(per_line, columns - part * per_line)
        for first in range(0, count // per_row, _LINES_AT_ONCE):
            lines = np.arange(first, min(first + _LINES_AT_ONCE, count // per_row)) * per_row + part
            begin, length = starts[lines], ends[lines] - starts[lines]
            wrong = _wrong_lines(buffer, begin, length, cells * width)
            if len(wrong):
                problems += [
                    f"{header.path}:{header.lines + 1 + lines[k]}: {length[k]} characters, expected {cells} "
                    f"numbers of {width}"
                    for k in wrong[:_MAX_PROBLEMS]
                ]
            else:
                characters = buffer[begin[:, np.newaxis] + np.arange(cells * width)]
                block = _numbers(header, characters.reshape(-1, width), lines, width, cells, problems)
                values[first : first + len(lines), part * per_line : part * per_line + cells] = block
            if len(problems) >= _MAX_PROBLEMS:
                raise FormatError("\n".join(problems[:_MAX_PROBLEMS]))
    if problems:
        raise FormatError("\n".join(problems))
    return values


def _lines(data: bytes) -> tuple[bytes, int]:
    """Return text with LF as line ends, and its size without blank lines and marks at its end."""
    text = data.rstrip(_FILLING)
    if b"\r" in text:
        text = text.replace(b"\r\r\n", b"\n").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    end = text.find(b"\n", len(text.rstrip()))
    return text, len(text) if end < 0 else end


def _wrong_lines(buffer: Bytes, begin: Indices, length: Indices, due: int) -> Indices:
    """Return which lines have too few characters, or something after them."""
    rest = length - due
    longest = int(rest.max())
    if longest <= 0:
        return np.flatnonzero(rest < 0)
    wrong = rest < 0
    for k in range(min(longest, RECORD)):
        after = np.minimum(begin + due + k, len(buffer) - 1)
        wrong |= (rest > k) & (buffer[after] != _BLANK)
    for k in np.flatnonzero(rest > RECORD).tolist():
        wrong[k] |= bool((buffer[begin[k] + due : begin[k] + length[k]] != _BLANK).any())
    return np.flatnonzero(wrong)


def _numbers(
    header: Header, texts: Bytes, lines: Indices, width: int, cells: int, problems: list[str]
) -> FloatArray:
    """Return the numbers (lines, cells) of texts (cells, width), NaN where a star stands for one."""
    filled = texts != _BLANK
    first = texts[np.arange(len(texts)), np.argmax(filled, axis=1)]
    missing = first == ord("*")
    wrong = ~missing & ~(_IN_NUMBERS[texts].all(axis=1) & filled.any(axis=1))
    plain = np.where((missing | wrong)[:, np.newaxis], ord("0"), _AS_E[texts])
    try:
        values = np.ascontiguousarray(plain).view(f"S{width}").ravel().astype(np.float64)
    except ValueError:
        values = np.array([_value(bytes(text)) for text in plain])
    for k in np.flatnonzero(wrong | ~np.isfinite(values))[:_MAX_PROBLEMS]:
        text = bytes(texts[k]).decode("latin-1").strip()
        line, cell = divmod(int(k), cells)
        location = f"{header.path}:{header.lines + 1 + lines[line]}:{cell * width + 1}"
        problems.append(f"{location}: {text!r} is not a finite number")
    values[missing] = np.nan
    return values.reshape(-1, cells)


def _value(text: bytes) -> float:
    value = number_of(text.decode("latin-1"))
    return math.nan if value is None else value


def _binary(header: Header, data: bytes, rows: int | None) -> FloatArray:
    if rows is None:
        missing = "REFERENCE_LINE_END_U is missing (required for binary data)"
        raise FormatError(f"{header.path}: $ROAD_CRG: {missing}")
    kind = np.dtype(BINARY[header.coding])
    columns = len(header.columns)
    due = rows * columns * kind.itemsize
    filled = math.ceil(due / RECORD) * RECORD
    if len(data) not in (due, filled):
        raise FormatError(
            f"{header.path}: {len(data)} bytes of data, expected {rows} rows x {columns} columns x "
            f"{kind.itemsize} = {due}, or {filled} in records of {RECORD}: {_damage(data, due, filled, kind)}"
        )
    _check_count(header, rows)
    # Some bytes are numbers that signal when they are taken for one: they are none as well.
    with np.errstate(invalid="ignore"):
        cells = np.frombuffer(data, dtype=kind, count=rows * columns).astype(np.float64)
    values = cells.reshape(rows, columns)
    endless = np.isinf(values)
    if endless.any():
        row, column = np.argwhere(endless)[0]
        raise FormatError(f"{header.path}: data row {row + 1}, {header.columns[column].name}: infinite value")
    return values


def _damage(data: bytes, due: int, filled: int, kind: np.dtype[np.float64]) -> str:
    """Return what has probably happened to binary data of a wrong size."""
    converted = "line ends converted inside (keep *.crg -text in .gitattributes)"
    breaks = data.count(b"\r\n")
    if len(data) > filled:
        unwound = len(data) - breaks
        return f"looks like {converted}" if breaks and unwound in (due, filled) else "more than declared"
    missing = min(size - len(data) for size in (due, filled) if size > len(data))
    # CR LF made LF takes single bytes away, and leaves the filling at the end as it was.
    if breaks or missing % kind.itemsize == 0 or missing > 3.0 + 4.0 * _BY_CHANCE * due:
        return "truncated"
    end = np.frombuffer(data[-kind.itemsize :], dtype=kind) if len(data) >= kind.itemsize else np.zeros(1)
    return f"looks like {converted}" if np.isnan(end[0]) else f"truncated, or with {converted}"
