"""An OpenCRG road as data, and how its parts are named in a measurement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mastd.arrays import FloatArray

BLOCKS: Final = {"ROAD_CRG_OPTS": "$ROAD_CRG_OPTS", "ROAD_CRG_MODS": "$ROAD_CRG_MODS"}
"""Blocks that go into the notes of a measurement, a line for each of their numbers."""


@dataclass(frozen=True, eq=False)
class OpenCrgRoad:
    """A road to drive on: u of the first cross section and their spacing (m), reference line (n, 2: x, y),
    v of the heights across (m), absolute heights (n, m), and what was odd or is not applied, a line each."""

    start: float
    spacing: float
    line: FloatArray
    across: FloatArray
    heights: FloatArray
    warnings: tuple[str, ...] = ()


def section_name(v: float) -> str:
    """Return the name of the channel that is the long section at ``v`` (m)."""
    return f"v = {repr(float(v)).removesuffix('.0')} m"
