"""Subsystem synthesis with independent coordinates: Song and Kim.

Each subsystem gives its effective inertia and force to the base, the base's six equations (1) are solved, and
then each subsystem by itself, (2). Which coordinates a subsystem uses for that concerns no other one.
"""

from __future__ import annotations

from mastd.formulations.subsystem.algebra import pass_down, solve_base, state_inertia
from mastd.formulations.subsystem.cartesian import expand_cartesian, reduce_cartesian
from mastd.formulations.subsystem.joint import expand_joint, reduce_joint
from mastd.formulations.subsystem.workspace import (
    S_COORDINATE,
    S_FREES,
    S_KIND,
    S_ROWS,
    SubsystemRoom,
)
from mastd.formulations.tree import arrays as a
from mastd.formulations.tree.arrays import Tree
from mastd.formulations.tree.subsystems import CARTESIAN
from mastd.kernel import fused_kernel, separate_kernel
from mastd.vehicle.state.arrays import Arrays

__all__ = ["SubsystemRoom", "solve_subsystems"]


@separate_kernel
def solve_subsystems(tree: Tree, car: Arrays, room: SubsystemRoom) -> int:
    """Write the accelerations of all free coordinates to ``tree.udot``.

    Needs the tree after ``look_at_forces`` and ``acceleration_terms``: its choice of independent coordinates,
    and how the others follow. Returns 0, or 1 + the subsystem that joints or inertia leave undetermined.
    """
    sort_coordinates(tree, room)
    start_base(tree, room)
    for s in range(room.table.shape[0]):
        if room.table[s, S_KIND] == CARTESIAN:
            determined = reduce_cartesian(tree, car, room, s)
        else:
            determined = reduce_joint(tree, room, s)
        if not determined:
            return 1 + s
    solve_base(room)
    for c in range(room.motions.shape[0]):
        tree.udot[room.motions[c]] = room.acceleration[room.motions[c]]
    for s in range(room.table.shape[0]):
        if room.table[s, S_KIND] == CARTESIAN:
            expand_cartesian(tree, room, s)
        else:
            expand_joint(tree, room, s)
    return 0


@fused_kernel
def sort_coordinates(tree: Tree, room: SubsystemRoom) -> None:
    """Put the coordinates of each subsystem in order: first those that the tree has as dependent ones."""
    for group in range(tree.groups.shape[0]):
        first = tree.groups[group, a.B_FIRST]
        for k in range(tree.groups[group, a.B_COUNT]):
            room.dependent[tree.members[first + k]] = 1 if k < tree.groups[group, a.B_ROWS] else 0
    for s in range(room.table.shape[0]):
        first, rows = room.table[s, S_COORDINATE], room.table[s, S_ROWS]
        low, high = 0, rows
        for n in range(rows + room.table[s, S_FREES]):
            k = room.coordinates[first + n]
            if room.dependent[k] > 0:
                at = low
                low += 1
            else:
                at = high
                high += 1
            room.order[first + at] = k
            room.column[k] = at


@fused_kernel
def start_base(tree: Tree, room: SubsystemRoom) -> None:
    """Write inertia and force of the base alone: M̂₀ and Q̂₀ of (1), about the chassis' centre of mass."""
    for i in range(6):
        for k in range(7):
            room.core[i, k] = 0.0
    state_inertia(tree, room, 0)
    for n in range(1, room.base.shape[0]):
        state_inertia(tree, room, room.base[n])
        pass_down(room, room.base[n], 0)
