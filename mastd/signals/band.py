"""Zero-phase filter to a frequency band, for judging records: it shifts nothing and treats all signals alike.

Butterworth of order 4 run forwards and backwards (so the gain is the square of the single run's, one half
at each corner), as second-order sections because a corner may lie far below the sample rate.
"""

from __future__ import annotations

import numpy as np
from scipy import signal

from mastd.arrays import FloatArray

ORDER = 4
MAX_RATIO = 0.4
"""Above this share of the sample rate there is no upper corner: the samples hold nothing more anyway."""
DEFAULT_HIGH = 50.0
"""Upper corner in Hz where a profile excites no frequencies of its own."""


def judging_band(band: tuple[float, float] | None) -> tuple[float, float]:
    """Return the band in Hz in which a profile is judged; a lower corner of 0 keeps the mean.

    A band narrower than an octave (a sine has no width at all) is widened to an octave on either side of its
    middle; without a band everything up to 50 Hz counts.
    """
    if band is None:
        return 0.0, DEFAULT_HIGH
    low, high = band
    if low > 0.0 and high < 2.0 * low:
        middle = np.sqrt(low * high)
        return float(middle / 2.0), float(middle * 2.0)
    return low, high


def band_filter(values: FloatArray, rate: float, band: tuple[float, float]) -> FloatArray:
    """Return ``values`` (k,) or (k, columns), sampled at ``rate`` Hz, filtered along the first axis to
    ``band`` Hz.

    The ends are continued with their own value, as befits a motion from rest to rest. Raises ValueError for a
    band that is not 0 <= low < high.
    """
    low, high = band
    if not 0.0 <= low < high:
        raise ValueError(f"band {low:g} … {high:g} Hz must ascend from 0")
    upper = high if high < MAX_RATIO * rate else None
    if low > 0.0 and upper is not None:
        sections = signal.butter(ORDER, (low, upper), "bandpass", fs=rate, output="sos")
    elif low > 0.0:
        sections = signal.butter(ORDER, low, "highpass", fs=rate, output="sos")
    elif upper is not None:
        sections = signal.butter(ORDER, upper, "lowpass", fs=rate, output="sos")
    else:
        return values.copy()
    if len(values) < 2:
        return values.copy() if low == 0.0 else np.zeros_like(values)
    settling = round(3.0 * rate / (low if low > 0.0 else high))
    filtered: FloatArray = signal.sosfiltfilt(
        sections, values, axis=0, padtype="constant", padlen=min(settling, len(values) - 1)
    )
    return filtered
