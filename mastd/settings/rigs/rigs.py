"""Settings of the rigs that may join: who they are, what they give, within which bounds, and their loss.

A rig is a program or a test stand outside, which joins the running table through a socket (docs/protocol.md,
"Rigs"). It may only give what stands here; everything it gives is clipped to the range, limited in its rate,
and replaced when it is lost, by the daemon.
"""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal

from pydantic import Field, ValidationInfo, WithJsonSchema, field_validator

from mastd.settings.core.base import Problem, Settings, refuse
from mastd.settings.core.channel_quantity import PAIR, SIZE, positive, read_quantity
from mastd.settings.core.quantity import Rate, Time
from mastd.settings.rigs.channels import (
    AUXILIARY,
    MAX_CHANNELS,
    MAX_RIGS,
    POSE,
    POSE_ACCELERATIONS,
    POSE_RATES,
    REQUIRED,
    SIGNALS,
    Signal,
    choices,
    signal,
)

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,29}")
MAX_UNIT_LENGTH: Final = 20
_RANGE: Final = {"anyOf": [PAIR, {"type": "null"}]}


class RigChannelSettings(Settings):
    """One number that a rig gives."""

    channel: str
    """steering, throttle, brake, clutch, gear, wheel_torque.WHEEL, damper_force.WHEEL or auxiliary.NAME of a
    rig of kind signals; of the other kinds one of the channels that they have."""
    unit: str | None = None
    """SI unit of an auxiliary channel; the others have theirs."""
    range: Annotated[tuple[float, float] | None, WithJsonSchema(_RANGE)] = None
    """Lowest and highest value; what lies outside is brought to the nearer end. Left out: the usual."""
    rate_limit: Annotated[float | None, WithJsonSchema(SIZE)] = None
    """Greatest change per second of what the table sees; left out, none."""
    neutral: Annotated[float | None, WithJsonSchema(SIZE)] = None
    """What stands here before the rig has given anything, and what a ramp goes to; left out, 0, and for
    seat.specific_force.z what is felt at rest, 9.80665 m/s2."""
    on_loss: Literal["hold", "ramp", "stop", "fault"] = "ramp"
    """When the rig is lost: the last value stays; it goes to neutral; the table stops softly, and it goes to
    neutral; the supply is switched off."""

    @field_validator("unit")
    @classmethod
    def _is_short(cls, unit: str | None) -> str | None:
        if unit is not None and not (unit.isprintable() and 0 < len(unit) <= MAX_UNIT_LENGTH):
            raise ValueError(f"a unit has 1 to {MAX_UNIT_LENGTH} printable characters")
        return unit

    @field_validator("range", mode="before")
    @classmethod
    def _ends(cls, value: object, info: ValidationInfo) -> object:
        if value is None:
            return None
        if not isinstance(value, list | tuple) or len(value) != 2:
            raise ValueError("expected [lowest, highest], for instance [-1, 1]")
        low, high = (_read(item, info, per_second=False) for item in value)
        if not low < high:
            raise ValueError("the lower end must come first")
        return (low, high)

    @field_validator("rate_limit", mode="before")
    @classmethod
    def _change(cls, value: object, info: ValidationInfo) -> float | None:
        return None if value is None else positive(_read(value, info, per_second=True))

    @field_validator("neutral", mode="before")
    @classmethod
    def _rest(cls, value: object, info: ValidationInfo) -> float | None:
        return None if value is None else _read(value, info, per_second=False)


def _read(value: object, info: ValidationInfo, *, per_second: bool) -> float:
    unit = info.data.get("unit") or _unit_of(info.data.get("channel", ""))
    from_file = bool((info.context or {}).get("from_file"))
    return read_quantity(value, unit, per_second=per_second, from_file=from_file)


def _unit_of(channel: str) -> str | None:
    for kind in (SIGNALS, *REQUIRED):
        known = signal(kind, channel)
        if known is not None:
            return known.unit or None
    return None


class RigSettings(Settings):
    """One rig that may join."""

    name: str
    """How it calls itself; the key of a rig on another machine has the same name."""
    kind: Literal["signals", "vehicle", "pose", "seat"]
    """signals: single numbers. vehicle: a vehicle on the table, simulated outside, whose forces act on the
    table. pose: where the table is to go. seat: what is felt at the seat of a vehicle driven outside."""
    derivatives: bool = False
    """A rig of kind pose also gives rates and accelerations, and is followed with less lag."""
    channels: Annotated[
        tuple[RigChannelSettings, ...], Field(max_length=MAX_CHANNELS, validate_default=True)
    ] = ()
    """What it gives. Kinds other than signals have theirs; here stands what differs from the usual."""
    timeout: Annotated[Time, Field(ge=0.002, le=10.0)] = 0.05
    """Time without new values after which the rig counts as lost."""
    message_rate: Annotated[Rate, Field(ge=1.0, le=20_000.0)] = 2000.0
    """Messages per second that it may send on average; further ones are dropped and counted."""
    motion_rate: Annotated[Rate, Field(ge=1.0, le=10_000.0)] = 1000.0
    """How often it is sent the table's motion, at most once a period; in lockstep always every period."""
    predict: Annotated[Time, Field(ge=0.0, le=0.02)] = 0.0
    """How far its values may be taken on along their last slope, to make up for their delay; 0 s: not."""
    ramp: Annotated[Time, Field(ge=0.0, le=10.0)] = 0.5
    """Time in which a lost rig's values go to neutral, and a rig's that comes back to what it gives."""

    @field_validator("name")
    @classmethod
    def _valid_name(cls, name: str) -> str:
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"{name!r}: expected lower-case letters, digits and _, at most 30, starting with a letter"
            )
        return name

    @field_validator("derivatives")
    @classmethod
    def _are_of_a_pose(cls, derivatives: bool, info: ValidationInfo) -> bool:
        if derivatives and info.data.get("kind", POSE) != POSE:
            raise ValueError(f"a rig of kind {info.data['kind']} has none: remove it")
        return derivatives

    @field_validator("channels")
    @classmethod
    def _are_known(
        cls, channels: tuple[RigChannelSettings, ...], info: ValidationInfo
    ) -> tuple[RigChannelSettings, ...]:
        kind = info.data.get("kind")
        if kind is None:
            return channels
        problems: list[Problem] = []
        names = [item.channel for item in channels]
        for k, item in enumerate(channels):
            known = signal(kind, item.channel)
            auxiliary = item.channel.startswith(f"{AUXILIARY}.")
            if known is None:
                problems.append(
                    ((k, "channel"), f"a rig of kind {kind} has no {item.channel!r}: {choices(kind)}")
                )
            elif names.index(item.channel) != k:
                problems.append(((k, "channel"), f"{item.channel} is listed twice"))
            elif item.channel in (*POSE_RATES, *POSE_ACCELERATIONS) and not info.data.get("derivatives"):
                problems.append(
                    ((k, "channel"), f"{item.channel} is available with `derivatives: true` only")
                )
            elif auxiliary and item.unit is None:
                problems.append(
                    (
                        (k, "unit"),
                        "unit is missing: an auxiliary channel must state one (1 for dimensionless)",
                    )
                )
            elif not auxiliary and item.unit is not None:
                problems.append(((k, "unit"), f"{item.channel} has the fixed unit {known.unit}: remove it"))
            elif not _bounds(item, known)[0] <= _neutral(item) <= _bounds(item, known)[1]:
                problems.append(((k, "neutral"), f"neutral, {_neutral(item):g}, is outside the range"))
        if kind == SIGNALS and not channels:
            problems.append(((), f"no channel given: expected one or more of {choices(kind)}"))
        refuse(problems)
        return channels

    def all_channels(self) -> tuple[RigChannel, ...]:
        """Return every channel of the rig, in the order of the numbers in its messages."""
        given = {item.channel: item for item in self.channels}
        names = tuple(given) if self.kind == SIGNALS else REQUIRED[self.kind]
        if self.kind == POSE and self.derivatives:
            names = (*names, *POSE_RATES, *POSE_ACCELERATIONS)
        return tuple(RigChannel.of(self.kind, name, given.get(name)) for name in names)


class RigChannel(Settings):
    """One channel of a rig, with everything that holds for it; SI."""

    name: str
    unit: str
    lowest: float
    highest: float
    rate_limit: float | None
    neutral: float
    on_loss: Literal["hold", "ramp", "stop", "fault"]

    @classmethod
    def of(cls, kind: str, name: str, given: RigChannelSettings | None) -> RigChannel:
        """Return a channel of a rig of ``kind``, as ``given`` in the settings or as usual."""
        known = signal(kind, name)
        assert known is not None
        item = given or RigChannelSettings(channel=name)
        low, high = (min(max(end, -1e300), 1e300) for end in _bounds(item, known))
        return cls(
            name=name,
            unit=item.unit or known.unit,
            lowest=low,
            highest=high,
            rate_limit=item.rate_limit,
            neutral=_neutral(item),
            on_loss=item.on_loss,
        )


def _bounds(item: RigChannelSettings, known: Signal) -> tuple[float, float]:
    return item.range if item.range is not None else (known.lowest, known.highest)


def _neutral(item: RigChannelSettings) -> float:
    """Return what a channel goes to; where it is left out, what says of nothing happening."""
    if item.neutral is not None:
        return item.neutral
    return 9.80665 if item.channel == "seat.specific_force.z" else 0.0


class RigsSettings(Settings):
    """All rigs that may join."""

    rigs: Annotated[tuple[RigSettings, ...], Field(max_length=MAX_RIGS)] = ()

    @field_validator("rigs")
    @classmethod
    def _differ(cls, rigs: tuple[RigSettings, ...]) -> tuple[RigSettings, ...]:
        names = [rig.name for rig in rigs]
        refuse(
            [
                ((k, "name"), f"{name} is listed twice")
                for k, name in enumerate(names)
                if names.index(name) != k
            ]
        )
        return rigs

    def rig(self, name: str) -> RigSettings | None:
        """Return the rig of this name, None if there is none."""
        return next((rig for rig in self.rigs if rig.name == name), None)


NO_RIGS: Final = RigsSettings()
"""Nobody may join."""
