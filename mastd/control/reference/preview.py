"""Limits in pose space: a compiled look ahead on the path slows the whole pose down, it never bends the path.

On a grid of path time, ahead of now by more than any stop can take, the lengths of the links and their
first and second derivatives by path time are found once. Two things come of each point:

- a *speed*: the largest σ at which every link keeps its velocity |L′|σ and acceleration |L″|σ²; 1 where
  both are kept at full speed;
- a *wall* where a length leaves stroke − margin, or the pose its limit, and goes on outwards: speed 0.

The limiter's speed is the least one between now and the horizon. The warp takes σ there and back smoothly,
and since the horizon is longer than the longest stop, σ keeps each point's speed when it comes to it and
stands before a wall. A path within the limits has the speed 1 throughout and is not touched, bit for bit.
An operator's hold or stop always wins: the target is the smaller of both.

A new path is looked at in full before its first step (it begins at rest, so it can begin at any speed).
Then one point falls due every other cycle; after a change of level the points ahead are looked at again,
some in a cycle. Numbers that are not finite pass here; the command's own check ends the motion before they
leave.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mastd.arrays import FloatArray
from mastd.kernel import kernel
from mastd.kinematics.geometry import AXES, Geometry, Legs
from mastd.kinematics.inverse import link_motion
from mastd.kinematics.workspace import lengths_at
from mastd.settings.table.table import TableSettings

GRID = 2e-3
"""Path time between the points of the grid, two knots of a profile: 0.4 % of a peak at 15 Hz lies between."""
POINTS_PER_CYCLE = 8
"""Points looked at in one cycle at most while catching up, 16 ms of path time."""

(LIMIT, NEXT, FRESH, WALLS, LAST, WALL, CELLS, LINKS, VELOCITY, ACCELERATION) = range(10)
"""Places in the block: the limiter's σ, next point of the grid, 1 before a path's first step, whether walls
count, last point with a speed below 1, what the first wall is (−1 none), points of the horizon, links (0: no
preview), and the limits of a link's rate and acceleration. Constants of the geometry and scratch follow."""
_POSE_LIMITS = 10
_NEUTRAL = 16
_JOINTS = 19

HALVINGS = 8
"""Steps of the search for the end of the free way, to 0.4 % of it."""
_TOLERANCE = 1e-6
"""Share of a limit, metres and radians by which a proved motion may miss it by rounding."""


@dataclass(frozen=True, eq=False)
class PathLimits:
    """What a path must keep at full speed: of every link ``velocity`` m/s and ``acceleration`` m/s²; lengths
    within ``reach`` (n,) m of neutral (stroke less margin); poses within ``pose`` (6,) m and rad."""

    geometry: Geometry
    velocity: float
    acceleration: float
    reach: FloatArray
    pose: FloatArray

    @classmethod
    def from_settings(cls, table: TableSettings, geometry: Geometry) -> PathLimits:
        """Take the limits out of the table's settings."""
        limits = table.limits
        reach = geometry.strokes - limits.stroke_margin
        pose = np.array([getattr(limits.pose, axis) for axis in AXES])
        return cls(geometry, limits.velocity, limits.acceleration, reach, pose)

    def contain(self, pose: FloatArray) -> bool:
        """Tell whether lengths and coordinates of ``pose`` (6,) keep the limits."""
        lengths = lengths_at(self.geometry, pose)[0]
        inside = np.abs(lengths - self.geometry.neutral_lengths) <= self.reach + _TOLERANCE
        return bool(np.all(inside) and np.all(np.abs(pose) <= self.pose + _TOLERANCE))

    def share_within(self, pose: FloatArray, way: FloatArray) -> float:
        """Return how much of ``way`` (6,) from ``pose`` (6,) keeps the limits: 1 all of it, 0 nothing."""
        if self.contain(pose + way):
            return 1.0
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.contain(pose + middle * way) else (low, middle)
        return low


def preview_block(limits: PathLimits | None, horizon: float) -> FloatArray:
    """Return the block of the preview for a look ahead of ``horizon`` s of path time."""
    if limits is None:
        block = np.zeros(_JOINTS)
        block[LIMIT], block[WALL] = 1.0, -1.0
        return block
    geometry, n = limits.geometry, limits.geometry.links
    cells = math.ceil(horizon / GRID) + 2
    head = np.zeros(_JOINTS)
    head[LIMIT], head[WALL], head[LAST], head[CELLS], head[LINKS] = 1.0, -1.0, -1.0, cells, n
    head[VELOCITY] = limits.velocity * (1.0 + _TOLERANCE)
    head[ACCELERATION] = limits.acceleration * (1.0 + _TOLERANCE)
    head[_POSE_LIMITS : _POSE_LIMITS + 6] = limits.pose + _TOLERANCE
    head[_NEUTRAL : _NEUTRAL + 3] = geometry.neutral_position
    return np.concatenate(
        (
            head,
            geometry.table_joints.ravel(),
            geometry.base_joints.ravel(),
            geometry.neutral_lengths,
            limits.reach + _TOLERANCE,
            np.zeros(3 * n),
            np.ones(cells),
        )
    )


@kernel
def _link_speed(preview: FloatArray, joints: int, path: FloatArray) -> float:
    """Return the largest σ that a point of the path allows; 0, and what it is in WALL, at a wall."""
    n = int(preview[LINKS])
    base, neutral = joints + 3 * n, joints + 6 * n
    lengths, rates, accelerations = neutral + 2 * n, neutral + 3 * n, neutral + 4 * n
    legs = Legs(
        preview[joints:base].reshape((n, 3)),
        preview[base:neutral].reshape((n, 3)),
        preview[_NEUTRAL : _NEUTRAL + 3],
    )
    link_motion(
        legs,
        path[0],
        path[1],
        path[2],
        preview[lengths:rates],
        preview[rates:accelerations],
        preview[accelerations : accelerations + n],
    )
    speed = 1.0
    wall = -1.0
    for i in range(n):
        rate, bend = preview[rates + i], abs(preview[accelerations + i])
        if abs(rate) > preview[VELOCITY]:
            speed = min(speed, preview[VELOCITY] / abs(rate))
        if bend > preview[ACCELERATION]:
            speed = min(speed, math.sqrt(preview[ACCELERATION] / bend))
        away = preview[lengths + i] - preview[neutral + i]
        if wall < 0.0 and abs(away) > preview[neutral + n + i] and away * rate > 0.0:
            wall = 2.0 * i + (1.0 if away > 0.0 else 0.0)
    for axis in range(6):
        outwards = path[0, axis] * path[1, axis] > 0.0
        if wall < 0.0 and outwards and abs(path[0, axis]) > preview[_POSE_LIMITS + axis]:
            wall = 2.0 * (n + axis) + (1.0 if path[0, axis] > 0.0 else 0.0)
    if wall >= 0.0 and preview[WALLS] != 0.0:
        if preview[WALL] < 0.0:
            preview[WALL] = wall
        return 0.0
    return speed


@kernel
def note_point(preview: FloatArray, path: FloatArray) -> None:
    """Take over the point ``path`` (4, 6) of the grid that is next."""
    n = int(preview[LINKS])
    ring = _JOINTS + 11 * n
    speed = _link_speed(preview, _JOINTS, path)
    point = preview[NEXT]
    preview[ring + int(point) % int(preview[CELLS])] = speed
    if speed < 1.0 and point > preview[LAST]:
        preview[LAST] = point
    preview[NEXT] = point + 1.0


@kernel
def update_limit(preview: FloatArray, now: float, caught_up: bool) -> None:
    """Set the limiter's speed to the least between the grid's points ``now`` and ``NEXT``.

    While the points ahead are looked at again (``caught_up`` is false) it is only lowered.
    """
    speed = 1.0
    if preview[LAST] >= now:
        cells = int(preview[CELLS])
        ring = _JOINTS + 11 * int(preview[LINKS])
        for point in range(int(now), int(preview[NEXT])):
            speed = min(speed, preview[ring + point % cells])
    if caught_up or speed < preview[LIMIT]:
        preview[LIMIT] = speed
    if caught_up and speed > 0.0:
        preview[WALL] = -1.0


def describe_wall(preview: FloatArray, limits: PathLimits) -> str:
    """Return the words for the wall that the limiter stands before."""
    place, outwards = divmod(round(float(preview[WALL])), 2)
    links = limits.geometry.links
    if place < links:
        reach, side = limits.reach[place] * 1e3, "long" if outwards else "short"
        allowed = f"{reach:.4g} mm of its stroke may be used to either side"
        return f"link {place + 1} would become too {side}: {allowed}"
    axis = place - links
    factor, unit = (1e3, "mm") if axis < 3 else (180.0 / math.pi, "deg")
    sign = "above" if outwards else "below minus"
    return f"{AXES[axis]} would go {sign} {limits.pose[axis] * factor:.4g} {unit}"
