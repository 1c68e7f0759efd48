"""The geometry of the table: joints, neutral position and strokes as arrays.

Frames: B is the ground (origin below the table's centre), P the table (origin at its centre C). At the
neutral pose the axes of both agree and C is at ``neutral_position``. Everything in m.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import KinematicsError
from mastd.settings.core.axes import AXES
from mastd.settings.table.held import lowest_heave
from mastd.settings.table.table import TableSettings

DEGREES_OF_FREEDOM = 6


class Legs(NamedTuple):
    """Joints of the actuators as kernels take them; see ``Geometry``.

    ``table_joints`` (n, 3) in P, ``base_joints`` (n, 3) in B, ``neutral_position`` (3,) of C in B; m.
    ``freedoms`` (6,): 1 for an axis of the pose that is free, 0 for one that guides hold.
    """

    table_joints: FloatArray
    base_joints: FloatArray
    neutral_position: FloatArray
    freedoms: FloatArray


@dataclass(frozen=True, eq=False)
class Geometry:
    """Joints and strokes of a table with m of the six freedoms on n ≥ m actuators.

    ``table_joints`` (n, 3) in P, ``base_joints`` (n, 3) in B, ``neutral_position`` (3,) of C in B,
    ``neutral_lengths`` (n,) from which the strokes count, ``strokes`` (n,) to either side,
    ``control_point`` (3,) T in P, ``freedoms`` (6,) 1 for an axis that is free, 0 for one that guides hold at
    its neutral value. The arrays are read-only copies.

    Raises KinematicsError for wrong shapes, numbers that are not finite, fewer actuators than freedoms, no
    freedom at all, an actuator of no length, or strokes that are not positive.
    """

    table_joints: FloatArray
    base_joints: FloatArray
    neutral_position: FloatArray
    neutral_lengths: FloatArray
    strokes: FloatArray
    control_point: FloatArray
    freedoms: FloatArray = field(default_factory=lambda: np.ones(DEGREES_OF_FREEDOM))

    def __post_init__(self) -> None:
        actuators = np.asarray(self.table_joints).shape[0] if np.ndim(self.table_joints) else 0
        shapes = {
            "table_joints": (actuators, 3),
            "base_joints": (actuators, 3),
            "neutral_position": (3,),
            "neutral_lengths": (actuators,),
            "strokes": (actuators,),
            "control_point": (3,),
            "freedoms": (DEGREES_OF_FREEDOM,),
        }
        for name, shape in shapes.items():
            array = np.array(getattr(self, name), dtype=np.float64, order="C")
            if array.shape != shape:
                raise KinematicsError(f"geometry: {name} has shape {array.shape}, should be {shape}")
            if not np.all(np.isfinite(array)):
                raise KinematicsError(f"geometry: {name} holds a number that is not finite")
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        free = self.free_axes
        if not free or not np.all((self.freedoms == 0.0) | (self.freedoms == 1.0)):
            raise KinematicsError(f"geometry: freedoms are {self.freedoms}, should be 0 or 1, at least one 1")
        if actuators < len(free):
            raise KinematicsError(
                f"geometry: {actuators} actuators cannot hold a table with {len(free)} degrees of freedom, "
                f"minimum {len(free)}"
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
            freedoms=np.array([float(axis in table.freedoms) for axis in AXES]),
        )

    @property
    def actuators(self) -> int:
        """Number of actuators n."""
        return int(self.table_joints.shape[0])

    @property
    def legs(self) -> Legs:
        """Joints and neutral position as kernels take them."""
        return Legs(self.table_joints, self.base_joints, self.neutral_position, self.freedoms)

    @property
    def free_axes(self) -> tuple[int, ...]:
        """Numbers of the m axes of the pose that are free, ascending."""
        return tuple(map(int, np.flatnonzero(self.freedoms)))

    @property
    def lowest_heave(self) -> float:
        """Heave in m at which the first actuator that carries the table from below meets its inner stop.

        0 where guides hold heave, or where no actuator carries.
        """
        return lowest_heave(self.neutral_vectors, self.strokes) if self.freedoms[2] else 0.0

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
