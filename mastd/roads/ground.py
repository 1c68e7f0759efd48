"""What is under the wheels: height, slope and velocity of a surface at a point of the inertial x-y plane.

A ground is one array of numbers, so that a compiled step takes any kind of it without knowing which:

| entry | meaning |
|---|---|
| 0 | kind: 0 flat, 1 bump, 2 plane |
| 1…4 | bump: where it begins (m), length (m), height (m), side (0 both tracks, +1 left of y = 0, -1 right) |
| 1…3 | plane: a point of it, m |
| 4…6 | plane: unit normal, pointing up |
| 7…9 | plane: velocity of that point, m/s |
| 10…12 | plane: angular velocity, rad/s, inertial axes |

Road and flat ground stand still. A plane is the table's top: the loop writes its pose and motion into the
entries each period (``write_plane``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from mastd.kernel import fused_kernel

Vector = NDArray[np.float64]
Side = Literal["both", "left", "right"]


class GroundKind(IntEnum):
    """The first entry of the parameters."""

    FLAT = 0
    BUMP = 1
    PLANE = 2


PARAMETERS: Final = 13
"""Length of the array of parameters."""

_BUMP = int(GroundKind.BUMP)
_PLANE = int(GroundKind.PLANE)
_SIDES: Final[dict[Side, float]] = {"both": 0.0, "left": 1.0, "right": -1.0}


@fused_kernel
def surface(parameters: Vector, x: float, y: float) -> tuple[float, float, float]:
    """Return height (m) and slopes ∂z/∂x, ∂z/∂y of the ground at a point (m, inertial axes).

    ``parameters`` (13) as at the top of the module. A bump is height · sin(π (x − x₀) / length) within
    x₀ < x < x₀ + length, zero elsewhere; the slope is its derivative within, and zero elsewhere, so that it
    jumps at both ends.
    """
    if parameters[0] == _BUMP:
        along = (x - parameters[1]) / parameters[2]
        if 0.0 < along < 1.0 and parameters[4] * y >= 0.0:
            angle = math.pi * along
            return (
                parameters[3] * math.sin(angle),
                parameters[3] * math.pi / parameters[2] * math.cos(angle),
                0.0,
            )
    elif parameters[0] == _PLANE:
        slope_x = -parameters[4] / parameters[6]
        slope_y = -parameters[5] / parameters[6]
        height = parameters[3] + slope_x * (x - parameters[1]) + slope_y * (y - parameters[2])
        return height, slope_x, slope_y
    return 0.0, 0.0, 0.0


@fused_kernel
def surface_velocity(parameters: Vector, x: float, y: float) -> tuple[float, float, float]:
    """Return the velocity (m/s, inertial axes) of the ground's matter at a point (m): zero but on a plane."""
    if parameters[0] == _PLANE:
        dx = x - parameters[1]
        dy = y - parameters[2]
        dz = -(parameters[4] * dx + parameters[5] * dy) / parameters[6]
        return (
            parameters[7] + parameters[11] * dz - parameters[12] * dy,
            parameters[8] + parameters[12] * dx - parameters[10] * dz,
            parameters[9] + parameters[10] * dy - parameters[11] * dx,
        )
    return 0.0, 0.0, 0.0


@fused_kernel
def write_plane(
    parameters: Vector, point: Vector, rotation: Vector, velocity: Vector, angular_velocity: Vector
) -> None:
    """Write the pose and motion of a plane into ``parameters`` (13).

    ``point`` (3) of the plane, ``rotation`` (3, 3) from the plane's axes to inertial ones (its third column
    is the normal), ``velocity`` (3) of the point and ``angular_velocity`` (3), all in inertial axes, SI.
    """
    parameters[0] = _PLANE
    for axis in range(3):
        parameters[1 + axis] = point[axis]
        parameters[4 + axis] = rotation[axis, 2]
        parameters[7 + axis] = velocity[axis]
        parameters[10 + axis] = angular_velocity[axis]


@dataclass(frozen=True)
class Ground:
    """A ground, made by one of ``flat``, ``bump`` and ``plane``; ``values`` are the entries of the array."""

    values: tuple[float, ...]

    @classmethod
    def flat(cls) -> Ground:
        """Return the ground z = 0."""
        return cls(_padded(GroundKind.FLAT))

    @classmethod
    def bump(cls, start: float, length: float, height: float, side: Side = "both") -> Ground:
        """Return a half-sine bump across the road, or across the part left or right of y = 0.

        It begins at x = ``start`` and is ``length`` long; a negative ``height`` is a pothole (all m). Raises
        ValueError for a length that is not above zero.
        """
        if not length > 0.0:
            raise ValueError(f"length {length!r}: a bump is longer than 0 m")
        return cls(_padded(GroundKind.BUMP, start, length, height, _SIDES[side]))

    @classmethod
    def plane(
        cls, point: Vector, rotation: Vector, velocity: Vector | None = None, angular: Vector | None = None
    ) -> Ground:
        """Return a plane that moves, at rest unless told: see ``write_plane``.

        Raises ValueError for a plane that does not face up.
        """
        if not rotation[2, 2] > 0.0:
            raise ValueError("the plane does not face up")
        parameters = np.zeros(PARAMETERS)
        zero = np.zeros(3)
        write_plane(
            parameters,
            np.asarray(point, dtype=np.float64),
            np.asarray(rotation, dtype=np.float64),
            zero if velocity is None else np.asarray(velocity, dtype=np.float64),
            zero if angular is None else np.asarray(angular, dtype=np.float64),
        )
        return cls(tuple(float(value) for value in parameters))

    @property
    def kind(self) -> GroundKind:
        """Which of the kinds it is."""
        return GroundKind(int(self.values[0]))

    @property
    def parameters(self) -> Vector:
        """Return the array for the kernels, (13), a new one each time."""
        return np.array(self.values, dtype=np.float64)

    def height(self, x: float, y: float) -> float:
        """Return the height (m) at a point (m)."""
        return surface(self.parameters, x, y)[0]


def _padded(kind: GroundKind, *values: float) -> tuple[float, ...]:
    return (float(kind), *map(float, values), *(0.0,) * (PARAMETERS - 1 - len(values)))
