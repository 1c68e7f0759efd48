"""The first half of a cycle: is the sample usable, what is the table's pose, which conditions are faults?"""

from __future__ import annotations

import numpy as np

from mastd.control.estimate import estimate, smoothing_factor
from mastd.kinematics.forward import Observer
from mastd.kinematics.geometry import Geometry
from mastd.loop.frame import Frame
from mastd.safety.faults import Code
from mastd.safety.guard import MOTION, POSE, RAISED, Guard, finite, inspect
from mastd.safety.states import State
from mastd.settings.daemon import DaemonSettings
from mastd.settings.table import TableSettings
from mastd.wire.messages import Sample, SampleFlag

WATCHED: dict[State, int] = {
    State.LOW: POSE,
    State.HIGH: POSE,
    State.RAISING: MOTION,
    State.READY: RAISED,
    State.ARMED: RAISED,
    State.RUNNING: RAISED,
    State.HOLD: RAISED,
    State.STOPPING: MOTION,
    State.LOWERING: MOTION,
}
"""Which conditions of the guard each state watches; states that are not named watch none."""

SUPPLY_BITS = (
    SampleFlag.SUPPLY_FAULT | SampleFlag.OIL_OVERHEATED | SampleFlag.OIL_LOW | SampleFlag.FILTER_BLOCKED
)
MISSING_WINDOW_S = 1.0


class Sensing:
    """Checks samples and estimates; ``reports`` holds this cycle's fault conditions as (code, detail)."""

    def __init__(
        self,
        table: TableSettings,
        daemon: DaemonSettings,
        geometry: Geometry,
        observer: Observer,
        frame: Frame,
        sample: Sample,
    ) -> None:
        n = len(table.links)
        self.sample = sample
        self.reports: list[tuple[Code, str]] = []
        self.usable = False
        self.pose_valid = False
        self.last_ns = 0
        self.pose = frame.field("pose")
        self.pose_rates = frame.field("pose_rate")
        self.lengths = frame.field("length")
        self.forces = frame.field("force")
        self._frame = frame
        self._geometry = geometry
        self._observer = observer
        self._kinematics = daemon.kinematics
        self._timeouts = daemon.timeouts
        self._missing_share = daemon.guard.missing_share
        self._period = daemon.period_ns * 1e-9
        self._corner = daemon.guard.rate_filter
        self._guard = Guard(table, daemon.guard, self._period)
        self._length_calibration = np.array(
            [[link.transducer.scale, link.transducer.offset] for link in table.links]
        )
        self._pressure_calibration = np.array(
            [[sensor.scale, sensor.offset] for link in table.links for sensor in link.pressure_transducers]
        )
        self._areas = np.array(table.actuator.piston_areas)
        self._tolerances = np.array([self._kinematics.tolerance, self._kinematics.update_tolerance])
        self._previous = np.zeros(n + 6)
        self._fitted = np.zeros(n)
        self._scalars = frame.values[frame.index["residual"] : frame.index["residual"] + 4]
        self._rates = frame.field("length_rate")
        self._raw = frame.field("sample.lengths")
        self._pressures = frame.field("sample.pressures")
        self._commanded = frame.field("command.lengths")
        self._commanded_rates = frame.field("command.rates")
        self._first = frame.index["sample.lengths"]
        self._last = self._first + 3 * n
        self._required = (1 << 3 * n) - 1
        self._links = n
        self._sequence = 0
        self._step = 0
        self._bad = 0
        self._bad_limit = round(daemon.guard.sample_delay / self._period)
        self._missing = 0
        self._received = 0
        self._window = round(MISSING_WINDOW_S / self._period)

    def take(self, fresh: int, now_ns: int) -> None:
        """Check that there is a sample, that it is in order and that its numbers can be used."""
        self.reports.clear()
        self.usable = False
        if fresh == 0:
            self._absent((now_ns - self.last_ns) * 1e-9)
            return
        sample = self.sample
        self.last_ns = now_ns
        self._count_missing(fresh)
        if sample.flags:
            self._read_flags(sample.flags)
        broken = finite(self._frame.values, self._first, self._last)
        invalid = ~sample.valid & self._required
        if broken < 0 and not invalid:
            self._bad = 0
            self.usable = True
            return
        self._bad += 1
        if self._bad > self._bad_limit:
            code = Code.SAMPLE_NOT_FINITE if broken >= 0 else Code.SAMPLE_INVALID
            place = broken - self._first if broken >= 0 else (invalid & -invalid).bit_length() - 1
            self.reports.append((code, self._sensor_name(place)))

    def estimate(self) -> None:
        """Find pose, rates, forces and residuals from a usable sample."""
        if not self.usable:
            return
        geometry = self._geometry
        steps = self.sample.step - self._step
        dt = steps * self._period if self._received > 1 and steps > 0 else 0.0
        self._step = self.sample.step
        self.pose_valid = estimate(
            self._raw,
            self._pressures,
            self._length_calibration,
            self._pressure_calibration,
            self._areas,
            self._observer.null_vectors,
            geometry.table_joints,
            geometry.base_joints,
            geometry.neutral_position,
            self._observer.gain,
            self._tolerances,
            self._kinematics.maximum_updates,
            dt,
            smoothing_factor(self._corner, dt) if dt > 0.0 else 0.0,
            self._previous,
            self._fitted,
            self.lengths,
            self._rates,
            self.forces,
            self.pose,
            self.pose_rates,
            self._scalars,
        )

    def guard(self, state: State) -> None:
        """Compare with the limits that ``state`` watches; the commands in the frame are last cycle's."""
        if not self.usable:
            return
        mask = inspect(
            self.lengths,
            self._rates,
            self.forces,
            self._commanded,
            self._commanded_rates,
            self._frame.values[self._frame.index["sample.supply_pressure"]],
            self._scalars[2],
            self.pose_valid,
            WATCHED.get(state, 0),
            self._geometry.neutral_lengths,
            self._geometry.strokes,
            self._guard.limits,
            self._guard.counts,
            self._guard.delays,
            self._guard.detail,
        )
        if mask:
            for code in Code:
                if mask >> code & 1:
                    self.reports.append((code, self._guard.describe(code)))

    def _absent(self, age: float) -> None:
        if age >= self._timeouts.plant_lost:
            self.reports.append((Code.PLANT_LOST, f"no sample for {age:.2f} s"))
        elif age >= self._timeouts.sample_stale:
            self.reports.append((Code.SAMPLE_STALE, f"newest sample is {age * 1e3:.0f} ms old"))

    def _count_missing(self, fresh: int) -> None:
        sequence = self.sample.sequence
        if self._received:
            self._missing += max(0, sequence - self._sequence - fresh)
        self._sequence = sequence
        self._received += fresh
        if self._received >= self._window:
            share = self._missing / (self._received + self._missing)
            if share > self._missing_share:
                self.reports.append((Code.SAMPLE_MISSING, f"{share:.1%} of the samples of the last second"))
            self._received, self._missing = 2, 0

    def _read_flags(self, flags: int) -> None:
        if flags & SampleFlag.ESTOP:
            self.reports.append((Code.ESTOP, "e-stop input of the plant"))
        if flags & SUPPLY_BITS:
            names = [
                str(flag.name).lower().replace("_", " ") for flag in SampleFlag if flag & flags & SUPPLY_BITS
            ]
            self.reports.append((Code.SUPPLY_FAULT, ", ".join(names)))
        if flags & SampleFlag.DRIVE_TIMED_OUT:
            self.reports.append((Code.DRIVE_TIMED_OUT, ""))

    def _sensor_name(self, place: int) -> str:
        n = self._links
        if place < n:
            return f"length of link {place + 1}"
        link, chamber = divmod(place - n, 2)
        return f"pressure {chamber + 1} of link {link + 1}"
