"""When a car stands: its tyres do while its body still sways on springs and tyres.

So what counts is the motion of the point on the ground under the chassis' centre of mass, about which a body
sways, and the yaw.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.vehicle.state.trace import ANGLES, ANGULAR_VELOCITY, POSITION, VELOCITY, Trace

STANDING: Final = 0.05
"""m/s up to which a car counts as standing."""
_MOVING: Final = 0.5
"""m/s above which a car that has stood moves again; what is less is its sway."""
_LEVER: Final = 1.5
"""m from the middle of a car at which its yaw counts as motion: about where the wheels are."""
_SPAN, _SHIFT = 2.0, 1.0
"""s: over how much of the end the place is averaged, so that the sway drops out, and how far apart."""


def turning_speed(velocity: FloatArray, yaw_rate: FloatArray | float) -> FloatArray:
    """Return the speed (n) of velocities (n, 2 or more) in any direction and the yaw (rad/s), m/s."""
    return np.asarray(np.sqrt(velocity[..., 0] ** 2 + velocity[..., 1] ** 2 + (_LEVER * yaw_rate) ** 2))


def standstill(trace: Trace, first: int) -> int | None:
    """Return the sample after ``first`` at which the car comes to rest and from which on it stays, if any."""
    chassis = trace.chassis
    height, turn = chassis[:, POSITION][:, 2], chassis[:, ANGULAR_VELOCITY]
    velocity = chassis[:, VELOCITY][:, :2] + height[:, None] * np.column_stack((-turn[:, 1], turn[:, 0]))
    speed = turning_speed(velocity, turn[:, 2])
    moving = np.flatnonzero(~(speed <= _MOVING))
    begin = max(first, int(moving[-1])) if len(moving) else first
    standing = np.flatnonzero(speed[begin + 1 :] <= STANDING)
    return begin + 1 + int(standing[0]) if len(standing) else None


def creep(trace: Trace, stood: int) -> float:
    """Return how far (m) the car still moves within a second at the end, its sway averaged out.

    NaN if it has not stood (from sample ``stood`` on) for long enough to tell.
    """
    end = float(trace.time[-1])
    if not end - float(trace.time[stood]) >= _SPAN + _SHIFT - 1e-9:
        return float("nan")
    roll, pitch, yaw = trace.chassis[:, ANGLES].T
    upwards = np.column_stack(
        (
            np.cos(yaw) * np.sin(pitch) * np.cos(roll) + np.sin(yaw) * np.sin(roll),
            np.sin(yaw) * np.sin(pitch) * np.cos(roll) - np.cos(yaw) * np.sin(roll),
        )
    )
    positions = trace.chassis[:, POSITION]
    ground = positions[:, :2] - positions[:, 2:] * upwards
    late, early = (_mean(trace.time, ground, end - shift) for shift in (0.0, _SHIFT))
    return float(np.hypot(*(late - early)))


def _mean(time: FloatArray, positions: FloatArray, end: float) -> FloatArray:
    """Return the mean of places (n, 2) over the span that ends at ``end`` (s), weighed by a half cosine."""
    within = (time >= end - _SPAN - 1e-9) & (time <= end + 1e-9)
    weights = np.hanning(int(np.count_nonzero(within)) + 2)[1:-1]
    return np.asarray(weights @ positions[within] / np.sum(weights))
