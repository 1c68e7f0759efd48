"""What the entries of a ground's array mean, for all that make one and all that read it.

The first ``HEADER`` entries are the same for every kind (see ``mastd.roads.ground``); what is a kind's own
comes after them.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, Literal

import numpy as np

from mastd.arrays import FloatArray

Side = Literal["both", "left", "right"]


class GroundKind(IntEnum):
    """The first entry of the parameters."""

    FLAT = 0
    BUMP = 1
    PLANE = 2
    KERB = 3
    TRACKS = 4
    GRID = 5


FRICTION: Final = 1
"""Factor left and right, then where it begins and ends, 4 entries."""
EXTENT: Final = 5
"""Centre (2), half length, half width."""
HEADER: Final = 9
PARAMETERS: Final = HEADER + 18
"""Length of the array of the kinds that are no tables; the longest of them is the plane."""

MAX_MEGABYTES: Final = 64
"""Of one ground's array: a car's steps look heights up, and what is larger leaves every cache."""


def header(kind: GroundKind, length: int = PARAMETERS) -> FloatArray:
    """Return an array of ``length`` entries with friction 1 and without edges."""
    parameters = np.zeros(length)
    parameters[0] = kind
    parameters[FRICTION : FRICTION + 4] = 1.0, 1.0, -np.inf, np.inf
    parameters[EXTENT + 2 : EXTENT + 4] = np.inf
    return parameters


def checked_size(entries: int) -> int:
    """Return ``entries``, of an array that is to be made; raise ValueError if it is too large."""
    if not entries <= MAX_MEGABYTES * 125_000:
        raise ValueError(f"too large: {entries / 125_000:.0f} MB, at most {MAX_MEGABYTES} MB")
    return entries
