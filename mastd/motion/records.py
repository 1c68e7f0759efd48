"""Strong-motion records as table motion: baseline, band, and integration that stays within a stroke."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from mastd.motion.fades import smooth_step
from mastd.signals.filters import band_pass_gain, padding_time

_ORDER = 4
_TAPER_SHARE = 0.02


@dataclass(frozen=True)
class BaselineReport:
    """What the correction of one record changed; accelerations in m/s², lengths in m.

    ``offset``, ``slope``: mean and trend (m/s² per s) taken off. ``padding``: s of rest put before and after.
    ``peak_before``, ``peak_after``: greatest absolute acceleration. ``peak_displacement`` after correction.
    """

    offset: float
    slope: float
    padding: float
    peak_before: float
    peak_after: float
    peak_displacement: float


@dataclass(frozen=True)
class CorrectedRecord:
    """Displacement (n,) in m every ``spacing`` s, ready to be played, and what was changed to get it."""

    displacement: NDArray[np.float64]
    spacing: float
    report: BaselineReport


def correct(
    acceleration: NDArray[np.float64],
    record_spacing: float,
    band: tuple[float, float],
    baseline: str,
    spacing: float,
) -> CorrectedRecord:
    """Return the displacement of a recorded acceleration (n,) in m/s², taken every ``record_spacing`` s.

    ``baseline``: "none", "mean" (the mean is taken off) or "linear" (the best straight line is). The record's
    ends are tapered over 2 % each, rest is put before and after it for the response of the filter, and a
    zero-phase Butterworth band-pass over ``band`` (Hz) and the double integration are done line by line on
    the spectrum: displacement has no drift and comes back to zero. Output every ``spacing`` s, by
    band-limited interpolation. ValueError if the band does not lie below half the record's rate.
    """
    from scipy import interpolate  # slow to import, and only records need it

    low, high = band
    if not 0.0 < low < high < 0.5 / record_spacing:
        raise ValueError(
            f"band {low:g} to {high:g} Hz must lie below {0.5 / record_spacing:g} Hz, half the record's rate"
        )
    times = np.arange(len(acceleration)) * record_spacing
    degree = {"none": -1, "mean": 0, "linear": 1}[baseline]
    trend = np.zeros(2)
    if degree >= 0:
        trend[: degree + 1] = np.polynomial.polynomial.polyfit(times, acceleration, degree)
    corrected = acceleration - trend[0] - trend[1] * times
    ends = np.minimum(np.arange(len(times)), np.arange(len(times))[::-1])
    corrected *= smooth_step((ends + 1) / max(1.0, _TAPER_SHARE * len(times)))

    padding = int(np.ceil(padding_time(low, _ORDER) / record_spacing))
    padded = np.pad(corrected, padding)
    # Twice the padding again: the FFT's series is a circle, and the ends must not meet.
    count = fft.next_fast_len(len(padded) + 2 * padding, real=True)
    frequency = fft.rfftfreq(count, record_spacing)
    spectrum = fft.rfft(padded, count) * band_pass_gain(frequency, low, high, _ORDER)
    angular = 2.0 * np.pi * frequency
    integrated = np.zeros_like(spectrum)
    np.divide(spectrum, -(angular**2), out=integrated, where=angular > 0.0)

    finer = max(1, int(np.ceil(record_spacing / spacing)))
    displacement = fft.irfft(integrated, count * finer)[: len(padded) * finer] * finer
    filtered = fft.irfft(spectrum, count * finer)[: len(padded) * finer] * finer
    fine_times = np.arange(len(displacement)) * (record_spacing / finer)
    wanted = np.arange(int(np.floor(fine_times[-1] / spacing + 1e-9)) + 1) * spacing
    spline = interpolate.make_interp_spline(fine_times, displacement, k=5)
    report = BaselineReport(
        offset=float(np.mean(acceleration)) if degree >= 0 else 0.0,
        slope=float(trend[1]),
        padding=padding * record_spacing,
        peak_before=float(np.max(np.abs(acceleration))),
        peak_after=float(np.max(np.abs(filtered))),
        peak_displacement=float(np.max(np.abs(displacement))),
    )
    return CorrectedRecord(np.asarray(spline(wanted), dtype=np.float64), spacing, report)
