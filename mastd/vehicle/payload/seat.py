"""What is felt at a seat: the specific force there, and how the chassis turns.

A person feels no acceleration but the force of the seat on each kilogram, f = a − g, at rest +g upwards.
With p the seat's place from the chassis' centre of mass, all in chassis axes:

    f = a + ω̇ × p + ω × (ω × p) + g Rᵀe_z,    Rᵀe_z = (−sin θ, cos θ sin φ, cos θ cos φ)

with roll φ and pitch θ of R = Rz(ψ) Ry(θ) Rx(φ), chassis → inertial; Shabana, Dynamics of Multibody Systems,
chapter 2, has the acceleration of a point of a rigid body.
"""

from __future__ import annotations

import math
from typing import Final

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.vehicle.blocks.vectors import cross
from mastd.vehicle.state.trace import ACCELERATION, ANGLES, ANGULAR_ACCELERATION, ANGULAR_VELOCITY

FELT: Final = 9
"""Numbers that ``feel`` writes: specific force, angular velocity, angular acceleration."""

_FORCE, _ANGLES = ACCELERATION.start, ANGLES.start
_TURNING, _TURNING_UP = ANGULAR_VELOCITY.start, ANGULAR_ACCELERATION.start


@fused_kernel
def feel(row: FloatArray, position: FloatArray, gravity: float, felt: FloatArray) -> None:
    """Write what is felt at ``position`` (3, m from the chassis' centre of mass) into ``felt`` (9).

    ``row``: a step's signals, see ``mastd.vehicle.solver.recording.TraceLayout``; ``gravity``: m/s²,
    positive. Felt, in chassis axes: 0…2 specific force in m/s², +g upwards at rest; 3…5 angular velocity in
    rad/s; 6…8 angular acceleration in rad/s².
    """
    x, y, z = position[0], position[1], position[2]
    wx, wy, wz = row[_TURNING], row[_TURNING + 1], row[_TURNING + 2]
    ux, uy, uz = row[_TURNING_UP], row[_TURNING_UP + 1], row[_TURNING_UP + 2]
    roll, pitch = row[_ANGLES], row[_ANGLES + 1]
    tangential = cross(ux, uy, uz, x, y, z)
    along = cross(wx, wy, wz, x, y, z)
    inwards = cross(wx, wy, wz, along[0], along[1], along[2])
    level = gravity * math.cos(pitch)
    felt[0] = row[_FORCE] + tangential[0] + inwards[0] - gravity * math.sin(pitch)
    felt[1] = row[_FORCE + 1] + tangential[1] + inwards[1] + level * math.sin(roll)
    felt[2] = row[_FORCE + 2] + tangential[2] + inwards[2] + level * math.cos(roll)
    felt[3], felt[4], felt[5] = wx, wy, wz
    felt[6], felt[7], felt[8] = ux, uy, uz
