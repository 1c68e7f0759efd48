"""Compiled loops over a grid of poses, for timing: each kernel is called as often as there are rows.

The Newton variants differ in how the step of eq. (8) is solved, and share everything else, trigonometry
included: the pseudo-inverse by singular values, as the paper's; LAPACK's solution of the normal equations;
and the factorisation written out in ``mastd.kinematics.newton``.
"""

from __future__ import annotations

import math

import numpy as np

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel, kernel
from mastd.kinematics.geometry import Legs
from mastd.kinematics.inverse import link_lengths
from mastd.kinematics.jacobian import geometric_jacobian
from mastd.kinematics.newton import newton
from mastd.kinematics.observer import observe, observe_from_neutral, observe_second_order


@fused_kernel
def sweep_inverse(
    legs: Legs,
    poses: FloatArray,
    lengths: FloatArray,
) -> None:
    """Inverse kinematics of every row."""
    for row in range(poses.shape[0]):
        link_lengths(legs, poses[row], lengths[row])


@fused_kernel
def sweep_observer(
    legs: Legs,
    neutral_lengths: FloatArray,
    gain: FloatArray,
    lengths: FloatArray,
    tolerance: float,
    update_tolerance: float,
    maximum_updates: int,
    pose: FloatArray,
) -> int:
    """Observer, cold from zero in every row; returns the sum of updates."""
    total = 0
    for row in range(lengths.shape[0]):
        _, updates, _ = observe_from_neutral(
            legs,
            neutral_lengths,
            gain,
            lengths[row],
            tolerance,
            update_tolerance,
            maximum_updates,
            pose,
        )
        total += updates
    return total


@fused_kernel
def sweep_observer_warm(
    legs: Legs,
    gain: FloatArray,
    lengths: FloatArray,
    tolerance: float,
    update_tolerance: float,
    maximum_updates: int,
    starts: FloatArray,
    pose: FloatArray,
) -> int:
    """Observer, each row from its start in ``starts`` (m, 6); returns the sum of updates."""
    total = 0
    for row in range(lengths.shape[0]):
        for k in range(6):
            pose[k] = starts[row, k]
        _, updates, _ = observe(
            legs,
            gain,
            lengths[row],
            tolerance,
            update_tolerance,
            maximum_updates,
            pose,
        )
        total += updates
    return total


@fused_kernel
def sweep_second_order(
    legs: Legs,
    neutral_lengths: FloatArray,
    gain: FloatArray,
    curvature: FloatArray,
    lengths: FloatArray,
    tolerance: float,
    update_tolerance: float,
    maximum_updates: int,
    pose: FloatArray,
    w: FloatArray,
) -> int:
    """Second-order observer, cold from zero in every row; returns the sum of updates."""
    total = 0
    for row in range(lengths.shape[0]):
        for k in range(6):
            pose[k] = 0.0
        _, updates, _ = observe_second_order(
            legs,
            neutral_lengths,
            gain,
            curvature,
            lengths[row],
            tolerance,
            update_tolerance,
            maximum_updates,
            pose,
            w,
        )
        total += updates
    return total


@fused_kernel
def sweep_newton(
    legs: Legs,
    lengths: FloatArray,
    tolerance: float,
    update_tolerance: float,
    maximum_updates: int,
    pose: FloatArray,
) -> int:
    """Newton–Raphson with the written-out factorisation, cold from zero; returns the sum of updates."""
    total = 0
    for row in range(lengths.shape[0]):
        for k in range(6):
            pose[k] = 0.0
        _, updates, _ = newton(
            legs,
            False,
            lengths[row],
            tolerance,
            update_tolerance,
            maximum_updates,
            pose,
        )
        total += updates
    return total


@kernel
def sweep_newton_library(
    legs: Legs,
    singular_values: bool,
    lengths: FloatArray,
    tolerance: float,
    maximum_updates: int,
    pose: FloatArray,
    fitted: FloatArray,
    jacobian: FloatArray,
) -> int:
    """Newton–Raphson with library solvers, cold from zero; returns the sum of updates.

    ``singular_values`` chooses the pseudo-inverse by singular values, else LAPACK solves the normal
    equations. ``fitted`` (n,) and ``jacobian`` (n, 6) are scratch.
    """
    total = 0
    links = lengths.shape[1]
    for row in range(lengths.shape[0]):
        for k in range(6):
            pose[k] = 0.0
        for update in range(maximum_updates + 1):
            link_lengths(legs, pose, fitted)
            residual = 0.0
            for i in range(links):
                fitted[i] = lengths[row, i] - fitted[i]
                residual += abs(fitted[i])
            if residual < tolerance or not residual < math.inf:
                total += update
                break
            geometric_jacobian(legs, pose, jacobian)
            if singular_values:
                pose += np.linalg.pinv(jacobian) @ fitted
            else:
                pose += np.linalg.solve(jacobian.T @ jacobian, jacobian.T @ fitted)
    return total


@fused_kernel
def repeat_observer(
    legs: Legs,
    neutral_lengths: FloatArray,
    gain: FloatArray,
    lengths: FloatArray,
    tolerance: float,
    update_tolerance: float,
    maximum_updates: int,
    repeats: int,
    pose: FloatArray,
) -> int:
    """Observer on one and the same ``lengths`` (n,), ``repeats`` times; returns the sum of updates."""
    total = 0
    for _ in range(repeats):
        _, updates, _ = observe_from_neutral(
            legs,
            neutral_lengths,
            gain,
            lengths,
            tolerance,
            update_tolerance,
            maximum_updates,
            pose,
        )
        total += updates
    return total
