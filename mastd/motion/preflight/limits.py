"""Every limit of the table against one motion: the worst point of each.

Checked at every knot of the motion: stroke, velocity and acceleration of each actuator, push and pull of each
actuator with payload and weight, the flow each valve must pass under its load, the pose, and that the forward
kinematics find the pose again; and over the whole profile with all repeats the flow from the supply against
pump and accumulators.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mastd.arrays import BoolArray, FloatArray, IntArray
from mastd.dynamics.oil_flow import drain, hydraulic_constants
from mastd.dynamics.supports import support_rows
from mastd.dynamics.table_model import Carried, TableModel
from mastd.kinematics.forward import Observer
from mastd.kinematics.geometry import Geometry
from mastd.kinematics.observer import SolveLimits
from mastd.motion.preflight.survey import (
    ACTUATOR_ROWS,
    ACTUATOR_VALUE,
    WINDOW,
    Scratch,
    SurveyedBlock,
    SurveyedTable,
    Worst,
    survey,
)
from mastd.motion.profile.timeline import KNOT_SPACING, Timeline
from mastd.settings.core.axes import AXES
from mastd.settings.table.actuators import ActuatorType
from mastd.settings.table.payload import NoPayload, RigidPayload
from mastd.settings.table.supply import SupplySettings
from mastd.settings.table.table import TableSettings

Windows = list[BoolArray]

ACTUATOR_LIMITS = (
    ("stroke", ACTUATOR_VALUE.stroke, "m"),
    ("velocity", ACTUATOR_VALUE.velocity, "m/s"),
    ("acceleration", ACTUATOR_VALUE.acceleration, "m/s2"),
    ("jerk", ACTUATOR_VALUE.jerk, "m/s3"),
    ("push_force", ACTUATOR_VALUE.push_force, "N"),
    ("pull_force", ACTUATOR_VALUE.pull_force, "N"),
    ("valve_flow", ACTUATOR_VALUE.valve_flow, "1"),
)
"""Limits of an actuator: name, row of ``ActuatorValue``, unit."""
_OBSERVER_LIMITS = SolveLimits(tolerance=1e-7, update_tolerance=1e-9, maximum_updates=10)
_JERK_RATIO = 0.5
"""Ratio of the jerk limit that a profile may take; the rest is for stops and for changes of its level."""
_NO_LOAD = np.zeros(6)
_NO_LOADS = np.zeros((0, 6))
NO_PULL = 1e-3
"""Pull of an actuator that only pushes over its push: none, and what rounding makes of it."""
_STEADY_OIL = 1e-7
_MAX_PLAYS = 200


@dataclass(frozen=True)
class Limit:
    """One limit and the worst point of the profile against it.

    ``worst`` and ``limit`` in ``unit``; ``margin``: ratio of the limit that is left, negative where it does
    not hold; ``time_s``: when in the profile; ``where``: the actuator, axis or part concerned.
    """

    name: str
    worst: float
    limit: float
    unit: str
    margin: float
    time_s: float
    where: str


@dataclass(frozen=True)
class Oil:
    """Flow from a supply over the whole profile in m³/s, and the least oil in its accumulators in m³.

    ``lasts``: time in s after which they have less than they must, None if they last.
    """

    peak_flow: float
    peak_time: float
    mean_flow: float
    least_oil: float
    least_oil_time: float
    lasts: float | None = None


@dataclass(frozen=True)
class Findings:
    """All worst values of a motion, by actuator and by axis, with the knots they were met at.

    ``actuators``, ``actuators_knot`` (ACTUATOR_ROWS, n), ``axes``, ``axes_knot`` (6,); ``found``,
    ``found_knot`` (2,): knots at which the observer lost the pose, and greatest number of updates; ``flows``
    and ``peaks`` by block.
    """

    actuators: FloatArray
    actuators_knot: IntArray
    axes: FloatArray
    axes_knot: IntArray
    found: FloatArray
    found_knot: FloatArray
    flows: list[FloatArray]
    peaks: list[FloatArray]


@dataclass(frozen=True)
class Load:
    """The wrench of something on the table that is not a part of it, at C in P axes, N and N m.

    ``standing`` (6,) at rest in the neutral pose; ``riding`` by block (knots, 6), on one play of a motion.
    """

    standing: FloatArray
    riding: list[FloatArray]


class Examiner:
    """Examines motions of one table with one payload."""

    def __init__(self, table: TableSettings, payload: NoPayload | RigidPayload | Carried) -> None:
        self._table = table
        self._geometry = Geometry.from_settings(table)
        observer = Observer(self._geometry)
        self._bounds = actuator_bounds(table)
        self._surveyed = SurveyedTable(
            legs=self._geometry.legs,
            neutral_lengths=self._geometry.neutral_lengths,
            gain=observer.gain,
            limits=_OBSERVER_LIMITS._replace(reach=observer.limits.reach, work=observer.limits.work),
            model=TableModel.from_settings(table, payload).values,
            supports=support_rows(table),
            hydraulics=hydraulic_constants(table),
            bounds=self._bounds,
        )
        self._pose_bounds = np.array(table.pose_limits)

    def walk(
        self, timeline: Timeline, windows: Windows, load: Load | None = None, load_ratio: float = 1.0
    ) -> Findings:
        """Return the worst values within the flagged windows of each block of a motion.

        Of what ``load`` does beyond standing, ``load_ratio`` counts.
        """
        count = self._geometry.actuators
        actuators = np.full((ACTUATOR_ROWS, count), -np.inf)
        actuators_knot = np.zeros((ACTUATOR_ROWS, count), dtype=np.int64)
        axes = np.full(6, -np.inf)
        axes_knot = np.zeros(6, dtype=np.int64)
        found = np.zeros(2)
        found_knot = np.zeros(2)
        scratch = Scratch.of(count)
        flows: list[FloatArray] = []
        peaks: list[FloatArray] = []
        for block, flags in enumerate(windows):
            start = timeline.starts[block]
            worst = Worst.of(count, int(timeline.intervals[block]) + 1, len(flags), len(self._table.packs))
            walked = SurveyedBlock(
                coefficients=timeline.coefficients,
                first_row=int(timeline.first_rows[block]),
                windows=flags,
                standing=_NO_LOAD if load is None else load.standing,
                riding=_NO_LOADS if load is None else load.riding[block],
                riding_ratio=float(load_ratio),
            )
            survey(self._surveyed, walked, worst, scratch)
            flows.append(worst.flows)
            peaks.append(worst.peaks)
            actuators_knot = np.where(worst.actuators > actuators, start + worst.actuators_at, actuators_knot)
            axes_knot = np.where(worst.axes > axes, start + worst.axes_at, axes_knot)
            actuators, axes = np.maximum(actuators, worst.actuators), np.maximum(axes, worst.axes)
            block_found = worst.found
            if found[0] == 0.0 and block_found[0] > 0.0:
                found_knot[0] = start + block_found[1]
            if block_found[2] > found[1]:
                found_knot[1] = start + block_found[3]
            found[:] = found[0] + block_found[0], max(found[1], block_found[2])
        return Findings(actuators, actuators_knot, axes, axes_knot, found, found_knot, flows, peaks)

    def limits(self, timeline: Timeline, findings: Findings) -> tuple[tuple[Limit, ...], dict[str, Oil]]:
        """Return every limit with the worst point found, and by its name what is taken of each supply."""
        packs = self._table.packs
        oil = {
            name: _oil(supply, timeline, [flows[k] for flows in findings.flows])
            for k, (name, supply) in enumerate(packs.items())
        }
        return (
            *self._actuator_limits(findings),
            self._pose_limit(findings),
            _observer_limit(findings),
            *(limit for name in packs for limit in _oil_limits(name, packs[name], oil[name], timeline)),
        ), oil

    def _actuator_limits(self, findings: Findings) -> list[Limit]:
        limits: list[Limit] = []
        for name, row, unit in ACTUATOR_LIMITS:
            bounds, worst = self._bounds[row], findings.actuators[row]
            actuator = int(np.argmax(worst / bounds))
            knot, where = findings.actuators_knot[row, actuator], place_of(self._table, actuator, name)
            told = limit_name(name, self._table.types[actuator])
            limits.append(_upper(told, worst[actuator], bounds[actuator], unit, knot, where))
        return limits

    def _pose_limit(self, findings: Findings) -> Limit:
        free = self._geometry.free_axes
        axis = free[int(np.argmax((findings.axes / self._pose_bounds)[list(free)]))]
        unit = "m" if axis < 3 else "rad"
        worst, bound = findings.axes[axis], self._pose_bounds[axis]
        return _upper("pose", worst, bound, unit, findings.axes_knot[axis], AXES[axis])


def _oil(supply: SupplySettings, timeline: Timeline, flows: list[FloatArray]) -> Oil:
    """Return the use of a supply's oil over all repeats, ``flows`` (knots,) by block."""
    peaks = [float(np.max(series)) for series in flows]
    peak = int(np.argmax(peaks))
    plays = np.diff(timeline.starts) // timeline.intervals
    used = sum(float(np.sum(series[:-1])) * int(count) for series, count in zip(flows, plays, strict=True))
    least, least_knot, gone_knot = _least(supply, timeline, flows, plays)
    return Oil(
        peak_flow=peaks[peak],
        peak_time=float(timeline.starts[peak] + np.argmax(flows[peak])) * KNOT_SPACING,
        mean_flow=used / float(timeline.starts[-1]),
        least_oil=least,
        least_oil_time=least_knot * KNOT_SPACING,
        lasts=None if gone_knot is None else gone_knot * KNOT_SPACING,
    )


def _least(
    supply: SupplySettings, timeline: Timeline, flows: list[FloatArray], plays: IntArray
) -> tuple[float, int, int | None]:
    """Return the least oil in the accumulators and its knot, from full ones, until they are empty.

    And the knot at which they have less than they must, None where that is never. A play that ends as it
    began stands for all later ones. Oil that runs out later than ``_MAX_PLAYS`` plays of a block is reported
    by the mean flow.
    """
    oil = full = supply.accumulator.oil(supply.pressure)
    lowest = np.array([full, 0.0, supply.accumulator.oil(supply.limits.minimum_pressure), -1.0])
    knot, gone = 0, None
    for repeat in range(min(timeline.repeats, _MAX_PLAYS)):
        oil_before = oil
        for block, series in enumerate(flows):
            for play in range(min(int(plays[block]), _MAX_PLAYS)):
                lowest[1] = -1.0
                oil_at_start = oil
                oil = drain(series[:-1], KNOT_SPACING, supply.pump_flow, full, oil, lowest)
                start = int(timeline.starts[block]) + play * int(timeline.intervals[block])
                start += repeat * int(timeline.starts[-1])
                if lowest[1] >= 0.0:
                    knot = start + int(lowest[1])
                if gone is None and lowest[3] >= 0.0:
                    gone = start + int(lowest[3])
                if lowest[0] < 0.0:
                    return float(lowest[0]), knot, gone
                if abs(oil - oil_at_start) <= _STEADY_OIL:
                    break
        if abs(oil - oil_before) <= _STEADY_OIL:
            break
    return float(lowest[0]), knot, gone


def _oil_limits(name: str, supply: SupplySettings, oil: Oil, timeline: Timeline) -> list[Limit]:
    usable, of = supply.usable_oil, f" of {name}" if name else ""
    mean_limit = supply.pump_flow + usable / timeline.duration
    left = "oil left in the accumulators" + of
    if oil.lasts is not None:
        left += f", which last {oil.lasts:.1f} s"
    where = "pump and accumulators" + of
    least = supply.accumulator.oil(supply.limits.minimum_pressure)
    margin = (oil.least_oil - least) / usable
    return [
        _upper("mean_flow", oil.mean_flow, mean_limit, "m3/s", timeline.end_knot, where),
        Limit("accumulator", oil.least_oil, least, "m3", margin, oil.least_oil_time, left),
    ]


def limit_name(name: str, type_: ActuatorType) -> str:
    """Return the name of an actuator's limit: an electric drive has a speed in place of a valve's flow."""
    return "drive_speed" if name == "valve_flow" and type_.electric is not None else name


def actuator_bounds(table: TableSettings) -> FloatArray:
    """Return the limits of each actuator, (ACTUATOR_ROWS, n) in SI."""
    limits = table.limits
    bounds = np.empty((ACTUATOR_ROWS, len(table.links)))
    bounds[ACTUATOR_VALUE.stroke] = (
        np.array([actuator.stroke for actuator in table.links]) - limits.stroke_margin
    )
    bounds[ACTUATOR_VALUE.velocity] = table.velocities
    bounds[ACTUATOR_VALUE.acceleration] = limits.acceleration
    bounds[ACTUATOR_VALUE.jerk] = _JERK_RATIO * limits.jerk
    forces = [limits.force_share * type_.body.maximum_force for type_ in table.types]
    bounds[[ACTUATOR_VALUE.push_force, ACTUATOR_VALUE.pull_force]] = forces
    for actuator, type_ in enumerate(table.types):
        if type_.only_pushes:
            bounds[ACTUATOR_VALUE.pull_force, actuator] *= NO_PULL
    bounds[ACTUATOR_VALUE.valve_flow] = 1.0
    return bounds


def place_of(table: TableSettings, actuator: int, limit: str) -> str:
    """Return an actuator as the place where ``limit`` is met, with what helps one that only pushes."""
    where = f"actuator {actuator + 1}: {table.links[actuator].name}"
    if limit == "pull_force" and table.types[actuator].only_pushes:
        where += ", single-acting: less acceleration, or supports that hold down"
    return where


def all_windows(timeline: Timeline) -> Windows:
    """Return flags with which a whole motion is walked."""
    return [np.ones(int(knots) // WINDOW + 1, dtype=np.bool_) for knots in timeline.intervals]


def _upper(name: str, worst: float, limit: float, unit: str, knot: float, where: str) -> Limit:
    margin = 1.0 - worst / limit
    return Limit(name, float(worst), float(limit), unit, float(margin), float(knot) * KNOT_SPACING, where)


def _observer_limit(findings: Findings) -> Limit:
    lost = findings.found[0] > 0.0
    worst = math.inf if lost else float(findings.found[1])
    where = "pose not found from the lengths" if lost else "pose found from the lengths"
    knot = findings.found_knot[0 if lost else 1]
    return _upper("forward_kinematics", worst, _OBSERVER_LIMITS.maximum_updates, "updates", knot, where)
