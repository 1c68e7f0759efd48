"""Sines, cosines and the rotation matrix of the table's attitude (eq. (1b) of Jin 2012, transposed).

Attitude = [roll, pitch, yaw] in rad, rotation order yaw → pitch → roll (3-2-1), so the matrix from table
axes P to ground axes B is R = Rz(yaw) Ry(pitch) Rx(roll). The paper prints its transpose, B → P.
"""

from __future__ import annotations

import math

from mastd.kernel import fused_kernel

Three = tuple[float, float, float]
Nine = tuple[float, float, float, float, float, float, float, float, float]
Six = tuple[float, float, float, float, float, float]

# Up to this angle (rad) the polynomials below are exact to rounding (relative remainder under 2e-17).
SMALL_ANGLE = 0.25

_S3, _S5, _S7, _S9, _S11 = -1 / 6, 1 / 120, -1 / 5040, 1 / 362880, -1 / 39916800
_C2, _C4, _C6, _C8, _C10, _C12 = -1 / 2, 1 / 24, -1 / 720, 1 / 40320, -1 / 3628800, 1 / 479001600


@fused_kernel
def small_sine_cosine(angle: float) -> tuple[float, float]:
    """Return sine and cosine of ``angle`` (rad), |angle| ≤ SMALL_ANGLE, by their series."""
    q = angle * angle
    q2 = q * q
    sine = angle + angle * q * (_S3 + _S5 * q + q2 * (_S7 + _S9 * q + _S11 * q2))
    cosine = 1.0 + q * (_C2 + _C4 * q + q2 * (_C6 + _C8 * q + q2 * (_C10 + _C12 * q)))
    return sine, cosine


@fused_kernel
def sines_cosines(roll: float, pitch: float, yaw: float) -> tuple[float, float, float, float, float, float]:
    """Return (sin roll, cos roll, sin pitch, cos pitch, sin yaw, cos yaw) of any angles in rad.

    The table's strokes keep the angles under 0.07 rad, where the short series are three times as fast as
    the general functions; larger angles, infinities and NaN take the general functions.
    """
    if abs(roll) <= SMALL_ANGLE and abs(pitch) <= SMALL_ANGLE and abs(yaw) <= SMALL_ANGLE:
        sr, cr = small_sine_cosine(roll)
        sp, cp = small_sine_cosine(pitch)
        sy, cy = small_sine_cosine(yaw)
        return sr, cr, sp, cp, sy, cy
    return math.sin(roll), math.cos(roll), math.sin(pitch), math.cos(pitch), math.sin(yaw), math.cos(yaw)


@fused_kernel
def rotation_of(sr: float, cr: float, sp: float, cp: float, sy: float, cy: float) -> Nine:
    """Return R = Rz(yaw) Ry(pitch) Rx(roll), P → B, row by row, from the results of ``sines_cosines``."""
    a = sr * sp
    b = cr * sp
    return (
        cy * cp,
        cy * a - sy * cr,
        cy * b + sy * sr,
        sy * cp,
        sy * a + cy * cr,
        sy * b - cy * sr,
        -sp,
        sr * cp,
        cr * cp,
    )


@fused_kernel
def rotation(roll: float, pitch: float, yaw: float) -> Nine:
    """Return R = Rz(yaw) Ry(pitch) Rx(roll), P → B, row by row (angles in rad)."""
    sr, cr, sp, cp, sy, cy = sines_cosines(roll, pitch, yaw)
    return rotation_of(sr, cr, sp, cp, sy, cy)


@fused_kernel
def angular_motion(angles: Three, rates: Three, accelerations: Three) -> tuple[Three, Three]:
    """Return angular velocity (rad/s) and angular acceleration (rad/s²) of P, in B axes.

    ``angles``, ``rates`` and ``accelerations``: roll, pitch, yaw and their time derivatives.
    """
    _, _, sp, cp, sy, cy = sines_cosines(angles[0], angles[1], angles[2])
    roll_rate, pitch_rate, yaw_rate = rates
    roll_acceleration, pitch_acceleration, yaw_acceleration = accelerations
    velocity = (
        cy * cp * roll_rate - sy * pitch_rate,
        sy * cp * roll_rate + cy * pitch_rate,
        yaw_rate - sp * roll_rate,
    )
    acceleration = (
        cy * cp * roll_acceleration
        - sy * pitch_acceleration
        - (cy * sp * pitch_rate + sy * cp * yaw_rate) * roll_rate
        - cy * yaw_rate * pitch_rate,
        sy * cp * roll_acceleration
        + cy * pitch_acceleration
        - (sy * sp * pitch_rate - cy * cp * yaw_rate) * roll_rate
        - sy * yaw_rate * pitch_rate,
        yaw_acceleration - sp * roll_acceleration - cp * pitch_rate * roll_rate,
    )
    return velocity, acceleration
