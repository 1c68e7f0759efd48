"""Steppers of a simulation, and the registry through which formulations outside the vehicle are loaded."""

from __future__ import annotations

from importlib import import_module
from typing import Final, Protocol, cast

from mastd.arrays import FloatArray
from mastd.roads.ground import Ground
from mastd.settings.vehicle.solver_names import TREE_FORMULATIONS
from mastd.vehicle.equilibrium.dense_equations import System
from mastd.vehicle.solver.choice import Solver
from mastd.vehicle.solver.compiled_step import Bound
from mastd.vehicle.solver.snapshot import Blocks
from mastd.vehicle.state.motion import State

_MAKERS: Final = dict.fromkeys(TREE_FORMULATIONS, ("mastd.formulations.integrators.stepper", "TreeSteps"))
"""Module and class of the stepper of each formulation that is not the vehicle's own.

They are imported where they are asked for: who drives a table neither reads nor compiles them.
"""


class Stepper(Protocol):
    """Steps a state through time; holds the state between calls."""

    def prepare(self, settled: State, speed: float) -> None:
        """Make matrices in the static equilibrium, for motion at ``speed`` (m/s)."""

    def load(self, state: State) -> None:
        """Take over a state."""

    def start(self, state: State, ground: FloatArray) -> None:
        """Take over a state and its accelerations on ``ground``."""

    def begin(self, ground: FloatArray) -> None:
        """Evaluate the accelerations of the present state on ``ground``."""

    def take(self, inputs: FloatArray, ground: FloatArray, *output: FloatArray) -> None:
        """Take a step for each row of ``inputs``; ``output``: the arrays of ``StepOutput``."""

    def bind(self, inputs: FloatArray, ground: FloatArray, *output: FloatArray) -> Bound:
        """Return the compiled steps bound to their arrays."""

    def state(self) -> State:
        """Return the present state."""

    @property
    def blocks(self) -> Blocks:
        """The arrays of the present state, for a snapshot."""

    @property
    def trouble(self) -> str:
        """Where the last step failed, empty if it did not."""

    @property
    def factorisations(self) -> int:
        """Matrices factorised since the start."""

    def matrix(self, ground: Ground) -> FloatArray:
        """Return the Jacobian at the present state."""


class MakeStepper(Protocol):
    """Makes the stepper of a formulation."""

    def __call__(self, system: System, step: float, solver: Solver, tolerance: float) -> Stepper:
        """Return the stepper; ``step`` in s, joints closed to ``tolerance`` (m)."""


def stepper_of(system: System, step: float, solver: Solver, tolerance: float) -> Stepper | None:
    """Return the stepper of a formulation outside the vehicle, None for the vehicle's own."""
    if solver.formulation not in TREE_FORMULATIONS:
        return None
    module, name = _MAKERS[solver.formulation]
    make = cast(MakeStepper, getattr(import_module(module), name))
    return make(system, step, solver, tolerance)
