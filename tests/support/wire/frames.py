"""Frames as the loop makes them and the recorder takes them, for tests of who looks on."""

from __future__ import annotations

import numpy as np

from mastd.arrays import FloatArray, IntArray
from mastd.ring.ends import RingConsumer, RingProducer
from mastd.wire.common.vehicle_block import VEHICLE_NUMBERS
from tests.support.wire.operators import about

CAPACITY = 256


class Frames:
    """A ring, what a daemon tells of its channels, and both ends."""

    def __init__(self) -> None:
        self.about = about()
        self.names = [name for name, _, _ in self.about["channels"]]
        self.width = len(self.names) + VEHICLE_NUMBERS
        self.ring = RingProducer(self.width, CAPACITY)
        self._recorder = RingConsumer(self.ring.fd, self.width, CAPACITY)

    def expected(self, numbers: IntArray) -> FloatArray:
        """Return what stands in the frames of these numbers, but for what ``make`` was told."""
        return numbers[:, None] + np.linspace(0.0, 0.5, self.width)

    def make(self, count: int = 1, recorded: bool = True, **values: float) -> None:
        """Make frames with these values by name; they are recorded at once, or fill the ring."""
        for _ in range(count):
            frame = self.expected(np.array([self.ring.offered]))[0]
            for name, value in values.items():
                frame[self.names.index(name)] = value
            self.ring.push(frame)
            if recorded:
                self.record()

    def record(self) -> None:
        """Take all frames as the recorder does."""
        self._recorder.release(len(self._recorder.take(CAPACITY, last=True)))
