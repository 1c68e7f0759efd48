"""Parameters of the supplies and of valves in parallel, from the table's settings and the plant's truth."""

from __future__ import annotations

import math

from hil_sim.plant.block import ACTUATOR, SUPPLY, SUPPLY_STATE
from hil_sim.plant.truth import PlantTruth, SupplyTruth, ValveTruth
from mastd.arrays import FloatArray
from mastd.errors import SettingsError
from mastd.settings.table.supply import SupplySettings
from mastd.settings.table.table import TableSettings

MIN_SUPPLY_RATIO = 0.9
"""The drive stops by itself, and does not start, below this share of the supply's minimum pressure."""


def true_valves(table: TableSettings, truth: PlantTruth) -> dict[str, tuple[ValveTruth, ...]]:
    """Return what the truth says of the valves in parallel of an actuator, by its name.

    Raises SettingsError where it has another number of them than the table.
    """
    counts = {link.name: type_.valve.count for link, type_ in zip(table.links, table.types, strict=True)}
    stated = {actuator.link: actuator.valves for actuator in truth.actuators if actuator.valves is not None}
    for name, valves in stated.items():
        if len(valves) != counts[name]:
            what = f"{len(valves)} valves of {name!r}, the table has {counts[name]} in parallel (valve.count)"
            raise SettingsError([f"plant truth {truth.name!r}: {what}"])
    return stated


def fill_valves(
    row: FloatArray, stated: tuple[ValveTruth, ...] | None, count: int, true: dict[str, float], step: float
) -> float:
    """Write delay and share of each valve of an actuator; return the sum of their gains."""
    valves = stated or (ValveTruth(),) * count
    total = sum(valve.gain for valve in valves)
    row[ACTUATOR.valves] = count
    for k, valve in enumerate(valves):
        row[ACTUATOR.valve_delay + k] = (true["delay"] if valve.delay is None else valve.delay) / step
        row[ACTUATOR.valve_share + k] = valve.gain / total
    return total


def fill_supply(
    parameters: FloatArray, state: FloatArray, supply: SupplySettings, details: SupplyTruth
) -> None:
    """Write a supply's parameters (SUPPLY,), its line's stiffness apart, and its state at the start."""
    line_loss = supply.line_pressure_loss if details.line_loss is None else details.line_loss
    parameters[SUPPLY.high_pressure] = supply.pressure
    parameters[SUPPLY.low_pressure] = supply.low_pressure
    parameters[SUPPLY.return_pressure] = supply.return_pressure
    parameters[SUPPLY.pressure_ramp] = supply.pressure / supply.rise
    parameters[SUPPLY.pump_flow] = supply.pump_flow
    parameters[SUPPLY.pump_droop] = details.pressure_droop
    parameters[SUPPLY.pump_time] = details.pump_time
    parameters[SUPPLY.accumulator_volume] = supply.accumulator.volume
    parameters[SUPPLY.precharge] = supply.accumulator.precharge
    parameters[SUPPLY.exponent] = supply.accumulator.exponent
    parameters[SUPPLY.line_volume] = details.line_volume * supply.accumulator.precharge
    parameters[SUPPLY.line_loss] = line_loss / supply.line_flow**2
    stored = supply.accumulator.oil(supply.pressure)
    tank = details.tank_volume or supply.tank_volume
    parameters[SUPPLY.bleed_conductance] = stored / details.bleed_time / math.sqrt(supply.pressure)
    parameters[SUPPLY.tank_volume] = tank
    parameters[SUPPLY.heat_capacity] = details.heat_capacity * tank
    parameters[SUPPLY.cooling] = supply.cooling if details.cooling is None else details.cooling
    parameters[SUPPLY.cooler_temperature] = details.cooler_temperature or supply.oil.cooler_temperature
    parameters[SUPPLY.filter_loss] = supply.oil.filter_pressure_drop / supply.line_flow
    parameters[SUPPLY.min_pressure] = supply.limits.minimum_pressure
    parameters[SUPPLY.max_temperature] = supply.limits.maximum_oil_temperature
    parameters[SUPPLY.min_level] = supply.limits.minimum_oil_level
    parameters[SUPPLY.max_filter_drop] = supply.limits.maximum_filter_pressure_drop
    parameters[SUPPLY.drive_minimum] = MIN_SUPPLY_RATIO * supply.limits.minimum_pressure
    state[SUPPLY_STATE.tank_oil] = supply.oil.level * tank
    state[SUPPLY_STATE.temperature] = supply.oil.temperature
    state[SUPPLY_STATE.pump_health] = 1.0
