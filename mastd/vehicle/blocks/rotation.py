"""Rotations: matrices by rows, unit quaternions (w, x, y, z) body → inertial axes, rotation vectors.

First kernels, for numbers and for lanes alike; then functions of numpy for code that works body by body: they
take one attitude, (4) or (3), or a stack of them, (n, 4) or (n, 3). A rotation vector is axis times angle.
"""

from __future__ import annotations

import numpy as np

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.vehicle.blocks.vectors import Triple

Quaternion = tuple[float, float, float, float]


@fused_kernel
def rotate_vector(rotation: FloatArray, i: int, x: float, y: float, z: float) -> Triple:
    """Return R (x, y, z), R row by row in ``rotation[i]``."""
    return (
        rotation[i, 0] * x + rotation[i, 1] * y + rotation[i, 2] * z,
        rotation[i, 3] * x + rotation[i, 4] * y + rotation[i, 5] * z,
        rotation[i, 6] * x + rotation[i, 7] * y + rotation[i, 8] * z,
    )


@fused_kernel
def rotate_vector_inverse(rotation: FloatArray, i: int, x: float, y: float, z: float) -> Triple:
    """Return Rᵀ (x, y, z), R row by row in ``rotation[i]``."""
    return (
        rotation[i, 0] * x + rotation[i, 3] * y + rotation[i, 6] * z,
        rotation[i, 1] * x + rotation[i, 4] * y + rotation[i, 7] * z,
        rotation[i, 2] * x + rotation[i, 5] * y + rotation[i, 8] * z,
    )


@fused_kernel
def multiply_quaternions(p: Quaternion, q: Quaternion) -> Quaternion:
    """Return the product of two quaternions: first q, then p."""
    return (
        p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
        p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
        p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1],
        p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0],
    )


@fused_kernel
def rotate_quaternion(w: float, x: float, y: float, z: float, t0: float, t1: float, t2: float) -> Quaternion:
    """Return the quaternion (w, x, y, z) followed by the rotation vector t in body axes.

    The half angle's sine and cosine are series; at 0.3 rad a step, more than any part of a vehicle but the
    wheels' spin turns, they are exact to rounding. The product is brought back to unit length to first order.
    """
    quarter = 0.25 * (t0 * t0 + t1 * t1 + t2 * t2)
    sine = 0.5 * (1.0 - quarter * (1 / 6) * (1.0 - quarter * (1 / 20) * (1.0 - quarter * (1 / 42))))
    cosine = 1.0 - quarter * 0.5 * (1.0 - quarter * (1 / 12) * (1.0 - quarter * (1 / 30)))
    a, b, c = t0 * sine, t1 * sine, t2 * sine
    p = w * cosine - x * a - y * b - z * c
    q = w * a + x * cosine + y * c - z * b
    r = w * b - x * c + y * cosine + z * a
    s = w * c + x * b - y * a + z * cosine
    unit = 1.5 - 0.5 * (p * p + q * q + r * r + s * s)
    return p * unit, q * unit, r * unit, s * unit


@fused_kernel
def quaternion_matrix(
    w: float, x: float, y: float, z: float
) -> tuple[float, float, float, float, float, float, float, float, float]:
    """Return the rotation matrix of a unit quaternion, row by row: body → inertial axes."""
    return (
        1.0 - 2.0 * (y * y + z * z),
        2.0 * (x * y - w * z),
        2.0 * (x * z + w * y),
        2.0 * (x * y + w * z),
        1.0 - 2.0 * (x * x + z * z),
        2.0 * (y * z - w * x),
        2.0 * (x * z - w * y),
        2.0 * (y * z + w * x),
        1.0 - 2.0 * (x * x + y * y),
    )


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


def rotate_attitude(attitude: FloatArray, rotation_vector: FloatArray) -> FloatArray:
    """Return exp(rotation_vector) · attitude, normalised: about inertial axes, (..., 4)."""
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


def inverse_quaternion(attitude: FloatArray) -> FloatArray:
    """Return the inverse (conjugate) of a unit quaternion, (..., 4)."""
    return np.asarray(attitude * np.array([1.0, -1.0, -1.0, -1.0]))
