"""The compiled equations as plain arrays in inertial axes: for equilibrium, eigenvalues, kinematics and
tests.

What the loop never needs: everything in the order of the model, dense, with no regard to speed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.lanes import LANES
from mastd.roads.ground import Ground
from mastd.vehicle.blocks.fields import GROUP, LOCAL_BODY, WHEEL
from mastd.vehicle.blocks.matrix_blocks import Weights
from mastd.vehicle.blocks.rotation import rotate_attitude, rotation_matrix
from mastd.vehicle.elements.anti_roll_bar.arrays import BAR
from mastd.vehicle.joints.arrays import CONSTRAINT
from mastd.vehicle.model.definition import Model
from mastd.vehicle.solver.compiled_step import Evaluation, evaluate
from mastd.vehicle.solver.full_jacobian import FullJacobian
from mastd.vehicle.solver.generalized_alpha import Formula
from mastd.vehicle.state.arrays import ItemLane, lay_out
from mastd.vehicle.state.inputs import InputLayout
from mastd.vehicle.state.motion import State, turned_forces, write_state


@dataclass(frozen=True)
class Matrices:
    """Derivatives of the residual; N = 6 bodies + wheels, rotations are δπ in inertial axes."""

    mass: FloatArray
    damping: FloatArray
    stiffness: FloatArray
    """With the geometric stiffness of the constraint forces, and the anti-roll bars eliminated into it."""
    joint_jacobian: FloatArray
    """(constraint rows, N)."""


_NOTHING = Weights(0.0, 0.0, 0.0, 0.0, 0.0)
STANDING: Final = -1.0
"""Rate with which slips stay as they stand."""
STEADY: Final = (1e-3, 0.0)
"""Reach and rate of no step: slips are those of steady motion, brakes act as in a step of a millisecond."""


class System:
    """A model's equations of motion, M a − f + Φᵀλ = 0 and Φ = 0, in inertial axes."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.layout = lay_out(model)
        self.inputs = InputLayout.of(model)
        self._row_starts = np.cumsum([0, *(p.kind.rows for p in model.primitives)])
        self._matrices = FullJacobian.of(self.layout)

    @property
    def size(self) -> int:
        """Number of variations: six a body and one a wheel."""
        return 6 * len(self.model.bodies) + len(self.model.wheels)

    def constraints(
        self, state: State, drive: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return Φ, its rates and accelerations, each (rows); ``drive`` (drives, 3) is displacement,
        rate, acceleration."""
        self._evaluate(state, self.inputs.row(drive=drive), Ground.flat())
        found = np.array(
            [self._rows(field) for field in (CONSTRAINT.violation, CONSTRAINT.rate, CONSTRAINT.acceleration)]
        )
        return found[0], found[1], found[2]

    def residual(
        self,
        state: State,
        inputs: FloatArray | None = None,
        ground: Ground | None = None,
        clock: tuple[float, float] = STEADY,
    ) -> FloatArray:
        """Return M a − f + Φᵀλ (N): force and moment about the centre of each body, then the wheels' spin
        moments.

        ``clock``: reach and rate that tyres and brakes are told (``fields``), by default those of no step.
        """
        self._evaluate(state, inputs, ground, clock)
        car = self.layout.arrays
        found = [car.chassis_residual.copy()]
        for local, lane in self.layout.local[1:]:
            found.append(car.local_bodies[local, LOCAL_BODY.force : LOCAL_BODY.force + 6, lane])
        spins = [car.wheels[item, WHEEL.spin_residual, lane] for item, lane in self.layout.wheel]
        return np.concatenate([*found, np.array(spins)])

    def bar_residual(self, state: State) -> FloatArray:
        """Return force / stiffness − (z_left − z_right) of each anti-roll bar, m."""
        self._evaluate(state, None, None)
        bars = self.layout.arrays.elements.bars.bars
        return np.array([bars[item, BAR.residual, lane] for item, lane in self.layout.bar])

    def wheel_loads(self, state: State, ground: Ground | None = None) -> FloatArray:
        """Return the vertical tyre forces (wheels), N."""
        self._evaluate(state, None, ground)
        return np.array(
            [self.layout.arrays.wheels[item, WHEEL.load, lane] for item, lane in self.layout.wheel]
        )

    def matrices(
        self, state: State, inputs: FloatArray | None = None, ground: Ground | None = None
    ) -> Matrices:
        """Return the derivatives of the residual at a state."""
        write_state(self.layout, state)
        size = self.size
        whole = []
        for weights in (
            Weights(1.0, 0.0, 0.0, 1.0, 0.0),
            Weights(0.0, 1.0, 0.0, 0.0, 0.0),
            Weights(0.0, 0.0, 1.0, 0.0, 0.0),
        ):
            self._evaluate_at(inputs, ground, False, weights)
            whole.append(self._dense_whole())
        mass, damping, stiffness = (matrix[:size, :size] for matrix in whole)
        jacobian = whole[0][size:, :size]
        bars = jacobian[self.model.rows :]
        stiffness = stiffness.copy()
        for row, bar in zip(bars, self.model.bars, strict=True):
            stiffness += bar.stiffness * np.outer(row, row)
        rows = jacobian[: self.model.rows]
        return Matrices(mass, damping, stiffness, rows)

    def move(self, state: State, displacement: FloatArray) -> State:
        """Return the state after a displacement (N): r + d, attitudes turned by δπ in inertial axes, spins as
        they are."""

        steps = displacement[: 6 * len(self.model.bodies)].reshape(-1, 6)
        return replace(
            state,
            position=state.position + steps[:, :3],
            attitude=rotate_attitude(state.attitude, steps[:, 3:]),
        )

    def step_jacobian(self, state: State, formula: Formula, ground: Ground, relative: bool) -> FloatArray:
        """Return the matrix of a step, dense: variations, constraint rows, bars.

        In inertial axes and absolute variations, or (``relative``) in chassis axes and relative ones, eq. (4)
        of Kang 2014, where the chassis' row and column are the sums over all bodies.
        """
        turn = rotation_matrix(state.attitude[0])
        write_state(self.layout, turned_forces(self.model, state, turn.T) if relative else state)
        # What the tyres' deflections mean depends on their loads, which the first evaluation finds.
        self._evaluate_at(None, ground, relative, None, (formula.velocity, STANDING))
        self._evaluate_at(None, ground, relative, formula.weights(), (formula.velocity, 1.0 / formula.step))
        whole = self._dense_whole()
        if relative:
            change = np.eye(len(whole))
            for body in range(1, len(self.model.bodies)):
                change[6 * body : 6 * body + 6, :6] = np.eye(6)
            whole = change.T @ whole @ change
        return whole

    def _evaluate(
        self,
        state: State,
        inputs: FloatArray | None,
        ground: Ground | None,
        clock: tuple[float, float] = STEADY,
    ) -> None:
        write_state(self.layout, state)
        self._evaluate_at(inputs, ground, False, None, clock)

    def _evaluate_at(
        self,
        inputs: FloatArray | None,
        ground: Ground | None,
        relative: bool,
        weights: Weights | None,
        clock: tuple[float, float] = STEADY,
    ) -> None:
        evaluate(
            self.layout.arrays,
            self._matrices,
            self.inputs.row() if inputs is None else inputs,
            (Ground.flat() if ground is None else ground).parameters,
            Evaluation(
                weights=_NOTHING if weights is None else weights,
                gravity=self.model.gravity,
                relative=relative,
                jacobian=weights is not None,
                factors=False,
                reach=clock[0],
                rate=clock[1],
                moving=False,
            ),
        )

    def _rows(self, field: int) -> FloatArray:
        found = np.zeros(self.model.rows)
        for start, primitive, item_lane in zip(
            self._row_starts, self.model.primitives, self.layout.row, strict=False
        ):
            for k in range(primitive.kind.rows):
                found[start + k] = self.layout.arrays.joints.rows[item_lane[0] + k, field, item_lane[1]]
        return found

    def _dense_whole(self) -> FloatArray:
        car, model = self.layout.arrays, self.model
        total = self.size + model.rows + len(model.bars)
        whole = np.zeros((total, total))
        whole[:6, :6] += self._matrices.chassis[:, 0].reshape(6, 6)
        for group in range(len(car.groups)):
            line = car.groups[group]
            n, first = int(line[GROUP.size]), int(line[GROUP.first_cell])
            block = self._matrices.cells[first : first + n * n].reshape(n, n, LANES)
            for lane in range(LANES):
                if car.weights[group, lane] > 0:
                    where = self._global(group, lane)
                    # The chassis may stand in it twice, as itself and as an interface body.
                    np.add.at(whole, np.ix_(where, where), block[:, :, lane])
        return whole

    def _global(self, group: int, lane: int) -> list[int]:
        """Return for each unknown of a group's lane its number in the dense system: variations, rows,
        bars."""
        car, model, layout = self.layout.arrays, self.model, self.layout
        line = car.groups[group]
        bodies = {item_lane: body for body, item_lane in enumerate(layout.body)}
        own = [bodies[(int(line[GROUP.first_body]) + k, lane)] for k in range(int(line[GROUP.bodies]))]
        where = [6 * body + k for body in own for k in range(6)]
        if line[GROUP.wheel] >= 0:
            where.append(6 * len(model.bodies) + layout.wheel.index((int(line[GROUP.wheel]), lane)))
        bar_start = self.size + model.rows
        if line[GROUP.bar] >= 0:
            where.append(bar_start + layout.bar.index((int(line[GROUP.bar]), lane)))
        starts = dict(zip(layout.row, self._row_starts, strict=False))
        row, end = int(line[GROUP.first_row]), int(line[GROUP.first_row] + line[GROUP.rows])
        while row < end:
            start = starts[(row, lane)]
            count = model.primitives[layout.row.index((row, lane))].kind.rows
            where += [self.size + int(start) + k for k in range(count)]
            row += count
        for k in range(int(line[GROUP.interfaces])):
            body = self._interface_body(int(line[GROUP.first_local]) + k, lane)
            where += [6 * body + c for c in range(6)]
        if line[GROUP.bar_end] >= 0:
            end_at = int(line[GROUP.bar_end])
            ends = car.elements.bars
            item_lane = (int(ends.bar_of_end[end_at, lane]), int(ends.lane_of_end[end_at, lane]))
            # A lane without a bar has only zeros there: they may go anywhere.
            where.append(bar_start + layout.bar.index(item_lane) if item_lane[0] >= 0 else 0)
        return where

    def _interface_body(self, local: int, lane: int) -> int:
        car = self.layout.arrays
        source: ItemLane = (int(car.interface_source[local, lane]), int(car.interface_lane[local, lane]))
        return 0 if source[0] < 0 else self.layout.local.index(source)
