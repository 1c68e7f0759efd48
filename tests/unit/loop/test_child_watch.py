"""The processes beside the loop, on a clock of the test's own: what is wrong is told as long as it stands."""

from __future__ import annotations

import pytest

from mastd.loop.cycle.cycle import Cycle
from mastd.loop.process import child_watch as module
from mastd.loop.process.child_watch import LOOK_NS, ChildWatch
from mastd.loop.process.installation import Plan
from mastd.loop.process.operator_requests import RequestPort
from mastd.safety.faults import Code
from mastd.settings.core.starter import find
from mastd.wire.access.verbs import Verb
from mastd.wire.common.blocks import REQUEST, NewestValueBlock

LOST_NS = 4 * LOOK_NS


class FakeTime:
    """Monotonic time that the test moves."""

    def __init__(self) -> None:
        self.now = 1_000_000_000

    def monotonic_ns(self) -> int:
        return self.now


class Gateway:
    """A process of which only its life is known."""

    def __init__(self) -> None:
        self.living = True

    def alive(self) -> bool:
        return self.living


class Bench:
    """Companions with a gateway, looked at in a real cycle's supervisor."""

    def __init__(self, cycle: Cycle, time: FakeTime) -> None:
        self.cycle = cycle
        self.gateway = Gateway()
        self.block = NewestValueBlock(REQUEST)
        self._time = time
        self._port = RequestPort(self.block)
        self._child_watch = ChildWatch(cycle.supervisor, self._port, None, self.gateway, LOST_NS)

    def pass_time(self, looks: int, beating: bool) -> set[Code]:
        """Let so many looks pass; return the codes that are active at the end."""
        for _ in range(looks):
            self._time.now += LOOK_NS
            if beating:
                self.block.field("heartbeat")[:] += 1.0
                self.block.publish()
            self._port.take()
            self._child_watch.check()
            self.cycle.supervisor.reports.clear()
            self.cycle.supervisor.decide(Verb.NONE, self._time.now)
        return set(self.cycle.supervisor.latch.active)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    time = FakeTime()
    monkeypatch.setattr(module, "time", time)
    plan = Plan.load(find("table", "table"), find("profile", "first_motion"), find("daemon", "simulated"))
    return Bench(plan.cycle(), time)


def test_a_silent_gateway_is_lost_comes_back_and_can_be_lost_again(bench: Bench) -> None:
    assert bench.pass_time(20, beating=True) == set()
    assert Code.GATEWAY_LOST in bench.pass_time(6, beating=False)
    assert Code.GATEWAY_LOST in bench.pass_time(50, beating=False), "as long as it stands"
    assert bench.pass_time(2, beating=True) == set()
    assert Code.GATEWAY_LOST in bench.pass_time(6, beating=False), "and again"


def test_a_dead_gateway_stays_lost_whatever_is_reset(bench: Bench) -> None:
    bench.pass_time(2, beating=True)
    bench.gateway.living = False
    assert Code.GATEWAY_LOST in bench.pass_time(1, beating=True)
    bench.cycle.supervisor.latch.reset()
    assert Code.GATEWAY_LOST in bench.pass_time(2, beating=True)
