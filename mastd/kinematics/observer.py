"""Forward kinematics by the observer of Jin 2012: lengths → pose with a gain computed once.

Specification. Given n lengths, find the pose whose links have them (eqs. (3)–(6)): x ← x + K (l − l̂(x)),
eq. (15), with K = pinv(J₀ᵀ) of the neutral pose, eq. (16). The iteration contracts in a region around
neutral (``mastd.kinematics.workspace.contraction``), and only there the result is used.

A solve ends converged when Σ|l̂ − l| < ``tolerance`` (eq. (7), m), or when the last update was smaller than
``update_tolerance`` (sum of its six magnitudes, m and rad) and the lengths look like measurements: no more
than ``MEASURED_REACH`` from neutral, contradicting each other by at most ``MEASURED_SHARE`` of their sum.
Measured lengths of more than six links never agree exactly, so that Σ|l̂ − l| has a floor; other fixed points
with a residual are no poses (lengths of poses far away lead there). It ends not converged after
``maximum_updates``, at the first residual that is not finite, or if a length is not positive; then ``pose``
is left as it was. Every kernel returns (converged, updates, residual Σ|l̂ − l| in m).

``gain`` K is (6, n), ``lengths`` and ``neutral_lengths`` (the lengths of pose 0) are (n,), ``pose`` is (6,).
"""

from __future__ import annotations

import math

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.kinematics.geometry import Legs
from mastd.kinematics.rotation import rotation

Seven = tuple[float, float, float, float, float, float, float]

# Largest Σ|l̂ − l| / Σl at which lengths count as measurements of one pose: 0.36 mm a link of 1.2 m.
MEASURED_SHARE = 3e-4

# Largest |l − l₀| / l₀ at which they do: more than any stroke, less than where false fixed points are common.
MEASURED_REACH = 0.2


@fused_kernel
def output_error(
    legs: Legs,
    gain: FloatArray,
    lengths: FloatArray,
    x: float,
    y: float,
    z: float,
    roll: float,
    pitch: float,
    yaw: float,
) -> Seven:
    """Return Σ|l − l̂| at a pose and the six components of K (l − l̂): one step of eq. (15)."""
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = rotation(roll, pitch, yaw)
    cx = legs.neutral_position[0] + x
    cy = legs.neutral_position[1] + y
    cz = legs.neutral_position[2] + z
    residual = d0 = d1 = d2 = d3 = d4 = d5 = 0.0
    for i in range(legs.table_joints.shape[0]):
        px = legs.table_joints[i, 0]
        py = legs.table_joints[i, 1]
        pz = legs.table_joints[i, 2]
        lx = cx - legs.base_joints[i, 0] + r00 * px + r01 * py + r02 * pz
        ly = cy - legs.base_joints[i, 1] + r10 * px + r11 * py + r12 * pz
        lz = cz - legs.base_joints[i, 2] + r20 * px + r21 * py + r22 * pz
        error = lengths[i] - math.sqrt(lx * lx + ly * ly + lz * lz)
        residual += abs(error)
        d0 += gain[0, i] * error
        d1 += gain[1, i] * error
        d2 += gain[2, i] * error
        d3 += gain[3, i] * error
        d4 += gain[4, i] * error
        d5 += gain[5, i] * error
    return residual, d0, d1, d2, d3, d4, d5


@fused_kernel
def neutral_error(gain: FloatArray, neutral_lengths: FloatArray, lengths: FloatArray) -> Seven:
    """Return Σ|l − l₀| and the six components of K (l − l₀): ``output_error`` of pose 0."""
    residual = d0 = d1 = d2 = d3 = d4 = d5 = 0.0
    for i in range(lengths.shape[0]):
        error = lengths[i] - neutral_lengths[i]
        residual += abs(error)
        d0 += gain[0, i] * error
        d1 += gain[1, i] * error
        d2 += gain[2, i] * error
        d3 += gain[3, i] * error
        d4 += gain[4, i] * error
        d5 += gain[5, i] * error
    return residual, d0, d1, d2, d3, d4, d5


@fused_kernel
def is_pose(
    legs: Legs,
    lengths: FloatArray,
    residual: float,
    tolerance: float,
) -> bool:
    """Tell whether a fixed point with this residual is the pose of ``lengths``, exactly or as measured."""
    total = 0.0
    for i in range(lengths.shape[0]):
        if not lengths[i] > 0.0:
            return False
        total += lengths[i]
    if residual < tolerance:
        return True
    for i in range(lengths.shape[0]):
        x = legs.neutral_position[0] + legs.table_joints[i, 0] - legs.base_joints[i, 0]
        y = legs.neutral_position[1] + legs.table_joints[i, 1] - legs.base_joints[i, 1]
        z = legs.neutral_position[2] + legs.table_joints[i, 2] - legs.base_joints[i, 2]
        neutral = math.sqrt(x * x + y * y + z * z)
        if not abs(lengths[i] - neutral) <= MEASURED_REACH * neutral:
            return False
    return residual <= MEASURED_SHARE * total


@fused_kernel
def observe(
    legs: Legs,
    gain: FloatArray,
    lengths: FloatArray,
    tolerance: float,
    update_tolerance: float,
    maximum_updates: int,
    pose: FloatArray,
) -> tuple[bool, int, float]:
    """Find the pose of ``lengths``, started from ``pose`` and written there."""
    x, y, z, roll, pitch, yaw = pose[0], pose[1], pose[2], pose[3], pose[4], pose[5]
    residual = step = math.inf
    for update in range(maximum_updates + 1):
        residual, d0, d1, d2, d3, d4, d5 = output_error(legs, gain, lengths, x, y, z, roll, pitch, yaw)
        if residual < tolerance or step < update_tolerance:
            if not is_pose(legs, lengths, residual, tolerance):
                return False, update, residual
            pose[0], pose[1], pose[2], pose[3], pose[4], pose[5] = x, y, z, roll, pitch, yaw
            return True, update, residual
        if not residual < math.inf:
            return False, update, residual
        x += d0
        y += d1
        z += d2
        roll += d3
        pitch += d4
        yaw += d5
        step = abs(d0) + abs(d1) + abs(d2) + abs(d3) + abs(d4) + abs(d5)
    return False, maximum_updates, residual


@fused_kernel
def observe_from_neutral(
    legs: Legs,
    neutral_lengths: FloatArray,
    gain: FloatArray,
    lengths: FloatArray,
    tolerance: float,
    update_tolerance: float,
    maximum_updates: int,
    pose: FloatArray,
) -> tuple[bool, int, float]:
    """Like ``observe`` from pose 0, whose lengths are known: one evaluation less, the same updates."""
    residual, x, y, z, roll, pitch, yaw = neutral_error(gain, neutral_lengths, lengths)
    if residual < tolerance:
        if is_pose(legs, lengths, residual, tolerance):
            pose[:] = 0.0
            return True, 0, residual
        return False, 0, residual
    step = math.inf
    for update in range(1, maximum_updates + 1):
        residual, d0, d1, d2, d3, d4, d5 = output_error(legs, gain, lengths, x, y, z, roll, pitch, yaw)
        if residual < tolerance or step < update_tolerance:
            if not is_pose(legs, lengths, residual, tolerance):
                return False, update, residual
            pose[0], pose[1], pose[2], pose[3], pose[4], pose[5] = x, y, z, roll, pitch, yaw
            return True, update, residual
        if not residual < math.inf:
            return False, update, residual
        x += d0
        y += d1
        z += d2
        roll += d3
        pitch += d4
        yaw += d5
        step = abs(d0) + abs(d1) + abs(d2) + abs(d3) + abs(d4) + abs(d5)
    return False, maximum_updates, residual


@fused_kernel
def observe_second_order(
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
) -> tuple[bool, int, float]:
    """Like ``observe``, each update corrected by the precomputed Hessian: x ← x + φ(l − l₀) − φ(l̂ − l₀).

    φ(y) = K y − ½ K H(K y, K y) inverts the lengths to second order. With d = K (l − l̂), z = K (l − l₀) and
    Q = K H the difference is d − Q(z − d/2, d). ``curvature`` (6, 36) holds Q as [i, 6 k + j]: the second
    derivative of output k by inputs i and j; ``w`` (36,) is scratch. See docs/theory.md.
    """
    x, y, z, roll, pitch, yaw = pose[0], pose[1], pose[2], pose[3], pose[4], pose[5]
    cold = x == 0.0 and y == 0.0 and z == 0.0 and roll == 0.0 and pitch == 0.0 and yaw == 0.0
    change, z0, z1, z2, z3, z4, z5 = neutral_error(gain, neutral_lengths, lengths)
    residual = step = math.inf
    scale = 1.0
    for update in range(maximum_updates + 1):
        if cold and update == 0:
            residual, d0, d1, d2, d3, d4, d5 = change, z0, z1, z2, z3, z4, z5
        else:
            residual, d0, d1, d2, d3, d4, d5 = output_error(legs, gain, lengths, x, y, z, roll, pitch, yaw)
        if residual < tolerance or step < update_tolerance:
            if not is_pose(legs, lengths, residual, tolerance):
                return False, update, residual
            pose[0], pose[1], pose[2], pose[3], pose[4], pose[5] = x, y, z, roll, pitch, yaw
            return True, update, residual
        if not residual < math.inf:
            return False, update, residual
        if update == 0 or (update == 1 and not cold):
            v0, v1, v2 = z0 - 0.5 * d0, z1 - 0.5 * d1, z2 - 0.5 * d2
            v3, v4, v5 = z3 - 0.5 * d3, z4 - 0.5 * d4, z5 - 0.5 * d5
            for m in range(36):
                w[m] = (
                    (v0 * curvature[0, m] + v1 * curvature[1, m])
                    + (v2 * curvature[2, m] + v3 * curvature[3, m])
                    + (v4 * curvature[4, m] + v5 * curvature[5, m])
                )
        elif cold:
            # The matrix was taken at z − d/2 = z/2; d is small now, and z itself is due.
            scale = 2.0
        x += d0 - scale * (w[0] * d0 + w[1] * d1 + (w[2] * d2 + w[3] * d3) + (w[4] * d4 + w[5] * d5))
        y += d1 - scale * (w[6] * d0 + w[7] * d1 + (w[8] * d2 + w[9] * d3) + (w[10] * d4 + w[11] * d5))
        z += d2 - scale * (w[12] * d0 + w[13] * d1 + (w[14] * d2 + w[15] * d3) + (w[16] * d4 + w[17] * d5))
        roll += d3 - scale * (w[18] * d0 + w[19] * d1 + (w[20] * d2 + w[21] * d3) + (w[22] * d4 + w[23] * d5))
        pitch += d4 - scale * (
            w[24] * d0 + w[25] * d1 + (w[26] * d2 + w[27] * d3) + (w[28] * d4 + w[29] * d5)
        )
        yaw += d5 - scale * (w[30] * d0 + w[31] * d1 + (w[32] * d2 + w[33] * d3) + (w[34] * d4 + w[35] * d5))
        step = abs(d0) + abs(d1) + abs(d2) + abs(d3) + abs(d4) + abs(d5)
    return False, maximum_updates, residual
