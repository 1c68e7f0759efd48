"""A vehicle that rides on the table through a whole motion: its wrench on the table at every knot.

A sprung vehicle loads the table with another force than a rigid body of its mass: more near its ride modes,
less above them, and nothing where its wheels lift off. So it is simulated: put on the table at the first
pose, then stepped from knot to knot, one play of each block in turn, carrying its swing from block to block.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from mastd.arrays import BoolArray, FloatArray
from mastd.motion.preflight.limits import Limit, Load
from mastd.motion.preflight.verdict import RideMode, VehicleNote
from mastd.motion.profile.timeline import KNOT_SPACING, Timeline
from mastd.settings.table.payload import VehiclePayload
from mastd.settings.table.table import TableSettings
from mastd.vehicle.analysis.ride_modes import ride_modes
from mastd.vehicle.payload.load import restrained, vehicle_on_table
from mastd.vehicle.payload.on_table import VehicleOnTable
from mastd.vehicle.payload.rigid import as_one_body
from mastd.vehicle.state.trace import ANGLES

TIPPED: Final = math.radians(45.0)
"""Roll or pitch at which a vehicle counts as rolled over."""

_CHUNK: Final = 1000
"""Knots that are looked at together."""


@dataclass(frozen=True)
class Soundness:
    """Whether the vehicle stayed on the table and its simulation held.

    ``lift_off``: ratio of the time for which each wheel had no load. ``unsound``: steps that were not sound,
    the first of them at ``unsound_time``. ``outside``: how far in m a wheel came beside the table, which one,
    and when first; ``tipped_time``: when it rolled over. Times in s from the start, NaN where nothing was.
    """

    lift_off: dict[str, float]
    unsound: int
    unsound_time: float
    outside: float
    outside_wheel: str
    outside_time: float
    tipped_time: float

    @property
    def ok(self) -> bool:
        """Everything held."""
        return self.unsound == 0 and self.outside <= 0.0 and math.isnan(self.tipped_time)

    def limit(self) -> Limit:
        """Return it as a limit: all of it is left, or none."""
        if self.unsound:
            what = "its simulation does not hold: too wild a motion"
            return Limit("vehicle", float(self.unsound), 0.0, "steps", -1.0, self.unsound_time, what)
        if not math.isnan(self.tipped_time):
            what = "it rolls over"
            degrees = math.degrees(TIPPED)
            return Limit("vehicle", degrees, degrees, "deg", -1.0, self.tipped_time, what)
        if not self.outside <= 0.0:
            what = f"wheel {self.outside_wheel} leaves the table"
            return Limit("vehicle", self.outside, 0.0, "m", -1.0, self.outside_time, what)
        return Limit("vehicle", 0.0, 0.0, "steps", 1.0, 0.0, "every step sound, every wheel on the table")


class Rider:
    """A vehicle that can be taken through motions of one table.

    ``body``: what it is as one rigid body; ``modes``: how it swings.
    """

    def __init__(self, payload: VehiclePayload, table: TableSettings) -> None:
        """Put the vehicle on the table; raise as ``vehicle_on_table`` does."""
        self._vehicle = vehicle_on_table(payload, table, KNOT_SPACING)
        self._vehicle.lie(np.zeros(6))
        self._restrained = restrained(payload, self._vehicle.model)
        self._standing = self._vehicle.wrench.copy()
        self.body = as_one_body(payload, table)
        self.modes = tuple(
            RideMode(mode.name, mode.frequency_hz, mode.damping)
            for mode in ride_modes(self._vehicle.model, self._restrained)
        )

    def note(self, soundness: Soundness) -> VehicleNote:
        """Return what there is to know of the vehicle on one motion."""
        x, y, z = map(float, self.body.centre)
        name = self._vehicle.model.name
        return VehicleNote(name, self.body.mass, (x, y, z), self.modes, soundness.lift_off, self._restrained)

    def ride(self, timeline: Timeline, tell: Callable[[float], None] | None = None) -> tuple[Load, Soundness]:
        """Return the load of the table along one play of each block, and whether the vehicle stayed sound.

        Where it can no longer be simulated the load is not a number. ``tell`` hears the ratio that is done.
        """
        vehicle = self._vehicle
        total = int(np.sum(timeline.intervals))
        watch = _Watch(vehicle)
        blocks: list[FloatArray] = []
        done = 0
        for block, knots in enumerate(timeline.intervals):
            first = int(timeline.starts[block])
            wrenches = np.full((int(knots) + 1, 6), np.nan)
            blocks.append(wrenches)
            if block == 0:
                vehicle.lie(_poses(timeline, 0, 1)[0])
            wrenches[0] = vehicle.wrench
            for begin in range(1, len(wrenches), _CHUNK):
                if watch.lost:
                    break
                part = wrenches[begin : begin + _CHUNK]
                _follow(vehicle, _poses(timeline, first + begin, len(part)), part, watch, first + begin)
                done += len(part)
                if tell is not None:
                    tell(done / total)
        return Load(self._standing, blocks), watch.soundness()


def _poses(timeline: Timeline, first_knot: int, count: int) -> FloatArray:
    """Return the poses (count, 6) at a knot and those after it; a block's last is the next one's first."""
    knots = np.arange(first_knot, first_knot + count, dtype=np.float64)
    return timeline.sample(knots * KNOT_SPACING)[:, 0]


class _Watch:
    """Looks at the signals of a chunk of steps."""

    def __init__(self, vehicle: VehicleOnTable) -> None:
        self._names = [wheel.name for wheel in vehicle.model.wheels]
        self._layout = vehicle.layout
        self.rows = np.zeros((_CHUNK, vehicle.layout.width))
        self.missed = np.zeros(_CHUNK)
        self.lost = False
        """The vehicle's state is no number any more."""
        self._steps = 0
        self._lifted = np.zeros(len(self._names))
        self._unsound, self._unsound_time = 0, math.nan
        self._outside, self._outside_wheel, self._outside_time = 0.0, "", math.nan
        self._tipped_time = math.nan

    def look(self, wrenches: FloatArray, first_knot: float) -> None:
        """Take in the rows of ``len(wrenches)`` steps that ended at ``first_knot`` and the knots after it."""
        rows = self.rows[: len(wrenches)]
        finite = np.all(np.isfinite(wrenches), axis=1)
        bad = (self.missed[: len(wrenches)] > 0.0) | ~finite
        self._unsound += int(np.count_nonzero(bad))
        self._unsound_time = _first(self._unsound_time, bad, first_knot)
        self.lost = not bool(finite[-1])
        self._steps += len(wrenches)
        self._lifted += np.count_nonzero(~(rows[:, self._layout.wheel(0)] > 0.0), axis=0)
        self._tipped_time = _first(
            self._tipped_time, np.max(np.abs(rows[:, ANGLES][:, :2]), axis=1) > TIPPED, first_knot
        )
        outside = rows[:, self._layout.wheel(7)]
        self._outside_time = _first(self._outside_time, np.any(outside > 0.0, axis=1), first_knot)
        worst = np.max(outside, axis=0)
        if np.max(worst) > self._outside:
            self._outside, self._outside_wheel = float(np.max(worst)), self._names[int(np.argmax(worst))]

    def soundness(self) -> Soundness:
        """Return the judgement of all steps."""
        fractions = self._lifted / max(self._steps, 1)
        return Soundness(
            lift_off=dict(zip(self._names, map(float, fractions), strict=True)),
            unsound=self._unsound,
            unsound_time=self._unsound_time,
            outside=self._outside,
            outside_wheel=self._outside_wheel,
            outside_time=self._outside_time,
            tipped_time=self._tipped_time,
        )


def _follow(
    vehicle: VehicleOnTable, poses: FloatArray, wrenches: FloatArray, watch: _Watch, first_knot: float
) -> None:
    """Step the vehicle through poses (n, 6), one step each, and write its wrenches (n, 6)."""
    for k in range(len(poses)):
        vehicle.follow(poses[k], 1)
        wrenches[k] = vehicle.wrench
        watch.rows[k] = vehicle.signals
        watch.missed[k] = vehicle.missed
    watch.look(wrenches, first_knot)


def _first(known: float, flags: BoolArray, first_knot: float) -> float:
    """Return the time of the first flag, unless one was known before."""
    if not math.isnan(known) or not np.any(flags):
        return known
    return (first_knot + float(np.argmax(flags))) * KNOT_SPACING
