"""Fade the acceleration feedback out: samples are old, or the table moves as nobody asked."""

from __future__ import annotations

from mastd.safety.codes import Code
from mastd.safety.faults import Report
from mastd.settings.daemon.trust import RoundTripSettings, UnaskedMotionSettings


class FeedbackFade:
    """Weight of the acceleration feedback, from 0 to 1; ``period`` in s.

    It comes back by itself after a delay; after motion that nobody asked for ``reset`` brings it back.
    """

    def __init__(self, round_trip: RoundTripSettings, unasked: UnaskedMotionSettings, period: float) -> None:
        self.weight = 1.0
        self._limit = round_trip.fade
        self._period = period
        self._down = period / round_trip.fade_time
        self._up = period / round_trip.return_time
        self._patience = unasked.patience
        self._cause = ""
        """Why it is off until the next reset, empty while it is not."""
        self._off_for = 0.0
        self._delay = ""

    @property
    def whole(self) -> bool:
        """Samples are young enough, and the table does what is asked of it."""
        return self.weight == 1.0

    def reset(self) -> None:
        """Allow it again after motion that nobody asked for."""
        self._cause, self._off_for = "", 0.0

    def advance(self, age: int, unasked: str) -> list[Report]:
        """Move the weight by a period; return what has to be told.

        ``age`` of the newest sample in periods; ``unasked``: motion that nobody asked for, empty for none.
        """
        if self.weight == 1.0 and age <= self._limit and not unasked and not self._cause:
            return []
        self._cause = self._cause or unasked
        change = -self._down if self._cause or age > self._limit else self._up
        self.weight = min(max(self.weight + change, 0.0), 1.0)
        found: list[Report] = []
        if self._cause:
            self._off_for += self._period
            found.append(Report(Code.FEEDBACK_OFF, self._cause))
            if unasked and self._off_for > self._patience:
                found.append(Report(Code.UNASKED_MOTION, unasked))
            return found
        if self.weight == 0.0 and not self._delay:
            milliseconds = 1e3 * self._period
            self._delay = (
                f"round trip of {age * milliseconds:.3g} ms, limit {self._limit * milliseconds:.3g} ms"
            )
        elif self.weight == 1.0:
            self._delay = ""
        if self._delay:
            found.append(Report(Code.FEEDBACK_OFF, self._delay))
        return found
