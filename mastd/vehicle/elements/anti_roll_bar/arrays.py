"""Arrays of the anti-roll bars, as the kernels read them."""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import numpy as np

from mastd.arrays import FloatArray, IntArray, aligned_zeros
from mastd.index_table import Entry, index_table, size_of
from mastd.lanes import LANES
from mastd.vehicle.elements.anti_roll_bar.element import AntiRollBar


class BarRow(NamedTuple):
    """An anti-roll bar."""

    force: Annotated[int, Entry("N", "S, an unknown")]
    residual: Annotated[int, Entry("m", "force / stiffness − (z_left − z_right)")]
    compliance: Annotated[int, Entry("m/N", "1 / stiffness")]
    offset: Annotated[int, Entry("m", "z_left − z_right in the design position")]


BAR: Final = index_table(BarRow)


class BarEndRow(NamedTuple):
    """Its end in a corner."""

    point: Annotated[int, Entry("m", "from the body's centre of mass, its axes", 3)]
    sign: Annotated[int, Entry("1", "+1 left, −1 right, 0 no bar in this lane")]
    force: Annotated[int, Entry("N", "of the bar")]
    height: Annotated[int, Entry("m", "of the end above the chassis, times the sign")]


BAR_END: Final = index_table(BarEndRow)


class AntiRollBars(NamedTuple):
    """All bars, and all their ends in the corners."""

    bars: FloatArray
    """(bars, BAR, LANES)."""
    ends: FloatArray
    """(ends, BAR_END, LANES)."""
    bar_of_end: IntArray
    """(ends, LANES): the bar that is fixed here, -1: none."""
    lane_of_end: IntArray


def empty_bars(bars: int, ends: int) -> AntiRollBars:
    """Return the arrays for this many bars and ends."""
    return AntiRollBars(
        aligned_zeros((bars, size_of(BAR), LANES)),
        aligned_zeros((ends, size_of(BAR_END), LANES)),
        np.full((ends, LANES), -1, dtype=np.int64),
        np.zeros((ends, LANES), dtype=np.int64),
    )


def fill_bar(block: AntiRollBars, item: int, lane: int, bar: AntiRollBar) -> None:
    """Write a bar."""
    block.bars[item, BAR.compliance, lane] = 1.0 / bar.stiffness
    block.bars[item, BAR.offset, lane] = bar.point_left[2] - bar.point_right[2]


def fill_end(
    block: AntiRollBars, end_lane: tuple[int, int], bar: tuple[int, int], arm: FloatArray, left: bool
) -> None:
    """Write an end of the bar at (item, lane) ``bar``, its point seen from its body's centre of mass."""
    end, lane = end_lane
    block.ends[end, BAR_END.point : BAR_END.sign, lane] = arm
    block.ends[end, BAR_END.sign, lane] = 1.0 if left else -1.0
    block.bar_of_end[end, lane], block.lane_of_end[end, lane] = bar
