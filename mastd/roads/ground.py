"""What is under the wheels: height, slope, velocity and friction of a surface at a point of the inertial x-y
plane.

A ground is one array of numbers, so that a compiled step takes any kind of it without knowing which:

| entry | meaning |
|---|---|
| 0 | kind: 0 flat, 1 bump, 2 plane, 3 kerb, 4 tracks, 5 grid |
| 1, 2 | friction factor left (y ≥ 0) and right of the middle |
| 3, 4 | from which x on and up to which x (m) it holds; it is 1 elsewhere |
| 5…8 | extent: x and y of its centre, half length along x, half width along y, m; infinite without edges |
| 9…12 | bump: where it begins (m), length (m), height (m), side (0 both tracks, +1 left of y = 0, -1 right) |
| 9…13 | kerb: where it begins (m), length (m), height (m), side, radius of the wheel (m) |
| 9…11 | plane: a point of it, m |
| 12…20 | plane: rotation from its axes to inertial ones, row by row; the third column is the normal |
| 21…23 | plane: velocity of that point, m/s |
| 24…26 | plane: angular velocity, rad/s, inertial axes |
| 9… | tracks: see ``mastd.roads.tracks`` |
| 9… | grid: see ``mastd.roads.grid`` |

Friction and extent are meant in the ground's own axes: those of the plane, or u and v of a grid's reference
line, else the inertial ones. Road and flat ground stand still. A plane is the table's top: the loop writes
its pose and motion into the entries each period (``write_plane``), which leaves friction and extent alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import FormatError
from mastd.kernel import fused_kernel
from mastd.roads.entries import EXTENT, FRICTION, HEADER, PARAMETERS, GroundKind, Side, header
from mastd.roads.grid import RoadGrid, grid_parameters, grid_position, grid_surface
from mastd.roads.tracks import tracks_surface

if TYPE_CHECKING:
    from mastd.roads.iso8608 import RoadClass

_BUMP = int(GroundKind.BUMP)
_PLANE = int(GroundKind.PLANE)
_KERB = int(GroundKind.KERB)
_TRACKS = int(GroundKind.TRACKS)
_GRID = int(GroundKind.GRID)
_SIDES: Final[dict[Side, float]] = {"both": 0.0, "left": 1.0, "right": -1.0}
_POINT: Final = HEADER
_ROTATION: Final = HEADER + 3
_VELOCITY: Final = HEADER + 12
_TURN: Final = HEADER + 15
_OBSTACLE: Final = HEADER


@fused_kernel
def surface(parameters: FloatArray, x: float, y: float) -> tuple[float, float, float]:
    """Return height (m) and slopes ∂z/∂x, ∂z/∂y of the ground at a point (m, inertial axes).

    ``parameters`` as at the top of the module. A bump is height · sin(π (x − x₀) / length) within
    x₀ < x < x₀ + length, zero elsewhere; the slope is its derivative within, and zero elsewhere, so that it
    jumps at both ends. A kerb is ``kerb_height``.
    """
    kind = parameters[0]
    if kind == _PLANE:
        slope_x = -parameters[_ROTATION + 2] / parameters[_ROTATION + 8]
        slope_y = -parameters[_ROTATION + 5] / parameters[_ROTATION + 8]
        rise = slope_x * (x - parameters[_POINT]) + slope_y * (y - parameters[_POINT + 1])
        return parameters[_POINT + 2] + rise, slope_x, slope_y
    if kind == _BUMP and parameters[_OBSTACLE + 3] * y >= 0.0:
        along = (x - parameters[_OBSTACLE]) / parameters[_OBSTACLE + 1]
        if 0.0 < along < 1.0:
            angle = math.pi * along
            return (
                parameters[_OBSTACLE + 2] * math.sin(angle),
                parameters[_OBSTACLE + 2] * math.pi / parameters[_OBSTACLE + 1] * math.cos(angle),
                0.0,
            )
    elif kind == _KERB and parameters[_OBSTACLE + 3] * y >= 0.0:
        height, slope = kerb_height(
            x - parameters[_OBSTACLE],
            parameters[_OBSTACLE + 1],
            parameters[_OBSTACLE + 2],
            parameters[_OBSTACLE + 4],
        )
        return height, slope, 0.0
    elif kind == _TRACKS:
        return tracks_surface(parameters, x, y)
    elif kind == _GRID:
        return grid_surface(parameters, x, y)
    return 0.0, 0.0, 0.0


@fused_kernel
def kerb_height(x: float, length: float, height: float, radius: float) -> tuple[float, float]:
    """Return height (m) and slope of a kerb as a rigid wheel of ``radius`` (m) feels it, ``x`` (m) past its
    edge.

    The lowest point of a wheel that rolls over a step of h < R: its centre goes round the edge on an arc, so

        z(x) = h                              0 ≤ x ≤ length
        z(x) = max(0, h − R + √(R² − d²))     elsewhere, d the distance from the nearer edge.

    The height is continuous; the slope, d / √(R² − d²) towards the edge, is at most √(2Rh − h²) / (R − h),
    where the wheel first touches it.
    """
    if 0.0 <= x <= length:
        return height, 0.0
    distance = -x if x < 0.0 else x - length
    if not distance < radius:
        return 0.0, 0.0
    root = math.sqrt(radius * radius - distance * distance)
    rise = height - radius + root
    if not rise > 0.0:
        return 0.0, 0.0
    slope = distance / root
    return rise, slope if x < 0.0 else -slope


@fused_kernel
def surface_velocity(parameters: FloatArray, x: float, y: float) -> tuple[float, float, float]:
    """Return the velocity (m/s, inertial axes) of the ground's matter at a point (m): zero but on a plane."""
    if parameters[0] == _PLANE:
        dx = x - parameters[_POINT]
        dy = y - parameters[_POINT + 1]
        dz = -(parameters[_ROTATION + 2] * dx + parameters[_ROTATION + 5] * dy) / parameters[_ROTATION + 8]
        return (
            parameters[_VELOCITY] + parameters[_TURN + 1] * dz - parameters[_TURN + 2] * dy,
            parameters[_VELOCITY + 1] + parameters[_TURN + 2] * dx - parameters[_TURN] * dz,
            parameters[_VELOCITY + 2] + parameters[_TURN] * dy - parameters[_TURN + 1] * dx,
        )
    return 0.0, 0.0, 0.0


@fused_kernel
def surface_turn(parameters: FloatArray) -> tuple[float, float, float]:
    """Return the angular velocity of the ground (rad/s, inertial axes): zero but for a plane."""
    if parameters[0] == _PLANE:
        return parameters[_TURN], parameters[_TURN + 1], parameters[_TURN + 2]
    return 0.0, 0.0, 0.0


@fused_kernel
def is_plane(parameters: FloatArray) -> bool:
    """Return whether the ground is one plane, not a surface of which a wheel feels the height below it."""
    return bool(parameters[0] == _PLANE)


@fused_kernel
def surface_friction(parameters: FloatArray, x: float, y: float) -> float:
    """Return the factor on the tyres' friction at a point (m, inertial axes)."""
    if parameters[FRICTION] == 1.0 and parameters[FRICTION + 1] == 1.0:
        return 1.0
    along, across = ground_axes(parameters, x, y)
    if parameters[FRICTION + 2] <= along < parameters[FRICTION + 3]:
        return float(parameters[FRICTION] if across >= 0.0 else parameters[FRICTION + 1])
    return 1.0


@fused_kernel
def outside(parameters: FloatArray, x: float, y: float) -> float:
    """Return how far (m) a point of the surface lies beside the road or the plate: 0 on it."""
    along, across = ground_axes(parameters, x, y)
    beyond = max(abs(along - parameters[EXTENT]) - parameters[EXTENT + 2], 0.0)
    beside = max(abs(across - parameters[EXTENT + 1]) - parameters[EXTENT + 3], 0.0)
    return math.sqrt(beyond * beyond + beside * beside)


@fused_kernel
def ground_axes(parameters: FloatArray, x: float, y: float) -> tuple[float, float]:
    """Return the surface point at x, y (m, inertial) in the ground's own axes (m)."""
    if parameters[0] == _PLANE:
        dx = x - parameters[_POINT]
        dy = y - parameters[_POINT + 1]
        dz = -(parameters[_ROTATION + 2] * dx + parameters[_ROTATION + 5] * dy) / parameters[_ROTATION + 8]
        return (
            parameters[_ROTATION] * dx + parameters[_ROTATION + 3] * dy + parameters[_ROTATION + 6] * dz,
            parameters[_ROTATION + 1] * dx + parameters[_ROTATION + 4] * dy + parameters[_ROTATION + 7] * dz,
        )
    if parameters[0] == _GRID:
        return grid_position(parameters, x, y)
    return x, y


@fused_kernel
def from_ground(parameters: FloatArray, x: float, y: float, z: float) -> tuple[float, float, float]:
    """Transform a point x, y, z (m) that is fixed to the ground from its axes to inertial ones (m).

    A plane's axes have their origin in its point; every other ground's axes are the inertial ones.
    """
    if parameters[0] == _PLANE:
        return (
            parameters[_POINT]
            + parameters[_ROTATION] * x
            + parameters[_ROTATION + 1] * y
            + parameters[_ROTATION + 2] * z,
            parameters[_POINT + 1]
            + parameters[_ROTATION + 3] * x
            + parameters[_ROTATION + 4] * y
            + parameters[_ROTATION + 5] * z,
            parameters[_POINT + 2]
            + parameters[_ROTATION + 6] * x
            + parameters[_ROTATION + 7] * y
            + parameters[_ROTATION + 8] * z,
        )
    return x, y, z


@fused_kernel
def write_plane(
    parameters: FloatArray,
    point: FloatArray,
    rotation: FloatArray,
    velocity: FloatArray,
    angular_velocity: FloatArray,
) -> None:
    """Write the pose and motion of a plane into ``parameters``, whose friction and extent stay.

    ``point`` (3) of the plane, ``rotation`` (3, 3) from the plane's axes to inertial ones (its third column
    is the normal), ``velocity`` (3) of the point and ``angular_velocity`` (3), all in inertial axes, SI.
    """
    parameters[0] = _PLANE
    for axis in range(3):
        parameters[_POINT + axis] = point[axis]
        for column in range(3):
            parameters[_ROTATION + 3 * axis + column] = rotation[axis, column]
        parameters[_VELOCITY + axis] = velocity[axis]
        parameters[_TURN + axis] = angular_velocity[axis]


@dataclass(frozen=True, eq=False)
class Ground:
    """A ground, made by one of its class methods; ``values`` are the entries of the array, not to be written.

    Grounds with the same entries are equal.
    """

    values: FloatArray

    def __post_init__(self) -> None:
        self.values.setflags(write=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ground) and np.array_equal(self.values, other.values)

    def __hash__(self) -> int:
        return hash(self.values.tobytes())

    @classmethod
    def flat(cls) -> Ground:
        """Return the ground z = 0."""
        return cls(header(GroundKind.FLAT))

    @classmethod
    def bump(cls, start: float, length: float, height: float, side: Side = "both") -> Ground:
        """Return a half-sine bump across the road, or across the part left or right of y = 0.

        It begins at x = ``start`` and is ``length`` long; a negative ``height`` is a pothole (all m). Raises
        ValueError for a length that is not above zero.
        """
        if not length > 0.0:
            raise ValueError(f"length {length!r}: a bump must be longer than 0 m")
        return _with_own(GroundKind.BUMP, start, length, height, _SIDES[side])

    @classmethod
    def kerb(
        cls,
        start: float,
        height: float,
        radius: float,
        length: float = math.inf,
        side: Side = "both",
    ) -> Ground:
        """Return a step up at x = ``start``, and down again after ``length``, across the road or one side of
        y = 0, as a rigid wheel of ``radius`` rolls over it (all m; ``kerb_height``).

        Raises ValueError for a height that is not between zero and the radius, or a negative length.
        """
        if not 0.0 < height < radius:
            raise ValueError(
                f"height {height!r}: expected above 0 m and below the wheel radius, {radius!r} m"
            )
        if not length >= 0.0:
            raise ValueError(f"length {length!r}: a kerb must not be shorter than 0 m")
        return _with_own(GroundKind.KERB, start, length, height, _SIDES[side], radius)

    @classmethod
    def plane(
        cls,
        point: FloatArray,
        rotation: FloatArray,
        velocity: FloatArray | None = None,
        angular: FloatArray | None = None,
    ) -> Ground:
        """Return a moving plane, at rest by default: see ``write_plane``.

        Raises ValueError for a plane that does not face up.
        """
        if not rotation[2, 2] > 0.0:
            raise ValueError("the plane does not face up")
        parameters = header(GroundKind.PLANE)
        zero = np.zeros(3)
        write_plane(
            parameters,
            np.asarray(point, dtype=np.float64),
            np.asarray(rotation, dtype=np.float64),
            zero if velocity is None else np.asarray(velocity, dtype=np.float64),
            zero if angular is None else np.asarray(angular, dtype=np.float64),
        )
        return cls(parameters)

    @classmethod
    def tracks(
        cls,
        road_class: RoadClass,
        track_width: float,
        *,
        start: float = 0.0,
        length: float = 1000.0,
        seed: int = 0,
    ) -> Ground:
        """Return a random road of a class of ISO 8608 along x from ``start`` on, ``length`` long, as two
        tracks ``track_width`` apart (all m), its unevenness rising over the first 10 m.

        Raises ValueError for lengths or a ``seed`` that make no road (``profiles.random_tracks``).
        """
        from mastd.roads.profiles import random_tracks  # its transforms are slow to import

        return cls(random_tracks(road_class, track_width, start=start, length=length, seed=seed))

    @classmethod
    def profile(
        cls,
        path: Path,
        track_width: float,
        *,
        start: float | None = None,
        fade: float = 0.0,
        radius: float = 0.0,
    ) -> Ground:
        """Return the measured road of a CSV file of x_m and z_m, or x_m, left_m and right_m.

        ``start``: x of its first row, which then is level zero, and ``fade`` the length over which its
        unevenness rises; None leaves places and heights as they are. ``radius`` above zero: as a rigid wheel
        feels it (all m). Raises FormatError, see ``profiles.measured_tracks``.
        """
        from mastd.roads.profiles import measured_tracks

        return cls(measured_tracks(path, track_width, start=start, fade=fade, radius=radius))

    @classmethod
    def crg(cls, path: Path, *, start: tuple[float, float] | None = None) -> RoadOfFile:
        """Return the road of an OpenCRG file.

        ``start``: x and y (m) where its reference line is to begin, heading along x, at height zero; None
        leaves it where the file puts it. Raises FormatError for a file that is no whole road
        (``mastd.formats.opencrg.file``).
        """
        from mastd.formats.opencrg.file import read_opencrg

        road = read_opencrg(path)
        grid = RoadGrid(road.start, road.spacing, road.line, road.across, road.heights)
        grid = grid if start is None else grid.put(*start)
        try:
            return RoadOfFile(cls(grid_parameters(grid)), grid.line, road.warnings)
        except ValueError as error:
            raise FormatError(f"{path}: {error}") from error

    def with_friction(
        self, left: float, right: float, start: float = -math.inf, end: float = math.inf
    ) -> Ground:
        """Return this ground with factors on the tyres' friction left and right of its middle, between two x
        (m).

        Raises ValueError for a factor that is not above zero, or an end that is not after the start.
        """
        if not (0.0 < left < math.inf and 0.0 < right < math.inf):
            raise ValueError(f"friction {left!r}, {right!r}: expected factors above 0")
        if not start < end:
            raise ValueError(f"friction from {start!r} to {end!r} m: the end is not after the start")
        return self._with(FRICTION, left, right, start, end)

    def with_extent(
        self, half_length: float, half_width: float, centre: tuple[float, float] = (0.0, 0.0)
    ) -> Ground:
        """Return this ground ending at the edges of a rectangle about ``centre``, in its axes (all m).

        The surface goes on beyond the edges; ``outside`` tells what is beside it. Raises ValueError for a
        half length or width that is not above zero.
        """
        if not (half_length > 0.0 and half_width > 0.0):
            raise ValueError(f"extent {half_length!r}, {half_width!r} m: expected half extents above 0")
        return self._with(EXTENT, *centre, half_length, half_width)

    def with_run_up(self, length: float) -> Ground:
        """Return this road beginning ``length`` (m) earlier, for ``outside``: level before its beginning."""
        centre, half = self.values[EXTENT], self.values[EXTENT + 2]
        return self._with(EXTENT, centre - 0.5 * length, self.values[EXTENT + 1], half + 0.5 * length)

    def _with(self, first: int, *values: float) -> Ground:
        parameters = self.parameters
        parameters[first : first + len(values)] = values
        return Ground(parameters)

    @property
    def kind(self) -> GroundKind:
        """Which of the kinds it is."""
        return GroundKind(int(self.values[0]))

    @property
    def parameters(self) -> FloatArray:
        """Return the array for the kernels, 1-D, a new one each time."""
        return self.values.copy()

    def height(self, x: float, y: float) -> float:
        """Return the height (m) at a point (m)."""
        return surface(self.parameters, x, y)[0]


def _with_own(kind: GroundKind, *values: float) -> Ground:
    parameters = header(kind)
    parameters[HEADER : HEADER + len(values)] = values
    return Ground(parameters)


__all__ = [
    "PARAMETERS",
    "Ground",
    "GroundKind",
    "Side",
    "from_ground",
    "is_plane",
    "outside",
    "surface",
    "surface_friction",
    "surface_turn",
    "surface_velocity",
    "write_plane",
]


class RoadOfFile(NamedTuple):
    """A road of a file, its reference line, (n, 2) x and y in m, and what is odd about the file or is not
    applied of it, one line each."""

    ground: Ground
    line: FloatArray
    warnings: tuple[str, ...]
