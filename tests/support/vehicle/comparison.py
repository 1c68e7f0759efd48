"""How far a trajectory is from a reference one that stands in a CSV file of the same columns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.interpolate import CubicSpline

from mastd.arrays import FloatArray
from mastd.errors import FormatError
from mastd.formats.core.columns import read_columns
from mastd.vehicle.state.trace import Trace, columns

_POSITION = slice(1, 4)
_ACCELERATION = slice(7, 10)
_FIRST_LOAD = 16


@dataclass(frozen=True)
class Deviation:
    """Errors of a trajectory at the reference's times; NaN where it has no finite value there."""

    position: float
    """Largest distance between the chassis' centres of mass, m."""
    lateral_acceleration: float
    """Root mean square in chassis axes, m/s²."""
    vertical_acceleration: float
    """Root mean square in chassis axes, m/s²."""
    wheel_load: float
    """Largest difference of any wheel's load, N."""


def read_reference(path: Path, wheels: tuple[str, ...]) -> FloatArray:
    """Return the reference trajectory in a file as (n, 16 + nw): see ``trace.columns``.

    Raises FormatError if columns are missing, cells are no numbers or its times do not rise.
    """
    table = read_columns(path, columns(wheels))
    if not np.all(np.diff(table[:, 0]) > 0.0):
        raise FormatError(f"{path}: t_s must rise from row to row")
    return table


def deviation(trace: Trace, reference: FloatArray) -> Deviation:
    """Return the errors of ``trace`` against ``reference`` (n, 16 + nw), at the reference's times.

    Where the trace has no sample of its own at such a time, a cubic spline through its samples is read. A
    trace that ends before the reference is as wrong as one that is not finite: its errors are NaN.
    """
    table = trace.table()
    covered = len(table) > 1 and table[0, 0] <= reference[0, 0] + 1e-9
    covered = covered and bool(table[-1, 0] >= reference[-1, 0] - 1e-9)
    if not (covered and np.isfinite(table).all()):
        return Deviation(math.nan, math.nan, math.nan, math.nan)
    error = CubicSpline(table[:, 0], table, axis=0)(reference[:, 0]) - reference
    lateral, vertical = _rms(error[:, _ACCELERATION])[1:]
    return Deviation(
        position=float(np.linalg.norm(error[:, _POSITION], axis=1).max()),
        lateral_acceleration=float(lateral),
        vertical_acceleration=float(vertical),
        wheel_load=float(np.abs(error[:, _FIRST_LOAD:]).max()),
    )


def _rms(values: FloatArray) -> FloatArray:
    """Return the root mean square of each column."""
    result: FloatArray = np.sqrt(np.mean(np.square(values), axis=0))
    return result
