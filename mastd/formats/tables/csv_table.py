"""Tables of numbers in text (CSV, TSV, columns parted by blanks, one column): reader and writer.

The format of last resort: any text with a table of numbers is taken. What the columns mean is read above them
(``mastd.formats.tables.csv_header``). A first column of times, by its name, its unit or, without a header, by
rising evenly, is the axis: even within its printed digits (``mastd.formats.core.even_times``), or kept as it
is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Final

import numpy as np
import orjson

from mastd.arrays import FloatArray
from mastd.errors import FormatError
from mastd.formats.core.even_times import even, printed
from mastd.formats.core.files import MAX_TEXT, content_of, is_text, replacing
from mastd.formats.core.measurement import (
    HEAD,
    Channel,
    Format,
    Measurement,
    Series,
    lost_descriptions,
    one_series,
)
from mastd.formats.core.units import si_unit
from mastd.formats.tables.csv_header import (
    BLANK,
    MAX_NAME_LENGTH,
    TIMES,
    Start,
    cells_of,
    is_skipped,
    number_of,
    split_name,
    start_of,
)

TITLE: Final = "CSV table"
_CHUNK: Final = 1 << 22
_ROWS: Final = 512
_MAX_PROBLEMS: Final = 20
_MAX_HEADER_LENGTH: Final = 1 << 20
_MAX_CELL_LENGTH: Final = 400
_MAX_UNIT_LENGTH: Final = 60
_SEEN: Final = 64
"""Lines at each end whose printed digits are looked at."""
_PLAIN: Final = b"0123456789+-.eE, \n"
"""All that numbers of the fast way are written with."""
_LEADING_ZERO: Final = re.compile(rb"\s*[+-]?\d*,0\d+\s*")
_MARKS: Final = '"#%;,\t'


def read(path: Path) -> Measurement:
    """Read a table; empty cells are NaN, and counted in a warning.

    Raises FormatError, one line with the location for each problem: lines of another number of cells, texts,
    decimal commas, times that do not rise, a count above the table that is not that of its lines.
    """
    content = _plain_ends(content_of(path, MAX_TEXT))
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FormatError(f"{path}: is UTF-16 text, save it as UTF-8")
    if not is_text(content[:HEAD]):
        raise FormatError(f"{path}: is not a text file")
    head = content[:_MAX_HEADER_LENGTH].split(b"\n")
    start = start_of(path, [_decoded(line) for line in head])
    if start is None:
        raise FormatError(f"{path}: contains no table of numbers")
    begin = sum(len(line) + 1 for line in head[: start.line])
    _refuse_comma(path, head, start)
    table = _numbers(path, content, begin, start)
    if start.count is not None and start.count != len(table):
        raise FormatError(f"{path}:{start.count_line + 1}: states {start.count} values, {len(table)} follow")
    return _measurement(_Source(path, content, begin, start), table)


def recognises(head: bytes) -> bool:
    """Return whether a text has a table of numbers, or one with decimal commas."""
    if not is_text(head):
        return False
    lines = _plain_ends(head).split(b"\n")
    if len(head) >= HEAD and len(lines) > 1:
        lines.pop()
    try:
        return start_of(Path(), [_decoded(line) for line in lines]) is not None
    except FormatError:
        return True


def write(path: Path, measurement: Measurement) -> tuple[str, ...]:
    """Write one series: notes as ``# key: value``, one line of ``name [unit]``, then the numbers.

    The first column is the time, exactly start + k · step, in s, where the series has one. NaN leaves a cell
    empty, or, where no time stands in the line, is written as such. Numbers keep every digit. Returns what is
    not kept; raises FormatError, also for infinite values.
    """
    series = one_series(measurement, path, TITLE)
    if not series.channels:
        raise FormatError(f"{path}: {TITLE} cannot hold a series without channels")
    for channel in series.channels:
        if np.isinf(channel.values).any():
            raise FormatError(f"{path}: {TITLE} cannot hold the infinite values of {channel.name}")
    lost = lost_descriptions(series)
    if series.step is not None and series.count < 2:
        lost.append(
            f"the step of {series.step!r} {series.axis_unit} is not written: it cannot be derived "
            "from one value"
        )
    axis = None if series.abscissae is None and series.step is None else series.axis_values()
    columns = [] if axis is None else [axis]
    columns += [channel.values for channel in series.channels]
    above = f"{series.axis} [{series.axis_unit}]" if series.axis_unit else series.axis
    header = [] if axis is None else [above]
    header += [_heading(channel, lost) for channel in series.channels]
    empty = b"nan" if axis is None else b""
    with replacing(path) as file:
        file.write("".join(_note_lines(measurement, lost)).encode())
        file.write((",".join(header) + "\n").encode())
        for first in range(0, series.count, _ROWS):
            block = np.column_stack([column[first : first + _ROWS] for column in columns])
            text = orjson.dumps(block, option=orjson.OPT_SERIALIZE_NUMPY)[2:-2].replace(b"],[", b"\n")
            file.write(text.replace(b"null", empty) if np.isnan(block).any() else text)
            file.write(b"\n")
    return tuple(lost)


def _note_lines(measurement: Measurement, lost: list[str]) -> Iterator[str]:
    for key, value in measurement.notes.items():
        name = " ".join(key.replace(":", " ").replace(",", " ").replace(";", " ").split())[:60].strip()
        text = " ".join(value.split())
        if name and text:
            yield f"# {name}: {text}\n"
        if (name, text) != (key, value):
            lost.append(f"the note {key[:40]!r} is written as {name!r}: {text[:40]!r}")


def _heading(channel: Channel, lost: list[str]) -> str:
    """Return the cell above a channel, which the reader splits into the same name and unit."""
    unit = " ".join(channel.unit.replace("[", "(").replace("]", ")").split())[:_MAX_UNIT_LENGTH].strip()
    name = " ".join(channel.name.split())[: MAX_NAME_LENGTH - len(unit) - 3].strip()
    if (name, unit) != (channel.name, channel.unit):
        kept = f"{name[:40]!r} [{unit[:40]}]"
        lost.append(f"name and unit of {channel.name[:40]!r} [{channel.unit[:40]}] are written as {kept}")
    plain = name and "_" not in name and split_name(name) == (name, "") and number_of(name) is None
    cell = name if plain and not unit else f"{name} [{unit}]"
    return '"' + cell.replace('"', '""') + '"' if any(mark in cell for mark in _MARKS) else cell


def _plain_ends(content: bytes) -> bytes:
    """Return a text with all line ends as LF, without the marks with which old programs begin and end it."""
    content = content.removeprefix(b"\xef\xbb\xbf").rstrip(b"\x1a")
    if b"\r" in content:
        content = content.replace(b"\r\r\n", b"\n").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return content


def _decoded(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("latin-1")


def _refuse_comma(path: Path, head: list[bytes], start: Start) -> None:
    """Raise FormatError where two columns without names are one of decimal commas: ``0,05`` is no pair."""
    if (start.delimiter, start.columns, start.names) != (",", 2, None):
        return
    for number, line in enumerate(head[start.line :], start.line + 1):
        if _LEADING_ZERO.fullmatch(line) is not None:
            location = f"{path}:{number}:{line.index(b',') + 1}"
            raise FormatError(
                f"{location}: decimal comma in {line.decode().strip()[:20]!r}: use a decimal point"
            )


def _numbers(path: Path, content: bytes, begin: int, start: Start) -> FloatArray:
    """Return all numbers from ``begin`` on, (rows, columns)."""
    blocks: list[FloatArray] = []
    problems: list[str] = []
    line = start.line
    while begin < len(content) and len(problems) < _MAX_PROBLEMS:
        end = content.rfind(b"\n", begin, begin + _CHUNK) + 1
        if end == 0:
            end = content.find(b"\n", begin) + 1 or len(content)
        chunk = content[begin:end]
        block = _fast(chunk, start)
        blocks.append(_slow(path, chunk, line, start, problems) if block is None else block)
        line += chunk.count(b"\n")
        begin = end
    if len(problems) >= _MAX_PROBLEMS:
        problems.append(f"{path}: more problems may follow")
    if problems:
        raise FormatError("\n".join(problems))
    return np.concatenate(blocks)


def _fast(chunk: bytes, start: Start) -> FloatArray | None:
    """Return the numbers of whole lines, None where there is anything but plain numbers in equal lines."""
    if start.delimiter == BLANK:
        chunk = chunk.replace(b"\t", b" ")
        while b"  " in chunk:
            chunk = chunk.replace(b"  ", b" ")
        chunk = chunk.replace(b"\n ", b"\n").replace(b" \n", b"\n").strip(b" ")
    if start.delimiter != ",":
        if b"," in chunk:
            return None
        chunk = chunk.replace(start.delimiter.encode(), b",")
    if chunk.translate(None, _PLAIN):
        return None
    block = _json_rows(chunk, start.columns)
    return block if block is not None else _json_rows(_as_json(chunk), start.columns)


def _json_rows(chunk: bytes, columns: int) -> FloatArray | None:
    try:
        rows = orjson.loads(b"[[" + chunk.rstrip(b"\n").replace(b"\n", b"],[") + b"]]")
        block = np.array(rows, dtype=np.float64)
    except (ValueError, OverflowError):
        return None
    return block if block.ndim == 2 and block.shape[1] == columns else None


def _as_json(chunk: bytes) -> bytes:
    """Return plain numbers without what only JSON minds: plus signs, and points with no digit before them."""
    chunk = b"\n" + chunk
    for before in (b",", b"\n"):
        chunk = chunk.replace(before + b"+", before).replace(before + b".", before + b"0.")
    return chunk.replace(b"-.", b"-0.")[1:]


def _slow(path: Path, chunk: bytes, line: int, start: Start, problems: list[str]) -> FloatArray:
    """Return the numbers of whole lines, the first of them ``line`` (from 0 on), adding to the problems."""
    rows: list[list[float]] = []
    delimiter = None if start.delimiter == BLANK else start.delimiter
    for number, content in enumerate(chunk.split(b"\n"), line + 1):
        if len(content) > _MAX_CELL_LENGTH * start.columns + HEAD:
            problems.append(f"{path}:{number}: {len(content)} bytes in one line of {start.columns} columns")
            break
        text = _decoded(content)
        row = _plain_row(text, delimiter)
        if row is not None and len(row) == start.columns:
            rows.append(row)
            continue
        if is_skipped(text, start.delimiter):
            continue
        cells = cells_of(text, start.delimiter)
        if len(cells) != start.columns:
            problems.append(f"{path}:{number}: {len(cells)} cells, the table has {start.columns} columns")
            cells = []
        values = [number_of(cell) for cell in cells]
        if None in values:
            problems.append(_complaint(path, number, text, cells[values.index(None)]))
        elif values:
            rows.append([value for value in values if value is not None])
        if len(problems) >= _MAX_PROBLEMS:
            break
    return np.array(rows, dtype=np.float64).reshape(-1, start.columns)


def _plain_row(text: str, delimiter: str | None) -> list[float] | None:
    """Return the numbers of a line as Python reads them, None where that may be something else."""
    if "_" in text or not text.isascii():
        return None
    try:
        return [float(cell) for cell in text.split(delimiter)]
    except ValueError:
        return None


def _complaint(path: Path, number: int, text: str, cell: str) -> str:
    location = f"{path}:{number}:{text.find(cell) + 1}"
    if "," in cell:
        return f"{location}: comma in {cell[:20]!r}: use a decimal point"
    return f"{location}: {cell[:20]!r} is not a number"


@dataclass(frozen=True)
class _Source:
    """A text, where its table begins, and how its lines are found again for a message."""

    path: Path
    content: bytes
    begin: int
    start: Start

    def location(self, row: int) -> str:
        """Position of a row of the table: the beginning of a message."""
        seen = -1
        for number, line in enumerate(self.content[self.begin :].split(b"\n"), self.start.line + 1):
            seen += not is_skipped(_decoded(line), self.start.delimiter)
            if seen == row:
                return f"{self.path}:{number}"
        return str(self.path)

    def first_texts(self) -> list[str]:
        """The first cells of some lines at both ends."""
        maximum = 256 * _SEEN
        last = max(self.begin, len(self.content) - maximum)
        begin, end = self.content[self.begin : self.begin + maximum], self.content[last:]
        lines = [*begin.split(b"\n")[:_SEEN], *end.rstrip().split(b"\n")[1:][-_SEEN:]]
        delimiter = self.start.delimiter
        return [cells[0] for line in lines if (cells := cells_of(_decoded(line), delimiter))]


def _measurement(source: _Source, table: FloatArray) -> Measurement:
    start = source.start
    warnings: list[str] = []
    names = list(start.names or (f"column {k}" for k in range(1, start.columns + 1)))
    units = list(start.units or [""] * start.columns)
    if start.columns > 1 and not (start.names and names[-1]) and np.isnan(table[:, -1]).all():
        table = table[:, :-1]
    if empty := int(np.count_nonzero(np.isnan(table))):
        warnings.append(f"{empty} cells are empty or marked as missing: read as NaN")
    if infinite := int(np.count_nonzero(np.isinf(table))):
        warnings.append(f"{infinite} cells are infinite")
    columns = list(np.ascontiguousarray(table.T))
    series = Series((), start.step)
    unit = _time_unit(source, names[0], units[0], columns, warnings)
    if unit is not None:
        series = _on_times(source, columns[0], unit, warnings)
    channels = tuple(
        Channel(names[k] or f"column {k + 1}", units[k], column)
        for k, column in enumerate(columns)
        if k or unit is None
    )
    return Measurement("csv", (replace(series, channels=channels),), start.notes, tuple(warnings))


def _time_unit(
    source: _Source, name: str, unit: str, columns: list[FloatArray], warnings: list[str]
) -> str | None:
    """Return the unit of the first column as a time, "" for one that is not stated, None if it is no time."""
    if len(columns) < 2:
        return None
    rising = bool(np.all(np.diff(columns[0]) > 0.0)) and len(columns[0]) > 1
    if source.start.names is None:
        if len(columns) != 2 or not rising or even(columns[0], printed(source.first_texts())) is None:
            return None
        warnings.append(
            "no column names: the first column, which increases evenly, is used as time without a unit"
        )
        return ""
    meaning = si_unit(unit)
    known = unit if meaning is not None and meaning.symbol == "s" else None
    if name.lower() not in TIMES and name.lower().rpartition("_")[0] not in TIMES:
        return known if rising else None
    if not unit:
        warnings.append(f"{name} states no unit")
        return ""
    if known is None:
        warnings.append(f"{name}: {unit!r} is not a unit of time: the column is read as a channel")
    return known


def _on_times(source: _Source, times: FloatArray, unit: str, warnings: list[str]) -> Series:
    """Return the axis that a column of times gives, without channels: in s, or in no unit for ""."""
    with np.errstate(invalid="ignore"):
        wrong = np.flatnonzero(~(np.diff(times, prepend=-np.inf) > 0.0))
    if len(wrong):
        row = int(wrong[0])
        before = f"{times[row]:.15g} after {times[row - 1]:.15g}" if row else f"{times[row]:.15g}"
        raise FormatError(f"{source.location(row)}: the time does not increase: {before}")
    found = even(times, printed(source.first_texts()))
    meaning = si_unit(unit)
    factor, axis_unit = (1.0, "") if meaning is None else (meaning.factor, "s")
    if found is None:
        return Series((), None, abscissae=times * factor, axis_unit=axis_unit)
    if found.warning:
        warnings.append(found.warning)
    step, start = _product(found.step, factor), _product(float(times[0]), factor)
    return Series((), step, start, axis_unit=axis_unit)


def _product(value: float, factor: float) -> float:
    """Return the product of what two numbers are written as: 0.3 ms is 0.0003 s."""
    return value if factor == 1.0 else float(Fraction(repr(value)) * Fraction(repr(factor)))


FORMAT: Final = Format(
    name="csv",
    title=TITLE,
    suffixes=(".csv", ".tsv", ".txt", ".dat", ".asc"),
    recognises=recognises,
    read=read,
    write=write,
)
