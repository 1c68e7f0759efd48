"""Motion of a point fixed to the table, such as the control point T, against the motion of C.

The pose of a point is its displacement from where it stands at neutral, with the table's roll, pitch and yaw:
t_T = t_C + R p − p. Rates and accelerations are time derivatives of the pose (Euler rates). m, rad, s.
"""

from __future__ import annotations

import numpy as np

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.kinematics.rotation import Three, angular_motion, rotation


@fused_kernel
def _lever_motion(motion: FloatArray, point: FloatArray) -> tuple[Three, Three, Three]:
    """Return R p − p and its first and second time derivative for ``motion`` (3, 6), point p (3,) in P."""
    r = rotation(motion[0, 3], motion[0, 4], motion[0, 5])
    (wx, wy, wz), (ax, ay, az) = angular_motion(
        (motion[0, 3], motion[0, 4], motion[0, 5]),
        (motion[1, 3], motion[1, 4], motion[1, 5]),
        (motion[2, 3], motion[2, 4], motion[2, 5]),
    )
    px = r[0] * point[0] + r[1] * point[1] + r[2] * point[2]
    py = r[3] * point[0] + r[4] * point[1] + r[5] * point[2]
    pz = r[6] * point[0] + r[7] * point[1] + r[8] * point[2]
    vx = wy * pz - wz * py
    vy = wz * px - wx * pz
    vz = wx * py - wy * px
    return (
        (px - point[0], py - point[1], pz - point[2]),
        (vx, vy, vz),
        (
            ay * pz - az * py + wy * vz - wz * vy,
            az * px - ax * pz + wz * vx - wx * vz,
            ax * py - ay * px + wx * vy - wy * vx,
        ),
    )


@fused_kernel
def motion_at_point(motion: FloatArray, point: FloatArray, out: FloatArray) -> None:
    """Write the motion of ``point`` (3,) in P into ``out`` (3, 6), given that of C.

    The rows of both are pose, rates and accelerations; the two may be the same array.
    """
    lever = _lever_motion(motion, point)
    for axis in range(3):
        out[0, axis] = motion[0, axis] + lever[0][axis]
        out[1, axis] = motion[1, axis] + lever[1][axis]
        out[2, axis] = motion[2, axis] + lever[2][axis]
        out[0, axis + 3] = motion[0, axis + 3]
        out[1, axis + 3] = motion[1, axis + 3]
        out[2, axis + 3] = motion[2, axis + 3]


@fused_kernel
def motion_of_centre(motion: FloatArray, point: FloatArray, out: FloatArray) -> None:
    """Write the motion of C into ``out`` (3, 6), given that of ``point`` (3,) in P; inverts the above."""
    lever = _lever_motion(motion, point)
    for axis in range(3):
        out[0, axis] = motion[0, axis] - lever[0][axis]
        out[1, axis] = motion[1, axis] - lever[1][axis]
        out[2, axis] = motion[2, axis] - lever[2][axis]
        out[0, axis + 3] = motion[0, axis + 3]
        out[1, axis + 3] = motion[1, axis + 3]
        out[2, axis + 3] = motion[2, axis + 3]


def pose_at_point(pose: FloatArray, point: FloatArray) -> FloatArray:
    """Return the pose (6,) of ``point`` (3,) in P, given the pose of C."""
    motion = np.zeros((3, 6))
    motion[0] = pose
    motion_at_point(motion, np.ascontiguousarray(point, dtype=np.float64), motion)
    return np.asarray(motion[0])


def pose_of_centre(pose: FloatArray, point: FloatArray) -> FloatArray:
    """Return the pose (6,) of C, given the pose of ``point`` (3,) in P."""
    motion = np.zeros((3, 6))
    motion[0] = pose
    motion_of_centre(motion, np.ascontiguousarray(point, dtype=np.float64), motion)
    return np.asarray(motion[0])
