"""OpenCRG files of our own, by the letter of the format."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from mastd.arrays import FloatArray

Z = np.round(np.random.default_rng(2).normal(0.0, 0.05, (9, 4)), 4)
"""Heights of the road that ``crg`` writes unless told: every 0.5 m along, every 1 m across."""
ACROSS = np.array([-1.5, -0.5, 0.5, 1.5])
RANGE = "LONG_SECTION_V_RIGHT = -1.5\nLONG_SECTION_V_LEFT = 1.5\n"
ROAD = "REFERENCE_LINE_END_U = 4.0\nREFERENCE_LINE_INCREMENT = 0.5\nLONG_SECTION_V_INCREMENT = 1.0\n"
SECTIONS = "".join(f"D:long section {k},m\n" for k in range(1, 5))
PHI, SLOPE, BANKING = (f"D:reference line {name}\n" for name in ("phi,rad", "slope,m/m", "banking,m/m"))


def cells(table: FloatArray, width: int = 10, per_line: int = 8) -> str:
    """Return formatted rows, stars for what is no number."""
    digits = width - 5
    rows = []
    for row in table:
        texts = ["*missing*".rjust(width) if math.isnan(z) else f"{z:{width}.{digits}f}" for z in row]
        rows += ["".join(texts[k : k + per_line]) for k in range(0, len(texts), per_line)]
    return "\n".join(rows) + "\n"


def crg(
    path: Path,
    *,
    coding: str = "LRFI",
    road: str = ROAD + RANGE,
    channels: str = SECTIONS,
    data: str | bytes | None = None,
    more: str = "",
) -> Path:
    """Write a road of our own, whole unless told."""
    head = f"$CT\na road of our own\n$\n$ROAD_CRG\n{road}$\n{more}"
    head += f"$KD_Definition\n#:{coding}\n{channels}$\n$$$$\n"
    content = cells(Z) if data is None else data
    path.write_bytes(head.encode() + (content.encode() if isinstance(content, str) else content))
    return path


def block(name: str, *lines: str) -> str:
    """Return a block of a header."""
    return "\n".join((f"${name}", *lines, "$", ""))


def holed(*places: tuple[int, int]) -> FloatArray:
    """Return ``Z`` without some of its numbers."""
    table = Z.copy()
    for place in places:
        table[place] = math.nan
    return table
