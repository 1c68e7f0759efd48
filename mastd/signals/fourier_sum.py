"""Values of a Fourier series at evenly spaced places, whatever their spacing and that of the lines."""

from __future__ import annotations

import math

import numpy as np
import scipy

from mastd.arrays import ComplexArray


def fourier_sum(lines: ComplexArray, period: float, first: float, spacing: float, count: int) -> ComplexArray:
    """Return Σ over k of lines[…, k] · exp(2πi k t / period) at t = first + m · spacing, (…, count).

    ``lines`` (…, n) from frequency zero on. By the chirp z-transform (Rabiner, Schafer and Rader 1969): with
    2 k m = k² + m² − (m − k)² the sum is a convolution, so that it takes the time of three FFTs, and no place
    is ever rounded to a grid. ``spacing`` is below ``period``.
    """
    number = np.arange(lines.shape[-1])
    turn = spacing / period
    longest = max(len(number), count)
    chirp = _chirp(turn, longest)
    size = scipy.fft.next_fast_len(len(number) + count - 1)
    # exp(−πi turn j²) for j from −(lines − 1) to count − 1, wrapped round.
    kernel = np.zeros(size, dtype=np.complex128)
    kernel[:count] = chirp[:count].conj()
    kernel[size - len(number) + 1 :] = chirp[1 : len(number)][::-1].conj()
    shifted = lines * np.exp(2j * np.pi * (number * (first / period) % 1.0))
    series = scipy.fft.fft(shifted * chirp[: len(number)], size, axis=-1, overwrite_x=True)
    series *= scipy.fft.fft(kernel, overwrite_x=True)
    result: ComplexArray = scipy.fft.ifft(series, axis=-1, overwrite_x=True)[..., :count] * chirp[:count]
    return result


def _chirp(turn: float, count: int) -> ComplexArray:
    """Return exp(πi turn j²) for j = 0 … count − 1.

    Turns are counted in units of 2⁻⁶⁴, in whole numbers from which full turns fall away by themselves, so
    that squares of millions do not cost the phase its digits. ``turn`` itself is rounded to 2⁻⁶⁵, the same
    for all j, which only stretches the places by so little.
    """
    step = np.uint64(round(math.ldexp(0.5 * turn, 64)))
    index = np.arange(count, dtype=np.uint64)
    angle = (index * index * step).astype(np.float64) * math.ldexp(2.0 * math.pi, -64)
    result: ComplexArray = np.exp(1j * angle)
    return result
