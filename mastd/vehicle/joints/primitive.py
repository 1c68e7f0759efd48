"""The constraint primitives that all joints of a model are made of, and their equations in one pose.

Vectors are in the axes of the vehicle's frame; the compiled counterparts are ``force.py`` and
``jacobian.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from mastd.arrays import FloatArray

Pair = tuple[FloatArray, FloatArray]
"""Of the first body and of the second: a point, an axis, or rows."""


class PrimitiveKind(IntEnum):
    """The constraint equations that all joints are made of; h and d as in (15) and (18) of Kang 2014."""

    SPHERICAL = 0
    """Three rows: point of the second body minus point of the first, eq. (18)."""
    DOT_1 = 1
    """One row: axis of the first body · axis of the second (both fixed in their bodies)."""
    DOT_2 = 2
    """One row: axis of the first body · vector from the first point to the second, eq. (15), minus the
    drive."""
    DISTANCE = 3
    """One row: (d·d − length²) / (2 length), in metres."""

    @property
    def rows(self) -> int:
        """Number of constraint equations."""
        return 3 if self is PrimitiveKind.SPHERICAL else 1


@dataclass(frozen=True, eq=False)
class Primitive:
    """One constraint primitive between two bodies."""

    kind: PrimitiveKind
    first: int
    second: int
    point_first: FloatArray
    point_second: FloatArray
    axis_first: FloatArray
    axis_second: FloatArray
    length: float
    """Of a distance; 0 otherwise."""
    drive: int
    """Index into ``Model.drives`` of what moves this dot-2, -1 if nothing does."""
    joint: str
    """Name of the joint it belongs to, for messages: ``front left lower ball joint``."""

    @property
    def points(self) -> Pair:
        """The two points in the design position."""
        return self.point_first, self.point_second

    @property
    def axes(self) -> Pair:
        """The two axes in the design position."""
        return self.axis_first, self.axis_second

    def violation(self, points: Pair, axes: Pair, drive: float = 0.0) -> FloatArray:
        """Return Φ (rows) where its points and axes are there; ``drive``: displacement of its drive, m."""
        d = points[1] - points[0]
        if self.kind is PrimitiveKind.SPHERICAL:
            return d
        if self.kind is PrimitiveKind.DOT_1:
            return np.array([axes[0] @ axes[1]])
        if self.kind is PrimitiveKind.DOT_2:
            return np.array([axes[0] @ d - drive])
        return np.array([(d @ d - self.length**2) / (2.0 * self.length)])

    def jacobian(self, points: Pair, axes: Pair, centres: Pair) -> Pair:
        """Return the derivatives (rows, 6) of Φ by displacement of the centre of mass and rotation of each
        body; eqs. (16) and (19) of Kang 2014."""
        arm_first, arm_second = points[0] - centres[0], points[1] - centres[1]
        d = points[1] - points[0]
        if self.kind is PrimitiveKind.SPHERICAL:
            one = np.eye(3)
            return np.hstack([-one, _tilde(arm_first)]), np.hstack([one, -_tilde(arm_second)])
        if self.kind is PrimitiveKind.DOT_1:
            row = np.concatenate([np.zeros(3), np.cross(*axes)])[np.newaxis]
            return row, -row
        line = axes[0] if self.kind is PrimitiveKind.DOT_2 else d / self.length
        carried = np.cross(line, d) if self.kind is PrimitiveKind.DOT_2 else np.zeros(3)
        first = np.concatenate([-line, carried - np.cross(arm_first, line)])[np.newaxis]
        second = np.concatenate([line, np.cross(arm_second, line)])[np.newaxis]
        return first, second


def _tilde(vector: FloatArray) -> FloatArray:
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
