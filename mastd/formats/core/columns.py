"""CSV tables of numbers in SI whose first line names the columns, unit included (``x_m``, ``roll_rad``)."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TextIO

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import FormatError

# Problems that one message tells at most.
_MAX_PROBLEMS = 20


def read_columns(path: Path, names: Sequence[str]) -> FloatArray:
    """Return the columns ``names`` of a CSV file as (rows, columns), whatever their order in the file.

    Other columns are ignored. Raises FormatError, one line for each problem with its place: missing columns,
    short and long lines, cells that are not finite numbers, no rows, or a file that cannot be read.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = list(csv.reader(file, strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise FormatError(f"{path}: cannot be read: {reason}") from error
    header = [cell.strip() for cell in lines[0]] if lines else []
    missing = [name for name in names if name not in header]
    if missing:
        raise FormatError(
            f"{path}:1:1: the first line must name the columns {', '.join(names)}; "
            f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
        )
    indices = [header.index(name) for name in names]
    rows: list[list[float]] = []
    problems: list[str] = []
    for number, cells in enumerate(lines[1:], start=2):
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) > len(header):
            problems.append(f"{path}:{number}: {len(cells)} cells below {len(header)} columns")
        row = []
        for name, index in zip(names, indices, strict=True):
            text = cells[index].strip() if index < len(cells) else ""
            value = _number(text)
            if value is None:
                problems.append(f"{path}:{number}:{index + 1}: {name}: {text!r} is not a finite number")
            else:
                row.append(value)
        rows.append(row)
    if problems:
        hidden = len(problems) - _MAX_PROBLEMS
        more = [f"{path}: and {hidden} more problems"] if hidden > 0 else []
        raise FormatError("\n".join(problems[:_MAX_PROBLEMS] + more))
    if not rows:
        raise FormatError(f"{path}: no rows below the names of the columns")
    return np.array(rows, dtype=np.float64)


def write_columns(file: TextIO, names: Sequence[str], rows: Iterable[Sequence[float | int | None]]) -> None:
    """Write rows below the names of their columns; None leaves a cell empty. Numbers keep every digit."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        writer.writerow(["" if value is None else repr(value) for value in row])


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in text else None
