"""A chain of links on revolute joints, each with a spring and a damper, in a plane under gravity.

The system on which KR 10-1310276 is measured: n coordinates, accelerations in O(n), one column of f_x and of
f_v in O(n), both exact. Coordinates are the angles of the joints, q̈ = f(q, q̇) of (2).

Everything is in inertial axes. Accelerations of points contain minus gravity, so weights need no place of
their own. The articulated inertia of what hangs on a joint is that of a point there, a symmetric 2 × 2
matrix, as a revolute joint hands no moment on but its own.

A column of the Jacobian comes from the other direction of the dynamics. The moments of the joints that a
motion takes, less those of springs and dampers, are R(q, q̇, q̈); R = 0 along (2), hence ∂q̈/∂q_j =
−M⁻¹ ∂R/∂q_j, M the mass matrix, and the same with q̇_j. Turning joint j turns all links outboard of it like
one body, which leaves closed forms of outboard sums; M⁻¹ is the articulated inertia again.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel, separate_kernel
from mastd.vehicle.magic_formula.complex_step import cosine, sine

MASS, INERTIA, LENGTH, CENTRE, STIFFNESS, DAMPING = 0, 1, 2, 3, 4, 5
CONSTANTS: Final = 6
LX, LY, CX, CY, OMEGA, PX, PY, AX, AY, VX, VY = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
MOTION: Final = 11
TOTAL, SX, SY, FX, FY, MX, MY, VIRIAL = 0, 1, 2, 3, 4, 5, 6, 7
OUTBOARD: Final = 8
COMPLIANCE, BX, BY, FORCED = 0, 1, 2, 3
FACTORS: Final = 4

GRAVITY: Final = 9.81
"""m/s²."""


class Chain(NamedTuple):
    """A chain of ``n`` links and its state; base at the origin, angle zero along x, gravity along −y."""

    constants: FloatArray
    """(n, 6) per link: ``MASS`` (kg), ``INERTIA`` about its centre (kg m²), ``LENGTH`` from joint to joint
    and ``CENTRE`` from its joint along it (m), ``STIFFNESS`` (N m/rad) and ``DAMPING`` (N m s/rad) of its
    joint."""
    gravity: FloatArray
    """(1) m/s²."""
    rest: FloatArray
    """(n) angles at which the springs are free, rad."""
    q: FloatArray
    """(n) angles between neighbouring links, of the first one from x, rad."""
    u: FloatArray
    """(n) their rates, rad/s."""
    acceleration: FloatArray
    """(n) q̈ of ``accelerate``, rad/s²."""
    motion: FloatArray
    """(n, 11) per link, inertial axes: from its joint to the next (``LX``…), from its joint to its centre
    (``CX``…), angular velocity, its joint's position, acceleration (with minus gravity) and velocity."""
    outboard: FloatArray
    """(n, 8) sums over a link and all farther out: masses; masses times places from its joint (``SX``…),
    forces (``FX``…), momenta (``MX``…), and places times momenta (scalar products)."""
    factors: FloatArray
    """(n, 4) inverse of the articulated moment of inertia about a joint; coupling to the joint's acceleration
    (``BX``…); the moment left to accelerate."""
    sides: FloatArray
    """(2, n) scratch: two right-hand sides of M x = side."""


def chain_of(
    n: int,
    *,
    mass: float = 1.0,
    length: float = 0.25,
    stiffness: float = 0.0,
    damping: float = 0.0,
    gravity: float = GRAVITY,
) -> Chain:
    """Return ``n`` equal slender rods, straight along x and at rest.

    Each has ``mass`` (kg) and ``length`` (m), each joint ``stiffness`` (N m/rad) and ``damping``
    (N m s/rad).
    """
    constants = np.zeros((n, CONSTANTS))
    constants[:] = (mass, mass * length**2 / 12.0, length, 0.5 * length, stiffness, damping)
    return Chain(
        constants=constants,
        gravity=np.array([gravity]),
        rest=np.zeros(n),
        q=np.zeros(n),
        u=np.zeros(n),
        acceleration=np.zeros(n),
        motion=np.zeros((n, MOTION)),
        outboard=np.zeros((n, OUTBOARD)),
        factors=np.zeros((n, FACTORS)),
        sides=np.zeros((2, n)),
    )


@separate_kernel
def accelerate(chain: Chain, result: FloatArray) -> None:
    """Write q̈ = f(q, q̇) of (2) to ``result`` (n), rad/s²; O(n)."""
    _turn(chain)
    _fold(chain)
    _unfold(chain, result)


@fused_kernel
def _turn(chain: Chain) -> None:
    """Directions and angular velocities, from the base outwards."""
    motion, constants = chain.motion, chain.constants
    angle = chain.q[0]
    omega = chain.u[0]
    for i in range(len(chain.q)):
        if i > 0:
            angle = angle + chain.q[i]
            omega = omega + chain.u[i]
        c, s = cosine(angle), sine(angle)
        motion[i, LX] = constants[i, LENGTH] * c
        motion[i, LY] = constants[i, LENGTH] * s
        motion[i, CX] = constants[i, CENTRE] * c
        motion[i, CY] = constants[i, CENTRE] * s
        motion[i, OMEGA] = omega


@fused_kernel
def _fold(chain: Chain) -> None:
    """Articulated inertia and forces, from the tip inwards."""
    motion, constants, factors = chain.motion, chain.constants, chain.factors
    n = len(chain.q)
    # What hangs on the joint at the link's end: inertia of a point, force, moment.
    nxx, nxy, nyy, px, py, moment = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(n - 1, -1, -1):
        m = constants[i, MASS]
        cx, cy = motion[i, CX], motion[i, CY]
        lx, ly = motion[i, LX], motion[i, LY]
        squared = motion[i, OMEGA] * motion[i, OMEGA]
        tx = nxx * -ly + nxy * lx
        ty = nxy * -ly + nyy * lx
        about = constants[i, INERTIA] + m * (cx * cx + cy * cy) + (lx * ty - ly * tx)
        bx = tx - m * cy
        by = ty + m * cx
        px = px - squared * (nxx * lx + nxy * ly)
        py = py - squared * (nxy * lx + nyy * ly)
        bias = moment + lx * py - ly * px
        px = px - squared * (m * cx)
        py = py - squared * (m * cy)
        moment = constants[i, STIFFNESS] * (chain.rest[i] - chain.q[i]) - constants[i, DAMPING] * chain.u[i]
        compliance = 1.0 / about
        forced = moment - bias
        factors[i, COMPLIANCE] = compliance
        factors[i, BX] = bx
        factors[i, BY] = by
        factors[i, FORCED] = forced
        dx, dy = compliance * bx, compliance * by
        nxx = nxx + m - dx * bx
        nxy = nxy - dx * by
        nyy = nyy + m - dy * by
        px = px + dx * forced
        py = py + dy * forced


@fused_kernel
def _unfold(chain: Chain, result: FloatArray) -> None:
    """Accelerations, from the base outwards; the base accelerates upwards against gravity."""
    motion, factors = chain.motion, chain.factors
    alpha, ax, ay = 0.0, 0.0, chain.gravity[0]
    for i in range(len(chain.q)):
        motion[i, AX] = ax
        motion[i, AY] = ay
        total = factors[i, COMPLIANCE] * (factors[i, FORCED] - factors[i, BX] * ax - factors[i, BY] * ay)
        result[i] = total - alpha
        alpha = total
        squared = motion[i, OMEGA] * motion[i, OMEGA]
        ax = ax - alpha * motion[i, LY] - squared * motion[i, LX]
        ay = ay + alpha * motion[i, LX] - squared * motion[i, LY]


@separate_kernel
def sum_outboard(chain: Chain) -> None:
    """Fill positions, velocities and outboard sums after ``accelerate``, once for all columns; O(n)."""
    motion, constants, out = chain.motion, chain.constants, chain.outboard
    n = len(chain.q)
    px, py, vx, vy = 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        motion[i, PX], motion[i, PY] = px, py
        motion[i, VX], motion[i, VY] = vx, vy
        px = px + motion[i, LX]
        py = py + motion[i, LY]
        vx = vx - motion[i, OMEGA] * motion[i, LY]
        vy = vy + motion[i, OMEGA] * motion[i, LX]
    total, sx, sy, fx, fy, mx, my, virial = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    alpha = 0.0
    for i in range(n):
        alpha = alpha + chain.acceleration[i]
    for i in range(n - 1, -1, -1):
        m, omega = constants[i, MASS], motion[i, OMEGA]
        lx, ly = motion[i, LX], motion[i, LY]
        cx, cy = motion[i, CX], motion[i, CY]
        squared = omega * omega
        virial = virial + lx * mx + ly * my
        sx = sx + total * lx + m * cx
        sy = sy + total * ly + m * cy
        mass_vx = m * (motion[i, VX] - omega * cy)
        mass_vy = m * (motion[i, VY] + omega * cx)
        virial = virial + cx * mass_vx + cy * mass_vy
        mx = mx + mass_vx
        my = my + mass_vy
        fx = fx + m * (motion[i, AX] - alpha * cy - squared * cx)
        fy = fy + m * (motion[i, AY] + alpha * cx - squared * cy)
        total = total + m
        alpha = alpha - chain.acceleration[i]
        out[i, TOTAL] = total
        out[i, SX], out[i, SY] = sx, sy
        out[i, FX], out[i, FY] = fx, fy
        out[i, MX], out[i, MY] = mx, my
        out[i, VIRIAL] = virial


@separate_kernel
def analytic_column(chain: Chain, j: int, by_position: FloatArray, by_velocity: FloatArray) -> None:
    """Write column j of f_x and of f_v, (n) each, after ``sum_outboard``; O(n).

    With a and v of joint j; M, S, F, P, Q the outboard sums of mass, mass times place, force, momentum and
    place times momentum; p the joints' places: outboard of j, −∂R_i/∂q_j = S_i · a and −∂R_i/∂q̇_j =
    2 (S_i · v − Q_i); inboard, where forces have an arm, S_j · a − (p_j − p_i) · (F_j − M_j a) and
    2 (S_j · v − Q_j) − 2 (p_j − p_i) · (P_j − M_j v).
    """
    motion, out, sides = chain.motion, chain.outboard, chain.sides
    ax, ay, vx, vy = motion[j, AX], motion[j, AY], motion[j, VX], motion[j, VY]
    for i in range(j, len(chain.q)):
        sides[0, i] = out[i, SX] * ax + out[i, SY] * ay
        sides[1, i] = 2.0 * (out[i, SX] * vx + out[i, SY] * vy - out[i, VIRIAL])
    fx, fy = out[j, FX] - out[j, TOTAL] * ax, out[j, FY] - out[j, TOTAL] * ay
    mx, my = 2.0 * (out[j, MX] - out[j, TOTAL] * vx), 2.0 * (out[j, MY] - out[j, TOTAL] * vy)
    for i in range(j):
        dx, dy = motion[j, PX] - motion[i, PX], motion[j, PY] - motion[i, PY]
        sides[0, i] = sides[0, j] - dx * fx - dy * fy
        sides[1, i] = sides[1, j] - dx * mx - dy * my
    sides[0, j] = sides[0, j] - chain.constants[j, STIFFNESS]
    sides[1, j] = sides[1, j] - chain.constants[j, DAMPING]
    _divide_by_mass(chain, 0, by_position)
    _divide_by_mass(chain, 1, by_velocity)


@fused_kernel
def _divide_by_mass(chain: Chain, side: int, result: FloatArray) -> None:
    """Write M⁻¹ ``sides[side]`` to ``result`` with the articulated inertia of ``accelerate``; O(n)."""
    motion, factors, sides = chain.motion, chain.factors, chain.sides
    n = len(chain.q)
    px, py, outer = 0.0, 0.0, 0.0
    for i in range(n - 1, -1, -1):
        moment = sides[side, i]
        forced = moment - outer - (motion[i, LX] * py - motion[i, LY] * px)
        sides[side, i] = forced
        push = factors[i, COMPLIANCE] * forced
        px = px + push * factors[i, BX]
        py = py + push * factors[i, BY]
        outer = moment
    alpha, ax, ay = 0.0, 0.0, 0.0
    for i in range(n):
        total = factors[i, COMPLIANCE] * (sides[side, i] - factors[i, BX] * ax - factors[i, BY] * ay)
        result[i] = total - alpha
        alpha = total
        ax = ax - alpha * motion[i, LY]
        ay = ay + alpha * motion[i, LX]
