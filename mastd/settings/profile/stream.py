"""Settings of a motion that a rig makes while the table plays it: a stream of poses, or of what a seat feels.

``pose``: the centre of the table goes where the rig says. Each axis has a box of travel, velocity,
acceleration and jerk that it never leaves, whatever comes; an axis that is left out stands still at neutral.
``seat``: the rig drives a vehicle, and what is felt at its seat becomes motion at the seat of a cabin, as in
``mastd.settings.profile.oils``. The boxes of either are proved together against the table before anything
moves.
"""

from __future__ import annotations

import math
from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from mastd.settings.core.axes import AXES
from mastd.settings.core.base import Problem, Settings, refuse
from mastd.settings.core.quantity import Frequency, Point, Time
from mastd.settings.profile.cueing import (
    AngularSpeed,
    AngularTravel,
    Cueing,
    MaxAcceleration,
    MaxAngularAcceleration,
    MaxAngularJerk,
    MaxJerk,
    Speed,
    Travel,
)
from mastd.settings.rigs.name import RigName

StreamDuration = Annotated[Time, Field(ge=0.1, le=86_400.0)]
MIN_JERK: Final = 1.0
"""Least jerk of an axis in units of its acceleration times 2π·bandwidth: with a fifth of it the axis swings
about the pose that it follows."""


class TranslationBox(Settings):
    """What a translation of C never exceeds, to either side of neutral."""

    travel: Travel
    velocity: Speed
    acceleration: MaxAcceleration
    jerk: MaxJerk


class RotationBox(Settings):
    """What a rotation of C never exceeds, to either side of neutral."""

    travel: AngularTravel
    velocity: AngularSpeed
    acceleration: MaxAngularAcceleration
    jerk: MaxAngularJerk


class PoseStream(Settings):
    """The table goes where a rig says."""

    kind: Literal["pose"]
    rig: RigName
    duration: StreamDuration
    """After it the table goes home to neutral."""
    bandwidth: Annotated[Frequency, Field(ge=0.1, le=50.0)] = 10.0
    """Of the follower: how quickly it makes good what it is away from the rig's pose. A rig that gives no
    derivatives has them taken from its poses by a filter of four times this corner."""
    surge: TranslationBox | None = None
    sway: TranslationBox | None = None
    heave: TranslationBox | None = None
    roll: RotationBox | None = None
    pitch: RotationBox | None = None
    yaw: RotationBox | None = None

    @model_validator(mode="after")
    def _can_be_followed(self) -> Self:
        problems: list[Problem] = []
        boxes: dict[str, TranslationBox | RotationBox] = {
            name: box for name in AXES if (box := getattr(self, name)) is not None
        }
        if not boxes:
            problems.append(((), "no axis given: expected limits for one or more of " + ", ".join(AXES)))
        for name, box in boxes.items():
            minimum = MIN_JERK * box.acceleration * 2.0 * math.pi * self.bandwidth
            if not box.jerk >= minimum:
                unit = "m/s3" if isinstance(box, TranslationBox) else "rad/s3"
                what = (
                    f"is {box.jerk:g} {unit}, too little to follow at the bandwidth of {self.bandwidth:g} Hz:"
                    f" at least {minimum:.4g} {unit}, or less bandwidth or acceleration"
                )
                problems.append(((name, "jerk"), what))
        refuse(problems)
        return self


class SeatStream(Settings):
    """What is felt at the seat of a vehicle that a rig drives, as motion of a cabin on the table."""

    kind: Literal["seat"]
    rig: RigName
    duration: StreamDuration
    """After it the cue goes out, and the table comes home."""
    cabin_seat: Point
    """The driver's seat on the table, in P from C: that point makes the motion."""
    cueing: Cueing


StreamSettings = Annotated[PoseStream | SeatStream, Field(discriminator="kind")]
