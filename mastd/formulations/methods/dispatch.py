"""Accelerations of all coordinates at a state of the tree, by one of the formulations."""

from __future__ import annotations

from typing import Final, NamedTuple

from mastd.arrays import FloatArray
from mastd.formulations.constraints.drive_forces import DriveForceWorkspace
from mastd.formulations.constraints.evaluate import evaluate_forces, prescribe_drives
from mastd.formulations.constraints.partition import acceleration_terms
from mastd.formulations.constraints.projection import project_positions, project_velocities
from mastd.formulations.methods.independent import IndependentWorkspace, solve_independent
from mastd.formulations.methods.lagrange import (
    LagrangeWorkspace,
    ReducedWorkspace,
    solve_lagrange,
    solve_reduced,
)
from mastd.formulations.methods.partitioning import PartitioningWorkspace, solve_partitioning
from mastd.formulations.subsystem.solve import solve_subsystems
from mastd.formulations.subsystem.workspace import SubsystemWorkspace
from mastd.formulations.tree.arrays import Tree
from mastd.kernel import merged_kernel
from mastd.vehicle.solver.full_jacobian import FullJacobian
from mastd.vehicle.state.arrays import Arrays

LAGRANGE: Final = 0
REDUCED_LAGRANGE: Final = 1
PARTITIONING: Final = 2
INDEPENDENT: Final = 3
SUBSYSTEMS: Final = 4


class Workspaces(NamedTuple):
    """Workspaces of all formulations for one vehicle."""

    lagrange: LagrangeWorkspace
    reduced: ReducedWorkspace
    partitioning: PartitioningWorkspace
    independent: IndependentWorkspace
    subsystem: SubsystemWorkspace
    forces: DriveForceWorkspace
    matrices: FullJacobian
    shift: FloatArray
    """(n)."""
    projection: FloatArray
    """(2) corrections and largest violation of the last closing."""


class EvaluationSettings(NamedTuple):
    """What an evaluation needs to know beside state, inputs and ground."""

    formulation: int
    gravity: float
    brake_time: float
    """s in which a friction brake may stop its wheel."""
    tolerance: float
    """Largest violation, m."""


@merged_kernel
def evaluate(
    tree: Tree,
    car: Arrays,
    workspaces: Workspaces,
    settings: EvaluationSettings,
    inputs: FloatArray,
    ground: FloatArray,
) -> int:
    """Close the joints at the independent coordinates and rates in the tree, and write all accelerations.

    Returns 0, 1 + the group that is singular, or -1 where the constraints cannot be met.
    """
    prescribe_drives(tree, inputs)
    failed = project_positions(tree, car, workspaces.shift, settings.tolerance, workspaces.projection)
    if failed != 0:
        return failed
    project_velocities(tree)
    evaluate_forces(tree, car, workspaces.matrices, inputs, ground, settings.gravity, settings.brake_time)
    return solve(tree, car, workspaces, settings.formulation)


@merged_kernel
def solve(tree: Tree, car: Arrays, workspaces: Workspaces, formulation: int) -> int:
    """Write ``udot`` by a formulation, after ``evaluate_forces``; return 0, 1 + the group that is
    singular, or behind all groups 1 + the subsystem."""
    acceleration_terms(tree)
    if formulation == LAGRANGE:
        return solve_lagrange(tree, car, workspaces.lagrange)
    if formulation == REDUCED_LAGRANGE:
        return solve_reduced(tree, car, workspaces.reduced)
    if formulation == PARTITIONING:
        return solve_partitioning(tree, car, workspaces.partitioning)
    if formulation == INDEPENDENT:
        return solve_independent(tree, car, workspaces.independent)
    failed = solve_subsystems(tree, car, workspaces.subsystem)
    return failed + tree.groups.shape[0] if failed > 0 else 0
