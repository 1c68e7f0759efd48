"""The joints of a model, put together again from their primitives, and what they are in a spanning tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.vehicle.joints.primitive import Primitive, PrimitiveKind
from mastd.vehicle.model.definition import Model

COORDINATES: Final = (6, 3, 2, 1, 1)
_NO_AXES: Final = np.zeros((2, 3))


class TreeJoint(IntEnum):
    """How a body moves on its lower body."""

    FREE = 0
    SPHERICAL = 1
    UNIVERSAL = 2
    REVOLUTE = 3
    PRISMATIC = 4

    @property
    def coordinates(self) -> int:
        """Number of velocity coordinates."""
        return COORDINATES[self]

    @property
    def rotations(self) -> int:
        """Number of coordinates that turn the body."""
        return (3, 3, 2, 1, 0)[self]


@dataclass(frozen=True, eq=False)
class Link:
    """A body on its lower body: Γ(body) = lower, eq. (1) of Kang and Yoon."""

    body: int
    lower: int
    """-1: ground, of the chassis alone, which is FREE on it."""
    joint: TreeJoint
    name: str
    """Of the joint; of a free body its own."""
    point: FloatArray
    """(3) the joint's point in the design position, vehicle frame; of a free body its centre of mass."""
    axes: FloatArray
    """(2, 3) unit vectors in the design position, zero where there is none.

    Revolute: [0], about which the upper body turns positively. Prismatic: [0], along which the upper body
    moves positively. Universal: [0] fixed in the lower, [1] fixed in the upper body.
    """
    drive: int
    """Index of the drive whose displacement the coordinate is, -1: none."""


@dataclass(frozen=True, eq=False)
class Edge:
    """A joint between two bodies that could carry one of them in the tree."""

    joint: TreeJoint
    name: str
    first: int
    second: int
    point: FloatArray
    axes: FloatArray
    """(2, 3): universal fixed in first and second body; prismatic [0] the way of the second body."""
    drive: int
    primitives: tuple[int, ...]

    def link(self, lower: int) -> Link:
        """Return the link with ``lower``, one of the two bodies, below."""
        if lower == self.first:
            return Link(self.second, lower, self.joint, self.name, self.point, self.axes, self.drive)
        axes = self.axes
        if self.joint is TreeJoint.PRISMATIC:
            axes = -axes  # the displacement, and a drive's, is that of the second body from the first
        if self.joint is TreeJoint.UNIVERSAL:
            axes = axes[::-1].copy()
        return Link(self.first, lower, self.joint, self.name, self.point, axes, self.drive)


def free_link(model: Model, body: int, lower: int) -> Link:
    """Return the link of a body that no joint holds."""
    held = model.bodies[body]
    return Link(body, lower, TreeJoint.FREE, held.name, held.centre, _NO_AXES, -1)


def edges_of(model: Model) -> tuple[list[Edge], list[int]]:
    """Return all joints that can stand in a tree, and the primitives that belong to none.

    A joint is what primitives of one name between the same two bodies make up: spherical; universal =
    spherical + dot-1; revolute = spherical + 2 dot-1 with one second axis; prismatic = 3 dot-1 + 2 dot-2
    (+ the dot-2 that a drive moves). Distances, and dots of no such pattern, stand alone.
    """
    joints: dict[tuple[str, int, int], list[int]] = {}
    for index, primitive in enumerate(model.primitives):
        joints.setdefault((primitive.joint, primitive.first, primitive.second), []).append(index)
    edges: list[Edge] = []
    alone: list[int] = []
    for indices in joints.values():
        whole = _edge(model, indices)
        if whole is not None:
            edges.append(whole)
            continue
        for index in indices:
            single = _edge(model, [index])
            if single is None:
                alone.append(index)
            else:
                edges.append(single)
    return edges, sorted(alone)


def _edge(model: Model, indices: Sequence[int]) -> Edge | None:
    """Return the joint that primitives make up, None if it is none that can stand in a tree."""
    parts = [model.primitives[index] for index in indices]
    balls, crosses, slides, driven = (
        [part for part in parts if part.kind is kind and (part.drive >= 0) is moved]
        for kind, moved in (
            (PrimitiveKind.SPHERICAL, False),
            (PrimitiveKind.DOT_1, False),
            (PrimitiveKind.DOT_2, False),
            (PrimitiveKind.DOT_2, True),
        )
    )
    if len(balls) + len(crosses) + len(slides) + len(driven) < len(parts):
        return None
    counts = len(balls), len(crosses), len(slides), len(driven)
    axes = _NO_AXES.copy()
    if counts == (1, 0, 0, 0):
        joint = TreeJoint.SPHERICAL
    elif counts == (1, 1, 0, 0):
        joint = TreeJoint.UNIVERSAL
        axes[:] = crosses[0].axis_first, crosses[0].axis_second
    elif counts == (1, 2, 0, 0) and _same_second_axis(crosses):
        joint = TreeJoint.REVOLUTE
        axes[0] = crosses[0].axis_second
    elif counts in ((0, 3, 2, 0), (0, 3, 2, 1)):
        joint = TreeJoint.PRISMATIC
        axes[0] = driven[0].axis_first if driven else np.cross(slides[0].axis_first, slides[1].axis_first)
    else:
        return None
    part = (balls or slides)[0]
    drive = driven[0].drive if driven else -1
    return Edge(joint, part.joint, part.first, part.second, part.point_second, axes, drive, tuple(indices))


def _same_second_axis(crosses: Sequence[Primitive]) -> bool:
    return bool(np.allclose(crosses[0].axis_second, crosses[1].axis_second, rtol=0.0, atol=1e-12))
