"""Jin 2012's measures of a workspace: mobility, isotropy, singular poses; sections III.1, III.5, IV.2."""

from __future__ import annotations

import numpy as np
from scipy.optimize import least_squares

from mastd.arrays import FloatArray
from mastd.kinematics.geometry import Geometry
from mastd.kinematics.workspace import jacobians_at


def mobility(actuators: int) -> int:
    """Return the degrees of freedom by eq. (2), M = 6 (n − j − 1) + Σ f, of a table on so many actuators.

    Bodies: table, ground and two of each actuator. Joints: a ball at either end (3) and between the two
    parts of an actuator one that slides and turns (2). So M is 6 of the table and a spin of every part.
    """
    bodies = 2 + 2 * actuators
    joints = 3 * actuators
    return 6 * (bodies - joints - 1) + 2 * actuators * 3 + actuators * 2


def isotropy(geometry: Geometry, poses: FloatArray) -> FloatArray:
    """Return the isotropy index (m,), 1 / condition number of J with arms in mm, of section IV.2."""
    jacobians = jacobians_at(geometry, poses)
    jacobians[:, :, 3:] *= 1e3
    # The condition number by the eigenvalues of JᵀJ: squares it to 8e6 for the paper's table, far from 1/ε.
    values = np.linalg.eigvalsh(np.swapaxes(jacobians, 1, 2) @ jacobians)
    return np.asarray(np.sqrt(np.maximum(values[:, 0], 0.0) / values[:, -1]))


def distance_to_singularity(geometry: Geometry, poses: FloatArray) -> FloatArray:
    """Return the smallest singular value (m,) of J at poses (m, 6), rotations taken at 1 m; 0 is singular."""
    return np.asarray(np.linalg.svd(jacobians_at(geometry, poses), compute_uv=False)[:, -1])


def rank(geometry: Geometry, pose: FloatArray, tolerance: float = 1e-9) -> int:
    """Return the rank of J at ``pose`` (6,): singular values above ``tolerance`` of the largest."""
    values = np.linalg.svd(jacobians_at(geometry, pose)[0], compute_uv=False)
    return int(np.sum(values > tolerance * values[0]))


def find_singular_pose(geometry: Geometry, start: FloatArray) -> tuple[FloatArray, float]:
    """Search a singular pose near ``start`` (6,); return it with its smallest singular value.

    Solves J(x)ᵀ u = 0, |u| = 1 for pose x and twist u: the motion that the actuators do not hold.
    """
    _, _, directions = np.linalg.svd(jacobians_at(geometry, start)[0])

    def equations(unknown: FloatArray) -> FloatArray:
        twist = unknown[6:]
        return np.append(jacobians_at(geometry, unknown[:6])[0] @ twist, twist @ twist - 1.0)

    answer = least_squares(
        equations, np.concatenate((start, directions[-1])), xtol=1e-15, ftol=1e-15, gtol=1e-15
    )
    pose = np.asarray(answer.x[:6])
    return pose, float(distance_to_singularity(geometry, pose)[0])
