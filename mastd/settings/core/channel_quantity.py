"""Quantities of a channel whose unit depends on its name: read with the unit that they carry."""

from __future__ import annotations

import math
from typing import Any, Final

from mastd import units
from mastd.units import Dimension

_BY_UNIT: Final[dict[str, Dimension]] = {dimension.si or "1": dimension for dimension in units.DIMENSIONS}
ONE: Final[dict[str, Any]] = {
    "anyOf": [
        {"type": "number", "examples": [0.5]},
        {"type": "string", "pattern": rf"^\s*{units.NUMBER_PATTERN}\s*\S.*$", "examples": ["20 kN"]},
    ]
}
"""JSON schema of one such quantity."""
SIZE: Final[dict[str, Any]] = {"anyOf": [*ONE["anyOf"], {"type": "null"}]}
"""JSON schema of one, or none."""
PAIR: Final[dict[str, Any]] = {"type": "array", "items": ONE, "minItems": 2, "maxItems": 2}
"""JSON schema of lowest and highest."""


def read_quantity(value: object, unit: str | None, *, per_second: bool, from_file: bool) -> float:
    """Return the SI value of a quantity in ``unit`` (None: the one it carries), or of its change per second.

    Raises ValueError for what is no finite number, and for one from a file without its unit.
    """
    if isinstance(value, str):
        return _parse(value, unit, per_second)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("expected a finite number with its unit")
    if from_file and (per_second or unit not in {None, "1"}):
        what = f"the channel's is {unit}{'/s' if per_second else ''}" if unit else "it needs one"
        raise ValueError(f"{value} has no unit, {what}")
    return float(value)


def positive(size: float) -> float:
    """Return ``size``; raise ValueError unless it is above 0."""
    if not size > 0.0:
        raise ValueError(f"is {size:g}, it must be above 0")
    return size


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
        expected = f"expected a number and {unit or 'a unit'}{'/s' if per_second else ''}"
        raise ValueError(f"{text!r} cannot be read: {expected}")
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
