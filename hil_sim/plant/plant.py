"""The simulated plant as messages see it: samples out, commands in, plant time between.

All numbers live in named arrays and move in one compiled call per ``advance``; with the same settings, seed
and commands every sample repeats bit for bit.
"""

from __future__ import annotations

import math
import secrets

import numpy as np

from hil_sim.faults import CHANNELS, Fault, kind_of
from hil_sim.plant.assembly import assemble, calibration_of, sample_columns
from hil_sim.plant.block import (
    ACTUATOR,
    ACTUATOR_STATE,
    BODY,
    BODY_STATE,
    CALIBRATION,
    COUNTER,
    DRIVE,
    HISTORY_ROWS,
    NOMINAL,
    SUPPLY,
    SUPPLY_STATE,
)
from hil_sim.plant.integration import advance, read, report_truth
from hil_sim.plant.truth import PlantTruth
from mastd.arrays import FloatArray
from mastd.errors import UsageError
from mastd.kernel import entry
from mastd.settings.table.table import TableSettings
from mastd.wire.common.layout import command_layout, sample_layout
from mastd.wire.plant.messages import Command, Sample
from mastd.wire.plant.table_block import instruments

_SETTLING_TIME = 1.0
"""Time the table is given to come to rest on its stops before the plant's time begins (s)."""

OIL_FAULTS = frozenset({"supply-weak", "oil-level", "oil-temperature", "filter-blocked"})
"""Faults of the power pack beside its loss, which is that of the power where all drives are electric."""

_SPOOL_LAW = [ACTUATOR.spool_rate_kept, ACTUATOR.spool_rate_gain]


class _Stamps:
    """Time stamps of the samples: plant time, unless a fault makes them run at another rate."""

    def __init__(self) -> None:
        self._origin_ns = 0
        self._start_ns = 0
        self._rate = 1.0

    def stamp(self, time_ns: int) -> int:
        """Return the stamp at a plant time."""
        passed = time_ns - self._origin_ns
        return self._start_ns + (passed if self._rate == 1.0 else round(passed * self._rate))

    def change(self, time_ns: int, rate: float) -> None:
        """Run at ``rate`` from this plant time on, without a jump."""
        self._start_ns, self._origin_ns, self._rate = self.stamp(time_ns), time_ns, rate


class Plant:
    """Table with supply, drive, sensors and faults; starts off, lying on its stops.

    ``period_ns`` is the period of the commands. ``seed`` feeds the sensors' noise. Raises SettingsError when
    the truth does not fit the table.
    """

    def __init__(self, table: TableSettings, truth: PlantTruth, period_ns: int, seed: int) -> None:
        self.name = f"{table.name}, {truth.name}"
        self.period_ns = period_ns
        self.boot_id = secrets.randbits(62)
        actuators = len(table.links)
        self.sample_layout = sample_layout(*instruments(table))
        self._columns = sample_columns(table)
        self.command_layout = command_layout(actuators)
        self.command_sequence = -1
        self._actuators = actuators
        self._block = assemble(table, truth, 1e-9 * period_ns, seed)
        self._counters = self._block.counters
        self._neutral: FloatArray = np.array(table.neutral_position)
        period = 1e-9 * period_ns
        ticks = round(period / float(self._block.drive[DRIVE.tick]))
        self._period_steps = ticks * int(self._counters[COUNTER.tick_steps])
        self._due_ns = 0
        self._steps = 0
        self._sequence = 0
        self._silent_until_ns = 0
        self._scheduled: list[Fault] = []
        self._broken: dict[int, bool] = {}
        self._healthy = self._block.calibration.copy()
        self._healthy_valves = self._block.actuators[:, _SPOOL_LAW].copy()
        self._stamps = _Stamps()
        self._all_valid = (1 << self.sample_layout.size) - 1
        self._truth_step = -1
        self._scales, self._offsets = calibration_of(table, self.sample_layout)
        self._calibrated = bool(np.any(self._scales != 1.0) or np.any(self._offsets != 0.0))
        self._advance = entry(advance, (self._block, 0, -1, 0))
        self._read = entry(read, (self._block,))
        self._report_truth = entry(report_truth, (self._block, self._neutral))
        self._settle()

    @property
    def time_ns(self) -> int:
        """Plant time: what has been integrated since the start."""
        return self._steps * self.period_ns // self._period_steps

    @property
    def silent(self) -> bool:
        """Whether an injected fault keeps the plant from sending samples."""
        return self.time_ns < self._silent_until_ns

    def advance(self, command: Command | None, duration_ns: int) -> None:
        """Integrate ``duration_ns``; ``command`` has just arrived, None means that none has.

        A remainder shorter than the inner step waits for the next call. Faults start at the first call that
        begins at or after their time.
        """
        if self._scheduled:
            self._start_faults()
        mode = -1
        stage = 0
        if command is not None:
            self._block.command[:] = command.values
            mode = command.mode
            stage = command.stage
            self.command_sequence = command.sequence
        self._due_ns += duration_ns
        due = self._due_ns * self._period_steps // self.period_ns
        self._advance(self._block, due - self._steps, mode, stage)
        self._steps = due
        self._sequence += 1

    def read(self, sample: Sample) -> None:
        """Fill ``sample`` with what the sensors tell at the present plant time.

        The drive works with calibrated readings; out go the sensors' own. Sequence and step count the calls
        of ``advance``.
        """
        self._read(self._block)
        sample.values[:] = self._block.measured[self._columns]
        if self._calibrated:
            sample.values -= self._offsets
            sample.values /= self._scales
        sample.boot_id = self.boot_id
        sample.sequence = self._sequence
        sample.step = self._sequence
        sample.time_ns = self._stamps.stamp(self.time_ns)
        sample.command_sequence = self.command_sequence
        sample.stage = int(self._counters[COUNTER.stage_reached])
        sample.flags = int(self._counters[COUNTER.flags])
        sample.valid = self._all_valid
        for index, missing in self._broken.items():
            if missing:
                sample.valid &= ~(1 << index)
            else:
                sample.values[index] = np.nan

    def inject(self, fault: Fault) -> None:
        """Schedule a fault; raise UsageError for what the plant does not have."""
        sensor = fault.sensor
        count = len(self.channels(sensor[0])) if sensor is not None else self._actuators
        if kind_of(fault.name).channels and not 0 <= fault.channel < count:
            raise UsageError(f"fault {fault.name}: no channel {fault.channel + 1}, there are {count}")
        if not self.suffers(fault.name):
            raise UsageError(f"fault {fault.name}: the plant has nothing that it could befall")
        self._scheduled.append(fault)
        self._scheduled.sort(key=lambda one: one.start_ns)

    @property
    def true_pose(self) -> FloatArray:
        """True pose of C against neutral (6): x, y, z, roll, pitch, yaw."""
        return self._truth()[:6].copy()

    @property
    def true_velocity(self) -> FloatArray:
        """Time derivative of the true pose (6): velocity of C in B, Euler rates."""
        return self._truth()[6:12].copy()

    @property
    def true_acceleration(self) -> FloatArray:
        """Second time derivative of the true pose (6), the mean over the last inner step."""
        return self._truth()[12:18].copy()

    @property
    def forces(self) -> FloatArray:
        """True force of each actuator on the table (n), with friction and end stops; pushing is positive."""
        return self._truth()[18:].copy()

    def report_truth(self, truth: FloatArray) -> None:
        """Write true pose, rates, accelerations (6 each) and forces (n) into ``truth`` (18 + n)."""
        truth[:] = self._truth()

    def _truth(self) -> FloatArray:
        if self._steps != self._truth_step:
            self._report_truth(self._block, self._neutral)
            self._truth_step = self._steps
        return self._block.truth

    def _settle(self) -> None:
        """Let the table come to rest on its lower stops with hardly any pressure in the chambers."""
        block = self._block
        parameters = block.actuators
        descent = block.nominal[:, NOMINAL.descent]
        bearing = descent > 0.0
        depth = 0.0
        if bearing.any():
            weight = (block.body[BODY.mass] + block.body[BODY.sprung_mass]) * (block.body[BODY.gravity])
            sag = weight / float(np.sum(parameters[bearing, ACTUATOR.stop_stiffness] * descent[bearing] ** 2))
            depth = float(np.min(parameters[bearing, ACTUATOR.stroke] / descent[bearing])) + sag
        position = self._neutral - np.array([0.0, 0.0, depth])
        block.body_state[BODY_STATE.position : BODY_STATE.position + 3] = position
        block.body_state[BODY_STATE.attitude] = 1.0
        lengths = np.linalg.norm(
            position
            + parameters[:, ACTUATOR.table_joint : ACTUATOR.table_joint + 3]
            - parameters[:, ACTUATOR.base_joint : ACTUATOR.base_joint + 3],
            axis=1,
        )
        extension = lengths - parameters[:, ACTUATOR.neutral_length]
        reach = parameters[:, ACTUATOR.dead_length] + parameters[:, ACTUATOR.stroke]
        back = block.nominal[:, NOMINAL.return_pressure]
        filling = 1.0 + back / parameters[:, ACTUATOR.bulk_modulus]
        block.actuator_states[:, ACTUATOR_STATE.length] = lengths
        block.actuator_states[:, ACTUATOR_STATE.oil_1] = (
            parameters[:, ACTUATOR.area_1] * (reach + extension) * filling
        )
        block.actuator_states[:, ACTUATOR_STATE.oil_2] = (
            parameters[:, ACTUATOR.area_2] * (reach - extension) * filling
        )
        steps = round(_SETTLING_TIME / (1e-9 * self.period_ns) * self._period_steps)
        self._advance(self._block, steps - steps % self._period_steps, -1, 0)
        last = int(self._counters[COUNTER.step]) // int(self._counters[COUNTER.tick_steps]) % HISTORY_ROWS
        block.history[:] = block.history[last]
        block.drive_state[:] = 0.0
        block.supply_state[:, SUPPLY_STATE.filtered] = 0.0
        self._counters[COUNTER.step] = 0

    def suffers(self, fault: str) -> bool:
        """Return whether the plant has what a fault of this name befalls: such sensors, oil."""
        sensor = fault.partition("-")[0]
        if sensor in CHANNELS:
            return len(self.channels(sensor)) > 0
        return fault not in OIL_FAULTS or bool(self._block.supply[0, SUPPLY.high_pressure] > 0.0)

    def channels(self, sensor: str) -> range:
        """Return the indices of a sensor's channels in the sample block (keys of ``faults.CHANNELS``)."""
        found = self.sample_layout.slices.get(f"{sensor}s", slice(0, 0))
        return range(found.start, found.stop)

    def _start_faults(self) -> None:
        now = self.time_ns
        while self._scheduled and self._scheduled[0].start_ns <= now:
            self._start(self._scheduled.pop(0))

    def _start(self, fault: Fault) -> None:
        supplies = self._block.supply_state
        sensor = fault.sensor
        if sensor is not None:
            self._break_sensor(self.channels(sensor[0])[fault.channel], sensor[1], fault.value)
        elif fault.name == "estop":
            self._counters[COUNTER.estop] = 1
            self._counters[COUNTER.locked_out] = 1
            self._counters[COUNTER.stage_request] = 0
        elif fault.name == "estop-release":
            self._counters[COUNTER.estop] = 0
        elif fault.name == "valve-stuck":
            self._stick_valve(fault.channel, fault.value)
        elif fault.name == "supply-loss":
            supplies[:, SUPPLY_STATE.pump_health] = 0.0
        elif fault.name == "supply-weak":
            supplies[:, SUPPLY_STATE.pump_health] = fault.value
        elif fault.name == "oil-level":
            level = supplies[:, SUPPLY_STATE.tank_oil] / self._block.supply[:, SUPPLY.tank_volume]
            supplies[:, SUPPLY_STATE.level_loss] = level - fault.value
        elif fault.name == "oil-temperature":
            supplies[:, SUPPLY_STATE.temperature] = fault.value
        elif fault.name == "filter-blocked":
            supplies[:, SUPPLY_STATE.filter_blockage] = fault.value
        elif fault.name == "clock-rate":
            self._stamps.change(self.time_ns, fault.value)
        elif fault.name == "silence":
            self._silent_until_ns = self.time_ns + round(1e9 * fault.value)
        elif fault.name == "clear":
            self._clear_faults()

    def _break_sensor(self, index: int, kind: str, value: float) -> None:
        calibration, column = self._block.calibration, int(self._columns[index])
        if kind == "offset":
            calibration[column] = self._healthy[column]
            calibration[column, CALIBRATION.offset] += value
        elif kind == "drift":
            tick = float(self._block.drive[DRIVE.tick])
            calibration[column, CALIBRATION.drift] = value * tick
            calibration[column, CALIBRATION.drift_start] = (
                self._counters[COUNTER.step] // self._counters[COUNTER.tick_steps]
            )
        elif kind == "noise":
            calibration[column, CALIBRATION.added_noise] = value
        elif kind == "stuck":
            self._read(self._block)
            calibration[column] = 0.0
            calibration[column, CALIBRATION.offset] = self._block.measured[column]
        else:
            self._broken[index] = kind == "missing"

    def _stick_valve(self, actuator: int, opening: float) -> None:
        """Take the spool's law away, so that it stays where it is or is put."""
        self._block.actuators[actuator, _SPOOL_LAW] = 0.0
        self._block.actuator_states[actuator, ACTUATOR_STATE.spool_rate] = 0.0
        if math.isfinite(opening):
            self._block.actuator_states[actuator, ACTUATOR_STATE.spool] = opening

    def _clear_faults(self) -> None:
        self._block.calibration[:] = self._healthy
        self._block.actuators[:, _SPOOL_LAW] = self._healthy_valves
        self._stamps.change(self.time_ns, 1.0)
        self._broken.clear()
        supplies = self._block.supply_state
        supplies[:, SUPPLY_STATE.pump_health] = 1.0
        supplies[:, SUPPLY_STATE.level_loss] = 0.0
        supplies[:, SUPPLY_STATE.filter_blockage] = 0.0
        temperatures = supplies[:, SUPPLY_STATE.temperature]
        np.minimum(temperatures, self._block.supply[:, SUPPLY.cooler_temperature], out=temperatures)
        self._silent_until_ns = 0
