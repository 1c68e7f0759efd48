"""Settings of motion cueing: how the vehicle's motion at the driver's seat becomes motion of the table.

``washout`` (Reid and Nahon 1985, the classical filter): what is felt at the seat is scaled, its onset is kept
by a high-pass on each axis, and what lasts is made by tilting. ``ride``: heave, roll and pitch above a corner
frequency, for roads rather than for manoeuvres. Every axis has a box of travel, velocity, acceleration and
jerk that it never leaves; ``mastd.motion.preflight.envelope`` proves all boxes together against the table.
Corner frequencies are in Hz: ω = 2π · corner.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self, get_type_hints

from pydantic import Field, model_validator

from mastd.settings.core.base import Problem, Settings, refuse
from mastd.settings.core.quantity import (
    Acceleration,
    Angle,
    AngularAcceleration,
    AngularJerk,
    AngularVelocity,
    Frequency,
    Jerk,
    Length,
    Ratio,
    Velocity,
)
from mastd.units import STANDARD_GRAVITY

Gain = Annotated[Ratio, Field(ge=0.0, le=2.0, description="Gain on the vehicle's motion; 0 omits it.")]
Corner = Annotated[
    Frequency,
    Field(ge=0.01, le=20.0, description="Corner ω/2π of the high-pass: slower motion is removed."),
]
DampingRatio = Annotated[Ratio, Field(ge=0.5, le=2.0, description="Damping ratio ζ at the corner.")]
SlowCorner = Annotated[
    Frequency,
    Field(
        ge=0.0,
        le=5.0,
        description="Corner ω₁/2π of the third order, which brings the axis home while an acceleration "
        "lasts; 0 Hz makes the high-pass one of second order.",
    ),
]

Travel = Annotated[
    Length, Field(gt=0.0, le=1.0, description="Largest displacement of the seat to either side of neutral.")
]
Speed = Annotated[Velocity, Field(gt=0.0, description="Largest velocity.")]
MaxAcceleration = Annotated[Acceleration, Field(gt=0.0, description="Largest acceleration.")]
MaxJerk = Annotated[Jerk, Field(gt=0.0, description="Largest jerk.")]
ReturnAcceleration = Annotated[
    Acceleration,
    Field(
        gt=0.0,
        description="Largest acceleration against the vehicle's: of the way home, and of braking before "
        "the end of the travel. Below perception, about 0.17 m/s2 horizontally and 0.28 m/s2 vertically.",
    ),
]

AngularTravel = Annotated[
    Angle, Field(gt=0.0, le=0.25, description="Largest angle to either side of neutral, tilt included.")
]
AngularSpeed = Annotated[AngularVelocity, Field(gt=0.0, description="Largest angular velocity.")]
MaxAngularAcceleration = Annotated[
    AngularAcceleration, Field(gt=0.0, description="Largest angular acceleration.")
]
MaxAngularJerk = Annotated[AngularJerk, Field(gt=0.0, description="Largest angular jerk.")]
AngularReturnAcceleration = Annotated[
    Annotated[AngularAcceleration, Field(gt=0.0)] | None,
    Field(
        description="Largest angular acceleration against the vehicle's, tilt apart, as on the "
        "translations; left out, it is not limited."
    ),
]

_RESPONSE = 2.0
"""Longest change of acceleration from end to end, in units of the corner's 1/ω, that is quick."""


def standing_acceleration(tilt: TiltSettings) -> float:
    """Return the sustained acceleration in m/s² of the largest tilt, at standard gravity."""
    return STANDARD_GRAVITY * math.sin(tilt.angle)


def _too_hard(value: float, maximum: float, unit: str) -> list[Problem]:
    if value <= maximum:
        return []
    what = f"is {value:g} {unit}, must be at most acceleration, {maximum:g} {unit}"
    return [(("return_acceleration",), what)]


def _too_slow(axis: TranslationRide | RotationRide, unit: str) -> list[Problem]:
    """Return the problem of a jerk with which the axis cannot follow its own high-pass."""
    minimum = 2.0 * axis.acceleration * 2.0 * math.pi * axis.corner / _RESPONSE
    if axis.jerk >= minimum:
        return []
    what = f"is {axis.jerk:g} {unit}, too little to follow the corner, at least {minimum:.3g} {unit}"
    return [(("jerk",), what)]


_COLUMNS = (
    *("gain", "corner", "damping", "slow_corner", "travel", "velocity", "acceleration", "jerk"),
    "return_acceleration",
)
_DEFAULTS: dict[str, tuple[float, ...]] = {
    "SurgeCue": (0.2, 0.6, 1.0, 0.06, 24e-3, 0.11, 2.0, 40.0, 0.17),
    "SwayCue": (0.2, 0.8, 1.0, 0.08, 18e-3, 0.1, 2.0, 40.0, 0.17),
    "HeaveCue": (0.3, 0.8, 1.0, 0.08, 13e-3, 0.1, 1.5, 40.0, 0.25),
    "RollCue": (0.3, 0.3, 1.0, 0.0, 14e-3, 0.06, 0.5, 10.0),
    "PitchCue": (0.3, 0.3, 1.0, 0.0, 14e-3, 0.06, 0.5, 10.0),
    "YawCue": (0.1, 0.3, 1.0, 0.0, 4e-3, 0.03, 0.3, 10.0),
    "HeaveRide": (0.5, 0.8, 0.7, 0.0, 22e-3, 0.14, 2.5, 150.0),
    "RollRide": (0.5, 0.8, 0.7, 0.0, 12e-3, 0.08, 1.0, 60.0),
    "PitchRide": (0.5, 0.8, 0.7, 0.0, 9e-3, 0.05, 0.7, 60.0),
}
"""Default of each axis by column, in SI units."""


class HighPass(Settings):
    """High-pass of one axis; a class that the table of defaults names takes its defaults from there."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        hints = get_type_hints(cls, include_extras=True)
        for name, value in zip(_COLUMNS, _DEFAULTS.get(cls.__name__, ()), strict=False):
            cls.__annotations__[name] = hints[name]
            setattr(cls, name, value)

    gain: Gain
    corner: Corner
    damping: DampingRatio = 1.0
    slow_corner: SlowCorner = 0.0


class TranslationRide(HighPass):
    """A translation: its high-pass and its box."""

    travel: Travel
    velocity: Speed
    acceleration: MaxAcceleration
    jerk: MaxJerk

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        refuse(self._problems())
        return self

    def _problems(self) -> list[Problem]:
        return _too_slow(self, "m/s3")


class RotationRide(HighPass):
    """A rotation: its high-pass and its box."""

    travel: AngularTravel
    velocity: AngularSpeed
    acceleration: MaxAngularAcceleration
    jerk: MaxAngularJerk

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        refuse(self._problems())
        return self

    def _problems(self) -> list[Problem]:
        return _too_slow(self, "rad/s3")


class TranslationCue(TranslationRide):
    """A translation that never moves noticeably against the vehicle."""

    return_acceleration: ReturnAcceleration

    def _problems(self) -> list[Problem]:
        return super()._problems() + _too_hard(self.return_acceleration, self.acceleration, "m/s2")


class RotationCue(RotationRide):
    """A rotation, which may be kept from moving noticeably against the vehicle."""

    return_acceleration: AngularReturnAcceleration = None

    def _problems(self) -> list[Problem]:
        back = 0.0 if self.return_acceleration is None else self.return_acceleration
        return super()._problems() + _too_hard(back, self.acceleration, "rad/s2")


class SurgeCue(TranslationCue):
    """Along the vehicle."""


class SwayCue(TranslationCue):
    """Across the vehicle."""


class HeaveCue(TranslationCue):
    """Upwards."""


class RollCue(RotationCue):
    """About the vehicle's length, tilt included."""


class PitchCue(RotationCue):
    """About the vehicle's breadth, tilt included."""


class YawCue(RotationCue):
    """About the vertical."""


class TiltSettings(Settings):
    """Tilt coordination: gravity stands for the part of an acceleration that lasts."""

    corner: Annotated[Frequency, Field(ge=0.01, le=5.0)] = 0.5
    """Corner of the low-pass of second order on the scaled specific force, in Hz."""
    damping: DampingRatio = 1.0
    angle: Annotated[Angle, Field(ge=0.0, le=0.2)] = 8e-3
    """Largest tilt; 10 mrad stand for 0.1 m/s2. 0 leaves tilting out. Braking before the end of the travel
    has what it leaves of the return acceleration of surge and sway."""
    rate: Annotated[AngularVelocity, Field(gt=0.0)] = math.radians(1.5)
    """Largest rate of tilting; 3 deg/s are not noticed."""
    acceleration: Annotated[AngularAcceleration, Field(gt=0.0)] = math.radians(6.0)
    """Largest angular acceleration of tilting."""


class WashoutSettings(Settings):
    """The classical washout: scale, high-pass, tilt coordination; for manoeuvres on a road."""

    kind: Literal["washout"]
    surge: SurgeCue = SurgeCue.model_validate({})
    sway: SwayCue = SwayCue.model_validate({})
    heave: HeaveCue = HeaveCue.model_validate({})
    roll: RollCue = RollCue.model_validate({})
    pitch: PitchCue = PitchCue.model_validate({})
    yaw: YawCue = YawCue.model_validate({})
    tilt: TiltSettings = TiltSettings()

    @model_validator(mode="after")
    def _tilt_leaves_acceleration(self) -> Self:
        problems: list[Problem] = []
        tilt, stands_for = self.tilt, standing_acceleration(self.tilt)
        for name, along in (("surge", self.surge), ("sway", self.sway)):
            if not stands_for < along.return_acceleration:
                what = (
                    f"corresponds to {stands_for:.3g} m/s2, which must be less than return_acceleration of "
                    f"{name}, {along.return_acceleration:g} m/s2"
                )
                problems.append((("tilt", "angle"), what))
        for name, about in (("roll", self.roll), ("pitch", self.pitch)):
            for own, value, maximum, unit in (
                ("angle", tilt.angle, about.travel, "rad"),
                ("rate", tilt.rate, about.velocity, "rad/s"),
                ("acceleration", tilt.acceleration, about.acceleration, "rad/s2"),
            ):
                if not value < maximum:
                    what = f"is {value:g} {unit}, it must be below the largest of {name}, {maximum:g} {unit}"
                    problems.append((("tilt", own), what))
        refuse(problems)
        return self


class HeaveRide(TranslationRide):
    """Upwards."""


class RollRide(RotationRide):
    """About the vehicle's length."""


class PitchRide(RotationRide):
    """About the vehicle's breadth."""


class RideSettings(Settings):
    """Heave, roll and pitch of the seat above a corner frequency; the other axes stay at neutral."""

    kind: Literal["ride"]
    heave: HeaveRide = HeaveRide.model_validate({})
    roll: RollRide = RollRide.model_validate({})
    pitch: PitchRide = PitchRide.model_validate({})


Cueing = Annotated[WashoutSettings | RideSettings, Field(discriminator="kind")]
"""How the motion at the driver's seat becomes motion of the table."""
