"""The first half of a cycle: is the sample usable, what is the table's pose, which conditions are faults?"""

from __future__ import annotations

import numpy as np

from mastd.arrays import FloatArray
from mastd.control.estimation.estimate import smoothing_factor
from mastd.control.estimation.motion_estimate import MotionEstimator
from mastd.control.estimation.motion_kernels import LEFT_OUT
from mastd.kinematics.forward import Observer
from mastd.loop.measurement.frame import Frame
from mastd.loop.measurement.sensing_kernel import FOUND, Constants, sense
from mastd.safety.faults import Code, Report, bits
from mastd.safety.guard import LOWERING, MOTION, RAISED, RESTING, STOPPING, Guard
from mastd.safety.inspection import JUMPED, NOT_FINITE, REASON
from mastd.safety.pace import PlantClock
from mastd.safety.states import State
from mastd.settings.daemon.daemon import DaemonSettings
from mastd.settings.table.table import TableSettings
from mastd.wire.plant.messages import Sample, SampleFlag

WATCHED: dict[State, int] = {
    State.LOW: RESTING,
    State.HIGH: RESTING,
    State.RAISING: MOTION,
    State.READY: RAISED,
    State.ARMED: RAISED,
    State.RUNNING: RAISED,
    State.HOLD: RAISED,
    State.STOPPING: STOPPING,
    State.LOWERING: LOWERING,
    State.FAULT: RAISED,
}
"""Which conditions of the guard each state watches; states that are not named watch none."""

UP = frozenset(state for state, mask in WATCHED.items() if mask != RESTING)
"""States in which the table may stand away from its stops."""
STROKE_BIT = bits(Code.STROKE)

SUPPLY_BITS = (
    SampleFlag.SUPPLY_FAULT | SampleFlag.OIL_OVERHEATED | SampleFlag.OIL_LOW | SampleFlag.FILTER_BLOCKED
)
FOLLOWING = bits(Code.FOLLOWING_ERROR)
MISSING_WINDOW_S = 1.0


class Sensing:
    """Checks samples and estimates; ``reports`` holds this cycle's fault conditions."""

    def __init__(
        self,
        table: TableSettings,
        daemon: DaemonSettings,
        observer: Observer,
        frame: Frame,
        sample: Sample,
    ) -> None:
        n = len(table.links)
        self.sample = sample
        self.reports: list[Report] = []
        self.usable = False
        self.pose_valid = False
        self.last_ns = 0
        self.pose = frame.field("pose")
        self.pose_rates = frame.field("pose_rate")
        self.pose_accelerations = frame.field("pose_acceleration")
        self.lengths = frame.field("length")
        self.forces = frame.field("force")
        self._raw_pressures = frame.field("sample.pressures")
        transducers = [sensor for link in table.links for sensor in link.pressure_transducers]
        self._pressure_scales = np.array([sensor.scale for sensor in transducers])
        self._pressure_offsets = np.array([sensor.offset for sensor in transducers])
        self._frame = frame.values
        self._timeouts = daemon.timeouts
        self._missing_share = daemon.guard.missing_share
        self._period = daemon.period_ns * 1e-9
        self._corner = daemon.guard.rate_filter
        self._smoothing = smoothing_factor(self._corner, self._period)
        self._guard = Guard(table, daemon.guard, self._period, frame.index)
        self._clock = PlantClock(daemon.guard.clock_difference)
        kinematics = daemon.kinematics
        self._constants = Constants(
            table,
            observer,
            frame,
            self._guard.limits,
            (kinematics.tolerance, kinematics.update_tolerance),
            kinematics.maximum_updates,
        )
        self._state = np.zeros(8 * n + 36)
        self._motion = MotionEstimator(
            table.sensors, table.gravity, daemon.estimator, observer.gain, self._period
        )
        self._first_accelerometer = sample.layout.slices["accelerometers"].start
        self._required = (1 << 3 * n) - 1
        self._spools = ((1 << n) - 1) << 3 * n
        self._spool = sample.field("spools")
        self._links = n
        self._sequence: int | None = None
        self._arrived: int | None = None
        """Step of the sample before this one."""
        self._believed: int | None = None
        """Step of the last sample that could be used; None if there is none to compare with."""
        self._risen = False
        self._risen_height = table.limits.stroke_margin - min(link.stroke for link in table.links)
        # A gap that is shorter than a following error may last cannot become one.
        self._unnoticed_steps = 1 + round(daemon.guard.following_delay / self._period)
        self._bridged_ns = -(1 << 62)
        self._rejoin_ns = round(daemon.guard.rejoin_time * 1e9)
        self._bad = 0
        self._fresh_enough = False
        self._fresh = False
        self._standing: tuple[Report, ...] = ()
        self._period_ns = daemon.period_ns
        self._stale_ns = round(daemon.timeouts.sample_stale * 1e9)
        self._bad_limit = round(daemon.guard.sample_delay / self._period)
        self._missing = 0
        self._received = 0
        self._window = round(MISSING_WINDOW_S / self._period)
        self._loss = ""

    @property
    def smoothed_pose(self) -> FloatArray:
        """Pose (6,) of C as the motion's estimate has it: between samples and lengths it goes on smoothly."""
        return self._motion.state[:6]

    @property
    def pressures(self) -> FloatArray:
        """Pressures (2 n,) of the newest sample in Pa, calibrated: both chambers of each link in turn."""
        pressures: FloatArray = self._pressure_scales * self._raw_pressures + self._pressure_offsets
        return pressures

    @property
    def accelerometers_out(self) -> int:
        """Accelerometers that the estimate of the motion does without."""
        return int(self._motion.counters[LEFT_OUT]).bit_count()

    @property
    def trusted(self) -> bool:
        """The feedback can be acted on: a pose was found from the last sample, which is not stale.

        A cycle between two samples, as free-running clocks have them, changes nothing.
        """
        return self.pose_valid and self._bad == 0 and self._fresh_enough

    @property
    def following_peak(self) -> FloatArray:
        """Greatest following error (n,) of each link in m since the last reset, while it was watched."""
        return self._guard.following_peak

    def reset_following_peak(self) -> None:
        """Start the peaks of the following error anew."""
        self._guard.reset_following_peak()

    def take_accelerometers_in_again(self) -> None:
        """Use and judge again every accelerometer that was left out."""
        self._motion.reset()

    def take(self, fresh: int, now_ns: int, skipped: int = 0) -> None:
        """Check that there is a sample, that it is in order and that its numbers can be used.

        In a cycle between two samples the conditions of the last one go on standing. The time in which the
        loop itself has ``skipped`` periods is not the plant's: samples may still be on their way.
        """
        self.reports.clear()
        self.usable = False
        self._fresh = fresh > 0
        if skipped and not fresh:
            self.last_ns = min(now_ns, self.last_ns + skipped * self._period_ns)
        self._fresh_enough = now_ns - self.last_ns < self._stale_ns or fresh > 0
        if fresh == 0:
            self.reports += self._standing
            self._absent((now_ns - self.last_ns) * 1e-9)
            return
        sample = self.sample
        self.last_ns = now_ns
        self._count_missing(fresh)
        clock = self._clock.inspect(now_ns, sample.time_ns)
        if clock:
            self.reports.append(Report(Code.CLOCK, clock))
        if sample.flags:
            self._read_flags(sample.flags)
        if self._arrived is not None and sample.step - self._arrived > self._unnoticed_steps:
            self._bridged_ns = now_ns
        self._arrived = sample.step
        lost = ~sample.valid & self._spools
        if lost:
            self._spool[[bool(lost >> 3 * self._links + k & 1) for k in range(self._links)]] = np.nan
        invalid = ~sample.valid & self._required
        if invalid:
            self._refuse(Code.SAMPLE_INVALID, (invalid & -invalid).bit_length() - 1)
        else:
            self.usable = True

    def sense(self, state: State, enabled: bool = True) -> None:
        """Find pose, rates, forces and residuals, and compare with the limits that ``state`` watches.

        The commands in the frame are last cycle's, which this sample answers. ``enabled``: the drive follows
        them; a fault without that lets the table down, and nothing is left to watch.
        """
        if self.usable:
            self._sense(State.OFF if state is State.FAULT and not enabled else state)
        if self._fresh:
            self._standing = tuple(self.reports)

    def _sense(self, state: State) -> None:
        steps = self.sample.step - self._believed if self._believed is not None else 0
        dt, smoothing = self._period, self._smoothing
        if steps != 1:
            dt = max(steps, 0) * self._period
            smoothing = smoothing_factor(self._corner, dt) if dt > 0.0 else 0.0
        watched = WATCHED.get(state, 0)
        above = bool(self.pose[2] > self._risen_height)
        self._risen = above if state is State.LOWERING else state in UP and (self._risen or above)
        if not self._risen:
            watched &= ~STROKE_BIT  # a table that was stopped beside its stops is no fault
        if self.last_ns - self._bridged_ns < self._rejoin_ns:
            watched &= ~FOLLOWING
        guard, motion = self._guard, self._motion
        mask = sense(
            self._frame,
            self._constants.places,
            self._constants.values,
            self._state,
            guard.scalars,
            guard.bounds,
            guard.memory,
            guard.counts,
            guard.delays,
            guard.detail,
            watched,
            dt,
            smoothing,
            self.sample.valid >> self._first_accelerometer,
            steps,
            motion.constants,
            motion.sizes,
            motion.state,
            motion.counters,
            guard.readings,
        )
        if mask < 0:
            self.usable = False
            reason, place = divmod(-mask - 1, REASON)
            self._refuse(self._why(reason, place), place)
            return
        self._believed = self.sample.step
        self._bad = 0
        self.pose_valid = bool(mask & FOUND)
        if motion.counters[LEFT_OUT]:
            self.reports.append(Report(Code.ACCELEROMETER, motion.describe(int(motion.counters[LEFT_OUT]))))
        if mask & ~FOUND:
            for code in Code:
                if code and mask >> code & 1:
                    self.reports.append(Report(code, self._describe(code)))

    def _describe(self, code: Code) -> str:
        if code in (Code.SENSOR_FROZEN, Code.SPOOL_LOST):
            return self._sensor_name(self._links + int(self._guard.detail[code, 0]))
        return self._guard.describe(code)

    def _why(self, reason: int, place: int) -> Code:
        if reason == NOT_FINITE:
            return Code.SAMPLE_NOT_FINITE
        if reason == JUMPED:
            return Code.LENGTH_JUMP
        return Code.LENGTH_RANGE if place < self._links else Code.PRESSURE_RANGE

    def _refuse(self, code: Code, place: int) -> None:
        """Count a sample that cannot be used; report it when it is one too many in a row."""
        self._bad += 1
        self._missing += 1
        if self._bad > self._bad_limit:
            self.reports.append(Report(code, self._sensor_name(place)))

    def _absent(self, age: float) -> None:
        if age >= self._timeouts.plant_lost:
            self.reports.append(Report(Code.PLANT_LOST, f"no sample for {age:.2f} s"))
        elif age >= self._timeouts.sample_stale:
            self.reports.append(Report(Code.SAMPLE_STALE, f"newest sample {age * 1e3:.0f} ms old"))

    def _count_missing(self, fresh: int) -> None:
        """Count samples lost on the way; their share of a second stands until that of the next is known."""
        sequence = self.sample.sequence
        if self._sequence is not None:
            self._missing += max(0, sequence - self._sequence - fresh)
        self._sequence = sequence
        self._received += fresh
        if self._received >= self._window:
            share = self._missing / (self._received + self._missing)
            self._loss = (
                f"{share:.1%} of the samples within one second" if share > self._missing_share else ""
            )
            self._received = self._missing = 0
        if self._loss:
            self.reports.append(Report(Code.SAMPLE_MISSING, self._loss))

    def _read_flags(self, flags: int) -> None:
        if flags & SampleFlag.ESTOP:
            self.reports.append(Report(Code.ESTOP, "e-stop input of the drive"))
        if flags & SUPPLY_BITS:
            names = [
                str(flag.name).lower().replace("_", " ") for flag in SampleFlag if flag & flags & SUPPLY_BITS
            ]
            self.reports.append(Report(Code.SUPPLY_FAULT, ", ".join(names)))
        if flags & SampleFlag.DRIVE_TIMED_OUT:
            self.reports.append(Report(Code.DRIVE_TIMED_OUT, ""))

    def _sensor_name(self, place: int) -> str:
        n = self._links
        if place < n:
            return f"length of actuator {place + 1}"
        if place >= 3 * n:
            return f"spool of actuator {place - 3 * n + 1}"
        link, chamber = divmod(place - n, 2)
        return f"pressure {chamber + 1} of actuator {link + 1}"
