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
from mastd.lanes import broadcast, load, select, sqrt, store
from mastd.vehicle.blocks.fields import CLOCK, LOCAL_BODY, WHEEL
from mastd.vehicle.blocks.rates import vector_rate
from mastd.vehicle.blocks.vectors import (
    Triple,
    cross,
    dot,
    load3,
    propagate_nan,
    store3,
    sub3,
    to_frame,
)
from mastd.vehicle.blocks.wheel_moments import Spin, SpinTorques, carrier_moment, spin_residual
from mastd.vehicle.blocks.wheels import WheelBlocks
from mastd.vehicle.magic_formula.formula import DAMPING_DEPTH
from mastd.vehicle.tyres.motion import WheelMotion, up_axis


@fused_kernel
def rolling_axes(axis: Triple, up: Triple) -> tuple[Triple, Triple, float]:
    """Return e_x, e_y and 1 / |a × n|."""
    x, y, z = cross(axis[0], axis[1], axis[2], up[0], up[1], up[2])
    inverse = 1.0 / sqrt(dot(x, y, z, x, y, z))
    forward = x * inverse, y * inverse, z * inverse
    return forward, cross(up[0], up[1], up[2], forward[0], forward[1], forward[2]), inverse


@fused_kernel
def wheel_load(wheels: FloatArray, wheel: int, height: float, closing: float) -> float:
    """Return F_z for a height of the centre and m · w."""
    depth = load(wheels, wheel, WHEEL.free_radius) - height
    factor = damping_factor(depth)
    force = load(wheels, wheel, WHEEL.tyre_stiffness) * depth
    force = force - load(wheels, wheel, WHEEL.tyre_damping) * factor * closing
    zero = broadcast(0.0)
    # A number that is not one must come through: only what is certainly not above zero becomes zero.
    normal_force = select(-force, zero, force)
    return select(-depth, zero, normal_force)


@fused_kernel
def damping_factor(depth: float) -> float:
    """Return s, the share of the tyre's damping that acts at a depth of contact (m)."""
    factor = depth * (1.0 / DAMPING_DEPTH)
    return select(factor - 1.0, broadcast(1.0), factor)


@fused_kernel
def slip_speed(wheels: FloatArray, wheel: int, forward: float) -> float:
    """Return v = max(|w · e_x|, v_least)."""
    magnitude = select(-forward, -forward, forward)
    min_speed = load(wheels, wheel, WHEEL.min_speed)
    return select(min_speed - magnitude, min_speed, magnitude)


@fused_kernel
def brake_torque(wheels: FloatArray, wheel: int, reach: float, stopping: float, others: float) -> float:
    """Return the torque of the friction brake, forwards positive: what stops the wheel against its carrier by
    the end of the step, as far as the brake's capacity reaches.

    ``stopping``: spin of the carrier about the wheel's axis minus that of the wheel (rad/s); ``others``: all
    other torques on the wheel (N m); ``reach``: change of a speed per change of its acceleration (s).
    """
    wanted = load(wheels, wheel, WHEEL.spin_acceleration) + stopping * (1.0 / reach)
    torque = load(wheels, wheel, WHEEL.axial_inertia) * wanted - others
    capacity = load(wheels, wheel, WHEEL.brake_capacity)
    torque = select(torque - capacity, capacity, torque)
    # A capacity that is no number must come through.
    return propagate_nan(select(-capacity - torque, -capacity, torque), capacity)


@fused_kernel
def holding(wheels: FloatArray, wheel: int) -> float:
    """Return 1 where the friction brake holds the wheel against its carrier, 0 where it slips or is open."""
    torque, capacity = load(wheels, wheel, WHEEL.brake_torque), load(wheels, wheel, WHEEL.brake_capacity)
    magnitude = select(torque, torque, -torque)
    return select(capacity - magnitude, broadcast(1.0), broadcast(0.0))


@fused_kernel
def linear_forces(car: WheelBlocks, wheel: int, local: int, motion: WheelMotion) -> None:
    """Add the force of one item of the wheels and the moments of its spin to its carriers; write forces and
    spin residuals."""
    arm, axis, w, height, m = motion
    up = up_axis(car.frame)
    e, s, _ = rolling_axes(axis, up)
    spin = load(car.wheels, wheel, WHEEL.spin)
    normal_force = wheel_load(car.wheels, wheel, height, dot(m[0], m[1], m[2], w[0], w[1], w[2]))
    forward = dot(e[0], e[1], e[2], w[0], w[1], w[2])
    lateral = dot(s[0], s[1], s[2], w[0], w[1], w[2])
    factor = load(car.wheels, wheel, WHEEL.friction) * normal_force / slip_speed(car.wheels, wheel, forward)
    slip = forward - spin * load(car.wheels, wheel, WHEEL.rolling_radius)
    force_x = -load(car.wheels, wheel, WHEEL.slip_stiffness) * factor * slip
    force_y = -load(car.wheels, wheel, WHEEL.cornering_stiffness) * factor * lateral
    fx = force_x * e[0] + force_y * s[0] + normal_force * up[0]
    fy = force_x * e[1] + force_y * s[1] + normal_force * up[1]
    fz = force_x * e[2] + force_y * s[2] + normal_force * up[2]
    store(car.wheels, wheel, WHEEL.load, normal_force)
    store(car.wheels, wheel, WHEEL.contact_force, force_x)
    store(car.wheels, wheel, WHEEL.contact_force + 1, force_y)
    store3(car.wheels, wheel, WHEEL.tyre_force, fx, fy, fz)
    m0, m1, m2 = cross(-height * up[0], -height * up[1], -height * up[2], fx, fy, fz)
    store3(car.wheels, wheel, WHEEL.tyre_moment, m0, m1, m2)
    axial = dot(m0, m1, m2, axis[0], axis[1], axis[2])
    drive, motor = load(car.wheels, wheel, WHEEL.drive_torque), load(car.wheels, wheel, WHEEL.motor_torque)
    inertia = load(car.wheels, wheel, WHEEL.axial_inertia)
    x, y, z = load3(car.local_bodies, local, LOCAL_BODY.angular_velocity)
    stopping = dot(x, y, z, axis[0], axis[1], axis[2]) - spin
    friction = brake_torque(car.wheels, wheel, car.clock[CLOCK.reach], stopping, axial + drive + motor)
    store(car.wheels, wheel, WHEEL.brake_torque, friction)
    rotation = Spin(inertia, spin, load(car.wheels, wheel, WHEEL.spin_acceleration))
    torques = SpinTorques(axial, drive, motor + friction)
    store(car.wheels, wheel, WHEEL.spin_residual, spin_residual(rotation, torques))
    p0, p1, p2 = load3(car.wheels, wheel, WHEEL.chock_force)
    p0, p1, p2 = to_frame(car.frame, p0, p1, p2)
    force = fx + p0, fy + p1, fz + p2
    axis_rate = vector_rate(car.local_bodies, local, axis)
    x, y, z = carrier_moment(arm, axis, axis_rate, force, (m0, m1, m2), rotation, torques)
    sub3(car.local_bodies, local, LOCAL_BODY.force, force[0], force[1], force[2])
    sub3(car.local_bodies, local, LOCAL_BODY.moment, x, y, z)
