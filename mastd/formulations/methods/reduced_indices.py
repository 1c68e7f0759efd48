"""Where the independent coordinates stand in the reduced equations, on which of them the dependent ones hang,
and the equations' solution.

A group's number of independent coordinates is fixed, so their places are: they are found once, and with them
where the reduced mass matrix has entries. Which coordinates stand there changes when a group's choice does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mastd.arrays import FloatArray, IntArray
from mastd.formulations.constraints.partition import expand
from mastd.formulations.methods.sparse_cholesky import Pattern, elimination_order, factor, pattern_of, solve
from mastd.formulations.tree.arrays import BODY_GROUP, FREE, LINK, Tree
from mastd.kernel import fused_kernel


class ReducedIndices(NamedTuple):
    """Static: the places. By choice: what stands there."""

    slot_first: IntArray
    """(groups + 1) number of each group's first independent coordinate, counted by groups and ``members``."""
    slot_equation: IntArray
    """(independent) place of each of these in the order of elimination."""
    column_first: IntArray
    """(groups + 1) where the columns of each group's B_di begin in the next two."""
    pattern: Pattern
    """Of the reduced mass matrix."""
    seen: IntArray
    """(n) ``members`` when the following was written."""
    equation: IntArray
    """(n) place of an independent coordinate, −1 of others."""
    coordinate: IntArray
    """(independent) at each place."""
    group: IntArray
    """(n) of a dependent coordinate its group, −1 of others."""
    row: IntArray
    """(n) of a dependent coordinate: where its row of B_di begins in ``b_cells``, and its row."""
    own_row: IntArray
    column_equation: IntArray
    """Places of a group's columns of B_di, rising, and which column each is."""
    column: IntArray


def reduced_indices_of(tree: Tree) -> ReducedIndices:
    """Return the places of a tree's independent coordinates; what stands there is for ``update_indices`` to
    write."""
    groups, n = tree.groups, len(tree.fixed)
    slots = np.concatenate([[0], np.cumsum(groups[:, BODY_GROUP.free])]).astype(np.int64)
    widths = np.where(
        groups[:, BODY_GROUP.rows] > 0, groups[:, BODY_GROUP.free] + groups[:, BODY_GROUP.outsides], 0
    )
    columns = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
    slot_of = _static_slots(tree, slots)
    coupled = np.eye(int(slots[-1]), dtype=np.bool_)
    for line in tree.links:
        found = sorted(_slots_of_link(tree, line, slots, slot_of))
        coupled[np.ix_(found, found)] = True
    order = elimination_order(coupled)
    equation = np.zeros(len(order), dtype=np.int64)
    equation[order] = np.arange(len(order))
    return ReducedIndices(
        slot_first=slots,
        slot_equation=equation,
        column_first=columns,
        pattern=pattern_of(coupled[np.ix_(order, order)]),
        seen=np.full(n, -1, dtype=np.int64),
        equation=np.full(n, -1, dtype=np.int64),
        coordinate=np.zeros(len(order), dtype=np.int64),
        group=np.full(n, -1, dtype=np.int64),
        row=np.zeros(n, dtype=np.int64),
        own_row=np.zeros(n, dtype=np.int64),
        column_equation=np.zeros(columns[-1], dtype=np.int64),
        column=np.zeros(columns[-1], dtype=np.int64),
    )


def _static_slots(tree: Tree, slots: IntArray) -> dict[int, int]:
    """Return the slots of the free coordinates of groups without rows, which are always independent."""
    found = {}
    for g, line in enumerate(tree.groups):
        if line[BODY_GROUP.rows] == 0:
            own = tree.members[line[BODY_GROUP.first] : line[BODY_GROUP.first] + line[BODY_GROUP.free]]
            found.update({int(k): int(slots[g]) + i for i, k in enumerate(own)})
    return found


def _slots_of_link(tree: Tree, link: IntArray, slots: IntArray, slot_of: dict[int, int]) -> set[int]:
    """Return the slots of all independent coordinates that may move a link, whatever is chosen."""
    found: set[int] = set()
    for k in tree.path[link[LINK.path] : link[LINK.path] + link[LINK.path_size]]:
        if tree.fixed[k] != FREE:
            continue
        g = int(tree.links[tree.link_of[k], LINK.group])
        line = tree.groups[g]
        if line[BODY_GROUP.rows] == 0:
            found.add(slot_of[int(k)])
        else:
            outside = tree.outside[
                line[BODY_GROUP.outside] : line[BODY_GROUP.outside] + line[BODY_GROUP.outsides]
            ]
            found |= set(range(int(slots[g]), int(slots[g + 1]))) | {slot_of[int(c)] for c in outside}
    return found


@fused_kernel
def group_of(tree: Tree, coordinate: int) -> int:
    """Return the body group of a coordinate."""
    group: int = tree.links[tree.link_of[coordinate], LINK.group]
    return group


@fused_kernel
def is_current(tree: Tree, indices: ReducedIndices) -> bool:
    """Return whether all groups have the choice that ``indices`` was last written for."""
    same = True
    for k in range(tree.members.shape[0]):
        same = same and tree.members[k] == indices.seen[k]
    return same


@fused_kernel
def update_indices(tree: Tree, indices: ReducedIndices) -> None:
    """Write which coordinates stand where by the present choice of all groups."""
    groups, members = tree.groups, tree.members
    for k in range(members.shape[0]):
        indices.seen[k] = members[k]
        indices.equation[k], indices.group[k] = -1, -1
    for g in range(groups.shape[0]):
        independent = groups[g, BODY_GROUP.first] + groups[g, BODY_GROUP.rows]
        for k in range(groups[g, BODY_GROUP.free]):
            equation = indices.slot_equation[indices.slot_first[g] + k]
            indices.equation[members[independent + k]] = equation
            indices.coordinate[equation] = members[independent + k]
    for g in range(groups.shape[0]):
        width = indices.column_first[g + 1] - indices.column_first[g]
        for k in range(groups[g, BODY_GROUP.rows]):
            dependent = members[groups[g, BODY_GROUP.first] + k]
            indices.group[dependent] = g
            indices.row[dependent] = groups[g, BODY_GROUP.cell] + k * width
            indices.own_row[dependent] = groups[g, BODY_GROUP.first_row] + k
        for k in range(width):
            source = groups[g, BODY_GROUP.first] + groups[g, BODY_GROUP.rows] + k
            if k < groups[g, BODY_GROUP.free]:
                equation = indices.equation[members[source]]
            else:
                equation = indices.equation[
                    tree.outside[groups[g, BODY_GROUP.outside] + k - groups[g, BODY_GROUP.free]]
                ]
            at = indices.column_first[g] + k
            while at > indices.column_first[g] and indices.column_equation[at - 1] > equation:
                indices.column_equation[at], indices.column[at] = (
                    indices.column_equation[at - 1],
                    indices.column[at - 1],
                )
                at -= 1
            indices.column_equation[at], indices.column[at] = equation, k


@fused_kernel
def solve_reduced(tree: Tree, indices: ReducedIndices, mass: FloatArray, values: FloatArray) -> int:
    """Write ``udot`` of all free coordinates, given the reduced ``mass`` and, in ``values``, its right-hand
    side: those of the independent ones, then the dependent ones by (27).

    Both are overwritten. Returns 0, or 1 + the group that is singular.
    """
    failed = factor(indices.pattern, mass)
    if failed > 0:
        return 1 + group_of(tree, indices.coordinate[failed - 1])
    solve(indices.pattern, mass, values)
    for i in range(values.shape[0]):
        tree.udot[indices.coordinate[i]] = values[i]
    expand(tree, tree.g_cells, tree.udot)
    return 0
