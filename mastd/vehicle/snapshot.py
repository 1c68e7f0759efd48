"""Keeping all that a step changes in a car's blocks, and putting it back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mastd.vehicle.fresh import Fresh
from mastd.vehicle.frozen import Frozen
from mastd.vehicle.generalized_alpha import Formula
from mastd.vehicle.layout import Arrays
from mastd.vehicle.newton import Method

Blocks: TypeAlias = tuple[Arrays, Formula, Method, Frozen, Fresh]
"""What compiled steps are handed of a car, in their order."""
Snapshot: TypeAlias = tuple[NDArray[np.float64], ...]


def remember(blocks: Blocks) -> Snapshot:
    """Return copies of all arrays that steps write to."""
    return tuple(array.copy() for array in _written(blocks))


def restore(blocks: Blocks, snapshot: Snapshot) -> None:
    """Put the arrays back; raise ValueError for a snapshot of another car."""
    for array, kept in zip(_written(blocks), snapshot, strict=True):
        array[:] = kept


def _written(blocks: Blocks) -> Iterator[NDArray[np.float64]]:
    car, _, _, _, fresh = blocks
    entries: tuple[object, ...] = (*car, *fresh)
    for array in entries:
        if isinstance(array, np.ndarray) and array.dtype == np.float64 and array.size:
            yield array
