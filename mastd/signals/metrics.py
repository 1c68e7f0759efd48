"""Figures that say how well a motion was followed.

All take an achieved and a reference signal (k,) on the same uniform time base, filtered to the same band, and
return None where the figure has no meaning (a reference at rest, or numbers that are not finite).

Definitions (rms is the effective value over the common samples):

- nrmse = rms(achieved − reference) / rms(reference) - best-lag nrmse: the smallest nrmse of achieved(t)
against reference(t − lag), and that lag; lag > 0 means that
  the achieved motion is late
- peak ratio = max |achieved| / max |reference|
- cross axis: see ``cross_axis``; rotations count as accelerations at 1.4 m
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import scipy

from mastd.arrays import FloatArray, IntArray

ROTATION_ARM = 1.4
"""Distance in m at which a rotation counts as a translation."""
MAX_LAG = 0.25
REVERSAL_WINDOW = 0.2
"""s within which what was asked before excuses the direction of a cue."""
ASKED_RATIO = 0.02
"""Of the largest magnitude asked, from which on a cue has a direction that can be reversed."""
_EQUAL_FIT = 0.01


def false_reversal(asked: FloatArray, given: FloatArray, period: float) -> float:
    """Return the most that ``given`` points against what was ``asked``, 0: never; ``period`` of both in s.

    Against is what points the other way than all that was asked within REVERSAL_WINDOW up to then, where it
    was more than ASKED_SHARE of its peak: a cue that is only late, as an axis of limited jerk must be after
    an impact, is none; one that turns round when the asking ends is.
    """
    if not len(asked):
        return 0.0
    minimum = ASKED_RATIO * float(np.max(np.abs(asked)))
    count = max(1, round(REVERSAL_WINDOW / period))
    count += 1 - count % 2  # odd, so that this origin has the filters look at the samples up to now
    highest = scipy.ndimage.maximum_filter1d(asked, count, mode="nearest", origin=count // 2)
    lowest = scipy.ndimage.minimum_filter1d(asked, count, mode="nearest", origin=count // 2)
    forwards, backwards = (highest > minimum) & (lowest > -minimum), (lowest < -minimum) & (highest < minimum)
    against = np.where(forwards, -given, np.where(backwards, given, 0.0))
    worst = float(np.max(against))
    return worst if worst > minimum else 0.0


def rms(values: FloatArray) -> float:
    """Return the effective value about zero; NaN for no samples."""
    return float(np.sqrt(np.mean(np.square(values)))) if len(values) else float("nan")


def nrmse(achieved: FloatArray, reference: FloatArray) -> float | None:
    """Return rms(achieved − reference) / rms(reference)."""
    return _ratio(rms(achieved - reference), rms(reference))


def peak_ratio(achieved: FloatArray, reference: FloatArray) -> float | None:
    """Return the ratio of the maximum magnitudes, measured to commanded."""
    if not len(reference):
        return None
    return _ratio(float(np.max(np.abs(achieved))), float(np.max(np.abs(reference))))


def best_lag(
    achieved: FloatArray, reference: FloatArray, rate: float, longest: float = MAX_LAG
) -> tuple[float, float] | None:
    """Return (nrmse, lag in s) at the lag within ±``longest`` s that fits best, to a fraction of a sample.

    Whole lags are all tried by correlation, each with the samples both signals have; a parabola through the
    mean square errors around the best gives the fraction, and the reference is interpolated there. Where a
    periodic motion fits equally well at several lags (to 0.01 in nrmse), the smallest counts.
    """
    count = len(reference)
    reach = min(round(longest * rate), (count - 1) // 2)
    if reach < 1 or not (np.all(np.isfinite(achieved)) and rms(reference) > 0.0):
        return None
    shifts = np.arange(-reach, reach + 1)
    errors = _mean_square_errors(achieved, reference, shifts)
    inner = errors[1:-1]
    minima = 1 + np.flatnonzero((inner <= errors[:-2]) & (inner <= errors[2:]))
    candidates = minima if len(minima) else np.array([int(np.argmin(errors))])
    figures = np.sqrt(errors[candidates])
    fitting = candidates[figures <= np.min(figures) + _EQUAL_FIT]
    best = int(fitting[np.argmin(np.abs(shifts[fitting]))])
    fraction = 0.0
    if 0 < best < len(errors) - 1:
        before, at, after = errors[best - 1 : best + 2]
        bend = before - 2.0 * at + after
        fraction = float(np.clip(0.5 * (before - after) / bend, -0.5, 0.5)) if bend > 0.0 else 0.0
    lag = float(shifts[best]) + fraction
    figure = _nrmse_at(achieved, reference, lag)
    return None if figure is None else (figure, lag / rate)


def _mean_square_errors(achieved: FloatArray, reference: FloatArray, shifts: IntArray) -> FloatArray:
    """Return Σ(achieved(i) − reference(i − shift))² / Σ reference(i − shift)² for each whole shift."""
    count = len(reference)
    products = scipy.signal.correlate(achieved, reference, mode="full", method="fft")[count - 1 + shifts]
    energy_achieved = np.concatenate(([0.0], np.cumsum(np.square(achieved))))
    energy_reference = np.concatenate(([0.0], np.cumsum(np.square(reference))))
    first, last = np.maximum(shifts, 0), np.minimum(count + shifts, count)
    own = energy_achieved[last] - energy_achieved[first]
    asked = energy_reference[last - shifts] - energy_reference[first - shifts]
    squares: FloatArray = np.maximum(own + asked - 2.0 * products, 0.0) / np.maximum(
        asked, np.finfo(float).tiny
    )
    return squares


def _nrmse_at(achieved: FloatArray, reference: FloatArray, lag: float) -> float | None:
    """Return the nrmse against the reference delayed by ``lag`` samples, interpolated by a cubic spline."""
    count = len(reference)
    index = np.arange(count, dtype=np.float64)
    indices = index - lag
    common = (indices >= 0.0) & (indices <= count - 1)
    delayed = scipy.interpolate.CubicSpline(index, reference)(indices[common])
    return nrmse(achieved[common], delayed)


def cross_axis(accelerations: Mapping[str, float], driven: frozenset[str]) -> dict[str, float | None]:
    """Return the cross-axis motion per axis, as a ratio of RMS accelerations.

    ``accelerations``: axis → rms of the achieved acceleration in m/s², rotations already at 1.4 m. An axis
    that was not driven: its own acceleration over that of all driven axes together (root of the sum of
    squares). A driven axis: the largest acceleration among the axes that were not driven over its own. None
    where there is nothing to divide.
    """
    asked = float(np.sqrt(sum(accelerations[axis] ** 2 for axis in driven)))
    idle = [value for axis, value in accelerations.items() if axis not in driven]
    return {
        axis: (_ratio(max(idle), value) if idle else None) if axis in driven else _ratio(value, asked)
        for axis, value in accelerations.items()
    }


def second_derivative(values: FloatArray, rate: float) -> FloatArray:
    """Return the second time derivative of (k,) samples by central differences, zero at both ends."""
    result = np.zeros_like(values)
    if len(values) > 2:
        result[1:-1] = (values[2:] - 2.0 * values[1:-1] + values[:-2]) * rate**2
    return result


def _ratio(part: float, whole: float) -> float | None:
    """Return part/whole if both are finite and there is a whole."""
    if not (np.isfinite(part) and np.isfinite(whole) and whole > 0.0):
        return None
    return float(part / whole)
