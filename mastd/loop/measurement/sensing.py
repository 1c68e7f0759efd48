"""Measurement of a cycle: check and count samples, estimate pose and motion, report fault conditions.

The numbers are computed by one compiled call, ``mastd.loop.measurement.sensing_kernel``, which also writes
them into the frame. After a gap in the samples the following error is not monitored for
``guard.rejoin_time``, while the drive takes up the set-points from where it has bridged to; gaps shorter than
``guard.following_delay`` change nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mastd.arrays import FloatArray, numbers
from mastd.control.estimation.motion_estimate import MotionEstimator
from mastd.control.estimation.pose_estimate import PoseModel, smoothing_factor
from mastd.kernel import entry
from mastd.kinematics.forward import Observer
from mastd.kinematics.ranges import speed_ratios
from mastd.loop.measurement.frame import Frame
from mastd.loop.measurement.sensing_kernel import (
    FOUND,
    FrameColumns,
    SampleStep,
    SensingModel,
    SensingState,
    measure_sample,
)
from mastd.safety.faults import Code, Report, bits
from mastd.safety.feedback import FeedbackFade
from mastd.safety.guard import LOWERING, MOTION, RAISED, RESTING, STOPPING, Guard
from mastd.safety.inspection import JUMPED, NOT_FINITE, decode_rejection
from mastd.safety.pace import CommandLoss, PlantClock, SampleLoss
from mastd.safety.round_trip import LineDelay
from mastd.safety.states import State
from mastd.safety.unasked_motion import UnaskedModel, UnaskedState
from mastd.settings.core.axes import AXES
from mastd.settings.core.base import computed
from mastd.settings.daemon.daemon import DaemonSettings
from mastd.settings.table.actuators import force_readings
from mastd.settings.table.hydraulics import Feedback
from mastd.settings.table.internal_forces import force_patterns
from mastd.settings.table.table import TableSettings
from mastd.wire.plant.messages import Command, Sample, SampleFlag

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
"""Conditions of the guard that are monitored in each state; none in states that are not named."""

UP = frozenset(state for state, mask in WATCHED.items() if mask != RESTING)
"""States in which the table may be clear of its stops."""
# Looking a member up costs 0.1 µs: those of every cycle are looked up once.
_OFF, _LOWERING, _FAULT = State.OFF, State.LOWERING, State.FAULT
STROKE_BIT = bits(Code.STROKE)
READINGS: dict[Feedback, str] = {
    "pressure_difference": "pressure difference",
    "load_cell": "load cell",
}
UNASKED_BIT = bits(Code.UNASKED_MOTION)

SUPPLY_BITS = (
    SampleFlag.SUPPLY_FAULT | SampleFlag.OIL_OVERHEATED | SampleFlag.OIL_LOW | SampleFlag.FILTER_BLOCKED
)
FOLLOWING = bits(Code.FOLLOWING_ERROR, Code.UNASKED_MOTION)
"""What compares with the reference."""


class Sensing:
    """Checks samples and estimates; ``measure`` once a cycle."""

    def __init__(
        self,
        table: TableSettings,
        daemon: DaemonSettings,
        observer: Observer,
        frame: Frame,
        sample: Sample,
        command: Command,
    ) -> None:
        """``command``: the last one sent, by its number."""
        n = len(table.links)
        self.sample = sample
        self._packs = table.packs
        self._supply_pressures = frame.field("sample.supply_pressure") if table.packs else frame.values[:0]
        self._command = command
        self.feedback = FeedbackFade(daemon.round_trip, daemon.unasked_motion, daemon.period_ns * 1e-9)
        """How much the acceleration feedback may do."""
        self._oldest, self._incomparable = daemon.round_trip.fade, daemon.round_trip.stop
        self._line = LineDelay(daemon.round_trip, daemon.period_ns * 1e-9)
        self._line_found: Sequence[Report] = ()
        self._unasked = ""
        self._reports: list[Report] = []
        self.usable = False
        """Whether a sample has come in this cycle that could be used."""
        self.pose_valid = False
        self.round_trip = 1
        """Age in periods of the last sample that has come: commands sent since the one that it answers.

        It goes on while no sample comes, and while samples come that answer none of the newer commands."""
        self.last_ns = 0
        self.pose = frame.field("pose")
        self.pose_rates = frame.field("pose_rate")
        self.pose_accelerations = frame.field("pose_acceleration")
        self.lengths = frame.field("length")
        self.forces = frame.field("force")
        chambers = np.array([kind == "chamber_pressures" for kind in table.feedback])
        self._chambers = np.repeat(chambers, 2)
        self._pressures = frame.field("sample.pressures") if chambers.any() else np.zeros(0)
        self._frame, self._numbers = frame.values, numbers(frame.values)
        self._height = frame.index["pose"] + 2
        self._timeouts = daemon.timeouts
        self._period = daemon.period_ns * 1e-9
        self._corner = daemon.guard.rate_filter
        self._smoothing = smoothing_factor(self._corner, self._period)
        self._guard = Guard(table, daemon.guard, self._period, frame.index, speed_ratios(table))
        self._clock = PlantClock(daemon.guard.clock_difference)
        self._loss = SampleLoss(daemon.guard.missing_share, self._period)
        self._command_loss = CommandLoss(daemon.round_trip, daemon.guard.missing_share, self._period)
        self._motion = MotionEstimator(
            table.sensors, table.gravity, daemon.estimator, observer.of_lengths(table).gain, self._period
        )
        measuring = observer.of_lengths(table)
        pose_model = _pose_model(table, daemon, observer, measuring)
        unasked = daemon.unasked_motion
        unasked_model = UnaskedModel(
            float(computed(unasked.arm)),
            float(computed(unasked.limit)),
            float(unasked.own_ratio),
            float(unasked.cross_ratio),
        )
        self._model = SensingModel(
            FrameColumns.of(frame), pose_model, self._motion.model, self._guard.model, unasked_model
        )
        self._state = SensingState(
            lengths=np.zeros(measuring.geometry.actuators),
            readings=np.zeros(measuring.geometry.actuators),
            redundancy=np.zeros(len(measuring.null_vectors)),
            jacobian=np.zeros((measuring.geometry.actuators, 6)),
            gram=np.zeros((6, 6)),
            motion=self._motion.state,
            guard=self._guard.state,
            unasked=UnaskedState.of(max(1, round(unasked.window / self._period))),
        )
        self._step = SampleStep(0, 0.0, 0.0, 0, 0)
        self._measure_sample = entry(measure_sample, (self._frame, self._step, self._model, self._state))
        self._first_accelerometer = sample.layout.slices["accelerometers"].start
        self._excluded = 0
        self._readings = force_readings(table)
        """Of the forces, in the order of a sample."""
        self._displacements = [one.name for one in table.sensors.displacement]
        self._first_displacement = sample.layout.size - len(self._displacements)
        self._required = (1 << n + len(self._readings)) - 1
        self._required |= (1 << sample.layout.size) - (1 << self._first_displacement)
        self._spools = ((1 << n) - 1) << n + len(self._readings)
        self._spool = sample.field("spools")
        self._actuators = n
        self._types = table.types
        self._arrived: int | None = None
        """Step of the sample before this one."""
        self._accepted: int | None = None
        """Step of the last sample that could be used; None if there is none to compare with."""
        self._risen = False
        lowest = observer.geometry.lowest_heave
        self._risen_height = lowest + table.limits.stroke_margin if lowest < 0.0 else -np.inf
        # A gap that is shorter than a following error may last cannot become one.
        self._unnoticed_steps = 1 + round(daemon.guard.following_delay / self._period)
        self._bridged_ns = -(1 << 62)
        self._rejoin_ns = round(daemon.guard.rejoin_time * 1e9)
        self._bad = 0
        self._recent = False
        self._standing: tuple[Report, ...] = ()
        self._period_ns = daemon.period_ns
        self._stale_ns = round(daemon.timeouts.sample_stale * 1e9)
        self._bad_limit = round(daemon.guard.sample_delay / self._period)

    @property
    def smoothed_pose(self) -> FloatArray:
        """Pose (6,) of C filtered by the estimate of the motion: continuous where samples are missing."""
        return self._motion.pose

    def chamber_pressures(self, pressures: FloatArray) -> None:
        """Write the pressures (2 n,) of the newest sample in Pa, calibrated, NaN where there are none.

        Both chambers of each actuator in turn.
        """
        calibration = self._model.pose.force_calibration[: len(self._pressures)]
        pressures[:] = np.nan
        pressures[self._chambers] = calibration[:, 0] * self._pressures + calibration[:, 1]

    @property
    def excluded_accelerometers(self) -> int:
        """Number of accelerometers that the estimate of the motion does without."""
        return self._excluded.bit_count()

    @property
    def trusted(self) -> bool:
        """Whether the feedback is valid: a pose was found from the last sample, which is not stale.

        A cycle between two samples, as free-running clocks have them, changes nothing.
        """
        return self.pose_valid and self._bad == 0 and self._recent

    @property
    def young(self) -> bool:
        """Whether the last sample shows the present: its round trip is one that the feedback works with."""
        return self.round_trip <= self._oldest

    @property
    def following_peak(self) -> FloatArray:
        """Maximum following error (n,) of each actuator in m since the last reset, while monitored."""
        return self._guard.following_peak

    def reset_following_peak(self) -> None:
        """Reset the peaks of the following error."""
        self._guard.reset_following_peak()

    def readmit(self) -> None:
        """Use every accelerometer again that was excluded, and the acceleration feedback."""
        self._motion.readmit()
        self._excluded = 0
        self.feedback.reset()

    def measure(
        self, received: int, now_ns: int, skipped: int, state: State, enabled: bool = True
    ) -> list[Report]:
        """Check the newest sample of those ``received``, estimate, and compare with the limits of ``state``.

        Return the conditions of this cycle.

        The commands in the frame are last cycle's, which this sample answers. ``enabled``: the drive follows
        them; in a fault without that it lowers the table, and nothing is left to monitor. In a cycle between
        two samples the conditions of the last one continue. The time in which the loop itself has
        ``skipped`` periods is not the drive's: samples may still be on their way.
        """
        unanswered = self._command.sequence - self.sample.command_sequence
        self.round_trip = 1 + unanswered if unanswered > 0 else 1
        self._measure(received, now_ns, skipped, state, enabled)
        age = self.round_trip if enabled else 1
        if received or not enabled:
            self._line_found = self._line.account(age, enabled)
        self._reports += self._line_found  # without samples it stands: that none come is told as such
        self._reports += self.feedback.advance(age, self._unasked if enabled else "")
        return self._reports

    def _measure(self, received: int, now_ns: int, skipped: int, state: State, enabled: bool) -> None:
        self._reports = []
        self.usable = False
        if skipped and not received:
            self.last_ns = min(now_ns, self.last_ns + skipped * self._period_ns)
        self._recent = now_ns - self.last_ns < self._stale_ns or received > 0
        if received == 0:
            self._reports += self._standing
            self._report_absence((now_ns - self.last_ns) * 1e-9)
            return
        self._check(received, now_ns)
        if enabled:
            self._reports += self._command_loss.count(self.sample.step, self.sample.command_sequence)
        else:
            self._command_loss.reset()
        if self.usable:
            self._estimate(_OFF if state is _FAULT and not enabled else state, enabled)
        self._standing = tuple(self._reports)

    def _check(self, received: int, now_ns: int) -> None:
        """Check sequence, clock, flags and validity bits of the newest sample."""
        sample = self.sample
        self.last_ns = now_ns
        loss = self._loss.count(sample.sequence, received)
        if loss:
            self._reports.append(Report(Code.SAMPLE_MISSING, loss))
        clock = self._clock.inspect(now_ns, sample.time_ns, self.round_trip * self._period_ns)
        if clock:
            self._reports.append(Report(Code.CLOCK, clock))
        if sample.flags:
            self._read_flags(sample.flags)
        if self._arrived is not None and sample.step - self._arrived > self._unnoticed_steps:
            self._bridged_ns = now_ns
        self._arrived = sample.step
        lost = ~sample.valid & self._spools
        if lost:
            self._spool[[bool(lost >> 3 * self._actuators + k & 1) for k in range(self._actuators)]] = np.nan
        invalid = ~sample.valid & self._required
        if invalid:
            self._reject(Code.SAMPLE_INVALID, (invalid & -invalid).bit_length() - 1)
        else:
            self.usable = True

    def _estimate(self, state: State, enabled: bool) -> None:
        steps = self.sample.step - self._accepted if self._accepted is not None else 0
        dt, smoothing = self._period, self._smoothing
        if steps != 1:
            dt = max(steps, 0) * self._period
            smoothing = smoothing_factor(self._corner, dt) if dt > 0.0 else 0.0
        watched = WATCHED.get(state, 0)
        above = self._numbers[self._height] > self._risen_height
        self._risen = above if state is _LOWERING else state in UP and (self._risen or above)
        if not self._risen:
            watched &= ~STROKE_BIT  # a table that was stopped near its stops is no fault
        if self.last_ns - self._bridged_ns < self._rejoin_ns:
            watched &= ~FOLLOWING
        if not enabled or self.round_trip > self._incomparable:
            watched &= ~UNASKED_BIT
        valid = self.sample.valid >> self._first_accelerometer
        last = self._step
        if steps != last.steps or valid != last.valid or watched != last.watched:
            self._step = SampleStep(steps, dt, smoothing, valid, watched)
        mask: int = self._measure_sample(self._frame, self._step, self._model, self._state)
        if mask < 0:
            self.usable = False
            reason, channel = decode_rejection(mask)
            self._reject(self._rejection_code(reason, channel), self._position(channel))
            return
        self._accepted = self.sample.step
        self._bad = 0
        self.pose_valid = bool(mask & FOUND)
        self._excluded = self._motion.excluded
        if self._excluded:
            self._reports.append(Report(Code.ACCELEROMETER, self._motion.describe(self._excluded)))
        self._unasked = self._describe_unasked() if mask & UNASKED_BIT else ""
        mask &= ~UNASKED_BIT
        if mask & ~FOUND:
            for code in Code:
                if code and mask >> code & 1:
                    self._reports.append(Report(code, self._describe(code)))

    def _describe_unasked(self) -> str:
        axis, value, limit = self._state.unasked.found
        arm, unit = (1.0, "m/s2") if axis < 3 else (self._model.unasked.arm, "rad/s2")
        found, most = (f"{number / arm:.2f} {unit}" for number in (value, limit))
        return f"{AXES[int(axis)]} {found} rms off the reference, limit {most}"

    def _describe(self, code: Code) -> str:
        if code in (Code.SENSOR_FROZEN, Code.SPOOL_LOST):
            return self._sensor_name(self._actuators + int(self._guard.state.detail[code, 0]))
        return self._guard.describe(code)

    def _rejection_code(self, reason: int, channel: int) -> Code:
        if reason == NOT_FINITE:
            return Code.SAMPLE_NOT_FINITE
        if reason == JUMPED:
            return Code.LENGTH_JUMP
        lengths = self._actuators + len(self._displacements)
        return Code.LENGTH_RANGE if channel < lengths else Code.PRESSURE_RANGE

    def _position(self, channel: int) -> int:
        """Return where in the sample a reading is that was found implausible: all lengths, then pressures."""
        n, beside = self._actuators, len(self._displacements)
        if n <= channel < n + beside:
            return self._first_displacement + channel - n
        return channel if channel < n else channel - beside

    def _reject(self, code: Code, channel: int) -> None:
        """Count a sample that cannot be used; report it when it is one too many in a row."""
        self._bad += 1
        self._loss.reject()
        if self._bad > self._bad_limit:
            self._reports.append(Report(code, self._sensor_name(channel)))

    def _report_absence(self, age: float) -> None:
        if age >= self._timeouts.plant_lost:
            self._reports.append(Report(Code.PLANT_LOST, f"no sample for {age:.2f} s"))
        elif age >= self._timeouts.sample_stale:
            self._reports.append(Report(Code.SAMPLE_STALE, f"newest sample {age * 1e3:.0f} ms old"))

    def _read_flags(self, flags: int) -> None:
        if flags & SampleFlag.ESTOP:
            self._reports.append(Report(Code.ESTOP, "e-stop input of the drive"))
        if flags & SUPPLY_BITS:
            names = [
                str(flag.name).lower().replace("_", " ") for flag in SampleFlag if flag & flags & SUPPLY_BITS
            ]
            self._reports.append(Report(Code.SUPPLY_FAULT, f"{', '.join(names)}{self.supplies_text()}"))
        if flags & SampleFlag.DRIVE_TIMED_OUT:
            self._reports.append(Report(Code.DRIVE_TIMED_OUT, ""))

    def supplies_text(self) -> str:
        """Return the pressure of each supply against its high stage behind a colon, "" without any."""
        told = ", ".join(
            f"{name} {1e-5 * pressure:.0f} of {1e-5 * supply.pressure:.0f} bar".lstrip()
            for (name, supply), pressure in zip(self._packs.items(), self._supply_pressures, strict=True)
        )
        return f": {told}" if told else ""

    def _sensor_name(self, channel: int) -> str:
        n = self._actuators
        if channel >= self._first_displacement:
            return f"displacement transducer {self._displacements[channel - self._first_displacement]}"
        if channel < n:
            return f"length of actuator {channel + 1}"
        channel -= n
        if channel >= len(self._readings):
            actuator = channel - len(self._readings)
            what = "speed" if self._types[actuator].electric is not None else "spool"
            return f"{what} of actuator {actuator + 1}"
        if channel < len(self._pressures):
            what = f"pressure {1 + channel % 2}"
        else:
            what = READINGS[self._types[self._readings[channel].actuator].feedback]
        return f"{what} of actuator {self._readings[channel].actuator + 1}"


def _pose_model(
    table: TableSettings, daemon: DaemonSettings, observer: Observer, measuring: Observer
) -> PoseModel:
    """Return the constants of the estimate; ``measuring``: the observer of all lengths."""
    kinematics = daemon.kinematics
    lengths = [(one.transducer.scale, one.transducer.offset) for one in table.links]
    lengths += [(one.scale, one.offset) for one in table.sensors.displacement]
    forces, n = force_readings(table), len(table.links)
    return PoseModel(
        length_calibration=np.array(lengths),
        force_calibration=np.array([[one.transducer.scale, one.transducer.offset] for one in forces]).reshape(
            -1, 2
        ),
        owners=np.array([one.actuator for one in forces], dtype=np.int64),
        weights=np.array([one.force for one in forces]),
        measured_forces=n if table.measures_forces else 0,
        null_vectors=np.ascontiguousarray(measuring.null_vectors),
        force_vectors=np.ascontiguousarray(observer.null_vectors),
        patterns=np.array([pattern.vector for pattern in force_patterns(table)]).reshape(-1, n),
        legs=measuring.geometry.legs,
        gain=np.ascontiguousarray(measuring.gain),
        limits=measuring.limits._replace(
            tolerance=float(kinematics.tolerance),
            update_tolerance=float(kinematics.update_tolerance),
            maximum_updates=kinematics.maximum_updates or measuring.updates(kinematics.update_tolerance),
        ),
    )
