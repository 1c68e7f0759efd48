"""Coordinate partitioning, Kang and Yoon: the equations of all coordinates first, then projected by B_di.

The reduced equations are those of ``independent``; here they are Tᵀ M T and Tᵀ (f − M g), T the unit matrix
for the independent coordinates and B_di for the dependent ones (embedding).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mastd.arrays import FloatArray, IntArray
from mastd.formulations.methods.mass_matrix import (
    Columns,
    add_inertia,
    coupled_coordinates,
    free_columns,
    free_equations,
)
from mastd.formulations.methods.reduced_indices import (
    ReducedIndices,
    is_current,
    reduced_indices_of,
    solve_reduced,
    update_indices,
)
from mastd.formulations.methods.sparse_cholesky import clear
from mastd.formulations.tree.arrays import BODY_GROUP, FREE, Tree
from mastd.kernel import fused_kernel, merged_kernel, separate_kernel
from mastd.vehicle.state.arrays import Arrays


class PartitioningWorkspace(NamedTuple):
    """Workspace of the method."""

    indices: ReducedIndices
    columns: Columns
    coordinate: IntArray
    """(free) coordinate of each row of the whole system."""
    neighbour_first: IntArray
    """(free + 1) where the columns begin that each row of the whole mass matrix has entries in, and these."""
    neighbour: IntArray
    column_first: IntArray
    """(free + 1) where the places begin that each row of M T has entries in, as far as they are needed, and
    these."""
    column: IntArray
    mark: IntArray
    """(independent)."""
    whole: FloatArray
    """(free, free)."""
    force: FloatArray
    """(free)."""
    row: FloatArray
    """(independent) of M T."""
    mass: FloatArray
    """(independent, independent)."""
    values: FloatArray
    """(independent) force, then accelerations."""


def partitioning_workspace(tree: Tree, dense: bool = False) -> PartitioningWorkspace:
    """Return the workspace of the method for a tree.

    ``dense``: as if the mass matrix of all coordinates had entries everywhere, to count the operations of a
    code that does not look.
    """
    coupled = coupled_coordinates(tree)
    if dense:
        coupled[:] = True
    free, size = len(coupled), int(np.sum(tree.groups[:, BODY_GROUP.free]))
    counts = np.count_nonzero(coupled, axis=1)
    return PartitioningWorkspace(
        indices=reduced_indices_of(tree),
        columns=free_columns(tree, free_equations(tree)),
        coordinate=np.flatnonzero(tree.fixed == FREE).astype(np.int64),
        neighbour_first=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        neighbour=np.nonzero(coupled)[1].astype(np.int64),
        column_first=np.zeros(free + 1, dtype=np.int64),
        column=np.zeros(free * size, dtype=np.int64),
        mark=np.zeros(size, dtype=np.int64),
        whole=np.zeros((free, free)),
        force=np.zeros(free),
        row=np.zeros(size),
        mass=np.zeros((size, size)),
        values=np.zeros(size),
    )


@separate_kernel
def solve_partitioning(tree: Tree, car: Arrays, work: PartitioningWorkspace) -> int:
    """Write ``udot`` of all free coordinates: the projected equations, then the dependent coordinates by
    (27).

    B_di and g_di must be those of the present Φ_q and ``bias`` (``partition.independent_columns``,
    ``acceleration_terms``). Returns 0, or 1 + the group that is singular.
    """
    indices, values = work.indices, work.values
    if not is_current(tree, indices):
        update_indices(tree, indices)
        list_products(tree, work)
    for i in range(work.force.shape[0]):
        work.force[i] = 0.0
        for k in range(work.force.shape[0]):
            work.whole[i, k] = 0.0
    add_inertia(tree, work.columns, tree.v, tree.w, tree.residual, work.whole, work.force)
    for i in range(work.force.shape[0]):
        for k in range(i):
            work.whole[k, i] = work.whole[i, k]
    clear(indices.pattern, work.mass)
    for i in range(values.shape[0]):
        values[i] = 0.0
    _project(tree, work)
    return solve_reduced(tree, indices, work.mass, values)


@fused_kernel
def _last_index(indices: ReducedIndices, coordinate: int) -> int:
    """Return the last place that a row of the whole system is projected to."""
    if indices.equation[coordinate] >= 0:
        return int(indices.equation[coordinate])
    return int(indices.column_equation[indices.column_first[indices.group[coordinate] + 1] - 1])


@merged_kernel
def list_products(tree: Tree, work: PartitioningWorkspace) -> None:
    """Write which entries each row of M T has; only the lower triangle of Tᵀ M T is wanted."""
    indices, found = work.indices, 0
    for i in range(work.coordinate.shape[0]):
        for k in range(work.mark.shape[0]):
            work.mark[k] = 0
        for at in range(work.neighbour_first[i], work.neighbour_first[i + 1]):
            k = work.coordinate[work.neighbour[at]]
            if indices.equation[k] >= 0:
                work.mark[indices.equation[k]] = 1
            else:
                g = indices.group[k]
                for c in range(indices.column_first[g], indices.column_first[g + 1]):
                    work.mark[indices.column_equation[c]] = 1
        work.column_first[i] = found
        for k in range(_last_index(indices, work.coordinate[i]) + 1):
            if work.mark[k] > 0:
                work.column[found] = k
                found += 1
    work.column_first[work.coordinate.shape[0]] = found


@merged_kernel
def _project(tree: Tree, work: PartitioningWorkspace) -> None:
    """Add Tᵀ M T to the reduced mass matrix and Tᵀ (f − M g) to the reduced force, row of M by row of M."""
    indices, values = work.indices, work.values
    for i in range(work.coordinate.shape[0]):
        for c in range(work.column_first[i], work.column_first[i + 1]):
            work.row[work.column[c]] = 0.0
        last = _last_index(indices, work.coordinate[i])
        force = work.force[i]
        for at in range(work.neighbour_first[i], work.neighbour_first[i + 1]):
            k = work.coordinate[work.neighbour[at]]
            entry = work.whole[i, work.neighbour[at]]
            if indices.equation[k] >= 0:
                if indices.equation[k] <= last:
                    work.row[indices.equation[k]] += entry
                continue
            force -= entry * tree.g_cells[indices.own_row[k]]
            g = indices.group[k]
            for c in range(indices.column_first[g], indices.column_first[g + 1]):
                if indices.column_equation[c] <= last:
                    ratio = tree.b_cells[indices.row[k] + indices.column[c]]
                    work.row[indices.column_equation[c]] += entry * ratio
        k = work.coordinate[i]
        if indices.equation[k] >= 0:
            values[last] += force
            for c in range(work.column_first[i], work.column_first[i + 1]):
                work.mass[last, work.column[c]] += work.row[work.column[c]]
            continue
        g = indices.group[k]
        for own in range(indices.column_first[g], indices.column_first[g + 1]):
            equation = indices.column_equation[own]
            ratio = tree.b_cells[indices.row[k] + indices.column[own]]
            values[equation] += ratio * force
            for c in range(work.column_first[i], work.column_first[i + 1]):
                if work.column[c] <= equation:
                    work.mass[equation, work.column[c]] += ratio * work.row[work.column[c]]
