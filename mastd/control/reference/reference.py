"""The reference in pose space: one generator for rest, point-to-point moves, profiles, hold, stop and rejoin.

Whatever is followed is a path p(τ) over its own time τ. Slowing down and going on again changes the *speed
of that time*, σ = dτ/dt, between 0 and 1 (``mastd.control.reference.time_scaling``); position, rate,
acceleration and jerk follow by the chain rule

    x = p,   ẋ = p′σ,   ẍ = p″σ² + p′σ̇,   x⃛ = p‴σ³ + 3p″σσ̇ + p′σ̈.

So hold, stop and resume never leave the path that ``check`` has proved, no leg is limited alone, and the
speeds on it never exceed the proved ones. A profile's path is scaled by the master gain before that
(``mastd.control.reference.master_gain``), and a look ahead slows it down where a limit would not be kept
(``mastd.control.reference.preview``). Two more pieces make every other transition continuous:

- an *offset* added to the path and faded out by quintics that start with the position, the rate and the
  acceleration found: whatever is followed next begins where the last command was, as fast as it was (and
  after the drive has bridged a stall by itself, where the table really is);
- a *brake* that takes position and rate as found to rest (tracking fault: starts from the measured pose).

Poses are [x, y, z, roll, pitch, yaw] of C against neutral in m and rad, rates are Euler rates, times seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mastd.arrays import FloatArray
from mastd.control.reference.kernels import (
    DURATION,
    FADE,
    LEVEL,
    OFFSET,
    PATH,
    RATES,
    REST,
    START,
    STATE_SIZE,
    TARGET,
    WARP,
    Source,
    advance,
)
from mastd.control.reference.master_gain import (
    ERROR,
    GAIN,
    LAGS_PER_CHANGE,
    LEVEL_SIZE,
    LEVEL_TARGET,
    TIME_CONSTANT,
)
from mastd.control.reference.paths import (
    brake_duration,
    fade_duration,
    hardest_brake,
    move_duration,
)
from mastd.control.reference.preview import (
    FRESH,
    LAST,
    LIMIT,
    NEXT,
    WALL,
    WALLS,
    PathLimits,
    describe_wall,
    preview_block,
)
from mastd.control.reference.stream import NEWEST, PERIOD, stream_block
from mastd.control.reference.time_scaling import (
    FIRST,
    MAX_FIRST,
    MAX_SECOND,
    MAX_WAY,
    SECOND,
    SPEED,
    TIME,
    WANTED,
    WARP_SIZE,
    speed_bounds,
)
from mastd.motion.profile.timeline import Timeline, at_rest

_NOTHING = at_rest()
"""The timeline that is passed while none is loaded."""
_CONTINUOUS = 1e-12
"""Metres, radians and their rates up to which a path begins where the last command was: rounding."""
MAX_LATER = 32
"""Periods that one cycle makes up for at most in ``Reference.later``."""
_ROUNDING = 1e-6
"""Share of a period by which path time may be rounded."""


@dataclass(frozen=True, eq=False)
class MotionLimits:
    """What the generator's own motions keep; columns are the six axes in m and rad.

    ``move`` (3, 6): velocity, acceleration, jerk of moves; ``brake`` (2, 6): acceleration and jerk of
    decelerations from a measured speed and of what fades out; ``distance``: longest way of these.
    ``stop_time``: s in which path time stops from full speed, or starts; ``level_time``: s of a change of
    level. ``path``: what the look ahead keeps, None for no look ahead.
    """

    move: FloatArray
    brake: FloatArray
    distance: float
    stop_time: float
    level_time: float = 2.0
    path: PathLimits | None = None


class Reference:
    """The reference generator of the loop; ``motion`` (4, 6) holds pose, rates, accelerations, jerks.

    ``limits`` are what moves, brakes, fades and changes of speed and level keep.
    """

    def __init__(
        self, motion: FloatArray, limits: MotionLimits, period: float = 1e-3, ahead: float = 0.0
    ) -> None:
        self.motion = motion
        self._period = period
        self._ahead = ahead
        self._later = np.zeros((MAX_LATER, 4, 6))
        self.later = self._later[:1]
        """What comes ``ahead`` s after ``motion``, if nothing is asked meanwhile: (m, 4, 6), one for each
        period of the last ``advance``, the newest last. A stream is not known ahead."""
        self.broken = 0
        """Counts how often the motion was begun anew without going on smoothly from the last one."""
        self.stream = stream_block(period)
        """Knots of the path while ``source`` is STREAM, ``period`` s apart: whoever makes it adds them."""
        self.limits = limits
        self.source = Source.REST
        self._number = REST
        self.block = self._state = state = np.zeros(STATE_SIZE)
        """State of the generator (``mastd.control.reference.kernels``): only to be read."""
        self.preview = self._preview = preview_block(limits.path, MAX_WAY * limits.stop_time)
        """Block of the look ahead (``mastd.control.reference.preview``): only to be read."""
        self.path = state[PATH : PATH + 24].reshape(4, 6)
        self._warp = state[WARP : WARP + WARP_SIZE]
        self._level = state[LEVEL : LEVEL + LEVEL_SIZE]
        self._offset = state[OFFSET : OFFSET + 18].reshape(3, 6)
        self._fade = state[FADE : FADE + 2]
        self._start = state[START : START + 6]
        self._target = state[TARGET : TARGET + 6]
        self._rates = state[RATES : RATES + 6]
        self._warp[[SPEED, WANTED]] = 1.0
        self._warp[[MAX_FIRST, MAX_SECOND]] = speed_bounds(limits.stop_time)
        self._level[[LEVEL_TARGET, GAIN]] = 1.0
        self._level[TIME_CONSTANT] = limits.level_time / LAGS_PER_CHANGE
        state[DURATION] = 1.0

    @property
    def time(self) -> float:
        """Time τ on the present path, in seconds."""
        return float(self._warp[TIME])

    @property
    def speed(self) -> float:
        """Speed σ of path time: 1 plays, 0 stands."""
        return float(self._warp[SPEED])

    @property
    def level(self) -> float:
        """Master gain λ of the profile now."""
        return float(self._level[GAIN])

    @property
    def level_target(self) -> float:
        """Master gain that was asked for."""
        return float(self._level[LEVEL_TARGET])

    @property
    def offset_faded(self) -> bool:
        """The pose is the path's: nothing of an earlier motion is left."""
        return bool(self._fade[1] == 0.0)

    @property
    def settled(self) -> bool:
        """No offset is left to fade, and no change of level that would move the table."""
        if not self.offset_faded:
            return False
        return (
            self.source is not Source.PROFILE
            or not self._level[ERROR:TIME_CONSTANT].any()
            or not self.path.any()
        )

    @property
    def standing(self) -> bool:
        """No motion is asked for, and none is left to fade."""
        if not self.offset_faded:
            return False
        if self.source is Source.REST:
            return True
        if self._warp[SPEED] == 0.0 and self._warp[WANTED] == 0.0:
            return True
        return self.source in (Source.MOVE, Source.BRAKE) and self._warp[TIME] >= self._state[DURATION]

    @property
    def blocked(self) -> str:
        """What the path would run into if it were played on; empty for nothing, and while it is to stand."""
        if self._preview[LIMIT] > 0.0 or self._warp[WANTED] == 0.0 or self._preview[WALL] < 0.0:
            return ""
        assert self.limits.path is not None
        return describe_wall(self._preview, self.limits.path)

    def rest(self, pose: FloatArray) -> None:
        """Stand at ``pose`` at once: for a drive that does not follow the set-points. Else use ``stand``."""
        self.path[:] = 0.0
        self.path[0] = pose
        self._begin(Source.REST)
        self._fade[1] = 0.0
        self.broken += 1

    def stand(self) -> None:
        """Stand where the last command was."""
        self.path[:] = 0.0
        self.path[0] = self.motion[0]
        self._begin(Source.REST)
        self._carry(self.path[0])

    def move(self, target: FloatArray) -> float:
        """Go from the last command to ``target``; return the duration in seconds.

        The strokes' and the pose's limits are kept on the way if ``target`` lies within them; lowering goes
        beyond them by design.
        """
        self._start[:] = self.motion[0]
        self._target[:] = target
        duration = move_duration(self._target - self._start, *self.limits.move)
        self._state[DURATION] = duration
        self._begin(Source.MOVE)
        self._carry(self._start)
        self._preview[WALLS] = float(self.limits.path is None or self.limits.path.contain(target))
        return duration

    def play(self, start: FloatArray) -> None:
        """Play the profile from its first pose ``start``; ``advance`` is given its timeline from now on."""
        self._begin(Source.PROFILE)
        self._carry(start * self.level)

    def follow_stream(self) -> None:
        """Follow the knots of ``stream`` from the first one on, which is to be the last command."""
        self._begin(Source.STREAM)
        self._fade[1] = 0.0

    def lacks(self, dt: float) -> bool:
        """Return whether the stream needs another knot before ``dt`` s more of it can be followed."""
        warp, stream = self._warp, self.stream
        stands = warp[SPEED] == 0.0 and warp[WANTED] == 0.0
        return not stands and bool(stream[NEWEST] * stream[PERIOD] < warp[TIME] + (1.0 - _ROUNDING) * dt)

    def brake(self, pose: FloatArray, rates: FloatArray) -> None:
        """Come to rest from ``pose`` and ``rates`` as measured, within the limits.

        Where that would leave the stroke it brakes harder, at most with the links' greatest acceleration.
        """
        self._start[:] = pose
        self._rates[:] = rates
        duration = brake_duration(rates, self.limits.brake, self.limits.distance)
        if self.limits.path is not None:
            share = self.limits.path.share_within(pose, 0.5 * duration * rates)
            hardest = hardest_brake(rates, self.limits.path.acceleration)
            duration = max(share * duration, min(hardest, duration))
        self._state[DURATION] = duration
        self._begin(Source.BRAKE)
        self._fade[1] = 0.0
        self.broken += 1

    def slow(self, speed: float) -> None:
        """Take the speed of path time to ``speed`` (0 or 1) from what it is now, within ``stop_time``."""
        self._warp[WANTED] = speed

    def set_level(self, target: float) -> None:
        """Take the profile's gain to ``target``: at once, or while it plays in ``level_time`` of its time.

        ``level_refusal`` tells what may be asked for.
        """
        level = self._level
        if self.source is Source.PROFILE:
            level[ERROR:TIME_CONSTANT] += level[LEVEL_TARGET] - target
            level[LEVEL_TARGET] = target
            self._preview[NEXT], self._preview[WALL] = 0.0, -1.0  # all points ahead are looked at again
        else:
            level[LEVEL_TARGET] = target
            self._settle_level()

    def rejoin(self, pose: FloatArray, rates: FloatArray) -> None:
        """Go on from ``pose`` and ``rates`` as measured: path time starts from rest, the offset fades out.

        A path that stood stays standing.
        """
        self._warp[[SPEED, FIRST, SECOND]] = 0.0
        self.broken += 1
        self._fade_from(pose - self.path[0], rates, np.zeros(6))

    def advance(self, dt: float, timeline: Timeline | None = None) -> None:
        """Advance path time by ``dt`` seconds and write ``motion``; a profile is read from ``timeline``."""
        source = REST if timeline is None and self.source is Source.PROFILE else self._number
        read = _NOTHING if timeline is None else timeline
        periods = max(round(dt / self._period), 1)
        if periods > MAX_LATER:
            periods = 1
            self.broken += 1
        self.later = self._later[:periods]
        known = self.source is not Source.STREAM
        advance(
            source,
            self._state,
            self.stream,
            self._preview,
            read.coefficients,
            read.first_rows,
            read.intervals,
            read.starts,
            read.repeats,
            dt,
            self.motion,
            self._ahead if known else 0.0,
            self._period,
            self.later,
        )

    def _begin(self, source: Source) -> None:
        """Start a path at full speed; the level is taken over, the look ahead begins anew."""
        self.source, self._number = source, int(source)
        self._warp[:MAX_FIRST] = (0.0, 1.0, 0.0, 0.0, 1.0)
        self._settle_level()
        self._preview[[LIMIT, NEXT, FRESH, WALLS, LAST, WALL]] = (1.0, 0.0, 1.0, 1.0, -1.0, -1.0)

    def _settle_level(self) -> None:
        level = self._level
        level[ERROR:TIME_CONSTANT] = 0.0
        level[GAIN:] = 0.0
        level[GAIN] = level[LEVEL_TARGET]

    def _carry(self, beginning: FloatArray) -> None:
        """Let what the last command has more than a path at rest at ``beginning`` fade out."""
        self._fade_from(self.motion[0] - beginning, self.motion[1], self.motion[2])

    def _fade_from(self, position: FloatArray, rates: FloatArray, accelerations: FloatArray) -> None:
        offset = self._offset
        offset[0], offset[1], offset[2] = position, rates, accelerations
        self._fade[:] = 0.0
        if np.abs(offset).max() > _CONTINUOUS:
            self._fade[1] = fade_duration(offset, self.limits.brake, self.limits.distance)
