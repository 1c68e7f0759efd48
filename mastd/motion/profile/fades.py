"""Windows that bring a motion up from rest and back, smooth to the third derivative."""

from __future__ import annotations

import numpy as np

from mastd.arrays import FloatArray

# Knots of a block that stay constant at either end: the quintic spline through them is then exactly at
# rest there, with all its derivatives zero (see mastd.motion.profile.timeline).
REST_KNOTS = 4


def smooth_step(fraction: FloatArray) -> FloatArray:
    """Return the rise from 0 to 1 over ``fraction`` 0…1, with zero first to third derivative at both ends.

    The polynomial of degree 7 that these eight conditions determine; constant outside 0…1.
    """
    x = np.clip(fraction, 0.0, 1.0)
    return x**4 * (35.0 + x * (-84.0 + x * (70.0 - 20.0 * x)))


def rise(knots: int) -> FloatArray:
    """Return a rise from 0 to 1 over ``knots`` samples that rests at either end (``REST_KNOTS``)."""
    fraction = (np.arange(knots) - REST_KNOTS) / (knots - 1 - 2 * REST_KNOTS)
    return smooth_step(fraction)


def window(knots: int, fade_knots: int) -> FloatArray:
    """Return a window over ``knots`` samples: rest, rise over ``fade_knots``, one, fall, rest.

    Fades longer than half the window are shortened to meet in its middle.
    """
    index = np.arange(knots, dtype=np.float64)
    from_end = np.minimum(index, knots - 1 - index) - REST_KNOTS
    length = min(fade_knots, (knots - 1) // 2) - REST_KNOTS
    return smooth_step(from_end / length)
