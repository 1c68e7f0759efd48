"""Forward kinematics of many rows of lengths, one solver after another: for tables, statistics and timing.

``lengths`` (m, n); each kernel writes ``found`` and starts every row at pose 0 unless it says otherwise. Rows
that do not converge keep the pose they started from.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mastd.arrays import BoolArray, FloatArray, IntArray
from mastd.bench.kinematics.newton import newton
from mastd.bench.kinematics.second_order import SecondOrder, observe_from_neutral, observe_second_order
from mastd.kernel import fused_kernel, kernel
from mastd.kinematics.geometry import Legs
from mastd.kinematics.inverse import actuator_lengths
from mastd.kinematics.jacobian import geometric_jacobian
from mastd.kinematics.observer import SolveLimits, observe


class Rows(NamedTuple):
    """Results of m rows: ``poses`` (m, 6), ``converged``, ``updates`` and ``residuals`` (m), each (m,)."""

    poses: FloatArray
    converged: BoolArray
    updates: IntArray
    residuals: FloatArray

    @classmethod
    def of(cls, count: int) -> Rows:
        """Return arrays for the results of ``count`` rows, poses 0."""
        return cls(
            np.zeros((count, 6)), np.zeros(count, np.bool_), np.zeros(count, np.int64), np.zeros(count)
        )


@fused_kernel
def observe_neutral_rows(
    legs: Legs, model: SecondOrder, lengths: FloatArray, limits: SolveLimits, found: Rows
) -> None:
    """Solve each row by ``observe_from_neutral``."""
    for row in range(lengths.shape[0]):
        found.converged[row], found.updates[row], found.residuals[row] = observe_from_neutral(
            legs, model, lengths[row], limits, found.poses[row]
        )


@fused_kernel
def observe_rows(
    legs: Legs,
    gain: FloatArray,
    lengths: FloatArray,
    limits: SolveLimits,
    starts: FloatArray,
    found: Rows,
) -> None:
    """Solve each row by ``observe``, from its pose in ``starts`` (m, 6)."""
    for row in range(lengths.shape[0]):
        for k in range(6):
            found.poses[row, k] = starts[row, k]
        found.converged[row], found.updates[row], found.residuals[row] = observe(
            legs, gain, lengths[row], limits, found.poses[row]
        )


@fused_kernel
def second_order_rows(
    legs: Legs,
    model: SecondOrder,
    lengths: FloatArray,
    limits: SolveLimits,
    starts: FloatArray,
    w: FloatArray,
    found: Rows,
) -> None:
    """Solve each row by ``observe_second_order``, from its pose in ``starts``; ``w`` (36,) is scratch."""
    for row in range(lengths.shape[0]):
        for k in range(6):
            found.poses[row, k] = starts[row, k]
        found.converged[row], found.updates[row], found.residuals[row] = observe_second_order(
            legs, model, lengths[row], limits, found.poses[row], w
        )


@fused_kernel
def newton_rows(
    legs: Legs,
    euler_rates: bool,
    lengths: FloatArray,
    limits: SolveLimits,
    starts: FloatArray,
    work: FloatArray,
    found: Rows,
) -> None:
    """Solve each row by ``newton``, from its pose in ``starts``; ``work`` (NORMAL_ROWS, 6) is scratch."""
    for row in range(lengths.shape[0]):
        for k in range(6):
            found.poses[row, k] = starts[row, k]
        found.converged[row], found.updates[row], found.residuals[row] = newton(
            legs, euler_rates, lengths[row], limits, found.poses[row], work
        )


@kernel
def newton_library_rows(
    legs: Legs,
    singular_values: bool,
    lengths: FloatArray,
    limits: SolveLimits,
    fitted: FloatArray,
    jacobian: FloatArray,
    found: Rows,
) -> None:
    """Solve each row by Newton–Raphson with library solvers, cold from pose 0.

    ``singular_values`` chooses the pseudo-inverse by singular values, else LAPACK solves the normal
    equations. ``fitted`` (n,) and ``jacobian`` (n, 6) are scratch.
    """
    for row in range(lengths.shape[0]):
        pose = found.poses[row]
        pose[:] = 0.0
        for update in range(limits.maximum_updates + 1):
            actuator_lengths(legs, pose, fitted)
            residual = 0.0
            for i in range(lengths.shape[1]):
                fitted[i] = lengths[row, i] - fitted[i]
                residual += abs(fitted[i])
            found.updates[row], found.residuals[row] = update, residual
            if residual < limits.tolerance or not residual < math.inf:
                break
            geometric_jacobian(legs, pose, jacobian)
            if singular_values:
                pose += np.linalg.pinv(jacobian) @ fitted
            else:
                pose += np.linalg.solve(jacobian.T @ jacobian, jacobian.T @ fitted)
