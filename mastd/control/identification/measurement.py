"""What was measured and commanded while the table moved, on an even grid of times."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import signal
from scipy.interpolate import CubicSpline

from mastd.arrays import FloatArray
from mastd.settings.table.sensors import SensorSettings


@dataclass(frozen=True, eq=False)
class Measurement:
    """One play of k periods on n actuators with s accelerometers, in SI, all readings calibrated.

    Readings and commands of one row belong together as in the frame: the commands answer the readings and
    are meant for the end of the period that begins with them.
    """

    period: float
    """Of the rows, s."""
    lengths: FloatArray
    """(k, n) m."""
    pressures: FloatArray
    """(k, n, 2) Pa: chamber 1, which extends the actuator, and chamber 2."""
    spools: FloatArray
    """(k, n) ratio of the full opening, towards chamber 1 positive."""
    supply: FloatArray
    """(k, n, 2) Pa: pressure of the supply and return pressure of each actuator."""
    accelerometers: FloatArray
    """(k, s) m/s², specific force along each sensor's axis."""
    pose: FloatArray
    """(k, 6) of C against neutral, m and rad."""
    length_commands: FloatArray
    """(k, n) m."""
    rate_commands: FloatArray
    """(k, n) m/s."""
    acceleration_commands: FloatArray
    """(k, n) m/s²."""
    force_commands: FloatArray
    """(k, n) N."""
    trims: FloatArray
    """(k, n) m/s."""


def aligned(measured: Measurement, sensors: SensorSettings) -> Measurement:
    """Return the readings at the times of their rows: the delays of the sensors are taken off."""

    def early(values: FloatArray, delay: float) -> FloatArray:
        if not delay > 0.0:
            return values
        rows = np.arange(len(values))
        rows_at = np.minimum(rows + delay / measured.period, len(values) - 1.0)
        return np.asarray(CubicSpline(rows, values, axis=0)(rows_at))

    return replace(
        measured,
        lengths=early(measured.lengths, sensors.length.delay),
        pose=early(measured.pose, sensors.length.delay),
        pressures=early(measured.pressures, sensors.pressure.delay if sensors.pressure is not None else 0.0),
        spools=early(measured.spools, sensors.spool.delay),
        accelerometers=early(measured.accelerometers, sensors.acceleration.delay),
    )


def low_passed(values: FloatArray, corner: float, period: float) -> FloatArray:
    """Return rows (k, …) low-passed at ``corner`` Hz, forward and backward: nothing is delayed."""
    if not corner < 0.45 / period:
        return values
    sections = signal.butter(3, corner, fs=1.0 / period, output="sos")
    return np.asarray(signal.sosfiltfilt(sections, values, axis=0))


def derivative(values: FloatArray, period: float) -> FloatArray:
    """Return the rate of rows (k, …) by central differences."""
    return np.asarray(np.gradient(values, period, axis=0))
