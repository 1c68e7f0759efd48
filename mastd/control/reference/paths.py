"""Paths of the daemon's own and what fades out beside a path: compiled polynomials and their durations.

Rows of a path (4, 6): pose and its first three derivatives by the path's own time, in m, rad and s.
"""

from __future__ import annotations

import numpy as np

from mastd.arrays import FloatArray
from mastd.kernel import kernel

SEPTIC_PEAKS = (2.1875, 7.5132, 52.5)
"""Largest |s′|, |s″|, |s‴| of the septic on the unit interval."""
QUINTIC_PEAKS = (1.875, 5.7735)
"""Largest |s′|, |s″| of the quintic step 10u³ − 15u⁴ + 6u⁵."""
FADE_PEAKS = ((5.7735, 60.0), (4.0, 36.0), (1.0, 9.0))
"""Largest second and third derivative on the unit interval of what fades out a position, a rate, an
acceleration of one."""

RATE_WAY = 0.2
"""Longest way of a rate that fades out, as a ratio of rate times duration: 0.198 rounded up."""


@kernel
def _septic(u: float, out: FloatArray) -> None:
    """Write the septic step and its three derivatives with respect to u, clamped outside [0, 1]."""
    if not u > 0.0:
        out[0], out[1], out[2], out[3] = 0.0, 0.0, 0.0, 0.0
        return
    if u >= 1.0:
        out[0], out[1], out[2], out[3] = 1.0, 0.0, 0.0, 0.0
        return
    u2, u3 = u * u, u * u * u
    out[0] = u3 * u * (35.0 - 84.0 * u + 70.0 * u2 - 20.0 * u3)
    out[1] = u3 * (140.0 - 420.0 * u + 420.0 * u2 - 140.0 * u3)
    out[2] = u2 * (420.0 - 1680.0 * u + 2100.0 * u2 - 840.0 * u3)
    out[3] = u * (840.0 - 5040.0 * u + 8400.0 * u2 - 4200.0 * u3)


@kernel
def move_path(
    start: FloatArray, target: FloatArray, duration: float, time: float, step: FloatArray, path: FloatArray
) -> None:
    """Write the point-to-point path and its τ-derivatives into ``path`` (4, 6); ``step`` (4,) is scratch."""
    _septic(time / duration, step)
    for axis in range(6):
        distance = target[axis] - start[axis]
        path[0, axis] = start[axis] + distance * step[0]
        path[1, axis] = distance * step[1] / duration
        path[2, axis] = distance * step[2] / duration**2
        path[3, axis] = distance * step[3] / duration**3


@kernel
def brake_path(start: FloatArray, rates: FloatArray, duration: float, time: float, path: FloatArray) -> None:
    """Write the path that takes ``rates`` to zero by the quintic step within ``duration``."""
    u = min(max(time / duration, 0.0), 1.0)
    u2, u3 = u * u, u * u * u
    left = 1.0 - u3 * (10.0 - 15.0 * u + 6.0 * u2)
    slope = -u2 * (30.0 - 60.0 * u + 30.0 * u2) / duration
    bend = -u * (60.0 - 180.0 * u + 120.0 * u2) / duration**2
    travelled = duration * (u - u3 * u * (2.5 - 3.0 * u + u2))
    for axis in range(6):
        path[0, axis] = start[axis] + rates[axis] * travelled
        path[1, axis] = rates[axis] * left
        path[2, axis] = rates[axis] * slope
        path[3, axis] = rates[axis] * bend


@kernel
def fade_out(offset: FloatArray, fade: FloatArray, dt: float, out: FloatArray) -> None:
    """Advance ``fade`` [elapsed, duration] and add what is left of ``offset`` to ``out`` (4, 6).

    ``offset`` (3, 6) holds position, rate and acceleration at the beginning; quintics take all three to zero.
    """
    duration = fade[1]
    fade[0] += dt
    u = min(fade[0] / duration, 1.0)
    if u >= 1.0:
        fade[1] = 0.0
        return
    u2, u3 = u * u, u * u * u
    square = duration * duration
    p0 = 1.0 - u3 * (10.0 - 15.0 * u + 6.0 * u2)
    p1 = -u2 * (30.0 - 60.0 * u + 30.0 * u2) / duration
    p2 = -u * (60.0 - 180.0 * u + 120.0 * u2) / square
    p3 = -(60.0 - 360.0 * u + 360.0 * u2) / (square * duration)
    r0 = (u - u3 * (6.0 - 8.0 * u + 3.0 * u2)) * duration
    r1 = 1.0 - u2 * (18.0 - 32.0 * u + 15.0 * u2)
    r2 = -u * (36.0 - 96.0 * u + 60.0 * u2) / duration
    r3 = -(36.0 - 192.0 * u + 180.0 * u2) / square
    a0 = u2 * (0.5 - u * (1.5 - u * (1.5 - 0.5 * u))) * square
    a1 = u * (1.0 - u * (4.5 - u * (6.0 - 2.5 * u))) * duration
    a2 = 1.0 - u * (9.0 - u * (18.0 - 10.0 * u))
    a3 = -(9.0 - u * (36.0 - 30.0 * u)) / duration
    for axis in range(6):
        x, v, a = offset[0, axis], offset[1, axis], offset[2, axis]
        out[0, axis] += x * p0 + v * r0 + a * a0
        out[1, axis] += x * p1 + v * r1 + a * a1
        out[2, axis] += x * p2 + v * r2 + a * a2
        out[3, axis] += x * p3 + v * r3 + a * a3


def move_duration(
    distance: FloatArray, velocity: FloatArray, acceleration: FloatArray, jerk: FloatArray
) -> float:
    """Return the shortest time in which the septic covers ``distance`` (6,) within all limits (6,).

    At least one millisecond, so that a move of no distance is over in the next cycle.
    """
    length = np.abs(distance)
    peak_v, peak_a, peak_j = SEPTIC_PEAKS
    return float(
        max(
            1e-3,
            np.max(peak_v * length / velocity),
            np.max(np.sqrt(peak_a * length / acceleration)),
            np.max(np.cbrt(peak_j * length / jerk)),
        )
    )


def brake_duration(rates: FloatArray, limits: FloatArray, distance: float) -> float:
    """Return the shortest time in which the quintic takes ``rates`` (6,) to rest within ``limits`` (2, 6).

    Never so long that the way, half of rate times duration, exceeds ``distance`` (m, or 1 m off C): a speed
    that is too high for that is braked harder than the limits say, and so is a wrong measurement of it.
    """
    speed = np.abs(rates)
    peak_a, peak_j = QUINTIC_PEAKS
    gentle = max(np.max(peak_a * speed / limits[0]), np.max(np.sqrt(peak_j * speed / limits[1])))
    return max(1e-3, min(float(gentle), _longest(speed, 2.0 * distance)))


def hardest_brake(rates: FloatArray, acceleration: float) -> float:
    """Return the time in s in which ``rates`` (6,) come to rest with ``acceleration`` m/s² (1 m off C)."""
    return max(1e-3, QUINTIC_PEAKS[0] * float(np.max(np.abs(rates))) / acceleration)


def fade_duration(offset: FloatArray, limits: FloatArray, distance: float) -> float:
    """Return the time in which ``offset`` (3, 6) fades out, each of its rows within ``limits`` (2, 6).

    ``limits`` hold acceleration and jerk. The rate's part never leads further away than ``distance``. An
    acceleration can only fall from where it is: beyond its limit it is taken to zero as quickly as the jerk
    allows.
    """
    size = np.abs(offset)
    (xa, xj), (va, vj), (_, aj) = FADE_PEAKS
    position = max(np.max(np.sqrt(xa * size[0] / limits[0])), np.max(np.cbrt(xj * size[0] / limits[1])))
    rate = max(np.max(va * size[1] / limits[0]), np.max(np.sqrt(vj * size[1] / limits[1])))
    acceleration = float(np.max(aj * size[2] / limits[1]))
    return max(
        1e-3, float(position), min(float(rate), _longest(size[1], 1.0 / RATE_WAY * distance)), acceleration
    )


def rate_way(rates: FloatArray, duration: float) -> FloatArray:
    """Return how far ``rates`` (6,) lead at most while they fade out within ``duration``."""
    return RATE_WAY * duration * rates


def _longest(speed: FloatArray, way: float) -> float:
    """Return the time in which the fastest of ``speed`` (6,) covers ``way``."""
    return way / max(float(np.max(speed)), 1e-9)
