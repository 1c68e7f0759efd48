"""What waits for one browser: words in order, the newest status, traces in a bounded queue.

Loss policy: words are never dropped (a browser whose words do not fit any more is disconnected), of statuses
only the newest is kept, of traces the oldest whole messages give way. How many frames a browser was not shown
is counted from the gaps in the frames' numbers, wherever on the way they were lost.
"""

from __future__ import annotations

import asyncio
import struct
from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mastd.arrays import IntArray

MAX_TEXTS = 128
MAX_TRACES = 50
"""Trace messages that wait, two seconds of them."""
_HEADER = struct.Struct("<IId")


@dataclass(frozen=True)
class Traces:
    """Values (m, n) of m chosen channels in n frames with their ``numbers`` (n,)."""

    numbers: IntArray
    values: NDArray[np.float32]


class TraceWriter:
    """Packs traces for one browser and counts the frames that it did not get."""

    def __init__(self, period_s: float) -> None:
        self._period_s = period_s
        self._next: int | None = None
        self.lost = 0

    def pack(self, traces: Traces) -> bytes:
        """Return a message, little-endian: uint32 n, m; float64 lost; float64 t[n] in s; float32 v[m][n]."""
        numbers = traces.numbers
        first, last = int(numbers[0]), int(numbers[-1])
        if self._next is not None and first >= self._next:
            self.lost += first - self._next
        self.lost += last - first + 1 - len(numbers)
        self._next = last + 1
        times = (numbers * self._period_s).astype("<f8")
        values = np.ascontiguousarray(traces.values, dtype="<f4")
        header = _HEADER.pack(len(numbers), len(values), float(self.lost))
        return b"".join((header, times.tobytes(), values.tobytes()))


class Outbox:
    """The messages to one browser, in the event loop's thread."""

    def __init__(self) -> None:
        self._texts: deque[str] = deque()
        self._status = ""
        self._traces: deque[Traces] = deque(maxlen=MAX_TRACES)
        self._writer = TraceWriter(0.0)
        self._ready = asyncio.Event()
        self._trace_next = False

    def say(self, text: str) -> bool:
        """Put in a message that must not be lost; return False if the box is full."""
        if len(self._texts) >= MAX_TEXTS:
            return False
        self._texts.append(text)
        self._ready.set()
        return True

    def show(self, status: str) -> None:
        """Put in a status in place of the one before."""
        self._status = status
        self._ready.set()

    def trace(self, traces: Traces) -> None:
        """Put in traces; the oldest ones give way."""
        self._traces.append(traces)
        self._ready.set()

    def begin(self, period_s: float) -> None:
        """Forget statuses and traces that wait: what follows is of another daemon or of other channels."""
        self._status = ""
        self._traces.clear()
        self._writer = TraceWriter(period_s)

    async def take(self) -> str | bytes:
        """Wait for the next message and return it: words first, then status and traces by turns."""
        while True:
            if self._texts:
                return self._texts.popleft()
            if self._traces and (self._trace_next or not self._status):
                self._trace_next = False
                return self._writer.pack(self._traces.popleft())
            if self._status:
                status, self._status = self._status, ""
                self._trace_next = True
                return status
            self._ready.clear()
            await self._ready.wait()
