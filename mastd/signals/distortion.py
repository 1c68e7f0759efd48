"""Harmonic distortion of a sine."""

from __future__ import annotations

import numpy as np
from scipy import signal

from mastd.arrays import FloatArray

MAX_HARMONIC = 5
STEADY_RATIO = 0.999
"""Of the largest amplitude asked, from which on a sine is neither rising nor fading."""
_ENVELOPE_PERIODS = 5.0
"""Over which the amplitude is taken, with a Hann window."""
MIN_PERIODS = 5
MAX_S = 60.0


def total_harmonic_distortion(
    achieved: FloatArray, asked: FloatArray, rate: float, frequency: float
) -> float | None:
    """Return the effective value of the harmonics 2 … 5 over that of the fundamental, of ``achieved`` (k,).

    Both signals at ``rate`` Hz, ``asked`` a sine of ``frequency`` Hz that may rise and fade: only its longest
    steady part counts, and in it whole periods at its end, up to a minute. The harmonics are fitted by least
    squares, so that a period need not be an integer multiple of samples; those beyond half of the rate do not
    count. None where the steady part has fewer than 5 periods, or the rate is too low for a second harmonic.
    """
    harmonics = np.arange(1, min(MAX_HARMONIC, int(0.5 * rate / frequency - 1e-9)) + 1)
    steady = _steady(asked, rate, frequency)
    periods = int(min((steady.stop - steady.start) / rate, MAX_S) * frequency)
    if len(harmonics) < 2 or periods < MIN_PERIODS:
        return None
    samples = achieved[steady][-round(periods * rate / frequency) :]  # the last: what the rise left has faded
    angles = np.outer(np.arange(len(samples)) * (2.0 * np.pi * frequency / rate), harmonics)
    waves = np.hstack([np.cos(angles), np.sin(angles), np.ones((len(samples), 1))])
    try:
        fitted = np.linalg.lstsq(waves, samples, rcond=None)[0]
    except np.linalg.LinAlgError:
        return None
    amplitudes = np.hypot(fitted[: len(harmonics)], fitted[len(harmonics) : -1])
    distortion = float(np.sqrt(np.sum(amplitudes[1:] ** 2)))
    return distortion / float(amplitudes[0]) if amplitudes[0] > 0.0 else None


def _steady(asked: FloatArray, rate: float, frequency: float) -> slice:
    """Return the longest part in which the amplitude of a sine is near its largest."""
    window = signal.windows.hann(round(_ENVELOPE_PERIODS * rate / frequency), sym=False)
    if not 0 < len(window) < len(asked):
        return slice(0, 0)
    turning = asked * np.exp(-2j * np.pi * frequency / rate * np.arange(len(asked)))
    amplitude: FloatArray = np.abs(signal.oaconvolve(turning, window, mode="valid"))
    near = (amplitude >= STEADY_RATIO * np.max(amplitude)) & (amplitude > 0.0)
    turns = np.diff(np.concatenate(([0], near, [0])).astype(int))
    starts, ends = np.flatnonzero(turns > 0), np.flatnonzero(turns < 0)
    if not len(starts):
        return slice(0, 0)
    longest = int(np.argmax(ends - starts))
    middle = len(window) // 2  # of a window: half of it could still lie in a fade
    return slice(int(starts[longest]) + middle, int(ends[longest]) + middle)
