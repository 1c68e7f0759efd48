"""Whatever part of the loop's turn breaks: the drive lets the table down, the cause is told, it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pytest

from hil_sim.plant.provider import provider
from mastd.loop.cycle.cycle import Cycle
from mastd.loop.process.child_watch import ChildWatch
from mastd.loop.process.installation import Plan
from mastd.loop.process.operator_requests import RequestPort
from mastd.loop.process.runner import Journal, Ports, Runner
from mastd.loop.process.status_publisher import StatusPublisher
from mastd.record.recorder import RecorderHandle
from mastd.safety.faults import Code
from mastd.safety.states import State
from mastd.settings.core.starter import find
from mastd.wire.access.verbs import Verb
from mastd.wire.common.blocks import REQUEST, NewestValueBlock, status_layout
from mastd.wire.plant.direct_link import DirectLink
from mastd.wire.plant.messages import Command, DriveMode, Stage
from mastd.wire.plant.provider import PlantRequest

RAISED_AT, BROKEN_FROM, TURNS = 3, 40, 100


class Breaking:
    """Stands in for ``whole``; its method ``name`` raises while ``turn`` says so."""

    def __init__(self, whole: object, name: str, turn: Turn) -> None:
        self._whole, self._name, self._turn = whole, name, turn

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._whole, name)
        if name != self._name:
            return found

        def part(*arguments: object) -> object:
            if self._turn.broken:
                raise RuntimeError(f"{name} has gone\x1b[2J" + 500 * "!")
            return found(*arguments)

        return part


class Turn:
    """A script that raises the table, counts the turns, and ends the loop."""

    def __init__(self) -> None:
        self.count = 0

    @property
    def broken(self) -> bool:
        return self.count >= BROKEN_FROM

    @property
    def finished(self) -> bool:
        self.count += 1
        return self.count > TURNS

    def next(self, now_ns: int) -> Verb:
        return Verb.RAISE if self.count == RAISED_AT else Verb.NONE

    def heard(self, verb: Verb) -> None: ...


class Log:
    """A journal that keeps what it is given."""

    def __init__(self) -> None:
        self.events: list[Mapping[str, object]] = []

    def event(self, event: Mapping[str, object]) -> object:
        self.events.append(event)
        return True


class Recorder:
    """Takes frames."""

    width = 1
    dropped = 0

    def push(self, frame: object) -> bool:
        return True

    def trouble(self) -> None:
        return None


@pytest.fixture(scope="module")
def plan() -> Plan:
    return Plan.load(find("table", "table"), find("profile", "first_motion"), find("daemon", "simulated"))


PARTS = ["newest", "take", "next", "step", "answer", "send", "push", "event", "publish", "check"]


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_breaks_for_good_is_a_fault_and_not_the_end(plan: Plan, part: str) -> None:
    cycle, turn, log = plan.cycle(), Turn(), Log()
    request = PlantRequest(plan.table_path, mode="lockstep")
    sent: list[tuple[int, int]] = []

    class Link(DirectLink):
        def send(self, command: Command) -> bool:
            sent.append((command.mode, command.stage))
            return super().send(command)

    link = Link(provider.open(request), plan.terms("lockstep"))
    block = NewestValueBlock(REQUEST)
    port = RequestPort(block)
    recorder = Recorder()
    status = NewestValueBlock(status_layout(len(plan.table.links)))
    publisher = StatusPublisher(status, cycle, port, None, degraded=False)
    watch = ChildWatch(cycle.supervisor, port, None, None, 1 << 62)

    def breaking(whole: object) -> Any:
        return Breaking(whole, part, turn)

    ports = Ports(breaking(port), breaking(publisher), breaking(watch))
    runner = Runner(
        cast(Cycle, breaking(cycle)),
        breaking(link),
        breaking(turn),
        plan.daemon.period_ns,
        cast(RecorderHandle, breaking(recorder)),
        ports,
        cast(Journal, breaking(log)),
    )
    if part in ("answer", "event"):  # which are called where something happens
        block.field("number")[:], block.field("verb")[:] = 1, Verb.LEVEL
        block.field("arguments")[0] = 0.5

        class Asking(Turn):
            def next(self, now_ns: int) -> Verb:
                if self.count == BROKEN_FROM + 1:
                    block.publish()
                return super().next(now_ns)

        turn.__class__ = Asking
    runner.lockstep()
    assert turn.count == TURNS + 1, "it goes on to its end"
    first = cycle.supervisor.latch.first
    assert first is not None
    assert first.code is Code.LOOP_EXCEPTION
    assert "RuntimeError in test_runner_guard.py:" in first.cause
    assert f"{part} has gone" in first.cause
    assert first.cause.isprintable()
    assert len(first.cause) < 400
    assert cycle.supervisor.state is State.FAULT
    assert cycle.supervisor.stage is Stage.OFF
    assert sent[BROKEN_FROM - 2][1] == Stage.LOW, "the supply was on its way up"
    if part != "send":
        assert sent[-1] == (DriveMode.DISABLED, Stage.OFF)
        assert len(sent) == TURNS
    traces = [event for event in log.events if event["event"] == "exception"]
    assert len(traces) == (0 if part == "event" else 1), "told once, with its trace"
