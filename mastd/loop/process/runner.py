"""The loop itself: deadline or plant, newest sample, one cycle, command out, frame recorded.

Nothing here waits for anybody but, in lockstep, for the plant (bounded by ``LOST_PLANT_NS``). Time in the
cycle is plant time in lockstep, so that such a run repeats bit for bit, and the monotonic clock in free-run.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from mastd.loop.cycle.cycle import Cycle
from mastd.loop.process.child_watch import ChildWatch
from mastd.loop.process.operator_requests import RequestPort
from mastd.loop.process.status_publisher import PUBLISH_EVERY, StatusPublisher
from mastd.loop.realtime.clock import PeriodicClock
from mastd.record.recorder import RecorderHandle
from mastd.safety.faults import Code
from mastd.wire.access.verbs import Verb
from mastd.wire.plant.socket_link import LOST_PLANT_NS, PlantHello, PlantLink

FIRST_SAMPLE_NS = 100_000_000
"""How long each sample is waited for while the old ones are thrown away."""
MAX_OLD_READS = 200
ALONE_IN_A_ROW = 5


class Script(Protocol):
    """Who asks for something in the operator's place."""

    @property
    def finished(self) -> bool:
        """Whether the loop is to end."""

    def next(self, now_ns: int) -> Verb:
        """Return what to ask for in this cycle."""

    def heard(self, verb: Verb) -> None:
        """Learn what an operator has asked for and was granted."""


class Journal(Protocol):
    """Who takes the events."""

    def event(self, event: Mapping[str, object]) -> object:
        """Take one."""


class Ports(NamedTuple):
    """What links the loop with its operators and its child processes."""

    requests: RequestPort
    publisher: StatusPublisher
    child_watch: ChildWatch


class Runner:
    """Runs cycles until the script has finished."""

    def __init__(
        self,
        cycle: Cycle,
        link: PlantLink,
        script: Script,
        period_ns: int,
        recorder: RecorderHandle | None,
        ports: Ports,
        journal: Journal | None = None,
    ) -> None:
        self._cycle = cycle
        self._link = link
        self._script = script
        self._period_ns = period_ns
        self._journal = journal or recorder
        self._push: Callable[..., bool] = recorder.push if recorder is not None else (lambda _frame: True)
        self._recorded = cycle.frame.values[: recorder.width if recorder is not None else 0]
        self._requests, self._publisher, self._child_watch = ports
        self._refusal: str | None = None
        self._plant = link.hello

    def free_run(self, clock: PeriodicClock) -> None:
        """Run on the clock's deadlines."""
        cycle, link, push, recorded = self._cycle, self._link, self._push, self._recorded
        thread_time = time.thread_time_ns
        self._forget_old_samples()
        cycle.sensing.last_ns = cycle.supervisor.since_ns = time.monotonic_ns()
        clock.start()
        while not self._script.finished:
            now = clock.wait()
            begun = thread_time()
            fresh = link.newest(cycle.sample, 0)
            self._step(fresh, now, clock.skipped, clock.late_ns)
            link.send(cycle.command)
            push(recorded)
            self._after(now)
            cycle.note_compute(thread_time() - begun)

    def _forget_old_samples(self) -> None:
        """Read until samples come one by one: what queued up while this process prepared itself is old."""
        alone = 0
        for _ in range(MAX_OLD_READS):
            fresh = self._link.newest(self._cycle.sample, FIRST_SAMPLE_NS)
            alone = alone + 1 if fresh <= 2 else 0
            if alone >= ALONE_IN_A_ROW:
                return

    def lockstep(self) -> None:
        """Run as fast as the plant answers; its step count is the time."""
        cycle, link, push, recorded = self._cycle, self._link, self._push, self._recorded
        thread_time = time.thread_time_ns
        now = cycle.sensing.last_ns = 0
        while not self._script.finished:
            begun = thread_time()
            fresh = link.newest(cycle.sample, LOST_PLANT_NS)
            now = cycle.sample.step * self._period_ns if fresh else now + LOST_PLANT_NS
            self._step(fresh, now)
            link.send(cycle.command)
            push(recorded)
            self._after(now)
            cycle.note_compute(thread_time() - begun)

    def _step(self, fresh: int, now_ns: int, skipped: int = 0, late_ns: int = 0) -> None:
        """One cycle with the newest request, or else with what the script asks for.

        An exception is a defect of the daemon: the drive lets the table down and the loop goes on, so that
        state and cause can be seen.
        """
        requests = self._requests
        # A stop of a rig goes before everything; what an operator has asked for waits for the next cycle.
        stop = self._cycle.rigs.stop_asked()
        asked = Verb.NONE if stop else requests.take()
        self._cycle.supervisor.asker = "a rig" if stop else "an operator"
        verb = stop or asked or self._script.next(now_ns)
        try:
            self._cycle.step(fresh, now_ns, verb, skipped, late_ns, requests.arguments)
        except Exception as error:
            self._cycle.fail(error, now_ns)
            if self._journal is not None:
                trace = traceback.format_exc(limit=-20)
                self._journal.event({"event": "exception", "trace": trace, "cycle": self._cycle.cycles})
        if asked:
            refusal = self._cycle.supervisor.refusal
            requests.answer(refusal)
            if not refusal:
                self._script.heard(asked)
        elif stop:
            self._script.heard(stop)

    def _after(self, now_ns: int) -> None:
        """Pass on what happened, and show the state; rare things only, and all bounded."""
        supervisor = self._cycle.supervisor
        if supervisor.events:
            if self._journal is not None:
                for event in supervisor.events:
                    self._journal.event({**event, "step": self._cycle.sample.step, "cycle": supervisor.cycle})
            supervisor.events.clear()
            self._publisher.publish(now_ns)
        elif supervisor.cycle % PUBLISH_EVERY == 0:
            self._publisher.publish(now_ns)
        if self._link.refusal is not self._refusal:
            self._note_refusal(self._link.refusal)
        if self._link.hello is not self._plant:
            self._note_plant(self._link.hello)
        self._child_watch.check()

    def _note_refusal(self, refusal: str | None) -> None:
        """Report what the plant complains of, but not the same words over and over again."""
        before, self._refusal = self._refusal, refusal
        if refusal and refusal != before:
            self._cycle.supervisor.report_next(Code.PLANT_REFUSES, refusal)

    def _note_plant(self, hello: PlantHello) -> None:
        """Tell that another boot of the plant serves this daemon from now on."""
        self._plant = hello
        if self._journal is not None:
            self._journal.event({"event": "plant", "name": hello.name, "boot_id": hello.boot_id})
