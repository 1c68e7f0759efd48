"""One step of the iteration as pure functions: from what is missing to the drive's correction.

With E the spectrum of target − responses, H⁺ the regularised inverse of the frequency response matrix from
drive accelerations to responses and γ² the coherence of each response, the drive's acceleration is changed by

    ΔU = g Q H⁺ (γ² E)

within the band Q, whose edges are smooth, and its displacement by ΔU / −ω². γ² is the ratio of a response
that the matrix explains: what it cannot explain (noise, friction, rattle) is not learned from. g is a gain
for all, 1 as long as the error falls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import fft

from mastd.arrays import ComplexArray, FloatArray
from mastd.motion.profile.fades import REST_KNOTS, smooth_step
from mastd.signals.frequency_matrix import FrequencyMatrix, pseudo_inverse

INNER: Final = 0.9
"""Ends of the band, times or divided by this, between which all is corrected: the filter that judges still
passes half of what lies at the ends."""
OUTER: Final = 0.7
"""Ends of the band, times or divided by this, beyond which nothing is."""
FLOOR: Final = 0.02
"""Ratio to the strongest direction of the matrix below which a direction is not driven."""
_QUIET_TIME: Final = 2.0
"""Periods of the band's lower end of rest beside the series, so that its ends do not meet in the circle."""
_SETTLING: Final = 0.25
"""s in which a correction sets in at the beginning of the motion, and goes out at its end."""


@dataclass(frozen=True)
class Sizes:
    """What counts as equally large: drives (d,) and responses (r,), each in its own unit."""

    drives: FloatArray
    responses: FloatArray


def reach(band: tuple[float, float]) -> tuple[float, float]:
    """Return the frequencies in Hz between which a drive is corrected for a band that is judged."""
    return band[0] * OUTER, band[1] / OUTER


def band_weight(frequency: FloatArray, band: tuple[float, float]) -> FloatArray:
    """Return the weight Q (f,), 0…1, with smooth edges on a logarithmic axis."""
    low, high = band
    with np.errstate(divide="ignore"):
        position = np.log(frequency)
    rise = (position - np.log(low * OUTER)) / np.log(INNER / OUTER)
    fall = (np.log(high / OUTER) - position) / np.log(INNER / OUTER)
    weight: FloatArray = smooth_step(np.minimum(rise, fall))
    return weight


def correction(
    missing: FloatArray, rate: float, matrix: FrequencyMatrix, sizes: Sizes, band: tuple[float, float]
) -> FloatArray:
    """Return the change (k, d) of the drives' displacements that makes up for what is ``missing`` (k, r) of
    the responses, at gain 1.

    ``matrix`` is that from the drives' accelerations to the responses. ``band`` in Hz is the one that is
    judged. The change begins and ends at rest.
    """
    count = len(missing)
    quiet = round(_QUIET_TIME * rate / band[0])
    length = fft.next_fast_len(count + quiet, real=True)
    frequency = fft.rfftfreq(length, 1.0 / rate)
    inside = np.flatnonzero(band_weight(frequency, band))
    at = frequency[inside]
    gain = band_weight(at, band) / (2.0 * np.pi * at) ** 2
    inverse = pseudo_inverse(matrix.response, sizes.drives, sizes.responses, FLOOR)
    learned = inverse * matrix.coherence[:, None, :]
    # Without mean and with smooth ends: an offset between two sensors must not be learned as a step.
    window = _from_rest(count, rate)[:, None]
    error = fft.rfft(window * (missing - np.mean(missing, axis=0)), length, axis=0)[inside]
    change = np.zeros((length // 2 + 1, learned.shape[1]), dtype=np.complex128)
    change[inside] = -gain[:, None] * np.einsum("fdr,fr->fd", _at(matrix.frequency, learned, at), error)
    moved: FloatArray = fft.irfft(change, length, axis=0)[:count]
    return moved * window


def _at(frequency: FloatArray, values: ComplexArray, at: FloatArray) -> ComplexArray:
    """Return values (f, …), given at evenly spaced frequencies from 0 on, on straight lines between them."""
    position = np.minimum(at / frequency[1], len(frequency) - 1.0)
    below = np.minimum(position.astype(np.int64), len(frequency) - 2)
    weight = (position - below)[:, None, None]
    lines: ComplexArray = values[below] * (1.0 - weight) + values[below + 1] * weight
    return lines


def _from_rest(count: int, rate: float) -> FloatArray:
    """Return a window (k,) that rests at both ends for twice as long as the path of a drive needs it."""
    ends = np.minimum(np.arange(count), np.arange(count)[::-1]) - 2.0 * REST_KNOTS
    rise: FloatArray = smooth_step(ends / min(_SETTLING * rate, 0.25 * count))
    return rise


def welch_segment(samples: int) -> int:
    """Return the window's length for a noise play of so many samples: 4.1 s at 1 kHz, or a sixteenth of it.

    A power of two, so that a hundred seconds have some fifty windows and a line every quarter of a hertz.
    """
    return int(min(4096, 2 ** int(np.log2(max(samples / 16.0, 8.0)))))
