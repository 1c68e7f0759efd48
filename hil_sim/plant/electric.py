"""Electric drive of one actuator, and the power that it needs.

The speed of motor and screw follows the one asked for by the lag of its velocity loop (``move_spool``); the
force between screw and table is that of stiffness and damping between the two. What the motor gives, this
force and that which accelerates its own mass, is bounded by its maximum force, and by its power over its
speed; beyond, the motor slips.
"""

from __future__ import annotations

import math

from hil_sim.plant.block import ACTUATOR, ACTUATOR_STATE, COUNTER, SUPPLY, SUPPLY_STATE, PlantArrays
from hil_sim.plant.hydraulics import end_stop, friction_force
from mastd.kernel import fused_kernel

SLOW = 1.0e-6
"""m/s, below which the power bounds nothing."""


@fused_kernel
def move_electric(
    plant: PlantArrays, i: int, length: float, rate: float, opening: float, step: float
) -> None:
    """Advance the drive of actuator ``i`` by one step at its mid-step ``length``; set its force on the table.

    ``opening``: mean speed of the motor in the step, over its maximum.
    """
    state, parameters = plant.actuator_states[i], plant.actuators[i]
    extension = length - parameters[ACTUATOR.neutral_length]
    full, stiffness = parameters[ACTUATOR.full_speed], parameters[ACTUATOR.stiffness]
    powered = plant.supply_state[0, SUPPLY_STATE.power] > 0.5
    speed = opening * full if powered else 0.0
    damped = parameters[ACTUATOR.damping] * (speed - rate)
    force = 0.0
    if powered or parameters[ACTUATOR.braked] > 0.5:
        middle = state[ACTUATOR_STATE.drive_position] + 0.5 * step * speed
        force = stiffness * (middle - extension) + damped
    if powered:
        own = parameters[ACTUATOR.moving_mass] * state[ACTUATOR_STATE.spool_rate] * full
        bound = min(
            parameters[ACTUATOR.maximum_force], parameters[ACTUATOR.maximum_power] / max(abs(speed), SLOW)
        )
        if abs(force + own) > bound:
            force = math.copysign(bound, force + own) - own
    if powered or not parameters[ACTUATOR.braked] > 0.5:
        # The same where nothing slipped.
        left = (force - damped) / stiffness if powered else 0.0
        state[ACTUATOR_STATE.drive_position] = extension + left + 0.5 * step * speed
    friction = friction_force(plant, i, rate, step)
    state[ACTUATOR_STATE.friction] = friction
    state[ACTUATOR_STATE.force] = force - friction + end_stop(plant, i, extension, rate)


@fused_kernel
def run_power(plant: PlantArrays, closed: int) -> None:
    """Switch the power of the electric drives; a table without hydraulics reaches both stages with it.

    It stays on until the drive has come to rest in its state ``closed``: a stop of category 1 (IEC 60204-1).
    """
    state, counters = plant.supply_state[0], plant.counters
    request = counters[COUNTER.stage_request]
    healthy = state[SUPPLY_STATE.pump_health] > 0.0
    on = healthy and (request > 0 or counters[COUNTER.drive_state] != closed)
    state[SUPPLY_STATE.power] = 1.0 if on else 0.0
    if not plant.supply[0, SUPPLY.high_pressure] > 0.0:
        state[SUPPLY_STATE.pressure] = state[SUPPLY_STATE.power]
        counters[COUNTER.stage_reached] = request if on else 0
        counters[COUNTER.supply_fault] = 1 if request > 0 and not healthy else 0
