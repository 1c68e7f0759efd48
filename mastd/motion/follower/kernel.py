"""One period of following a rig's pose, compiled; see ``mastd.motion.follower.follower``."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from mastd.arrays import FloatArray
from mastd.index_table import Entry, index_table, size_of
from mastd.kernel import fused_kernel
from mastd.motion.washout.limiter import AXIS, BOX, advance_axis, enter


class FollowerColumns(NamedTuple):
    """Constants of an axis behind those of its box."""

    corner: Annotated[int, Entry("rad/s", "ω")]


class PosesIndex(NamedTuple):
    """Rows of the rig's poses."""

    goal: Annotated[int, Entry("m, rad", "its newest pose")]
    shown: Annotated[int, Entry("m, rad", "on the straight way there")]
    filtered: Annotated[int, Entry("m, rad", "position of the filter")]
    rate: Annotated[int, Entry("m/s, rad/s", "of the filter")]


class MessageIndex(NamedTuple):
    """What is known of the rig's messages, in periods."""

    age: Annotated[int, Entry("periods", "of the newest")]
    interval: Annotated[int, Entry("periods", "between the last two")]
    left: Annotated[int, Entry("periods", "of the way to the newest pose")]
    longest: Annotated[int, Entry("periods", "that such a way takes")]


FOLLOWER = index_table(FollowerColumns, size_of(BOX))
POSES = index_table(PosesIndex)
MESSAGE = index_table(MessageIndex)


class FollowerArrays(NamedTuple):
    """Constants and state of the pose follower."""

    constants: FloatArray
    """(6, FOLLOWER)."""
    axes: FloatArray
    """(6, AXIS)."""
    poses: FloatArray
    """(POSES, 6)."""
    message: FloatArray
    """(MESSAGE,)."""


_BRAKING_RATIO = 0.5


@fused_kernel
def _kept(value: float, largest: float) -> float:
    """Return a value within ±``largest``, 0 for one that is no number."""
    if not abs(value) < math.inf:
        return 0.0
    return min(max(value, -largest), largest)


@fused_kernel
def _note_message(given: FloatArray, shown: FloatArray, message: FloatArray) -> None:
    """Note whether there is a new message: another pose than before."""
    message[MESSAGE.age] += 1.0
    new = False
    for axis in range(6):
        if abs(given[axis]) < math.inf and given[axis] != shown[POSES.goal, axis]:
            shown[POSES.goal, axis] = given[axis]
            new = True
    if new:
        message[MESSAGE.interval] = min(message[MESSAGE.age], message[MESSAGE.longest])
        message[MESSAGE.left] = message[MESSAGE.interval]
        message[MESSAGE.age] = 0.0


@fused_kernel
def _filter_pose(corner: float, shown: FloatArray, axis: int, left: float, period: float) -> float:
    """Advance the filter of an axis by a period towards a straight way; return its acceleration."""
    start = shown[POSES.shown, axis]
    pose = shown[POSES.goal, axis]
    if left > 1.0:
        pose = start + (pose - start) / left
    slope = (pose - start) / period
    # What is left of the motion before, beside the straight line that the filter follows 2/ω late: exactly.
    off = shown[POSES.filtered, axis] - start + 2.0 * slope / corner
    off_rate = shown[POSES.rate, axis] - slope
    both = off_rate + corner * off
    faded = math.exp(-corner * period)
    shown[POSES.shown, axis] = pose
    shown[POSES.filtered, axis] = pose - 2.0 * slope / corner + (off + both * period) * faded
    shown[POSES.rate, axis] = slope + (off_rate - corner * both * period) * faded
    change: float = corner * (corner * (pose - shown[POSES.filtered, axis]) - 2.0 * shown[POSES.rate, axis])
    return change


@fused_kernel
def follow(
    arrays: FollowerArrays,
    corner: float,
    given: FloatArray,
    derivatives: bool,
    ratio: FloatArray,
    period: float,
    motion: FloatArray,
    residual: FloatArray,
) -> None:
    """Advance all axes by ``period`` s towards what is ``given``.

    ``corner``: ω_f of the filter in rad/s; ``given`` (6 or 18,): pose and, where ``derivatives``, rates and
    accelerations; ``ratio`` (3,) of it with two derivatives by time. Written: ``motion`` (4, 6) and
    ``residual`` (6,), what is left to the target.
    """
    constants, axes, shown, message = arrays.constants, arrays.axes, arrays.poses, arrays.message
    _note_message(given, shown, message)
    ahead = period * min(message[MESSAGE.age], message[MESSAGE.interval])
    for axis in range(6):
        limits, state = constants[axis], axes[axis]
        change = _filter_pose(corner, shown, axis, message[MESSAGE.left], period)
        position, rate = shown[POSES.filtered, axis], shown[POSES.rate, axis]
        if derivatives:
            change = _kept(given[12 + axis], math.inf)
            rate = _kept(given[6 + axis], math.inf)
            position = shown[POSES.goal, axis] + ahead * (rate + 0.5 * ahead * change)
            rate += ahead * change
        change = ratio[0] * change + 2.0 * ratio[1] * rate + ratio[2] * position
        rate = ratio[0] * rate + ratio[1] * position
        position = ratio[0] * position
        target = _kept(position, limits[BOX.planned_travel])
        if target != position:
            rate, change = 0.0, 0.0
        change = _kept(change, limits[BOX.max_acceleration])
        error = (
            target
            - state[AXIS.position]
            - period * (state[AXIS.velocity] + 0.5 * period * state[AXIS.acceleration])
        )
        closing = 0.5 * limits[FOLLOWER.corner] * error
        braking = _BRAKING_RATIO * limits[BOX.max_acceleration]
        near = braking * (2.0 / limits[FOLLOWER.corner]) ** 2
        if abs(error) > near:
            closing = math.copysign(math.sqrt(2.0 * braking * (abs(error) - 0.5 * near)), error)
        fastest = limits[BOX.planned_velocity]
        wanted_rate = _kept(_kept(rate, fastest) + closing, fastest)
        behind = wanted_rate - state[AXIS.velocity] - period * state[AXIS.acceleration]
        advance_axis(limits, state, change + 2.0 * limits[FOLLOWER.corner] * behind, period)
        motion[0, axis] = state[AXIS.position]
        motion[1, axis] = state[AXIS.velocity]
        motion[2, axis] = state[AXIS.acceleration]
        motion[3, axis] = state[AXIS.jerk]
        residual[axis] = target - state[AXIS.position]
    message[MESSAGE.left] = max(message[MESSAGE.left] - 1.0, 0.0)


@fused_kernel
def begin(arrays: FollowerArrays, start: FloatArray) -> None:
    """Start all axes from the motion ``start`` (3 or more, 6) of C."""
    for axis in range(6):
        enter(arrays.constants[axis], arrays.axes[axis], start[0, axis], start[1, axis], start[2, axis])
