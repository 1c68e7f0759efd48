"""The Magic Formula: forces and moments of a tyre for its load, slip and camber.

Pacejka, *Tire and Vehicle Dynamics*, 3rd ed., section 4.3.2, equations (4.E1) to (4.E78), for MF 6.1; with
the pressure terms and B_t, D_t of Besselink, Schmeitz, Pacejka, *An improved Magic Formula/Swift tyre model
that can handle inflation pressure changes* (2010), equations (A58) and (A60). MF 5.2 and PAC2002 are the same
formulas in α and γ instead of tan α and sin γ, with fewer terms and other equivalent slips, as their equation
manuals give them. Turn slip is left out.

Axes of the contact (ISO 8855 W): x ahead, y left, z up; M_z about z.

    κ = −V_sx / |V_x|, tan α = V_sy / |V_x|

A slip to the left pulls to the right: K_yα < 0, as property files have it. Every force is taken per load; the
ratio F_z / F'_z0 is kept to the range the coefficients are good for.

All functions take real and complex numbers (see ``complex_step``).
"""

from __future__ import annotations

from typing import Final

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel, separate_kernel
from mastd.vehicle.magic_formula.coefficients import (
    COMBINED,
    COUNT,
    FX,
    FY,
    GENERAL,
    MZ,
    RELAXATION,
    VERTICAL,
)
from mastd.vehicle.magic_formula.complex_step import (
    arctan,
    at_least,
    at_most,
    cosine,
    exponential,
    inverse,
    root,
    sine,
    size,
)
from mastd.vehicle.magic_formula.from_tir import pack
from mastd.vehicle.magic_formula.moments import (
    MIN_RATIO,
    curved,
    overturning_moment,
    residual_moment,
    rolling_moment,
    trail,
)

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
_ELLIPSE_SLIP: Final = 1e-8


@fused_kernel
def _load_ratio(c: FloatArray, load: float) -> float:
    """Return F_z / F'_z0 = 1 + df_z (4.E2a) within the coefficients' range; never zero."""
    return (
        at_most(at_least(load * c[GENERAL.INVERSE_FZ0], c[GENERAL.FZMIN_RATIO]), c[GENERAL.FZMAX_RATIO])
        + MIN_RATIO
    )


@fused_kernel
def _gamma(c: FloatArray, camber: float) -> float:
    """Return γ (or sin γ, MF 6.1) within the range of the coefficients."""
    angle = at_most(at_least(camber, c[GENERAL.CAMMIN]), c[GENERAL.CAMMAX])
    return sine(angle) if c[GENERAL.IS_MF61] > 0.0 else angle


@fused_kernel
def _friction_x(c: FloatArray, dfz: float, gamma: float) -> float:
    """Return μ_x without its factor (4.E13)."""
    found: float = (c[FX.PDX1] + c[FX.PDX2] * dfz) * at_least(1.0 - c[FX.PDX3] * gamma * gamma, _MIN_FALL)
    return found


@fused_kernel
def _friction_y(c: FloatArray, dfz: float, gamma: float) -> float:
    """Return μ_y without its factor (4.E23)."""
    found: float = (c[FY.PDY1] + c[FY.PDY2] * dfz) * at_least(1.0 - c[FY.PDY3] * gamma * gamma, _MIN_FALL)
    return found


@fused_kernel
def _stiffness_x(c: FloatArray, dfz: float) -> float:
    """Return K_xκ per load (4.E15)."""
    found: float = (c[FX.PKX1] + c[FX.PKX2] * dfz) * exponential(c[FX.PKX3] * dfz)
    return found


@fused_kernel
def _stiffness_y(c: FloatArray, ratio: float, gamma: float) -> float:
    """Return K_yα per load, below zero (4.E25)."""
    x = ratio * inverse(at_least(c[FY.PKY2] + c[FY.PKY5] * gamma * gamma, _MIN_FALL * c[FY.PKY2]))
    stiffness_ratio = at_least(sine(c[FY.PKY4] * arctan(x)) * inverse(ratio), 1e-3)
    found: float = c[FY.PKY1] * stiffness_ratio * _camber_factor(c, gamma)
    return found


@fused_kernel
def _camber_factor(c: FloatArray, gamma: float) -> float:
    """Return the factor of camber on K_yα (4.E25)."""
    return at_least(1.0 - c[FY.PKY3] * size(gamma), _MIN_FALL)


@fused_kernel
def slip_stiffness(c: FloatArray, load: float, camber: float) -> tuple[float, float]:
    """Return how fast F_x and −F_y grow with κ and tan α about zero, both > 0, N."""
    ratio, gamma = _load_ratio(c, load), _gamma(c, camber)
    return load * _stiffness_x(c, ratio - 1.0), -load * _stiffness_y(c, ratio, gamma)


@fused_kernel
def peak_friction(c: FloatArray, load: float, camber: float) -> tuple[float, float]:
    """Return μ_x and μ_y: the peaks of F_x and F_y over the load, without shifts."""
    dfz, gamma = _load_ratio(c, load) - 1.0, _gamma(c, camber)
    return _friction_x(c, dfz, gamma) * c[GENERAL.LMUX], _friction_y(c, dfz, gamma) * c[GENERAL.LMUY]


@fused_kernel
def relaxation_lengths(c: FloatArray, load: float, camber: float) -> tuple[float, float]:
    """Return σ_κ and σ_α, m, never below a tenth of the radius.

    MF 6.1, and where PTX1 or PTY1 are missing: slip stiffness over the carcass' stiffness (section 9.3.2).
    PAC2002 and MF 5.2: σ_κ = F_z (PTX1 + PTX2 df_z) exp(−PTX3 df_z) R0 / F_zo,
    σ_α = PTY1 sin(2 arctan(F_z / (PTY2 F'zo))) (1 − PKY3 |γ|) R0.
    """
    ratio, gamma = _load_ratio(c, load), _gamma(c, camber)
    dfz = ratio - 1.0
    if c[RELAXATION.IS_CARCASS_X] > 0.0:
        carcass = at_least(1.0 + dfz * (c[RELAXATION.PTX2] + dfz * c[RELAXATION.PTX3]), _MIN_FALL)
        along = load * _stiffness_x(c, dfz) * c[RELAXATION.PTX1] * inverse(carcass)
    else:
        along = (
            load
            * (c[RELAXATION.PTX1] + c[RELAXATION.PTX2] * dfz)
            * exponential(-c[RELAXATION.PTX3] * dfz)
            * (1.0 / c[GENERAL.FNOMIN])
        )
    if c[RELAXATION.IS_CARCASS_Y] > 0.0:
        carcass = at_least(1.0 + dfz * (c[RELAXATION.PTY2] + dfz * c[RELAXATION.PTY3]), _MIN_FALL)
        across = -load * _stiffness_y(c, ratio, gamma) * c[RELAXATION.PTY1] * inverse(carcass)
    else:
        across = (
            c[RELAXATION.PTY1] * sine(2.0 * arctan(ratio * c[RELAXATION.PTY2])) * _camber_factor(c, gamma)
        )
    return at_least(along, c[RELAXATION.MIN_LENGTH]), at_least(across, c[RELAXATION.MIN_LENGTH])


@fused_kernel
def normal_load(c: FloatArray, depth: float, rate: float) -> float:
    """Return the load, N, for the depth of contact, m, and how fast it grows, m/s; never below zero.

    The damping comes in over the first millimetre, so that a wheel lands without a jump; below the depth at
    which the rim is reached a second spring acts.
    """
    fraction = at_most(at_least(depth * (1.0 / DAMPING_DEPTH), 0.0), 1.0)
    bottomed = at_least(depth - c[VERTICAL.RIM_DEPTH], 0.0)
    load = depth * (c[VERTICAL.QFZ1] + depth * c[VERTICAL.QFZ2]) + bottomed * c[VERTICAL.BOTTOM_STIFF]
    load = load + fraction * c[VERTICAL.VERTICAL_DAMPING] * rate
    # Only what is certainly not above zero becomes zero: what is no number must come through.
    found: float = load * 0.0 if depth.real <= 0.0 or load.real <= 0.0 else load
    return found


@fused_kernel
def rolling_radius(c: FloatArray, load: float) -> float:
    """Return the effective rolling radius, m: R_e = R0 − ρ_zo (D arctan(B F_z/F_zo) + F F_z/F_zo)."""
    relative_load = load * (1.0 / c[GENERAL.FNOMIN])
    sunk = c[VERTICAL.RE_SCALE] * (
        c[VERTICAL.DREFF] * arctan(c[VERTICAL.BREFF] * relative_load) + c[VERTICAL.FREFF] * relative_load
    )
    return at_least(c[VERTICAL.FREE_RADIUS] - sunk, 0.5 * c[GENERAL.UNLOADED_RADIUS])


@fused_kernel
def _shift_friction(c: FloatArray, grip: float) -> float:
    """Return λ'μ, the friction factor of the vertical shifts (4.E8)."""
    found: float = c[GENERAL.AMU] * grip / (1.0 + (c[GENERAL.AMU] - 1.0) * grip)
    return found


@fused_kernel
def _weighting(slip: float, shift: float, slope: float, shape: float, curvature: float) -> float:
    """Return the weighting G of a force by the other slip, 1 without it (4.E51), (4.E59); never negative."""
    found = cosine(shape * arctan(curved(slope * (slip + shift), curvature)))
    if shift.real != 0.0:
        found = found * inverse(cosine(shape * arctan(curved(slope * shift, curvature))))
    return at_least(found, 0.0)


@fused_kernel
def _pure_longitudinal(
    c: FloatArray, kappa: float, dfz: float, stiffness: float, friction: float, grip: float, shift: float
) -> tuple[float, float, float]:
    """Return F_xo per load, κ_x = κ + S_Hx, and S_Vx per load (4.E9) to (4.E18)."""
    s_hx = shift * (c[FX.PHX1] + c[FX.PHX2] * dfz)
    s_vx = shift * grip * (c[FX.PVX1] + c[FX.PVX2] * dfz)
    slip_x = kappa + s_hx
    sign = 1.0 if slip_x.real > 0.0 else -1.0
    curvature = at_most((c[FX.PEX1] + dfz * (c[FX.PEX2] + dfz * c[FX.PEX3])) * (1.0 - c[FX.PEX4] * sign), 1.0)
    slope = stiffness * inverse(c[FX.PCX1] * friction)
    force = friction * sine(c[FX.PCX1] * arctan(curved(slope * slip_x, curvature))) + s_vx
    return force, slip_x, s_vx


@fused_kernel
def _pure_lateral(
    c: FloatArray,
    alpha: float,
    dfz: float,
    gamma: float,
    stiffness: float,
    friction: float,
    grip: float,
    shift: float,
) -> tuple[float, float, float]:
    """Return F_yo per load, S_Hy and S_Vy per load (4.E19) to (4.E30)."""
    s_vyg = grip * gamma * (c[FY.PVY3] + c[FY.PVY4] * dfz)
    s_v = shift * (grip * (c[FY.PVY1] + c[FY.PVY2] * dfz) + s_vyg)
    s_h = shift * (c[FY.PHY1] + c[FY.PHY2] * dfz + c[FY.PHY3] * gamma)
    if c[GENERAL.IS_MF61] > 0.0:
        s_h = s_h + shift * (gamma * (c[FY.PKY6] + c[FY.PKY7] * dfz) - s_vyg) * inverse(stiffness)
    slip = alpha + s_h
    sign = 1.0 if slip.real > 0.0 else -1.0
    curvature = (c[FY.PEY1] + c[FY.PEY2] * dfz) * (
        1.0 + c[FY.PEY5] * gamma * gamma - (c[FY.PEY3] + c[FY.PEY4] * gamma) * sign
    )
    curvature = at_most(curvature, 1.0)
    slope = stiffness * inverse(c[FY.PCY1] * friction)
    force = friction * sine(c[FY.PCY1] * arctan(curved(slope * slip, curvature))) + s_v
    return force, s_h, s_v


@fused_kernel
def _g_xa(c: FloatArray, alpha: float, kappa: float, dfz: float, gamma: float) -> float:
    """Return G_xα (4.E51) to (4.E57)."""
    slope = (c[COMBINED.RBX1] + c[COMBINED.RBX3] * gamma * gamma) * inverse(
        root(1.0 + c[COMBINED.RBX2] * c[COMBINED.RBX2] * kappa * kappa)
    )
    return _weighting(
        alpha,
        c[COMBINED.RHX1],
        slope,
        c[COMBINED.RCX1],
        at_most(c[COMBINED.REX1] + c[COMBINED.REX2] * dfz, 1.0),
    )


@fused_kernel
def _g_yk(c: FloatArray, alpha: float, kappa: float, dfz: float, gamma: float) -> float:
    """Return G_yκ (4.E59) to (4.E65)."""
    b_yk2 = c[COMBINED.RBY2] * (alpha - c[COMBINED.RBY3])
    slope = (c[COMBINED.RBY1] + c[COMBINED.RBY4] * gamma * gamma) * inverse(root(1.0 + b_yk2 * b_yk2))
    return _weighting(
        kappa,
        c[COMBINED.RHY1] + c[COMBINED.RHY2] * dfz,
        slope,
        c[COMBINED.RCY1],
        at_most(c[COMBINED.REY1] + c[COMBINED.REY2] * dfz, 1.0),
    )


@fused_kernel
def _s_vyk(c: FloatArray, alpha: float, kappa: float, dfz: float, gamma: float) -> float:
    """Return S_Vyκ / (μ_y F_z): side force caused by longitudinal slip (4.E66), (4.E67)."""
    peak = c[COMBINED.RVY1] + c[COMBINED.RVY2] * dfz + c[COMBINED.RVY3] * gamma
    peak = peak * inverse(root(1.0 + c[COMBINED.RVY4] * c[COMBINED.RVY4] * alpha * alpha))
    found: float = peak * sine(c[COMBINED.RVY5] * arctan(c[COMBINED.RVY6] * kappa))
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
    """Return sin α of a slip that is α or tan α."""
    return slip * inverse(root(1.0 + slip * slip)) if c[GENERAL.IS_MF61] > 0.0 else sine(slip)


@fused_kernel
def _rolling_direction(speed: float) -> float:
    """Return −1…1: direction of rolling, smooth between ±``ROLLING_SPEED``."""
    rolling = speed * (1.0 / ROLLING_SPEED)
    rolling = -1.0 if rolling < -1.0 else (1.0 if rolling > 1.0 else rolling)
    return rolling * (1.5 - 0.5 * rolling * rolling)


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
    lambda_mux, lambda_muy = c[GENERAL.LMUX] * factor, c[GENERAL.LMUY] * factor
    ratio, gamma = _load_ratio(c, load), _gamma(c, camber)
    dfz = ratio - 1.0
    across = root(1.0 + tan_alpha * tan_alpha)
    is_mf61 = c[GENERAL.IS_MF61] > 0.0
    alpha = tan_alpha if is_mf61 else arctan(tan_alpha)
    mu_x, k_xk = _friction_x(c, dfz, gamma) * lambda_mux, _stiffness_x(c, dfz)
    fx, slip_x, s_vx = _pure_longitudinal(c, kappa, dfz, k_xk, mu_x, _shift_friction(c, lambda_mux), shift)
    lambda_mu_shift = _shift_friction(c, lambda_muy)
    mu_y = _friction_y(c, dfz, gamma) * lambda_muy
    k_ya = _stiffness_y(c, ratio, gamma)
    fy, s_hy, s_vy = _pure_lateral(c, alpha, dfz, gamma, k_ya, mu_y, lambda_mu_shift, shift)
    shift_y = s_hy + s_vy * inverse(k_ya)
    fy_upright = fy
    if is_mf61:
        # (4.E74): the trail acts on the side force without camber.
        no_camber = gamma * 0.0
        k_ya_upright = (
            k_ya * inverse(_camber_factor(c, gamma))
            if c[FY.PKY5] == 0.0
            else _stiffness_y(c, ratio, no_camber)
        )
        mu_y_upright = _friction_y(c, dfz, no_camber) * lambda_muy
        fy_upright, _, _ = _pure_lateral(
            c, alpha, dfz, no_camber, k_ya_upright, mu_y_upright, lambda_mu_shift, shift
        )
    if c[COMBINED.HAS_RBX1] > 0.0:
        weight = _g_yk(c, alpha, kappa, dfz, gamma)
        fy_upright = fy_upright * weight
        fy = fy * weight + shift * mu_y * _s_vyk(c, alpha, kappa, dfz, gamma)
        fx = fx * _g_xa(c, alpha, kappa, dfz, gamma)
    else:
        along, sideways = slip_x + s_vx * inverse(k_xk), _slip_sine(c, alpha + shift_y)
        weight = _ellipse(sideways, along, fy, k_ya, mu_x)
        fx = fx * _ellipse(along, sideways, fx, k_xk, mu_y)
        fy, fy_upright = fy * weight, fy_upright * weight
    rolling = _rolling_direction(speed)
    slip_ratio = k_xk * inverse(k_ya) * kappa
    slip_ratio = slip_ratio * slip_ratio
    trail_length = trail(c, alpha, tan_alpha, slip_ratio, ratio, gamma, shift, lambda_muy)
    slope = k_ya * inverse(mu_y)
    residual = shift * residual_moment(c, tan_alpha, slip_ratio, ratio, gamma, shift_y, slope, lambda_muy)
    lever = c[MZ.SSZ1] + c[MZ.SSZ2] * load * fy + (c[MZ.SSZ3] + c[MZ.SSZ4] * dfz) * gamma
    mz = load * (rolling * (residual - trail_length * fy_upright) * inverse(across) + lever * fx)
    mx = load * overturning_moment(c, load, gamma, load * fy)
    my = load * rolling_moment(c, load, gamma, load * fx, speed, rolling)
    return load * fx, load * fy, mx, my, mz
