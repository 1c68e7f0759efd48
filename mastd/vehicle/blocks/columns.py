"""Columns of the matrix of a group of bodies."""

from __future__ import annotations

from mastd.arrays import IntArray
from mastd.kernel import fused_kernel
from mastd.vehicle.blocks.fields import GROUP


@fused_kernel
def column_of(line: IntArray, slot: int) -> int:
    """Return the first column of a slot (counted within the group) in its group's matrix."""
    joined = line[GROUP.interfaces]
    if slot < joined:
        return int(line[GROUP.unknowns] + 6 * slot)
    return int(6 * (slot - joined))
