"""Constants of what acts on the car from outside: the air, straps to the ground."""

from __future__ import annotations

import numpy as np

from mastd.arrays import FloatArray
from mastd.vehicle.blocks import fields as f
from mastd.vehicle.model.definition import Model


def pack_air(model: Model) -> FloatArray:
    """Return the constants of the air's forces (AIR_FIELDS), zeros where the model has none."""
    values = np.zeros(f.AIR_FIELDS)
    air = model.aerodynamics
    if air is None:
        return values
    for first, area, point in (
        (f.A_DRAG, air.drag_area, air.centre),
        (f.A_FRONT_LIFT, air.front_lift_area, air.front),
        (f.A_REAR_LIFT, air.rear_lift_area, air.rear),
    ):
        values[first] = 0.5 * air.density * area
        values[first + 1 : first + 4] = point - model.bodies[0].centre
    return values


def pack_straps(model: Model) -> FloatArray:
    """Return the constants of the straps (straps, STRAP_FIELDS), slack: their lengths come with the car's
    place at rest."""
    values = np.zeros((len(model.tie_downs), f.STRAP_FIELDS))
    for row, strap in zip(values, model.tie_downs, strict=True):
        row[f.T_POINT : f.T_POINT + 3] = strap.point - model.bodies[0].centre
        row[f.T_ANCHOR : f.T_ANCHOR + 3] = strap.anchor
        row[f.T_LENGTH] = np.inf
        row[f.T_STIFFNESS] = strap.stiffness
        row[f.T_DAMPING] = strap.damping
    return values
