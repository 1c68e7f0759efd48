"""What a table can do along each axis by itself, from neutral: travel, velocity, acceleration, and the oil.

Velocity: every actuator within its limit, all together within the flow that the supply gives. Acceleration:
forces of least norm (``mastd.dynamics.table_model``) that move the mass and carry the weight less what static
supports do at neutral, each within ``force_share`` of its actuator.

A lasting sine is bounded by travel, velocity, force, the flow of the valves under load, and that of the pump,
as curves of data sheets are; the response of valves and oil columns is left aside.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mastd.arrays import FloatArray
from mastd.dynamics.supports import support_wrench
from mastd.dynamics.table_model import TableModel
from mastd.kinematics.design import neutral_jacobian
from mastd.kinematics.geometry import Geometry
from mastd.kinematics.workspace import axis_ends, within_strokes
from mastd.motion.preflight.limits import Limit
from mastd.settings.core.axes import AXES
from mastd.settings.table.actuators import ActuatorType
from mastd.settings.table.table import TableSettings

HEAVIEST = 3.0
"""Greatest mass of table and payload that is looked at, over the table's own."""
STANDING = 0.7
"""Part of the force that the limits leave an actuator which the weight of that mass may take at rest."""
RAISED = 0.95
"""Part of what the actuators hold that is given to a mass: raising it takes more than holding it."""
_SHARES = 65
"""Distances along a ray that are looked at before its end is found exactly."""


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


@dataclass(frozen=True, eq=False)
class AxisEnvelope:
    """Sines along an axis: amplitudes (masses, frequencies) of acceleration in m/s² or rad/s², and bounds."""

    axis: str
    accelerations: FloatArray
    bounds: tuple[tuple[str, ...], ...]


def static_capacity(table: TableSettings, geometry: Geometry) -> float:
    """Return the mass in kg of table and payload that is held at neutral, within the actuators' limits.

    Infinite where no actuator carries weight, 1 kg where the supports alone load one beyond its limit.
    """
    relief = _standing(table, neutral_jacobian(geometry), 0.0)
    per_mass = _standing(table, neutral_jacobian(geometry), 1.0) - relief
    carried = [
        (_most_force(table, type_, force) - np.sign(force) * own) / abs(force)
        for type_, own, force in zip(table.types, relief, per_mass, strict=True)
        if abs(force) > 1e-9 * np.max(np.abs(per_mass))
    ]
    return max(float(min(carried, default=math.inf)), 1.0)


def _most_force(table: TableSettings, type_: ActuatorType, direction: float) -> float:
    """Return the limit in N of an actuator's push, or of its pull where ``direction`` is below 0."""
    pulls = not (direction < 0.0 and type_.only_pushes)
    return table.limits.force_share * type_.body.maximum_force if pulls else 0.0


def standing_limits(table: TableSettings, geometry: Geometry, model: TableModel) -> tuple[Limit, ...]:
    """Return what it takes that the table stands at neutral: mass that is raised, pressure of the supply.

    ``model`` of the table with its payload. The pressure is that of the chamber that carries most, with the
    return pressure in the other one. None where the actuators carry no weight.
    """
    capacity = RAISED * static_capacity(table, geometry)
    if not math.isfinite(capacity):
        return ()
    mass, x, y = model.values[:3]
    wrench = table.gravity * np.array([0.0, 0.0, mass, y, -x, 0.0]) - _carried(table)
    forces = np.linalg.pinv(neutral_jacobian(geometry).T) @ wrench
    whole = "table and payload, at rest"
    carried = Limit("mass", float(mass), capacity, "kg", 1.0 - float(mass) / capacity, 0.0, whole)
    if table.supply is None:
        return (carried,)
    pressures = []
    for force, type_ in zip(forces, table.types, strict=True):
        if type_.electric is not None:
            pressures.append(0.0)
            continue
        first, second = type_.cylinder.piston_areas
        carrying, other = (first, second) if force >= 0.0 else (second, first)
        pulled = type_.cylinder.single_acting and force < 0.0
        borne = abs(float(force)) + type_.supply.return_pressure * other
        pressures.append(math.inf if pulled else borne / carrying)
    most = int(np.argmax(np.array(pressures) / [type_.supply.pressure for type_ in table.types]))
    pressure, given = pressures[most], table.types[most].supply.pressure
    actuator = f"actuator {most + 1}: {table.links[most].name}, at rest"
    return (
        carried,
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
            _acceleration(table, jacobian, index, ratio * mass_matrix[:, index], ratio * table.body.mass)
            for ratio in ratios
        )
        low, high = travel[index]
        found.append(AxisPerformance(AXES[index], (float(low), float(high)), velocity, flow, accelerations))
    return tuple(found)


def sine_envelopes(
    table: TableSettings,
    geometry: Geometry,
    mass_matrix: FloatArray,
    ratios: Sequence[float],
    frequencies: FloatArray,
) -> tuple[AxisEnvelope, ...]:
    """Return the largest lasting sine of each axis by itself at ``frequencies`` (k,) in Hz, about neutral.

    ``ratios`` and ``mass_matrix`` as in ``performance``.
    """
    omega = 2.0 * math.pi * frequencies
    jacobian = neutral_jacobian(geometry)
    found = []
    for axis in performance(table, geometry, mass_matrix, ratios):
        index = AXES.index(axis.axis)
        rates = jacobian[:, index]
        rows = [_sine_row(Bound(min(-axis.travel[0], axis.travel[1]), "stroke"), omega**2)]
        rows += [_sine_row(axis.velocity, omega), _sine_row(_pump(table, rates), omega)]
        accelerations, bounds = [], []
        for ratio, force in zip(ratios, axis.accelerations, strict=True):
            standing = _standing(table, jacobian, ratio * table.body.mass)
            moving = _moving(table, jacobian, index, ratio * mass_matrix[:, index])
            valves = _loaded_valves(table, rates, standing, moving, omega)
            own = [*rows, _sine_row(force, np.ones_like(omega)), *valves]
            values = np.array([row for row, _ in own])
            least = np.argmin(values, axis=0)
            accelerations.append(np.min(values, axis=0))
            bounds.append(tuple(own[row][1] for row in least))
        found.append(AxisEnvelope(axis.axis, np.array(accelerations), tuple(bounds)))
    return tuple(found)


def _sine_row(bound: Bound, factor: FloatArray) -> tuple[FloatArray, str]:
    return bound.value * factor, bound.by


def _pump(table: TableSettings, rates: FloatArray) -> Bound:
    """Return the velocity amplitude whose mean flow the pump gives: of |sin| the mean is 2/π."""
    flows = _flows(table, rates)
    return min(
        (
            Bound(0.5 * math.pi * supply.pump_flow / flow if flow > 0.0 else math.inf, _of("pump", name))
            for (name, supply), flow in zip(table.packs.items(), flows, strict=True)
        ),
        key=lambda bound: bound.value,
        default=Bound(math.inf, "pump"),
    )


def _loaded_valves(
    table: TableSettings, rates: FloatArray, standing: FloatArray, moving: FloatArray, omega: FloatArray
) -> list[tuple[FloatArray, str]]:
    """Return for each actuator the acceleration amplitude that its valve's flow gives under load.

    ``standing`` (n,) N, ``moving`` (n,) N per m/s². Speed v₀ √(1 − F/F₀) at force F, v₀ without load, F₀ at
    standstill. Of a sine a the force is W + m a s, the speed a √(1 − s²)/ω, −1 ≤ s ≤ 1; over s the worst is
    (a/(ω v₀))² + c² = 1 − W/F₀ with c = m ω v₀ / (2 F₀), or force alone, m a = F₀ − W, where that is less.
    """
    found = []
    types = zip(table.links, table.types, np.abs(rates), np.abs(standing), moving, strict=True)
    for link, type_, rate, weight, mass in types:
        if rate <= 1e-9:
            continue
        speed = type_.no_load_speed() / rate
        if type_.electric is not None:
            # Speed by itself, and of a sine a power F v of at most m a²/(2ω) beside that of the weight.
            power = type_.electric.maximum_power / rate
            per_mass = weight / max(mass, 1e-9)
            left = np.sqrt(per_mass**2 + 2.0 * power * omega / max(mass, 1e-9)) - per_mass
            found.append((np.minimum(omega * speed, left), f"speed and power of {link.name}"))
            continue
        stall = type_.cylinder.least_area * (type_.supply.pressure - type_.supply.return_pressure)
        left = max(1.0 - weight / stall, 0.0)
        squared = (mass * omega * speed / (2.0 * stall)) ** 2
        flowing = omega * speed * np.sqrt(np.maximum(left - squared, 0.0))
        held = left * stall / mass if mass > 0.0 else math.inf
        found.append((np.where(2.0 * squared <= left, flowing, held), f"valve of {link.name}"))
    return found


def translation_section(
    table: TableSettings, geometry: Geometry, axes: tuple[int, int], rays: int = 181
) -> FloatArray:
    """Return the outline (rays, 2) in m of what the strokes let C reach in a plane of two translations.

    Orientation neutral, the third translation 0; seen from neutral along rays, which end at 1.5 times the
    limits of the pose where no stroke ends them.
    """
    angles = np.linspace(0.0, 2.0 * math.pi, rays)
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    limits = np.array(table.pose_limits)[list(axes)]
    with np.errstate(divide="ignore"):
        ends = 1.5 * np.min(limits / np.abs(directions), axis=1)

    def inside(distances: FloatArray) -> FloatArray:
        poses = np.zeros((rays, 6))
        poses[:, axes] = distances[:, None] * directions
        return within_strokes(geometry, poses).astype(np.float64)

    shares = np.linspace(0.0, 1.0, _SHARES)
    reached = np.cumprod([inside(share * ends) for share in shares], axis=0).sum(axis=0)
    low = shares[np.maximum(reached.astype(int) - 1, 0)]
    high = np.minimum(low + shares[1], 1.0)
    for _ in range(20):
        middle = 0.5 * (low + high)
        free = inside(middle * ends) > 0.0
        low, high = np.where(free, middle, low), np.where(free, high, middle)
    return np.asarray((low * ends)[:, None] * directions)


def _flows(table: TableSettings, rates: FloatArray) -> FloatArray:
    """Return the flow from each supply (supplies,) in m³/s at ``rates`` (n,) of the actuators."""
    areas = np.array(
        [max(type_.cylinder.piston_areas) if type_.electric is None else 0.0 for type_ in table.types]
    )
    found = np.bincount(table.fed_by, areas * np.abs(rates), len(table.packs))
    return np.asarray(found[: len(table.packs)], dtype=np.float64)


def _of(what: str, name: str) -> str:
    return f"{what} of {name}" if name else what


def _velocity(table: TableSettings, rates: FloatArray) -> tuple[Bound, float]:
    """Return velocity and flow of an axis whose unit rate makes ``rates`` (n,) of the actuators."""
    flows = _flows(table, rates)
    bounds = [
        Bound(supply.limits.maximum_flow / flow, f"supply {name}".strip())
        for (name, supply), flow in zip(table.packs.items(), flows, strict=True)
        if flow > 0.0
    ]
    for link, velocity, rate in zip(table.links, table.velocities, np.abs(rates), strict=True):
        if rate > 1e-9:
            bounds.append(Bound(velocity / float(rate), f"velocity of {link.name}"))
    least = min(bounds, key=lambda bound: bound.value, default=Bound(0.0, "no actuator"))
    return least, least.value * float(np.sum(flows))


def _moving(table: TableSettings, jacobian: FloatArray, axis: int, mass: FloatArray) -> FloatArray:
    """Return the force of each actuator (n,) in N per unit acceleration of an axis.

    ``mass`` (6,): wrench of a unit one; electric drives move their own mass beside it.
    """
    electric = [type_.electric for type_ in table.types]
    own = np.array([drive.moving_mass if drive is not None else 0.0 for drive in electric])
    return np.asarray(np.abs(np.linalg.pinv(jacobian.T) @ mass) + own * np.abs(jacobian[:, axis]))


def _acceleration(
    table: TableSettings, jacobian: FloatArray, axis: int, mass: FloatArray, weight: float
) -> Bound:
    """Return the acceleration of an axis; ``mass`` (6,): wrench of a unit one, ``weight`` in kg."""
    standing = _standing(table, jacobian, weight)
    moving = _moving(table, jacobian, axis, mass)
    bounds = []
    for link, type_, still, more in zip(table.links, table.types, standing, moving, strict=True):
        if more > 1e-9 * float(np.max(moving)):
            left = _most_force(table, type_, 1.0) - abs(float(still))
            if type_.only_pushes:
                left = min(left, float(still))
            bounds.append(Bound(max(left, 0.0) / float(more), f"force of {link.name}"))
    return min(bounds, key=lambda bound: bound.value)


def _standing(table: TableSettings, jacobian: FloatArray, weight: float) -> FloatArray:
    """Return the force of each actuator (n,) in N under ``weight`` kg at rest at neutral."""
    wrench = np.array([0.0, 0.0, weight * table.gravity, 0.0, 0.0, 0.0]) - _carried(table)
    return np.asarray(np.linalg.pinv(jacobian.T) @ wrench)


def _carried(table: TableSettings) -> FloatArray:
    """Return the wrench (6,) of the static supports at rest at neutral, N and N m."""
    return support_wrench(table, np.zeros(6), np.zeros(6))
