"""How the loop has kept its time over the last second, from the frames that it has made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mastd.arrays import FloatArray
from mastd.ring.times import LATE_RATIO, spread

_NAMES = ("late", "missed", "compute")


class CycleTimes:
    """The newest frames of one second at ``rate`` Hz; ``channels`` names their columns.

    Raises ValueError where a column is not among them.
    """

    def __init__(self, channels: Sequence[str], rate: float) -> None:
        self._columns = [channels.index(name) for name in _NAMES]
        self._period = 1.0 / rate
        self._rows: FloatArray = np.zeros((max(1, round(rate)), 2))
        """Lateness and processor time of a cycle each, in s; the oldest is overwritten."""
        self._count = 0
        self._missed = math.nan
        self._summary: dict[str, Any] | None = None

    def take(self, frames: FloatArray) -> None:
        """Take the next frames (n, channels)."""
        if not len(frames):
            return
        self._summary = None
        late, missed, compute = frames[:, self._columns].T
        # Whole periods that a wake-up came too late are counted apart, and are late all the same.
        before = missed[0] if math.isnan(self._missed) else self._missed
        skipped = np.diff(missed, prepend=before)
        self._missed = float(missed[-1])
        size = len(self._rows)
        rows = np.column_stack((late + skipped * self._period, compute))[-size:]
        indices = np.arange(self._count, self._count + len(rows)) % size
        self._rows[indices] = rows
        self._count += len(rows)

    def summary(self) -> dict[str, Any] | None:
        """Return the entry ``cycle_time`` of the status; None before the first frame."""
        if self._summary is None and self._count:
            rows = self._rows[: self._count]
            late = rows[:, 0]
            self._summary = {
                "window_s": len(rows) * self._period,
                "compute_s": _spread(rows[:, 1]),
                "late_s": _spread(late),
                "late": int(np.count_nonzero(late > LATE_RATIO * self._period)),
            }
        return self._summary


def _spread(values: FloatArray) -> dict[str, float]:
    return dict(zip(("median", "p99", "max"), spread(np.sort(values).tolist()), strict=True))
