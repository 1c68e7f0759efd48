"""A car that is stepped through time: the compiled loop, and what is asked of it from outside."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mastd.kernel import fused_kernel
from mastd.lanes import LANES
from mastd.roads.ground import Ground
from mastd.vehicle import fields as f
from mastd.vehicle.attitude import rotation_matrix
from mastd.vehicle.balance import group_matrix, out_of_balance
from mastd.vehicle.chord_newton import (
    CONVERGED,
    ITERATIONS,
    JOINT_ERROR,
    JOINT_RATE,
    LARGEST_MOVE,
    REPORT_FIELDS,
    Limits,
    advance_exact,
    advance_fast,
    largest_rate,
)
from mastd.vehicle.force_matrix import chassis_matrix
from mastd.vehicle.frames import attitudes
from mastd.vehicle.frozen import Frozen, freeze
from mastd.vehicle.generalized_alpha import Formula
from mastd.vehicle.ground_contact import look_up_ground
from mastd.vehicle.inputs import apply_inputs
from mastd.vehicle.layout import Arrays
from mastd.vehicle.model import Model, PrimitiveKind
from mastd.vehicle.recording import CHASSIS_WIDTH, REPORT_WIDTH, TraceLayout, record
from mastd.vehicle.settle import settle
from mastd.vehicle.state import write_state
from mastd.vehicle.system import State, System, design_state
from mastd.vehicle.trace import Trace

Floats = NDArray[np.float64]
Formulation: TypeAlias = Literal["chassis", "inertial"]
Accuracy: TypeAlias = Literal["fast", "exact"]

SHIPPED_DAMPING: Final = 0.2
"""Spectral radius at infinity."""
SPEED_RATIO: Final = 1.25
TOP_SPEED: Final = 80.0


class Simulation:
    """A car under way."""

    def __init__(
        self,
        model: Model,
        *,
        step: float = 1e-3,
        formulation: Formulation = "chassis",
        accuracy: Accuracy = "fast",
        damping: float = SHIPPED_DAMPING,
        ground: Ground | None = None,
        least_iterations: int = 1,
        most_iterations: int = 20,
        tolerance: float = 1e-8,
        move_tolerance: float = 1e-3,
    ) -> None:
        self.model = model
        self.system = System(model)
        self.layout = self.system.layout
        self.formula = Formula.of(step, damping)
        self.exact = accuracy == "exact"
        self.limits = Limits(model.gravity, least_iterations, most_iterations, tolerance, 1e-8, move_tolerance)
        self.ground = (Ground.flat() if ground is None else ground).parameters
        self.trace_layout = TraceLayout(len(model.wheels))
        self._report = np.zeros(REPORT_FIELDS)
        self._heights = np.array([w.centre[2] - model.bodies[0].centre[2] for w in model.wheels])
        least = min(wheel.tyre.least_speed for wheel in model.wheels)
        count = int(np.ceil(np.log(TOP_SPEED / least) / np.log(SPEED_RATIO)))
        self._speeds = np.array([0.0, *(least * SPEED_RATIO**k for k in range(1, count + 1))])
        self.time = 0.0

    def start(self, speed: float) -> None:
        equilibrium = settle(self.system, design_state(self.model), self.system.inputs.row(), None)
        self.frozen = self._freeze(equilibrium.state)
        self._load(moving(self.model, equilibrium.state, speed))
        self.time = 0.0

    def _freeze(self, state: State) -> Frozen:
        car = self.layout.arrays
        cells = np.zeros((len(self._speeds), self.layout.cells, LANES))
        cores = np.zeros((len(self._speeds), 6, 6))
        core = np.zeros((36, LANES))
        for k, speed in enumerate(self._speeds):
            self._load(moving(self.model, state, float(speed)))
            assemble_step(car, cells[k], core, self.formula, self.limits.gravity, self.system.inputs.row(), Ground.flat().parameters)
            cores[k] = core[:, 0].reshape(6, 6)
        return freeze(self.layout, cells, cores, self._speeds)

    def _load(self, state: State) -> None:
        write_state(self.layout, to_chassis_axes(self.model, state))

    def run(self, inputs: Floats) -> Trace:
        table = np.zeros((len(inputs), self.trace_layout.width))
        play(self.layout.arrays, self.formula, self.frozen, self.limits, inputs, self.ground, self._report, self._heights, table, self.exact)
        self.time += len(inputs) * self.formula.step
        return table

    def advance(self, inputs: Floats) -> None:
        drive(self.layout.arrays, self.formula, self.frozen, self.limits, inputs, self.ground, self._report, self.exact)


def moving(model: Model, state: State, speed: float) -> State:
    from dataclasses import replace
    velocity = np.zeros_like(state.velocity)
    velocity[:, 0] = speed
    spin = np.array([speed / wheel.tyre.rolling_radius for wheel in model.wheels])
    return replace(state, velocity=velocity, spin=spin)


def to_chassis_axes(model: Model, state: State) -> State:
    from dataclasses import replace
    turn = rotation_matrix(state.attitude[0])
    multipliers, row = state.multipliers.copy(), 0
    for primitive in model.primitives:
        if primitive.kind is PrimitiveKind.SPHERICAL:
            multipliers[row : row + 3] = turn.T @ multipliers[row : row + 3]
        row += primitive.kind.rows
    return replace(state, multipliers=multipliers)


@fused_kernel
def assemble_step(car: Arrays, cells: Floats, core: Floats, formula: Formula, gravity: float, inputs: Floats, ground: Floats) -> None:
    """Write the matrices of a step in chassis axes at the present state."""
    apply_inputs(car, inputs)
    attitudes(car)
    look_up_ground(car, ground)
    out_of_balance(car, gravity, True, False)
    chassis_matrix(car, core, 1.0, formula.velocity, formula.position)
    for group in range(car.groups.shape[0]):
        group_matrix(car, cells, group, 1.0, formula.velocity, formula.position, 1.0, 1.0 / formula.position)


@fused_kernel
def play(car: Arrays, formula: Formula, frozen: Frozen, limits: Limits, inputs: Floats, ground: Floats, report: Floats, heights: Floats, table: Floats, exact: bool) -> None:
    for k in range(inputs.shape[0]):
        if exact:
            advance_exact(car, formula, frozen, limits, inputs[k], ground, report)
        else:
            advance_fast(car, formula, frozen, limits, inputs[k], ground, report)
            report[JOINT_RATE] = largest_rate(car)
        record(car, heights, report, table[k])


@fused_kernel
def drive(car: Arrays, formula: Formula, frozen: Frozen, limits: Limits, inputs: Floats, ground: Floats, report: Floats, exact: bool) -> None:
    for k in range(inputs.shape[0]):
        if exact:
            advance_exact(car, formula, frozen, limits, inputs[k], ground, report)
        else:
            advance_fast(car, formula, frozen, limits, inputs[k], ground, report)
