"""Vectors and points of one body in one lane, between its own axes and the inertial ones."""

from __future__ import annotations

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.vehicle.blocks.fields import BODY
from mastd.vehicle.blocks.vectors import Triple, cross


@fused_kernel
def in_inertial_axes(bodies: FloatArray, body: int, lane: int, x: float, y: float, z: float) -> Triple:
    """Return a vector of a body's axes in inertial axes."""
    r = BODY.rotation
    return (
        bodies[body, r, lane] * x + bodies[body, r + 1, lane] * y + bodies[body, r + 2, lane] * z,
        bodies[body, r + 3, lane] * x + bodies[body, r + 4, lane] * y + bodies[body, r + 5, lane] * z,
        bodies[body, r + 6, lane] * x + bodies[body, r + 7, lane] * y + bodies[body, r + 8, lane] * z,
    )


@fused_kernel
def in_body_axes(bodies: FloatArray, body: int, lane: int, x: float, y: float, z: float) -> Triple:
    """Return a vector of inertial axes in a body's axes."""
    r = BODY.rotation
    return (
        bodies[body, r, lane] * x + bodies[body, r + 3, lane] * y + bodies[body, r + 6, lane] * z,
        bodies[body, r + 1, lane] * x + bodies[body, r + 4, lane] * y + bodies[body, r + 7, lane] * z,
        bodies[body, r + 2, lane] * x + bodies[body, r + 5, lane] * y + bodies[body, r + 8, lane] * z,
    )


@fused_kernel
def point_of_body(
    bodies: FloatArray, body: int, lane: int, x: float, y: float, z: float
) -> tuple[Triple, Triple]:
    """Return place and velocity, inertial axes, of a point of a body given from its centre of mass."""
    p = in_inertial_axes(bodies, body, lane, x, y, z)
    w = BODY.angular_velocity
    u, v, q = cross(bodies[body, w, lane], bodies[body, w + 1, lane], bodies[body, w + 2, lane], x, y, z)
    s = in_inertial_axes(bodies, body, lane, u, v, q)
    position = (
        bodies[body, BODY.position, lane] + p[0],
        bodies[body, BODY.position + 1, lane] + p[1],
        bodies[body, BODY.position + 2, lane] + p[2],
    )
    velocity = (
        bodies[body, BODY.velocity, lane] + s[0],
        bodies[body, BODY.velocity + 1, lane] + s[1],
        bodies[body, BODY.velocity + 2, lane] + s[2],
    )
    return position, velocity
