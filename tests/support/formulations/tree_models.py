"""Small models of bars and sliders, put together in code, for what no car has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mastd.arrays import FloatArray
from mastd.vehicle.joints.composition import Ends, distance, prismatic, revolute, universal
from mastd.vehicle.joints.primitive import Primitive
from mastd.vehicle.model.definition import Axle, Body, Model

X, Y, Z = np.eye(3)
CHASSIS = 0


def hinge(name: str, first: int, second: int, point: Sequence[float], axis: FloatArray) -> list[Primitive]:
    place = np.array(point, dtype=float)
    return revolute(Ends(name, first, second, (place, place), (axis, axis)))


def cross(
    name: str, first: int, second: int, point: Sequence[float], axes: tuple[FloatArray, FloatArray]
) -> list[Primitive]:
    place = np.array(point, dtype=float)
    return universal(Ends(name, first, second, (place, place), axes))


def slide(
    name: str, first: int, second: int, point: Sequence[float], axis: FloatArray, drive: int | None = None
) -> list[Primitive]:
    place = np.array(point, dtype=float)
    return prismatic(Ends(name, first, second, (place, place), (axis, axis)), drive)


def rod(name: str, first: int, second: int, start: Sequence[float], end: Sequence[float]) -> list[Primitive]:
    return distance(Ends(name, first, second, (np.array(start), np.array(end))), None)


def model_of(bodies: Mapping[str, Sequence[float]], *joints: list[Primitive]) -> Model:
    """Return a model of a chassis and bodies with their centres, all in one axle, without springs."""
    centres: dict[str, Sequence[float]] = {"chassis": (0.0, 0.0, 0.0), **bodies}
    parts = tuple(Body(name, 1.0, np.array(place), np.eye(3)) for name, place in centres.items())
    primitives = tuple(primitive for joint in joints for primitive in joint)
    axle = Axle("all", tuple(range(1, len(parts))), tuple(range(len(primitives))), (), -1, ())
    return Model("test rig", 9.81, parts, primitives, (), (), (), (), (axle,), ())
