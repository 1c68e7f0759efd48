"""Rates of vectors fixed in a body."""

from __future__ import annotations

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.vehicle.blocks.fields import LOCAL_BODY
from mastd.vehicle.blocks.vectors import Triple, cross, load3


@fused_kernel
def vector_rate(local_bodies: FloatArray, local: int, s: Triple) -> Triple:
    """Return the rate ω × s of a vector fixed in a local body."""
    w0, w1, w2 = load3(local_bodies, local, LOCAL_BODY.angular_velocity)
    return cross(w0, w1, w2, s[0], s[1], s[2])


@fused_kernel
def vector_rates(local_bodies: FloatArray, local: int, s: Triple) -> tuple[Triple, Triple]:
    """Return rate and acceleration ω × s and α × s + ω × (ω × s) of a vector fixed in a local body."""
    w0, w1, w2 = load3(local_bodies, local, LOCAL_BODY.angular_velocity)
    b0, b1, b2 = load3(local_bodies, local, LOCAL_BODY.angular_acceleration)
    rate = cross(w0, w1, w2, s[0], s[1], s[2])
    x, y, z = cross(b0, b1, b2, s[0], s[1], s[2])
    u, v, w = cross(w0, w1, w2, rate[0], rate[1], rate[2])
    return rate, (x + u, y + v, z + w)
