"""What is looked at now and then beside the cycles: the processes beside the loop, a plant that was lost.

A dead or silent process becomes a fault, never a wait. The service manager hears of the loop from here, so
that its watchdog is fed only while cycles continue.
"""

from __future__ import annotations

import time
from typing import Protocol

from mastd.loop.cycle.supervisor import Supervisor
from mastd.loop.process.operator_requests import RequestPort
from mastd.loop.process.status_text import StatusReporter
from mastd.record.recorder import RecorderHandle
from mastd.safety.faults import Action, Code
from mastd.wire.plant.socket_link import LinkCounters

LOOK_NS = 250_000_000
"""Wall time between two looks: asking the system for a process costs some ten microseconds."""
RIGS_GONE = "the rigs' gateway has ended, no rig can join; restart the daemon"


class Process(Protocol):
    """A process of the daemon's own."""

    def alive(self) -> bool:
        """Return whether it still runs."""


class Plant(Protocol):
    """A plant link whose session can be renewed."""

    @property
    def counters(self) -> LinkCounters:
        """What became of the messages so far."""

    def renew(self) -> None:
        """Ask for a new session, without waiting."""


class ChildWatch:
    """Reports the recorder and the gateway when they are gone; ``check`` is called once a cycle.

    A ``plant`` that is silent while the drive rests is asked for a new session: it may have been restarted.

    Time is the wall's also in lockstep: the other processes live in it.
    """

    def __init__(
        self,
        supervisor: Supervisor,
        requests: RequestPort,
        recorder: RecorderHandle | None,
        gateway: Process | None,
        gateway_lost_ns: int,
        status_reporter: StatusReporter | None = None,
        plant: Plant | None = None,
        rigs: Process | None = None,
    ) -> None:
        self._supervisor = supervisor
        self._requests = requests
        self._recorder = recorder
        self._gateway = gateway
        self._gateway_lost_ns = gateway_lost_ns
        self._trouble: str | None = None
        self._lost: str | None = None
        self._looked_ns = time.monotonic_ns()
        self._heartbeat = requests.heartbeat
        self._heard_ns = self._looked_ns
        self._status_reporter = status_reporter
        self._plant = plant
        self._rigs = rigs
        self._rigs_gone = False
        self._received = -1
        self._every_ns = min(LOOK_NS, status_reporter.interval_ns) if status_reporter is not None else LOOK_NS

    def check(self) -> None:
        """Look at all if it is time to; what is wrong is reported in every cycle, as long as it stands."""
        now = time.monotonic_ns()
        elapsed = now - self._looked_ns
        if elapsed >= self._every_ns:
            self._looked_ns = now
            if self._status_reporter is not None:
                self._status_reporter.check()
            if self._plant is not None:
                self._look_at_plant(self._plant)
            if self._recorder is not None:
                self._trouble = self._recorder.trouble()
            if self._gateway is not None:
                self._lost = self._gateway_trouble(self._gateway, now, elapsed)
            self._rigs_gone = self._rigs is not None and not self._rigs.alive()
        if self._trouble is not None:
            self._supervisor.report_next(Code.RECORDER_LOST, self._trouble)
        if self._lost is not None:
            self._supervisor.report_next(Code.GATEWAY_LOST, self._lost)
        if self._rigs_gone:
            # What becomes of the rigs that are used is their own policies' affair.
            self._supervisor.report_next(Code.RIG_LOST, RIGS_GONE, Action.INDICATE)

    def _look_at_plant(self, plant: Plant) -> None:
        """While the drive follows, a session must not be renewed: another plant may stand elsewhere."""
        received, self._received = self._received, plant.counters.received
        if received == self._received and self._supervisor.resting:
            plant.renew()

    def _gateway_trouble(self, gateway: Process, now: int, elapsed: int) -> str | None:
        # A loop that stood still itself has heard nothing and must not blame the other.
        if self._requests.heartbeat != self._heartbeat or elapsed > 2 * LOOK_NS:
            self._heartbeat, self._heard_ns = self._requests.heartbeat, now
        silent = now - self._heard_ns
        if not gateway.alive():
            return "its process has ended; nobody can reach the daemon, which lowers the table and ends"
        if silent > self._gateway_lost_ns:
            return f"no heartbeat for {silent * 1e-9:.1f} s; unreachable, the table is lowered"
        return None
