"""Tie-downs and chocks: put on a car that stands settled, where it stands."""

from __future__ import annotations

import numpy as np

from mastd.vehicle import fields as f
from mastd.vehicle.attitude import rotation_matrix
from mastd.vehicle.layout import Layout
from mastd.vehicle.settle import wheel_frames
from mastd.vehicle.state import State


def put_on(layout: Layout, state: State) -> None:
    """Write straps, pulled to their preloads, and chocks for a car that stands in ``state``, on ground whose
    axes are the inertial ones."""
    model, car = layout.model, layout.arrays
    turn = rotation_matrix(state.attitude[0])
    for row, strap in zip(car.straps, model.tie_downs, strict=True):
        place = state.position[0] + turn @ (strap.point - model.bodies[0].centre)
        row[f.T_LENGTH] = np.linalg.norm(strap.anchor - place) - strap.preload / strap.stiffness
    centres, _ = wheel_frames(model, state)
    for chock in model.chocks:
        item, lane = layout.wheel[chock.wheel]
        values = car.wheels[item, :, lane]
        values[f.CHOCK_GAP], values[f.CHOCK_STIFFNESS] = chock.gap, chock.stiffness
        values[f.CHOCK_DAMPING] = chock.damping
        values[f.CHOCK_PLACE : f.CHOCK_PLACE + 3] = centres[chock.wheel]
