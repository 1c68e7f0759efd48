"""Rigs with the real daemon: they join, give, die and come back; what is shown, recorded, and stopped."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

from mastd.errors import UsageError
from mastd.loop.process import host
from mastd.loop.process.host import Blocks, Connection, Processes, ServiceHooks
from mastd.loop.process.installation import Plan
from mastd.loop.process.script import RunScript
from mastd.loop.realtime.rights import Rights
from mastd.record.reader import Run, open_run
from mastd.safety.states import State
from mastd.wire.access.verbs import Verb
from mastd.wire.common.blocks import NewestValueBlock
from mastd.wire.common.rig_block import RIG_VALUES
from mastd.wire.operators.client import OperatorClient
from mastd.wire.plant.provider import PlantRequest, rigid_payload
from mastd.wire.rigs.client import RigClient
from mastd.wire.rigs.client_session import RigRefusedError
from tests.support.lab import PATIENCE, ROOT, SHAKING, Lab, replaced

pytestmark = pytest.mark.real_time

RIGS = """
rigs:
  - name: pedals
    kind: signals
    timeout: 250 ms
    ramp: 100 ms
    channels:
      - {channel: steering, on_loss: hold}
      - {channel: throttle, on_loss: ramp}
  - name: lever
    kind: signals
    channels: [{channel: gear, on_loss: stop}]
"""


def with_rigs(lab: Lab) -> Lab:
    """Let rigs join the lab's daemon."""
    (lab.directory / "rigs.yaml").write_text(RIGS, encoding="utf-8")
    # How busy this machine is, is no question here.
    text = replaced(lab.config.read_text(encoding="utf-8"), r"sample_stale: 150 ms", "sample_stale: 1.5 s")
    lab.config.write_text(f"{text}rigs: rigs.yaml\n", encoding="utf-8")
    return lab


@pytest.fixture
def rig_lab(lab: Lab) -> Lab:
    return with_rigs(lab)


class Play:
    """A run as a process, with those who join it."""

    def __init__(self, lab: Lab, profile: str, *options: str) -> None:
        self.lab = lab
        self.runtime = lab.environment["XDG_RUNTIME_DIR"]
        self.rigs: list[subprocess.Popen[str]] = []
        settings = ("--table", lab.table, "--config", lab.config)
        self.process = lab.start("run", lab.profile(profile), *settings, "--json", *options)

    @property
    def address(self) -> str:
        return f"ipc://{self.runtime}/mastd.rigs"

    def start(self, name: str) -> subprocess.Popen[str]:
        """Start a rig that answers every motion."""
        words = [sys.executable, str(ROOT / "tests" / "support" / "rigs" / "program.py"), name, self.address]
        rig = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=self.lab.environment)
        self.rigs.append(rig)
        return rig

    def observer(self) -> OperatorClient:
        """Return a client that watches."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self.process.poll() is None:
            try:
                return OperatorClient(f"ipc://{self.runtime}/mastd.operators", "test", role="observer")
            except UsageError:
                threading.Event().wait(0.05)  # another process's socket can only be looked for
        self.process.kill()
        raise AssertionError(f"the run is not there: {self.process.communicate()[1]}")

    def result(self) -> tuple[dict[str, Any], Run]:
        """Wait for the end; return document and record."""
        out, errors = self.process.communicate(timeout=PATIENCE)
        assert out, errors
        (record,) = self.lab.directory.glob("runs/*/run.mcap")
        return json.loads(out), open_run(record)

    def close(self) -> None:
        for process in (self.process, *self.rigs):
            if process.poll() is None:
                process.kill()
            process.communicate()


@pytest.fixture
def play(rig_lab: Lab) -> Iterator[Callable[..., Play]]:
    started: list[Play] = []

    def begin(profile: str, *options: str) -> Play:
        started.append(Play(rig_lab, profile, *options))
        return started[-1]

    yield begin
    for one in started:
        one.close()


def until(client: OperatorClient, done: Callable[[Mapping[str, Any]], bool], what: str) -> Mapping[str, Any]:
    """Return the first status of which this is true."""
    end = time.monotonic() + PATIENCE
    for status in client.watch():
        if done(status):
            return status
        assert time.monotonic() < end, (what, status)
    raise AssertionError(f"the daemon has ended before: {what}")


def names(status: Mapping[str, Any]) -> list[str]:
    return [rig["name"] for rig in status["rigs"]]


def changes(run: Run) -> list[tuple[str, str]]:
    return [(str(event["from"]), str(event["to"])) for event in run.events if event.get("event") == "state"]


@pytest.mark.evidence
def test_a_rig_dies_comes_back_and_another_one_stops_the_run(play: Callable[..., Play]) -> None:
    run = play(SHAKING, "--link", "socket")
    pedals = run.start("pedals")
    assert pedals.stdout is not None
    assert pedals.stdout.readline() == "joined\n"
    with run.observer() as observer:
        status = until(
            observer,
            lambda status: (
                status["state"] == "RUNNING"
                and bool(status["rigs"])
                and status["rigs"][0]["round_trip_s"] is not None
            ),
            "it plays, and the rig's clock is known",
        )
        (shown,) = status["rigs"]
        assert (shown["name"], shown["kind"], shown["lockstep"]) == ("pedals", "signals", False)
        assert shown["operator"].startswith("pedals@")
        assert 0 <= shown["delay"] <= 200
        assert 0.0 <= shown["age_s"] < 0.3
        assert 0.0 < shown["round_trip_s"] < 0.05
        assert abs(shown["offset_s"]) <= shown["round_trip_s"] / 2, "one machine, one clock"
        with pytest.raises(RigRefusedError, match="the place of pedals is taken by pedals@"):
            RigClient.join("pedals", address=run.address, patience=0.7)
        pedals.kill()
        killed = time.monotonic()
        until(observer, lambda status: not status["rigs"], "its place is free")
        assert time.monotonic() - killed < 1.0
        again = run.start("pedals")
        assert again.stdout is not None
        assert again.stdout.readline() == "joined\n"
        until(observer, lambda status: names(status) == ["pedals"], "it is there again")
        counters = observer.status()["rig_counters"]
        assert counters["values"] > 100
        assert counters["refused"] >= 1
        with RigClient.join("lever", address=run.address) as lever:
            until(observer, lambda status: names(status) == ["pedals", "lever"], "both are there")
            assert observer.status()["state"] == "RUNNING"
            lever.stop()
            document, record = run.result()
    assert document["state"] == "READY", document
    assert document["cause"] == "stopped by rig lever"
    assert ("RUNNING", "STOPPING") in changes(record)
    present, steering, throttle, delay = record.matrix(
        [f"rig.pedals.{name}" for name in ("present", "steering", "throttle", "delay")]
    ).T
    begins = np.flatnonzero(np.diff(present, prepend=-1.0))
    assert present[begins].tolist()[-3:] == [1.0, 0.0, 1.0], "there, lost, there again"
    there, lost, back = begins[-3:]
    assert lost - there > 100
    assert np.ptp(steering[lost:back]) == 0.0, "it holds"
    assert steering[lost] == 0.1
    assert throttle[back - 1] == 0.0, "it has gone to neutral"
    assert np.diff(throttle[lost:back]).max() <= 0.0
    assert np.abs(np.diff(throttle[lost:])).max() < 0.01, "nothing jumps"
    assert throttle[-1] == 0.2
    assert np.nanmedian(delay[back:]) <= 3


@pytest.mark.evidence
def test_in_lockstep_the_loop_waits_for_its_rigs_and_one_that_dies_stops_what_uses_it(
    play: Callable[..., Play],
) -> None:
    run = play(f"{SHAKING}rigs: [pedals, lever]\n", "--lockstep")
    run.start("pedals")
    lever = run.start("lever")
    with run.observer() as observer:
        until(observer, lambda status: status["state"] == "RUNNING", "it plays")
        lever.kill()
        begun = time.monotonic()
        document, record = run.result()
    assert time.monotonic() - begun < 20.0, "nothing stands still"
    assert document["missed"] == 0
    assert document["verdict"] != "pass"
    assert "lever: no new values for" in str(document["cause"])
    assert ("RUNNING", "STOPPING") in changes(record)
    columns = [f"rig.{rig}.{name}" for rig in ("pedals", "lever") for name in ("present", "delay")]
    pedals, pedals_delay, present, delay = record.matrix(columns).T
    assert (pedals == 1.0).all(), "there from the first step on"
    assert (pedals_delay == 0.0).all(), "every answer is of its own step"
    (lost,) = np.flatnonzero(np.diff(present)) + 1  # once, and never back by itself
    assert (present[:lost] == 1.0).all()
    assert (delay[:lost] == 0.0).all()


class StopBetween:
    """Plays the profile; in one cycle a rig's stop comes between the look at stops and the exchange."""

    def __init__(self, script: RunScript, block: NewestValueBlock, name: str, cycles: int) -> None:
        self.asked_in = 0
        self._script = script
        self._block = block
        self._name = name
        self._left = cycles

    @property
    def finished(self) -> bool:
        return self._script.finished

    def heard(self, verb: Verb) -> None:
        self._script.heard(verb)

    def next(self, now_ns: int) -> Verb:
        supervisor = self._script.supervisor
        if supervisor.state is State.RUNNING:
            self._left -= 1
            if self._left == 0:
                self.asked_in = supervisor.cycle + 1
                self._block.field(self._name)[:] += 1.0
                self._block.publish()
        return self._script.next(now_ns)


class Notes:
    """Keeps the events of a loop."""

    def __init__(self) -> None:
        self.events: list[Mapping[str, object]] = []

    def event(self, event: Mapping[str, object]) -> None:
        self.events.append(dict(event))


@pytest.mark.parametrize(("name", "state"), [("stops", "STOPPING"), ("estops", "ESTOP")])
def test_a_rigs_stop_acts_within_two_cycles_of_its_entering_the_block(
    rig_lab: Lab, name: str, state: str
) -> None:
    plan = Plan.load(rig_lab.table, rig_lab.profile(SHAKING), rig_lab.config)
    request = PlantRequest(
        plan.table_path,
        payload=rigid_payload(plan.profile),
        mode="lockstep",
        period_ns=plan.daemon.period_ns,
    )
    connection = Connection(None, "direct", "lockstep", request)
    notes = Notes()
    with ExitStack() as stack:
        cycle = plan.cycle()
        link = host.open_link(plan, connection, stack)
        blocks = Blocks.of(plan)
        assert blocks.rigs is not None
        host.connect_rigs(cycle, blocks, connection)
        block = NewestValueBlock(RIG_VALUES, blocks.rigs.values.descriptor)
        stopper = StopBetween(RunScript(cycle.supervisor), block, name, 500)
        host.loop(plan, connection, cycle, link, stopper, Processes(blocks), Rights(()), ServiceHooks(notes))
    (acted,) = [
        int(str(event["cycle"]))
        for event in notes.events
        if event["event"] == "state" and (event["from"], event["to"]) == ("RUNNING", state)
    ]
    assert 0 < acted - stopper.asked_in <= 2
