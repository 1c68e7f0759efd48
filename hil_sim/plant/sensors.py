"""Sensors of the simulated plant: what the drive and the daemon measure.

Noise is a function of seed, channel and time alone (a hash, no running generator), so reading twice at one
instant gives the same values, and who reads how often changes nothing.
"""

from __future__ import annotations

import math

import numpy as np

from hil_sim.plant.block import (
    ACCELEROMETER,
    ACTUATOR,
    ACTUATOR_STATE,
    BODY,
    BODY_HISTORY,
    BODY_STATE,
    CALIBRATION,
    COUNTER,
    HISTORY_ROWS,
    SENSOR,
    SUPPLY,
    SUPPLY_STATE,
    PlantArrays,
)
from hil_sim.plant.table_body import rotation
from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.settings.table.electric import FEEDBACK_CODES

PRESSURE_DIFFERENCE, LOAD_CELL = FEEDBACK_CODES["pressure_difference"], FEEDBACK_CODES["load_cell"]

_ODD_1 = np.uint64(0x9E3779B97F4A7C15)
_ODD_2 = np.uint64(0xBF58476D1CE4E5B9)
_ODD_3 = np.uint64(0x94D049BB133111EB)
_LOW_16 = np.uint64(0xFFFF)
# Standard deviation of the sum of four independent 16-bit numbers, and its mean.
_SUM_DEVIATION = 65536.0 / math.sqrt(3.0)
_SUM_MEAN = 2.0 * 65535.0


@fused_kernel
def noise(seed: int, channel: int, step: int) -> float:
    """Return noise of mean 0 and variance 1 for a channel at an instant.

    SplitMix64's finaliser over the three numbers; the sum of the hash's four 16-bit parts is close to normal
    (bounded at 3.46 standard deviations).
    """
    word = (
        np.uint64(seed)
        + np.uint64(channel + 1) * _ODD_1
        + np.uint64(step + 1) * np.uint64(0xD1342543DE82EF95)
    )
    word = (word ^ (word >> np.uint64(30))) * _ODD_2
    word = (word ^ (word >> np.uint64(27))) * _ODD_3
    word = word ^ (word >> np.uint64(31))
    total = (
        np.float64(word & _LOW_16)
        + np.float64((word >> np.uint64(16)) & _LOW_16)
        + np.float64((word >> np.uint64(32)) & _LOW_16)
        + np.float64(word >> np.uint64(48))
    )
    return float((total - _SUM_MEAN) / _SUM_DEVIATION)


@fused_kernel
def rounded(value: float, resolution: float) -> float:
    """Return ``value`` to the nearest multiple of ``resolution``; unchanged for 0."""
    if resolution > 0.0:
        return float(math.floor(value / resolution + 0.5) * resolution)
    return value


@fused_kernel
def record(plant: PlantArrays, row: int) -> None:
    """Write what the sensors would see at this instant into ``row`` of the history, free of noise."""
    history, states, body = plant.history, plant.actuator_states, plant.body_state
    n = states.shape[0]
    for i in range(n):
        history[row, i] = states[i, ACTUATOR_STATE.length]
        feedback = plant.actuators[i, ACTUATOR.feedback]
        history[row, n + 2 * i] = states[i, ACTUATOR_STATE.pressure_1]
        history[row, n + 2 * i + 1] = states[i, ACTUATOR_STATE.pressure_2]
        if feedback == PRESSURE_DIFFERENCE:
            history[row, n + 2 * i] -= states[i, ACTUATOR_STATE.pressure_2]
        elif feedback == LOAD_CELL:
            history[row, n + 2 * i] = states[i, ACTUATOR_STATE.force]
        history[row, 3 * n + i] = states[i, ACTUATOR_STATE.spool]
    start = 4 * n
    r11, r12, r13, r21, r22, r23, r31, r32, r33 = rotation(body)
    gravity = plant.body[BODY.gravity]
    history[row, start] = body[BODY_STATE.acceleration] + gravity * r31
    history[row, start + 1] = body[BODY_STATE.acceleration + 1] + gravity * r32
    history[row, start + 2] = body[BODY_STATE.acceleration + 2] + gravity * r33
    for j in range(3):
        history[row, start + 3 + j] = body[BODY_STATE.acceleration + 3 + j]
        history[row, start + 6 + j] = body[BODY_STATE.twist + 3 + j]
    for k in range(plant.displacements.shape[0]):
        point = plant.displacements[k]
        x, y, z = point[0], point[1], point[2]
        dx = body[BODY_STATE.position] + r11 * x + r12 * y + r13 * z - point[3]
        dy = body[BODY_STATE.position + 1] + r21 * x + r22 * y + r23 * z - point[4]
        dz = body[BODY_STATE.position + 2] + r31 * x + r32 * y + r33 * z - point[5]
        history[row, start + BODY_HISTORY + k] = math.sqrt(dx * dx + dy * dy + dz * dz)


@fused_kernel
def delayed(history: FloatArray, now: int, delay: float, column: int) -> float:
    """Return a column of the history ``delay`` ticks before tick ``now``, interpolated between ticks."""
    whole = int(delay)
    part = delay - whole
    newer = history[(now - whole) % HISTORY_ROWS, column]
    if part > 0.0:
        return float(newer + part * (history[(now - whole - 1) % HISTORY_ROWS, column] - newer))
    return float(newer)


@fused_kernel
def reading(calibration: FloatArray, channel: int, value: float, seed: int, now: int) -> float:
    """Return the reading of a channel for ``value`` at tick ``now``, by its calibration and faults."""
    result = calibration[channel, CALIBRATION.factor] * value + calibration[channel, CALIBRATION.offset]
    result += calibration[channel, CALIBRATION.drift] * (now - calibration[channel, CALIBRATION.drift_start])
    if calibration[channel, CALIBRATION.added_noise] > 0.0:
        # Numbers of their own, far from those of the sensors' own noise.
        result += calibration[channel, CALIBRATION.added_noise] * noise(
            seed, channel + calibration.shape[0], now
        )
    return float(result)


@fused_kernel
def measure(plant: PlantArrays, now: int, count: int, measured: FloatArray) -> None:
    """Read the first ``count`` of the actuators' sensors (lengths, forces, spools) at tick ``now``."""
    parameters, seed = plant.sensors, plant.counters[COUNTER.seed]
    n = plant.actuators.shape[0]
    for channel in range(count):
        if channel < n:
            deviation, resolution, delay = (
                parameters[SENSOR.length_noise],
                parameters[SENSOR.length_resolution],
                parameters[SENSOR.length_delay],
            )
        elif channel < 3 * n:
            sensor = plant.force_sensors[channel - n]
            deviation, resolution, delay = sensor[0], sensor[1], sensor[2]
        else:
            deviation, resolution, delay = (
                parameters[SENSOR.spool_noise],
                parameters[SENSOR.spool_resolution],
                parameters[SENSOR.spool_delay],
            )
        value = delayed(plant.history, now, delay, channel)
        if deviation > 0.0:
            value += deviation * noise(seed, channel, now)
        measured[channel] = rounded(reading(plant.calibration, channel, value, seed, now), resolution)


@fused_kernel
def measure_displacements(plant: PlantArrays, now: int) -> None:
    """Read the displacement transducers at tick ``now`` into the sample."""
    parameters, seed = plant.sensors, plant.counters[COUNTER.seed]
    column = 4 * plant.actuators.shape[0] + BODY_HISTORY
    first = plant.measured.shape[0] - plant.displacements.shape[0]
    for k in range(plant.displacements.shape[0]):
        channel = first + k
        value = delayed(plant.history, now, parameters[SENSOR.length_delay], column + k)
        value += parameters[SENSOR.length_noise] * noise(seed, channel, now)
        plant.measured[channel] = rounded(
            reading(plant.calibration, channel, value, seed, now), parameters[SENSOR.length_resolution]
        )


@fused_kernel
def measure_supply(plant: PlantArrays, k: int, now: int) -> None:
    """Read the sensors of supply ``k`` at tick ``now`` into the sample."""
    parameters, calibration, measured = plant.sensors, plant.calibration, plant.measured
    supply, seed, supplies = plant.supply_state[k], plant.counters[COUNTER.seed], plant.supply.shape[0]
    first = 4 * plant.actuators.shape[0] + k
    deviation = parameters[SENSOR.pressure_noise]
    resolution = parameters[SENSOR.pressure_resolution]
    tank = plant.supply[k, SUPPLY.tank_volume]
    level = supply[SUPPLY_STATE.tank_oil] / tank - supply[SUPPLY_STATE.level_loss]
    values = (
        supply[SUPPLY_STATE.pressure] + deviation * noise(seed, first, now),
        plant.supply[k, SUPPLY.return_pressure] + deviation * noise(seed, first + supplies, now),
        supply[SUPPLY_STATE.supply_flow],
        supply[SUPPLY_STATE.temperature],
        level,
        supply[SUPPLY_STATE.accumulator_oil],
        supply[SUPPLY_STATE.filter_drop],
    )
    for j in range(7):
        channel = first + j * supplies
        value = (
            calibration[channel, CALIBRATION.factor] * values[j] + calibration[channel, CALIBRATION.offset]
        )
        measured[channel] = rounded(value, resolution) if j < 2 else value


@fused_kernel
def measure_accelerations(plant: PlantArrays, now: int) -> None:
    """Read the accelerometers at tick ``now`` into the sample."""
    accelerometers, parameters = plant.accelerometers, plant.sensors
    measured, seed = plant.measured, plant.counters[COUNTER.seed]
    start = 4 * plant.actuators.shape[0]
    delay = parameters[SENSOR.accelerometer_delay]
    fx = delayed(plant.history, now, delay, start)
    fy = delayed(plant.history, now, delay, start + 1)
    fz = delayed(plant.history, now, delay, start + 2)
    bx = delayed(plant.history, now, delay, start + 3)
    by = delayed(plant.history, now, delay, start + 4)
    bz = delayed(plant.history, now, delay, start + 5)
    wx = delayed(plant.history, now, delay, start + 6)
    wy = delayed(plant.history, now, delay, start + 7)
    wz = delayed(plant.history, now, delay, start + 8)
    for k in range(accelerometers.shape[0]):
        x = accelerometers[k, ACCELEROMETER.position]
        y = accelerometers[k, ACCELEROMETER.position + 1]
        z = accelerometers[k, ACCELEROMETER.position + 2]
        # Angular velocity crossed with the point, then the specific force of the point.
        ux = wy * z - wz * y
        uy = wz * x - wx * z
        uz = wx * y - wy * x
        value = (
            accelerometers[k, ACCELEROMETER.direction] * (fx + by * z - bz * y + wy * uz - wz * uy)
            + accelerometers[k, ACCELEROMETER.direction + 1] * (fy + bz * x - bx * z + wz * ux - wx * uz)
            + accelerometers[k, ACCELEROMETER.direction + 2] * (fz + bx * y - by * x + wx * uy - wy * ux)
        )
        channel = start + 7 * plant.supply.shape[0] + k
        value += parameters[SENSOR.accelerometer_noise] * noise(seed, channel, now)
        measured[channel] = rounded(
            reading(plant.calibration, channel, value, seed, now), parameters[SENSOR.accelerometer_resolution]
        )
