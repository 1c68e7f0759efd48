"""The plant as a process: a plant object behind the plant link, in lockstep or on its own clock."""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import select
import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from hil_sim.plant.endpoint import WAIT_MS, Event, PlantEndpoint, Request
from hil_sim.plant.motion_log import MotionLog
from mastd.loop.realtime.rights import favour_helpers
from mastd.wire.plant.direct_link import DirectPlant
from mastd.wire.plant.hello import LinkTerms, PlantHello
from mastd.wire.plant.messages import Command, Sample

FIFO_PRIORITY = 40
MESSAGES_PER_PERIOD = 1024  # taken at most, so that a flood cannot hold up the plant


class EndOfLife:
    """Knows when the process should end: told by SIGTERM or SIGINT, or its parent is gone."""

    def __init__(self, parent_pid: int | None) -> None:
        self._stop_requested = False
        self._parent: select.poll | None = None
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._request_stop)
        if parent_pid is not None:
            try:
                descriptor = os.pidfd_open(parent_pid)
            except ProcessLookupError:
                self._stop_requested = True
                return
            self._parent = select.poll()
            self._parent.register(descriptor, select.POLLIN)

    def reached(self) -> bool:
        """Return whether to end now."""
        if not self._stop_requested and self._parent is not None and self._parent.poll(0):
            self._stop_requested = True
        return self._stop_requested

    def _request_stop(self, number: int, frame: FrameType | None) -> None:
        self._stop_requested = True


class PlantServer:
    """A plant object, its endpoint and the loop that serves them."""

    def __init__(
        self,
        plant: DirectPlant,
        terms: LinkTerms,
        address: str,
        request: Request,
        motion_log: MotionLog | None = None,
        allow_remote: bool = False,
    ) -> None:
        self.step = 0
        self._plant = plant
        self._terms = terms
        self._log = motion_log
        self._arrived = Command(terms.command_layout)
        self._sample = Sample(terms.sample_layout)
        self.endpoint = PlantEndpoint(
            address,
            terms,
            PlantHello.of(terms, plant.boot_id, plant.name, simulated=True),
            request,
            allow_remote,
        )

    def serve(self, ended: Callable[[], bool]) -> None:
        """Serve until ``ended`` says so, then close the endpoint."""
        try:
            if self._terms.mode == "lockstep":
                self._serve_lockstep(ended)
            else:
                self._serve_free_run(ended)
        finally:
            self.endpoint.close()

    def _serve_lockstep(self, ended: Callable[[], bool]) -> None:
        """Answer each command with one period; plant time stands still otherwise."""
        while not ended():
            event = self.endpoint.receive(self._arrived, self.step, wait=True)
            if event is Event.COMMAND:
                self._advance(self._arrived, 1)
            if event in (Event.COMMAND, Event.WELCOMED):
                self._publish()

    def _serve_free_run(self, ended: Callable[[], bool]) -> None:
        """Follow the monotonic clock period by period; missed periods pass in one go."""
        period_ns = self._terms.period_ns
        deadline_ns = time.monotonic_ns() + period_ns
        checks = max(1, WAIT_MS * 1_000_000 // period_ns)
        for cycle in itertools.count():
            if cycle % checks == 0 and ended():
                return
            wait_ns = deadline_ns - time.monotonic_ns()
            if wait_ns > 0:
                time.sleep(wait_ns / 1e9)
            periods = 1 + max(0, time.monotonic_ns() - deadline_ns) // period_ns
            commands = self._waiting_commands(periods)
            if len(commands) < periods:
                # Periods for which nobody sent anything: the drive bridges them itself.
                self._advance(None, periods - len(commands))
            for command in commands:
                self._advance(command, 1)
            self._publish()
            deadline_ns += periods * period_ns

    def _waiting_commands(self, maximum: int) -> list[Command]:
        """Take all waiting messages; return the newest valid commands, at most ``maximum``, in order.

        After a stall of this process a daemon that went on has left one command for each period of the gap:
        a real drive would have had each of them in time, so each gets its period.
        """
        commands: list[Command] = []
        for _ in range(MESSAGES_PER_PERIOD):
            event = self.endpoint.receive(self._arrived, self.step)
            if event is Event.NOTHING:
                break
            if event is Event.COMMAND:
                command = Command(self._terms.command_layout)
                command.copy_from(self._arrived)
                commands.append(command)
        return commands[-maximum:]

    def _advance(self, command: Command | None, periods: int) -> None:
        """Let ``periods`` pass, one by one: the log has a row of each, also of those that pass in one go."""
        for _ in range(periods):
            self._plant.advance(command, self._terms.period_ns)
            command = None
            if self._log is not None:
                self._log.write()
        self.step += periods

    def _publish(self) -> None:
        if self._plant.silent:
            return
        self._plant.read(self._sample)
        self._sample.step = self.step
        self.endpoint.publish(self._sample)


def raise_priority() -> bool:
    """Ask for real-time scheduling of this thread, or at least for exact wake-ups; tell whether it came."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(FIFO_PRIORITY))
    except OSError:
        with contextlib.suppress(OSError):
            Path("/proc/self/timerslack_ns").write_text("1", encoding="ascii")
        return False
    favour_helpers()
    return True


def quieten_collector() -> None:
    """Take everything made so far out of the garbage collector's sight: a full collection costs 0.1 s."""
    gc.collect()
    gc.freeze()
