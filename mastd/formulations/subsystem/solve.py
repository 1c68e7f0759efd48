"""Subsystem synthesis with independent coordinates: Song and Kim.

Each subsystem gives its effective inertia and force to the base, the base's six equations (1) are solved, and
then each subsystem by itself, (2). Which coordinates a subsystem uses for that concerns no other one.
"""

from __future__ import annotations

from mastd.formulations.subsystem.algebra import add_to_lower, solve_base, state_inertia
from mastd.formulations.subsystem.cartesian import expand_cartesian, reduce_cartesian
from mastd.formulations.subsystem.joint import expand_joint, reduce_joint
from mastd.formulations.subsystem.workspace import SUBSYSTEM, SubsystemWorkspace
from mastd.formulations.tree.arrays import BODY_GROUP, Tree
from mastd.formulations.tree.subsystems import CARTESIAN
from mastd.kernel import fused_kernel, separate_kernel
from mastd.vehicle.state.arrays import Arrays


@separate_kernel
def solve_subsystems(tree: Tree, car: Arrays, work: SubsystemWorkspace) -> int:
    """Write the accelerations of all free coordinates to ``tree.udot``.

    Needs the tree after ``evaluate_forces`` and ``acceleration_terms``: its choice of independent
    coordinates, and how the others follow. Returns 0, or 1 + the subsystem that joints or inertia leave
    undetermined.
    """
    sort_coordinates(tree, work)
    assemble_base(tree, work)
    for s in range(work.table.shape[0]):
        if work.table[s, SUBSYSTEM.kind] == CARTESIAN:
            determined = reduce_cartesian(tree, car, work, s)
        else:
            determined = reduce_joint(tree, work, s)
        if not determined:
            return 1 + s
    solve_base(work)
    for c in range(work.motions.shape[0]):
        tree.udot[work.motions[c]] = work.acceleration[work.motions[c]]
    for s in range(work.table.shape[0]):
        if work.table[s, SUBSYSTEM.kind] == CARTESIAN:
            expand_cartesian(tree, work, s)
        else:
            expand_joint(tree, work, s)
    return 0


@fused_kernel
def sort_coordinates(tree: Tree, work: SubsystemWorkspace) -> None:
    """Put the coordinates of each subsystem in order: first those that the tree has as dependent ones."""
    for group in range(tree.groups.shape[0]):
        first = tree.groups[group, BODY_GROUP.first]
        for k in range(tree.groups[group, BODY_GROUP.size]):
            work.dependent[tree.members[first + k]] = 1 if k < tree.groups[group, BODY_GROUP.rows] else 0
    for s in range(work.table.shape[0]):
        first, rows = work.table[s, SUBSYSTEM.first_coordinate], work.table[s, SUBSYSTEM.rows]
        low, high = 0, rows
        for n in range(rows + work.table[s, SUBSYSTEM.free]):
            k = work.coordinates[first + n]
            if work.dependent[k] > 0:
                at = low
                low += 1
            else:
                at = high
                high += 1
            work.order[first + at] = k
            work.column[k] = at


@fused_kernel
def assemble_base(tree: Tree, work: SubsystemWorkspace) -> None:
    """Write inertia and force of the base alone: M̂₀ and Q̂₀ of (1), about the chassis' centre of mass."""
    for i in range(6):
        for k in range(7):
            work.core[i, k] = 0.0
    state_inertia(tree, work, 0)
    for n in range(1, work.base.shape[0]):
        state_inertia(tree, work, work.base[n])
        add_to_lower(work, work.base[n], 0)
