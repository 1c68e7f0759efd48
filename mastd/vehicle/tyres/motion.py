"""How a wheel moves against the ground below it."""

from __future__ import annotations

from typing import NamedTuple

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.lanes import broadcast, load
from mastd.vehicle.blocks.fields import BODY, CHASSIS, LOCAL_BODY, WHEEL
from mastd.vehicle.blocks.rates import vector_rate
from mastd.vehicle.blocks.vectors import Triple, dot, load3, rotate, to_frame


class WheelMotion(NamedTuple):
    """A wheel centre on its carrier and against the ground."""

    arm: Triple
    axis: Triple
    velocity: Triple
    """Against the ground."""
    height: float
    """Above the ground below it."""
    m: Triple
    """Derivative of the height by the position."""


@fused_kernel
def up_axis(frame: FloatArray) -> Triple:
    """Return the inertial z axis in the axes of the frame, in lanes."""
    return broadcast(frame[6]), broadcast(frame[7]), broadcast(frame[8])


@fused_kernel
def wheel_motion(
    wheels: FloatArray,
    local_bodies: FloatArray,
    bodies: FloatArray,
    frame: FloatArray,
    wheel: int,
    local: int,
) -> WheelMotion:
    """Return where the wheel centre is and how it moves, in the axes of the frame."""
    x, y, z = load3(wheels, wheel, WHEEL.centre)
    arm = rotate(local_bodies, local, LOCAL_BODY.rotation, x, y, z)
    x, y, z = load3(wheels, wheel, WHEEL.axis)
    axis = rotate(local_bodies, local, LOCAL_BODY.rotation, x, y, z)
    g0, g1 = load(wheels, wheel, WHEEL.slope), load(wheels, wheel, WHEEL.slope + 1)
    m = to_frame(frame, -g0, -g1, broadcast(1.0))
    x, y, z = load3(local_bodies, local, LOCAL_BODY.position)
    u, v, w = load3(wheels, wheel, WHEEL.contact)
    c0, c1, c2 = load3(bodies, CHASSIS, BODY.position)
    p0, p1, p2 = to_frame(frame, u - c0, v - c1, w - c2)
    height = load(wheels, wheel, WHEEL.height)
    height = height + dot(m[0], m[1], m[2], x + arm[0] - p0, y + arm[1] - p1, z + arm[2] - p2)
    x, y, z = load3(local_bodies, local, LOCAL_BODY.velocity)
    r0, r1, r2 = vector_rate(local_bodies, local, arm)
    u, v, w = load3(wheels, wheel, WHEEL.ground_velocity)
    p0, p1, p2 = to_frame(frame, u, v, w)
    return WheelMotion(arm, axis, (x + r0 - p0, y + r1 - p1, z + r2 - p2), height, m)
