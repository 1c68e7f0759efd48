"""Settings of a test profile: what the table should do, with what on top, and what counts as done well."""

from __future__ import annotations

import math
from typing import Annotated, Any, Final, Literal

from pydantic import Field, ValidationInfo, field_validator

from mastd.settings.base import Problem, Settings, beside, refuse
from mastd.settings.channel_limits import MOST_LIMITS, ChannelLimitSettings
from mastd.settings.criteria import Criteria
from mastd.settings.oils import OilsSettings
from mastd.settings.payload import NoPayload, Payload
from mastd.settings.quantity import (
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

AXES: Final = ("surge", "sway", "heave", "roll", "pitch", "yaw")
"""Names of the six degrees of freedom, in the order of a pose."""

LONGEST_MOTION: Final = 1800.0
"""Longest motion in s that one profile may hold, repeats not counted: it is kept in memory whole."""

PlayableFrequency = Annotated[Frequency, Field(ge=0.02, le=100.0)]
Duration = Annotated[Time, Field(ge=0.1, le=LONGEST_MOTION)]
Fade = Annotated[Time, Field(ge=0.05, le=60.0)]
Repeats = Annotated[int, Field(ge=1, le=100_000)]


def _ascending_band(band: tuple[float, float]) -> None:
    if not band[0] < band[1]:
        refuse([((1,), f"{band[1]:g} Hz is not above {band[0]:g} Hz, the upper end comes second")])


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
        raise ValueError("give either amplitude or peak (peak acceleration), one of the two")
    return peak


class WaveAxes(Settings):
    """Size of a wave on each axis that takes part."""

    surge: TranslationWave | None = None
    sway: TranslationWave | None = None
    heave: TranslationWave | None = None
    roll: RotationWave | None = None
    pitch: RotationWave | None = None
    yaw: RotationWave | None = None


class Sine(Shaking):
    """A sine of constant frequency on one or several axes."""

    kind: Literal["sine"]
    frequency: PlayableFrequency
    axes: WaveAxes
    duration: Duration


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
            raise ValueError("equals start, a sweep needs two frequencies")
        return stop


TranslationPoint = tuple[PlayableFrequency, Annotated[AccelerationDensity, Field(gt=0.0)]]
RotationPoint = tuple[PlayableFrequency, Annotated[AngularAccelerationDensity, Field(gt=0.0)]]


def _ascending(points: tuple[tuple[float, float], ...]) -> tuple[tuple[float, float], ...]:
    if len(points) < 2:
        raise ValueError(f"{len(points)} break points, a density needs at least two")
    problems: list[Problem] = [
        ((k, 0), f"{points[k][0]:g} Hz does not lie above the {points[k - 1][0]:g} Hz before it")
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

    @field_validator("band")
    @classmethod
    def _ascending(cls, band: tuple[float, float]) -> tuple[float, float]:
        _ascending_band(band)
        return band


class RecordComponent(Settings):
    """One component of a strong-motion record on one axis."""

    file: Annotated[str, Field(min_length=1)]
    """PEER file of accelerations (.AT2); a relative path starts at the profile's own folder."""
    scale: Ratio = 1.0
    """Multiplies the recorded acceleration; negative turns it round."""

    @field_validator("file")
    @classmethod
    def _found(cls, file: str, info: ValidationInfo) -> str:
        return beside(file, info)


class RecordAxes(Settings):
    """Which component of the record moves which axis."""

    surge: RecordComponent | None = None
    sway: RecordComponent | None = None
    heave: RecordComponent | None = None


class Record(Shaking):
    """A strong-motion record."""

    kind: Literal["record"]
    axes: RecordAxes
    band: tuple[PlayableFrequency, PlayableFrequency]
    """Frequencies that are played; the lower one bounds the displacement."""
    baseline: Literal["none", "mean", "linear"] = "mean"
    """What is taken off the accelerations first: nothing, their mean, or the best straight line."""

    @field_validator("band")
    @classmethod
    def _ascending(cls, band: tuple[float, float]) -> tuple[float, float]:
        _ascending_band(band)
        return band


Segment = Annotated[Hold | Ramp | Sine | Sweep | Random | Road | Record, Field(discriminator="kind")]


class ProfileSettings(Settings):
    """A test profile. It starts and ends at rest in the neutral pose."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    description: str = ""
    seed: Annotated[int, Field(ge=0)] = 1
    """Makes all random motion of the profile; the same seed gives the same motion."""
    payload: Payload = NoPayload()
    point: Literal["C", "T"] = "C"
    """Point of the table that makes the motion: its centre C, or the control point T of the table file."""
    gain: Annotated[Ratio, Field(ge=0.0)] = 1.0
    """Multiplies the whole motion."""
    fade: Fade = 1.0
    """Time of rise and fall of every segment that does not state its own."""
    repeats: Repeats = 1
    """How often the row of segments is played."""
    mode: Literal["segments", "oils"] = "segments"
    """Whether the segments are played, or a driven vehicle moves its driver (operator in the loop)."""
    segments: Annotated[tuple[Segment, ...], Field(max_length=1000, validate_default=True)] = ()
    oils: Annotated[OilsSettings | None, Field(validate_default=True)] = None
    verdict: Criteria = Criteria()
    limits: Annotated[tuple[ChannelLimitSettings, ...], Field(max_length=MOST_LIMITS)] = ()
    """What recorded channels may do while the profile plays, beside the limits of the table."""

    @field_validator("segments")
    @classmethod
    def _playable(cls, segments: tuple[Segment, ...], info: ValidationInfo) -> tuple[Segment, ...]:
        if info.data.get("mode") == "oils":
            if segments:
                raise ValueError("in mode oils the driver makes the motion, leave segments out")
            return segments
        if not segments:
            raise ValueError("no segment, a profile needs at least one")
        refuse(_segment_problems(segments, info.data.get("fade", 0.0)))
        return segments

    @field_validator("oils")
    @classmethod
    def _what_is_driven(cls, oils: OilsSettings | None, info: ValidationInfo) -> OilsSettings | None:
        mode = info.data.get("mode")
        if mode == "oils" and oils is None:
            raise ValueError("oils is missing: mode oils needs this group, which says what is driven")
        if mode == "segments" and oils is not None:
            raise ValueError("is for mode: oils, this profile plays its segments")
        payload = info.data.get("payload")
        if oils is not None and payload is not None and payload.kind == "vehicle":
            raise ValueError("the vehicle drives on its road; what the table carries is a rigid cabin")
        return oils

    @field_validator("verdict")
    @classmethod
    def _judged_axes_are_driven(cls, verdict: Criteria, info: ValidationInfo) -> Criteria:
        driven = {name for segment in info.data.get("segments", ()) for name in _driven(segment)}
        refuse(
            [
                (("axes", name), f"no segment drives {name}, so only its cross_axis can be judged")
                for _, name, bounds in axis_items(verdict.axes)
                if info.data.get("point") == "C"
                and driven
                and name not in driven
                and set(bounds.model_dump(exclude_none=True)) - {"cross_axis"}
            ]
        )
        return verdict

    def band(self) -> tuple[float, float] | None:
        """Return lowest and highest frequency in Hz that the profile excites, None if it only moves."""
        bands = [_band(segment) for segment in self.segments if not isinstance(segment, Hold | Ramp)]
        if not bands:
            return None
        return min(low for low, _ in bands), max(high for _, high in bands)


def axis_items(axes: Settings) -> list[tuple[int, str, Any]]:
    """Return index, name and settings of each axis that takes part, in the order of a pose."""
    named = [(index, name, getattr(axes, name, None)) for index, name in enumerate(AXES)]
    return [(index, name, value) for index, name, value in named if value is not None]


def sweep_duration(segment: Sweep) -> float:
    """Return the time in s that a sweep takes."""
    return abs(math.log2(segment.stop / segment.start)) / segment.rate


def _band(segment: Sine | Sweep | Random | Road | Record) -> tuple[float, float]:
    if isinstance(segment, Road | Record):
        return segment.band
    if isinstance(segment, Sine):
        return segment.frequency, segment.frequency
    if isinstance(segment, Sweep):
        return min(segment.start, segment.stop), max(segment.start, segment.stop)
    densities = [value.density for _, _, value in axis_items(segment.axes)]
    return min(points[0][0] for points in densities), max(points[-1][0] for points in densities)


def _driven(segment: Segment) -> tuple[str, ...]:
    """Return the axes that a segment moves."""
    if isinstance(segment, Hold):
        return ()
    if isinstance(segment, Road):
        return ("heave", "roll", "pitch")
    return tuple(name for _, name, _ in axis_items(segment.to if isinstance(segment, Ramp) else segment.axes))


def _segment_problems(segments: tuple[Segment, ...], profile_fade: float) -> list[Problem]:
    problems: list[Problem] = []
    position: dict[str, float] = dict.fromkeys(AXES, 0.0)
    total = 0.0
    for k, segment in enumerate(segments):
        if isinstance(segment, Ramp):
            moves = axis_items(segment.to)
            if not moves:
                problems.append(((k, "to"), "no axis named, name one or more of " + ", ".join(AXES)))
            position.update((name, value) for _, name, value in moves)
        elif not isinstance(segment, Hold | Road) and not axis_items(segment.axes):
            problems.append(((k, "axes"), "no axis named, name one or more of " + ", ".join(AXES)))
        if isinstance(segment, Record):
            continue
        duration = sweep_duration(segment) if isinstance(segment, Sweep) else segment.duration
        total += duration
        if isinstance(segment, Shaking):
            fade = profile_fade if segment.fade is None else segment.fade
            if not 2.0 * fade <= duration:
                problems.append(((k,), f"two fades of {fade:g} s do not fit into {duration:g} s"))
    away = [name for name, value in position.items() if value != 0.0]
    if away:
        problems.append(
            (
                (len(segments) - 1,),
                f"the profile ends away from neutral in {', '.join(away)}, add a ramp to 0",
            )
        )
    if not total <= LONGEST_MOTION:
        problems.append(((), f"the segments take {total:g} s, at most {LONGEST_MOTION:g} s: use repeats"))
    return problems
