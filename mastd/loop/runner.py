"""The loop itself: deadline or plant, newest sample, one cycle, command out, frame recorded.

Nothing here waits for anybody but, in lockstep, for the plant (bounded by ``LOST_PLANT_NS``). Time in the
cycle is plant time in lockstep, so that such a run repeats bit for bit, and the monotonic clock in free-run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from mastd.loop.blocks import NewestValueBlock, Verb
from mastd.loop.clock import PeriodicClock
from mastd.loop.cycle import Cycle
from mastd.record.recorder import RecorderHandle
from mastd.safety.faults import Code
from mastd.wire.plant_link import LOST_PLANT_NS, PlantLink

FIRST_SAMPLE_NS = 100_000_000
"""How long each sample is waited for while the old ones are thrown away."""
VERBS = frozenset(int(verb) for verb in Verb)
MOST_OLD_READS = 200
ALONE_IN_A_ROW = 5
PUBLISH_EVERY = 10
"""Cycles between two status blocks; changes of state are published at once."""


class Script(Protocol):
    """Who asks for something in the operator's place."""

    finished: bool

    def next(self, now_ns: int) -> Verb:
        """Return what to ask for in this cycle."""


class Runner:
    """Runs cycles until the script has finished."""

    def __init__(
        self,
        cycle: Cycle,
        link: PlantLink,
        script: Script,
        period_ns: int,
        recorder: RecorderHandle | None,
        status: NewestValueBlock,
        request: NewestValueBlock,
        degraded: bool,
    ) -> None:
        self._cycle = cycle
        self._link = link
        self._script = script
        self._period_ns = period_ns
        self._recorder = recorder
        self._push: Callable[..., bool] = recorder.push if recorder is not None else (lambda _frame: True)
        self._status = status
        self._request = request
        self._degraded = degraded
        self._answered = 0
        self._recorder_checked_ns = 0
        self._recorder_lost = False
        self._refusal: str | None = None

    def free_run(self, clock: PeriodicClock) -> None:
        """Run on the clock's deadlines."""
        cycle, link, push = self._cycle, self._link, self._push
        thread_time = time.thread_time_ns
        self._forget_old_samples()
        cycle.sensing.last_ns = time.monotonic_ns()
        clock.start()
        while not self._script.finished:
            now = clock.wait()
            begun = thread_time()
            fresh = link.newest(cycle.sample, 0)
            cycle.step(fresh, now, self._verb(now), clock.skipped, clock.late_ns)
            link.send(cycle.command)
            push(cycle.frame.values)
            self._after(now)
            cycle.note_compute(thread_time() - begun)

    def _forget_old_samples(self) -> None:
        """Read until samples come one by one: what queued up while this process prepared itself is old."""
        alone = 0
        for _ in range(MOST_OLD_READS):
            fresh = self._link.newest(self._cycle.sample, FIRST_SAMPLE_NS)
            alone = alone + 1 if fresh <= 2 else 0
            if alone >= ALONE_IN_A_ROW:
                return

    def lockstep(self) -> None:
        """Run as fast as the plant answers; its step count is the time."""
        cycle, link, push = self._cycle, self._link, self._push
        thread_time = time.thread_time_ns
        now = cycle.sensing.last_ns = 0
        while not self._script.finished:
            begun = thread_time()
            fresh = link.newest(cycle.sample, LOST_PLANT_NS)
            now = cycle.sample.step * self._period_ns if fresh else now + LOST_PLANT_NS
            cycle.step(fresh, now, self._verb(now))
            link.send(cycle.command)
            push(cycle.frame.values)
            self._after(now)
            cycle.note_compute(thread_time() - begun)

    def _verb(self, now_ns: int) -> Verb:
        """Return the newest request, or else what the script asks for."""
        if self._request.changed() and self._request.read():
            number = int(self._request.values[0])
            if number != self._answered:
                self._answered = number
                asked = int(self._request.values[1])
                if asked in VERBS:
                    return Verb(asked)
        return self._script.next(now_ns)

    def _after(self, now_ns: int) -> None:
        """Pass on what happened, and show the state; rare things only, and all bounded."""
        supervisor = self._cycle.supervisor
        if supervisor.events:
            if self._recorder is not None:
                for event in supervisor.events:
                    self._recorder.event(
                        {**event, "step": self._cycle.sample.step, "cycle": supervisor.cycle}
                    )
            supervisor.events.clear()
            self.publish(now_ns)
        elif supervisor.cycle % PUBLISH_EVERY == 0:
            self.publish(now_ns)
        if self._link.refusal is not self._refusal:
            self._refusal = self._link.refusal
            supervisor.report_next(Code.PLANT_REFUSES, self._refusal or "")
        if self._recorder is not None and now_ns - self._recorder_checked_ns > 1_000_000_000:
            self._recorder_checked_ns = now_ns
            if not self._recorder_lost and not self._recorder.alive():
                self._recorder_lost = True
                supervisor.report_next(
                    Code.RECORDER_LOST, "its process has ended; the run goes on unrecorded"
                )

    def publish(self, now_ns: int, ended: bool = False) -> None:
        """Show the newest status."""
        cycle, supervisor, status = self._cycle, self._cycle.supervisor, self._status
        frame = cycle.frame
        first = supervisor.latch.first
        head = (
            now_ns * 1e-9,
            supervisor.cycle,
            supervisor.state,
            supervisor.since_ns * 1e-9,
            first.code if first else 0,
            self._degraded,
            self._answered,
            bool(supervisor.refusal),
            cycle.missed,
            frame.values[frame.index["late"]],
            frame.values[frame.index["compute"]],
            self._recorder.dropped if self._recorder is not None else 0,
            frame.values[frame.index["profile_time"]],
            supervisor.profile_end,
            frame.values[frame.index["sample.supply_pressure"]],
            cycle.sample.stage,
        )
        status.values[: len(head)] = head
        status.field("reference")[:] = frame.motion[0]
        status.field("pose")[:] = cycle.sensing.pose
        status.field("residual")[:] = frame.field("residual")
        status.field("lengths")[:] = cycle.sensing.lengths
        status.field("forces")[:] = cycle.sensing.forces
        status.field("ended")[:] = ended
        status.publish()
