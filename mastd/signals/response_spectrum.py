"""Response spectra: the largest acceleration that a motion gives to a row of damped oscillators.

An oscillator of natural frequency f and damping ratio ζ stands on a base that moves with a(t); its spectrum
at f is the largest magnitude of the absolute acceleration of its mass, while the base moves (maximax of ISO
18431-4; the test and required response spectra of IEEE 344 and ISO 2041 are such spectra).
"""

from __future__ import annotations

import numpy as np
from scipy import signal

from mastd.arrays import FloatArray

DAMPING = 0.05
POINTS_PER_OCTAVE = 12


def octave_points(band: tuple[float, float], per_octave: int = POINTS_PER_OCTAVE) -> FloatArray:
    """Return frequencies in Hz, evenly spaced on a logarithmic axis, from one end of ``band`` to the other.

    At least ``per_octave`` to an octave; both ends are among them. Raises ValueError unless 0 < low < high.
    """
    low, high = band
    if not 0.0 < low < high:
        raise ValueError(f"band {low:g} … {high:g} Hz must ascend from above 0")
    return np.geomspace(low, high, 1 + int(np.ceil(per_octave * np.log2(high / low) - 1e-9)))


def response_spectrum(
    acceleration: FloatArray, rate: float, frequencies: FloatArray, damping: float = DAMPING
) -> FloatArray:
    """Return the largest absolute acceleration (f,) at ``frequencies`` (f,) in Hz.

    ``acceleration`` (k,) is that of the base at ``rate`` Hz, in any unit; several columns (k, c) give (f, c).
    The oscillators start at rest and are solved exactly for a base whose acceleration goes in straight lines
    from sample to sample: ramp invariant digital filter of Smallwood 1981, ISO 18431-4. Raises ValueError for
    a damping that is not 0 < ζ < 1.
    """
    if not 0.0 < damping < 1.0:
        raise ValueError(f"damping ratio {damping:g} must lie between 0 and 1")
    series = np.ascontiguousarray(acceleration.T)
    spectrum = np.zeros((len(frequencies), *series.shape[:-1]))
    if not series.shape[-1]:
        return spectrum
    for index, frequency in enumerate(frequencies):
        numerator, denominator = _oscillator(2.0 * np.pi * float(frequency) / rate, damping)
        spectrum[index] = np.max(np.abs(signal.lfilter(numerator, denominator, series)), axis=-1)
    return spectrum


def _oscillator(turn: float, damping: float) -> tuple[list[float], list[float]]:
    """Return the filter from base to mass of an oscillator that undamped turns by ``turn`` rad a sample."""
    decay = np.exp(-damping * turn)
    damped = turn * np.sqrt(1.0 - damping**2)
    cosine, sine = decay * np.cos(damped), decay * np.sin(damped)
    sine_ratio = sine / damped
    numerator = [1.0 - sine_ratio, 2.0 * (sine_ratio - cosine), decay**2 - sine_ratio]
    return [float(b) for b in numerator], [1.0, float(-2.0 * cosine), float(decay**2)]


def outside_ratio(achieved: FloatArray, asked: FloatArray, tolerance: float) -> float | None:
    """Return the ratio of points (f,) at which one spectrum leaves ±``tolerance`` of the other.

    None where there is no point, or nothing was asked for at one.
    """
    if not len(asked) or not np.all(asked > 0.0):
        return None
    return float(np.mean(~(np.abs(achieved / asked - 1.0) <= tolerance)))
