"""The nominal hydraulics of a motion: flow through the valves, oil from the supply, oil as springs.

Flow through fully open valves by the orifice law over both lands, as in ``mastd.dynamics.actuator``.
"""

from __future__ import annotations

import math

import numpy as np

from mastd.arrays import FloatArray
from mastd.dynamics.table_model import TableModel
from mastd.kernel import fused_kernel
from mastd.kinematics.design import neutral_jacobian
from mastd.kinematics.geometry import Geometry
from mastd.settings.table.hydraulics import ActuatorSettings
from mastd.settings.table.table import TableSettings

HYDRAULIC_COLUMNS = 10


def hydraulic_constants(table: TableSettings) -> FloatArray:
    """Return what ``valve_ratio`` and ``oil_flow`` need of each actuator, (n, HYDRAULIC_COLUMNS).

    Areas of chamber 1 and 2 in m², leakage in m³/s per N of force, speed of the fully open valves in m/s per
    √N, supply and return pressure in Pa, number of the supply; of an electric drive instead, maximum speed in
    m/s, power in W and moving mass in kg.
    """
    rows = np.zeros((len(table.links), HYDRAULIC_COLUMNS))
    for row, type_, number in zip(rows, table.types, table.fed_by, strict=True):
        if type_.electric is not None:
            electric = type_.electric
            row[7:] = electric.maximum_speed, electric.maximum_power, electric.moving_mass
            continue
        cylinder, valve, supply = type_.cylinder, type_.valve, type_.supply
        areas, leakage = cylinder.piston_areas, cylinder.leakage / cylinder.mean_area
        open_gain = valve.saturation * valve.speed_gain(areas)
        row[:7] = *areas, leakage, open_gain, supply.pressure, supply.return_pressure, number
    return rows


@fused_kernel
def valve_ratio(hydraulics: FloatArray, rate: float, force: float) -> float:
    """Return the flow that an actuator needs over that of its fully open valve; above 1 it cannot follow.

    Of an electric drive, its speed over the one that it reaches by maximum speed and power. ``hydraulics``
    (HYDRAULIC_COLUMNS,) is its row of ``hydraulic_constants``; ``rate`` of the length in m/s, ``force`` of
    the actuator in N (push positive).
    """
    if hydraulics[7] > 0.0:
        return float(abs(rate) * max(1.0 / hydraulics[7], abs(force) / hydraulics[8]))
    fed, drained, load = hydraulics[0], hydraulics[1], force
    if rate < 0.0:
        fed, drained, load = hydraulics[1], hydraulics[0], -force
    left = fed * hydraulics[4] - drained * hydraulics[5] - load
    if not left > 0.0:
        return math.inf
    ratio: float = abs(rate) / (hydraulics[3] * math.sqrt(left))
    return ratio


@fused_kernel
def oil_flow(hydraulics: FloatArray, rate: float, force: float) -> float:
    """Return the oil in m³/s that an actuator draws from the supply: piston travel and leakage."""
    if hydraulics[7] > 0.0:
        return 0.0
    area = hydraulics[0] if rate > 0.0 else hydraulics[1]
    flow: float = area * abs(rate) + hydraulics[2] * abs(force)
    return flow


@fused_kernel
def drain(
    flows: FloatArray, spacing: float, pump_flow: float, full: float, oil: float, lowest: FloatArray
) -> float:
    """Return the oil in the accumulators after one play of ``flows`` (n,) in m³/s, ``spacing`` s apart.

    Starts with ``oil`` m³; the pump refills up to ``full``. ``lowest`` (4,) takes the least volume met and
    its index if it is below the one found so far, and after the volume that is to be left the index at which
    it is gone, if it was not before (−1).
    """
    for k in range(len(flows)):
        oil = min(full, oil + (pump_flow - flows[k]) * spacing)
        if oil < lowest[0]:
            lowest[0] = oil
            lowest[1] = k
        if oil < lowest[2] and lowest[3] < 0.0:
            lowest[3] = k
    return oil


def oil_stiffness(actuator: ActuatorSettings, stroke: float, offset: float) -> float:
    """Return the stiffness in N/m of an actuator's locked oil, ``offset`` m from mid-stroke.

    β A²/V of both chambers, each with its dead length (k = β A² (1/V₁ + 1/V₂), Merritt 1967).
    """
    first, second = actuator.piston_areas
    column = stroke + actuator.dead_length
    return actuator.bulk_modulus * (first / (column + offset) + second / (column - offset))


def spring_words(table: TableSettings) -> str:
    """Return what gives way in the actuators of ``table``, for messages."""
    electric = [type_.electric is not None for type_ in table.types]
    if all(electric):
        return "drive"
    return "oil-column and drive" if any(electric) else "oil-column"


def oil_springs(table: TableSettings) -> FloatArray:
    """Return the stiffness (n,) in N/m of the locked oil, or electric drive, of each link at mid-stroke."""
    return np.array(
        [
            type_.electric.stiffness
            if type_.electric is not None
            else oil_stiffness(type_.cylinder, link.stroke, 0.0)
            for link, type_ in zip(table.links, table.types, strict=True)
        ]
    )


def oil_column_modes(
    table: TableSettings, geometry: Geometry, model: TableModel
) -> tuple[FloatArray, FloatArray]:
    """Return natural frequencies (m,) in Hz of the table on its locked oil at neutral, ascending, and shapes.

    One for each of m free axes; the shapes are the rows of the second array (m, 6), m and rad.
    """
    free = geometry.free_axes
    jacobian = neutral_jacobian(geometry)[:, free]
    stiffness = jacobian.T @ (oil_springs(table)[:, None] * jacobian)
    squares, shapes = np.linalg.eig(np.linalg.solve(model.mass_matrix[np.ix_(free, free)], stiffness))
    order = np.argsort(np.real(squares))
    placed = np.zeros((len(free), 6))
    placed[:, free] = np.real(shapes).T[order]
    return np.sqrt(np.real(squares))[order] / (2.0 * np.pi), placed


def oil_column_frequencies(table: TableSettings, geometry: Geometry, model: TableModel) -> FloatArray:
    """Return the natural frequencies in Hz of the table on its locked oil at neutral, ascending."""
    return oil_column_modes(table, geometry, model)[0]
