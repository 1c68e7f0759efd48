"""The guides of a table that does not move in all six axes: bearings that hold the others, their friction.

Each held coordinate of the pose stands on a spring and a damper. A rotation that is held is one of the Euler
angles of the pose (order yaw, pitch, roll), and its spring does no work in the other two: the moment M in P
has Eᵀ M = Q, with the angular velocity ω = E q̇ and the springs' generalised moments Q.
"""

from __future__ import annotations

import math

from hil_sim.plant.block import BODY, GUIDE, MidStep, PlantArrays, Wrench
from mastd.kernel import fused_kernel

FRICTION_SPEED = 1.0e-3
"""Speed over which the Coulomb friction of the guides turns round (m/s)."""


@fused_kernel
def add_guides(plant: PlantArrays, m: MidStep, wrench: Wrench) -> Wrench:
    """Return ``wrench`` with the guides' added, at C in P."""
    guides, body = plant.guides, plant.body
    if not body[BODY.guided] > 0.0:
        return wrench
    fx, fy, fz, mx, my, mz = wrench
    offsets = (
        m.px - body[BODY.neutral],
        m.py - body[BODY.neutral + 1],
        m.pz - body[BODY.neutral + 2],
    )
    speeds = (
        m.r11 * m.vx + m.r12 * m.vy + m.r13 * m.vz,
        m.r21 * m.vx + m.r22 * m.vy + m.r23 * m.vz,
        m.r31 * m.vx + m.r32 * m.vy + m.r33 * m.vz,
    )
    square = FRICTION_SPEED * FRICTION_SPEED
    for j in range(3):
        square += guides[j, GUIDE.free] * speeds[j] * speeds[j]
    friction = body[BODY.guide_friction] / math.sqrt(square)
    gx = _held(plant, 0, offsets[0], speeds[0]) - guides[0, GUIDE.free] * friction * speeds[0]
    gy = _held(plant, 1, offsets[1], speeds[1]) - guides[1, GUIDE.free] * friction * speeds[1]
    gz = _held(plant, 2, offsets[2], speeds[2]) - guides[2, GUIDE.free] * friction * speeds[2]

    roll, yaw = math.atan2(m.r32, m.r33), math.atan2(m.r21, m.r11)
    pitch = math.asin(min(max(-m.r31, -1.0), 1.0))
    sr, cr, sp, cp = math.sin(roll), math.cos(roll), math.sin(pitch), math.cos(pitch)
    yaw_rate = (sr * m.wy + cr * m.wz) / cp
    about_roll = _held(plant, 3, roll, m.wx + yaw_rate * sp)
    about_pitch = _held(plant, 4, pitch, cr * m.wy - sr * m.wz)
    upright = (_held(plant, 5, yaw, yaw_rate) + sp * about_roll) / cp
    return (
        fx + m.r11 * gx + m.r21 * gy + m.r31 * gz,
        fy + m.r12 * gx + m.r22 * gy + m.r32 * gz,
        fz + m.r13 * gx + m.r23 * gy + m.r33 * gz,
        mx + about_roll,
        my + cr * about_pitch + sr * upright,
        mz - sr * about_pitch + cr * upright,
    )


@fused_kernel
def _held(plant: PlantArrays, axis: int, offset: float, speed: float) -> float:
    """Return the force or moment of the bearings of a coordinate; 0 where it is free."""
    guides = plant.guides
    return float(-guides[axis, GUIDE.stiffness] * offset - guides[axis, GUIDE.damping] * speed)
