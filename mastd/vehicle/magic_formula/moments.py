"""Moments of the Magic Formula: pneumatic trail, residual, overturning moment, rolling resistance.

Names and equations as in ``formula``; all functions take real and complex numbers.
"""

from __future__ import annotations

import math
from typing import Final

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.vehicle.magic_formula.coefficients import GENERAL, MX, MY, MZ
from mastd.vehicle.magic_formula.complex_step import (
    arctan,
    at_least,
    at_most,
    cosine,
    exponential,
    inverse,
    logarithm,
    root,
    sine,
    size,
)

MIN_RATIO: Final = 1e-12
_SMALL: Final = 1e-24
_TWO_BY_PI: Final = 2.0 / math.pi


@fused_kernel
def curved(x: float, curvature: float) -> float:
    """Return x − E (x − arctan x), the argument of the formula's arc tangent (4.E9)."""
    return x - curvature * (x - arctan(x))


@fused_kernel
def alpha_eq(c: FloatArray, tan_alpha: float, shift: float, along: float) -> float:
    """Return the equivalent slip √(tan²(α + shift) + along), as an angle in the older formats (4.E77).

    ``along`` is (κ K_xκ / K_yα)². A shift is some hundredths: the series of its tangent is exact to 1e-9.
    """
    if c[GENERAL.IS_MF61] > 0.0:
        whole = tan_alpha + shift
        return root(whole * whole + along + _SMALL)
    square = shift * shift
    series = 1.0 / 3.0 + square * (2.0 / 15.0 + square * (17.0 / 315.0 + square * (62.0 / 2835.0)))
    turn = shift * (1.0 + square * series)
    across, ahead = tan_alpha + turn, 1.0 - tan_alpha * turn
    ahead = ahead * ahead
    return arctan(root((across * across + along * ahead + _SMALL) * inverse(ahead + _SMALL)))


@fused_kernel
def trail(
    c: FloatArray,
    alpha: float,
    tan_alpha: float,
    along: float,
    ratio: float,
    gamma: float,
    shift: float,
    grip: float,
) -> float:
    """Return the pneumatic trail t without cos α, m (4.E33) to (4.E44)."""
    dfz = ratio - 1.0
    s_h = shift * (c[MZ.QHZ1] + c[MZ.QHZ2] * dfz + gamma * (c[MZ.QHZ3] + c[MZ.QHZ4] * dfz))
    slope = c[MZ.QBZ1] + dfz * (c[MZ.QBZ2] + dfz * c[MZ.QBZ3])
    slope = (
        slope
        * (1.0 + c[MZ.QBZ4] * gamma + c[MZ.QBZ5] * size(gamma) + c[MZ.QBZ6] * gamma * gamma)
        * (1.0 / grip)
    )
    side = _TWO_BY_PI * arctan(slope * c[MZ.QCZ1] * (alpha + s_h))
    curvature = c[MZ.QEZ1] + dfz * (c[MZ.QEZ2] + dfz * c[MZ.QEZ3])
    curvature = at_most(curvature * (1.0 + (c[MZ.QEZ4] + c[MZ.QEZ5] * gamma) * side), 1.0)
    peak = ratio * (c[MZ.QDZ1] + c[MZ.QDZ2] * dfz) * (1.0 + c[MZ.QDZ3] * gamma + c[MZ.QDZ4] * gamma * gamma)
    slip = slope * alpha_eq(c, tan_alpha, s_h, along)
    found: float = peak * cosine(c[MZ.QCZ1] * arctan(curved(slip, curvature)))
    return found


@fused_kernel
def residual_moment(
    c: FloatArray,
    tan_alpha: float,
    along: float,
    ratio: float,
    gamma: float,
    s_h: float,
    slope: float,
    grip: float,
) -> float:
    """Return M_zr per load without cos α, m (4.E36) to (4.E47); ``slope``: B_y C_y."""
    dfz = ratio - 1.0
    peak = (
        c[MZ.QDZ6]
        + c[MZ.QDZ7] * dfz
        + gamma * (c[MZ.QDZ8] + c[MZ.QDZ9] * dfz + (c[MZ.QDZ10] + c[MZ.QDZ11] * dfz) * size(gamma))
    )
    slope_slip = (c[MZ.QBZ9] * (1.0 / grip) + c[MZ.QBZ10] * slope) * alpha_eq(c, tan_alpha, s_h, along)
    found: float = peak * grip * inverse(root(1.0 + slope_slip * slope_slip))
    return found


@fused_kernel
def overturning_moment(c: FloatArray, load: float, gamma: float, fy: float) -> float:
    """Return M_x per load, m (4.E69)."""
    found: float = c[MX.QSX1] - c[MX.QSX2] * gamma + c[MX.QSX3] * fy
    if c[MX.HAS_QSX4] > 0.0:
        relative_load = load * (1.0 / c[GENERAL.FNOMIN])
        pressed = c[MX.QSX6] * relative_load
        turn = c[MX.QSX7] * gamma + c[MX.QSX8] * arctan(c[MX.QSX9] * fy * (1.0 / c[GENERAL.FNOMIN]))
        found = found + c[MX.QSX4] * cosine(c[MX.QSX5] * arctan(pressed * pressed)) * sine(turn)
        found = found + c[MX.QSX10] * arctan(c[MX.QSX11] * relative_load) * gamma
    return found


@fused_kernel
def rolling_moment(
    c: FloatArray, load: float, gamma: float, fx: float, speed: float, rolling: float
) -> float:
    """Return M_y per load, m (4.E70): against the rolling, whose direction and share is ``rolling``."""
    fast = speed * c[MY.INVERSE_LONGVL]
    fast = fast * fast
    relative_load = load * (1.0 / c[GENERAL.FNOMIN])
    resistance = c[MY.QSY1] + c[MY.QSY3] * root(fast) + c[MY.QSY4] * fast * fast
    resistance = resistance + c[MY.QSY2] * rolling * fx + (c[MY.QSY5] + c[MY.QSY6] * load) * gamma * gamma
    if c[MY.QSY7] != 0.0:
        resistance = resistance * exponential(c[MY.QSY7] * logarithm(relative_load + MIN_RATIO))
    found: float = at_least(resistance, 0.0) * (-rolling * c[MY.LMY])
    return found
