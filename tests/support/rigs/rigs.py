"""Rigs for tests of what is made of them: names and numbers, set by the test itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mastd.loop.rigs.binding import absent_rig
from mastd.loop.rigs.bound_rig import BoundRig
from mastd.settings.rigs.channels import DRIVER, POSE_ACCELERATIONS, POSE_RATES, POSES, SIGNALS
from tests.support.lab import Lab


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


def rigs_file(lab: Lab) -> Path:
    """Write a file of the rigs that tests use, and return it."""
    path = lab.directory / "rigs.yaml"
    path.write_text(
        "rigs:\n"
        "  - {name: car, kind: vehicle}\n"
        "  - {name: source, kind: pose, derivatives: true}\n"
        "  - {name: ecu, kind: signals, channels: [{channel: damper_force.fl}]}\n"
        "  - {name: pedals, kind: signals, channels: [{channel: brake}]}\n",
        encoding="utf-8",
    )
    return path
