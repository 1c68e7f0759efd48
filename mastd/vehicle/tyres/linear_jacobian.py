"""Derivatives of the tyres' forces, of the spins and of the friction brakes; weights and variations as in
``spring_jacobian`` and ``inertia_jacobian``.

The force of a linear tyre depends on six numbers: the height, the two slip speeds, the rate of the height,
the spin, and the direction in which the wheel points. Each gives one column of forces times one row of
variations.
"""

from __future__ import annotations

from typing import NamedTuple

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.lanes import broadcast, load, select
from mastd.vehicle.blocks.fields import CLOCK, WHEEL
from mastd.vehicle.blocks.matrix_blocks import Weights, add, add_cross, add_cross_cross, add_product
from mastd.vehicle.blocks.rates import vector_rate
from mastd.vehicle.blocks.vectors import Triple, cross, dot, load3, scaled, to_frame
from mastd.vehicle.blocks.wheels import WheelBlocks, WheelColumns
from mastd.vehicle.magic_formula.formula import DAMPING_DEPTH
from mastd.vehicle.tyres.linear import (
    damping_factor,
    holding,
    rolling_axes,
    slip_speed,
)
from mastd.vehicle.tyres.motion import WheelMotion, up_axis


class Lever(NamedTuple):
    """How a tyre's force acts on carrier and spin."""

    arm: Triple
    axis: Triple
    down: Triple
    """From the wheel centre to the contact."""
    loose: float
    """1, or 0 where the brake holds and the spin takes no part of the moment."""


class Slopes(NamedTuple):
    """Derivatives of a linear tyre's force."""

    by_load: Triple
    """(F_x / F_z, F_y / F_z, 1)."""
    by_forward: Triple
    by_lateral: Triple
    by_spin: Triple
    by_yaw: Triple


@fused_kernel
def linear_jacobian(
    car: WheelBlocks, cells: FloatArray, at: WheelColumns, motion: WheelMotion, weights: Weights
) -> None:
    """Add the derivatives of ``linear_forces`` by shift and rotation of the carrier and by the spin."""
    wheels, wheel, axis = car.wheels, at.wheel, motion.axis
    up = up_axis(car.frame)
    held = holding(wheels, wheel)
    lever = Lever(motion.arm, axis, scaled(-motion.height, up), 1.0 - held)
    _slip_columns(car, cells, at, motion, lever, weights)
    p0, p1, p2 = load3(wheels, wheel, WHEEL.chock_force)
    force = load3(wheels, wheel, WHEEL.tyre_force)
    p0, p1, p2 = to_frame(car.frame, p0, p1, p2)
    pushed = force[0] + p0, force[1] + p1, force[2] + p2
    b, displacement = at.carrier, weights.displacement
    add_cross_cross(cells, at.first, at.size, b + 3, b + 3, broadcast(-displacement), pushed, motion.arm)
    _lever_columns(wheels, cells, at, lever, up, motion.m, displacement)
    _held_spin(car, cells, at, axis, held, weights)
    _gyroscopic(car, cells, at, lever, weights)


@fused_kernel
def _slopes(wheels: FloatArray, wheel: int, motion: WheelMotion, e: Triple, s: Triple, up: Triple) -> Slopes:
    w, normal_force = motion.velocity, load(wheels, wheel, WHEEL.load)
    forward = dot(e[0], e[1], e[2], w[0], w[1], w[2])
    lateral = dot(s[0], s[1], s[2], w[0], w[1], w[2])
    speed = slip_speed(wheels, wheel, forward)
    radius, turning = load(wheels, wheel, WHEEL.rolling_radius), load(wheels, wheel, WHEEL.spin)
    friction = load(wheels, wheel, WHEEL.friction)
    slope_x = -friction * load(wheels, wheel, WHEEL.slip_stiffness) / speed
    slope_y = -friction * load(wheels, wheel, WHEEL.cornering_stiffness) / speed
    slip = forward - turning * radius
    by_load = _combined(slope_x * slip, e, slope_y * lateral, s, up, 1.0)
    moving = select(speed - load(wheels, wheel, WHEEL.min_speed), broadcast(1.0), broadcast(0.0))
    sign = select(forward, broadcast(1.0), -broadcast(1.0)) * moving / speed
    by_forward = _combined(
        normal_force * (slope_x - slope_x * slip * sign),
        e,
        -normal_force * slope_y * lateral * sign,
        s,
        up,
        0.0,
    )
    by_lateral = scaled(normal_force * slope_y, s)
    by_spin = scaled(-normal_force * slope_x * radius, e)
    f_x, f_y = normal_force * slope_x * slip, normal_force * slope_y * lateral
    # The wheel points elsewhere by dψ: e turns by +s dψ, s by −e dψ.
    by_yaw = _combined(-forward, by_lateral, lateral, by_forward, up, 0.0)
    by_yaw = (
        by_yaw[0] + f_x * s[0] - f_y * e[0],
        by_yaw[1] + f_x * s[1] - f_y * e[1],
        by_yaw[2] + f_x * s[2] - f_y * e[2],
    )
    return Slopes(by_load, by_forward, by_lateral, by_spin, by_yaw)


@fused_kernel
def _slip_columns(
    car: WheelBlocks, cells: FloatArray, at: WheelColumns, motion: WheelMotion, lever: Lever, weights: Weights
) -> None:
    """Add the columns of height, slip speeds, rate of the height, spin and heading."""
    wheels, wheel, arm, axis = car.wheels, at.wheel, motion.arm, motion.axis
    m, w, height = motion.m, motion.velocity, motion.height
    velocity, displacement = weights.velocity, weights.displacement
    up = up_axis(car.frame)
    e, s, inverse = rolling_axes(axis, up)
    # Derivatives of the load vanish off the ground.
    zero, one = broadcast(0.0), broadcast(1.0)
    on = select(load(wheels, wheel, WHEEL.load), one, zero)
    slopes = _slopes(wheels, wheel, motion, e, s, up)
    stiffness, damping = load(wheels, wheel, WHEEL.tyre_stiffness), load(wheels, wheel, WHEEL.tyre_damping)
    factor = damping_factor(load(wheels, wheel, WHEEL.free_radius) - height)
    closing = dot(m[0], m[1], m[2], w[0], w[1], w[2])
    # At the first touch the damping grows with the depth.
    stiffness = stiffness - select(one - factor, damping * closing * (1.0 / DAMPING_DEPTH), zero)
    damping = damping * factor
    r0, r1, r2 = vector_rate(car.local_bodies, at.local, arm)
    nothing = zero, zero, zero
    for force, direction, level in (
        (scaled(-on * stiffness, slopes.by_load), m, 0),
        (slopes.by_forward, e, 1),
        (slopes.by_lateral, s, 1),
        (scaled(-on * damping, slopes.by_load), m, 1),
    ):
        weight = displacement if level == 0 else velocity
        x, y, z = cross(arm[0], arm[1], arm[2], direction[0], direction[1], direction[2])
        rotation = scaled(weight, (x, y, z))
        if level == 1:
            u, v, q = cross(r0, r1, r2, direction[0], direction[1], direction[2])
            rotation = (
                rotation[0] + displacement * u,
                rotation[1] + displacement * v,
                rotation[2] + displacement * q,
            )
        _tyre_column(cells, at, lever, force, scaled(weight, direction), rotation, zero)
    _tyre_column(cells, at, lever, slopes.by_spin, nothing, nothing, broadcast(velocity))
    a_e = cross(axis[0], axis[1], axis[2], e[0], e[1], e[2])
    yaw = scaled(-displacement * inverse, a_e)
    _tyre_column(cells, at, lever, slopes.by_yaw, nothing, yaw, zero)


@fused_kernel
def _gyroscopic(
    car: WheelBlocks, cells: FloatArray, at: WheelColumns, lever: Lever, weights: Weights
) -> None:
    """Add the inertia of the spin and the gyroscopic moment."""
    first, size, b, spin = at.first, at.size, at.carrier, at.spin
    velocity, axis = weights.velocity, lever.axis
    inertia = load(car.wheels, at.wheel, WHEEL.axial_inertia)
    add(cells, first + spin * size + spin, weights.acceleration * lever.loose * inertia)
    x, y, z = vector_rate(car.local_bodies, at.local, axis)
    momentum = inertia * load(car.wheels, at.wheel, WHEEL.spin)
    add_cross(cells, first, size, b + 3, b + 3, -weights.displacement * momentum, (x, y, z))
    add_cross(cells, first, size, b + 3, b + 3, -velocity * momentum, axis)
    for k, part in enumerate((x, y, z)):
        add(cells, first + (b + 3 + k) * size + spin, velocity * inertia * part)


@fused_kernel
def _held_spin(
    car: WheelBlocks, cells: FloatArray, at: WheelColumns, axis: Triple, held: float, weights: Weights
) -> None:
    """Add what a brake that holds makes of the spin's equation: the wheel follows its carrier, whose moment
    of inertia about the wheel's axis grows by the wheel's."""
    first, size, b, spin = at.first, at.size, at.carrier, at.spin
    velocity = weights.velocity
    inertia = held * load(car.wheels, at.wheel, WHEEL.axial_inertia)
    scale = inertia * (1.0 / car.clock[CLOCK.reach])
    # Of ω · a, ω and a both turn with the carrier: only their own change is left.
    row = scaled(velocity * scale, axis)
    for k in range(3):
        add(cells, first + spin * size + b + 3 + k, -row[k])
        for n in range(3):
            add(cells, first + (b + 3 + k) * size + b + 3 + n, axis[k] * row[n])
    add(cells, first + spin * size + spin, velocity * scale)
    for k in range(3):
        coupling = (weights.acceleration * inertia - velocity * scale) * axis[k]
        add(cells, first + (b + 3 + k) * size + spin, coupling)


@fused_kernel
def _combined(a: float, u: Triple, b: float, v: Triple, w: Triple, c: float) -> Triple:
    return a * u[0] + b * v[0] + c * w[0], a * u[1] + b * v[1] + c * w[1], a * u[2] + b * v[2] + c * w[2]


@fused_kernel
def _tyre_column(
    cells: FloatArray,
    at: WheelColumns,
    lever: Lever,
    force: Triple,
    translation: Triple,
    rotation: Triple,
    d_spin: float,
) -> None:
    """Add −(force and its moments) times the row (translation, rotation, d_spin) of variations."""
    first, size, b, spin = at.first, at.size, at.carrier, at.spin
    arm, axis, down = lever.arm, lever.axis, lever.down
    x, y, z = cross(down[0], down[1], down[2], force[0], force[1], force[2])
    axial = lever.loose * dot(x, y, z, axis[0], axis[1], axis[2])
    u, v, w = cross(arm[0], arm[1], arm[2], force[0], force[1], force[2])
    moment = -(x + u - axial * axis[0]), -(y + v - axial * axis[1]), -(z + w - axial * axis[2])
    push = -force[0], -force[1], -force[2]
    add_product(cells, first, size, b, b, push, translation)
    add_product(cells, first, size, b, b + 3, push, rotation)
    add_product(cells, first, size, b + 3, b, moment, translation)
    add_product(cells, first, size, b + 3, b + 3, moment, rotation)
    for k in range(3):
        add(cells, first + (b + k) * size + spin, push[k] * d_spin)
        add(cells, first + (b + 3 + k) * size + spin, moment[k] * d_spin)
        add(cells, first + spin * size + b + k, -axial * translation[k])
        add(cells, first + spin * size + b + 3 + k, -axial * rotation[k])
    add(cells, first + spin * size + spin, -axial * d_spin)


@fused_kernel
def _lever_columns(
    wheels: FloatArray,
    cells: FloatArray,
    at: WheelColumns,
    lever: Lever,
    up: Triple,
    m: Triple,
    displacement: float,
) -> None:
    """Add what the same force does as its lever changes: height, arm and spin axis."""
    first, size, b, spin = at.first, at.size, at.carrier, at.spin
    arm, axis, down, loose = lever.arm, lever.axis, lever.down, lever.loose
    force = load3(wheels, at.wheel, WHEEL.tyre_force)
    x, y, z = cross(up[0], up[1], up[2], force[0], force[1], force[2])
    axial = loose * dot(x, y, z, axis[0], axis[1], axis[2])
    moment = x - axial * axis[0], y - axial * axis[1], z - axial * axis[2]
    translation = scaled(displacement, m)
    rotation = scaled(displacement, cross(arm[0], arm[1], arm[2], m[0], m[1], m[2]))
    add_product(cells, first, size, b + 3, b, moment, translation)
    add_product(cells, first, size, b + 3, b + 3, moment, rotation)
    for k in range(3):
        add(cells, first + spin * size + b + k, axial * translation[k])
        add(cells, first + spin * size + b + 3 + k, axial * rotation[k])
    whole = cross(down[0], down[1], down[2], force[0], force[1], force[2])
    rest = dot(whole[0], whole[1], whole[2], axis[0], axis[1], axis[2])
    rest = rest + load(wheels, at.wheel, WHEEL.motor_torque) + load(wheels, at.wheel, WHEEL.brake_torque)
    u = scaled(displacement * loose, cross(axis[0], axis[1], axis[2], whole[0], whole[1], whole[2]))
    add_product(cells, first, size, b + 3, b + 3, axis, u)
    add_cross(cells, first, size, b + 3, b + 3, -displacement * rest, axis)
    for k in range(3):
        add(cells, first + spin * size + b + 3 + k, -u[k])
