"""A profile's own limits on recorded channels, checked in each cycle by one compiled call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mastd.kernel import kernel
from mastd.safety.codes import Action, Code
from mastd.safety.faults import Report
from mastd.settings.channel_limits import ChannelLimitSettings

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

VALUE, RATE, RMS = range(3)

# columns of the table of checks, the further ones of a row, and places of each check's own memory
COLUMN, KIND, DELAY, RING_START, RING_SIZE = range(5)
LOW, HIGH, ROW_SIZE = 5, 6, 8
LAST, BEGUN, COUNT, SEEN, SUM, PASSED, POSITION, MEMORY = range(8)


@kernel
def exceeded(frame: Array, checks: Integers, bounds: Array, memory: Array, ring: Array, dt: float) -> int:
    """Return the mask (bit = check) of what has stood outside its bounds for longer than it may.

    ``checks`` (m, 5) and ``bounds`` (m, 2) as ``limit_rows`` lays them out, ``memory`` (m, MEMORY) and
    ``ring`` are this function's own; ``dt`` in s is the time since the last call. Comparisons are written so
    that NaN trips them. The mean square is exact: its sum is taken anew in each pass through the ring.
    """
    mask = 0
    for k in range(checks.shape[0]):
        own = memory[k]
        value = frame[checks[k, COLUMN]]
        seen = value
        if checks[k, KIND] == RATE:
            seen = (value - own[LAST]) / dt if own[BEGUN] > 0.0 and dt > 0.0 else 0.0
            own[LAST] = value
        elif checks[k, KIND] == RMS:
            size, position = checks[k, RING_SIZE], int(own[POSITION])
            place = checks[k, RING_START] + position
            square = value * value
            own[SUM] += square - ring[place]
            own[PASSED] += square
            ring[place] = square
            own[POSITION] = position + 1
            if position + 1 >= size:
                own[SUM], own[PASSED], own[POSITION] = own[PASSED], 0.0, 0.0
            seen = 0.0 if own[SUM] < 0.0 else np.sqrt(own[SUM] / size)
        own[BEGUN] = 1.0
        own[SEEN] = seen
        if bounds[k, 0] <= seen <= bounds[k, 1]:
            own[COUNT] = 0.0
        else:
            own[COUNT] += 1.0
            if own[COUNT] > checks[k, DELAY]:
                mask |= 1 << k
    return mask


@dataclass(frozen=True)
class _Check:
    channel: str
    kind: int
    lowest: float
    highest: float
    action: Action

    def said(self, seen: float) -> str:
        what = ("", " per second", " rms")[self.kind]
        if self.lowest == -self.highest:
            allowed = f"±{self.highest:.4g}"
        else:
            allowed = f"{self.lowest:.4g} to {self.highest:.4g}"
        return f"{self.channel} at {seen:.4g}{what} (SI), allowed {allowed}"


def limit_rows(limits: Sequence[ChannelLimitSettings], columns: Mapping[str, int], period: float) -> Array:
    """Return a profile's limits as plain rows (m, ROW_SIZE), as they cross to the loop.

    ``columns`` gives the column of each channel in the frame, ``period`` in s is the cycle's. Raises KeyError
    for a channel that is not recorded; a profile that was loaded with the table's channels has none.
    """
    rows: list[list[float]] = []
    size = 0
    for limit in limits:
        action = Action[limit.action.upper().replace("-", "_")]
        for kind, bound in ((VALUE, limit.value), (RATE, limit.rate), (RMS, limit.rms)):
            if bound is None:
                continue
            low, high = bound if isinstance(bound, tuple) else (-bound, bound)
            span = max(1, round(limit.window / period)) if kind == RMS else 0
            delay = round(limit.delay / period)
            rows.append([columns[limit.channel], kind, delay, size, span, low, high, action])
            size += span
    return np.array(rows, dtype=np.float64).reshape(-1, ROW_SIZE)


class ProfileLimits:
    """Checks of a profile's ``limits``, given as ``limit_rows``; ``names`` are the channels of the frame."""

    def __init__(self, rows: Array, names: Sequence[str], period: float) -> None:
        self._checks = [
            _Check(names[int(column)], int(kind), float(low), float(high), Action(int(action)))
            for column, kind, _, _, _, low, high, action in rows
        ]
        self._period = period
        self._table: Integers = rows[:, : RING_SIZE + 1].astype(np.int64)
        self._bounds = np.ascontiguousarray(rows[:, LOW : HIGH + 1])
        self._memory = np.zeros((len(rows), MEMORY))
        self._ring = np.zeros(int(rows[:, RING_SIZE].sum()))

    def reset(self) -> None:
        """Forget all that was seen: before the profile is played."""
        self._memory[:] = 0.0
        self._ring[:] = 0.0

    def inspect(self, frame_values: Array, elapsed: float | None = None) -> list[Report]:
        """Return what is beyond its limit now; ``elapsed`` in s since the last call, else one period."""
        if not self._checks:
            return []
        dt = self._period if elapsed is None else elapsed
        mask = exceeded(frame_values, self._table, self._bounds, self._memory, self._ring, dt)
        if not mask:
            return []
        return [
            Report(Code.PROFILE_LIMIT, one.said(self._memory[k, SEEN]), one.action)
            for k, one in enumerate(self._checks)
            if mask >> k & 1
        ]
