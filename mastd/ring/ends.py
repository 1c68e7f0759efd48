"""Ring of frames in shared memory between one producer (the loop) and one consumer (the recorder).

Memory: a header of three cache lines, then ``capacity`` slots of 1 + ``width`` eight-byte words. Word 0 of
the header is the number of frames published, word 8 the number taken, word 16 is 1 once the producer has
closed, word 17 the number of frames offered up to the last dropped one. A slot's first word is the count of
all frames offered before it, dropped ones included, so that the consumer sees every gap with its size; the
frame follows.

Publishing is one aligned eight-byte store after the slot's words. On machines that keep stores in order (x86)
that suffices; for the others the consumer never takes a frame at its first sight of it, but at its next look.

Loss policy: a full ring refuses the frame. In free-run the producer drops and counts it at once; in
lockstep it waits for room, bounded, and no longer at all once the consumer is known to be gone.
"""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from mastd.arrays import FloatArray
from mastd.ring.memory import shared_memory

if TYPE_CHECKING:  # the recorder starts quicker without numpy
    pass

PUBLISHED, _TAKEN, _CLOSED, _OFFERED = 0, 8, 16, 17
HEADER_WORDS = 24
_WAIT_S = 50e-6
_CHECKS_PER_LIFE_SIGN = 100


class RingLocation(NamedTuple):
    """Where a ring is: its file descriptor, and how many frames of how many numbers it holds."""

    descriptor: int
    width: int
    capacity: int


def ring_bytes(width: int, capacity: int) -> int:
    """Return the size of the shared memory for ``capacity`` slots of ``width`` float64."""
    return 8 * (HEADER_WORDS + capacity * (1 + width))


def check_size(fd: int, width: int, capacity: int) -> int:
    """Return the size of the ring behind ``fd``; raise ValueError if it is not that of such frames."""
    size, found = ring_bytes(width, capacity), os.fstat(fd).st_size
    if found != size:
        raise ValueError(f"ring has {found} bytes, {size} fit {capacity} frames of {width}")
    return size


class RingProducer:
    """The loop's end: creates the memory (``fd``) and pushes frames of ``width`` float64.

    ``wait_s`` is 0 in free-run; in lockstep it bounds how long a push waits for room. ``consumer_alive`` is
    asked now and then during such a wait.
    """

    def __init__(self, width: int, capacity: int, wait_s: float = 0.0) -> None:
        size = ring_bytes(width, capacity)
        self.fd = shared_memory("ring", size)
        try:
            # Populated at once: a page fault costs more than a push.
            self._memory = mmap.mmap(self.fd, size, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE)
        except BaseException:
            os.close(self.fd)
            raise
        self.capacity = capacity
        self.width = width
        self.offered = 0
        self.dropped = 0
        self._published = 0
        self._wait_s = wait_s
        self.consumer_alive: Callable[[], bool] | None = None
        self._words = memoryview(self._memory).cast("q")
        values = memoryview(self._memory).cast("d")
        stride = 1 + width
        self._slots = [
            values[start + 1 : start + stride]
            for start in range(HEADER_WORDS, HEADER_WORDS + capacity * stride, stride)
        ]
        self._stride = stride

    @property
    def location(self) -> RingLocation:
        """Where it is, for the processes at its other ends."""
        return RingLocation(self.fd, self.width, self.capacity)

    @property
    def backlog(self) -> int:
        """Frames that the consumer has not taken yet."""
        return self._published - self._words[_TAKEN]

    def push(self, frame: FloatArray) -> bool:
        """Publish one frame of shape (width,); return False if it was dropped."""
        words = self._words
        published = self._published
        offered = self.offered
        self.offered = offered + 1
        if published - words[_TAKEN] >= self.capacity and not self._space():
            self.dropped += 1
            words[_OFFERED] = offered + 1
            return False
        slot = published % self.capacity
        self._slots[slot][:] = frame.data
        words[HEADER_WORDS + slot * self._stride] = offered
        self._published = published + 1
        words[PUBLISHED] = published + 1
        return True

    def _space(self) -> bool:
        """Wait for a free slot as long as the mode allows."""
        if not self._wait_s:
            return False
        words = self._words
        deadline = time.monotonic() + self._wait_s
        checks = 0
        while self._published - words[_TAKEN] >= self.capacity:
            checks += 1
            silent = time.monotonic() > deadline
            gone = (
                checks % _CHECKS_PER_LIFE_SIGN == 0
                and self.consumer_alive is not None
                and not self.consumer_alive()
            )
            if silent or gone:
                self._wait_s = 0.0  # from here on as in free-run: one lost recorder costs one wait
                return False
            time.sleep(_WAIT_S)
        return True

    def close(self) -> None:
        """Say that no frame follows; the memory stays for the consumer."""
        self._words[_CLOSED] = 1

    def release(self) -> None:
        """Give the memory back."""
        self._slots.clear()
        self._words.release()
        os.close(self.fd)


class RingConsumer:
    """The recorder's end, made from the producer's file descriptor."""

    def __init__(self, fd: int, width: int, capacity: int) -> None:
        size = check_size(fd, width, capacity)
        self._bytes = memoryview(mmap.mmap(fd, size, flags=mmap.MAP_SHARED))
        self._words = self._bytes.cast("q")
        self._capacity = capacity
        self._stride = 1 + width
        self._taken = 0
        self._seen = 0

    @property
    def closed(self) -> bool:
        """True once the producer has said that no frame follows."""
        return self._words[_CLOSED] == 1

    @property
    def offered(self) -> int:
        """Count of all frames offered up to the last one that was dropped."""
        return self._words[_OFFERED]

    def take(self, maximum: int, last: bool = False) -> list[tuple[int, memoryview]]:
        """Return up to ``maximum`` frames as (count offered before it, bytes in place).

        The bytes stay valid until ``release``. ``last`` takes all that is published, for a producer that has
        closed or is gone.
        """
        published = self._words[PUBLISHED]
        visible = published if last else self._seen
        self._seen = published
        frames = []
        for index in range(self._taken, min(visible, self._taken + maximum)):
            offset = HEADER_WORDS + (index % self._capacity) * self._stride
            frames.append((self._words[offset], self._bytes[8 * (offset + 1) : 8 * (offset + self._stride)]))
        return frames

    def release(self, count: int) -> None:
        """Give the slots of the first ``count`` frames taken back to the producer."""
        self._taken += count
        self._words[_TAKEN] = self._taken
