"""Derivatives of the tyres' forces, of the spins and of the friction brakes; weights and variations as in
``force_jacobian``."""

from __future__ import annotations

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.lanes import broadcast, load, select
from mastd.vehicle.blocks.columns import column_of
from mastd.vehicle.blocks.fields import CLOCK, GROUP, MAGIC_TYRE, WHEEL
from mastd.vehicle.blocks.matrix_blocks import add, add_cross, add_cross_cross, add_product
from mastd.vehicle.blocks.rates import vector_rate
from mastd.vehicle.blocks.vectors import Triple, cross, dot, load3, scaled, to_frame
from mastd.vehicle.magic_formula.formula import DAMPING_DEPTH
from mastd.vehicle.state.arrays import Arrays
from mastd.vehicle.tyres.linear import (
    damping_share,
    holding,
    rolling_axes,
    slip_speed,
    up_axis,
    wheel_place,
)
from mastd.vehicle.tyres.magic import magic_jacobian


@fused_kernel
def tyre_jacobian(
    car: Arrays, cells: FloatArray, group: int, acceleration: float, velocity: float, displacement: float
) -> None:
    """Add stiffness, damping and slip of a group's tyres, and the inertia and gyroscopic terms of the spins.

    The tyre force depends on six numbers: the height, the two slip speeds, the rate of the height, the spin,
    and the direction in which the wheel points. Each gives one column of forces times one row of variations.
    """
    line, wheels = car.groups[group], car.wheels
    wheel = line[GROUP.wheel]
    if wheel < 0:
        return
    first, size = line[GROUP.first_cell], line[GROUP.size]
    local = line[GROUP.first_local] + line[GROUP.carrier]
    b, spin = column_of(line, line[GROUP.carrier]), line[GROUP.spin_unknown]
    arm, axis, w, height, m = wheel_place(wheels, car.local_bodies, car.bodies, car.frame, wheel, local)
    drive = load(wheels, wheel, WHEEL.drive_torque)
    add_cross(cells, first, size, column_of(line, 0) + 3, b + 3, -displacement * drive, axis)
    if line[GROUP.tyre] == MAGIC_TYRE:
        place = (wheel, local, first, size, b, spin)
        magic_jacobian(
            wheels,
            car.local_bodies,
            car.tyres,
            car.frame,
            car.clock,
            cells,
            place,
            acceleration,
            velocity,
            displacement,
        )
        return
    up = up_axis(car.frame)
    e, s, inverse = rolling_axes(axis, up)
    pressed = load(wheels, wheel, WHEEL.load)
    # Derivatives of the load vanish off the ground.
    zero, one = broadcast(0.0), broadcast(1.0)
    on = select(pressed, one, zero)
    forward = dot(e[0], e[1], e[2], w[0], w[1], w[2])
    sideways = dot(s[0], s[1], s[2], w[0], w[1], w[2])
    speed = slip_speed(wheels, wheel, forward)
    radius, turning = load(wheels, wheel, WHEEL.rolling_radius), load(wheels, wheel, WHEEL.spin)
    share_of_ground = load(wheels, wheel, WHEEL.friction)
    along = -share_of_ground * load(wheels, wheel, WHEEL.slip_stiffness) / speed
    across = -share_of_ground * load(wheels, wheel, WHEEL.cornering_stiffness) / speed
    held = holding(wheels, wheel)
    loose = 1.0 - held
    slip = forward - turning * radius
    # By load: (F_x / F_z, F_y / F_z, 1).
    by_load = _combined(along * slip, e, across * sideways, s, up, 1.0)
    moving = select(speed - load(wheels, wheel, WHEEL.min_speed), one, zero)
    sign = select(forward, one, -one) * moving / speed
    by_forward = _combined(
        pressed * (along - along * slip * sign), e, -pressed * across * sideways * sign, s, up, 0.0
    )
    by_sideways = scaled(pressed * across, s)
    by_spin = scaled(-pressed * along * radius, e)
    f_x, f_y = pressed * along * slip, pressed * across * sideways
    # The wheel points elsewhere by dψ: e turns by +s dψ, s by −e dψ.
    by_heading = _combined(-forward, by_sideways, sideways, by_forward, up, 0.0)
    by_heading = (
        by_heading[0] + f_x * s[0] - f_y * e[0],
        by_heading[1] + f_x * s[1] - f_y * e[1],
        by_heading[2] + f_x * s[2] - f_y * e[2],
    )
    stiffness, damping = load(wheels, wheel, WHEEL.tyre_stiffness), load(wheels, wheel, WHEEL.tyre_damping)
    share = damping_share(load(wheels, wheel, WHEEL.free_radius) - height)
    sinking = dot(m[0], m[1], m[2], w[0], w[1], w[2])
    # At the first touch the damping grows with the depth.
    stiffness = stiffness - select(one - share, damping * sinking * (1.0 / DAMPING_DEPTH), zero)
    damping = damping * share
    r0, r1, r2 = vector_rate(car.local_bodies, local, arm)
    nothing = zero, zero, zero
    down = scaled(-height, up)
    a_e = cross(axis[0], axis[1], axis[2], e[0], e[1], e[2])
    for force, direction, level in (
        (scaled(-on * stiffness, by_load), m, 0),
        (by_forward, e, 1),
        (by_sideways, s, 1),
        (scaled(-on * damping, by_load), m, 1),
    ):
        weight = displacement if level == 0 else velocity
        x, y, z = cross(arm[0], arm[1], arm[2], direction[0], direction[1], direction[2])
        turn = scaled(weight, (x, y, z))
        if level == 1:
            u, v, q = cross(r0, r1, r2, direction[0], direction[1], direction[2])
            turn = turn[0] + displacement * u, turn[1] + displacement * v, turn[2] + displacement * q
        _tyre_column(
            cells, first, size, b, spin, arm, axis, loose, down, force, scaled(weight, direction), turn, zero
        )
    _tyre_column(
        cells, first, size, b, spin, arm, axis, loose, down, by_spin, nothing, nothing, broadcast(velocity)
    )
    heading = scaled(-displacement * inverse, a_e)
    _tyre_column(cells, first, size, b, spin, arm, axis, loose, down, by_heading, nothing, heading, zero)
    p0, p1, p2 = load3(wheels, wheel, WHEEL.chock_force)
    force = load3(wheels, wheel, WHEEL.tyre_force)
    p0, p1, p2 = to_frame(car.frame, p0, p1, p2)
    pushed = force[0] + p0, force[1] + p1, force[2] + p2
    add_cross_cross(cells, first, size, b + 3, b + 3, broadcast(-displacement), pushed, arm)
    _lever(wheels, cells, first, size, b, spin, wheel, arm, axis, loose, up, down, m, displacement)
    _held_spin(car, cells, first, size, b, spin, wheel, axis, held, acceleration, velocity)
    inertia = load(wheels, wheel, WHEEL.axial_inertia)
    add(cells, first + spin * size + spin, acceleration * loose * inertia)
    x, y, z = vector_rate(car.local_bodies, local, axis)
    momentum = inertia * turning
    add_cross(cells, first, size, b + 3, b + 3, -displacement * momentum, (x, y, z))
    add_cross(cells, first, size, b + 3, b + 3, -velocity * momentum, axis)
    for k, part in enumerate((x, y, z)):
        add(cells, first + (b + 3 + k) * size + spin, velocity * inertia * part)


@fused_kernel
def _held_spin(
    car: Arrays,
    cells: FloatArray,
    first: int,
    size: int,
    b: int,
    spin: int,
    wheel: int,
    axis: Triple,
    held: float,
    acceleration: float,
    velocity: float,
) -> None:
    """Add what a brake that holds makes of the spin's equation: the wheel follows its carrier, whose moment
    of inertia about the wheel's axis grows by the wheel's."""
    inertia = held * load(car.wheels, wheel, WHEEL.axial_inertia)
    scale = inertia * (1.0 / car.clock[CLOCK.reach])
    # Of ω · a, ω and a both turn with the carrier: only their own change is left.
    row = scaled(velocity * scale, axis)
    for k in range(3):
        add(cells, first + spin * size + b + 3 + k, -row[k])
        for n in range(3):
            add(cells, first + (b + 3 + k) * size + b + 3 + n, axis[k] * row[n])
    add(cells, first + spin * size + spin, velocity * scale)
    for k in range(3):
        add(cells, first + (b + 3 + k) * size + spin, (acceleration * inertia - velocity * scale) * axis[k])


@fused_kernel
def _combined(a: float, u: Triple, b: float, v: Triple, w: Triple, c: float) -> Triple:
    return a * u[0] + b * v[0] + c * w[0], a * u[1] + b * v[1] + c * w[1], a * u[2] + b * v[2] + c * w[2]


@fused_kernel
def _tyre_column(
    cells: FloatArray,
    first: int,
    size: int,
    b: int,
    spin: int,
    arm: Triple,
    axis: Triple,
    loose: float,
    down: Triple,
    force: Triple,
    shift: Triple,
    turn: Triple,
    spinning: float,
) -> None:
    """Add −(force and its moments) times the row (shift, turn, spinning) of variations; ``loose``: 1, or 0
    where the brake holds and the spin takes no part of the moment."""
    x, y, z = cross(down[0], down[1], down[2], force[0], force[1], force[2])
    axial = loose * dot(x, y, z, axis[0], axis[1], axis[2])
    u, v, w = cross(arm[0], arm[1], arm[2], force[0], force[1], force[2])
    moment = -(x + u - axial * axis[0]), -(y + v - axial * axis[1]), -(z + w - axial * axis[2])
    push = -force[0], -force[1], -force[2]
    add_product(cells, first, size, b, b, push, shift)
    add_product(cells, first, size, b, b + 3, push, turn)
    add_product(cells, first, size, b + 3, b, moment, shift)
    add_product(cells, first, size, b + 3, b + 3, moment, turn)
    for k in range(3):
        add(cells, first + (b + k) * size + spin, push[k] * spinning)
        add(cells, first + (b + 3 + k) * size + spin, moment[k] * spinning)
        add(cells, first + spin * size + b + k, -axial * shift[k])
        add(cells, first + spin * size + b + 3 + k, -axial * turn[k])
    add(cells, first + spin * size + spin, -axial * spinning)


@fused_kernel
def _lever(
    wheels: FloatArray,
    cells: FloatArray,
    first: int,
    size: int,
    b: int,
    spin: int,
    wheel: int,
    arm: Triple,
    axis: Triple,
    loose: float,
    up: Triple,
    down: Triple,
    m: Triple,
    displacement: float,
) -> None:
    """Add what the same force does as its lever changes: height, arm and spin axis."""
    force = load3(wheels, wheel, WHEEL.tyre_force)
    x, y, z = cross(up[0], up[1], up[2], force[0], force[1], force[2])
    axial = loose * dot(x, y, z, axis[0], axis[1], axis[2])
    moment = x - axial * axis[0], y - axial * axis[1], z - axial * axis[2]
    shift = scaled(displacement, m)
    turn = scaled(displacement, cross(arm[0], arm[1], arm[2], m[0], m[1], m[2]))
    add_product(cells, first, size, b + 3, b, moment, shift)
    add_product(cells, first, size, b + 3, b + 3, moment, turn)
    for k in range(3):
        add(cells, first + spin * size + b + k, axial * shift[k])
        add(cells, first + spin * size + b + 3 + k, axial * turn[k])
    whole = cross(down[0], down[1], down[2], force[0], force[1], force[2])
    rest = dot(whole[0], whole[1], whole[2], axis[0], axis[1], axis[2])
    rest = rest + load(wheels, wheel, WHEEL.motor_torque) + load(wheels, wheel, WHEEL.brake_torque)
    u = scaled(displacement * loose, cross(axis[0], axis[1], axis[2], whole[0], whole[1], whole[2]))
    add_product(cells, first, size, b + 3, b + 3, axis, u)
    add_cross(cells, first, size, b + 3, b + 3, -displacement * rest, axis)
    for k in range(3):
        add(cells, first + spin * size + b + 3 + k, -u[k])
