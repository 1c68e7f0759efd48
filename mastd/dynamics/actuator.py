"""What an actuator with its valve does, and what its valve must do: one row of numbers an actuator.

Oil of both chambers as springs in series with the rod, k = β (A₁²/V₁ + A₂²/V₂) (Merritt 1967); seals by the
LuGre model (Canudas de Wit 1995); flow by the orifice law over both lands (table-control study, section 5.1):
the no-load speed of an opening o under the load F is

    v = G φ(o') √(A p_s − A p_r ∓ F),   φ(o) = o/√(1 + (s o)²),   o' = o less the overlap,

A of the chamber that is fed for p_s, the other one's for p_r; ports of unlike gains K are in G alone,
G = K₁/√(A₁³ + A₂³ (K₁/K₂)²). A single-acting cylinder is one whose A₂ is 0. An electric drive has a constant
stiffness with a damper beside it, and a speed in proportion to the "opening", the command over its
maximum.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import SettingsError
from mastd.index_table import Entry, index_table, size_of
from mastd.kernel import fused_kernel
from mastd.settings.table.actuators import ActuatorType
from mastd.settings.table.identified import IdentifiedActuator, IdentifiedSettings
from mastd.settings.table.table import LinkSettings, TableSettings


class ActuatorRow(NamedTuple):
    """Columns of the row of an actuator."""

    neutral_length: Annotated[int, Entry("m", "length of the actuator at neutral")]
    area_1: Annotated[int, Entry("m²", "piston area of chamber 1, which extends")]
    area_2: Annotated[int, Entry("m²", "piston area of chamber 2, which retracts")]
    column: Annotated[int, Entry("m", "oil column of a chamber at neutral")]
    bulk_modulus: Annotated[int, Entry("Pa", "of the oil")]
    gain: Annotated[int, Entry("m/s per √N", "G of the valve")]
    saturation: Annotated[int, Entry("1", "s of the valve")]
    overlap: Annotated[int, Entry("1", "of the spool")]
    leak_speed: Annotated[int, Entry("m/s per N", "piston speed that leaks")]
    coulomb: Annotated[int, Entry("N", "friction of the seals, as in FrictionSettings")]
    breakaway: Annotated[int, Entry("N", "friction at rest")]
    stribeck_speed: Annotated[int, Entry("m/s", "at which friction is half-way between the two")]
    viscous: Annotated[int, Entry("N s/m", "viscous friction")]
    bristle_stiffness: Annotated[int, Entry("N/m", "of the LuGre model")]
    bristle_damping: Annotated[int, Entry("N s/m", "of the LuGre model")]
    return_pressure: Annotated[int, Entry("Pa", "of the tank")]
    stiffness: Annotated[int, Entry("N/m", "of an electric drive, 0 where oil gives way")]
    damping: Annotated[int, Entry("N s/m", "of an electric drive, beside its stiffness")]
    full_speed: Annotated[int, Entry("m/s", "of an electric drive, 0 where a valve makes the speed")]
    felt_friction: Annotated[int, Entry("1", "1 where the measured force has the seals' friction in it")]
    supply: Annotated[int, Entry("1", "number of the supply")]


ACTUATOR = index_table(ActuatorRow)
ACTUATOR_COLUMNS = size_of(ACTUATOR)

MIN_AVAILABLE = 0.05
"""Minimum force for the orifice law, as a ratio of that of full supply: beyond it a valve is open anyway."""
MIN_LENGTH = 1.0e-3
"""Minimum oil column in m, however near its end a piston is."""

LAP_RATIO = 0.1
"""Ratio of the overlap over which the spool passes through it: a step has no slope."""

MIN_OPENING = 1.0e-12


def actuator_rows(table: TableSettings, identified: IdentifiedSettings | None = None) -> FloatArray:
    """Return the rows (n, ACTUATOR_COLUMNS) of a table's actuators: nominal, or what was identified.

    Raises SettingsError if the identified actuators are not those of the table.
    """
    each = zip(table.links, table.types, table.fed_by, strict=True)
    rows = np.array([_nominal(link, type_, supply) for link, type_, supply in each])
    if identified is None:
        return rows
    found = {actuator.link: actuator for actuator in identified.links}
    names = [actuator.name for actuator in table.links]
    if identified.table != table.name:
        what = f"was identified on {identified.table!r}, this is {table.name!r}: identify this table"
        raise SettingsError([f"{identified.name}: {what}"])
    if sorted(found) != sorted(names):
        differ = ", ".join(sorted(set(found) ^ set(names))) or "one is listed twice"
        raise SettingsError([f"{identified.name}: its actuators are not those of {table.name!r}: {differ}"])
    for row, name in zip(rows, names, strict=True):
        _apply(row, found[name])
    return rows


def valve_delays(table: TableSettings, identified: IdentifiedSettings | None = None) -> list[float]:
    """Return the delay in s of each actuator's valve, beside its lag."""
    if identified is None:
        return [type_.lag.delay for type_ in table.types]
    found = {actuator.link: actuator.valve_delay.value for actuator in identified.links}
    return [found[actuator.name] for actuator in table.links]


def _nominal(link: LinkSettings, type_: ActuatorType, supply: int) -> FloatArray:
    friction = type_.body.friction
    row = np.zeros(ACTUATOR_COLUMNS)
    row[ACTUATOR.neutral_length] = link.neutral_length
    row[ACTUATOR.coulomb], row[ACTUATOR.breakaway] = friction.coulomb, friction.breakaway
    row[ACTUATOR.stribeck_speed], row[ACTUATOR.viscous] = friction.stribeck_velocity, friction.viscous
    row[ACTUATOR.bristle_stiffness] = friction.bristle_stiffness
    row[ACTUATOR.bristle_damping] = friction.bristle_damping
    row[ACTUATOR.felt_friction] = float(type_.feedback != "load_cell")
    electric = type_.electric
    if electric is not None:
        row[ACTUATOR.column] = link.stroke
        row[ACTUATOR.stiffness], row[ACTUATOR.damping] = electric.stiffness, electric.damping
        row[ACTUATOR.full_speed] = electric.maximum_speed
        return row
    cylinder, valve = type_.cylinder, type_.valve
    row[ACTUATOR.area_1], row[ACTUATOR.area_2] = cylinder.piston_areas
    row[ACTUATOR.column] = link.stroke + cylinder.dead_length
    row[ACTUATOR.bulk_modulus] = cylinder.bulk_modulus
    row[ACTUATOR.gain] = valve.speed_gain(cylinder.piston_areas)
    row[ACTUATOR.saturation] = valve.bend
    row[ACTUATOR.overlap] = valve.overlap
    row[ACTUATOR.leak_speed] = cylinder.leakage / cylinder.mean_area**2
    row[ACTUATOR.return_pressure] = type_.supply.return_pressure
    row[ACTUATOR.supply] = supply
    return row


def _apply(row: FloatArray, found: IdentifiedActuator) -> None:
    breakaway = row[ACTUATOR.breakaway] / row[ACTUATOR.coulomb] if row[ACTUATOR.coulomb] > 0.0 else 1.0
    row[ACTUATOR.gain] *= found.valve_gain.value
    row[ACTUATOR.overlap] = found.valve_overlap.value
    row[ACTUATOR.bulk_modulus] = found.bulk_modulus.value
    row[ACTUATOR.coulomb] = found.coulomb.value
    row[ACTUATOR.breakaway] = breakaway * found.coulomb.value
    row[ACTUATOR.viscous] = found.viscous.value


@fused_kernel
def oil_spring(row: FloatArray, length: float) -> float:
    """Return the stiffness in N/m of the locked oil, or electric drive, of an actuator ``length`` m long."""
    if row[ACTUATOR.stiffness] > 0.0:
        return float(row[ACTUATOR.stiffness])
    offset = length - row[ACTUATOR.neutral_length]
    first = max(row[ACTUATOR.column] + offset, MIN_LENGTH)
    second = max(row[ACTUATOR.column] - offset, MIN_LENGTH)
    return float(row[ACTUATOR.bulk_modulus] * (row[ACTUATOR.area_1] / first + row[ACTUATOR.area_2] / second))


@fused_kernel
def seal_friction(row: FloatArray, bristles: FloatArray, actuator: int, rate: float, step: float) -> float:
    """Advance the seal's bristle of ``actuator`` over ``step`` s at ``rate`` m/s; return the force in N.

    It has the sign of the rate: what the oil must push in addition. The bristle is advanced implicitly, so
    that no step is too long.
    """
    viscous = row[ACTUATOR.viscous] * rate
    if not row[ACTUATOR.coulomb] > 0.0:
        return float(viscous)
    ratio = rate / row[ACTUATOR.stribeck_speed]
    level = row[ACTUATOR.coulomb] + (row[ACTUATOR.breakaway] - row[ACTUATOR.coulomb]) / (1.0 + ratio * ratio)
    before = bristles[actuator]
    after = (before + step * rate) / (1.0 + step * row[ACTUATOR.bristle_stiffness] * abs(rate) / level)
    bristles[actuator] = after
    deflecting = row[ACTUATOR.bristle_damping] * (after - before) / step
    return float(row[ACTUATOR.bristle_stiffness] * after + deflecting + viscous)


@fused_kernel
def available_force(row: FloatArray, supply: float, load: float, extends: bool) -> float:
    """Return the pressure drop over the lands times the area in N, under ``load`` N (push positive)."""
    fed, drained = (
        (row[ACTUATOR.area_1], row[ACTUATOR.area_2])
        if extends
        else (row[ACTUATOR.area_2], row[ACTUATOR.area_1])
    )
    still = fed * supply - drained * row[ACTUATOR.return_pressure]
    left = still - load if extends else still + load
    full = still if fed > 0.0 else drained * supply
    return float(max(left, MIN_AVAILABLE * max(full, 1.0)))


@fused_kernel
def opening_for(row: FloatArray, speed: float, load: float, supply: float) -> float:
    """Return the opening of a valve, beside the overlap, for a no-load ``speed`` in m/s under ``load`` N."""
    flow = abs(speed) / (row[ACTUATOR.gain] * math.sqrt(available_force(row, supply, load, speed > 0.0)))
    saturation = row[ACTUATOR.saturation] * flow
    opening = 1.0
    if saturation < 1.0:
        opening = min(flow / math.sqrt(1.0 - saturation * saturation), 1.0)
    return opening if speed > 0.0 else -opening


@fused_kernel
def speed_for(row: FloatArray, opening: float, load: float, supply: float) -> float:
    """Return the no-load speed in m/s of a valve's ``opening``: the inverse of ``opening_for``."""
    size = min(abs(opening), 1.0)
    bent = row[ACTUATOR.saturation] * size
    flow = size / math.sqrt(1.0 + bent * bent)
    speed = flow * row[ACTUATOR.gain] * math.sqrt(available_force(row, supply, load, opening > 0.0))
    return float(speed if opening > 0.0 else -speed)


@fused_kernel
def mean_over_lap(row: FloatArray, before: float, after: float) -> float:
    """Return the mean opening at the spool while that of the ports goes evenly from ``before`` to ``after``.

    A spool jumps through its overlap. The mean over a period tells when within it, to the last microsecond;
    the opening at its end would not.
    """
    middle = 0.5 * (before + after)
    overlap = row[ACTUATOR.overlap]
    if not overlap > 0.0:
        return middle
    edge = LAP_RATIO * overlap
    first = math.sqrt(before * before + edge * edge)
    last = math.sqrt(after * after + edge * edge)
    # (last − first) / (after − before), without the difference of nearly equal numbers.
    return float(middle + overlap * (after + before) / max(last + first, MIN_OPENING))
