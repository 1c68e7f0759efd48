"""Inverse kinematics: pose of the table → lengths of the actuators, with their rates and accelerations.

Pose = [x, y, z, roll, pitch, yaw] of C relative to neutral, m and rad; ``rates`` and ``accelerations`` are
its first and second time derivatives (Euler rates, no angular velocity). Lengths in m, extension positive.
Jin 2012, eqs. (3)–(4), and their exact derivatives; any number of actuators. The solution is unique.
"""

from __future__ import annotations

import math

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.kinematics.geometry import Legs
from mastd.kinematics.rotation import Nine, Three, angular_motion, rotation


@fused_kernel
def centre_at(legs: Legs, pose: FloatArray) -> Three:
    """Return the position of C in B at ``pose`` (6,), m."""
    neutral = legs.neutral_position
    return neutral[0] + pose[0], neutral[1] + pose[1], neutral[2] + pose[2]


@fused_kernel
def actuator_vector(legs: Legs, i: int, c: Three, r: Nine) -> Three:
    """Return the vector l = c − b + R p of actuator ``i`` from base to table joint in B, m; eq. (3)."""
    base, px, py, pz = (
        legs.base_joints,
        legs.table_joints[i, 0],
        legs.table_joints[i, 1],
        legs.table_joints[i, 2],
    )
    return (
        c[0] - base[i, 0] + r[0] * px + r[1] * py + r[2] * pz,
        c[1] - base[i, 1] + r[3] * px + r[4] * py + r[5] * pz,
        c[2] - base[i, 2] + r[6] * px + r[7] * py + r[8] * pz,
    )


@fused_kernel
def arm(legs: Legs, i: int, r: Nine) -> Three:
    """Return R p, from C to the table joint of actuator ``i`` in B, m."""
    joints = legs.table_joints
    return (
        r[0] * joints[i, 0] + r[1] * joints[i, 1] + r[2] * joints[i, 2],
        r[3] * joints[i, 0] + r[4] * joints[i, 1] + r[5] * joints[i, 2],
        r[6] * joints[i, 0] + r[7] * joints[i, 1] + r[8] * joints[i, 2],
    )


@fused_kernel
def actuator_lengths(legs: Legs, pose: FloatArray, lengths: FloatArray) -> None:
    """Write the length of each actuator at ``pose`` (6,) into ``lengths`` (n,), m; eqs. (3)–(4)."""
    r = rotation(pose[3], pose[4], pose[5])
    c = centre_at(legs, pose)
    for i in range(legs.table_joints.shape[0]):
        x, y, z = actuator_vector(legs, i, c, r)
        lengths[i] = math.sqrt(x * x + y * y + z * z)


@fused_kernel
def actuator_motion(
    legs: Legs,
    pose: FloatArray,
    rates: FloatArray,
    accelerations: FloatArray,
    lengths: FloatArray,
    length_rates: FloatArray,
    length_accelerations: FloatArray,
) -> None:
    """Write lengths (m), length rates (m/s) and length accelerations (m/s²), each (n,), exactly.

    With the joint's velocity v and acceleration a, and the vector l from base to table joint:
    rate = l·v / |l| and acceleration = (v·v + l·a − rate²) / |l|.
    """
    r = rotation(pose[3], pose[4], pose[5])
    (wx, wy, wz), (ax, ay, az) = angular_motion(
        (pose[3], pose[4], pose[5]),
        (rates[3], rates[4], rates[5]),
        (accelerations[3], accelerations[4], accelerations[5]),
    )
    c = centre_at(legs, pose)
    for i in range(legs.table_joints.shape[0]):
        px, py, pz = arm(legs, i, r)
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
        x = c[0] + px - legs.base_joints[i, 0]
        y = c[1] + py - legs.base_joints[i, 1]
        z = c[2] + pz - legs.base_joints[i, 2]
        length = math.sqrt(x * x + y * y + z * z)
        rate = (x * vx + y * vy + z * vz) / length
        lengths[i] = length
        length_rates[i] = rate
        length_accelerations[i] = (
            vx * vx + vy * vy + vz * vz + x * bx + y * by + z * bz - rate * rate
        ) / length


@fused_kernel
def actuator_lengths_batch(legs: Legs, poses: FloatArray, lengths: FloatArray) -> None:
    """Write ``actuator_lengths`` of each row of ``poses`` (m, 6) into the same row of ``lengths`` (m, n)."""
    for row in range(poses.shape[0]):
        actuator_lengths(legs, poses[row], lengths[row])
