"""What a fault history tells: the cause, when and in which state it came, and what happened around it."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mastd.record.history import HISTORY_KEY
from mastd.record.reader import Run

_MAX_EVENTS = 40
_DETAILS = ("name", "verb", "to", "state", "lost", "outcome", "cause", "refused")


@dataclass(frozen=True)
class FaultHistory:
    """A file's own account of the fault: the event, its wall time, its place in this file and in the
    run's."""

    fault: Mapping[str, object]
    unix: float | None
    frame: int
    run: str | None
    run_time: float | None

    def text(self, key: str) -> str | None:
        """Return one entry of the fault event as text, None if it is not there."""
        value = self.fault.get(key)
        return None if value in (None, "") else str(value)

    @property
    def when(self) -> str | None:
        """Wall time in UTC, to the millisecond."""
        if self.unix is None:
            return None
        moment = datetime.datetime.fromtimestamp(round(self.unix, 3), datetime.UTC)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def fault_history(run: Run) -> FaultHistory | None:
    """Return the account of a fault history, None for the record of a run."""
    entry = run.metadata.get(HISTORY_KEY)
    if not isinstance(entry, Mapping):
        return None
    fault = entry.get("fault")
    return FaultHistory(
        fault=fault if isinstance(fault, Mapping) else {},
        unix=_number(entry.get("unix")),
        frame=_whole(entry.get("fault_frame")) or 0,
        run=None if entry.get("run") is None else str(entry["run"]),
        run_time=_number(entry.get("run_time_s")),
    )


def fault_time(run: Run, history: FaultHistory) -> float:
    """Return the time of the fault on the file's clock in s: between the frames before and after it."""
    before = int(np.searchsorted(run.numbers, history.frame))
    return float(run.times[before - 1]) + run.period if before else float(run.times[0])


def make_fault_result(run: Run, history: FaultHistory) -> dict[str, object]:
    """Return the document of ``mastd report`` for a fault history; missing data are None."""
    time = fault_time(run, history)
    faulty = int(np.searchsorted(run.numbers, history.frame)) - 1  # its frame shows the state after the fault
    return {
        "verdict": "fault",
        "fault_history": True,
        "state": _state(run, max(faulty - 1, 0)),
        "state_after": _state(run, len(run.times) - 1),
        "cause": history.text("cause") or history.text("name"),
        "code": history.text("name"),
        "action": history.text("action"),
        "hint": history.text("hint"),
        "run": str(run.path),
        "time": history.when,
        "cycle": _whole(history.fault.get("cycle")),
        "of_run": history.run,
        "time_in_run_s": history.run_time,
        "before_s": time - float(run.times[0]),
        "after_s": float(run.times[-1]) + run.period - time,
        "lost_frames": run.lost,
        "damage": run.damage_ever,
        "events": [[round(at - time, 6), text] for at, text in timed_events(run)][-_MAX_EVENTS:],
    }


def timed_events(run: Run) -> list[tuple[float, str]]:
    """Return (time in s on the file's clock, text) of every event in the file."""
    timed = []
    for event in run.events:
        number = event.get("frame")
        if isinstance(number, int):
            index = int(np.searchsorted(run.numbers, number))
            time = float(run.times[index - 1]) + run.period if index else float(run.times[0])
            texts = [str(event[key]) for key in _DETAILS if event.get(key) not in (None, "", False)]
            timed.append((time, " ".join([str(event.get("event")), *texts])))
    return timed


def fault_summary(result: Mapping[str, object]) -> str:
    """Return the document as lines for a terminal."""
    where = f"cycle {result['cycle']}" if result["cycle"] is not None else "cycle unknown"
    if result["state"] is not None:
        where += f", state {result['state']}"
        if result["state_after"] not in (None, result["state"]):
            where += f", then {result['state_after']}"
    time = result["time_in_run_s"]
    lines = [
        f"{result['run']}: FAULT HISTORY",
        f"  cause: {result['cause'] or 'unknown'} ({result['code'] or 'no code'}, action {result['action']})",
        f"  when: {result['time'] or 'time unknown'}, {where}",
    ]
    if result["of_run"] is not None:
        run = Path(str(result["of_run"]))
        lines.append(f"  run: {run}" + ("" if time is None else f", {time:.3f} s after its first frame"))
    if result["hint"]:
        lines.append(f"  what to do: {result['hint']}")
    lines.append(
        f"  holds {result['before_s']:.3f} s before and {result['after_s']:.3f} s after the fault"
        + (f", {result['lost_frames']} frames lost" if result["lost_frames"] else "")
    )
    events = result["events"]
    assert isinstance(events, list)
    lines += [f"  {at:+9.3f} s  {text}" for at, text in events]
    if result["damage"]:
        lines.append(f"  file damaged: {result['damage']}")
    if result.get("page"):
        lines.append(f"  page: {result['page']}")
    if result.get("no_page"):
        lines.append(f"  no page: {result['no_page']}")
    return "\n".join(lines)


def _state(run: Run, index: int) -> str | None:
    names = run.metadata.get("states")
    if not isinstance(names, list) or "state" not in run.columns:
        return None
    code = run.columns["state"][index]
    return str(names[int(code)]) if 0 <= code < len(names) else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
