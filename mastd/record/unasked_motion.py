"""Motion that nobody asked for, from a record: measured less reference acceleration of undriven axes.

Of each axis the largest effective value over ``WINDOW`` counts, times √2: the amplitude of an oscillation. It
is not filtered to the profile's band, since an oscillation of the control lies outside of it. Rotations count
``ROTATION_ARM`` away from C.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import numpy as np

from mastd.record.alignment import Aligned
from mastd.record.channels import AXES
from mastd.record.completeness import criterion
from mastd.signals.acceleration_figures import ARMS

WINDOW: Final = 0.3
"""s."""
LIMIT: Final = 0.5
"""m/s² from which on a run fails, unless its profile sets another limit."""


def unasked_motion(accelerations: Aligned | None, period: float) -> dict[str, float | None]:
    """Return the amplitude in m/s² of what was not asked for in each axis, None without accelerations."""
    if accelerations is None:
        return dict.fromkeys(AXES)
    wrong = (accelerations.achieved - accelerations.asked) * ARMS
    samples = min(max(1, round(WINDOW / period)), len(wrong))
    sums = np.cumsum(np.vstack((np.zeros(6), wrong**2)), axis=0)
    means = (sums[samples:] - sums[:-samples]) / samples
    largest = np.sqrt(2.0 * np.max(np.maximum(means, 0.0), axis=0))
    return {axis: float(value) for axis, value in zip(AXES, largest, strict=True)}


def judge_unasked(
    unasked: Mapping[str, float | None], driven: Collection[str], limit: object
) -> dict[str, object] | None:
    """Return the criterion on the worst axis that is not driven, None where there is nothing to judge."""
    values = {axis: value for axis, value in unasked.items() if axis not in driven and value is not None}
    if not values:
        return None
    axis = max(values, key=lambda one: values[one])
    bound = limit if isinstance(limit, int | float) else LIMIT
    return criterion(f"{axis}.unasked_motion", values[axis], bound)
