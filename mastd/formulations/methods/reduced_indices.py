"""Where the independent coordinates stand in the reduced equations, and on which of them the dependent ones
hang.

A group's number of independent coordinates is fixed, so their places are: they are found once, and with them
where the reduced mass matrix has entries. Which coordinates stand there changes when a group's choice does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mastd.arrays import IntArray
from mastd.formulations.methods.sparse_cholesky import Pattern, elimination_order, pattern_of
from mastd.formulations.tree import arrays as a
from mastd.formulations.tree.arrays import Tree
from mastd.kernel import fused_kernel


class Places(NamedTuple):
    """Static: the places. By choice: what stands there."""

    slot_first: IntArray
    """(groups + 1) number of each group's first independent coordinate, counted by groups and ``members``."""
    slot_place: IntArray
    """(independent) place of each of these in the order of elimination."""
    column_first: IntArray
    """(groups + 1) where the columns of each group's B_di begin in the next two."""
    pattern: Pattern
    """Of the reduced mass matrix."""
    seen: IntArray
    """(n) ``members`` when the following was written."""
    place: IntArray
    """(n) place of an independent coordinate, −1 of others."""
    coordinate: IntArray
    """(independent) at each place."""
    group: IntArray
    """(n) of a dependent coordinate its group, −1 of others."""
    row: IntArray
    """(n) of a dependent coordinate: where its row of B_di begins in ``b_cells``, and its row."""
    own_row: IntArray
    column_place: IntArray
    """Places of a group's columns of B_di, rising, and which column each is."""
    column: IntArray


def places_of(tree: Tree) -> Places:
    """Return the places of a tree's independent coordinates; what stands there is for ``arrange`` to
    write."""
    groups, n = tree.groups, len(tree.fixed)
    slots = np.concatenate([[0], np.cumsum(groups[:, a.B_FREE])]).astype(np.int64)
    widths = np.where(groups[:, a.B_ROWS] > 0, groups[:, a.B_FREE] + groups[:, a.B_OUTSIDES], 0)
    columns = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
    slot_of = _static_slots(tree, slots)
    joined = np.eye(int(slots[-1]), dtype=np.bool_)
    for line in tree.links:
        found = sorted(_slots_of_link(tree, line, slots, slot_of))
        joined[np.ix_(found, found)] = True
    order = elimination_order(joined)
    place = np.zeros(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return Places(
        slot_first=slots,
        slot_place=place,
        column_first=columns,
        pattern=pattern_of(joined[np.ix_(order, order)]),
        seen=np.full(n, -1, dtype=np.int64),
        place=np.full(n, -1, dtype=np.int64),
        coordinate=np.zeros(len(order), dtype=np.int64),
        group=np.full(n, -1, dtype=np.int64),
        row=np.zeros(n, dtype=np.int64),
        own_row=np.zeros(n, dtype=np.int64),
        column_place=np.zeros(columns[-1], dtype=np.int64),
        column=np.zeros(columns[-1], dtype=np.int64),
    )


def _static_slots(tree: Tree, slots: IntArray) -> dict[int, int]:
    """Return the slots of the free coordinates of groups without rows, which are always independent."""
    found = {}
    for g, line in enumerate(tree.groups):
        if line[a.B_ROWS] == 0:
            own = tree.members[line[a.B_FIRST] : line[a.B_FIRST] + line[a.B_FREE]]
            found.update({int(k): int(slots[g]) + i for i, k in enumerate(own)})
    return found


def _slots_of_link(tree: Tree, link: IntArray, slots: IntArray, slot_of: dict[int, int]) -> set[int]:
    """Return the slots of all independent coordinates that may move a link, whatever is chosen."""
    found: set[int] = set()
    for k in tree.path[link[a.L_PATH] : link[a.L_PATH] + link[a.L_PATHS]]:
        if tree.fixed[k] != a.FREE:
            continue
        g = int(tree.links[tree.link_of[k], a.L_GROUP])
        line = tree.groups[g]
        if line[a.B_ROWS] == 0:
            found.add(slot_of[int(k)])
        else:
            outside = tree.outside[line[a.B_OUTSIDE] : line[a.B_OUTSIDE] + line[a.B_OUTSIDES]]
            found |= set(range(int(slots[g]), int(slots[g + 1]))) | {slot_of[int(c)] for c in outside}
    return found


@fused_kernel
def group_of(tree: Tree, coordinate: int) -> int:
    """Return the body group of a coordinate."""
    group: int = tree.links[tree.link_of[coordinate], a.L_GROUP]
    return group


@fused_kernel
def is_arranged(tree: Tree, places: Places) -> bool:
    """Tell whether all groups have the choice that ``places`` was last written for."""
    same = True
    for k in range(tree.members.shape[0]):
        same = same and tree.members[k] == places.seen[k]
    return same


@fused_kernel
def arrange(tree: Tree, places: Places) -> None:
    """Write which coordinates stand where by the present choice of all groups."""
    groups, members = tree.groups, tree.members
    for k in range(members.shape[0]):
        places.seen[k] = members[k]
        places.place[k], places.group[k] = -1, -1
    for g in range(groups.shape[0]):
        independent = groups[g, a.B_FIRST] + groups[g, a.B_ROWS]
        for k in range(groups[g, a.B_FREE]):
            place = places.slot_place[places.slot_first[g] + k]
            places.place[members[independent + k]] = place
            places.coordinate[place] = members[independent + k]
    for g in range(groups.shape[0]):
        width = places.column_first[g + 1] - places.column_first[g]
        for k in range(groups[g, a.B_ROWS]):
            dependent = members[groups[g, a.B_FIRST] + k]
            places.group[dependent] = g
            places.row[dependent] = groups[g, a.B_CELL] + k * width
            places.own_row[dependent] = groups[g, a.B_ROW] + k
        for k in range(width):
            source = groups[g, a.B_FIRST] + groups[g, a.B_ROWS] + k
            if k < groups[g, a.B_FREE]:
                place = places.place[members[source]]
            else:
                place = places.place[tree.outside[groups[g, a.B_OUTSIDE] + k - groups[g, a.B_FREE]]]
            at = places.column_first[g] + k
            while at > places.column_first[g] and places.column_place[at - 1] > place:
                places.column_place[at], places.column[at] = (
                    places.column_place[at - 1],
                    places.column[at - 1],
                )
                at -= 1
            places.column_place[at], places.column[at] = place, k
