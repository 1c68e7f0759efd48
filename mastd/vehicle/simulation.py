"""A car that is stepped through time: what the loop calls once a cycle, and what manoeuvres run by the
thousand.

``step`` is one compiled call: ground and inputs in, the car's wrench on the ground and its signals out.
``run`` takes many steps in one call and keeps a trace, ``advance`` takes them without. The matrices are made
in ``start``, before t = 0; in the proposed method nothing is factorised after that.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mastd.errors import GroundError, UsageError
from mastd.lanes import LANES
from mastd.roads.entries import GroundKind
from mastd.roads.ground import Ground, surface
from mastd.vehicle import fields as f
from mastd.vehicle import newton, powertrain, restraints
from mastd.vehicle.attitude import rotation_matrix
from mastd.vehicle.equations import constraint_rows
from mastd.vehicle.fresh import Fresh, Weights
from mastd.vehicle.frozen import Frozen, freeze
from mastd.vehicle.generalized_alpha import Formula
from mastd.vehicle.model import Model, Tyre
from mastd.vehicle.newton import Method
from mastd.vehicle.recording import TraceLayout, record_now
from mastd.vehicle.settle import at_rest, rolling, settle
from mastd.vehicle.snapshot import Blocks
from mastd.vehicle.state import State, design_state, read_state, turned_forces, write_state
from mastd.vehicle.stepping import WRENCHES, look, take_steps
from mastd.vehicle.system import System
from mastd.vehicle.trace import Trace

Floats = NDArray[np.float64]
Formulation: TypeAlias = Literal["chassis", "inertial"]
Accuracy: TypeAlias = Literal["fast", "exact"]

SHIPPED_DAMPING: Final = 0.2
"""Spectral radius at infinity: with it one iteration a step is stable on the cars that are shipped."""
MOST_FAST_DAMPING: Final = 0.95
"""Largest spectral radius for the fast accuracy, whose joint forces have no damping but the formula's."""
SPEED_RATIO: Final = 1.25
"""Between the speeds of neighbouring matrices."""
TOP_SPEED: Final = 80.0
"""m/s: the last matrix is made for this or a little more, and serves beyond it too."""
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


class Simulation:
    """A car under way.

    Raises ValueError for a step, damping, accuracy, formulation or number of iterations that make no sense.
    """

    def __init__(
        self,
        model: Model,
        *,
        step: float = 1e-3,
        formulation: Formulation = "chassis",
        accuracy: Accuracy = "fast",
        damping: float = SHIPPED_DAMPING,
        ground: Ground | None = None,
        restrained: bool = False,
        frozen: bool | None = None,
        least_iterations: int = 1,
        most_iterations: int = 30,
        tolerance: float = JOINT_TOLERANCE,
        rate_tolerance: float = JOINT_TOLERANCE,
        move_tolerance: float | None = None,
    ) -> None:
        """Lay out the car.

        ``restrained``: the model's tie-downs and chocks are on, from where the car stands at rest.
        ``frozen``: True keeps the one matrix of ``start`` whatever the formulation; by default the chassis
        formulation has a row of matrices over speed and the inertial one a fresh matrix each step.
        ``tolerance``: largest gap of a joint (m); ``rate_tolerance``: its largest rate in the exact accuracy
        (m/s); ``move_tolerance``: largest correction of a position in the last iteration, m at a step of
        1 ms, by default that of the accuracy (see ``MOVE_TOLERANCE``). The solver goes on from
        ``least_iterations`` to ``most_iterations`` until all hold. Raises UsageError, one line each, for a
        powertrain or restraints that are too stiff for the step.
        """
        if formulation not in ("chassis", "inertial") or accuracy not in ("fast", "exact"):
            raise ValueError(f"formulation {formulation!r}, accuracy {accuracy!r}: not known")
        if not 1 <= least_iterations <= most_iterations:
            raise ValueError(f"iterations {least_iterations} … {most_iterations}: at least 1, in this order")
        if accuracy == "fast" and damping > MOST_FAST_DAMPING:
            raise ValueError(
                f"damping {damping!r} with accuracy fast: above {MOST_FAST_DAMPING} the joint forces, "
                "closed by the gaps of position alone, grow from step to step; take exact"
            )
        self._check_step(model, step, restrained)
        move = MOVE_TOLERANCE[accuracy] if move_tolerance is None else move_tolerance
        relative = formulation == "chassis"
        self.model = model
        self.formulation = formulation
        self.formula = Formula.of(step, damping)
        self.method = Method(
            relative=relative,
            exact=accuracy == "exact",
            renewed=not relative and not frozen,
            gravity=model.gravity,
            least_iterations=least_iterations,
            most_iterations=most_iterations,
            # Held for each component: a ball joint's gap has three.
            joint_error=tolerance / np.sqrt(3.0),
            joint_rate=rate_tolerance / np.sqrt(3.0),
            move=move * (step / 1e-3) ** 2,
        )
        self.ground = Ground.flat() if ground is None else ground
        self.system = System(model)
        self.layout = self.system.layout
        self._one_matrix = bool(frozen)
        self._restrained = restrained
        self._tight = False
        self._settled: State | None = None
        self._frozen: Frozen | None = None
        self._fresh = Fresh.of(self.layout)
        self._factorised = 0
        self.signals = TraceLayout(len(model.wheels), len(model.drives))
        self.design_heights = np.array(
            [wheel.centre[2] - model.bodies[0].centre[2] for wheel in model.wheels]
        )
        self._report = np.zeros(newton.REPORT_FIELDS)
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
        self._load(state)
        self._begin_clock()
        self._refuse_outside()

    def _start(self, speed: float, gear: int) -> None:
        if self._settled is None:
            self._settled = settle(self.system, design_state(self.model)).state
        if self._restrained and speed != 0.0:
            raise ValueError(f"{speed!r} m/s: a vehicle that is tied down stands")
        moving = self._accelerated(rolling(self.model, self._settled, speed))
        if self._frozen is None or self._one_matrix:
            self._frozen = self._freeze(speed)
            self._note_loads()
        if self._restrained and not self._tight:
            self._load(moving)
            self._begin_clock()
            self._tighten()
            moving = self._accelerated(self._settled)
        self._fresh.factorisations[0] = 0.0
        self._load(moving)
        if self.model.powertrain is not None:
            drive_state = self.layout.arrays.drive_state
            drive_state[:] = powertrain.start(self.model.powertrain, self.model.wheels, moving.spin, gear)
        if not self.method.relative and self._one_matrix:
            self._look(self._fresh, self._parameters, relative=False, factors=True)
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
            f"{wheel.name} by {1e3 * wheels[item, f.OUTSIDE, lane]:.0f} mm"
            for wheel, (item, lane) in zip(self.model.wheels, self.layout.wheel, strict=True)
            if not wheels[item, f.OUTSIDE, lane] <= 0.0
        ]
        if beside:
            raise GroundError(
                f"{self.model.name}: wheels stand beside the ground: {', '.join(beside)}; move the vehicle, "
                "or take a wider road or table"
            )

    def _tighten(self) -> None:
        """Put straps and chocks on the standing car: it goes down under the straps' pull, brakes on, as it
        does on a table; there they are made fast."""
        row = self.system.inputs.row()
        row[self.system.inputs.brake_capacity] = FIRM_BRAKE
        rows = np.tile(row, (math.ceil(TIGHTENING / self.formula.step), 1))
        restraints.pull(self.layout)
        self.advance(rows)
        self._settled = at_rest(self.state)
        restraints.put_on(self.layout, self._settled)
        self._tight = True

    def _begin_clock(self) -> None:
        self._steps = 0
        self._report[:] = 0.0
        self._report[newton.CONVERGED] = 1.0
        # What the tyres' deflections mean depends on loads, which the first look finds.
        for _ in range(2):
            self._look(None, self._parameters, self.method.relative)
        record_now(self.layout.arrays, self.design_heights, self._report, self._row)

    def _accelerated(self, state: State) -> State:
        """Return the state with the accelerations and joint forces that its motion asks for."""
        system, size = self.system, self.system.size
        state = replace(state, multipliers=np.zeros(self.model.rows))
        matrices = system.matrices(state, None, self.ground)
        rows = constraint_rows(self.model, matrices.joint_jacobian)
        whole = np.block([[matrices.mass, rows.T], [rows, np.zeros((len(rows), len(rows)))]])
        gaps = np.zeros(len(rows))  # held motions have no acceleration
        gaps[: self.model.rows] = system.constraints(state)[2]
        found = np.linalg.solve(whole, -np.concatenate([system.residual(state, None, self.ground), gaps]))
        bodies = found[: 6 * len(self.model.bodies)].reshape(-1, 6)
        turns = rotation_matrix(state.attitude)
        return replace(
            state,
            acceleration=bodies[:, :3].copy(),
            angular_acceleration=np.einsum("bji,bj->bi", turns, bodies[:, 3:]),
            spin_acceleration=found[6 * len(self.model.bodies) : size].copy(),
            multipliers=found[size : size + self.model.rows].copy(),
        )

    def _freeze(self, speed: float) -> Frozen:
        """Return the matrices for a row of speeds; where one must do, for this speed."""
        least = [wheel.tyre.least_speed for wheel in self.model.wheels if isinstance(wheel.tyre, Tyre)]
        chosen_by = np.zeros(1)
        made_for = np.array([speed if self._one_matrix else 0.0])
        if least and self.method.relative and not self._one_matrix:
            count = max(1, int(np.ceil(np.log(TOP_SPEED / min(least)) / np.log(SPEED_RATIO))))
            chosen_by = np.array([0.0, *(min(least) * SPEED_RATIO**k for k in range(1, count + 1))])
            made_for = chosen_by
        cells = np.zeros((len(made_for), self.layout.cells, LANES))
        cores = np.zeros((len(made_for), 6, 6))
        for k in range(len(made_for)):
            self._assemble(float(made_for[k]), cells[k], cores[k])
        self._factorised = len(made_for)
        return freeze(self.layout, cells, cores, chosen_by)

    def _assemble(self, speed: float, cells: Floats, core: Floats) -> None:
        assert self._settled is not None
        self._load(rolling(self.model, self._settled, speed), relative=True)
        self._look(self._fresh._replace(cells=cells), Ground.flat().parameters, relative=True)
        core[:] = self._fresh.chassis[:, 0].reshape(6, 6)

    def _look(self, matrices: Fresh | None, ground: Floats, relative: bool, *, factors: bool = False) -> None:
        """Evaluate the state in the arrays, without inputs; write the matrices of a step if asked."""
        reach, step = self.formula.velocity, self.formula.step
        look(
            self.layout.arrays,
            self._fresh if matrices is None else matrices,
            Weights.of(self.formula),
            self._still,
            ground,
            self.model.gravity,
            relative,
            matrices is not None,
            factors,
            (reach, -1.0 if matrices is None else 1.0 / step),
            False,
        )

    @property
    def _still(self) -> Floats:
        return self.system.inputs.row()

    def _note_loads(self) -> None:
        """Write the loads at rest, for which the matrices were made, to the wheels."""
        assert self._settled is not None
        loads = self.system.wheel_loads(self._settled)
        wheels = self.layout.arrays.wheels
        wheels[:, f.REST_LOAD] = loads[self.layout.arrays.wheel_of]

    def _load(self, state: State, relative: bool | None = None) -> None:
        in_chassis = self.method.relative if relative is None else relative
        if in_chassis:
            state = turned_forces(self.model, state, rotation_matrix(state.attitude[0]).T)
        write_state(self.layout, state)

    # Stepping

    def step(self, inputs: Floats, ground: Floats | None = None) -> tuple[Floats, Floats]:
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

    def advance(self, inputs: Floats) -> None:
        """Take a step for each row of ``inputs`` (n, width), keeping nothing."""
        self._take(inputs, self._no_table)

    def run(self, inputs: Floats) -> Trace:
        """Take a step for each row of ``inputs`` (n, width); return what happened, one sample after each
        step."""
        table = np.zeros((len(inputs), self.signals.width))
        first = self._steps + 1
        self._take(inputs, table)
        times = self.formula.step * np.arange(first, self._steps + 1, dtype=np.float64)
        return self.signals.trace(self.model, np.asarray(times, dtype=np.float64), table)

    def _take(self, inputs: Floats, table: Floats) -> None:
        take_steps(
            *self.blocks,
            inputs,
            self._parameters,
            self._report,
            self.design_heights,
            table,
            self._wrench,
        )
        self._steps += len(inputs)

    # Asking

    @property
    def _matrices(self) -> Frozen:
        if self._frozen is None:
            raise RuntimeError("the car has not been started")
        return self._frozen

    @property
    def blocks(self) -> Blocks:
        """What a compiled step is handed of this car; its arrays are the simulation's own."""
        return self.layout.arrays, self.formula, self.method, self._matrices, self._fresh

    @property
    def time(self) -> float:
        """Seconds since the start."""
        return self._steps * self.formula.step

    @property
    def converged(self) -> bool:
        """Whether the last step met its tolerances."""
        return bool(self._report[newton.CONVERGED] > 0.0)

    @property
    def factorisations(self) -> int:
        """Matrices factorised since the last start, those of the start included."""
        begun = 0 if self.method.renewed else (self._factorised if self.method.relative else 0)
        return begun + int(self._fresh.factorisations[0])

    @property
    def state(self) -> State:
        """The present state, multipliers in inertial axes."""
        state = read_state(self.layout)
        if self.method.relative:
            state = turned_forces(self.model, state, rotation_matrix(state.attitude[0]))
        return state

    def sample(self) -> Trace:
        """Return the present state as a trace of one sample."""
        return self.signals.trace(self.model, np.array([self.time]), self._row[np.newaxis].copy())

    def matrix(self) -> Floats:
        """Return the matrix of a step at the present state, dense, in the formulation's own axes and
        variations.

        Made afresh from a copy of the motion: neither the factors in use nor the state change. Bodies in the
        model's order, six each, then spins, constraint rows, bars.
        """
        # A system of its own: this one's arrays hold the motion.
        return System(self.model).step_matrix(self.state, self.formula, self.ground, self.method.relative)
