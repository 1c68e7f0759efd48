"""The motion of a point of the table and that of its centre C, each from the other, exactly.

Motions are (4, 6): pose, rates, accelerations, jerks; columns [x, y, z, roll, pitch, yaw] against neutral in
B, m and rad, Euler angles and their time derivatives. A point at p (in P) is displaced by h = c + (R − I) p
with R = Rz(yaw) Ry(pitch) Rx(roll); the angles are the same. The derivatives of R p are those of products of
sines and cosines: each is carried as its value and three derivatives, and products follow Leibniz' rule.
"""

from __future__ import annotations

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.kinematics.rotation import sines_cosines

Series = tuple[float, float, float, float]
"""A value and its first three derivatives by time."""


@fused_kernel
def _product(a: Series, b: Series) -> Series:
    return (
        a[0] * b[0],
        a[1] * b[0] + a[0] * b[1],
        a[2] * b[0] + 2.0 * a[1] * b[1] + a[0] * b[2],
        a[3] * b[0] + 3.0 * (a[2] * b[1] + a[1] * b[2]) + a[0] * b[3],
    )


@fused_kernel
def _combined(p: float, a: Series, q: float, b: Series) -> Series:
    """Return p·a + q·b."""
    return (
        p * a[0] + q * b[0],
        p * a[1] + q * b[1],
        p * a[2] + q * b[2],
        p * a[3] + q * b[3],
    )


@fused_kernel
def _sine(sine: float, cosine: float, rate: float, acceleration: float, jerk: float) -> Series:
    """Return the series of sin φ from sin φ, cos φ and the derivatives of φ."""
    return (
        sine,
        cosine * rate,
        cosine * acceleration - sine * rate * rate,
        cosine * (jerk - rate * rate * rate) - 3.0 * sine * rate * acceleration,
    )


@fused_kernel
def turned_arm(point: FloatArray, motion: FloatArray) -> tuple[Series, Series, Series]:
    """Return R p of ``point`` p (3,) at the angles of ``motion`` (4, 6), and three derivatives, in B."""
    sr, cr, sp, cp, sy, cy = sines_cosines(motion[0, 3], motion[0, 4], motion[0, 5])
    # The cosine's series is that of the sine a quarter turn ahead: (sin, cos) → (cos, −sin).
    roll_sine = _sine(sr, cr, motion[1, 3], motion[2, 3], motion[3, 3])
    roll_cosine = _sine(cr, -sr, motion[1, 3], motion[2, 3], motion[3, 3])
    pitch_sine = _sine(sp, cp, motion[1, 4], motion[2, 4], motion[3, 4])
    pitch_cosine = _sine(cp, -sp, motion[1, 4], motion[2, 4], motion[3, 4])
    yaw_sine = _sine(sy, cy, motion[1, 5], motion[2, 5], motion[3, 5])
    yaw_cosine = _sine(cy, -sy, motion[1, 5], motion[2, 5], motion[3, 5])
    across = _combined(point[1], roll_cosine, -point[2], roll_sine)
    up = _combined(point[1], roll_sine, point[2], roll_cosine)
    along = _combined(point[0], pitch_cosine, 1.0, _product(pitch_sine, up))
    return (
        _combined(1.0, _product(yaw_cosine, along), -1.0, _product(yaw_sine, across)),
        _combined(1.0, _product(yaw_sine, along), 1.0, _product(yaw_cosine, across)),
        _combined(-point[0], pitch_sine, 1.0, _product(pitch_cosine, up)),
    )


@fused_kernel
def centre_motion(point: FloatArray, motion: FloatArray, centre: FloatArray) -> None:
    """Write the motion ``centre`` (4, 6) of C at which ``point`` (3,) in P makes ``motion`` (4, 6)."""
    x, y, z = turned_arm(point, motion)
    for order in range(4):
        centre[order, 0] = motion[order, 0] - x[order]
        centre[order, 1] = motion[order, 1] - y[order]
        centre[order, 2] = motion[order, 2] - z[order]
        for axis in range(3, 6):
            centre[order, axis] = motion[order, axis]
    for axis in range(3):
        centre[0, axis] += point[axis]


@fused_kernel
def point_motion(point: FloatArray, centre: FloatArray, motion: FloatArray) -> None:
    """Write the ``motion`` (4, 6) that ``point`` (3,) in P makes while C makes ``centre`` (4, 6)."""
    x, y, z = turned_arm(point, centre)
    for order in range(4):
        motion[order, 0] = centre[order, 0] + x[order]
        motion[order, 1] = centre[order, 1] + y[order]
        motion[order, 2] = centre[order, 2] + z[order]
        for axis in range(3, 6):
            motion[order, axis] = centre[order, axis]
    for axis in range(3):
        motion[0, axis] -= point[axis]
