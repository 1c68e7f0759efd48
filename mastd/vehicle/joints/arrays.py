"""Arrays of the joints, as the kernels read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, NamedTuple

import numpy as np

from mastd.arrays import FloatArray, IntArray, aligned_zeros
from mastd.index_table import Entry, index_table, size_of
from mastd.lanes import LANES
from mastd.vehicle.joints.primitive import Primitive


class ConstraintRow(NamedTuple):
    """One row of a joint: its multiplier, and its violation Φ with the rates of it."""

    multiplier: Annotated[int, Entry("N", "of a dot product: N m")]
    violation: Annotated[int, Entry("m", "Φ; of a dot product: 1")]
    rate: Annotated[int, Entry("m/s", "dΦ/dt")]
    acceleration: Annotated[int, Entry("m/s²", "d²Φ/dt²")]


CONSTRAINT: Final = index_table(ConstraintRow)


class PrimitiveIndexRow(NamedTuple):
    """Integers of a joint primitive."""

    kind: Annotated[int, Entry("1", "PrimitiveKind")]
    first: Annotated[int, Entry("1", "local body")]
    second: Annotated[int, Entry("1", "local body")]
    row: Annotated[int, Entry("1", "first constraint row, counted within the group")]
    drive: Annotated[int, Entry("1", "item of the drives' block, -1: not driven")]


PRIMITIVE_INDEX: Final = index_table(PrimitiveIndexRow)


class PrimitiveRow(NamedTuple):
    """Constants of a joint primitive, each in the axes of its body."""

    point_first: Annotated[int, Entry("m", "from the first body's centre of mass", 3)]
    point_second: Annotated[int, Entry("m", "from the second body's centre of mass", 3)]
    axis_first: Annotated[int, Entry("1", "unit vector", 3)]
    axis_second: Annotated[int, Entry("1", "unit vector", 3)]
    length: Annotated[int, Entry("m", "of a distance")]


PRIMITIVE: Final = index_table(PrimitiveRow)


class DriveRow(NamedTuple):
    """What drives a primitive."""

    displacement: Annotated[int, Entry("m", "")]
    rate: Annotated[int, Entry("m/s", "")]
    acceleration: Annotated[int, Entry("m/s²", "")]


DRIVE: Final = index_table(DriveRow)


class Joints(NamedTuple):
    """All primitives, group by group, and the constraint rows they make."""

    primitives: IntArray
    """(primitives, PRIMITIVE_INDEX)."""
    points: FloatArray
    """(primitives, PRIMITIVE, LANES)."""
    rows: FloatArray
    """(rows, CONSTRAINT, LANES)."""
    drives: FloatArray
    """(driven primitives, DRIVE, LANES)."""


def empty_joints(primitives: int, rows: int, driven: int) -> Joints:
    """Return the arrays for this many primitives, rows, and primitives that a drive moves."""
    return Joints(
        np.full((primitives, size_of(PRIMITIVE_INDEX)), -1, dtype=np.int64),
        aligned_zeros((primitives, size_of(PRIMITIVE), LANES)),
        aligned_zeros((rows, size_of(CONSTRAINT), LANES)),
        aligned_zeros((driven, size_of(DRIVE), LANES)),
    )


def fill_primitive(
    joints: Joints,
    item_lane: tuple[int, int],
    primitive: Primitive,
    local_bodies: Sequence[int],
    row: int,
    arms: Sequence[FloatArray],
) -> None:
    """Write a primitive between two local bodies of its group, its points seen from the centres of mass;
    ``row``: its first constraint row, counted within the group."""
    item, lane = item_lane
    joints.primitives[item, : PRIMITIVE_INDEX.drive] = int(primitive.kind), *local_bodies, row
    values = joints.points[item, :, lane]
    values[PRIMITIVE.point_first : PRIMITIVE.point_second] = arms[0]
    values[PRIMITIVE.point_second : PRIMITIVE.axis_first] = arms[1]
    values[PRIMITIVE.axis_first : PRIMITIVE.axis_second] = primitive.axis_first
    values[PRIMITIVE.axis_second : PRIMITIVE.length] = primitive.axis_second
    values[PRIMITIVE.length] = primitive.length
