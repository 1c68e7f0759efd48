"""How a profile's parts find the rigs that they are made of, once they are in the loop."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mastd.errors import UsageError
from mastd.loop.rigs.bound_rig import BoundRig
from mastd.settings.rigs.channels import REQUIRED, SEAT
from mastd.units import STANDARD_GRAVITY

SPECIFIC_FORCE_UP = 2
"""Index in what a seat feels of what it feels at rest: gravity."""


def absent_rig(name: str, kind: str) -> BoundRig:
    """Return a rig that has never joined, for as long as no other is bound: nothing happens there."""
    values = np.zeros(len(REQUIRED[kind]))
    if kind == SEAT:
        values[SPECIFIC_FORCE_UP] = STANDARD_GRAVITY
    return BoundRig(-1, name, kind, REQUIRED[kind], values)


def bound_rig(rigs: Mapping[str, BoundRig], name: str, kind: str) -> BoundRig:
    """Return the rig of this name; raise UsageError if there is none, or one of another kind."""
    rig = rigs.get(name)
    if rig is None:
        known = ", ".join(rigs) or "none"
        raise UsageError(f"the profile uses rig {name}, the daemon's settings name: {known}")
    if rig.kind != kind:
        raise UsageError(
            f"the profile uses rig {name} as kind {kind}, in the daemon's settings it is of kind {rig.kind}"
        )
    return rig
