"""The table's control for one table: constants, filters and state of ``control_step``, and their meaning."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from scipy import signal

from mastd.arrays import FloatArray
from mastd.control.table.body_learning import BODY_MEMORY, UNKNOWNS, begin_learning, directions
from mastd.control.table.feedforward import DRIVE_COLUMNS
from mastd.control.table.parts import LINKS, NOTCH_COLUMNS, TABLE, WEIGHT, WHOLE
from mastd.control.table.step import (
    AHEAD,
    BALANCE,
    BALANCE_LIMIT,
    BODY_LEARNING,
    CONSTANTS,
    DELAY,
    DYNAMICS,
    ENGAGE,
    FINITE,
    FRICTION,
    GAIN,
    INVERSE,
    KNOWN,
    LEARNING,
    NOTCHES,
    NOW,
    OLDEST_SHARE,
    PERIOD,
    TRIM_LIMIT,
    control_step,
    state_size,
)
from mastd.control.table.valve_inverse import Horizon, valve_inverse
from mastd.control.table.valve_learning import learning_memory
from mastd.dynamics.actuator import ACTUATOR_COLUMNS, actuator_rows, valve_delays
from mastd.dynamics.oil_flow import oil_stiffness
from mastd.dynamics.table_model import TableModel
from mastd.errors import SettingsError
from mastd.kinematics.geometry import Geometry
from mastd.kinematics.jacobian import geometric_jacobian
from mastd.settings.daemon.control import ControlSettings, NotchSettings
from mastd.settings.profile.segments import AXES
from mastd.settings.table.identified import IdentifiedSettings
from mastd.settings.table.table import TableSettings

PREVIEW_TIME: Final = 12e-3
"""s that the inverse of the valves looks ahead."""
MEMORY_TIME: Final = 12e-3
"""s that it looks back."""
IDENTIFIED_SHARE: Final = 0.2
"""Of the usual spread, what is left unknown of valves and oil that were identified."""
_DYNAMICS = {"payload": WHOLE, "table": TABLE, "links": LINKS, "none": WEIGHT}


class TableControl:
    """Writes the command ``block`` of the links for a motion.

    ``load`` (6,): wrench of what is simulated on the table, at C in P axes, beside the model. ``measured``
    (3, 6): pose, rates and accelerations; ``forces``, ``lengths``, ``spools`` (n,): of
    the links, as measured.
    """

    def __init__(
        self,
        table: TableSettings,
        settings: ControlSettings,
        geometry: Geometry,
        model: TableModel,
        period: float,
        block: FloatArray,
        load: FloatArray,
        measured: FloatArray,
        forces: FloatArray,
        lengths: FloatArray,
        spools: FloatArray,
        identified: IdentifiedSettings | None = None,
    ) -> None:
        n = geometry.links
        self.model: FloatArray = model.values.copy()
        """Values (11,) of the nominal model of table and payload; see ``carry``."""
        self.ahead = PREVIEW_TIME if settings.feedforward.preview else 0.0
        """s that the reference is to be known ahead."""
        self._period = period
        horizon = preview_horizon(period)
        delay = math.ceil(settings.feedforward.stream_delay / period - 1e-9)
        nominal = actuator_rows(table)
        rows = actuator_rows(table, identified)
        waiting = Horizon(0, horizon.taps - 1, settings.feedforward.stream_delay)
        delays = valve_delays(table, identified)
        filters = np.stack(
            [
                np.column_stack(
                    [
                        valve_inverse(table.valve, one, settings.feedforward.bandwidth, period, look)
                        for one in delays
                    ]
                )
                for look in (horizon, waiting)
            ]
        )
        self.now: FloatArray = np.zeros(NOW)
        self._bare = model.values.copy()
        self._rows, self._known = np.ascontiguousarray(rows), np.ascontiguousarray(rows.copy())
        self._first_memory = learning_memory(rows, 1.0 if identified is None else IDENTIFIED_SHARE)
        self._valve_memory = self._first_memory.copy()
        self._lengths = lengths
        self._bodies = np.zeros((1 + UNKNOWNS, len(self.model)))
        self._body_memory = np.zeros(BODY_MEMORY)
        self.carry(self.model)
        self._state = np.zeros(
            state_size(n, horizon.taps, horizon.ahead, delay, len(settings.acceleration.notches))
        )
        self._arguments = (
            geometry.legs,
            self.model,
            self._bare,
            np.stack((_own_masses(geometry, model), settings.balance.preload * _null_vector(geometry))),
            np.ascontiguousarray(nominal),
            self._rows,
            _drives(table, period),
            np.ascontiguousarray(filters),
            _constants(settings, model, period, horizon, delay),
            self.now,
            load,
            measured,
            self._bodies,
            self._body_memory,
            forces,
            lengths,
            spools,
            self._known,
            self._valve_memory,
        )
        self._block = block
        assert nominal.shape == (n, ACTUATOR_COLUMNS)

    def carry(self, model: FloatArray) -> None:
        """Count on ``model`` (11,), values of ``TableModel``, from now on.

        What was learned of another payload is forgotten.
        """
        if np.array_equal(model, self.model) and self._bodies[0, 0] > 0.0:
            return
        self.model[:] = model
        self._bodies[0] = model
        self._bodies[1:] = directions(model, self._bare)
        begin_learning(self._body_memory)

    def write(self, motion: FloatArray, later: FloatArray) -> int:
        """Write the block; return the bits of ``control_step``. Arguments: as of ``Reference``."""
        bits = control_step(*self._arguments, motion, later, self._state, self._block)
        if not bits & FINITE:
            # What is not a number would stay in the filters, and in what was learned, for good.
            self._state[:] = 0.0
            self._bodies[0] = self.model
            begin_learning(self._body_memory)
            self._rows[:] = self._known
            self._valve_memory[:] = self._first_memory
            self._block[:] = 0.0
            self._block[: len(self._lengths)] = np.nan_to_num(self._lengths)
        return bits


def preview_horizon(period: float) -> Horizon:
    """Return how far the inverse of the valves looks, in periods of ``period`` s."""
    return Horizon(round(PREVIEW_TIME / period), round(MEMORY_TIME / period), 0.0)


def _jacobian(geometry: Geometry) -> FloatArray:
    jacobian = np.empty((geometry.links, 6))
    geometric_jacobian(geometry.legs, np.zeros(6), jacobian)
    return jacobian


def _own_masses(geometry: Geometry, model: TableModel) -> FloatArray:
    """Return the mass in kg that each link has to itself: shared with the links that push the same way."""
    directions = _jacobian(geometry)[:, :3]
    return np.asarray(model.values[0] / np.sum((directions @ directions.T) ** 2, axis=1))


def _null_vector(geometry: Geometry) -> FloatArray:
    """Return the unit vector (n,) of forces that make no wrench at neutral, 0 where there is none.

    The first link pushes in it.
    """
    if geometry.links < 7:
        return np.zeros(geometry.links)
    vector = np.linalg.svd(_jacobian(geometry))[0][:, 6]
    return np.asarray(vector * np.copysign(1.0, vector[0]))


def _drives(table: TableSettings, period: float) -> FloatArray:
    """Return what the drive does with the commands of each link, (n, DRIVE_COLUMNS)."""
    drive = table.drive
    ticks = math.ceil(period * drive.update_rate - 1e-9)
    rows = np.zeros((len(table.links), DRIVE_COLUMNS))
    for row, link in zip(rows, table.links, strict=True):
        row[:] = (
            drive.rate_feedforward,
            drive.valve_lead,
            drive.force_feedforward,
            float(drive.orifice_law),
            oil_stiffness(table.actuator, link.stroke, 0.0),
            0.5 * period * (1.0 + 1.0 / ticks),
        )
    return rows


def _constants(
    settings: ControlSettings, model: TableModel, period: float, horizon: Horizon, delay: int
) -> FloatArray:
    feedforward, notches = settings.feedforward, settings.acceleration.notches
    head = np.zeros(CONSTANTS)
    head[PERIOD] = period
    head[DYNAMICS] = _DYNAMICS[feedforward.dynamics]
    head[FRICTION] = feedforward.friction
    head[INVERSE] = feedforward.valve_inverse
    head[KNOWN] = feedforward.preview
    head[AHEAD], head[DELAY] = horizon.ahead, delay
    head[OLDEST_SHARE] = 1.0 - (delay - feedforward.stream_delay / period)
    head[GAIN] = settings.acceleration.gain
    head[BALANCE], head[BALANCE_LIMIT] = settings.balance.gain, settings.balance.limit
    head[TRIM_LIMIT], head[ENGAGE] = settings.trim_limit, settings.engage_time
    head[NOTCHES] = len(notches)
    head[LEARNING] = feedforward.valve_learning
    head[BODY_LEARNING] = feedforward.payload_learning
    rows = [notch_row(notch, period) for notch in notches]
    return np.concatenate((head, model.mass_matrix.ravel(), *rows))


def notch_row(notch: NotchSettings, period: float) -> FloatArray:
    """Return axis and weights b₀, b₁, b₂, a₁, a₂ of the biquad that takes ``depth`` out.

    Raises SettingsError for a frequency that the daemon's rate cannot show.
    """
    if not notch.frequency < 0.5 / period:
        what = f"{notch.frequency:g} Hz is not below half of the daemon's rate, {0.5 / period:g} Hz"
        raise SettingsError([f"control.acceleration.notches: {what}"])
    numerator, denominator = signal.iirnotch(notch.frequency, notch.frequency / notch.width, 1.0 / period)
    # What is left of full depth is passed beside it.
    mixed = notch.depth * numerator + (1.0 - notch.depth) * denominator
    row = np.array([float(AXES.index(notch.axis)), *mixed, *denominator[1:]])
    assert row.shape == (NOTCH_COLUMNS,)
    return row
