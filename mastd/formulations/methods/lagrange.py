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
    free_columns,
    free_places,
    joined_coordinates,
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
from mastd.formulations.tree import arrays as a
from mastd.formulations.tree.arrays import Tree
from mastd.kernel import fused_kernel, merged_kernel, separate_kernel
from mastd.vehicle.state.arrays import Arrays

MIN_PIVOT: Final = 1e-13
"""Of the largest entry in its column before elimination: below it the system is singular."""


class LagrangeRoom(NamedTuple):
    """Room of the conventional method. N = free coordinates + rows."""

    columns: Columns
    place: IntArray
    """(n) in the system, −1 of coordinates that are fixed."""
    matrix: FloatArray
    """(N, N)."""
    values: FloatArray
    """(N) right side, then accelerations and the multipliers: Φᵀ times these are the joints' forces,
    negative."""
    sizes: FloatArray
    """(N) largest entries of the columns."""


def lagrange_room(tree: Tree) -> LagrangeRoom:
    """Return the room of the conventional method for a tree."""
    place = free_places(tree)
    size = int(np.count_nonzero(place >= 0)) + len(tree.bias)
    return LagrangeRoom(
        free_columns(tree, place), place, np.zeros((size, size)), np.zeros(size), np.zeros(size)
    )


@separate_kernel
def solve_lagrange(tree: Tree, car: Arrays, room: LagrangeRoom) -> int:
    """Write ``udot`` of all free coordinates: (17), (22) and (23) as one system, by LU with row exchanges.

    Returns 0, or 1 + the group whose equations depend on each other.
    """
    matrix, values = room.matrix, room.values
    rows = tree.bias.shape[0]
    free = values.shape[0] - rows
    for i in range(free + rows):
        values[i] = 0.0
        for k in range(free + rows):
            matrix[i, k] = 0.0
    add_inertia(tree, room.columns, tree.v, tree.w, tree.residual, matrix, values)
    for i in range(free):
        for k in range(i):
            matrix[k, i] = matrix[i, k]
    for r in range(rows):
        values[free + r] = -tree.bias[r]
        first = tree.row_table[r, a.R_FIRST]
        for c in range(first, first + tree.row_table[r, a.R_COUNT]):
            coordinate = tree.row_columns[c, 1]
            if room.place[coordinate] >= 0:
                matrix[free + r, room.place[coordinate]] = tree.phi[r, coordinate]
                matrix[room.place[coordinate], free + r] = tree.phi[r, coordinate]
    failed = _solve_dense(matrix, values, room.sizes)
    if failed > free:
        return 1 + group_of_row(tree, failed - 1 - free)
    for k in range(room.place.shape[0]):
        if room.place[k] >= 0:
            if room.place[k] == failed - 1:
                return 1 + group_of(tree, k)
            tree.udot[k] = values[room.place[k]]
    return 0


@fused_kernel
def group_of_row(tree: Tree, row: int) -> int:
    """Return the body group of a constraint row."""
    group = 0
    while row >= tree.groups[group, a.B_ROW] + tree.groups[group, a.B_ROWS]:
        group += 1
    return group


@merged_kernel
def _solve_dense(matrix: FloatArray, values: FloatArray, sizes: FloatArray) -> int:
    """Replace ``values`` by the solution for them as right side; return 0, or 1 + the column without a
    pivot."""
    n = values.shape[0]
    for j in range(n):
        sizes[j] = 0.0
    for i in range(n):
        for j in range(n):
            sizes[j] = max(sizes[j], abs(matrix[i, j]))
    for step in range(n):
        chosen = step
        for i in range(step + 1, n):
            if abs(matrix[i, step]) > abs(matrix[chosen, step]):
                chosen = i
        if chosen != step:
            for k in range(step, n):
                held = matrix[step, k]
                matrix[step, k] = matrix[chosen, k]
                matrix[chosen, k] = held
            held = values[step]
            values[step] = values[chosen]
            values[chosen] = held
        pivot = matrix[step, step]
        if not abs(pivot) > MIN_PIVOT * sizes[step]:
            return 1 + step
        inverse = 1.0 / pivot
        matrix[step, step] = inverse
        for i in range(step + 1, n):
            share = matrix[i, step] * inverse
            for k in range(step + 1, n):
                matrix[i, k] -= share * matrix[step, k]
            values[i] -= share * values[step]
    for i in range(n - 1, -1, -1):
        value = values[i]
        for k in range(i + 1, n):
            value -= matrix[i, k] * values[k]
        values[i] = value * matrix[i, i]
    return 0


class ReducedRoom(NamedTuple):
    """Room of the reduced method."""

    columns: Columns
    place: IntArray
    """(n) in the order of elimination, −1 of coordinates that are fixed."""
    coordinate: IntArray
    """(free) of each place."""
    pattern: Pattern
    """Of the mass matrix."""
    mass: FloatArray
    """(free, free) its lower triangle, then its factors."""
    reach_first: IntArray
    """(rows + 1) where the places begin that L⁻¹ Φᵀ of each row has entries in, and these, rising."""
    reach: IntArray
    reached_first: IntArray
    """(free + 1) the same by places: the rows."""
    reached: IntArray
    y: FloatArray
    """(rows, free) L⁻¹ Φᵀ."""
    multiplier_pattern: Pattern
    multiplier_matrix: FloatArray
    """(rows, rows) Φ M⁻¹ Φᵀ, then its factors."""
    multipliers: FloatArray
    """(rows)."""
    values: FloatArray
    """(free) force, then accelerations."""


def reduced_room(tree: Tree, dense: bool = False) -> ReducedRoom:
    """Return the room of the reduced method for a tree.

    ``dense``: as if all entries were in use, to count the operations of a code that does not look.
    """
    joined = joined_coordinates(tree)
    free, rows = len(joined), len(tree.bias)
    if dense:
        joined[:] = True
    order = list(range(free)) if dense else elimination_order(joined)
    place = free_places(tree, order)
    pattern = pattern_of(joined[np.ix_(order, order)])
    reach = []
    for line in tree.row_table:
        own = tree.row_columns[line[a.R_FIRST] : line[a.R_FIRST] + line[a.R_COUNT], 1]
        found = set(range(free)) if dense else {int(k) for k in place[own] if k >= 0}
        for j in range(free):
            if j in found:
                found |= set(pattern.rows[pattern.first[j] : pattern.first[j + 1]].tolist())
        reach.append(sorted(found))
    reached = [[r for r in range(rows) if j in reach[r]] for j in range(free)]
    crossing = np.array([[bool(set(one) & set(other)) for other in reach] for one in reach], dtype=np.bool_)
    coordinate = np.zeros(free, dtype=np.int64)
    coordinate[place[place >= 0]] = np.flatnonzero(place >= 0)
    return ReducedRoom(
        columns=free_columns(tree, place),
        place=place,
        coordinate=coordinate,
        pattern=pattern,
        mass=np.zeros((free, free)),
        reach_first=_starts(reach),
        reach=np.array([k for one in reach for k in one], dtype=np.int64),
        reached_first=_starts(reached),
        reached=np.array([k for one in reached for k in one], dtype=np.int64),
        y=np.zeros((rows, free)),
        multiplier_pattern=pattern_of(crossing.reshape(rows, rows)),
        multiplier_matrix=np.zeros((rows, rows)),
        multipliers=np.zeros(rows),
        values=np.zeros(free),
    )


def _starts(lists: list[list[int]]) -> IntArray:
    return np.concatenate([[0], np.cumsum([len(one) for one in lists])]).astype(np.int64)


@separate_kernel
def solve_reduced(tree: Tree, car: Arrays, room: ReducedRoom) -> int:
    """Write ``udot`` of all free coordinates: first λ of Φ M⁻¹ Φᵀ λ = −bias − Φ M⁻¹ f, then M q̈ = f + Φᵀ λ.

    With M = L D Lᵀ it is Y = L⁻¹ Φᵀ that both take. Returns 0, or 1 + the group whose equations depend on
    each other.
    """
    mass, y, values = room.mass, room.y, room.values
    free, rows = values.shape[0], room.multipliers.shape[0]
    clear(room.pattern, mass)
    for i in range(free):
        values[i] = 0.0
    add_inertia(tree, room.columns, tree.v, tree.w, tree.residual, mass, values)
    failed = factor(room.pattern, mass)
    if failed > 0:
        return 1 + group_of(tree, room.coordinate[failed - 1])
    forward(room.pattern, mass, values)
    _carry_rows(tree, room)
    clear(room.multiplier_pattern, room.multiplier_matrix)
    for r in range(rows):
        room.multipliers[r] = -tree.bias[r]
    for j in range(free):
        first, last = room.reached_first[j], room.reached_first[j + 1]
        for at in range(first, last):
            r = room.reached[at]
            value = y[r, j] * mass[j, j]
            room.multipliers[r] -= value * values[j]
            for other in range(first, at + 1):
                room.multiplier_matrix[r, room.reached[other]] += value * y[room.reached[other], j]
    failed = factor(room.multiplier_pattern, room.multiplier_matrix)
    if failed > 0:
        return 1 + group_of_row(tree, failed - 1)
    solve(room.multiplier_pattern, room.multiplier_matrix, room.multipliers)
    for r in range(rows):
        for at in range(room.reach_first[r], room.reach_first[r + 1]):
            values[room.reach[at]] += y[r, room.reach[at]] * room.multipliers[r]
    backward(room.pattern, mass, values)
    for i in range(free):
        tree.udot[room.coordinate[i]] = values[i]
    return 0


@fused_kernel
def _carry_rows(tree: Tree, room: ReducedRoom) -> None:
    """Write L⁻¹ Φᵀ, row of Φ by row of Φ."""
    pattern, y = room.pattern, room.y
    for r in range(room.multipliers.shape[0]):
        for at in range(room.reach_first[r], room.reach_first[r + 1]):
            y[r, room.reach[at]] = tree.phi[r, room.coordinate[room.reach[at]]]
        for at in range(room.reach_first[r], room.reach_first[r + 1]):
            j = room.reach[at]
            value = y[r, j]
            for below in range(pattern.first[j], pattern.first[j + 1]):
                y[r, pattern.rows[below]] -= room.mass[pattern.rows[below], j] * value
