"""A vehicle at random states for document 002, its subsystems in joint, Cartesian and mixed coordinates."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mastd.kernel import entry, separate_kernel
from mastd.roads.ground import Ground
from mastd.vehicle.formulations import arrays as a
from mastd.vehicle.formulations.accelerations import Law, Rooms, evaluate, solve
from mastd.vehicle.formulations.arrays import Floats, Tree
from mastd.vehicle.formulations.body_groups import body_groups
from mastd.vehicle.formulations.build_rooms import FORMULATION_CODES, rooms_of
from mastd.vehicle.formulations.build_tree import tree_of
from mastd.vehicle.formulations.closing import move_link
from mastd.vehicle.formulations.evaluate import look_at_columns, look_at_places
from mastd.vehicle.formulations.partition import choose_independent
from mastd.vehicle.formulations.subsystems import subsystems_of
from mastd.vehicle.formulations.topology import topology_of
from mastd.vehicle.layout import Arrays
from mastd.vehicle.model import Model
from mastd.vehicle.solvers import Solver
from mastd.vehicle.system import System

FloatArray = NDArray[np.float64]

SPEED: Final = 15.0
"""m/s."""
_STEP: Final = 1e-3
_GAP: Final = 1e-11
"""m that a closed joint may be open."""
_REPEATS: Final = 200


class Car:
    """A vehicle as a tree, with room for each way to find its accelerations.

    The ways: ``joint``, ``cartesian``, ``mixed`` (subsystems by turns) and ``lagrange`` (multipliers).
    """

    def __init__(self, model: Model) -> None:
        """Take a vehicle in its design position."""
        system, topology = System(model), topology_of(model)
        self.model = model
        self._car = system.layout.arrays
        self._tree = tree_of(system.layout, topology, body_groups(model, topology))
        look_at_places(self._tree, self._car)
        look_at_columns(self._tree, self._car)
        for group in range(len(self._tree.groups)):
            choose_independent(self._tree, group)
        self._design = self._tree.q.copy()
        names = [subsystem.name for subsystem in subsystems_of(model, self._tree)]
        self.subsystems = len(names)
        solvers = {
            "joint": Solver("subsystem-joint"),
            "cartesian": Solver("subsystem-cartesian"),
            "mixed": Solver("subsystem-joint", cartesian=tuple(names[1::2])),
            "lagrange": Solver("lagrange"),
        }
        self._rooms = {way: rooms_of(system.layout, self._tree, solver) for way, solver in solvers.items()}
        self._laws = {
            way: Law(FORMULATION_CODES[solver.formulation], model.gravity, _STEP, _GAP)
            for way, solver in solvers.items()
        }
        self._inputs, self._ground = system.inputs.row(), Ground.flat().parameters

    def move(self, seed: int) -> None:
        """Bring it near the design position, turned and tilted, under way; each joint moved and moving.

        Forces are evaluated there once for all ways. Raises ArithmeticError where the joints do not close.
        """
        tree, random = self._tree, np.random.default_rng(seed)
        n, chassis = len(tree.u), tree.fixed[:6] == a.FREE
        shift, tree.u[:] = 0.03 * random.standard_normal(n), random.standard_normal(n)
        shift[:6], tree.u[:6] = chassis * random.standard_normal(6), chassis * random.standard_normal(6)
        shift[2:5] *= 0.02
        tree.u[0] += SPEED * chassis[0]
        for link in range(len(tree.links)):
            move_link(tree, link, self._design, shift)
        tree.spin[:] = [SPEED / wheel.tyre.rolling_radius for wheel in self.model.wheels]
        if evaluate(tree, self._car, self._rooms["joint"], self._laws["joint"], self._inputs, self._ground):
            raise ArithmeticError(f"{self.model.name}: joints do not close in random state {seed}")

    def accelerations(self, way: str) -> FloatArray:
        """Return the accelerations of all coordinates (n), NaN where they are not found."""
        self._tree.udot[self._tree.fixed == a.FREE] = np.nan
        solve(self._tree, self._car, self._rooms[way], self._laws[way].formulation)
        return self._tree.udot.copy()

    def evaluation_time(self, way: str) -> float:
        """Return the processor time of an evaluation in µs: joints closed, forces, accelerations."""
        arguments = (
            self._tree,
            self._car,
            self._rooms[way],
            self._laws[way],
            self._inputs,
            self._ground,
            _REPEATS,
        )
        return _timed(_evaluate_often, arguments)

    def solution_time(self, way: str) -> float:
        """Return the processor time in µs of what the ways differ in: from forces to accelerations."""
        arguments = (self._tree, self._car, self._rooms[way], self._laws[way].formulation, _REPEATS)
        return _timed(_solve_often, arguments)


def _timed(kernel: Callable[..., int], arguments: tuple[object, ...]) -> float:
    run = entry(kernel, arguments)
    begun = time.thread_time_ns()
    run(*arguments)
    return (time.thread_time_ns() - begun) * 1e-3 / _REPEATS


@separate_kernel
def _evaluate_often(
    tree: Tree, car: Arrays, rooms: Rooms, law: Law, inputs: Floats, ground: Floats, times: int
) -> int:
    failed = 0
    for _ in range(times):
        failed += evaluate(tree, car, rooms, law, inputs, ground)
    return failed


@separate_kernel
def _solve_often(tree: Tree, car: Arrays, rooms: Rooms, formulation: int, times: int) -> int:
    failed = 0
    for _ in range(times):
        failed += solve(tree, car, rooms, formulation)
    return failed
