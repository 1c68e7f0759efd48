"""What a drive asks of its valves, made again from a record: its commands, its sensors, its settings.

The law is that of the table's drive (docs/theory.md): the no-load speed asked of a valve is

    k_v·rate + lead·acceleration + k_F·(dF_ref/dt)/k_oil + F_ref·(leakage/A²) + k_p·(length error)
        − (c/k_oil)·HP(F − F_ref) + trim,

and the opening follows from the nominal orifice law at the force reference. The set-points at a tick of the
drive lie on the parabola through the last command, which is meant for the end of its period.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import signal
from scipy.interpolate import CubicSpline

from mastd.arrays import FloatArray
from mastd.control.identification.measurement import Measurement
from mastd.dynamics.actuator import ACTUATOR, actuator_rows
from mastd.dynamics.oil_flow import oil_springs
from mastd.settings.table.table import TableSettings

SUPPLY_FILTER_TIME = 0.02
"""Low-pass of the measured supply pressure in the orifice law, s."""
MAX_FORCE_RATE_SPEED = 0.1
"""Maximum part of the speed that follows from the rate of the force reference, m/s."""
MIN_PRESSURE_RATIO = 0.05
"""Of the full pressure, the minimum that the orifice law assumes."""


def ticks_of(table: TableSettings, period: float) -> int:
    """Return how often the drive closes its loops in a period of the commands."""
    return math.ceil(period * table.drive.update_rate - 1e-9)


def valve_commands(measured: Measurement, table: TableSettings) -> FloatArray:
    """Return the opening (k · ticks, n) that the drive has asked for at each of its ticks, from row 0 on."""
    ticks = ticks_of(table, measured.period)
    tick = measured.period / ticks
    drive, rows, stiffness = table.drive, actuator_rows(table), oil_springs(table)
    types = table.types
    rate_gain = np.array([type_.gains.rate_feedforward for type_ in types])
    force_gain = np.array([type_.gains.force_feedforward for type_ in types])
    lead = np.array([type_.valve_lead for type_ in types])
    length_gain = np.array([type_.length_gain for type_ in types])
    damping = np.array([type_.pressure_damping for type_ in types])
    leak_speed = rows[:, ACTUATOR.leak_speed]
    lengths = _between(measured.lengths, ticks)
    areas = rows[:, [ACTUATOR.area_1, ACTUATOR.area_2]] * [1.0, -1.0]
    forces = _between(np.sum(measured.pressures * areas, axis=2), ticks)
    supply = _follow(_between(measured.supply[:, :, 0], ticks), SUPPLY_FILTER_TIME, tick)
    force_rates = np.diff(measured.force_commands, axis=0, prepend=measured.force_commands[:1])
    bound = MAX_FORCE_RATE_SPEED * stiffness
    force_rates = np.clip(force_rates / measured.period, -bound, bound)
    ahead = np.tile(tick * (np.arange(ticks) - ticks), len(measured.lengths))[:, None]

    def held(values: FloatArray) -> FloatArray:
        return np.repeat(values, ticks, axis=0)

    acceleration, force_rate = held(measured.acceleration_commands), held(force_rates)
    rate = held(measured.rate_commands) + ahead * acceleration
    length = held(measured.length_commands) + ahead * (
        held(measured.rate_commands) + 0.5 * ahead * acceleration
    )
    force = held(measured.force_commands) + ahead * force_rate
    excess = forces - force
    speed = (
        rate_gain * rate
        + lead * acceleration
        + force_gain * force_rate / stiffness
        + leak_speed * force
        + length_gain * (length - lengths)
        - damping
        * (excess - _follow(excess, 1.0 / (2.0 * math.pi * drive.pressure_high_pass), tick))
        / stiffness
        + held(measured.trims)
    )
    return _opening(speed, force + lead * force_rate, supply, rows, orifice_law=drive.orifice_law)


def _opening(
    speed: FloatArray, load: FloatArray, supply: FloatArray, rows: FloatArray, *, orifice_law: bool
) -> FloatArray:
    """Return the openings that pass ``speed`` under ``load``, by the nominal valves solved for their bend."""
    first, second = rows[:, ACTUATOR.area_1], rows[:, ACTUATOR.area_2]
    back = rows[:, ACTUATOR.return_pressure]
    gain, bend = rows[:, ACTUATOR.gain], rows[:, ACTUATOR.saturation]
    extends = speed > 0.0
    at_rest = np.where(extends, first * supply - second * back, second * supply - first * back)
    available = at_rest
    if orifice_law:
        available = at_rest + np.where(extends, -load, load)
    full = np.where(second > 0.0, at_rest, first * supply)
    available = np.maximum(available, MIN_PRESSURE_RATIO * np.maximum(full, 1.0))
    ratio = np.abs(speed) / (gain * np.sqrt(available))
    straight = np.maximum(1.0 - (bend * ratio) ** 2, 1e-12)
    return np.asarray(np.sign(speed) * np.minimum(ratio / np.sqrt(straight), 1.0))


def _between(values: FloatArray, ticks: int) -> FloatArray:
    """Return rows (k, …) at all ticks (k · ticks, …), by a cubic spline through them."""
    rows = len(values)
    rows_at = np.arange(rows * ticks) / ticks
    return np.asarray(CubicSpline(np.arange(rows), values, axis=0)(rows_at))


def _follow(values: FloatArray, time: float, tick: float) -> FloatArray:
    """Return a first-order lag of rows (k, …) as the drive computes it, settled at the first row."""
    ratio = tick / time
    start = (1.0 - ratio) * values[:1]
    followed, _ = signal.lfilter([ratio], [1.0, ratio - 1.0], values, axis=0, zi=start)
    return np.asarray(followed)
