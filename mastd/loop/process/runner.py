"""The loop itself: deadline or plant, newest sample, one cycle, command out, frame recorded.

No exception ends it: whatever part of a turn breaks, the drive lets the table down, and the loop goes on, so
that state and cause can be seen and the record is closed.

Nothing here waits for anybody but, in lockstep, for the plant (bounded by ``LOST_PLANT_NS``). Time in the
cycle is plant time in lockstep, so that such a run repeats bit for bit, and the monotonic clock in free-run.
"""

from __future__ import annotations

import contextlib
import time
import traceback
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol, TypeVar

from mastd.loop.cycle.cycle import Cycle, exception_text
from mastd.loop.process.child_watch import ChildWatch
from mastd.loop.process.operator_requests import RequestPort
from mastd.loop.process.status_publisher import PUBLISH_EVERY, StatusPublisher
from mastd.loop.realtime.clock import PeriodicClock
from mastd.record.recorder import RecorderHandle
from mastd.safety.faults import Code
from mastd.wire.access.verbs import NO_VERB, Verb
from mastd.wire.plant.socket_link import LOST_PLANT_NS, PlantHello, PlantLink

FIRST_SAMPLE_NS = 100_000_000
"""How long each sample is waited for while the old ones are thrown away."""
MAX_OLD_READS = 200
ALONE_IN_A_ROW = 5
PROGRAM = "the daemon"
"""Who asks where no operator, no rig and no signal does."""
_NOTHING = (NO_VERB, NO_VERB, NO_VERB)
_Result = TypeVar("_Result")


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
        self._broken = ""
        """The exception that was told last."""

    def free_run(self, clock: PeriodicClock) -> None:
        """Run on the clock's deadlines."""
        cycle, newest = self._cycle, self._link.newest
        thread_time = time.thread_time_ns
        self._guarded(self._forget_old_samples, instead=None)
        cycle.sensing.last_ns = cycle.supervisor.since_ns = time.monotonic_ns()
        clock.start()
        while not self._script.finished:
            now = clock.wait()
            begun = thread_time()
            fresh = self._guarded(newest, cycle.sample, 0, instead=0)
            self._step(fresh, now, clock.skipped, clock.late_ns)
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
        cycle, newest = self._cycle, self._link.newest
        thread_time = time.thread_time_ns
        now = cycle.sensing.last_ns = 0
        while not self._script.finished:
            begun = thread_time()
            fresh = self._guarded(newest, cycle.sample, LOST_PLANT_NS, instead=0)
            now = cycle.sample.step * self._period_ns if fresh else now + LOST_PLANT_NS
            self._step(fresh, now)
            self._after(now)
            cycle.note_compute(thread_time() - begun)

    def _step(self, fresh: int, now_ns: int, skipped: int = 0, late_ns: int = 0) -> None:
        """One cycle with the newest request, or else with what the script asks for."""
        verb, asked, stop = self._guarded(self._ask, now_ns, instead=_NOTHING)
        try:
            self._cycle.step(fresh, now_ns, verb, skipped, late_ns, self._requests.arguments)
        except Exception as error:
            self._cycle.fail(error, now_ns)
            self._tell_exception(error)
        if asked or stop:
            self._guarded(self._answer, asked, stop, instead=None)

    def _ask(self, now_ns: int) -> tuple[Verb, Verb, Verb]:
        """Return the verb of this cycle, what an operator has asked for, and what a rig has."""
        # A stop of a rig goes before everything; what an operator has asked for waits for the next cycle.
        stop = self._cycle.rigs.stop_asked()
        asked = NO_VERB if stop else self._requests.take()
        by = self._cycle.rigs.stopped_by if stop else self._requests.by if asked else PROGRAM
        self._cycle.supervisor.asker = by
        return stop or asked or self._script.next(now_ns), asked, stop

    def _answer(self, asked: Verb, stop: Verb) -> None:
        if asked:
            refusal = self._cycle.supervisor.refusal
            self._requests.answer(refusal)
            if not refusal:
                self._script.heard(asked)
        elif stop:
            self._script.heard(stop)

    def _after(self, now_ns: int) -> None:
        """Send and record, pass on what happened, and show the state; each part whatever became of others."""
        self._guarded(self._link.send, self._cycle.command, instead=False)
        self._guarded(self._push, self._recorded, instead=False)
        supervisor = self._cycle.supervisor
        happened = bool(supervisor.events)
        if happened:
            self._guarded(self._tell, instead=None)
        if happened or supervisor.cycle % PUBLISH_EVERY == 0:
            self._guarded(self._publisher.publish, now_ns, instead=None)
        self._guarded(self._look, instead=None)

    def _tell(self) -> None:
        """Give the journal the events; those that it breaks on are lost."""
        supervisor = self._cycle.supervisor
        events = supervisor.events.copy()
        supervisor.events.clear()
        if self._journal is not None:
            for event in events:
                self._journal.event({**event, "step": self._cycle.sample.step, "cycle": supervisor.cycle})

    def _look(self) -> None:
        """Look at the link and at the processes beside the loop; rare things only, and all bounded."""
        if self._link.refusal is not self._refusal:
            self._note_refusal(self._link.refusal)
        if self._link.hello is not self._plant:
            self._note_plant(self._link.hello)
        self._child_watch.check()

    def _guarded(self, part: Callable[..., _Result], *arguments: object, instead: _Result) -> _Result:
        """Do a part of the turn; an exception in it, a defect, is a fault of the decision that comes next."""
        try:
            return part(*arguments)
        except Exception as error:
            self._cycle.supervisor.report_next(Code.LOOP_EXCEPTION, exception_text(error))
            self._tell_exception(error)
            return instead

    def _tell_exception(self, error: Exception) -> None:
        """Give the journal the trace, but not the same one over and over again."""
        text = exception_text(error)
        if text != self._broken and self._journal is not None:
            self._broken = text
            trace = "".join(traceback.format_exception(error, limit=-20))
            with contextlib.suppress(Exception):  # it may be the journal that is broken
                self._journal.event({"event": "exception", "trace": trace, "cycle": self._cycle.cycles})

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
