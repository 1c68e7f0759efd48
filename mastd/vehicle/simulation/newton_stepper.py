"""Steps by Newton's method: chord Jacobian made before t = 0 for the chassis formulation, a full one for the
inertial."""

from __future__ import annotations

from typing import Final

import numpy as np

from mastd.arrays import FloatArray, aligned_zeros
from mastd.lanes import LANES
from mastd.roads.ground import Ground
from mastd.vehicle.blocks.fields import WHEEL
from mastd.vehicle.blocks.rotation import rotation_matrix
from mastd.vehicle.equilibrium.dense_equations import System
from mastd.vehicle.equilibrium.settle import rolling
from mastd.vehicle.solver.chord_jacobian import ChordJacobian, factor_chord
from mastd.vehicle.solver.compiled_step import Bound, BoundSteps, Evaluation, StepOutput, evaluate, take_steps
from mastd.vehicle.solver.full_jacobian import FullJacobian
from mastd.vehicle.solver.generalized_alpha import Formula
from mastd.vehicle.solver.newton import Method, NewtonSolver
from mastd.vehicle.solver.snapshot import Blocks
from mastd.vehicle.state.motion import State, read_state, turned_forces, write_state
from mastd.vehicle.tyres.linear_tyre import Tyre

SPEED_RATIO: Final = 1.25
"""Between the speeds of neighbouring matrices."""
TOP_SPEED: Final = 80.0
"""m/s: the last matrix is made for this or a little more, and serves beyond it too."""


class NewtonSteps:
    """A car's equations solved at the end of each step."""

    def __init__(self, system: System, formula: Formula, method: Method, *, single_chord: bool) -> None:
        """Lay out the workspace; ``single_chord``: the Jacobian of the start is kept, whatever the speed."""
        self.system, self.layout = system, system.layout
        self.formula, self.method = formula, method
        self._single_chord = single_chord
        self._chord: ChordJacobian | None = None
        self._full = FullJacobian.of(self.layout)
        self._factorised = 0

    def prepare(self, settled: State, speed: float) -> None:
        """Make the matrices where they are not there, for a car at rest as ``settled`` and a speed in m/s."""
        if self._chord is not None and not self._single_chord:
            return
        self._chord = self._factor_chord(settled, speed)
        loads = self.system.wheel_loads(settled)
        wheels = self.layout.arrays.wheels
        wheels[:, WHEEL.rest_load] = loads[self.layout.arrays.wheel_of]

    def load(self, state: State) -> None:
        """Put the car into a state, multipliers in inertial axes."""
        self._load(state, self.method.relative)

    def start(self, state: State, ground: FloatArray) -> None:
        """Put the car into the state of t = 0 on a ground; make the one matrix of the inertial
        formulation."""
        self._full.factorisations[0] = 0.0
        self.load(state)
        if not self.method.relative and self._single_chord:
            self._evaluate(self._full, ground, relative=False, factors=True)

    def begin(self, ground: FloatArray) -> None:
        """Evaluate forces and constraint violations at the present state."""
        # What the tyres' deflections mean depends on loads, which the first evaluation finds.
        for _ in range(2):
            self._evaluate(None, ground, self.method.relative)

    def take(self, inputs: FloatArray, ground: FloatArray, *output: FloatArray) -> None:
        """Take a step for each row of ``inputs``; ``output``: the arrays of ``StepOutput``."""
        car, solver = self.blocks
        take_steps(car, solver, inputs, ground, StepOutput(*output))

    def bind(self, inputs: FloatArray, ground: FloatArray, *output: FloatArray) -> Bound:
        """Return ``take`` with its arguments, whose contents may change."""
        return BoundSteps(*self.blocks, inputs, ground, StepOutput(*output))

    def state(self) -> State:
        """Return the present state, multipliers in inertial axes."""
        state = read_state(self.layout)
        if self.method.relative:
            state = turned_forces(self.layout.model, state, rotation_matrix(state.attitude[0]))
        return state

    @property
    def blocks(self) -> Blocks:
        """What a compiled step is handed of this car; its arrays are the car's own."""
        if self._chord is None:
            raise RuntimeError("the car has not been started")
        return self.layout.arrays, NewtonSolver(self.formula, self.method, self._chord, self._full)

    @property
    def trouble(self) -> str:
        """Nothing beside what the report of a step says."""
        return ""

    @property
    def factorisations(self) -> int:
        """Matrices factorised since the last start, those of the start included."""
        begun = self._factorised if self.method.relative else 0
        return begun + int(self._full.factorisations[0])

    def matrix(self, ground: Ground) -> FloatArray:
        """Return the matrix of a step at the present state, dense: see ``Simulation.matrix``."""
        # A system of its own: this one's arrays hold the motion.
        system = System(self.layout.model)
        return system.step_jacobian(self.state(), self.formula, ground, self.method.relative)

    def _factor_chord(self, settled: State, speed: float) -> ChordJacobian:
        """Return the matrices for a row of speeds; where one must do, for this speed."""
        model = self.layout.model
        least = [wheel.tyre.least_speed for wheel in model.wheels if isinstance(wheel.tyre, Tyre)]
        chosen_by = np.zeros(1)
        made_for = np.array([speed if self._single_chord else 0.0])
        if least and self.method.relative and not self._single_chord:
            count = max(1, int(np.ceil(np.log(TOP_SPEED / min(least)) / np.log(SPEED_RATIO))))
            chosen_by = np.array([0.0, *(min(least) * SPEED_RATIO**k for k in range(1, count + 1))])
            made_for = chosen_by
        cells = aligned_zeros((len(made_for), self.layout.cells, LANES))
        cores = np.zeros((len(made_for), 6, 6))
        for k in range(len(made_for)):
            self._load(rolling(model, settled, float(made_for[k])), relative=True)
            self._evaluate(self._full._replace(cells=cells[k]), Ground.flat().parameters, relative=True)
            cores[k] = self._full.chassis[:, 0].reshape(6, 6)
        self._factorised = len(made_for)
        return factor_chord(self.layout, cells, cores, chosen_by)

    def _evaluate(
        self, matrices: FullJacobian | None, ground: FloatArray, relative: bool, *, factors: bool = False
    ) -> None:
        """Evaluate the state in the arrays, without inputs; write the matrices of a step if asked."""
        evaluate(
            self.layout.arrays,
            self._full if matrices is None else matrices,
            self.system.inputs.row(),
            ground,
            Evaluation(
                weights=self.formula.weights(),
                gravity=self.layout.model.gravity,
                relative=relative,
                jacobian=matrices is not None,
                factors=factors,
                reach=self.formula.velocity,
                rate=-1.0 if matrices is None else 1.0 / self.formula.step,
                moving=False,
            ),
        )

    def _load(self, state: State, relative: bool) -> None:
        if relative:
            turn = rotation_matrix(state.attitude[0]).T
            state = turned_forces(self.layout.model, state, turn)
        write_state(self.layout, state)
