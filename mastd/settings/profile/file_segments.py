"""Segments of a profile whose motion comes from files: records axis by axis, points of a body, drives."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, WithJsonSchema, field_validator

from mastd.settings.core.axes import AXES, Axis
from mastd.settings.core.base import Problem, Settings, beside, refuse
from mastd.settings.core.quantity import Length, Point, Ratio, Time
from mastd.settings.profile.segments import (
    Duration,
    PlayableFrequency,
    Repeats,
    Shaking,
    ascending_band,
)

MAX_CHANNELS = 24
"""Channels of one measured segment: all are held in memory at once."""

Along = Literal["x", "y", "z", "-x", "-y", "-z"]
FileUnit = Annotated[str, Field(min_length=1)]
Step = Annotated[Time, Field(gt=0.0)]
ChannelName = Annotated[
    str,
    BeforeValidator(lambda given: str(given) if type(given) is int else given),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 1}]}),
]
"""Name of a channel, or its number from 1 on."""


class FileMotion(Shaking):
    """What all segments share whose motion comes from files.

    The motion is band-limited and integrated as often as the recorded quantity asks for. ``stroke`` or
    ``length_scale`` play it smaller and faster, by the similitude that leaves accelerations unchanged
    (Froude): displacements times S, times and velocities times √S, accelerations times 1, frequencies times
    1/√S. It holds for every point of the table: angles go times S as well, angular accelerations times 1.
    ``gain`` and ``scale`` are the other law: displacements, velocities and accelerations alike times a
    factor, times and frequencies unchanged.

    For the specimen it means: what stands on the table is a model whose lengths are S times, and whose
    natural frequencies are 1/√S times, those of what the file's motion happened to; forces and strains then
    answer to each other as in the original under the same gravity. A specimen of full size feels the right
    accelerations at the wrong frequencies. A record about an axis whose angle the model is to keep, because
    its lever arms are S times as long as well, takes ``scale: 1/S``, written as a number.
    """

    band: tuple[PlayableFrequency, PlayableFrequency]
    """Frequencies that are played, those of the file: before any scaling of lengths, which raises them. The
    lower one bounds the displacement."""
    baseline: Literal["none", "mean", "linear"] = "mean"
    """What is taken off the recorded values first: nothing, their mean, or the best straight line."""
    start: Annotated[Time, Field(ge=0.0)] = 0.0
    """Where the part that is played begins, from the first value on."""
    duration: Duration | None = None
    """Length of the part that is played, in the file's time; all that follows if left out."""
    stroke: Annotated[Length, Field(gt=0.0)] | None = None
    """Largest displacement of any axis of the segment, before the profile's gain; lengths are scaled down to
    it, and never up."""
    length_scale: Annotated[Ratio, Field(ge=0.001, le=1.0)] | None = None
    """S itself, instead of the stroke."""

    _ascending = field_validator("band")(ascending_band)

    @field_validator("length_scale")
    @classmethod
    def _one_scaling(cls, length_scale: float | None, info: ValidationInfo) -> float | None:
        if length_scale is not None and info.data.get("stroke") is not None:
            raise ValueError("give either stroke or length_scale, not both")
        return length_scale


class RecordComponent(Settings):
    """One channel of a file on one axis."""

    file: Annotated[str, Field(min_length=1)]
    """File of any known format; a relative path starts at the profile's own folder."""
    channel: ChannelName | None = None
    """Name of the channel, or its number from 1 on; a file with a single one needs none."""
    unit: FileUnit | None = None
    """Unit of the values. Due where the file states none, else it must agree: nothing is guessed."""
    step: Step | None = None
    """Time from value to value. Due where the file states none, else it must agree."""
    scale: Ratio = 1.0
    """Multiplies the recorded values; negative turns them round."""

    @field_validator("file")
    @classmethod
    def _found(cls, file: str, info: ValidationInfo) -> str:
        return beside(file, info)


class RecordAxes(Settings):
    """Which channel moves which axis: acceleration, velocity or displacement, about an axis angular ones."""

    surge: RecordComponent | None = None
    sway: RecordComponent | None = None
    heave: RecordComponent | None = None
    roll: RecordComponent | None = None
    pitch: RecordComponent | None = None
    yaw: RecordComponent | None = None


class Record(FileMotion):
    """A record of motion, one channel for each axis, for instance of an earthquake.

    Channels of different steps, lengths and starts go onto one time base: by the start times that the files
    state, where all of them do; else all files begin together.
    """

    kind: Literal["record"]
    axes: RecordAxes


class MeasuredChannel(Settings):
    """One channel: the motion of a point of the table along an axis of the table."""

    at: Point
    """The point in table axes P, from C."""
    along: Along
    """Table axis along which it is positive."""
    unit: FileUnit | None = None
    """Unit of the values. Due where the file states none, else it must agree: nothing is guessed."""
    scale: Ratio = 1.0
    """Multiplies the recorded values; negative turns them round."""


class Measured(FileMotion):
    """The rigid motion of the table that comes nearest to several measured channels (least squares)."""

    kind: Literal["measured"]
    file: Annotated[str, Field(min_length=1)]
    """File of any known format; a relative path starts at the profile's own folder."""
    step: Step | None = None
    """Time from value to value. Due where the file states none, else it must agree."""
    channels: Annotated[dict[str, MeasuredChannel], Field(min_length=1, max_length=MAX_CHANNELS)]
    """By their names in the file, or their numbers from 1 on in quotes."""
    axes: Annotated[tuple[Axis, ...], Field(min_length=1, max_length=6)]
    """Axes that move; what the others would add to the channels is left out."""

    @field_validator("file")
    @classmethod
    def _found(cls, file: str, info: ValidationInfo) -> str:
        return beside(file, info)

    @field_validator("axes")
    @classmethod
    def _enough_channels(cls, axes: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        twice: list[Problem] = [
            ((k,), f"{name} is listed twice") for k, name in enumerate(axes) if name in axes[:k]
        ]
        refuse(twice)
        channels = info.data.get("channels")
        if channels is not None and len(channels) < len(axes):
            raise ValueError(f"{len(axes)} axes cannot be determined from {len(channels)} channels")
        return axes


class DriveChannel(Settings):
    """The channel of a drive that moves one axis."""

    channel: ChannelName | None = None
    """Name of the channel, or its number from 1 on; the name of the axis if left out."""
    unit: FileUnit | None = None
    """Unit of the values, a length or an angle. Due where the file states none, else it must agree."""
    scale: Ratio = 1.0
    """Multiplies the values; negative turns them round."""


class DriveChannels(Settings):
    """Which channel of a drive moves which axis; what is left out stands still."""

    surge: DriveChannel | None = None
    sway: DriveChannel | None = None
    heave: DriveChannel | None = None
    roll: DriveChannel | None = None
    pitch: DriveChannel | None = None
    yaw: DriveChannel | None = None


ALL_AXES = DriveChannels(**{name: DriveChannel() for name in AXES})
"""Six channels with the names of the axes."""


class Drive(Settings):
    """Displacements of the commanded point, played as they stand: no filter, no baseline, no fade.

    The file begins and ends at rest, at neutral. Between values that are more than a millisecond apart the
    motion follows the quintic spline through them.
    """

    kind: Literal["drive"]
    file: Annotated[str, Field(min_length=1)]
    """File of any known format; a relative path starts at the profile's own folder."""
    channels: DriveChannels = ALL_AXES
    """If left out, six channels called surge, sway, heave, roll, pitch and yaw."""
    step: Step | None = None
    """Time from value to value, 1 ms at least. Due where the file states none, else it must agree."""
    band: tuple[PlayableFrequency, PlayableFrequency]
    """Frequencies in which the run is judged; nothing is filtered by them."""
    gain: Ratio = 1.0
    """Multiplies the motion."""
    repeats: Repeats = 1
    """How often the segment is played."""

    _ascending = field_validator("band")(ascending_band)

    @field_validator("file")
    @classmethod
    def _found(cls, file: str, info: ValidationInfo) -> str:
        return beside(file, info)
