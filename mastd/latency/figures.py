"""What was measured, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mastd.arrays import FloatArray

EDGES_US = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000)
"""Upper edges of the histogram's classes; one more holds what is above."""


@dataclass(frozen=True)
class WakeUps:
    """Wake-ups at one rate: ``late_s`` (n,) is how long after its deadline each came, in seconds.

    One that came whole periods late stands for these periods too: they were missed.
    """

    scheduling: str
    """What the thread had: ``ordinary`` or ``real-time``."""
    rate_hz: float
    late_s: FloatArray

    @property
    def count(self) -> int:
        """Wake-ups."""
        return len(self.late_s)

    @property
    def latest_s(self) -> float:
        """The latest one."""
        return float(self.late_s.max())

    def quantile(self, ratio: float) -> float:
        """Return the lateness that this share of the wake-ups does not exceed (nearest rank)."""
        return float(np.quantile(self.late_s, ratio, method="inverted_cdf"))

    def later_than(self, seconds: float) -> int:
        """Return how many came later than this."""
        return int(np.count_nonzero(self.late_s > seconds))

    def missed(self, rate_hz: float) -> tuple[int, float]:
        """Return the most periods of a rate missed in a row, and the fraction of all that were missed.

        For another rate than the measured one this takes the same delays at the same times.
        """
        missed = np.floor(self.late_s * rate_hz)
        periods = (self.count + np.floor(self.late_s * self.rate_hz).sum()) * rate_hz / self.rate_hz
        return int(missed.max()), float(missed.sum() / periods)

    def histogram(self) -> list[int]:
        """Return the counts of the classes that end at ``EDGES_US``, and of what is above."""
        indices = np.searchsorted(np.array(EDGES_US) * 1e-6, self.late_s)
        return [int(count) for count in np.bincount(indices, minlength=len(EDGES_US) + 1)]

    def as_json(self) -> dict[str, object]:
        """Return plain data."""
        half = 0.5 / self.rate_hz
        return {
            "scheduling": self.scheduling,
            "rate_hz": self.rate_hz,
            "count": self.count,
            "median_s": self.quantile(0.5),
            "p99_s": self.quantile(0.99),
            "p999_s": self.quantile(0.999),
            "max_s": self.latest_s,
            "later_than_half_a_period": self.later_than(half),
            "missed_periods": int(np.floor(self.late_s * self.rate_hz).sum()),
            "histogram": [
                {"up_to_s": edge, "count": count}
                for edge, count in zip(
                    [edge * 1e-6 for edge in EDGES_US] + [None], self.histogram(), strict=True
                )
            ],
        }


@dataclass(frozen=True)
class Stalls:
    """Gaps seen by a thread that never sleeps: time that others took from it.

    In a gap with a forced change of thread another program ran. In the others something ran that this system
    does not schedule: the hypervisor, the firmware, interrupts.
    """

    real_time: bool
    watched_s: float
    machine_s: tuple[float, ...]
    """Gaps without a change of thread."""
    preempted_s: tuple[float, ...]
    """Gaps in which another thread ran."""

    @property
    def longest_machine_s(self) -> float:
        """The longest gap that no other thread accounts for."""
        return max(self.machine_s, default=0.0)

    @property
    def longest_preempted_s(self) -> float:
        """The longest gap in which another thread ran."""
        return max(self.preempted_s, default=0.0)

    def as_json(self) -> dict[str, object]:
        """Return plain data."""

        def summary_of(gaps: Sequence[float], longest: float) -> dict[str, object]:
            return {"count": len(gaps), "longest_s": longest, "share": sum(gaps) / self.watched_s}

        return {
            "real_time": self.real_time,
            "watched_s": self.watched_s,
            "machine": summary_of(self.machine_s, self.longest_machine_s),
            "other_threads": summary_of(self.preempted_s, self.longest_preempted_s),
        }


@dataclass(frozen=True)
class Busy:
    """What the processors did meanwhile, as shares of their time; None where the system does not say."""

    busy: float | None
    stolen: float | None
    load_average: float | None


@dataclass(frozen=True)
class Right:
    """One right of the loop's: whether it was given, what was found, what to do if not."""

    name: str
    obtained: bool | None
    found: str
    advice: str = ""


@dataclass(frozen=True)
class Measurement:
    """Everything that is judged."""

    rate_hz: float
    duration_s: float
    own_load: bool
    processor: int | None
    ordinary: WakeUps
    real_time: WakeUps | None
    """None when real-time scheduling was refused."""
    stalls: Stalls
    busy: Busy
    rights: tuple[Right, ...]

    @property
    def best(self) -> WakeUps:
        """What the loop gets: real-time scheduling where it is granted."""
        return self.real_time or self.ordinary
