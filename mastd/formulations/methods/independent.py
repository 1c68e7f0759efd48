"""Independent velocity matrices, eqs. (31)–(36) of Kang and Yoon: the smallest equations of motion.

From the start each link has only the columns of the independent coordinates that move it; the mass matrix
(18) and the force (19) are built of these, and a Cholesky factorisation that knows where they have entries
solves them. No multiplier is left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mastd.arrays import FloatArray, IntArray
from mastd.formulations.methods.mass_matrix import Columns, add_inertia
from mastd.formulations.methods.reduced_indices import (
    ReducedIndices,
    is_current,
    reduced_indices_of,
    solve_reduced,
    update_indices,
)
from mastd.formulations.methods.sparse_cholesky import clear
from mastd.formulations.tree.arrays import BODY_GROUP, LINK, Tree
from mastd.kernel import fused_kernel, merged_kernel, separate_kernel
from mastd.vehicle.state.arrays import Arrays


class IndependentWorkspace(NamedTuple):
    """Workspace of the method."""

    indices: ReducedIndices
    columns: Columns
    """Of V_di and W_di, by the present choice."""
    kept: IntArray
    """(links + 1, 2) where the independent coordinates of each link's path begin in the next two, and where
    the dependent ones do in the two after those."""
    kept_from: IntArray
    """Place in ``Tree.path`` and column of V_di."""
    kept_to: IntArray
    spread_from: IntArray
    """Place in ``Tree.path``, and where its columns of V_di begin in ``target``."""
    spread_first: IntArray
    target: IntArray
    """Columns of V_di that a dependent coordinate's row of B_di is spread over."""
    local: IntArray
    """(independent) column of V_di of each place, of the link at hand."""
    v: FloatArray
    """(columns, 3) V_di and W_di, (33), (34)."""
    w: FloatArray
    residual: FloatArray
    """(links, 6) as ``Tree.residual``, with the γ of (35), (36)."""
    mass: FloatArray
    """(independent, independent)."""
    values: FloatArray
    """(independent) force, then accelerations."""


def independent_workspace(tree: Tree) -> IndependentWorkspace:
    """Return the workspace of the method for a tree."""
    indices, links, size = (
        reduced_indices_of(tree),
        len(tree.links),
        int(np.sum(tree.groups[:, BODY_GROUP.free])),
    )
    widths = np.diff(indices.column_first)
    width, targets = 0, 0
    for line in tree.links:
        path = tree.path[line[LINK.path] : line[LINK.path] + line[LINK.path_size]]
        groups = tree.links[tree.link_of[path], LINK.group]
        width += min(size, len(path) + int(np.sum(widths[np.unique(groups)])))
        targets += int(np.sum(widths[groups]))
    paths = len(tree.path)
    return IndependentWorkspace(
        indices=indices,
        columns=Columns(
            _zeros(links + 1), _zeros(width), _zeros(width), _zeros(links + 1), _zeros(width), _zeros(width)
        ),
        kept=np.zeros((links + 1, 2), dtype=np.int64),
        kept_from=_zeros(paths),
        kept_to=_zeros(paths),
        spread_from=_zeros(paths),
        spread_first=_zeros(paths),
        target=_zeros(targets),
        local=_zeros(size),
        v=np.zeros((width, 3)),
        w=np.zeros((width, 3)),
        residual=np.zeros((links, 6)),
        mass=np.zeros((size, size)),
        values=np.zeros(size),
    )


def _zeros(size: int) -> IntArray:
    return np.zeros(size, dtype=np.int64)


@separate_kernel
def solve_independent(tree: Tree, car: Arrays, work: IndependentWorkspace) -> int:
    """Write ``udot`` of all free coordinates: the reduced equations, then the dependent coordinates by (27).

    B_di and g_di must be those of the present Φ_q and ``bias`` (``partition.independent_columns``,
    ``acceleration_terms``). Returns 0, or 1 + the group that is singular.
    """
    indices, values = work.indices, work.values
    if not is_current(tree, indices):
        update_indices(tree, indices)
        list_columns(tree, work)
    clear(indices.pattern, work.mass)
    for i in range(values.shape[0]):
        values[i] = 0.0
    velocity_matrices(tree, work)
    add_inertia(tree, work.columns, work.v, work.w, work.residual, work.mass, values)
    return solve_reduced(tree, indices, work.mass, values)


@merged_kernel
def list_columns(tree: Tree, work: IndependentWorkspace) -> None:
    """Write which columns V_di and W_di of each link have, and of which columns of V and W they are made."""
    indices, columns, local = work.indices, work.columns, work.local
    column, rotational, kept, spread, target = 0, 0, 0, 0, 0
    for i in range(tree.links.shape[0]):
        first = tree.links[i, LINK.path]
        last = first + tree.links[i, LINK.path_size]
        # Of each place: 0 does not move the link, 1 shifts it, 2 turns it as well.
        for k in range(local.shape[0]):
            local[k] = 0
        for at in range(first, last):
            k = tree.path[at]
            mark = 1 + tree.rotational[k]
            if indices.equation[k] >= 0:
                local[indices.equation[k]] = max(local[indices.equation[k]], mark)
            elif indices.group[k] >= 0:
                g = indices.group[k]
                for c in range(indices.column_first[g], indices.column_first[g + 1]):
                    local[indices.column_equation[c]] = max(local[indices.column_equation[c]], mark)
        columns.first[i], columns.rotational_first[i] = column, rotational
        for k in range(local.shape[0]):
            if local[k] == 0:
                continue
            if local[k] > 1:
                columns.rotational_equation[rotational], columns.rotational_at[rotational] = k, column
                rotational += 1
            columns.equation[column], columns.at[column] = k, column
            local[k] = column
            column += 1
        work.kept[i, 0], work.kept[i, 1] = kept, spread
        for at in range(first, last):
            k = tree.path[at]
            if indices.equation[k] >= 0:
                work.kept_from[kept], work.kept_to[kept] = at, local[indices.equation[k]]
                kept += 1
            elif indices.group[k] >= 0:
                g = indices.group[k]
                work.spread_from[spread], work.spread_first[spread] = at, target
                spread += 1
                for c in range(indices.column_first[g], indices.column_first[g + 1]):
                    # In the order of B_di's columns.
                    work.target[target + indices.column[c]] = local[indices.column_equation[c]]
                target += indices.column_first[g + 1] - indices.column_first[g]
    links = tree.links.shape[0]
    columns.first[links], columns.rotational_first[links] = column, rotational
    work.kept[links, 0], work.kept[links, 1] = kept, spread


@merged_kernel
def velocity_matrices(tree: Tree, work: IndependentWorkspace) -> None:
    """Write V_di and W_di of all links, (33), (34), and their residual forces with γ of (35), (36)."""
    for i in range(tree.links.shape[0]):
        for c in range(work.columns.first[i], work.columns.first[i + 1]):
            for k in range(3):
                work.v[c, k], work.w[c, k] = 0.0, 0.0
        for at in range(work.kept[i, 0], work.kept[i + 1, 0]):
            for k in range(3):
                work.v[work.kept_to[at], k] = tree.v[work.kept_from[at], k]
                work.w[work.kept_to[at], k] = tree.w[work.kept_from[at], k]
        x, y, z, p, q, r = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        rotates = False
        for at in range(work.kept[i, 1], work.kept[i + 1, 1]):
            source, coordinate = work.spread_from[at], tree.path[work.spread_from[at]]
            g, row, first = (
                work.indices.group[coordinate],
                work.indices.row[coordinate],
                work.spread_first[at],
            )
            width = work.indices.column_first[g + 1] - work.indices.column_first[g]
            term = tree.g_cells[work.indices.own_row[coordinate]]
            v = tree.v[source]
            x, y, z = x + term * v[0], y + term * v[1], z + term * v[2]
            _spread(tree, work.v, work.target, v, row, first, width)
            if tree.rotational[coordinate] > 0:
                rotates = True
                w = tree.w[source]
                p, q, r = p + term * w[0], q + term * w[1], r + term * w[2]
                _spread(tree, work.w, work.target, w, row, first, width)
        for k in range(6):
            work.residual[i, k] = tree.residual[i, k]
        if work.kept[i, 1] < work.kept[i + 1, 1]:
            work.residual[i, 0] += tree.mass[i] * x
            work.residual[i, 1] += tree.mass[i] * y
            work.residual[i, 2] += tree.mass[i] * z
        if rotates:
            j = tree.inertia[i]
            work.residual[i, 3] += j[0] * p + j[3] * q + j[4] * r
            work.residual[i, 4] += j[3] * p + j[1] * q + j[5] * r
            work.residual[i, 5] += j[4] * p + j[5] * q + j[2] * r


@fused_kernel
def _spread(
    tree: Tree, matrix: FloatArray, target: IntArray, column: FloatArray, row: int, first: int, width: int
) -> None:
    """Add a dependent coordinate's column times its row of B_di to the independent columns."""
    x, y, z = column[0], column[1], column[2]
    for c in range(width):
        ratio, to = tree.b_cells[row + c], target[first + c]
        matrix[to, 0] += ratio * x
        matrix[to, 1] += ratio * y
        matrix[to, 2] += ratio * z
