"""Limits that a profile sets on recorded channels.

Which channels there are, and in which units, depends on the table. Who loads a profile for a table gives them
as ``channels`` (name → SI unit) in the validation context; then an unknown channel and a wrong unit are
refused at their place. Without them quantities are read by the unit they carry.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field, ValidationInfo, WithJsonSchema, field_validator

from mastd.settings.core.base import Problem, Settings, refuse
from mastd.settings.core.channel_quantity import ONE, PAIR, SIZE, positive, read_quantity
from mastd.settings.core.quantity import Time

MAX_LIMITS: Final = 20
"""Limits that one profile may set."""

MAX_WINDOW: Final = 10.0
"""Longest window of an effective value in s."""

CHANNELS: Final = "channels"
"""Key of the validation context: name → SI unit of every recorded channel."""

_BOUNDS: Final[dict[str, Any]] = {"anyOf": [*ONE["anyOf"], PAIR, {"type": "null"}]}


class ChannelLimitSettings(Settings):
    """What a recorded channel may do while the profile plays, and what happens otherwise."""

    channel: str
    """Name of the channel as in the record, for instance pose.heave, force.3, accelerometer.2."""
    value: Annotated[tuple[float, float] | None, WithJsonSchema(_BOUNDS)] = None
    """Lowest and highest value; a single one bounds the size in either direction."""
    rate: Annotated[float | None, WithJsonSchema(SIZE)] = None
    """Greatest size of the change per second, from one cycle to the next."""
    rms: Annotated[float | None, WithJsonSchema(SIZE)] = None
    """Greatest effective value (about zero) over the window."""
    window: Annotated[Time, Field(gt=0.0, le=MAX_WINDOW)] = 1.0
    """Window of the effective value."""
    action: Literal["indicate", "hold", "stop", "power-off"]
    """What happens beyond the limit."""
    delay: Annotated[Time, Field(ge=0.0, le=60.0)] = 0.0
    """Time the channel may stay beyond the limit."""

    @field_validator("channel")
    @classmethod
    def _recorded(cls, channel: str, info: ValidationInfo) -> str:
        known = _channels(info)
        if known is not None and channel not in known:
            close = difflib.get_close_matches(channel, known, n=1, cutoff=0.5)
            hint = f"did you mean {close[0]!r}?" if close else "for instance pose.heave or force.3"
            raise ValueError(f"no channel {channel!r} is recorded, {hint}")
        return channel

    @field_validator("value", mode="before")
    @classmethod
    def _bounds(cls, value: object, info: ValidationInfo) -> object:
        if value is None:
            return None
        if not isinstance(value, list | tuple):
            size = positive(_read(value, info, False))
            return (-size, size)
        if len(value) != 2:
            raise ValueError(f"{len(value)} items: expected lowest and highest")
        numbers: list[float] = []
        problems: list[Problem] = []
        for index, item in enumerate(value):
            try:
                numbers.append(_read(item, info, False))
            except ValueError as error:
                problems.append(((index,), str(error)))
        refuse(problems)
        if not numbers[0] < numbers[1]:
            raise ValueError("the lower end must come first")
        return tuple(numbers)

    @field_validator("rate", mode="before")
    @classmethod
    def _rate(cls, value: object, info: ValidationInfo) -> float | None:
        return None if value is None else positive(_read(value, info, True))

    @field_validator("rms", mode="before")
    @classmethod
    def _rms(cls, value: object, info: ValidationInfo) -> float | None:
        return None if value is None else positive(_read(value, info, False))

    @field_validator("action")
    @classmethod
    def _limits_something(cls, action: str, info: ValidationInfo) -> str:
        bounds = [info.data.get(name, math.nan) for name in ("value", "rate", "rms")]
        if all(bound is None for bound in bounds):
            raise ValueError("no limit given: set value, rate or rms")
        return action


def _channels(info: ValidationInfo) -> Mapping[str, str] | None:
    channels: Mapping[str, str] | None = (info.context or {}).get(CHANNELS)
    return channels


def _read(value: object, info: ValidationInfo, per_second: bool) -> float:
    """Return the SI value of a quantity of the limit's channel, or of its change per second."""
    unit = (_channels(info) or {}).get(info.data.get("channel", ""))
    from_file = bool((info.context or {}).get("from_file"))
    return read_quantity(value, unit, per_second=per_second, from_file=from_file)
