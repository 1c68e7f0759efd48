"""Compiled parts of the powertrain in front of the gearbox: tables, engine, converter, clutch capacity."""

from __future__ import annotations

from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.vehicle.powertrain import fields as f

FRICTION_SPEED: Final = 5.0
"""rad/s below which the engine's friction vanishes with its speed."""


@fused_kernel
def clipped(value: float, low: float, high: float) -> float:
    """Return the value within its limits; what is not a number comes through."""
    if value < low:
        return low
    if value > high:
        return high
    return value


@fused_kernel
def place(table: FloatArray, first: int, count: int, x: float) -> tuple[int, float, float]:
    """Return interval, share within it and slope of the share, for rising points; held beyond both ends."""
    k = 0
    while k < count - 2 and x >= table[first + k + 1]:
        k += 1
    width = table[first + k + 1] - table[first + k]
    share = (x - table[first + k]) / width
    if share < 0.0:
        return k, 0.0, 0.0
    if share > 1.0:
        return k, 1.0, 0.0
    return k, share, 1.0 / width


@fused_kernel
def between(table: FloatArray, entry: int, share: float) -> float:
    """Return the value a share of the way from an entry to the next."""
    value: float = table[entry] + share * (table[entry + 1] - table[entry])
    return value


@fused_kernel
def engine_torque(c: FloatArray, throttle: float, speed: float) -> tuple[float, float]:
    """Return torque (N m) and its slope over speed where it falls, for a throttle 0…1.

    The map holds for both directions of rotation: a torque above 0 drives forwards, one below 0 opposes the
    rotation and vanishes with it. Below the stall speed nothing burns.
    """
    size = abs(speed)
    if size < c[f.STALL_SPEED] or (speed < 0.0 and c[f.STALL_SPEED] > 0.0):
        throttle = 0.0
    s, share, slope = place(c, int(c[f.SPEEDS]), int(c[f.SPEED_COUNT]), size)
    t, part, _ = place(c, int(c[f.THROTTLES]), int(c[f.THROTTLE_COUNT]), throttle)
    row = int(c[f.TORQUES]) + t * int(c[f.SPEED_COUNT]) + s
    low, high = between(c, row, share), between(c, row + int(c[f.SPEED_COUNT]), share)
    torque = low + part * (high - low)
    low, high = c[row + 1] - c[row], c[row + 1 + int(c[f.SPEED_COUNT])] - c[row + int(c[f.SPEED_COUNT])]
    rate = slope * (low + part * (high - low))
    if speed < 0.0:
        rate = -rate
    if torque < 0.0:
        turning = clipped(speed / FRICTION_SPEED, -1.0, 1.0)
        rate = rate * turning
        if size < FRICTION_SPEED:
            rate += torque / FRICTION_SPEED
        torque *= turning
    return torque, (rate if rate < 0.0 else 0.0)


@fused_kernel
def governed_throttle(c: FloatArray, state: FloatArray, pedal: float, step: float) -> float:
    """Return the throttle of pedal, idle controller and limiter; advance the idle controller."""
    speed = state[f.ENGINE_SPEED]
    throttle = clipped(pedal, 0.0, 1.0)
    if c[f.IDLE_SPEED] > 0.0:
        error = c[f.IDLE_SPEED] - speed
        wanted = c[f.IDLE_THROTTLE] + state[f.IDLE_INTEGRAL] + c[f.IDLE_GAIN] * error
        if wanted > throttle:
            if wanted < 1.0:
                state[f.IDLE_INTEGRAL] += step * c[f.IDLE_RATE] * error
            throttle = clipped(wanted, 0.0, 1.0)
        else:
            # The pedal or the car turns the engine: what the integral had to add is no longer needed.
            state[f.IDLE_INTEGRAL] -= step * c[f.IDLE_RATE] / c[f.IDLE_GAIN] * state[f.IDLE_INTEGRAL]
    over = (speed - c[f.LIMIT_SPEED]) / c[f.LIMIT_BAND]
    return throttle * (1.0 - clipped(over, 0.0, 1.0))


@fused_kernel
def pump_and_turbine(
    c: FloatArray, pump: float, turbine: float
) -> tuple[float, float, float, float, float, float]:
    """Return pump torque, its slopes over pump and turbine speed, turbine torque and its slopes.

    A faster turbine drives the pump with the same table, roles exchanged, without a stator's help.
    """
    first, count = int(c[f.CONVERTER]), int(c[f.CONVERTER_COUNT])
    if pump >= turbine and pump > 0.0:
        k, share, slope = place(c, first, count, turbine / pump)
        factor = between(c, first + count + k, share)
        ratio = between(c, first + 2 * count + k, share)
        d_factor = slope * (c[first + count + k + 1] - c[first + count + k])
        d_ratio = slope * (c[first + 2 * count + k + 1] - c[first + 2 * count + k])
        product = d_factor * ratio + factor * d_ratio
        torque = factor * pump * pump
        return (
            torque,
            2.0 * factor * pump - d_factor * turbine,
            d_factor * pump,
            ratio * torque,
            2.0 * ratio * factor * pump - product * turbine,
            product * pump,
        )
    if turbine > pump and turbine > 0.0:
        k, share, slope = place(c, first, count, pump / turbine)
        factor = between(c, first + count + k, share)
        d_factor = slope * (c[first + count + k + 1] - c[first + count + k])
        torque = -factor * turbine * turbine
        by_pump = -d_factor * turbine
        by_turbine = d_factor * pump - 2.0 * factor * turbine
        return torque, by_pump, by_turbine, torque, by_pump, by_turbine
    return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0


@fused_kernel
def clutch_capacity(c: FloatArray, state: FloatArray, pedal: float, step: float) -> float:
    """Return the torque that clutch or lock-up can take now; advance the lock-up."""
    capacity: float = c[f.CLUTCH_CAPACITY]
    if c[f.LAUNCH] == f.CONVERTER_KIND:
        pump, turbine = state[f.ENGINE_SPEED], state[f.INPUT_SPEED]
        closing = (
            state[f.GEAR] >= c[f.LOCK_GEAR]
            and state[f.ENGAGED] > 0.0
            and not state[f.CHANGE_LEFT] > 0.0
            and turbine > c[f.LOCK_SPEED]
            and (state[f.LOCK_UP] > 0.0 or turbine > c[f.LOCK_RATIO] * pump)
        )
        state[f.LOCK_UP] = clipped(state[f.LOCK_UP] + step / c[f.LOCK_TIME], 0.0, 1.0) if closing else 0.0
        return capacity * float(state[f.LOCK_UP])
    if c[f.LAUNCH] == f.CLUTCH:
        closed = 1.0 - clipped((pedal - c[f.PEDAL_CLOSED]) / (c[f.PEDAL_OPEN] - c[f.PEDAL_CLOSED]), 0.0, 1.0)
        if c[f.CLOSING_END] > 0.0:
            width = c[f.CLOSING_END] - c[f.CLOSING_BEGIN]
            closed *= clipped((state[f.ENGINE_SPEED] - c[f.CLOSING_BEGIN]) / width, 0.0, 1.0)
        return capacity * closed
    return np.inf
