"""The Magic Formula written down once more, equation by equation, for single points of undisturbed ranges.

MF 6.1: Pacejka, Tyre and Vehicle Dynamics, 3rd ed., (4.E1) to (4.E78), B_t and D_t after Besselink et al.
(2010). MF 5.2 and PAC2002: their equation manuals. All forces in newton, no packing, forward rolling.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from math import atan, cos, exp, pi, sin, sqrt, tan

from mastd.formats.tyre.tir import TyreProperties

Result = tuple[float, float, float, float, float]


class Coefficients:
    """Coefficients as attributes: missing scale factors are 1, everything else missing is 0."""

    def __init__(self, values: Mapping[str, float]) -> None:
        self._values = values

    def __getattr__(self, name: str) -> float:
        return self._values.get(name, 1.0 if name.startswith("L") else 0.0)


@dataclass(frozen=True)
class Point:
    load: float
    kappa: float
    tan_alpha: float
    camber: float
    speed: float
    friction: float = 1.0


def sgn(x: float) -> float:
    return math.copysign(1.0, x)


def magic(b: float, c: float, d: float, e: float, x: float) -> float:
    return d * sin(c * atan(b * x - min(e, 1.0) * (b * x - atan(b * x))))


def cosine_magic(b: float, c: float, e: float, x: float) -> float:
    return cos(c * atan(b * x - min(e, 1.0) * (b * x - atan(b * x))))


def weight(b: float, c: float, e: float, x: float, shift: float) -> float:
    """G (4.E51), (4.E59), whose two factors are only meant as long as they are above zero."""
    return max(cosine_magic(b, c, e, x + shift) / cosine_magic(b, c, e, shift), 0.0)


def mf61(q: Coefficients, at: Point) -> Result:
    fz, kappa = at.load, at.kappa
    lmux, lmuy = q.LMUX * at.friction, q.LMUY * at.friction
    prime_x, prime_y = (10 * x / (1 + 9 * x) for x in (lmux, lmuy))
    fz0 = q.FNOMIN * q.LFZO
    df = (fz - fz0) / fz0
    dp = (q.INFLPRES - q.NOMPRES) / q.NOMPRES
    a, g = at.tan_alpha, sin(at.camber)
    cosine = 1 / sqrt(1 + a * a)
    # longitudinal
    cx = q.PCX1 * q.LCX
    mux = (q.PDX1 + q.PDX2 * df) * (1 + q.PPX3 * dp + q.PPX4 * dp**2) * (1 - q.PDX3 * g**2) * lmux
    shx = (q.PHX1 + q.PHX2 * df) * q.LHX
    kx = fz * (q.PKX1 + q.PKX2 * df) * exp(q.PKX3 * df) * (1 + q.PPX1 * dp + q.PPX2 * dp**2) * q.LKX
    ex = (q.PEX1 + q.PEX2 * df + q.PEX3 * df**2) * (1 - q.PEX4 * sgn(kappa + shx)) * q.LEX
    svx = fz * (q.PVX1 + q.PVX2 * df) * q.LVX * prime_x
    fx0 = magic(kx / (cx * mux * fz), cx, mux * fz, ex, kappa + shx) + svx

    def lateral(g: float) -> tuple[float, float, float, float, float]:
        """F_yo, K_yα, S_Hy, S_Vy, μ_y."""
        muy = (q.PDY1 + q.PDY2 * df) * (1 + q.PPY3 * dp + q.PPY4 * dp**2) * (1 - q.PDY3 * g**2) * lmuy
        inner = fz / fz0 / ((q.PKY2 + q.PKY5 * g**2) * (1 + q.PPY2 * dp))
        ky = q.PKY1 * fz0 * (1 + q.PPY1 * dp) * (1 - q.PKY3 * abs(g)) * sin(q.PKY4 * atan(inner)) * q.LKY
        svyg = fz * (q.PVY3 + q.PVY4 * df) * g * q.LKYC * prime_y
        kyg = fz * (q.PKY6 + q.PKY7 * df) * (1 + q.PPY5 * dp) * q.LKYC
        shy = (q.PHY1 + q.PHY2 * df) * q.LHY + (kyg * g - svyg) / ky
        svy = fz * (q.PVY1 + q.PVY2 * df) * q.LVY * prime_y + svyg
        cy = q.PCY1 * q.LCY
        ey = (q.PEY1 + q.PEY2 * df) * (1 + q.PEY5 * g**2 - (q.PEY3 + q.PEY4 * g) * sgn(a + shy)) * q.LEY
        return magic(ky / (cy * muy * fz), cy, muy * fz, ey, a + shy) + svy, ky, shy, svy, muy

    fy0, ky, shy, svy, muy = lateral(g)
    # combined
    bx = (q.RBX1 + q.RBX3 * g**2) * cos(atan(q.RBX2 * kappa)) * q.LXAL
    e = q.REX1 + q.REX2 * df
    fx = fx0 * weight(bx, q.RCX1, e, a, q.RHX1)
    by = (q.RBY1 + q.RBY4 * g**2) * cos(atan(q.RBY2 * (a - q.RBY3))) * q.LYKA
    e, sh = q.REY1 + q.REY2 * df, q.RHY1 + q.RHY2 * df
    gy = weight(by, q.RCY1, e, kappa, sh)
    dv = muy * fz * (q.RVY1 + q.RVY2 * df + q.RVY3 * g) * cos(atan(q.RVY4 * a))
    fy = gy * fy0 + dv * sin(q.RVY5 * atan(q.RVY6 * kappa)) * q.LVYKA
    # aligning
    at_ = a + q.QHZ1 + q.QHZ2 * df + (q.QHZ3 + q.QHZ4 * df) * g
    bt = (q.QBZ1 + q.QBZ2 * df + q.QBZ3 * df**2) * (1 + q.QBZ4 * g + q.QBZ5 * abs(g)) * q.LKY / lmuy
    dt = fz * q.UNLOADED_RADIUS / fz0 * (q.QDZ1 + q.QDZ2 * df) * (1 - q.PPZ1 * dp) * q.LTR
    dt *= 1 + q.QDZ3 * g + q.QDZ4 * g**2
    et = (q.QEZ1 + q.QEZ2 * df + q.QEZ3 * df**2) * (
        1 + (q.QEZ4 + q.QEZ5 * g) * 2 / pi * atan(bt * q.QCZ1 * at_)
    )
    t = dt * cosine_magic(bt, q.QCZ1, et, sqrt(at_**2 + (kx / ky * kappa) ** 2) * sgn(at_)) * cosine
    ar = a + shy + svy / ky
    br = q.QBZ9 * q.LKY / lmuy + q.QBZ10 * ky / (muy * fz)
    tilt = (q.QDZ8 + q.QDZ9 * df) * (1 + q.PPZ2 * dp) + (q.QDZ10 + q.QDZ11 * df) * abs(g)
    dr = fz * q.UNLOADED_RADIUS * ((q.QDZ6 + q.QDZ7 * df) * q.LRES + tilt * g * q.LKZC) * lmuy * cosine
    mzr = dr * cos(atan(br * sqrt(ar**2 + (kx / ky * kappa) ** 2) * sgn(ar)))
    s = q.UNLOADED_RADIUS * (q.SSZ1 + q.SSZ2 * fy / fz0 + (q.SSZ3 + q.SSZ4 * df) * g) * q.LS
    mz = -t * gy * lateral(0.0)[0] + mzr + s * fx
    return fx, fy, overturning(q, fz, g, fy, dp), rolling(q, at, g, fx, dp), mz


def overturning(q: Coefficients, fz: float, g: float, fy: float, dp: float) -> float:
    nominal = q.FNOMIN
    term = q.QSX4 * cos(q.QSX5 * atan((q.QSX6 * fz / nominal) ** 2))
    term *= sin(q.QSX7 * g + q.QSX8 * atan(q.QSX9 * fy / nominal))
    inner = q.QSX1 * q.LVMX - q.QSX2 * g * (1 + q.PPMX1 * dp) + q.QSX3 * fy / nominal + term
    return q.UNLOADED_RADIUS * fz * (inner + q.QSX10 * atan(q.QSX11 * fz / nominal) * g) * q.LMX


def rolling(q: Coefficients, at: Point, g: float, fx: float, dp: float) -> float:
    part, fast = at.load / q.FNOMIN, abs(at.speed / q.LONGVL)
    drag = q.QSY1 + q.QSY2 * fx / q.FNOMIN + q.QSY3 * fast + q.QSY4 * fast**4
    drag += (q.QSY5 + q.QSY6 * part) * g**2
    moment: float = -q.UNLOADED_RADIUS * at.load * drag * part**q.QSY7 * (1 + dp) ** q.QSY8 * q.LMY
    return moment


def older(q: Coefficients, at: Point) -> Result:
    """MF 5.2 and PAC2002, where the file gives coefficients of combined slip; else the friction ellipse."""
    fz, kappa, g = at.load, at.kappa, at.camber
    lmux, lmuy = q.LMUX * at.friction, q.LMUY * at.friction
    fz0 = q.FNOMIN * q.LFZO
    df = (fz - fz0) / fz0
    a = atan(at.tan_alpha)
    gx, gy, gz = g * q.LGAX, g * q.LGAY, g * q.LGAZ
    cx = q.PCX1 * q.LCX
    mux = (q.PDX1 + q.PDX2 * df) * (1 - q.PDX3 * gx**2) * lmux
    shx = (q.PHX1 + q.PHX2 * df) * q.LHX
    kx = fz * (q.PKX1 + q.PKX2 * df) * exp(q.PKX3 * df) * q.LKX
    ex = (q.PEX1 + q.PEX2 * df + q.PEX3 * df**2) * (1 - q.PEX4 * sgn(kappa + shx)) * q.LEX
    svx = fz * (q.PVX1 + q.PVX2 * df) * q.LVX * lmux
    fx0 = magic(kx / (cx * mux * fz), cx, mux * fz, ex, kappa + shx) + svx
    cy = q.PCY1 * q.LCY
    muy = (q.PDY1 + q.PDY2 * df) * (1 - q.PDY3 * gy**2) * lmuy
    ky = q.PKY1 * fz0 * sin(2 * atan(fz / (q.PKY2 * fz0))) * (1 - q.PKY3 * abs(gy)) * q.LKY
    shy = (q.PHY1 + q.PHY2 * df) * q.LHY + q.PHY3 * gy
    svy = fz * ((q.PVY1 + q.PVY2 * df) * q.LVY + (q.PVY3 + q.PVY4 * df) * gy) * lmuy
    ey = (q.PEY1 + q.PEY2 * df) * (1 - (q.PEY3 + q.PEY4 * gy) * sgn(a + shy)) * q.LEY
    fy0 = magic(ky / (cy * muy * fz), cy, muy * fz, ey, a + shy) + svy
    if q.RBX1:
        bx = q.RBX1 * cos(atan(q.RBX2 * kappa)) * q.LXAL
        e = q.REX1 + q.REX2 * df
        fx = fx0 * weight(bx, q.RCX1, e, a, q.RHX1)
        by = q.RBY1 * cos(atan(q.RBY2 * (a - q.RBY3))) * q.LYKA
        e, sh = q.REY1 + q.REY2 * df, q.RHY1 + q.RHY2 * df
        side = fy0 * weight(by, q.RCY1, e, kappa, sh)
        dv = muy * fz * (q.RVY1 + q.RVY2 * df + q.RVY3 * g) * cos(atan(q.RVY4 * a))
        fy = side + dv * sin(q.RVY5 * atan(q.RVY6 * kappa)) * q.LVYKA
    else:
        kc, ac = kappa + shx + svx / kx, sin(a + shy + svy / ky)
        beta = math.acos(abs(kc) / sqrt(kc**2 + ac**2))
        act_x, act_y = fx0 / fz, fy0 / fz
        mu_x = 1 / sqrt((1 / act_x) ** 2 + (tan(beta) / muy) ** 2)
        mu_y = tan(beta) / sqrt((1 / mux) ** 2 + (tan(beta) / act_y) ** 2)
        fx, fy = abs(mu_x / act_x) * fx0, abs(mu_y / act_y) * fy0
        side = fy
    at_ = a + q.QHZ1 + q.QHZ2 * df + (q.QHZ3 + q.QHZ4 * df) * gz
    bt = (q.QBZ1 + q.QBZ2 * df + q.QBZ3 * df**2) * (1 + q.QBZ4 * gz + q.QBZ5 * abs(gz)) * q.LKY / lmuy
    dt = fz * (q.QDZ1 + q.QDZ2 * df) * (1 + q.QDZ3 * gz + q.QDZ4 * gz**2) * q.UNLOADED_RADIUS / fz0 * q.LTR
    et = (q.QEZ1 + q.QEZ2 * df + q.QEZ3 * df**2) * (
        1 + (q.QEZ4 + q.QEZ5 * gz) * 2 / pi * atan(bt * q.QCZ1 * at_)
    )
    ateq = atan(sqrt(tan(at_) ** 2 + (kx / ky * kappa) ** 2)) * sgn(at_)
    t = dt * cosine_magic(bt, q.QCZ1, et, ateq) * cos(a)
    ar = a + shy + svy / ky
    areq = atan(sqrt(tan(ar) ** 2 + (kx / ky * kappa) ** 2)) * sgn(ar)
    br = q.QBZ9 * q.LKY / lmuy + q.QBZ10 * ky / (muy * fz)
    dr = fz * ((q.QDZ6 + q.QDZ7 * df) * q.LRES + (q.QDZ8 + q.QDZ9 * df) * gz) * q.UNLOADED_RADIUS * lmuy
    s = q.UNLOADED_RADIUS * (q.SSZ1 + q.SSZ2 * fy / q.FNOMIN + (q.SSZ3 + q.SSZ4 * df) * g) * q.LS
    mz = -t * side + dr * cos(atan(br * areq)) * cos(a) + s * fx
    return fx, fy, overturning(q, fz, g, fy, 0.0), rolling(q, at, g, fx, 0.0), mz


def expected(properties: TyreProperties, at: Point) -> Result:
    """Return F_x, F_y, M_x, M_y, M_z by the formulas of the tyre's format."""
    formulas = mf61 if properties.format == "MF 6.1" else older
    return formulas(Coefficients(properties.coefficients), at)
