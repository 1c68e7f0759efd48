"""Accelerations of all coordinates at a state of the tree, by one of the formulations."""

from __future__ import annotations

from typing import Final, NamedTuple

from mastd.arrays import FloatArray
from mastd.formulations.closing.closing import close_places, close_rates
from mastd.formulations.closing.drive_forces import ForceRoom
from mastd.formulations.closing.evaluate import give_drives, look_at_forces
from mastd.formulations.closing.partition import acceleration_terms
from mastd.formulations.methods.independent import IndependentRoom, solve_independent
from mastd.formulations.methods.lagrange import LagrangeRoom, ReducedRoom, solve_lagrange, solve_reduced
from mastd.formulations.methods.partitioning import PartitioningRoom, solve_partitioning
from mastd.formulations.subsystem.solve import solve_subsystems
from mastd.formulations.subsystem.workspace import SubsystemRoom
from mastd.formulations.tree.arrays import Tree
from mastd.kernel import merged_kernel
from mastd.vehicle.solver.full_jacobian import FullJacobian
from mastd.vehicle.state.arrays import Arrays

LAGRANGE: Final = 0
REDUCED_LAGRANGE: Final = 1
PARTITIONING: Final = 2
INDEPENDENT: Final = 3
SUBSYSTEMS: Final = 4


class Rooms(NamedTuple):
    """Room of all formulations for one vehicle."""

    lagrange: LagrangeRoom
    reduced: ReducedRoom
    partitioning: PartitioningRoom
    independent: IndependentRoom
    subsystem: SubsystemRoom
    forces: ForceRoom
    fresh: FullJacobian
    shift: FloatArray
    """(n)."""
    closing: FloatArray
    """(2) corrections and largest gap of the last closing."""


class Law(NamedTuple):
    """What an evaluation needs to know beside state, inputs and ground."""

    formulation: int
    gravity: float
    reach: float
    """s in which a friction brake may stop its wheel."""
    tolerance: float
    """Largest gap, m."""


@merged_kernel
def evaluate(tree: Tree, car: Arrays, rooms: Rooms, law: Law, inputs: FloatArray, ground: FloatArray) -> int:
    """Close the joints at the independent coordinates and rates in the tree, and write all accelerations.

    Returns 0, 1 + the group that is singular, or -1 where the gaps do not close.
    """
    give_drives(tree, inputs)
    failed = close_places(tree, car, rooms.shift, law.tolerance, rooms.closing)
    if failed != 0:
        return failed
    close_rates(tree)
    look_at_forces(tree, car, rooms.fresh, inputs, ground, law.gravity, law.reach)
    return solve(tree, car, rooms, law.formulation)


@merged_kernel
def solve(tree: Tree, car: Arrays, rooms: Rooms, formulation: int) -> int:
    """Write ``udot`` by a formulation, after ``look_at_forces``; return 0, 1 + the group that is
    singular, or behind all groups 1 + the subsystem."""
    acceleration_terms(tree)
    if formulation == LAGRANGE:
        return solve_lagrange(tree, car, rooms.lagrange)
    if formulation == REDUCED_LAGRANGE:
        return solve_reduced(tree, car, rooms.reduced)
    if formulation == PARTITIONING:
        return solve_partitioning(tree, car, rooms.partitioning)
    if formulation == INDEPENDENT:
        return solve_independent(tree, car, rooms.independent)
    failed = solve_subsystems(tree, car, rooms.subsystem)
    return failed + tree.groups.shape[0] if failed > 0 else 0
