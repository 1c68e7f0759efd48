"""Derivatives of the joint primitives by displacements: (16), (17), (21), (22) of Kang 2014 and their
like.

Variations are the translation of a body's centre of mass and its rotation, both in the axes of the frame,
which stays as it is. Besides the rows of the constraints and their transposes, weighted by ``joint``, the
derivative of the multipliers' forces, the geometric stiffness, is added, weighted by ``displacement``.
"""

from __future__ import annotations

from mastd.arrays import FloatArray, IntArray
from mastd.kernel import fused_kernel, separate_kernel
from mastd.lanes import broadcast, load, store_row
from mastd.vehicle.blocks.columns import column_of
from mastd.vehicle.blocks.fields import GROUP
from mastd.vehicle.blocks.lines import arm, between, line_stiffness
from mastd.vehicle.blocks.matrix_blocks import Matrix, add_cross, add_cross_cross, add_diagonal, add_row
from mastd.vehicle.blocks.vectors import Triple, cross
from mastd.vehicle.joints.arrays import CONSTRAINT, PRIMITIVE, PRIMITIVE_INDEX, Joints
from mastd.vehicle.joints.force import axes, local_pair, point_arms
from mastd.vehicle.joints.primitive import PrimitiveKind

_SPHERICAL = int(PrimitiveKind.SPHERICAL)
_DOT_1 = int(PrimitiveKind.DOT_1)
_DOT_2 = int(PrimitiveKind.DOT_2)


@separate_kernel
def joint_rows(joints: Joints, groups: IntArray, local_bodies: FloatArray, cells: FloatArray) -> None:
    """Write the constraint rows of all groups, after ``positions_to_frame``, alone into their matrices."""
    for group in range(groups.shape[0]):
        line = groups[group]
        first, size = line[GROUP.first_cell], line[GROUP.size]
        for entry in range(first, first + size * size):
            store_row(cells, entry, broadcast(0.0))
        joint_jacobian(joints, line, local_bodies, cells, 1.0, 0.0)


@fused_kernel
def joint_jacobian(
    joints: Joints,
    line: IntArray,
    local_bodies: FloatArray,
    cells: FloatArray,
    joint: float,
    displacement: float,
) -> None:
    """Add a group's constraint rows, their transposes and their geometric stiffness to its matrix."""
    points, rows = joints.points, joints.rows
    local, first, size = line[GROUP.first_local], line[GROUP.first_cell], line[GROUP.size]
    matrix = Matrix(cells, first, size)
    for k in range(line[GROUP.first_primitive], line[GROUP.first_primitive] + line[GROUP.primitives]):
        kind = joints.primitives[k, PRIMITIVE_INDEX.kind]
        at = line[GROUP.first_row] + joints.primitives[k, PRIMITIVE_INDEX.row]
        row = line[GROUP.row_unknown] + joints.primitives[k, PRIMITIVE_INDEX.row]
        i, j = local_pair(joints.primitives, k, local)
        b = column_of(line, joints.primitives[k, PRIMITIVE_INDEX.first])
        c = column_of(line, joints.primitives[k, PRIMITIVE_INDEX.second])
        if kind == _DOT_1:
            u, v = axes(points, local_bodies, k, i, j)
            force = displacement * load(rows, at, CONSTRAINT.multiplier)
            _dot_1(matrix, row, (b, c), joint, force, u, v)
            continue
        p, q = point_arms(points, local_bodies, k, i, j)
        d = between(local_bodies, i, j, p, q)
        if kind == _SPHERICAL:
            _spherical(matrix, row, (b, c), joint, p, q)
            force_x = displacement * load(rows, at, CONSTRAINT.multiplier)
            force_y = displacement * load(rows, at + 1, CONSTRAINT.multiplier)
            force_z = displacement * load(rows, at + 2, CONSTRAINT.multiplier)
            add_cross_cross(cells, first, size, b + 3, b + 3, -1.0, (force_x, force_y, force_z), p)
            add_cross_cross(cells, first, size, c + 3, c + 3, 1.0, (force_x, force_y, force_z), q)
        elif kind == _DOT_2:
            force = displacement * load(rows, at, CONSTRAINT.multiplier)
            reach = p[0] + d[0], p[1] + d[1], p[2] + d[2]
            u = arm(points, local_bodies, k, PRIMITIVE.axis_first, i)
            _dot_2(matrix, row, (b, c), joint, force, u, reach, q)
        else:
            inverse = 1.0 / load(points, k, PRIMITIVE.length)
            n = d[0] * inverse, d[1] * inverse, d[2] * inverse
            force = displacement * load(rows, at, CONSTRAINT.multiplier)
            line_rows(matrix, row, (b, c), joint, p, q, n)
            line_stiffness(matrix, (b, c), p, q, n, force, force * inverse)


@fused_kernel
def _spherical(
    matrix: Matrix, row: int, columns: tuple[int, int], joint: float, p: Triple, q: Triple
) -> None:
    cells, first, size = matrix
    (b, c), one = columns, broadcast(joint)
    add_diagonal(cells, first, size, row, b, -one)
    add_diagonal(cells, first, size, b, row, -one)
    add_diagonal(cells, first, size, row, c, one)
    add_diagonal(cells, first, size, c, row, one)
    add_cross(cells, first, size, row, b + 3, joint, p)
    add_cross(cells, first, size, b + 3, row, -joint, p)
    add_cross(cells, first, size, row, c + 3, -joint, q)
    add_cross(cells, first, size, c + 3, row, joint, q)


@fused_kernel
def _dot_1(
    matrix: Matrix, row: int, columns: tuple[int, int], joint: float, force: float, u: Triple, v: Triple
) -> None:
    cells, first, size = matrix
    b, c = columns
    w = cross(u[0], u[1], u[2], v[0], v[1], v[2])
    add_row(cells, first, size, row, b + 3, joint, w)
    add_row(cells, first, size, row, c + 3, -joint, w)
    add_cross_cross(cells, first, size, b + 3, b + 3, force, v, u)
    add_cross_cross(cells, first, size, b + 3, c + 3, -force, u, v)
    add_cross_cross(cells, first, size, c + 3, b + 3, -force, v, u)
    add_cross_cross(cells, first, size, c + 3, c + 3, force, u, v)


@fused_kernel
def _dot_2(
    matrix: Matrix,
    row: int,
    columns: tuple[int, int],
    joint: float,
    force: float,
    u: Triple,
    reach: Triple,
    q: Triple,
) -> None:
    cells, first, size = matrix
    b, c = columns
    add_row(cells, first, size, row, b, -joint, u)
    add_row(cells, first, size, row, c, joint, u)
    add_row(cells, first, size, row, b + 3, -joint, cross(reach[0], reach[1], reach[2], u[0], u[1], u[2]))
    add_row(cells, first, size, row, c + 3, joint, cross(q[0], q[1], q[2], u[0], u[1], u[2]))
    # The axis turns with the first body, the reach to the second point with both.
    add_cross(cells, first, size, b, b + 3, force, u)
    add_cross(cells, first, size, c, b + 3, -force, u)
    add_cross_cross(cells, first, size, b + 3, b + 3, force, reach, u)
    add_cross(cells, first, size, b + 3, c, force, u)
    add_cross(cells, first, size, b + 3, b, -force, u)
    add_cross_cross(cells, first, size, b + 3, c + 3, -force, u, q)
    add_cross_cross(cells, first, size, c + 3, c + 3, force, u, q)
    add_cross_cross(cells, first, size, c + 3, b + 3, -force, q, u)


@fused_kernel
def line_rows(
    matrix: Matrix, row: int, columns: tuple[int, int], joint: float, p: Triple, q: Triple, n: Triple
) -> None:
    """Add the row of a distance along n between the ends of the arms p and q, and its transpose."""
    cells, first, size = matrix
    b, c = columns
    add_row(cells, first, size, row, b, -joint, n)
    add_row(cells, first, size, row, c, joint, n)
    add_row(cells, first, size, row, b + 3, -joint, cross(p[0], p[1], p[2], n[0], n[1], n[2]))
    add_row(cells, first, size, row, c + 3, joint, cross(q[0], q[1], q[2], n[0], n[1], n[2]))
