"""A wheel on a Magic Formula tyre: contact, relaxed slips, forces, brake and spin, for one wheel.

One function for real and for complex numbers: the solver's exact Jacobian is its derivative by the
complex step, Im f(x + i ε) / ε, which has no rounding of differences (Squire and Trapp 1998). Vectors are
in the axes of the frame.

Contact. n: normal of the ground, a: spin axis (points left), γ with sin γ = a·n. The axes of the contact
are e_x = a × n / cos γ, e_y = n × e_x and n (W-axes of ISO 8855). The tyre touches below the wheel centre
within the wheel's plane, at −R e_r, e_r = (n − a sin γ) / cos γ, R = d / cos γ for a centre at the
distance d above the ground. With the depth R₀ − R and its rate the formula's vertical law gives the load.

Slip speeds. With w and ω of the carrier as seen from the ground, which may turn itself: V_x = w·e_x, V_sx
= V_x − ω·a r_0 − V_r, V_sy = (w − r_0 ω × e_r)·e_y. V_r = (Ω − ω·a) r_e is the speed at which the wheel
rolls on its carrier, Ω being its whole spin, r_e the effective radius under the present load, r_0 the
nominal one. Seen so, deflections of a wheel that is locked depend on where its carrier is, and not on how
it came there: with r_e instead of r_0 a car that pitches on a shaking table would walk.

Deflections. Between rim and ground lies the carcass; its deflections u and v along and across are the
tyre's state (Pacejka, Tyre and Vehicle Dynamics, 3rd ed., (7.7), (7.9), with the speed L at which the
contact forgets):

    du/dt = −V_sx − ψ̇ v − L κ′,   dv/dt = V_sy + ψ̇ u − L tan α′

(ψ̇: turning of the wheel's direction against the ground, with which u and v turn) and the forces are the
formula's for the slips κ′ = u Q / σ_x, tan α′ = v Q / σ_y. On a wheel that rolls L = |V_x|, and the slips
become the steady ones, −V_sx/|V_x| and V_sy/|V_x|. Where the tyre stands L = 0: it holds like a spring,
by a law of its deflection and load alone, so that shaking does not make it creep. Therefore

    L = min(V, max(S V, 2 |V_r|)),  V = max(|V_x|, |V_s| / s_most),  V_s: what stretches at L = 0.

V_r is the speed at which the tread runs through the contact, since a carrier pitches by less than the
length of the contact. S is the share of sliding, from 0 below 0.7 of the friction to 1 above: a wheel
that is locked and slides forgets where it stood.

Q = 1 + (υ/υ_1)⁴ with the deflection υ as a share of what the friction could hold, υ_x = K_x u / (σ_x μ_x
F_z): the carcass takes little more deflection where the force grows no more (Pacejka (7.27)), so that a
tyre that slid springs back by a centimetre, not by σ. The equations are solved for the end of the step by
the linearly implicit Euler rule, with S, σ, K, μ and Q of its beginning; where the load grows within the
step σ grows with it, as K does, since the carcass, K / σ, is no stiffer under load. What a load that
falls cannot hold any more is let go at once: υ stays within 2, and a tyre off the ground has no
deflection.

A standing tyre has some damping of its own: the forces are those of κ′ + τ / (1 + τ L / (du/dκ′)) dκ′/dt,
τ itself falling with L and with S. Its dashpot stands beside the carcass' spring and both before the
contact that forgets: a deflection that is only forgotten, as of a rolling wheel that lifts, does not pull
the other way.

Friction brake. Within a step it takes the torque that stops the wheel against its carrier by the end of
the step, as far as its capacity reaches: so it holds without creeping and never drives the wheel
backwards.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel, separate_kernel
from mastd.vehicle.blocks.vectors import Triple, cross, dot
from mastd.vehicle.magic_formula.coefficients import FREE_RADIUS
from mastd.vehicle.magic_formula.complex_step import arctan, root, size
from mastd.vehicle.magic_formula.formula import (
    normal_load,
    peak_friction,
    relaxation_lengths,
    rolling_radius,
    slip_forces,
    slip_stiffness,
)

MAX_SLIP: Final = 1.5
"""s_most: relaxed slips stay within it; all formulas are flat there."""
STEADY_SPEED: Final = 1.0
"""m/s: least speed that steady slips are related to."""
CARCASS_TIME: Final = 0.01
"""τ in s of a tyre that stands."""
CARCASS_SPEED: Final = 0.5
"""m/s of L at which τ has fallen to half."""
MAX_GROWTH: Final = 20.0
"""Of the lengths within a step."""
STICKING: Final = 0.7
"""Share of the friction below which a tyre that stands holds without creeping."""
SLIDING_ALL: Final = 1.2
"""Linear force over friction above which it slides as a whole."""
YIELDING: Final = 0.73
"""υ_1: with it the carcass yields to the linear force of the whole friction as a force of tanh would."""
MAX_DEFLECTION: Final = 2.0
"""Of υ."""
ROLLING_FROM: Final = 0.5
"""m/s at which half of the rolling tyre's offsets act."""
MIN_LOAD: Final = 1.0
"""N: what a deflection means is not asked for below."""

Relaxation = tuple[float, float, float, float, float, float, float]
Forces = tuple[Triple, Triple, float, float, float, float, float, float, float, Triple]


@fused_kernel
def _larger(a: float, b: float) -> float:
    return a if a.real >= b.real else b


@fused_kernel
def _smaller(a: float, b: float) -> float:
    return a if a.real <= b.real else b


@fused_kernel
def relaxation(c: FloatArray, load: float, u: float, v: float, least: float) -> Relaxation:
    """Return deflections that the load can hold (m), their slips, their lengths du/dκ′ and dv/d tan α′ (m)
    and the share of sliding.

    ``load`` (N) counts as at least ``least`` (N).
    """
    load = max(load, least)
    stiffness_x, stiffness_y = slip_stiffness(c, load, 0.0)
    friction_x, friction_y = peak_friction(c, load, 0.0)
    along, across = relaxation_lengths(c, load, 0.0)
    unit_x, unit_y = stiffness_x / (along * friction_x * load), stiffness_y / (across * friction_y * load)
    x, y = u * unit_x, v * unit_y
    square = x * x + y * y
    if square > MAX_DEFLECTION * MAX_DEFLECTION:
        scale = MAX_DEFLECTION / np.sqrt(square)
        u, v, x, y = scale * u, scale * v, scale * x, scale * y
        square = MAX_DEFLECTION * MAX_DEFLECTION
    growth = square * square / YIELDING**4
    part = 4.0 * growth / max(square, 1e-30)
    sliding = min(max((np.sqrt(square) * (1.0 + growth) - STICKING) / (SLIDING_ALL - STICKING), 0.0), 1.0)
    return (
        u,
        v,
        u * (1.0 + growth) / along,
        v * (1.0 + growth) / across,
        along / (1.0 + growth + part * x * x),
        across / (1.0 + growth + part * y * y),
        sliding * sliding * (3.0 - 2.0 * sliding),
    )


@fused_kernel
def growth_of(load: float, start_load: float) -> float:
    """Return how much longer the carcass' lengths count at a load than at that of the step's beginning.

    With the ratio q of the loads 1 + (q − 1)² / q above 1, and 1 below: about q − 1, and without a bend at 1.
    """
    ratio = load * (1.0 / start_load)
    if ratio.real <= 1.0:
        return 1.0 + 0.0 * ratio
    growth = ratio - 1.0 + 1.0 / ratio
    return MAX_GROWTH + 0.0 * ratio if growth.real > MAX_GROWTH else growth


@fused_kernel
def forgetting_speed(forward: float, slip_x: float, slip_y: float, rolling: float, sliding: float) -> float:
    """Return L (m/s) for V_x, V_sx, V_sy, V_r and the share of sliding."""
    slip = root(slip_x * slip_x + slip_y * slip_y + 1e-24)
    most = _larger(size(forward), slip * (1.0 / MAX_SLIP))
    return _smaller(most, _larger(sliding * most, 2.0 * size(rolling)))


@fused_kernel
def _axes(axis: Triple, normal: Triple) -> tuple[Triple, Triple, Triple, float, float]:
    """Return e_x, e_y, e_r, sin γ and cos γ."""
    lean = dot(axis[0], axis[1], axis[2], normal[0], normal[1], normal[2])
    cosine = root(1.0 - lean * lean)
    x, y, z = cross(axis[0], axis[1], axis[2], normal[0], normal[1], normal[2])
    e = x / cosine, y / cosine, z / cosine
    s = cross(normal[0], normal[1], normal[2], e[0], e[1], e[2])
    r = (
        (normal[0] - lean * axis[0]) / cosine,
        (normal[1] - lean * axis[1]) / cosine,
        (normal[2] - lean * axis[2]) / cosine,
    )
    return e, s, r, lean, cosine


@fused_kernel
def _speeds(
    e: Triple,
    s: Triple,
    arm: Triple,
    normal: Triple,
    ground_turn: Triple,
    centre: Triple,
    turn: Triple,
) -> tuple[float, float, float, float]:
    """Return V_x, V_sx + V_r, V_sy and ψ̇, all as seen from the ground.

    ``arm`` from the wheel centre to the nominal contact, −r_0 e_r; ``centre``: velocity of the wheel centre.
    """
    w = turn[0] - ground_turn[0], turn[1] - ground_turn[1], turn[2] - ground_turn[2]
    x, y, z = cross(w[0], w[1], w[2], arm[0], arm[1], arm[2])
    return (
        dot(e[0], e[1], e[2], centre[0], centre[1], centre[2]),
        dot(e[0], e[1], e[2], centre[0] + x, centre[1] + y, centre[2] + z),
        dot(s[0], s[1], s[2], centre[0] + x, centre[1] + y, centre[2] + z),
        dot(w[0], w[1], w[2], normal[0], normal[1], normal[2]),
    )


@fused_kernel
def _slips(
    contact: tuple[float, float, float, float, float, float, float, float, float],
    rate: float,
    load: float,
    forget: float,
    speed_x: float,
    speed_y: float,
) -> tuple[float, float, float, float]:
    """Return κ′ and tan α′ at the end of the step, and those with the standing tyre's damping in them."""
    _, _, start_x, start_y, sigma_x, sigma_y, sliding, _, start_load = contact
    slip_x, slip_y = start_x + 0.0 * speed_x, start_y + 0.0 * speed_y
    ahead_x, ahead_y = slip_x, slip_y
    if rate == 0.0:
        forget = _larger(forget, STEADY_SPEED + 0.0 * forget)
        slip_x, slip_y = -speed_x / forget, speed_y / forget
        ahead_x, ahead_y = slip_x, slip_y
    elif rate > 0.0:
        growth = growth_of(load, start_load)
        sigma_x, sigma_y = sigma_x * growth, sigma_y * growth
        start_x, start_y = start_x / growth, start_y / growth
        slip_x = (sigma_x * rate * start_x - speed_x) / (sigma_x * rate + forget)
        slip_y = (sigma_y * rate * start_y + speed_y) / (sigma_y * rate + forget)
        lead = (1.0 - sliding) * CARCASS_TIME * CARCASS_SPEED / (CARCASS_SPEED + forget)
        ahead_x = slip_x + lead * rate * sigma_x / (sigma_x + lead * forget) * (slip_x - start_x)
        ahead_y = slip_y + lead * rate * sigma_y / (sigma_y + lead * forget) * (slip_y - start_y)
    return slip_x, slip_y, ahead_x, ahead_y


@fused_kernel
def _mounted_forces(
    c: FloatArray,
    mirrored: float,
    friction: float,
    rolling_share: float,
    rolling_speed: float,
    load: float,
    slip_x: float,
    slip_y: float,
    camber: float,
) -> tuple[float, float, float, float, float]:
    """Return the formula's forces and moments of a tyre on its side of the car, none off the ground."""
    if not load.real > 0.0:
        return 0.0 * load, 0.0 * load, 0.0 * load, 0.0 * load, 0.0 * load
    fx, fy, mx, my, mz = slip_forces(
        c, load, slip_x, mirrored * slip_y, mirrored * camber, rolling_speed, friction, rolling_share
    )
    return fx, mirrored * fy, mirrored * mx, my, mirrored * mz


@fused_kernel
def _held(needed: float, capacity: float) -> float:
    """Return the friction brake's torque for what would stop the wheel."""
    most = capacity + 0.0 * needed
    # At its capacity a brake counts as slipping: an open one has none. What is no number comes through.
    return _larger(-most, _smaller(most, needed)) + 0.0 * capacity


@separate_kernel
def wheel_balance(
    c: FloatArray,
    wheel: tuple[float, float, float, float, float],
    contact: tuple[float, float, float, float, float, float, float, float, float],
    torques: tuple[float, float, float],
    clock: tuple[float, float],
    normal: Triple,
    up: Triple,
    ground_turn: Triple,
    push: Triple,
    arm: Triple,
    axis: Triple,
    height: float,
    velocity: Triple,
    turn: Triple,
    spin: float,
    spin_acceleration: float,
) -> Forces:
    """Return what a wheel adds to the out-of-balance forces: force and moment on its carrier, spin
    moment.

    ``c``: coefficients (``magic_formula.COUNT``); ``wheel``: axial inertia (kg m2), mirrored (−1 or 1),
    friction of the ground, share of rolling offsets, nominal rolling radius (m); ``contact``: of the
    beginning of the step the deflections (m), their slips, their lengths per slip (m), share of sliding,
    rolling speed (m/s) and load (N); ``torques``: of the drive, of a motor on the carrier, capacity of
    the brake (N m); ``clock``: reach (s) and rate (1/s) of the step (``fields``); ``normal`` (unit) of
    the ground, ``up`` (unit) against gravity, ``ground_turn`` (rad/s) of the ground; ``push``: further
    force at the wheel centre (N). What may be complex: ``arm`` of the wheel centre on its carrier (m),
    ``axis``, vertical ``height`` over the ground times n_z (its distance, m), ``velocity`` against the
    ground (m/s), ``turn`` of the carrier (rad/s), ``spin`` (rad/s) and its rate.

    Returned after them: load (N), forces along and across (N), relaxed slips at the end of the step,
    friction torque of the brake (N m), moment of the tyre about the wheel centre (N m).
    """
    inertia, mirrored, friction, rolling_share, nominal = wheel
    drive, motor, capacity = torques
    reach, rate = clock
    e, s, r, lean, cosine = _axes(axis, normal)
    radius = height / cosine
    # The ground's velocity is that of the place below the wheel centre.
    level = height / dot(up[0], up[1], up[2], normal[0], normal[1], normal[2])
    above = level * up[0], level * up[1], level * up[2]
    x, y, z = cross(ground_turn[0], ground_turn[1], ground_turn[2], above[0], above[1], above[2])
    seen = velocity[0] - x, velocity[1] - y, velocity[2] - z
    sinking = -dot(normal[0], normal[1], normal[2], seen[0], seen[1], seen[2]) / cosine
    load = normal_load(c, c[FREE_RADIUS] - radius, sinking)
    lever = -nominal * r[0], -nominal * r[1], -nominal * r[2]
    forward, speed_x, speed_y, heading = _speeds(e, s, lever, normal, ground_turn, seen, turn)
    carrier_spin = dot(turn[0], turn[1], turn[2], axis[0], axis[1], axis[2])
    effective = rolling_radius(c, load)
    rolling = (spin - carrier_spin) * effective
    slip_speed_x, slip_speed_y = speed_x - rolling + heading * contact[1], speed_y + heading * contact[0]
    forget = forgetting_speed(forward, slip_speed_x, slip_speed_y, rolling, contact[6])
    slip_x, slip_y, ahead_x, ahead_y = _slips(contact, rate, load, forget, slip_speed_x, slip_speed_y)
    fx, fy, mx, my, mz = _mounted_forces(
        c,
        mirrored,
        friction,
        rolling_share,
        contact[7],
        load,
        ahead_x,
        ahead_y,
        arctan(lean / cosine),
    )
    f = (
        fx * e[0] + fy * s[0] + load * normal[0],
        fx * e[1] + fy * s[1] + load * normal[1],
        fx * e[2] + fy * s[2] + load * normal[2],
    )
    # What slips at r_e also pulls there: at R it would give power that nothing takes.
    my = my - fx * (effective - radius)
    x, y, z = cross(-radius * r[0], -radius * r[1], -radius * r[2], f[0], f[1], f[2])
    m = (
        x + mx * e[0] + my * s[0] + mz * normal[0],
        y + mx * e[1] + my * s[1] + mz * normal[1],
        z + mx * e[2] + my * s[2] + mz * normal[2],
    )
    axial = dot(m[0], m[1], m[2], axis[0], axis[1], axis[2])
    wanted = spin_acceleration + (carrier_spin - spin) / reach
    brake = _held(inertia * wanted - axial - drive - motor, capacity)
    on_carrier = motor + brake
    whole = f[0] + push[0], f[1] + push[1], f[2] + push[2]
    x, y, z = cross(arm[0], arm[1], arm[2], whole[0], whole[1], whole[2])
    g = cross(turn[0], turn[1], turn[2], axis[0], axis[1], axis[2])
    rest, momentum = axial + on_carrier, inertia * spin
    moment = (
        -(x + m[0] - rest * axis[0] - momentum * g[0]),
        -(y + m[1] - rest * axis[1] - momentum * g[1]),
        -(z + m[2] - rest * axis[2] - momentum * g[2]),
    )
    out = -whole[0], -whole[1], -whole[2]
    spin_moment = inertia * spin_acceleration - axial - drive - on_carrier
    return out, moment, spin_moment, load, fx, fy, slip_x, slip_y, brake, m
