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

from mastd import units
from mastd.settings.base import Problem, Settings, refuse
from mastd.settings.quantity import Time
from mastd.units import Dimension

MOST_LIMITS: Final = 20
"""Limits that one profile may set."""

LONGEST_WINDOW: Final = 10.0
"""Longest window of an effective value in s."""

CHANNELS: Final = "channels"
"""Key of the validation context: name → SI unit of every recorded channel."""

_BY_UNIT: Final[dict[str, Dimension]] = {dimension.si or "1": dimension for dimension in units.DIMENSIONS}
_ONE: Final[dict[str, Any]] = {
    "anyOf": [
        {"type": "number", "examples": [0.5]},
        {"type": "string", "pattern": rf"^\s*{units.NUMBER_PATTERN}\s*\S.*$", "examples": ["20 kN"]},
    ]
}
_SIZE: Final[dict[str, Any]] = {"anyOf": [*_ONE["anyOf"], {"type": "null"}]}
_BOUNDS: Final[dict[str, Any]] = {
    "anyOf": [
        *_ONE["anyOf"],
        {"type": "array", "items": _ONE, "minItems": 2, "maxItems": 2},
        {"type": "null"},
    ]
}


class ChannelLimitSettings(Settings):
    """What a recorded channel may do while the profile plays, and what happens otherwise."""

    channel: str
    """Name of the channel as in the record, for instance pose.heave, force.3, accelerometer.2."""
    value: Annotated[tuple[float, float] | None, WithJsonSchema(_BOUNDS)] = None
    """Lowest and highest value; a single one bounds the size in either direction."""
    rate: Annotated[float | None, WithJsonSchema(_SIZE)] = None
    """Greatest size of the change per second, from one cycle to the next."""
    rms: Annotated[float | None, WithJsonSchema(_SIZE)] = None
    """Greatest effective value (about zero) over the window."""
    window: Annotated[Time, Field(gt=0.0, le=LONGEST_WINDOW)] = 1.0
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
            size = _positive(_read(value, info, False))
            return (-size, size)
        if len(value) != 2:
            raise ValueError(f"{len(value)} items, lowest and highest are due")
        numbers: list[float] = []
        problems: list[Problem] = []
        for index, item in enumerate(value):
            try:
                numbers.append(_read(item, info, False))
            except ValueError as error:
                problems.append(((index,), str(error)))
        refuse(problems)
        if not numbers[0] < numbers[1]:
            raise ValueError("the higher end comes second")
        return tuple(numbers)

    @field_validator("rate", mode="before")
    @classmethod
    def _rate(cls, value: object, info: ValidationInfo) -> float | None:
        return None if value is None else _positive(_read(value, info, True))

    @field_validator("rms", mode="before")
    @classmethod
    def _rms(cls, value: object, info: ValidationInfo) -> float | None:
        return None if value is None else _positive(_read(value, info, False))

    @field_validator("action")
    @classmethod
    def _limits_something(cls, action: str, info: ValidationInfo) -> str:
        bounds = [info.data.get(name, math.nan) for name in ("value", "rate", "rms")]
        if all(bound is None for bound in bounds):
            raise ValueError("nothing is limited, give value, rate or rms")
        return action


def _channels(info: ValidationInfo) -> Mapping[str, str] | None:
    channels: Mapping[str, str] | None = (info.context or {}).get(CHANNELS)
    return channels


def _read(value: object, info: ValidationInfo, per_second: bool) -> float:
    """Return the SI value of a quantity of the limit's channel, or of its change per second."""
    unit = (_channels(info) or {}).get(info.data.get("channel", ""))
    if isinstance(value, str):
        return _parse(value, unit, per_second)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("a finite number with its unit is due")
    if (info.context or {}).get("from_file") and (per_second or unit not in {None, "1"}):
        what = f"the channel's is {unit}{'/s' if per_second else ''}" if unit else "it needs one"
        raise ValueError(f"{value} has no unit, {what}")
    return float(value)


def _parse(text: str, unit: str | None, per_second: bool) -> float:
    """Read a quantity of a channel in ``unit``, or its change per second; None takes the unit it carries.

    Changes that have no unit of their own are written with one: ``5 kN/s``.
    """
    if unit is None:
        dimension = units.dimension_of(text)
    else:
        dimension = _BY_UNIT.get(_per_second(unit) if per_second else unit)
    if dimension is not None:
        return units.parse(text, dimension)
    amount, _, second = text.strip().rpartition("/")
    dimension = units.dimension_of(amount) if unit is None else _BY_UNIT.get(unit)
    if not (per_second and second.strip() == "s") or dimension is None:
        due = f"a number and {unit or 'a unit'}{'/s' if per_second else ''} are due"
        raise ValueError(f"{text!r} cannot be read, {due}")
    value = units.parse(amount, dimension)
    written_in = units.unit_of(amount)
    return value - float(written_in.offset) if written_in else value


def _per_second(unit: str) -> str:
    """Return the SI unit of a change per second: m → m/s → m/s2; 1 → 1/s; N → N/s."""
    if unit.endswith("/s"):
        return f"{unit}2"
    if unit[-3:-1] == "/s":
        return f"{unit[:-1]}{int(unit[-1]) + 1}"
    return f"{unit}/s"


def _positive(size: float) -> float:
    if not size > 0.0:
        raise ValueError(f"is {size:g}, it must be above 0")
    return size
