"""What a table can do along each axis by itself, from neutral: travel, velocity, acceleration, and the oil.

Velocity: every actuator within its limit, all together within the flow that the supply gives. Acceleration:
forces of least norm (``mastd.dynamics.table_model``) that move the mass and carry the weight, each within
``force_share`` of its actuator.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mastd.arrays import FloatArray
from mastd.dynamics.table_model import TableModel
from mastd.kinematics.design import neutral_jacobian
from mastd.kinematics.geometry import Geometry
from mastd.kinematics.workspace import axis_ends
from mastd.motion.preflight.limits import Limit
from mastd.settings.profile.segments import AXES
from mastd.settings.table.table import TableSettings

HEAVIEST = 3.0
"""Greatest mass of table and payload that is looked at, over the table's own."""
STANDING = 0.7
"""Part of the force that the limits leave an actuator which the weight of that mass may take at rest."""


@dataclass(frozen=True)
class Bound:
    """A value that an axis reaches, and what keeps it from more."""

    value: float
    by: str


@dataclass(frozen=True)
class AxisPerformance:
    """One axis: travel to both sides in m or rad, velocity, its flow in m³/s, acceleration for each mass."""

    axis: str
    travel: tuple[float, float]
    velocity: Bound
    flow: float
    accelerations: tuple[Bound, ...]


def static_capacity(table: TableSettings, geometry: Geometry) -> float:
    """Return the mass in kg of table and payload that the actuators hold at neutral, within the limits.

    Infinite where none of them carries weight.
    """
    standing = np.abs(_standing(table, neutral_jacobian(geometry), 1.0))
    carried = [
        table.limits.force_share * type_.cylinder.maximum_force / float(force)
        for type_, force in zip(table.types, standing, strict=True)
        if float(force) > 1e-9 * float(np.max(standing))
    ]
    return min(carried, default=math.inf)


def standing_limits(table: TableSettings, geometry: Geometry, model: TableModel) -> tuple[Limit, ...]:
    """Return what it takes that the table stands at neutral: mass that is carried, pressure of the supply.

    ``model`` of the table with its payload. The pressure is that of the chamber that carries most, with the
    return pressure in the other one. None where the actuators carry no weight.
    """
    capacity = static_capacity(table, geometry)
    if not math.isfinite(capacity):
        return ()
    mass, x, y = model.values[:3]
    wrench = table.gravity * np.array([0.0, 0.0, mass, y, -x, 0.0])
    forces = np.linalg.pinv(neutral_jacobian(geometry).T) @ wrench
    pressures = []
    for force, type_ in zip(forces, table.types, strict=True):
        first, second = type_.cylinder.piston_areas
        carrying, other = (first, second) if force >= 0.0 else (second, first)
        pressures.append((abs(float(force)) + table.supply.return_pressure * other) / carrying)
    most = int(np.argmax(pressures))
    pressure, given = pressures[most], table.supply.pressure
    actuator = f"actuator {most + 1}: {table.links[most].name}, at rest"
    whole = "table and payload, at rest"
    return (
        Limit("mass", float(mass), capacity, "kg", 1.0 - float(mass) / capacity, 0.0, whole),
        Limit("supply_pressure", pressure, given, "Pa", 1.0 - pressure / given, 0.0, actuator),
    )


def heaviest_ratio(table: TableSettings, geometry: Geometry) -> float:
    """Return the mass of table and payload, over the table's own, that leaves the actuators room to move.

    Its weight takes ``STANDING`` of what they hold at most; no more than ``HEAVIEST``, no less than 1.
    """
    return max(min(HEAVIEST, STANDING * static_capacity(table, geometry) / table.body.mass), 1.0)


def performance(
    table: TableSettings, geometry: Geometry, mass_matrix: FloatArray, ratios: Sequence[float]
) -> tuple[AxisPerformance, ...]:
    """Return what each free axis can do with ``ratios`` of the bare table's ``mass_matrix`` (6, 6)."""
    limits = np.array(table.pose_limits)
    travel = axis_ends(geometry, np.outer(limits, [-1.0, 1.0]))
    jacobian = neutral_jacobian(geometry)
    found = []
    for index in geometry.free_axes:
        velocity, flow = _velocity(table, jacobian[:, index])
        accelerations = tuple(
            _acceleration(table, jacobian, ratio * mass_matrix[:, index], ratio * table.body.mass)
            for ratio in ratios
        )
        low, high = travel[index]
        found.append(AxisPerformance(AXES[index], (float(low), float(high)), velocity, flow, accelerations))
    return tuple(found)


def _velocity(table: TableSettings, rates: FloatArray) -> tuple[Bound, float]:
    """Return velocity and flow of an axis whose unit rate makes ``rates`` (n,) of the actuators."""
    areas = np.array([max(type_.cylinder.piston_areas) for type_ in table.types])
    flow = float(areas @ np.abs(rates))
    bounds = [Bound(table.supply.limits.maximum_flow / flow, "supply")] if flow > 0.0 else []
    for link, velocity, rate in zip(table.links, table.velocities, np.abs(rates), strict=True):
        if rate > 1e-9:
            bounds.append(Bound(velocity / float(rate), f"velocity of {link.name}"))
    least = min(bounds, key=lambda bound: bound.value, default=Bound(0.0, "no actuator"))
    return least, least.value * flow


def _acceleration(table: TableSettings, jacobian: FloatArray, mass: FloatArray, weight: float) -> Bound:
    """Return the acceleration of an axis; ``mass`` (6,): wrench of a unit one, ``weight`` in kg."""
    standing = _standing(table, jacobian, weight)
    moving = np.abs(np.linalg.pinv(jacobian.T) @ mass)
    bounds = []
    for link, type_, still, more in zip(table.links, table.types, standing, moving, strict=True):
        if more > 1e-9 * float(np.max(moving)):
            left = table.limits.force_share * type_.cylinder.maximum_force - abs(float(still))
            bounds.append(Bound(max(left, 0.0) / float(more), f"force of {link.name}"))
    return min(bounds, key=lambda bound: bound.value)


def _standing(table: TableSettings, jacobian: FloatArray, weight: float) -> FloatArray:
    """Return the force of each actuator (n,) in N under ``weight`` kg at rest."""
    wrench = np.array([0.0, 0.0, weight * table.gravity, 0.0, 0.0, 0.0])
    return np.asarray(np.linalg.pinv(jacobian.T) @ wrench)
