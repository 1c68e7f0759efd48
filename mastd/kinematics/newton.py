"""Gauss–Newton step of the forward kinematics: the gain of the present pose in place of that of neutral.

Where strokes are long against the actuators, the fixed gain of the observer does not contract fast enough
everywhere. The step x ← x + pinv(Jᵀ(x)) (l − l̂(x)), with the Euler-rate Jacobian, takes some times as long
and needs few updates, warm from the last pose two or three.
"""

from __future__ import annotations

import math

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.kinematics.geometry import Legs
from mastd.kinematics.inverse import actuator_vector, centre_at
from mastd.kinematics.jacobian import euler_jacobian, solve_normal
from mastd.kinematics.rotation import Six, rotation

WORK_ROWS = 8
"""Rows of six beyond one an actuator that ``newton_step`` needs as scratch."""


@fused_kernel
def newton_step(legs: Legs, lengths: FloatArray, at: Six, work: FloatArray) -> tuple[float, Six]:
    """Return Σ|l − l̂| at a pose and the six components of pinv(Jᵀ) (l − l̂); not finite at a singular pose.

    ``work`` (n + WORK_ROWS, 6) is scratch.
    """
    actuators = lengths.shape[0]
    jacobian, factor = work[:actuators], work[actuators : actuators + 6]
    step, pose = work[actuators + 6], work[actuators + 7]
    for axis in range(6):
        pose[axis], step[axis] = at[axis], 0.0
    euler_jacobian(legs, pose, jacobian)
    r, c = rotation(at[3], at[4], at[5]), centre_at(legs, pose)
    residual = 0.0
    for i in range(actuators):
        x, y, z = actuator_vector(legs, i, c, r)
        error = lengths[i] - math.sqrt(x * x + y * y + z * z)
        residual += abs(error)
        for axis in range(6):
            step[axis] += jacobian[i, axis] * error
    solve_normal(jacobian, factor, step)
    return residual, (step[0], step[1], step[2], step[3], step[4], step[5])
