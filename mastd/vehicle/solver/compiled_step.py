"""The two compiled entries of the vehicle: taking steps, and evaluating a state.

Each is one large function: the blocks of the car are passed once a call, and everything but the
evaluation of the full Jacobian becomes part of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final, NamedTuple

from mastd.arrays import FloatArray
from mastd.kernel import entry, fused_kernel, separate_kernel
from mastd.lanes import LANES
from mastd.vehicle.blocks.body_points import point_of_body
from mastd.vehicle.blocks.fields import CLOCK, GROUP, REPORT, WHEEL
from mastd.vehicle.blocks.matrix_blocks import Weights
from mastd.vehicle.blocks.vectors import from_frame
from mastd.vehicle.equations.external_forces import apply_external_forces, prepare_wheels
from mastd.vehicle.equations.frames import attitudes
from mastd.vehicle.equations.ground_contact import sample_ground
from mastd.vehicle.equations.reaction import guided, reaction
from mastd.vehicle.equations.residual import evaluate_residual
from mastd.vehicle.solver.full_jacobian import FullJacobian, evaluate_jacobian
from mastd.vehicle.solver.newton import NewtonSolver, advance, max_constraint_rate
from mastd.vehicle.solver.recording import record
from mastd.vehicle.state.arrays import Arrays
from mastd.vehicle.state.inputs import apply_inputs

WRENCHES: Final = 12
"""Numbers of the two wrenches that steps leave."""


class StepOutput(NamedTuple):
    """What steps write."""

    report: FloatArray
    """(REPORT) of the last step."""
    design_heights: FloatArray
    """(wheels) of the wheel centres above the chassis' centre of mass, m: read only."""
    table: FloatArray
    """(steps, signals) rows of signals, or none."""
    wrench: FloatArray
    """(WRENCHES) the one on the ground in the last step, as tyres, straps and chocks say it, and behind it as
    the accelerations say it (``reaction``; the same one for a car whose motions are held)."""


@separate_kernel
def take_steps(
    car: Arrays, solver: NewtonSolver, inputs: FloatArray, ground: FloatArray, output: StepOutput
) -> None:
    """Take a step for each row of ``inputs``; write signals to the rows of the table if it has as many."""
    formula, method = solver.formula, solver.method
    report, heights, table, wrench = output
    keep = table.shape[0] == inputs.shape[0]
    car.clock[CLOCK.reach], car.clock[CLOCK.rate] = formula.velocity, 1.0 / formula.step
    for k in range(inputs.shape[0]):
        advance(car, solver, inputs[k], ground, report)
        if keep:
            if not method.exact:
                report[REPORT.joint_rate] = max_constraint_rate(car, method.relative)
            record(car, heights, report, table[k])
    write_wrenches(car, method.gravity, wrench)


@fused_kernel
def write_wrenches(car: Arrays, gravity: float, wrench: FloatArray) -> None:
    """Write both wrenches (WRENCHES) on the ground in the last step, see ``StepOutput``."""
    ground_wrench(car, wrench)
    if guided(car):
        for k in range(6):
            wrench[6 + k] = wrench[k]
    else:
        reaction(car, gravity, wrench[6:])


class Bound:
    """A compiled function of steps with its arguments, whose contents may change, but not their types.

    It can be pickled together with whoever has the same arrays.
    """

    kernel: ClassVar[Callable[..., None]]

    def __init__(self, *arguments: object) -> None:
        """Take the arguments of the kernel."""
        self._arguments = arguments
        self._take = entry(self.kernel, arguments)

    def __call__(self) -> None:
        """Take the steps."""
        self._take(*self._arguments)

    def __reduce__(self) -> tuple[type[Bound], tuple[object, ...]]:
        """Leave the compiled entry out: it belongs to this process."""
        return type(self), self._arguments


class BoundSteps(Bound):
    """``take_steps`` with its arguments."""

    kernel = staticmethod(take_steps)


class Evaluation(NamedTuple):
    """How a state is evaluated."""

    weights: Weights
    """Of the Jacobian."""
    gravity: float
    relative: bool
    """In chassis axes, else in inertial ones."""
    jacobian: bool
    """Whether the Jacobian is evaluated, too."""
    factors: bool
    """Whether it is factorised, too."""
    reach: float
    """See ``ClockRow``."""
    rate: float
    moving: bool
    """Tyres are on the way, not only evaluated (``prepare_tyres``)."""


@separate_kernel
def evaluate(
    car: Arrays, full: FullJacobian, inputs: FloatArray, ground: FloatArray, evaluation: Evaluation
) -> None:
    """Evaluate the residual and the constraints at the present state, the Jacobian and its factors if
    asked."""
    car.clock[CLOCK.reach], car.clock[CLOCK.rate] = evaluation.reach, evaluation.rate
    apply_inputs(car, inputs)
    attitudes(car)
    sample_ground(car, ground)
    prepare_wheels(car, evaluation.moving)
    apply_external_forces(car, ground)
    evaluate_residual(car, evaluation.gravity, evaluation.relative, True)
    if evaluation.jacobian:
        evaluate_jacobian(car, full, evaluation.weights, evaluation.factors)


@fused_kernel
def ground_wrench(car: Arrays, wrench: FloatArray) -> None:
    """Write the force of tyres, chocks and straps on the ground and its moment about the origin, inertial
    axes."""
    for k in range(6):
        wrench[k] = car.strap_wrench[k]
    bodies, wheels, frame = car.bodies, car.wheels, car.frame
    for group in range(car.groups.shape[0]):
        item = car.groups[group, GROUP.wheel]
        if item < 0:
            continue
        carrier = car.groups[group, GROUP.carrier] - car.groups[group, GROUP.interfaces]
        body = car.groups[group, GROUP.first_body] + carrier
        for lane in range(LANES):
            use = car.weights[group, lane]
            c = WHEEL.centre
            x, y, z = wheels[item, c, lane], wheels[item, c + 1, lane], wheels[item, c + 2, lane]
            x, y, z = point_of_body(bodies, body, lane, x, y, z)[0]
            t = WHEEL.tyre_force
            p, q, r = from_frame(
                frame, wheels[item, t, lane], wheels[item, t + 1, lane], wheels[item, t + 2, lane]
            )
            u = -use * (p + wheels[item, WHEEL.chock_force, lane])
            v = -use * (q + wheels[item, WHEEL.chock_force + 1, lane])
            w = -use * (r + wheels[item, WHEEL.chock_force + 2, lane])
            t = WHEEL.tyre_moment
            p, q, r = from_frame(
                frame, wheels[item, t, lane], wheels[item, t + 1, lane], wheels[item, t + 2, lane]
            )
            wrench[0] += u
            wrench[1] += v
            wrench[2] += w
            wrench[3] += y * w - z * v - use * p
            wrench[4] += z * u - x * w - use * q
            wrench[5] += x * v - y * u - use * r
