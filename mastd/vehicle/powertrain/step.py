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
from mastd.vehicle.powertrain.engine import (
    between,
    bracket,
    clipped,
    clutch_capacity,
    engine_torque,
    governed_throttle,
    pump_and_turbine,
)
from mastd.vehicle.powertrain.fields import (
    CONSTANT,
    CONVERTER_KIND,
    DIFFERENTIAL,
    DIFFERENTIAL_SIZE,
    DIFFERENTIALS,
    DRIVE,
    DRIVER,
    NODE,
    NODE_SIZE,
    STATE,
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

    ``driver`` (4) and ``state`` as in ``fields``; ``spins`` (wheels) in rad/s, those predicted for
    the end of the step with the torques of the last step. Wheels that are not driven get 0.
    """
    wheel_speed = gather_speeds(constants, state, spins)
    choose_gear(constants, state, driver, step)
    advance_speeds(constants, state, driver, step, wheel_speed)
    state[STATE.wheel_speed] = wheel_speed
    split_torque(constants, state, spins, step, torques)


@fused_kernel
def output_speed(state: FloatArray, spins: FloatArray, child: float, hub: float) -> float:
    """Return the speed of what a differential's output drives, at the differential."""
    k = int(child)
    speed: float = (
        hub * spins[k] if k >= 0 else state[DIFFERENTIALS + (-1 - k) * DIFFERENTIAL_SIZE + DIFFERENTIAL.speed]
    )
    return speed


@fused_kernel
def gather_speeds(c: FloatArray, state: FloatArray, spins: FloatArray) -> float:
    """Write the input speeds of all differentials and return the first one's, the gearbox output's."""
    first, count = int(c[CONSTANT.nodes]), int(c[CONSTANT.node_count])
    speed = 0.0
    for k in range(count - 1, -1, -1):
        node = first + k * NODE_SIZE
        a = output_speed(state, spins, c[node + NODE.first], c[node + NODE.hub])
        b = output_speed(state, spins, c[node + NODE.second], c[node + NODE.hub])
        speed = c[node + NODE.ratio] * (b + c[node + NODE.torque_split] * (a - b))
        state[DIFFERENTIALS + k * DIFFERENTIAL_SIZE + DIFFERENTIAL.speed] = speed
    return speed


@fused_kernel
def with_loss(torque: float, loss: float, speed: float) -> float:
    """Return what is left of a torque after gears: they take their share against the rotation."""
    return torque - loss * abs(torque) * clipped(speed, -1.0, 1.0)


@fused_kernel
def split_torque(
    c: FloatArray, state: FloatArray, spins: FloatArray, step: float, torques: FloatArray
) -> None:
    """Hand the shaft's torque down the differentials to the wheels."""
    for k in range(torques.shape[0]):
        torques[k] = 0.0
    first, count = int(c[CONSTANT.nodes]), int(c[CONSTANT.node_count])
    state[DIFFERENTIALS + DIFFERENTIAL.torque] = with_loss(
        state[STATE.shaft_torque], c[CONSTANT.gearbox_loss], state[STATE.wheel_speed]
    )
    for k in range(count):
        node, own = first + k * NODE_SIZE, DIFFERENTIALS + k * DIFFERENTIAL_SIZE
        torque = with_loss(
            state[own + DIFFERENTIAL.torque], c[node + NODE.loss], state[own + DIFFERENTIAL.speed]
        )
        torque *= c[node + NODE.ratio]
        hub = c[node + NODE.hub]
        lock = 0.0
        if c[node + NODE.preload] > 0.0 or c[node + NODE.bias] > 0.0:
            a = output_speed(state, spins, c[node + NODE.first], hub)
            b = output_speed(state, spins, c[node + NODE.second], hub)
            most = c[node + NODE.preload] + c[node + NODE.bias] * abs(torque)
            # The speeds contain what the last torque did; this is what was missing.
            lock = clipped(
                state[own + DIFFERENTIAL.lock] + c[node + NODE.inertia] * (b - a) / step, -most, most
            )
        state[own + DIFFERENTIAL.lock] = lock
        torque_split = c[node + NODE.torque_split] * torque
        hand_on(state, torques, c[node + NODE.first], hub, torque_split + lock)
        hand_on(state, torques, c[node + NODE.second], hub, torque - torque_split - lock)


@fused_kernel
def hand_on(state: FloatArray, torques: FloatArray, child: float, hub: float, torque: float) -> None:
    """Write the torque of an output where it goes: a wheel or the next differential."""
    k = int(child)
    if k >= 0:
        torques[k] = hub * torque
    else:
        state[DIFFERENTIALS + (-1 - k) * DIFFERENTIAL_SIZE + DIFFERENTIAL.torque] = torque


@fused_kernel
def choose_gear(c: FloatArray, state: FloatArray, driver: FloatArray, step: float) -> None:
    """Follow the gear lever: begin changes, advance the one under way, write the ratio in use."""
    lever = driver[DRIVER.gear]
    present = state[STATE.gear]
    wanted = 0.0
    if lever == DRIVE:
        if c[CONSTANT.changes] > 0.0:
            wanted = wanted_gear(c, state, driver)
    elif -c[CONSTANT.reverse] <= lever <= c[CONSTANT.forward]:
        wanted = np.floor(lever + 0.5)
    state[STATE.hold_left] = clipped(state[STATE.hold_left] - step, 0.0, np.inf)
    ratios = int(c[CONSTANT.gears])
    if wanted != present:
        under_load = (
            c[CONSTANT.changes] > 0.0 and wanted > 0.0 and present > 0.0 and state[STATE.engaged] > 0.0
        )
        state[STATE.old_ratio] = state[STATE.ratio]
        state[STATE.change_left] = c[CONSTANT.change_time] if under_load else 0.0
        state[STATE.hold_left] = c[CONSTANT.hold_time] + state[STATE.change_left]
        if not under_load:
            state[STATE.engaged] = 0.0
        state[STATE.gear] = wanted
    ratio = c[ratios + int(state[STATE.gear])]
    if state[STATE.change_left] > 0.0:
        left = clipped(state[STATE.change_left] - step, 0.0, np.inf)
        state[STATE.change_left] = left
        ratio += left / c[CONSTANT.change_time] * (state[STATE.old_ratio] - ratio)
    state[STATE.ratio] = ratio


@fused_kernel
def wanted_gear(c: FloatArray, state: FloatArray, driver: FloatArray) -> float:
    """Return the forward gear that the map of changes asks for."""
    first, count = int(c[CONSTANT.changes]), int(c[CONSTANT.change_count])
    k, fraction, _ = bracket(c, first, count, driver[DRIVER.throttle])
    up, down = between(c, first + count + k, fraction), between(c, first + 2 * count + k, fraction)
    ratios, gear, top = int(c[CONSTANT.gears]), int(state[STATE.gear]), int(c[CONSTANT.forward])
    speed = state[STATE.output_speed]
    if gear <= 0:
        gear = 1
        while gear < top and c[ratios + gear] * speed > up:
            gear += 1
    elif not (state[STATE.hold_left] > 0.0 or state[STATE.change_left] > 0.0):
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
    x0, y0, z0 = state[STATE.engine_speed], state[STATE.input_speed], state[STATE.output_speed]
    pedal = driver[DRIVER.throttle]
    if state[STATE.change_left] > 0.0:
        pedal *= c[CONSTANT.change_throttle]
    throttle = governed_throttle(c, state, pedal, step)
    torque, slope = engine_torque(c, throttle, x0)
    capacity = clutch_capacity(c, state, driver[DRIVER.clutch], step)
    pump, pump_x, pump_y, turbine, turbine_x, turbine_y = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    if c[CONSTANT.launch] == CONVERTER_KIND:
        pump, pump_x, pump_y, turbine, turbine_x, turbine_y = pump_and_turbine(c, x0, y0)
    # Shaft: T_s = rest + stiff z.
    stiff = c[CONSTANT.stiffness] * step + c[CONSTANT.damping]
    rest = c[CONSTANT.stiffness] * state[STATE.twist] - stiff * wheel_speed
    out_inertia = c[CONSTANT.output_inertia] + step * stiff
    out_momentum = c[CONSTANT.output_inertia] * z0 - step * rest
    ratio, in_inertia = state[STATE.ratio], c[CONSTANT.input_inertia]
    # Engine's and input shaft's rows, without what gears and friction add.
    a11 = c[CONSTANT.engine_inertia] + step * (pump_x - slope)
    a12 = step * pump_y
    a21 = -step * turbine_x
    b1 = c[CONSTANT.engine_inertia] * x0 + step * (torque - slope * x0 - pump + pump_x * x0 + pump_y * y0)
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
        if state[STATE.engaged] > 0.0 or -c[CONSTANT.synchroniser] <= mesh <= c[CONSTANT.synchroniser]:
            break
        engaged = False
        mesh = clipped(mesh, -c[CONSTANT.synchroniser], c[CONSTANT.synchroniser])
    state[STATE.engaged] = 1.0 if engaged else 0.0
    state[STATE.throttle] = throttle
    state[STATE.engine_torque] = torque + slope * (x - x0)
    state[STATE.clutch_torque] = pump + pump_x * (x - x0) + pump_y * (y - y0) + friction
    state[STATE.input_torque] = turbine + turbine_x * (x - x0) + turbine_y * (y - y0) + friction
    state[STATE.mesh_torque] = mesh
    state[STATE.shaft_torque] = rest + stiff * z
    state[STATE.twist] += step * (z - wheel_speed)
    state[STATE.engine_speed], state[STATE.input_speed], state[STATE.output_speed] = x, y, z
    state[STATE.clutch_slip] = x - y
