"""The linear tyre, the wheel's spin, and its friction brake.

c: wheel centre, a: spin axis (points left), n: up, h: height of c above the ground below it, w: velocity of c
against the ground there. With the ground's slope g the rates of the height are m · w, m = n − g:

    F_z = max(0, k (r₀ − h) − d s m·w), 0 where h > r₀;  s = min(1, (r₀ − h) / 1 mm)
    e_x = a × n / |a × n|, e_y = n × e_x
    F_x = −c_κ F_z (w·e_x − Ω r_e) / v,  F_y = −c_α F_z w·e_y / v,  v = max(|w·e_x|, v_least)

Without s, which is 1 for every wheel that carries a load worth speaking of, a wheel that lands would be
pushed up by d m·w at once; a step that ends in that very instant has no solution. The force acts at c − h n.
The slip's stiffness goes as 1 / v and is taken implicitly, which is why the car stands still without special
cases.

The spin Ω is the wheel's whole angular velocity about a. With the angular momentum J̄ω + I Ω a of carrier and
wheel (J̄ without the wheel's axial inertia I), and M the tyre force's moment about the wheel centre: I dΩ/dt
= M·a + drive + brake, and the carrier takes the rest of M, the gyroscopic moment −ω × I Ω a and the brake's
reaction. The drive torque's reaction acts on the chassis.
"""

from __future__ import annotations

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.lanes import load, root, select, splat, store
from mastd.vehicle.blocks import fields as f
from mastd.vehicle.blocks.rates import vector_rate
from mastd.vehicle.blocks.vectors import Triple, cross, decrease, dot, increase, put, take, to_frame, turned
from mastd.vehicle.magic_formula.formula import DAMPING_DEPTH
from mastd.vehicle.state.arrays import Arrays
from mastd.vehicle.state.grouping import CHASSIS
from mastd.vehicle.tyres.magic import magic_forces


@fused_kernel
def contact_points(car: Arrays, group: int) -> None:
    """Write the present wheel centre of a group, in inertial axes, as the point to look the ground up for."""
    line = car.groups[group]
    wheel = line[f.G_WHEEL]
    if wheel < 0:
        return
    body = line[f.G_FIRST_BODY] + line[f.G_CARRIER_SLOT] - line[f.G_JOINED]
    x, y, z = take(car.wheels, wheel, f.W_CENTRE)
    p0, p1, p2 = turned(car.bodies, body, f.ROTATION, x, y, z)
    x, y, z = take(car.bodies, body, f.POSITION)
    put(car.wheels, wheel, f.CONTACT, x + p0, y + p1, z + p2)


@fused_kernel
def up_axis(frame: FloatArray) -> Triple:
    """Return the inertial z axis in the axes of the frame, in lanes."""
    return splat(frame[6]), splat(frame[7]), splat(frame[8])


@fused_kernel
def wheel_place(
    wheels: FloatArray, slots: FloatArray, bodies: FloatArray, frame: FloatArray, wheel: int, slot: int
) -> tuple[Triple, Triple, Triple, float, Triple]:
    """Return arm, spin axis, velocity against the ground, height above it, and m of the wheel centre."""
    x, y, z = take(wheels, wheel, f.W_CENTRE)
    arm = turned(slots, slot, f.S_ROTATION, x, y, z)
    x, y, z = take(wheels, wheel, f.W_AXIS)
    axis = turned(slots, slot, f.S_ROTATION, x, y, z)
    g0, g1 = load(wheels, wheel, f.SLOPE), load(wheels, wheel, f.SLOPE + 1)
    m = to_frame(frame, -g0, -g1, splat(1.0))
    x, y, z = take(slots, slot, f.S_POSITION)
    u, v, w = take(wheels, wheel, f.CONTACT)
    c0, c1, c2 = take(bodies, CHASSIS, f.POSITION)
    p0, p1, p2 = to_frame(frame, u - c0, v - c1, w - c2)
    height = load(wheels, wheel, f.HEIGHT)
    height = height + dot(m[0], m[1], m[2], x + arm[0] - p0, y + arm[1] - p1, z + arm[2] - p2)
    x, y, z = take(slots, slot, f.S_VELOCITY)
    r0, r1, r2 = vector_rate(slots, slot, arm)
    u, v, w = take(wheels, wheel, f.GROUND_VELOCITY)
    p0, p1, p2 = to_frame(frame, u, v, w)
    return arm, axis, (x + r0 - p0, y + r1 - p1, z + r2 - p2), height, m


@fused_kernel
def rolling_axes(axis: Triple, up: Triple) -> tuple[Triple, Triple, float]:
    """Return e_x, e_y and 1 / |a × n|."""
    x, y, z = cross(axis[0], axis[1], axis[2], up[0], up[1], up[2])
    inverse = 1.0 / root(dot(x, y, z, x, y, z))
    forward = x * inverse, y * inverse, z * inverse
    return forward, cross(up[0], up[1], up[2], forward[0], forward[1], forward[2]), inverse


@fused_kernel
def wheel_load(wheels: FloatArray, wheel: int, height: float, sinking: float) -> float:
    """Return F_z for a height of the centre and m · w."""
    depth = load(wheels, wheel, f.FREE_RADIUS) - height
    share = damping_share(depth)
    force = load(wheels, wheel, f.TYRE_STIFFNESS) * depth
    force = force - load(wheels, wheel, f.TYRE_DAMPING) * share * sinking
    zero = splat(0.0)
    # A number that is not one must come through: only what is certainly not above zero becomes zero.
    pressed = select(-force, zero, force)
    return select(-depth, zero, pressed)


@fused_kernel
def damping_share(depth: float) -> float:
    """Return s, the share of the tyre's damping that acts at a depth of contact (m)."""
    share = depth * (1.0 / DAMPING_DEPTH)
    return select(share - 1.0, splat(1.0), share)


@fused_kernel
def slip_speed(wheels: FloatArray, wheel: int, forward: float) -> float:
    """Return v = max(|w · e_x|, v_least)."""
    size = select(-forward, -forward, forward)
    least = load(wheels, wheel, f.MIN_SPEED)
    return select(least - size, least, size)


@fused_kernel
def friction_torque(wheels: FloatArray, wheel: int, reach: float, stopping: float, others: float) -> float:
    """Return the torque of the friction brake, forwards positive: what stops the wheel against its carrier by
    the end of the step, as far as the brake's capacity reaches.

    ``stopping``: spin of the carrier about the wheel's axis minus that of the wheel (rad/s); ``others``: all
    other torques on the wheel (N m); ``reach``: change of a speed per change of its acceleration (s).
    """
    wanted = load(wheels, wheel, f.SPIN_ACCELERATION) + stopping * (1.0 / reach)
    needed = load(wheels, wheel, f.AXIAL_INERTIA) * wanted - others
    capacity = load(wheels, wheel, f.BRAKE_CAPACITY)
    needed = select(needed - capacity, capacity, needed)
    # A capacity that is no number must come through.
    return select(-capacity - needed, -capacity, needed) + 0.0 * capacity


@fused_kernel
def holding(wheels: FloatArray, wheel: int) -> float:
    """Return 1 where the friction brake holds the wheel against its carrier, 0 where it slips or is open."""
    torque, capacity = load(wheels, wheel, f.BRAKE_FRICTION), load(wheels, wheel, f.BRAKE_CAPACITY)
    size = select(torque, torque, -torque)
    return select(capacity - size, splat(1.0), splat(0.0))


@fused_kernel
def tyre_forces(car: Arrays, group: int) -> None:
    """Add a group's tyre forces and the moments of its wheels' spin; write the out-of-balance spin
    moments."""
    line = car.groups[group]
    wheel = line[f.G_WHEEL]
    if wheel < 0:
        return
    slot = line[f.G_FIRST_SLOT] + line[f.G_CARRIER_SLOT]
    arm, axis, w, height, m = wheel_place(car.wheels, car.slots, car.bodies, car.frame, wheel, slot)
    store(car.wheels, wheel, f.TYRE_HEIGHT, height)
    if line[f.G_TYRE] == f.MAGIC_TYRE:
        put(car.wheels, wheel, f.PLACE_ARM, arm[0], arm[1], arm[2])
        put(car.wheels, wheel, f.PLACE_AXIS, axis[0], axis[1], axis[2])
        put(car.wheels, wheel, f.PLACE_VELOCITY, w[0], w[1], w[2])
        put(car.wheels, wheel, f.PLACE_NORMAL, m[0], m[1], m[2])
        magic_forces(car.wheels, car.slots, car.tyres, car.frame, car.clock, car.weights, group, wheel, slot)
    else:
        _linear_forces(car, wheel, slot, arm, axis, w, height, m)
    drive = load(car.wheels, wheel, f.DRIVE_TORQUE)
    increase(
        car.slots,
        line[f.G_FIRST_SLOT],
        f.S_MOMENT,
        drive * axis[0],
        drive * axis[1],
        drive * axis[2],
    )


@fused_kernel
def _linear_forces(
    car: Arrays, wheel: int, slot: int, arm: Triple, axis: Triple, w: Triple, height: float, m: Triple
) -> None:
    up = up_axis(car.frame)
    e, s, _ = rolling_axes(axis, up)
    spin = load(car.wheels, wheel, f.SPIN)
    pressed = wheel_load(car.wheels, wheel, height, dot(m[0], m[1], m[2], w[0], w[1], w[2]))
    forward = dot(e[0], e[1], e[2], w[0], w[1], w[2])
    sideways = dot(s[0], s[1], s[2], w[0], w[1], w[2])
    share = load(car.wheels, wheel, f.FRICTION) * pressed / slip_speed(car.wheels, wheel, forward)
    slip = forward - spin * load(car.wheels, wheel, f.ROLLING_RADIUS)
    along = -load(car.wheels, wheel, f.SLIP_STIFFNESS) * share * slip
    across = -load(car.wheels, wheel, f.CORNERING_STIFFNESS) * share * sideways
    fx = along * e[0] + across * s[0] + pressed * up[0]
    fy = along * e[1] + across * s[1] + pressed * up[1]
    fz = along * e[2] + across * s[2] + pressed * up[2]
    store(car.wheels, wheel, f.LOAD, pressed)
    store(car.wheels, wheel, f.CONTACT_FORCE, along)
    store(car.wheels, wheel, f.CONTACT_FORCE + 1, across)
    put(car.wheels, wheel, f.TYRE_FORCE, fx, fy, fz)
    m0, m1, m2 = cross(-height * up[0], -height * up[1], -height * up[2], fx, fy, fz)
    put(car.wheels, wheel, f.TYRE_MOMENT, m0, m1, m2)
    axial = dot(m0, m1, m2, axis[0], axis[1], axis[2])
    drive, motor = load(car.wheels, wheel, f.DRIVE_TORQUE), load(car.wheels, wheel, f.MOTOR_TORQUE)
    inertia = load(car.wheels, wheel, f.AXIAL_INERTIA)
    x, y, z = take(car.slots, slot, f.S_ANGULAR)
    stopping = dot(x, y, z, axis[0], axis[1], axis[2]) - spin
    friction = friction_torque(car.wheels, wheel, car.clock[f.C_REACH], stopping, axial + drive + motor)
    store(car.wheels, wheel, f.BRAKE_FRICTION, friction)
    on_carrier = motor + friction
    store(
        car.wheels,
        wheel,
        f.SPIN_RESIDUAL,
        inertia * load(car.wheels, wheel, f.SPIN_ACCELERATION) - axial - drive - on_carrier,
    )
    p0, p1, p2 = take(car.wheels, wheel, f.PUSH)
    p0, p1, p2 = to_frame(car.frame, p0, p1, p2)
    fx, fy, fz = fx + p0, fy + p1, fz + p2
    t0, t1, t2 = cross(arm[0], arm[1], arm[2], fx, fy, fz)
    rest = axial + on_carrier
    momentum = inertia * spin
    g0, g1, g2 = vector_rate(car.slots, slot, axis)
    decrease(car.slots, slot, f.S_FORCE, fx, fy, fz)
    decrease(
        car.slots,
        slot,
        f.S_MOMENT,
        t0 + m0 - rest * axis[0] - momentum * g0,
        t1 + m1 - rest * axis[1] - momentum * g1,
        t2 + m2 - rest * axis[2] - momentum * g2,
    )
