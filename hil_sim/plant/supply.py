"""The hydraulic power pack: pump, accumulators, tank, cooler, filter (Jin 2012, II.3).

Runs once per drive tick with the oil that the valves drew since the last one. Oil is booked: what leaves the
accumulators is in the chambers or back in the tank.
"""

from __future__ import annotations

import math

from hil_sim.plant.block import (
    ACCUMULATOR_OIL,
    ACCUMULATOR_PRESSURE,
    ACCUMULATOR_VOLUME,
    BLEED_CONDUCTANCE,
    COOLER_TEMPERATURE,
    COOLING,
    DRAWN,
    EXPONENT,
    FILTER_BLOCKAGE,
    FILTER_DROP,
    FILTER_LOSS,
    HEAT_CAPACITY,
    HIGH_PRESSURE,
    LINE_LOSS,
    LINE_VOLUME,
    LOW_PRESSURE,
    MINIMUM_PRESSURE,
    PRECHARGE,
    PRESSURE_RAMP,
    PUMP_DELIVERY,
    PUMP_DROOP,
    PUMP_FLOW,
    PUMP_HEALTH,
    PUMP_TIME,
    RETURN_FLOW,
    RETURNED,
    SET_PRESSURE,
    STAGE_REACHED,
    STAGE_REQUEST,
    SUPPLY_FAULT,
    SUPPLY_FLOW,
    SUPPLY_PRESSURE,
    TANK_OIL,
    TEMPERATURE,
)
from mastd.arrays import FloatArray, IntArray
from mastd.kernel import fused_kernel

# Smoothing of the flow figures that the pack reports (s).
_FLOW_TIME = 0.01


@fused_kernel
def stored_pressure(oil: float, parameters: FloatArray) -> float:
    """Return the pressure of accumulators and line that hold ``oil`` (m³).

    Above the precharge the gas law p = p₀ (V / (V − oil))^k; below it only the line's own compliance is left,
    and the pressure falls to zero with the oil.
    """
    line = parameters[LINE_VOLUME]
    if oil <= line:
        return float(parameters[PRECHARGE] * max(oil, 0.0) / line)
    volume = parameters[ACCUMULATOR_VOLUME]
    gas = max(volume - (oil - line), 0.05 * volume)
    return float(parameters[PRECHARGE] * (volume / gas) ** parameters[EXPONENT])


@fused_kernel
def _follow(value: float, target: float, share: float) -> float:
    """Return ``value`` moved towards ``target``; a flow below 1e-12 m³/s is none (no denormal numbers)."""
    new = value + share * (target - value)
    return new if abs(new) > 1.0e-12 else 0.0


@fused_kernel
def run_supply(supply: FloatArray, parameters: FloatArray, integers: IntArray, tick: float) -> None:
    """Advance the supply by one drive tick (s)."""
    request = integers[STAGE_REQUEST]
    target = 0.0
    if request == 1:
        target = parameters[LOW_PRESSURE]
    elif request == 2:
        target = parameters[HIGH_PRESSURE]
    pressure = supply[ACCUMULATOR_PRESSURE]
    if target > supply[SET_PRESSURE]:
        supply[SET_PRESSURE] = min(supply[SET_PRESSURE] + parameters[PRESSURE_RAMP] * tick, target)
    else:
        supply[SET_PRESSURE] = target

    # A pressure-compensated pump: full flow until the set pressure is near, then less and less.
    share = (supply[SET_PRESSURE] - pressure) / parameters[PUMP_DROOP]
    wanted = min(max(share, 0.0), 1.0) * parameters[PUMP_FLOW] * supply[PUMP_HEALTH]
    supply[PUMP_DELIVERY] = _follow(supply[PUMP_DELIVERY], wanted, min(tick / parameters[PUMP_TIME], 1.0))
    # The unloading valve opens when less pressure is wanted than stands in the accumulators.
    bleed = 0.0
    if pressure > supply[SET_PRESSURE] + parameters[PUMP_DROOP] or request == 0:
        bleed = parameters[BLEED_CONDUCTANCE] * math.sqrt(max(pressure, 0.0))
    bled = min(bleed * tick, max(supply[ACCUMULATOR_OIL], 0.0))
    delivered = supply[PUMP_DELIVERY] * tick
    supply[ACCUMULATOR_OIL] += delivered - supply[DRAWN] - bled
    supply[TANK_OIL] += supply[RETURNED] + bled - delivered
    pressure = stored_pressure(supply[ACCUMULATOR_OIL], parameters)
    supply[ACCUMULATOR_PRESSURE] = pressure

    smoothing = min(tick / _FLOW_TIME, 1.0)
    drawn = supply[DRAWN] / tick
    supply[SUPPLY_FLOW] = _follow(supply[SUPPLY_FLOW], drawn, smoothing)
    supply[RETURN_FLOW] = _follow(supply[RETURN_FLOW], supply[RETURNED] / tick, smoothing)
    supply[DRAWN] = 0.0
    supply[RETURNED] = 0.0
    supply[SUPPLY_PRESSURE] = max(pressure - parameters[LINE_LOSS] * drawn * abs(drawn), 0.0)

    supply[FILTER_DROP] = parameters[FILTER_LOSS] * max(supply[RETURN_FLOW], 0.0) + supply[FILTER_BLOCKAGE]
    # All the pump's hydraulic power ends as heat in the oil.
    heat = pressure * supply[PUMP_DELIVERY]
    cooling = parameters[COOLING] * max(supply[TEMPERATURE] - parameters[COOLER_TEMPERATURE], 0.0)
    supply[TEMPERATURE] += (heat - cooling) * tick / parameters[HEAT_CAPACITY]

    reached = integers[STAGE_REACHED]
    reached = min(reached, request)
    if request >= 1 and reached < 1 and pressure >= 0.9 * parameters[LOW_PRESSURE]:
        reached = 1
    if request == 2 and reached == 1 and pressure >= 0.95 * parameters[HIGH_PRESSURE]:
        reached = 2
    integers[STAGE_REACHED] = reached
    low = reached == 2 and not pressure >= parameters[MINIMUM_PRESSURE]
    lost = request > 0 and not supply[PUMP_HEALTH] > 0.0
    integers[SUPPLY_FAULT] = 1 if low or lost else 0
