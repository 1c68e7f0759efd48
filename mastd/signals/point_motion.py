"""The motion of a point fixed to the table, over whole series, from that of its centre C.

Poses are [x, y, z, roll, pitch, yaw] against neutral in m and rad, rotation order yaw → pitch → roll (3-2-1),
R = Rz(yaw) Ry(pitch) Rx(roll) from table axes P to ground axes B. A point p (in P) is displaced by that of C
and R p − p, and turns as the table does. ``mastd.kinematics.control_point`` does the same for one instant.
"""

from __future__ import annotations

import numpy as np

from mastd.arrays import FloatArray


def displacement_at_point(pose: FloatArray, point: FloatArray) -> FloatArray:
    """Return the pose (k, 6) of ``point`` (3,) in P, given that of C (k, 6)."""
    moved = pose.copy()
    moved[:, :3] += _turned(pose, point) - point
    return moved


def acceleration_at_point(
    pose: FloatArray, acceleration: FloatArray, rate: float, point: FloatArray
) -> FloatArray:
    """Return the second derivative (k, 6) of the pose of ``point`` (3,) in P.

    ``pose`` and ``acceleration`` (k, 6) are the pose of C and its second derivative, at ``rate`` Hz. Rates of
    the attitude, on which only the small centripetal part depends, are differences of the pose.
    """
    if len(pose) < 2:
        return acceleration.copy()
    roll_rate, pitch_rate, yaw_rate = np.gradient(pose[:, 3:], 1.0 / rate, axis=0).T
    rolling, pitching, yawing = acceleration[:, 3:].T
    sp, cp = np.sin(pose[:, 4]), np.cos(pose[:, 4])
    sy, cy = np.sin(pose[:, 5]), np.cos(pose[:, 5])
    spin = np.stack(
        [
            roll_rate * cy * cp - pitch_rate * sy,
            roll_rate * sy * cp + pitch_rate * cy,
            yaw_rate - roll_rate * sp,
        ],
        axis=1,
    )
    turning = np.stack(
        [
            rolling * cy * cp
            - roll_rate * (yaw_rate * sy * cp + pitch_rate * cy * sp)
            - pitching * sy
            - pitch_rate * yaw_rate * cy,
            rolling * sy * cp
            + roll_rate * (yaw_rate * cy * cp - pitch_rate * sy * sp)
            + pitching * cy
            - pitch_rate * yaw_rate * sy,
            yawing - rolling * sp - roll_rate * pitch_rate * cp,
        ],
        axis=1,
    )
    arm = _turned(pose, point)
    moved = acceleration.copy()
    moved[:, :3] += np.cross(turning, arm) + np.cross(spin, np.cross(spin, arm))
    return moved


def _turned(pose: FloatArray, point: FloatArray) -> FloatArray:
    """Return R p (k, 3)."""
    (sr, sp, sy), (cr, cp, cy) = np.sin(pose[:, 3:]).T, np.cos(pose[:, 3:]).T
    across, up = cr * point[1] - sr * point[2], sr * point[1] + cr * point[2]
    along, up = cp * point[0] + sp * up, cp * up - sp * point[0]
    return np.stack([cy * along - sy * across, sy * along + cy * across, up], axis=1)
