"""Benches of the loop: lockstep against real time, processor time of a cycle, wake-up lateness.

All on the class B road with its 12 t payload while the profile runs; raising is not counted.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack

import numpy as np

from mastd.bench.registry import Figure, bench, figure, ratio
from mastd.loop.cycle.cycle import Cycle
from mastd.loop.process.child_watch import ChildWatch
from mastd.loop.process.host import Connection, open_link, processor_affinity, wanted_rights
from mastd.loop.process.installation import Plan
from mastd.loop.process.operator_requests import RequestPort
from mastd.loop.process.runner import Ports, Runner
from mastd.loop.process.status_publisher import StatusPublisher
from mastd.loop.process.warmup import compile_kernels
from mastd.loop.realtime.clock import PeriodicClock
from mastd.loop.realtime.rights import acquire, relax
from mastd.safety.states import State
from mastd.settings.core.starter import find
from mastd.wire.access.verbs import Verb
from mastd.wire.common.blocks import REQUEST, NewestValueBlock, status_layout
from mastd.wire.plant.hello import Mode
from mastd.wire.plant.provider import PlantRequest, rigid_payload

LOCKSTEP_CYCLES = 20_000
LOCKSTEP_WINDOW = 1_000
FREE_RUN_CYCLES = 8_000
WAKEUPS = 4_000


class Play:
    """Raises, arms, starts; notes something in every cycle of the running profile; ends after ``cycles``."""

    def __init__(self, cycle: Cycle, cycles: int, note: Callable[[], float]) -> None:
        self.finished = False
        self.notes: list[float] = []
        self._cycle = cycle
        self._cycles = cycles
        self._note = note

    def next(self, now_ns: int) -> Verb:
        """Return what to ask for in this cycle."""
        state = self._cycle.supervisor.state
        if state is State.RUNNING:
            self.notes.append(self._note())
            self.finished = len(self.notes) > self._cycles
            return Verb.NONE
        self.finished = state in (State.FAULT, State.ESTOP)
        return {State.OFF: Verb.RAISE, State.READY: Verb.ARM, State.ARMED: Verb.START}.get(state, Verb.NONE)

    def heard(self, verb: Verb) -> None:
        """Nobody operates a bench."""


def _play(mode: Mode, link_kind: str, cycles: int, note: Callable[[Cycle], float]) -> list[float]:
    """Return the notes of ``cycles`` cycles of the running profile."""
    plan = Plan.load(find("table", "table"), find("profile", "class_b_road"), find("daemon", "simulated"))
    request = PlantRequest(
        plan.table_path, payload=rigid_payload(plan.profile), mode=mode, period_ns=plan.daemon.period_ns
    )
    cycle = plan.cycle()
    play = Play(cycle, cycles, lambda: note(cycle))
    connection = Connection(None, link_kind, mode, request)
    with ExitStack() as stack:
        compile_kernels(plan)
        link = open_link(plan, connection, stack)
        stack.callback(link.close)
        rights = acquire(wanted_rights(plan, connection))
        stack.callback(relax)
        requests = RequestPort(NewestValueBlock(REQUEST))
        status = NewestValueBlock(status_layout(len(plan.table.links)))
        runner = Runner(
            cycle,
            link,
            play,
            plan.daemon.period_ns,
            None,
            Ports(
                requests,
                StatusPublisher(status, cycle, requests, None, rights.degraded),
                ChildWatch(cycle.supervisor, requests, None, None, 0),
            ),
        )
        stack.enter_context(processor_affinity(connection))
        if mode == "lockstep":
            runner.lockstep()
        else:
            runner.free_run(PeriodicClock(plan.daemon.period_ns))
    return play.notes


def _realtime_factor(link_kind: str) -> list[float]:
    stamps = np.array(_play("lockstep", link_kind, LOCKSTEP_CYCLES, lambda _: time.perf_counter()))
    windows = np.diff(stamps[::LOCKSTEP_WINDOW])
    return list(LOCKSTEP_WINDOW * 1e-3 / windows)


@bench("lockstep.realtime_factor", "lockstep.realtime_factor_sockets")
def lockstep() -> dict[str, Figure]:
    """How many times faster than real time the loop runs with the plant inside, direct and over sockets."""
    return {
        "lockstep.realtime_factor": ratio(float(np.median(_realtime_factor("direct")))),
        "lockstep.realtime_factor_sockets": ratio(float(np.median(_realtime_factor("socket")))),
    }


@bench("cycle.compute_us")
def cycle_compute() -> dict[str, Figure]:
    """Processor time of the loop's thread per cycle at 1 kHz over sockets, sockets included."""
    notes = _play("free-run", "socket", FREE_RUN_CYCLES, lambda cycle: float(cycle.frame.field("compute")[0]))
    return {"cycle.compute_us": figure(np.array(notes) * 1e6, "us")}


@bench("wakeup.late_us")
def wakeup() -> dict[str, Figure]:
    """Lateness of the loop's wake-ups with the rights of this process, beside cyclictest where installed."""
    plan = Plan.load(find("table", "table"), find("profile", "class_b_road"), find("daemon", "simulated"))
    acquire(plan.daemon.realtime)
    try:
        clock = PeriodicClock(plan.daemon.period_ns)
        clock.start()
        late = np.zeros(WAKEUPS)
        for index in range(WAKEUPS):
            clock.wait()
            late[index] = clock.late_ns * 1e-3 + clock.skipped * clock.period_ns * 1e-3
    finally:
        relax()
    figures = {"wakeup.late_us": figure(late, "us")}
    cyclictest = _cyclictest(plan.daemon.realtime.priority or 1)
    return {**figures, "wakeup.cyclictest_us": cyclictest} if cyclictest else figures


def _cyclictest(priority: int) -> Figure | None:
    """Return the latencies that cyclictest finds, None where it is not installed or not allowed."""
    program = shutil.which("cyclictest")
    if program is None:
        return None
    arguments = [program, "-q", "-m", "-p", str(priority), "-i", "1000", "-l", str(WAKEUPS), "-h", "20000"]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False)
    rows = re.findall(r"^(\d{6}) (\d{6})$", done.stdout, flags=re.MULTILINE)
    counts = [(int(latency), int(count)) for latency, count in rows if int(count)]
    if done.returncode or not counts:
        return None
    return figure(
        np.repeat([latency for latency, _ in counts], [count for _, count in counts]).astype(float), "us"
    )
