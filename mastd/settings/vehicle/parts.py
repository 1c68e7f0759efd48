"""Parts that vehicle files are made of: bodies, joints, springs, stops, wheels, tyres, bars, racks.

Points are those of the design position in the vehicle frame (x forward, y left, z up, origin on the ground).
Parts name bodies and hardpoints; what the names mean is checked by the axle that holds them
(``mastd/settings/vehicle/axle_checks.py``).
"""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Final, Literal

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, WithJsonSchema, field_validator

from mastd.settings.core.base import Settings, refuse
from mastd.settings.core.quantity import (
    Angle,
    Inertia,
    Length,
    Mass,
    Point,
)

CHASSIS: Final = "chassis"
"""Name of body 0, known everywhere."""
RACK: Final = "rack"
"""Name of an axle's rack."""

NO_PRODUCTS: Final = (0.0, 0.0, 0.0)

_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]{0,39}", re.ASCII)
_ROUNDING = 1e-9
"""Relative tolerance of the triangle inequality: flat bodies stand exactly on it."""


def _identifier(name: str) -> str:
    if not _IDENTIFIER.fullmatch(name):
        raise ValueError(f"{name[:60]!r} is not a valid name: a-z, 0-9 and _, at most 40, a letter first")
    return name


Identifier = Annotated[str, AfterValidator(_identifier)]
"""Name of a hardpoint, body, joint or spring: ``lower_arm``."""
Name = Annotated[str, Field(min_length=1, max_length=80)]
PositiveLength = Annotated[Length, Field(gt=0)]
PositiveInertia = Annotated[Inertia, Field(gt=0)]


class MassSettings(Settings):
    """Mass of a body, and its inertia about the centre of mass along the vehicle's axes."""

    mass: Mass = Field(gt=0)
    inertia: tuple[PositiveInertia, PositiveInertia, PositiveInertia]
    """Moments of inertia about the x, y and z axes through the centre of mass."""
    products_of_inertia: tuple[Inertia, Inertia, Inertia] | None = None
    """Integrals of x y, y z and z x over the mass (the tensor holds their negatives); 0 if left out."""

    @field_validator("inertia")
    @classmethod
    def _triangle(cls, moments: tuple[float, float, float]) -> tuple[float, float, float]:
        refuse([((), what) for what in inertia_problems(moments)])
        return moments

    @field_validator("products_of_inertia")
    @classmethod
    def _is_a_body(
        cls, products: tuple[float, float, float] | None, info: ValidationInfo
    ) -> tuple[float, float, float] | None:
        moments = info.data.get("inertia")
        if moments is not None and products is not None:
            refuse([((), what) for what in inertia_problems(moments, products)])
        return products

    def tensor(self) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        """Return the (3, 3) inertia about the centre of mass in kg m2."""
        return inertia_tensor(self.inertia, self.products_of_inertia or NO_PRODUCTS)


def inertia_tensor(
    moments: tuple[float, float, float], products: tuple[float, float, float]
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return the (3, 3) tensor of moments about x, y, z and products xy, yz, zx (integrals over the mass)."""
    xy, yz, zx = products
    return np.array([[moments[0], -xy, -zx], [-xy, moments[1], -yz], [-zx, -yz, moments[2]]])


def inertia_problems(
    moments: tuple[float, float, float], products: tuple[float, float, float] = NO_PRODUCTS
) -> list[str]:
    """Return why no body has these moments and products of inertia, by how much; nothing if one has."""
    principal = np.linalg.eigvalsh(inertia_tensor(moments, products))
    which = "principal moment of inertia" if any(products) else "moment of inertia"
    if not principal[0] > 0.0:
        return [f"no body has this inertia: the least {which} is {principal[0]:.6g} kg m2, not above 0"]
    excess = principal[2] - principal[0] - principal[1]
    if not excess <= _ROUNDING * principal[2]:
        return [
            f"no body has this inertia: the largest {which}, {principal[2]:.6g} kg m2, exceeds the sum "
            f"of the other two by {excess:.6g} kg m2"
        ]
    return []


class BodySettings(MassSettings):
    """A rigid body."""

    centre_of_mass: Point


class LinkSettings(MassSettings):
    """A link or arm; its centre of mass is the mean of its joints' points, where none is given."""

    centre_of_mass: Point | None = None


class TieRodSettings(Settings):
    """A tie rod: massless without a mass (its ends keep their distance), a body of its own with one."""

    to: Literal["rack", "chassis"]
    """What the inner end is joined to: the rack of this axle or the chassis."""
    body: LinkSettings | None = None
    """Mass and inertia of the rod; massless if left out."""


class ToeLinkSettings(Settings):
    """A toe link on the chassis: massless, or a body of its own."""

    body: LinkSettings | None = None
    """Mass and inertia of the link; massless if left out."""


_AXIS_SCHEMA: Final[dict[str, Any]] = {
    "anyOf": [
        {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2},
        {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3},
    ]
}


def _axis(value: object) -> object:
    """Read an axis: two names, or three numbers."""
    items = tuple(value) if isinstance(value, list | tuple) else ()
    if len(items) == 2 and all(isinstance(item, str) for item in items):
        return items
    numbers = [float(x) for x in items if isinstance(x, int | float) and not isinstance(x, bool)]
    if len(items) == 3 and len(numbers) == 3:
        if not math.hypot(*numbers) > 1e-6:
            raise ValueError("this vector has no direction, one of its numbers must differ from 0")
        return tuple(numbers)
    raise ValueError("an axis is two hardpoints, [from, to], or a vector of three bare numbers, [0, 1, 0]")


Axis = Annotated[
    tuple[str, str] | tuple[float, float, float], BeforeValidator(_axis), WithJsonSchema(_AXIS_SCHEMA)
]
"""Direction from one hardpoint to another, or of a vector of any length."""


class JointSettings(Settings):
    """What all joints share."""

    bodies: tuple[str, str]
    """The two bodies that it joins: chassis, rack, or a body of this axle."""


class _AtPoint(JointSettings):
    point: str | None = None
    """Hardpoint where both bodies meet."""
    points: Annotated[tuple[str, str] | None, Field(validate_default=True)] = None
    """Instead: a hardpoint of each body; where they lie apart, the vehicle is assembled until they meet."""

    @field_validator("points")
    @classmethod
    def _single_location(cls, points: tuple[str, str] | None, info: ValidationInfo) -> tuple[str, str] | None:
        if "point" in info.data and (points is None) == (info.data["point"] is None):
            raise ValueError("give either point (one hardpoint) or points (one of each body)")
        return points


class _AlongAxis(JointSettings):
    axis: Axis | None = None
    """Direction of the joint in both bodies."""
    axes: Annotated[tuple[Axis, Axis] | None, Field(validate_default=True)] = None
    """Instead: the direction in each body; where they differ, the vehicle is assembled until they agree."""
    point: str | None = None
    """Hardpoint where both bodies meet; by default the middle between the hardpoints of the axis."""
    points: Annotated[tuple[str, str] | None, Field(validate_default=True)] = None
    """Instead: a hardpoint of each body; where they lie apart, the vehicle is assembled until they meet."""

    @field_validator("axes")
    @classmethod
    def _one_axis(cls, axes: tuple[Axis, Axis] | None, info: ValidationInfo) -> tuple[Axis, Axis] | None:
        if "axis" in info.data and (axes is None) == (info.data["axis"] is None):
            raise ValueError("give either axis (of both bodies) or axes (one of each body)")
        return axes

    @field_validator("points")
    @classmethod
    def _single_location(cls, points: tuple[str, str] | None, info: ValidationInfo) -> tuple[str, str] | None:
        given = [value for value in (points, info.data.get("point")) if value is not None]
        axis = info.data.get("axis")
        if len(given) == 2:
            raise ValueError("give either point (one hardpoint) or points (one of each body)")
        if not given and "axes" in info.data and not (axis and len(axis) == 2):
            raise ValueError("give point or points: this axis has no hardpoints to take the middle of")
        return points


class SphericalJoint(_AtPoint):
    """A ball joint: three equations."""

    kind: Literal["spherical"]


class RevoluteJoint(_AlongAxis):
    """A hinge: five equations."""

    kind: Literal["revolute"]


class PrismaticJoint(_AlongAxis):
    """A slide along the axis, without rotation: five equations."""

    kind: Literal["prismatic"]


class UniversalJoint(_AtPoint):
    """A cross joint: four equations. The rod must not lie in the plane of the two axes."""

    kind: Literal["universal"]
    axes: tuple[Axis, Axis]
    """Axis of the cross in each body, at a right angle."""


class DistanceJoint(JointSettings):
    """A massless rod with ball joints: one equation."""

    kind: Literal["distance"]
    points: tuple[str, str]
    """A hardpoint of each body."""
    length: PositiveLength | None = None
    """Distance that is kept; by default that of the hardpoints."""


class Dot1Joint(JointSettings):
    """Keeps an axis of one body at a right angle to an axis of the other: one equation."""

    kind: Literal["dot_1"]
    axes: tuple[Axis, Axis]


class Dot2Joint(JointSettings):
    """Keeps the line between two points at a right angle to an axis of the first body: one equation."""

    kind: Literal["dot_2"]
    axis: Axis
    """Of the first body."""
    points: tuple[str, str]
    """A hardpoint of each body."""


Joint = Annotated[
    SphericalJoint | RevoluteJoint | PrismaticJoint | UniversalJoint | DistanceJoint | Dot1Joint | Dot2Joint,
    Field(discriminator="kind"),
]


class WheelSettings(Settings):
    """A wheel with tyre, symmetrical about its axis; its centre is the hardpoint wheel_centre."""

    mass: Mass = Field(gt=0)
    axial_inertia: Inertia = Field(gt=0)
    """About the spin axis."""
    transverse_inertia: Inertia = Field(gt=0)
    """About a diameter."""
    toe: Annotated[Angle, Field(ge=-0.35, le=0.35)] = 0.0
    """Toe-in in the design position: the wheels' fronts point at each other."""
    camber: Annotated[Angle, Field(ge=-0.35, le=0.35)] = 0.0
    """Camber in the design position, positive where the wheels' tops lean outwards."""

    @field_validator("transverse_inertia")
    @classmethod
    def _is_a_body(cls, transverse: float, info: ValidationInfo) -> float:
        axial = info.data.get("axial_inertia")
        if axial is not None:
            refuse([((), what) for what in inertia_problems((transverse, axial, transverse))])
        return transverse


class RackSettings(BodySettings):
    """A steering rack that slides along y on the chassis and is moved by the pinion."""

    limit: Length = Field(gt=0)
    """Largest displacement either way."""
    travel_per_turn: PositiveLength | None = None
    """Displacement for one turn of the pinion; left out where only the displacement itself is given."""
