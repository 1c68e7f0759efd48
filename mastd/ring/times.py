"""What counts as late, and which figures tell how long cycles took: the same for status, log and benches."""

from __future__ import annotations

import math
from collections.abc import Sequence

LATE_RATIO = 0.5
"""A cycle is late that begins more than this share of a period after its deadline."""


def spread(ordered: Sequence[float]) -> tuple[float, float, float]:
    """Return median, 99th percentile (nearest rank) and maximum of at least one value, in ascending order."""
    count = len(ordered)
    return ordered[(count - 1) // 2], ordered[math.ceil(0.99 * count) - 1], ordered[-1]
