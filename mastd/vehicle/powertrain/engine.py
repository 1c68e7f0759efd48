"""Compiled parts of the powertrain in front of the gearbox: tables, engine, converter, clutch capacity."""

from __future__ import annotations

from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.vehicle.powertrain.fields import CLUTCH, CONSTANT, CONVERTER_KIND, STATE

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
def bracket(table: FloatArray, first: int, count: int, x: float) -> tuple[int, float, float]:
    """Return interval, share within it and slope of the share, for rising points; held beyond both ends."""
    k = 0
    while k < count - 2 and x >= table[first + k + 1]:
        k += 1
    width = table[first + k + 1] - table[first + k]
    fraction = (x - table[first + k]) / width
    if fraction < 0.0:
        return k, 0.0, 0.0
    if fraction > 1.0:
        return k, 1.0, 0.0
    return k, fraction, 1.0 / width


@fused_kernel
def between(table: FloatArray, entry: int, fraction: float) -> float:
    """Return the value a share of the way from an entry to the next."""
    value: float = table[entry] + fraction * (table[entry + 1] - table[entry])
    return value


@fused_kernel
def engine_torque(c: FloatArray, throttle: float, speed: float) -> tuple[float, float]:
    """Return torque (N m) and its slope over speed where it falls, for a throttle 0…1.

    The map holds for both directions of rotation: a torque above 0 drives forwards, one below 0 opposes the
    rotation and vanishes with it. Below the stall speed nothing burns.
    """
    size = abs(speed)
    if size < c[CONSTANT.stall_speed] or (speed < 0.0 and c[CONSTANT.stall_speed] > 0.0):
        throttle = 0.0
    s, fraction, slope = bracket(c, int(c[CONSTANT.speeds]), int(c[CONSTANT.speed_count]), size)
    t, part, _ = bracket(c, int(c[CONSTANT.throttles]), int(c[CONSTANT.throttle_count]), throttle)
    row = int(c[CONSTANT.torques]) + t * int(c[CONSTANT.speed_count]) + s
    low, high = between(c, row, fraction), between(c, row + int(c[CONSTANT.speed_count]), fraction)
    torque = low + part * (high - low)
    low, high = (
        c[row + 1] - c[row],
        c[row + 1 + int(c[CONSTANT.speed_count])] - c[row + int(c[CONSTANT.speed_count])],
    )
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
    speed = state[STATE.engine_speed]
    throttle = clipped(pedal, 0.0, 1.0)
    if c[CONSTANT.idle_speed] > 0.0:
        error = c[CONSTANT.idle_speed] - speed
        wanted = c[CONSTANT.idle_throttle] + state[STATE.idle_integral] + c[CONSTANT.idle_gain] * error
        if wanted > throttle:
            if wanted < 1.0:
                state[STATE.idle_integral] += step * c[CONSTANT.idle_rate] * error
            throttle = clipped(wanted, 0.0, 1.0)
        else:
            # The pedal or the car turns the engine: what the integral had to add is no longer needed.
            state[STATE.idle_integral] -= (
                step * c[CONSTANT.idle_rate] / c[CONSTANT.idle_gain] * state[STATE.idle_integral]
            )
    over = (speed - c[CONSTANT.limit_speed]) / c[CONSTANT.limit_band]
    return throttle * (1.0 - clipped(over, 0.0, 1.0))


@fused_kernel
def pump_and_turbine(
    c: FloatArray, pump: float, turbine: float
) -> tuple[float, float, float, float, float, float]:
    """Return pump torque, its slopes over pump and turbine speed, turbine torque and its slopes.

    A faster turbine drives the pump with the same table, roles exchanged, without a stator's help.
    """
    first, count = int(c[CONSTANT.converter]), int(c[CONSTANT.converter_count])
    if pump >= turbine and pump > 0.0:
        k, fraction, slope = bracket(c, first, count, turbine / pump)
        factor = between(c, first + count + k, fraction)
        ratio = between(c, first + 2 * count + k, fraction)
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
        k, fraction, slope = bracket(c, first, count, pump / turbine)
        factor = between(c, first + count + k, fraction)
        d_factor = slope * (c[first + count + k + 1] - c[first + count + k])
        torque = -factor * turbine * turbine
        by_pump = -d_factor * turbine
        by_turbine = d_factor * pump - 2.0 * factor * turbine
        return torque, by_pump, by_turbine, torque, by_pump, by_turbine
    return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0


@fused_kernel
def clutch_capacity(c: FloatArray, state: FloatArray, pedal: float, step: float) -> float:
    """Return the torque that clutch or lock-up can take now; advance the lock-up."""
    capacity: float = c[CONSTANT.clutch_capacity]
    if c[CONSTANT.launch] == CONVERTER_KIND:
        pump, turbine = state[STATE.engine_speed], state[STATE.input_speed]
        closing = (
            state[STATE.gear] >= c[CONSTANT.lock_gear]
            and state[STATE.engaged] > 0.0
            and not state[STATE.change_left] > 0.0
            and turbine > c[CONSTANT.lock_speed]
            and (state[STATE.lock_up] > 0.0 or turbine > c[CONSTANT.lock_ratio] * pump)
        )
        state[STATE.lock_up] = (
            clipped(state[STATE.lock_up] + step / c[CONSTANT.lock_time], 0.0, 1.0) if closing else 0.0
        )
        return capacity * float(state[STATE.lock_up])
    if c[CONSTANT.launch] == CLUTCH:
        closed = 1.0 - clipped(
            (pedal - c[CONSTANT.pedal_closed]) / (c[CONSTANT.pedal_open] - c[CONSTANT.pedal_closed]), 0.0, 1.0
        )
        if c[CONSTANT.closing_end] > 0.0:
            width = c[CONSTANT.closing_end] - c[CONSTANT.closing_begin]
            closed *= clipped((state[STATE.engine_speed] - c[CONSTANT.closing_begin]) / width, 0.0, 1.0)
        return capacity * closed
    return np.inf
