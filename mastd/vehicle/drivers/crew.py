"""Who drives in a run with the operator in the loop: the drivers that its settings name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mastd.arrays import FloatArray
from mastd.settings.profile.oils import (
    Cruise,
    EmergencyStop,
    LaneChange,
    OperatorDriver,
    RandomDriver,
    ScriptedDriver,
)
from mastd.vehicle.drivers.base import Driver, PathFollower, Seen
from mastd.vehicle.drivers.brake import Braking
from mastd.vehicle.drivers.car import Car
from mastd.vehicle.drivers.controls import Controls
from mastd.vehicle.drivers.course import Course, double_lane_change, straight
from mastd.vehicle.drivers.manual import ManualDriver
from mastd.vehicle.drivers.pedals import SpeedGains, TorqueFoot
from mastd.vehicle.drivers.powertrain import PowertrainFoot
from mastd.vehicle.drivers.random import RandomHands, RandomPace
from mastd.vehicle.model.definition import Model

BEFORE_CHANGE: Final = 10.0
"""m that a vehicle goes straight on before the course of a lane change begins."""


@dataclass(frozen=True)
class Steady:
    """An intention (``driver_pedals.Intention``): to keep a speed, m/s."""

    speed: float

    def __call__(self, time: float) -> tuple[float, float]:
        """Return the speed and its rate, 0."""
        return self.speed, 0.0


class Sequence(Driver):
    """One driver until a time, then another."""

    def __init__(self, first: Driver, then: Driver, time: float) -> None:
        """Let ``then`` act from ``time`` (s) on."""
        self._first, self._then, self._time = first, then, time

    def act(self, seen: Seen, times: FloatArray, controls: Controls) -> None:
        """Let act whose turn it is."""
        (self._first if seen.time < self._time else self._then).act(seen, times, controls)


@dataclass(frozen=True, eq=False)
class Crew:
    """What it takes to put drivers into a vehicle, as often as it starts."""

    car: Car
    settings: ScriptedDriver
    speed: float
    """At the start, m/s."""
    seed: int
    line: Course | None = None
    """That the road follows; None: straight on along x."""

    @property
    def model(self) -> Model:
        """The vehicle."""
        return self.car.model

    @property
    def gear(self) -> int:
        """That is engaged at the start."""
        return self.car.gear_for(self.speed)

    def drivers(self) -> tuple[Driver, ...]:
        """Return new drivers, who act in this order.

        Raises UsageError for a vehicle without a rack where one must be steered.
        """
        settings = self.settings
        if isinstance(settings, OperatorDriver):
            return (ManualDriver(self.model, self.car, settings.timeout),)
        if isinstance(settings, RandomDriver):
            hands = RandomHands(self.model, self.car.track, self.seed, settings.lateral)
            return (self._random_foot(settings), hands)
        if isinstance(settings, EmergencyStop):
            return (Sequence(self._foot(), self._braking(settings), settings.start), *self._hands())
        if isinstance(settings, LaneChange):
            course = double_lane_change(float(self.car.position[0]) + BEFORE_CHANGE, settings.offset)
            hands_there = PathFollower(self.model, self.car.track, course, preview=settings.preview)
            return (self._foot(), hands_there)
        assert isinstance(settings, Cruise)
        return (self._foot(), *self._hands())

    def _foot(self) -> Driver:
        return self.car.pedals(Steady(self.speed), self.speed)[0]

    def _hands(self) -> tuple[Driver, ...]:
        if not self.model.drives or not self.speed > 0.0:
            return ()
        course = straight() if self.line is None else self.line
        return (PathFollower(self.model, self.car.track, course),)

    def _braking(self, settings: EmergencyStop) -> Driver:
        pedal, deceleration = settings.pedal, settings.deceleration
        if pedal is None and deceleration is None:
            if any(wheel.brake_torque > 0.0 for wheel in self.model.wheels):
                pedal = 1.0
            else:
                deceleration = SpeedGains().max_brake
        return Braking(
            self.model,
            self.car.torques,
            self.speed,
            pedal=pedal,
            deceleration=deceleration,
            start=settings.start,
        )

    def _random_foot(self, settings: RandomDriver) -> Driver:
        maximum = settings.longitudinal
        pace = RandomPace(self.seed, self.speed, settings.top_speed, maximum)
        gains = SpeedGains(max_drive=maximum, max_brake=maximum)
        if self.model.powertrain is None:
            return TorqueFoot(self.car.torques, pace, gains)
        return PowertrainFoot(
            self.model, self.car.torques, pace, gear=self.gear, speed=self.speed, gains=gains
        )
