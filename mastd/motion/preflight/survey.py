"""The compiled walk over a motion: at every knot, what it demands of each actuator and each axis."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from mastd.arrays import BoolArray, FloatArray, IntArray
from mastd.dynamics.oil_flow import oil_flow, valve_ratio
from mastd.dynamics.supports import take_supports
from mastd.dynamics.table_model import actuator_forces, add_load, wrench
from mastd.index_table import Entry, index_table, size_of
from mastd.kernel import fused_kernel
from mastd.kinematics.geometry import Legs
from mastd.kinematics.inverse import actuator_motion
from mastd.kinematics.jacobian import geometric_jacobian
from mastd.kinematics.observer import SolveLimits, observe
from mastd.motion.profile.timeline import KNOT_SPACING, spline_point


class ActuatorValue(NamedTuple):
    """Rows of a table of actuators."""

    stroke: Annotated[int, Entry("m", "distance from neutral")]
    velocity: Annotated[int, Entry("m/s", "rate of the length")]
    acceleration: Annotated[int, Entry("m/s²", "of the length")]
    jerk: Annotated[int, Entry("m/s³", "change of the acceleration from knot to knot, per second")]
    push_force: Annotated[int, Entry("N", "of the actuator")]
    pull_force: Annotated[int, Entry("N", "of the actuator")]
    valve_flow: Annotated[int, Entry("1", "flow as a ratio of that of the open valve")]


ACTUATOR_VALUE = index_table(ActuatorValue)
ACTUATOR_ROWS = size_of(ACTUATOR_VALUE)
WINDOW = 64
"""Knots of a window, the unit in which a motion can be walked in part."""

POSE_TOLERANCE = 1e-5
"""Difference in m and rad from which on the pose that the observer finds is another one."""


class SurveyedTable(NamedTuple):
    """The table: geometry, ``gain`` and ``limits`` of the observer, ``model``, hydraulics, ``bounds``."""

    legs: Legs
    neutral_lengths: FloatArray
    gain: FloatArray
    limits: SolveLimits
    model: FloatArray
    supports: FloatArray
    """(k, SUPPORT)."""
    hydraulics: FloatArray
    bounds: FloatArray
    """(ACTUATOR_ROWS, n)."""


class SurveyedBlock(NamedTuple):
    """One play of a block of a motion.

    ``windows``: which of the windows of WINDOW knots are walked. ``riding`` (knots, 6) is the wrench at C in
    P axes that the table is loaded with at each knot beside its own model, or (0, 6) for none; ``standing``
    (6,) is what it is at rest, and only ``riding_ratio`` of the difference from that counts.
    """

    coefficients: FloatArray
    first_row: int
    windows: BoolArray
    standing: FloatArray
    riding: FloatArray
    riding_ratio: float


class Worst(NamedTuple):
    """What a walk finds, each with the knot it was met at; what is not a number counts as infinite.

    ``actuators`` (ACTUATOR_ROWS, n) and ``axes`` (6,) take the greatest values; ``found`` (4,) the number of
    knots whose pose the observer did not find again, the first of them, the greatest number of updates and
    its knot; ``flows`` (supplies, knots) the flow drawn from each supply; ``peaks`` (windows,
    ACTUATOR_ROWS) the greatest value over its bound in each window.
    """

    actuators: FloatArray
    actuators_at: IntArray
    axes: FloatArray
    axes_at: IntArray
    found: FloatArray
    flows: FloatArray
    peaks: FloatArray

    @classmethod
    def of(cls, actuators: int, knots: int, windows: int, supplies: int) -> Worst:
        """Return results before anything was found."""
        rows = (ACTUATOR_ROWS, actuators)
        return cls(
            actuators=np.full(rows, -np.inf),
            actuators_at=np.zeros(rows, np.int64),
            axes=np.full(6, -np.inf),
            axes_at=np.zeros(6, np.int64),
            found=np.zeros(4),
            flows=np.zeros((supplies, knots)),
            peaks=np.full((windows, ACTUATOR_ROWS), -np.inf),
        )


class Scratch(NamedTuple):
    """Scratch of a walk: of the table, then of the actuators (n,) each."""

    jacobian: FloatArray
    point: FloatArray
    wanted: FloatArray
    factors: FloatArray
    seen: FloatArray
    values: FloatArray
    lengths: FloatArray
    rates: FloatArray
    accelerations: FloatArray
    forces: FloatArray
    before: FloatArray

    @classmethod
    def of(cls, actuators: int) -> Scratch:
        """Return scratch for so many actuators."""
        shapes = ((actuators, 6), (4, 6), (6,), (7, 6), (6,), (ACTUATOR_ROWS,), *[(actuators,)] * 5)
        scratch = cls(*(np.zeros(shape) for shape in shapes))
        # A part of a wider array is another type, for which ``spline_point`` is compiled on its own: with the
        # fused rounding of ``survey``, which that of the reference generator must not take over.
        return scratch._replace(point=np.zeros((4, 7))[:, :6])


@fused_kernel
def survey(table: SurveyedTable, block: SurveyedBlock, worst: Worst, scratch: Scratch) -> None:
    """Walk over one play of a block, from its first knot to its last."""
    point, seen, windows = scratch.point, scratch.seen, block.windows
    spline_point(block.coefficients, block.first_row, 0.0, point)
    for axis in range(6):
        seen[axis] = point[0, axis]
    for k in range(worst.flows.shape[1]):
        if not windows[k // WINDOW]:
            continue
        follows = k > 0 and windows[(k - 1) // WINDOW]
        spline_point(block.coefficients, block.first_row + k, 0.0, point)
        if k > 0 and not follows:
            for axis in range(6):
                seen[axis] = point[0, axis]
        _move(table, block, k, scratch)
        _note_actuators(table, k, follows, worst, scratch)
        _note_pose(table, k, worst, scratch)


@fused_kernel
def _move(table: SurveyedTable, block: SurveyedBlock, k: int, scratch: Scratch) -> None:
    """Write lengths, rates, accelerations and forces of the actuators at a knot."""
    pose, rates, accelerations = scratch.point[0], scratch.point[1], scratch.point[2]
    actuator_motion(
        table.legs, pose, rates, accelerations, scratch.lengths, scratch.rates, scratch.accelerations
    )
    geometric_jacobian(table.legs, pose, scratch.jacobian)
    wrench(table.model, pose, rates, accelerations, scratch.wanted)
    if k < block.riding.shape[0]:
        add_load(pose, block.standing, block.riding[k], block.riding_ratio, scratch.wanted)
    take_supports(table.supports, pose, rates, scratch.wanted)
    actuator_forces(scratch.jacobian, scratch.wanted, scratch.factors, scratch.forces)


@fused_kernel
def _note_actuators(table: SurveyedTable, k: int, follows: bool, worst: Worst, scratch: Scratch) -> None:
    """Take the knot's values of the actuators into the worst ones, and the flow that they draw."""
    values, before, peaks = scratch.values, scratch.before, worst.peaks[k // WINDOW]
    for i in range(before.shape[0]):
        rate, acceleration, force = scratch.rates[i], scratch.accelerations[i], scratch.forces[i]
        force += table.hydraulics[i, 9] * acceleration  # what an electric drive's own mass takes
        values[ACTUATOR_VALUE.stroke] = abs(scratch.lengths[i] - table.neutral_lengths[i])
        values[ACTUATOR_VALUE.velocity] = abs(rate)
        values[ACTUATOR_VALUE.acceleration] = abs(acceleration)
        values[ACTUATOR_VALUE.jerk] = abs(acceleration - before[i]) / KNOT_SPACING if follows else 0.0
        before[i] = acceleration
        values[ACTUATOR_VALUE.push_force] = force
        values[ACTUATOR_VALUE.pull_force] = -force
        values[ACTUATOR_VALUE.valve_flow] = valve_ratio(table.hydraulics[i], rate, force)
        worst.flows[int(table.hydraulics[i, 6]), k] += oil_flow(table.hydraulics[i], rate, force)
        for row in range(ACTUATOR_ROWS):
            ratio = values[row] / table.bounds[row, i]
            if not ratio <= peaks[row]:
                peaks[row] = ratio
            if not values[row] <= worst.actuators[row, i]:
                worst.actuators[row, i] = values[row] if values[row] == values[row] else np.inf
                worst.actuators_at[row, i] = k


@fused_kernel
def _note_pose(table: SurveyedTable, k: int, worst: Worst, scratch: Scratch) -> None:
    """Take the knot's pose into the worst ones, and whether and how fast the observer finds it again."""
    pose, seen, found = scratch.point[0], scratch.seen, worst.found
    for axis in range(6):
        if not abs(pose[axis]) <= worst.axes[axis]:
            worst.axes[axis] = abs(pose[axis])
            worst.axes_at[axis] = k
    converged, updates, _ = observe(table.legs, table.gain, scratch.lengths, table.limits, seen)
    error = 0.0
    for axis in range(6):
        error = max(error, abs(seen[axis] - pose[axis]))
    if not (converged and error <= POSE_TOLERANCE):
        if found[0] == 0.0:
            found[1] = k
        found[0] += 1.0
        for axis in range(6):
            seen[axis] = pose[axis]
    if updates > found[2]:
        found[2] = updates
        found[3] = k
