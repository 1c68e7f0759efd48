"""A reader of the ring that only looks on: nobody waits for it, and it can lose nothing but its own frames.

It maps the memory for reading alone, so neither the producer nor the consumer can know that it is there. A
slot may be written again while it is copied. The producer counts a frame as published before it touches the
slot of the next one; so what was copied is whole if, after the copy, fewer than ``capacity`` frames have been
published since, and is thrown away otherwise. Like the consumer, it takes a frame at its second sight only.

Loss policy: a reader that is lapped continues with the oldest whole frame. Every frame that it has not shown,
be it lapped or refused by a full ring, is counted in ``lost`` as soon as a later one is shown.
"""

from __future__ import annotations

import mmap

import numpy as np

from mastd.arrays import FloatArray, IntArray
from mastd.ring.ends import HEADER_WORDS, PUBLISHED, check_size


class RingObserver:
    """Looks at the ring behind a file descriptor, from now on.

    Raises ValueError if the ring has another size.
    """

    def __init__(self, fd: int, width: int, capacity: int) -> None:
        size = check_size(fd, width, capacity)
        self._memory = mmap.mmap(fd, size, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ)
        self._words = memoryview(self._memory).cast("q")
        slots = np.frombuffer(self._memory, dtype=np.int64, offset=8 * HEADER_WORDS)
        self._slots = slots.reshape(capacity, 1 + width)
        self._capacity = capacity
        self._next = self._seen = self._words[PUBLISHED]
        self.following = 0
        """Number, among all frames offered, of the one that would follow what was shown without a loss."""
        if self._next:
            self.following = int(self._slots[(self._next - 1) % capacity, 0]) + 1
        self.lost = 0
        """Frames that were not shown, since the beginning."""

    def take(self, maximum: int) -> tuple[IntArray, FloatArray]:
        """Return numbers (n,) and values (n, width) of the next whole frames, at most ``maximum``, as copies.

        Numbers count all frames offered, so that each loss shows as a gap.
        """
        visible, self._seen = self._seen, self._words[PUBLISHED]
        first = max(self._next, self._seen - self._capacity + 1)
        stop = max(first, min(visible, first + maximum))
        copied = self._copy(first, stop)
        whole = copied[max(0, self._words[PUBLISHED] - self._capacity + 1 - first) :]
        self._next = stop
        numbers = np.ascontiguousarray(whole[:, 0])
        if len(numbers):
            after = int(numbers[-1]) + 1
            self.lost += after - self.following - len(numbers)
            self.following = after
        return numbers, np.ascontiguousarray(whole[:, 1:]).view(np.float64)

    def _copy(self, first: int, stop: int) -> IntArray:
        """Return the slots of these frames in their order, as they are just now."""
        begin, count = first % self._capacity, stop - first
        tail = self._slots[begin : begin + count]
        if len(tail) == count:
            return tail.copy()
        return np.concatenate((tail, self._slots[: count - len(tail)]))

    def close(self) -> None:
        """Let go of the memory."""
        self._words.release()
        del self._slots
        self._memory.close()
