"""One step of a powertrain, compiled: pedals and spins in, torques on the wheels out.

Unknown at the end of the step: x engine speed, y input and z output speed of the gearbox. With the wheels'
mean w at the gearbox's output known, everything here is implicit (backward Euler; engine and converter are
linearised):

    J_e (x − x₀) = h (T_e(x) − T_p(x, y) − T_f)        T_p, T_t: converter's pump and turbine
    J_i (y − y₀) = h (T_t(x, y) + T_f − T_m)           T_f: friction of clutch or lock-up
    J_o (z − z₀) = h (i T_m − T_s)                     T_m: gears or synchroniser, on the input shaft
    T_s = c (φ + h (z − w)) + d (z − w)                φ: twist

Engaged, y = i z, and T_m is what that takes. T_f is what makes x = y, as far as clutch or lock-up can take
it: they stick or slip, and nothing creeps between.
"""

from __future__ import annotations

import numpy as np

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel, separate_kernel
from mastd.vehicle.powertrain import fields as f
from mastd.vehicle.powertrain.engine import (
    between,
    clipped,
    clutch_capacity,
    engine_torque,
    governed_throttle,
    place,
    pump_and_turbine,
)


@separate_kernel
def drive_wheels(
    constants: FloatArray,
    state: FloatArray,
    driver: FloatArray,
    spins: FloatArray,
    step: float,
    torques: FloatArray,
) -> None:
    """Advance a powertrain by a step (s) and write the drive torque on each wheel (N m).

    ``driver`` (4) and ``state`` as in ``powertrain_fields``; ``spins`` (wheels) in rad/s, those predicted for
    the end of the step with the torques of the last step. Wheels that are not driven get 0.
    """
    wheel_speed = gather_speeds(constants, state, spins)
    choose_gear(constants, state, driver, step)
    advance_speeds(constants, state, driver, step, wheel_speed)
    state[f.WHEEL_SPEED] = wheel_speed
    share_torque(constants, state, spins, step, torques)


@fused_kernel
def output_speed(state: FloatArray, spins: FloatArray, child: float, hub: float) -> float:
    """Return the speed of what a differential's output drives, at the differential."""
    k = int(child)
    speed: float = hub * spins[k] if k >= 0 else state[f.STATE + (-1 - k) * f.STATE_STRIDE + f.S_SPEED]
    return speed


@fused_kernel
def gather_speeds(c: FloatArray, state: FloatArray, spins: FloatArray) -> float:
    """Write the input speeds of all differentials and return the first one's, the gearbox output's."""
    first, count = int(c[f.NODES]), int(c[f.NODE_COUNT])
    speed = 0.0
    for k in range(count - 1, -1, -1):
        node = first + k * f.NODE_STRIDE
        a = output_speed(state, spins, c[node + f.N_FIRST], c[node + f.N_HUB])
        b = output_speed(state, spins, c[node + f.N_SECOND], c[node + f.N_HUB])
        speed = c[node + f.N_RATIO] * (b + c[node + f.N_SHARE] * (a - b))
        state[f.STATE + k * f.STATE_STRIDE + f.S_SPEED] = speed
    return speed


@fused_kernel
def with_loss(torque: float, loss: float, speed: float) -> float:
    """Return what is left of a torque after gears: they take their share against the rotation."""
    return torque - loss * abs(torque) * clipped(speed, -1.0, 1.0)


@fused_kernel
def share_torque(
    c: FloatArray, state: FloatArray, spins: FloatArray, step: float, torques: FloatArray
) -> None:
    """Hand the shaft's torque down the differentials to the wheels."""
    for k in range(torques.shape[0]):
        torques[k] = 0.0
    first, count = int(c[f.NODES]), int(c[f.NODE_COUNT])
    state[f.STATE + f.S_TORQUE] = with_loss(state[f.SHAFT_TORQUE], c[f.GEARBOX_LOSS], state[f.WHEEL_SPEED])
    for k in range(count):
        node, own = first + k * f.NODE_STRIDE, f.STATE + k * f.STATE_STRIDE
        torque = with_loss(state[own + f.S_TORQUE], c[node + f.N_LOSS], state[own + f.S_SPEED])
        torque *= c[node + f.N_RATIO]
        hub = c[node + f.N_HUB]
        lock = 0.0
        if c[node + f.N_PRELOAD] > 0.0 or c[node + f.N_BIAS] > 0.0:
            a = output_speed(state, spins, c[node + f.N_FIRST], hub)
            b = output_speed(state, spins, c[node + f.N_SECOND], hub)
            most = c[node + f.N_PRELOAD] + c[node + f.N_BIAS] * abs(torque)
            # The speeds contain what the last torque did; this is what was missing.
            lock = clipped(state[own + f.S_LOCK] + c[node + f.N_INERTIA] * (b - a) / step, -most, most)
        state[own + f.S_LOCK] = lock
        share = c[node + f.N_SHARE] * torque
        hand_on(state, torques, c[node + f.N_FIRST], hub, share + lock)
        hand_on(state, torques, c[node + f.N_SECOND], hub, torque - share - lock)


@fused_kernel
def hand_on(state: FloatArray, torques: FloatArray, child: float, hub: float, torque: float) -> None:
    """Write the torque of an output where it goes: a wheel or the next differential."""
    k = int(child)
    if k >= 0:
        torques[k] = hub * torque
    else:
        state[f.STATE + (-1 - k) * f.STATE_STRIDE + f.S_TORQUE] = torque


@fused_kernel
def choose_gear(c: FloatArray, state: FloatArray, driver: FloatArray, step: float) -> None:
    """Follow the gear lever: begin changes, advance the one under way, write the ratio in use."""
    lever = driver[f.GEAR_LEVER]
    present = state[f.GEAR]
    wanted = 0.0
    if lever == f.DRIVE:
        if c[f.CHANGES] > 0.0:
            wanted = wanted_gear(c, state, driver)
    elif -c[f.REVERSE] <= lever <= c[f.FORWARD]:
        wanted = np.floor(lever + 0.5)
    state[f.HOLD_LEFT] = clipped(state[f.HOLD_LEFT] - step, 0.0, np.inf)
    ratios = int(c[f.GEARS])
    if wanted != present:
        under_load = c[f.CHANGES] > 0.0 and wanted > 0.0 and present > 0.0 and state[f.ENGAGED] > 0.0
        state[f.OLD_RATIO] = state[f.RATIO]
        state[f.CHANGE_LEFT] = c[f.CHANGE_TIME] if under_load else 0.0
        state[f.HOLD_LEFT] = c[f.HOLD_TIME] + state[f.CHANGE_LEFT]
        if not under_load:
            state[f.ENGAGED] = 0.0
        state[f.GEAR] = wanted
    ratio = c[ratios + int(state[f.GEAR])]
    if state[f.CHANGE_LEFT] > 0.0:
        left = clipped(state[f.CHANGE_LEFT] - step, 0.0, np.inf)
        state[f.CHANGE_LEFT] = left
        ratio += left / c[f.CHANGE_TIME] * (state[f.OLD_RATIO] - ratio)
    state[f.RATIO] = ratio


@fused_kernel
def wanted_gear(c: FloatArray, state: FloatArray, driver: FloatArray) -> float:
    """Return the forward gear that the map of changes asks for."""
    first, count = int(c[f.CHANGES]), int(c[f.CHANGE_COUNT])
    k, share, _ = place(c, first, count, driver[f.THROTTLE_PEDAL])
    up, down = between(c, first + count + k, share), between(c, first + 2 * count + k, share)
    ratios, gear, top = int(c[f.GEARS]), int(state[f.GEAR]), int(c[f.FORWARD])
    speed = state[f.OUTPUT_SPEED]
    if gear <= 0:
        gear = 1
        while gear < top and c[ratios + gear] * speed > up:
            gear += 1
    elif not (state[f.HOLD_LEFT] > 0.0 or state[f.CHANGE_LEFT] > 0.0):
        if gear < top and c[ratios + gear] * speed > up:
            gear += 1
        elif gear > 1 and c[ratios + gear] * speed < down:
            gear -= 1
    return float(gear)


@fused_kernel
def advance_speeds(
    c: FloatArray, state: FloatArray, driver: FloatArray, step: float, wheel_speed: float
) -> None:
    """Solve for the three speeds at the end of the step, and the twist."""
    x0, y0, z0 = state[f.ENGINE_SPEED], state[f.INPUT_SPEED], state[f.OUTPUT_SPEED]
    pedal = driver[f.THROTTLE_PEDAL]
    if state[f.CHANGE_LEFT] > 0.0:
        pedal *= c[f.CHANGE_THROTTLE]
    throttle = governed_throttle(c, state, pedal, step)
    torque, slope = engine_torque(c, throttle, x0)
    capacity = clutch_capacity(c, state, driver[f.CLUTCH_PEDAL], step)
    pump, pump_x, pump_y, turbine, turbine_x, turbine_y = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    if c[f.LAUNCH] == f.CONVERTER_KIND:
        pump, pump_x, pump_y, turbine, turbine_x, turbine_y = pump_and_turbine(c, x0, y0)
    # Shaft: T_s = rest + stiff z.
    stiff = c[f.STIFFNESS] * step + c[f.DAMPING]
    rest = c[f.STIFFNESS] * state[f.TWIST] - stiff * wheel_speed
    out_inertia = c[f.OUTPUT_INERTIA] + step * stiff
    out_momentum = c[f.OUTPUT_INERTIA] * z0 - step * rest
    ratio, in_inertia = state[f.RATIO], c[f.INPUT_INERTIA]
    # Engine's and input shaft's rows, without what gears and friction add.
    a11 = c[f.ENGINE_INERTIA] + step * (pump_x - slope)
    a12 = step * pump_y
    a21 = -step * turbine_x
    b1 = c[f.ENGINE_INERTIA] * x0 + step * (torque - slope * x0 - pump + pump_x * x0 + pump_y * y0)
    b2 = in_inertia * y0 + step * (turbine - turbine_x * x0 - turbine_y * y0)
    engaged = ratio != 0.0
    mesh = 0.0
    x, y, z, friction = x0, y0, z0, 0.0
    for _ in range(2):
        if engaged:
            a22 = in_inertia + out_inertia / (ratio * ratio) - step * turbine_y
            right = b2 + out_momentum / ratio
        else:
            a22 = in_inertia - step * turbine_y
            right = b2 - step * mesh
        inverse = 1.0 / (a11 * a22 - a12 * a21)
        x, y = (a22 * b1 - a12 * right) * inverse, (a11 * right - a21 * b1) * inverse
        # Friction ±1 N m on the two shafts changes the slip by this.
        closing = step * (a11 + a12 + a21 + a22) * inverse
        friction = clipped((x - y) / closing, -capacity, capacity)
        x -= step * (a22 + a12) * inverse * friction
        y += step * (a11 + a21) * inverse * friction
        if -capacity < friction < capacity:
            x = y
        if not engaged:
            z = (out_momentum + step * ratio * mesh) / out_inertia
            break
        z = y / ratio
        mesh = (out_inertia * z - out_momentum) / (step * ratio)
        if state[f.ENGAGED] > 0.0 or -c[f.SYNCHRONISER] <= mesh <= c[f.SYNCHRONISER]:
            break
        engaged = False
        mesh = clipped(mesh, -c[f.SYNCHRONISER], c[f.SYNCHRONISER])
    state[f.ENGAGED] = 1.0 if engaged else 0.0
    state[f.THROTTLE] = throttle
    state[f.ENGINE_TORQUE] = torque + slope * (x - x0)
    state[f.CLUTCH_TORQUE] = pump + pump_x * (x - x0) + pump_y * (y - y0) + friction
    state[f.INPUT_TORQUE] = turbine + turbine_x * (x - x0) + turbine_y * (y - y0) + friction
    state[f.MESH_TORQUE] = mesh
    state[f.SHAFT_TORQUE] = rest + stiff * z
    state[f.TWIST] += step * (z - wheel_speed)
    state[f.ENGINE_SPEED], state[f.INPUT_SPEED], state[f.OUTPUT_SPEED] = x, y, z
    state[f.CLUTCH_SLIP] = x - y
