"""Spring-dampers beyond the linear: damper tables, bump and rebound stops.

The lanes of a spring compute its linear part; where a lane has more, this module adds it, one lane at a time.
A damper table is the monotone cubic through its points (no overshoot, continuous slope), continued straight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.interpolate import PchipInterpolator

from mastd.arrays import FloatArray, IntArray
from mastd.kernel import fused_kernel
from mastd.lanes import LANES
from mastd.vehicle.model.definition import SpringDamper, Stop

_BUMP, _REBOUND, _STOP_FIELDS = 0, 3, 6


class Laws(NamedTuple):
    """Additional force laws of all springs, lane by lane."""

    first_knot: IntArray
    """(springs, LANES): first line of the damper table, -1: no table."""
    knots: IntArray
    """(springs, LANES): lines of the table."""
    stops: FloatArray
    """(springs, 6, LANES): bump and rebound stop: length at contact, stiffness, 1 / doubling; stiffness 0:
    none."""
    tables: FloatArray
    """(lines, 5): rate, then force, slope and the two higher coefficients of the cubic up to the next
    line."""


def pack_laws(springs: Sequence[SpringDamper], places: Mapping[int, tuple[int, int]], items: int) -> Laws:
    """Return the laws of the springs at these places (item, lane) of the springs' block."""
    first = np.full((items, LANES), -1, dtype=np.int64)
    knots = np.zeros((items, LANES), dtype=np.int64)
    stops = np.zeros((items, _STOP_FIELDS, LANES))
    lines: list[FloatArray] = []
    for index, spring in enumerate(springs):
        item, lane = places[index]
        if spring.damper_table is not None:
            first[item, lane] = sum(len(table) for table in lines)
            knots[item, lane] = len(spring.damper_table)
            lines.append(_cubics(spring.damper_table))
        _pack_stop(stops[item, _BUMP : _BUMP + 3, lane], spring.bump_stop)
        _pack_stop(stops[item, _REBOUND : _REBOUND + 3, lane], spring.rebound_stop)
    return Laws(first, knots, stops, np.vstack(lines) if lines else np.zeros((0, 5)))


def _pack_stop(values: FloatArray, stop: Stop | None) -> None:
    if stop is not None:
        values[:] = stop.contact_length, stop.stiffness, 1.0 / stop.doubling


def _cubics(table: FloatArray) -> FloatArray:
    if len(table) == 2:
        slope = (table[1, 1] - table[0, 1]) / (table[1, 0] - table[0, 0])
        return np.array([[*point, slope, 0.0, 0.0] for point in table])
    curve = PchipInterpolator(table[:, 0], table[:, 1])
    lines = np.zeros((len(table), 5))
    lines[:, 0], lines[:, 1], lines[:, 2] = table[:, 0], table[:, 1], curve(table[:, 0], 1)
    lines[:-1, 3], lines[:-1, 4] = curve.c[1], curve.c[0]
    return lines


@fused_kernel
def damper_force(tables: FloatArray, first: int, count: int, rate: float) -> tuple[float, float]:
    """Return force and slope of one damper table at dl/dt = ``rate``."""
    line = first
    if not (rate > tables[first, 0]):
        step = rate - tables[first, 0]
        return tables[first, 1] + tables[first, 2] * step, tables[first, 2]
    for k in range(first + 1, first + count):
        if not (rate > tables[k, 0]):
            break
        line = k
    step = rate - tables[line, 0]
    square, cube = tables[line, 3], tables[line, 4]
    force = tables[line, 1] + step * (tables[line, 2] + step * (square + step * cube))
    return force, tables[line, 2] + step * (2.0 * square + step * 3.0 * cube)


@fused_kernel
def stop_force(stiffness: float, inverse_doubling: float, compression: float) -> tuple[float, float]:
    """Return force and slope of a stop, zero where it is not touched."""
    if not (compression > 0.0):
        return 0.0, 0.0
    ratio = compression * inverse_doubling
    force = stiffness * compression * (1.0 + ratio * ratio)
    return force, stiffness * (1.0 + 3.0 * ratio * ratio)


@fused_kernel
def further_force(laws: Laws, item: int, lane: int, length: float, rate: float) -> tuple[float, float, float]:
    """Return what stops and table add to the force (compression positive), and its slopes by length and
    rate."""
    stops = laws.stops
    bump, bump_slope = stop_force(stops[item, 1, lane], stops[item, 2, lane], stops[item, 0, lane] - length)
    out, out_slope = stop_force(stops[item, 4, lane], stops[item, 5, lane], length - stops[item, 3, lane])
    damper, damper_slope = 0.0, 0.0
    if laws.first_knot[item, lane] >= 0:
        damper, damper_slope = damper_force(
            laws.tables, laws.first_knot[item, lane], laws.knots[item, lane], rate
        )
    return bump - out - damper, -bump_slope - out_slope, -damper_slope
