"""Forward kinematics by Newton–Raphson, eqs. (5)–(9) of Jin 2012, with a Jacobian in every update.

x ← x + J⁺ (l − l̂), J⁺ the pseudo-inverse by the normal equations JᵀJ, which are factorised as L D Lᵀ written
out for six unknowns: the table's Jacobian in m is well conditioned (2.8), so that squaring it loses nothing.
The Jacobian is the paper's geometric one, eq. (9b), as if angles were a rotation vector; or the exact
Euler-rate one, with which the iteration converges quadratically.

Stopping rules, arguments and results are those of ``mastd.kinematics.observer``. Newton serves geometries
whose observer does not contract. A singular Jacobian ends the solve as not converged.
"""

from __future__ import annotations

import math

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.kinematics.geometry import Legs
from mastd.kinematics.observer import Seven, is_pose
from mastd.kinematics.rotation import rotation_of, sines_cosines

# A pivot of JᵀJ below this (m², as rotations are taken at 1 m) counts as a singular Jacobian.
MIN_PIVOT = 1e-12


@fused_kernel
def solve_symmetric(
    a00: float,
    a10: float,
    a11: float,
    a20: float,
    a21: float,
    a22: float,
    a30: float,
    a31: float,
    a32: float,
    a33: float,
    a40: float,
    a41: float,
    a42: float,
    a43: float,
    a44: float,
    a50: float,
    a51: float,
    a52: float,
    a53: float,
    a54: float,
    a55: float,
    b0: float,
    b1: float,
    b2: float,
    b3: float,
    b4: float,
    b5: float,
) -> Seven:
    """Solve A x = b of a symmetric positive definite A (lower triangle by rows) by A = L D Lᵀ.

    Returns the smallest pivot of D, then the six unknowns; a pivot that is not positive means no solution.
    """
    d0 = a00
    i0 = 1.0 / d0
    m10 = a10
    l10 = m10 * i0
    m20 = a20
    l20 = m20 * i0
    m30 = a30
    l30 = m30 * i0
    m40 = a40
    l40 = m40 * i0
    m50 = a50
    l50 = m50 * i0
    d1 = a11 - l10 * m10
    i1 = 1.0 / d1
    m21 = a21 - l20 * m10
    l21 = m21 * i1
    m31 = a31 - l30 * m10
    l31 = m31 * i1
    m41 = a41 - l40 * m10
    l41 = m41 * i1
    m51 = a51 - l50 * m10
    l51 = m51 * i1
    d2 = a22 - l20 * m20 - l21 * m21
    i2 = 1.0 / d2
    m32 = a32 - l30 * m20 - l31 * m21
    l32 = m32 * i2
    m42 = a42 - l40 * m20 - l41 * m21
    l42 = m42 * i2
    m52 = a52 - l50 * m20 - l51 * m21
    l52 = m52 * i2
    d3 = a33 - l30 * m30 - l31 * m31 - l32 * m32
    i3 = 1.0 / d3
    m43 = a43 - l40 * m30 - l41 * m31 - l42 * m32
    l43 = m43 * i3
    m53 = a53 - l50 * m30 - l51 * m31 - l52 * m32
    l53 = m53 * i3
    d4 = a44 - l40 * m40 - l41 * m41 - l42 * m42 - l43 * m43
    i4 = 1.0 / d4
    m54 = a54 - l50 * m40 - l51 * m41 - l52 * m42 - l53 * m43
    l54 = m54 * i4
    d5 = a55 - l50 * m50 - l51 * m51 - l52 * m52 - l53 * m53 - l54 * m54
    i5 = 1.0 / d5
    y0 = b0
    y1 = b1 - l10 * y0
    y2 = b2 - l20 * y0 - l21 * y1
    y3 = b3 - l30 * y0 - l31 * y1 - l32 * y2
    y4 = b4 - l40 * y0 - l41 * y1 - l42 * y2 - l43 * y3
    y5 = b5 - l50 * y0 - l51 * y1 - l52 * y2 - l53 * y3 - l54 * y4
    x5 = y5 * i5
    x4 = y4 * i4 - l54 * x5
    x3 = y3 * i3 - l43 * x4 - l53 * x5
    x2 = y2 * i2 - l32 * x3 - l42 * x4 - l52 * x5
    x1 = y1 * i1 - l21 * x2 - l31 * x3 - l41 * x4 - l51 * x5
    x0 = y0 * i0 - l10 * x1 - l20 * x2 - l30 * x3 - l40 * x4 - l50 * x5
    return min(d0, d1, d2, d3, d4, d5), x0, x1, x2, x3, x4, x5


@fused_kernel
def newton(
    legs: Legs,
    euler_rates: bool,
    lengths: FloatArray,
    tolerance: float,
    update_tolerance: float,
    maximum_updates: int,
    pose: FloatArray,
) -> tuple[bool, int, float]:
    """Find the pose of ``lengths`` by eq. (8), started from ``pose`` and written there.

    ``euler_rates`` chooses the exact Euler-rate Jacobian instead of the geometric one of eq. (9b).
    """
    x, y, z, roll, pitch, yaw = pose[0], pose[1], pose[2], pose[3], pose[4], pose[5]
    residual = step = math.inf
    for update in range(maximum_updates + 1):
        sr, cr, sp, cp, sy, cy = sines_cosines(roll, pitch, yaw)
        r00, r01, r02, r10, r11, r12, r20, r21, r22 = rotation_of(sr, cr, sp, cp, sy, cy)
        ox = legs.neutral_position[0] + x
        oy = legs.neutral_position[1] + y
        oz = legs.neutral_position[2] + z
        residual = 0.0

        a00 = a10 = a11 = a20 = a21 = a22 = 0.0
        a30 = a31 = a32 = a33 = a40 = a41 = a42 = a43 = a44 = a50 = a51 = a52 = a53 = a54 = a55 = 0.0
        b0 = b1 = b2 = b3 = b4 = b5 = 0.0
        for i in range(legs.table_joints.shape[0]):
            px = legs.table_joints[i, 0]
            py = legs.table_joints[i, 1]
            pz = legs.table_joints[i, 2]
            ax = r00 * px + r01 * py + r02 * pz
            ay = r10 * px + r11 * py + r12 * pz
            az = r20 * px + r21 * py + r22 * pz
            lx = ox - legs.base_joints[i, 0] + ax
            ly = oy - legs.base_joints[i, 1] + ay
            lz = oz - legs.base_joints[i, 2] + az
            length = math.sqrt(lx * lx + ly * ly + lz * lz)
            error = lengths[i] - length
            residual += abs(error)
            inverse = 1.0 / length
            j0 = lx * inverse
            j1 = ly * inverse
            j2 = lz * inverse
            j3 = ay * j2 - az * j1
            j4 = az * j0 - ax * j2
            j5 = ax * j1 - ay * j0
            if euler_rates:
                along = cy * j3 + sy * j4
                j4 = cy * j4 - sy * j3
                j3 = along * cp - sp * j5
            a00 += j0 * j0
            a10 += j1 * j0
            a11 += j1 * j1
            a20 += j2 * j0
            a21 += j2 * j1
            a22 += j2 * j2
            a30 += j3 * j0
            a31 += j3 * j1
            a32 += j3 * j2
            a33 += j3 * j3
            a40 += j4 * j0
            a41 += j4 * j1
            a42 += j4 * j2
            a43 += j4 * j3
            a44 += j4 * j4
            a50 += j5 * j0
            a51 += j5 * j1
            a52 += j5 * j2
            a53 += j5 * j3
            a54 += j5 * j4
            a55 += j5 * j5
            b0 += j0 * error
            b1 += j1 * error
            b2 += j2 * error
            b3 += j3 * error
            b4 += j4 * error
            b5 += j5 * error
        if residual < tolerance or step < update_tolerance:
            if not is_pose(legs, lengths, residual, tolerance):
                return False, update, residual
            pose[0], pose[1], pose[2], pose[3], pose[4], pose[5] = x, y, z, roll, pitch, yaw
            return True, update, residual
        if not residual < math.inf:
            return False, update, residual
        pivot, d0, d1, d2, d3, d4, d5 = solve_symmetric(
            a00,
            a10,
            a11,
            a20,
            a21,
            a22,
            a30,
            a31,
            a32,
            a33,
            a40,
            a41,
            a42,
            a43,
            a44,
            a50,
            a51,
            a52,
            a53,
            a54,
            a55,
            b0,
            b1,
            b2,
            b3,
            b4,
            b5,
        )
        if not pivot > MIN_PIVOT:
            return False, update, residual
        x += d0
        y += d1
        z += d2
        roll += d3
        pitch += d4
        yaw += d5
        step = abs(d0) + abs(d1) + abs(d2) + abs(d3) + abs(d4) + abs(d5)
    return False, maximum_updates, residual
