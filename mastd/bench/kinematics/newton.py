"""Forward kinematics by Newton–Raphson, Jin 2012, eqs. (5)–(9), with a Jacobian in every update.

x ← x + J⁺ (l − l̂), J⁺ the pseudo-inverse by the normal equations JᵀJ = L D Lᵀ: the table's Jacobian in m is
well conditioned (2.8), so that squaring it loses nothing. The Jacobian is the paper's geometric one, eq.
(9b), as if angles were a rotation vector; or the exact Euler-rate one, with which the iteration converges
quadratically.

Stopping rules, arguments and results are those of ``mastd.kinematics.observer``. Newton's method serves
geometries whose observer does not contract. A singular Jacobian ends the solve as not converged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

import numpy as np

from mastd.arrays import FloatArray
from mastd.index_table import Entry, index_table, size_of
from mastd.kernel import fused_kernel
from mastd.kinematics.forward import DEFAULT_LIMITS, ForwardSolution, checked, solution
from mastd.kinematics.geometry import Geometry, Legs
from mastd.kinematics.inverse import arm
from mastd.kinematics.observer import SolveLimits, accept, updated
from mastd.kinematics.rotation import Six, rotation_of, sines_cosines

# A pivot of JᵀJ below this (m², as rotations are taken at 1 m) counts as a singular Jacobian.
MIN_PIVOT = 1e-12


class NormalRow(NamedTuple):
    """Rows of scratch, six numbers each."""

    normal: Annotated[int, Entry("m²", "JᵀJ, then L", 6)]
    product: Annotated[int, Entry("m²", "D Lᵀ", 6)]
    right: Annotated[int, Entry("m²", "Jᵀ(l − l̂), then the update")]
    jacobian: Annotated[int, Entry("m", "a row of J")]


NORMAL: Final = index_table(NormalRow)
NORMAL_ROWS: Final = size_of(NORMAL)


@dataclass(frozen=True, eq=False)
class Newton:
    """Newton–Raphson of eq. (8), with the exact Euler-rate Jacobian or the geometric one of eq. (9b)."""

    geometry: Geometry
    euler_rates: bool = True
    limits: SolveLimits = DEFAULT_LIMITS

    def solve(self, lengths: FloatArray, start: FloatArray | None = None) -> ForwardSolution:
        """Find the pose of ``lengths`` (n,) in m, from pose ``start`` (6,) or from neutral."""
        measured, pose = checked(lengths, start, self.geometry)
        work = np.empty((NORMAL_ROWS, 6))
        found = newton(self.geometry.legs, self.euler_rates, measured, self.limits, pose, work)
        return solution(pose, found)


@fused_kernel
def solve_symmetric(work: FloatArray) -> float:
    """Solve A x = b, A symmetric and positive definite, by A = L D Lᵀ; return the smallest pivot of D.

    ``work`` (NORMAL_ROWS, 6): A in the lower triangle of the first six rows, b in the row from which x is
    taken afterwards. A pivot that is not positive means no solution.
    """
    minimum = math.inf
    x = work[NORMAL.right]
    for column in range(6):
        for row in range(column, 6):
            value = work[row, column]
            for k in range(column):
                value -= work[row, k] * work[NORMAL.product + column, k]
            work[NORMAL.product + row, column] = value
        pivot = work[NORMAL.product + column, column]
        minimum = min(minimum, pivot)
        inverse = 1.0 / pivot
        work[column, column] = inverse
        for row in range(column + 1, 6):
            work[row, column] = work[NORMAL.product + row, column] * inverse
    for row in range(6):
        for k in range(row):
            x[row] -= work[row, k] * x[k]
    x[5] *= work[5, 5]
    for row in range(4, -1, -1):
        value = x[row] * work[row, row] - work[row + 1, row] * x[row + 1]
        for k in range(row + 2, 6):
            value -= work[k, row] * x[k]
        x[row] = value
    return minimum


@fused_kernel
def normal_equations(legs: Legs, euler_rates: bool, lengths: FloatArray, at: Six, work: FloatArray) -> float:
    """Write JᵀJ (lower triangle) and Jᵀ(l − l̂) of the pose ``at`` into ``work``; return Σ|l − l̂|."""
    sr, cr, sp, cp, sy, cy = sines_cosines(at[3], at[4], at[5])
    r = rotation_of(sr, cr, sp, cp, sy, cy)
    neutral = legs.neutral_position
    c = (neutral[0] + at[0], neutral[1] + at[1], neutral[2] + at[2])
    residual = 0.0
    for row in range(6):
        work[NORMAL.right, row] = 0.0
        for column in range(row + 1):
            work[row, column] = 0.0
    j = work[NORMAL.jacobian]
    for i in range(legs.table_joints.shape[0]):
        ax, ay, az = arm(legs, i, r)
        b = legs.base_joints[i]
        # In this order for the figures of Table 3 to the last digit.
        x, y, z = c[0] - b[0] + ax, c[1] - b[1] + ay, c[2] - b[2] + az
        length = math.sqrt(x * x + y * y + z * z)
        error = lengths[i] - length
        residual += abs(error)
        inverse = 1.0 / length
        j[0] = x * inverse
        j[1] = y * inverse
        j[2] = z * inverse
        j[3] = ay * j[2] - az * j[1]
        j[4] = az * j[0] - ax * j[2]
        j[5] = ax * j[1] - ay * j[0]
        if euler_rates:
            along = cy * j[3] + sy * j[4]
            j[4] = cy * j[4] - sy * j[3]
            j[3] = along * cp - sp * j[5]
        for row in range(6):
            work[NORMAL.right, row] += j[row] * error
            for column in range(row + 1):
                work[row, column] += j[row] * j[column]
    return residual


@fused_kernel
def newton(
    legs: Legs,
    euler_rates: bool,
    lengths: FloatArray,
    limits: SolveLimits,
    pose: FloatArray,
    work: FloatArray,
) -> tuple[bool, int, float]:
    """Find the pose of ``lengths`` by eq. (8), started from ``pose`` and written there.

    ``euler_rates`` chooses the exact Euler-rate Jacobian instead of the geometric one of eq. (9b); ``work``
    (NORMAL_ROWS, 6) is scratch.
    """
    at = (pose[0], pose[1], pose[2], pose[3], pose[4], pose[5])
    residual = step = math.inf
    for update in range(limits.maximum_updates + 1):
        residual = normal_equations(legs, euler_rates, lengths, at, work)
        if residual < limits.tolerance or step < limits.update_tolerance:
            return accept(legs, lengths, residual, limits, at, pose), update, residual
        if not residual < math.inf:
            return False, update, residual
        if not solve_symmetric(work) > MIN_PIVOT:
            return False, update, residual
        d = work[NORMAL.right]
        at, step = updated(at, (d[0], d[1], d[2], d[3], d[4], d[5]))
    return False, limits.maximum_updates, residual
