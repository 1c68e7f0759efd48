"""Frequency response matrix from several drives to several responses, its coherence and its inverse.

Spectra are Welch's averages over Hann windows that overlap by half. H1 = S_yx S_xx⁻¹: what the responses add
of their own averages out, whatever the drives have to do with each other as long as none is made of the
others (Bendat and Piersol, Random Data, 4th edition, 7.3 and 7.4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from mastd.arrays import ComplexArray, FloatArray

_ALONE: Final = 1e-9
"""Fraction of the largest principal part of the drives' spectra below which one is made of the others."""
_QUIET: Final = 1e-6
"""Share of a drive's largest density below which it drives nothing at a frequency: what the windows leak."""


@dataclass(frozen=True)
class FrequencyMatrix:
    """Response of r signals to d drives at f frequencies.

    ``frequency`` (f,) in Hz, ascending from 0. ``response`` (f, r, d), complex, H1 in response unit per drive
    unit; zero from a drive that drives nothing there. ``coherence`` (f, r): multiple coherence, the share of
    each response's power that all drives together explain, 0…1.
    """

    frequency: FloatArray
    response: ComplexArray
    coherence: FloatArray


def frequency_matrix(drives: FloatArray, responses: FloatArray, rate: float, segment: int) -> FrequencyMatrix:
    """Return the frequency response matrix of ``responses`` (k, r) to ``drives`` (k, d), sampled at ``rate``
    Hz, averaged over windows of ``segment`` samples.

    Raises ValueError where the series differ in length, have fewer samples than two windows take, or hold
    what is not finite.
    """
    if len(drives) != len(responses):
        raise ValueError(f"{len(drives)} samples of the drives, {len(responses)} of the responses")
    if not segment >= 8 or len(drives) < segment + segment // 2:
        raise ValueError(f"{len(drives)} samples do not hold two windows of {segment}")
    if not (np.all(np.isfinite(drives)) and np.all(np.isfinite(responses))):
        raise ValueError("a drive or a response is not finite")
    x, y = _spectra(drives, segment), _spectra(responses, segment)
    drive_power = np.einsum("nfi,nfj->fij", x, x.conj())
    cross = np.einsum("nfr,nfj->frj", y, x.conj())
    own = np.einsum("nfr,nfr->fr", y, y.conj()).real
    inverse = _inverse_power(drive_power)
    response = cross @ inverse
    explained = np.einsum("frj,frj->fr", response, cross.conj()).real
    coherence = np.divide(explained, own, out=np.zeros_like(own), where=own > 0.0)
    frequency: FloatArray = np.arange(segment // 2 + 1, dtype=np.float64) * (rate / segment)
    return FrequencyMatrix(frequency, response, np.clip(coherence, 0.0, 1.0))


def windows(samples: int, segment: int) -> int:
    """Return how many windows of ``segment`` are averaged over ``samples``."""
    return max(0, (samples - segment) // (segment // 2) + 1)


def pseudo_inverse(
    response: ComplexArray, drive_sizes: FloatArray, response_sizes: FloatArray, floor: float
) -> ComplexArray:
    """Return the regularised pseudo-inverse (f, d, r) of a response matrix (f, r, d).

    Least squares in units of ``response_sizes`` (r,), smallest drives in units of ``drive_sizes`` (d,). With
    σ the singular values of the matrix in these units and σ_1 the largest at each frequency, 1/σ becomes
    σ / (σ² + (floor σ_1)²): directions in which the drives do hardly anything are not driven at any price
    (Tikhonov).
    """
    scaled = response * drive_sizes / response_sizes[:, None]
    left, singular, right = np.linalg.svd(scaled, full_matrices=False)
    minimum = floor * singular[:, :1]
    below = singular**2 + minimum**2
    gains = np.divide(singular, below, out=np.zeros_like(singular), where=below > 0.0)
    inverse = np.einsum("fkd,fk,frk->fdr", right.conj(), gains, left.conj())
    solved: ComplexArray = inverse * drive_sizes[:, None] / response_sizes
    return solved


def _spectra(series: FloatArray, segment: int) -> ComplexArray:
    """Return the spectra (windows, segment/2 + 1, columns) of all windows, each without its mean."""
    cut = np.lib.stride_tricks.sliding_window_view(series, segment, axis=0)[:: segment // 2]
    window = np.hanning(segment + 1)[:-1]
    parts = (cut - cut.mean(axis=-1, keepdims=True)) * window
    spectra: ComplexArray = np.fft.rfft(parts, axis=-1).transpose(0, 2, 1)
    return spectra


def _inverse_power(power: ComplexArray) -> ComplexArray:
    """Return the inverse (f, d, d) of the drives' spectral matrix, zero for drives that are silent there."""
    sizes = np.einsum("fii->fi", power).real
    loud = sizes > _QUIET * np.max(sizes, axis=0, initial=0.0)
    scale = np.divide(1.0, np.sqrt(sizes), out=np.zeros_like(sizes), where=loud)
    even = power * scale[:, :, None] * scale[:, None, :]
    inverse: ComplexArray = np.linalg.pinv(even, rcond=_ALONE, hermitian=True)
    inverse *= scale[:, :, None] * scale[:, None, :]
    return inverse
