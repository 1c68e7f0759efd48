"""Absolute deadlines at a fixed period on the monotonic clock: skip what was missed, count, never burst."""

from __future__ import annotations

import time


class PeriodicClock:
    """Deadlines t₀ + k·period in integer nanoseconds.

    ``wait`` sleeps to the next deadline, spinning over the last ``spin_ns``; when the deadline is already
    past by whole periods, these are skipped and counted, and the phase is kept.
    """

    def __init__(self, period_ns: int, spin_ns: int = 0) -> None:
        self.period_ns = period_ns
        self.spin_ns = spin_ns
        self.deadline_ns = 0
        self.late_ns = 0
        self.skipped = 0
        """Periods skipped by the last ``wait``."""
        self.missed = 0
        """Periods skipped since ``start``."""

    def start(self) -> None:
        """Set the first deadline one period from now and forget what was missed."""
        self.deadline_ns = time.monotonic_ns() + self.period_ns
        self.missed = 0
        self.skipped = 0

    def wait(self) -> int:
        """Return the time of waking in ns; ``late_ns`` and ``skipped`` tell how it went."""
        now = time.monotonic_ns()
        self.skipped = 0
        overdue = now - self.deadline_ns
        if overdue >= self.period_ns:
            self.skipped = overdue // self.period_ns
            self.missed += self.skipped
            self.deadline_ns += self.skipped * self.period_ns
        else:
            sleep_ns = -overdue - self.spin_ns
            if sleep_ns > 0:
                time.sleep(sleep_ns * 1e-9)
            now = time.monotonic_ns()
            while now < self.deadline_ns:
                now = time.monotonic_ns()
            overslept = (now - self.deadline_ns) // self.period_ns
            self.skipped = overslept
            self.missed += overslept
            self.deadline_ns += overslept * self.period_ns
        self.late_ns = now - self.deadline_ns
        self.deadline_ns += self.period_ns
        return now
