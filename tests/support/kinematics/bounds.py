"""Bounds of each pose coordinate within the strokes."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import linprog

from mastd.arrays import FloatArray
from mastd.kinematics.geometry import DEGREES_OF_FREEDOM, Geometry
from mastd.kinematics.workspace import jacobians_at, lengths_at


def pose_bounds(geometry: Geometry) -> FloatArray:
    """Return (6, 2): least and greatest value of each pose coordinate within the strokes, as eq. (10).

    The other five coordinates are free. By a sequence of linear programs with the exact Jacobian.
    """
    bounds = np.zeros((DEGREES_OF_FREEDOM, 2))
    for axis, (side, sign) in itertools.product(range(DEGREES_OF_FREEDOM), enumerate((-1.0, 1.0))):
        objective = np.zeros(DEGREES_OF_FREEDOM)
        objective[axis] = -sign
        pose = np.zeros(DEGREES_OF_FREEDOM)
        for _ in range(20):
            jacobian = jacobians_at(geometry, pose, euler_rates=True)[0]
            base = lengths_at(geometry, pose)[0] - jacobian @ pose
            answer = linprog(
                objective,
                A_ub=np.vstack((jacobian, -jacobian)),
                b_ub=np.concatenate((geometry.longest_lengths - base, base - geometry.shortest_lengths)),
                bounds=[(None, None)] * DEGREES_OF_FREEDOM,
            )
            if answer.status != 0:
                pose[axis] = np.nan
                break
            step = float(np.max(np.abs(answer.x - pose)))
            pose = answer.x
            if step < 1e-9:
                break
        bounds[axis, side] = pose[axis]
    return bounds
