"""What a simulated vehicle did, step by step, and its columns in a CSV file.

Positions are those of the chassis' centre of mass in inertial axes; velocities, accelerations, angular
velocities and accelerations are resolved in chassis axes; roll, pitch and yaw are the angles of
R = Rz(yaw) Ry(pitch) Rx(roll), chassis → inertial. In a file the yaw counts on past 180°.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final

import numpy as np

from mastd.arrays import BoolArray, FloatArray, IntArray
from mastd.formats.core.columns import write_columns

POSITION: Final = slice(0, 3)
VELOCITY: Final = slice(3, 6)
ACCELERATION: Final = slice(6, 9)
ANGLES: Final = slice(9, 12)
ANGULAR_VELOCITY: Final = slice(12, 15)
ANGULAR_ACCELERATION: Final = slice(15, 18)
CHASSIS_WIDTH: Final = 18
"""Columns of ``Trace.chassis``, and where each vector stands in them."""

CHASSIS_COLUMNS: Final = (
    *("x_m", "y_m", "z_m"),
    *("vx_ms", "vy_ms", "vz_ms"),
    *("ax_ms2", "ay_ms2", "az_ms2"),
    *("roll_rad", "pitch_rad", "yaw_rad"),
    *("wx_rads", "wy_rads", "wz_rads"),
)
"""Names in a file of the first 15 columns of ``Trace.chassis``."""


@dataclass(frozen=True, eq=False)
class Trace:
    """n samples of one run, in the order of time; lengths in m, angles in rad, forces in N, times in s."""

    wheels: tuple[str, ...]
    """Names of the nw wheels, in the model's order."""
    time: FloatArray
    """(n)"""
    chassis: FloatArray
    """(n, 18): position, velocity, acceleration, angles, angular velocity and acceleration; see above."""
    wheel_loads: FloatArray
    """(n, nw) vertical force of the ground on each tyre."""
    spin: FloatArray
    """(n, nw) rad/s about the wheel's axis, absolute."""
    wheel_travel: FloatArray
    """(n, nw) height of the wheel's centre in chassis axes above the design position, m: bump positive."""
    tyre_force: FloatArray
    """(n, nw, 2) N on each tyre along and across the direction in which the wheel points."""
    slip: FloatArray
    """(n, nw, 2) relaxed slips κ′ and tan α′ of Magic Formula tyres, 0 of others."""
    outside: FloatArray
    """(n, nw) m that the wheel is beside the road or the table, 0 on it."""
    rack_force: FloatArray
    """(n, drives) N with which each rack pushes its pinion to the left."""
    engine_speed: FloatArray
    """(n) rad/s, 0 without a powertrain."""
    iterations: IntArray
    """(n) iterations of the step that led here, 0 where none did."""
    residual: FloatArray
    """(n) largest correction that the last iteration still made, m (rotations times 1 m)."""
    converged: BoolArray
    """(n) whether that was below what is tolerated."""
    joint_error: FloatArray
    """(n) largest constraint error of position, m."""
    velocity_error: FloatArray
    """(n) largest constraint error of velocity, m/s."""

    def __len__(self) -> int:
        return len(self.time)

    @property
    def first_unconverged(self) -> int | None:
        """Index of the first sample that did not converge or is not finite, None if all are sound."""
        sound = self.converged & np.isfinite(self.chassis).all(axis=1)
        return None if bool(sound.all()) else int(np.argmin(sound))

    def until(self, count: int) -> Trace:
        """Return the first ``count`` samples."""
        kept = {name: value[:count] for name, value in vars(self).items() if name != "wheels"}
        return Trace(wheels=self.wheels, **kept)

    def table(self) -> FloatArray:
        """Return the columns named by ``columns``, (n, 16 + nw)."""
        chassis = self.chassis[:, : len(CHASSIS_COLUMNS)].copy()
        chassis[:, 11] = _unwrapped(chassis[:, 11])
        return np.column_stack((self.time, chassis, self.wheel_loads))


def columns(wheels: Sequence[str]) -> tuple[str, ...]:
    """Return the names of a trajectory's columns: ``t_s``, the chassis', and ``fz_NAME_N`` for each wheel."""
    return ("t_s", *CHASSIS_COLUMNS, *(f"fz_{wheel}_N" for wheel in wheels))


def join(traces: Sequence[Trace]) -> Trace:
    """Return several traces of one run as one."""
    joined = {
        field.name: np.concatenate([getattr(trace, field.name) for trace in traces])
        for field in fields(Trace)
        if field.name != "wheels"
    }
    return Trace(wheels=traces[0].wheels, **joined)


def save_trace(path: Path, trace: Trace) -> None:
    """Write a trajectory as CSV: names of the columns, then one row a sample; numbers keep every digit."""
    with path.open("w", encoding="utf-8", newline="") as file:
        write_columns(file, columns(trace.wheels), _rows(trace.table()))


def _rows(table: FloatArray) -> list[list[float | int | None]]:
    """Return rows for a file; what is not finite becomes an empty cell."""
    return [[value if np.isfinite(value) else None for value in row] for row in table.tolist()]


def _unwrapped(yaw: FloatArray) -> FloatArray:
    """Return the angle without its jumps of one turn, also if a run that failed ends in no numbers."""
    result = yaw.copy()
    sound = np.isfinite(yaw)
    result[sound] = np.unwrap(yaw[sound])
    return result
