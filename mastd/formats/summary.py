"""What a file of series holds, in figures: the statistics of each channel, its spectrum, its envelope.

Pure functions of a ``Measurement``. Values that are no finite numbers are counted and left out. Everything
goes through a series in blocks, so that the memory taken beside the values themselves stays the same for a
file of any length.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from mastd.arrays import FloatArray, IntArray
from mastd.formats.core.measurement import Series
from mastd.signals.spectra import power_spectral_density

_BLOCK: Final = 1 << 18
"""Values taken at once."""
_MIN_FOR_SPECTRUM: Final = 16
_SEGMENT: Final = (16, 8192)
"""Least and most values of a segment of the spectrum."""
_SEGMENTS: Final = 8
"""Stretches without overlap into which a series is cut at least, as far as the least segment lets it."""
_SEGMENTS_AT_ONCE: Final = 64


@dataclass(frozen=True)
class Statistics:
    """Figures of one channel, in the channel's unit, of those of its values that are finite numbers.

    ``min_index`` and ``max_index`` are the places (from 0) where ``minimum`` and ``maximum`` stand first.
    ``rms`` is about zero, ``deviation`` about the mean and divided by the count, ``crest`` the largest size
    over ``rms``. What does not exist, since no value is finite or all are zero, is None.
    """

    count: int
    missing: int
    """Values that are NaN."""
    infinite: int
    minimum: float | None = None
    min_index: int | None = None
    maximum: float | None = None
    max_index: int | None = None
    mean: float | None = None
    rms: float | None = None
    deviation: float | None = None
    crest: float | None = None


@dataclass(frozen=True)
class _Extremes:
    missing: int
    infinite: int
    minimum: float
    min_index: int
    maximum: float
    max_index: int


def statistics(values: FloatArray) -> Statistics:
    """Return the figures of ``values`` (n,)."""
    count, ends = len(values), _extremes(values)
    found = count - ends.missing - ends.infinite
    if not found:
        return Statistics(count, ends.missing, ends.infinite)
    # Divided by the largest of them, squares of huge and of tiny values stay within what a float can hold.
    size = max(abs(ends.minimum), abs(ends.maximum)) or 1.0
    total = square = 0.0
    for block, _ in _finite_blocks(values):
        scaled = block / size
        total += float(scaled.sum())
        square += float(scaled @ scaled)
    mean = total / found
    about = sum(float(away @ away) for block, _ in _finite_blocks(values) for away in (block / size - mean,))
    rms = math.sqrt(square / found)
    return Statistics(
        count,
        ends.missing,
        ends.infinite,
        ends.minimum,
        ends.min_index,
        ends.maximum,
        ends.max_index,
        mean=_held(size * mean),
        rms=_held(size * rms),
        deviation=_held(size * math.sqrt(about / found)),
        crest=max(abs(ends.minimum), abs(ends.maximum)) / size / rms if rms > 0.0 else None,
    )


def _held(value: float) -> float:
    """Return a figure that rounding may have taken past the largest float, where it is still that float."""
    return math.copysign(min(abs(value), float(np.finfo(np.float64).max)), value)


def _extremes(values: FloatArray) -> _Extremes:
    missing = infinite = 0
    minimum, maximum, min_index, max_index = math.inf, -math.inf, 0, 0
    for start in range(0, len(values), _BLOCK):
        missing += int(np.isnan(values[start : start + _BLOCK]).sum())
        infinite += int(np.isinf(values[start : start + _BLOCK]).sum())
    for block, indices in _finite_blocks(values):
        low, high = int(block.argmin()), int(block.argmax())
        if block[low] < minimum:
            minimum, min_index = float(block[low]), int(indices[low])
        if block[high] > maximum:
            maximum, max_index = float(block[high]), int(indices[high])
    return _Extremes(missing, infinite, minimum, min_index, maximum, max_index)


def _finite_blocks(values: FloatArray) -> Iterator[tuple[FloatArray, IntArray | range]]:
    """Give the finite values block by block, with their places."""
    for start in range(0, len(values), _BLOCK):
        block = values[start : start + _BLOCK]
        sound = np.isfinite(block)
        if sound.all():
            yield block, range(start, start + len(block))
        elif sound.any():
            yield block[sound], start + np.flatnonzero(sound)


def position_at(series: Series, index: int) -> float | None:
    """Return the axis value at ``index`` (from 0), None where it is unknown."""
    if series.abscissae is not None:
        found = float(series.abscissae[index])
    elif series.step is not None:
        found = series.start + index * series.step
    else:
        return None
    return found if math.isfinite(found) else None


def duration(series: Series) -> float | None:
    """Return the length of a series on its axis: in time count · step, as for records.

    Of uneven places, and of another axis than time, it is the way from the first to the last. None where that
    is not known.
    """
    if not series.count:
        return None
    if series.abscissae is not None:
        found = float(series.abscissae[-1] - series.abscissae[0])
    elif series.step is not None:
        found = (series.count - (series.axis != "time")) * series.step
    else:
        return None
    return found if math.isfinite(found) else None


def segment_of(count: int) -> int:
    """Return how many values a segment of the spectrum of ``count`` values has, a power of two."""
    wanted = max(count // _SEGMENTS, 1)
    minimum, maximum = _SEGMENT
    return min(max(1 << (wanted.bit_length() - 1), minimum), maximum)


def density(values: FloatArray, step: float) -> tuple[FloatArray, FloatArray] | None:
    """Return frequencies and one-sided power spectral density of evenly spaced ``values``, as Welch does.

    Hann windows of ``segment_of(n)`` values overlap by half; each is taken about its mean. Unit: that of the
    values squared, times that of ``step``. None for fewer than 16 values and where one is no finite number.
    """
    count = len(values)
    segment = segment_of(count)
    if count < _MIN_FOR_SPECTRUM or not (step > 0.0 and math.isfinite(1.0 / step)):
        return None
    if any(not np.isfinite(values[start : start + _BLOCK]).all() for start in range(0, count, _BLOCK)):
        return None
    hop = segment // 2
    segments = (count - segment) // hop + 1
    frequencies, total = np.empty(0), np.zeros(segment // 2 + 1)
    with np.errstate(over="ignore", invalid="ignore"):
        for first in range(0, segments, _SEGMENTS_AT_ONCE):
            number = min(_SEGMENTS_AT_ONCE, segments - first)
            stretch = values[first * hop : (first + number - 1) * hop + segment]
            frequencies, part = power_spectral_density(stretch, step, segment)
            total += number * part
    mean = total / segments
    return (frequencies, mean) if np.isfinite(mean).all() else None


def envelope(values: FloatArray, maximum: int) -> IntArray:
    """Return at most about ``maximum`` indices (from 0, rising) that include all extremes of ``values``.

    The series is cut into stretches, of each of which the least and the largest value are taken, and the
    first that is no finite number, so that a gap is seen.
    """
    stretch = math.ceil(2 * len(values) / max(maximum, 2))
    if stretch <= 2:
        return np.arange(len(values))
    picked: list[int] = []
    for start in range(0, len(values), stretch):
        block = values[start : start + stretch]
        lost = ~np.isfinite(block)
        if lost.any():
            picked.append(start + int(lost.argmax()))
        if not lost.all():
            picked.append(start + int(np.where(lost, np.inf, block).argmin()))
            picked.append(start + int(np.where(lost, -np.inf, block).argmax()))
    return np.unique(np.array(picked, dtype=np.int64))
