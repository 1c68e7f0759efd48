"""State and cause in one line, for the service manager's STATUS; made only when something has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mastd.loop.realtime.systemd_notify import ServiceManager
from mastd.safety.faults import ROWS, Fault
from mastd.safety.states import ON_PROFILE, State

if TYPE_CHECKING:
    from mastd.loop.cycle.cycle import Cycle
    from mastd.loop.process.script import StopRequest


class StatusReporter:
    """Tells the service manager what the loop does, and feeds the watchdog, each time ``check`` is called.

    ``note`` is what went before this loop (a bad end, a reload); it is shown until the table is raised.
    ``always`` stands behind every state, empty for nothing.
    """

    def __init__(
        self, manager: ServiceManager, cycle: Cycle, stop: StopRequest, note: str = "", always: str = ""
    ) -> None:
        self.interval_ns = manager.interval_ns
        self._manager = manager
        self._cycle = cycle
        self._stop = stop
        self._note = note
        self._always = always
        self._seen: tuple[State, Fault | None, str, bool] | None = None

    def check(self) -> None:
        """Show what has changed, and that the loop advances."""
        supervisor, loaded = self._cycle.supervisor, self._cycle.orders.loaded
        profile = loaded.name if loaded is not None else ""
        stopping = self._stop.requested
        seen = (supervisor.state, supervisor.latch.first, profile, stopping)
        if seen != self._seen:
            if supervisor.state is not State.OFF:
                self._note = ""
            self._manager.status(status_text(*seen, self._always, self._note))
            if stopping and not (self._seen and self._seen[3]):
                self._manager.stopping()
            self._seen = seen
        self._manager.alive()


def status_text(state: State, cause: Fault | None, profile: str, stopping: bool, *more: str) -> str:
    """Return one line, such as ``RUNNING class B road`` or ``FAULT: samples stale: …; what to do: …``."""
    text = "stopping: " if stopping else ""
    shown = state in ON_PROFILE or state in (State.READY, State.ARMED)
    text += f"{state.name} {profile}" if profile and shown else state.name
    if cause is not None:
        text += f": {cause.cause}; what to do: {ROWS[cause.code].hint}"
    return "; ".join((text, *(part for part in more if part)))
