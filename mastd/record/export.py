"""A record as a measurement for other programs: which channels, on whole periods, and where it comes from.

Times are seconds of the record's clock: frame n of the file stands at n · period, missed and lost frames
counted. Where one is missing, its values are put on the straight line between their neighbours, states and
counters (unit ``1``) stay as they were: the files of other programs have one step from value to value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from mastd.errors import FormatError
from mastd.formats.core.measurement import Channel, Measurement, Series
from mastd.formats.core.reshape import matching
from mastd.formats.mcap.frames import FrameSeries, provenance
from mastd.record.alignment import MAX_GAP_RATIO, find_window
from mastd.record.fault_report import fault_history
from mastd.record.reader import Run
from mastd.record.writer import RUN_FILE

SIGNALS: Final[Mapping[str, tuple[str, ...]]] = {
    "reference": ("reference.*", "reference_acceleration.*"),
    "achieved": ("pose.*", "pose_acceleration.*"),
    "drive": ("command.length.*",),
    "all": ("*",),
}
"""Patterns of the channels that a choice of signals takes."""
DEFAULT_SIGNALS: Final = ("reference", "achieved")
_ON_A_STEP: Final = 1e-6


def held(channel: Channel) -> bool:
    """Return whether a channel must not be interpolated or filtered: states, counters, profile time."""
    return channel.unit == "1" or channel.name == "profile_time"


def run_measurement(run: Run, signals: Sequence[str]) -> Measurement:
    """Return the channels of the ``signals`` (see ``SIGNALS``) of a record, or channels by name or pattern.

    Values are SI, as recorded. ``notes`` tell run, profile, software, plant and how it ended; ``warnings``
    what was missing. Raises FormatError for channels that the record does not hold, and where so much is
    missing that nearly all would be made up.
    """
    warnings = [] if run.damage_ever is None else [f"the record is damaged: {run.damage_ever}"]
    names: dict[str, None] = {}
    for signal in signals:
        found, missing = matching(list(run.columns), SIGNALS.get(signal, (signal,)))
        if not found:
            raise FormatError(f"{run.path}: no channel {', '.join(missing)}")
        warnings += [f"{signal}: the record holds no channel {pattern}" for pattern in missing]
        names |= dict.fromkeys(found)
    series = []
    filled = []
    for topic, frames in run.series.items():
        columns = [frames.names.index(name) for name in names if name in frames.names]
        if columns:
            one, text = _on_whole_steps(run, frames, columns)
            series.append(replace(one, name=topic))
            filled += [f"{topic}: {text}"] if text else []
    notes = _notes(run, signals, filled)
    return Measurement("mcap", tuple(series), notes, (*warnings, *filled))


def _on_whole_steps(run: Run, frames: FrameSeries, columns: Sequence[int]) -> tuple[Series, str]:
    """Return some columns at every step, and in words what had to be filled, "" for nothing."""
    positions = (frames.times - frames.times[0]) / frames.step
    whole = np.rint(positions)
    positions = np.where(np.abs(positions - whole) < _ON_A_STEP, whole, positions)
    newer = np.concatenate(([True], np.diff(np.maximum.accumulate(positions)) > 0.0))
    positions = positions[newer]
    count = int(positions[-1]) + 1
    if not count <= MAX_GAP_RATIO * len(positions):
        raise FormatError(f"{run.path}: {len(positions)} frames in {count} periods: too few to export")
    grid = np.arange(count, dtype=np.float64)
    latest = np.searchsorted(positions, grid, side="right") - 1
    absent = positions[latest] != grid
    missing = int(np.count_nonzero(absent))
    channels = []
    for column in columns:
        channel = Channel(
            frames.names[column],
            frames.units[column],
            frames.values[newer, column],
            frames.meanings[column],
        )
        values = channel.values[latest]
        if missing and not held(channel):
            values[absent] = np.interp(grid[absent], positions, channel.values)
        channels.append(replace(channel, values=values))
    gaps = int(np.count_nonzero(np.diff(positions) > 1.0 + _ON_A_STEP))
    text = (
        f"{missing} of {count} periods missed or lost in {gaps} gaps: filled by linear interpolation, "
        "states held"
    )
    return Series(tuple(channels), frames.step, float(frames.times[0])), text if missing else ""


def _notes(run: Run, signals: Sequence[str], filled: Sequence[str]) -> dict[str, str]:
    name = run.path.resolve().parent.name if run.path.name == RUN_FILE else run.path.stem
    notes = {"run": name, **provenance(run.metadata)}
    notes["signals"] = ", ".join(signals)
    notes["times"] = f"s of the record's clock, frame n at n * {run.period:.9g} s"
    if any(signal in ("reference", "all") or signal.startswith("reference") for signal in signals):
        notes["reference"] = "that of a frame is meant for the period after it"
    span = played(run)
    if span is not None:
        notes["profile_played"] = f"from {span[0]:.9g} s to {span[1]:.9g} s"
    ended = _ended(run)
    if ended:
        notes["ended"] = ended
    if run.damage_ever is not None:
        notes["broken_off"] = run.damage_ever
    if filled:
        notes["filled"] = "; ".join(filled)
    return notes


def played(run: Run) -> tuple[float, float] | None:
    """Return the times in s of the first and last frame in which the profile played."""
    states = run.metadata.get("states")
    if not isinstance(states, list) or "RUNNING" not in states or "state" not in run.columns:
        return None
    window = find_window(run, states)
    return None if window is None else (float(run.times[window.first]), float(run.times[window.last]))


def _ended(run: Run) -> str:
    """Return how a run ended, in which state and why, as its last event tells; "" if it does not."""
    history = fault_history(run)
    if history is not None:
        return f"fault history: {history.text('cause') or history.text('name') or 'cause unknown'}"
    for event in reversed(run.events):
        if event.get("event") == "end":
            cause = event.get("cause")
            state = f" in {event['state']}" if event.get("state") else ""
            return f"{event.get('outcome')}{state}" + (f": {cause}" if cause else "")
    return ""
