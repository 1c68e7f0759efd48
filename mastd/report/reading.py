"""What a page needs of a record: which frames it shows, what its times count from, and what happened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import FormatError
from mastd.record.alignment import find_window
from mastd.record.fault_report import fault_history, fault_time
from mastd.record.reader import Run, open_run
from mastd.record.result import NEEDED
from mastd.report.numbers import seconds

_MARGIN_S: Final = 1.0
_MAX_EVENTS: Final = 500
"""Events that a page lists, the first and the last half of them."""
_MAX_LEVELS: Final = 10
_NOT_SHOWN: Final = (
    "reference_rate.",
    "reference_jerk.",
    "pose_rate.",
    "length_rate.",
    "raw_length.",
    "pressure_",
    "load_cell.",
    "spool.",
    "accelerometer.",
    "payload_wrench.",
)


@dataclass(frozen=True)
class Happening:
    """An event at ``time`` s on the page's clock, None where the record does not tell; ``tone`` says of
    which kind: event, gap or limit (a fault)."""

    time: float | None
    text: str
    tone: str
    hint: str


@dataclass(frozen=True, eq=False)
class View:
    """The frames ``shown`` of a run; ``times`` (k,) are theirs in s from ``origin``; ``clock`` names it."""

    run: Run
    origin: float
    shown: slice
    times: FloatArray
    clock: str
    of_fault: bool
    happenings: tuple[Happening, ...]
    left_out: int
    """Events that are not among the happenings."""

    def column(self, name: str) -> FloatArray:
        """Return a channel of every cycle over the shown frames."""
        values: FloatArray = self.run.columns[name][self.shown]
        return values

    def has(self, name: str) -> bool:
        """Return whether the run has this channel of every cycle."""
        return name in self.run.columns and len(self.run.columns[name]) == len(self.run.times)

    def names(self, prefix: str) -> list[str]:
        """Return the channels of every cycle that begin so, in the order of the record."""
        return [name for name in self.run.columns if name.startswith(prefix) and self.has(name)]

    @property
    def span(self) -> tuple[float, float]:
        """First and last time shown."""
        return (float(self.times[0]), float(self.times[-1])) if len(self.times) > 1 else (0.0, 1.0)


def read(path: Path) -> Run:
    """Read a record with the channels of results and pages; errors are those of ``open_run``."""
    return open_run(path, lambda name: not name.startswith(_NOT_SHOWN))


def view_of(run: Run) -> View:
    """Return the data that a page shows of a run or of a fault history.

    Raises FormatError if the record lacks a channel that every page shows.
    """
    missing = [name for name in NEEDED if name not in run.columns]
    if missing:
        raise FormatError(f"{run.path}: no channel {', '.join(missing)}")
    history = fault_history(run)
    if history is not None:
        origin, shown, clock = fault_time(run, history), slice(0, len(run.times)), "s from the fault"
    else:
        origin, shown = _played(run)
        clock = "s from the profile's start"
    happenings = [happening_of(event, run, origin) for event in run.events]
    left_out = max(0, len(happenings) - _MAX_EVENTS)
    if left_out:
        half = _MAX_EVENTS // 2
        happenings = happenings[:half] + happenings[-half:]
    times = run.times[shown] - origin
    return View(run, origin, shown, times, clock, history is not None, tuple(happenings), left_out)


def _played(run: Run) -> tuple[float, slice]:
    """Return when the profile began and the frames in which it played, with a little around them."""
    states = run.metadata.get("states")
    names = [str(name) for name in states] if isinstance(states, list) else []
    window = find_window(run, names) if "RUNNING" in names else None
    if window is None:
        return (float(run.times[0]) if len(run.times) else 0.0), slice(0, len(run.times))
    start, stop = float(run.times[window.first]), float(run.times[window.last])
    first = int(np.searchsorted(run.times, start - _MARGIN_S))
    return start, slice(first, int(np.searchsorted(run.times, stop + _MARGIN_S, side="right")))


def level_text(view: View) -> str:
    """Return the master gain at the start of a run, and its changes during the run."""
    start, later = 1.0, []
    for event in view.run.events:
        ratio = event.get("share")
        if not isinstance(ratio, int | float) or event.get("refused"):
            continue
        if event.get("event") == "level":
            start = float(ratio)
        elif event.get("event") == "request":
            time = _time(event, view.run, view.origin)
            later.append(f"{1e2 * ratio:.4g} %" + ("" if time is None else f" from {seconds(time)} s"))
    return ", ".join([f"{1e2 * start:.4g} %", *later[:_MAX_LEVELS]])


def happening_of(event: Mapping[str, object], run: Run, origin: float) -> Happening:
    """Return one event in words."""
    time = _time(event, run, origin)
    kind = str(event.get("event"))
    tone = {"gap": "gap", "fault": "limit"}.get(kind, "event")
    hint = event.get("hint")
    return Happening(time, _event_text(kind, event), tone, str(hint) if hint else "")


def _time(event: Mapping[str, object], run: Run, origin: float) -> float | None:
    number = event.get("frame")
    if not isinstance(number, int) or not len(run.numbers):
        return None
    return float(np.interp(number, run.numbers, run.times)) - origin


def _event_text(kind: str, event: Mapping[str, object]) -> str:
    cause = f": {event['cause']}" if event.get("cause") else ""
    match kind:
        case "state":
            by = f" ({event['by']})" if event.get("by") else ""
            was = f"{event['from']} → " if event.get("from") else "state "
            return f"{was}{event.get('to', event.get('state'))}{by}{cause}"
        case "request":
            refused = event.get("refused")
            return f"requested: {request_text(event)}" + (f", refused: {refused}" if refused else "")
        case "fault":
            action = str(event.get("action", "unknown")).lower().replace("_", " ")
            return f"fault {event.get('name')}{cause}; action: {action}"
        case "gap":
            return f"gap: {event.get('lost')} frames lost"
        case "rights":
            return "real-time rights " + ("missing (DEGRADED_RT)" if event.get("degraded") else "obtained")
        case "level":
            ratio = event.get("share")
            return f"level {1e2 * ratio:.4g} %" if isinstance(ratio, int | float) else "level"
        case "end":
            return f"end: {event.get('outcome')}, ended in {event.get('state')}{cause}"
    rest = {key: value for key, value in event.items() if key not in _COUNTERS and value not in (None, "")}
    return " ".join([kind, *(f"{key} {str(value)[:200]}" for key, value in rest.items())])


_COUNTERS: Final = ("event", "frame", "cycle", "step")


def request_text(event: Mapping[str, object]) -> str:
    """Return an operator's request in words."""
    ratio = event.get("share")
    return str(event.get("verb")) + (f" {1e2 * ratio:.4g} %" if isinstance(ratio, int | float) else "")
