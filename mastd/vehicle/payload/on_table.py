"""A vehicle on the shaking table: stepped on the table's measured motion, its wrench on the table at C.

**Frames.** The vehicle lives in axes W: those of the ground (B), with the origin at the place of the table's
top where the vehicle's own origin stands, at neutral, and at the height at which the table lay when the
vehicle was put on it. With the pose [x, y, z, roll, pitch, yaw] of C, d the place of that origin in P and
z₀ the height at the start,

    r = [x, y, z − z₀] + R d − d

is the point of the plane under the vehicle, and c = r − R d is C. The vehicle's wrench on the ground
(F, M about the origin of W) becomes [Rᵀ F, Rᵀ (M − c × F)], at C in P axes. It is what the accelerations of a
step take of the weight (``reaction``), so that momentum is kept to rounding.

**Motion.** The plane's velocity and angular velocity are differences of its poses, so that what the tyres
integrate is the table's way and turn to the last digit: ω = log(R_k R_{k−1}ᵀ)/h and v = (r_k − r_{k−1})/h,
both taken on to the end of the step by half of their last change. Where the plant has gone on by several
periods since the last usable sample, the vehicle takes as many steps, and the poses between lie on a straight
line.

**The beginning.** The vehicle is put on its springs on level ground. A table that lies tilted on its stops
takes it over in ``FADE`` seconds.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import numpy as np

from mastd.arrays import FloatArray
from mastd.index_table import Entry, index_table, size_of
from mastd.kernel import fused_kernel
from mastd.kinematics.rotation import rotation
from mastd.roads.ground import Ground, write_plane
from mastd.settings.vehicle.solver_names import Formulation
from mastd.vehicle.blocks.fields import REPORT, REPORT_SIZE
from mastd.vehicle.equations.prescribed_forces import PrescribedForces
from mastd.vehicle.model.definition import Model
from mastd.vehicle.simulation.simulation import FIRM_BRAKE, Simulation
from mastd.vehicle.solver.choice import Solver
from mastd.vehicle.solver.compiled_step import WRENCHES
from mastd.vehicle.solver.snapshot import remember, restore

FADE: Final = 2.0
"""s in which a vehicle takes over the tilt of the table that it is put on."""
MAX_STEPS: Final = 100
"""Steps at most that one call takes; a longer gap is passed in as many."""


class TableRow(NamedTuple):
    """The table under the vehicle."""

    origin: Annotated[int, Entry("m", "d", 3)]
    pose: Annotated[int, Entry("m", "the last one; angles in rad", 6)]
    point: Annotated[int, Entry("m", "the last r", 3)]
    turn: Annotated[int, Entry("1", "the last R by rows", 9)]
    speed: Annotated[int, Entry("m/s", "the last v, and ω in rad/s", 6)]
    offset: Annotated[int, Entry("m", "z₀, and roll and pitch at the start in rad", 3)]
    time: Annotated[int, Entry("s", "since the start")]
    step: Annotated[int, Entry("s", "h")]
    moved: Annotated[int, Entry("1", "1 after the first step")]


TABLE: Final = index_table(TableRow)
TABLE_SIZE: Final = size_of(TABLE)
SCRATCH: Final = 24


@fused_kernel
def _put_plane(table: FloatArray, pose: FloatArray, point: FloatArray, turn: FloatArray) -> None:
    """Write r (3) and R (3, 3) of a pose (6)."""
    fraction = table[TABLE.time] / FADE
    left = 0.0
    if fraction < 1.0:
        left = 1.0 - fraction * fraction * fraction * (10.0 - fraction * (15.0 - 6.0 * fraction))
    r = rotation(pose[3] - left * table[TABLE.offset + 1], pose[4] - left * table[TABLE.offset + 2], pose[5])
    (turn[0, 0], turn[0, 1], turn[0, 2], turn[1, 0], turn[1, 1]) = (r[0], r[1], r[2], r[3], r[4])
    (turn[1, 2], turn[2, 0], turn[2, 1], turn[2, 2]) = (r[5], r[6], r[7], r[8])
    for n in range(3):
        point[n] = pose[n] - table[TABLE.origin + n]
        for k in range(3):
            point[n] += turn[n, k] * table[TABLE.origin + k]
    point[2] -= table[TABLE.offset]


@fused_kernel
def _move_plane(table: FloatArray, pose: FloatArray, scratch: FloatArray, ground: FloatArray) -> None:
    """Move the plane to a pose (6), one step later, and write it to ``ground``; ``scratch`` (24)."""
    step = table[TABLE.step]
    table[TABLE.time] += step
    point, turn = scratch[:3], scratch[3:12].reshape((3, 3))
    rate, last = scratch[12:18], table[TABLE.speed : TABLE.speed + 6]
    _put_plane(table, pose, point, turn)
    before = table[TABLE.turn : TABLE.turn + 9].reshape((3, 3))
    # R_k R_{k-1}^T = exp(h omega): its skew part is sin(angle) times the axis.
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        rate[3 + k] = 0.0
        for n in range(3):
            rate[3 + k] += 0.5 * (turn[j, n] * before[i, n] - turn[i, n] * before[j, n])
        rate[k] = (point[k] - table[TABLE.point + k]) / step
    square = rate[3] ** 2 + rate[4] ** 2 + rate[5] ** 2
    factor = (1.0 + square * (1.0 / 6.0 + square * 3.0 / 40.0)) / step
    for k in range(3):
        rate[3 + k] *= factor
    moved = table[TABLE.moved]
    for k in range(6):
        middle = rate[k]
        rate[k] += 0.5 * moved * (middle - last[k])
        last[k] = middle
    table[TABLE.moved] = 1.0
    write_plane(ground, point, turn, rate[:3], rate[3:6])
    for k in range(3):
        table[TABLE.point + k] = point[k]
    for k in range(9):
        table[TABLE.turn + k] = scratch[3 + k]


@fused_kernel
def at_centre(table: FloatArray, wrench: FloatArray, out: FloatArray) -> None:
    """Write a wrench (6) on the ground about the origin of W as that at C in P axes."""
    turn = table[TABLE.turn : TABLE.turn + 9].reshape((3, 3))
    cx, cy, cz = table[TABLE.point], table[TABLE.point + 1], table[TABLE.point + 2]
    for k in range(3):
        cx -= turn[0, k] * table[TABLE.origin + k]
        cy -= turn[1, k] * table[TABLE.origin + k]
        cz -= turn[2, k] * table[TABLE.origin + k]
    mx = wrench[3] - (cy * wrench[2] - cz * wrench[1])
    my = wrench[4] - (cz * wrench[0] - cx * wrench[2])
    mz = wrench[5] - (cx * wrench[1] - cy * wrench[0])
    for k in range(3):
        out[k] = turn[0, k] * wrench[0] + turn[1, k] * wrench[1] + turn[2, k] * wrench[2]
        out[3 + k] = turn[0, k] * mx + turn[1, k] * my + turn[2, k] * mz


@fused_kernel
def move(
    table: FloatArray, scratch: FloatArray, pose: FloatArray, fraction: float, ground: FloatArray
) -> None:
    """Take the plane in ``ground`` one step further on the straight line to ``pose`` (6), by ``fraction`` of
    what is left of it; ``table`` (TABLE_SIZE,), ``scratch`` (SCRATCH,)."""
    between = scratch[18:24]
    for n in range(6):
        between[n] = table[TABLE.pose + n] + fraction * (pose[n] - table[TABLE.pose + n])
        table[TABLE.pose + n] = between[n]
    _move_plane(table, between, scratch, ground)


@fused_kernel
def stand(
    table: FloatArray, scratch: FloatArray, pose: FloatArray, wrench: FloatArray, out: FloatArray
) -> None:
    """Let the vehicle stand, as settled, on the table at ``pose`` (6): its wrench at C (6)."""
    _put_plane(table, pose, scratch[:3], scratch[3:12].reshape((3, 3)))
    for k in range(3):
        table[TABLE.point + k] = scratch[k]
    for k in range(9):
        table[TABLE.turn + k] = scratch[3 + k]
    for k in range(6):
        table[TABLE.pose + k] = pose[k]
        table[TABLE.speed + k] = 0.0
    at_centre(table, wrench, out)


class VehicleOnTable:
    """A vehicle that stands on the table and is shaken by it.

    ``wrench`` (6): on the table at C in P axes, N and N m, the weight included.
    """

    def __init__(
        self,
        model: Model,
        step: float,
        position: tuple[float, float, float],
        top: tuple[float, float],
        *,
        restrained: bool = True,
        solver: Solver | Formulation = "chassis",
    ) -> None:
        """Put the vehicle on its springs, its brakes on; it stays there until ``follow``.

        ``step``: period of the loop, s. ``position``: of the vehicle's origin in P, on the table's top, m.
        ``top``: half length and half width of the table about C, m. ``restrained``: the vehicle's tie-downs
        and chocks are on. ``solver``: how its equations are solved. Raises EquilibriumError for a vehicle
        that does not stand, GroundError for one with wheels beside the table, UsageError for restraints that
        are too stiff for the step.
        """
        level = Ground.plane(np.zeros(3), np.eye(3)).with_extent(*top, (-position[0], -position[1]))
        simulation = Simulation(model, step=step, ground=level, restrained=restrained, solver=solver)
        simulation.start(0.0)
        row = simulation.system.inputs.row()
        row[simulation.system.inputs.brake_capacity] = FIRM_BRAKE
        # A step on the level table shows the wrench of the settled vehicle, straps included.
        settled, signals = simulation.step(row, level.parameters)
        self.model = model
        self.layout = simulation.signals
        self.wrench = np.zeros(6)
        self._rows = signals[np.newaxis].copy()
        self.missed = 0
        """Steps of the last call that were not sound."""
        self._settled = settled.copy()
        self._at_rest = signals.copy()
        self._blocks = simulation.blocks
        self._start = remember(self._blocks)
        self._prescribed = PrescribedForces(simulation.layout)
        self._inputs = row[np.newaxis].copy()
        self._columns = simulation.system.inputs
        self._ground = level.parameters
        self._report = np.zeros(REPORT_SIZE)
        self._wrenches = np.zeros(WRENCHES)
        self._table = np.zeros(TABLE_SIZE)
        self._table[TABLE.origin : TABLE.origin + 3] = position
        self._table[TABLE.step] = step
        self._scratch = np.zeros(SCRATCH)
        self._take_step = simulation.bind(
            self._inputs, self._ground, self._report, self._rows, self._wrenches
        )

    @property
    def signals(self) -> FloatArray:
        """The row of ``TraceLayout`` after the last step."""
        # No attribute of its own: a view does not come through a pickle as one.
        row: FloatArray = self._rows[0]
        return row

    def lie(self, pose: FloatArray) -> None:
        """Stand as settled on a table that lies still at ``pose`` (6); what moved before, and what was given,
        is forgotten."""
        if self._table[TABLE.moved] != 0.0:
            restore(self._blocks, self._start)
            self.signals[:] = self._at_rest
        self._prescribed.drop()
        self._inputs[0, self._columns.drive_torque] = 0.0
        table = self._table
        table[[TABLE.time, TABLE.moved]] = 0.0
        table[TABLE.offset : TABLE.offset + 3] = pose[2:5]
        self.missed = 0
        stand(table, self._scratch, pose, self._settled, self.wrench)

    def weigh_down(self, pose: FloatArray) -> None:
        """Stand at ``pose`` (6) as settled, whatever moves: a vehicle that cannot be simulated any more."""
        stand(self._table, self._scratch, pose, self._settled, self.wrench)

    def give(self, torques: FloatArray, forces: FloatArray) -> None:
        """Let torques (nw) of motors act on the wheels and forces (nw) in their dampers, until the next call.

        ``torques``: N m, forward positive; the brakes are on, so that a wheel passes them on to its carrier.
        ``forces``: N, pushing the damper's ends apart positive, added to what it gives by itself; they do
        nothing at a wheel that has no damper of its own, see
        ``mastd.vehicle.equations.prescribed_forces.damper_of_wheel``.
        """
        self._prescribed.take(torques, forces)
        self._inputs[0, self._columns.drive_torque] = torques

    def follow(self, pose: FloatArray, steps: int) -> None:
        """Take the steps of ``steps`` periods, in which the table has come to ``pose`` (6).

        None leaves everything as it is; more than ``MAX_STEPS`` are taken as so many.
        """
        if steps <= 0:
            return
        count = min(steps, MAX_STEPS)
        self.missed = 0
        for k in range(count):
            move(self._table, self._scratch, pose, 1.0 / (count - k), self._ground)
            self._take_step()
            self.missed += not self._report[REPORT.converged] > 0.0
        at_centre(self._table, self._wrenches[6:], self.wrench)
