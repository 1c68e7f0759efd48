"""The noise with which the frequency response matrix is measured: independent axes in the judged band."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.control.iteration.figures import DRIVEN_RATIO
from mastd.control.iteration.learning import reach
from mastd.settings.core.axes import AXES
from mastd.signals.band import band_filter
from mastd.signals.metrics import ROTATION_ARM

LEVEL: Final = 0.35
"""Of the noise against the profile, rms of acceleration."""
_IDLE_RATIO: Final = 0.5
"""Level of an axis that the profile does not drive, against its loudest one."""
_CORNER_FACTOR: Final = 3.0
"""Times the band's lower end, up to which the density rises with the square of the frequency: the stroke."""
_LOWEST, _HIGHEST = 0.02, 100.0
"""Hz between which a profile may have noise."""
FADE: Final = 0.5


def noise_levels(
    accelerations: FloatArray, rate: float, band: tuple[float, float], freedoms: Sequence[str]
) -> FloatArray:
    """Return the rms (6,) of the noise of each axis for a motion of these accelerations (k, 6) of C.

    0 for an axis that is none of the table's ``freedoms``.
    """
    arms = np.array([1.0] * 3 + [ROTATION_ARM] * 3)
    own = np.sqrt(np.mean(band_filter(accelerations, rate, band) ** 2, axis=0)) * arms
    loudest = float(np.max(own))
    levels: FloatArray = LEVEL * np.where(own >= DRIVEN_RATIO * loudest, own, _IDLE_RATIO * loudest) / arms
    return levels * [axis in freedoms for axis in AXES]


def noise_segment(levels: FloatArray, band: tuple[float, float], duration: float) -> Mapping[str, Any]:
    """Return the segment of a profile with noise of these levels (6,), rms in m/s² and rad/s²."""
    low, high = reach(band)
    low, high = max(low, _LOWEST), min(high, _HIGHEST)
    corner = min(_CORNER_FACTOR * band[0], 0.5 * (low + high))
    bandwidth = (corner / 3.0) * (1.0 - (low / corner) ** 3) + high - corner
    axes = {}
    for axis, name in enumerate(AXES):
        if levels[axis] == 0.0:
            continue
        unit = "(m/s2)2/Hz" if axis < 3 else "(rad/s2)2/Hz"
        density = levels[axis] ** 2 / bandwidth
        points = ((low, density * (low / corner) ** 2), (corner, density), (high, density))
        axes[name] = {"density": tuple((f"{at:.6g} Hz", f"{value:.6g} {unit}") for at, value in points)}
    return {"kind": "random", "duration": f"{duration:.9g} s", "fade": f"{FADE} s", "axes": axes}
