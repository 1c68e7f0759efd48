"""Servo valves and cylinder of one actuator (table-control.md, section 5.1).

Chamber 1 extends the actuator. A chamber's state is the volume its oil would fill at zero pressure; with the
chamber's present volume V this gives the pressure β (V_oil / V − 1), zero when a void opens (cavitation).
Oil is therefore neither made nor lost: what the ports book is what the chambers hold. A single-acting
cylinder has no area in chamber 2, which is the tank.
"""

from __future__ import annotations

import math

from hil_sim.plant.block import ACTUATOR, ACTUATOR_STATE, SUPPLY, SUPPLY_STATE, PlantArrays
from mastd.kernel import fused_kernel

# Below this pressure drop a port's flow turns from turbulent to laminar (Pa); keeps its slope finite.
LAMINAR_DROP = 1.0e4
# A slower spool stands still (1/s): a decay that never ends would end in denormal numbers, which are slow.
STILL_SPOOL = 1.0e-9


@fused_kernel
def move_spool(plant: PlantArrays, i: int, command: float, step: float) -> float:
    """Advance the spool of actuator ``i`` by one step; return its mean opening over the step.

    Second-order lag, behind a first-order one where there are four stages, solved by the trapezoidal rule
    (coefficients prepared for ``step``), the rate clipped to the pilot stage's limit, the opening to ±1.
    """
    state, parameters = plant.actuator_states[i], plant.actuators[i]
    limit = parameters[ACTUATOR.opening_rate]
    if parameters[ACTUATOR.pilot_ratio] > 0.0:
        before = state[ACTUATOR_STATE.pilot]
        state[ACTUATOR_STATE.pilot] = before + parameters[ACTUATOR.pilot_ratio] * (command - before)
        command = 0.5 * (before + state[ACTUATOR_STATE.pilot])
    spool = state[ACTUATOR_STATE.spool]
    rate = state[ACTUATOR_STATE.spool_rate]
    new_rate = parameters[ACTUATOR.spool_rate_kept] * rate + parameters[ACTUATOR.spool_rate_gain] * (
        command - spool
    )
    new_rate = min(max(new_rate, -limit), limit)
    if abs(new_rate) < STILL_SPOOL:
        new_rate = 0.0
    new_spool = spool + 0.5 * step * (rate + new_rate)
    if not -1.0 <= new_spool <= 1.0:
        new_spool = min(max(new_spool, -1.0), 1.0)
        new_rate = 0.0
    state[ACTUATOR_STATE.spool] = new_spool
    state[ACTUATOR_STATE.spool_rate] = new_rate
    return float(0.5 * (spool + new_spool))


@fused_kernel
def friction_force(plant: PlantArrays, i: int, rate: float, step: float) -> float:
    """Advance the seal's bristle of actuator ``i`` and return the friction force that opposes ``rate`` (N).

    LuGre model: dz/dt = v − σ₀ |v| z / g(v), F = σ₀ z + σ₁ dz/dt + σ₂ v, with the Stribeck curve in its
    rational form g = F_c + (F_s − F_c) / (1 + (v/v_s)²); z is advanced implicitly, so no step is too long.
    """
    state, parameters = plant.actuator_states[i], plant.actuators[i]
    coulomb = parameters[ACTUATOR.coulomb]
    viscous = parameters[ACTUATOR.viscous] * rate
    if not coulomb > 0.0:
        return float(viscous)
    ratio = rate / parameters[ACTUATOR.stribeck_speed]
    spread = 1.0 + ratio * ratio
    level = coulomb * spread + (
        parameters[ACTUATOR.breakaway] - coulomb
    )  # times the spread, which saves a division
    stiffness = parameters[ACTUATOR.bristle_stiffness]
    bristle = state[ACTUATOR_STATE.bristle]
    new = (bristle + step * rate) * level / (level + step * stiffness * abs(rate) * spread)
    state[ACTUATOR_STATE.bristle] = new
    bristle_rate = (new - bristle) / step
    return float(
        0.5 * stiffness * (bristle + new) + parameters[ACTUATOR.bristle_damping] * bristle_rate + viscous
    )


@fused_kernel
def _port_flows(
    plant: PlantArrays, i: int, extension: float, opening: float, before: tuple[float, float]
) -> tuple[float, float, float, float]:
    """Return flow into chamber 1 and its slope by pressure, and both of chamber 2.

    ``before``: pressures of the chambers. q = gain·Δp/√(|Δp| + δ) at each port; the slopes are positive.
    """
    parameters = plant.actuators[i]
    port = abs(opening) - parameters[ACTUATOR.overlap]
    if not port > 0.0:
        return 0.0, 0.0, 0.0, 0.0
    port = min(port, 1.0)
    saturation = (port * parameters[ACTUATOR.saturation]) ** 2
    gain = port * parameters[ACTUATOR.valve_gain] / math.sqrt(1.0 + saturation)
    extends = opening > 0.0
    supplied = before[0] if extends else before[1]
    drained = before[1] if extends else before[0]
    pack = int(parameters[ACTUATOR.supply])
    drop_in = plant.supply_state[pack, SUPPLY_STATE.pressure] - supplied
    drop_out = plant.supply[pack, SUPPLY.return_pressure] - drained
    gain_out = gain
    if extends:
        gain_out *= parameters[ACTUATOR.port_ratio]
    else:
        gain *= parameters[ACTUATOR.port_ratio]
    if drop_out < 0.0:  # the cushion throttles only what leaves
        stroke = parameters[ACTUATOR.stroke]
        left = stroke - extension if extends else stroke + extension
        if left < parameters[ACTUATOR.cushion_length]:
            ratio = max(left, 0.0) / parameters[ACTUATOR.cushion_length]
            closed = parameters[ACTUATOR.cushion_opening]
            gain_out *= closed + (1.0 - closed) * ratio
    # Both ports with one division.
    root_in = math.sqrt(abs(drop_in) + LAMINAR_DROP)
    root_out = math.sqrt(abs(drop_out) + LAMINAR_DROP)
    over_roots = 1.0 / (root_in * root_out)
    inverse_in = over_roots * root_out
    inverse_out = over_roots * root_in
    unit_in = gain * inverse_in
    unit_out = gain_out * inverse_out
    slope_in = unit_in * (0.5 + 0.5 * LAMINAR_DROP * inverse_in * inverse_in)
    slope_out = unit_out * (0.5 + 0.5 * LAMINAR_DROP * inverse_out * inverse_out)
    if extends:
        return unit_in * drop_in, slope_in, unit_out * drop_out, slope_out
    return unit_out * drop_out, slope_out, unit_in * drop_in, slope_in


@fused_kernel
def _relief(plant: PlantArrays, i: int, pressure: float) -> tuple[float, float]:
    """Return flow of a chamber's relief valve and its slope by ``pressure``."""
    parameters = plant.actuators[i]
    if not pressure > parameters[ACTUATOR.relief_pressure]:
        return 0.0, 0.0
    slope = parameters[ACTUATOR.relief_conductance]
    return slope * (pressure - parameters[ACTUATOR.relief_pressure]), slope


@fused_kernel
def end_stop(plant: PlantArrays, i: int, extension: float, rate: float) -> float:
    """Return the force of the end stops on the table; they never pull."""
    parameters = plant.actuators[i]
    stroke = parameters[ACTUATOR.stroke]
    stiffness, damping = parameters[ACTUATOR.stop_stiffness], parameters[ACTUATOR.stop_damping]
    if extension < -stroke:
        return float(max(-stiffness * (extension + stroke) - damping * rate, 0.0))
    if extension > stroke:
        return float(min(-stiffness * (extension - stroke) - damping * rate, 0.0))
    return 0.0


@fused_kernel
def move_oil(
    plant: PlantArrays, i: int, length: float, rate: float, opening: float, step: float
) -> tuple[float, float]:
    """Advance the oil of actuator ``i`` by one step at its mid-step ``length``; set its force on the table.

    Returns the oil drawn from the supply and given to the return line (m³). The flows are those of the
    implicit midpoint rule, linearised about the pressures before the step: second order, and stable however
    small a chamber gets or a pressure drop becomes.
    """
    state, parameters = plant.actuator_states[i], plant.actuators[i]
    stroke = parameters[ACTUATOR.stroke]
    extension = length - parameters[ACTUATOR.neutral_length]
    area_1 = parameters[ACTUATOR.area_1]
    area_2 = parameters[ACTUATOR.area_2]
    dead = parameters[ACTUATOR.dead_length] + stroke
    # A chamber keeps a tenth of its dead length however far an end stop gives way.
    spare = 0.1 * parameters[ACTUATOR.dead_length]
    bulk_modulus = parameters[ACTUATOR.bulk_modulus]
    volume_1 = area_1 * max(dead + extension, spare)
    single_acting = not area_2 > 0.0
    volume_2 = volume_1 if single_acting else area_2 * max(dead - extension, spare)
    over_both = bulk_modulus / (volume_1 * volume_2)
    stiffness_1 = over_both * volume_2
    stiffness_2 = over_both * volume_1
    pressure_1 = stiffness_1 * state[ACTUATOR_STATE.oil_1] - bulk_modulus
    pressure_2 = stiffness_2 * state[ACTUATOR_STATE.oil_2] - bulk_modulus
    if single_acting:
        pressure_2 = plant.supply[int(parameters[ACTUATOR.supply]), SUPPLY.return_pressure]
    # Half a step of flow changes the pressure by these factors; not at all while there is a void to fill.
    half_1 = 0.5 * step * stiffness_1 if pressure_1 > 0.0 else 0.0
    half_2 = 0.5 * step * stiffness_2 if pressure_2 > 0.0 and not single_acting else 0.0
    before_1 = max(pressure_1, 0.0)
    before_2 = max(pressure_2, 0.0)
    flow_1, slope_1, flow_2, slope_2 = _port_flows(plant, i, extension, opening, (before_1, before_2))
    if single_acting:
        flow_2, slope_2 = 0.0, 0.0
    # Mid-step pressures from the port flows, leakage and relief, each chamber implicit in its own pressure.
    leakage = parameters[ACTUATOR.leakage]
    relief_1, relief_slope_1 = _relief(plant, i, before_1)
    relief_2, relief_slope_2 = _relief(plant, i, before_2)
    leak = leakage * (before_1 - before_2)
    damped_1 = 1.0 + half_1 * (slope_1 + leakage + relief_slope_1)
    damped_2 = 1.0 + half_2 * (slope_2 + leakage + relief_slope_2)
    over_damped = 1.0 / (damped_1 * damped_2)
    rise_1 = half_1 * (flow_1 - leak - relief_1) * damped_2 * over_damped
    rise_2 = half_2 * (flow_2 + leak - relief_2) * damped_1 * over_damped
    flow_1 -= slope_1 * rise_1
    flow_2 -= slope_2 * rise_2
    relief_1 += relief_slope_1 * rise_1
    relief_2 += relief_slope_2 * rise_2
    leak += leakage * (rise_1 - rise_2)
    state[ACTUATOR_STATE.oil_1] += step * (flow_1 - leak - relief_1)
    relieved = relief_1 + relief_2
    if single_acting:
        relieved += leak
    else:
        state[ACTUATOR_STATE.oil_2] += step * (flow_2 + leak - relief_2)
    middle_1 = max(before_1 + rise_1, 0.0)
    middle_2 = max(before_2 + rise_2, 0.0)
    state[ACTUATOR_STATE.pressure_1] = middle_1
    state[ACTUATOR_STATE.pressure_2] = middle_2

    friction = friction_force(plant, i, rate, step)
    force = middle_1 * area_1 - middle_2 * area_2 - friction
    force += end_stop(plant, i, extension, rate)
    state[ACTUATOR_STATE.friction] = friction
    state[ACTUATOR_STATE.force] = force
    if opening > 0.0:
        return step * flow_1, step * (relieved - flow_2)
    return step * flow_2, step * (relieved - flow_1)
