"""Columns of the matrix of a group of bodies."""

from __future__ import annotations

from mastd.arrays import IntArray
from mastd.kernel import fused_kernel
from mastd.vehicle.blocks import fields as f


@fused_kernel
def column_of(line: IntArray, slot: int) -> int:
    """Return the first column of a slot (counted within the group) in its group's matrix."""
    joined = line[f.G_JOINED]
    if slot < joined:
        return int(line[f.G_UNKNOWNS] + 6 * slot)
    return int(6 * (slot - joined))
