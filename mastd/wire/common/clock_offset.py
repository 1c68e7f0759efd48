"""How far another machine's monotonic clock is from ours, estimated from signs of life that echo each other.

Each sign of life tells when it was sent (by the sender's clock), the newest one that its sender had heard,
and how long that had waited there. With s the sending time and e, w echo and waiting of what comes at our
time t,

    round trip = t − e − w,    offset = s − (t − round trip / 2)

(RFC 5905, section 8, written for one side). The estimate is that of the shortest of the last ``KEPT`` round
trips: the one that waited least in queues has the least error, at most half its own length.
"""

from __future__ import annotations

from collections import deque
from typing import Final

KEPT: Final = 16


class ClockOffset:
    """Times in ns; ``offset_ns`` is the other's clock minus ours, None before the first echo."""

    def __init__(self) -> None:
        self._heard: tuple[int, int] | None = None
        """The other's time in the newest sign of life, and ours when it came."""
        self._found: deque[tuple[int, int]] = deque(maxlen=KEPT)

    def update(self, sent_ns: int, echo_ns: int, held_ns: int, now_ns: int) -> None:
        """Take a sign of life; an echo of nothing, or one that cannot be, tells no offset."""
        self._heard = sent_ns, now_ns
        trip = now_ns - echo_ns - held_ns
        if echo_ns > 0 and 0 <= trip <= 1_000_000_000:
            self._found.append((trip, sent_ns - (now_ns - trip // 2)))

    def echo(self, now_ns: int) -> tuple[int, int]:
        """Return what our next sign of life echoes, and how long it has waited: 0, 0 for nothing."""
        if self._heard is None:
            return 0, 0
        sent_ns, came_ns = self._heard
        return sent_ns, now_ns - came_ns

    @property
    def offset_ns(self) -> int | None:
        """The other's clock minus ours."""
        return min(self._found)[1] if self._found else None

    @property
    def round_trip_ns(self) -> int | None:
        """The shortest of the last round trips."""
        return min(self._found)[0] if self._found else None
