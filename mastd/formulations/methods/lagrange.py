"""Lagrange's multipliers, eq. (23) of Kang and Yoon: the conventional method, and the reduced one.

Conventional: the n accelerations and m multipliers are the unknowns of one system, which has no structure
that is used. Reduced: the multipliers come first, of Φ M⁻¹ Φᵀ, and the accelerations of M alone; of both it
is used where they have entries. Coordinates that are held or given are no unknowns: ``bias`` and ``residual``
contain them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from mastd.arrays import FloatArray, IntArray
from mastd.formulations.methods.mass_matrix import (
    Columns,
    add_inertia,
    coupled_coordinates,
    free_columns,
    free_equations,
)
from mastd.formulations.methods.reduced_indices import group_of
from mastd.formulations.methods.sparse_cholesky import (
    Pattern,
    backward,
    clear,
    elimination_order,
    factor,
    forward,
    pattern_of,
    solve,
)
from mastd.formulations.tree.arrays import BODY_GROUP, CUT_ROW, Tree
from mastd.kernel import fused_kernel, merged_kernel, separate_kernel
from mastd.vehicle.blocks.linear_algebra import lu_factor_pivoted, lu_solve_pivoted
from mastd.vehicle.state.arrays import Arrays

MIN_PIVOT: Final = 1e-13
"""Of the largest entry in its column before elimination: below it the system is singular."""


class LagrangeWorkspace(NamedTuple):
    """Workspace of the conventional method. N = free coordinates + rows."""

    columns: Columns
    equation: IntArray
    """(n) in the system, −1 of coordinates that are fixed."""
    matrix: FloatArray
    """(N, N)."""
    values: FloatArray
    """(N) right-hand side, then accelerations and the multipliers: Φᵀ times these are the joints' forces,
    negative."""
    pivots: IntArray
    """(N) rows exchanged."""
    min_pivots: FloatArray
    """(N) sizes that pivots must exceed."""


def lagrange_workspace(tree: Tree) -> LagrangeWorkspace:
    """Return the workspace of the conventional method for a tree."""
    equation = free_equations(tree)
    size = int(np.count_nonzero(equation >= 0)) + len(tree.bias)
    return LagrangeWorkspace(
        columns=free_columns(tree, equation),
        equation=equation,
        matrix=np.zeros((size, size)),
        values=np.zeros(size),
        pivots=np.zeros(size, dtype=np.int64),
        min_pivots=np.zeros(size),
    )


@separate_kernel
def solve_lagrange(tree: Tree, car: Arrays, work: LagrangeWorkspace) -> int:
    """Write ``udot`` of all free coordinates: (17), (22) and (23) as one system, by LU with row exchanges.

    Returns 0, or 1 + the group whose equations depend on each other.
    """
    matrix, values = work.matrix, work.values
    rows = tree.bias.shape[0]
    free = values.shape[0] - rows
    for i in range(free + rows):
        values[i] = 0.0
        for k in range(free + rows):
            matrix[i, k] = 0.0
    add_inertia(tree, work.columns, tree.v, tree.w, tree.residual, matrix, values)
    for i in range(free):
        for k in range(i):
            matrix[k, i] = matrix[i, k]
    for r in range(rows):
        values[free + r] = -tree.bias[r]
        first = tree.row_table[r, CUT_ROW.first]
        for c in range(first, first + tree.row_table[r, CUT_ROW.columns]):
            coordinate = tree.row_columns[c, 1]
            if work.equation[coordinate] >= 0:
                matrix[free + r, work.equation[coordinate]] = tree.phi[r, coordinate]
                matrix[work.equation[coordinate], free + r] = tree.phi[r, coordinate]
    failed = _solve_dense(work)
    if failed > free:
        return 1 + group_of_row(tree, failed - 1 - free)
    for k in range(work.equation.shape[0]):
        if work.equation[k] >= 0:
            if work.equation[k] == failed - 1:
                return 1 + group_of(tree, k)
            tree.udot[k] = values[work.equation[k]]
    return 0


@fused_kernel
def group_of_row(tree: Tree, row: int) -> int:
    """Return the body group of a constraint row."""
    group = 0
    while row >= tree.groups[group, BODY_GROUP.first_row] + tree.groups[group, BODY_GROUP.rows]:
        group += 1
    return group


@merged_kernel
def _solve_dense(work: LagrangeWorkspace) -> int:
    """Replace the right-hand side by the solution; return 0, or 1 + the column without a pivot."""
    matrix, values, sizes = work.matrix, work.values, work.min_pivots
    n = values.shape[0]
    for j in range(n):
        sizes[j] = 0.0
    for i in range(n):
        for j in range(n):
            sizes[j] = max(sizes[j], abs(matrix[i, j]))
    for j in range(n):
        sizes[j] *= MIN_PIVOT
    failed = lu_factor_pivoted(matrix, n, work.pivots, sizes, False)
    if failed == 0:
        lu_solve_pivoted(matrix, n, work.pivots, values)
    return failed


class ReducedWorkspace(NamedTuple):
    """Workspace of the reduced method."""

    columns: Columns
    equation: IntArray
    """(n) in the order of elimination, −1 of coordinates that are fixed."""
    coordinate: IntArray
    """(free) of each place."""
    pattern: Pattern
    """Of the mass matrix."""
    mass: FloatArray
    """(free, free) its lower triangle, then its factors."""
    nonzero_first: IntArray
    """(rows + 1) where the places begin that L⁻¹ Φᵀ of each row has entries in, and these, rising."""
    nonzero: IntArray
    nonzero_rows_first: IntArray
    """(free + 1) the same by places: the rows."""
    nonzero_rows: IntArray
    y: FloatArray
    """(rows, free) L⁻¹ Φᵀ."""
    multiplier_pattern: Pattern
    multiplier_matrix: FloatArray
    """(rows, rows) Φ M⁻¹ Φᵀ, then its factors."""
    multipliers: FloatArray
    """(rows)."""
    values: FloatArray
    """(free) force, then accelerations."""


def reduced_workspace(tree: Tree, dense: bool = False) -> ReducedWorkspace:
    """Return the workspace of the reduced method for a tree.

    ``dense``: as if all entries were in use, to count the operations of a code that does not look.
    """
    coupled = coupled_coordinates(tree)
    free, rows = len(coupled), len(tree.bias)
    if dense:
        coupled[:] = True
    order = list(range(free)) if dense else elimination_order(coupled)
    equation = free_equations(tree, order)
    pattern = pattern_of(coupled[np.ix_(order, order)])
    nonzero = []
    for line in tree.row_table:
        own = tree.row_columns[line[CUT_ROW.first] : line[CUT_ROW.first] + line[CUT_ROW.columns], 1]
        found = set(range(free)) if dense else {int(k) for k in equation[own] if k >= 0}
        for j in range(free):
            if j in found:
                found |= set(pattern.rows[pattern.first[j] : pattern.first[j + 1]].tolist())
        nonzero.append(sorted(found))
    nonzero_rows = [[r for r in range(rows) if j in nonzero[r]] for j in range(free)]
    crossing = np.array(
        [[bool(set(one) & set(other)) for other in nonzero] for one in nonzero], dtype=np.bool_
    )
    coordinate = np.zeros(free, dtype=np.int64)
    coordinate[equation[equation >= 0]] = np.flatnonzero(equation >= 0)
    return ReducedWorkspace(
        columns=free_columns(tree, equation),
        equation=equation,
        coordinate=coordinate,
        pattern=pattern,
        mass=np.zeros((free, free)),
        nonzero_first=_starts(nonzero),
        nonzero=np.array([k for one in nonzero for k in one], dtype=np.int64),
        nonzero_rows_first=_starts(nonzero_rows),
        nonzero_rows=np.array([k for one in nonzero_rows for k in one], dtype=np.int64),
        y=np.zeros((rows, free)),
        multiplier_pattern=pattern_of(crossing.reshape(rows, rows)),
        multiplier_matrix=np.zeros((rows, rows)),
        multipliers=np.zeros(rows),
        values=np.zeros(free),
    )


def _starts(lists: list[list[int]]) -> IntArray:
    return np.concatenate([[0], np.cumsum([len(one) for one in lists])]).astype(np.int64)


@separate_kernel
def solve_reduced(tree: Tree, car: Arrays, work: ReducedWorkspace) -> int:
    """Write ``udot`` of all free coordinates: first λ of Φ M⁻¹ Φᵀ λ = −bias − Φ M⁻¹ f, then M q̈ = f + Φᵀ λ.

    With M = L D Lᵀ it is Y = L⁻¹ Φᵀ that both take. Returns 0, or 1 + the group whose equations depend on
    each other.
    """
    mass, y, values = work.mass, work.y, work.values
    free, rows = values.shape[0], work.multipliers.shape[0]
    clear(work.pattern, mass)
    for i in range(free):
        values[i] = 0.0
    add_inertia(tree, work.columns, tree.v, tree.w, tree.residual, mass, values)
    failed = factor(work.pattern, mass)
    if failed > 0:
        return 1 + group_of(tree, work.coordinate[failed - 1])
    forward(work.pattern, mass, values)
    _carry_rows(tree, work)
    clear(work.multiplier_pattern, work.multiplier_matrix)
    for r in range(rows):
        work.multipliers[r] = -tree.bias[r]
    for j in range(free):
        first, last = work.nonzero_rows_first[j], work.nonzero_rows_first[j + 1]
        for at in range(first, last):
            r = work.nonzero_rows[at]
            value = y[r, j] * mass[j, j]
            work.multipliers[r] -= value * values[j]
            for other in range(first, at + 1):
                work.multiplier_matrix[r, work.nonzero_rows[other]] += value * y[work.nonzero_rows[other], j]
    failed = factor(work.multiplier_pattern, work.multiplier_matrix)
    if failed > 0:
        return 1 + group_of_row(tree, failed - 1)
    solve(work.multiplier_pattern, work.multiplier_matrix, work.multipliers)
    for r in range(rows):
        for at in range(work.nonzero_first[r], work.nonzero_first[r + 1]):
            values[work.nonzero[at]] += y[r, work.nonzero[at]] * work.multipliers[r]
    backward(work.pattern, mass, values)
    for i in range(free):
        tree.udot[work.coordinate[i]] = values[i]
    return 0


@fused_kernel
def _carry_rows(tree: Tree, work: ReducedWorkspace) -> None:
    """Write L⁻¹ Φᵀ, row of Φ by row of Φ."""
    pattern, y = work.pattern, work.y
    for r in range(work.multipliers.shape[0]):
        for at in range(work.nonzero_first[r], work.nonzero_first[r + 1]):
            y[r, work.nonzero[at]] = tree.phi[r, work.coordinate[work.nonzero[at]]]
        for at in range(work.nonzero_first[r], work.nonzero_first[r + 1]):
            j = work.nonzero[at]
            value = y[r, j]
            for below in range(pattern.first[j], pattern.first[j + 1]):
                y[r, pattern.rows[below]] -= work.mass[pattern.rows[below], j] * value
