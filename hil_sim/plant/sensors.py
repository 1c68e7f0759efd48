"""Sensors of the simulated plant: what the drive and the daemon are told.

Noise is a function of seed, channel and time alone (a hash, no running generator), so reading twice at one
instant gives the same values, and who reads how often changes nothing.
"""

from __future__ import annotations

import math

import numpy as np

from hil_sim.plant.block import (
    ACCELERATION,
    ACCELEROMETER_DELAY,
    ACCELEROMETER_NOISE,
    ACCELEROMETER_RESOLUTION,
    ACCUMULATOR_OIL,
    BODY_HISTORY,
    DRIFT,
    DRIFT_START,
    FACTOR,
    FILTER_DROP,
    FURTHER_NOISE,
    GRAVITY,
    HISTORY_ROWS,
    LENGTH,
    LENGTH_DELAY,
    LENGTH_NOISE,
    LENGTH_RESOLUTION,
    LEVEL_LOSS,
    OFFSET,
    PRESSURE_1,
    PRESSURE_2,
    PRESSURE_DELAY,
    PRESSURE_NOISE,
    PRESSURE_RESOLUTION,
    RETURN_PRESSURE,
    SPOOL,
    SPOOL_DELAY,
    SPOOL_NOISE,
    SPOOL_RESOLUTION,
    SUPPLY_FLOW,
    SUPPLY_PRESSURE,
    TANK_OIL,
    TANK_VOLUME,
    TEMPERATURE,
    TWIST,
)
from hil_sim.plant.table_body import rotation
from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel

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
def record(
    history: FloatArray,
    row: int,
    links: FloatArray,
    body: FloatArray,
    body_parameters: FloatArray,
) -> None:
    """Write what the sensors would see at this instant into ``row`` of the history, free of noise."""
    n = links.shape[0]
    for i in range(n):
        history[row, i] = links[i, LENGTH]
        history[row, n + 2 * i] = links[i, PRESSURE_1]
        history[row, n + 2 * i + 1] = links[i, PRESSURE_2]
        history[row, 3 * n + i] = links[i, SPOOL]
    start = 4 * n
    _, _, _, _, _, _, r31, r32, r33 = rotation(body)
    gravity = body_parameters[GRAVITY]
    history[row, start] = body[ACCELERATION] + gravity * r31
    history[row, start + 1] = body[ACCELERATION + 1] + gravity * r32
    history[row, start + 2] = body[ACCELERATION + 2] + gravity * r33
    for j in range(3):
        history[row, start + 3 + j] = body[ACCELERATION + 3 + j]
        history[row, start + 6 + j] = body[TWIST + 3 + j]


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
    """Return what a channel tells for ``value`` at tick ``now``, by its calibration and the faults in it."""
    told = calibration[channel, FACTOR] * value + calibration[channel, OFFSET]
    told += calibration[channel, DRIFT] * (now - calibration[channel, DRIFT_START])
    if calibration[channel, FURTHER_NOISE] > 0.0:
        # Numbers of their own, far from those of the sensors' own noise.
        told += calibration[channel, FURTHER_NOISE] * noise(seed, channel + calibration.shape[0], now)
    return float(told)


@fused_kernel
def measure(
    history: FloatArray,
    now: int,
    seed: int,
    parameters: FloatArray,
    calibration: FloatArray,
    first: int,
    last: int,
    measured: FloatArray,
) -> None:
    """Read the link sensors ``first`` … ``last`` − 1 (lengths, pressures, spools) at tick ``now``.

    ``calibration`` (channels, CALIBRATION_COLUMNS): see ``reading``.
    """
    n = (history.shape[1] - BODY_HISTORY) // 4
    for channel in range(first, last):
        if channel < n:
            deviation, resolution, delay = LENGTH_NOISE, LENGTH_RESOLUTION, LENGTH_DELAY
        elif channel < 3 * n:
            deviation, resolution, delay = PRESSURE_NOISE, PRESSURE_RESOLUTION, PRESSURE_DELAY
        else:
            deviation, resolution, delay = SPOOL_NOISE, SPOOL_RESOLUTION, SPOOL_DELAY
        value = delayed(history, now, parameters[delay], channel)
        if parameters[deviation] > 0.0:
            value += parameters[deviation] * noise(seed, channel, now)
        measured[channel] = rounded(reading(calibration, channel, value, seed, now), parameters[resolution])


@fused_kernel
def measure_rest(
    history: FloatArray,
    now: int,
    seed: int,
    parameters: FloatArray,
    calibration: FloatArray,
    accelerometers: FloatArray,
    supply: FloatArray,
    supply_parameters: FloatArray,
    measured: FloatArray,
) -> None:
    """Read the supply's sensors and the accelerometers at tick ``now`` into the rest of the sample block."""
    n = (history.shape[1] - BODY_HISTORY) // 4
    first = 4 * n
    deviation = parameters[PRESSURE_NOISE]
    resolution = parameters[PRESSURE_RESOLUTION]
    level = supply[TANK_OIL] / supply_parameters[TANK_VOLUME] - supply[LEVEL_LOSS]
    values = (
        supply[SUPPLY_PRESSURE] + deviation * noise(seed, first, now),
        supply_parameters[RETURN_PRESSURE] + deviation * noise(seed, first + 1, now),
        supply[SUPPLY_FLOW],
        supply[TEMPERATURE],
        level,
        supply[ACCUMULATOR_OIL],
        supply[FILTER_DROP],
    )
    for j in range(7):
        value = calibration[first + j, 0] * values[j] + calibration[first + j, 1]
        measured[first + j] = rounded(value, resolution) if j < 2 else value
    first += 7
    start = 4 * n
    delay = parameters[ACCELEROMETER_DELAY]
    fx = delayed(history, now, delay, start)
    fy = delayed(history, now, delay, start + 1)
    fz = delayed(history, now, delay, start + 2)
    bx = delayed(history, now, delay, start + 3)
    by = delayed(history, now, delay, start + 4)
    bz = delayed(history, now, delay, start + 5)
    wx = delayed(history, now, delay, start + 6)
    wy = delayed(history, now, delay, start + 7)
    wz = delayed(history, now, delay, start + 8)
    for k in range(accelerometers.shape[0]):
        x = accelerometers[k, 0]
        y = accelerometers[k, 1]
        z = accelerometers[k, 2]
        # Angular velocity crossed with the point, then the specific force of the point.
        ux = wy * z - wz * y
        uy = wz * x - wx * z
        uz = wx * y - wy * x
        value = (
            accelerometers[k, 3] * (fx + by * z - bz * y + wy * uz - wz * uy)
            + accelerometers[k, 4] * (fy + bz * x - bx * z + wz * ux - wx * uz)
            + accelerometers[k, 5] * (fz + bx * y - by * x + wx * uy - wy * ux)
        )
        channel = first + k
        value += parameters[ACCELEROMETER_NOISE] * noise(seed, channel, now)
        measured[channel] = rounded(
            reading(calibration, channel, value, seed, now), parameters[ACCELEROMETER_RESOLUTION]
        )
