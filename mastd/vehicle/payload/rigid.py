"""A vehicle that stands settled on the table, as one rigid body in the table's axes."""

from __future__ import annotations

import numpy as np

from mastd.dynamics.table_model import Carried, parallel
from mastd.settings.table.payload import VehiclePayload
from mastd.settings.table.table import TableSettings
from mastd.vehicle.blocks.rotation import rotation_matrix
from mastd.vehicle.equilibrium.dense_equations import System
from mastd.vehicle.equilibrium.settle import settle
from mastd.vehicle.model.definition import Model
from mastd.vehicle.payload.load import model_on_table, position_on_table
from mastd.vehicle.state.motion import State, design_state


def as_one_body(payload: VehiclePayload, table: TableSettings) -> Carried:
    """Return what a payload's vehicle is as one rigid body, where it stands on the level table.

    Raises SettingsError with every problem of the vehicle's file, EquilibriumError for a vehicle that does
    not stand.
    """
    model = model_on_table(payload, table)
    settled = settle(System(model), design_state(model)).state
    return one_body(model, settled, position_on_table(payload, table, model))


def one_body(model: Model, state: State, mount_position: tuple[float, float, float]) -> Carried:
    """Return all bodies of a vehicle as one, its wheels braked, so that they turn with their carriers.

    ``state``: as settled on level ground; ``mount_position``: of the vehicle's origin in P, m.
    """
    turns = rotation_matrix(state.attitude)
    masses = np.array([body.mass for body in model.bodies])
    mass = float(np.sum(masses))
    centre = masses @ state.position / mass
    inertia = np.zeros((3, 3))
    for body, turn, position in zip(model.bodies, turns, state.position, strict=True):
        inertia += turn @ body.inertia @ turn.T + parallel(body.mass, position - centre)
    for wheel in model.wheels:
        axis = turns[wheel.carrier] @ wheel.axis
        inertia += wheel.axial_inertia * np.outer(axis, axis)
    return Carried(mass, np.asarray(centre + np.array(mount_position)), inertia)
