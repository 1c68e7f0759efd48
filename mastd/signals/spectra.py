"""Spectral estimates and the making of noise with a given density."""

from __future__ import annotations

import numpy as np

from mastd.arrays import ComplexArray, FloatArray


def power_spectral_density(
    samples: FloatArray, spacing: float, segment: int
) -> tuple[FloatArray, FloatArray]:
    """Return frequencies and one-sided density of ``samples`` (…, n) taken every ``spacing`` (s or m).

    Welch's average over Hann windows of ``segment`` samples that overlap by half. Unit: unit²·spacing's unit.
    """
    from scipy import signal  # slow to import, and only estimates need it

    frequency, density = signal.welch(samples, 1.0 / spacing, nperseg=segment, detrend="constant")
    return frequency, density


def squared_coherence(
    first: FloatArray, second: FloatArray, spacing: float, segment: int
) -> tuple[FloatArray, FloatArray]:
    """Return frequencies and magnitude-squared coherence of two series, averaged as above."""
    from scipy import signal

    frequency, coherence = signal.coherence(first, second, 1.0 / spacing, nperseg=segment)
    return frequency, coherence


def transfer_function(
    first: FloatArray, second: FloatArray, spacing: float, segment: int
) -> tuple[FloatArray, ComplexArray]:
    """Return frequencies and H1 from ``first`` to ``second``, averaged as above.

    H1 = S(first, second) / S(first, first): what ``second`` adds of its own averages out. NaN where ``first``
    has nothing at all.
    """
    from scipy import signal

    frequency, cross = signal.csd(first, second, 1.0 / spacing, nperseg=segment)
    _, own = signal.welch(first, 1.0 / spacing, nperseg=segment)
    with np.errstate(invalid="ignore", divide="ignore"):
        return frequency, cross / own


def interpolate_density(frequencies: FloatArray, densities: FloatArray, at: FloatArray) -> FloatArray:
    """Return a density given at break points, interpolated on double-logarithmic axes, zero outside them."""
    inside = (at >= frequencies[0]) & (at <= frequencies[-1])
    out = np.zeros_like(at)
    out[inside] = np.exp(np.interp(np.log(at[inside]), np.log(frequencies), np.log(densities)))
    return out
