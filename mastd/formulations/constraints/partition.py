"""Dependent and independent coordinates of each body group, eqs. (24)–(30) of Kang and Yoon.

A group has as many dependent coordinates as rows. They are chosen by Gaussian elimination with complete
pivoting, rows brought to equal size first so that metres and radians compare, and chosen again when the
pivots have degraded. Coordinates that are held or given are never dependent; their part of Φ̈ is in ``bias``.

A group's rows may also depend on coordinates outside it (``Tree.outside``): those of bodies that were taken
out of the group to split it. These belong to groups without rows, so they are independent, and B_di has
columns for them.
"""

from __future__ import annotations

from typing import Final

from mastd.arrays import FloatArray
from mastd.formulations.tree.arrays import BODY_GROUP, Tree
from mastd.kernel import fused_kernel, merged_kernel, separate_kernel

REPARTITION_RATIO: Final = 0.3
"""Independent coordinates are chosen again when the pivots' quality is below this fraction of what it was at
their choice. A new choice sets a new mark, so it stays until it has degraded by as much itself: sets never
alternate about one position."""
MIN_QUALITY: Final = 1e-6
"""Of the pivots: below it no set of coordinates determines the others."""


@merged_kernel
def choose_independent(tree: Tree, group: int) -> float:
    """Choose the dependent coordinates of a group by complete pivoting over its rows and free coordinates.

    Re-orders the group's ``members``: dependent ones, independent ones, fixed ones. Returns the pivots'
    quality as ``factor_dependent`` does, and keeps it as the mark of ``update_partition``. The factors are
    those of the new choice, B_di of the group is lost.
    """
    rows, free = tree.groups[group, BODY_GROUP.rows], tree.groups[group, BODY_GROUP.free]
    first, row = tree.groups[group, BODY_GROUP.first], tree.groups[group, BODY_GROUP.first_row]
    members = tree.members
    if rows == 0:
        tree.quality[group] = 1.0
        return 1.0
    _size_rows(tree, group)
    # The factors' and B_di's own cells hold the numbers: together they have just these columns.
    for i in range(rows):
        size = tree.row_size[row + i]
        for k in range(rows + free):
            entry = tree.phi[row + i, members[first + k]]
            _put(tree, group, i, k, entry / size if size > 0.0 else 0.0)
    for step in range(rows):
        best, pivot_row, pivot_column = 0.0, step, step
        for i in range(step, rows):
            for k in range(step, rows + free):
                size = abs(_take(tree, group, i, k))
                if size > best:
                    best, pivot_row, pivot_column = size, i, k
        if best == 0.0:
            break
        for k in range(rows + free):
            held = _take(tree, group, step, k)
            _put(tree, group, step, k, _take(tree, group, pivot_row, k))
            _put(tree, group, pivot_row, k, held)
        for i in range(rows):
            held = _take(tree, group, i, step)
            _put(tree, group, i, step, _take(tree, group, i, pivot_column))
            _put(tree, group, i, pivot_column, held)
        coordinate = members[first + step]
        members[first + step] = members[first + pivot_column]
        members[first + pivot_column] = coordinate
        for i in range(step + 1, rows):
            factor = _take(tree, group, i, step) / _take(tree, group, step, step)
            for k in range(step, rows + free):
                reduced = _take(tree, group, i, k) - factor * _take(tree, group, step, k)
                _put(tree, group, i, k, reduced)
    quality = factor_dependent(tree, group)
    tree.quality[group] = quality
    return quality


@merged_kernel
def factor_dependent(tree: Tree, group: int) -> float:
    """Factor Φ_d of a group, exchanging rows, into ``lu`` and ``pivots``; the diagonal holds reciprocals.

    Returns the smallest over the largest pivot, each over the size of its row, the largest at least 1: 1 is
    best (and for a group without rows), 0 singular. What is not a number counts as 0.
    """
    rows, row = tree.groups[group, BODY_GROUP.rows], tree.groups[group, BODY_GROUP.first_row]
    first, at = tree.groups[group, BODY_GROUP.first], tree.groups[group, BODY_GROUP.factor]
    lu, sizes = tree.lu, tree.row_size
    if rows == 0:
        return 1.0
    _size_rows(tree, group)
    for i in range(rows):
        for k in range(rows):
            lu[at + i * rows + k] = tree.phi[row + i, tree.members[first + k]]
    minimum, maximum = 1.0, 1.0
    for step in range(rows):
        pivot_row = step
        for i in range(step + 1, rows):
            if abs(lu[at + i * rows + step]) > abs(lu[at + pivot_row * rows + step]):
                pivot_row = i
        tree.pivots[row + step] = pivot_row
        if pivot_row != step:
            for k in range(rows):
                held = lu[at + step * rows + k]
                lu[at + step * rows + k] = lu[at + pivot_row * rows + k]
                lu[at + pivot_row * rows + k] = held
            held = sizes[row + step]
            sizes[row + step] = sizes[row + pivot_row]
            sizes[row + pivot_row] = held
        pivot = lu[at + step * rows + step]
        if not abs(pivot) > 0.0:
            return 0.0
        ratio = abs(pivot) / sizes[row + step]
        minimum, maximum = min(minimum, ratio), max(maximum, ratio)
        inverse = 1.0 / pivot
        lu[at + step * rows + step] = inverse
        for i in range(step + 1, rows):
            factor = lu[at + i * rows + step] * inverse
            lu[at + i * rows + step] = factor
            for k in range(step + 1, rows):
                lu[at + i * rows + k] -= factor * lu[at + step * rows + k]
    quality = minimum / maximum
    return quality if quality > 0.0 else 0.0


@merged_kernel
def factor_groups(tree: Tree) -> int:
    """Factor Φ_d of all groups; return 0, or 1 + the group whose dependent coordinates do not follow."""
    for group in range(tree.groups.shape[0]):
        if factor_dependent(tree, group) < MIN_QUALITY:
            return 1 + group
    return 0


@separate_kernel
def update_partition(tree: Tree) -> int:
    """Factor Φ_d of all groups and choose independent coordinates again where the pivots have degraded.

    Returns 0, or 1 + the group that has no set of dependent coordinates: its rows are redundant or singular.
    """
    for group in range(tree.groups.shape[0]):
        quality = factor_dependent(tree, group)
        if quality < REPARTITION_RATIO * tree.quality[group] or quality < MIN_QUALITY:
            quality = choose_independent(tree, group)
        if quality < MIN_QUALITY:
            return 1 + group
    return 0


@fused_kernel
def solve_dependent(tree: Tree, group: int, right_side: FloatArray, out: FloatArray) -> None:
    """Write Φ_d⁻¹ r of a group, by its factors.

    ``right_side`` (m) by rows, of which the group's are read; ``out`` (m) has the dependent coordinates, in
    the order of ``members``, in the places of the group's rows. Both may be one array.
    """
    fields = tree.groups[group]
    rows, row, at = fields[BODY_GROUP.rows], fields[BODY_GROUP.first_row], fields[BODY_GROUP.factor]
    for i in range(row, row + rows):
        out[i] = right_side[i]
    for i in range(rows):
        pivot = row + tree.pivots[row + i]
        held = out[row + i]
        out[row + i] = out[pivot]
        out[pivot] = held
    for i in range(rows):
        for k in range(i):
            out[row + i] -= tree.lu[at + i * rows + k] * out[row + k]
    for i in range(rows - 1, -1, -1):
        for k in range(i + 1, rows):
            out[row + i] -= tree.lu[at + i * rows + k] * out[row + k]
        out[row + i] *= tree.lu[at + i * rows + i]


@fused_kernel
def solve_transposed(tree: Tree, group: int, right_side: FloatArray, out: FloatArray) -> None:
    """Write Φ_d⁻ᵀ r of a group, by its factors.

    ``right_side`` (m) by dependent coordinates, ``out`` (m) by rows. Both may be one array.
    """
    fields = tree.groups[group]
    rows, row, at = fields[BODY_GROUP.rows], fields[BODY_GROUP.first_row], fields[BODY_GROUP.factor]
    for i in range(row, row + rows):
        out[i] = right_side[i]
    for i in range(rows):
        out[row + i] *= tree.lu[at + i * rows + i]
        for k in range(i + 1, rows):
            out[row + k] -= tree.lu[at + i * rows + k] * out[row + i]
    for i in range(rows - 1, 0, -1):
        for k in range(i):
            out[row + k] -= tree.lu[at + i * rows + k] * out[row + i]
    for i in range(rows - 1, -1, -1):
        pivot = row + tree.pivots[row + i]
        held = out[row + i]
        out[row + i] = out[pivot]
        out[pivot] = held


@merged_kernel
def independent_columns(tree: Tree) -> None:
    """Write B_di = −Φ_d⁻¹ Φ_i of all groups, (28), by their factors into ``b_cells``.

    Of each group (rows, own independent coordinates and then outside ones), row by row.
    """
    b, lu = tree.b_cells, tree.lu
    for group in range(tree.groups.shape[0]):
        rows, row = tree.groups[group, BODY_GROUP.rows], tree.groups[group, BODY_GROUP.first_row]
        own, outsides = tree.groups[group, BODY_GROUP.free], tree.groups[group, BODY_GROUP.outsides]
        at, cell = tree.groups[group, BODY_GROUP.factor], tree.groups[group, BODY_GROUP.cell]
        independent = tree.groups[group, BODY_GROUP.first] + rows
        outside, width = tree.groups[group, BODY_GROUP.outside], own + outsides
        for i in range(rows):
            for k in range(own):
                b[cell + i * width + k] = -tree.phi[row + i, tree.members[independent + k]]
            for k in range(outsides):
                b[cell + i * width + own + k] = -tree.phi[row + i, tree.outside[outside + k]]
        for i in range(rows):
            pivot = tree.pivots[row + i]
            if pivot != i:
                for k in range(width):
                    held = b[cell + i * width + k]
                    b[cell + i * width + k] = b[cell + pivot * width + k]
                    b[cell + pivot * width + k] = held
        for i in range(rows):
            for j in range(i):
                for k in range(width):
                    b[cell + i * width + k] -= lu[at + i * rows + j] * b[cell + j * width + k]
        for i in range(rows - 1, -1, -1):
            for j in range(i + 1, rows):
                for k in range(width):
                    b[cell + i * width + k] -= lu[at + i * rows + j] * b[cell + j * width + k]
            for k in range(width):
                b[cell + i * width + k] *= lu[at + i * rows + i]


@merged_kernel
def velocity_terms(tree: Tree, out: FloatArray) -> None:
    """Write b_di = Φ_d⁻¹ b_c of all groups, (29): the part of the dependent rates that given ones make.

    b_c = −Φ_q u of the coordinates that are given. ``out`` (m) as in ``solve_dependent``.
    """
    for group in range(tree.groups.shape[0]):
        rows, row = tree.groups[group, BODY_GROUP.rows], tree.groups[group, BODY_GROUP.first_row]
        given = tree.groups[group, BODY_GROUP.first] + rows + tree.groups[group, BODY_GROUP.free]
        last = tree.groups[group, BODY_GROUP.first] + tree.groups[group, BODY_GROUP.size]
        outside = tree.groups[group, BODY_GROUP.outside] + tree.groups[group, BODY_GROUP.outsides]
        for i in range(row, row + rows):
            out[i] = 0.0
            for k in range(given, last):
                out[i] -= tree.phi[i, tree.members[k]] * tree.u[tree.members[k]]
            for k in range(outside, outside + tree.groups[group, BODY_GROUP.prescribed]):
                out[i] -= tree.phi[i, tree.outside[k]] * tree.u[tree.outside[k]]
        solve_dependent(tree, group, out, out)


@merged_kernel
def acceleration_terms(tree: Tree) -> None:
    """Write g_di = Φ_d⁻¹ g_c of all groups, (30), into ``g_cells``; g_c is −``bias``."""
    for row in range(tree.bias.shape[0]):
        tree.g_cells[row] = -tree.bias[row]
    for group in range(tree.groups.shape[0]):
        solve_dependent(tree, group, tree.g_cells, tree.g_cells)


@merged_kernel
def expand(tree: Tree, terms: FloatArray, values: FloatArray) -> None:
    """Write the dependent of ``values`` (n) from the independent ones, (26), (27): B_di of ``b_cells`` times
    these, plus ``terms`` (m)."""
    for group in range(tree.groups.shape[0]):
        fields = tree.groups[group]
        rows, row, first = fields[BODY_GROUP.rows], fields[BODY_GROUP.first_row], fields[BODY_GROUP.first]
        own, outsides = tree.groups[group, BODY_GROUP.free], tree.groups[group, BODY_GROUP.outsides]
        outside, cell = tree.groups[group, BODY_GROUP.outside], tree.groups[group, BODY_GROUP.cell]
        for i in range(rows):
            found = terms[row + i]
            for k in range(own):
                found += tree.b_cells[cell + k] * values[tree.members[first + rows + k]]
            for k in range(outsides):
                found += tree.b_cells[cell + own + k] * values[tree.outside[outside + k]]
            values[tree.members[first + i]] = found
            cell += own + outsides


@fused_kernel
def _size_rows(tree: Tree, group: int) -> None:
    """Write the largest entry of each of the group's rows among its free coordinates."""
    rows, row = tree.groups[group, BODY_GROUP.rows], tree.groups[group, BODY_GROUP.first_row]
    first, count = tree.groups[group, BODY_GROUP.first], rows + tree.groups[group, BODY_GROUP.free]
    for i in range(row, row + rows):
        size = 0.0
        for k in range(first, first + count):
            entry = abs(tree.phi[i, tree.members[k]])
            size = max(size, entry)
        tree.row_size[i] = size


@fused_kernel
def _take(tree: Tree, group: int, i: int, k: int) -> float:
    """Return a number of the elimination: of the columns that become dependent in ``lu``, else in
    ``b_cells``."""
    fields = tree.groups[group]
    rows, width = fields[BODY_GROUP.rows], fields[BODY_GROUP.free] + fields[BODY_GROUP.outsides]
    value: float = 0.0
    if k < rows:
        value = tree.lu[tree.groups[group, BODY_GROUP.factor] + i * rows + k]
    else:
        value = tree.b_cells[tree.groups[group, BODY_GROUP.cell] + i * width + k - rows]
    return value


@fused_kernel
def _put(tree: Tree, group: int, i: int, k: int, value: float) -> None:
    """Write a number where ``_take`` finds it."""
    fields = tree.groups[group]
    rows, width = fields[BODY_GROUP.rows], fields[BODY_GROUP.free] + fields[BODY_GROUP.outsides]
    if k < rows:
        tree.lu[tree.groups[group, BODY_GROUP.factor] + i * rows + k] = value
    else:
        tree.b_cells[tree.groups[group, BODY_GROUP.cell] + i * width + k - rows] = value
