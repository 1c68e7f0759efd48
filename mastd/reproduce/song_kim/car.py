"""A vehicle at random states for Song and Kim, its subsystems in joint, Cartesian and mixed coordinates."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.formulations.constraints.partition import acceleration_terms
from mastd.formulations.constraints.projection import displace_link
from mastd.formulations.integrators.explicit import TimeIntegrator
from mastd.formulations.integrators.stepper import TreeSteps, take_tree_steps
from mastd.formulations.subsystem.solve import solve_subsystems
from mastd.formulations.subsystem.workspace import SubsystemWorkspace
from mastd.formulations.tree.arrays import FREE, Tree
from mastd.formulations.tree.subsystems import subsystems_of
from mastd.kernel import entry, separate_kernel
from mastd.roads.ground import Ground
from mastd.vehicle.blocks.fields import REPORT_SIZE
from mastd.vehicle.equilibrium.dense_equations import System
from mastd.vehicle.model.definition import Model
from mastd.vehicle.solver.choice import Solver
from mastd.vehicle.solver.compiled_step import WRENCHES
from mastd.vehicle.solver.recording import TraceLayout
from mastd.vehicle.state.arrays import Arrays
from mastd.vehicle.state.inputs import InputLayout
from mastd.vehicle.state.motion import design_state

SPEED: Final = 15.0
"""m/s."""
_STEP: Final = 1e-3
_GAP: Final = 1e-11
"""m that a closed joint may be open."""
_REPEATS: Final = 200


class Car:
    """A vehicle once for each way to find its accelerations, all in one state.

    The ways: ``joint``, ``cartesian``, ``mixed`` (subsystems by turns) and ``lagrange`` (multipliers).
    """

    def __init__(self, model: Model) -> None:
        """Take a vehicle in its design position."""
        self.model = model
        self._inputs, self._ground = InputLayout.of(model).row(), Ground.flat().parameters
        joint = self._in_design(Solver("subsystem-joint"))
        names = [subsystem.name for subsystem in subsystems_of(model, joint.tree)]
        self.subsystems = len(names)
        self._ways = {
            "joint": joint,
            "cartesian": self._in_design(Solver("subsystem-cartesian")),
            "mixed": self._in_design(Solver("subsystem-joint", cartesian=tuple(names[1::2]))),
            "lagrange": self._in_design(Solver("lagrange")),
        }
        self._design = joint.tree.q.copy()

    def _in_design(self, solver: Solver) -> TreeSteps:
        steps = TreeSteps(System(self.model), _STEP, solver, _GAP)
        steps.load(design_state(self.model))
        steps.begin(self._ground)
        return steps

    def move(self, seed: int) -> None:
        """Bring it near the design position, turned and tilted, under way; each joint moved and moving.

        Raises ArithmeticError where the joints do not close or a way finds no accelerations.
        """
        tree, random = self._ways["joint"].tree, np.random.default_rng(seed)
        n, chassis = len(tree.u), tree.fixed[:6] == FREE
        shift, rates = 0.03 * random.standard_normal(n), random.standard_normal(n)
        shift[:6], rates[:6] = chassis * random.standard_normal(6), chassis * random.standard_normal(6)
        shift[2:5] *= 0.02
        rates[0] += SPEED * chassis[0]
        for link in range(len(tree.links)):
            displace_link(tree, link, self._design, shift)
        coordinates = tree.q.copy()
        for steps in self._ways.values():
            steps.tree.q[:], steps.tree.u[:] = coordinates, rates
            steps.tree.spin[:] = [SPEED / wheel.tyre.rolling_radius for wheel in self.model.wheels]
            steps.evaluate(self._inputs, self._ground)
            if steps.trouble:
                raise ArithmeticError(f"{steps.trouble}, in random state {seed}")

    def accelerations(self, way: str) -> FloatArray:
        """Return the accelerations of all coordinates (n)."""
        return self._ways[way].tree.udot.copy()

    def evaluation_time(self, way: str) -> float:
        """Return the processor time of an evaluation in µs: joints closed, forces, accelerations, and the
        forces of the drives."""
        steps = self._ways[way]
        car, solver = steps.blocks
        wheels, drives = len(steps.tree.spin), len(steps.tree.drive_rows)
        arguments = (
            car,
            solver._replace(integrator=int(TimeIntegrator.EVALUATE_ONLY)),
            np.tile(self._inputs, (_REPEATS, 1)),
            self._ground,
            np.zeros(REPORT_SIZE),
            np.zeros(wheels),
            np.zeros((0, TraceLayout(wheels, drives).width)),
            np.zeros(WRENCHES),
        )
        return _timed(take_tree_steps, arguments)

    def solution_time(self, way: str) -> float:
        """Return the processor time in µs of what the subsystems' coordinates differ in: from forces to
        accelerations."""
        car, solver = self._ways[way].blocks
        return _timed(_solve_often, (solver.tree, car, solver.workspaces.subsystem, _REPEATS))


def _timed(kernel: Callable[..., object], arguments: tuple[object, ...]) -> float:
    run = entry(kernel, arguments)
    begun = time.thread_time_ns()
    run(*arguments)
    return (time.thread_time_ns() - begun) * 1e-3 / _REPEATS


@separate_kernel
def _solve_often(tree: Tree, car: Arrays, work: SubsystemWorkspace, times: int) -> int:
    failed = 0
    for _ in range(times):
        acceleration_terms(tree)
        failed += solve_subsystems(tree, car, work)
    return failed
