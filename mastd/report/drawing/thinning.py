"""Fewer points for the same picture: the extremes of each stretch stay, and gaps stay gaps."""

from __future__ import annotations

import numpy as np

from mastd.arrays import FloatArray

WIDE_POINTS = 1400
"""Points of a curve across a wide panel: two for each of its pixels."""
_MAX_BREAKS = 500


def thinned(
    times: FloatArray, values: FloatArray, points: int = WIDE_POINTS
) -> tuple[FloatArray, FloatArray]:
    """Return at most about ``points`` samples of (k,) times and values.

    Of each stretch of samples its least and its largest one stay; a stretch without any number stays as NaN.
    """
    stretch = -(-2 * len(values) // points)
    if stretch <= 2:
        return times, values
    blocks = _blocks(values, stretch)
    sound = np.isfinite(blocks)
    lowest = np.where(sound, blocks, np.inf).argmin(axis=1)
    highest = np.where(sound, blocks, -np.inf).argmax(axis=1)
    base = np.arange(len(blocks)) * stretch
    picked = np.sort(np.concatenate((base + lowest, base + highest)))
    picked = np.minimum(picked, len(values) - 1)
    return times[picked], values[picked]


def largest(
    times: FloatArray, values: FloatArray, points: int = WIDE_POINTS
) -> tuple[FloatArray, FloatArray]:
    """Return the largest value of each of about ``points`` stretches with the time of each."""
    stretch = -(-len(values) // points)
    if stretch <= 1:
        return times, values
    blocks = _blocks(values, stretch)
    picked = np.where(np.isfinite(blocks), blocks, -np.inf).argmax(axis=1) + np.arange(len(blocks)) * stretch
    return times[picked], values[picked]


def gap_ends(times: FloatArray, longest: float) -> FloatArray:
    """Return the times at which samples continue after more than ``longest`` s without any."""
    ends: FloatArray = times[1:][np.diff(times) > longest][:_MAX_BREAKS]
    return ends


def broken(times: FloatArray, values: FloatArray, ends: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the samples, thinned or not, with NaN before each of the ``ends`` of gaps."""
    if not len(ends):
        return times, values
    positions = np.searchsorted(times, ends)
    return np.insert(times, positions, ends), np.insert(values, positions, np.nan)


def _blocks(values: FloatArray, stretch: int) -> FloatArray:
    """Return the values in rows of ``stretch``, the last one filled up with NaN."""
    count = -(-len(values) // stretch)
    filled = np.full(count * stretch, np.nan)
    filled[: len(values)] = values
    return filled.reshape(count, stretch)
