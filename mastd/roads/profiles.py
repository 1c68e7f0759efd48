"""Roads of two tracks: random ones of the classes of ISO 8608, and measured ones from CSV files."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from mastd.arrays import BoolArray, FloatArray
from mastd.errors import FormatError
from mastd.formats.core.columns import read_columns
from mastd.roads.entries import checked_size
from mastd.roads.iso8608 import RoadClass, random_road
from mastd.roads.tracks import faded_in, rolled_over, tracks
from mastd.units import LENGTH

WAVES: Final = (0.011, 2.83)
"""Spatial frequencies of a random road (cycles/m): those of ISO 8608's octaves from 0.0156 to 2."""
MAX_GAP: Final = 5.0
"""Between two rows of a measured profile, m."""
STEEPEST: Final = 20.0
"""Mean slope between two rows of a measured profile from which on its units are not believed."""
REACHES: Final = (0.25, 0.5, 1.0)
"""Distances (m) over which no measured profile rises or falls by more than ``MAX_RISE``: kerbs and ramps
are far below, while even a smooth road changes by millimetres there. Several, for waves as long as one."""
MAX_RISE: Final = 1.0
"""Metres; between rows that are further apart, as many as there are metres between them."""
_SAME_SPACING: Final = 1e-6


def random_tracks(
    road_class: RoadClass,
    track_width: float,
    *,
    start: float = 0.0,
    length: float = 1000.0,
    spacing: float = 0.05,
    fade: float = 10.0,
    seed: int = 0,
) -> FloatArray:
    """Return the parameters of a random road of a class, as two correlated tracks (``iso8608``).

    It begins at x = ``start`` and rises from level to its full unevenness over ``fade``; ``length`` is its
    whole length (all m). The same ``seed`` (≥ 0) makes the same road. Raises ValueError for lengths or a
    seed that make no road.
    """
    if not (0.0 <= fade < length < np.inf and spacing > 0.0):
        raise ValueError(
            f"length {length!r}, fade {fade!r}, spacing {spacing!r} m: expected 0 ≤ fade < length"
        )
    if not 2.0 * spacing * WAVES[1] < 1.0:
        raise ValueError(
            f"spacing {spacing!r} m: the shortest wave, {1.0 / WAVES[1]:.3g} m, needs two of them"
        )
    if not seed >= 0:
        raise ValueError(f"seed {seed!r}: expected an integer ≥ 0")
    count = int(np.ceil(length / spacing))
    checked_size(2 * count)
    road = random_road(road_class, WAVES, track_width, count * spacing, [seed])
    return tracks(start, spacing, faded_in(road.one_period(count, 0.0), spacing, fade), track_width)


def measured_tracks(
    path: Path, track_width: float, *, start: float | None = None, fade: float = 0.0, radius: float = 0.0
) -> FloatArray:
    """Return the parameters of a measured road: a CSV file of ``x_m`` and ``z_m``, the same under both
    tracks, or of ``x_m``, ``left_m`` and ``right_m``. Any other unit of length in a name counts as well
    (``z_mm``).

    ``start`` (m): where the first row is put; None leaves it at its x, and the heights as they are. A road
    that is put elsewhere has the mean height of its first row as zero and is faded in over ``fade`` (m).
    ``radius`` (m) above zero: the road as a rigid wheel feels it (``rolled_over``), for rows that are rougher
    than a wheel. Rows that are not equally spaced are joined by lines, sampled at a quarter of the smallest
    spacing.

    Raises FormatError, one line for each problem with its location.
    """
    columns = _columns_of(path)
    table = read_columns(path, [column.name for column in columns])
    # Numbers that are too large for their differences are no road, which the checks tell.
    with np.errstate(all="ignore"):
        table = table * [column.factor for column in columns]
        _check_rows(path, columns, table)
    x = table[:, 0]
    gaps = np.diff(x)
    spacing = (x[-1] - x[0]) / len(gaps)
    positions, heights = x, table[:, [1, -1]].T
    try:
        if np.abs(gaps - spacing).max() > _SAME_SPACING * spacing or (radius > 0.0 and spacing > radius / 10):
            wanted = min(0.25 * gaps.min(), radius / 20 if radius > 0.0 else np.inf)
            count = int(np.ceil((x[-1] - x[0]) / wanted)) + 1
            checked_size(2 * count)
            positions = np.linspace(x[0], x[-1], count)
            spacing = (x[-1] - x[0]) / (count - 1)
            heights = np.array([np.interp(positions, x, height) for height in heights])
        if radius > 0.0:
            heights = rolled_over(heights, spacing, radius)
        if start is None:
            return tracks(float(x[0]), float(spacing), heights, track_width)
        level = heights - heights[:, 0].mean()
        return tracks(start, float(spacing), faded_in(level, float(spacing), fade), track_width)
    except ValueError as error:
        raise FormatError(f"{path}: {error}") from error


@dataclass(frozen=True)
class _Column:
    """A column of a profile: its name, and the metres of its unit."""

    name: str
    unit: str = "m"
    factor: float = 1.0

    def describe(self, value: float) -> str:
        """Return name and value as written in the file."""
        return f"{self.name} {value / self.factor:g}"

    @property
    def doubt(self) -> str:
        return f"is it in {'metres' if self.unit == 'm' else self.unit}?"


def _columns_of(path: Path) -> tuple[_Column, ...]:
    """Return the columns of x and heights that the first line names, those in m where it names none."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            first = next(csv.reader(file), [])
    except (OSError, UnicodeDecodeError, csv.Error):
        return _Column("x_m"), _Column("z_m")  # read_columns says what is wrong
    if len(first) == 1 and (separator := next((mark for mark in ";\t" if mark in first[0]), "")):
        raise FormatError(f"{path}:1:1: the first line has {separator!r} between its names, expected a comma")
    named = [cell.strip() for cell in first]
    units = {unit.symbol: float(unit.factor) for unit in LENGTH.units}
    found = {
        what: [
            _Column(name, unit, factor)
            for unit, factor in units.items()
            if (name := f"{what}_{unit}") in named
        ]
        for what in ("x", "z", "left", "right")
    }
    for columns in found.values():
        if len(columns) > 1:
            both = " and ".join(column.name for column in columns)
            raise FormatError(f"{path}:1:1: the first line names {both}, expected only one of them")
    two = bool(found["left"] or found["right"])
    if two and found["z"]:
        raise FormatError(
            f"{path}:1:1: the first line names {found['z'][0].name} and {_left_or_right(found)}, expected "
            "either of them"
        )
    due = ("x", "left", "right") if two else ("x", "z")
    return tuple(found[what][0] if found[what] else _Column(f"{what}_m") for what in due)


def _left_or_right(found: Mapping[str, Sequence[_Column]]) -> str:
    units = {side: found[side][0].unit if found[side] else "m" for side in ("left", "right")}
    return f"left_{units['left']} or right_{units['right']}"


def _check_rows(path: Path, columns: Sequence[_Column], table: FloatArray) -> None:
    """Raise FormatError for the first pair of rows that makes no road; ``table`` in m."""
    if len(table) < 2:
        raise FormatError(f"{path}: one row: a road needs at least two")
    x, of_x = table[:, 0], columns[0]
    gaps = np.diff(x)
    row = _first(~(gaps > 0.0))
    if row:
        before = x[row - 1] / of_x.factor
        raise FormatError(
            f"{path}: data row {row + 1}: {of_x.describe(x[row])} does not increase: {before:g} before"
        )
    row = _first(~(gaps <= MAX_GAP))
    if row:
        raise FormatError(
            f"{path}: data row {row + 1}: {of_x.describe(x[row])} is "
            f"{gaps[row - 1]:g} m after the row before, "
            f"expected at most {MAX_GAP:g} m: {of_x.doubt}"
        )
    for k, column in enumerate(columns[1:], start=1):
        slopes = np.abs(np.diff(table[:, k])) / gaps
        row = _first(~(slopes <= STEEPEST))
        if row:
            raise FormatError(
                f"{path}: data row {row + 1}: {column.describe(table[row, k])} is at a slope of "
                f"{slopes[row - 1]:.3g} from the previous row, maximum {STEEPEST:g}: {column.doubt}"
            )
        _check_rises(path, column, x, table[:, k])


def _check_rises(path: Path, column: _Column, x: FloatArray, heights: FloatArray) -> None:
    """Raise FormatError for the first row that is further above or below one before than roads are."""
    here = np.arange(len(x) - 1)
    for reach in REACHES:
        ahead = np.maximum(np.searchsorted(x, x[:-1] + reach, side="right") - 1, here + 1)
        rises, lengths = np.abs(heights[ahead] - heights[:-1]), x[ahead] - x[:-1]
        wrong = ~(rises <= MAX_RISE * np.maximum(lengths, 1.0))
        if wrong.any():
            before = int(np.argmax(wrong))
            row = ahead[before]
            raise FormatError(
                f"{path}: data row {row + 1}: {column.describe(heights[row])} is "
                f"{rises[before]:.3g} m above or "
                f"below data row {before + 1}, {lengths[before]:.3g} m before: {column.doubt}"
            )


def _first(wrong: BoolArray) -> int:
    """Return the first row (from 0) whose gap to the row before is wrong, 0 if none is."""
    return int(np.argmax(wrong)) + 1 if wrong.any() else 0
