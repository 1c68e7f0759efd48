"""Three chains that are driven under each policy of KR 10-1310276, and how far that goes from full update.

All have a length of 2 m and a mass of 10 kg, whatever their number of links.

- ``swing``: stiff joints around a straight rest shape, released horizontally. The shape hardly changes.
- ``curl``: an arm with very stiff servos that follow a moving shape, straight to almost a full circle and
  back within half a second. The mass matrix changes many times over while stiffness dominates.
- ``whip``: no springs, no dampers, released horizontally: fast, and sensitive to the smallest error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.formulations.integrators.implicit_euler import ImplicitEuler, Policy, implicit_euler
from mastd.reproduce.models.chain import (
    LINK,
    Chain,
    accelerate,
    analytic_column,
    chain_of,
    sum_outboard,
)
from mastd.reproduce.models.chain_stepping import advance_chain

LENGTH_OF_ALL: Final = 2.0
MASS_OF_ALL: Final = 10.0
DURATION: Final = 2.0
DEPARTED: Final = 0.01
"""Distance of a joint from where full update has it that counts as another solution, in lengths of the
chain."""
_MAX_RATE: Final = 1e5
_REFINED: Final = 16


@dataclass(frozen=True)
class Case:
    """A chain and how its rest shape moves."""

    name: str
    spoken: str
    stiffness: float
    """N m/rad."""
    damping: float
    """N m s/rad."""
    step: float
    """s."""
    curl: float = 0.0
    """Sum of the angles of the joints at the turning point of the rest shape, rad."""
    period: float = 1.0
    """Of the rest shape, s."""

    def chain(self, n: int) -> Chain:
        """Return the chain at the start."""
        return chain_of(
            n,
            mass=MASS_OF_ALL / n,
            length=LENGTH_OF_ALL / n,
            stiffness=self.stiffness,
            damping=self.damping,
        )

    def rest_angle(self, n: int, time: float) -> float:
        """Return the angle of each joint at which its spring is free, rad."""
        return self.curl / n * (0.5 - 0.5 * math.cos(2.0 * math.pi * time / self.period))


CASES: Final = (
    Case("swing", "stiff chain that swings near its rest shape", 1e3, 10.0, 2e-3),
    Case("curl", "arm with stiff servos that curls up and straightens", 1e5, 1e3, 2e-3, curl=6.0, period=0.5),
    Case("whip", "free chain without springs or dampers", 0.0, 0.0, 5e-3),
)


@dataclass(frozen=True, eq=False)
class Run:
    """One case, driven to its end or until it blew up."""

    positions: FloatArray
    """(steps done, 2, n): the links' outer ends, in lengths of the chain."""
    amplification: float
    """Largest spectral radius met of the step's linearisation, see ``amplification``."""
    blown_up: bool


def drive(
    case: Case,
    n: int,
    policy: Policy,
    *,
    columns: int = 1,
    step: float | None = None,
    looks: int = 0,
) -> Run:
    """Drive ``n`` links; a run blows up where A becomes singular or a rate passes 1e5 rad/s.

    ``looks`` of the steps are inspected for their amplification, the farthest from each other.
    """
    h = case.step if step is None else step
    chain, euler = case.chain(n), implicit_euler(n, h)
    steps = round(DURATION / h)
    looked = set(np.linspace(1, steps - 1, looks).astype(int)) if looks else set()
    positions: list[FloatArray] = []
    largest = 0.0
    for done in range(steps):
        chain.rest[:] = case.rest_angle(n, (done + 1) * h)
        before = chain.q.copy(), chain.u.copy()
        if advance_chain(chain, euler, int(policy), columns, False) != 0 or not np.all(
            np.abs(chain.u) < _MAX_RATE
        ):
            break
        if done in looked:
            largest = max(largest, amplification(chain, euler, *before))
        positions.append(_positions(chain))
    return Run(np.array(positions), largest, len(positions) < steps)


def reference(case: Case, n: int) -> FloatArray:
    """Return places (steps, 2, n) at the ends of the case's steps, by full update at a sixteenth of them."""
    return drive(case, n, Policy.FULL, step=case.step / _REFINED).positions[_REFINED - 1 :: _REFINED]


def distances(positions: FloatArray, others: FloatArray) -> FloatArray:
    """Return the largest distance of a joint, step by step as far as both go, in lengths of the chain."""
    common = min(len(positions), len(others))
    apart: FloatArray = np.linalg.norm(positions[:common] - others[:common], axis=1).max(axis=1)
    return apart


def departs_at(run: Run, full: Run) -> int | None:
    """Return the first step (from 1) that is another solution than full update's, None if there is none."""
    late = np.nonzero(distances(run.positions, full.positions) > DEPARTED)[0]
    if len(late):
        return int(late[0]) + 1
    return len(run.positions) + 1 if run.blown_up else None


def amplification(chain: Chain, euler: ImplicitEuler, q: FloatArray, u: FloatArray) -> float:
    """Return the spectral radius of the step that was just done from (q, u), linearised there.

    With the true f_x and f_v and the kept ones of ``euler``, an error (δq, δu) becomes δu + h A⁻¹ (f_x δq +
    f_v δu + h f_x′ δu) in velocity, f_x′ and A of the kept ones. Above 1 errors grow, step by step.
    """
    n, h = len(q), float(euler.limits[0])
    true = Chain(*(array.copy() for array in chain))
    true.q[:], true.u[:] = q, u
    accelerate(true, true.acceleration)
    sum_outboard(true)
    by_position, by_velocity = np.empty((n, n)), np.empty((n, n))
    for j in range(n):
        analytic_column(true, j, by_position[j], by_velocity[j])
    kept_x, kept_v = euler.position_columns.T, euler.velocity_columns.T
    system = np.eye(n) - h * kept_v - h * h * kept_x
    from_q = h * np.linalg.solve(system, by_position.T)
    from_u = np.eye(n) + h * np.linalg.solve(system, by_velocity.T + h * kept_x)
    whole = np.block([[np.eye(n) + h * from_q, h * from_u], [from_q, from_u]])
    return float(np.abs(np.linalg.eigvals(whole)).max())


def _positions(chain: Chain) -> FloatArray:
    angles, lengths = np.cumsum(chain.q), chain.constants[:, LINK.length] / LENGTH_OF_ALL
    return np.array([np.cumsum(lengths * np.cos(angles)), np.cumsum(lengths * np.sin(angles))])
