"""Names, units and needs of Magic Formula tyre property files (.tir)."""

from __future__ import annotations

import math
from typing import Final, Literal

Format = Literal["PAC2002", "MF 5.2", "MF 6.1"]

FORMATS_TEXT: Final = (
    "known are 'PAC2002', 'MF-TYRE' or 'MF52' (FITTYP 6, 21 or 52) and 'MF61' (FITTYP 61 or 62)"
)
FORMATS_BY_TEXT: Final[dict[str, Format]] = {
    "PAC2002": "PAC2002",
    "MFTYRE": "MF 5.2",
    "MFTYRE52": "MF 5.2",
    "MF52": "MF 5.2",
    "MF05": "MF 5.2",
    "MFTYRE61": "MF 6.1",
    "MFTYRE62": "MF 6.1",
    "MF61": "MF 6.1",
    "MF62": "MF 6.1",
}
"""Keyed by PROPERTY_FILE_FORMAT in capitals without blanks, points, hyphens and underscores."""
VERSIONED: Final = {"MFTYRE", "MF05", "MFSWIFT", "MFTYREMFSWIFT", "USER"}
"""Formats that FITTYP tells apart."""
FORMATS_BY_VERSION: Final[dict[int, Format]] = {
    6: "MF 5.2",
    21: "MF 5.2",
    52: "MF 5.2",
    61: "MF 6.1",
    62: "MF 6.1",
}

_INCH = 0.0254
_POUND = 0.45359237
_POUND_FORCE = _POUND * 9.80665


def _spelled(*groups: tuple[float, str]) -> dict[str, float]:
    return {name: factor for factor, names in groups for name in names.split()}


UNITS: Final[dict[str, dict[str, float]]] = {
    "LENGTH": _spelled(
        (1.0, "meter meters metre metres m"),
        (1e-3, "mm millimeter millimeters millimetre millimetres"),
        (1e-2, "cm centimeter centimeters centimetre centimetres"),
        (1e3, "km kilometer kilometre"),
        (_INCH, "inch inches in"),
        (12.0 * _INCH, "foot feet ft"),
    ),
    "FORCE": _spelled(
        (1.0, "newton newtons n"),
        (1e3, "kn knewton kilonewton kilo_newton"),
        (_POUND_FORCE, "lbf pound_force pounds_force lb_force"),
        (9.80665, "kgf kg_force kilogram_force"),
    ),
    "ANGLE": _spelled((1.0, "radian radians rad"), (math.pi / 180.0, "degree degrees deg")),
    "MASS": _spelled(
        (1.0, "kg kilogram kilograms"),
        (1e-3, "g gram grams"),
        (1e3, "t tonne"),
        (_POUND, "lbm pound_mass pounds_mass lb"),
        (_POUND_FORCE / (12.0 * _INCH), "slug slugs"),
    ),
    "TIME": _spelled(
        (1.0, "second seconds sec s"),
        (1e-3, "ms millisecond milliseconds"),
        (60.0, "minute minutes min"),
        (3600.0, "hour hours h"),
    ),
    "PRESSURE": _spelled(
        (1.0, "pascal pascals pa"),
        (1e3, "kpa kilopascal"),
        (1e6, "mpa megapascal"),
        (1e5, "bar"),
        (_POUND_FORCE / _INCH**2, "psi"),
    ),
}
"""SI value of the units a file may name, by what they measure, in small letters."""

_POWERS: Final[dict[str, dict[str, int]]] = {
    "UNLOADED_RADIUS WIDTH RIM_RADIUS RIM_WIDTH BOTTOMING_RADIUS BOTTOM_OFFST": {"LENGTH": 1},
    "FNOMIN FZMIN FZMAX": {"FORCE": 1},
    "VERTICAL_STIFFNESS LONGITUDINAL_STIFFNESS LATERAL_STIFFNESS BOTTOM_STIFF": {"FORCE": 1, "LENGTH": -1},
    "VERTICAL_DAMPING": {"FORCE": 1, "TIME": 1, "LENGTH": -1},
    "YAW_STIFFNESS": {"FORCE": 1, "LENGTH": 1, "ANGLE": -1},
    "LONGVL VXLOW": {"LENGTH": 1, "TIME": -1},
    "ALPMIN ALPMAX CAMMIN CAMMAX": {"ANGLE": 1},
    "INFLPRES NOMPRES PRESMIN PRESMAX IP IP_NOM": {"PRESSURE": 1},
    "MASS MBELT BELT_MASS": {"MASS": 1},
    "IXX IYY IZZ BELT_IXX BELT_IYY": {"MASS": 1, "LENGTH": 2},
}
POWERS: Final = {name: powers for names, powers in _POWERS.items() for name in names.split()}
"""Powers of the units of every parameter that has a dimension; angles inside the formula are radians."""


def _numbered(prefix: str, last: int, first: int = 1) -> tuple[str, ...]:
    return tuple(f"{prefix}{number}" for number in range(first, last + 1))


_PURE: Final = (
    "UNLOADED_RADIUS",
    "FNOMIN",
    "VERTICAL_STIFFNESS",
    "PCX1",
    "PDX1",
    "PKX1",
    "PCY1",
    "PDY1",
    "PKY1",
    "PKY2",
    "QBZ1",
    "QCZ1",
    "QDZ1",
)
NEEDED: Final[dict[Format, tuple[str, ...]]] = {
    "PAC2002": _PURE,
    "MF 5.2": _PURE,
    "MF 6.1": (*_PURE, "PKY4"),
}
COMBINED: Final = ("RBX1", "RCX1", "RBY1", "RCY1")
"""Needed where any coefficient of combined slip is given; with none of them the friction ellipse serves."""

_COMMON: Final = (
    *_numbered("PDX", 3),
    *_numbered("PEX", 4),
    *_numbered("PKX", 3),
    *_numbered("PHX", 2),
    *_numbered("PVX", 2),
    *_numbered("PDY", 3),
    *_numbered("PEY", 4),
    *_numbered("PKY", 3),
    *_numbered("PHY", 2),
    *_numbered("PVY", 4),
    *_numbered("QBZ", 5),
    "QBZ9",
    "QBZ10",
    *_numbered("QDZ", 4),
    *_numbered("QDZ", 9, 6),
    *_numbered("QEZ", 5),
    *_numbered("QHZ", 4),
)
COMBINED_ALL: Final = (
    *_numbered("RBX", 2),
    "RCX1",
    *_numbered("REX", 2),
    "RHX1",
    *_numbered("RBY", 3),
    "RCY1",
    *_numbered("REY", 2),
    *_numbered("RHY", 2),
    *_numbered("RVY", 6),
)
_PRESSURES: Final = (*_numbered("PPX", 4), *_numbered("PPY", 4))
_NEWER: Final = (*_numbered("PKY", 7, 4), "PEY5", "PPY5", "RBX3", "RBY4", "QDZ10", "QDZ11", "PPZ1", "PPZ2")
USUAL: Final[dict[Format, tuple[str, ...]]] = {
    "PAC2002": (*_COMMON, "PHY3"),
    "MF 5.2": (*_COMMON, "PHY3"),
    "MF 6.1": (*_COMMON, *_PRESSURES, *_NEWER),
}
"""Coefficients of forces and aligning moment that a complete file gives; what is missing is zero."""
OVERTURNING: Final = _numbered("QSX", 11)
ROLLING: Final = _numbered("QSY", 8)
TURN_SLIP: Final = (*_numbered("PDXP", 3), "PKYP1", *_numbered("PDYP", 4), *_numbered("PHYP", 4))

_OTHERS: Final = """
    PHY3 BREFF DREFF FREFF QFZ1 QFZ2 QV2 Q_RE0 FITTYP USE_MODE PTX1 PTX2 PTX3 PTY1 PTY2 SSZ1 SSZ2 SSZ3 SSZ4
    LFZO LCX LMUX LEX LKX LHX LVX LGAX LCY LMUY LEY LKY LHY LVY LGAY LTR LRES LGAZ LXAL LYKA LVYKA LS LSGKP
    LSGAL LMX LVMX LMY LCZ LIP LKYC LKZC LKG PFZ1 QPFZ1 PCFX1 PCFX2 PCFX3 PCFY1 PCFY2 PCFY3 PPMX1 QPX1 QPZ1
    QPZ2 QBZ6
"""
NUMBERS: Final = frozenset(
    (
        *POWERS,
        *_PURE,
        *_COMMON,
        *COMBINED_ALL,
        *_PRESSURES,
        *_NEWER,
        *OVERTURNING,
        *ROLLING,
        *TURN_SLIP,
        *_OTHERS.split(),
    )
)
"""Names whose values must be numbers."""
TELLING: Final = NUMBERS | {"PROPERTY_FILE_FORMAT", "FITTYP"}
"""Names of which a tyre property file has at least one."""
_POSITIVE: Final = """
    UNLOADED_RADIUS FNOMIN FZMAX VERTICAL_STIFFNESS LONGITUDINAL_STIFFNESS LATERAL_STIFFNESS BOTTOM_STIFF
    PCX1 PDX1 PKX1 PCY1 PDY1 PKY2 PKY4 QBZ1 QCZ1 RBX1 RCX1 RBY1 RCY1 LFZO LCX LCY LMUX LMUY LKX LKY LCZ LIP
    INFLPRES NOMPRES IP IP_NOM LONGVL
"""
POSITIVE: Final = tuple(_POSITIVE.split())
"""Names whose values must be above zero where they are given."""
NOT_NEGATIVE: Final = ("VERTICAL_DAMPING", "RIM_RADIUS", "BOTTOMING_RADIUS", "BOTTOM_OFFST", "FZMIN")
