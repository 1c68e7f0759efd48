"""What is counted of each solver: a kernel, its arguments under way, and which kernels make a stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np

from mastd.errors import UsageError
from mastd.roads.ground import Ground
from mastd.vehicle import (
    balance,
    forces,
    frames,
    fresh,
    frozen,
    generalized_alpha,
    joints,
    newton,
    outer_forces,
    tyre,
)
from mastd.vehicle.formulations import evaluate, recursion
from mastd.vehicle.formulations.body_groups import body_groups
from mastd.vehicle.formulations.build_tree import tree_of
from mastd.vehicle.formulations.topology import topology_of
from mastd.vehicle.formulations.tree_state import take_state
from mastd.vehicle.ground_contact import look_up_ground
from mastd.vehicle.joint_matrix import joint_rows
from mastd.vehicle.library import find
from mastd.vehicle.model import Model
from mastd.vehicle.simulation import Formulation, Simulation
from mastd.vehicle.stepping import WRENCHES, look, take_steps
from mastd.vehicle.system import System

SPEED: Final = 15.0
"""m/s of the vehicles whose work is counted."""
BEFORE: Final = 20
"""Steps that they are under way by then."""
STEP: Final = 1e-3

Kernel = Callable[..., Any]
Kernels = Mapping[str, tuple[Kernel, ...]]

LOOK_STAGES: Final[Kernels] = {
    "frames": (
        frames.attitudes,
        frames.choose_frame,
        frames.chassis_to_frame,
        frames.bodies_to_frame,
        frames.places_to_frame,
    ),
    "joints": (joints.joint_forces, joints.joint_rates, newton.gaps),
    "forces": (
        forces.spring_forces,
        forces.bar_forces,
        forces.start_bars,
        outer_forces.act_from_outside,
        outer_forces.turn_wheels,
        look_up_ground,
    ),
    "tyres": (tyre.tyre_forces, outer_forces.prepare_wheels),
}
"""Of what all solvers share."""
STEP_STAGES: Final[Kernels] = {
    **LOOK_STAGES,
    "prediction": (generalized_alpha.predict,),
    "matrices": (fresh.make_matrices,),
    "factors": (fresh.factorise,),
    "right sides": (balance.right_sides, balance.gap_sides),
    "substitution": (fresh.substitute_fresh, frozen.substitute),
    "correction": (newton.correct, newton.correct_free),
}
"""Of a step of ``chassis`` and ``inertial``."""
TREE_STAGES: Final[Kernels] = {
    **LOOK_STAGES,
    "R, d": (recursion.place_links, evaluate.show_places),
    "W, V": (recursion.directions, recursion.velocity_columns),
    "ω, v": (recursion.velocities, evaluate.show_rates),
    "γ": (recursion.velocity_terms,),
    "I": (recursion.inertias,),
    "Φ_q": (joint_rows, evaluate.take_rows),
    "out of balance": (look, evaluate.take_forces),
}
"""Of an evaluation over the tree, beside those of the formulation itself."""


@dataclass(frozen=True)
class Work:
    """A kernel, its arguments, and the kernels of each stage."""

    kernel: Kernel
    arguments: tuple[object, ...]
    stages: Kernels


def work_of(vehicle: str, solver: str) -> Work:
    """Return what is counted of a solver on a shipped vehicle (or a file).

    Of ``chassis`` and ``inertial`` it is a step of a millisecond with accuracy ``fast``; of ``tree`` what all
    formulations over the tree share. Raise UsageError for what is not known.
    """
    model = find(vehicle)
    if solver in ("chassis", "inertial"):
        return _step(model, cast(Formulation, solver))
    if solver == "tree":
        return _evaluation(model)
    raise UsageError(f"{solver}: no solver whose operations are counted; known are chassis, inertial, tree")


def _under_way(model: Model, formulation: Formulation) -> Simulation:
    simulation = Simulation(model, step=STEP, formulation=formulation)
    simulation.start(SPEED)
    simulation.advance(np.tile(simulation.system.inputs.row(), (BEFORE, 1)))
    return simulation


def _step(model: Model, formulation: Formulation) -> Work:
    simulation = _under_way(model, formulation)
    arguments = (
        *simulation.blocks,
        simulation.system.inputs.row()[np.newaxis],
        simulation.ground.parameters,
        np.zeros(newton.REPORT_FIELDS),
        simulation.design_heights,
        np.zeros((0, simulation.signals.width)),
        np.zeros(WRENCHES),
    )
    return Work(take_steps, arguments, STEP_STAGES)


def _evaluation(model: Model) -> Work:
    system = System(model)
    topology = topology_of(model)
    tree = tree_of(system.layout, topology, body_groups(model, topology))
    take_state(tree, _under_way(model, "chassis").state)
    car = system.layout.arrays
    room = evaluate.empty_room(system.layout.cells)
    row = system.inputs.row()
    evaluate.give_drives(tree, row)
    return Work(_evaluate, (tree, car, room, row, Ground.flat().parameters, model.gravity, STEP), TREE_STAGES)


def _evaluate(tree: Any, car: Any, room: Any, inputs: Any, ground: Any, gravity: Any, reach: Any) -> None:
    evaluate.look_at_places(tree, car)
    evaluate.look_at_columns(tree, car)
    evaluate.look_at_forces(tree, car, room, inputs, ground, gravity, reach)
