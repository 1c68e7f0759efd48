"""Columns of the matrix of a group of bodies."""

from __future__ import annotations

from mastd.arrays import IntArray
from mastd.kernel import fused_kernel
from mastd.vehicle.blocks.fields import GROUP


@fused_kernel
def column_of(line: IntArray, local: int) -> int:
    """Return the first column of a local body (counted within the group) in its group's matrix."""
    interface = line[GROUP.interfaces]
    if local < interface:
        return int(line[GROUP.unknowns] + 6 * local)
    return int(6 * (local - interface))
