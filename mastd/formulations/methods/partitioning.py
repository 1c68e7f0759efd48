"""Coordinate partitioning, Kang and Yoon: the equations of all coordinates first, then projected by B_di.

The reduced equations are those of ``independent``; here they are Tᵀ M T and Tᵀ (f − M g), T the unit matrix
for the independent coordinates and B_di for the dependent ones (embedding).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mastd.arrays import FloatArray, IntArray
from mastd.formulations.closing.partition import expand
from mastd.formulations.methods.mass_matrix import (
    Columns,
    add_inertia,
    free_columns,
    free_places,
    joined_coordinates,
)
from mastd.formulations.methods.reduced_indices import Places, arrange, group_of, is_arranged, places_of
from mastd.formulations.methods.sparse_cholesky import clear, factor, solve
from mastd.formulations.tree import arrays as a
from mastd.formulations.tree.arrays import Tree
from mastd.kernel import fused_kernel, merged_kernel, separate_kernel
from mastd.vehicle.state.arrays import Arrays


class PartitioningRoom(NamedTuple):
    """Room of the method."""

    places: Places
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


def partitioning_room(tree: Tree, dense: bool = False) -> PartitioningRoom:
    """Return the room of the method for a tree.

    ``dense``: as if the mass matrix of all coordinates had entries everywhere, to count the operations of a
    code that does not look.
    """
    joined = joined_coordinates(tree)
    if dense:
        joined[:] = True
    free, size = len(joined), int(np.sum(tree.groups[:, a.B_FREE]))
    counts = np.count_nonzero(joined, axis=1)
    return PartitioningRoom(
        places=places_of(tree),
        columns=free_columns(tree, free_places(tree)),
        coordinate=np.flatnonzero(tree.fixed == a.FREE).astype(np.int64),
        neighbour_first=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        neighbour=np.nonzero(joined)[1].astype(np.int64),
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
def solve_partitioning(tree: Tree, car: Arrays, room: PartitioningRoom) -> int:
    """Write ``udot`` of all free coordinates: the projected equations, then the dependent coordinates by
    (27).

    B_di and g_di must be those of the present Φ_q and ``bias`` (``partition.independent_columns``,
    ``acceleration_terms``). Returns 0, or 1 + the group that is singular.
    """
    places, values = room.places, room.values
    if not is_arranged(tree, places):
        arrange(tree, places)
        list_products(tree, room)
    for i in range(room.force.shape[0]):
        room.force[i] = 0.0
        for k in range(room.force.shape[0]):
            room.whole[i, k] = 0.0
    add_inertia(tree, room.columns, tree.v, tree.w, tree.residual, room.whole, room.force)
    for i in range(room.force.shape[0]):
        for k in range(i):
            room.whole[k, i] = room.whole[i, k]
    clear(places.pattern, room.mass)
    for i in range(values.shape[0]):
        values[i] = 0.0
    _project(tree, room)
    failed = factor(places.pattern, room.mass)
    if failed > 0:
        return 1 + group_of(tree, places.coordinate[failed - 1])
    solve(places.pattern, room.mass, values)
    for i in range(values.shape[0]):
        tree.udot[places.coordinate[i]] = values[i]
    expand(tree, tree.g_cells, tree.udot)
    return 0


@fused_kernel
def _last_place(places: Places, coordinate: int) -> int:
    """Return the last place that a row of the whole system is projected to."""
    if places.place[coordinate] >= 0:
        return int(places.place[coordinate])
    return int(places.column_place[places.column_first[places.group[coordinate] + 1] - 1])


@merged_kernel
def list_products(tree: Tree, room: PartitioningRoom) -> None:
    """Write which entries each row of M T has; only the lower triangle of Tᵀ M T is wanted."""
    places, found = room.places, 0
    for i in range(room.coordinate.shape[0]):
        for k in range(room.mark.shape[0]):
            room.mark[k] = 0
        for at in range(room.neighbour_first[i], room.neighbour_first[i + 1]):
            k = room.coordinate[room.neighbour[at]]
            if places.place[k] >= 0:
                room.mark[places.place[k]] = 1
            else:
                g = places.group[k]
                for c in range(places.column_first[g], places.column_first[g + 1]):
                    room.mark[places.column_place[c]] = 1
        room.column_first[i] = found
        for k in range(_last_place(places, room.coordinate[i]) + 1):
            if room.mark[k] > 0:
                room.column[found] = k
                found += 1
    room.column_first[room.coordinate.shape[0]] = found


@merged_kernel
def _project(tree: Tree, room: PartitioningRoom) -> None:
    """Add Tᵀ M T to the reduced mass matrix and Tᵀ (f − M g) to the reduced force, row of M by row of M."""
    places, values = room.places, room.values
    for i in range(room.coordinate.shape[0]):
        for c in range(room.column_first[i], room.column_first[i + 1]):
            room.row[room.column[c]] = 0.0
        last = _last_place(places, room.coordinate[i])
        force = room.force[i]
        for at in range(room.neighbour_first[i], room.neighbour_first[i + 1]):
            k = room.coordinate[room.neighbour[at]]
            entry = room.whole[i, room.neighbour[at]]
            if places.place[k] >= 0:
                if places.place[k] <= last:
                    room.row[places.place[k]] += entry
                continue
            force -= entry * tree.g_cells[places.own_row[k]]
            g = places.group[k]
            for c in range(places.column_first[g], places.column_first[g + 1]):
                if places.column_place[c] <= last:
                    share = tree.b_cells[places.row[k] + places.column[c]]
                    room.row[places.column_place[c]] += entry * share
        k = room.coordinate[i]
        if places.place[k] >= 0:
            values[last] += force
            for c in range(room.column_first[i], room.column_first[i + 1]):
                room.mass[last, room.column[c]] += room.row[room.column[c]]
            continue
        g = places.group[k]
        for own in range(places.column_first[g], places.column_first[g + 1]):
            place = places.column_place[own]
            share = tree.b_cells[places.row[k] + places.column[own]]
            values[place] += share * force
            for c in range(room.column_first[i], room.column_first[i + 1]):
                if room.column[c] <= place:
                    room.mass[place, room.column[c]] += share * room.row[room.column[c]]
