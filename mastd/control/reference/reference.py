"""The reference in pose space: one generator for rest, point-to-point moves, profiles, hold, stop and rejoin.

Whatever is followed is a path p(τ) over its own time τ. Slowing down and going on again changes the *speed
of that time*, σ = dτ/dt, between 0 and 1 (``mastd.control.reference.time_scaling``); position, rate,
acceleration and jerk follow by the chain rule

    x = p,   ẋ = p′σ,   ẍ = p″σ² + p′σ̇,   x⃛ = p‴σ³ + 3p″σσ̇ + p′σ̈.

So hold, stop and resume never leave the path that ``check`` has proved, no actuator is limited alone, and the
speeds on it never exceed the proved ones. A profile's path is scaled by the master gain before that
(``mastd.control.reference.master_gain``), and a preview slows it down where a limit would not be kept
(``mastd.control.reference.preview``). Two more pieces make every other transition continuous:

- an *offset* added to the path and faded out by quintics that start with the position, the rate and the
  acceleration found: whatever is followed next begins where the last command was, as fast as it was (and
  after the drive has bridged a stall by itself, where the table really is);
- a *brake* that takes the measured position and rate to rest (tracking fault), while an offset fades out
  what the last command was ahead of them.

Poses are [x, y, z, roll, pitch, yaw] of C against neutral in m and rad, rates are Euler rates, times seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mastd.arrays import FloatArray, numbers
from mastd.control.reference.kernels import (
    PROFILE,
    REST,
    TIMES,
    Paths,
    Source,
    Spline,
    advance,
    state_arrays,
)
from mastd.control.reference.kernels import (
    STREAM as FROM_STREAM,
)
from mastd.control.reference.master_gain import LAGS_PER_CHANGE, MASTER_GAIN
from mastd.control.reference.paths import (
    brake_duration,
    fade_duration,
    hardest_brake,
    move_duration,
    rate_way,
)
from mastd.control.reference.preview import PREVIEW, PathLimits, describe_wall, preview_arrays
from mastd.control.reference.stream import STREAM, stream_block
from mastd.control.reference.time_scaling import MAX_WAY, TIME_SCALING, speed_bounds
from mastd.kernel import entry
from mastd.motion.profile.timeline import Timeline, at_rest

_NOTHING = at_rest()
"""The timeline that is passed while none is loaded."""
_CONTINUOUS = 1e-12
"""Metres, radians and their rates up to which a path begins where the last command was: rounding."""
MAX_LATER = 32
"""Periods that one cycle makes up for at most in ``Reference.later``."""
_ROUNDING = 1e-6
"""Ratio of a period by which path time may be rounded."""


@dataclass(frozen=True, eq=False)
class MotionLimits:
    """What the generator's own motions keep; columns are the six axes in m and rad.

    ``move`` (3, 6): velocity, acceleration, jerk of moves; ``brake`` (2, 6): acceleration and jerk of
    decelerations from a measured speed and of what fades out; ``distance``: longest way of these.
    ``stop_time``: s in which path time stops from full speed, or starts; ``level_time``: s of a change of
    the master gain. ``path``: what the preview keeps, None for no preview.
    """

    move: FloatArray
    brake: FloatArray
    distance: float
    stop_time: float
    level_time: float = 2.0
    path: PathLimits | None = None


class Reference:
    """The reference generator of the loop; ``motion`` (4, 6) holds pose, rates, accelerations, jerks.

    ``limits`` are what moves, brakes, fades and changes of speed and master gain keep.
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
        self._number = int(Source.REST)
        self.state = state = state_arrays()
        """State of the generator (``mastd.control.reference.kernels``): only to be read."""
        self.preview = preview_arrays(limits.path, MAX_WAY * limits.stop_time)
        """Arrays of the preview (``mastd.control.reference.preview``): only to be read."""
        self.path = state.path
        self._fade = state.times[TIMES.fade :]
        self._points = self.preview.state
        self._scaling_numbers, self._point_numbers = numbers(state.scaling), numbers(self._points)
        scaling, gain = state.scaling, state.gain
        scaling[[TIME_SCALING.speed, TIME_SCALING.requested]] = 1.0
        bounds = speed_bounds(limits.stop_time)
        scaling[[TIME_SCALING.max_rate, TIME_SCALING.max_acceleration]] = bounds
        gain[[MASTER_GAIN.target, MASTER_GAIN.gain]] = 1.0
        gain[MASTER_GAIN.time_constant] = limits.level_time / LAGS_PER_CHANGE
        state.times[TIMES.duration] = 1.0
        self._advance: Callable[..., None] | None = None
        self._read, self._paths = _NOTHING, self._paths_of(_NOTHING)

    @property
    def time(self) -> float:
        """Time τ on the present path, in seconds."""
        return self._scaling_numbers[TIME_SCALING.time]

    @property
    def speed(self) -> float:
        """Speed σ of path time: 1 plays, 0 stands."""
        return self._scaling_numbers[TIME_SCALING.speed]

    @property
    def gain(self) -> float:
        """Master gain λ of the profile now."""
        return float(self.state.gain[MASTER_GAIN.gain])

    @property
    def gain_target(self) -> float:
        """Requested master gain."""
        return float(self.state.gain[MASTER_GAIN.target])

    @property
    def offset_faded(self) -> bool:
        """The pose is the path's: nothing of an earlier motion is left."""
        return bool(self._fade[1] == 0.0)

    @property
    def settled(self) -> bool:
        """No offset is left to fade, and no change of the master gain that would move the table."""
        if not self.offset_faded:
            return False
        return (
            self._number != PROFILE
            or not self.state.gain[MASTER_GAIN.error : MASTER_GAIN.time_constant].any()
            or not self.path.any()
        )

    @property
    def standing(self) -> bool:
        """No motion is asked for, and none is left to fade."""
        if not self.offset_faded:
            return False
        if self.source is Source.REST:
            return True
        if (
            self.state.scaling[TIME_SCALING.speed] == 0.0
            and self.state.scaling[TIME_SCALING.requested] == 0.0
        ):
            return True
        return (
            self.source in (Source.MOVE, Source.BRAKE)
            and self.state.scaling[TIME_SCALING.time] >= self.state.times[TIMES.duration]
        )

    @property
    def blocked(self) -> str:
        """What the path would run into if it were played on; empty for nothing, and while it is to stand."""
        if (
            self._point_numbers[PREVIEW.limit] > 0.0
            or self.state.scaling[TIME_SCALING.requested] == 0.0
            or self._points[PREVIEW.wall] < 0.0
        ):
            return ""
        assert self.limits.path is not None
        return describe_wall(self.preview, self.limits.path)

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
        self.state.start[:] = self.motion[0]
        self.state.target[:] = target
        duration = move_duration(self.state.target - self.state.start, *self.limits.move)
        self.state.times[TIMES.duration] = duration
        self._begin(Source.MOVE)
        self._carry(self.state.start)
        self._points[PREVIEW.walls] = float(self.limits.path is None or self.limits.path.contain(target))
        return duration

    def play(self, start: FloatArray) -> None:
        """Play the profile from its first pose ``start``; ``advance`` is given its timeline from now on."""
        self._begin(Source.PROFILE)
        self._carry(start * self.gain)

    def follow_stream(self) -> None:
        """Follow the knots of ``stream`` from the first one on, which is to be the last command."""
        self._begin(Source.STREAM)
        self._fade[1] = 0.0

    def lacks(self, dt: float) -> bool:
        """Return whether the stream needs another knot before ``dt`` s more of it can be followed."""
        scaling, stream = self.state.scaling, self.stream
        stands = scaling[TIME_SCALING.speed] == 0.0 and scaling[TIME_SCALING.requested] == 0.0
        return not stands and bool(
            stream[STREAM.newest] * stream[STREAM.period]
            < scaling[TIME_SCALING.time] + (1.0 - _ROUNDING) * dt
        )

    def brake(self, pose: FloatArray, rates: FloatArray) -> None:
        """Come to rest from ``pose`` and ``rates`` as measured, within the limits.

        What the last command was ahead of the measured pose fades out: a step would shake the table. Where
        table or command would leave the stroke it brakes harder, at most with the actuators' maximum
        acceleration.
        """
        brake = self.limits.brake
        lead = np.array([self.motion[0] - pose, self.motion[1] - rates, self.motion[2]])
        self.state.start[:] = pose
        self.state.rates[:] = rates
        duration = brake_duration(rates, brake, self.limits.distance)
        if self.limits.path is not None:
            way = 0.5 * duration * rates
            commanded = self.motion[0] + rate_way(lead[1], fade_duration(lead, brake, self.limits.distance))
            ratio = min(self.limits.path.ratio_within(start, way) for start in (pose, commanded))
            hardest = hardest_brake(rates, self.limits.path.acceleration)
            duration = max(ratio * duration, min(hardest, duration))
        self.state.times[TIMES.duration] = duration
        self._begin(Source.BRAKE)
        self._fade_from(*lead)

    def slow(self, speed: float) -> None:
        """Take the speed of path time to ``speed`` (0 or 1) from what it is now, within ``stop_time``."""
        self.state.scaling[TIME_SCALING.requested] = speed

    def set_gain(self, target: float) -> None:
        """Take the profile's master gain to ``target``: at once, or in ``level_time`` while it plays.

        ``gain_refusal`` says what may be asked for.
        """
        gain = self.state.gain
        if self.source is Source.PROFILE:
            gain[MASTER_GAIN.error : MASTER_GAIN.time_constant] += gain[MASTER_GAIN.target] - target
            gain[MASTER_GAIN.target] = target
            self._points[PREVIEW.next], self._points[PREVIEW.wall] = (
                0.0,
                -1.0,
            )  # all points ahead are evaluated again
        else:
            gain[MASTER_GAIN.target] = target
            self._settle_gain()

    def rejoin(self, pose: FloatArray, rates: FloatArray) -> None:
        """Go on from ``pose`` and ``rates`` as measured: path time starts from rest, the offset fades out.

        A path that stood stays standing.
        """
        self.state.scaling[[TIME_SCALING.speed, TIME_SCALING.rate, TIME_SCALING.acceleration]] = 0.0
        self.broken += 1
        self._fade_from(pose - self.path[0], rates, np.zeros(6))

    def advance(self, dt: float, timeline: Timeline | None = None) -> None:
        """Advance path time by ``dt`` seconds and write ``motion``; a profile is read from ``timeline``."""
        source = REST if timeline is None and self._number == PROFILE else self._number
        read = _NOTHING if timeline is None else timeline
        if read is not self._read:
            self._read, self._paths = read, self._paths_of(read)
        periods = max(round(dt / self._period), 1)
        if periods > MAX_LATER:
            periods = 1
            self.broken += 1
        self.later = self._later[:periods]
        ahead = 0.0 if self._number == FROM_STREAM else self._ahead  # a stream is not known ahead
        arguments = (source, self._paths, self.preview, (dt, ahead, self._period), self.motion, self.later)
        if self._advance is None:
            self._advance = entry(advance, arguments)
        self._advance(*arguments)

    def _paths_of(self, timeline: Timeline) -> Paths:
        spline = Spline(
            timeline.coefficients, timeline.first_rows, timeline.intervals, timeline.starts, timeline.repeats
        )
        return Paths(self.state, self.stream, spline)

    def _begin(self, source: Source) -> None:
        """Start a path at full speed; the master gain is taken over, the preview begins anew."""
        self.source, self._number = source, int(source)
        self.state.scaling[: TIME_SCALING.max_rate] = (0.0, 1.0, 0.0, 0.0, 1.0)
        self._settle_gain()
        points = self._points
        points[[PREVIEW.limit, PREVIEW.at_start, PREVIEW.walls]] = 1.0
        points[PREVIEW.next], points[PREVIEW.last], points[PREVIEW.wall] = 0.0, -1.0, -1.0

    def _settle_gain(self) -> None:
        gain = self.state.gain
        gain[MASTER_GAIN.error : MASTER_GAIN.time_constant] = 0.0
        gain[MASTER_GAIN.gain :] = 0.0
        gain[MASTER_GAIN.gain] = gain[MASTER_GAIN.target]

    def _carry(self, beginning: FloatArray) -> None:
        """Let what the last command has more than a path at rest at ``beginning`` fade out."""
        self._fade_from(self.motion[0] - beginning, self.motion[1], self.motion[2])

    def _fade_from(self, position: FloatArray, rates: FloatArray, accelerations: FloatArray) -> None:
        offset = self.state.offset
        offset[0], offset[1], offset[2] = position, rates, accelerations
        self._fade[:] = 0.0
        if np.abs(offset).max() > _CONTINUOUS:
            self._fade[1] = fade_duration(offset, self.limits.brake, self.limits.distance)
