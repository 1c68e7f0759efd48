"""The table as a rigid body with its payload: geometry of the links, Newton–Euler, one leap-frog step.

The body's velocity is a twist at C in P axes; the mass matrix is then constant and inverted once. Positions
move half a step, forces act at the middle, positions move the other half: second order, and the oil columns
neither gain nor lose energy by the integration.
"""

from __future__ import annotations

import math

from hil_sim.plant.block import (
    ACCELERATION,
    ATTITUDE,
    BASE_JOINT,
    DRAWN,
    FIRST_MOMENT,
    FORCE,
    GRAVITY,
    INERTIA,
    INVERSE_MASS,
    LENGTH,
    LENGTH_RATE,
    MASS,
    PAYLOAD_WRENCH,
    POSITION,
    RETURN_PRESSURE,
    RETURNED,
    SPRUNG,
    SPRUNG_DAMPING,
    SPRUNG_MASS,
    SPRUNG_POSITION,
    SPRUNG_RATE,
    SPRUNG_STIFFNESS,
    SUPPLY_PRESSURE,
    TABLE_JOINT,
    TWIST,
)
from hil_sim.plant.hydraulics import move_oil, move_spool
from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel


@fused_kernel
def rotation(
    body: FloatArray,
) -> tuple[float, float, float, float, float, float, float, float, float]:
    """Return R (P to B) of the body's unit quaternion, row by row."""
    w = body[ATTITUDE]
    x = body[ATTITUDE + 1]
    y = body[ATTITUDE + 2]
    z = body[ATTITUDE + 3]
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
def turn(body: FloatArray, time: float) -> None:
    """Turn the attitude by the present angular velocity (in P) over ``time`` (s)."""
    a = 0.5 * time * body[TWIST + 3]
    b = 0.5 * time * body[TWIST + 4]
    c = 0.5 * time * body[TWIST + 5]
    w = body[ATTITUDE]
    x = body[ATTITUDE + 1]
    y = body[ATTITUDE + 2]
    z = body[ATTITUDE + 3]
    new_w = w - a * x - b * y - c * z
    new_x = x + a * w + c * y - b * z
    new_y = y + b * w + a * z - c * x
    new_z = z + c * w + b * x - a * y
    # One Newton step of 1/√ about 1: the turn of a step is small, so the norm stays 1 to rounding.
    scale = 1.5 - 0.5 * (new_w * new_w + new_x * new_x + new_y * new_y + new_z * new_z)
    body[ATTITUDE] = scale * new_w
    body[ATTITUDE + 1] = scale * new_x
    body[ATTITUDE + 2] = scale * new_y
    body[ATTITUDE + 3] = scale * new_z


@fused_kernel
def step_plant(
    links: FloatArray,
    link_parameters: FloatArray,
    body: FloatArray,
    body_parameters: FloatArray,
    supports: FloatArray,
    supply: FloatArray,
    supply_parameters: FloatArray,
    valve_commands: FloatArray,
    unit_vectors: FloatArray,
    step: float,
) -> None:
    """Advance valves, oil and table by one inner ``step`` (s); ``unit_vectors`` (n, 6) is scratch space."""
    half = 0.5 * step
    turn(body, half)
    r11, r12, r13, r21, r22, r23, r31, r32, r33 = rotation(body)
    vx = body[TWIST]
    vy = body[TWIST + 1]
    vz = body[TWIST + 2]
    wx = body[TWIST + 3]
    wy = body[TWIST + 4]
    wz = body[TWIST + 5]
    px = body[POSITION] + half * (r11 * vx + r12 * vy + r13 * vz)
    py = body[POSITION + 1] + half * (r21 * vx + r22 * vy + r23 * vz)
    pz = body[POSITION + 2] + half * (r31 * vx + r32 * vy + r33 * vz)

    # Weight, external payload and supports, all at C in P axes.
    gravity = body_parameters[GRAVITY]
    gx = -gravity * r31
    gy = -gravity * r32
    gz = -gravity * r33
    mass = body_parameters[MASS]
    sx = body_parameters[FIRST_MOMENT]
    sy = body_parameters[FIRST_MOMENT + 1]
    sz = body_parameters[FIRST_MOMENT + 2]
    fx = mass * gx + body[PAYLOAD_WRENCH]
    fy = mass * gy + body[PAYLOAD_WRENCH + 1]
    fz = mass * gz + body[PAYLOAD_WRENCH + 2]
    mx = sy * gz - sz * gy + body[PAYLOAD_WRENCH + 3]
    my = sz * gx - sx * gz + body[PAYLOAD_WRENCH + 4]
    mz = sx * gy - sy * gx + body[PAYLOAD_WRENCH + 5]
    for j in range(supports.shape[0]):
        ax = supports[j, 0]
        ay = supports[j, 1]
        az = supports[j, 2]
        rise = pz + r31 * ax + r32 * ay + r33 * az - supports[j, 6]
        speed = (
            r31 * (vx + wy * az - wz * ay) + r32 * (vy + wz * ax - wx * az) + r33 * (vz + wx * ay - wy * ax)
        )
        force = supports[j, 3] - supports[j, 4] * rise - supports[j, 5] * speed
        ux = force * r31
        uy = force * r32
        uz = force * r33
        fx += ux
        fy += uy
        fz += uz
        mx += ay * uz - az * uy
        my += az * ux - ax * uz
        mz += ax * uy - ay * ux
    sprung_mass = body_parameters[SPRUNG_MASS]
    if sprung_mass > 0.0:
        stiffness = body_parameters[SPRUNG_STIFFNESS]
        damping = body_parameters[SPRUNG_DAMPING]
        ux = stiffness * (body[SPRUNG] + half * body[SPRUNG_RATE]) + damping * body[SPRUNG_RATE]
        uy = stiffness * (body[SPRUNG + 1] + half * body[SPRUNG_RATE + 1]) + damping * body[SPRUNG_RATE + 1]
        uz = stiffness * (body[SPRUNG + 2] + half * body[SPRUNG_RATE + 2]) + damping * body[SPRUNG_RATE + 2]
        ax = body_parameters[SPRUNG_POSITION] + body[SPRUNG]
        ay = body_parameters[SPRUNG_POSITION + 1] + body[SPRUNG + 1]
        az = body_parameters[SPRUNG_POSITION + 2] + body[SPRUNG + 2]
        fx += ux
        fy += uy
        fz += uz
        mx += ay * uz - az * uy
        my += az * ux - ax * uz
        mz += ax * uy - ay * ux

    drawn = 0.0
    returned = 0.0
    for i in range(links.shape[0]):
        dx = px - link_parameters[i, BASE_JOINT]
        dy = py - link_parameters[i, BASE_JOINT + 1]
        dz = pz - link_parameters[i, BASE_JOINT + 2]
        ax = link_parameters[i, TABLE_JOINT]
        ay = link_parameters[i, TABLE_JOINT + 1]
        az = link_parameters[i, TABLE_JOINT + 2]
        ex = r11 * dx + r21 * dy + r31 * dz + ax
        ey = r12 * dx + r22 * dy + r32 * dz + ay
        ez = r13 * dx + r23 * dy + r33 * dz + az
        length = math.sqrt(ex * ex + ey * ey + ez * ez)
        scale = 1.0 / length
        ex *= scale
        ey *= scale
        ez *= scale
        tx = ay * ez - az * ey
        ty = az * ex - ax * ez
        tz = ax * ey - ay * ex
        rate = ex * vx + ey * vy + ez * vz + tx * wx + ty * wy + tz * wz
        opening = move_spool(links, link_parameters, i, valve_commands[i], step)
        taken, given = move_oil(
            links,
            link_parameters,
            i,
            length,
            rate,
            opening,
            supply[SUPPLY_PRESSURE],
            supply_parameters[RETURN_PRESSURE],
            step,
        )
        drawn += taken
        returned += given
        force = links[i, FORCE]
        fx += force * ex
        fy += force * ey
        fz += force * ez
        mx += force * tx
        my += force * ty
        mz += force * tz
        links[i, LENGTH] = length
        unit_vectors[i, 0] = ex
        unit_vectors[i, 1] = ey
        unit_vectors[i, 2] = ez
        unit_vectors[i, 3] = tx
        unit_vectors[i, 4] = ty
        unit_vectors[i, 5] = tz
    supply[DRAWN] += drawn
    supply[RETURNED] += returned

    # Newton–Euler about C in P: M [dv; dw] = wrench − bias, with v the components of a moving frame.
    cx = wy * vz - wz * vy
    cy = wz * vx - wx * vz
    cz = wx * vy - wy * vx
    ox = wy * sz - wz * sy
    oy = wz * sx - wx * sz
    oz = wx * sy - wy * sx
    hx = body_parameters[INERTIA] * wx + body_parameters[INERTIA + 1] * wy + body_parameters[INERTIA + 2] * wz
    hy = (
        body_parameters[INERTIA + 3] * wx
        + body_parameters[INERTIA + 4] * wy
        + body_parameters[INERTIA + 5] * wz
    )
    hz = (
        body_parameters[INERTIA + 6] * wx
        + body_parameters[INERTIA + 7] * wy
        + body_parameters[INERTIA + 8] * wz
    )
    fx -= mass * cx + wy * oz - wz * oy
    fy -= mass * cy + wz * ox - wx * oz
    fz -= mass * cz + wx * oy - wy * ox
    mx -= wy * hz - wz * hy + sy * cz - sz * cy
    my -= wz * hx - wx * hz + sz * cx - sx * cz
    mz -= wx * hy - wy * hx + sx * cy - sy * cx
    for j in range(6):
        row = INVERSE_MASS + 6 * j
        body[ACCELERATION + j] = (
            body_parameters[row] * fx
            + body_parameters[row + 1] * fy
            + body_parameters[row + 2] * fz
            + body_parameters[row + 3] * mx
            + body_parameters[row + 4] * my
            + body_parameters[row + 5] * mz
        )
        body[TWIST + j] += step * body[ACCELERATION + j]
    body[ACCELERATION] += cx
    body[ACCELERATION + 1] += cy
    body[ACCELERATION + 2] += cz
    if sprung_mass > 0.0:
        _move_sprung(body, body_parameters, gx, gy, gz, step)

    nx = body[TWIST]
    ny = body[TWIST + 1]
    nz = body[TWIST + 2]
    body[POSITION] = px + half * (r11 * nx + r12 * ny + r13 * nz)
    body[POSITION + 1] = py + half * (r21 * nx + r22 * ny + r23 * nz)
    body[POSITION + 2] = pz + half * (r31 * nx + r32 * ny + r33 * nz)
    turn(body, half)
    for i in range(links.shape[0]):
        rate = 0.0
        for j in range(6):
            rate += unit_vectors[i, j] * body[TWIST + j]
        links[i, LENGTH_RATE] = rate
        links[i, LENGTH] += half * rate


@fused_kernel
def _move_sprung(
    body: FloatArray, parameters: FloatArray, gx: float, gy: float, gz: float, step: float
) -> None:
    """Advance the sprung share of the payload: a point mass on equal springs along the axes of P."""
    wx = body[TWIST + 3]
    wy = body[TWIST + 4]
    wz = body[TWIST + 5]
    bx = body[ACCELERATION + 3]
    by = body[ACCELERATION + 4]
    bz = body[ACCELERATION + 5]
    rx = parameters[SPRUNG_POSITION] + body[SPRUNG]
    ry = parameters[SPRUNG_POSITION + 1] + body[SPRUNG + 1]
    rz = parameters[SPRUNG_POSITION + 2] + body[SPRUNG + 2]
    dx = body[SPRUNG_RATE]
    dy = body[SPRUNG_RATE + 1]
    dz = body[SPRUNG_RATE + 2]
    # Twice the relative velocity (Coriolis) and once the carried one, turned by the angular velocity.
    ux = wy * rz - wz * ry + 2.0 * dx
    uy = wz * rx - wx * rz + 2.0 * dy
    uz = wx * ry - wy * rx + 2.0 * dz
    carried_x = body[ACCELERATION] + by * rz - bz * ry + wy * uz - wz * uy
    carried_y = body[ACCELERATION + 1] + bz * rx - bx * rz + wz * ux - wx * uz
    carried_z = body[ACCELERATION + 2] + bx * ry - by * rx + wx * uy - wy * ux
    stiffness = parameters[SPRUNG_STIFFNESS] / parameters[SPRUNG_MASS]
    damping = parameters[SPRUNG_DAMPING] / parameters[SPRUNG_MASS]
    half = 0.5 * step
    new_x = dx + step * (gx - carried_x - stiffness * (body[SPRUNG] + half * dx) - damping * dx)
    new_y = dy + step * (gy - carried_y - stiffness * (body[SPRUNG + 1] + half * dy) - damping * dy)
    new_z = dz + step * (gz - carried_z - stiffness * (body[SPRUNG + 2] + half * dz) - damping * dz)
    body[SPRUNG] += half * (dx + new_x)
    body[SPRUNG + 1] += half * (dy + new_y)
    body[SPRUNG + 2] += half * (dz + new_z)
    body[SPRUNG_RATE] = new_x
    body[SPRUNG_RATE + 1] = new_y
    body[SPRUNG_RATE + 2] = new_z
