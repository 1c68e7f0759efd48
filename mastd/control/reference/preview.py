"""Preview: limits ahead on the path slow the whole pose down, they never bend the path.

On a grid of path time, ahead of now by more than any stop can take, the actuators' lengths and their
first and second derivatives by path time are found once. Two things come of each point:

- a *speed*: the largest σ at which every actuator keeps its velocity |L′|σ and acceleration |L″|σ²; 1 where
  both are kept at full speed;
- a *wall* where a length leaves stroke − margin, or the pose its limit, and goes on outwards: speed 0.

The limiter's speed is the minimum between now and the horizon. The time scaling takes σ there and back,
and since the horizon is longer than the longest stop, σ keeps each point's speed when it comes to it and
stands before a wall. A path within the limits has the speed 1 throughout and is not touched, bit for bit.
An operator's hold or stop always wins: the target is the smaller of both.

A new path is evaluated in full before its first step (it begins at rest, so it can begin at any speed).
Then one point is evaluated every other cycle; after a change of the master gain the points ahead are
evaluated again, some in a cycle. Numbers that are not finite pass here; the command's own check ends the
motion before they leave.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from mastd.arrays import FloatArray
from mastd.index_table import Entry, index_table, size_of
from mastd.kernel import kernel
from mastd.kinematics.geometry import Geometry, Legs
from mastd.kinematics.inverse import actuator_motion
from mastd.kinematics.workspace import lengths_at
from mastd.settings.core.axes import AXES
from mastd.settings.table.table import TableSettings

GRID = 2e-3
"""Path time between the points of the grid, two knots of a profile: 0.4 % of a peak at 15 Hz lies between."""
POINTS_PER_CYCLE = 8
"""Points evaluated in one cycle at most while catching up, 16 ms of path time."""


class PreviewIndex(NamedTuple):
    """State and limits of the preview."""

    limit: Annotated[int, Entry("1", "largest σ that the points ahead allow")]
    next: Annotated[int, Entry("1", "next point of the grid")]
    at_start: Annotated[int, Entry("1", "1 before a path's first step")]
    walls: Annotated[int, Entry("1", "whether walls count")]
    last: Annotated[int, Entry("1", "last point with a speed below 1")]
    wall: Annotated[int, Entry("1", "which limit the first wall is, −1 none")]
    velocity: Annotated[int, Entry("m/s", "limit of an actuator")]
    acceleration: Annotated[int, Entry("m/s^2", "limit of an actuator")]


PREVIEW = index_table(PreviewIndex)


class Preview(NamedTuple):
    """Arrays of the preview; with no actuators there is none."""

    state: FloatArray
    """(PREVIEW,)."""
    pose_limits: FloatArray
    """(6,) m and rad."""
    legs: Legs
    neutral_lengths: FloatArray
    reach: FloatArray
    """(n,) m from neutral to either side."""
    motion: FloatArray
    """(3, n), scratch: lengths and their derivatives by path time at a point."""
    speeds: FloatArray
    """(points of the horizon,): largest σ at each, a ring."""


HALVINGS = 8
"""Steps of the search for the end of the free way, to 0.4 % of it."""
_TOLERANCE = 1e-6
"""Ratio of a limit, metres and radians by which a proved motion may miss it by rounding."""


@dataclass(frozen=True, eq=False)
class PathLimits:
    """What a path must keep at full speed, m, rad and s.

    ``velocity`` and ``acceleration`` of each actuator; lengths within ``reach`` (n,) of neutral (stroke less
    margin); poses within ``pose`` (6,).
    """

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
        return cls(geometry, max(table.velocities), limits.acceleration, reach, np.array(table.pose_limits))

    def contain(self, pose: FloatArray) -> bool:
        """Tell whether lengths and coordinates of ``pose`` (6,) keep the limits."""
        lengths = lengths_at(self.geometry, pose)[0]
        inside = np.abs(lengths - self.geometry.neutral_lengths) <= self.reach + _TOLERANCE
        return bool(np.all(inside) and np.all(np.abs(pose) <= self.pose + _TOLERANCE))

    def ratio_within(self, pose: FloatArray, way: FloatArray) -> float:
        """Return how much of ``way`` (6,) from ``pose`` (6,) keeps the limits: 1 all of it, 0 nothing."""
        if self.contain(pose + way):
            return 1.0
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.contain(pose + middle * way) else (low, middle)
        return low


def preview_arrays(limits: PathLimits | None, horizon: float) -> Preview:
    """Return the arrays of a preview over ``horizon`` s of path time."""
    state = np.zeros(size_of(PREVIEW))
    state[PREVIEW.limit], state[PREVIEW.wall] = 1.0, -1.0
    if limits is None:
        nothing = np.zeros((0, 3))
        legs = Legs(nothing, nothing, np.zeros(3), np.ones(6))
        return Preview(state, np.zeros(6), legs, np.zeros(0), np.zeros(0), np.zeros((3, 0)), np.zeros(0))
    geometry = limits.geometry
    state[PREVIEW.last] = -1.0
    state[PREVIEW.velocity] = limits.velocity * (1.0 + _TOLERANCE)
    state[PREVIEW.acceleration] = limits.acceleration * (1.0 + _TOLERANCE)
    return Preview(
        state,
        limits.pose + _TOLERANCE,
        geometry.legs,
        geometry.neutral_lengths,
        limits.reach + _TOLERANCE,
        np.zeros((3, geometry.actuators)),
        np.ones(math.ceil(horizon / GRID) + 2),
    )


@kernel
def _path_speed(preview: Preview, path: FloatArray) -> float:
    """Return the largest σ that a point of the path allows; 0 at a wall, which is noted in the state."""
    state, motion = preview.state, preview.motion
    n = preview.neutral_lengths.shape[0]
    actuator_motion(preview.legs, path[0], path[1], path[2], motion[0], motion[1], motion[2])
    speed = 1.0
    wall = -1.0
    for i in range(n):
        rate, bend = motion[1, i], abs(motion[2, i])
        if abs(rate) > state[PREVIEW.velocity]:
            speed = min(speed, state[PREVIEW.velocity] / abs(rate))
        if bend > state[PREVIEW.acceleration]:
            speed = min(speed, math.sqrt(state[PREVIEW.acceleration] / bend))
        away = motion[0, i] - preview.neutral_lengths[i]
        if wall < 0.0 and abs(away) > preview.reach[i] and away * rate > 0.0:
            wall = 2.0 * i + (1.0 if away > 0.0 else 0.0)
    for axis in range(6):
        outwards = path[0, axis] * path[1, axis] > 0.0
        if wall < 0.0 and outwards and abs(path[0, axis]) > preview.pose_limits[axis]:
            wall = 2.0 * (n + axis) + (1.0 if path[0, axis] > 0.0 else 0.0)
    if wall >= 0.0 and state[PREVIEW.walls] != 0.0:
        if state[PREVIEW.wall] < 0.0:
            state[PREVIEW.wall] = wall
        return 0.0
    return speed


@kernel
def note_point(preview: Preview, path: FloatArray) -> None:
    """Take over the point ``path`` (4, 6) of the grid that is next."""
    state = preview.state
    speed = _path_speed(preview, path)
    point = state[PREVIEW.next]
    preview.speeds[int(point) % preview.speeds.shape[0]] = speed
    if speed < 1.0 and point > state[PREVIEW.last]:
        state[PREVIEW.last] = point
    state[PREVIEW.next] = point + 1.0


@kernel
def update_limit(preview: Preview, now: float, caught_up: bool) -> None:
    """Set the limiter's speed to the minimum between the grid's points ``now`` and ``next``.

    While the points ahead are evaluated again (``caught_up`` is false) it is only lowered.
    """
    state = preview.state
    speed = 1.0
    if state[PREVIEW.last] >= now:
        cells = preview.speeds.shape[0]
        for point in range(int(now), int(state[PREVIEW.next])):
            speed = min(speed, preview.speeds[point % cells])
    if caught_up or speed < state[PREVIEW.limit]:
        state[PREVIEW.limit] = speed
    if caught_up and speed > 0.0:
        state[PREVIEW.wall] = -1.0


def describe_wall(preview: Preview, limits: PathLimits) -> str:
    """Return the text for the limit that the path would exceed next."""
    index, outwards = divmod(round(float(preview.state[PREVIEW.wall])), 2)
    actuators = limits.geometry.actuators
    if index < actuators:
        reach, side = limits.reach[index] * 1e3, "long" if outwards else "short"
        allowed = f"{reach:.4g} mm to either side"
        return f"actuator {index + 1} would become too {side}, allowed: {allowed}"
    axis = index - actuators
    factor, unit = (1e3, "mm") if axis < 3 else (180.0 / math.pi, "deg")
    sign = "above" if outwards else "below minus"
    return f"{AXES[axis]} would go {sign} {limits.pose[axis] * factor:.4g} {unit}"
