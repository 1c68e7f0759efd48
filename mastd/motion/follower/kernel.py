"""One period of following a rig's pose, compiled; see ``mastd.motion.follower.follower``."""

from __future__ import annotations

import math

from mastd.arrays import FloatArray
from mastd.kernel import fused_kernel
from mastd.motion.washout.limiter import (
    ACCELERATION,
    BOX_SIZE,
    JERK,
    MAX_ACCELERATION,
    PLANNED_TRAVEL,
    PLANNED_VELOCITY,
    POSITION,
    VELOCITY,
    advance_axis,
    enter,
)

CORNER = BOX_SIZE
"""Place of ω in an axis' constants, behind its box."""
FOLLOWER_SIZE = BOX_SIZE + 1

GOAL, SHOWN, PLACE, RATE = range(4)
"""Rows of what is shown of the rig: its newest pose, the pose on the straight way there, and the filter's
position and rate."""
SHOWN_ROWS = 4
AGE, INTERVAL, LEFT, LONGEST = range(4)
"""Places in what is known of its messages, in periods: age of the newest, time between the last two, what is
left of the way to the newest pose, and the longest that such a way takes."""
MESSAGE_SIZE = 4
_BRAKING_SHARE = 0.5


@fused_kernel
def _kept(value: float, largest: float) -> float:
    """Return a value within ±``largest``, 0 for one that is no number."""
    if not abs(value) < math.inf:
        return 0.0
    return min(max(value, -largest), largest)


@fused_kernel
def _note_message(given: FloatArray, shown: FloatArray, message: FloatArray) -> None:
    """Note whether there is a new message: another pose than before."""
    message[AGE] += 1.0
    new = False
    for axis in range(6):
        if abs(given[axis]) < math.inf and given[axis] != shown[GOAL, axis]:
            shown[GOAL, axis] = given[axis]
            new = True
    if new:
        message[INTERVAL] = min(message[AGE], message[LONGEST])
        message[LEFT] = message[INTERVAL]
        message[AGE] = 0.0


@fused_kernel
def _filter_pose(corner: float, shown: FloatArray, axis: int, left: float, period: float) -> float:
    """Take the filter of an axis a period further, towards a pose that goes straight; its acceleration."""
    start = shown[SHOWN, axis]
    pose = shown[GOAL, axis]
    if left > 1.0:
        pose = start + (pose - start) / left
    slope = (pose - start) / period
    # What is left of the motion before, beside the straight line that the filter follows 2/ω late: exactly.
    off = shown[PLACE, axis] - start + 2.0 * slope / corner
    off_rate = shown[RATE, axis] - slope
    both = off_rate + corner * off
    faded = math.exp(-corner * period)
    shown[SHOWN, axis] = pose
    shown[PLACE, axis] = pose - 2.0 * slope / corner + (off + both * period) * faded
    shown[RATE, axis] = slope + (off_rate - corner * both * period) * faded
    change: float = corner * (corner * (pose - shown[PLACE, axis]) - 2.0 * shown[RATE, axis])
    return change


@fused_kernel
def follow(
    constants: FloatArray,
    corner: float,
    axes: FloatArray,
    shown: FloatArray,
    message: FloatArray,
    given: FloatArray,
    derivatives: bool,
    share: FloatArray,
    period: float,
    motion: FloatArray,
    gaps: FloatArray,
) -> None:
    """Advance all axes by ``period`` s towards what is ``given``.

    ``constants`` (6, FOLLOWER_SIZE), ``corner`` ω_f of the filter in rad/s; state: ``axes`` (6, AXIS_SIZE),
    ``shown`` (SHOWN_ROWS, 6), ``message`` (MESSAGE_SIZE,); ``given`` (6 or 18,): pose and, where
    ``derivatives``, rates and accelerations; ``share`` (3,) of it with two derivatives by time. Written:
    ``motion`` (4, 6) and ``gaps`` (6,), what is left to the target.
    """
    _note_message(given, shown, message)
    ahead = period * min(message[AGE], message[INTERVAL])
    for axis in range(6):
        limits, state = constants[axis], axes[axis]
        change = _filter_pose(corner, shown, axis, message[LEFT], period)
        place, rate = shown[PLACE, axis], shown[RATE, axis]
        if derivatives:
            change = _kept(given[12 + axis], math.inf)
            rate = _kept(given[6 + axis], math.inf)
            place = shown[GOAL, axis] + ahead * (rate + 0.5 * ahead * change)
            rate += ahead * change
        change = share[0] * change + 2.0 * share[1] * rate + share[2] * place
        rate = share[0] * rate + share[1] * place
        place = share[0] * place
        target = _kept(place, limits[PLANNED_TRAVEL])
        if target != place:
            rate, change = 0.0, 0.0
        change = _kept(change, limits[MAX_ACCELERATION])
        gap = target - state[POSITION] - period * (state[VELOCITY] + 0.5 * period * state[ACCELERATION])
        closing = 0.5 * limits[CORNER] * gap
        braking = _BRAKING_SHARE * limits[MAX_ACCELERATION]
        near = braking * (2.0 / limits[CORNER]) ** 2
        if abs(gap) > near:
            closing = math.copysign(math.sqrt(2.0 * braking * (abs(gap) - 0.5 * near)), gap)
        fastest = limits[PLANNED_VELOCITY]
        wanted_rate = _kept(_kept(rate, fastest) + closing, fastest)
        behind = wanted_rate - state[VELOCITY] - period * state[ACCELERATION]
        advance_axis(limits, state, change + 2.0 * limits[CORNER] * behind, period)
        motion[0, axis] = state[POSITION]
        motion[1, axis] = state[VELOCITY]
        motion[2, axis] = state[ACCELERATION]
        motion[3, axis] = state[JERK]
        gaps[axis] = target - state[POSITION]
    message[LEFT] = max(message[LEFT] - 1.0, 0.0)


@fused_kernel
def begin(constants: FloatArray, axes: FloatArray, start: FloatArray) -> None:
    """Start all axes from the motion ``start`` (3 or more, 6) of C."""
    for axis in range(6):
        enter(constants[axis], axes[axis], start[0, axis], start[1, axis], start[2, axis])
