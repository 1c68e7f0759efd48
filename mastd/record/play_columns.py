"""Channels of a run on the times of its profile: value k belongs to k periods of the profile's own time.

What is commanded in a frame is meant for the next step, what is measured belongs to the frame's own step (see
``mastd.record.result``); both come out at the profile's time at which they were meant to be, and were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from scipy.interpolate import CubicSpline

from mastd.arrays import FloatArray
from mastd.errors import FormatError
from mastd.record.alignment import MAX_GAP_RATIO, find_window
from mastd.record.completeness import refuse_incomplete
from mastd.record.reader import Run

TIMES: Final = ("step", "profile_time")
"""Channels that tell which value belongs to which time."""
_COMMANDED: Final = ("reference", "command.", "payload_wrench.")
_STEADY: Final = 0.01
"""Periods by which a profile's time may stray from the record's clock."""
_BESIDE: Final = 3
"""Frames before and after the profile that bound what is interpolated at its ends."""


def play_columns(run: Run, names: Sequence[str], spacing: float, count: int) -> dict[str, FloatArray]:
    """Return channels (count,) at the profile times k · ``spacing`` in s.

    The few values that may be missing are bridged; beyond the first and the last frame they stay as they were
    there. Raises FormatError for a channel that the record does not hold, for a record with too many frames
    missing, and for a run in which the profile did not play to the end without a hold.
    """
    states = run.metadata.get("states")
    window = find_window(run, states) if isinstance(states, list) and "RUNNING" in states else None
    if window is None:
        raise FormatError(f"{run.path}: the profile did not run")
    refuse_incomplete(run)
    reach = slice(max(window.first - _BESIDE, 0), window.last + 1 + _BESIDE)
    missing = [name for name in (*names, *TIMES) if name not in run.columns]
    if missing:
        raise FormatError(f"{run.path}: no channel {', '.join(missing)}")
    frames = {name: run.columns[name][reach] for name in (*names, *TIMES)}
    return on_profile_time(str(run.path), frames, run.times[reach], run.period, names, spacing, count)


def on_profile_time(
    where: str,
    frames: Mapping[str, FloatArray],
    times: FloatArray,
    period: float,
    names: Sequence[str],
    spacing: float,
    count: int,
) -> dict[str, FloatArray]:
    """Return channels (count,) as above from the frames of one play, a few before and after it included.

    ``frames``: channel → values (n,), those of TIMES among them; ``times`` (n,) are the frames' own in s, a
    ``period`` apart. ``where`` begins the messages.
    """
    periods = np.rint(times / period)
    profile_time = frames["profile_time"]
    playing = np.isfinite(profile_time)
    begins = profile_time[playing] / period - (periods[playing] + 1.0)
    begin = float(np.median(begins))
    if not np.max(np.abs(begins - begin)) <= _STEADY:
        raise FormatError(f"{where}: the profile was held or slowed down: repeat the run without a hold")
    positions = np.arange(count, dtype=np.float64) * (spacing / period) - begin
    if not positions[-1] <= periods[-1] + 2.0:
        raise FormatError(f"{where}: the profile did not run to its end")
    steps = frames["step"] - np.rint(np.nanmedian(frames["step"] - periods))
    columns = {}
    for name in names:
        own = periods + 1.0 if name.startswith(_COMMANDED) else steps
        columns[name] = _at(f"{where}: {name}", positions, own, frames[name])
    return columns


def _at(what: str, positions: FloatArray, own: FloatArray, values: FloatArray) -> FloatArray:
    """Return values, known at their ``own`` places, at other ``positions``."""
    sound = np.isfinite(own) & np.isfinite(values)
    own, values = own[sound], values[sound]
    highest = np.maximum.accumulate(own) if len(own) else own
    newer = np.concatenate(([True], np.diff(highest) > 0.0))[: len(own)]
    own, values = own[newer], values[newer]
    if len(own) < 4 or not own[-1] - own[0] <= MAX_GAP_RATIO * len(own):
        raise FormatError(f"{what} has too few measured samples while the profile ran")
    at = np.clip(positions, own[0], own[-1])
    whole = np.rint(at)
    index = np.minimum(np.searchsorted(own, whole), len(own) - 1)
    if np.all(np.abs(at - whole) < _STEADY) and np.all(own[index] == whole):
        return np.asarray(values[index])
    return np.asarray(CubicSpline(own, values)(at))
