"""Joint primitives: constraint violations Φ, their rates and accelerations, forces of their multipliers.

Eqs. (15), (18) of Kang 2014 and their like, in the axes of the frame (its (17), (22)). The correction to
(15): the axis is turned into the frame, h = A h′. With d = point of the second body − point of the first:

====================  =================================  ==============================================
primitive             Φ                                  its force on the first body and the second
====================  =================================  ==============================================
spherical             d                                  −λ, +λ at the points
dot-1                 h_i · h_j                          moments +λ h_i × h_j and −λ h_i × h_j
dot-2                 h_i · d − drive                    −λ h_i, +λ h_i, both at the second point
distance              (d · d − L²) / (2 L)               −λ d / L, +λ d / L at the points
====================  =================================  ==============================================

The forces are those in the equation of motion M a − f + Φᵀλ = 0: what is added to the residual.
"""

from __future__ import annotations

from mastd.arrays import FloatArray, IntArray
from mastd.kernel import fused_kernel
from mastd.lanes import load, store
from mastd.vehicle.blocks.fields import GROUP, LOCAL_BODY
from mastd.vehicle.blocks.lines import arm, between, push
from mastd.vehicle.blocks.rates import vector_rates
from mastd.vehicle.blocks.vectors import Triple, add3, cross, dot, load3, sub3
from mastd.vehicle.joints.arrays import CONSTRAINT, DRIVE, PRIMITIVE, PRIMITIVE_INDEX, Joints
from mastd.vehicle.joints.primitive import PrimitiveKind

_SPHERICAL = int(PrimitiveKind.SPHERICAL)
_DOT_1 = int(PrimitiveKind.DOT_1)
_DOT_2 = int(PrimitiveKind.DOT_2)


@fused_kernel
def local_pair(primitives: IntArray, k: int, first: int) -> tuple[int, int]:
    """Return the two local bodies of a primitive, the group's first one being ``first``."""
    return first + primitives[k, PRIMITIVE_INDEX.first], first + primitives[k, PRIMITIVE_INDEX.second]


@fused_kernel
def point_arms(points: FloatArray, local_bodies: FloatArray, k: int, i: int, j: int) -> tuple[Triple, Triple]:
    """Return the arms of a primitive's two points, in the axes of the frame."""
    p = arm(points, local_bodies, k, PRIMITIVE.point_first, i)
    return p, arm(points, local_bodies, k, PRIMITIVE.point_second, j)


@fused_kernel
def axes(points: FloatArray, local_bodies: FloatArray, k: int, i: int, j: int) -> tuple[Triple, Triple]:
    """Return a primitive's two axes, in the axes of the frame."""
    u = arm(points, local_bodies, k, PRIMITIVE.axis_first, i)
    return u, arm(points, local_bodies, k, PRIMITIVE.axis_second, j)


@fused_kernel
def joint_forces(joints: Joints, line: IntArray, local_bodies: FloatArray) -> None:
    """Write Φ of a group's constraints and add the forces of their multipliers to its local bodies."""
    local, row = line[GROUP.first_local], line[GROUP.first_row]
    for k in range(line[GROUP.first_primitive], line[GROUP.first_primitive] + line[GROUP.primitives]):
        kind, at = joints.primitives[k, PRIMITIVE_INDEX.kind], row + joints.primitives[k, PRIMITIVE_INDEX.row]
        i, j = local_pair(joints.primitives, k, local)
        if kind == _SPHERICAL:
            _spherical(joints, local_bodies, k, i, j, at)
        elif kind == _DOT_1:
            _dot_1(joints, local_bodies, k, i, j, at)
        elif kind == _DOT_2:
            _dot_2(joints, local_bodies, k, i, j, at)
        else:
            _distance(joints, local_bodies, k, i, j, at)


@fused_kernel
def _spherical(joints: Joints, local_bodies: FloatArray, k: int, i: int, j: int, row: int) -> None:
    points, rows = joints.points, joints.rows
    p, q = point_arms(points, local_bodies, k, i, j)
    d = between(local_bodies, i, j, p, q)
    for c in range(3):
        store(rows, row + c, CONSTRAINT.violation, d[c])
    force = (
        load(rows, row, CONSTRAINT.multiplier),
        load(rows, row + 1, CONSTRAINT.multiplier),
        load(rows, row + 2, CONSTRAINT.multiplier),
    )
    push(local_bodies, i, j, p, q, force)


@fused_kernel
def _dot_1(joints: Joints, local_bodies: FloatArray, k: int, i: int, j: int, row: int) -> None:
    points, rows = joints.points, joints.rows
    u, v = axes(points, local_bodies, k, i, j)
    store(rows, row, CONSTRAINT.violation, dot(u[0], u[1], u[2], v[0], v[1], v[2]))
    x, y, z = cross(u[0], u[1], u[2], v[0], v[1], v[2])
    force = load(rows, row, CONSTRAINT.multiplier)
    add3(local_bodies, i, LOCAL_BODY.moment, force * x, force * y, force * z)
    sub3(local_bodies, j, LOCAL_BODY.moment, force * x, force * y, force * z)


@fused_kernel
def _dot_2(joints: Joints, local_bodies: FloatArray, k: int, i: int, j: int, row: int) -> None:
    points, rows = joints.points, joints.rows
    p, q = point_arms(points, local_bodies, k, i, j)
    u = arm(points, local_bodies, k, PRIMITIVE.axis_first, i)
    d = between(local_bodies, i, j, p, q)
    store(rows, row, CONSTRAINT.violation, dot_2_violation(joints, local_bodies, k, i, d))
    force = load(rows, row, CONSTRAINT.multiplier)
    # The force acts on the first body at the second point.
    reach = p[0] + d[0], p[1] + d[1], p[2] + d[2]
    push(local_bodies, i, j, reach, q, (force * u[0], force * u[1], force * u[2]))


@fused_kernel
def _distance(joints: Joints, local_bodies: FloatArray, k: int, i: int, j: int, row: int) -> None:
    points, rows = joints.points, joints.rows
    p, q = point_arms(points, local_bodies, k, i, j)
    d = between(local_bodies, i, j, p, q)
    store(rows, row, CONSTRAINT.violation, distance_violation(points, k, d))
    force = load(rows, row, CONSTRAINT.multiplier) / load(points, k, PRIMITIVE.length)
    push(local_bodies, i, j, p, q, (force * d[0], force * d[1], force * d[2]))


@fused_kernel
def joint_violations(joints: Joints, line: IntArray, local_bodies: FloatArray) -> None:
    """Write Φ of a group's constraints, after ``positions_to_frame``."""
    points, rows = joints.points, joints.rows
    local, row = line[GROUP.first_local], line[GROUP.first_row]
    for k in range(line[GROUP.first_primitive], line[GROUP.first_primitive] + line[GROUP.primitives]):
        kind, at = joints.primitives[k, PRIMITIVE_INDEX.kind], row + joints.primitives[k, PRIMITIVE_INDEX.row]
        i, j = local_pair(joints.primitives, k, local)
        if kind == _DOT_1:
            u, v = axes(points, local_bodies, k, i, j)
            store(rows, at, CONSTRAINT.violation, dot(u[0], u[1], u[2], v[0], v[1], v[2]))
            continue
        p, q = point_arms(points, local_bodies, k, i, j)
        d = between(local_bodies, i, j, p, q)
        if kind == _SPHERICAL:
            for c in range(3):
                store(rows, at + c, CONSTRAINT.violation, d[c])
        elif kind == _DOT_2:
            store(rows, at, CONSTRAINT.violation, dot_2_violation(joints, local_bodies, k, i, d))
        else:
            store(rows, at, CONSTRAINT.violation, distance_violation(points, k, d))


@fused_kernel
def dot_2_violation(joints: Joints, local_bodies: FloatArray, k: int, i: int, d: Triple) -> float:
    """Return Φ of a dot-2: axis · d − drive."""
    u = arm(joints.points, local_bodies, k, PRIMITIVE.axis_first, i)
    violation = dot(u[0], u[1], u[2], d[0], d[1], d[2])
    drive = joints.primitives[k, PRIMITIVE_INDEX.drive]
    if drive >= 0:
        violation = violation - load(joints.drives, drive, DRIVE.displacement)
    return violation


@fused_kernel
def distance_violation(points: FloatArray, k: int, d: Triple) -> float:
    """Return Φ of a distance: (d · d − L²) / (2 L)."""
    length = load(points, k, PRIMITIVE.length)
    return 0.5 * (dot(d[0], d[1], d[2], d[0], d[1], d[2]) / length - length)


@fused_kernel
def joint_rates(joints: Joints, line: IntArray, local_bodies: FloatArray) -> None:
    """Write dΦ/dt and d²Φ/dt² of a group's constraints: the second and third line of (42)."""
    points, rows = joints.points, joints.rows
    local, row = line[GROUP.first_local], line[GROUP.first_row]
    for k in range(line[GROUP.first_primitive], line[GROUP.first_primitive] + line[GROUP.primitives]):
        kind, at = joints.primitives[k, PRIMITIVE_INDEX.kind], row + joints.primitives[k, PRIMITIVE_INDEX.row]
        i, j = local_pair(joints.primitives, k, local)
        if kind == _DOT_1:
            _dot_1_rates(joints, local_bodies, k, i, j, at)
            continue
        p, q = point_arms(points, local_bodies, k, i, j)
        d = between(local_bodies, i, j, p, q)
        rate, acceleration = _relative(local_bodies, i, j, p, q)
        if kind == _SPHERICAL:
            for c in range(3):
                store(rows, at + c, CONSTRAINT.rate, rate[c])
                store(rows, at + c, CONSTRAINT.acceleration, acceleration[c])
        elif kind == _DOT_2:
            _dot_2_rates(joints, local_bodies, k, i, at, d, rate, acceleration)
        else:
            length = load(points, k, PRIMITIVE.length)
            first = dot(d[0], d[1], d[2], rate[0], rate[1], rate[2])
            second = dot(d[0], d[1], d[2], acceleration[0], acceleration[1], acceleration[2])
            square = dot(rate[0], rate[1], rate[2], rate[0], rate[1], rate[2])
            store(rows, at, CONSTRAINT.rate, first / length)
            store(rows, at, CONSTRAINT.acceleration, (square + second) / length)


@fused_kernel
def _relative(local_bodies: FloatArray, i: int, j: int, p: Triple, q: Triple) -> tuple[Triple, Triple]:
    p_rate, p_acceleration = vector_rates(local_bodies, i, p)
    q_rate, q_acceleration = vector_rates(local_bodies, j, q)
    x, y, z = load3(local_bodies, i, LOCAL_BODY.velocity)
    u, v, w = load3(local_bodies, j, LOCAL_BODY.velocity)
    rate = (
        u + q_rate[0] - x - p_rate[0],
        v + q_rate[1] - y - p_rate[1],
        w + q_rate[2] - z - p_rate[2],
    )
    x, y, z = load3(local_bodies, i, LOCAL_BODY.acceleration)
    u, v, w = load3(local_bodies, j, LOCAL_BODY.acceleration)
    acceleration = (
        u + q_acceleration[0] - x - p_acceleration[0],
        v + q_acceleration[1] - y - p_acceleration[1],
        w + q_acceleration[2] - z - p_acceleration[2],
    )
    return rate, acceleration


@fused_kernel
def _dot_1_rates(joints: Joints, local_bodies: FloatArray, k: int, i: int, j: int, row: int) -> None:
    points, rows = joints.points, joints.rows
    u, v = axes(points, local_bodies, k, i, j)
    u_rate, u_acceleration = vector_rates(local_bodies, i, u)
    v_rate, v_acceleration = vector_rates(local_bodies, j, v)
    rate = dot(u_rate[0], u_rate[1], u_rate[2], v[0], v[1], v[2])
    rate = rate + dot(u[0], u[1], u[2], v_rate[0], v_rate[1], v_rate[2])
    store(rows, row, CONSTRAINT.rate, rate)
    acceleration = dot(u_acceleration[0], u_acceleration[1], u_acceleration[2], v[0], v[1], v[2])
    acceleration = acceleration + 2.0 * dot(u_rate[0], u_rate[1], u_rate[2], v_rate[0], v_rate[1], v_rate[2])
    acceleration = acceleration + dot(
        u[0], u[1], u[2], v_acceleration[0], v_acceleration[1], v_acceleration[2]
    )
    store(rows, row, CONSTRAINT.acceleration, acceleration)


@fused_kernel
def _dot_2_rates(
    joints: Joints,
    local_bodies: FloatArray,
    k: int,
    i: int,
    row: int,
    d: Triple,
    rate: Triple,
    acceleration: Triple,
) -> None:
    points, rows = joints.points, joints.rows
    u = arm(points, local_bodies, k, PRIMITIVE.axis_first, i)
    u_rate, u_acceleration = vector_rates(local_bodies, i, u)
    first = dot(u_rate[0], u_rate[1], u_rate[2], d[0], d[1], d[2])
    first = first + dot(u[0], u[1], u[2], rate[0], rate[1], rate[2])
    second = dot(u_acceleration[0], u_acceleration[1], u_acceleration[2], d[0], d[1], d[2])
    second = second + 2.0 * dot(u_rate[0], u_rate[1], u_rate[2], rate[0], rate[1], rate[2])
    second = second + dot(u[0], u[1], u[2], acceleration[0], acceleration[1], acceleration[2])
    drive = joints.primitives[k, PRIMITIVE_INDEX.drive]
    if drive >= 0:
        first = first - load(joints.drives, drive, DRIVE.rate)
        second = second - load(joints.drives, drive, DRIVE.acceleration)
    store(rows, row, CONSTRAINT.rate, first)
    store(rows, row, CONSTRAINT.acceleration, second)
