"""A chain of links on revolute joints, each with a spring and a damper, in a plane under gravity.

The system on which KR 10-1310276 is measured: n coordinates, accelerations in O(n), one column of f_x and of
f_v in O(n), both exact. Coordinates are the angles of the joints, q̈ = f(q, q̇) of (2).

Everything is in inertial axes. Accelerations of points contain minus gravity, so weights need no term of
their own. The articulated inertia of what hangs on a joint is that of a point there, a symmetric 2 × 2
matrix, as a revolute joint hands no moment on but its own.

A column of the Jacobian comes from the other direction of the dynamics. The moments of the joints that a
motion takes, less those of springs and dampers, are R(q, q̇, q̈); R = 0 along (2), hence ∂q̈/∂q_j =
−M⁻¹ ∂R/∂q_j, M the mass matrix, and the same with q̇_j. Turning joint j turns all links outboard of it like
one body, which leaves closed forms of outboard sums; M⁻¹ is the articulated inertia again.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import numpy as np

from mastd.arrays import FloatArray
from mastd.index_table import Entry, index_table, size_of
from mastd.kernel import fused_kernel, separate_kernel
from mastd.vehicle.magic_formula.complex_step import cosine, sine


class LinkRow(NamedTuple):
    """Constants of a link."""

    mass: Annotated[int, Entry("kg", "")]
    inertia: Annotated[int, Entry("kg m^2", "about its centre")]
    length: Annotated[int, Entry("m", "from joint to joint")]
    centre: Annotated[int, Entry("m", "from its joint along it")]
    stiffness: Annotated[int, Entry("N m/rad", "of its joint")]
    damping: Annotated[int, Entry("N m s/rad", "of its joint")]


class MotionRow(NamedTuple):
    """Motion of a link in inertial axes."""

    lx: Annotated[int, Entry("m", "from its joint to the next")]
    ly: Annotated[int, Entry("m", "")]
    cx: Annotated[int, Entry("m", "from its joint to its centre")]
    cy: Annotated[int, Entry("m", "")]
    omega: Annotated[int, Entry("rad/s", "angular velocity")]
    px: Annotated[int, Entry("m", "position of its joint")]
    py: Annotated[int, Entry("m", "")]
    ax: Annotated[int, Entry("m/s^2", "acceleration of its joint, with minus gravity")]
    ay: Annotated[int, Entry("m/s^2", "")]
    vx: Annotated[int, Entry("m/s", "velocity of its joint")]
    vy: Annotated[int, Entry("m/s", "")]


class OutboardRow(NamedTuple):
    """Sums over a link and all farther out."""

    total: Annotated[int, Entry("kg", "mass")]
    sx: Annotated[int, Entry("kg m", "mass times position from its joint")]
    sy: Annotated[int, Entry("kg m", "")]
    fx: Annotated[int, Entry("N", "force")]
    fy: Annotated[int, Entry("N", "")]
    mx: Annotated[int, Entry("kg m/s", "momentum")]
    my: Annotated[int, Entry("kg m/s", "")]
    virial: Annotated[int, Entry("kg m^2/s", "scalar products of position and momentum")]


class FactorRow(NamedTuple):
    """Factors of the articulated inertia about a joint."""

    compliance: Annotated[int, Entry("1/(kg m^2)", "inverse of the articulated moment of inertia")]
    bx: Annotated[int, Entry("kg m", "coupling to the joint's acceleration")]
    by: Annotated[int, Entry("kg m", "")]
    forced: Annotated[int, Entry("N m", "moment left to accelerate")]


LINK: Final = index_table(LinkRow)
MOTION: Final = index_table(MotionRow)
OUTBOARD: Final = index_table(OutboardRow)
FACTOR: Final = index_table(FactorRow)

GRAVITY: Final = 9.81
"""m/s²."""


class Chain(NamedTuple):
    """A chain of ``n`` links and its state; base at the origin, angle zero along x, gravity along −y."""

    constants: FloatArray
    """(n, 6) per link, see ``LinkRow``."""
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
    """(n, 11) per link, see ``MotionRow``."""
    outboard: FloatArray
    """(n, 8) per link, see ``OutboardRow``."""
    factors: FloatArray
    """(n, 4) per link, see ``FactorRow``."""
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
    constants = np.zeros((n, size_of(LINK)))
    constants[:] = (mass, mass * length**2 / 12.0, length, 0.5 * length, stiffness, damping)
    return Chain(
        constants=constants,
        gravity=np.array([gravity]),
        rest=np.zeros(n),
        q=np.zeros(n),
        u=np.zeros(n),
        acceleration=np.zeros(n),
        motion=np.zeros((n, size_of(MOTION))),
        outboard=np.zeros((n, size_of(OUTBOARD))),
        factors=np.zeros((n, size_of(FACTOR))),
        sides=np.zeros((2, n)),
    )


@separate_kernel
def accelerate(chain: Chain, result: FloatArray) -> None:
    """Write q̈ = f(q, q̇) of (2) to ``result`` (n), rad/s²; O(n)."""
    _rotate(chain)
    _fold(chain)
    _unfold(chain, result)


@fused_kernel
def _rotate(chain: Chain) -> None:
    """Directions and angular velocities, from the base outwards."""
    motion, constants = chain.motion, chain.constants
    angle = chain.q[0]
    omega = chain.u[0]
    for i in range(len(chain.q)):
        if i > 0:
            angle = angle + chain.q[i]
            omega = omega + chain.u[i]
        c, s = cosine(angle), sine(angle)
        motion[i, MOTION.lx] = constants[i, LINK.length] * c
        motion[i, MOTION.ly] = constants[i, LINK.length] * s
        motion[i, MOTION.cx] = constants[i, LINK.centre] * c
        motion[i, MOTION.cy] = constants[i, LINK.centre] * s
        motion[i, MOTION.omega] = omega


@fused_kernel
def _fold(chain: Chain) -> None:
    """Articulated inertia and forces, from the tip inwards."""
    motion, constants, factors = chain.motion, chain.constants, chain.factors
    n = len(chain.q)
    # What hangs on the joint at the link's end: inertia of a point, force, moment.
    nxx, nxy, nyy, px, py, moment = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(n - 1, -1, -1):
        m = constants[i, LINK.mass]
        cx, cy = motion[i, MOTION.cx], motion[i, MOTION.cy]
        lx, ly = motion[i, MOTION.lx], motion[i, MOTION.ly]
        squared = motion[i, MOTION.omega] * motion[i, MOTION.omega]
        tx = nxx * -ly + nxy * lx
        ty = nxy * -ly + nyy * lx
        about = constants[i, LINK.inertia] + m * (cx * cx + cy * cy) + (lx * ty - ly * tx)
        bx = tx - m * cy
        by = ty + m * cx
        px = px - squared * (nxx * lx + nxy * ly)
        py = py - squared * (nxy * lx + nyy * ly)
        bias = moment + lx * py - ly * px
        px = px - squared * (m * cx)
        py = py - squared * (m * cy)
        moment = (
            constants[i, LINK.stiffness] * (chain.rest[i] - chain.q[i])
            - constants[i, LINK.damping] * chain.u[i]
        )
        compliance = 1.0 / about
        forced = moment - bias
        factors[i, FACTOR.compliance] = compliance
        factors[i, FACTOR.bx] = bx
        factors[i, FACTOR.by] = by
        factors[i, FACTOR.forced] = forced
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
        motion[i, MOTION.ax] = ax
        motion[i, MOTION.ay] = ay
        total = factors[i, FACTOR.compliance] * (
            factors[i, FACTOR.forced] - factors[i, FACTOR.bx] * ax - factors[i, FACTOR.by] * ay
        )
        result[i] = total - alpha
        alpha = total
        squared = motion[i, MOTION.omega] * motion[i, MOTION.omega]
        ax = ax - alpha * motion[i, MOTION.ly] - squared * motion[i, MOTION.lx]
        ay = ay + alpha * motion[i, MOTION.lx] - squared * motion[i, MOTION.ly]


@separate_kernel
def sum_outboard(chain: Chain) -> None:
    """Fill positions, velocities and outboard sums after ``accelerate``, once for all columns; O(n)."""
    motion, constants, out = chain.motion, chain.constants, chain.outboard
    n = len(chain.q)
    px, py, vx, vy = 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        motion[i, MOTION.px], motion[i, MOTION.py] = px, py
        motion[i, MOTION.vx], motion[i, MOTION.vy] = vx, vy
        px = px + motion[i, MOTION.lx]
        py = py + motion[i, MOTION.ly]
        vx = vx - motion[i, MOTION.omega] * motion[i, MOTION.ly]
        vy = vy + motion[i, MOTION.omega] * motion[i, MOTION.lx]
    total, sx, sy, fx, fy, mx, my, virial = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    alpha = 0.0
    for i in range(n):
        alpha = alpha + chain.acceleration[i]
    for i in range(n - 1, -1, -1):
        m, omega = constants[i, LINK.mass], motion[i, MOTION.omega]
        lx, ly = motion[i, MOTION.lx], motion[i, MOTION.ly]
        cx, cy = motion[i, MOTION.cx], motion[i, MOTION.cy]
        squared = omega * omega
        virial = virial + lx * mx + ly * my
        sx = sx + total * lx + m * cx
        sy = sy + total * ly + m * cy
        mass_vx = m * (motion[i, MOTION.vx] - omega * cy)
        mass_vy = m * (motion[i, MOTION.vy] + omega * cx)
        virial = virial + cx * mass_vx + cy * mass_vy
        mx = mx + mass_vx
        my = my + mass_vy
        fx = fx + m * (motion[i, MOTION.ax] - alpha * cy - squared * cx)
        fy = fy + m * (motion[i, MOTION.ay] + alpha * cx - squared * cy)
        total = total + m
        alpha = alpha - chain.acceleration[i]
        out[i, OUTBOARD.total] = total
        out[i, OUTBOARD.sx], out[i, OUTBOARD.sy] = sx, sy
        out[i, OUTBOARD.fx], out[i, OUTBOARD.fy] = fx, fy
        out[i, OUTBOARD.mx], out[i, OUTBOARD.my] = mx, my
        out[i, OUTBOARD.virial] = virial


@separate_kernel
def analytic_column(chain: Chain, j: int, by_position: FloatArray, by_velocity: FloatArray) -> None:
    """Write column j of f_x and of f_v, (n) each, after ``sum_outboard``; O(n).

    With a and v of joint j; M, S, F, P, Q the outboard sums of mass, mass times position, force, momentum
    and position times momentum; p the joints' positions: outboard of j, −∂R_i/∂q_j = S_i · a and −∂R_i/∂q̇_j =
    2 (S_i · v − Q_i); inboard, where forces have an arm, S_j · a − (p_j − p_i) · (F_j − M_j a) and
    2 (S_j · v − Q_j) − 2 (p_j − p_i) · (P_j − M_j v).
    """
    motion, out, sides = chain.motion, chain.outboard, chain.sides
    ax, ay, vx, vy = motion[j, MOTION.ax], motion[j, MOTION.ay], motion[j, MOTION.vx], motion[j, MOTION.vy]
    for i in range(j, len(chain.q)):
        sides[0, i] = out[i, OUTBOARD.sx] * ax + out[i, OUTBOARD.sy] * ay
        sides[1, i] = 2.0 * (out[i, OUTBOARD.sx] * vx + out[i, OUTBOARD.sy] * vy - out[i, OUTBOARD.virial])
    fx, fy = (
        out[j, OUTBOARD.fx] - out[j, OUTBOARD.total] * ax,
        out[j, OUTBOARD.fy] - out[j, OUTBOARD.total] * ay,
    )
    mx, my = (
        2.0 * (out[j, OUTBOARD.mx] - out[j, OUTBOARD.total] * vx),
        2.0 * (out[j, OUTBOARD.my] - out[j, OUTBOARD.total] * vy),
    )
    for i in range(j):
        dx, dy = motion[j, MOTION.px] - motion[i, MOTION.px], motion[j, MOTION.py] - motion[i, MOTION.py]
        sides[0, i] = sides[0, j] - dx * fx - dy * fy
        sides[1, i] = sides[1, j] - dx * mx - dy * my
    sides[0, j] = sides[0, j] - chain.constants[j, LINK.stiffness]
    sides[1, j] = sides[1, j] - chain.constants[j, LINK.damping]
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
        forced = moment - outer - (motion[i, MOTION.lx] * py - motion[i, MOTION.ly] * px)
        sides[side, i] = forced
        push = factors[i, FACTOR.compliance] * forced
        px = px + push * factors[i, FACTOR.bx]
        py = py + push * factors[i, FACTOR.by]
        outer = moment
    alpha, ax, ay = 0.0, 0.0, 0.0
    for i in range(n):
        total = factors[i, FACTOR.compliance] * (
            sides[side, i] - factors[i, FACTOR.bx] * ax - factors[i, FACTOR.by] * ay
        )
        result[i] = total - alpha
        alpha = total
        ax = ax - alpha * motion[i, MOTION.ly]
        ay = ay + alpha * motion[i, MOTION.lx]
