"""What was asked and what was measured at the same instants, from a record.

The profile's window reaches from the first to the last frame in state RUNNING. Frame k holds the pose
measured at step k, while its reference is meant for step k + 1; so the pose at step k is compared with the
reference of frame k − 1, and a lag of zero means that the sample that answers a command shows its reference.
References lie on the loop's periods, poses on the plant's steps, which a stale sample repeats; the median of
their difference ties the two together. What is missing (missed cycles, lost frames, stale or invalid poses)
is bridged by straight lines.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mastd.arrays import FloatArray
from mastd.record.reader import Run
from mastd.settings.core.axes import AXES

MAX_GAP_RATIO = 10
"""Steps per recorded frame beyond which a record has too little in it to be judged."""


@dataclass(frozen=True)
class Window:
    """Frames ``first`` … ``last`` (both included) in which the profile played."""

    first: int
    last: int


@dataclass(frozen=True, eq=False)
class Aligned:
    """Measured and asked motion of C, each (k, 6), at the periods that the profile's references are meant
    for."""

    achieved: FloatArray
    asked: FloatArray


def find_window(run: Run, states: list[str]) -> Window | None:
    """Return the profile's window, None if the profile never ran."""
    running = np.flatnonzero(run.columns["state"] == states.index("RUNNING"))
    return Window(int(running[0]), int(running[-1])) if len(running) else None


def aligned_motion(run: Run, window: Window | None) -> Aligned | None:
    """Return the poses; None if there is no window or hardly a valid pose in it."""
    return _aligned(run, window, "pose", "reference")


def aligned_accelerations(run: Run, window: Window | None) -> Aligned | None:
    """Return second derivatives of the pose, measured without gravity, on the samples of ``aligned_motion``.

    None where that is none, and of a record without these channels.
    """
    return _aligned(run, window, "pose_acceleration", "reference_acceleration")


def _aligned(run: Run, window: Window | None, measured: str, wanted: str) -> Aligned | None:
    names = [[f"{quantity}.{axis}" for axis in AXES] for quantity in (measured, wanted)]
    if window is None or not all(name in run.columns for own in names for name in own):
        return None
    reach = slice(window.first, min(window.last + 2, len(run.times)))
    periods = np.rint(run.times[reach] / run.period)
    if not 2.0 <= periods[-1] - periods[0] <= MAX_GAP_RATIO * len(periods):
        return None
    steps = run.columns["step"][reach]
    if not np.any(np.isfinite(steps)):
        return None
    steps = steps - np.rint(np.nanmedian(steps - periods))
    grid = np.arange(periods[0] + 1.0, periods[-1] + 1.0)
    achieved = _on_grid(grid, steps, run.matrix(names[0])[reach])
    asked = _on_grid(grid, periods + 1.0, run.matrix(names[1])[reach])
    return None if achieved is None or asked is None else Aligned(achieved, asked)


def _on_grid(grid: FloatArray, positions: FloatArray, values: FloatArray) -> FloatArray | None:
    """Interpolate the finite rows of (k, columns) onto whole places; None if fewer than half are finite."""
    sound = np.isfinite(positions) & np.all(np.isfinite(values), axis=1)
    if not np.count_nonzero(sound) >= 0.5 * len(positions):
        return None
    positions, values = positions[sound], values[sound]
    highest = np.maximum.accumulate(positions)
    newer = np.concatenate(([True], np.diff(highest) > 0))
    return np.column_stack([np.interp(grid, positions[newer], column) for column in values[newer].T])
