"""What is told about a run: its extremes, its end, what the solver made of it, and what a manoeuvre finds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mastd.arrays import BoolArray
from mastd.vehicle.state.trace import ACCELERATION, ANGLES, POSITION, Trace


@dataclass(frozen=True)
class Finding:
    """One figure that a manoeuvre or a vehicle is judged by."""

    key: str
    """In documents, with the SI unit: ``understeer_gradient_rad_per_ms2``."""
    label: str
    value: float
    """SI; NaN where there is none."""
    unit: str
    """That of the page."""
    scale: float = 1.0
    """From SI to that unit."""
    digits: int = 3
    formula: float | None = None
    """The same by a closed formula, SI, where there is one."""
    note: str = ""
    """Why there is no value, or what it is of."""


@dataclass(frozen=True)
class Unconverged:
    """A step that missed a tolerance: what was left of each measure."""

    time: float
    move: float
    """Last correction of a position, m."""
    joint_error: float
    """m."""
    velocity_error: float
    """m/s."""
    roll: float
    """Of the chassis, rad."""


@dataclass(frozen=True)
class Summary:
    """What is reported about a run; SI, accelerations in chassis axes at its centre of mass."""

    peak_lateral_acceleration: float
    peak_vertical_acceleration: float
    final_position: tuple[float, ...]
    final_yaw: float
    min_loads: tuple[float, ...]
    max_loads: tuple[float, ...]
    mean_iterations: float
    max_iterations: int
    joint_error: float
    velocity_error: float
    outside: tuple[float, ...]
    """How far each wheel was beside the road or the table at most, m; 0: never."""
    left_road: float | None
    """When the first wheel left it, s; None if none did."""
    unconverged: Unconverged | None
    """The first step that did not converge, None if all did."""


def summary(trace: Trace) -> Summary:
    """Return the figures of a run, up to the step before the first one that did not converge."""
    first = trace.first_unconverged
    unconverged = None if first is None else _unconverged(trace, first)
    if first:
        trace = trace.until(first)
    stepped = trace.iterations[trace.iterations > 0]
    accelerations = np.abs(trace.chassis[:, ACCELERATION])
    return Summary(
        peak_lateral_acceleration=float(accelerations[:, 1].max()),
        peak_vertical_acceleration=float(accelerations[:, 2].max()),
        final_position=tuple(trace.chassis[-1, POSITION].tolist()),
        final_yaw=float(trace.table()[-1, 1 + ANGLES.stop - 1]),
        min_loads=tuple(trace.wheel_loads.min(axis=0).tolist()),
        max_loads=tuple(trace.wheel_loads.max(axis=0).tolist()),
        mean_iterations=float(stepped.mean()) if len(stepped) else 0.0,
        max_iterations=int(trace.iterations.max()),
        joint_error=float(trace.joint_error.max()),
        velocity_error=float(trace.velocity_error.max()),
        outside=tuple(trace.outside.max(axis=0).tolist()),
        left_road=_first_time(trace, trace.outside > 0.0),
        unconverged=unconverged,
    )


def _first_time(trace: Trace, happens: BoolArray) -> float | None:
    """Return the time of the first sample at which something happens to any wheel, (n, nw)."""
    rows = np.flatnonzero(happens.any(axis=1))
    return float(trace.time[rows[0]]) if len(rows) else None


def _unconverged(trace: Trace, at: int) -> Unconverged:
    return Unconverged(
        time=float(trace.time[at]),
        move=float(trace.residual[at]),
        joint_error=float(trace.joint_error[at]),
        velocity_error=float(trace.velocity_error[at]),
        roll=_last_roll(trace, at),
    )


def _last_roll(trace: Trace, at: int) -> float:
    """Return the roll at a sample, or the last one before it that is a number."""
    rolls = trace.chassis[: at + 1, ANGLES.start]
    finite = np.flatnonzero(np.isfinite(rolls))
    return float(rolls[finite[-1]]) if len(finite) else float("nan")
