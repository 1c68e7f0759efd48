"""Units as files spell them (``cm/sec/sec``, ``m/s^2``, ``gal``, ``kN``, ``°``), and their value in SI.

Built on the units that settings know (``mastd.units``) and their factors; what is added here is spelling, and
units that only files use. ``g`` is standard gravity, as everywhere in the product. A unit that is not known
is no error: values then keep it, and only what needs its meaning refuses it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Final

from mastd.units import DIMENSIONS

_INCH: Final = Fraction("0.0254")
_POUND: Final = Fraction("0.45359237")
_GRAVITY: Final = Fraction("9.80665")


@dataclass(frozen=True)
class SiUnit:
    """Meaning of a unit: SI value = ``factor`` · value + ``offset``, in the SI unit ``symbol``.

    ``dimension`` is the quantity's name ("acceleration"), "" for one that only files use.
    """

    symbol: str
    factor: float
    offset: float = 0.0
    dimension: str = ""


_MORE: Final[dict[str, tuple[str, Fraction, str]]] = {
    "gal": ("m/s2", Fraction("0.01"), "acceleration"),
    "mgal": ("m/s2", Fraction("1e-5"), "acceleration"),
    "mg": ("m/s2", _GRAVITY / 1000, "acceleration"),
    "g/10": ("m/s2", _GRAVITY / 10, "acceleration"),
    "in/s2": ("m/s2", _INCH, "acceleration"),
    "ft/s2": ("m/s2", 12 * _INCH, "acceleration"),
    "um/s2": ("m/s2", Fraction("1e-6"), "acceleration"),
    "km/s2": ("m/s2", Fraction(1000), "acceleration"),
    "cm/s": ("m/s", Fraction("0.01"), "velocity"),
    "in/s": ("m/s", _INCH, "velocity"),
    "ft/s": ("m/s", 12 * _INCH, "velocity"),
    "mph": ("m/s", Fraction("0.44704"), "velocity"),
    "in": ("m", _INCH, "length"),
    "ft": ("m", 12 * _INCH, "length"),
    "lbf": ("N", _POUND * _GRAVITY, "force"),
    "kip": ("N", 1000 * _POUND * _GRAVITY, "force"),
    "kgf": ("N", _GRAVITY, "force"),
    "psi": ("Pa", _POUND * _GRAVITY / _INCH**2, "pressure"),
    "n mm": ("N m", Fraction("1e-3"), "moment"),
    "lbf ft": ("N m", _POUND * _GRAVITY * 12 * _INCH, "moment"),
    "lbf in": ("N m", _POUND * _GRAVITY * _INCH, "moment"),
    "v": ("V", Fraction(1), ""),
    "mv": ("V", Fraction("1e-3"), ""),
    "a": ("A", Fraction(1), ""),
    "ma": ("A", Fraction("1e-3"), ""),
    "1": ("1", Fraction(1), "ratio"),
    "m/m": ("1", Fraction(1), "ratio"),
    "um/m": ("1", Fraction("1e-6"), "ratio"),
    "counts": ("counts", Fraction(1), ""),
}
_UNIT_TEXTS: Final = {
    "meters": "m",
    "meter": "m",
    "metres": "m",
    "metre": "m",
    "millimeters": "mm",
    "millimeter": "mm",
    "millimetres": "mm",
    "centimeters": "cm",
    "centimeter": "cm",
    "centimetres": "cm",
    "cms": "cm",
    "inches": "in",
    "inch": "in",
    "feet": "ft",
    "foot": "ft",
    "seconds": "s",
    "second": "s",
    "sec": "s",
    "secs": "s",
    "msec": "ms",
    "milliseconds": "ms",
    "millisecond": "ms",
    "minutes": "min",
    "minute": "min",
    "microseconds": "us",
    "usec": "us",
    "newtons": "N",
    "newton": "N",
    "lbs": "lbf",
    "lb": "lbf",
    "degrees": "deg",
    "degree": "deg",
    "radians": "rad",
    "radian": "rad",
    "volts": "V",
    "volt": "V",
    "gs": "g",
    "g's": "g",
    "gals": "gal",
    "gn": "g",
    "gee": "g",
    "kph": "km/h",
    "kmh": "km/h",
    "count": "counts",
    "pascal": "Pa",
    "percent": "%",
    "dimensionless": "1",
    "nm": "N m",
    "knm": "kN m",
    "fps": "ft/s",
    "ips": "in/s",
}
"""Words for units, small letters; ``nm`` in a load or vehicle file is a moment, never a nanometre."""
_CAPITALS_TOO: Final = "gmsN"
"""Units of one letter that are also meant by the other case. Mega and milli are never told by guessing: what
begins with M is found by its exact spelling only."""
_SQUARE: Final = re.compile(r"(?<=[a-z])(?:\^|\*\*)?\(?([23])\)?$", re.IGNORECASE)
_MARKS: Final = str.maketrans({"²": "2", "³": "3", "·": " ", "⋅": " ", "µ": "u", "μ": "u", "°": "deg"})


@cache
def si_unit(spelled: str) -> SiUnit | None:
    """Return the meaning of a unit as a file spells it, None for one that is not known, or for ""."""
    text = " ".join(spelled.translate(_MARKS).split())
    if not text or len(text) > 40:
        return None
    exact, small = _tables()
    if text in exact:
        return exact[text]
    text = text.strip("[]() ")
    for candidate in dict.fromkeys((text, _normal(text))):
        if candidate in exact:
            return exact[candidate]
    return small.get(_normal(text).casefold())


def _normal(text: str) -> str:
    """Return a unit with one spelling of powers, products and words: ``cm/sec/sec`` is ``cm/s2``."""
    text = re.sub(r"\s*/\s*", "/", text)
    text = re.sub(r"\bper\b", "/", text).replace(" / ", "/")
    parts = [_word(part) for part in text.split("/")]
    if len(parts) == 3 and parts[1] == parts[2]:
        parts = [parts[0], f"{parts[1]}2"]
    return "/".join(parts)


def _word(part: str) -> str:
    words = []
    for word in re.split(r"[\s*.\-]+(?![\d])", _SQUARE.sub(r"\1", part.strip().replace("**", "^"))):
        power = word[-1] if len(word) > 1 and word[-1] in "23" and word[:-1].isalpha() else ""
        stem = word[: len(word) - len(power)].strip("()^")
        words.append(_UNIT_TEXTS.get(stem.lower(), stem) + power)
    return " ".join(word for word in words if word)


@cache
def _tables() -> tuple[dict[str, SiUnit], dict[str, SiUnit]]:
    """Return the known units by exact spelling, and in small letters where that can mean one unit only."""
    exact: dict[str, SiUnit] = {}
    for dimension in DIMENSIONS:
        for unit in dimension.units:
            if unit.symbol:
                exact[unit.symbol] = SiUnit(
                    dimension.si or "1", float(unit.factor), float(unit.offset), dimension.name
                )
    small: dict[str, SiUnit] = {}
    doubtful: set[str] = set()
    for symbol, meaning in exact.items():
        if symbol[0] == "M" or (len(symbol) == 1 and symbol not in _CAPITALS_TOO):
            continue
        key = symbol.casefold()
        if key in small and small[key] != meaning:
            doubtful.add(key)
        small[key] = meaning
    for key in doubtful:
        del small[key]
    for symbol, (si, factor, dimension_name) in _MORE.items():
        small.setdefault(symbol.casefold(), SiUnit(si, float(factor), 0.0, dimension_name))
    return exact, small
