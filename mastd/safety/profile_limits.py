"""A profile's own limits on recorded channels, checked in each cycle by one compiled call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mastd.arrays import FloatArray, IntArray
from mastd.kernel import kernel
from mastd.safety.codes import Action, Code
from mastd.safety.faults import Report
from mastd.settings.profile.channel_limits import MAX_LIMITS, MAX_WINDOW, ChannelLimitSettings

VALUE, RATE, RMS = range(3)
MAX_CHECKS = 3 * MAX_LIMITS
LIMIT_NUMBERS = 7
"""Numbers of a check on the way to the loop: column, kind, action, lowest, highest, delay and window in s."""

# columns of the kernel's table of checks, and of each check's own memory
COLUMN, KIND, DELAY, RING_START, RING_SIZE, CHECK_NUMBERS = range(6)
LAST, BEGUN, COUNT, SEEN, SUM, PASSED, POSITION, MEMORY = range(8)


@kernel
def exceeded(
    frame: FloatArray, checks: IntArray, bounds: FloatArray, memory: FloatArray, ring: FloatArray, dt: float
) -> int:
    """Return the mask (bit = check) of what has stood outside its bounds for longer than it may.

    ``checks`` (m, CHECK_NUMBERS) and ``bounds`` (m, 2) as ``ProfileLimits`` lays them out; ``memory``
    (m or more, MEMORY) and ``ring`` are this function's own; ``dt`` in s is the time since the last call.
    Comparisons are written so that NaN trips them. The mean square is exact: its sum is taken anew in each
    pass through the ring.
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


def tabulate(limits: Sequence[ChannelLimitSettings], columns: Mapping[str, int]) -> FloatArray:
    """Return the checks (m, LIMIT_NUMBERS) of a profile's ``limits``, as ``ProfileLimits`` takes them.

    ``columns`` gives the column of each channel in the frame. Raises KeyError for a channel that is not
    recorded; a profile that was loaded with the table's channels has none.
    """
    rows: list[tuple[float, ...]] = []
    for limit in limits:
        action = Action[limit.action.upper().replace("-", "_")]
        for kind, bound in ((VALUE, limit.value), (RATE, limit.rate), (RMS, limit.rms)):
            if bound is not None:
                low, high = bound if isinstance(bound, tuple) else (-bound, bound)
                column = columns[limit.channel]
                rows.append((column, kind, action, low, high, limit.delay, limit.window))
    return np.array(rows, dtype=np.float64).reshape(-1, LIMIT_NUMBERS)


class ProfileLimits:
    """Watches a profile's own limits; all memory is taken once, for as many as a profile may set.

    ``channels`` are name and unit of the frame's channels in order, ``period`` in s is the cycle's.
    """

    def __init__(self, channels: Sequence[tuple[str, str]], period: float) -> None:
        self._channels = channels
        self._period = period
        self._limits = np.zeros((0, LIMIT_NUMBERS))
        self._every_check: IntArray = np.zeros((MAX_CHECKS, CHECK_NUMBERS), dtype=np.int64)
        self._every_bound = np.zeros((MAX_CHECKS, 2))
        self._memory = np.zeros((MAX_CHECKS, MEMORY))
        self._ring = np.zeros(MAX_LIMITS * self._cycles(MAX_WINDOW))

    def take(self, limits: FloatArray) -> None:
        """Take over the checks of a profile (``tabulate``) and forget what was seen: before it is played."""
        self._limits = limits
        used = 0
        for k, (column, kind, _, low, high, delay, window) in enumerate(limits):
            size = max(1, self._cycles(window)) if kind == RMS else 0
            self._every_check[k] = column, kind, self._cycles(delay), used, size
            self._every_bound[k] = low, high
            used += size
        self._memory[:] = 0.0
        self._ring[:used] = 0.0

    def inspect(self, frame_values: FloatArray, elapsed: float | None = None) -> list[Report]:
        """Return what is beyond its limit now; ``elapsed`` in s since the last call, else one period."""
        if not len(self._limits):
            return []
        mask = self._exceeded(frame_values, self._period if elapsed is None else elapsed)
        return [self._report(k) for k in range(len(self._limits)) if mask >> k & 1] if mask else []

    def compile(self, frame_values: FloatArray) -> None:
        """Load or compile the kernel before it is needed."""
        self._exceeded(frame_values, self._period)

    def _exceeded(self, frame_values: FloatArray, dt: float) -> int:
        count = len(self._limits)
        checks, bounds = self._every_check[:count], self._every_bound[:count]
        return exceeded(frame_values, checks, bounds, self._memory, self._ring, dt)

    def _cycles(self, seconds: float) -> int:
        return round(seconds / self._period)

    def _report(self, check: int) -> Report:
        column, kind, action, low, high, _, _ = self._limits[check]
        seen = self._memory[check, SEEN]
        what = ("", " per second", " rms")[int(kind)]
        allowed = f"±{high:.4g}" if low == -high else f"{low:.4g} to {high:.4g}"
        name, unit = self._channels[int(column)]
        unit = "" if unit == "1" else f" {unit}"
        detail = f"{name} at {seen:.4g}{unit}{what}, limit {allowed}{unit}"
        return Report(Code.PROFILE_LIMIT, detail, Action(int(action)))
