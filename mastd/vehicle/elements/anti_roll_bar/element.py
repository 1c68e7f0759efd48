"""The anti-roll bar of a model."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mastd.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class AntiRollBar:
    """Bar across an axle: force S = stiffness · (z_left − z_right) pushes the left point down, the right one
    up.

    z: height of the points, fixed in the corner's bodies, above the chassis, along the chassis' z axis. The
    reaction acts on the chassis at the same points. S is an unknown of its own (S / stiffness = z_left −
    z_right), which keeps left and right corner apart in the matrix.
    """

    name: str
    stiffness: float
    body_left: int
    body_right: int
    point_left: FloatArray
    point_right: FloatArray

    def with_points(self, left: FloatArray, right: FloatArray) -> AntiRollBar:
        """Return it between new points."""
        return replace(self, point_left=left, point_right=right)
