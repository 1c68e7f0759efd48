"""Tyres of our own invention as property files: an upright car tyre in the three formats, and texts of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mastd.formats.tyre.tir import TyreProperties, read_tir

SI = {"LENGTH": "meter", "FORCE": "newton", "ANGLE": "radian", "MASS": "kg", "TIME": "second"}

_BODY = {
    "UNLOADED_RADIUS": 0.32,
    "WIDTH": 0.21,
    "RIM_RADIUS": 0.2,
    "FNOMIN": 4200.0,
    "FZMIN": 200.0,
    "FZMAX": 10500.0,
    "CAMMIN": -0.3,
    "CAMMAX": 0.3,
    "LONGVL": 16.0,
    "VERTICAL_STIFFNESS": 210e3,
    "VERTICAL_DAMPING": 300.0,
    "BREFF": 7.5,
    "DREFF": 0.25,
    "FREFF": 0.03,
}
_PURE = {
    "PCX1": 1.61,
    "PDX1": 1.12,
    "PDX2": -0.09,
    "PDX3": 0.4,
    "PEX1": 0.2,
    "PEX2": 0.15,
    "PEX3": -0.08,
    "PEX4": 0.12,
    "PKX1": 21.0,
    "PKX2": -0.7,
    "PKX3": 0.24,
    "PHX1": -0.0011,
    "PHX2": 0.0004,
    "PVX1": 0.002,
    "PVX2": -0.003,
    "PCY1": 1.34,
    "PDY1": 0.98,
    "PDY2": -0.14,
    "PDY3": 2.1,
    "PEY1": -0.7,
    "PEY2": -0.35,
    "PEY3": 0.18,
    "PEY4": -3.2,
    "PKY1": -18.5,
    "PKY2": 1.7,
    "PKY3": 0.35,
    "PHY1": 0.0031,
    "PHY2": -0.0006,
    "PVY1": 0.021,
    "PVY2": -0.012,
    "PVY3": -0.36,
    "PVY4": -0.15,
}
_ALIGNING = {
    "QBZ1": 9.1,
    "QBZ2": -1.2,
    "QBZ3": -0.4,
    "QBZ4": 0.21,
    "QBZ5": -0.33,
    "QBZ9": 7.5,
    "QBZ10": 0.2,
    "QCZ1": 1.15,
    "QDZ1": 0.11,
    "QDZ2": -0.012,
    "QDZ3": -0.3,
    "QDZ4": 1.4,
    "QDZ6": -0.004,
    "QDZ7": 0.0015,
    "QDZ8": -0.12,
    "QDZ9": -0.03,
    "QEZ1": -1.9,
    "QEZ2": 0.5,
    "QEZ3": -0.2,
    "QEZ4": 0.25,
    "QEZ5": -1.1,
    "QHZ1": 0.004,
    "QHZ2": -0.002,
    "QHZ3": 0.11,
    "QHZ4": 0.04,
    "SSZ1": 0.02,
    "SSZ2": -0.03,
    "SSZ3": 0.2,
    "SSZ4": -0.1,
}
COMBINED = {
    "RBX1": 17.4,
    "RBX2": -9.1,
    "RCX1": 1.05,
    "REX1": 0.1,
    "REX2": -0.3,
    "RHX1": 0.006,
    "RBY1": 15.8,
    "RBY2": 7.1,
    "RBY3": -0.02,
    "RCY1": 1.02,
    "REY1": 0.2,
    "REY2": 0.1,
    "RHY1": 0.008,
    "RHY2": -0.003,
    "RVY1": 0.03,
    "RVY2": -0.02,
    "RVY3": -0.3,
    "RVY4": 80.0,
    "RVY5": 1.9,
    "RVY6": 20.0,
}
_MOMENTS = {"QSX1": 0.01, "QSX2": 0.9, "QSX3": 0.03, "QSY1": 0.011, "QSY2": 0.004}
_SCALES = {
    "LFZO": 0.9,
    "LMUX": 0.95,
    "LMUY": 1.05,
    "LKX": 1.1,
    "LKY": 0.93,
    "LTR": 1.2,
    "LRES": 0.8,
    "LXAL": 1.1,
}
_OLDER = {"PHY3": 0.05, "LGAX": 0.9, "LGAY": 1.1, "LGAZ": 0.85}
_RELAXATION = {"PTX1": 2.1, "PTX2": 0.8, "PTX3": 0.3, "PTY1": 2.3, "PTY2": 1.6}
_NEWER = {
    "PKY4": 1.9,
    "PKY5": 0.6,
    "PKY6": -0.8,
    "PKY7": -0.2,
    "PEY5": 2.0,
    "PPX1": -0.3,
    "PPX2": 0.2,
    "PPX3": -0.1,
    "PPX4": 0.05,
    "PPY1": -0.5,
    "PPY2": 0.9,
    "PPY3": -0.12,
    "PPY4": 0.04,
    "PPY5": -0.4,
    "RBX3": 2.0,
    "RBY4": -3.0,
    "QDZ10": 0.2,
    "QDZ11": 0.1,
    "PPZ1": -0.2,
    "PPZ2": -0.3,
    "QSX4": 0.04,
    "QSX5": 0.8,
    "QSX6": 0.9,
    "QSX7": 0.7,
    "QSX8": 0.5,
    "QSX9": 1.2,
    "QSX10": 0.3,
    "QSX11": 1.4,
    "PPMX1": 0.2,
    "QSY3": 0.001,
    "QSY4": 0.0002,
    "QSY5": 0.3,
    "QSY6": -0.1,
    "QSY7": 0.85,
    "QSY8": -0.4,
    "LKYC": 0.95,
    "LKZC": 1.05,
    "INFLPRES": 250e3,
    "NOMPRES": 220e3,
    "QFZ2": 14.0,
    "Q_RE0": 0.998,
    "PFZ1": 0.7,
    "BOTTOM_OFFST": 0.012,
    "BOTTOM_STIFF": 2.5e6,
    "LONGITUDINAL_STIFFNESS": 350e3,
    "LATERAL_STIFFNESS": 110e3,
    "PCFX1": 0.1,
    "PCFY1": -0.15,
}

_OLD = {**_BODY, **_PURE, **_ALIGNING, **COMBINED, **_MOMENTS, **_SCALES, **_OLDER, **_RELAXATION}
Values = dict[str, float | str]

PAC2002: Values = {"PROPERTY_FILE_FORMAT": "'PAC2002'", **_OLD}
ELLIPSE: Values = {name: value for name, value in PAC2002.items() if name not in COMBINED}
MF52: Values = {"PROPERTY_FILE_FORMAT": "'MF-TYRE'", "FITTYP": 52, **_OLD, "LGAZ": 1.1}
MF61: Values = {
    "PROPERTY_FILE_FORMAT": "'USER'",
    "FITTYP": 61,
    **_BODY,
    **_PURE,
    **_ALIGNING,
    **COMBINED,
    **_MOMENTS,
    **_SCALES,
    **_NEWER,
}
TYRES: dict[str, Values] = {
    "PAC2002": PAC2002,
    "friction ellipse": ELLIPSE,
    "MF 5.2": MF52,
    "MF 6.1": MF61,
}


def tyre_text(values: Mapping[str, float | str], units: Mapping[str, str] | None = None) -> str:
    """Return a property file with these values."""
    lines = ["$ an invented tyre", "[UNITS]"]
    lines += [f"{name} = '{unit}'" for name, unit in (SI if units is None else units).items()]
    lines += ["[MODEL]", "TYRESIDE = 'LEFT'", "[SHAPE]", "{radial width}", " 1.0 0.0", " 0.9 1.0", "[ALL]"]
    lines += [f"{name:24} = {value}   $ no matter" for name, value in values.items()]
    return "\n".join(lines) + "\n"


def read_text(folder: Path, text: str | bytes) -> TyreProperties:
    """Read a text through a file."""
    path = folder / "invented.tir"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_tir(path)
