"""Implicit Euler (3)–(4) of KR 10-1310276, with a Jacobian that is updated in part.

The system q̈ = f(q, q̇) is whatever the caller evaluates; what is kept here are its derivatives f_x = ∂f/∂q and
f_v = ∂f/∂q̇, and the inverse of A = 1 − h f_v − h² f_x, for which (4) reads

    q̇(k+1) = q̇(k) + h A⁻¹ (f(q(k), q̇(k)) + h f_x q̇(k)),    q(k+1) = q(k) + h q̇(k+1).

Column j of f_x and of f_v makes column j of A and no other. So one new column changes A by a matrix of rank
one, and its inverse by the formula of Sherman and Morrison: with c the change of the column, w = A⁻¹ c and
a the row j of A⁻¹, A⁻¹ ← A⁻¹ − w aᵀ / (1 + w_j). That takes 2 n² multiplications, and (4) itself two products
with a matrix, another 2 n²; a new factorisation would take n³ / 3. Where A passes close to a singular matrix
the formula loses digits for good, and errors may gather over many steps: both are checked, and answered
by inverting A again (``COUNT.inversions`` counts).

KR patent 10-1310276 (registered in 2013) covers integration with a Jacobian that is updated in part. Nothing
here is the default of anything.

Matrices are kept by columns: row j of an array is column j of the matrix, so that all inner loops run along
neighbouring numbers.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, Final, NamedTuple

import numpy as np

from mastd.arrays import FloatArray, IntArray
from mastd.index_table import Entry, index_table, size_of
from mastd.kernel import fused_kernel, separate_kernel
from mastd.vehicle.blocks.linear_algebra import invert as invert_matrix


class Policy(IntEnum):
    """Which columns of the Jacobian are updated in a step; all of them in the first one."""

    FULL = 0
    """All: the conventional method, solved by a factorisation."""
    ROUND_ROBIN = 1
    """One after the other, claim 6."""
    FASTEST = 2
    """That of the coordinate with the largest absolute velocity, claim 7."""
    NONE = 3
    """None: the Jacobian of the first step for all time."""


POLICIES: Final = {
    "full": Policy.FULL,
    "round-robin": Policy.ROUND_ROBIN,
    "fastest": Policy.FASTEST,
    "none": Policy.NONE,
}


class LimitRow(NamedTuple):
    """Constants of the integrator."""

    step: Annotated[int, Entry("s", "h")]
    min_denominator: Annotated[int, Entry("1", "")]
    max_defect: Annotated[int, Entry("1", "")]


class CountRow(NamedTuple):
    """Counters of the integrator."""

    steps: int
    next_column: int
    checked_row: Annotated[int, Entry("", "one after the other")]
    replaced: Annotated[int, Entry("", "columns")]
    inversions: Annotated[int, Entry("", "in all, the first one included")]
    factorisations: int


LIMIT: Final = index_table(LimitRow)
COUNT: Final = index_table(CountRow)

# |1 + w_j| is how many times smaller the determinant becomes. As small as this, A comes close to singular and
# half of the digits of the inverse are lost; as large as its inverse, A comes from there and they were lost
# before. And the defect of an equation of (4), relative to its terms, at which as many are.
_MIN_DENOMINATOR: Final = 1e-6
_MAX_DEFECT: Final = 1e-8

POSITION_PERTURBATION: Final = 2.0**-25
VELOCITY_PERTURBATION: Final = 2.0**-20
"""ε of (5), (6) for coordinates and for velocities, relative where they exceed 1: where cancellation, which
goes as 1/ε, and curvature, which goes as ε, together cost least. That is at the square root of the rounding
errors of f over its second derivative. Stiff springs put errors of 1e-15 of large forces into f, and what is
quadratic in velocities is small beside them: so ε of velocities is the larger one."""


class ImplicitEuler(NamedTuple):
    """Jacobian, inverse and scratch of ``n`` coordinates; n × n arrays by columns (row j is column j)."""

    position_columns: FloatArray
    """(n, n) f_x, 1/s² between equal units."""
    velocity_columns: FloatArray
    """(n, n) f_v, 1/s."""
    inverse: FloatArray
    """(n, n) A⁻¹."""
    matrix: FloatArray
    """(n, n) scratch: A, and its triangular factors after ``solve_by_factorisation``."""
    order: IntArray
    """(n) scratch: rows exchanged by pivoting."""
    position_column: FloatArray
    """(n) a new column of f_x, before it is put in place."""
    velocity_column: FloatArray
    """(n) a new column of f_v."""
    right: FloatArray
    """(n) f + h f_x q̇."""
    change: FloatArray
    """(n) scratch: w."""
    increment: FloatArray
    """(n) q̇(k+1) − q̇(k), the result of (4)."""
    limits: FloatArray
    """``LIMIT``."""
    counts: IntArray
    """``COUNT``."""


def implicit_euler(
    n: int,
    step: float,
    *,
    min_denominator: float = _MIN_DENOMINATOR,
    max_defect: float = _MAX_DEFECT,
) -> ImplicitEuler:
    """Return the integrator of ``n`` coordinates and steps of ``step`` s, before its first step.

    It serves one policy: full update keeps no inverse that another one could go on with.
    """
    limits = np.zeros(size_of(LIMIT))
    limits[LIMIT.step], limits[LIMIT.min_denominator], limits[LIMIT.max_defect] = (
        step,
        min_denominator,
        max_defect,
    )
    return ImplicitEuler(
        position_columns=np.zeros((n, n)),
        velocity_columns=np.zeros((n, n)),
        inverse=np.zeros((n, n)),
        matrix=np.zeros((n, n)),
        order=np.zeros(n, np.int64),
        position_column=np.zeros(n),
        velocity_column=np.zeros(n),
        right=np.zeros(n),
        change=np.zeros(n),
        increment=np.zeros(n),
        limits=limits,
        counts=np.zeros(size_of(COUNT), np.int64),
    )


@fused_kernel
def columns_to_update(euler: ImplicitEuler, policy: int, columns: int) -> int:
    """Return how many columns the coming step updates: n for all of them, ``columns`` of a round robin."""
    if policy == Policy.FULL or euler.counts[COUNT.steps] == 0:
        return len(euler.right)
    if policy == Policy.NONE:
        return 0
    return min(columns, len(euler.right)) if policy == Policy.ROUND_ROBIN else 1


@fused_kernel
def next_column(euler: ImplicitEuler, policy: int, velocities: FloatArray) -> int:
    """Return the column to be updated next, with ``velocities`` (n) of the new state."""
    n = len(velocities)
    if policy != Policy.FASTEST:
        column = euler.counts[COUNT.next_column]
        euler.counts[COUNT.next_column] = column + 1 if column + 1 < n else 0
        return int(column)
    fastest = 0
    for i in range(1, n):
        if abs(velocities[i]) > abs(velocities[fastest]):
            fastest = i
    return fastest


@fused_kernel
def put_column(euler: ImplicitEuler, j: int) -> None:
    """Put the new column j in its place and leave the inverse: for all columns, before a factorisation."""
    for i in range(len(euler.right)):
        euler.position_columns[j, i] = euler.position_column[i]
        euler.velocity_columns[j, i] = euler.velocity_column[i]


@separate_kernel
def replace_column(euler: ImplicitEuler, j: int) -> int:
    """Put the new column j in its place and let the inverse follow; return 1 if A has become singular."""
    h = euler.limits[LIMIT.step]
    n = len(euler.right)
    w, inverse = euler.change, euler.inverse
    euler.counts[COUNT.replaced] += 1
    for i in range(n):
        w[i] = 0.0
    for k in range(n):
        c = h * (
            euler.velocity_columns[j, k]
            - euler.velocity_column[k]
            + h * (euler.position_columns[j, k] - euler.position_column[k])
        )
        for i in range(n):
            w[i] += c * inverse[k, i]
    put_column(euler, j)
    denominator = 1.0 + w[j]
    minimum = euler.limits[LIMIT.min_denominator]
    if not minimum < abs(denominator) < 1.0 / minimum:
        return invert(euler)
    factor = 1.0 / denominator
    for k in range(n):
        a = factor * inverse[k, j]
        for i in range(n):
            inverse[k, i] -= a * w[i]
    return 0


@fused_kernel
def system_matrix(euler: ImplicitEuler) -> None:
    """Fill ``matrix`` with A = 1 − h f_v − h² f_x."""
    h = euler.limits[LIMIT.step]
    n = len(euler.right)
    for j in range(n):
        for i in range(n):
            euler.matrix[j, i] = -h * (euler.velocity_columns[j, i] + h * euler.position_columns[j, i])
        euler.matrix[j, j] += 1.0


@separate_kernel
def invert(euler: ImplicitEuler) -> int:
    """Fill ``inverse`` with A⁻¹ by the columns as they are; return 1 if A is singular."""
    euler.counts[COUNT.inversions] += 1
    system_matrix(euler)
    n = len(euler.right)
    for k in range(n):
        for i in range(n):
            euler.inverse[k, i] = euler.matrix[k, i]
    return 0 if invert_matrix(euler.inverse, n, euler.order) else 1


@fused_kernel
def right_side(euler: ImplicitEuler, accelerations: FloatArray, velocities: FloatArray) -> None:
    """Fill ``right`` with f + h f_x q̇ of (4)."""
    n = len(velocities)
    for i in range(n):
        euler.right[i] = accelerations[i]
    for j in range(n):
        moved = euler.limits[LIMIT.step] * velocities[j]
        for i in range(n):
            euler.right[i] += moved * euler.position_columns[j, i]


@fused_kernel
def _multiply(euler: ImplicitEuler) -> None:
    n = len(euler.right)
    for i in range(n):
        euler.increment[i] = 0.0
    for j in range(n):
        moved = euler.limits[LIMIT.step] * euler.right[j]
        for i in range(n):
            euler.increment[i] += moved * euler.inverse[j, i]


@fused_kernel
def _holds(euler: ImplicitEuler) -> bool:
    """Return whether the increment solves one equation of (4), another one each time."""
    h = euler.limits[LIMIT.step]
    n = len(euler.right)
    row = euler.counts[COUNT.checked_row]
    euler.counts[COUNT.checked_row] = row + 1 if row + 1 < n else 0
    defect = euler.increment[row] - h * euler.right[row]
    size = abs(euler.increment[row]) + abs(h * euler.right[row])
    for j in range(n):
        slope = h * (euler.velocity_columns[j, row] + h * euler.position_columns[j, row])
        defect -= slope * euler.increment[j]
        size += abs(slope * euler.increment[j])
    return bool(abs(defect) <= euler.limits[LIMIT.max_defect] * size)


@separate_kernel
def multiply_by_inverse(euler: ImplicitEuler, accelerations: FloatArray, velocities: FloatArray) -> int:
    """Fill ``increment`` by (4) with the inverse as it is; invert again if an equation shows its errors.

    Returns 1 if A is singular.
    """
    euler.counts[COUNT.steps] += 1
    right_side(euler, accelerations, velocities)
    _multiply(euler)
    if _holds(euler):
        return 0
    if invert(euler) != 0:
        return 1
    _multiply(euler)
    return 0


@separate_kernel
def solve_by_factorisation(euler: ImplicitEuler, accelerations: FloatArray, velocities: FloatArray) -> int:
    """Fill ``increment`` by (4) with a factorisation of A and no inverse; return 1 if A is singular."""
    euler.counts[COUNT.steps] += 1
    euler.counts[COUNT.factorisations] += 1
    h = euler.limits[LIMIT.step]
    right_side(euler, accelerations, velocities)
    system_matrix(euler)
    n = len(euler.right)
    a, x = euler.matrix, euler.increment
    for i in range(n):
        x[i] = h * euler.right[i]
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(a[k, i]) > abs(a[k, pivot]):
                pivot = i
        if not abs(a[k, pivot]) > 0.0:
            return 1
        if pivot != k:
            x[k], x[pivot] = x[pivot], x[k]
            for j in range(n):
                a[j, k], a[j, pivot] = a[j, pivot], a[j, k]
        factor = 1.0 / a[k, k]
        for i in range(k + 1, n):
            a[k, i] *= factor
            x[i] -= a[k, i] * x[k]
        for j in range(k + 1, n):
            above = a[j, k]
            for i in range(k + 1, n):
                a[j, i] -= above * a[k, i]
    for k in range(n - 1, -1, -1):
        x[k] /= a[k, k]
        for i in range(k):
            x[i] -= x[k] * a[k, i]
    return 0


@fused_kernel
def perturbation(value: float, relative: float) -> float:
    """Return ε for a coordinate or velocity of this value: what value + ε really differs by."""
    size = abs(value)
    moved = value + relative * (size if size > 1.0 else 1.0)
    return moved - value
