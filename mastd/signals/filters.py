"""Zero-phase filters for whole series, as gains on their spectrum."""

from __future__ import annotations

import numpy as np

from mastd.arrays import FloatArray


def band_pass_gain(frequency: FloatArray, low: float, high: float, order: int) -> FloatArray:
    """Return the gain at ``frequency`` (Hz) of Butterworth filters run forward and backward.

    A high-pass at ``low`` and a low-pass at ``high``, each of ``order`` per direction: the gain is one half
    at both corners and the phase zero everywhere. Zero at frequency zero.
    """
    with np.errstate(divide="ignore"):
        high_pass = 1.0 / (1.0 + (low / frequency) ** (2 * order))
    low_pass = 1.0 / (1.0 + (frequency / high) ** (2 * order))
    return np.where(frequency > 0.0, high_pass * low_pass, 0.0)


def padding_time(low: float, order: int) -> float:
    """Return the time in s that a zero-phase high-pass at ``low`` Hz needs before and after a record.

    1.5 · (order of both passes) / low corner, Converse and Brady 1992 (BAP), half of it at either end.
    """
    return 0.75 * 2 * order / low
