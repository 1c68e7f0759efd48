"""Jacobians of the actuator lengths: rows [e, a × e] of Jin 2012, eq. (9b), in two sets of rates.

e is the unit vector of an actuator from base to table joint, a the vector from C to its table joint, both in
B. Columns of axes that guides hold are 0. The geometric Jacobian maps [velocity of C, angular velocity in B
axes] to length rates; the Euler-rate Jacobian maps the time derivative of the pose, and is the exact
derivative of the lengths by the pose. Both are written as (n, 6): the paper's Jᵀ.
"""

from __future__ import annotations

import math

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.kinematics.geometry import Legs
from mastd.kinematics.inverse import arm
from mastd.kinematics.rotation import rotation, sines_cosines


@fused_kernel
def geometric_jacobian(
    legs: Legs,
    pose: FloatArray,
    jacobian: FloatArray,
) -> None:
    """Write the geometric Jacobian at ``pose`` (6,) into ``jacobian`` (n, 6): m/m and m/rad.

    The axes that guides hold are taken as fixed in B: exact unless two of the three rotations are free, then
    in first order of their angles.
    """
    _rows(legs, pose, jacobian)
    _hold(legs.freedoms, jacobian)


@fused_kernel
def _hold(freedoms: FloatArray, jacobian: FloatArray) -> None:
    """Write 0 into the columns that guides hold."""
    for i in range(jacobian.shape[0]):
        for axis in range(6):
            jacobian[i, axis] *= freedoms[axis]


@fused_kernel
def _rows(legs: Legs, pose: FloatArray, jacobian: FloatArray) -> None:
    """Write the rows [e, a × e]."""
    r = rotation(pose[3], pose[4], pose[5])
    cx = legs.neutral_position[0] + pose[0]
    cy = legs.neutral_position[1] + pose[1]
    cz = legs.neutral_position[2] + pose[2]
    for i in range(legs.table_joints.shape[0]):
        ax, ay, az = arm(legs, i, r)
        x = cx + ax - legs.base_joints[i, 0]
        y = cy + ay - legs.base_joints[i, 1]
        z = cz + az - legs.base_joints[i, 2]
        inverse = 1.0 / math.sqrt(x * x + y * y + z * z)
        x *= inverse
        y *= inverse
        z *= inverse
        jacobian[i, 0] = x
        jacobian[i, 1] = y
        jacobian[i, 2] = z
        jacobian[i, 3] = ay * z - az * y
        jacobian[i, 4] = az * x - ax * z
        jacobian[i, 5] = ax * y - ay * x


@fused_kernel
def euler_jacobian(
    legs: Legs,
    pose: FloatArray,
    jacobian: FloatArray,
) -> None:
    """Write the Euler-rate Jacobian at ``pose`` (6,) into ``jacobian`` (n, 6): m/m and m/rad.

    Its last three columns are the geometric ones times the axes of roll, pitch and yaw in B.
    """
    _rows(legs, pose, jacobian)
    _, _, sp, cp, sy, cy = sines_cosines(pose[3], pose[4], pose[5])
    for i in range(legs.table_joints.shape[0]):
        x = jacobian[i, 3]
        y = jacobian[i, 4]
        jacobian[i, 3] = (cy * x + sy * y) * cp - sp * jacobian[i, 5]
        jacobian[i, 4] = cy * y - sy * x
    _hold(legs.freedoms, jacobian)


@fused_kernel
def geometric_jacobian_batch(
    legs: Legs,
    poses: FloatArray,
    jacobians: FloatArray,
) -> None:
    """Write ``geometric_jacobian`` of each row of ``poses`` (m, 6) into ``jacobians`` (m, n, 6)."""
    for row in range(poses.shape[0]):
        geometric_jacobian(legs, poses[row], jacobians[row])


@fused_kernel
def euler_jacobian_batch(
    legs: Legs,
    poses: FloatArray,
    jacobians: FloatArray,
) -> None:
    """Write ``euler_jacobian`` of each row of ``poses`` (m, 6) into ``jacobians`` (m, n, 6)."""
    for row in range(poses.shape[0]):
        euler_jacobian(legs, poses[row], jacobians[row])


@fused_kernel
def solve_normal(jacobian: FloatArray, factor: FloatArray, solved: FloatArray) -> None:
    """Turn ``solved`` (6,) into (JᵀJ)⁻¹ of it by Cholesky's factors; as it is where a column of J is 0.

    ``jacobian`` (n, 6); ``factor`` (6, 6) is scratch. At a singular pose the result is not finite.
    """
    for i in range(6):
        for j in range(i + 1):
            total = 0.0
            for k in range(jacobian.shape[0]):
                total += jacobian[k, i] * jacobian[k, j]
            if i == j and total == 0.0:
                factor[i, i] = 1.0
                continue
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            if i == j:
                factor[i, i] = math.sqrt(total) if total > 0.0 else math.nan
            else:
                factor[i, j] = total / factor[j, j]
    for i in range(6):
        for k in range(i):
            solved[i] -= factor[i, k] * solved[k]
        solved[i] /= factor[i, i]
    for i in range(5, -1, -1):
        for k in range(i + 1, 6):
            solved[i] -= factor[k, i] * solved[k]
        solved[i] /= factor[i, i]
