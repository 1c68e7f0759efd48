"""Random geometries of any number of actuators."""

from __future__ import annotations

import numpy as np

from mastd.arrays import FloatArray
from mastd.kinematics.geometry import Geometry


def spread_table(generator: np.random.Generator, actuators: int, freedoms: FloatArray) -> Geometry:
    """Return a geometry whose actuators stand anywhere on a platform of 2 m, in any direction; ±50 mm."""
    joints = generator.uniform(-1.0, 1.0, (actuators, 3)) * [1.0, 1.0, 0.2]
    directions = generator.normal(size=(actuators, 3))
    lengths = generator.uniform(1.2, 1.8, actuators)
    directions *= (lengths / np.linalg.norm(directions, axis=1))[:, None]
    position = np.array([0.0, 0.0, 1.5])
    base = position + joints - directions
    return Geometry(joints, base, position, lengths, np.full(actuators, 0.05), np.zeros(3), freedoms)
