"""What is counted of each solver: a kernel, its arguments under way, and which kernels make a stage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, cast

import numpy as np

from mastd.counting.paper_car import paper_car
from mastd.counting.stages import NEWTON_STAGES, TREE_STAGES, Kernel, Kernels
from mastd.errors import UsageError
from mastd.formulations.constraints.evaluate import evaluate_jacobian, evaluate_positions
from mastd.formulations.constraints.partition import choose_independent
from mastd.formulations.constraints.projection import displace_link
from mastd.formulations.integrators.stepper import take_tree_steps
from mastd.formulations.methods.dispatch import EvaluationSettings, evaluate
from mastd.formulations.methods.lagrange import reduced_workspace
from mastd.formulations.methods.partitioning import partitioning_workspace
from mastd.formulations.methods.workspaces import FORMULATION_CODES, workspaces_of
from mastd.formulations.tree.body_groups import body_groups
from mastd.formulations.tree.build import tree_of
from mastd.formulations.tree.topology import topology_of
from mastd.roads.ground import Ground
from mastd.settings.core.error_text import near
from mastd.settings.vehicle.solver_names import FORMULATIONS, POLICIES, TREE_FORMULATIONS, integrators_of
from mastd.vehicle.blocks.fields import REPORT_SIZE
from mastd.vehicle.equilibrium.dense_equations import System
from mastd.vehicle.model.definition import Model
from mastd.vehicle.model.library import find
from mastd.vehicle.simulation.simulation import Simulation
from mastd.vehicle.solver.choice import Solver
from mastd.vehicle.solver.compiled_step import WRENCHES, StepOutput, take_steps

SPEED: Final = 15.0
"""m/s of the vehicles whose work is counted."""
BEFORE: Final = 20
"""Steps that they are under way by then."""
STEP: Final = 1e-3
TOLERANCE: Final = 1e-9
"""m of the joints of papers' cars."""

PAPER_CARS: Final[dict[str, Callable[[], Model]]] = {"document-001": paper_car}
"""Cars of source documents, which do not drive: only their evaluations are counted."""


DENSE: Final = ":dense"


class Extent(StrEnum):
    """What is counted."""

    STEP = "step"
    """A step of a millisecond."""
    EVALUATION = "evaluation"
    """An evaluation of all accelerations over the tree."""


@dataclass(frozen=True)
class Work:
    """A kernel, its arguments, and the kernels of each stage."""

    kernel: Kernel
    arguments: tuple[object, ...]
    stages: Kernels


def work_of(vehicle: str, solver: str, extent: Extent) -> Work:
    """Return what is counted: of a shipped vehicle, a file, or a paper's car (``PAPER_CARS``).

    ``solver``: a formulation, after a colon its integrator or the policy of implicit Euler where that is not
    the usual one; of papers' cars ``partitioning`` and ``reduced-lagrange`` may end in ``DENSE``: as if their
    matrices had entries everywhere. Raise UsageError for what is not known.
    """
    dense = solver.endswith(DENSE)
    chosen = solver_of(solver.removesuffix(DENSE))
    if dense and vehicle not in PAPER_CARS:
        raise UsageError(f"{solver}: full matrices are counted of papers' cars alone")
    if extent is Extent.EVALUATION and chosen.formulation not in TREE_FORMULATIONS:
        raise UsageError(f"{solver}: solves a step as a whole, it has no evaluation of accelerations")
    if vehicle in PAPER_CARS:
        if extent is Extent.STEP:
            raise UsageError(f"{vehicle}: does not drive, only an evaluation can be counted")
        return _evaluation_in_design(PAPER_CARS[vehicle](), chosen, dense)
    simulation = _under_way(find(vehicle), chosen)
    return _step(simulation) if extent is Extent.STEP else _evaluation(simulation)


def solver_of(name: str) -> Solver:
    """Return the solver of a name such as ``independent:adams-bashforth`` or ``partial-jacobian:none``.

    Raise UsageError for what is not known.
    """
    formulation, _, how = name.partition(":")
    if formulation not in FORMULATIONS:
        raise UsageError(f"{formulation}: no such solver, {near(formulation, FORMULATIONS)}")
    chosen = Solver(formulation)
    fitting = integrators_of(chosen.formulation)
    if not how:
        return chosen
    if how in fitting:
        return Solver(chosen.formulation, integrator=cast(Any, how))
    if how in POLICIES and "implicit-euler" in fitting:
        return Solver(chosen.formulation, integrator="implicit-euler", policy=cast(Any, how))
    raise UsageError(f"{name}: goes with {', '.join(fitting)}, not with {how}")


def _under_way(model: Model, solver: Solver) -> Simulation:
    """Return a vehicle that has driven ``BEFORE`` steps by the cheapest solver, if there is a choice."""
    simulation = Simulation(model, step=STEP, solver=solver)
    first = simulation
    if solver.formulation in TREE_FORMULATIONS:
        first = Simulation(model, step=STEP)
    first.start(SPEED)
    row = simulation.system.inputs.row()[np.newaxis]
    first.advance(np.tile(row, (BEFORE, 1)))
    if first is not simulation:
        simulation.begin(first.state)
        if solver.steps_by != "runge-kutta":
            # What makes use of earlier steps has one then.
            simulation.advance(row)
    return simulation


def _step(simulation: Simulation) -> Work:
    row, ground = simulation.system.inputs.row()[np.newaxis], simulation.ground.parameters
    output = StepOutput(
        report=np.zeros(REPORT_SIZE),
        design_heights=simulation.design_heights,
        table=np.zeros((0, simulation.signals.width)),
        wrench=np.zeros(WRENCHES),
    )
    if simulation.solver.formulation in TREE_FORMULATIONS:
        return Work(take_tree_steps, (*simulation.blocks, row, ground, *output), TREE_STAGES)
    return Work(take_steps, (*simulation.blocks, row, ground, output), NEWTON_STAGES)


def _evaluation(simulation: Simulation) -> Work:
    car, solver = simulation.blocks
    row, ground = simulation.system.inputs.row(), simulation.ground.parameters
    return Work(
        evaluate,
        (solver.tree, car, solver.workspaces, solver.settings, row, ground),
        TREE_STAGES,
    )


def _evaluation_in_design(model: Model, solver: Solver, dense: bool) -> Work:
    """Return the evaluation near the design position, with rates; closed already, so nothing is corrected."""
    system = System(model)
    topology = topology_of(model)
    groups = body_groups(model, topology)
    tree = tree_of(system.layout, topology, groups)
    random = np.random.default_rng(1)
    evaluate_positions(tree, system.layout.arrays)
    evaluate_jacobian(tree, system.layout.arrays)
    for group in range(len(groups)):
        choose_independent(tree, group)
    start, shift = tree.q.copy(), 0.01 * random.standard_normal(len(tree.u))
    for link in range(len(tree.links)):
        displace_link(tree, link, start, shift)
    tree.u[:] = random.standard_normal(len(tree.u))
    settings = EvaluationSettings(
        FORMULATION_CODES[cast(Any, solver.formulation)], model.gravity, STEP, TOLERANCE
    )
    row, ground = system.inputs.row(), Ground.flat().parameters
    workspaces = workspaces_of(system.layout, tree, solver)
    if dense:
        workspaces = workspaces._replace(
            partitioning=partitioning_workspace(tree, dense=True), reduced=reduced_workspace(tree, dense=True)
        )
    arguments = tree, system.layout.arrays, workspaces, settings, row, ground
    evaluate(*arguments)
    return Work(evaluate, arguments, TREE_STAGES)
