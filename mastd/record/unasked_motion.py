"""Motion that nobody asked for, from a record: measured less reference acceleration of undriven axes.

Of each axis the largest effective value over ``WINDOW`` counts, times √2: the amplitude of an oscillation. It
is not filtered to the profile's band, since an oscillation of the control lies outside of it. Rotations count
at the lever arm of the loop's own watch (``unasked_motion`` of the daemon's settings).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import numpy as np

from mastd.record.alignment import Aligned
from mastd.record.completeness import criterion
from mastd.settings.core.axes import AXES
from mastd.signals.metrics import ROTATION_ARM

WINDOW: Final = 0.3
"""s."""
LIMIT: Final = 0.5
"""m/s² from which on a run fails, unless its profile sets another limit: of a table whose watch has
``WATCHED``; in proportion to it on others."""
WATCHED: Final = 0.7


def watch_of(metadata: Mapping[str, object]) -> tuple[float, float]:
    """Return lever arm of rotations in m and limit in m/s², from the daemon's settings in a record's head."""
    daemon = metadata.get("daemon")
    settings = daemon.get("unasked_motion") if isinstance(daemon, Mapping) else None
    arm, limit = (settings.get(name) if isinstance(settings, Mapping) else None for name in ("arm", "limit"))
    return (
        float(arm) if isinstance(arm, int | float) else ROTATION_ARM,
        LIMIT / WATCHED * float(limit) if isinstance(limit, int | float) else LIMIT,
    )


def unasked_motion(
    accelerations: Aligned | None, period: float, arm: float = ROTATION_ARM
) -> dict[str, float | None]:
    """Return the amplitude in m/s² of what was not asked for in each axis, None without accelerations.

    ``arm`` in m at which rotations count.
    """
    if accelerations is None:
        return dict.fromkeys(AXES)
    wrong = (accelerations.achieved - accelerations.asked) * np.repeat([1.0, arm], 3)
    samples = min(max(1, round(WINDOW / period)), len(wrong))
    sums = np.cumsum(np.vstack((np.zeros(6), wrong**2)), axis=0)
    means = (sums[samples:] - sums[:-samples]) / samples
    largest = np.sqrt(2.0 * np.max(np.maximum(means, 0.0), axis=0))
    return {axis: float(value) for axis, value in zip(AXES, largest, strict=True)}


def judge_unasked(
    unasked: Mapping[str, float | None], driven: Collection[str], limit: float
) -> dict[str, object] | None:
    """Return the criterion on the worst axis that is not driven, None where there is nothing to judge."""
    values = {axis: value for axis, value in unasked.items() if axis not in driven and value is not None}
    if not values:
        return None
    axis = max(values, key=lambda one: values[one])
    return criterion(f"{axis}.unasked_motion", values[axis], limit)
