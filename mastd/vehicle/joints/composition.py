"""Joints as constraint primitives: the composition below eq. (22) of Kang 2014.

spherical 3 rows · revolute = spherical + 2 dot-1 · universal = spherical + dot-1 ·
prismatic = 3 dot-1 + 2 dot-2 · distance 1 · dot-1 and dot-2 alone 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mastd.arrays import FloatArray
from mastd.settings.vehicle.parts import (
    Axis,
    DistanceJoint,
    Dot1Joint,
    Dot2Joint,
    Joint,
    PrismaticJoint,
    RevoluteJoint,
    SphericalJoint,
    UniversalJoint,
)
from mastd.settings.vehicle.templates import perpendiculars
from mastd.vehicle.joints.primitive import Primitive, PrimitiveKind

ZERO = np.zeros(3)


@dataclass(frozen=True)
class Ends:
    """What a joint joins: two bodies, and the point and the unit axis of each of them."""

    joint: str
    first: int
    second: int
    points: tuple[FloatArray, FloatArray] = (ZERO, ZERO)
    axes: tuple[FloatArray, FloatArray] = (ZERO, ZERO)

    def primitive(
        self,
        kind: PrimitiveKind,
        points: tuple[FloatArray, FloatArray] = (ZERO, ZERO),
        axes: tuple[FloatArray, FloatArray] = (ZERO, ZERO),
        length: float = 0.0,
        drive: int = -1,
    ) -> Primitive:
        """Return one primitive between the two bodies."""
        return Primitive(
            kind, self.first, self.second, points[0], points[1], axes[0], axes[1], length, drive, self.joint
        )

    def spherical(self) -> Primitive:
        """Three rows: the points stay together."""
        return self.primitive(PrimitiveKind.SPHERICAL, self.points)

    def dot_1(self, first: FloatArray, second: FloatArray) -> Primitive:
        """One row: the two axes stay at a right angle."""
        return self.primitive(PrimitiveKind.DOT_1, axes=(first, second))

    def dot_2(self, axis: FloatArray, drive: int = -1) -> Primitive:
        """One row: the line between the points has no component along the first body's axis but the drive."""
        return self.primitive(PrimitiveKind.DOT_2, self.points, (axis, ZERO), drive=drive)


def spherical(ends: Ends) -> list[Primitive]:
    """Ball joint: 3 rows."""
    return [ends.spherical()]


def revolute(ends: Ends) -> list[Primitive]:
    """Hinge: 5 rows; two directions of the first body stay at a right angle to the second's axis."""
    one, two = perpendiculars(ends.axes[0])
    return [ends.spherical(), ends.dot_1(one, ends.axes[1]), ends.dot_1(two, ends.axes[1])]


def universal(ends: Ends) -> list[Primitive]:
    """Cross joint: 4 rows; the arms of the cross stay at a right angle."""
    return [ends.spherical(), ends.dot_1(*ends.axes)]


def prismatic(ends: Ends, drive: int | None = None) -> list[Primitive]:
    """Slide: 5 rows, or 6 with the row that a drive moves.

    The first two rows keep the second body's axis along the first's, the third its rotation about it: cross
    directions that the shortest turn from axis to axis has carried over.
    """
    one, two = perpendiculars(ends.axes[0])
    carried = _turned(one, *ends.axes)
    primitives = [ends.dot_1(one, ends.axes[1]), ends.dot_1(two, ends.axes[1]), ends.dot_1(two, carried)]
    primitives += [ends.dot_2(one), ends.dot_2(two)]
    if drive is not None:
        primitives.append(ends.dot_2(ends.axes[0], drive))
    return primitives


def distance(ends: Ends, length: float | None) -> list[Primitive]:
    """Massless rod: 1 row; the length is by default that of the design position, in m."""
    if length is None:
        length = float(np.linalg.norm(ends.points[1] - ends.points[0]))
    return [ends.primitive(PrimitiveKind.DISTANCE, ends.points, length=length)]


@dataclass(frozen=True)
class Side:
    """Hardpoints of the left side (or of a group), as they are or mirrored for the right side."""

    hardpoints: Mapping[str, tuple[float, float, float]]
    right: bool = False

    def mirrored(self, vector: Sequence[float]) -> FloatArray:
        """Return a point or direction (3) of the left side for this side."""
        x, y, z = vector
        return np.array([x, -y if self.right else y, z])

    def point(self, name: str) -> FloatArray:
        """Return a hardpoint (3) in m."""
        return self.mirrored(self.hardpoints[name])

    def direction(self, axis: Axis) -> FloatArray:
        """Return the unit vector (3) of an axis."""
        vector = self.mirrored(axis) if len(axis) == 3 else self.point(axis[1]) - self.point(axis[0])
        unit: FloatArray = vector / np.linalg.norm(vector)
        return unit


def primitives_of(joint: Joint, name: str, bodies: tuple[int, int], side: Side) -> list[Primitive]:
    """Return the primitives of a joint of the settings; ``bodies`` are indices into the model."""
    ends = Ends(name, *bodies, _points(joint, side), _axes(joint, side))
    if isinstance(joint, SphericalJoint):
        return spherical(ends)
    if isinstance(joint, RevoluteJoint):
        return revolute(ends)
    if isinstance(joint, UniversalJoint):
        return universal(ends)
    if isinstance(joint, PrismaticJoint):
        return prismatic(ends)
    if isinstance(joint, DistanceJoint):
        return distance(ends, joint.length)
    if isinstance(joint, Dot1Joint):
        return [ends.dot_1(*ends.axes)]
    return [ends.dot_2(ends.axes[0])]


def _points(joint: Joint, side: Side) -> tuple[FloatArray, FloatArray]:
    if isinstance(joint, Dot1Joint):
        return ZERO, ZERO
    if joint.points is not None:
        return side.point(joint.points[0]), side.point(joint.points[1])
    if not isinstance(joint, DistanceJoint | Dot2Joint) and joint.point is not None:
        return side.point(joint.point), side.point(joint.point)
    assert isinstance(joint, RevoluteJoint | PrismaticJoint)
    assert joint.axis is not None
    assert len(joint.axis) == 2
    middle = (side.point(joint.axis[0]) + side.point(joint.axis[1])) / 2
    return middle, middle


def _axes(joint: Joint, side: Side) -> tuple[FloatArray, FloatArray]:
    if isinstance(joint, Dot2Joint):
        return side.direction(joint.axis), ZERO
    if isinstance(joint, SphericalJoint | DistanceJoint):
        return ZERO, ZERO
    if joint.axes is not None:
        return side.direction(joint.axes[0]), side.direction(joint.axes[1])
    assert isinstance(joint, RevoluteJoint | PrismaticJoint)
    assert joint.axis is not None
    return side.direction(joint.axis), side.direction(joint.axis)


def _turned(vector: FloatArray, start: FloatArray, end: FloatArray) -> FloatArray:
    """Return a vector (3) after the shortest turn that takes the unit vector ``start`` to ``end``."""
    cosine = float(start @ end)
    if cosine == 1.0:
        return vector
    if not cosine > -1.0 + 1e-12:
        return vector - 2.0 * (vector @ start) * start
    normal = np.cross(start, end)
    turned: FloatArray = (
        vector + np.cross(normal, vector) + np.cross(normal, np.cross(normal, vector)) / (1.0 + cosine)
    )
    return turned
