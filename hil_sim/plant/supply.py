"""The supplies: pump, accumulators, tank, cooler, filter of each (Jin 2012, II.3).

Runs once per drive tick with the oil that the valves drew since the last one. Oil is booked: what leaves the
accumulators is in the chambers or back in the tank.
"""

from __future__ import annotations

import math

from hil_sim.plant.block import COUNTER, SUPPLY, SUPPLY_STATE, PlantArrays
from hil_sim.plant.truth import SupplyTruth
from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.settings.table.supply import SupplySettings

# Smoothing of the flow figures that the pack reports (s).
_FLOW_TIME = 0.01


MIN_SUPPLY_RATIO = 0.9
"""The drive stops by itself, and does not start, below this share of the supply's minimum pressure."""


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


@fused_kernel
def stored_pressure(oil: float, parameters: FloatArray) -> float:
    """Return the pressure of accumulators and line that hold ``oil`` (m³).

    Above the precharge the gas law p = p₀ (V / (V − oil))^k; below it only the line's own compliance is left,
    and the pressure falls to zero with the oil.
    """
    line = parameters[SUPPLY.line_volume]
    if oil <= line:
        return float(parameters[SUPPLY.precharge] * max(oil, 0.0) / line)
    volume = parameters[SUPPLY.accumulator_volume]
    gas = max(volume - (oil - line), 0.05 * volume)
    return float(parameters[SUPPLY.precharge] * (volume / gas) ** parameters[SUPPLY.exponent])


@fused_kernel
def _follow(value: float, target: float, ratio: float) -> float:
    """Return ``value`` moved towards ``target``; a flow below 1e-12 m³/s is none (no denormal numbers)."""
    new = value + ratio * (target - value)
    return new if abs(new) > 1.0e-12 else 0.0


@fused_kernel
def run_supplies(plant: PlantArrays, tick: float) -> None:
    """Advance the supplies by one drive tick (s): a stage is reached when all have reached it."""
    counters, reached, fault = plant.counters, 2, 0
    for k in range(plant.supply.shape[0]):
        fault |= _run_supply(plant.supply_state[k], plant.supply[k], counters[COUNTER.stage_request], tick)
        reached = min(reached, int(plant.supply_state[k, SUPPLY_STATE.stage]))
    counters[COUNTER.stage_reached] = reached
    counters[COUNTER.supply_fault] = fault


@fused_kernel
def _run_supply(supply: FloatArray, parameters: FloatArray, request: int, tick: float) -> int:
    """Advance one supply; return 1 where it is at fault."""
    target = 0.0
    if request == 1:
        target = parameters[SUPPLY.low_pressure]
    elif request == 2:
        target = parameters[SUPPLY.high_pressure]
    pressure = supply[SUPPLY_STATE.accumulator_pressure]
    if target > supply[SUPPLY_STATE.set_pressure]:
        supply[SUPPLY_STATE.set_pressure] = min(
            supply[SUPPLY_STATE.set_pressure] + parameters[SUPPLY.pressure_ramp] * tick, target
        )
    else:
        supply[SUPPLY_STATE.set_pressure] = target

    # A pressure-compensated pump: full flow until the set pressure is near, then less and less.
    ratio = (supply[SUPPLY_STATE.set_pressure] - pressure) / parameters[SUPPLY.pump_droop]
    wanted = min(max(ratio, 0.0), 1.0) * parameters[SUPPLY.pump_flow] * supply[SUPPLY_STATE.pump_health]
    supply[SUPPLY_STATE.pump_delivery] = _follow(
        supply[SUPPLY_STATE.pump_delivery], wanted, min(tick / parameters[SUPPLY.pump_time], 1.0)
    )
    # The unloading valve opens when less pressure is wanted than stands in the accumulators.
    bleed = 0.0
    if pressure > supply[SUPPLY_STATE.set_pressure] + parameters[SUPPLY.pump_droop] or request == 0:
        bleed = parameters[SUPPLY.bleed_conductance] * math.sqrt(max(pressure, 0.0))
    bled = min(bleed * tick, max(supply[SUPPLY_STATE.accumulator_oil], 0.0))
    delivered = supply[SUPPLY_STATE.pump_delivery] * tick
    supply[SUPPLY_STATE.accumulator_oil] += delivered - supply[SUPPLY_STATE.drawn] - bled
    supply[SUPPLY_STATE.tank_oil] += supply[SUPPLY_STATE.returned] + bled - delivered
    pressure = stored_pressure(supply[SUPPLY_STATE.accumulator_oil], parameters)
    supply[SUPPLY_STATE.accumulator_pressure] = pressure

    smoothing = min(tick / _FLOW_TIME, 1.0)
    drawn = supply[SUPPLY_STATE.drawn] / tick
    supply[SUPPLY_STATE.supply_flow] = _follow(supply[SUPPLY_STATE.supply_flow], drawn, smoothing)
    supply[SUPPLY_STATE.return_flow] = _follow(
        supply[SUPPLY_STATE.return_flow], supply[SUPPLY_STATE.returned] / tick, smoothing
    )
    supply[SUPPLY_STATE.drawn] = 0.0
    supply[SUPPLY_STATE.returned] = 0.0
    supply[SUPPLY_STATE.pressure] = max(pressure - parameters[SUPPLY.line_loss] * drawn * abs(drawn), 0.0)

    supply[SUPPLY_STATE.filter_drop] = (
        parameters[SUPPLY.filter_loss] * max(supply[SUPPLY_STATE.return_flow], 0.0)
        + supply[SUPPLY_STATE.filter_blockage]
    )
    # All the pump's hydraulic power ends as heat in the oil.
    heat = pressure * supply[SUPPLY_STATE.pump_delivery]
    cooling = parameters[SUPPLY.cooling] * max(
        supply[SUPPLY_STATE.temperature] - parameters[SUPPLY.cooler_temperature], 0.0
    )
    supply[SUPPLY_STATE.temperature] += (heat - cooling) * tick / parameters[SUPPLY.heat_capacity]

    reached = min(int(supply[SUPPLY_STATE.stage]), request)
    if request >= 1 and reached < 1 and pressure >= 0.9 * parameters[SUPPLY.low_pressure]:
        reached = 1
    if request == 2 and reached == 1 and pressure >= 0.95 * parameters[SUPPLY.high_pressure]:
        reached = 2
    supply[SUPPLY_STATE.stage] = reached
    low = reached == 2 and not pressure >= parameters[SUPPLY.min_pressure]
    lost = request > 0 and not supply[SUPPLY_STATE.pump_health] > 0.0
    return 1 if low or lost else 0
