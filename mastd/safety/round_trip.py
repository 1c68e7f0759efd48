"""Monitor the round trip of the plant link: how old the information is that the control works with.

Its age is that of the command which the newest sample answers, in periods; in lockstep always 1. It is
counted by the commands' numbers: neither clock has a part in it, nor a standstill of the loop itself.
The least age within a window is the *delay* of the line; what is above it for a moment is *jitter*.
"""

from __future__ import annotations

from collections.abc import Sequence

from mastd.safety.codes import Action, Code
from mastd.safety.faults import Report
from mastd.settings.daemon.trust import RoundTripSettings

SECOND = 1.0


class LineDelay:
    """Tells delay and jitter of the line; ``period`` in s."""

    def __init__(self, settings: RoundTripSettings, period: float) -> None:
        self._settings = settings
        self._period = period
        self._half = max(1, round(0.5 * settings.window / period))
        self._second = round(SECOND / period)
        self._stopped = False
        self._age = self._granted = self._uneventful = 0
        self._clear()

    @property
    def delay(self) -> int:
        """The least round trip within the window, in periods."""
        return min(self._before, self._smallest)

    def _clear(self) -> None:
        self._before = self._smallest = 1
        self._passed = 0
        self._cycles = self._late = self._largest = 0
        self._jitter = ""

    def account(self, age: int, watched: bool) -> Sequence[Report]:
        """Return what is wrong with the line in this cycle; nothing where it is not ``watched``.

        While a line in order keeps its age, its cycles are only counted until a window ends.
        """
        if self._uneventful and age == self._age and watched:
            self._uneventful -= 1
            return ()
        counted = self._granted - self._uneventful
        self._passed += counted
        self._cycles += counted
        found = self._judge(age, watched)
        in_order = watched and age <= self._settings.indicate and not found and not self._stopped
        left = min(self._half - self._passed, self._second - 1 - self._cycles) if in_order else 0
        self._age, self._granted, self._uneventful = age, left, left
        return found

    def _judge(self, age: int, watched: bool) -> Sequence[Report]:
        if not watched:
            if self._cycles:
                self._clear()
                self._stopped = False
            return ()
        limits = self._settings
        if self._passed >= self._half:
            self._before, self._passed = self._smallest, 0
        if self._passed == 0 or age < self._smallest:
            self._smallest = age
        self._passed += 1
        self._cycles += 1
        self._largest = max(self._largest, age)
        if age > limits.indicate:
            self._late += 1
        if self._cycles >= self._second:
            self._judge_jitter()
        if age <= limits.indicate and not self._stopped and not self._jitter:
            return ()
        delay = self.delay
        if delay > limits.stop or (self._stopped and delay > limits.indicate):
            self._stopped = True
            return (Report(Code.LINE_DELAY, self._text(delay, limits.stop)),)
        self._stopped = False
        if delay > limits.indicate:
            return (Report(Code.LINE_DELAY, self._text(delay, limits.indicate), Action.INDICATE),)
        return (Report(Code.LINE_DELAY, self._jitter, Action.INDICATE),) if self._jitter else ()

    def _judge_jitter(self) -> None:
        limits = self._settings
        share = self._late / self._cycles
        self._jitter = ""
        if share > limits.jitter_share and self.delay <= limits.indicate:
            self._jitter = (
                f"jitter: {share:.0%} of the samples within one second above {self._ms(limits.indicate)}, "
                f"limit {limits.jitter_share:.0%}; up to {self._ms(self._largest)}, "
                f"at best {self._ms(self.delay)}"
            )
        self._cycles = self._late = self._largest = 0

    def _text(self, delay: int, limit: int) -> str:
        return f"round trip of the plant link at least {self._ms(delay)}, limit {self._ms(limit)}"

    def _ms(self, periods: int) -> str:
        return f"{periods * self._period * 1e3:.3g} ms"
