"""Segments of a profile that are told by numbers: rest, moves, sines, sweeps, random motion, roads."""

from __future__ import annotations

import math
from typing import Annotated, Any, Final, Literal

from pydantic import Field, ValidationInfo, field_validator

from mastd.settings.core.axes import AXES
from mastd.settings.core.base import Problem, Settings, refuse
from mastd.settings.core.quantity import (
    Acceleration,
    AccelerationDensity,
    Angle,
    AngularAcceleration,
    AngularAccelerationDensity,
    Frequency,
    Length,
    Ratio,
    SweepRate,
    Time,
    Velocity,
)

MAX_MOTION: Final = 1800.0
"""Longest motion in s that one profile may hold, repeats not counted: it is kept in memory whole."""

MAX_FREQUENCY: Final = 100.0
"""Highest frequency in Hz that is played."""

MAX_CORRECTED: Final = 80.0
"""Highest frequency in Hz that the control corrects in a sine: above, the valves do not answer in phase."""

PlayableFrequency = Annotated[Frequency, Field(ge=0.02, le=MAX_FREQUENCY)]
Duration = Annotated[Time, Field(ge=0.1, le=MAX_MOTION)]
Fade = Annotated[Time, Field(ge=0.05, le=60.0)]
Repeats = Annotated[int, Field(ge=1, le=100_000)]


def ascending_band(band: tuple[float, float]) -> tuple[float, float]:
    """Return a band whose upper end lies above its lower one; refuse any other."""
    if not band[0] < band[1]:
        refuse([((1,), f"{band[1]:g} Hz is not above {band[0]:g} Hz: the lower end must come first")])
    return band


class Hold(Settings):
    """Stand still where the segment before ended."""

    kind: Literal["hold"]
    duration: Duration


class Target(Settings):
    """A pose to go to; axes left out stay where they are."""

    surge: Length | None = None
    sway: Length | None = None
    heave: Length | None = None
    roll: Angle | None = None
    pitch: Angle | None = None
    yaw: Angle | None = None


class Ramp(Settings):
    """Go smoothly to a pose, from rest to rest."""

    kind: Literal["ramp"]
    to: Target
    duration: Duration


class Shaking(Settings):
    """What all segments share that shake about the pose where the segment before ended."""

    gain: Ratio = 1.0
    """Multiplies the motion."""
    repeats: Repeats = 1
    """How often the segment is played."""
    fade: Fade | None = None
    """Time of the rise from rest and of the fall to rest, within the duration; the profile's if left out."""


class TranslationWave(Settings):
    """Size of a sine along an axis: its amplitude, or its peak acceleration."""

    amplitude: Length | None = None
    peak: Annotated[Acceleration | None, Field(validate_default=True)] = None
    phase: Angle = 0.0

    @field_validator("peak")
    @classmethod
    def _one_size(cls, peak: float | None, info: ValidationInfo) -> float | None:
        return _exactly_one(peak, info)


class RotationWave(Settings):
    """Size of a sine about an axis: its amplitude, or its peak acceleration."""

    amplitude: Angle | None = None
    peak: Annotated[AngularAcceleration | None, Field(validate_default=True)] = None
    phase: Angle = 0.0

    @field_validator("peak")
    @classmethod
    def _one_size(cls, peak: float | None, info: ValidationInfo) -> float | None:
        return _exactly_one(peak, info)


def _exactly_one(peak: float | None, info: ValidationInfo) -> float | None:
    if "amplitude" in info.data and (peak is None) == (info.data["amplitude"] is None):
        both = "give amplitude or peak (peak acceleration), not both"
        raise ValueError("amplitude or peak (peak acceleration) is missing" if peak is None else both)
    return peak


class WaveAxes(Settings):
    """Size of a wave on each axis that takes part."""

    surge: TranslationWave | None = None
    sway: TranslationWave | None = None
    heave: TranslationWave | None = None
    roll: RotationWave | None = None
    pitch: RotationWave | None = None
    yaw: RotationWave | None = None


class CorrectionSettings(Settings):
    """Amplitude and phase of a sine, and its harmonics on all six axes, corrected while it plays."""

    harmonics: Annotated[int, Field(ge=1, le=10)] = 5
    """Highest multiple of the frequency that is corrected, up to 80 Hz; 1: amplitude and phase alone."""
    bound: Annotated[Ratio, Field(gt=0.0, le=0.5)] = 0.2
    """Most that it may move an actuator by, of what the sine asks of the actuator that moves most."""
    time: Annotated[Time, Field(ge=0.2, le=60.0)] = 2.0
    """Time constant with which it is learned; no faster than in about four periods."""


class Sine(Shaking):
    """A sine of constant frequency on one or several axes."""

    kind: Literal["sine"]
    frequency: PlayableFrequency
    axes: WaveAxes
    duration: Duration
    correction: CorrectionSettings | None = None
    """Correct amplitude, phase and harmonics; nothing is corrected if left out."""

    @field_validator("correction")
    @classmethod
    def _within_reach(
        cls, correction: CorrectionSettings | None, info: ValidationInfo
    ) -> CorrectionSettings | None:
        frequency = info.data.get("frequency", 0.0)
        if correction is not None and not frequency <= MAX_CORRECTED:
            raise ValueError(
                f"{frequency:g} Hz is too high: correction is available up to {MAX_CORRECTED:g} Hz"
            )
        return correction


class Sweep(Shaking):
    """A sine whose frequency moves at a constant number of octaves per time."""

    kind: Literal["sweep"]
    start: PlayableFrequency
    stop: PlayableFrequency
    rate: Annotated[SweepRate, Field(gt=0.0)]
    axes: WaveAxes

    @field_validator("stop")
    @classmethod
    def _moves(cls, stop: float, info: ValidationInfo) -> float:
        if stop == info.data.get("start"):
            raise ValueError("equals start: a sweep needs two different frequencies")
        return stop


TranslationPoint = tuple[PlayableFrequency, Annotated[AccelerationDensity, Field(gt=0.0)]]
RotationPoint = tuple[PlayableFrequency, Annotated[AngularAccelerationDensity, Field(gt=0.0)]]


def _ascending(points: tuple[tuple[float, float], ...]) -> tuple[tuple[float, float], ...]:
    if len(points) < 2:
        raise ValueError(f"{len(points)} break points, a density needs at least two")
    problems: list[Problem] = [
        ((k, 0), f"{points[k][0]:g} Hz is not above the {points[k - 1][0]:g} Hz before it")
        for k in range(1, len(points))
        if not points[k][0] > points[k - 1][0]
    ]
    refuse(problems)
    return points


class TranslationDensity(Settings):
    """Acceleration density by break points, joined by straight lines on double-logarithmic axes."""

    density: Annotated[tuple[TranslationPoint, ...], Field(max_length=100)]
    """Pairs of frequency and one-sided density; there is no motion outside the first and the last."""

    _order = field_validator("density")(_ascending)


class RotationDensity(Settings):
    """Angular acceleration density by break points, joined by straight lines on double-logarithmic axes."""

    density: Annotated[tuple[RotationPoint, ...], Field(max_length=100)]
    """Pairs of frequency and one-sided density; there is no motion outside the first and the last."""

    _order = field_validator("density")(_ascending)


class DensityAxes(Settings):
    """Density on each axis that takes part; the axes are independent of each other."""

    surge: TranslationDensity | None = None
    sway: TranslationDensity | None = None
    heave: TranslationDensity | None = None
    roll: RotationDensity | None = None
    pitch: RotationDensity | None = None
    yaw: RotationDensity | None = None


class Random(Shaking):
    """Random motion of given acceleration densities."""

    kind: Literal["random"]
    axes: DensityAxes
    duration: Duration
    sigma_clip: Annotated[Ratio, Field(ge=2.0, le=10.0)] = 3.0
    """Peaks of the acceleration in units of its effective value."""


class Road(Shaking):
    """A vehicle's four wheels on a random road of a class of ISO 8608: heave, pitch and roll."""

    kind: Literal["road"]
    road_class: Literal["A", "B", "C", "D", "E", "F", "G", "H"]
    speed: Annotated[Velocity, Field(ge=0.1, le=100.0)]
    band: tuple[PlayableFrequency, PlayableFrequency]
    """Frequencies that are played. Mandatory: stroke and force bound how much of a road can be followed."""
    duration: Duration
    wheelbase: Annotated[Length, Field(gt=0.0, le=20.0)]
    track_width: Annotated[Length, Field(gt=0.0, le=5.0)]

    _ascending = field_validator("band")(ascending_band)


def axis_items(axes: Settings) -> list[tuple[int, str, Any]]:
    """Return index, name and settings of each axis that takes part, in the order of a pose."""
    named = [(index, name, getattr(axes, name, None)) for index, name in enumerate(AXES)]
    return [(index, name, value) for index, name, value in named if value is not None]


def sweep_duration(segment: Sweep) -> float:
    """Return the time in s that a sweep takes."""
    return abs(math.log2(segment.stop / segment.start)) / segment.rate
