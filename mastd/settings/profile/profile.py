"""Settings of a test profile: what the table should do, with what on top, and what counts as done well."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Final, Literal

from pydantic import Field, ValidationInfo, field_validator

from mastd.settings.core.axes import AXES
from mastd.settings.core.base import Problem, Settings, refuse
from mastd.settings.core.quantity import Ratio
from mastd.settings.profile.channel_limits import MAX_LIMITS, ChannelLimitSettings
from mastd.settings.profile.criteria import Criteria
from mastd.settings.profile.file_segments import Drive, FileMotion, Measured, Record
from mastd.settings.profile.oils import OilsSettings, OpenCrgRoad
from mastd.settings.profile.segments import (
    MAX_MOTION,
    Fade,
    Hold,
    Ramp,
    Random,
    Repeats,
    Road,
    Shaking,
    Sine,
    Sweep,
    axis_items,
    sweep_duration,
)
from mastd.settings.profile.stream import StreamSettings
from mastd.settings.rigs.name import RigName
from mastd.settings.table.payload import SIMULATED, ExternalPayload, NoPayload, Payload, VehiclePayload

__all__ = ["AXES", "MAX_MOTION", "ProfileSettings", "Segment"]

MAX_SIGNAL_RIGS: Final = 8
UNSCALED: Final[Mapping[int, float]] = MappingProxyType({})

_MAKERS: Final = {"oils": "the driver", "stream": "a rig"}
_PLAYS: Final = {
    "segments": "runs its segments",
    "oils": "is driven",
    "stream": "has its motion from a rig",
}

Segment = Annotated[
    Hold | Ramp | Sine | Sweep | Random | Road | Record | Measured | Drive, Field(discriminator="kind")
]


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
    rigs: Annotated[tuple[RigName, ...], Field(max_length=MAX_SIGNAL_RIGS)] = ()
    """Rigs of kind signals that are used: what they give acts on the vehicle, or is recorded."""
    mode: Literal["segments", "oils", "stream"] = "segments"
    """Whether the segments are played, a driven vehicle moves its driver (operator in the loop), or a rig
    makes the motion."""
    segments: Annotated[tuple[Segment, ...], Field(max_length=1000, validate_default=True)] = ()
    oils: Annotated[OilsSettings | None, Field(validate_default=True)] = None
    stream: Annotated[StreamSettings | None, Field(validate_default=True)] = None
    verdict: Criteria = Criteria()
    limits: Annotated[tuple[ChannelLimitSettings, ...], Field(max_length=MAX_LIMITS)] = ()
    """What recorded channels may do while the profile plays, beside the limits of the table."""

    @field_validator("rigs")
    @classmethod
    def _differ(cls, rigs: tuple[str, ...]) -> tuple[str, ...]:
        refuse([((k,), f"{name} is listed twice") for k, name in enumerate(rigs) if rigs.index(name) != k])
        return rigs

    @field_validator("segments")
    @classmethod
    def _playable(cls, segments: tuple[Segment, ...], info: ValidationInfo) -> tuple[Segment, ...]:
        maker = _MAKERS.get(info.data.get("mode", ""))
        if maker is not None:
            if segments:
                raise ValueError(f"in mode {info.data['mode']} {maker} generates the motion: remove segments")
            return segments
        if not segments:
            raise ValueError("no segment: a profile needs at least one")
        refuse(_segment_problems(segments, info.data.get("fade", 0.0)))
        return segments

    @field_validator("oils")
    @classmethod
    def _what_is_driven(cls, oils: OilsSettings | None, info: ValidationInfo) -> OilsSettings | None:
        mode = info.data.get("mode")
        if mode == "oils" and oils is None:
            raise ValueError("oils is missing: mode oils needs this group, which defines the vehicle")
        if mode in ("segments", "stream") and oils is not None:
            raise ValueError(f"is for mode: oils, this profile {_PLAYS[mode]}")
        payload = info.data.get("payload")
        if oils is not None and payload is not None and payload.kind in SIMULATED:
            raise ValueError(
                "in mode oils the vehicle drives on its road and the payload must be rigid (a cabin)"
            )
        return oils

    @field_validator("stream")
    @classmethod
    def _what_is_streamed(cls, stream: StreamSettings | None, info: ValidationInfo) -> StreamSettings | None:
        mode = info.data.get("mode")
        if mode == "stream" and stream is None:
            raise ValueError(
                "stream is missing: mode stream needs this group, which defines the rig's signal"
            )
        if mode in ("segments", "oils") and stream is not None:
            raise ValueError(f"is for mode: stream, this profile {_PLAYS[mode]}")
        payload = info.data.get("payload")
        if stream is not None and payload is not None and payload.kind in SIMULATED:
            raise ValueError("in mode stream the payload must be rigid or none")
        return stream

    @field_validator("verdict")
    @classmethod
    def _judged_axes_are_driven(cls, verdict: Criteria, info: ValidationInfo) -> Criteria:
        driven = {name for segment in info.data.get("segments", ()) for name in _driven(segment)}
        refuse(
            [
                (("axes", name), f"no segment drives {name}, so only cross_axis applies to it")
                for _, name, bounds in axis_items(verdict.axes)
                if info.data.get("point") == "C"
                and driven
                and name not in driven
                and set(bounds.model_dump(exclude_none=True)) - {"cross_axis"}
            ]
        )
        refuse(
            [
                (("axes", name, "thd"), f"applies only to a profile whose motion in {name} is a single sine")
                for _, name, bounds in axis_items(verdict.axes)
                if bounds.thd is not None
                and "segments" in info.data
                and not _one_sine(info.data["segments"], name)
            ]
        )
        return verdict

    def band(self, length_scales: Mapping[int, float] = UNSCALED) -> tuple[float, float] | None:
        """Return lowest and highest frequency in Hz that the profile excites, None if it only moves.

        ``length_scales``: S of the segments, by their index, whose lengths are scaled: their frequencies are
        1/√S times those of the file.
        """
        bands = [
            (low / length_scales.get(k, 1.0) ** 0.5, high / length_scales.get(k, 1.0) ** 0.5)
            for k, segment in enumerate(self.segments)
            if not isinstance(segment, Hold | Ramp)
            for low, high in (_band(segment),)
        ]
        if not bands:
            return None
        return min(low for low, _ in bands), max(high for _, high in bands)

    @property
    def made_duration(self) -> float | None:
        """Duration in s of a motion that is generated during the run, None for segments."""
        maker = self.oils or self.stream
        return None if maker is None else maker.duration

    def all_rigs(self) -> tuple[str, ...]:
        """Return the names of all rigs that the profile uses, each once, those of signals first."""
        named = list(self.rigs)
        if isinstance(self.payload, ExternalPayload):
            named.append(self.payload.rig)
        if self.stream is not None:
            named.append(self.stream.rig)
        return tuple(dict.fromkeys(named))

    def input_files(self) -> tuple[str, ...]:
        """Return the paths of all files that the profile names, each once."""
        named: list[str] = []
        for segment in self.segments:
            if isinstance(segment, Record):
                named.extend(component.file for _, _, component in axis_items(segment.axes))
            elif isinstance(segment, Measured | Drive):
                named.append(segment.file)
        if isinstance(self.payload, VehiclePayload):
            named.append(self.payload.vehicle)
        if self.oils is not None:
            named.append(self.oils.vehicle)
            if isinstance(self.oils.road, OpenCrgRoad):
                named.append(self.oils.road.file)
        return tuple(dict.fromkeys(named))


def _band(segment: Sine | Sweep | Random | Road | FileMotion | Drive) -> tuple[float, float]:
    if isinstance(segment, Road | FileMotion | Drive):
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
    if isinstance(segment, Measured):
        return segment.axes
    if isinstance(segment, Drive):
        return tuple(name for _, name, _ in axis_items(segment.channels))
    return tuple(name for _, name, _ in axis_items(segment.to if isinstance(segment, Ramp) else segment.axes))


def _one_sine(segments: tuple[Segment, ...], axis: str) -> bool:
    """Return whether sines of one frequency are all that moves an axis."""
    moving = [segment for segment in segments if axis in _driven(segment)]
    frequencies = {segment.frequency for segment in moving if isinstance(segment, Sine)}
    return len(frequencies) == 1 and all(isinstance(segment, Sine) for segment in moving)


def _segment_problems(segments: tuple[Segment, ...], profile_fade: float) -> list[Problem]:
    problems: list[Problem] = []
    position: dict[str, float] = dict.fromkeys(AXES, 0.0)
    total = 0.0
    for k, segment in enumerate(segments):
        if isinstance(segment, Ramp):
            moves = axis_items(segment.to)
            if not moves:
                problems.append(((k, "to"), "no axis given: expected one or more of " + ", ".join(AXES)))
            position.update((name, value) for _, name, value in moves)
        elif isinstance(segment, Drive):
            if not axis_items(segment.channels):
                problems.append(
                    ((k, "channels"), "no axis given: expected one or more of " + ", ".join(AXES))
                )
        elif not isinstance(segment, Hold | Road | Measured) and not axis_items(segment.axes):
            problems.append(((k, "axes"), "no axis given: expected one or more of " + ", ".join(AXES)))
        if isinstance(segment, FileMotion | Drive):
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
    if not total <= MAX_MOTION:
        problems.append(((), f"the segments take {total:g} s, maximum {MAX_MOTION:g} s: use repeats"))
    return problems
