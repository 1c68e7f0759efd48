"""Speeds beside other load on the machine: all take turns in one run, ratios are taken turn by turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from mastd.arrays import FloatArray
from mastd.bench.registry import Figure, figure, ratio

Key = TypeVar("Key")


def interleaved(measures: Mapping[Key, Callable[[], float]], rounds: int) -> dict[Key, FloatArray]:
    """Return what each measure gave in each round, (rounds,), after one call each that is not counted.

    The one that begins a round is another each time, so that none is always the first after a pause.
    """
    for measure in measures.values():
        measure()
    keys = list(measures)
    values = {key: np.empty(rounds) for key in keys}
    for iteration in range(rounds):
        first = iteration % len(keys) if keys else 0
        for key in keys[first:] + keys[:first]:
            values[key][iteration] = measures[key]()
    return values


def ratio_of_turns(over: FloatArray, under: FloatArray) -> Figure:
    """Return the median over the rounds of ``over`` / ``under``, both (rounds,): a slow round slows both."""
    return ratio(float(np.median(over / under)), len(over))


def own_work(drives: Sequence[FloatArray]) -> Figure:
    """Return the figure of what the work itself takes along several drives, each (rounds, places), in µs.

    At each place the median of the rounds counts: other load on the machine comes at another place each time,
    a step that needs more work comes at the same one.
    """
    return figure(np.concatenate([np.median(drive, axis=0) for drive in drives]), "us")


def tail_over_median(measured: Figure) -> Figure:
    """Return how many times the median the 99.9th percentile is; NaN for a figure that has none."""
    high = float("nan") if measured.p999 is None else measured.p999
    return ratio(high / measured.median, measured.runs)


def straight_line(sizes: Sequence[int], times: FloatArray) -> tuple[float, float]:
    """Return the slope of the straight line through times against sizes, and the farthest time from it.

    The line has the least relative errors; the farthest is |time / line − 1|: 0 for a cost that is linear.
    """
    columns = np.column_stack((np.ones(len(sizes)), np.asarray(sizes, dtype=np.float64)))
    offset, slope = np.linalg.lstsq(columns / times[:, None], np.ones(len(times)), rcond=None)[0]
    return float(slope), float(np.max(np.abs(times / (columns @ (offset, slope)) - 1.0)))
