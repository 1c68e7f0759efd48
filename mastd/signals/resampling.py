"""Another rate for whole series, without aliasing and without shift.

The ideal low-pass below the lower of both Nyquist frequencies f (Hz), as a sinc under a Kaiser window. Up to
0.9 · f the gain is 1 within 0.01 %, from f on at most -90 dB. The filter is symmetric, so nothing is shifted,
and its gain for a constant is exactly 1.

The filter is read from a fine table at every new place. Where the ratio of the rates is one of small whole
numbers its weights repeat, a block of them is one matrix.

The ends: the series is continued by its own turned about its end point, 2·x(0) - x(k), which keeps value and
slope there, so that an offset does not ring.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Final

import numpy as np

from mastd.arrays import FloatArray, IntArray

PASS_RATIO: Final = 0.9
"""Fraction of the lower Nyquist frequency up to which a series is kept."""
_ATTENUATION: Final = 96.0
_MAX_MATRIX: Final = 1 << 22
"""Weights of a block that repeats."""
_MAX_DRIFT: Final = 1e-6
"""Steps by which the last value may be misplaced for the sake of a ratio of whole numbers."""
_TABLE: Final = 2048
"""Places of the table per zero of the sinc; between them it is read by straight lines, 120 dB below."""
_WEIGHTS_AT_ONCE: Final = 1 << 20
MAX_CHANGE: Final = 1e3
"""Of the rate, up or down."""


def resample(values: FloatArray, step: float, new_step: float) -> FloatArray:
    """Return ``values`` (n, m) or (n,), ``step`` apart, at the places k · ``new_step`` that lie within them.

    The first value stays where it was; the last one is the last whole new step. Steps in s (or m).
    Raises ValueError for values that are not finite, steps that are not positive, and a rate that changes
    more than ``MAX_CHANGE`` times.
    """
    if not (step > 0.0 and new_step > 0.0 and 1.0 / MAX_CHANGE <= new_step / step <= MAX_CHANGE):
        raise ValueError(f"from a step of {step:g} to one of {new_step:g}, {MAX_CHANGE:g} times at most")
    if not np.all(np.isfinite(values)):
        raise ValueError("values that are not finite cannot be resampled")
    if not len(values):
        return values.copy()
    count = new_count(len(values), step, new_step)
    if step == new_step:
        return values.copy()
    table = values.reshape(len(values), -1)
    width = math.ceil(_half_width() * max(1.0, new_step / step)) + 1
    padded = _continued(table, width)
    ratio = Fraction(new_step / step).limit_denominator(_MAX_MATRIX // (2 * width))
    drift = abs(float(ratio - Fraction(new_step) / Fraction(step))) * count
    size = ratio.denominator * (ratio.numerator + 2 * width)
    if size <= _MAX_MATRIX and drift <= _MAX_DRIFT:
        done = _in_blocks(padded, width, ratio, count)
    else:
        done = _point_by_point(padded, width, new_step / step, count)
    return done.reshape(count, *values.shape[1:])


def new_count(count: int, step: float, new_step: float) -> int:
    """Return how many values ``new_step`` apart lie within ``count`` values ``step`` apart."""
    return math.floor((count - 1) * step / new_step * (1.0 + 1e-12) + 1e-9) + 1 if count else 0


def _half_width() -> int:
    """Return zeros of the sinc on either side: Kaiser's formula for the band from PASS_SHARE to 1."""
    return math.ceil((_ATTENUATION - 7.95) / (14.36 * (1.0 - PASS_RATIO) / 2.0) / 2.0)


def _window(position: FloatArray) -> FloatArray:
    """Return the low-pass at ``position``, in zeros of the sinc; the middle of its slope is its corner."""
    corner = (1.0 + PASS_RATIO) / 2.0
    beta = 0.1102 * (_ATTENUATION - 8.7)
    inside = np.sqrt(np.maximum(0.0, 1.0 - (position / _half_width()) ** 2))
    kernel: FloatArray = np.sinc(corner * position) * np.i0(beta * inside)
    return np.where(np.abs(position) < _half_width(), kernel, 0.0)


def _continued(values: FloatArray, width: int) -> FloatArray:
    """Return ``values`` (n, m) with ``width`` rows more at either end, and one behind that never counts."""
    own = min(width, len(values) - 1)
    before = 2.0 * values[0] - values[own:0:-1]
    after = 2.0 * values[-1] - values[-2 : -own - 2 : -1] if own else before
    inner = np.concatenate((before, values, after))
    rest = width - own
    return np.pad(inner, ((rest, rest + 1), (0, 0)), mode="edge")


@cache
def _tabulated() -> FloatArray:
    return _window(np.arange(_half_width() * _TABLE + 2) / _TABLE)


def _weights(positions: FloatArray, width: int, ratio: float) -> tuple[IntArray, FloatArray]:
    """Return for each place, in old steps, the first row that counts of those continued by ``width``, and the
    weights (k, 2 · width) from there on; they sum up to 1."""
    table = _tabulated()
    first = np.floor(positions).astype(np.int64) + 1
    away = np.abs(first[:, None] + np.arange(-width, width) - positions[:, None])
    away = np.minimum(away * (_TABLE / max(1.0, ratio)), len(table) - 2)
    whole = away.astype(np.int64)
    weights = table[whole] + (away - whole) * (table[whole + 1] - table[whole])
    return first, weights / weights.sum(axis=1, keepdims=True)


def _in_blocks(padded: FloatArray, width: int, ratio: Fraction, count: int) -> FloatArray:
    """Return ``count`` rows at the places k · ``ratio``, whose weights repeat after so many rows as its
    denominator says."""
    space = _MAX_MATRIX // (4 * width * ratio.denominator)
    repeats = max(1, min(space, 2 * width // ratio.numerator))
    rows, advance = repeats * ratio.denominator, repeats * ratio.numerator
    positions = np.arange(rows, dtype=np.float64) * ratio.numerator / ratio.denominator
    first, weights = _weights(positions, width, float(ratio))
    matrix = np.zeros((rows, int(first[-1]) + 2 * width))
    matrix[np.arange(rows)[:, None], first[:, None] + np.arange(2 * width)] = weights
    done = np.empty((count, padded.shape[1]))
    for block, start in enumerate(range(0, count, rows)):
        reach = padded[block * advance : block * advance + matrix.shape[1]]
        own = min(rows, count - start)
        done[start : start + own] = matrix[:own, : len(reach)] @ reach
    return done


def _point_by_point(padded: FloatArray, width: int, ratio: float, count: int) -> FloatArray:
    """Return ``count`` rows at the places k · ``ratio``, each with weights of its own."""
    from scipy import sparse

    done = np.empty((count, padded.shape[1]))
    at_once = max(1, _WEIGHTS_AT_ONCE // (2 * width))
    for start in range(0, count, at_once):
        positions = np.arange(start, min(start + at_once, count), dtype=np.float64) * ratio
        first, weights = _weights(positions, width, ratio)
        low, high = int(first[0]), int(first[-1]) + 2 * width
        columns = first[:, None] - low + np.arange(2 * width)
        edges = np.arange(len(positions) + 1) * 2 * width
        matrix = sparse.csr_array((weights.ravel(), columns.ravel(), edges), (len(positions), high - low))
        done[start : start + len(positions)] = matrix @ padded[low:high]
    return done
