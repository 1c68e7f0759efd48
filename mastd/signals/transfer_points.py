"""How far up an axis follows: where the magnitude of its transfer function leaves its bounds.

The transfer function is H1 = S(asked, achieved) / S(asked, asked) of accelerations, by Welch's average over
Hann windows that overlap by half, and then over twelfths of an octave, with the best lag taken out before so
that a delay does not shrink the average. A twelfth counts as measured where enough was asked for and the
random error of the magnitude is small (Bendat and Piersol, Random Data, eq. 9.90).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import signal

from mastd.arrays import FloatArray

ASKED_RATIO: Final = 1e-4
"""Of the largest asked density, below which a transfer function means nothing."""
MIN_AVERAGES: Final = 3
FLATNESS_DB: Final = 1.5
BANDWIDTH_DB: Final = -3.0
_MAX_ERROR: Final = 0.08
_PER_OCTAVE: Final = 12
_WAVES: Final = 8.0
"""Periods of the lowest frequency of the band in one segment, where the signals are long enough."""
_MAX_SEGMENT_S: Final = 60.0
_MIN_SAMPLES: Final = 64


@dataclass(frozen=True)
class TransferPoints:
    """Frequencies in Hz, each None where it cannot be told; see ``transfer_points``."""

    bandwidth_hz: float | None = None
    flatness_hz: float | None = None
    measured_to_hz: float | None = None


def averaging_segment(count: int, rate: float, lowest: float) -> int | None:
    """Return the samples of a segment: as many as the ``lowest`` frequency (Hz) needs, if averages are left.

    None of signals that are too short.
    """
    seconds = count / rate
    wanted = min(_WAVES / lowest if lowest > 0.0 else _WAVES, _MAX_SEGMENT_S)
    samples = int(rate * min(wanted, max(seconds / 4.0, min(seconds / 2.0, wanted / 2.0))))
    return samples if samples >= _MIN_SAMPLES else None


def averages_of(count: int, segment: int) -> int:
    """Return how many segments that overlap by half ``count`` samples hold."""
    return (count - segment) // (segment - segment // 2) + 1


def transfer_points(
    achieved: FloatArray, asked: FloatArray, rate: float, band: tuple[float, float], lag: float
) -> TransferPoints:
    """Return how far up ``achieved`` (k,) follows ``asked`` (k,), both at ``rate`` Hz, from ``band[0]`` on.

    Frequencies go up from the band's lower end as far as something was asked for, beyond its upper end too.
    ``bandwidth_hz``: the first at which |H| falls below −3 dB. ``flatness_hz``: the first at which it leaves
    ±1.5 dB. ``measured_to_hz``: the highest that was measured; it stands for the two others where |H| does
    not leave, which then are lower bounds. ``lag`` of the achieved motion in s. All None where less than an
    octave was measured (a sine), or the signals are too short.
    """
    segment = averaging_segment(len(asked), rate, band[0])
    if segment is None or averages_of(len(asked), segment) < MIN_AVERAGES:
        return TransferPoints()
    frequency, magnitude, highest = _measured(achieved, asked, rate, band[0], lag, segment)
    if not len(frequency) or frequency[-1] < 2.0 * frequency[0]:
        return TransferPoints()
    level = 20.0 * np.log10(np.maximum(magnitude, np.finfo(float).tiny))
    low = _first_below(frequency, level, -FLATNESS_DB) or highest
    high = _first_below(frequency, -level, -FLATNESS_DB) or highest
    return TransferPoints(_first_below(frequency, level, BANDWIDTH_DB) or highest, min(low, high), highest)


def _measured(
    achieved: FloatArray, asked: FloatArray, rate: float, lowest: float, lag: float, segment: int
) -> tuple[FloatArray, FloatArray, float]:
    """Return frequency and |H| of the twelfths of an octave that were measured, and the last one's end."""
    frequency, own = signal.welch(asked, rate, nperseg=segment)
    _, given = signal.welch(achieved, rate, nperseg=segment)
    _, cross = signal.csd(asked, achieved, rate, nperseg=segment)
    inside = (frequency > 0.0) & (frequency >= lowest) & (own > ASKED_RATIO * np.max(own, initial=0.0))
    frequency, own, given = frequency[inside], own[inside], given[inside]
    cross = cross[inside] * np.exp(2j * np.pi * frequency * lag)
    if not len(frequency):
        return frequency, own, 0.0
    _, group = np.unique(np.floor(_PER_OCTAVE * np.log2(frequency)), return_inverse=True)
    lines, asked_power, given_power = (np.bincount(group, weights=part) for part in (frequency, own, given))
    shared = np.hypot(np.bincount(group, weights=cross.real), np.bincount(group, weights=cross.imag))
    count = np.bincount(group)
    with np.errstate(invalid="ignore", divide="ignore"):
        coherence = shared**2 / (asked_power * given_power)
        # Neighbouring lines of a Hann window know of each other: two of them count as one.
        averages = averages_of(len(asked), segment) * np.maximum(1.0, 0.5 * count)
        error = np.sqrt(np.maximum(1.0 - coherence, 0.0) / (2.0 * coherence * averages))
    usable = error <= _MAX_ERROR
    highest = float(np.max(frequency[usable[group]], initial=0.0))
    return (lines / count)[usable], (shared / asked_power)[usable], highest


def _first_below(frequency: FloatArray, level: FloatArray, bound: float) -> float | None:
    """Return the first frequency at which a level in dB falls below a bound, None where it never does."""
    below = np.flatnonzero(level < bound)
    if not len(below):
        return None
    first = int(below[0])
    if not first:
        return float(frequency[0])
    ratio = (level[first - 1] - bound) / (level[first - 1] - level[first])
    return float(frequency[first - 1] * (frequency[first] / frequency[first - 1]) ** ratio)
