"""Rigs for tests of what is made of them: names and numbers, set by the test itself."""

from __future__ import annotations

import numpy as np

from mastd.loop.bound_rig import BoundRig
from mastd.loop.rig_binding import absent_rig
from mastd.settings.rig_channels import DRIVER, POSE_ACCELERATIONS, POSE_RATES, POSES, SIGNALS


def joined(name: str, kind: str, *, derivatives: bool = False) -> BoundRig:
    """Return a rig that has joined and gives what is neutral; a pose with derivatives where told."""
    if derivatives:
        channels = (*POSES, *POSE_RATES, *POSE_ACCELERATIONS)
        rig = BoundRig(0, name, kind, channels, np.zeros(len(channels)))
    elif kind == SIGNALS:
        rig = BoundRig(0, name, kind, DRIVER, np.zeros(len(DRIVER)))
    else:
        rig = absent_rig(name, kind)
    rig.present = True
    return rig
