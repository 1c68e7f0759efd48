"""How stable the loop of a vehicle on the table is, with a wrench that comes a period late.

At sample k the vehicle steps onto the table's pose of that sample, and the table gets the wrench until sample
k + 1: at the end of that time it is one period old. With the linear step of the vehicle (``on_plane``), the
table as a rigid body on springs, M ẍ + D ẋ + K x = w, taken exactly over a period with w held, one period of
the loop is a matrix, and its eigenvalues z say whether a motion dies out (|z| < 1).

A margin is how far one number goes, all others as they are, until an eigenvalue leaves the unit circle.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigh, expm

from mastd.arrays import FloatArray
from mastd.vehicle.analysis.on_plane import LinearVehicle

STANDING = 1e-5
"""|z − 1| of what stands where it is put: a car on its tyres, or a free table."""
STABLE = 1e-7
"""Of |z| beyond 1: what slopes that are differences leave of a motion that neither grows nor dies out."""
SLOW = 1.0
"""Hz: on a free table slower motions are left out, which a table's drive holds."""
FARTHEST = 1e4
"""How far a margin is looked for."""
MAX_PERIODS = 40
GRID = 8
"""Points in each factor of ten at which a margin is looked for, before its place is halved down to 0.1 %."""


@dataclass(frozen=True, eq=False)
class Table:
    """The table as a rigid body on springs, about C at neutral, and the loop's period."""

    mass: FloatArray
    """(6, 6) kg, kg m, kg m²."""
    stiffness: FloatArray
    """(6, 6) of the oil columns; zero: a free table."""
    damping: float
    """Damping ratio of each of its motions."""
    period: float

    def lighter(self, factor: float) -> Table:
        """Return the table with this share of its mass, on the same springs."""
        return replace(self, mass=factor * self.mass)

    def step(self) -> tuple[FloatArray, FloatArray]:
        """Return (12, 12) and (12, 6): displacements and rates after a period, from those before it and from
        a wrench that is held."""
        squares, shapes = eigh(self.stiffness, self.mass)
        rates = np.sqrt(np.maximum(squares, 0.0))
        to_modes = shapes.T @ self.mass
        # C = M Φ diag(2 ζ ω) Φᵀ M.
        damper = to_modes.T @ (2.0 * self.damping * rates[:, None] * to_modes)
        inverse = np.linalg.inv(self.mass)
        whole = np.zeros((18, 18))
        whole[:6, 6:12] = np.eye(6)
        whole[6:12, :6] = -inverse @ self.stiffness
        whole[6:12, 6:12] = -inverse @ damper
        whole[6:12, 12:] = inverse
        found = expm(whole * self.period)
        return found[:12, :12], found[:12, 12:]


@dataclass(frozen=True, eq=False)
class Step:
    """A linear step of the vehicle: state before and pose in, state after and wrench out."""

    keep: FloatArray
    """(n, n)."""
    take: FloatArray
    """(n, 6) by the pose."""
    give: FloatArray
    """(6, n) wrench at C in P axes by the state before."""
    through: FloatArray
    """(6, 6) by the pose."""


def vehicle_step(vehicle: LinearVehicle) -> Step:
    """Return the step of the loop: state [q, v, a, ā, u, last pose, last rate], as in ``on_table``."""
    formula, h = vehicle.formula, vehicle.formula.step
    dof, slips = vehicle.position.residual.shape[1], vehicle.deflection.residual.shape[1]
    size = 4 * dof + slips + 12
    whole = np.eye(size, size + 6)
    q, v, a, mean = (whole[k * dof : (k + 1) * dof] for k in range(4))
    u = whole[4 * dof : 4 * dof + slips]
    last, last_rate = whole[4 * dof + slips : size - 6], whole[size - 6 :]
    pose = np.eye(6, size + 6, size)
    middle = (pose - last) / h
    rate = 1.5 * middle - 0.5 * last_rate
    # The prediction: accelerations as they are.
    after = (a - formula.alpha_m * mean) / (1.0 - formula.alpha_m)
    q_ahead = q + h * v + h * h * ((0.5 - formula.beta) * mean + formula.beta * after)
    v_ahead = v + h * ((1.0 - formula.gamma) * mean + formula.gamma * after)
    by = vehicle

    def given(name: str, q_now: FloatArray, v_now: FloatArray, a_now: FloatArray) -> FloatArray:
        """Return one of the things that a state gives, as rows by state before and pose."""
        parts = [(by.position, q_now), (by.velocity, v_now), (by.acceleration, a_now)]
        parts += [(by.deflection, u), (by.pose, pose), (by.rate, rate)]
        return np.asarray(sum(getattr(slopes, name) @ rows for slopes, rows in parts))

    matrix = by.acceleration.residual + formula.velocity * by.velocity.residual
    matrix = matrix + formula.position * by.position.residual
    left = given("residual", q_ahead, v_ahead, a) + given("outer", q_ahead, v_ahead, a)
    change = -np.linalg.solve(matrix, left)
    q_now, v_now = q_ahead + formula.position * change, v_ahead + formula.velocity * change
    wrench = given("wrench", q_now, v_now, a + change) + given("outer_wrench", q_ahead, v_ahead, a)
    deflections = given("deflections", q_now, v_now, a + change)
    new = np.vstack([q_now, v_now, a + change, after + formula.mean * change, deflections, pose, middle])
    return Step(new[:, :size], new[:, size:], wrench[:, :size], wrench[:, size:])


def loop_matrix(step: Step, table: Table, gain: float = 1.0, late: int = 1) -> FloatArray:
    """Return the matrix of one period of the loop: state of the vehicle, of the table, wrenches on their way.

    ``gain``: factor on the wrench; ``late``: how many periods old the wrench is at the end of the period in
    which it acts, at least 1.
    """
    keep, push = table.step()
    n, waiting = len(step.keep), 6 * (late - 1)
    whole = np.zeros((n + 12 + waiting, n + 12 + waiting))
    at, rest = slice(n, n + 12), n + 12
    whole[:n, :n] = step.keep
    whole[:n, n : n + 6] = step.take
    whole[at, at] = keep
    given = np.zeros((6, len(whole)))
    given[:, :n], given[:, n : n + 6] = gain * step.give, gain * step.through
    if late == 1:
        whole[at] += push @ given
        return whole
    whole[at, -6:] += push
    whole[rest : rest + 6] = given
    whole[rest + 6 :, rest:-6] = np.eye(waiting - 6)
    return whole


def largest(whole: FloatArray, period: float, *, free: bool = False) -> tuple[float, float]:
    """Return the largest |z| of what moves, and its frequency in Hz; ``free``: of the table without
    springs."""
    values = np.linalg.eigvals(whole)
    values = values[np.abs(values - 1.0) > STANDING]
    turns = np.abs(np.angle(values)) / (2.0 * np.pi * period)
    if free:
        values, turns = values[turns > SLOW], turns[turns > SLOW]
    worst = int(np.argmax(np.abs(values)))
    return float(np.abs(values[worst])), float(turns[worst])


@dataclass(frozen=True)
class Margins:
    """How far each number goes; None: farther than it was looked for."""

    largest: float
    """|z|."""
    frequency: float
    """Hz of that motion."""
    gain: float | None
    """Factor on the wrench."""
    periods: int | None
    """Age of the wrench, in periods, at the end of the one in which it acts: the most that is stable."""
    mass: float | None
    """Fraction of the table's mass below which it is unstable."""
    stiffness: float | None
    """Factor on the tyres' stiffness."""
    damping: float | None
    """Damping ratio of the table's motions below which it is unstable; 0: needs none."""


def margins(vehicle: LinearVehicle, table: Table) -> Margins:
    """Return how stable the loop is, and what would break it.

    A table whose stiffness is zero is free; its motions below ``SLOW`` are left out.
    """
    free = not np.any(table.stiffness)
    step = vehicle_step(vehicle)

    def stable(other: Step, on: Table, gain: float = 1.0, late: int = 1) -> bool:
        found = largest(loop_matrix(other, on, gain, late), on.period, free=free)
        return bool(found[0] <= 1.0 + STABLE)

    now = largest(loop_matrix(step, table), table.period, free=free)
    late = 0
    while late < MAX_PERIODS and stable(step, table, late=late + 1):
        late += 1
    factor = _boundary(lambda factor: stable(step, table.lighter(1.0 / factor)))
    least = None if free else _least_damping(lambda ratio: stable(step, replace(table, damping=ratio)))
    return Margins(
        largest=now[0],
        frequency=now[1],
        gain=_boundary(lambda factor: stable(step, table, gain=factor)),
        periods=None if late == MAX_PERIODS else late,
        mass=None if factor is None else 1.0 / factor,
        stiffness=_boundary(lambda factor: stable(vehicle_step(vehicle.stiffer(factor)), table)),
        damping=least,
    )


def _boundary(stable: Callable[[float], bool]) -> float | None:
    """Return the factor from 1 on at which it is no longer stable; None: none up to FARTHEST."""
    if not stable(1.0):
        return 1.0
    factors = np.logspace(0.0, np.log10(FARTHEST), round(GRID * np.log10(FARTHEST)) + 1)
    for below, above in itertools.pairwise(factors):
        if stable(float(above)):
            continue
        inside, outside = float(below), float(above)
        while outside > 1.001 * inside:
            middle = float(np.sqrt(inside * outside))
            inside, outside = (middle, outside) if stable(middle) else (inside, middle)
        return inside
    return None


def _least_damping(stable: Callable[[float], bool]) -> float | None:
    """Return the damping ratio below which it is not stable; 0: without any, None: not even with 1."""
    if stable(0.0):
        return 0.0
    ratios = np.logspace(0.0, -6.0, 61)
    if not stable(float(ratios[0])):
        return None
    for above, below in itertools.pairwise(ratios):
        if not stable(float(below)):
            return float(above)
    return float(ratios[-1])
