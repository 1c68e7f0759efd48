"""The gateway's look into the loop's frames: cycle times for the status, telemetry for whoever subscribes.

The frames come from the recorder's ring, which the gateway only looks at: the loop does nothing for it, and
cannot tell whether anybody looks.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from mastd.ring.observer import RingObserver
from mastd.wire.common.cycle_times import CycleTimes
from mastd.wire.operators.telemetry import Telemetry, pack_telemetry

CHECK_INTERVAL_NS = 10_000_000
MESSAGE_NS = 20_000_000
SILENT_NS = 500_000_000
"""A subscriber gets a message at least so often, without frames if there are none."""
MAX_FRAMES = 256
"""Frames that one look takes; a gateway that was held up catches up look by look, or is lapped."""
MAX_LAST = 64
"""Messages at the end at most: more than a ring of frames fills."""


class Subscribers(Protocol):
    """Who reads telemetry."""

    def subscribed(self) -> bool:
        """Return whether anybody does."""

    def send_telemetry(self, data: bytes) -> None:
        """Send a message to all of them, without ever waiting."""


class TelemetryFeed:
    """Reads the ring every ``CHECK_INTERVAL_NS``; sends every ``MESSAGE_NS``, if anybody wants it."""

    def __init__(self, ring: RingObserver, times: CycleTimes, subscribers: Subscribers) -> None:
        self.times = times
        self._ring = ring
        self._subscribers = subscribers
        self._looked_ns = 0
        self._sent_ns = 0
        self._wanted = False
        self._waiting = [ring.take(0)]

    def poll(self, now_ns: int) -> None:
        """Do what it is time for; times are monotonic, in ns."""
        if now_ns - self._looked_ns < CHECK_INTERVAL_NS:
            return
        self._looked_ns = now_ns
        self._wanted = self._subscribers.subscribed()
        self._check()
        if not self._wanted:
            self._forget()
            return
        waiting = any(len(numbers) for numbers, _ in self._waiting)
        if now_ns - self._sent_ns >= (MESSAGE_NS if waiting else SILENT_NS):
            self._send(now_ns)

    def end(self, now_ns: int) -> None:
        """Send what the ring still holds, and the last message."""
        self._check()  # what was published last is seen at the second look
        for _ in range(MAX_LAST):
            if not self._check():
                break
            self._send(now_ns)
        self._send(now_ns, ended=True)
        self._ring.close()

    def _check(self) -> bool:
        """Take what there is; return whether there was anything."""
        taken = self._ring.take(MAX_FRAMES)
        self.times.take(taken[1])
        if self._wanted:
            self._waiting.append(taken)
        return len(taken[0]) > 0

    def _forget(self) -> None:
        del self._waiting[1:]  # the first one is empty, it gives the shape

    def _send(self, now_ns: int, ended: bool = False) -> None:
        self._sent_ns = now_ns
        numbers, frames = (np.concatenate(parts) for parts in zip(*self._waiting, strict=True))
        self._forget()
        telemetry = Telemetry(numbers, frames, self._ring.lost, ended)
        self._subscribers.send_telemetry(pack_telemetry(telemetry, self._ring.following))
