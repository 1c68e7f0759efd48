"""Closing the cut joints: dependent coordinates and rates that belong to the independent ones.

All formulations share it, those with multipliers too: what they integrate is the same motion, and none of
them lets the joints drift apart.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.formulations.constraints.evaluate import evaluate_jacobian, evaluate_positions
from mastd.formulations.constraints.partition import (
    expand,
    independent_columns,
    solve_dependent,
    update_partition,
    velocity_terms,
)
from mastd.formulations.tree.arrays import BODY_GROUP, CUT_ROW, LINK, Tree
from mastd.formulations.tree.recursion import FREE_LINK, SPHERICAL
from mastd.kernel import fused_kernel, merged_kernel, separate_kernel
from mastd.vehicle.blocks.vectors import Triple, cross
from mastd.vehicle.state.arrays import Arrays

MAX_CORRECTIONS: Final = 20
UPDATE_INTERVAL: Final = 3
"""Corrections with one Φ_d; if the constraints are still violated, it is factored again."""


@fused_kernel
def displace_link(tree: Tree, i: int, start: FloatArray, shift: FloatArray) -> None:
    """Write ``q`` of a link: ``start`` moved by ``shift`` (n), turns as rotation vectors in the lower body's
    axes."""
    kind, at, k = tree.links[i, LINK.kind], tree.links[i, LINK.position], tree.links[i, LINK.first]
    if kind == FREE_LINK:
        for c in range(3):
            tree.q[at + c] = start[at + c] + shift[k + c]
        at, k = at + 3, k + 3
    if kind in (FREE_LINK, SPHERICAL):
        _rotate_quaternion(tree.q, at, start, (shift[k], shift[k + 1], shift[k + 2]))
        return
    for c in range(tree.links[i, LINK.coordinates]):
        tree.q[at + c] = start[at + c] + shift[k + c]


@fused_kernel
def _rotate_quaternion(q: FloatArray, at: int, start: FloatArray, rotation: Triple) -> None:
    """Write the quaternion after a rotation vector in the axes that it is seen from."""
    square = rotation[0] * rotation[0] + rotation[1] * rotation[1] + rotation[2] * rotation[2]
    angle = np.sqrt(square)
    cosine = np.cos(0.5 * angle)
    # sin(x / 2) / x, by its series where x is small
    ratio = np.sin(0.5 * angle) / angle if square > 1e-8 else 0.5 - square * (1.0 / 48.0)
    x, y, z = ratio * rotation[0], ratio * rotation[1], ratio * rotation[2]
    w0, x0, y0, z0 = start[at], start[at + 1], start[at + 2], start[at + 3]
    p, q1, r, s = (
        cosine * w0 - x * x0 - y * y0 - z * z0,
        cosine * x0 + x * w0 + y * z0 - z * y0,
        cosine * y0 - x * z0 + y * w0 + z * x0,
        cosine * z0 + x * y0 - y * x0 + z * w0,
    )
    unit = 1.5 - 0.5 * (p * p + q1 * q1 + r * r + s * s)
    q[at], q[at + 1], q[at + 2], q[at + 3] = p * unit, q1 * unit, r * unit, s * unit


@fused_kernel
def rotation_vector_rates(rotation: Triple, omega: Triple) -> Triple:
    """Return the rate of a rotation vector θ for an angular velocity ω in the same, outer axes.

    ω − ½ θ × ω + 1/12 θ × (θ × ω), the inverse of the exponential's derivative to the order that four stages
    need.
    """
    x, y, z = cross(rotation[0], rotation[1], rotation[2], omega[0], omega[1], omega[2])
    p, q, r = cross(rotation[0], rotation[1], rotation[2], x, y, z)
    return (
        omega[0] - 0.5 * x + p * (1.0 / 12.0),
        omega[1] - 0.5 * y + q * (1.0 / 12.0),
        omega[2] - 0.5 * z + r * (1.0 / 12.0),
    )


@merged_kernel
def project_positions(
    tree: Tree, car: Arrays, shift: FloatArray, tolerance: float, report: FloatArray
) -> int:
    """Correct the dependent coordinates until the violations are below ``tolerance`` (m), by Newton's method.

    ``shift`` (n) is scratch. Columns and factors belong to the corrected positions then. ``report``:
    corrections, largest violation. Returns 0, 1 + the group whose rows are singular, or -1 where the
    constraints cannot be met.
    """
    corrections, done, failed = 0, False, 0
    while not done:
        violation = evaluate_positions(tree, car)
        report[0], report[1] = corrections, violation
        closed = violation <= tolerance
        if closed or corrections % UPDATE_INTERVAL == UPDATE_INTERVAL - 1:
            evaluate_jacobian(tree, car)
            failed = update_partition(tree)
        if closed or failed > 0:
            done = True
        elif corrections == MAX_CORRECTIONS or not violation < np.inf:
            done, failed = True, -1
        else:
            _correct(tree, shift)
            corrections += 1
    return failed


@fused_kernel
def _correct(tree: Tree, shift: FloatArray) -> None:
    for k in range(shift.shape[0]):
        shift[k] = 0.0
    for group in range(tree.groups.shape[0]):
        first, row = tree.groups[group, BODY_GROUP.first], tree.groups[group, BODY_GROUP.first_row]
        solve_dependent(tree, group, tree.violation, tree.g_cells)
        for i in range(tree.groups[group, BODY_GROUP.rows]):
            shift[tree.members[first + i]] = -tree.g_cells[row + i]
    for i in range(tree.links.shape[0]):
        displace_link(tree, i, tree.q, shift)


@separate_kernel
def project_velocities(tree: Tree) -> None:
    """Write B_di, (28), and the dependent rates that belong to the independent ones, (26), (29)."""
    independent_columns(tree)
    velocity_terms(tree, tree.g_cells)
    expand(tree, tree.g_cells, tree.u)


@merged_kernel
def max_violation_rate(tree: Tree) -> float:
    """Return the largest rate of the violations, Φ_q u, m/s."""
    maximum = 0.0
    for r in range(tree.row_table.shape[0]):
        rate = 0.0
        first = tree.row_table[r, CUT_ROW.first]
        for c in range(first, first + tree.row_table[r, CUT_ROW.columns]):
            k = tree.row_columns[c, 1]
            rate += tree.phi[r, k] * tree.u[k]
        maximum = max(maximum, abs(rate))
    return maximum
