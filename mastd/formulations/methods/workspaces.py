"""Room of all formulations for one vehicle, and their numbers."""

from __future__ import annotations

from typing import Final

import numpy as np

from mastd.formulations.closing.drive_forces import ForceRoom
from mastd.formulations.closing.evaluate import empty_room
from mastd.formulations.methods.dispatch import (
    INDEPENDENT,
    LAGRANGE,
    PARTITIONING,
    REDUCED_LAGRANGE,
    SUBSYSTEMS,
    Rooms,
)
from mastd.formulations.methods.independent import independent_room
from mastd.formulations.methods.lagrange import lagrange_room, reduced_room
from mastd.formulations.methods.partitioning import partitioning_room
from mastd.formulations.subsystem.workspace import make_room
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


def rooms_of(layout: Layout, tree: Tree, solver: Solver) -> Rooms:
    """Return the room of all formulations, for what a solver makes of the subsystems."""
    subsystems = subsystems_of(layout.model, tree)
    usual = "cartesian" if solver.formulation == "subsystem-cartesian" else "joint"
    chosen = choices(subsystems, usual, dict.fromkeys(solver.cartesian, "cartesian"))
    return Rooms(
        lagrange=lagrange_room(tree),
        reduced=reduced_room(tree),
        partitioning=partitioning_room(tree),
        independent=independent_room(tree),
        subsystem=make_room(layout, tree, subsystems, chosen),
        forces=ForceRoom.of(tree),
        fresh=empty_room(layout.cells),
        shift=np.zeros(len(tree.u)),
        closing=np.zeros(2),
    )
