"""Gaussian-like random motion from an acceleration density: seeded, clipped, integrated exactly."""

from __future__ import annotations

import numpy as np
import scipy

from mastd.arrays import BoolArray, ComplexArray, FloatArray
from mastd.signals.spectra import interpolate_density

_CLIP_PASSES = 20


def random_displacement(
    points: int,
    spacing: float,
    density: tuple[FloatArray, FloatArray],
    sigma_clip: float,
    seed: list[int],
) -> FloatArray:
    """Return a displacement (points,) whose acceleration has the given density.

    ``density``: break points in Hz (above zero, ascending) and the one-sided acceleration densities there,
    joined by straight lines on double-logarithmic axes and zero outside. Every spectral line has its exact
    amplitude and a random phase. The acceleration is held within ``sigma_clip`` times its effective value:
    peaks are cut and what the cut threw out of the band is taken off again, some 20 times, which leaves peaks
    at most a few per cent above; then the level is restored. Acceleration becomes displacement line by line,
    so there is no drift.

    The last tenth of the made series is thrown away: the start and the end of a motion must not be joined.
    ValueError if the series is too short to hold a line of the band.
    """
    count = scipy.fft.next_fast_len(points + points // 9 + 1, real=True)
    frequency = scipy.fft.rfftfreq(count, spacing)
    target = interpolate_density(*density, frequency)
    amplitude = np.sqrt(2.0 * target / (count * spacing))
    if not np.any(amplitude > 0.0):
        raise ValueError(
            f"{points * spacing:g} s are too short for noise of {density[0][0]:g} to {density[0][-1]:g} Hz"
        )
    phase = np.random.default_rng(seed).uniform(0.0, 2.0 * np.pi, len(frequency))
    spectrum = amplitude * np.exp(1j * phase) * (count / 2.0)
    effective = float(np.sqrt(0.5 * np.sum(amplitude**2)))
    spectrum = _clip(spectrum, amplitude > 0.0, effective, sigma_clip, count)
    angular = 2.0 * np.pi * frequency
    integrated = np.zeros_like(spectrum)
    np.divide(spectrum, -(angular**2), out=integrated, where=amplitude > 0.0)
    return np.asarray(scipy.fft.irfft(integrated, count)[:points], dtype=np.float64)


def _clip(
    spectrum: ComplexArray,
    band: BoolArray,
    effective: float,
    sigma_clip: float,
    count: int,
) -> ComplexArray:
    """Return the spectrum of the series cut at ``sigma_clip`` effective values, its band and level kept."""
    limit = sigma_clip * effective
    for _ in range(_CLIP_PASSES):
        series = scipy.fft.irfft(spectrum, count)
        if np.max(np.abs(series)) <= limit:
            break
        spectrum = np.where(band, scipy.fft.rfft(np.clip(series, -0.97 * limit, 0.97 * limit)), 0.0)
        level = float(np.sqrt(2.0 * np.sum(np.abs(spectrum) ** 2))) / count
        spectrum *= effective / level
    return spectrum
