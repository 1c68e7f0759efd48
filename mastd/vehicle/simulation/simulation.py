"""A car that is stepped through time: what the loop calls once a cycle, and what manoeuvres run by the
thousand.

``step`` is one compiled call: ground and inputs in, the car's wrench on the ground and its signals out.
``run`` takes many steps in one call and keeps a trace, ``advance`` takes them without. The matrices are made
in ``start``, before t = 0; in the proposed method nothing is factorised after that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import GroundError, UsageError
from mastd.roads.entries import GroundKind
from mastd.roads.ground import Ground, surface
from mastd.settings.vehicle.solver_names import FORMULATIONS, Formulation
from mastd.vehicle.blocks.fields import REPORT, REPORT_SIZE, WHEEL
from mastd.vehicle.blocks.rotation import rotation_matrix
from mastd.vehicle.equilibrium import restraints
from mastd.vehicle.equilibrium.constraints import constraint_rows
from mastd.vehicle.equilibrium.dense_equations import System
from mastd.vehicle.equilibrium.settle import at_rest, rolling, settle
from mastd.vehicle.model.definition import Model
from mastd.vehicle.powertrain import model as powertrain
from mastd.vehicle.simulation.newton_stepper import NewtonSteps
from mastd.vehicle.simulation.stepper import Stepper, stepper_of
from mastd.vehicle.solver.choice import Solver
from mastd.vehicle.solver.compiled_step import WRENCHES, Bound
from mastd.vehicle.solver.generalized_alpha import Formula
from mastd.vehicle.solver.newton import Method
from mastd.vehicle.solver.recording import TraceLayout, record_now
from mastd.vehicle.solver.snapshot import Blocks
from mastd.vehicle.state.motion import State, design_state
from mastd.vehicle.state.trace import Trace

Accuracy: TypeAlias = Literal["fast", "exact"]

SHIPPED_DAMPING: Final = 0.2
"""Spectral radius at infinity: with it one iteration a step is stable on the cars that are shipped."""
MAX_FAST_DAMPING: Final = 0.95
"""Largest spectral radius for the fast accuracy, whose joint forces have no damping but the formula's."""
TREE_CLOSING: Final = 0.1
"""Fraction of the tolerance of joints to which a tree closes them: it does so by itself, at little cost."""
LEVEL_HEIGHT: Final = 1e-3
"""m that the table may be off z = 0 where a car is put on it."""
LEVEL_SLOPE: Final = 1e-3
TIGHTENING: Final = 8.0
"""s in which a car goes down under its straps."""
FIRM_BRAKE: Final = 1e6
"""N m: what no wheel turns against."""
JOINT_TOLERANCE: Final = 1e-8
"""m, and m/s in the exact mode."""
MOVE_TOLERANCE: Final[dict[Accuracy, float]] = {"fast": 1e-6, "exact": 6e-10}
"""m at a step of 1 ms: an iteration that still moves a body so far is followed by another. It goes with the
square of the step, so that the error of the accelerations is the same at every step."""


@dataclass(frozen=True)
class NewtonOptions:
    """How far each step is solved. Raises ValueError for a number of iterations that makes no sense."""

    damping: float = SHIPPED_DAMPING
    """Spectral radius at infinity of the time integrator."""
    single_chord: bool = False
    """Keeps the one Jacobian of ``start`` whatever the formulation; else the chassis formulation has a row of
    them over speed, and the inertial one a full Jacobian in each step."""
    min_iterations: int = 1
    max_iterations: int = 30
    joint_tolerance: float = JOINT_TOLERANCE
    """Largest violation of a joint, m."""
    rate_tolerance: float = JOINT_TOLERANCE
    """Its largest rate in the exact accuracy, m/s."""
    move_tolerance: float | None = None
    """Largest correction of a position in the last iteration, m at a step of 1 ms; None: that of the accuracy
    (``MOVE_TOLERANCE``)."""

    def __post_init__(self) -> None:
        if not 1 <= self.min_iterations <= self.max_iterations:
            raise ValueError(
                f"iterations {self.min_iterations} … {self.max_iterations}: at least 1, in this order"
            )


NEWTON_DEFAULTS: Final = NewtonOptions()


class Simulation:
    """A car under way.

    Raises ValueError for a step, damping, accuracy or formulation that makes no sense.
    """

    def __init__(
        self,
        model: Model,
        *,
        step: float = 1e-3,
        solver: Solver | Formulation = "chassis",
        accuracy: Accuracy = "fast",
        ground: Ground | None = None,
        restrained: bool = False,
        newton: NewtonOptions = NEWTON_DEFAULTS,
    ) -> None:
        """Lay out the car.

        ``solver``: a formulation, by its name with its usual time integrator. ``restrained``: the model's
        tie-downs and chocks are on, from where the car stands at rest. The formulations over a tree of links
        close its joints to ``newton.joint_tolerance`` and ignore accuracy and the other options. Raises
        UsageError, one line each, for a powertrain or restraints that are too stiff for the step, and for
        joints that a formulation cannot take.
        """
        solver = solver if isinstance(solver, Solver) else Solver(solver)
        formulation = solver.formulation
        if formulation not in FORMULATIONS or accuracy not in ("fast", "exact"):
            raise ValueError(f"formulation {formulation!r}, accuracy {accuracy!r}: not known")
        if accuracy == "fast" and newton.damping > MAX_FAST_DAMPING:
            raise ValueError(
                f"damping {newton.damping!r} with accuracy fast: above {MAX_FAST_DAMPING} the joint forces, "
                "closed by the violations of position alone, grow from step to step; take exact"
            )
        self._check_step(model, step, restrained)
        move = MOVE_TOLERANCE[accuracy] if newton.move_tolerance is None else newton.move_tolerance
        relative = formulation != "inertial"
        self.model = model
        self.solver = solver
        self.formula = Formula.of(step, newton.damping)
        self.method = Method(
            relative=relative,
            exact=accuracy == "exact",
            full_newton=not relative and not newton.single_chord,
            gravity=model.gravity,
            min_iterations=newton.min_iterations,
            max_iterations=newton.max_iterations,
            # Held for each component: a ball joint's violation has three.
            joint_error=newton.joint_tolerance / np.sqrt(3.0),
            joint_rate=newton.rate_tolerance / np.sqrt(3.0),
            move=move * (step / 1e-3) ** 2,
        )
        self.ground = Ground.flat() if ground is None else ground
        self.system = System(model)
        self.layout = self.system.layout
        self._newton = NewtonSteps(self.system, self.formula, self.method, single_chord=newton.single_chord)
        self.stepper: Stepper = (
            stepper_of(self.system, step, solver, newton.joint_tolerance * TREE_CLOSING) or self._newton
        )
        self._restrained = restrained
        self._tight = False
        self._settled: State | None = None
        self.signals = TraceLayout(len(model.wheels), len(model.drives))
        self.design_heights = np.array(
            [wheel.centre[2] - model.bodies[0].centre[2] for wheel in model.wheels]
        )
        self._report = np.zeros(REPORT_SIZE)
        self._parameters = self.ground.parameters
        self._row = np.zeros(self.signals.width)
        self._wrench = np.zeros(WRENCHES)
        self._no_table = np.zeros((0, self.signals.width))
        self._steps = 0

    @staticmethod
    def _check_step(model: Model, step: float, restrained: bool) -> None:
        problems = restraints.problems(model, step) if restrained else []
        if model.powertrain is not None:
            inertias = [wheel.axial_inertia for wheel in model.wheels]
            found = powertrain.problems(model.powertrain, inertias, step)
            problems += [f"{model.name}: powertrain: {what}" for what in found]
        if problems:
            raise UsageError("\n".join(problems))

    # Beginning

    def start(self, speed: float, gear: int = 0) -> None:
        """Put the car on its springs, moving straight along x at ``speed`` (m/s) with rolling wheels; t = 0.

        ``gear``: of the powertrain, engaged, its engine turning with the wheels; by default neutral, idling.
        Makes the matrices where they are not there. Raises EquilibriumError for a car that does not stand,
        GroundError for wheels beside the ground or a table that is not level at z = 0, ValueError for a gear
        that there is not.
        """
        self._parameters = self.ground.parameters
        self._refuse_tilted()
        self._start(speed, gear)
        self._refuse_outside()

    def begin(self, state: State, speed: float = 0.0) -> None:
        """Start from any state, multipliers in inertial axes; ``speed``: what the one matrix is made for.

        Raises as ``start`` does.
        """
        self._start(speed, 0)
        self.stepper.load(state)
        self._begin_clock()
        self._refuse_outside()

    def _start(self, speed: float, gear: int) -> None:
        if self._settled is None:
            self._settled = settle(self.system, design_state(self.model)).state
        if self._restrained and speed != 0.0:
            raise ValueError(f"{speed!r} m/s: a vehicle that is tied down must be at rest, speed 0")
        moving = self._accelerated(rolling(self.model, self._settled, speed))
        self.stepper.prepare(self._settled, speed)
        if self._restrained and not self._tight:
            self._tighten(moving)
            moving = self._accelerated(self._settled)
        self.stepper.start(moving, self._parameters)
        if self.model.powertrain is not None:
            drive_state = self.layout.arrays.drive_state
            drive_state[:] = powertrain.start(self.model.powertrain, self.model.wheels, moving.spin, gear)
        self._begin_clock()

    def _refuse_tilted(self) -> None:
        """Raise GroundError for a plane that is not level at z = 0, where the car has settled."""
        if self.ground.kind is not GroundKind.PLANE:
            return
        for wheel in self.model.wheels:
            height, slope_x, slope_y = surface(self._parameters, wheel.centre[0], wheel.centre[1])
            if not (abs(height) <= LEVEL_HEIGHT and np.hypot(slope_x, slope_y) <= LEVEL_SLOPE):
                raise GroundError(
                    f"{self.model.name}: under {wheel.name} the table is {1e3 * height:.3g} mm above z = 0, "
                    f"with a slope of {np.hypot(slope_x, slope_y):.3g}: a vehicle starts where it is level, "
                    "at z = 0"
                )

    def _refuse_outside(self) -> None:
        """Raise GroundError for wheels that stand beside the road or the table."""
        wheels = self.layout.arrays.wheels
        beside = [
            f"{wheel.name} by {1e3 * wheels[item, WHEEL.outside, lane]:.0f} mm"
            for wheel, (item, lane) in zip(self.model.wheels, self.layout.wheel, strict=True)
            if not wheels[item, WHEEL.outside, lane] <= 0.0
        ]
        if beside:
            raise GroundError(
                f"{self.model.name}: wheels off the ground's surface: {', '.join(beside)}; move the vehicle, "
                "or take a wider road or table"
            )

    def _tighten(self, standing: State) -> None:
        """Put straps and chocks on the standing car: it goes down under the straps' pull, brakes on, as it
        does on a table; there they are made fast. Newton's method does it, whatever the formulation."""
        newton_steps = self._newton
        newton_steps.prepare(at_rest(standing), 0.0)
        newton_steps.load(standing)
        newton_steps.begin(self._parameters)
        row = self.system.inputs.row()
        row[self.system.inputs.brake_capacity] = FIRM_BRAKE
        rows = np.tile(row, (math.ceil(TIGHTENING / self.formula.step), 1))
        restraints.pull(self.layout)
        newton_steps.take(
            rows, self._parameters, self._report, self.design_heights, self._no_table, self._wrench
        )
        self._settled = at_rest(newton_steps.state())
        restraints.put_on(self.layout, self._settled)
        self._tight = True

    def _begin_clock(self) -> None:
        self._steps = 0
        self._report[:] = 0.0
        self._report[REPORT.converged] = 1.0
        self.stepper.begin(self._parameters)
        record_now(self.layout.arrays, self.design_heights, self._report, self._row)

    def _accelerated(self, state: State) -> State:
        """Return the state with the accelerations and joint forces that its motion asks for."""
        system, size = self.system, self.system.size
        state = replace(state, multipliers=np.zeros(self.model.rows))
        matrices = system.matrices(state, None, self.ground)
        rows = constraint_rows(self.model, matrices.joint_jacobian)
        whole = np.block([[matrices.mass, rows.T], [rows, np.zeros((len(rows), len(rows)))]])
        bias = np.zeros(len(rows))  # held motions have no acceleration
        bias[: self.model.rows] = system.constraints(state)[2]
        found = np.linalg.solve(whole, -np.concatenate([system.residual(state, None, self.ground), bias]))
        bodies = found[: 6 * len(self.model.bodies)].reshape(-1, 6)
        turns = rotation_matrix(state.attitude)
        return replace(
            state,
            acceleration=bodies[:, :3].copy(),
            angular_acceleration=np.einsum("bji,bj->bi", turns, bodies[:, 3:]),
            spin_acceleration=found[6 * len(self.model.bodies) : size].copy(),
            multipliers=found[size : size + self.model.rows].copy(),
        )

    # Stepping

    def step(self, inputs: FloatArray, ground: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Take one step; return the car's wrench on the ground (6) and the row of signals (width of
        ``signals``).

        ``inputs``: a row as in ``InputLayout``; ``ground``: parameters of the ground (``mastd.roads.ground``)
        in this step, by default those of before. The wrench is force and moment about the origin, inertial
        axes, N and N m. Both arrays are the simulation's own and hold until the next step; ``converged``
        tells whether the step is sound.
        """
        if ground is not None:
            self._parameters = ground
        self._take(inputs[np.newaxis], self._row[np.newaxis])
        return self._wrench[:6], self._row

    def advance(self, inputs: FloatArray) -> None:
        """Take a step for each row of ``inputs`` (n, width), keeping nothing."""
        self._take(inputs, self._no_table)

    def run(self, inputs: FloatArray) -> Trace:
        """Take a step for each row of ``inputs`` (n, width); return what happened, one sample after each
        step."""
        table = np.zeros((len(inputs), self.signals.width))
        first = self._steps + 1
        self._take(inputs, table)
        times = self.formula.step * np.arange(first, self._steps + 1, dtype=np.float64)
        return self.signals.trace(self.model, np.asarray(times, dtype=np.float64), table)

    def _take(self, inputs: FloatArray, table: FloatArray) -> None:
        self.stepper.take(inputs, self._parameters, self._report, self.design_heights, table, self._wrench)
        self._steps += len(inputs)

    # Asking

    @property
    def blocks(self) -> Blocks:
        """What a compiled step is handed of this car; its arrays are the simulation's own."""
        return self.stepper.blocks

    def bind(
        self,
        inputs: FloatArray,
        ground: FloatArray,
        report: FloatArray,
        table: FloatArray,
        wrench: FloatArray,
    ) -> Bound:
        """Return the call that takes a step for each row of ``inputs``; what the arrays hold may change.

        ``report`` (REPORT), ``table`` (rows, width of ``signals``) and ``wrench`` (WRENCHES) are
        written.
        """
        return self.stepper.bind(inputs, ground, report, self.design_heights, table, wrench)

    @property
    def time(self) -> float:
        """Seconds since the start."""
        return self._steps * self.formula.step

    @property
    def converged(self) -> bool:
        """Whether the last step met its tolerances."""
        return bool(self._report[REPORT.converged] > 0.0)

    @property
    def trouble(self) -> str:
        """What the formulation says of its last step, in a line; empty if there is nothing to say."""
        return self.stepper.trouble

    @property
    def factorisations(self) -> int:
        """Matrices factorised since the last start, those of the start included."""
        return self.stepper.factorisations

    @property
    def state(self) -> State:
        """The present state, multipliers in inertial axes."""
        return self.stepper.state()

    def sample(self) -> Trace:
        """Return the present state as a trace of one sample."""
        return self.signals.trace(self.model, np.array([self.time]), self._row[np.newaxis].copy())

    def matrix(self) -> FloatArray:
        """Return the matrix of a step at the present state, dense, in the formulation's own axes and
        variations.

        Made afresh from a copy of the motion: neither the factors in use nor the state change. Bodies in the
        model's order, six each, then spins, constraint rows, bars.
        """
        return self.stepper.matrix(self.ground)
