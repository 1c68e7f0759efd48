"""How much a system matrix changes, what that means for one that is kept, and how far two runs are apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.vehicle.state.trace import POSITION, Trace

_SCALING_ROUNDS: Final = 8


def scales(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return factors for rows and columns, (N,) each, that make the largest entry of each about 1.

    Unknowns and equations of a system matrix have many units; scaled, none outweighs the others.
    """
    rows, columns = np.ones(len(matrix)), np.ones(len(matrix))
    for _ in range(_SCALING_ROUNDS):
        size = np.abs(matrix) * rows[:, None] * columns
        rows /= np.sqrt(size.max(axis=1))
        columns /= np.sqrt(size.max(axis=0))
    return rows, columns


def relative_change(first: FloatArray, now: FloatArray) -> float:
    """Return ‖now − first‖ / ‖first‖ by Frobenius, both (N, N) scaled by the ``scales`` of ``first``."""
    rows, columns = scales(first)
    difference = (now - first) * rows[:, None] * columns
    return float(np.linalg.norm(difference) / np.linalg.norm(first * rows[:, None] * columns))


def contraction(first: FloatArray, now: FloatArray) -> float:
    """Return the spectral radius of I − first⁻¹ now, both (N, N).

    Newton's iteration on equations whose matrix is ``now``, done with the kept matrix ``first``, shrinks the
    error by this factor each time in the long run; from 1 on it diverges.
    """
    iteration = np.eye(len(first)) - np.linalg.solve(first, now)
    if not np.isfinite(iteration).all():
        return float("nan")
    return float(np.max(np.abs(np.linalg.eigvals(iteration))))


@dataclass(frozen=True)
class Changes:
    """The largest values over one run."""

    relative: float
    contraction: float

    @classmethod
    def over(cls, matrices: list[FloatArray]) -> Changes:
        """Return how far the matrices of a run, each (N, N), are from its first one."""
        first = matrices[0]
        return cls(
            max(relative_change(first, now) for now in matrices),
            max(contraction(first, now) for now in matrices),
        )


def position_error(trace: Trace, reference: Trace) -> float:
    """Return the largest distance in m of the chassis from where the reference has it at the same times.

    NaN if a step did not converge or a time is not among the reference's.
    """
    if trace.first_unconverged is not None:
        return float("nan")
    step = float(reference.time[1] - reference.time[0])
    rows = np.rint((trace.time - reference.time[0]) / step).astype(np.int64)
    if not (rows.min() >= 0 and rows.max() < len(reference)):
        return float("nan")
    if not np.allclose(reference.time[rows], trace.time, rtol=0.0, atol=0.01 * step):
        return float("nan")
    difference = trace.chassis[:, POSITION] - reference.chassis[rows, POSITION]
    return float(np.max(np.linalg.norm(difference, axis=1)))
