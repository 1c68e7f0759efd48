"""Where the loop's events go: into the record, and in a service also what begins and ends one."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mastd.loop.loading.loader import metadata_path
from mastd.safety.states import State

if TYPE_CHECKING:
    from mastd.loop.cycle.cycle import Cycle
    from mastd.loop.realtime.rights import Rights
    from mastd.record.recorder import RecorderHandle

_RUN_STATES = frozenset(state.name for state in (State.ARMED, State.RUNNING, State.HOLD, State.STOPPING))
MAX_WAITING = 64
"""Events that wait for room at the recorder; the oldest gives way, and the recorder counts it as dropped."""


class ServiceJournal:
    """Passes events to the recorder of a service; arming begins a run's record, leaving the run ends it.

    ``directory`` is where runs go, ``profiles`` where the loader leaves the heads of their records.
    """

    def __init__(
        self, recorder: RecorderHandle, cycle: Cycle, directory: Path, profiles: Path, rights: Rights
    ) -> None:
        self._recorder = recorder
        self._cycle = cycle
        self._directory = directory
        self._profiles = profiles
        self._rights = rights_event(rights)
        self._waiting: deque[Mapping[str, object]] = deque(maxlen=MAX_WAITING)
        self._plant: Mapping[str, object] | None = None
        """The plant's newest boot, if it is not the one of which the heads of the records tell."""
        self._run = ""
        self._asked = self._asker = ""
        self._cycles_before = 0
        self._missed_before = 0

    def event(self, event: Mapping[str, object]) -> None:
        """Pass one event on."""
        if event.get("event") == "request" and not event["refused"]:
            self._asked, self._asker = str(event["verb"]), str(event["operator"])
        if event.get("event") == "plant":
            self._plant = event
        if event.get("event") != "state":
            self._send(event)
            return
        state = event["to"]
        if state == State.ARMED.name:
            self._begin()
        self._send(event)
        if self._run and state not in _RUN_STATES:
            self._end(event)

    def _begin(self) -> None:
        loaded = self._cycle.orders.loaded
        assert loaded is not None, "arming needs a profile"
        now_ms = time.time_ns() // 1_000_000
        stamp = f"{time.strftime('%Y%m%d-%H%M%S', time.localtime(now_ms // 1000))}-{now_ms % 1000:03d}"
        self._run = str(self._directory / f"{slug(loaded.name)}-{stamp}")
        self._cycles_before, self._missed_before = self._cycle.cycles, self._cycle.missed
        self._send(
            {
                "event": "record_begin",
                "directory": self._run,
                "metadata_file": str(metadata_path(self._profiles, loaded.slot)),
            }
        )
        self._send(self._rights)
        self._send({"event": "level", "share": self._cycle.reference.gain_target})
        if self._plant is not None:
            self._send(self._plant)

    def _send(self, event: Mapping[str, object]) -> None:
        """Offer an event to the recorder after those that it had no room for."""
        self._waiting.append(event)
        while self._waiting and self._recorder.event(self._waiting[0]):
            self._waiting.popleft()

    def _end(self, event: Mapping[str, object]) -> None:
        cycle = self._cycle
        fault = cycle.supervisor.latch.first
        completed = event["by"] == "profile ended"
        stopped = f"stopped by {self._asker or event['by']}" + (
            f" ({self._asked})" if self._asked not in ("", "stop") else ""
        )
        cause = fault.cause if fault else None if completed else stopped
        self._send(
            end_event(
                "fault" if fault else "completed" if completed else "stopped",
                str(event["to"]),
                cause,
                cycle.command_sha256,
                cycle.cycles - self._cycles_before,
                cycle.missed - self._missed_before,
            )
        )
        self._send({"event": "record_end"})
        self._run = ""


def rights_event(rights: Rights) -> dict[str, object]:
    """Return the event that tells which real-time rights a run had."""
    return {"event": "rights", "degraded": rights.degraded, "rights": rights.as_dict()}


def end_event(
    outcome: str, state: str, cause: str | None, command_sha256: str, cycles: int, missed: int
) -> dict[str, object]:
    """Return the event that closes every run's record."""
    return {
        "event": "end",
        "outcome": outcome,
        "state": state,
        "cause": cause,
        "command_sha256": command_sha256,
        "cycles": cycles,
        "missed": missed,
    }


def slug(name: str) -> str:
    """Return a profile's name as a directory may be called."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "run"
