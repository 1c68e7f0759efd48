"""Inverse kinematics: pose of the table → lengths of the links, with their rates and accelerations.

Pose = [x, y, z, roll, pitch, yaw] of C relative to neutral, m and rad; ``rates`` and ``accelerations`` are
its first and second time derivatives (Euler rates, no angular velocity). Lengths in m, extension positive.
Eqs. (3)–(4) of Jin 2012 and their exact derivatives; any number of links. The solution is unique.
"""

from __future__ import annotations

import math

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.kinematics.geometry import Legs
from mastd.kinematics.rotation import angular_motion, rotation


@fused_kernel
def link_lengths(
    legs: Legs,
    pose: FloatArray,
    lengths: FloatArray,
) -> None:
    """Write the length of each link at ``pose`` (6,) into ``lengths`` (n,), m; eqs. (3)–(4)."""
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = rotation(pose[3], pose[4], pose[5])
    cx = legs.neutral_position[0] + pose[0]
    cy = legs.neutral_position[1] + pose[1]
    cz = legs.neutral_position[2] + pose[2]
    for i in range(legs.table_joints.shape[0]):
        px = legs.table_joints[i, 0]
        py = legs.table_joints[i, 1]
        pz = legs.table_joints[i, 2]
        x = cx - legs.base_joints[i, 0] + r00 * px + r01 * py + r02 * pz
        y = cy - legs.base_joints[i, 1] + r10 * px + r11 * py + r12 * pz
        z = cz - legs.base_joints[i, 2] + r20 * px + r21 * py + r22 * pz
        lengths[i] = math.sqrt(x * x + y * y + z * z)


@fused_kernel
def link_motion(
    legs: Legs,
    pose: FloatArray,
    rates: FloatArray,
    accelerations: FloatArray,
    lengths: FloatArray,
    length_rates: FloatArray,
    length_accelerations: FloatArray,
) -> None:
    """Write lengths (m), length rates (m/s) and length accelerations (m/s²), each (n,), exactly.

    With the joint's velocity v and acceleration a, and the link vector l from base to table joint:
    rate = l·v / |l| and acceleration = (v·v + l·a − rate²) / |l|.
    """
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = rotation(pose[3], pose[4], pose[5])
    (wx, wy, wz), (ax, ay, az) = angular_motion(
        pose[3],
        pose[4],
        pose[5],
        rates[3],
        rates[4],
        rates[5],
        accelerations[3],
        accelerations[4],
        accelerations[5],
    )
    ox = legs.neutral_position[0] + pose[0]
    oy = legs.neutral_position[1] + pose[1]
    oz = legs.neutral_position[2] + pose[2]
    for i in range(legs.table_joints.shape[0]):
        px = r00 * legs.table_joints[i, 0] + r01 * legs.table_joints[i, 1] + r02 * legs.table_joints[i, 2]
        py = r10 * legs.table_joints[i, 0] + r11 * legs.table_joints[i, 1] + r12 * legs.table_joints[i, 2]
        pz = r20 * legs.table_joints[i, 0] + r21 * legs.table_joints[i, 1] + r22 * legs.table_joints[i, 2]
        # Velocity of the joint about C, then with that of C.
        ux = wy * pz - wz * py
        uy = wz * px - wx * pz
        uz = wx * py - wy * px
        vx = rates[0] + ux
        vy = rates[1] + uy
        vz = rates[2] + uz
        bx = accelerations[0] + ay * pz - az * py + wy * uz - wz * uy
        by = accelerations[1] + az * px - ax * pz + wz * ux - wx * uz
        bz = accelerations[2] + ax * py - ay * px + wx * uy - wy * ux
        x = ox + px - legs.base_joints[i, 0]
        y = oy + py - legs.base_joints[i, 1]
        z = oz + pz - legs.base_joints[i, 2]
        length = math.sqrt(x * x + y * y + z * z)
        rate = (x * vx + y * vy + z * vz) / length
        lengths[i] = length
        length_rates[i] = rate
        length_accelerations[i] = (
            vx * vx + vy * vy + vz * vz + x * bx + y * by + z * bz - rate * rate
        ) / length


@fused_kernel
def link_lengths_batch(
    legs: Legs,
    poses: FloatArray,
    lengths: FloatArray,
) -> None:
    """``link_lengths`` of each row of ``poses`` (m, 6) into the same row of ``lengths`` (m, n)."""
    for row in range(poses.shape[0]):
        link_lengths(legs, poses[row], lengths[row])
