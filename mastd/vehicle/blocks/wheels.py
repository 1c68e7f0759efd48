"""The blocks and columns of a wheel, as the kernels of tyres are handed them."""

from __future__ import annotations

from typing import NamedTuple

from mastd.arrays import FloatArray


class WheelBlocks(NamedTuple):
    """The blocks of a car that its tyres read and write."""

    wheels: FloatArray
    local_bodies: FloatArray
    tyres: FloatArray
    frame: FloatArray
    clock: FloatArray


class WheelColumns(NamedTuple):
    """Where a wheel stands: items, and columns of its group's matrix."""

    wheel: int
    local: int
    """Of the carrier."""
    first: int
    """First cell and size of the group's matrix."""
    size: int
    carrier: int
    spin: int
