"""A driven vehicle that moves the table: driver → vehicle → seat → washout → pose of C, a period at a time.

It is made by the loader, crosses into the loop as a pickle, and is stepped there. Its poses are a path over
its own time: who does not step it pauses its world.

**The end.** When its duration is over the cue goes out, and the washout brings the table home; ``finished``
is when it stands there, or after ``MAX_WAY_HOME``. The vehicle is driven on until the cue is gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mastd.arrays import FloatArray
from mastd.motion.washout.washout import Washout
from mastd.settings.profile.oils import OilsSettings
from mastd.signals.metrics import false_reversal
from mastd.vehicle.payload.fallbacks import Condition
from mastd.vehicle.payload.on_road import VehicleOnRoad
from mastd.vehicle.solver.recording import TraceLayout

HOME: Final = np.array([1e-4, 1e-4, 1e-4, 1e-5, 1e-5, 1e-5])
"""m and rad, and the same per second, within which the table is at neutral and stands."""
MAX_WAY_HOME: Final = 30.0
"""s after the duration."""


class VirtualDrive:
    """The driven vehicle as the loop holds it.

    ``motion`` (4, 6): pose, rates, accelerations, jerks of C at the end of the last period, as the washout
    has them. ``asked``, ``given`` (6): the cue, see ``mastd.motion.washout.washout.Washout``. ``signals``:
    the row of ``layout``; ``felt`` (9); ``inputs`` (5): see ``mastd.vehicle.payload.on_road.VehicleOnRoad``.
    """

    def __init__(self, vehicle: VehicleOnRoad, washout: Washout, duration: float, period: float) -> None:
        """Join a vehicle and a washout of one period (s); the drive lasts ``duration`` s."""
        self.vehicle = vehicle
        self.washout = washout
        self.duration = duration
        self.period = period
        self._steps = 0
        self._last = round(duration / period)

    @classmethod
    def of(cls, oils: OilsSettings, seed: int, period: float) -> VirtualDrive:
        """Return the drive that a profile describes; ``seed`` of the profile, ``period`` of the loop in s.

        Raises MastdError as ``VehicleOnRoad.of`` does.
        """
        vehicle = VehicleOnRoad.of(oils, seed, period)
        return cls(vehicle, Washout(oils.cueing, oils.cabin_seat, period), oils.duration, period)

    @property
    def layout(self) -> TraceLayout:
        """Of ``signals``."""
        return self.vehicle.layout

    @property
    def motion(self) -> FloatArray:
        """See the class."""
        return self.washout.motion

    @property
    def asked(self) -> FloatArray:
        """See the class."""
        return self.washout.asked

    @property
    def given(self) -> FloatArray:
        """See the class."""
        return self.washout.given

    @property
    def signals(self) -> FloatArray:
        """See the class."""
        return self.vehicle.signals

    @property
    def felt(self) -> FloatArray:
        """See the class."""
        return self.vehicle.felt

    @property
    def inputs(self) -> FloatArray:
        """See the class."""
        return self.vehicle.inputs

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What is wrong in this period, with words for the technician."""
        return self.vehicle.conditions

    @property
    def time(self) -> float:
        """Of the virtual world, s since the start."""
        return self._steps * self.period

    @property
    def ending(self) -> bool:
        """The duration is over."""
        return self._steps >= self._last

    @property
    def finished(self) -> bool:
        """The drive is over, and the table stands at neutral; or it had long enough for that."""
        if not self.ending:
            return False
        if (self._steps - self._last) * self.period >= MAX_WAY_HOME:
            return True
        away = np.abs(self.motion[:2])
        return self.vehicle.fraction == 0.0 and bool((away <= HOME).all())

    def begin(self, motion: ArrayLike) -> None:
        """Start from ``motion`` (3 or more, 6) of C: pose, rates, accelerations; the vehicle again.

        Raises ValueError for a motion that is not finite.
        """
        self.washout.begin(motion)
        self.vehicle.begin()
        self._steps = 0

    def receive(self, values: FloatArray) -> None:
        """Take what an operator drives with (5): steering, throttle, brake, clutch, gear."""
        self.vehicle.receive(values)

    def step(self) -> None:
        """Continue by one period."""
        vehicle = self.vehicle
        if not (self.ending and vehicle.fraction == 0.0):
            vehicle.step(ending=self.ending)
        self.washout.step(vehicle.felt, vehicle.gravity, vehicle.fraction)
        self._steps += 1


class CueError(NamedTuple):
    """How well the cue was given on each axis, (6) each: m/s² and rad/s."""

    asked: FloatArray
    """Effective value of what was asked."""
    missed: FloatArray
    """Effective value of what was given less what was asked."""
    against: FloatArray
    """Largest false reversal, see ``mastd.signals.metrics.false_reversal``; 0: never."""


@dataclass(frozen=True, eq=False)
class Played:
    """A drive that was played without a plant; n periods."""

    period: float
    motion: FloatArray
    """(n, 4, 6) of C."""
    asked: FloatArray
    """(n, 6)"""
    given: FloatArray
    """(n, 6)"""
    felt: FloatArray
    """(n, 9)"""
    signals: FloatArray
    """(n, width)"""
    inputs: FloatArray
    """(n, 5)"""
    conditions: tuple[Condition, ...]
    """All that went wrong, in the order in which it began."""

    @property
    def time(self) -> FloatArray:
        """(n) s, at the end of each period."""
        return self.period * np.arange(1, len(self.motion) + 1, dtype=np.float64)

    @property
    def cue_error(self) -> CueError:
        """How well the cue was given."""
        asked, given = self.asked, self.given
        against = [false_reversal(asked[:, k], given[:, k], self.period) for k in range(6)]
        return CueError(
            asked=np.sqrt(np.mean(asked**2, axis=0)),
            missed=np.sqrt(np.mean((given - asked) ** 2, axis=0)),
            against=np.array(against),
        )


def play(drive: VirtualDrive, longest: float | None = None) -> Played:
    """Play a drive from where it is to its end, without a plant; at most ``longest`` s of it."""
    left = drive.duration + MAX_WAY_HOME - drive.time
    count = max(0, round((left if longest is None else min(longest, left)) / drive.period))
    rows: list[list[FloatArray]] = [[], [], [], [], [], []]
    seen: dict[Condition, None] = {}
    for _ in range(count):
        if drive.finished:
            break
        drive.step()
        parts = (drive.motion, drive.asked, drive.given, drive.felt, drive.signals, drive.inputs)
        for column, part in zip(rows, parts, strict=True):
            column.append(part.copy())
        if drive.conditions:
            seen.update(dict.fromkeys(drive.conditions))
    shapes = ((4, 6), (6,), (6,), drive.felt.shape, drive.signals.shape, drive.inputs.shape)
    tables = [np.array(column).reshape(-1, *shape) for column, shape in zip(rows, shapes, strict=True)]
    motion, asked, given, felt, signals, inputs = tables
    return Played(drive.period, motion, asked, given, felt, signals, inputs, tuple(seen))
