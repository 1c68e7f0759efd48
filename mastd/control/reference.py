"""The reference in pose space: one generator for rest, point-to-point moves, profiles, hold, stop and rejoin.

Whatever is followed is a path p(τ) over its own time τ. Slowing down and going on again changes the *speed
of that time*, σ = dτ/dt, between 0 and 1 by a quintic polynomial; position, rate, acceleration and jerk
follow by the chain rule

    x = p,   ẋ = p′σ,   ẍ = p″σ² + p′σ̇,   x⃛ = p‴σ³ + 3p″σσ̇ + p′σ̈.

So hold, stop and resume never leave the path that ``check`` has proved, no leg is limited alone, and the
speeds on it never exceed the proved ones. Two more pieces make every other transition continuous:

- an *offset* added to the path and faded out by a quintic that starts with the position and the rate found
  (rejoin after the drive has bridged a stall by itself: the reference starts where the table really is);
- a *brake* that takes position and rate as found to rest (tracking fault: starts from the measured pose).

Poses are [x, y, z, roll, pitch, yaw] of C against neutral in m and rad, rates are Euler rates, times seconds.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mastd.kernel import kernel
from mastd.motion.timeline import Timeline, evaluate, join

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

SEPTIC_PEAKS = (2.1875, 7.5132, 52.5)
"""Largest |s′|, |s″|, |s‴| of the septic on the unit interval."""
QUINTIC_PEAKS = (1.875, 5.7735)
"""Largest |s′|, |s″| of the quintic step 10u³ − 15u⁴ + 6u⁵."""


class Source(enum.IntEnum):
    """What the path is."""

    REST = 0
    MOVE = 1
    PROFILE = 2
    BRAKE = 3


REST, MOVE, PROFILE, BRAKE = (int(source) for source in Source)

# places in the generator's state block
WARP, SPEED, PATH, OFFSET, FADE, START, TARGET, RATES, STEP, DURATION, STATE_SIZE = (
    0, 8, 14, 38, 50, 52, 58, 64, 70, 74, 75,
)  # fmt: skip
_NOTHING = join([(np.zeros((1, 6)), 1)], 1)
"""The timeline that is passed while none is loaded."""


@kernel
def _septic(u: float, out: Array) -> None:
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
def advance_time(warp: Array, coefficients: Array, dt: float) -> None:
    """Advance path time: ``warp`` holds [τ, σ, σ̇, σ̈, elapsed, duration, τ₀, σ target]."""
    duration = warp[5]
    if duration > 0.0 and warp[4] < duration:
        warp[4] += dt
        u = min(warp[4] / duration, 1.0)
        c = coefficients
        sigma = c[0] + u * (c[1] + u * (c[2] + u * (c[3] + u * (c[4] + u * c[5]))))
        integral = u * (
            c[0] + u * (c[1] / 2.0 + u * (c[2] / 3.0 + u * (c[3] / 4.0 + u * (c[4] / 5.0 + u * c[5] / 6.0))))
        )
        warp[0] = warp[6] + duration * integral
        if u >= 1.0:
            warp[0] += (warp[4] - duration) * warp[7]
            warp[1], warp[2], warp[3] = warp[7], 0.0, 0.0
        else:
            warp[1] = sigma
            warp[2] = (
                c[1] + u * (2.0 * c[2] + u * (3.0 * c[3] + u * (4.0 * c[4] + u * 5.0 * c[5])))
            ) / duration
            warp[3] = (2.0 * c[2] + u * (6.0 * c[3] + u * (12.0 * c[4] + u * 20.0 * c[5]))) / (
                duration * duration
            )
    else:
        warp[0] += dt * warp[1]


@kernel
def move_path(start: Array, target: Array, duration: float, time: float, step: Array, path: Array) -> None:
    """Write the point-to-point path and its τ-derivatives into ``path`` (4, 6); ``step`` (4,) is scratch."""
    _septic(time / duration, step)
    for axis in range(6):
        distance = target[axis] - start[axis]
        path[0, axis] = start[axis] + distance * step[0]
        path[1, axis] = distance * step[1] / duration
        path[2, axis] = distance * step[2] / duration**2
        path[3, axis] = distance * step[3] / duration**3


@kernel
def brake_path(start: Array, rates: Array, duration: float, time: float, path: Array) -> None:
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
def compose(path: Array, warp: Array, offset: Array, fade: Array, dt: float, out: Array) -> None:
    """Write pose, rates, accelerations, jerks (4, 6) from the path, the speed of its time and the offset.

    ``offset`` (2, 6) holds the position and the rate that fade out, ``fade`` [elapsed, duration].
    """
    s, s1, s2 = warp[1], warp[2], warp[3]
    for axis in range(6):
        out[0, axis] = path[0, axis]
        out[1, axis] = path[1, axis] * s
        out[2, axis] = path[2, axis] * s * s + path[1, axis] * s1
        out[3, axis] = path[3, axis] * s * s * s + 3.0 * path[2, axis] * s * s1 + path[1, axis] * s2
    duration = fade[1]
    if duration > 0.0:
        fade[0] += dt
        u = min(fade[0] / duration, 1.0)
        u2, u3 = u * u, u * u * u
        p0 = 1.0 - u3 * (10.0 - 15.0 * u + 6.0 * u2)
        p1 = -u2 * (30.0 - 60.0 * u + 30.0 * u2) / duration
        p2 = -u * (60.0 - 180.0 * u + 120.0 * u2) / duration**2
        p3 = -(60.0 - 360.0 * u + 360.0 * u2) / duration**3
        r0 = (u - u3 * (6.0 - 8.0 * u + 3.0 * u2)) * duration
        r1 = 1.0 - u2 * (18.0 - 32.0 * u + 15.0 * u2)
        r2 = -u * (36.0 - 96.0 * u + 60.0 * u2) / duration
        r3 = -(36.0 - 192.0 * u + 180.0 * u2) / duration**2
        for axis in range(6):
            x, v = offset[0, axis], offset[1, axis]
            out[0, axis] += x * p0 + v * r0
            out[1, axis] += x * p1 + v * r1
            out[2, axis] += x * p2 + v * r2
            out[3, axis] += x * p3 + v * r3
        if u >= 1.0:
            fade[1] = 0.0


@kernel
def advance(
    source: int,
    state: Array,
    coefficients: Array,
    first_rows: Integers,
    intervals: Integers,
    starts: Integers,
    repeats: int,
    dt: float,
    out: Array,
) -> None:
    """Advance path time by ``dt``, write the path of ``source`` and compose ``out`` (4, 6).

    ``state`` (STATE_SIZE,) is the generator's block; the arrays after it are the timeline's.
    """
    warp, speed = state[WARP : WARP + 8], state[SPEED : SPEED + 6]
    path = state[PATH : PATH + 24].reshape((4, 6))
    advance_time(warp, speed, dt)
    if source == PROFILE:
        evaluate(coefficients, first_rows, intervals, starts, repeats, warp[0], path)
    elif source == MOVE:
        start, target = state[START : START + 6], state[TARGET : TARGET + 6]
        move_path(start, target, state[DURATION], warp[0], state[STEP : STEP + 4], path)
    elif source == BRAKE:
        brake_path(state[START : START + 6], state[RATES : RATES + 6], state[DURATION], warp[0], path)
    compose(path, warp, state[OFFSET : OFFSET + 12].reshape((2, 6)), state[FADE : FADE + 2], dt, out)


def move_duration(distance: Array, velocity: Array, acceleration: Array, jerk: Array) -> float:
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


def brake_duration(rates: Array, limits: Array, distance: float) -> float:
    """Return the shortest time in which the quintic takes ``rates`` (6,) to rest within ``limits`` (2, 6).

    Never so long that the way, half of rate times duration, exceeds ``distance`` (m, or 1 m off C): a speed
    that is too high for that is braked harder than the limits say, and so is a wrong measurement of it.
    """
    speed = np.abs(rates)
    peak_a, peak_j = QUINTIC_PEAKS
    gentle = max(np.max(peak_a * speed / limits[0]), np.max(np.sqrt(peak_j * speed / limits[1])))
    shortest = 2.0 * distance / max(float(np.max(speed)), 1e-9)
    return max(1e-3, min(float(gentle), shortest))


@dataclass(frozen=True)
class MotionLimits:
    """What the generator's own motions keep; columns are the six axes in m and rad.

    ``move`` (3, 6): velocity, acceleration, jerk of moves; ``brake`` (2, 6): acceleration and jerk of
    decelerations from a measured speed; ``distance``: longest way of these.
    """

    move: Array
    brake: Array
    distance: float


class Reference:
    """The reference generator of the loop; ``motion`` (4, 6) holds pose, rates, accelerations, jerks.

    ``limits`` are what moves, brakes and rejoins keep.
    """

    def __init__(self, motion: Array, limits: MotionLimits) -> None:
        self.motion = motion
        self.limits = limits
        self.source = Source.REST
        self._number = REST
        self._state = state = np.zeros(STATE_SIZE)
        self.path = state[PATH : PATH + 24].reshape(4, 6)
        self._warp = state[WARP : WARP + 8]
        self._coefficients = state[SPEED : SPEED + 6]
        self._offset = state[OFFSET : OFFSET + 12].reshape(2, 6)
        self._fade = state[FADE : FADE + 2]
        self._start = state[START : START + 6]
        self._target = state[TARGET : TARGET + 6]
        self._rates = state[RATES : RATES + 6]
        self._warp[:] = (0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
        state[DURATION] = 1.0

    @property
    def time(self) -> float:
        """Time τ on the present path, in seconds."""
        return float(self._warp[0])

    @property
    def speed(self) -> float:
        """Speed σ of path time: 1 plays, 0 stands."""
        return float(self._warp[1])

    @property
    def settled(self) -> bool:
        """No offset is left to fade."""
        return bool(self._fade[1] == 0.0)

    @property
    def standing(self) -> bool:
        """No motion is asked for, and none is left to fade."""
        if not self.settled:
            return False
        if self.source is Source.REST:
            return True
        if self._warp[1] == 0.0 and self._warp[7] == 0.0:
            return True
        return self.source in (Source.MOVE, Source.BRAKE) and self._warp[0] >= self._state[DURATION]

    def rest(self, pose: Array) -> None:
        """Stand at ``pose``."""
        self.path[:] = 0.0
        self.path[0] = pose
        self._begin(Source.REST)
        self._fade[1] = 0.0

    def move(self, target: Array) -> float:
        """Go from the present pose, which is at rest, to ``target``; return the duration in seconds."""
        self._start[:] = self.motion[0]
        self._target[:] = target
        duration = move_duration(self._target - self._start, *self.limits.move)
        self._state[DURATION] = duration
        self._begin(Source.MOVE)
        self._fade[1] = 0.0
        return duration

    def play(self) -> None:
        """Play the profile from its beginning; ``advance`` is given its timeline from now on."""
        self._begin(Source.PROFILE)

    def brake(self, pose: Array, rates: Array) -> None:
        """Come to rest from ``pose`` and ``rates`` as measured, within the limits."""
        self._start[:] = pose
        self._rates[:] = rates
        self._state[DURATION] = brake_duration(rates, self.limits.brake, self.limits.distance)
        self._begin(Source.BRAKE)
        self._fade[1] = 0.0

    def slow(self, speed: float, duration: float) -> None:
        """Change the speed of path time to ``speed`` (0 or 1) within ``duration``, from what it is now."""
        w = self._warp
        t = duration
        s0, d0, b0 = float(w[1]), float(w[2]) * t, float(w[3]) * t * t
        rise = speed - s0
        c = self._coefficients
        c[0], c[1], c[2] = s0, d0, b0 / 2.0
        c[3] = 10.0 * rise - 6.0 * d0 - 1.5 * b0
        c[4] = -15.0 * rise + 8.0 * d0 + 1.5 * b0
        c[5] = 6.0 * rise - 3.0 * d0 - 0.5 * b0
        w[4], w[5], w[6], w[7] = 0.0, duration, w[0], speed

    def rejoin(self, pose: Array, rates: Array, duration: float) -> None:
        """Go on from ``pose`` and ``rates`` as measured: path time starts from rest, the offset fades out.

        Path time takes ``duration`` to its full speed; a path that stood stays standing.
        """
        w, limits = self._warp, self.limits
        speed = float(w[7])
        w[1], w[2], w[3], w[5] = 0.0, 0.0, 0.0, 0.0
        self._offset[0] = pose - self.path[0]
        self._offset[1] = rates
        away = move_duration(self._offset[0], np.full(6, np.inf), *limits.brake)
        self._fade[0] = 0.0
        self._fade[1] = max(away, 2.0 * brake_duration(rates, limits.brake, limits.distance))
        self.slow(speed, duration)

    def advance(self, dt: float, timeline: Timeline | None = None) -> None:
        """Advance path time by ``dt`` seconds and write ``motion``; a profile is read from ``timeline``."""
        source = REST if timeline is None and self.source is Source.PROFILE else self._number
        read = _NOTHING if timeline is None else timeline
        advance(
            source,
            self._state,
            read.coefficients,
            read.first_rows,
            read.intervals,
            read.starts,
            read.repeats,
            dt,
            self.motion,
        )

    def _begin(self, source: Source) -> None:
        self.source, self._number = source, int(source)
        self._warp[:] = (0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
