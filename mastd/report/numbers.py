"""Numbers, times and other data of a record as words; what is not there is a dash."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from typing import Any, Final

NOTHING: Final = "–"


def figure(value: object, factor: float = 1.0, digits: int = 4) -> str:
    """Return a number to so many significant digits."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return NOTHING
    return f"{factor * value:.{digits}g}".replace("-", "−")


def quantity(value: object, unit: str, factor: float = 1.0) -> str:
    """Return a number with its unit."""
    text = figure(value, factor)
    return text if text == NOTHING else f"{text} {unit}"


def seconds(time: float, digits: int = 1) -> str:
    """Return a time in s with so many decimals."""
    return f"{time:.{digits}f}".replace("-", "−")


def moment(unix: object) -> str:
    """Return a wall time in the local time zone, with its offset from UTC."""
    if isinstance(unix, bool) or not isinstance(unix, int | float) or not 0 <= unix < 1e11:
        return "unknown"
    return datetime.datetime.fromtimestamp(unix).astimezone().strftime("%Y-%m-%d %H:%M:%S %z")


def part(value: object, *keys: str) -> Any:
    """Return the value at a path of keys, None where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def group(value: object, *keys: str) -> Mapping[str, Any]:
    """Return the mapping at a path of keys, an empty one where there is none."""
    found = part(value, *keys)
    return found if isinstance(found, Mapping) else {}


def counted(number: int, what: str) -> str:
    """Return a number with its noun: 1 frame, 2 frames."""
    return f"{number} {what}" + ("" if number == 1 else "s")


def plain(value: object) -> str:
    """Return data as one line of text."""
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {plain(item)}" for key, item in value.items()) or NOTHING
    if isinstance(value, list | tuple):
        return ", ".join(plain(item) for item in value) or NOTHING
    return " ".join(str(value).split())
