"""Check the limits that a profile sets on recorded channels, each cycle by one compiled call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, NamedTuple

import numpy as np

from mastd.arrays import FloatArray, IntArray
from mastd.index_table import Entry, index_table, size_of
from mastd.kernel import entry, entry_kernel, kernel
from mastd.safety.codes import Action, Code
from mastd.safety.faults import Report
from mastd.settings.profile.channel_limits import MAX_LIMITS, MAX_WINDOW, ChannelLimitSettings

VALUE, RATE, RMS = 0, 1, 2
"""Kinds of a check."""
MAX_CHECKS = 3 * MAX_LIMITS


class LimitRow(NamedTuple):
    """Numbers of a check on the way to the loop."""

    column: Annotated[int, Entry("1", "column in the frame")]
    kind: int
    action: int
    minimum: int
    maximum: int
    delay: Annotated[int, Entry("s", "that the condition may last")]
    window: Annotated[int, Entry("s", "of the mean square")]


class CheckRow(NamedTuple):
    """Whole numbers of a check as the kernel takes them."""

    column: Annotated[int, Entry("1", "column in the frame")]
    kind: int
    delay: Annotated[int, Entry("1", "cycles that the condition may last")]
    ring_start: int
    ring_size: Annotated[int, Entry("1", "cycles of the window")]


class CheckMemoryRow(NamedTuple):
    """Memory of a check."""

    last: Annotated[int, Entry("SI", "value of the last call")]
    begun: Annotated[int, Entry("1", "1 after the first call")]
    outside: Annotated[int, Entry("1", "calls outside the bounds")]
    seen: Annotated[int, Entry("SI", "what was compared")]
    sum: Annotated[int, Entry("SI", "of the squares in the window")]
    passed: Annotated[int, Entry("SI", "of the squares in this pass through the ring")]
    position: Annotated[int, Entry("1", "in the ring")]


LIMIT = index_table(LimitRow)
LIMIT_NUMBERS = size_of(LIMIT)
CHECK = index_table(CheckRow)
MEMORY = index_table(CheckMemoryRow)


class Checks(NamedTuple):
    """Checks of a profile: numbers (m, 5) as in ``CHECK``, bounds (m, 2), memory (m, 7) and ring."""

    numbers: IntArray
    bounds: FloatArray
    memory: FloatArray
    ring: FloatArray


@kernel
def _mean_square(value: float, check: IntArray, own: FloatArray, ring: FloatArray) -> float:
    """Return the mean square over the window with ``value``; exact: its sum is renewed in each pass."""
    size, position = check[CHECK.ring_size], int(own[MEMORY.position])
    at = check[CHECK.ring_start] + position
    square = value * value
    own[MEMORY.sum] += square - ring[at]
    own[MEMORY.passed] += square
    ring[at] = square
    own[MEMORY.position] = position + 1
    if position + 1 >= size:
        own[MEMORY.sum], own[MEMORY.passed], own[MEMORY.position] = own[MEMORY.passed], 0.0, 0.0
    return float(own[MEMORY.sum] / size)


@entry_kernel
def exceeded(frame: FloatArray, checks: Checks, dt: float) -> int:
    """Return the mask (bit = check) of what has been outside its bounds for longer than it may.

    ``dt`` in s is the time since the last call. Comparisons are written so that NaN trips them.
    """
    mask = 0
    for k in range(checks.numbers.shape[0]):
        check, own = checks.numbers[k], checks.memory[k]
        value = frame[check[CHECK.column]]
        seen = value
        if check[CHECK.kind] == RATE:
            seen = (value - own[MEMORY.last]) / dt if own[MEMORY.begun] > 0.0 and dt > 0.0 else 0.0
            own[MEMORY.last] = value
        elif check[CHECK.kind] == RMS:
            mean = _mean_square(value, check, own, checks.ring)
            seen = 0.0 if mean < 0.0 else np.sqrt(mean)
        own[MEMORY.begun] = 1.0
        own[MEMORY.seen] = seen
        if checks.bounds[k, 0] <= seen <= checks.bounds[k, 1]:
            own[MEMORY.outside] = 0.0
        else:
            own[MEMORY.outside] += 1.0
            if own[MEMORY.outside] > check[CHECK.delay]:
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
    """Checks the limits of a profile; all memory is allocated once, for as many as a profile may set.

    ``channels`` are name and unit of the frame's channels in order, ``period`` in s is the cycle's.
    """

    def __init__(self, channels: Sequence[tuple[str, str]], period: float) -> None:
        self._channels = channels
        self._period = period
        self._limits = np.zeros((0, LIMIT_NUMBERS))
        self._all = Checks(
            np.zeros((MAX_CHECKS, size_of(CHECK)), dtype=np.int64),
            np.zeros((MAX_CHECKS, 2)),
            np.zeros((MAX_CHECKS, size_of(MEMORY))),
            np.zeros(MAX_LIMITS * self._cycles(MAX_WINDOW)),
        )
        self._exceeded = entry(exceeded, (np.zeros(1), self._all, period))

    def take(self, limits: FloatArray) -> None:
        """Take over the checks of a profile (``tabulate``) and clear the memory, before it runs."""
        self._limits = limits
        used = 0
        for k, (column, kind, _, low, high, delay, window) in enumerate(limits):
            size = max(1, self._cycles(window)) if kind == RMS else 0
            self._all.numbers[k] = column, kind, self._cycles(delay), used, size
            self._all.bounds[k] = low, high
            used += size
        self._all.memory[:] = 0.0
        self._all.ring[:used] = 0.0

    def inspect(self, frame_values: FloatArray, elapsed: float | None = None) -> list[Report]:
        """Return what is beyond its limit now; ``elapsed`` in s since the last call, else one period."""
        if not len(self._limits):
            return []
        count = len(self._limits)
        numbers, bounds, memory, ring = self._all
        checks = Checks(numbers[:count], bounds[:count], memory, ring)
        mask: int = self._exceeded(frame_values, checks, self._period if elapsed is None else elapsed)
        return [self._report(k) for k in range(count) if mask >> k & 1] if mask else []

    def _cycles(self, seconds: float) -> int:
        return round(seconds / self._period)

    def _report(self, check: int) -> Report:
        column, kind, action, low, high, _, _ = self._limits[check]
        seen = self._all.memory[check, MEMORY.seen]
        what = ("", " per second", " rms")[int(kind)]
        allowed = f"±{high:.4g}" if low == -high else f"{low:.4g} to {high:.4g}"
        name, unit = self._channels[int(column)]
        unit = "" if unit == "1" else f" {unit}"
        detail = f"{name} at {seen:.4g}{unit}{what}, limit {allowed}{unit}"
        return Report(Code.PROFILE_LIMIT, detail, Action(int(action)))
