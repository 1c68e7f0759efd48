"""Recorded series as table motion: baseline, band, and integration that stays within a stroke.

Everything is done on the spectrum, in the record's own time: it is known as a Fourier series, and that is
evaluated at whatever times are asked for. So records of different steps, lengths and starts meet on one
time base without being moved against each other, and a record of a higher rate loses only what lies above
the band.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, floor

import numpy as np
import scipy

from mastd.arrays import ComplexArray, FloatArray
from mastd.motion.profile.fades import smooth_step
from mastd.motion.profile.timeline import KNOT_SPACING
from mastd.signals.filters import band_pass_gain, padding_time
from mastd.signals.fourier_sum import fourier_sum

MAX_VALUES = 1 << 25
"""Values of one record, with the rest around it, that are transformed at once."""

ALONG = ("displacement", "velocity", "acceleration")
ABOUT = ("angle", "angular velocity", "angular acceleration")
"""Quantities along and about an axis by the order of their derivative."""

_ORDER = 4
_TAPER_RATIO = 0.02
_DEGREES = {"none": -1, "mean": 0, "linear": 1}
_EDGE = 1e-6
"""Fraction of a step by which a value may lie outside a part and still belong to it."""


@dataclass(frozen=True)
class Recorded:
    """One recorded channel: ``values`` (n,) in SI, value k at the time ``start`` + k · ``step`` in s.

    ``derivative``: 0 for a displacement, 1 for a velocity, 2 for an acceleration. ``angular``: about an axis.
    """

    values: FloatArray
    step: float
    start: float
    derivative: int
    angular: bool = False

    @property
    def end(self) -> float:
        """Time of the last value in s."""
        return self.start + (len(self.values) - 1) * self.step

    def part(self, start: float, end: float) -> Recorded:
        """Return the values between two times in s; there may be none."""
        first = max(0, ceil((start - self.start) / self.step - _EDGE))
        last = min(len(self.values) - 1, floor((end - self.start) / self.step + _EDGE))
        values = self.values[first : max(first, last + 1)]
        return replace(self, values=values, start=self.start + first * self.step)


@dataclass(frozen=True)
class TimeBase:
    """Times that all records of a segment share: ``padding`` s before ``start`` to as much after ``end``.

    The padding is the rest that the filter of a band from ``low`` Hz on needs at either end.
    """

    start: float
    end: float
    padding: float

    @classmethod
    def of(cls, records: Sequence[Recorded], low: float) -> TimeBase:
        """Return the time base of records that are played in a band from ``low`` Hz on."""
        return cls(
            min(one.start for one in records), max(one.end for one in records), padding_time(low, _ORDER)
        )

    @property
    def duration(self) -> float:
        """Length without the padding in s."""
        return self.end - self.start

    def times(self, spacing: float) -> tuple[float, float, int]:
        """Return the first time, the spacing and the number of times that cover the base."""
        count = floor((self.duration + 2.0 * self.padding) / spacing + _EDGE) + 1
        return self.start - self.padding, spacing, count


@dataclass(frozen=True)
class Peaks:
    """Greatest absolute values in m/s², m/s and m, of angular records in rad/s², rad/s and rad."""

    acceleration: float
    velocity: float
    displacement: float


@dataclass(frozen=True)
class BaselineReport:
    """What the correction of one record changed; all of the record's own time, before any scaling.

    ``quantity``: what the file holds, in whose SI unit ``offset`` (mean) and ``slope`` (per s) are that were
    taken off. ``taper``: s over which either end was faded. ``padding``: s of rest put before and after.
    ``band``: Hz. ``outside_band``: share of the record's energy, the integral of its square without offset
    and slope, that lay outside the band. ``before``: peaks of the record as it is, integrated plainly from
    rest or differentiated; ``after``: those of the corrected motion.
    """

    quantity: str
    offset: float
    slope: float
    taper: float
    padding: float
    band: tuple[float, float]
    outside_band: float
    before: Peaks
    after: Peaks


@dataclass(frozen=True)
class CorrectedRecord:
    """A record that can be played: the Fourier series of its displacement, and what was changed for that.

    ``lines`` (n,): complex amplitudes at the frequencies k / ``period``, k from 0 on; the real part of their
    sum is the displacement. Time zero of the series is the time ``start``.
    """

    lines: ComplexArray
    period: float
    start: float
    report: BaselineReport

    def motion(self, times: tuple[float, float, int], derivatives: Sequence[int] = (0,)) -> FloatArray:
        """Return derivatives of the displacement (derivatives, count) at evenly spaced times.

        ``times``: the first one, their spacing in s, and their number. Nothing of the record that is faster
        than they can show is left in them.
        """
        first, spacing, count = times
        shown = self.lines[: ceil(0.5 * self.period / spacing)]
        angular = 2j * np.pi / self.period * np.arange(len(shown))
        stacked = np.stack([shown * angular**order for order in derivatives])
        sums = fourier_sum(stacked, self.period, first - self.start, spacing, count)
        return np.ascontiguousarray(sums.real)


def correct(record: Recorded, band: tuple[float, float], baseline: str, base: TimeBase) -> CorrectedRecord:
    """Return a record corrected for a band in Hz.

    ``baseline``: "none", "mean" (the mean is taken off) or "linear" (the best straight line is). The record's
    ends are tapered over 2 % each, rest is put before and after it for the response of the filter, and a
    zero-phase Butterworth band-pass and the integrations that the recorded quantity asks for are done line by
    line on the spectrum: displacement has no drift and comes back to zero. ValueError if the band does not
    lie below half the record's rate, or the record is too long to be transformed at once.
    """
    low, high = band
    values, step = record.values, record.step
    if not 0.0 < low < high < 0.5 / step:
        raise ValueError(
            f"band {low:g} to {high:g} Hz must lie below {0.5 / step:g} Hz, half the record's rate"
        )
    # Twice the padding again: the series is a circle, and the ends must not meet.
    needed = ceil((base.duration + 4.0 * base.padding) / step) + 2
    if not needed <= MAX_VALUES:
        raise ValueError(
            f"{needed} values including the rest around them, maximum {MAX_VALUES}: run a shorter part "
            "of the record (start, duration), or raise the lower end of the band"
        )
    flat, offset, slope = _without_baseline(values, step, baseline)
    ends = np.minimum(np.arange(len(flat)), np.arange(len(flat))[::-1])
    taper = max(1.0, _TAPER_RATIO * len(flat))
    flat *= smooth_step((ends + 1) / taper)

    count = scipy.fft.next_fast_len(needed, real=True)
    spectrum = scipy.fft.rfft(flat, count)
    frequency = scipy.fft.rfftfreq(count, step)
    with np.errstate(over="ignore", invalid="ignore"):
        energy = np.abs(spectrum) ** 2
        total = float(np.sum(energy))
    if not total < np.inf:
        raise ValueError(f"values up to {float(np.max(np.abs(values))):.3g} are implausible for a table")
    inside = float(np.sum(energy[(frequency >= low) & (frequency <= high)]))
    # From half the rate on lines stand for other frequencies; and none above the knots' can be played.
    kept = frequency < 0.5 / max(step, KNOT_SPACING)
    lines = np.zeros(int(np.count_nonzero(kept)), dtype=np.complex128)
    angular = 2j * np.pi * frequency[kept][1:]
    gain = band_pass_gain(frequency[kept][1:], low, high, _ORDER) * (2.0 / count)
    lines[1:] = spectrum[kept][1:] * gain / angular**record.derivative
    report = BaselineReport(
        quantity=quantity(record),
        offset=offset,
        slope=slope,
        taper=taper * step,
        padding=base.padding,
        band=band,
        outside_band=1.0 - inside / total if total > 0.0 else 0.0,
        before=_plain_peaks(record),
        after=Peaks(0.0, 0.0, 0.0),
    )
    corrected = CorrectedRecord(lines, count * step, record.start, report)
    peaks = np.max(np.abs(corrected.motion(base.times(coarse(band)), (2, 1, 0))), axis=1)
    return replace(corrected, report=replace(report, after=Peaks(*map(float, peaks))))


def coarse(band: tuple[float, float]) -> float:
    """Return a spacing in s at which peaks and sizes of what lies in a band can be read.

    20 values for a period of the upper end: a peak between two of them is at most 1.2 % higher.
    """
    return max(KNOT_SPACING, 0.05 / band[1])


def quantity(record: Recorded) -> str:
    """Return what a record holds: "acceleration", "angular velocity", …"""
    return (ABOUT if record.angular else ALONG)[record.derivative]


def _without_baseline(values: FloatArray, step: float, baseline: str) -> tuple[FloatArray, float, float]:
    """Return values (n,) without their baseline, and the mean and the slope per s that were taken off."""
    degree = _DEGREES[baseline]
    mean = float(np.mean(values)) if degree >= 0 else 0.0
    slope = 0.0
    times = (np.arange(len(values)) - 0.5 * (len(values) - 1)) * step
    if degree == 1 and len(values) > 1:
        slope = float(np.dot(times, values) / np.dot(times, times))
    return values - mean - slope * times, mean, slope


def _plain_peaks(record: Recorded) -> Peaks:
    """Return the peaks of a record that is integrated from rest, or differentiated, as it stands."""
    chain = {record.derivative: record.values}
    for order in range(record.derivative - 1, -1, -1):
        rate = chain[order + 1]
        chain[order] = np.concatenate((np.zeros(1), np.cumsum(0.5 * (rate[1:] + rate[:-1])) * record.step))
    for order in range(record.derivative + 1, 3):
        chain[order] = np.gradient(chain[order - 1], record.step)
    return Peaks(*(float(np.max(np.abs(chain[order]))) for order in (2, 1, 0)))
