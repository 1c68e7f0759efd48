"""The table's control for one table: builds what ``control_step`` works on, and calls it each period."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.control.table.body_learning import BODY_MEMORY, UNKNOWNS, begin_learning, directions
from mastd.control.table.data import (
    DYNAMICS,
    INPUT,
    INPUT_SIZE,
    Command,
    Constants,
    Control,
    ControlModel,
    ControlState,
    Learned,
    Measured,
)
from mastd.control.table.feedforward import DRIVE_COLUMNS
from mastd.control.table.parts import NOTCH_COLUMNS
from mastd.control.table.step import FINITE, control_step
from mastd.control.table.valve_inverse import Horizon, valve_inverse
from mastd.control.table.valve_learning import learning_memory
from mastd.dynamics.actuator import actuator_rows, valve_delays
from mastd.dynamics.oil_flow import oil_springs
from mastd.dynamics.supports import support_rows
from mastd.dynamics.table_model import MODEL_SIZE, TableModel
from mastd.errors import SettingsError
from mastd.kernel import entry
from mastd.kinematics.design import null_vectors
from mastd.kinematics.geometry import Geometry
from mastd.settings.core.axes import AXES
from mastd.settings.core.base import computed
from mastd.settings.daemon.control import ControlSettings, NotchSettings
from mastd.settings.table.identified import IdentifiedSettings
from mastd.settings.table.table import TableSettings

PREVIEW_TIME: Final = 12e-3
"""s that the inverse of the valves looks ahead."""
MEMORY_TIME: Final = 12e-3
"""s that it looks back."""
IDENTIFIED_RATIO: Final = 0.2
"""Ratio of the usual spread that is left unknown of valves and oil that were identified."""


class TableControl:
    """Writes the ``command`` block of the actuators for a motion, see ``Command``."""

    def __init__(
        self,
        table: TableSettings,
        settings: ControlSettings,
        geometry: Geometry,
        model: TableModel,
        period: float,
        command: FloatArray,
        measured: Measured,
        identified: IdentifiedSettings | None = None,
    ) -> None:
        self.ahead = PREVIEW_TIME if settings.feedforward.preview else 0.0
        """s that the reference is to be known ahead."""
        self.model: FloatArray = model.values.copy()
        """Values (MODEL_SIZE,) of the nominal model of table and payload; see ``carry``."""
        self.inputs: FloatArray = np.zeros(INPUT_SIZE)
        """What changes every period, see ``ControlInput``."""
        self.inputs[INPUT.feedback] = 1.0
        horizon, notches = preview_horizon(period), settings.acceleration.notches
        constants = _constants(settings, period, table.measures_forces)
        rows = np.ascontiguousarray(actuator_rows(table, identified))
        spread_ratio = 1.0 if identified is None else IDENTIFIED_RATIO
        self._first_memory = learning_memory(rows, spread_ratio, _spool_speeds(table))
        learned = Learned(
            known=rows.copy(),
            actuators=rows,
            valve_memory=self._first_memory.copy(),
            body=np.zeros(MODEL_SIZE),
            directions=np.zeros((UNKNOWNS, MODEL_SIZE)),
            body_memory=np.zeros(BODY_MEMORY),
        )
        known_beforehand = ControlModel(
            legs=geometry.legs,
            payload=self.model,
            table=model.values.copy(),
            mass_matrix=np.ascontiguousarray(model.mass_matrix),
            gains=np.array(settings.acceleration.axis_gains),
            masses=_own_masses(geometry, model),
            preload=settings.balance.preload * _null_vector(geometry),
            nominal=np.ascontiguousarray(actuator_rows(table)),
            drives=_drives(table, period),
            filters=_filters(table, settings, period, identified),
            notches=np.array([notch_row(notch, period) for notch in notches]).reshape(-1, NOTCH_COLUMNS),
            supports=support_rows(table),
        )
        self._control = Control(
            constants=constants,
            model=known_beforehand,
            learned=learned,
            state=ControlState.of(
                geometry.actuators, horizon.taps, horizon.ahead, constants.delay, len(notches)
            ),
            inputs=self.inputs,
            measured=measured,
            command=Command.of(command, geometry.actuators),
        )
        self._step: Callable[..., int] | None = None
        self.carry(self.model)

    def carry(self, model: FloatArray) -> None:
        """Count on ``model`` (MODEL_SIZE,), values of ``TableModel``, from now on.

        What was learned of another payload is forgotten.
        """
        learned = self._control.learned
        if np.array_equal(model, self.model) and learned.body[0] > 0.0:
            return
        self.model[:] = model
        learned.body[:] = model
        learned.directions[:] = directions(model, self._control.model.table)
        begin_learning(learned.body_memory)

    def write(self, motion: FloatArray, later: FloatArray) -> int:
        """Write the command; return the bits of ``control_step``. Arguments: as of ``Reference``."""
        if self._step is None:
            self._step = entry(control_step, (self._control, motion, later))
        bits = self._step(self._control, motion, later)
        if not bits & FINITE:
            # What is not a number would stay in the filters, and in what was learned, for good.
            learned, command = self._control.learned, self._control.command
            self._control.state.reset()
            learned.body[:] = self.model
            begin_learning(learned.body_memory)
            learned.actuators[:] = learned.known
            learned.valve_memory[:] = self._first_memory
            command.block[:] = 0.0
            command.lengths[:] = np.nan_to_num(self._control.measured.lengths)
        return bits


def preview_horizon(period: float) -> Horizon:
    """Return how far the inverse of the valves looks, in periods of ``period`` s."""
    return Horizon(round(PREVIEW_TIME / period), round(MEMORY_TIME / period), 0.0)


def _spool_speeds(table: TableSettings) -> FloatArray:
    """Return the speeds (n,) in m/s that the noise of the spools' readings would make of the actuators."""
    speeds = [type_.no_load_speed() for type_ in table.types]
    return table.sensors.spool.noise * np.array(speeds)


def _own_masses(geometry: Geometry, model: TableModel) -> FloatArray:
    """Return the mass in kg that each actuator has to itself, divided among those that push the same way.

    Guides may leave rotations only; the translations that they hold count all the same.
    """
    directions = geometry.neutral_vectors / np.linalg.norm(geometry.neutral_vectors, axis=1, keepdims=True)
    return np.asarray(model.values[0] / np.sum((directions @ directions.T) ** 2, axis=1))


def _null_vector(geometry: Geometry) -> FloatArray:
    """Return the unit vector (n,) of internal forces at neutral, 0 where there are none.

    The first actuator pushes in it.
    """
    patterns = null_vectors(geometry)
    if not len(patterns):
        return np.zeros(geometry.actuators)
    return np.asarray(patterns[0] * np.copysign(1.0, patterns[0, 0]))


def _drives(table: TableSettings, period: float) -> FloatArray:
    """Return what the drive does with the commands of each actuator, (n, DRIVE_COLUMNS)."""
    drive = table.drive
    ticks = math.ceil(period * drive.update_rate - 1e-9)
    rows = np.zeros((len(table.links), DRIVE_COLUMNS))
    for row, type_, spring in zip(rows, table.types, oil_springs(table), strict=True):
        row[:] = (
            type_.gains.rate_feedforward,
            type_.valve_lead,
            type_.gains.force_feedforward,
            float(drive.orifice_law),
            spring,
            0.5 * period * (1.0 + 1.0 / ticks),
        )
    return rows


def _filters(
    table: TableSettings, settings: ControlSettings, period: float, identified: IdentifiedSettings | None
) -> FloatArray:
    """Return the weights (2, taps, n) of the inverse of the valves: with preview, and without."""
    feedforward, horizon = settings.feedforward, preview_horizon(period)
    waiting = Horizon(0, horizon.taps - 1, feedforward.stream_delay)
    columns = [
        np.column_stack(
            [
                valve_inverse(type_.lag, delay, computed(feedforward.bandwidth), period, known)
                for type_, delay in zip(table.types, valve_delays(table, identified), strict=True)
            ]
        )
        for known in (horizon, waiting)
    ]
    return np.ascontiguousarray(np.stack(columns))


def _constants(settings: ControlSettings, period: float, forces: bool) -> Constants:
    """Return the constants; without measured ``forces`` nothing is learned or balanced."""
    feedforward, balance = settings.feedforward, settings.balance
    delay = math.ceil(feedforward.stream_delay / period - 1e-9)
    return Constants(
        period=float(period),
        dynamics=getattr(DYNAMICS, feedforward.dynamics),
        friction=feedforward.friction,
        valve_inverse=feedforward.valve_inverse,
        preview=feedforward.preview,
        delay=delay,
        oldest_ratio=float(1.0 - (delay - feedforward.stream_delay / period)),
        balance=float(balance.gain) if forces else 0.0,
        balance_limit=float(computed(balance.limit)),
        trim_limit=float(computed(settings.trim_limit)),
        engage_time=float(settings.engage_time),
        valve_learning=feedforward.valve_learning and forces,
        payload_learning=feedforward.payload_learning and forces,
    )


def notch_row(notch: NotchSettings, period: float) -> FloatArray:
    """Return axis and weights b₀, b₁, b₂, a₁, a₂ of the biquad that takes ``depth`` out.

    Its full depth is that of Orfanidis 1996, eq. 11.3.21. Raises SettingsError for a frequency from half of
    the daemon's rate on.
    """
    if not notch.frequency < 0.5 / period:
        what = f"{notch.frequency:g} Hz is not below half of the daemon's rate, {0.5 / period:g} Hz"
        raise SettingsError([f"control.acceleration.notches: {what}"])
    turn, width = 2.0 * math.pi * notch.frequency * period, 2.0 * math.pi * notch.width * period
    gain = 1.0 / (1.0 + math.tan(0.5 * width))
    numerator = gain * np.array([1.0, -2.0 * math.cos(turn), 1.0])
    denominator = np.array([1.0, -2.0 * gain * math.cos(turn), 2.0 * gain - 1.0])
    # What is left of full depth is passed beside it.
    mixed = notch.depth * numerator + (1.0 - notch.depth) * denominator
    row = np.array([float(AXES.index(notch.axis)), *mixed, *denominator[1:]])
    assert row.shape == (NOTCH_COLUMNS,)
    return row
