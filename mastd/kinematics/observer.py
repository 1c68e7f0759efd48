"""Forward kinematics by the observer of Jin 2012: lengths → pose with a gain computed once.

Specification. Given n lengths, find the pose whose actuators have them (eqs. (3)–(6)): x ← x + K (l − l̂(x)),
eq. (15), with K = pinv(J₀ᵀ) of the neutral pose, eq. (16). The iteration contracts in a region around
neutral (``mastd.kinematics.workspace.contraction``), and only there the result is used. For strokes that
reach further the gain is that of each pose.

A solve ends converged when Σ|l̂ − l| < ``tolerance`` (eq. (7), m), or when the last update was smaller than
``update_tolerance`` (sum of its six magnitudes, m and rad) and the lengths are plausible measurements: no
further from neutral than ``reach``, in conflict by at most ``MEASURED_RATIO`` of their sum.
Measured lengths of more than six actuators never agree exactly, so that Σ|l̂ − l| has a floor; other fixed
points with a residual are no poses (lengths of poses far away lead there). It ends not converged after
``maximum_updates``, at the first residual that is not finite, or if a length is not positive; then ``pose``
is left as it was. Every kernel returns (converged, updates, residual Σ|l̂ − l| in m).

``gain`` K is (6, n), ``lengths`` (n,), ``pose`` (6,).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.kinematics.geometry import Legs
from mastd.kinematics.inverse import actuator_vector, centre_at
from mastd.kinematics.newton import newton_step
from mastd.kinematics.rotation import Six, rotation

# Largest Σ|l̂ − l| / Σl at which lengths count as measurements of one pose: 0.36 mm for a length of 1.2 m.
MEASURED_RATIO = 3e-4

# Largest |l − l₀| / l₀ at which they do where no stroke is longer: less than where false fixed points are
# common.
MEASURED_REACH = 0.2


NO_WORK = np.zeros((0, 6))


class SolveLimits(NamedTuple):
    """When a solve ends: residual Σ|l̂ − l| in m, size of the last update in m and rad, number of updates.

    ``reach``: largest |l − l₀| / l₀ of measured lengths (``mastd.kinematics.workspace.measured_reach``).
    ``work``: none (0, 6) where updates take the gain of neutral; scratch (n + WORK_ROWS, 6) where each takes
    that of its pose (``mastd.kinematics.newton``).
    """

    tolerance: float
    update_tolerance: float
    maximum_updates: int
    reach: float = MEASURED_REACH
    work: FloatArray = NO_WORK


@fused_kernel
def output_error(legs: Legs, gain: FloatArray, lengths: FloatArray, at: Six) -> tuple[float, Six]:
    """Return Σ|l − l̂| at a pose and the six components of K (l − l̂): one step of eq. (15)."""
    r = rotation(at[3], at[4], at[5])
    neutral = legs.neutral_position
    c = (neutral[0] + at[0], neutral[1] + at[1], neutral[2] + at[2])
    residual = d0 = d1 = d2 = d3 = d4 = d5 = 0.0
    for i in range(legs.table_joints.shape[0]):
        x, y, z = actuator_vector(legs, i, c, r)
        error = lengths[i] - math.sqrt(x * x + y * y + z * z)
        residual += abs(error)
        d0 += gain[0, i] * error
        d1 += gain[1, i] * error
        d2 += gain[2, i] * error
        d3 += gain[3, i] * error
        d4 += gain[4, i] * error
        d5 += gain[5, i] * error
    return residual, (d0, d1, d2, d3, d4, d5)


@fused_kernel
def is_pose(legs: Legs, lengths: FloatArray, residual: float, limits: SolveLimits) -> bool:
    """Return whether a fixed point with this residual is the pose of ``lengths``, exactly or as measured."""
    total = 0.0
    for i in range(lengths.shape[0]):
        if not lengths[i] > 0.0:
            return False
        total += lengths[i]
    if residual < limits.tolerance:
        return True
    for i in range(lengths.shape[0]):
        x = legs.neutral_position[0] + legs.table_joints[i, 0] - legs.base_joints[i, 0]
        y = legs.neutral_position[1] + legs.table_joints[i, 1] - legs.base_joints[i, 1]
        z = legs.neutral_position[2] + legs.table_joints[i, 2] - legs.base_joints[i, 2]
        neutral = math.sqrt(x * x + y * y + z * z)
        if not abs(lengths[i] - neutral) <= limits.reach * neutral:
            return False
    return residual <= MEASURED_RATIO * total


@fused_kernel
def accept(
    legs: Legs, lengths: FloatArray, residual: float, limits: SolveLimits, at: Six, pose: FloatArray
) -> bool:
    """Write the fixed point ``at`` into ``pose`` if it is the pose of ``lengths``; return whether it is."""
    if not is_pose(legs, lengths, residual, limits):
        return False
    pose[0], pose[1], pose[2], pose[3], pose[4], pose[5] = at
    return True


@fused_kernel
def updated(at: Six, d: Six) -> tuple[Six, float]:
    """Return the pose after the update ``d``, and the size of the update."""
    size = abs(d[0]) + abs(d[1]) + abs(d[2]) + abs(d[3]) + abs(d[4]) + abs(d[5])
    return (at[0] + d[0], at[1] + d[1], at[2] + d[2], at[3] + d[3], at[4] + d[4], at[5] + d[5]), size


@fused_kernel
def observe(
    legs: Legs, gain: FloatArray, lengths: FloatArray, limits: SolveLimits, pose: FloatArray
) -> tuple[bool, int, float]:
    """Find the pose of ``lengths``, started from ``pose`` and written there."""
    at = (pose[0], pose[1], pose[2], pose[3], pose[4], pose[5])
    residual = step = math.inf
    for update in range(limits.maximum_updates + 1):
        if limits.work.shape[0] > 0:
            residual, d = newton_step(legs, lengths, at, limits.work)
        else:
            residual, d = output_error(legs, gain, lengths, at)
        if residual < limits.tolerance or step < limits.update_tolerance:
            return accept(legs, lengths, residual, limits, at, pose), update, residual
        if not residual < math.inf:
            return False, update, residual
        at, step = updated(at, d)
    return False, limits.maximum_updates, residual


@fused_kernel
def null_residual(
    legs: Legs, null_vectors: FloatArray, lengths: FloatArray, pose: FloatArray, redundancy: FloatArray
) -> None:
    """Write N (l̂ − l) into ``redundancy`` (n − 6,), m: what the lengths contradict each other by.

    ``null_vectors`` N is (n − 6, n). For the paper's table the one number tells whether the transducers of
    the four vertical actuators agree, ½ (−g₁ + g₂ − g₃ + g₄).
    """
    r = rotation(pose[3], pose[4], pose[5])
    c = centre_at(legs, pose)
    redundancy[:] = 0.0
    for i in range(legs.table_joints.shape[0]):
        x, y, z = actuator_vector(legs, i, c, r)
        error = math.sqrt(x * x + y * y + z * z) - lengths[i]
        for k in range(redundancy.shape[0]):
            redundancy[k] += null_vectors[k, i] * error
