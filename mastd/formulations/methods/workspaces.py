"""Workspaces of all formulations for one vehicle, and their numbers."""

from __future__ import annotations

from typing import Final

import numpy as np

from mastd.formulations.constraints.drive_forces import DriveForceWorkspace
from mastd.formulations.constraints.evaluate import empty_matrices
from mastd.formulations.methods.dispatch import (
    INDEPENDENT,
    LAGRANGE,
    PARTITIONING,
    REDUCED_LAGRANGE,
    SUBSYSTEMS,
    Workspaces,
)
from mastd.formulations.methods.independent import independent_workspace
from mastd.formulations.methods.lagrange import lagrange_workspace, reduced_workspace
from mastd.formulations.methods.partitioning import partitioning_workspace
from mastd.formulations.subsystem.workspace import subsystem_workspace
from mastd.formulations.tree.arrays import Tree
from mastd.formulations.tree.subsystems import choices, subsystems_of
from mastd.settings.vehicle.solver_names import Formulation
from mastd.vehicle.solver.choice import Solver
from mastd.vehicle.state.arrays import Layout

FORMULATION_CODES: Final[dict[Formulation, int]] = {
    "lagrange": LAGRANGE,
    "reduced-lagrange": REDUCED_LAGRANGE,
    "partitioning": PARTITIONING,
    "independent": INDEPENDENT,
    "subsystem-joint": SUBSYSTEMS,
    "subsystem-cartesian": SUBSYSTEMS,
    "partial-jacobian": INDEPENDENT,
}


def workspaces_of(layout: Layout, tree: Tree, solver: Solver) -> Workspaces:
    """Return the workspaces of all formulations, for what a solver makes of the subsystems."""
    subsystems = subsystems_of(layout.model, tree)
    usual = "cartesian" if solver.formulation == "subsystem-cartesian" else "joint"
    chosen = choices(subsystems, usual, dict.fromkeys(solver.cartesian, "cartesian"))
    return Workspaces(
        lagrange=lagrange_workspace(tree),
        reduced=reduced_workspace(tree),
        partitioning=partitioning_workspace(tree),
        independent=independent_workspace(tree),
        subsystem=subsystem_workspace(layout, tree, subsystems, chosen),
        forces=DriveForceWorkspace.of(tree),
        matrices=empty_matrices(layout.cells),
        shift=np.zeros(len(tree.u)),
        projection=np.zeros(2),
    )
