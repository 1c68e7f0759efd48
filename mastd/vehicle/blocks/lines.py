"""Two points on two bodies: their line, its rate, forces along it, and what these add to the Jacobian.

An arm goes from a body's centre of mass to a point fixed in it; i and j are the two local bodies, b and c
their first columns.
"""

from __future__ import annotations

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.vehicle.blocks.fields import LOCAL_BODY
from mastd.vehicle.blocks.matrix_blocks import Matrix, add_cross, add_cross_cross, add_diagonal
from mastd.vehicle.blocks.rates import vector_rate
from mastd.vehicle.blocks.vectors import Triple, add3, cross, load3, rotate, sub3


@fused_kernel
def arm(points: FloatArray, local_bodies: FloatArray, k: int, first: int, local: int) -> Triple:
    """Return the constant vector ``points[k, first]`` of a local body, in the axes of the frame."""
    x, y, z = load3(points, k, first)
    return rotate(local_bodies, local, LOCAL_BODY.rotation, x, y, z)


@fused_kernel
def between(local_bodies: FloatArray, i: int, j: int, p: Triple, q: Triple) -> Triple:
    """Return d from the point with arm p on local body i to the point with arm q on local body j."""
    x, y, z = load3(local_bodies, i, LOCAL_BODY.position)
    u, v, w = load3(local_bodies, j, LOCAL_BODY.position)
    return u + q[0] - x - p[0], v + q[1] - y - p[1], w + q[2] - z - p[2]


@fused_kernel
def point_velocity(local_bodies: FloatArray, i: int, j: int, p: Triple, q: Triple) -> Triple:
    """Return the velocity of the second point against the first one's, in the axes of the frame."""
    a, b = vector_rate(local_bodies, i, p), vector_rate(local_bodies, j, q)
    x, y, z = load3(local_bodies, i, LOCAL_BODY.velocity)
    u, v, w = load3(local_bodies, j, LOCAL_BODY.velocity)
    return u + b[0] - x - a[0], v + b[1] - y - a[1], w + b[2] - z - a[2]


@fused_kernel
def push(local_bodies: FloatArray, i: int, j: int, p: Triple, q: Triple, force: Triple) -> None:
    """Add −force at arm p of local body i and +force at arm q of local body j."""
    sub3(local_bodies, i, LOCAL_BODY.force, force[0], force[1], force[2])
    x, y, z = cross(p[0], p[1], p[2], force[0], force[1], force[2])
    sub3(local_bodies, i, LOCAL_BODY.moment, x, y, z)
    add3(local_bodies, j, LOCAL_BODY.force, force[0], force[1], force[2])
    x, y, z = cross(q[0], q[1], q[2], force[0], force[1], force[2])
    add3(local_bodies, j, LOCAL_BODY.moment, x, y, z)


@fused_kernel
def line_stiffness(
    matrix: Matrix, columns: tuple[int, int], p: Triple, q: Triple, n: Triple, force: float, tension: float
) -> None:
    """Add the derivative of a force along n that keeps its size: −force · n on one end, +force · n on the
    other.

    ``columns``: first ones of the two bodies; ``tension`` is force / length: the line turns by δd / length.
    """
    cells, first, size = matrix
    (b, c), t = columns, tension
    add_diagonal(cells, first, size, b, b, t)
    add_diagonal(cells, first, size, c, c, t)
    add_diagonal(cells, first, size, b, c, -t)
    add_diagonal(cells, first, size, c, b, -t)
    add_cross(cells, first, size, b, b + 3, -t, p)
    add_cross(cells, first, size, b, c + 3, t, q)
    add_cross(cells, first, size, c, b + 3, t, p)
    add_cross(cells, first, size, c, c + 3, -t, q)
    add_cross(cells, first, size, b + 3, b, t, p)
    add_cross(cells, first, size, b + 3, c, -t, p)
    add_cross(cells, first, size, c + 3, b, -t, q)
    add_cross(cells, first, size, c + 3, c, t, q)
    add_cross_cross(cells, first, size, b + 3, b + 3, -t, p, p)
    add_cross_cross(cells, first, size, b + 3, c + 3, t, p, q)
    add_cross_cross(cells, first, size, c + 3, b + 3, t, q, p)
    add_cross_cross(cells, first, size, c + 3, c + 3, -t, q, q)
    add_cross_cross(cells, first, size, b + 3, b + 3, -force, n, p)
    add_cross_cross(cells, first, size, c + 3, c + 3, force, n, q)
