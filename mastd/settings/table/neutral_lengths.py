"""Neutral lengths must agree with the points that they lie between."""

from __future__ import annotations

import math
from typing import Final

from mastd.settings.core.base import Problem
from mastd.settings.core.quantity import Point
from mastd.settings.table.sensors import DisplacementTransducerSettings

NEUTRAL_LENGTH_TOLERANCE: Final = 0.05e-3
"""Metres between an actuator's neutral length and its joints' distance at neutral."""
ROUNDING: Final = 2e-3
"""m: what the figures of a drawing differ by; beyond, a joint is wrong."""


def wrong_displacements(
    transducers: tuple[DisplacementTransducerSettings, ...], neutral_position: Point
) -> list[Problem]:
    """Return the displacement transducers whose neutral length is not that between their points."""
    problems: list[Problem] = []
    for index, one in enumerate(transducers):
        ends = "points", one.table_point, one.base_point
        found = wrong_length(one.name, one.neutral_length, ends, neutral_position)
        if found:
            problems.append((("displacement", index, "neutral_length"), found))
    return problems


def wrong_length(name: str, stated: float, ends: tuple[str, Point, Point], neutral_position: Point) -> str:
    """Return what is wrong with a neutral length in m, empty if nothing; ``ends``: kind, in P, in B."""
    kind, table_end, base_end = ends
    at_neutral = tuple(c + p for c, p in zip(neutral_position, table_end, strict=True))
    distance = math.dist(at_neutral, base_end)
    if abs(distance - stated) <= NEUTRAL_LENGTH_TOLERANCE:
        return ""
    one = kind.removesuffix("s")
    rounded = abs(distance - stated) <= ROUNDING
    advice = "state that length" if rounded else f"check table_{one} and base_{one}"
    return (
        f"is {stated * 1e3:g} mm, but the {kind} of {name} are {distance * 1e3:.3f} mm apart when the table "
        f"is at its neutral position: {advice}"
    )
