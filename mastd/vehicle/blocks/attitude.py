"""Attitudes of bodies for code that works body by body in numpy: quaternions and rotation vectors.

A quaternion is (w, x, y, z), of unit length, and turns body axes into inertial axes. A rotation vector is
axis times angle in rad. All functions take one attitude, (4) or (3), or a stack of them, (n, 4) or (n, 3).
"""

from __future__ import annotations

import numpy as np

from mastd.arrays import FloatArray


def cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return a × b of two vectors (3); for one pair numpy's own takes twenty times as long."""
    (ax, ay, az), (bx, by, bz) = a.tolist(), b.tolist()
    return np.array([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])


def quaternion_product(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return left · right: the rotation ``right`` followed by ``left``, (..., 4)."""
    scalar = left[..., :1] * right[..., :1] - np.sum(left[..., 1:] * right[..., 1:], axis=-1, keepdims=True)
    vector = left[..., :1] * right[..., 1:] + right[..., :1] * left[..., 1:]
    vector = vector + np.cross(left[..., 1:], right[..., 1:])
    return np.concatenate([scalar, vector], axis=-1)


def quaternion_of(rotation_vector: FloatArray) -> FloatArray:
    """Return the unit quaternion (..., 4) of a rotation vector (..., 3) in rad, of any length."""
    half = 0.5 * np.linalg.norm(rotation_vector, axis=-1, keepdims=True)
    # numpy's sinc is sin(πx)/(πx), and exact at zero.
    return np.concatenate([np.cos(half), 0.5 * np.sinc(half / np.pi) * rotation_vector], axis=-1)


def turned(attitude: FloatArray, rotation_vector: FloatArray) -> FloatArray:
    """Return exp(rotation_vector) · attitude, normalised: a turn about inertial axes, (..., 4)."""
    product = quaternion_product(quaternion_of(rotation_vector), attitude)
    return np.asarray(product / np.linalg.norm(product, axis=-1, keepdims=True))


def rotation_matrix(attitude: FloatArray) -> FloatArray:
    """Return the matrix (..., 3, 3) from body axes to inertial axes of a unit quaternion."""
    w, x, y, z = np.moveaxis(attitude, -1, 0)
    rows = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
        [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def roll_pitch_yaw(attitude: FloatArray) -> FloatArray:
    """Return [roll, pitch, yaw] (..., 3) in rad of a unit quaternion, A = Rz(yaw) Ry(pitch) Rx(roll)."""
    matrix = rotation_matrix(attitude)
    roll = np.arctan2(matrix[..., 2, 1], matrix[..., 2, 2])
    pitch = -np.arcsin(np.clip(matrix[..., 2, 0], -1.0, 1.0))
    yaw = np.arctan2(matrix[..., 1, 0], matrix[..., 0, 0])
    return np.stack([roll, pitch, yaw], axis=-1)


def inverse(attitude: FloatArray) -> FloatArray:
    """Return the inverse (conjugate) of a unit quaternion, (..., 4)."""
    return np.asarray(attitude * np.array([1.0, -1.0, -1.0, -1.0]))
