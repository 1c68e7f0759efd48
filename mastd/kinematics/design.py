"""What is computed once per geometry: gain and null vectors of the neutral pose.

All in m and rad; arrays of n actuators. Symbols as in docs/theory.md.
"""

from __future__ import annotations

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import KinematicsError
from mastd.kinematics.geometry import DEGREES_OF_FREEDOM, Geometry
from mastd.kinematics.jacobian import geometric_jacobian
from mastd.settings.core.axes import AXES

# A singular value of J₀ (rotations at 1 m) below this ratio of the largest counts as zero.
_RANK_TOLERANCE = 1e-9


def neutral_jacobian(geometry: Geometry) -> FloatArray:
    """Return Jᵀ (n, 6) of pose 0, eqs. (19)–(20); both sets of rates agree there."""
    jacobian = np.empty((geometry.actuators, DEGREES_OF_FREEDOM))
    geometric_jacobian(geometry.legs, np.zeros(6), jacobian)
    return jacobian


def observer_gain(geometry: Geometry) -> FloatArray:
    """Return K (6, n) = pinv(J₀ᵀ): the dead-beat gain of eq. (16); rows of axes that guides hold are 0.

    Raises KinematicsError, naming the motion that no actuator holds, if the neutral pose is singular.
    """
    jacobian, freedoms = neutral_jacobian(geometry), len(geometry.free_axes)
    _, values, shapes = np.linalg.svd(jacobian[:, geometry.free_axes])
    rank = int(np.sum(values > _RANK_TOLERANCE * values[0]))
    if rank < freedoms:
        loose = geometry.free_axes[int(np.argmax(np.abs(shapes[-1])))]
        raise KinematicsError(
            f"geometry: the neutral pose is singular, its Jacobian has rank {rank} instead of {freedoms}; "
            f"the actuators leave the table free to move, mostly in {AXES[loose]}"
        )
    # Column-major, so that the six gains of an actuator stand side by side.
    return np.asfortranarray(np.linalg.pinv(jacobian) * geometry.freedoms[:, None])


def null_vectors(geometry: Geometry) -> FloatArray:
    """Return an orthonormal basis (n − m, n) of the length errors that no pose can explain, m free axes.

    The rows are the null space of J₀: patterns of actuator forces that cancel on the table, and patterns of
    length errors left by the observer. The first entry that is not zero is negative, which for the table
    of the paper gives ½ (−1, 1, −1, 1, 0, 0, 0).
    """
    left, _, _ = np.linalg.svd(neutral_jacobian(geometry))
    basis = left[:, len(geometry.free_axes) :].T.copy()
    first = np.argmax(np.abs(basis) > 1e-9, axis=1)
    return np.asarray(-np.sign(basis[np.arange(len(basis)), first])[:, None] * basis)
