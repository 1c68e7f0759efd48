"""Units that settings and command lines may use, and their exact conversion to SI.

Inside the product every number is SI. A quantity in text is a decimal number followed by one of the unit
symbols below, ``5 mm`` or ``5mm``; each symbol belongs to exactly one dimension, so ``g`` is the standard
acceleration of gravity and never a gram. Conversion is done in rational arithmetic and rounded once:
``1400 mm`` is the float 1.4.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

STANDARD_GRAVITY: Final = 9.80665
"""Standard acceleration of gravity in m/s2 (3rd CGPM 1901): the value of the unit ``g``."""

_MAX_TEXT_LENGTH = 80
NUMBER_PATTERN: Final = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"
_QUANTITY = re.compile(rf"({NUMBER_PATTERN})\s*(.*)", re.DOTALL | re.ASCII)
_LEADING_ZERO = re.compile(r"[+-]?0[0-9]")
_OTHER_SPELLINGS = str.maketrans(
    {"²": "2", "³": "3", "^": "", "·": " ", "*": " ", "µ": "u", "μ": "u", "°": "deg"}
)


class UnitError(ValueError):
    """A text is not a quantity of the dimension that is expected; the message says what would be right."""


@dataclass(frozen=True)
class Unit:
    """One unit: SI value = factor · (number) + offset."""

    symbol: str
    factor: Fraction
    offset: Fraction = Fraction(0)


@dataclass(frozen=True)
class Dimension:
    """A physical dimension with the units it may be written in; the first one is SI.

    ``bare`` allows a number without unit, ``lowest`` is the smallest value that exists (absolute zero).
    """

    name: str
    units: tuple[Unit, ...]
    example: str
    bare: bool = False
    lowest: float = -math.inf

    @property
    def si(self) -> str:
        """Symbol of the SI unit."""
        return self.units[0].symbol

    @property
    def phrase(self) -> str:
        """Name with its article, for messages."""
        return f"{'an' if self.name[0] in 'aeiou' else 'a'} {self.name}"

    def unit(self, symbol: str) -> Unit | None:
        """Return the unit of this symbol, None if the dimension does not know it."""
        return next((unit for unit in self.units if unit.symbol == symbol), None)


def _dimension(
    name: str, example: str, *units: tuple[str, int | str | Fraction], bare: bool = False
) -> Dimension:
    built = tuple(Unit(symbol, Fraction(factor)) for symbol, factor in units)
    return Dimension(name, built, example, bare)


_G = Fraction("9.80665")
_DEGREE = Fraction(math.pi) / 180
_KM_PER_H = Fraction(1000, 3600)
_MINUTE = Fraction(1, 60)

LENGTH = _dimension("length", "5 mm", ("m", 1), ("mm", "1e-3"), ("cm", "1e-2"), ("um", "1e-6"), ("km", 1000))
VELOCITY = _dimension("velocity", "0.1 m/s", ("m/s", 1), ("mm/s", "1e-3"), ("km/h", _KM_PER_H))
ACCELERATION = _dimension(
    "acceleration", "0.3 g", ("m/s2", 1), ("mm/s2", "1e-3"), ("cm/s2", "1e-2"), ("g", _G)
)
JERK = _dimension("jerk", "20 m/s3", ("m/s3", 1), ("mm/s3", "1e-3"), ("g/s", _G))
ANGLE = _dimension("angle", "0.5 deg", ("rad", 1), ("deg", _DEGREE), ("mrad", "1e-3"))
ANGULAR_VELOCITY = _dimension(
    "angular velocity", "2 deg/s", ("rad/s", 1), ("deg/s", _DEGREE), ("mrad/s", "1e-3"), ("rpm", 6 * _DEGREE)
)
ANGULAR_ACCELERATION = _dimension("angular acceleration", "1.5 rad/s2", ("rad/s2", 1), ("deg/s2", _DEGREE))
ANGULAR_JERK = _dimension("angular jerk", "20 rad/s3", ("rad/s3", 1), ("deg/s3", _DEGREE))
TIME = _dimension("time", "20 ms", ("s", 1), ("ms", "1e-3"), ("us", "1e-6"), ("min", 60), ("h", 3600))
FREQUENCY = _dimension("frequency", "5 Hz", ("Hz", 1), ("kHz", 1000))
RATE = _dimension("rate", "25 1/s", ("1/s", 1), ("1/ms", 1000))
MASS = _dimension("mass", "12 t", ("kg", 1), ("t", 1000))
INERTIA = _dimension("inertia", "14600 kg m2", ("kg m2", 1), ("t m2", 1000), ("kg cm2", "1e-4"))
FORCE = _dimension("force", "196 kN", ("N", 1), ("kN", 1000), ("MN", 1000000))
POWER = _dimension("power", "2 kW", ("W", 1), ("kW", 1000), ("MW", 1000000))
MOMENT = _dimension("moment", "10 kN m", ("N m", 1), ("kN m", 1000), ("MN m", 1000000))
PRESSURE = _dimension(
    "pressure", "210 bar", ("Pa", 1), ("kPa", 1000), ("MPa", 1000000), ("GPa", 10**9), ("bar", 100000)
)
VOLUME = _dimension("volume", "50 L", ("m3", 1), ("L", "1e-3"), ("cm3", "1e-6"))
FLOW = _dimension(
    "flow",
    "265 L/min",
    ("m3/s", 1),
    ("L/min", _MINUTE / 1000),
    ("L/s", "1e-3"),
    ("m3/min", _MINUTE),
    ("m3/h", _MINUTE / 60),
)
AREA = _dimension("area", "95 cm2", ("m2", 1), ("cm2", "1e-4"), ("mm2", "1e-6"))
DENSITY = _dimension("density", "1.2 kg/m3", ("kg/m3", 1))
TEMPERATURE = Dimension(
    "temperature",
    (Unit("K", Fraction(1)), Unit("degC", Fraction(1), Fraction("273.15"))),
    "45 degC",
    lowest=0.0,
)
OIL_LEAKAGE = _dimension(
    "leakage", "5e-12 m3/(s Pa)", ("m3/(s Pa)", 1), ("L/(min bar)", _MINUTE / 1000 / 100000)
)
STIFFNESS = _dimension(
    "stiffness", "200 MN/m", ("N/m", 1), ("kN/m", 1000), ("MN/m", 10**6), ("N/mm", 1000), ("kN/mm", 10**6)
)
DAMPING = _dimension(
    "damping", "5 kN s/m", ("N s/m", 1), ("kN s/m", 1000), ("MN s/m", 10**6), ("N s/mm", 1000)
)
TORSIONAL_STIFFNESS = _dimension(
    "torsional stiffness", "9 kN m/rad", ("N m/rad", 1), ("kN m/rad", 1000), ("N m/deg", 1 / _DEGREE)
)
TORSIONAL_DAMPING = _dimension(
    "torsional damping", "20 N m s/rad", ("N m s/rad", 1), ("kN m s/rad", 1000), ("N m s/deg", 1 / _DEGREE)
)
SLIP_ANGLE_GAIN = _dimension(
    "cornering stiffness per wheel load", "14 1/rad", ("1/rad", 1), ("1/deg", 1 / _DEGREE)
)
RATIO = _dimension("ratio", "0.9", ("", 1), ("%", "1e-2"), bare=True)
SWEEP_RATE = _dimension("sweep rate", "1 oct/min", ("oct/s", 1), ("oct/min", _MINUTE))
ACCELERATION_DENSITY = _dimension(
    "acceleration density", "0.01 g2/Hz", ("(m/s2)2/Hz", 1), ("(mm/s2)2/Hz", "1e-6"), ("g2/Hz", _G * _G)
)
ANGULAR_ACCELERATION_DENSITY = _dimension(
    "angular acceleration density",
    "0.01 (rad/s2)2/Hz",
    ("(rad/s2)2/Hz", 1),
    ("(deg/s2)2/Hz", _DEGREE * _DEGREE),
)

DIMENSIONS: Final[tuple[Dimension, ...]] = tuple(
    value for value in list(globals().values()) if isinstance(value, Dimension)
)
_BY_SYMBOL: Final = {unit.symbol: dimension for dimension in DIMENSIONS for unit in dimension.units}


def parse(text: str, dimension: Dimension) -> float:
    """Return the SI value of a quantity like ``5 mm``; raise UnitError with what would be right."""
    stripped = text.strip()
    shown = repr(stripped[:_MAX_TEXT_LENGTH])
    match = _match(stripped)
    if match is None:
        raise UnitError(_not_a_number(stripped, shown, dimension))
    number, symbol = match.groups()
    symbol = " ".join(symbol.split())
    if _LEADING_ZERO.match(number):
        raise UnitError(f"{shown} has a leading zero, which some programs read as octal: remove it")
    unit = dimension.unit(symbol)
    if unit is None:
        raise UnitError(_wrong_unit(stripped, number, symbol, dimension))
    try:
        value = float(Fraction(number) * unit.factor + unit.offset)
    except OverflowError:
        raise UnitError(f"{shown} is not finite") from None
    if not (value >= dimension.lowest):
        raise UnitError(
            f"{shown} does not exist: the minimum {dimension.name} is {dimension.lowest:g} {dimension.si}"
        )
    return value


def text(value: float, dimension: Dimension) -> str:
    """Return the quantity in its SI unit; ``parse`` gives exactly the same value back."""
    return f"{value!r} {dimension.si}".strip()


def choices(dimension: Dimension) -> str:
    """Return the units of a dimension for a message, with an example."""
    symbols = ", ".join(unit.symbol for unit in dimension.units if unit.symbol)
    return f"{symbols}; for instance {dimension.example}"


def bare_number(number: str, dimension: Dimension) -> str:
    """Return the message for a number that lacks its unit."""
    return f"{number} has no unit, {dimension.phrase} needs one ({choices(dimension)})"


def unit_of(text_with_unit: str) -> Unit | None:
    """Return the unit a text is written in, None if it is not a quantity."""
    dimension = dimension_of(text_with_unit)
    match = _match(text_with_unit.strip())
    return dimension.unit(" ".join(match[2].split())) if dimension and match else None


def dimension_of(text_with_unit: str) -> Dimension | None:
    """Return the dimension of the unit a text is written in, None if it is not a quantity."""
    match = _match(text_with_unit.strip())
    return _BY_SYMBOL.get(" ".join(match[2].split())) if match else None


def _match(stripped: str) -> re.Match[str] | None:
    """Return number and symbol; long text is not tried, the pattern's time grows with its square."""
    return _QUANTITY.fullmatch(stripped) if len(stripped) <= _MAX_TEXT_LENGTH else None


def _not_a_number(stripped: str, shown: str, dimension: Dimension) -> str:
    first = stripped.split(" ", maxsplit=1)[0].lower().lstrip("+-.")
    if first in {"nan", "inf", "infinity"}:
        return f"{shown} is not finite"
    if re.match(r"[+-]?[0-9]+,[0-9]", stripped):
        return f"{shown} has a comma: use a decimal point"
    return f"{shown} is not {dimension.phrase}, expected a number and a unit ({choices(dimension)})"


def _wrong_unit(stripped: str, number: str, symbol: str, dimension: Dimension) -> str:
    if not symbol:
        return bare_number(number, dimension)
    if symbol[0] == ",":
        return f"{stripped!r} has a comma: use a decimal point"
    if symbol[0] == "_":
        return f"{stripped!r} has an underscore between digits: remove it"
    other = _BY_SYMBOL.get(symbol)
    if other is not None:
        note = " (standard gravity)" if symbol == "g" else ""
        expected = f"{dimension.phrase} ({choices(dimension)})"
        return f"{symbol!r} is a unit of {other.name}{note}, expected {expected}"
    symbols = [unit.symbol for unit in dimension.units if unit.symbol]
    # Only another spelling is suggested: a similar symbol may be a unit of another magnitude.
    same = [known for known in symbols if _spelled(known) == _spelled(symbol)]
    if same:
        return f"unknown unit {symbol!r}, did you mean {number} {same[0]}? ({choices(dimension)})"
    return f"unknown unit {symbol!r}, expected {dimension.phrase} ({choices(dimension)})"


def _spelled(symbol: str) -> str:
    """Return a symbol without what differs between spellings: case, spaces, signs."""
    return "".join(symbol.translate(_OTHER_SPELLINGS).split()).casefold()
