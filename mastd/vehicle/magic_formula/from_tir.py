"""From a tyre property file to the coefficients the Magic Formula's kernels work on."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.formats.tyre.tir import TyreProperties
from mastd.vehicle.magic_formula import coefficients as n

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
    c = np.zeros(n.COUNT)
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
    c[n.FZMIN_RATIO], c[n.FZMAX_RATIO] = _share_range(c, properties)
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
    c[n.RADIUS] = get("UNLOADED_RADIUS")
    c[n.NOMINAL_LOAD] = get("FNOMIN")
    c[n.SHARE] = 1.0 / (get("LFZO", 1.0) * get("FNOMIN"))
    low, high = get("CAMMIN", -MAX_CAMBER), get("CAMMAX", MAX_CAMBER)
    c[n.CAMMIN], c[n.CAMMAX] = (low, high) if low < 0.0 < high else (-MAX_CAMBER, MAX_CAMBER)
    c[n.TANGENT] = float(newest)
    c[n.GRIP_X], c[n.GRIP_Y] = get("LMUX", 1.0), get("LMUY", 1.0)
    c[n.DIGRESSION] = DIGRESSION if newest else 1.0


def _longitudinal(c: FloatArray, properties: TyreProperties, dpi: float) -> None:
    """(4.E11) to (4.E18)."""
    get = properties.get
    c[n.CX] = get("PCX1") * get("LCX", 1.0)
    friction = 1.0 + get("PPX3") * dpi + get("PPX4") * dpi**2
    stiffness = (1.0 + get("PPX1") * dpi + get("PPX2") * dpi**2) * get("LKX", 1.0)
    c[n.MX1], c[n.MX2] = get("PDX1") * friction, get("PDX2") * friction
    c[n.MX3] = get("PDX3") * get("LGAX", 1.0) ** 2
    for place in range(3):
        c[n.EX1 + place] = get(f"PEX{place + 1}") * get("LEX", 1.0)
    c[n.EX4] = get("PEX4")
    c[n.KX1], c[n.KX2], c[n.KX3] = get("PKX1") * stiffness, get("PKX2") * stiffness, get("PKX3")
    for place in range(2):
        c[n.HX1 + place] = get(f"PHX{place + 1}") * get("LHX", 1.0)
        c[n.VX1 + place] = get(f"PVX{place + 1}") * get("LVX", 1.0)


def _lateral(c: FloatArray, properties: TyreProperties, newest: bool, dpi: float) -> None:
    """(4.E21) to (4.E30); PHY3 and the factors of camber of the older formats."""
    get = properties.get
    camber = 1.0 if newest else get("LGAY", 1.0)
    thrust = get("LKYC", 1.0) if newest else get("LKG", 1.0) * camber
    c[n.CY] = get("PCY1") * get("LCY", 1.0)
    friction = 1.0 + get("PPY3") * dpi + get("PPY4") * dpi**2
    c[n.MY1], c[n.MY2] = get("PDY1") * friction, get("PDY2") * friction
    c[n.MY3] = get("PDY3") * camber**2
    c[n.EY1], c[n.EY2] = get("PEY1") * get("LEY", 1.0), get("PEY2") * get("LEY", 1.0)
    c[n.EY3], c[n.EY4] = get("PEY3"), get("PEY4") * camber
    c[n.EY5] = get("PEY5") if newest else 0.0
    c[n.KY1] = get("PKY1") * (1.0 + get("PPY1") * dpi) * get("LKY", 1.0)
    c[n.KY2] = get("PKY2") * (1.0 + get("PPY2") * dpi)
    c[n.KY3] = get("PKY3") * camber
    c[n.KY4] = get("PKY4") if newest else 2.0
    c[n.KY5] = get("PKY5") * (1.0 + get("PPY2") * dpi) if newest else 0.0
    for place in range(2):
        c[n.HY1 + place] = get(f"PHY{place + 1}") * get("LHY", 1.0)
        c[n.VY1 + place] = get(f"PVY{place + 1}") * get("LVY", 1.0)
        c[n.VY3 + place] = get(f"PVY{place + 3}") * thrust
        c[n.KG1 + place] = get(f"PKY{place + 6}") * (1.0 + get("PPY5") * dpi) * thrust if newest else 0.0
    c[n.HY3] = 0.0 if newest else get("PHY3") * thrust


def _aligning(c: FloatArray, properties: TyreProperties, newest: bool, dpi: float) -> None:
    """(4.E33) to (4.E47), (4.E76)."""
    get = properties.get
    camber = 1.0 if newest else get("LGAZ", 1.0)
    twist = get("LKZC", 1.0) if newest else camber
    stiffness = get("LKY", 1.0)
    for place in range(3):
        c[n.BT1 + place] = get(f"QBZ{place + 1}") * stiffness
        c[n.ET1 + place] = get(f"QEZ{place + 1}")
    c[n.BT4], c[n.BT5], c[n.BT6] = get("QBZ4") * camber, get("QBZ5") * abs(camber), get("QBZ6") * camber**2
    c[n.CT] = get("QCZ1")
    trail = get("UNLOADED_RADIUS") * (1.0 - get("PPZ1", get("QPZ1")) * dpi) * get("LTR", 1.0)
    c[n.DT1], c[n.DT2] = get("QDZ1") * trail, get("QDZ2") * trail
    c[n.DT3], c[n.DT4] = get("QDZ3") * camber, get("QDZ4") * camber**2
    c[n.ET4], c[n.ET5] = get("QEZ4"), get("QEZ5") * camber
    c[n.HT1], c[n.HT2] = get("QHZ1"), get("QHZ2")
    c[n.HT3], c[n.HT4] = get("QHZ3") * camber, get("QHZ4") * camber
    c[n.BR1], c[n.BR2] = get("QBZ9") * stiffness, get("QBZ10")
    radius = get("UNLOADED_RADIUS")
    c[n.DR1], c[n.DR2] = (get(name) * get("LRES", 1.0) * radius for name in ("QDZ6", "QDZ7"))
    swelling = 1.0 + get("PPZ2", get("QPZ2")) * dpi
    c[n.DR3], c[n.DR4] = (get(name) * twist * swelling * radius for name in ("QDZ8", "QDZ9"))
    if newest:
        c[n.DR5], c[n.DR6] = (get(name) * twist * radius for name in ("QDZ10", "QDZ11"))
    lever = radius * get("LS", 1.0)
    c[n.S1], c[n.S3], c[n.S4] = get("SSZ1") * lever, get("SSZ3") * lever, get("SSZ4") * lever
    c[n.S2] = get("SSZ2") * lever * (c[n.SHARE] if newest else 1.0 / c[n.NOMINAL_LOAD])


def _combined(c: FloatArray, properties: TyreProperties) -> None:
    """(4.E50) to (4.E67)."""
    get = properties.get
    c[n.COMBINED] = float("RBX1" in properties.coefficients)
    c[n.BXA1], c[n.BXA3] = get("RBX1") * get("LXAL", 1.0), get("RBX3") * get("LXAL", 1.0)
    c[n.BXA2], c[n.CXA], c[n.HXA] = get("RBX2"), get("RCX1"), get("RHX1")
    c[n.EXA1], c[n.EXA2] = get("REX1"), get("REX2")
    c[n.BYK1], c[n.BYK4] = get("RBY1") * get("LYKA", 1.0), get("RBY4") * get("LYKA", 1.0)
    c[n.BYK2], c[n.BYK3], c[n.CYK] = get("RBY2"), get("RBY3"), get("RCY1")
    c[n.EYK1], c[n.EYK2], c[n.HYK1], c[n.HYK2] = get("REY1"), get("REY2"), get("RHY1"), get("RHY2")
    for place in range(3):
        c[n.VYK1 + place] = get(f"RVY{place + 1}") * get("LVYKA", 1.0)
        c[n.VYK4 + place] = get(f"RVY{place + 4}")


def _overturning(c: FloatArray, properties: TyreProperties, dpi: float) -> None:
    """(4.E69), with the unscaled nominal load."""
    get = properties.get
    scale = get("UNLOADED_RADIUS") * get("LMX", 1.0)
    c[n.X1] = get("QSX1") * get("LVMX", 1.0) * scale
    c[n.X2] = get("QSX2") * (1.0 + get("PPMX1", get("QPX1")) * dpi) * scale
    c[n.X3] = get("QSX3") * scale / c[n.NOMINAL_LOAD]
    c[n.X4], c[n.X10] = get("QSX4") * scale, get("QSX10") * scale
    c[n.X5], c[n.X6], c[n.X7] = get("QSX5"), get("QSX6"), get("QSX7")
    c[n.X8], c[n.X9], c[n.X11] = get("QSX8"), get("QSX9"), get("QSX11")
    c[n.OVERTURNING_TERMS] = float(c[n.X4] != 0.0 or c[n.X10] != 0.0)


def _rolling(c: FloatArray, properties: TyreProperties, dpi: float) -> None:
    """(4.E70), with the unscaled nominal load; the older formats' rule where QSY1 and QSY2 are zero."""
    get = properties.get
    c[n.REFERENCE_SPEED] = 1.0 / get("LONGVL", SPEED)
    for place in range(6):
        c[n.Y1 + place] = get(f"QSY{place + 1}")
    c[n.Y2] /= c[n.NOMINAL_LOAD]
    c[n.Y6] /= c[n.NOMINAL_LOAD]
    c[n.Y7] = get("QSY7")
    c[n.YIELD] = c[n.RADIUS] * get("LMY", 1.0) * (1.0 + dpi) ** get("QSY8")
    if properties.format != "MF 6.1" and get("QSY1") == 0.0 and get("QSY2") == 0.0:
        # M_y = R0 (S_Vx + K_x S_Hx) at the nominal load; a shift that drives is no rolling resistance.
        shift = c[n.VX1] * get("LMUX", 1.0) + c[n.KX1] * c[n.HX1]
        c[n.Y1] = max(-shift, 0.0)


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
    c[n.STIFFNESS] = first * nominal / radius * scale
    c[n.PROGRESSION] = second * nominal / radius**2 * scale
    c[n.DAMPING] = get("VERTICAL_DAMPING")
    c[n.FREE_RADIUS] = radius * get("Q_RE0", 1.0)
    stiffness = (given or math.sqrt(first**2 + 4.0 * second) * nominal / radius) * get("LCZ", 1.0)
    rim = get("RIM_RADIUS") + get("BOTTOM_OFFST", RIM_GAP)
    if "RIM_RADIUS" not in properties.coefficients:
        rim = 0.0
    rim = get("BOTTOMING_RADIUS", rim)
    c[n.RIM_DEPTH] = c[n.FREE_RADIUS] - rim if 0.0 < rim < c[n.FREE_RADIUS] else NO_RIM
    c[n.RIM_STIFFNESS] = get("BOTTOM_STIFF", RIM_FACTOR * stiffness)
    c[n.RE_SCALE] = nominal / stiffness
    c[n.RE_B], c[n.RE_D] = get("BREFF"), get("DREFF")
    # Without the coefficients: the usual third of the deflection.
    c[n.RE_F] = get("FREFF", 0.0 if "BREFF" in properties.coefficients else 1.0 / 3.0)


def _relaxation(c: FloatArray, properties: TyreProperties, dpi: float) -> None:
    get = properties.get
    radius = get("UNLOADED_RADIUS")
    c[n.MIN_LENGTH] = MIN_RELAXATION * radius
    vertical = get("VERTICAL_STIFFNESS", c[n.STIFFNESS])
    newest = properties.format == "MF 6.1"
    if newest or not get("PTX1") > 0.0:
        c[n.CARCASS_X] = 1.0
        swelling = 1.0 + get("PCFX3") * dpi
        c[n.CX1] = 1.0 / (get("LONGITUDINAL_STIFFNESS", CARCASS_ALONG * vertical) * swelling)
        c[n.CX2], c[n.CX3] = get("PCFX1"), get("PCFX2")
    else:
        scale = radius * get("LSGKP", 1.0)
        c[n.CX1], c[n.CX2], c[n.CX3] = get("PTX1") * scale, get("PTX2") * scale, get("PTX3")
    if newest or not (get("PTY1") > 0.0 and get("PTY2") > 0.0):
        c[n.CARCASS_Y] = 1.0
        swelling = 1.0 + get("PCFY3") * dpi
        c[n.CY1] = 1.0 / (get("LATERAL_STIFFNESS", CARCASS_ACROSS * vertical) * swelling)
        c[n.CY2], c[n.CY3] = get("PCFY1"), get("PCFY2")
    else:
        scale = radius * get("LFZO", 1.0) * get("LSGAL", 1.0)
        c[n.CY1], c[n.CY2] = get("PTY1") * scale, 1.0 / get("PTY2")


def _share_range(c: FloatArray, properties: TyreProperties) -> tuple[float, float]:
    """Return the shares of the nominal load between which the coefficients follow the load.

    Polynomials in df_z mean nothing beyond the loads they were fitted to: friction or stiffness would become
    negative. Outside the range friction and slip stiffness grow with the load itself.
    """
    highest = properties.get("FZMAX", MAX_LOAD_RATIO / c[n.SHARE]) * c[n.SHARE]
    shares = np.linspace(0.0, max(highest, 1.0), 401)
    d = shares - 1.0
    measures = (
        1.0 + c[n.MX2] / c[n.MX1] * d,
        1.0 + c[n.MY2] / c[n.MY1] * d,
        (1.0 + c[n.KX2] / c[n.KX1] * d) * np.exp(c[n.KX3] * d),
        _cornering(c, shares) / _cornering(c, np.ones(1)),
    )
    fits = np.all([measure >= MIN_REMAINDER for measure in measures], axis=0)
    place = int(np.argmin(np.abs(d)))
    low = high = place
    while low > 0 and fits[low - 1]:
        low -= 1
    while high < len(shares) - 1 and fits[high + 1]:
        high += 1
    return float(min(shares[low], 1.0)), float(max(shares[high], 1.0))


def _cornering(c: FloatArray, shares: FloatArray) -> FloatArray:
    """Return −K_yα per load, for any scale."""
    shares = shares + 1e-9
    found: FloatArray = np.sin(c[n.KY4] * np.arctan(shares / c[n.KY2])) / shares
    return found
