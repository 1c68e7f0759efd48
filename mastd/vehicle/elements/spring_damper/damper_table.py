"""Damper tables: the monotone cubic through points of rate and force (no overshoot, continuous slope),
continued straight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import scipy

from mastd.arrays import FloatArray, IntArray
from mastd.kernel import fused_kernel
from mastd.lanes import LANES


class DamperTables(NamedTuple):
    """The tables of all spring-dampers."""

    first: IntArray
    """(springs, LANES): first line of the table, -1: no table."""
    lines: IntArray
    """(springs, LANES): number of lines of the table."""
    table: FloatArray
    """(lines, 5): rate, then force, slope and the two higher coefficients of the cubic up to the next
    line."""


def pack_tables(
    tables: Sequence[FloatArray | None], item_lanes: Mapping[int, tuple[int, int]], items: int
) -> DamperTables:
    """Return the tables of the spring-dampers at these places (item, lane)."""
    first = np.full((items, LANES), -1, dtype=np.int64)
    count = np.zeros((items, LANES), dtype=np.int64)
    lines: list[FloatArray] = []
    for index, table in enumerate(tables):
        if table is not None:
            item, lane = item_lanes[index]
            first[item, lane] = sum(len(rows) for rows in lines)
            count[item, lane] = len(table)
            lines.append(_cubics(table))
    return DamperTables(first, count, np.vstack(lines) if lines else np.zeros((0, 5)))


def _cubics(table: FloatArray) -> FloatArray:
    if len(table) == 2:
        slope = (table[1, 1] - table[0, 1]) / (table[1, 0] - table[0, 0])
        return np.array([[*point, slope, 0.0, 0.0] for point in table])
    curve = scipy.interpolate.PchipInterpolator(table[:, 0], table[:, 1])
    lines = np.zeros((len(table), 5))
    lines[:, 0], lines[:, 1], lines[:, 2] = table[:, 0], table[:, 1], curve(table[:, 0], 1)
    lines[:-1, 3], lines[:-1, 4] = curve.c[1], curve.c[0]
    return lines


@fused_kernel
def damper_force(lines: FloatArray, first: int, count: int, rate: float) -> tuple[float, float]:
    """Return force and slope of one damper table at dl/dt = ``rate``."""
    line = first
    if not (rate > lines[first, 0]):
        step = rate - lines[first, 0]
        return lines[first, 1] + lines[first, 2] * step, lines[first, 2]
    for k in range(first + 1, first + count):
        if not (rate > lines[k, 0]):
            break
        line = k
    step = rate - lines[line, 0]
    square, cube = lines[line, 3], lines[line, 4]
    force = lines[line, 1] + step * (lines[line, 2] + step * (square + step * cube))
    return force, lines[line, 2] + step * (2.0 * square + step * 3.0 * cube)


@fused_kernel
def table_force(tables: DamperTables, item: int, lane: int, rate: float) -> tuple[float, float]:
    """Return the force of a damper table, compression positive, and its slope by rate; zeros without one."""
    if tables.first[item, lane] < 0:
        return 0.0, 0.0
    force, slope = damper_force(tables.table, tables.first[item, lane], tables.lines[item, lane], rate)
    return -force, -slope
