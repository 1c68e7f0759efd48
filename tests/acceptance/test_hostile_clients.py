"""Clients that flood, never read or die cost the gateway time, never the loop; and a stop acts at once."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from mastd.bench.wire import hostile
from mastd.loop.process import host
from mastd.loop.process.endpoints import Kind, Operators
from mastd.loop.process.host import Blocks, Connection, Processes
from mastd.loop.process.installation import Plan
from mastd.loop.process.script import RunScript
from mastd.loop.realtime.rights import Rights
from mastd.loop.service.single_run import RunOutcome, run
from mastd.safety.states import State
from mastd.wire.access.verbs import Verb
from mastd.wire.plant.provider import PlantRequest, rigid_payload
from tests.support.lab import SHAKING, Lab

pytestmark = pytest.mark.alone


@pytest.fixture
def plan(lab: Lab) -> Plan:
    return Plan.load(lab.table, lab.profile(SHAKING), lab.config)


@pytest.fixture
def operators() -> Iterator[Operators]:
    with tempfile.TemporaryDirectory(prefix="mastd-test-") as directory:
        yield Operators(Kind.SIMULATED_RUN, f"ipc://{directory}/mastd.operators", Path(directory))


def connection(plan: Plan) -> Connection:
    request = PlantRequest(
        plan.table_path,
        payload=rigid_payload(plan.profile),
        mode="lockstep",
        period_ns=plan.daemon.period_ns,
    )
    return Connection(None, "direct", "lockstep", request)


def play(plan: Plan, operators: Operators) -> RunOutcome:
    return run(plan, connection(plan), None, live=False, operators=operators)


def test_hostile_clients_change_no_command_and_cost_no_period(plan: Plan, operators: Operators) -> None:
    quiet = play(plan, operators)
    clients = [hostile.start(kind, operators.address) for kind in hostile.KINDS]
    try:
        loud = play(plan, operators)
        assert all(client.poll() is None for client in clients), "they were at it to the end"
    finally:
        for client in clients:
            client.kill()
            client.wait()
    assert quiet.completed
    assert loud.completed
    assert loud.missed == 0
    assert loud.command_sha256 == quiet.command_sha256


class StopAt:
    """Plays the profile, and puts a stop into the block at a given cycle of it, as the gateway does."""

    def __init__(self, script: RunScript, blocks: Blocks, cycles: int) -> None:
        self.acted_after: int | None = None
        self._script = script
        self._blocks = blocks
        self._left = cycles
        self._since = 0

    @property
    def finished(self) -> bool:
        return self._script.finished

    def heard(self, verb: Verb) -> None:
        self._script.heard(verb)

    def next(self, now_ns: int) -> Verb:
        state = self._script.supervisor.state
        if state is State.RUNNING:
            self._left -= 1
            if self._left == 0:
                self._blocks.request.field("stops")[:] = 1
                self._blocks.request.publish()
        if self._left <= 0 and self.acted_after is None:
            self._since += 1
            if state is State.STOPPING:
                self.acted_after = self._since
        return self._script.next(now_ns)


def test_a_stop_acts_within_two_cycles_of_its_entering_the_block(plan: Plan) -> None:
    with ExitStack() as stack:
        cycle = plan.cycle()
        link = host.open_link(plan, connection(plan), stack)
        blocks = Blocks.of(plan)
        script = RunScript(cycle.supervisor)
        stopper = StopAt(script, blocks, 1500)
        host.loop(plan, connection(plan), cycle, link, stopper, Processes(blocks), Rights(()))
    assert stopper.acted_after is not None
    assert stopper.acted_after <= 3, "asked in cycle 1, acted in 2, seen in 3"
    assert not script.completed
    assert cycle.supervisor.state is State.OFF
    assert blocks.status.scalar("ended") == 1.0
    assert blocks.status.scalar("stops_answered") == 1.0
