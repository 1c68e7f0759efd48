"""The geometry of the table: joints, neutral position and strokes as arrays.

Frames: B is the ground (origin below the table's centre), P the table (origin at its centre C). At the
neutral pose the axes of both agree and C is at ``neutral_position``. Everything in m.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import KinematicsError
from mastd.settings.table.table import TableSettings

DEGREES_OF_FREEDOM = 6
AXES = ("surge", "sway", "heave", "roll", "pitch", "yaw")


class Legs(NamedTuple):
    """Joints of the actuators as kernels take them; see ``Geometry``.

    ``table_joints`` (n, 3) in P, ``base_joints`` (n, 3) in B, ``neutral_position`` (3,) of C in B; m.
    """

    table_joints: FloatArray
    base_joints: FloatArray
    neutral_position: FloatArray


@dataclass(frozen=True, eq=False)
class Geometry:
    """Joints and strokes of a table on n ≥ 6 actuators.

    ``table_joints`` (n, 3) in P, ``base_joints`` (n, 3) in B, ``neutral_position`` (3,) of C in B,
    ``neutral_lengths`` (n,) from which the strokes count, ``strokes`` (n,) to either side,
    ``control_point`` (3,) T in P. The arrays are read-only copies.

    Raises KinematicsError for wrong shapes, numbers that are not finite, fewer than six actuators, one of
    no length, or strokes that are not positive.
    """

    table_joints: FloatArray
    base_joints: FloatArray
    neutral_position: FloatArray
    neutral_lengths: FloatArray
    strokes: FloatArray
    control_point: FloatArray

    def __post_init__(self) -> None:
        actuators = np.asarray(self.table_joints).shape[0] if np.ndim(self.table_joints) else 0
        shapes = {
            "table_joints": (actuators, 3),
            "base_joints": (actuators, 3),
            "neutral_position": (3,),
            "neutral_lengths": (actuators,),
            "strokes": (actuators,),
            "control_point": (3,),
        }
        for name, shape in shapes.items():
            array = np.array(getattr(self, name), dtype=np.float64, order="C")
            if array.shape != shape:
                raise KinematicsError(f"geometry: {name} has shape {array.shape}, should be {shape}")
            if not np.all(np.isfinite(array)):
                raise KinematicsError(f"geometry: {name} holds a number that is not finite")
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        if actuators < DEGREES_OF_FREEDOM:
            raise KinematicsError(
                f"geometry: {actuators} actuators cannot hold a table with six degrees of freedom, minimum 6"
            )
        if not np.all(self.strokes > 0.0):
            raise KinematicsError("geometry: every stroke must be greater than 0 m")
        if not np.all(np.linalg.norm(self.neutral_vectors, axis=1) > 0.0):
            raise KinematicsError("geometry: an actuator has length 0 at neutral, its joints coincide")

    @classmethod
    def from_settings(cls, table: TableSettings) -> Geometry:
        """Take the geometry out of the table's settings."""
        return cls(
            table_joints=np.array([actuator.table_joint for actuator in table.links]),
            base_joints=np.array([actuator.base_joint for actuator in table.links]),
            neutral_position=np.array(table.neutral_position),
            neutral_lengths=np.array([actuator.neutral_length for actuator in table.links]),
            strokes=np.array([actuator.stroke for actuator in table.links]),
            control_point=np.array(table.control_point),
        )

    @property
    def actuators(self) -> int:
        """Number of actuators n."""
        return int(self.table_joints.shape[0])

    @property
    def legs(self) -> Legs:
        """Joints and neutral position as kernels take them."""
        return Legs(self.table_joints, self.base_joints, self.neutral_position)

    @property
    def neutral_vectors(self) -> FloatArray:
        """Vectors (n, 3) from base joint to table joint at the neutral pose in B, m; eq. (3)."""
        return np.asarray(self.neutral_position + self.table_joints - self.base_joints)

    @property
    def shortest_lengths(self) -> FloatArray:
        """Lengths (n,) with every piston at its inner end, m."""
        return np.asarray(self.neutral_lengths - self.strokes)

    @property
    def longest_lengths(self) -> FloatArray:
        """Lengths (n,) with every piston at its outer end, m."""
        return np.asarray(self.neutral_lengths + self.strokes)
