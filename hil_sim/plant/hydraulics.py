"""Servo-valve and double-acting cylinder of one actuator (table-control.md, section 5.1).

Chamber 1 extends the link. A chamber's state is the volume its oil would fill at zero pressure; with the
chamber's present volume V this gives the pressure β (V_oil / V − 1), zero when a void opens (cavitation).
Oil is therefore neither made nor lost: what the ports book is what the chambers hold.
"""

from __future__ import annotations

import math

from hil_sim.plant.block import (
    AREA_1,
    AREA_2,
    BREAKAWAY,
    BRISTLE,
    BRISTLE_DAMPING,
    BRISTLE_STIFFNESS,
    BULK_MODULUS,
    COULOMB,
    CUSHION_LENGTH,
    CUSHION_OPENING,
    DEAD_LENGTH,
    FORCE,
    FRICTION,
    LEAKAGE,
    NEUTRAL_LENGTH,
    OIL_1,
    OIL_2,
    OPENING_RATE,
    OVERLAP,
    PRESSURE_1,
    PRESSURE_2,
    RELIEF_CONDUCTANCE,
    RELIEF_PRESSURE,
    SATURATION,
    SPOOL,
    SPOOL_RATE,
    STOP_DAMPING,
    STOP_STIFFNESS,
    STRIBECK_SPEED,
    STROKE,
    VALVE_GAIN,
    VALVE_KEEP,
    VALVE_PULL,
    VISCOUS,
)
from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel

# Below this pressure drop a port's flow turns from turbulent to laminar (Pa); keeps its slope finite.
LAMINAR_DROP = 1.0e4
# A slower spool stands still (1/s): a decay that never ends would end in denormal numbers, which are slow.
STILL_SPOOL = 1.0e-9


@fused_kernel
def move_spool(links: FloatArray, parameters: FloatArray, i: int, command: float, step: float) -> float:
    """Advance the spool of link ``i`` by one step; return its mean opening over the step.

    Second-order lag solved by the trapezoidal rule (coefficients prepared for ``step``), the rate clipped to
    the pilot stage's limit, the opening to ±1.
    """
    limit = parameters[i, OPENING_RATE]
    spool = links[i, SPOOL]
    rate = links[i, SPOOL_RATE]
    new_rate = parameters[i, VALVE_KEEP] * rate + parameters[i, VALVE_PULL] * (command - spool)
    new_rate = min(max(new_rate, -limit), limit)
    if abs(new_rate) < STILL_SPOOL:
        new_rate = 0.0
    new_spool = spool + 0.5 * step * (rate + new_rate)
    if not -1.0 <= new_spool <= 1.0:
        new_spool = min(max(new_spool, -1.0), 1.0)
        new_rate = 0.0
    links[i, SPOOL] = new_spool
    links[i, SPOOL_RATE] = new_rate
    return float(0.5 * (spool + new_spool))


@fused_kernel
def friction_force(links: FloatArray, parameters: FloatArray, i: int, rate: float, step: float) -> float:
    """Advance the seal's bristle of link ``i`` and return the friction force that opposes ``rate`` (N).

    LuGre model: dz/dt = v − σ₀ |v| z / g(v), F = σ₀ z + σ₁ dz/dt + σ₂ v, with the Stribeck curve in its
    rational form g = F_c + (F_s − F_c) / (1 + (v/v_s)²); z is advanced implicitly, so no step is too long.
    """
    coulomb = parameters[i, COULOMB]
    viscous = parameters[i, VISCOUS] * rate
    if not coulomb > 0.0:
        return float(viscous)
    ratio = rate / parameters[i, STRIBECK_SPEED]
    spread = 1.0 + ratio * ratio
    level = coulomb * spread + (
        parameters[i, BREAKAWAY] - coulomb
    )  # times the spread, which saves a division
    stiffness = parameters[i, BRISTLE_STIFFNESS]
    bristle = links[i, BRISTLE]
    new = (bristle + step * rate) * level / (level + step * stiffness * abs(rate) * spread)
    links[i, BRISTLE] = new
    bristle_rate = (new - bristle) / step
    return float(0.5 * stiffness * (bristle + new) + parameters[i, BRISTLE_DAMPING] * bristle_rate + viscous)


@fused_kernel
def move_oil(
    links: FloatArray,
    parameters: FloatArray,
    i: int,
    length: float,
    rate: float,
    opening: float,
    supply_pressure: float,
    return_pressure: float,
    step: float,
) -> tuple[float, float]:
    """Advance the oil of link ``i`` by one step at its mid-step ``length``; set its force on the table.

    Returns the oil drawn from the supply and given to the return line (m³). The flows are those of the
    implicit midpoint rule, linearised about the pressures before the step: second order, and stable however
    small a chamber gets or a pressure drop becomes.
    """
    stroke = parameters[i, STROKE]
    extension = length - parameters[i, NEUTRAL_LENGTH]
    area_1 = parameters[i, AREA_1]
    area_2 = parameters[i, AREA_2]
    dead = parameters[i, DEAD_LENGTH] + stroke
    # A chamber keeps a tenth of its dead length however far an end stop gives way.
    spare = 0.1 * parameters[i, DEAD_LENGTH]
    bulk_modulus = parameters[i, BULK_MODULUS]
    volume_1 = area_1 * max(dead + extension, spare)
    volume_2 = area_2 * max(dead - extension, spare)
    over_both = bulk_modulus / (volume_1 * volume_2)
    stiffness_1 = over_both * volume_2
    stiffness_2 = over_both * volume_1
    pressure_1 = stiffness_1 * links[i, OIL_1] - bulk_modulus
    pressure_2 = stiffness_2 * links[i, OIL_2] - bulk_modulus
    # Half a step of flow changes the pressure by these factors; not at all while there is a void to fill.
    half_1 = 0.5 * step * stiffness_1 if pressure_1 > 0.0 else 0.0
    half_2 = 0.5 * step * stiffness_2 if pressure_2 > 0.0 else 0.0
    before_1 = max(pressure_1, 0.0)
    before_2 = max(pressure_2, 0.0)

    flow_1 = 0.0
    flow_2 = 0.0
    slope_1 = 0.0
    slope_2 = 0.0
    port = abs(opening) - parameters[i, OVERLAP]
    if port > 0.0:
        port = min(port, 1.0)
        gain = port * parameters[i, VALVE_GAIN] / math.sqrt(1.0 + (port * parameters[i, SATURATION]) ** 2)
        extends = opening > 0.0
        supplied = before_1 if extends else before_2
        drained = before_2 if extends else before_1
        drop_in = supply_pressure - supplied
        drop_out = return_pressure - drained
        gain_out = gain
        if drop_out < 0.0:  # the cushion throttles only what leaves
            room = stroke - extension if extends else stroke + extension
            if room < parameters[i, CUSHION_LENGTH]:
                share = max(room, 0.0) / parameters[i, CUSHION_LENGTH]
                gain_out *= parameters[i, CUSHION_OPENING] + (1.0 - parameters[i, CUSHION_OPENING]) * share
        # q = gain·Δp/√(|Δp| + δ) and its slope, both ports with one division.
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
            flow_1, slope_1, flow_2, slope_2 = unit_in * drop_in, slope_in, unit_out * drop_out, slope_out
        else:
            flow_2, slope_2, flow_1, slope_1 = unit_in * drop_in, slope_in, unit_out * drop_out, slope_out

    # Mid-step pressures from the port flows, leakage and relief, each chamber implicit in its own pressure.
    leakage = parameters[i, LEAKAGE]
    relief_1 = 0.0
    relief_2 = 0.0
    relief_slope_1 = 0.0
    relief_slope_2 = 0.0
    if before_1 > parameters[i, RELIEF_PRESSURE]:
        relief_slope_1 = parameters[i, RELIEF_CONDUCTANCE]
        relief_1 = relief_slope_1 * (before_1 - parameters[i, RELIEF_PRESSURE])
    if before_2 > parameters[i, RELIEF_PRESSURE]:
        relief_slope_2 = parameters[i, RELIEF_CONDUCTANCE]
        relief_2 = relief_slope_2 * (before_2 - parameters[i, RELIEF_PRESSURE])
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
    links[i, OIL_1] += step * (flow_1 - leak - relief_1)
    links[i, OIL_2] += step * (flow_2 + leak - relief_2)
    middle_1 = max(before_1 + rise_1, 0.0)
    middle_2 = max(before_2 + rise_2, 0.0)
    links[i, PRESSURE_1] = middle_1
    links[i, PRESSURE_2] = middle_2

    friction = friction_force(links, parameters, i, rate, step)
    force = middle_1 * area_1 - middle_2 * area_2 - friction
    if extension < -stroke:
        force += max(
            -parameters[i, STOP_STIFFNESS] * (extension + stroke) - parameters[i, STOP_DAMPING] * rate, 0.0
        )
    elif extension > stroke:
        force += min(
            -parameters[i, STOP_STIFFNESS] * (extension - stroke) - parameters[i, STOP_DAMPING] * rate, 0.0
        )
    links[i, FRICTION] = friction
    links[i, FORCE] = force
    if opening > 0.0:
        return step * flow_1, step * (relief_1 + relief_2 - flow_2)
    return step * flow_2, step * (relief_1 + relief_2 - flow_1)
