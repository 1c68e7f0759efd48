"""Table control within the cycle: after the reference, before the command is sent.

The control itself is ``mastd.control.table.command``; here it hears from the state machine whether the drive
follows, and whether the actuators alone carry the table, and saturation becomes a fault.
"""

from __future__ import annotations

from mastd.arrays import numbers
from mastd.control.reference.kernels import STREAM
from mastd.control.reference.reference import Reference
from mastd.control.sine.correction import NOTHING, SineCorrection
from mastd.control.table.command import TableControl
from mastd.control.table.data import INPUT, Measured
from mastd.control.table.step import BALANCE_SATURATED, FINITE, TRIM_LIMITED
from mastd.dynamics.table_model import TableModel
from mastd.kinematics.geometry import Geometry
from mastd.loop.cycle.motion_limits import motion_limits
from mastd.loop.cycle.supervisor import Supervisor
from mastd.loop.measurement.frame import Frame
from mastd.loop.measurement.sensing import Sensing
from mastd.loop.payload.loaded_profile import LoadedProfile
from mastd.safety.faults import Code
from mastd.safety.states import State
from mastd.settings.core.base import computed
from mastd.settings.daemon.daemon import DaemonSettings
from mastd.settings.table.identified import IdentifiedSettings
from mastd.settings.table.table import TableSettings

SUPPORTED = frozenset({State.READY, State.ARMED, State.RUNNING, State.HOLD, State.STOPPING})
"""States in which the actuators alone carry the table, so that their forces can be balanced."""
SUPPLY_FILTER_TIME = 0.02
"""s over which the measured supply pressure is smoothed, as the drive does."""
MAX_PRESSURE = 1.3
"""Of the supply's pressure: a reading above it is none."""
MAX_EXCLUDED = 2
"""Excluded accelerometers from which on some acceleration comes from the lengths: too late for feedback,
and too rough to learn a payload from."""
SATURATION_DELAY = 0.25
"""s for which the trims must be at their limit to be reported."""


class LoopControl:
    """Writes the command of the actuators each cycle."""

    def __init__(
        self,
        table: TableSettings,
        daemon: DaemonSettings,
        geometry: Geometry,
        model: TableModel,
        frame: Frame,
        sensing: Sensing,
        identified: IdentifiedSettings | None = None,
    ) -> None:
        self._period = daemon.period_ns * 1e-9
        self._balance_limit = computed(daemon.control.balance.limit)
        self._control = TableControl(
            table,
            daemon.control,
            geometry,
            model,
            self._period,
            frame.command,
            Measured(
                motion=frame.measured,
                forces=frame.field("force"),
                lengths=frame.field("length"),
                spools=frame.field("sample.spools"),
                load=frame.field("command.payload_wrench"),
            ),
            identified,
        )
        self._inputs = numbers(self._control.inputs)
        self._sensing = sensing
        hydraulic = "sample.supply_pressure" in frame.index
        self._supply = numbers(frame.field("sample.supply_pressure")) if hydraulic else [0.0]
        self._smoothing = min(1.0, self._period / SUPPLY_FILTER_TIME)
        self._smoothed = [supply.pressure for supply in table.packs.values()]
        self._maximum_pressures = [MAX_PRESSURE * pressure for pressure in self._smoothed]
        self._step = -1
        self._broken = -1
        self._limited = 0.0
        self.carry, self.model = self._control.carry, self._control.model
        limits = motion_limits(table, daemon, geometry)
        self.reference = Reference(frame.motion, limits, self._period, self._control.ahead)
        """Makes the motion that is followed, and knows it as far ahead as the control looks."""
        feedforward = daemon.control.feedforward
        self._correction = SineCorrection(
            self.reference,
            geometry,
            frame.field("pose_acceleration"),
            self._period,
            self._control.ahead,
            0.0 if feedforward.preview else feedforward.stream_delay,
        )
        self._profile: LoadedProfile | None = None
        self._unbalanced = False

    def report(self, supervisor: Supervisor) -> None:
        """Report saturation of the control with the next cycle's conditions."""
        if self._unbalanced:
            limit = self._balance_limit * 1e3
            supervisor.report_next(
                Code.BALANCE_SATURATED, f"length trim of an actuator at its limit of {limit:g} mm"
            )
        if self._limited > SATURATION_DELAY:
            supervisor.report_next(Code.CONTROL_SATURATED, f"for {self._limited:.1f} s")
        elif self._correction.bounded:
            supervisor.report_next(Code.CONTROL_SATURATED, "correction of the sine at its bound")

    def write(self, state: State, follows: bool, profile: LoadedProfile | None = None) -> bool:
        """Write the command for the reference; return False if anything in it is not finite.

        ``profile`` is the one that is loaded.
        """
        inputs, sensing, reference = self._inputs, self._sensing, self.reference
        fresh = sensing.usable and sensing.pose_valid
        smoothed = self._smoothed
        for k, highest in enumerate(self._maximum_pressures):
            pressure = self._supply[k]
            if sensing.usable and 0.0 < pressure < highest:
                smoothed[k] += self._smoothing * (pressure - smoothed[k])
            inputs[INPUT.supply_pressures + k] = smoothed[k]
        inputs[INPUT.engaged] = follows
        inputs[INPUT.supported] = state in SUPPORTED
        inputs[INPUT.sample_valid] = fresh
        young = fresh and sensing.feedback.whole
        inputs[INPUT.contiguous] = young and sensing.sample.step == self._step + 1
        inputs[INPUT.feedback] = sensing.feedback.weight
        inputs[INPUT.accel_valid] = sensing.excluded_accelerometers < MAX_EXCLUDED
        if fresh:
            self._step = sensing.sample.step
        inputs[INPUT.not_previewed] = reference.source == STREAM
        broken = reference.broken != self._broken
        inputs[INPUT.discontinuous] = broken
        self._broken = reference.broken
        if profile is not self._profile:
            self._profile = profile
            self._correction.take(NOTHING if profile is None else profile.corrected_sines)
        motion, later = reference.motion, reference.later
        if self._correction.wanted:
            motion, later = self._correction.corrected(young and follows, broken)
        bits = self._control.write(motion, later)
        self._unbalanced = bool(bits & BALANCE_SATURATED)
        periods = len(later) * self._period
        self._limited = self._limited + periods if bits & TRIM_LIMITED else 0.0
        return bool(bits & FINITE)
