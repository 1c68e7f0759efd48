"""Motions that a rig makes: poses that the table follows, or what a seat feels, washed out.

Both are a path over its own time, as ``mastd.loop.payload.oils.DrivenVehicle`` is: one step makes one knot
from what the rig gives at that moment. On hold no step is taken and the table stands, while the rig's world
continues; what has changed meanwhile is made good within the boxes.

**The end.** When the duration is over the rig's share goes out in ``END_FADE`` seconds, and the drive has
finished when the table stands at neutral, or after ``MAX_WAY_HOME``.

**A rig that is lost** is told by the rigs' own part of the loop, which also replaces what it gives: values on
hold keep the last pose, values that ramp take the table home. If it is back within ``COMES_BACK`` seconds the
drive continues; otherwise it is over, and has finished when the table stands where those values want it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.loop.payload.virtual_drive import HOME, MAX_WAY_HOME
from mastd.loop.rigs.binding import absent_rig, bound_rig
from mastd.loop.rigs.bound_rig import BoundRig
from mastd.motion.follower.follower import PoseFollower
from mastd.motion.washout.washout import Washout
from mastd.safety.faults import Report
from mastd.settings.profile.stream import PoseStream, SeatStream
from mastd.settings.rigs.channels import POSE, POSES, SEAT
from mastd.units import STANDARD_GRAVITY
from mastd.vehicle.payload.fallbacks import FADE_IN, FADE_OUT, Watch
from mastd.vehicle.payload.on_road import END_FADE
from mastd.wire.common import vehicle_block as b

COMES_BACK: Final = 5.0
"""s in which a lost rig may come back to its drive."""


class _Course:
    """How far a drive is: over by its time, or because its rig has stayed away."""

    def __init__(self, rig: str, kind: str, duration: float, period: float) -> None:
        self.rig = absent_rig(rig, kind)
        self.steps = 0
        self.gone = False
        """The rig has stayed away for too long; it is heard no more."""
        self._last = round(duration / period)
        self._period = period
        self._away = 0
        self._max_away = round(COMES_BACK / period)
        self._ended_at: int | None = None

    @property
    def over(self) -> bool:
        """The duration is over."""
        return self.steps >= self._last

    @property
    def tired(self) -> bool:
        """It is over for so long that nobody waits for the table to come home."""
        if self._ended_at is None:
            return False
        return (self.steps - self._ended_at) * self._period >= MAX_WAY_HOME

    def begin(self) -> None:
        """Start again."""
        self.steps, self.gone, self._away, self._ended_at = 0, False, 0, None

    def step(self) -> None:
        """Count a period at its end."""
        self.steps += 1
        self._away = 0 if self.rig.present else self._away + 1
        self.gone = self.gone or self._away >= self._max_away
        if self._ended_at is None and (self.over or self.gone):
            self._ended_at = self.steps


class PoseDrive:
    """A table that goes where a rig says.

    ``motion`` (4, 6): pose of C, rates, accelerations, jerks at the end of the last period.
    """

    def __init__(self, stream: PoseStream, period: float) -> None:
        self.name = f"rig {stream.rig}"
        self.purpose = b.DRIVEN_BY_SCRIPT
        self.wheels: tuple[str, ...] = ()
        self.duration = stream.duration
        self._wanted = stream.rig
        self._period = period
        self._course = _Course(stream.rig, POSE, stream.duration, period)
        self._follower = PoseFollower(stream, period)
        self._prescribed = self._course.rig.values.copy()
        self._fraction = 0.0

    def bind(self, rigs: Mapping[str, BoundRig]) -> None:
        """Take the rig; raise UsageError if there is none, or one of another kind."""
        self._course.rig = bound_rig(rigs, self._wanted, POSE)
        self._prescribed = self._course.rig.values.copy()

    @property
    def motion(self) -> FloatArray:
        """See the class."""
        return self._follower.motion

    @property
    def finished(self) -> bool:
        """The drive is over, and the table stands at its end; or it had long enough for that."""
        course = self._course
        if not (course.gone or (course.over and self._fraction == 0.0)):
            return False
        if course.tired:
            return True
        left, rates = np.abs(self._follower.residual), np.abs(self.motion[1])
        return bool((left <= HOME).all() and (rates <= HOME).all())

    def begin(self, motion: FloatArray, numbers: FloatArray) -> None:
        """Start from the motion (≥ 3, 6) that the table has."""
        self._course.begin()
        self._fraction = 0.0
        self._prescribed[:] = self._course.rig.values
        self._follower.begin(motion, self._prescribed)

    def receive(self, values: FloatArray) -> None:
        """Nobody drives by hand here."""

    def step(self, numbers: FloatArray) -> None:
        """Continue by one period."""
        course = self._course
        if not course.gone:
            self._prescribed[:] = course.rig.values
        change = self._period / (END_FADE if course.over else FADE_IN)
        before = self._fraction
        self._fraction = max(before - change, 0.0) if course.over else min(before + change, 1.0)
        pace = (self._fraction - before) / self._period
        own = course.rig.present and not course.gone and len(self._prescribed) > len(POSES)
        self._follower.step(self._prescribed, own, _smooth(self._fraction, pace))
        course.step()

    def reports(self) -> list[Report]:
        """Nothing is wrong here: the rigs' part of the loop tells of a lost rig."""
        return []


class SeatDrive:
    """A table that gives what is felt at the seat of a vehicle that a rig drives.

    ``motion`` (4, 6): pose of C, rates, accelerations, jerks at the end of the last period. The cue is whole
    from the start where the rig is there, as of a vehicle that is simulated here; it goes in ``FADE_OUT``
    when the rig is lost, and comes again in ``FADE_IN``.
    """

    def __init__(self, stream: SeatStream, period: float) -> None:
        self.name = f"rig {stream.rig}"
        self.purpose = b.DRIVEN_BY_SCRIPT
        self.wheels: tuple[str, ...] = ()
        self.duration = stream.duration
        self._wanted = stream.rig
        self._period = period
        self._course = _Course(stream.rig, SEAT, stream.duration, period)
        self._washout = Washout(stream.cueing, stream.cabin_seat, period)
        self._felt = self._course.rig.values.copy()
        self._watch = Watch((), period)

    def bind(self, rigs: Mapping[str, BoundRig]) -> None:
        """Take the rig; raise UsageError if there is none, or one of another kind."""
        self._course.rig = bound_rig(rigs, self._wanted, SEAT)

    @property
    def motion(self) -> FloatArray:
        """See the class."""
        return self._washout.motion

    @property
    def finished(self) -> bool:
        """The drive is over and the table has come home; or it had long enough for that."""
        course = self._course
        if not (course.gone or course.over):
            return False
        if course.tired:
            return True
        return self._watch.fraction == 0.0 and bool((np.abs(self.motion[:2]) <= HOME).all())

    def begin(self, motion: FloatArray, numbers: FloatArray) -> None:
        """Start from the motion (≥ 3, 6) that the table has."""
        self._course.begin()
        self._washout.begin(motion)
        self._watch = Watch((), self._period)
        if not self._course.rig.present:
            self._watch.fade(True, self._period)
        self._felt[:] = self._course.rig.values
        self._note(numbers)

    def receive(self, values: FloatArray) -> None:
        """Nobody drives by hand here."""

    def step(self, numbers: FloatArray) -> None:
        """Continue by one period."""
        course, watch = self._course, self._watch
        ending = course.over or course.gone
        if not (ending and watch.fraction == 0.0):
            lost = course.gone or not course.rig.present
            watch.fade(lost or ending, FADE_OUT if lost else (END_FADE if ending else FADE_IN))
            self._felt[:] = course.rig.values
        self._washout.step(self._felt, STANDARD_GRAVITY, watch.fraction)
        course.step()
        self._note(numbers)

    def reports(self) -> list[Report]:
        """Nothing is wrong here: the rigs' part of the loop tells of a lost rig."""
        return []

    def _note(self, numbers: FloatArray) -> None:
        seat = numbers[b.SEAT : b.SEAT + 3]
        seat[:] = self._felt[:3]
        seat[2] -= STANDARD_GRAVITY
        numbers[b.ASKED : b.ASKED + 6] = self._washout.asked
        numbers[b.GIVEN : b.GIVEN + 6] = self._washout.given


def _smooth(fraction: float, pace: float) -> tuple[float, float, float]:
    """Return a share that goes smoothly, with two derivatives by time, from one that goes at ``pace`` 1/s."""
    u, left = fraction, 1.0 - fraction
    return (
        u * u * u * (10.0 - u * (15.0 - 6.0 * u)),
        30.0 * (u * left) ** 2 * pace,
        60.0 * u * left * (1.0 - 2.0 * u) * pace * pace,
    )
