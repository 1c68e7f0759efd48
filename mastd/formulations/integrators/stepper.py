"""Steps over the coordinates of the tree: the stepper that ``Simulation`` has instead of Newton's method.

Compile time decides which kernels are separate: each further separate level optimises all below it again,
and one merged kernel takes minutes, since the compiler's time grows faster than a function's size. Separate
are the entry, the solvers, the evaluations and the matrices of implicit Euler; what has one caller is merged
into it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from mastd.arrays import FloatArray
from mastd.formulations.constraints.drive_forces import drive_forces
from mastd.formulations.constraints.evaluate import write_accelerations
from mastd.formulations.constraints.projection import max_violation_rate
from mastd.formulations.integrators.explicit import (
    STAGES,
    IntegratorState,
    TimeIntegrator,
    explicit_step,
    keep_inputs,
    take_inputs,
)
from mastd.formulations.integrators.implicit_euler import POLICIES
from mastd.formulations.integrators.partial_jacobian import (
    SINGULAR_STEP,
    PartialJacobianWorkspace,
    implicit_step,
    partial_jacobian_workspace,
)
from mastd.formulations.methods.dispatch import EvaluationSettings, Workspaces
from mastd.formulations.methods.workspaces import FORMULATION_CODES, workspaces_of
from mastd.formulations.tree.arrays import CHOOSE, CUT_ROW, LINK, Tree
from mastd.formulations.tree.body_groups import body_groups
from mastd.formulations.tree.build import tree_of
from mastd.formulations.tree.state import load_state
from mastd.formulations.tree.subsystems import subsystems_of
from mastd.formulations.tree.topology import topology_of
from mastd.kernel import merged_kernel, separate_kernel
from mastd.roads.ground import Ground
from mastd.settings.vehicle.solver_names import Integrator
from mastd.vehicle.blocks.fields import REPORT, REPORT_SIZE
from mastd.vehicle.equilibrium.dense_equations import System
from mastd.vehicle.joints.arrays import CONSTRAINT
from mastd.vehicle.solver.choice import Solver
from mastd.vehicle.solver.compiled_step import WRENCHES, Bound, write_wrenches
from mastd.vehicle.solver.recording import TraceLayout, record
from mastd.vehicle.solver.snapshot import Blocks
from mastd.vehicle.state.arrays import Arrays
from mastd.vehicle.state.motion import State, read_state, write_state

CODES: Final[dict[Integrator, TimeIntegrator]] = {
    "runge-kutta": TimeIntegrator.RUNGE_KUTTA,
    "adams-bashforth": TimeIntegrator.ADAMS_BASHFORTH,
    "implicit-euler": TimeIntegrator.IMPLICIT_EULER,
}
BRAKE_STEPS: Final = 2.0
"""Steps in which a friction brake stops its wheel: an explicit integrator has to follow it."""


class TreeSolver(NamedTuple):
    """How a car's tree is stepped, and the arrays for it."""

    tree: Tree
    workspaces: Workspaces
    state: IntegratorState
    partial: PartialJacobianWorkspace
    settings: EvaluationSettings
    step: float
    """s."""
    policy: int
    """``implicit_euler.Policy``."""
    integrator: int


@separate_kernel
def take_tree_steps(
    car: Arrays,
    solver: TreeSolver,
    inputs: FloatArray,
    ground: FloatArray,
    report: FloatArray,
    heights: FloatArray,
    table: FloatArray,
    wrench: FloatArray,
) -> None:
    """Take a step for each row of ``inputs``, as ``compiled_step.take_steps`` does."""
    tree, workspaces, state, settings = solver.tree, solver.workspaces, solver.state, solver.settings
    integrator, step = solver.integrator, solver.step
    keep = table.shape[0] == inputs.shape[0]
    for k in range(inputs.shape[0]):
        take_inputs(tree, car, state, inputs[k], 0.0 if integrator == TimeIntegrator.EVALUATE_ONLY else step)
        if integrator == TimeIntegrator.IMPLICIT_EULER:
            failed = implicit_step(
                tree, car, workspaces, settings, state, solver.partial, solver.policy, ground
            )
        else:
            failed = explicit_step(tree, car, workspaces, settings, state, step, integrator, ground)
        keep_inputs(state, ground)
        state.failed[0] = failed
        write_accelerations(tree, car)
        drive_forces(tree, car, workspaces.forces)
        _report(tree, workspaces, failed, report)
        if keep:
            record(car, heights, report, table[k])
    write_wrenches(car, settings.gravity, wrench)


@merged_kernel
def _report(tree: Tree, workspaces: Workspaces, failed: int, report: FloatArray) -> None:
    report[REPORT.iterations], report[REPORT.joint_error] = workspaces.projection[0], workspaces.projection[1]
    report[REPORT.joint_rate] = max_violation_rate(tree)
    report[REPORT.max_move] = 0.0
    finite = 0.0
    for k in range(tree.udot.shape[0]):
        finite += 0.0 * tree.udot[k]
    report[REPORT.converged] = 1.0 if failed == 0 and finite == 0.0 else 0.0


class BoundTreeSteps(Bound):
    """``take_tree_steps`` with its arguments."""

    kernel = staticmethod(take_tree_steps)


class TreeSteps:
    """A car's accelerations by one of the formulations, and an integrator that knows nothing of it."""

    def __init__(
        self,
        system: System,
        step: float,
        solver: Solver,
        tolerance: float,
    ) -> None:
        """Build tree, body groups and workspaces; ``tolerance``: largest constraint violation, m.

        Raises UsageError, one line each, for a vehicle whose loops cannot be cut or whose constraints are
        redundant.
        """
        self.layout = system.layout
        model = system.model
        topology = topology_of(model)
        self._groups = body_groups(model, topology)
        self.tree = tree_of(system.layout, topology, self._groups)
        self._subsystems = subsystems_of(model, self.tree)
        width = 2 * len(self.tree.u) + 3 * len(self.tree.spin)
        self._still = system.inputs.row()
        state = IntegratorState(
            q=np.zeros_like(self.tree.q),
            u=np.zeros_like(self.tree.u),
            spin=np.zeros_like(self.tree.spin),
            deflection=np.zeros_like(self.tree.deflection),
            slopes=np.zeros((STAGES + 1, width)),
            increment=np.zeros(width),
            inputs=np.zeros((3, len(self._still))),
            ground=np.zeros((2, len(Ground.flat().parameters))),
            known=np.zeros(1, dtype=np.int64),
            failed=np.zeros(1, dtype=np.int64),
        )
        self._solver = TreeSolver(
            tree=self.tree,
            workspaces=workspaces_of(self.layout, self.tree, solver),
            state=state,
            partial=partial_jacobian_workspace(self.tree, self.layout.arrays, model, step),
            settings=EvaluationSettings(
                FORMULATION_CODES[solver.formulation], model.gravity, BRAKE_STEPS * step, tolerance
            ),
            step=step,
            policy=int(POLICIES[solver.renews]),
            integrator=int(CODES[solver.steps_by]),
        )

    def prepare(self, settled: State, speed: float) -> None:
        """Do nothing: no matrix is made before t = 0."""

    def load(self, state: State) -> None:
        """Put the car into a state that keeps its joints; its multipliers are ignored."""
        write_state(self.layout, state)
        self.layout.arrays.joints.rows[:, CONSTRAINT.multiplier] = 0.0
        load_state(self.tree, state)

    def start(self, state: State, ground: FloatArray) -> None:
        """Put the car into the state of t = 0."""
        self.load(state)

    def begin(self, ground: FloatArray) -> None:
        """Write accelerations, forces and violations at the present state; racks stand as they are in it."""
        if self._solver.state.ground.shape[1] != len(ground):
            state = self._solver.state._replace(ground=np.zeros((2, len(ground))))
            self._solver = self._solver._replace(state=state)
        row, tree = self._still.copy(), self.tree
        for drive, coordinate in enumerate(tree.drive_rows):
            position = tree.links[tree.link_of[coordinate], LINK.position]
            row[3 * drive : 3 * drive + 2] = tree.q[position], tree.u[coordinate]
        tree.quality[:] = CHOOSE
        # What the tyres' deflections mean depends on loads, which the first evaluation finds.
        for _ in range(2):
            self.evaluate(row, ground)

    def evaluate(self, inputs: FloatArray, ground: FloatArray) -> None:
        """Close the joints at the state in ``tree`` and write all accelerations there, on a row of inputs."""
        width = TraceLayout(len(self.tree.spin), len(self.tree.drive_rows)).width
        take_tree_steps(
            self.layout.arrays,
            self._solver._replace(integrator=int(TimeIntegrator.EVALUATE_ONLY)),
            inputs[np.newaxis],
            ground,
            np.zeros(REPORT_SIZE),
            np.zeros(len(self.tree.spin)),
            np.zeros((0, width)),
            np.zeros(WRENCHES),
        )

    def take(self, *arguments: FloatArray) -> None:
        """Take steps; inputs, ground, report, heights, table and wrench as ``stepping.take_steps`` has
        them."""
        take_tree_steps(self.layout.arrays, self._solver, *arguments)

    def bind(self, *arguments: FloatArray) -> Bound:
        """Return ``take`` with its arguments, whose contents may change."""
        return BoundTreeSteps(*self.blocks, *arguments)

    def state(self) -> State:
        """Return the present state; it has no multipliers."""
        return read_state(self.layout)

    @property
    def blocks(self) -> Blocks:
        """What a compiled step is handed of this car; its arrays are the car's own."""
        return self.layout.arrays, self._solver

    @property
    def factorisations(self) -> int:
        """Of a matrix of a whole step: none is made."""
        return 0

    def matrix(self, ground: Ground) -> FloatArray:
        """Raise ValueError: there is no matrix of a step."""
        raise ValueError("a formulation over a tree of links has no matrix of a step")

    @property
    def trouble(self) -> str:
        """What went wrong in the last step, in a line; empty if nothing did."""
        failed = int(self._solver.state.failed[0])
        name = self.layout.model.name
        if failed > len(self._groups):
            subsystem = self._subsystems[failed - len(self._groups) - 1]
            return f"{name}: {subsystem.name}: the equations of this subsystem became singular"
        if failed > 0:
            joints = self._joints(failed - 1)
            return f"{name}: {self._groups[failed - 1].name}: its joints became singular: {joints}"
        if failed == SINGULAR_STEP:
            return f"{name}: the matrix of a step became singular"
        if failed < 0:
            row = int(np.argmax(np.abs(np.nan_to_num(self.tree.violation))))
            joint = self.layout.model.primitives[self.tree.row_table[row, CUT_ROW.primitive]].joint
            left = 1e3 * self._solver.workspaces.projection[1]
            return f"{name}: '{joint}' does not close any more, {left:.3g} mm are left"
        return ""

    def _joints(self, group: int) -> str:
        model = self.layout.model
        names = dict.fromkeys(model.primitives[cut].joint for cut in self._groups[group].cuts)
        return ", ".join(f"'{name}'" for name in names)
