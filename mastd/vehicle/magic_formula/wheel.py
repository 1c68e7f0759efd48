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

from typing import Final, NamedTuple

import numpy as np

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel, separate_kernel
from mastd.vehicle.blocks.vectors import Triple, cross, dot
from mastd.vehicle.blocks.wheel_moments import Spin, SpinTorques, carrier_moment, spin_residual
from mastd.vehicle.magic_formula.coefficients import VERTICAL
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


class Relaxation(NamedTuple):
    """The carcass at the beginning of a step."""

    deflection_x: float
    """m, along and across, as far as the load can hold it."""
    deflection_y: float
    slip_x: float
    """κ′ and tan α′ of these deflections."""
    slip_y: float
    length_x: float
    """du/dκ′ and dv/d tan α′, m."""
    length_y: float
    sliding: float
    """0…1: as how much of the contact slides."""


class WheelConstants(NamedTuple):
    """What a wheel is."""

    axial_inertia: float
    """kg m2."""
    mirrored: float
    """−1 where it is mounted on the other side than it was measured on, else 1."""
    friction: float
    """Of the ground: a factor on the tyre's own."""
    rolling_offsets: float
    """0…1: factor on offsets that a tyre at rest does not have."""
    rolling_radius: float
    """m, nominal."""


class Contact(NamedTuple):
    """A contact at the beginning of the step."""

    carcass: Relaxation
    rolling_speed: float
    """m/s."""
    load: float
    """N."""


class Torques(NamedTuple):
    """Of the drive, of a motor on the carrier, and what the brake can take, N m."""

    drive: float
    motor: float
    brake_capacity: float


class Step(NamedTuple):
    """Of the time integrator, as in ``fields``."""

    reach: float
    """s: change of a speed per change of its acceleration."""
    rate: float
    """1/s: 1 / step; 0: slips of steady motion; negative: slips stay."""


class Known(NamedTuple):
    """What of a wheel's balance does not vary with the motion within a step."""

    wheel: WheelConstants
    contact: Contact
    torques: Torques
    step: Step
    normal: Triple
    """Unit normal of the ground."""
    up: Triple
    """Unit vector against gravity."""
    ground_rotation: Triple
    """Angular velocity of the ground, rad/s."""
    push: Triple
    """Further force at the wheel centre, N."""


class Motion(NamedTuple):
    """The motion of a wheel; complex where a derivative is taken."""

    arm: Triple
    """Of the wheel centre on its carrier, m."""
    axis: Triple
    height: float
    """Distance of the wheel centre from the ground, m."""
    velocity: Triple
    """Of the wheel centre against the ground, m/s."""
    angular_velocity: Triple
    """Of the carrier, rad/s."""
    spin: float
    spin_acceleration: float


class Balance(NamedTuple):
    """What a wheel adds to the residuals, and its forces."""

    force: Triple
    moment: Triple
    """On its carrier, N and N m about the carrier's centre of mass."""
    spin_residual: float
    load: float
    """F_z, N."""
    force_x: float
    force_y: float
    slip_x: float
    """κ′ and tan α′ at the end of the step."""
    slip_y: float
    brake_torque: float
    tyre_moment: Triple
    """About the wheel centre, N m."""


@fused_kernel
def _larger(a: float, b: float) -> float:
    return a if a.real >= b.real else b


@fused_kernel
def _smaller(a: float, b: float) -> float:
    return a if a.real <= b.real else b


@fused_kernel
def relaxation(c: FloatArray, load: float, u: float, v: float, min_load: float) -> Relaxation:
    """Return deflections that the load can hold (m), their slips, their lengths du/dκ′ and dv/d tan α′ (m)
    and the share of sliding.

    ``load`` (N) counts as at least ``least`` (N).
    """
    load = max(load, min_load)
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
    return Relaxation(
        u,
        v,
        u * (1.0 + growth) / along,
        v * (1.0 + growth) / across,
        along / (1.0 + growth + part * x * x),
        across / (1.0 + growth + part * y * y),
        sliding * sliding * (3.0 - 2.0 * sliding),
    )


@fused_kernel
def length_growth(load: float, start_load: float) -> float:
    """Return how much longer the carcass' lengths count at a load than at that of the step's beginning.

    With the ratio q of the loads 1 + (q − 1)² / q above 1, and 1 below: about q − 1, and without a bend at 1.
    """
    ratio = load * (1.0 / start_load)
    if ratio.real <= 1.0:
        return 1.0 + 0.0 * ratio
    growth = ratio - 1.0 + 1.0 / ratio
    return MAX_GROWTH + 0.0 * ratio if growth.real > MAX_GROWTH else growth


@fused_kernel
def relaxation_speed(v_x: float, slip_x: float, slip_y: float, v_r: float, sliding: float) -> float:
    """Return L (m/s) for V_x, V_sx, V_sy, V_r and the share of sliding."""
    slip = root(slip_x * slip_x + slip_y * slip_y + 1e-24)
    limit = _larger(size(v_x), slip * (1.0 / MAX_SLIP))
    return _smaller(limit, _larger(sliding * limit, 2.0 * size(v_r)))


@fused_kernel
def _axes(axis: Triple, normal: Triple) -> tuple[Triple, Triple, Triple, float, float]:
    """Return e_x, e_y, e_r, sin γ and cos γ."""
    sin_gamma = dot(axis[0], axis[1], axis[2], normal[0], normal[1], normal[2])
    cos_gamma = root(1.0 - sin_gamma * sin_gamma)
    x, y, z = cross(axis[0], axis[1], axis[2], normal[0], normal[1], normal[2])
    e = x / cos_gamma, y / cos_gamma, z / cos_gamma
    s = cross(normal[0], normal[1], normal[2], e[0], e[1], e[2])
    r = (
        (normal[0] - sin_gamma * axis[0]) / cos_gamma,
        (normal[1] - sin_gamma * axis[1]) / cos_gamma,
        (normal[2] - sin_gamma * axis[2]) / cos_gamma,
    )
    return e, s, r, sin_gamma, cos_gamma


@fused_kernel
def _speeds(
    e: Triple,
    s: Triple,
    arm: Triple,
    normal: Triple,
    ground_omega: Triple,
    centre: Triple,
    omega: Triple,
) -> tuple[float, float, float, float]:
    """Return V_x, V_sx + V_r, V_sy and ψ̇, all as seen from the ground.

    ``arm`` from the wheel centre to the nominal contact, −r_0 e_r; ``centre``: velocity of the wheel centre.
    """
    w = omega[0] - ground_omega[0], omega[1] - ground_omega[1], omega[2] - ground_omega[2]
    x, y, z = cross(w[0], w[1], w[2], arm[0], arm[1], arm[2])
    return (
        dot(e[0], e[1], e[2], centre[0], centre[1], centre[2]),
        dot(e[0], e[1], e[2], centre[0] + x, centre[1] + y, centre[2] + z),
        dot(s[0], s[1], s[2], centre[0] + x, centre[1] + y, centre[2] + z),
        dot(w[0], w[1], w[2], normal[0], normal[1], normal[2]),
    )


@fused_kernel
def _slips(
    contact: Contact,
    rate: float,
    load: float,
    speed: float,
    speed_x: float,
    speed_y: float,
) -> tuple[float, float, float, float]:
    """Return κ′ and tan α′ at the end of the step, and those with the standing tyre's damping in them.

    ``speed``: L; ``speed_x``, ``speed_y``: what stretches the carcass at L = 0, m/s.
    """
    carcass = contact.carcass
    start_x, start_y, sigma_x, sigma_y = carcass.slip_x, carcass.slip_y, carcass.length_x, carcass.length_y
    slip_x, slip_y = start_x + 0.0 * speed_x, start_y + 0.0 * speed_y
    damped_x, damped_y = slip_x, slip_y
    if rate == 0.0:
        speed = _larger(speed, STEADY_SPEED + 0.0 * speed)
        slip_x, slip_y = -speed_x / speed, speed_y / speed
        damped_x, damped_y = slip_x, slip_y
    elif rate > 0.0:
        growth = length_growth(load, contact.load)
        sigma_x, sigma_y = sigma_x * growth, sigma_y * growth
        start_x, start_y = start_x / growth, start_y / growth
        slip_x = (sigma_x * rate * start_x - speed_x) / (sigma_x * rate + speed)
        slip_y = (sigma_y * rate * start_y + speed_y) / (sigma_y * rate + speed)
        lead = (1.0 - carcass.sliding) * CARCASS_TIME * CARCASS_SPEED / (CARCASS_SPEED + speed)
        damped_x = slip_x + lead * rate * sigma_x / (sigma_x + lead * speed) * (slip_x - start_x)
        damped_y = slip_y + lead * rate * sigma_y / (sigma_y + lead * speed) * (slip_y - start_y)
    return slip_x, slip_y, damped_x, damped_y


@fused_kernel
def _mounted_forces(
    c: FloatArray, known: Known, load: float, slip_x: float, slip_y: float, camber: float
) -> tuple[float, float, float, float, float]:
    """Return the formula's forces and moments of a tyre on its side of the car, none off the ground."""
    if not load.real > 0.0:
        return 0.0 * load, 0.0 * load, 0.0 * load, 0.0 * load, 0.0 * load
    wheel, mirrored = known.wheel, known.wheel.mirrored
    fx, fy, mx, my, mz = slip_forces(
        c,
        load,
        slip_x,
        mirrored * slip_y,
        mirrored * camber,
        known.contact.rolling_speed,
        wheel.friction,
        wheel.rolling_offsets,
    )
    return fx, mirrored * fy, mirrored * mx, my, mirrored * mz


@fused_kernel
def _brake_torque(needed: float, capacity: float) -> float:
    """Return the friction brake's torque where ``needed`` would stop the wheel."""
    limit = capacity + 0.0 * needed
    # At its capacity a brake counts as slipping: an open one has none. What is no number comes through.
    return _larger(-limit, _smaller(limit, needed)) + 0.0 * capacity


@fused_kernel
def _seen_from_ground(known: Known, motion: Motion) -> Triple:
    """Return the velocity of the wheel centre against the ground at the place below it."""
    up, normal, height = known.up, known.normal, motion.height
    rotation, velocity = known.ground_rotation, motion.velocity
    level = height / dot(up[0], up[1], up[2], normal[0], normal[1], normal[2])
    above = level * up[0], level * up[1], level * up[2]
    x, y, z = cross(rotation[0], rotation[1], rotation[2], above[0], above[1], above[2])
    return velocity[0] - x, velocity[1] - y, velocity[2] - z


@separate_kernel
def wheel_balance(c: FloatArray, known: Known, motion: Motion) -> Balance:
    """Return what a wheel adds to the residuals of its carrier and its spin, and its forces.

    ``c``: coefficients (``coefficients.COUNT``). Forces are on the wheel, in the axes of the contact.
    """
    normal, axis, omega = known.normal, motion.axis, motion.angular_velocity
    e, s, r, sin_gamma, cos_gamma = _axes(axis, normal)
    radius = motion.height / cos_gamma
    seen = _seen_from_ground(known, motion)
    closing = -dot(normal[0], normal[1], normal[2], seen[0], seen[1], seen[2]) / cos_gamma
    load = normal_load(c, c[VERTICAL.FREE_RADIUS] - radius, closing)
    nominal, carcass = known.wheel.rolling_radius, known.contact.carcass
    lever = -nominal * r[0], -nominal * r[1], -nominal * r[2]
    v_x, speed_x, speed_y, yaw_rate = _speeds(e, s, lever, normal, known.ground_rotation, seen, omega)
    carrier_spin = dot(omega[0], omega[1], omega[2], axis[0], axis[1], axis[2])
    effective = rolling_radius(c, load)
    v_r = (motion.spin - carrier_spin) * effective
    slip_speed_x = speed_x - v_r + yaw_rate * carcass.deflection_y
    slip_speed_y = speed_y + yaw_rate * carcass.deflection_x
    speed = relaxation_speed(v_x, slip_speed_x, slip_speed_y, v_r, carcass.sliding)
    slip_x, slip_y, damped_x, damped_y = _slips(
        known.contact, known.step.rate, load, speed, slip_speed_x, slip_speed_y
    )
    fx, fy, mx, my, mz = _mounted_forces(c, known, load, damped_x, damped_y, arctan(sin_gamma / cos_gamma))
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
    push, torques = known.push, known.torques
    axial = dot(m[0], m[1], m[2], axis[0], axis[1], axis[2])
    acceleration = motion.spin_acceleration + (carrier_spin - motion.spin) / known.step.reach
    needed = known.wheel.axial_inertia * acceleration - axial - torques.drive - torques.motor
    brake = _brake_torque(needed, torques.brake_capacity)
    spin = Spin(known.wheel.axial_inertia, motion.spin, motion.spin_acceleration)
    about_axis = SpinTorques(axial, torques.drive, torques.motor + brake)
    total_force = f[0] + push[0], f[1] + push[1], f[2] + push[2]
    axis_rate = cross(omega[0], omega[1], omega[2], axis[0], axis[1], axis[2])
    x, y, z = carrier_moment(motion.arm, axis, axis_rate, total_force, m, spin, about_axis)
    out = -total_force[0], -total_force[1], -total_force[2]
    residual = spin_residual(spin, about_axis)
    return Balance(out, (-x, -y, -z), residual, load, fx, fy, slip_x, slip_y, brake, m)
