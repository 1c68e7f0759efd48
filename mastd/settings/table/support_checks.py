"""What supports do to the travel of a table and to its way down."""

from __future__ import annotations

from typing import Any

import numpy as np

from mastd.settings.core.base import Problem
from mastd.settings.table.held import lowest_heave, neutral_vectors
from mastd.settings.table.supports import MIN_VOLUME, SupportSettings


def _lowest_heave(known: dict[str, Any]) -> float:
    """Return the heave in m at which a table of validated settings rests, 0 where guides hold heave."""
    if "heave" not in known["freedoms"]:
        return 0.0
    joints = [(link.table_joint, link.base_joint) for link in known["links"]]
    vectors = neutral_vectors(joints, known["neutral_position"])
    return lowest_heave(vectors, np.array([link.stroke for link in known["links"]]))


def wrong_gas(supports: tuple[SupportSettings, ...], known: dict[str, Any]) -> list[Problem]:
    """Return the supports whose gas the travel of the table would compress to nothing."""
    pose = {axis: getattr(known["limits"].pose, axis) or 0.0 for axis in known["freedoms"]}
    heave = max(pose.get("heave", 0.0), -_lowest_heave(known))
    problems: list[Problem] = []
    for index, support in enumerate(supports):
        x, y, _ = support.position
        travel = heave + abs(x) * pose.get("pitch", 0.0) + abs(y) * pose.get("roll", 0.0)
        if support.gas is not None and not (travel * support.gas.slope < 1.0 - MIN_VOLUME):
            what = (
                f"is {support.gas.volume * 1e3:g} L, but {travel * 1e3:.4g} mm of travel displace "
                f"{travel * support.gas.area * 1e3:.4g} L: state the volume of piston and vessels at neutral"
            )
            problems.append(((index, "gas", "volume"), what))
    return problems


def lifting(supports: tuple[SupportSettings, ...], known: dict[str, Any]) -> list[Problem]:
    """Return as a problem that supports lift the bare table off its rest, from where it could not sink."""
    lowest = _lowest_heave(known)
    lifted = sum(support.standing(lowest) for support in supports)
    weight = known["body"].mass * known["gravity"]
    if not supports or lowest == 0.0 or lifted < weight:
        return []
    what = (
        f"lift {lifted / 1e3:.4g} kN where the table rests, at heave {1e3 * lowest:.4g} mm, and the bare "
        f"table weighs {weight / 1e3:.4g} kN: it would not sink by itself; lower their forces or stiffness"
    )
    return [((), what)]
