"""Constants of what acts on the car from outside: the air, straps to the ground."""

from __future__ import annotations

import numpy as np

from mastd.arrays import FloatArray
from mastd.vehicle.blocks.fields import AIR, AIR_SIZE, STRAP, STRAP_SIZE
from mastd.vehicle.model.definition import Model


def pack_air(model: Model) -> FloatArray:
    """Return the constants of the air's forces (AIR), zeros where the model has none."""
    values = np.zeros(AIR_SIZE)
    air = model.aerodynamics
    if air is None:
        return values
    for first, area, point in (
        (AIR.drag, air.drag_area, air.centre),
        (AIR.front_lift, air.front_lift_area, air.front),
        (AIR.rear_lift, air.rear_lift_area, air.rear),
    ):
        values[first] = 0.5 * air.density * area
        values[first + 1 : first + 4] = point - model.bodies[0].centre
    return values


def pack_straps(model: Model) -> FloatArray:
    """Return the constants of the straps (straps, STRAP), slack: their lengths come with the car's
    place at rest."""
    values = np.zeros((len(model.tie_downs), STRAP_SIZE))
    for row, strap in zip(values, model.tie_downs, strict=True):
        row[STRAP.point : STRAP.point + 3] = strap.point - model.bodies[0].centre
        row[STRAP.anchor : STRAP.anchor + 3] = strap.anchor
        row[STRAP.free_length] = np.inf
        row[STRAP.stiffness] = strap.stiffness
        row[STRAP.damping] = strap.damping
    return values
