"""Units of an FMU's variables against those of the table's channels, which are SI.

FMI describes a unit by the powers of its base units, a factor and an offset: a value in SI base units is
factor · value + offset (FMI 2.0.4, section 2.2.2; FMI 3.0.1, section 2.4.4). Where an FMU only names a unit,
the name has to be one of ``mastd.units`` or the channel's own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from mastd import units

Powers = dict[str, Fraction]
"""Powers of base units; one that does not occur is left out."""

BASE: Final = ("kg", "m", "s", "A", "K", "mol", "cd", "rad")
_DERIVED: Final[dict[str, dict[str, int]]] = {
    **{name: {name: 1} for name in BASE},
    "1": {},
    "N": {"kg": 1, "m": 1, "s": -2},
    "Pa": {"kg": 1, "m": -1, "s": -2},
    "J": {"kg": 1, "m": 2, "s": -2},
    "W": {"kg": 1, "m": 2, "s": -3},
    "V": {"kg": 1, "m": 2, "s": -3, "A": -1},
    "Hz": {"s": -1},
}
_FACTOR: Final = re.compile(r"([A-Za-z]+|1)(-?[0-9]+(?:\.[0-9]+)?)?")
_SPELLINGS: Final = str.maketrans({"²": "2", "³": "3", "^": None, "·": " ", "*": " ", "µ": "u", "μ": "u"})


@dataclass(frozen=True)
class DeclaredUnit:
    """A unit as an FMU declares it; ``powers`` None where it only names it."""

    name: str
    powers: Powers | None = None
    factor: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Conversion:
    """SI value = factor · (value in the FMU) + offset."""

    factor: float = 1.0
    offset: float = 0.0

    def to_si(self, value: float) -> float:
        """Return the SI value of one in the FMU's unit."""
        return self.factor * value + self.offset

    def from_si(self, value: float) -> float:
        """Return the value in the FMU's unit."""
        return (value - self.offset) / self.factor


SAME: Final = Conversion()


def powers_of(unit: str) -> Powers | None:
    """Return the powers of base units in a unit like ``kg m2/s``, None for one that is not understood.

    What follows a ``/`` divides up to the next one; factors stand side by side.
    """
    found: Powers = {}
    for k, part in enumerate(unit.replace("(", " ").replace(")", " ").split("/")):
        for word in part.split():
            match = _FACTOR.fullmatch(word)
            if match is None or match[1] not in _DERIVED:
                return None
            power = Fraction(match[2] or 1) * (-1 if k else 1)
            for name, own in _DERIVED[match[1]].items():
                found[name] = found.get(name, Fraction(0)) + own * power
    return {name: power for name, power in found.items() if power}


def named(name: str) -> DeclaredUnit:
    """Return a unit by its name alone."""
    spelled = " ".join(name.translate(_SPELLINGS).replace(".", " ").split())
    for text in (name, spelled):
        dimension = units.dimension_of(f"1 {text}") if text else None
        unit = dimension.unit(" ".join(text.split())) if dimension is not None else None
        if dimension is not None and unit is not None:
            return DeclaredUnit(name, powers_of(dimension.si), float(unit.factor), float(unit.offset))
    return DeclaredUnit(name, powers_of(spelled))


def conversion(declared: DeclaredUnit | None, channel: str, si: str) -> Conversion:
    """Return how a variable of the FMU becomes a channel's value.

    ``si``: the channel's unit. Raises UnitError, naming both, where the FMU's unit is that of another
    quantity, is not known or is missing.
    """
    if declared is None or not declared.name:
        if si in {"1", ""}:
            return SAME
        raise units.UnitError(f"states no unit, {channel} is in {si}: give it with --unit")
    known = declared if declared.powers is not None else named(declared.name)
    due = powers_of(si)
    if known.powers is None or due is None:
        if declared.name == si and known.factor == 1.0 and known.offset == 0.0:
            return SAME
        raise units.UnitError(f"is in {declared.name!r}, which is not known; {channel} is in {si}")
    same = known.powers == due
    if not same and declared.name == si:
        # Many tools leave the radian out of the powers of rad/s and of what else has it in its name.
        same = {**known.powers, "rad": 0} == {**due, "rad": 0}
    if not same:
        raise units.UnitError(f"is in {declared.name}, {channel} is in {si}: not the same quantity")
    if not (known.factor and math.isfinite(known.factor) and math.isfinite(known.offset)):
        raise units.UnitError(f"is in {declared.name}, whose factor makes no sense; {channel} is in {si}")
    return Conversion(known.factor, known.offset)


def declared_powers(exponents: Mapping[str, int]) -> Powers:
    """Return the powers of a declaration's base units."""
    return {name: Fraction(power) for name, power in exponents.items() if power}
