"""The table as a rigid body with its payload: geometry of the actuators, Newton–Euler, one leap-frog step.

The body's velocity is a twist at C in P axes; the mass matrix is then constant and inverted once. Positions
move half a step, forces act at the middle, positions move the other half: second order, and the oil columns
neither gain nor lose energy by the integration.
"""

from __future__ import annotations

import math

from hil_sim.plant.block import (
    ACTUATOR,
    ACTUATOR_STATE,
    BODY,
    BODY_STATE,
    SUPPLY_STATE,
    SUPPORT,
    MidStep,
    PlantArrays,
    Wrench,
)
from hil_sim.plant.electric import move_electric
from hil_sim.plant.guides import add_guides
from hil_sim.plant.hydraulics import move_oil, move_spool
from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel

MIN_VOLUME = 0.05
"""Least volume of a support's gas over that at neutral."""


@fused_kernel
def rotation(
    body: FloatArray,
) -> tuple[float, float, float, float, float, float, float, float, float]:
    """Return R (P to B) of the body's unit quaternion, row by row."""
    w = body[BODY_STATE.attitude]
    x = body[BODY_STATE.attitude + 1]
    y = body[BODY_STATE.attitude + 2]
    z = body[BODY_STATE.attitude + 3]
    return (
        1.0 - 2.0 * (y * y + z * z),
        2.0 * (x * y - w * z),
        2.0 * (x * z + w * y),
        2.0 * (x * y + w * z),
        1.0 - 2.0 * (x * x + z * z),
        2.0 * (y * z - w * x),
        2.0 * (x * z - w * y),
        2.0 * (y * z + w * x),
        1.0 - 2.0 * (x * x + y * y),
    )


@fused_kernel
def rotate_attitude(body: FloatArray, time: float) -> None:
    """Rotate the attitude by the present angular velocity (in P) over ``time`` (s)."""
    a = 0.5 * time * body[BODY_STATE.twist + 3]
    b = 0.5 * time * body[BODY_STATE.twist + 4]
    c = 0.5 * time * body[BODY_STATE.twist + 5]
    w = body[BODY_STATE.attitude]
    x = body[BODY_STATE.attitude + 1]
    y = body[BODY_STATE.attitude + 2]
    z = body[BODY_STATE.attitude + 3]
    new_w = w - a * x - b * y - c * z
    new_x = x + a * w + c * y - b * z
    new_y = y + b * w + a * z - c * x
    new_z = z + c * w + b * x - a * y
    # One Newton step of 1/√ about 1: the rotation of a step is small, so the norm stays 1 to rounding.
    scale = 1.5 - 0.5 * (new_w * new_w + new_x * new_x + new_y * new_y + new_z * new_z)
    body[BODY_STATE.attitude] = scale * new_w
    body[BODY_STATE.attitude + 1] = scale * new_x
    body[BODY_STATE.attitude + 2] = scale * new_y
    body[BODY_STATE.attitude + 3] = scale * new_z


@fused_kernel
def mid_step(plant: PlantArrays, half: float) -> MidStep:
    """Rotate the attitude by ``half`` (s) of a step and return the table's motion there."""
    body = plant.body_state
    rotate_attitude(body, half)
    r11, r12, r13, r21, r22, r23, r31, r32, r33 = rotation(body)
    vx = body[BODY_STATE.twist]
    vy = body[BODY_STATE.twist + 1]
    vz = body[BODY_STATE.twist + 2]
    wx = body[BODY_STATE.twist + 3]
    wy = body[BODY_STATE.twist + 4]
    wz = body[BODY_STATE.twist + 5]
    px = body[BODY_STATE.position] + half * (r11 * vx + r12 * vy + r13 * vz)
    py = body[BODY_STATE.position + 1] + half * (r21 * vx + r22 * vy + r23 * vz)
    pz = body[BODY_STATE.position + 2] + half * (r31 * vx + r32 * vy + r33 * vz)

    gravity = plant.body[BODY.gravity]
    gx = -gravity * r31
    gy = -gravity * r32
    gz = -gravity * r33
    return MidStep(
        r11, r12, r13, r21, r22, r23, r31, r32, r33, px, py, pz, vx, vy, vz, wx, wy, wz, gx, gy, gz
    )


@fused_kernel
def weight_and_payload(plant: PlantArrays, m: MidStep) -> Wrench:
    """Return the wrench of weight and external payload."""
    body, parameters = plant.body_state, plant.body
    mass = parameters[BODY.mass]
    sx = parameters[BODY.first_moment]
    sy = parameters[BODY.first_moment + 1]
    sz = parameters[BODY.first_moment + 2]
    fx = mass * m.gx + body[BODY_STATE.payload_wrench]
    fy = mass * m.gy + body[BODY_STATE.payload_wrench + 1]
    fz = mass * m.gz + body[BODY_STATE.payload_wrench + 2]
    mx = sy * m.gz - sz * m.gy + body[BODY_STATE.payload_wrench + 3]
    my = sz * m.gx - sx * m.gz + body[BODY_STATE.payload_wrench + 4]
    mz = sx * m.gy - sy * m.gx + body[BODY_STATE.payload_wrench + 5]
    return fx, fy, fz, mx, my, mz


@fused_kernel
def add_supports(plant: PlantArrays, m: MidStep, wrench: Wrench) -> Wrench:
    """Return ``wrench`` with the static supports' added."""
    supports = plant.supports
    fx, fy, fz, mx, my, mz = wrench
    for j in range(supports.shape[0]):
        ax = supports[j, SUPPORT.position]
        ay = supports[j, SUPPORT.position + 1]
        az = supports[j, SUPPORT.position + 2]
        rise = m.pz + m.r31 * ax + m.r32 * ay + m.r33 * az - supports[j, SUPPORT.neutral_height]
        speed = (
            m.r31 * (m.vx + m.wy * az - m.wz * ay)
            + m.r32 * (m.vy + m.wz * ax - m.wx * az)
            + m.r33 * (m.vz + m.wx * ay - m.wy * ax)
        )
        volume = max(1.0 + supports[j, SUPPORT.gas_slope] * rise, MIN_VOLUME)
        force = (
            supports[j, SUPPORT.force] / volume ** supports[j, SUPPORT.exponent]
            - supports[j, SUPPORT.stiffness] * rise
            - supports[j, SUPPORT.damping] * speed
        )
        ux = force * m.r31
        uy = force * m.r32
        uz = force * m.r33
        fx += ux
        fy += uy
        fz += uz
        mx += ay * uz - az * uy
        my += az * ux - ax * uz
        mz += ax * uy - ay * ux
    return fx, fy, fz, mx, my, mz


@fused_kernel
def add_sprung(plant: PlantArrays, half: float, wrench: Wrench) -> Wrench:
    """Return ``wrench`` with that of the springs under the sprung mass added."""
    body, parameters = plant.body_state, plant.body
    if not parameters[BODY.sprung_mass] > 0.0:
        return wrench
    fx, fy, fz, mx, my, mz = wrench
    stiffness = parameters[BODY.sprung_stiffness]
    damping = parameters[BODY.sprung_damping]
    ux = (
        stiffness * (body[BODY_STATE.sprung] + half * body[BODY_STATE.sprung_rate])
        + damping * body[BODY_STATE.sprung_rate]
    )
    uy = (
        stiffness * (body[BODY_STATE.sprung + 1] + half * body[BODY_STATE.sprung_rate + 1])
        + damping * body[BODY_STATE.sprung_rate + 1]
    )
    uz = (
        stiffness * (body[BODY_STATE.sprung + 2] + half * body[BODY_STATE.sprung_rate + 2])
        + damping * body[BODY_STATE.sprung_rate + 2]
    )
    ax = parameters[BODY.sprung_position] + body[BODY_STATE.sprung]
    ay = parameters[BODY.sprung_position + 1] + body[BODY_STATE.sprung + 1]
    az = parameters[BODY.sprung_position + 2] + body[BODY_STATE.sprung + 2]
    fx += ux
    fy += uy
    fz += uz
    mx += ay * uz - az * uy
    my += az * ux - ax * uz
    mz += ax * uy - ay * ux
    return fx, fy, fz, mx, my, mz


@fused_kernel
def add_actuators(plant: PlantArrays, m: MidStep, wrench: Wrench, step: float) -> Wrench:
    """Advance valves and oil by one ``step`` (s) and return ``wrench`` with the actuators' added."""
    states, parameters, unit_vectors = plant.actuator_states, plant.actuators, plant.unit_vectors
    fx, fy, fz, mx, my, mz = wrench
    for i in range(states.shape[0]):
        dx = m.px - parameters[i, ACTUATOR.base_joint]
        dy = m.py - parameters[i, ACTUATOR.base_joint + 1]
        dz = m.pz - parameters[i, ACTUATOR.base_joint + 2]
        ax = parameters[i, ACTUATOR.table_joint]
        ay = parameters[i, ACTUATOR.table_joint + 1]
        az = parameters[i, ACTUATOR.table_joint + 2]
        ex = m.r11 * dx + m.r21 * dy + m.r31 * dz + ax
        ey = m.r12 * dx + m.r22 * dy + m.r32 * dz + ay
        ez = m.r13 * dx + m.r23 * dy + m.r33 * dz + az
        length = math.sqrt(ex * ex + ey * ey + ez * ez)
        scale = 1.0 / length
        ex *= scale
        ey *= scale
        ez *= scale
        tx = ay * ez - az * ey
        ty = az * ex - ax * ez
        tz = ax * ey - ay * ex
        rate = ex * m.vx + ey * m.vy + ez * m.vz + tx * m.wx + ty * m.wy + tz * m.wz
        opening = move_spool(plant, i, plant.valve_commands[i], step)
        if parameters[i, ACTUATOR.full_speed] > 0.0:
            move_electric(plant, i, length, rate, opening, step)
        else:
            taken, given = move_oil(plant, i, length, rate, opening, step)
            pack = plant.supply_state[int(parameters[i, ACTUATOR.supply])]
            pack[SUPPLY_STATE.step_drawn] += taken
            pack[SUPPLY_STATE.step_returned] += given
        force = states[i, ACTUATOR_STATE.force]
        fx += force * ex
        fy += force * ey
        fz += force * ez
        mx += force * tx
        my += force * ty
        mz += force * tz
        states[i, ACTUATOR_STATE.length] = length
        unit_vectors[i, 0] = ex
        unit_vectors[i, 1] = ey
        unit_vectors[i, 2] = ez
        unit_vectors[i, 3] = tx
        unit_vectors[i, 4] = ty
        unit_vectors[i, 5] = tz
    for k in range(plant.supply_state.shape[0]):
        pack = plant.supply_state[k]
        pack[SUPPLY_STATE.drawn] += pack[SUPPLY_STATE.step_drawn]
        pack[SUPPLY_STATE.returned] += pack[SUPPLY_STATE.step_returned]
        pack[SUPPLY_STATE.step_drawn] = pack[SUPPLY_STATE.step_returned] = 0.0
    return fx, fy, fz, mx, my, mz


@fused_kernel
def accelerate(plant: PlantArrays, m: MidStep, wrench: Wrench, step: float) -> None:
    """Advance the twist by ``step`` (s) with the Newton–Euler equations about C in P.

    M [dv; dw] = wrench − bias, with v the components of a moving frame.
    """
    body, parameters = plant.body_state, plant.body
    fx, fy, fz, mx, my, mz = wrench
    mass = parameters[BODY.mass]
    sx = parameters[BODY.first_moment]
    sy = parameters[BODY.first_moment + 1]
    sz = parameters[BODY.first_moment + 2]
    cx = m.wy * m.vz - m.wz * m.vy
    cy = m.wz * m.vx - m.wx * m.vz
    cz = m.wx * m.vy - m.wy * m.vx
    ox = m.wy * sz - m.wz * sy
    oy = m.wz * sx - m.wx * sz
    oz = m.wx * sy - m.wy * sx
    hx = (
        parameters[BODY.inertia] * m.wx
        + parameters[BODY.inertia + 1] * m.wy
        + parameters[BODY.inertia + 2] * m.wz
    )
    hy = (
        parameters[BODY.inertia + 3] * m.wx
        + parameters[BODY.inertia + 4] * m.wy
        + parameters[BODY.inertia + 5] * m.wz
    )
    hz = (
        parameters[BODY.inertia + 6] * m.wx
        + parameters[BODY.inertia + 7] * m.wy
        + parameters[BODY.inertia + 8] * m.wz
    )
    fx -= mass * cx + m.wy * oz - m.wz * oy
    fy -= mass * cy + m.wz * ox - m.wx * oz
    fz -= mass * cz + m.wx * oy - m.wy * ox
    mx -= m.wy * hz - m.wz * hy + sy * cz - sz * cy
    my -= m.wz * hx - m.wx * hz + sz * cx - sx * cz
    mz -= m.wx * hy - m.wy * hx + sx * cy - sy * cx
    for j in range(6):
        row = BODY.inverse_mass + 6 * j
        body[BODY_STATE.acceleration + j] = (
            parameters[row] * fx
            + parameters[row + 1] * fy
            + parameters[row + 2] * fz
            + parameters[row + 3] * mx
            + parameters[row + 4] * my
            + parameters[row + 5] * mz
        )
        body[BODY_STATE.twist + j] += step * body[BODY_STATE.acceleration + j]
    body[BODY_STATE.acceleration] += cx
    body[BODY_STATE.acceleration + 1] += cy
    body[BODY_STATE.acceleration + 2] += cz


@fused_kernel
def step_plant(plant: PlantArrays, step: float) -> None:
    """Advance valves, oil and table by one inner ``step`` (s)."""
    half = 0.5 * step
    body = plant.body_state
    m = mid_step(plant, half)
    carried = add_supports(plant, m, add_guides(plant, m, weight_and_payload(plant, m)))
    wrench = add_sprung(plant, half, carried)
    accelerate(plant, m, add_actuators(plant, m, wrench, step), step)
    if plant.body[BODY.sprung_mass] > 0.0:
        _move_sprung(plant, m, step)
    nx = body[BODY_STATE.twist]
    ny = body[BODY_STATE.twist + 1]
    nz = body[BODY_STATE.twist + 2]
    body[BODY_STATE.position] = m.px + half * (m.r11 * nx + m.r12 * ny + m.r13 * nz)
    body[BODY_STATE.position + 1] = m.py + half * (m.r21 * nx + m.r22 * ny + m.r23 * nz)
    body[BODY_STATE.position + 2] = m.pz + half * (m.r31 * nx + m.r32 * ny + m.r33 * nz)
    rotate_attitude(body, half)
    for i in range(plant.actuators.shape[0]):
        rate = 0.0
        for j in range(6):
            rate += plant.unit_vectors[i, j] * body[BODY_STATE.twist + j]
        plant.actuator_states[i, ACTUATOR_STATE.length_rate] = rate
        plant.actuator_states[i, ACTUATOR_STATE.length] += half * rate


@fused_kernel
def _move_sprung(plant: PlantArrays, m: MidStep, step: float) -> None:
    """Advance the sprung part of the payload: a point mass on equal springs along the axes of P."""
    body, parameters = plant.body_state, plant.body
    wx = body[BODY_STATE.twist + 3]
    wy = body[BODY_STATE.twist + 4]
    wz = body[BODY_STATE.twist + 5]
    bx = body[BODY_STATE.acceleration + 3]
    by = body[BODY_STATE.acceleration + 4]
    bz = body[BODY_STATE.acceleration + 5]
    rx = parameters[BODY.sprung_position] + body[BODY_STATE.sprung]
    ry = parameters[BODY.sprung_position + 1] + body[BODY_STATE.sprung + 1]
    rz = parameters[BODY.sprung_position + 2] + body[BODY_STATE.sprung + 2]
    dx = body[BODY_STATE.sprung_rate]
    dy = body[BODY_STATE.sprung_rate + 1]
    dz = body[BODY_STATE.sprung_rate + 2]
    # Twice the relative velocity (Coriolis) and once the carried one, rotated by the angular velocity.
    ux = wy * rz - wz * ry + 2.0 * dx
    uy = wz * rx - wx * rz + 2.0 * dy
    uz = wx * ry - wy * rx + 2.0 * dz
    carried_x = body[BODY_STATE.acceleration] + by * rz - bz * ry + wy * uz - wz * uy
    carried_y = body[BODY_STATE.acceleration + 1] + bz * rx - bx * rz + wz * ux - wx * uz
    carried_z = body[BODY_STATE.acceleration + 2] + bx * ry - by * rx + wx * uy - wy * ux
    stiffness = parameters[BODY.sprung_stiffness] / parameters[BODY.sprung_mass]
    damping = parameters[BODY.sprung_damping] / parameters[BODY.sprung_mass]
    half = 0.5 * step
    new_x = dx + step * (m.gx - carried_x - stiffness * (body[BODY_STATE.sprung] + half * dx) - damping * dx)
    new_y = dy + step * (
        m.gy - carried_y - stiffness * (body[BODY_STATE.sprung + 1] + half * dy) - damping * dy
    )
    new_z = dz + step * (
        m.gz - carried_z - stiffness * (body[BODY_STATE.sprung + 2] + half * dz) - damping * dz
    )
    body[BODY_STATE.sprung] += half * (dx + new_x)
    body[BODY_STATE.sprung + 1] += half * (dy + new_y)
    body[BODY_STATE.sprung + 2] += half * (dz + new_z)
    body[BODY_STATE.sprung_rate] = new_x
    body[BODY_STATE.sprung_rate + 1] = new_y
    body[BODY_STATE.sprung_rate + 2] = new_z
