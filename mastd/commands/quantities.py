"""Options of a command line that carry their unit."""

from __future__ import annotations

from mastd import units
from mastd.errors import UsageError


def quantity(option: str, text: str, dimension: units.Dimension) -> float:
    """Parse an option's quantity to its SI value; UsageError names the expected form."""
    try:
        return units.parse(text, dimension)
    except units.UnitError as error:
        raise UsageError(f"{option}: {error}") from error


def positive(option: str, text: str, dimension: units.Dimension) -> float:
    """Return the SI value of an option's quantity that must be above zero."""
    value = quantity(option, text, dimension)
    if not value > 0.0:
        raise UsageError(f"{option}: {text} is not above zero")
    return value
