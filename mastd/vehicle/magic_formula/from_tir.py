"""From a tyre property file to the coefficients the Magic Formula's kernels work on."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.formats.tyre.tir import TyreProperties
from mastd.vehicle.magic_formula.coefficients import (
    COMBINED,
    COUNT,
    FX,
    FY,
    GENERAL,
    MX,
    MY,
    MZ,
    RELAXATION,
    VERTICAL,
)

MAX_CAMBER: Final = 0.35
"""rad; where the file states no range."""
MAX_LOAD_RATIO: Final = 3.0
"""Times the nominal load; where the file states no range."""
MIN_REMAINDER: Final = 0.2
"""The range of loads ends where friction or slip stiffness per load falls below this share of the nominal."""
RIM_GAP: Final = 0.01
"""m above the rim at which the tyre bottoms, and how much stiffer it is then, where the file says nothing."""
RIM_FACTOR: Final = 10.0
CARCASS_ALONG: Final = 1.7
"""Stiffness of the carcass along and across for the vertical stiffness, where the file says nothing."""
CARCASS_ACROSS: Final = 0.5
MIN_RELAXATION: Final = 0.1
"""Shortest relaxation length for the free radius: the contact keeps some length at any load."""
SPEED: Final = 16.7
"""m/s; reference speed where the file states none."""
NO_RIM: Final = 1e6
"""m of depth at which a tyre without rim bottoms."""
DIGRESSION: Final = 10.0
"""A_μ of (4.E8), the book's value."""


def pack(properties: TyreProperties) -> FloatArray:
    """Return the coefficients (COUNT,) for the kernels of ``magic_formula``."""
    c = np.zeros(COUNT)
    newest = properties.format == "MF 6.1"
    pressure = pressure_change(properties)
    _general(c, properties, newest)
    _longitudinal(c, properties, pressure)
    _lateral(c, properties, newest, pressure)
    _aligning(c, properties, newest, pressure)
    _combined(c, properties)
    _overturning(c, properties, pressure)
    _rolling(c, properties, pressure)
    _vertical(c, properties, pressure)
    _relaxation(c, properties, pressure)
    c[GENERAL.FZMIN_RATIO], c[GENERAL.FZMAX_RATIO] = _load_range(c, properties)
    return c


def pressure_change(properties: TyreProperties) -> float:
    """Return dp_i = (p_i − p_io) / p_io (4.E2b); 0 where the file gives not both."""
    for actual, nominal in (("INFLPRES", "NOMPRES"), ("IP", "IP_NOM")):
        base = properties.get(nominal)
        if base > 0.0:
            return properties.get(actual, base) * properties.get("LIP", 1.0) / base - 1.0
    return 0.0


def _general(c: FloatArray, properties: TyreProperties, newest: bool) -> None:
    get = properties.get
    c[GENERAL.UNLOADED_RADIUS] = get("UNLOADED_RADIUS")
    c[GENERAL.FNOMIN] = get("FNOMIN")
    c[GENERAL.INVERSE_FZ0] = 1.0 / (get("LFZO", 1.0) * get("FNOMIN"))
    low, high = get("CAMMIN", -MAX_CAMBER), get("CAMMAX", MAX_CAMBER)
    c[GENERAL.CAMMIN], c[GENERAL.CAMMAX] = (low, high) if low < 0.0 < high else (-MAX_CAMBER, MAX_CAMBER)
    c[GENERAL.IS_MF61] = float(newest)
    c[GENERAL.LMUX], c[GENERAL.LMUY] = get("LMUX", 1.0), get("LMUY", 1.0)
    c[GENERAL.AMU] = DIGRESSION if newest else 1.0


def _longitudinal(c: FloatArray, properties: TyreProperties, dpi: float) -> None:
    """(4.E11) to (4.E18)."""
    get = properties.get
    c[FX.PCX1] = get("PCX1") * get("LCX", 1.0)
    friction = 1.0 + get("PPX3") * dpi + get("PPX4") * dpi**2
    stiffness = (1.0 + get("PPX1") * dpi + get("PPX2") * dpi**2) * get("LKX", 1.0)
    c[FX.PDX1], c[FX.PDX2] = get("PDX1") * friction, get("PDX2") * friction
    c[FX.PDX3] = get("PDX3") * get("LGAX", 1.0) ** 2
    for index in range(3):
        c[FX.PEX1 + index] = get(f"PEX{index + 1}") * get("LEX", 1.0)
    c[FX.PEX4] = get("PEX4")
    c[FX.PKX1], c[FX.PKX2], c[FX.PKX3] = get("PKX1") * stiffness, get("PKX2") * stiffness, get("PKX3")
    for index in range(2):
        c[FX.PHX1 + index] = get(f"PHX{index + 1}") * get("LHX", 1.0)
        c[FX.PVX1 + index] = get(f"PVX{index + 1}") * get("LVX", 1.0)


def _lateral(c: FloatArray, properties: TyreProperties, newest: bool, dpi: float) -> None:
    """(4.E21) to (4.E30); PHY3 and the factors of camber of the older formats."""
    get = properties.get
    camber = 1.0 if newest else get("LGAY", 1.0)
    thrust = get("LKYC", 1.0) if newest else get("LKG", 1.0) * camber
    c[FY.PCY1] = get("PCY1") * get("LCY", 1.0)
    friction = 1.0 + get("PPY3") * dpi + get("PPY4") * dpi**2
    c[FY.PDY1], c[FY.PDY2] = get("PDY1") * friction, get("PDY2") * friction
    c[FY.PDY3] = get("PDY3") * camber**2
    c[FY.PEY1], c[FY.PEY2] = get("PEY1") * get("LEY", 1.0), get("PEY2") * get("LEY", 1.0)
    c[FY.PEY3], c[FY.PEY4] = get("PEY3"), get("PEY4") * camber
    c[FY.PEY5] = get("PEY5") if newest else 0.0
    c[FY.PKY1] = get("PKY1") * (1.0 + get("PPY1") * dpi) * get("LKY", 1.0)
    c[FY.PKY2] = get("PKY2") * (1.0 + get("PPY2") * dpi)
    c[FY.PKY3] = get("PKY3") * camber
    c[FY.PKY4] = get("PKY4") if newest else 2.0
    c[FY.PKY5] = get("PKY5") * (1.0 + get("PPY2") * dpi) if newest else 0.0
    for index in range(2):
        c[FY.PHY1 + index] = get(f"PHY{index + 1}") * get("LHY", 1.0)
        c[FY.PVY1 + index] = get(f"PVY{index + 1}") * get("LVY", 1.0)
        c[FY.PVY3 + index] = get(f"PVY{index + 3}") * thrust
        c[FY.PKY6 + index] = get(f"PKY{index + 6}") * (1.0 + get("PPY5") * dpi) * thrust if newest else 0.0
    c[FY.PHY3] = 0.0 if newest else get("PHY3") * thrust


def _aligning(c: FloatArray, properties: TyreProperties, newest: bool, dpi: float) -> None:
    """(4.E33) to (4.E47), (4.E76)."""
    get = properties.get
    camber = 1.0 if newest else get("LGAZ", 1.0)
    twist = get("LKZC", 1.0) if newest else camber
    stiffness = get("LKY", 1.0)
    for index in range(3):
        c[MZ.QBZ1 + index] = get(f"QBZ{index + 1}") * stiffness
        c[MZ.QEZ1 + index] = get(f"QEZ{index + 1}")
    c[MZ.QBZ4], c[MZ.QBZ5], c[MZ.QBZ6] = (
        get("QBZ4") * camber,
        get("QBZ5") * abs(camber),
        get("QBZ6") * camber**2,
    )
    c[MZ.QCZ1] = get("QCZ1")
    trail = get("UNLOADED_RADIUS") * (1.0 - get("PPZ1", get("QPZ1")) * dpi) * get("LTR", 1.0)
    c[MZ.QDZ1], c[MZ.QDZ2] = get("QDZ1") * trail, get("QDZ2") * trail
    c[MZ.QDZ3], c[MZ.QDZ4] = get("QDZ3") * camber, get("QDZ4") * camber**2
    c[MZ.QEZ4], c[MZ.QEZ5] = get("QEZ4"), get("QEZ5") * camber
    c[MZ.QHZ1], c[MZ.QHZ2] = get("QHZ1"), get("QHZ2")
    c[MZ.QHZ3], c[MZ.QHZ4] = get("QHZ3") * camber, get("QHZ4") * camber
    c[MZ.QBZ9], c[MZ.QBZ10] = get("QBZ9") * stiffness, get("QBZ10")
    radius = get("UNLOADED_RADIUS")
    c[MZ.QDZ6], c[MZ.QDZ7] = (get(name) * get("LRES", 1.0) * radius for name in ("QDZ6", "QDZ7"))
    swelling = 1.0 + get("PPZ2", get("QPZ2")) * dpi
    c[MZ.QDZ8], c[MZ.QDZ9] = (get(name) * twist * swelling * radius for name in ("QDZ8", "QDZ9"))
    if newest:
        c[MZ.QDZ10], c[MZ.QDZ11] = (get(name) * twist * radius for name in ("QDZ10", "QDZ11"))
    lever = radius * get("LS", 1.0)
    c[MZ.SSZ1], c[MZ.SSZ3], c[MZ.SSZ4] = get("SSZ1") * lever, get("SSZ3") * lever, get("SSZ4") * lever
    c[MZ.SSZ2] = get("SSZ2") * lever * (c[GENERAL.INVERSE_FZ0] if newest else 1.0 / c[GENERAL.FNOMIN])


def _combined(c: FloatArray, properties: TyreProperties) -> None:
    """(4.E50) to (4.E67)."""
    get = properties.get
    c[COMBINED.HAS_RBX1] = float("RBX1" in properties.coefficients)
    c[COMBINED.RBX1], c[COMBINED.RBX3] = get("RBX1") * get("LXAL", 1.0), get("RBX3") * get("LXAL", 1.0)
    c[COMBINED.RBX2], c[COMBINED.RCX1], c[COMBINED.RHX1] = get("RBX2"), get("RCX1"), get("RHX1")
    c[COMBINED.REX1], c[COMBINED.REX2] = get("REX1"), get("REX2")
    c[COMBINED.RBY1], c[COMBINED.RBY4] = get("RBY1") * get("LYKA", 1.0), get("RBY4") * get("LYKA", 1.0)
    c[COMBINED.RBY2], c[COMBINED.RBY3], c[COMBINED.RCY1] = get("RBY2"), get("RBY3"), get("RCY1")
    c[COMBINED.REY1], c[COMBINED.REY2], c[COMBINED.RHY1], c[COMBINED.RHY2] = (
        get("REY1"),
        get("REY2"),
        get("RHY1"),
        get("RHY2"),
    )
    for index in range(3):
        c[COMBINED.RVY1 + index] = get(f"RVY{index + 1}") * get("LVYKA", 1.0)
        c[COMBINED.RVY4 + index] = get(f"RVY{index + 4}")


def _overturning(c: FloatArray, properties: TyreProperties, dpi: float) -> None:
    """(4.E69), with the unscaled nominal load."""
    get = properties.get
    scale = get("UNLOADED_RADIUS") * get("LMX", 1.0)
    c[MX.QSX1] = get("QSX1") * get("LVMX", 1.0) * scale
    c[MX.QSX2] = get("QSX2") * (1.0 + get("PPMX1", get("QPX1")) * dpi) * scale
    c[MX.QSX3] = get("QSX3") * scale / c[GENERAL.FNOMIN]
    c[MX.QSX4], c[MX.QSX10] = get("QSX4") * scale, get("QSX10") * scale
    c[MX.QSX5], c[MX.QSX6], c[MX.QSX7] = get("QSX5"), get("QSX6"), get("QSX7")
    c[MX.QSX8], c[MX.QSX9], c[MX.QSX11] = get("QSX8"), get("QSX9"), get("QSX11")
    c[MX.HAS_QSX4] = float(c[MX.QSX4] != 0.0 or c[MX.QSX10] != 0.0)


def _rolling(c: FloatArray, properties: TyreProperties, dpi: float) -> None:
    """(4.E70), with the unscaled nominal load; the older formats' rule where QSY1 and QSY2 are zero."""
    get = properties.get
    c[MY.INVERSE_LONGVL] = 1.0 / get("LONGVL", SPEED)
    for index in range(6):
        c[MY.QSY1 + index] = get(f"QSY{index + 1}")
    c[MY.QSY2] /= c[GENERAL.FNOMIN]
    c[MY.QSY6] /= c[GENERAL.FNOMIN]
    c[MY.QSY7] = get("QSY7")
    c[MY.LMY] = c[GENERAL.UNLOADED_RADIUS] * get("LMY", 1.0) * (1.0 + dpi) ** get("QSY8")
    if properties.format != "MF 6.1" and get("QSY1") == 0.0 and get("QSY2") == 0.0:
        # M_y = R0 (S_Vx + K_x S_Hx) at the nominal load; a shift that drives is no rolling resistance.
        shift = c[FX.PVX1] * get("LMUX", 1.0) + c[FX.PKX1] * c[FX.PHX1]
        c[MY.QSY1] = max(-shift, 0.0)


def _vertical(c: FloatArray, properties: TyreProperties, dpi: float) -> None:
    """Load = stiffness · depth + progression · depth², with QFZ1 and QFZ2 where they are given."""
    get = properties.get
    radius, nominal = get("UNLOADED_RADIUS"), get("FNOMIN")
    scale = get("LCZ", 1.0) * (1.0 + get("PFZ1", get("QPFZ1")) * dpi)
    first, second = get("QFZ1"), get("QFZ2")
    given = get("VERTICAL_STIFFNESS")
    if first == 0.0:
        # (4.E68): the stiffness is that at the nominal load.
        first = math.sqrt(max((given * radius / nominal) ** 2 - 4.0 * second, 0.0))
    c[VERTICAL.QFZ1] = first * nominal / radius * scale
    c[VERTICAL.QFZ2] = second * nominal / radius**2 * scale
    c[VERTICAL.VERTICAL_DAMPING] = get("VERTICAL_DAMPING")
    c[VERTICAL.FREE_RADIUS] = radius * get("Q_RE0", 1.0)
    stiffness = (given or math.sqrt(first**2 + 4.0 * second) * nominal / radius) * get("LCZ", 1.0)
    rim = get("RIM_RADIUS") + get("BOTTOM_OFFST", RIM_GAP)
    if "RIM_RADIUS" not in properties.coefficients:
        rim = 0.0
    rim = get("BOTTOMING_RADIUS", rim)
    c[VERTICAL.RIM_DEPTH] = c[VERTICAL.FREE_RADIUS] - rim if 0.0 < rim < c[VERTICAL.FREE_RADIUS] else NO_RIM
    c[VERTICAL.BOTTOM_STIFF] = get("BOTTOM_STIFF", RIM_FACTOR * stiffness)
    c[VERTICAL.RE_SCALE] = nominal / stiffness
    c[VERTICAL.BREFF], c[VERTICAL.DREFF] = get("BREFF"), get("DREFF")
    # Without the coefficients: the usual third of the deflection.
    c[VERTICAL.FREFF] = get("FREFF", 0.0 if "BREFF" in properties.coefficients else 1.0 / 3.0)


def _relaxation(c: FloatArray, properties: TyreProperties, dpi: float) -> None:
    get = properties.get
    radius = get("UNLOADED_RADIUS")
    c[RELAXATION.MIN_LENGTH] = MIN_RELAXATION * radius
    vertical = get("VERTICAL_STIFFNESS", c[VERTICAL.QFZ1])
    newest = properties.format == "MF 6.1"
    if newest or not get("PTX1") > 0.0:
        c[RELAXATION.IS_CARCASS_X] = 1.0
        swelling = 1.0 + get("PCFX3") * dpi
        c[RELAXATION.PTX1] = 1.0 / (get("LONGITUDINAL_STIFFNESS", CARCASS_ALONG * vertical) * swelling)
        c[RELAXATION.PTX2], c[RELAXATION.PTX3] = get("PCFX1"), get("PCFX2")
    else:
        scale = radius * get("LSGKP", 1.0)
        c[RELAXATION.PTX1], c[RELAXATION.PTX2], c[RELAXATION.PTX3] = (
            get("PTX1") * scale,
            get("PTX2") * scale,
            get("PTX3"),
        )
    if newest or not (get("PTY1") > 0.0 and get("PTY2") > 0.0):
        c[RELAXATION.IS_CARCASS_Y] = 1.0
        swelling = 1.0 + get("PCFY3") * dpi
        c[RELAXATION.PTY1] = 1.0 / (get("LATERAL_STIFFNESS", CARCASS_ACROSS * vertical) * swelling)
        c[RELAXATION.PTY2], c[RELAXATION.PTY3] = get("PCFY1"), get("PCFY2")
    else:
        scale = radius * get("LFZO", 1.0) * get("LSGAL", 1.0)
        c[RELAXATION.PTY1], c[RELAXATION.PTY2] = get("PTY1") * scale, 1.0 / get("PTY2")


def _load_range(c: FloatArray, properties: TyreProperties) -> tuple[float, float]:
    """Return the shares of the nominal load between which the coefficients follow the load.

    Polynomials in df_z mean nothing beyond the loads they were fitted to: friction or stiffness would become
    negative. Outside the range friction and slip stiffness grow with the load itself.
    """
    highest = properties.get("FZMAX", MAX_LOAD_RATIO / c[GENERAL.INVERSE_FZ0]) * c[GENERAL.INVERSE_FZ0]
    ratios = np.linspace(0.0, max(highest, 1.0), 401)
    d = ratios - 1.0
    measures = (
        1.0 + c[FX.PDX2] / c[FX.PDX1] * d,
        1.0 + c[FY.PDY2] / c[FY.PDY1] * d,
        (1.0 + c[FX.PKX2] / c[FX.PKX1] * d) * np.exp(c[FX.PKX3] * d),
        _cornering(c, ratios) / _cornering(c, np.ones(1)),
    )
    fits = np.all([measure >= MIN_REMAINDER for measure in measures], axis=0)
    nominal = int(np.argmin(np.abs(d)))
    low = high = nominal
    while low > 0 and fits[low - 1]:
        low -= 1
    while high < len(ratios) - 1 and fits[high + 1]:
        high += 1
    return float(min(ratios[low], 1.0)), float(max(ratios[high], 1.0))


def _cornering(c: FloatArray, ratios: FloatArray) -> FloatArray:
    """Return −K_yα per load, for any scale."""
    ratios = ratios + 1e-9
    found: FloatArray = np.sin(c[FY.PKY4] * np.arctan(ratios / c[FY.PKY2])) / ratios
    return found
