"""What somebody drives with, taken from the gateway's block: the newest, never waited for.

The gateway may die or send nonsense: what is not a number is passed over, as if nothing had come, and the
rest is brought within its range.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.wire.common.blocks import DRIVER, NewestValueBlock

_COUNT: Final = DRIVER.slices["count"].start
_FIRST: Final = DRIVER.slices["steering"].start
VALUES: Final = 5
_MIN: Final = np.array([-1.0, 0.0, 0.0, 0.0, -9.0])
_MAX: Final = np.array([1.0, 1.0, 1.0, 1.0, 100.0])


class DriverPort:
    """The loop's end of the driver's block; ``take`` costs one comparison where nothing has come."""

    def __init__(self, block: NewestValueBlock) -> None:
        """Begin with what is in the block already counted as old."""
        self.values: FloatArray = np.zeros(VALUES)
        """(5) steering −1…1, left positive; throttle, brake, clutch 0…1; gear, an integer."""
        self._block = block
        block.read()
        self._count = float(block.values[_COUNT])

    def take(self) -> bool:
        """Return whether something new has come since the last call; then ``values`` holds it."""
        block = self._block
        if not (block.changed() and block.read()):
            return False
        given = block.values[_FIRST : _FIRST + VALUES]
        count = float(block.values[_COUNT])
        if count == self._count or not np.isfinite(block.values).all():
            return False
        self._count = count
        np.clip(given, _MIN, _MAX, out=self.values)
        self.values[-1] = np.rint(self.values[-1])
        return True
