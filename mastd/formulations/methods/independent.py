"""Independent velocity matrices, eqs. (31)–(36) of Kang and Yoon: the smallest equations of motion.

From the start each link has only the columns of the independent coordinates that move it; the mass matrix
(18) and the force (19) are built of these, and a Cholesky factorisation that knows where they have entries
solves them. No multiplier is left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mastd.arrays import FloatArray, IntArray
from mastd.formulations.closing.partition import expand
from mastd.formulations.methods.mass_matrix import Columns, add_inertia
from mastd.formulations.methods.reduced_indices import Places, arrange, group_of, is_arranged, places_of
from mastd.formulations.methods.sparse_cholesky import clear, factor, solve
from mastd.formulations.tree import arrays as a
from mastd.formulations.tree.arrays import Tree
from mastd.kernel import fused_kernel, merged_kernel, separate_kernel
from mastd.vehicle.state.arrays import Arrays


class IndependentRoom(NamedTuple):
    """Room of the method."""

    places: Places
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


def independent_room(tree: Tree) -> IndependentRoom:
    """Return the room of the method for a tree."""
    places, links, size = places_of(tree), len(tree.links), int(np.sum(tree.groups[:, a.B_FREE]))
    widths = np.diff(places.column_first)
    most, targets = 0, 0
    for line in tree.links:
        path = tree.path[line[a.L_PATH] : line[a.L_PATH] + line[a.L_PATHS]]
        groups = tree.links[tree.link_of[path], a.L_GROUP]
        most += min(size, len(path) + int(np.sum(widths[np.unique(groups)])))
        targets += int(np.sum(widths[groups]))
    paths = len(tree.path)
    return IndependentRoom(
        places=places,
        columns=Columns(
            _room(links + 1), _room(most), _room(most), _room(links + 1), _room(most), _room(most)
        ),
        kept=np.zeros((links + 1, 2), dtype=np.int64),
        kept_from=_room(paths),
        kept_to=_room(paths),
        spread_from=_room(paths),
        spread_first=_room(paths),
        target=_room(targets),
        local=_room(size),
        v=np.zeros((most, 3)),
        w=np.zeros((most, 3)),
        residual=np.zeros((links, 6)),
        mass=np.zeros((size, size)),
        values=np.zeros(size),
    )


def _room(size: int) -> IntArray:
    return np.zeros(size, dtype=np.int64)


@separate_kernel
def solve_independent(tree: Tree, car: Arrays, room: IndependentRoom) -> int:
    """Write ``udot`` of all free coordinates: the reduced equations, then the dependent coordinates by (27).

    B_di and g_di must be those of the present Φ_q and ``bias`` (``partition.independent_columns``,
    ``acceleration_terms``). Returns 0, or 1 + the group that is singular.
    """
    places, values = room.places, room.values
    if not is_arranged(tree, places):
        arrange(tree, places)
        list_columns(tree, room)
    clear(places.pattern, room.mass)
    for i in range(values.shape[0]):
        values[i] = 0.0
    velocity_matrices(tree, room)
    add_inertia(tree, room.columns, room.v, room.w, room.residual, room.mass, values)
    failed = factor(places.pattern, room.mass)
    if failed > 0:
        return 1 + group_of(tree, places.coordinate[failed - 1])
    solve(places.pattern, room.mass, values)
    for i in range(values.shape[0]):
        tree.udot[places.coordinate[i]] = values[i]
    expand(tree, tree.g_cells, tree.udot)
    return 0


@merged_kernel
def list_columns(tree: Tree, room: IndependentRoom) -> None:
    """Write which columns V_di and W_di of each link have, and of which columns of V and W they are made."""
    places, columns, local = room.places, room.columns, room.local
    column, turning, kept, spread, target = 0, 0, 0, 0, 0
    for i in range(tree.links.shape[0]):
        first = tree.links[i, a.L_PATH]
        last = first + tree.links[i, a.L_PATHS]
        # Of each place: 0 does not move the link, 1 shifts it, 2 turns it as well.
        for k in range(local.shape[0]):
            local[k] = 0
        for at in range(first, last):
            k = tree.path[at]
            mark = 1 + tree.turning[k]
            if places.place[k] >= 0:
                local[places.place[k]] = max(local[places.place[k]], mark)
            elif places.group[k] >= 0:
                g = places.group[k]
                for c in range(places.column_first[g], places.column_first[g + 1]):
                    local[places.column_place[c]] = max(local[places.column_place[c]], mark)
        columns.first[i], columns.turning_first[i] = column, turning
        for k in range(local.shape[0]):
            if local[k] == 0:
                continue
            if local[k] > 1:
                columns.turning_place[turning], columns.turning_at[turning] = k, column
                turning += 1
            columns.place[column], columns.at[column] = k, column
            local[k] = column
            column += 1
        room.kept[i, 0], room.kept[i, 1] = kept, spread
        for at in range(first, last):
            k = tree.path[at]
            if places.place[k] >= 0:
                room.kept_from[kept], room.kept_to[kept] = at, local[places.place[k]]
                kept += 1
            elif places.group[k] >= 0:
                g = places.group[k]
                room.spread_from[spread], room.spread_first[spread] = at, target
                spread += 1
                for c in range(places.column_first[g], places.column_first[g + 1]):
                    # In the order of B_di's columns.
                    room.target[target + places.column[c]] = local[places.column_place[c]]
                target += places.column_first[g + 1] - places.column_first[g]
    links = tree.links.shape[0]
    columns.first[links], columns.turning_first[links] = column, turning
    room.kept[links, 0], room.kept[links, 1] = kept, spread


@merged_kernel
def velocity_matrices(tree: Tree, room: IndependentRoom) -> None:
    """Write V_di and W_di of all links, (33), (34), and their out-of-balance forces with γ of (35), (36)."""
    for i in range(tree.links.shape[0]):
        for c in range(room.columns.first[i], room.columns.first[i + 1]):
            for k in range(3):
                room.v[c, k], room.w[c, k] = 0.0, 0.0
        for at in range(room.kept[i, 0], room.kept[i + 1, 0]):
            for k in range(3):
                room.v[room.kept_to[at], k] = tree.v[room.kept_from[at], k]
                room.w[room.kept_to[at], k] = tree.w[room.kept_from[at], k]
        x, y, z, p, q, r = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        turns = False
        for at in range(room.kept[i, 1], room.kept[i + 1, 1]):
            source, coordinate = room.spread_from[at], tree.path[room.spread_from[at]]
            g, row, first = room.places.group[coordinate], room.places.row[coordinate], room.spread_first[at]
            width = room.places.column_first[g + 1] - room.places.column_first[g]
            term = tree.g_cells[room.places.own_row[coordinate]]
            v = tree.v[source]
            x, y, z = x + term * v[0], y + term * v[1], z + term * v[2]
            _spread(tree, room.v, room.target, v, row, first, width)
            if tree.turning[coordinate] > 0:
                turns = True
                w = tree.w[source]
                p, q, r = p + term * w[0], q + term * w[1], r + term * w[2]
                _spread(tree, room.w, room.target, w, row, first, width)
        for k in range(6):
            room.residual[i, k] = tree.residual[i, k]
        if room.kept[i, 1] < room.kept[i + 1, 1]:
            room.residual[i, 0] += tree.mass[i] * x
            room.residual[i, 1] += tree.mass[i] * y
            room.residual[i, 2] += tree.mass[i] * z
        if turns:
            j = tree.inertia[i]
            room.residual[i, 3] += j[0] * p + j[3] * q + j[4] * r
            room.residual[i, 4] += j[3] * p + j[1] * q + j[5] * r
            room.residual[i, 5] += j[4] * p + j[5] * q + j[2] * r


@fused_kernel
def _spread(
    tree: Tree, matrix: FloatArray, target: IntArray, column: FloatArray, row: int, first: int, width: int
) -> None:
    """Add a dependent coordinate's column times its row of B_di to the independent columns."""
    x, y, z = column[0], column[1], column[2]
    for c in range(width):
        share, to = tree.b_cells[row + c], target[first + c]
        matrix[to, 0] += share * x
        matrix[to, 1] += share * y
        matrix[to, 2] += share * z
