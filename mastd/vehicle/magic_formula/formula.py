"""The Magic Formula: forces and moments of a tyre for its load, slip and camber.

Pacejka, *Tire and Vehicle Dynamics*, 3rd ed., section 4.3.2, equations (4.E1) to (4.E78), for MF 6.1; with
the pressure terms and B_t, D_t of Besselink, Schmeitz, Pacejka, *An improved Magic Formula/Swift tyre model
that can handle inflation pressure changes* (2010), equations (A58) and (A60). MF 5.2 and PAC2002 are the same
formulas in α and γ instead of tan α and sin γ, with fewer terms and other equivalent slips, as their equation
manuals give them. Turn slip is left out.

Axes of the contact (ISO 8855 W): x ahead, y left, z up; M_z about z.

    κ = −V_sx / |V_x|, tan α = V_sy / |V_x|

A slip to the left pulls to the right: K_yα < 0, as property files have it. Every force is taken per load; the
load's share p of the nominal load is kept to the range the coefficients are good for.

All functions take real and complex numbers (see ``magic_formula_numbers``).
"""

from __future__ import annotations

import math
from typing import Final

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel, separate_kernel
from mastd.vehicle.magic_formula import coefficients as n
from mastd.vehicle.magic_formula.coefficients import COUNT
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
from mastd.vehicle.magic_formula.from_tir import pack

__all__ = [
    "COUNT",
    "normal_load",
    "pack",
    "peak_friction",
    "relaxation_lengths",
    "rolling_radius",
    "slip_forces",
    "slip_stiffness",
]


DAMPING_DEPTH: Final = 1e-3
"""m of contact from which on the whole damping acts."""
MIN_FRICTION: Final = 1e-3
"""Least factor on friction; none at all would leave slip without a force to go with."""
ROLLING_SPEED: Final = 1.0
"""m/s from which on a wheel rolls: trail, residual moment and rolling resistance are whole."""
_MIN_FALL: Final = 0.1
_MIN_SHARE: Final = 1e-12
_SMALL: Final = 1e-24
_ELLIPSE_SLIP: Final = 1e-8
_TWO_BY_PI: Final = 2.0 / math.pi


@fused_kernel
def _share(c: FloatArray, load: float) -> float:
    """Return p, the load's share of the nominal load within the coefficients' range; never zero."""
    return at_most(at_least(load * c[n.SHARE], c[n.FZMIN_RATIO]), c[n.FZMAX_RATIO]) + _MIN_SHARE


@fused_kernel
def _tilt(c: FloatArray, camber: float) -> float:
    """Return γ (or sin γ, MF 6.1) within the range of the coefficients."""
    angle = at_most(at_least(camber, c[n.CAMMIN]), c[n.CAMMAX])
    return sine(angle) if c[n.TANGENT] > 0.0 else angle


@fused_kernel
def _friction_x(c: FloatArray, d: float, g: float) -> float:
    """μ_x without its factor (4.E13)."""
    found: float = (c[n.MX1] + c[n.MX2] * d) * at_least(1.0 - c[n.MX3] * g * g, _MIN_FALL)
    return found


@fused_kernel
def _friction_y(c: FloatArray, d: float, g: float) -> float:
    """μ_y without its factor (4.E23)."""
    found: float = (c[n.MY1] + c[n.MY2] * d) * at_least(1.0 - c[n.MY3] * g * g, _MIN_FALL)
    return found


@fused_kernel
def _stiffness_x(c: FloatArray, d: float) -> float:
    """K_xκ per load (4.E15)."""
    found: float = (c[n.KX1] + c[n.KX2] * d) * exponential(c[n.KX3] * d)
    return found


@fused_kernel
def _stiffness_y(c: FloatArray, p: float, g: float) -> float:
    """K_yα per load, below zero (4.E25)."""
    place = p * inverse(at_least(c[n.KY2] + c[n.KY5] * g * g, _MIN_FALL * c[n.KY2]))
    rise = at_least(sine(c[n.KY4] * arctan(place)) * inverse(p), 1e-3)
    found: float = c[n.KY1] * rise * _cambered(c, g)
    return found


@fused_kernel
def _cambered(c: FloatArray, g: float) -> float:
    """What camber leaves of K_yα."""
    return at_least(1.0 - c[n.KY3] * size(g), _MIN_FALL)


@fused_kernel
def _bent(x: float, curvature: float) -> float:
    """x − E (x − arctan x)."""
    return x - curvature * (x - arctan(x))


@fused_kernel
def slip_stiffness(c: FloatArray, load: float, camber: float) -> tuple[float, float]:
    """Return how fast F_x and −F_y grow with κ and tan α about zero, both > 0, N."""
    p, g = _share(c, load), _tilt(c, camber)
    return load * _stiffness_x(c, p - 1.0), -load * _stiffness_y(c, p, g)


@fused_kernel
def peak_friction(c: FloatArray, load: float, camber: float) -> tuple[float, float]:
    """Return μ_x and μ_y: the peaks of F_x and F_y over the load, without shifts."""
    d, g = _share(c, load) - 1.0, _tilt(c, camber)
    return _friction_x(c, d, g) * c[n.GRIP_X], _friction_y(c, d, g) * c[n.GRIP_Y]


@fused_kernel
def relaxation_lengths(c: FloatArray, load: float, camber: float) -> tuple[float, float]:
    """Return σ_κ and σ_α, m, never below a tenth of the radius.

    MF 6.1, and where PTX1 or PTY1 are missing: slip stiffness over the carcass' stiffness (section 9.3.2).
    PAC2002 and MF 5.2: σ_κ = F_z (PTX1 + PTX2 df_z) exp(−PTX3 df_z) R0 / F_zo,
    σ_α = PTY1 sin(2 arctan(F_z / (PTY2 F'zo))) (1 − PKY3 |γ|) R0.
    """
    p, g = _share(c, load), _tilt(c, camber)
    d = p - 1.0
    if c[n.CARCASS_X] > 0.0:
        carcass = at_least(1.0 + d * (c[n.CX2] + d * c[n.CX3]), _MIN_FALL)
        along = load * _stiffness_x(c, d) * c[n.CX1] * inverse(carcass)
    else:
        along = load * (c[n.CX1] + c[n.CX2] * d) * exponential(-c[n.CX3] * d) * (1.0 / c[n.NOMINAL_LOAD])
    if c[n.CARCASS_Y] > 0.0:
        carcass = at_least(1.0 + d * (c[n.CY2] + d * c[n.CY3]), _MIN_FALL)
        across = -load * _stiffness_y(c, p, g) * c[n.CY1] * inverse(carcass)
    else:
        across = c[n.CY1] * sine(2.0 * arctan(p * c[n.CY2])) * _cambered(c, g)
    return at_least(along, c[n.MIN_LENGTH]), at_least(across, c[n.MIN_LENGTH])


@fused_kernel
def normal_load(c: FloatArray, depth: float, rate: float) -> float:
    """Return the load, N, for the depth of contact, m, and how fast it grows, m/s; never below zero.

    The damping comes in over the first millimetre, so that a wheel lands without a jump; below the depth at
    which the rim is reached a second spring acts.
    """
    share = at_most(at_least(depth * (1.0 / DAMPING_DEPTH), 0.0), 1.0)
    bottomed = at_least(depth - c[n.RIM_DEPTH], 0.0)
    load = depth * (c[n.STIFFNESS] + depth * c[n.PROGRESSION]) + bottomed * c[n.RIM_STIFFNESS]
    load = load + share * c[n.DAMPING] * rate
    # Only what is certainly not above zero becomes zero: what is no number must come through.
    found: float = load * 0.0 if depth.real <= 0.0 or load.real <= 0.0 else load
    return found


@fused_kernel
def rolling_radius(c: FloatArray, load: float) -> float:
    """Return the effective rolling radius, m: R_e = R0 − ρ_zo (D arctan(B F_z/F_zo) + F F_z/F_zo)."""
    part = load * (1.0 / c[n.NOMINAL_LOAD])
    sunk = c[n.RE_SCALE] * (c[n.RE_D] * arctan(c[n.RE_B] * part) + c[n.RE_F] * part)
    return at_least(c[n.FREE_RADIUS] - sunk, 0.5 * c[n.RADIUS])


@fused_kernel
def _shift_friction(c: FloatArray, grip: float) -> float:
    """λ'μ, the friction factor of the vertical shifts (4.E8)."""
    found: float = c[n.DIGRESSION] * grip / (1.0 + (c[n.DIGRESSION] - 1.0) * grip)
    return found


@fused_kernel
def _weight(slip: float, shift: float, slope: float, shape: float, curvature: float) -> float:
    """G, how much of a force the other slip leaves, 1 at none (4.E51), (4.E59); never below zero."""
    found = cosine(shape * arctan(_bent(slope * (slip + shift), curvature)))
    if shift.real != 0.0:
        found = found * inverse(cosine(shape * arctan(_bent(slope * shift, curvature))))
    return at_least(found, 0.0)


@fused_kernel
def _lateral(
    c: FloatArray, a: float, d: float, g: float, stiffness: float, friction: float, grip: float, shift: float
) -> tuple[float, float, float]:
    """Return F_yo per load, S_Hy and S_Vy per load (4.E19) to (4.E30)."""
    thrust = grip * g * (c[n.VY3] + c[n.VY4] * d)
    s_v = shift * (grip * (c[n.VY1] + c[n.VY2] * d) + thrust)
    s_h = shift * (c[n.HY1] + c[n.HY2] * d + c[n.HY3] * g)
    if c[n.TANGENT] > 0.0:
        s_h = s_h + shift * (g * (c[n.KG1] + c[n.KG2] * d) - thrust) * inverse(stiffness)
    slip = a + s_h
    sign = 1.0 if slip.real > 0.0 else -1.0
    curvature = (c[n.EY1] + c[n.EY2] * d) * (1.0 + c[n.EY5] * g * g - (c[n.EY3] + c[n.EY4] * g) * sign)
    curvature = at_most(curvature, 1.0)
    slope = stiffness * inverse(c[n.CY] * friction)
    force = friction * sine(c[n.CY] * arctan(_bent(slope * slip, curvature))) + s_v
    return force, s_h, s_v


@fused_kernel
def _combined_x(c: FloatArray, a: float, kappa: float, d: float, g: float) -> float:
    """G_xα (4.E51) to (4.E57)."""
    slope = (c[n.BXA1] + c[n.BXA3] * g * g) * inverse(root(1.0 + c[n.BXA2] * c[n.BXA2] * kappa * kappa))
    return _weight(a, c[n.HXA], slope, c[n.CXA], at_most(c[n.EXA1] + c[n.EXA2] * d, 1.0))


@fused_kernel
def _combined_y(c: FloatArray, a: float, kappa: float, d: float, g: float) -> float:
    """G_yκ (4.E59) to (4.E65)."""
    off = c[n.BYK2] * (a - c[n.BYK3])
    slope = (c[n.BYK1] + c[n.BYK4] * g * g) * inverse(root(1.0 + off * off))
    return _weight(kappa, c[n.HYK1] + c[n.HYK2] * d, slope, c[n.CYK], at_most(c[n.EYK1] + c[n.EYK2] * d, 1.0))


@fused_kernel
def _drawn(c: FloatArray, a: float, kappa: float, d: float, g: float) -> float:
    """S_Vyκ over μ_y F_z: side force that longitudinal slip draws (4.E66), (4.E67)."""
    peak = c[n.VYK1] + c[n.VYK2] * d + c[n.VYK3] * g
    peak = peak * inverse(root(1.0 + c[n.VYK4] * c[n.VYK4] * a * a))
    found: float = peak * sine(c[n.VYK5] * arctan(c[n.VYK6] * kappa))
    return found


@fused_kernel
def _ellipse(slip: float, other: float, force: float, stiffness: float, other_friction: float) -> float:
    """Return the weight of a force by the friction ellipse of the PAC2002 manual.

    With the slips κ_c, α_c from where the forces are zero, tan β = |sin α_c| / |κ_c|, and the forces per load
    μ_act of either slip alone: μ_x = 1 / √(1/μ_x,act² + (tan β / μ_y,max)²),
    μ_y = tan β / √(1/μ_x,max² + (tan β / μ_y,act)²); the weights are μ / |μ_act|. Slip and force have the
    same small part added, so that the weight has its limit where both are zero.
    """
    own = slip * slip + _ELLIPSE_SLIP
    pull = (force * force + _ELLIPSE_SLIP * stiffness * stiffness) * inverse(other_friction * other_friction)
    return root(own * inverse(own + other * other * pull))


@fused_kernel
def _slip_sine(c: FloatArray, slip: float) -> float:
    """sin α of a slip that is α or tan α."""
    return slip * inverse(root(1.0 + slip * slip)) if c[n.TANGENT] > 0.0 else sine(slip)


@fused_kernel
def _equivalent(c: FloatArray, tan_alpha: float, shift: float, along: float) -> float:
    """Return the equivalent slip √(tan²(α + shift) + along), as an angle in the older formats (4.E77).

    ``along`` is (κ K_xκ / K_yα)². A shift is some hundredths: the series of its tangent is exact to 1e-9.
    """
    if c[n.TANGENT] > 0.0:
        whole = tan_alpha + shift
        return root(whole * whole + along + _SMALL)
    square = shift * shift
    series = 1.0 / 3.0 + square * (2.0 / 15.0 + square * (17.0 / 315.0 + square * (62.0 / 2835.0)))
    turn = shift * (1.0 + square * series)
    across, ahead = tan_alpha + turn, 1.0 - tan_alpha * turn
    ahead = ahead * ahead
    return arctan(root((across * across + along * ahead + _SMALL) * inverse(ahead + _SMALL)))


@fused_kernel
def _trail(
    c: FloatArray, a: float, tan_alpha: float, along: float, p: float, g: float, shift: float, grip: float
) -> float:
    """Return the pneumatic trail t without cos α, m (4.E33) to (4.E44)."""
    d = p - 1.0
    s_h = shift * (c[n.HT1] + c[n.HT2] * d + g * (c[n.HT3] + c[n.HT4] * d))
    slope = c[n.BT1] + d * (c[n.BT2] + d * c[n.BT3])
    slope = slope * (1.0 + c[n.BT4] * g + c[n.BT5] * size(g) + c[n.BT6] * g * g) * (1.0 / grip)
    side = _TWO_BY_PI * arctan(slope * c[n.CT] * (a + s_h))
    curvature = c[n.ET1] + d * (c[n.ET2] + d * c[n.ET3])
    curvature = at_most(curvature * (1.0 + (c[n.ET4] + c[n.ET5] * g) * side), 1.0)
    peak = p * (c[n.DT1] + c[n.DT2] * d) * (1.0 + c[n.DT3] * g + c[n.DT4] * g * g)
    slip = slope * _equivalent(c, tan_alpha, s_h, along)
    found: float = peak * cosine(c[n.CT] * arctan(_bent(slip, curvature)))
    return found


@fused_kernel
def _residual(
    c: FloatArray, tan_alpha: float, along: float, p: float, g: float, s_h: float, slope: float, grip: float
) -> float:
    """Return M_zr per load without cos α, m (4.E36) to (4.E47); ``slope``: B_y C_y."""
    d = p - 1.0
    peak = c[n.DR1] + c[n.DR2] * d + g * (c[n.DR3] + c[n.DR4] * d + (c[n.DR5] + c[n.DR6] * d) * size(g))
    narrow = (c[n.BR1] * (1.0 / grip) + c[n.BR2] * slope) * _equivalent(c, tan_alpha, s_h, along)
    found: float = peak * grip * inverse(root(1.0 + narrow * narrow))
    return found


@fused_kernel
def _overturning(c: FloatArray, load: float, g: float, fy: float) -> float:
    """Return M_x per load, m (4.E69)."""
    found: float = c[n.X1] - c[n.X2] * g + c[n.X3] * fy
    if c[n.OVERTURNING_TERMS] > 0.0:
        part = load * (1.0 / c[n.NOMINAL_LOAD])
        pressed = c[n.X6] * part
        turn = c[n.X7] * g + c[n.X8] * arctan(c[n.X9] * fy * (1.0 / c[n.NOMINAL_LOAD]))
        found = found + c[n.X4] * cosine(c[n.X5] * arctan(pressed * pressed)) * sine(turn)
        found = found + c[n.X10] * arctan(c[n.X11] * part) * g
    return found


@fused_kernel
def _resistance(c: FloatArray, load: float, g: float, fx: float, speed: float, rolling: float) -> float:
    """Return M_y per load, m (4.E70): against the rolling, whose direction and share is ``rolling``."""
    fast = speed * c[n.REFERENCE_SPEED]
    fast = fast * fast
    part = load * (1.0 / c[n.NOMINAL_LOAD])
    drag = c[n.Y1] + c[n.Y3] * root(fast) + c[n.Y4] * fast * fast
    drag = drag + c[n.Y2] * rolling * fx + (c[n.Y5] + c[n.Y6] * load) * g * g
    if c[n.Y7] != 0.0:
        drag = drag * exponential(c[n.Y7] * logarithm(part + _MIN_SHARE))
    found: float = at_least(drag, 0.0) * (-rolling * c[n.YIELD])
    return found


@separate_kernel
def slip_forces(
    c: FloatArray,
    load: float,
    kappa: float,
    tan_alpha: float,
    camber: float,
    speed: float,
    friction: float,
    shift: float,
) -> tuple[float, float, float, float, float]:
    """Return F_x, F_y, N, and M_x, M_y, M_z, N m, about the point of contact.

    ``load`` N; ``camber`` about x, rad; ``speed`` V_x, m/s; ``friction``: factor on both peaks; ``shift``:
    factor on all offsets that only a rolling tyre has (S_Hx, S_Vx, S_Hy, S_Vy, S_Ht, M_zr, S_Vyκ). M_y is the
    rolling resistance, against the rolling. Trail, M_zr and M_y turn with the direction of rolling and go
    smoothly through zero between ±1 m/s. ``speed``, ``friction`` and ``shift`` are real.
    """
    factor = MIN_FRICTION if friction < MIN_FRICTION else friction
    grip_x, grip_y = c[n.GRIP_X] * factor, c[n.GRIP_Y] * factor
    p, g = _share(c, load), _tilt(c, camber)
    d = p - 1.0
    across = root(1.0 + tan_alpha * tan_alpha)
    newest = c[n.TANGENT] > 0.0
    a = tan_alpha if newest else arctan(tan_alpha)
    # Pure longitudinal slip (4.E9) to (4.E18)
    mu_x = _friction_x(c, d, g) * grip_x
    k_x = _stiffness_x(c, d)
    s_hx = shift * (c[n.HX1] + c[n.HX2] * d)
    s_vx = shift * _shift_friction(c, grip_x) * (c[n.VX1] + c[n.VX2] * d)
    slip_x = kappa + s_hx
    sign = 1.0 if slip_x.real > 0.0 else -1.0
    curvature = at_most((c[n.EX1] + d * (c[n.EX2] + d * c[n.EX3])) * (1.0 - c[n.EX4] * sign), 1.0)
    slope = k_x * inverse(c[n.CX] * mu_x)
    fx = mu_x * sine(c[n.CX] * arctan(_bent(slope * slip_x, curvature))) + s_vx
    # Pure lateral slip
    grip_shift = _shift_friction(c, grip_y)
    mu_y = _friction_y(c, d, g) * grip_y
    k_y = _stiffness_y(c, p, g)
    fy, s_hy, s_vy = _lateral(c, a, d, g, k_y, mu_y, grip_shift, shift)
    shift_y = s_hy + s_vy * inverse(k_y)
    upright = fy
    if newest:
        # (4.E74): the trail acts on the side force without camber.
        level = g * 0.0
        plain = k_y * inverse(_cambered(c, g)) if c[n.KY5] == 0.0 else _stiffness_y(c, p, level)
        most = _friction_y(c, d, level) * grip_y
        upright, _, _ = _lateral(c, a, d, level, plain, most, grip_shift, shift)
    if c[n.COMBINED] > 0.0:
        weight = _combined_y(c, a, kappa, d, g)
        upright = upright * weight
        fy = fy * weight + shift * mu_y * _drawn(c, a, kappa, d, g)
        fx = fx * _combined_x(c, a, kappa, d, g)
    else:
        along, sideways = slip_x + s_vx * inverse(k_x), _slip_sine(c, a + shift_y)
        weight = _ellipse(sideways, along, fy, k_y, mu_x)
        fx = fx * _ellipse(along, sideways, fx, k_x, mu_y)
        fy, upright = fy * weight, upright * weight
    rolling = speed * (1.0 / ROLLING_SPEED)
    rolling = -1.0 if rolling < -1.0 else (1.0 if rolling > 1.0 else rolling)
    rolling = rolling * (1.5 - 0.5 * rolling * rolling)
    slip_ratio = k_x * inverse(k_y) * kappa
    slip_ratio = slip_ratio * slip_ratio
    trail = _trail(c, a, tan_alpha, slip_ratio, p, g, shift, grip_y)
    slope = k_y * inverse(mu_y)
    residual = shift * _residual(c, tan_alpha, slip_ratio, p, g, shift_y, slope, grip_y)
    lever = c[n.S1] + c[n.S2] * load * fy + (c[n.S3] + c[n.S4] * d) * g
    mz = load * (rolling * (residual - trail * upright) * inverse(across) + lever * fx)
    mx = load * _overturning(c, load, g, load * fy)
    my = load * _resistance(c, load, g, load * fx, speed, rolling)
    return load * fx, load * fy, mx, my, mz
