"""Forces of the drives: what moves a rack as it is given, from the motion that the equations have found.

With λ of the cut joints from the rows of the dependent coordinates, Φ_dᵀ λ = −e_d, the equation of a driven
coordinate, e + Φᵀ λ + drive = 0, leaves the drive's; e are generalized inertia minus applied forces, (18),
(19).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mastd.arrays import FloatArray
from mastd.formulations.constraints.partition import solve_transposed
from mastd.formulations.tree.arrays import BODY_GROUP, FREE, LINK, Tree
from mastd.formulations.tree.recursion import row_of
from mastd.kernel import merged_kernel, separate_kernel
from mastd.vehicle.joints.arrays import CONSTRAINT
from mastd.vehicle.state.arrays import Arrays


class DriveForceWorkspace(NamedTuple):
    """Workspace of the forces."""

    unbalanced: FloatArray
    """(n) e."""
    multipliers: FloatArray
    """(m) λ."""

    @classmethod
    def of(cls, tree: Tree) -> DriveForceWorkspace:
        """Return an empty workspace for a tree."""
        return cls(np.zeros(len(tree.u)), np.zeros(len(tree.row_table)))


@separate_kernel
def drive_forces(tree: Tree, car: Arrays, work: DriveForceWorkspace) -> None:
    """Write the forces of all drives to their rows' multipliers, after the accelerations."""
    if tree.drive_rows.shape[0] == 0:
        return
    _unbalanced(tree, work.unbalanced)
    for group in range(tree.groups.shape[0]):
        first, row = tree.groups[group, BODY_GROUP.first], tree.groups[group, BODY_GROUP.first_row]
        for i in range(tree.groups[group, BODY_GROUP.rows]):
            work.multipliers[row + i] = -work.unbalanced[tree.members[first + i]]
        solve_transposed(tree, group, work.multipliers, work.multipliers)
    for drive in range(tree.drive_rows.shape[0]):
        k = tree.drive_rows[drive]
        force = work.unbalanced[k]
        for r in range(tree.row_table.shape[0]):
            force += tree.phi[r, k] * work.multipliers[r]
        car.joints.rows[car.drive_rows[drive, 0], CONSTRAINT.multiplier, car.drive_rows[drive, 1]] = -force


@merged_kernel
def _unbalanced(tree: Tree, out: FloatArray) -> None:
    for k in range(out.shape[0]):
        out[k] = 0.0
    for i in range(tree.links.shape[0]):
        first, last = tree.links[i, LINK.path], tree.links[i, LINK.path] + tree.links[i, LINK.path_size]
        x, y, z, p, q, r = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for at in range(first, last):
            k = tree.path[at]
            if tree.fixed[k] == FREE:
                value = tree.udot[k]
                x, y, z = x + value * tree.v[at, 0], y + value * tree.v[at, 1], z + value * tree.v[at, 2]
                p, q, r = p + value * tree.w[at, 0], q + value * tree.w[at, 1], r + value * tree.w[at, 2]
        mass = tree.mass[i]
        xx, yy, zz = row_of(tree.inertia, i, 0)
        xy, xz, yz = row_of(tree.inertia, i, 3)
        rest = tree.residual[i]
        f0, f1, f2 = rest[0] + mass * x, rest[1] + mass * y, rest[2] + mass * z
        m0 = rest[3] + xx * p + xy * q + xz * r
        m1 = rest[4] + xy * p + yy * q + yz * r
        m2 = rest[5] + xz * p + yz * q + zz * r
        for at in range(first, last):
            value = tree.v[at, 0] * f0 + tree.v[at, 1] * f1 + tree.v[at, 2] * f2
            out[tree.path[at]] += value + tree.w[at, 0] * m0 + tree.w[at, 1] * m1 + tree.w[at, 2] * m2
