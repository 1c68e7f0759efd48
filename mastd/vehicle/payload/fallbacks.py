"""What goes wrong with a driven vehicle, and what is done about it before anybody is asked.

| what | since when | vehicle | cue |
|---|---|---|---|
| ``not_converged`` | unsound steps for 20 ms in a row | stands still in time | fades out, for good |
| ``not_finite`` | one step without numbers | as before that step, still in time | fades out, for good |
| ``rolled_over`` | roll or pitch beyond 60° | stands still in time | fades out, for good |
| ``spun`` | course more than 75° off its axis above 3 m/s | coasts, gently braked | fades out, and in again |
| ``off_road`` | a wheel more than 0.5 m beside the road | continues | continues |
| ``driver_lost`` | the driver says so | coasts (``driver_manual``) | continues |

Words for the technician are made when something begins, and stay until it ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from mastd.vehicle.payload.road_step import BROKEN, MISSED, WATCHED

NOT_CONVERGED: Final = "not_converged"
NOT_FINITE: Final = "not_finite"
ROLLED_OVER: Final = "rolled_over"
SPUN: Final = "spun"
OFF_ROAD: Final = "off_road"
DRIVER_LOST: Final = "driver_lost"
FAILED: Final = frozenset({NOT_CONVERGED, NOT_FINITE, ROLLED_OVER})
"""What ends a drive."""
CONDITIONS: Final = (NOT_CONVERGED, NOT_FINITE, ROLLED_OVER, SPUN, OFF_ROAD, DRIVER_LOST)

UNSOUND_TIME: Final = 0.02
"""s: a wheel that is torn off the ground costs a step or two; what lasts is no motion of a vehicle."""
MAX_TILT: Final = math.radians(60.0)
"""Of roll and pitch: no car that rolls so far comes back on its wheels."""
SPUN_ANGLE: Final = math.radians(75.0)
"""Of the course off the car's axis, ahead or astern: a drift is below, and reversing is none."""
STRAIGHT_ANGLE: Final = math.radians(15.0)
"""Off the axis that a car goes straight again."""
SPUN_SPEED: Final = 3.0
"""m/s: what turns round more slowly does not throw anybody."""
STANDING_SPEED: Final = 0.5
"""m/s: below, it stands."""
CALM_TIME: Final = 0.5
"""s that a car that has spun goes straight or stands before its driver gets it back."""
OFF_ROAD_DISTANCE: Final = 0.5
"""m: two breadths of a tyre, so that a wheel on the edge is not off the road."""
BACK_ON_ROAD: Final = 0.25
"""m."""
FADE_OUT: Final = 0.2
"""s in which the cue goes."""
FADE_IN: Final = 1.0
"""s in which it comes again."""

_SPUN_SLOPE: Final = math.tan(SPUN_ANGLE)
_STRAIGHT_SLOPE: Final = math.tan(STRAIGHT_ANGLE)
_DEGREES: Final = 180.0 / math.pi


class Condition(NamedTuple):
    """Something that is wrong now."""

    name: str
    """One of ``CONDITIONS``."""
    text: str
    """What, how much and when."""


class Watch:
    """Looks at each step of one vehicle."""

    def __init__(self, wheels: Sequence[str], period: float) -> None:
        """Watch a vehicle with these wheels, stepped every ``period`` s."""
        self.conditions: tuple[Condition, ...] = ()
        """What is wrong now, in the order in which it began."""
        self.stopped = False
        """The vehicle is to be stepped no more."""
        self._wheels = tuple(wheels)
        self._period = period
        self._max_missed = max(1, math.ceil(UNSOUND_TIME / period - 1e-9))
        self._missed = 0
        self._calm = 0.0
        self._fraction = 1.0

    @property
    def spun(self) -> bool:
        """The vehicle is to coast."""
        return self._is(SPUN)

    @property
    def fraction(self) -> float:
        """Of the cue that is given, 0…1: goes smoothly."""
        u = self._fraction
        return u * u * u * (10.0 - u * (15.0 - 6.0 * u))

    def fade(self, away: bool, lasting: float) -> None:
        """Take the cue further away, or back, by one period of ``lasting`` s."""
        step = self._period / lasting
        self._fraction = max(self._fraction - step, 0.0) if away else min(self._fraction + step, 1.0)

    def update(self, status: int, watched: Sequence[float], time: float) -> None:
        """Check the step that ended at ``time`` (s); ``watched`` (WATCHED) by ``road_step.judge``."""
        self._check_solver(status, time)
        if self.stopped:
            return
        roll, pitch = abs(watched[WATCHED.roll]), abs(watched[WATCHED.pitch])
        if not (roll <= MAX_TILT and pitch <= MAX_TILT):
            which, angle = (
                ("roll", watched[WATCHED.roll]) if roll > pitch else ("pitch", watched[WATCHED.pitch])
            )
            self._stop(ROLLED_OVER, f"the vehicle rolled over: {which} {angle * _DEGREES:.0f} deg", time)
            return
        self._check_course(abs(watched[WATCHED.forward]), abs(watched[WATCHED.lateral]), time)
        self._check_road(watched[WATCHED.outside], int(watched[WATCHED.wheel]), time)

    def note_driver(self, lost: bool, time: float) -> None:
        """Note whether the driver is lost."""
        if lost and not self._is(DRIVER_LOST):
            self._begin(DRIVER_LOST, "the driver is lost, no messages received: the vehicle coasts", time)
        elif not lost and self._is(DRIVER_LOST):
            self._end(DRIVER_LOST)

    def _check_solver(self, status: int, time: float) -> None:
        if status == BROKEN:
            self._stop(NOT_FINITE, "the vehicle's motion is not finite any more", time)
            return
        self._missed = self._missed + 1 if status == MISSED else 0
        if self._missed >= self._max_missed:
            lasting = 1e3 * self._missed * self._period
            self._stop(NOT_CONVERGED, f"the vehicle's steps did not converge for {lasting:.0f} ms", time)

    def _check_course(self, ahead: float, aside: float, time: float) -> None:
        speed = math.hypot(ahead, aside)
        if not self._is(SPUN):
            if speed > SPUN_SPEED and aside > _SPUN_SLOPE * ahead:
                angle = math.atan2(aside, ahead) * _DEGREES
                text = f"the vehicle spun: {angle:.0f} deg off its axis at {3.6 * speed:.0f} km/h, it coasts"
                self._begin(SPUN, text, time)
                self._calm = 0.0
            return
        calm = speed < STANDING_SPEED or aside < _STRAIGHT_SLOPE * ahead
        self._calm = self._calm + self._period if calm else 0.0
        if self._calm >= CALM_TIME:
            self._end(SPUN)

    def _check_road(self, outside: float, wheel: int, time: float) -> None:
        if not self._is(OFF_ROAD):
            if outside > OFF_ROAD_DISTANCE:
                text = f"the vehicle is off the road: wheel {self._wheels[wheel]} by {outside:.2f} m"
                self._begin(OFF_ROAD, text, time)
        elif outside < BACK_ON_ROAD:
            self._end(OFF_ROAD)

    def _is(self, name: str) -> bool:
        return any(condition.name == name for condition in self.conditions)

    def _begin(self, name: str, text: str, time: float) -> None:
        self.conditions = (*self.conditions, Condition(name, f"{text}, {time:.2f} s after the start"))

    def _stop(self, name: str, text: str, time: float) -> None:
        self.stopped = True
        self._begin(name, f"{text}, it is frozen", time)

    def _end(self, name: str) -> None:
        self.conditions = tuple(condition for condition in self.conditions if condition.name != name)
