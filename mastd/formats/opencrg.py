"""ASAM OpenCRG 1.2 roads: what a file declares is checked against what it holds, then ``pycrg`` reads it.

``pycrg`` (ASAM's own C library) takes damaged files as they are, so that its reading is used only for what
this module has found whole: as many data as rows and columns are declared, no cell that is no number, units
of metres and radians. Of the file's options the borders are ignored: beyond its ends and edges a road goes on
level. Modifiers are the file's own; where it has none, none are applied. Where stated start and end of the
reference line contradict each other, the end counts.

A cell without a number at either edge of v takes the height of its neighbour towards the middle. Any other is
refused.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mastd.errors import FormatError, UsageError

Array: TypeAlias = NDArray[np.float64]

MOST_MEGABYTES: Final = 64
"""Of a file, as much as a ground's array may take (``mastd.roads.entries``)."""
_TEXT: Final = {"LRFI": (10, 8), "LDFI": (20, 4)}
"""Characters of a number, numbers of a line."""
_BINARY: Final = {"KRBI": ">f4", "KDBI": ">f8"}
_RECORD: Final = 80
_MOST_PROBLEMS: Final = 20
_LINE_UNITS: Final = {
    "reference line phi": "rad",
    "reference line slope": "m/m",
    "reference line banking": "m/m",
}
_AT: Final = re.compile(r"at v\s*=\s*([-+.\deE]+)")
_EVEN: Final = 1e-3
_FILLING: Final = b"\0\x1a"
"""Bytes with which old programs end a text."""
_UNHEARD: Final = logging.NullHandler()


@dataclass(frozen=True, eq=False)
class OpenCrgRoad:
    """A road as stored: u of the first cross section and their spacing (m), reference line (n, 2: x, y),
    v of the heights across (m), absolute heights (n, m)."""

    start: float
    spacing: float
    line: Array
    across: Array
    heights: Array


@dataclass
class _Channel:
    name: str
    unit: str
    line: int


@dataclass
class _Header:
    """What is read of a header; ``numbers`` of $ROAD_CRG with the lines they stand in."""

    numbers: dict[str, tuple[float, int]] = field(default_factory=dict)
    channels: list[_Channel] = field(default_factory=list)
    coding: str = ""
    has_modifiers: bool = False
    lines: int = 0
    problems: list[str] = field(default_factory=list)

    def number(self, key: str, default: float = math.nan) -> float:
        return self.numbers.get(key, (default, 0))[0]


def read_opencrg(path: Path) -> OpenCrgRoad:
    """Return the road of a file (``crg``; formats LRFI, LDFI, KRBI and KDBI).

    Where no range of v is stated, it lies evenly about the reference line. Raises FormatError, one line for
    each problem with its place, for a file that is no whole OpenCRG road or larger than ``MOST_MEGABYTES``,
    and UsageError where ``pycrg`` is not installed.
    """
    content = _content(path)
    header, data = _parse(path, content)
    if header.problems:
        raise FormatError("\n".join(header.problems[:_MOST_PROBLEMS]))
    rows = _declared_rows(path, header)
    values = (_text if header.coding in _TEXT else _binary)(path, header, data, rows)
    sections = [k for k, channel in enumerate(header.channels) if channel.name.startswith("long section")]
    _check_cells(path, header, values, sections)
    _check_across(path, header, len(sections))
    with _ended(path, header, content) as whole:
        return _sampled(path, whole, header, values.shape[0], len(sections))


def _content(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if not size <= MOST_MEGABYTES * 1e6:
            raise FormatError(f"{path}: too large: {size / 1e6:.0f} MB, at most {MOST_MEGABYTES} MB")
        return path.read_bytes()
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror}") from error


def _parse(path: Path, content: bytes) -> tuple[_Header, bytes]:
    """Return what the header says and the bytes after it."""
    found = re.search(rb"^\$\$\$\$[^\n]*\n", content, re.MULTILINE)
    if not found:
        raise FormatError(f"{path}: no line of $$$$ ends the header: no OpenCRG file, or a truncated one")
    header, section = _Header(), ""
    lines = content[: found.start()].decode("latin-1").splitlines()
    header.lines = len(lines) + 1
    for number, line in enumerate(lines, start=1):
        if line.startswith("$"):
            name = line[1:].split("!")[0].split()
            section = name[0].upper() if name else ""
            header.has_modifiers |= section == "ROAD_CRG_MODS"
            if section == "ROAD_CRG_FILE":
                header.problems.append(f"{path}:{number}: the data are in another file, due is one file")
        elif section == "ROAD_CRG" and not line.lstrip().startswith("*"):
            _take_number(path, header, number, line.split("!")[0])
        elif section == "KD_DEFINITION":
            _take_channel(header, number, line.split("!")[0].strip())
    _check_header(path, header)
    return header, content[found.end() :]


def _take_number(path: Path, header: _Header, number: int, line: str) -> None:
    key, equals, text = line.partition("=")
    if not equals:
        return
    try:
        value = float(text.strip().lower().replace("d", "e"))
    except ValueError:
        value = math.nan
    if math.isfinite(value):
        header.numbers[key.strip().lower()] = value, number
    else:
        header.problems.append(f"{path}:{number}: {key.strip()}: {text.strip()!r} is not a finite number")


def _take_channel(header: _Header, number: int, line: str) -> None:
    if line.startswith("#:"):
        header.coding = line[2:6].upper()
    elif line[:2].upper() == "D:":
        name, _, unit = line[2:].partition(",")
        words = " ".join(name.split()).lower()
        header.channels.append(_Channel(words, unit.split(",")[0].strip(), number))


def _check_header(path: Path, header: _Header) -> None:
    problems = header.problems
    if header.coding not in _TEXT and header.coding not in _BINARY:
        known = ", ".join((*_TEXT, *_BINARY))
        problems.append(f"{path}: $KD_Definition: format {header.coding!r} is none of {known}")
    for channel in header.channels:
        section = channel.name.startswith("long section")
        unit = "m" if section else _LINE_UNITS.get(channel.name)
        if unit is None:
            problems.append(f"{path}:{channel.line}: channel {channel.name!r} is not known")
        elif channel.unit != unit:
            problems.append(f"{path}:{channel.line}: {channel.name}: unit {channel.unit!r}, due is {unit}")
    if sum(channel.name.startswith("long section") for channel in header.channels) < 2:
        problems.append(f"{path}: $KD_Definition: due are two long sections or more")
    if not header.number("reference_line_increment") > 0.0:
        problems.append(f"{path}: $ROAD_CRG: REFERENCE_LINE_INCREMENT is missing, or not above 0 m")


def _declared_rows(path: Path, header: _Header) -> int | None:
    """Return how many rows the range of u makes, None where its end is not stated."""
    if "reference_line_end_u" not in header.numbers:
        return None
    start, increment = header.number("reference_line_start_u", 0.0), header.number("reference_line_increment")
    end, line = header.numbers["reference_line_end_u"]
    spacings = (end - start) / increment
    if not (abs(spacings - round(spacings)) < _EVEN and spacings > 0.5):
        raise FormatError(
            f"{path}:{line}: u from {start:g} to {end:g} m is {spacings:.6g} increments of {increment:g} m, "
            "due is a whole number"
        )
    return round(spacings) + 1


def _text(path: Path, header: _Header, data: bytes, rows: int | None) -> Array:
    """Return the cells of formatted data, NaN where a star stands for a number."""
    width, per_line = _TEXT[header.coding]
    columns = len(header.channels)
    lines = [line.rstrip("\r") for line in data.rstrip(_FILLING).decode("latin-1").split("\n")]
    while lines and not lines[-1].strip():
        lines.pop()
    per_row = math.ceil(columns / per_line)
    due = len(lines) if rows is None else rows * per_row
    if len(lines) != due or len(lines) % per_row:
        declared = "whole rows" if rows is None else f"{due} for {rows} rows"
        raise FormatError(
            f"{path}: {len(lines)} lines of data, due are {declared} of {columns} columns, {per_row} a row: "
            "truncated or damaged"
        )
    values = np.full((len(lines) // per_row, columns), np.nan)
    problems: list[str] = []
    for k, line in enumerate(lines):
        row, part = divmod(k, per_row)
        cells = min(per_line, columns - part * per_line)
        number = header.lines + 1 + k
        if len(line) < cells * width or line[cells * width :].strip():
            problems.append(f"{path}:{number}: {len(line)} characters, due are {cells} numbers of {width}")
            continue
        for cell in range(cells):
            text = line[cell * width : (cell + 1) * width].strip()
            if text.startswith("*"):
                continue
            value = _cell(text)
            if value is None:
                problems.append(f"{path}:{number}:{cell * width + 1}: {text!r} is not a finite number")
            else:
                values[row, part * per_line + cell] = value
    if problems:
        raise FormatError("\n".join(problems[:_MOST_PROBLEMS]))
    return values


def _cell(text: str) -> float | None:
    try:
        value = float(text.lower().replace("d", "e"))
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in text else None


def _binary(path: Path, header: _Header, data: bytes, rows: int | None) -> Array:
    """Return the cells of binary data, of which the last record of 80 bytes may be filled up."""
    if rows is None:
        raise FormatError(f"{path}: $ROAD_CRG: REFERENCE_LINE_END_U is missing, which binary data need")
    kind = np.dtype(_BINARY[header.coding])
    columns = len(header.channels)
    due = rows * columns * kind.itemsize
    filled = math.ceil(due / _RECORD) * _RECORD
    if len(data) not in (due, filled):
        raise FormatError(
            f"{path}: {len(data)} bytes of data, due are {rows} rows x {columns} columns x {kind.itemsize} = "
            f"{due}, or {filled} in records of {_RECORD}: truncated, or with line ends converted"
        )
    return np.frombuffer(data[:due], dtype=kind).astype(np.float64).reshape(rows, columns)


def _check_cells(path: Path, header: _Header, values: Array, sections: list[int]) -> None:
    """Raise FormatError for cells without a number that are not alone at an edge of v, and for fewer than
    two rows."""
    if len(values) < 2:
        raise FormatError(f"{path}: {len(values)} rows of data, due are two or more")
    start, increment = header.number("reference_line_start_u", 0.0), header.number("reference_line_increment")
    wrong = ~np.isfinite(values)
    edges = (sections[0], sections[-1])
    if len(sections) > 2:
        for edge, inner in zip(edges, (sections[1], sections[-2]), strict=True):
            wrong[:, edge] &= np.isinf(values[:, edge]) | wrong[:, inner]
    for column in range(values.shape[1]):
        # The first row has no chord before it, so that its heading and slope are not used.
        wrong[0, column] &= column in sections or header.channels[column].name == "reference line banking"
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise FormatError(
            f"{path}: data row {row + 1}, u = {start + row * increment:g} m, {header.channels[column].name}: "
            "no finite number, which only the outermost cell at either edge may be"
        )


def _check_across(path: Path, header: _Header, count: int) -> None:
    """Raise FormatError where the stated v do not rise, or do not make as many long sections as there are."""
    sections = [channel for channel in header.channels if channel.name.startswith("long section")]
    stated = [match for channel in sections if (match := _AT.search(channel.name))]
    if len(stated) == count:
        places = [_cell(match.group(1)) for match in stated]
        for channel, here, after in zip(sections[1:], places, places[1:], strict=False):
            if here is None or after is None or not here < after:
                raise FormatError(f"{path}:{channel.line}: {channel.name}: v must rise from right to left")
        return
    right, left = header.number("long_section_v_right"), header.number("long_section_v_left")
    increment = header.number("long_section_v_increment")
    if not increment > 0.0:
        raise FormatError(f"{path}: $ROAD_CRG: LONG_SECTION_V_INCREMENT is missing, or not above 0 m")
    if math.isfinite(right) and math.isfinite(left):
        due = (left - right) / increment + 1.0
        if not abs(due - count) < _EVEN:
            raise FormatError(
                f"{path}: {count} long sections, due are {due:.6g} from v = {right:g} to {left:g} m every "
                f"{increment:g} m"
            )


@contextmanager
def _ended(path: Path, header: _Header, content: bytes) -> Iterator[Path]:
    """Give a file whose last line of text has an end, without which ``pycrg`` drops it: a copy if need be."""
    text = content.rstrip(_FILLING)
    if header.coding not in _TEXT or text.endswith(b"\n"):
        yield path
        return
    with TemporaryDirectory() as folder:
        copy = Path(folder, "road.crg")
        copy.write_bytes(text.replace(b"\r\n", b"\n").rstrip(b"\r") + b"\n")
        yield copy


def _sampled(path: Path, whole: Path, header: _Header, rows: int, columns: int) -> OpenCrgRoad:
    """Return what ``pycrg`` makes of the file ``whole``, which a user knows as ``path``."""
    pycrg = _pycrg()
    try:
        with pycrg.DataSet.open(whole, apply_modifiers=header.has_modifiers) as dataset:
            grid = dataset.grid()
    except (pycrg.OpenCRGError, OSError) as error:
        raise FormatError(f"{path}: refused by pycrg: {_told(error, path, whole)}") from error
    if grid.z.shape != (rows, columns):
        raise FormatError(f"{path}: {rows} x {columns} heights, of which pycrg reads {grid.z.shape}")
    across = np.asarray(grid.v, dtype=np.float64)
    stated = {"long_section_v_right", "long_section_v_left"} & set(header.numbers)
    if not stated and not any(_AT.search(channel.name) for channel in header.channels):
        # pycrg begins such a road at v = 0.
        across = across - across.mean()
    heights = np.array(grid.z, dtype=np.float64)
    for edge, inner in ((0, 1), (-1, -2)):
        missing = np.isnan(heights[:, edge])
        heights[missing, edge] = heights[missing, inner]
    heights += grid.ref_z[:, np.newaxis] + grid.bank[:, np.newaxis] * across
    u = np.asarray(grid.u, dtype=np.float64)
    return OpenCrgRoad(float(u[0]), float(u[1] - u[0]), np.column_stack([grid.x, grid.y]), across, heights)


def _told(error: Exception, path: Path, whole: Path) -> str:
    return " ".join(str(error).replace(str(whole), str(path)).split())


def _pycrg() -> Any:
    """Return the package, whose messages Python would print where nobody listens to them."""
    logging.getLogger("pycrg").addHandler(_UNHEARD)
    try:
        import pycrg
    except ImportError as error:
        raise UsageError(
            "OpenCRG roads need the package pycrg, which is not installed: pip install pycrg"
        ) from error
    return pycrg
