"""Keeping all that a step changes in a car's blocks, and putting it back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mastd.vehicle.solver.chord_jacobian import ChordJacobian

Blocks: TypeAlias = tuple[Any, ...]
"""What compiled steps are handed of a car, in their order: named tuples of arrays, and numbers."""
Snapshot: TypeAlias = tuple[NDArray[Any], ...]


def remember(blocks: Blocks) -> Snapshot:
    """Return copies of all arrays that steps may write to."""
    return tuple(array.copy() for array in _written(blocks))


def restore(blocks: Blocks, snapshot: Snapshot) -> None:
    """Put the arrays back; raise ValueError for a snapshot of another car."""
    for array, kept in zip(_written(blocks), snapshot, strict=True):
        array[:] = kept


def _written(blocks: Blocks) -> Iterator[NDArray[Any]]:
    for entry in blocks:
        if isinstance(entry, np.ndarray) and entry.size:
            yield entry
        elif isinstance(entry, tuple) and not isinstance(entry, ChordJacobian):
            # Matrices that are never renewed are the largest part, and no step writes to them.
            yield from _written(entry)
