"""`mastd serve` and its operators: the real daemon with its processes, through the real socket."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mastd.errors import UsageError
from mastd.record.reader import open_run
from mastd.wire.operators.client import OperatorClient
from tests.support.lab import PATIENCE, Lab, quick_lab

pytestmark = pytest.mark.real_time

PROFILE = """
name: shaking
segments:
  - kind: sine
    frequency: 2 Hz
    duration: {seconds} s
    axes: {{heave: {{amplitude: 4 mm}}}}
"""


class Service:
    """A running service, its operators' address and an operator."""

    def __init__(self, lab: Lab, *options: object) -> None:
        self.lab = lab
        self.process = lab.start("serve", "--table", lab.table, "--config", lab.config, *options)
        self.address = f"ipc://{lab.environment['XDG_RUNTIME_DIR']}/mastd.operators"
        self.client = self._join()

    def _join(self) -> OperatorClient:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                return OperatorClient(self.address, "night shift")
            except UsageError:
                threading.Event().wait(0.1)  # another process's socket can only be looked for
        self.process.kill()
        raise AssertionError(f"the service did not come up: {self.process.communicate()[1]}")

    def ask(self, verb: str, **arguments: object) -> Any:
        return self.client.command(verb, arguments)

    def accepted(self, verb: str, **arguments: object) -> None:
        answer = self.ask(verb, **arguments)
        assert answer.accepted, f"{answer.reason}; {answer.needed}"

    def status(self) -> dict[str, Any]:
        return self.client.status()

    def until(self, done: Callable[[dict[str, Any]], bool], seconds: float = 30.0) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        for snapshot in self.client.watch():
            if done(snapshot):
                return snapshot
            assert time.monotonic() < deadline, f"{snapshot}"
        raise AssertionError("the service has ended")

    def state(self, name: str, seconds: float = 30.0) -> dict[str, Any]:
        return self.until(
            lambda snapshot: snapshot["loop"] == "running" and snapshot["state"] == name, seconds
        )

    def rise(self) -> None:
        """Raise the table; a drive that is still letting it down is waited for, as the refusal says."""
        self.until(lambda _: bool(self.ask("raise").accepted))
        self.state("READY")

    def clean_up(self) -> None:
        self.client.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)


@pytest.fixture
def service(lab: Lab) -> Iterator[Service]:
    """A service for one test, which may end it."""
    service = Service(lab)
    yield service
    service.clean_up()


@pytest.fixture(scope="module")
def shared_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service for several tests; each finds it in OFF and leaves it there."""
    with tempfile.TemporaryDirectory(prefix="mastd-test-") as runtime:
        lab = quick_lab(tmp_path_factory.mktemp("service"))
        service = Service(replace(lab, runtime=Path(runtime)))
        yield service
        service.clean_up()


def test_a_day_at_the_table(service: Service) -> None:
    """Load, raise, jog, arm, start, level, hold, resume, to the end; the record is judged; SIGTERM lowers."""
    lab = service.lab
    state = service.state("OFF")
    assert state["profile"]["loaded"] == 0
    assert not service.ask("arm").accepted, "nothing is raised"
    wild = lab.profile(PROFILE.format(seconds=2).replace("4 mm", "90 mm"), "bad.yaml")
    bad = service.ask("load", profile=str(wild))
    assert not bad.accepted
    assert "the check failed" in bad.reason
    service.accepted("load", profile=str(lab.profile(PROFILE.format(seconds=6))))
    again = service.ask("load", profile=str(wild))
    assert not again.accepted
    assert service.status()["profile"]["name"] == "shaking", "a refused profile leaves the loaded one"
    service.rise()
    service.accepted("jog", axis="heave", amount=0.003)
    service.until(lambda now: abs(now["pose"][2] - 0.003) < 2e-4)
    refused = service.ask("arm")
    assert not refused.accepted
    assert "not at the start pose of the profile" in refused.reason
    service.accepted("raise")
    service.until(lambda now: now["state"] == "READY" and abs(now["reference"][2]) < 1e-6)
    service.accepted("level", share=0.5)
    service.accepted("arm")
    service.accepted("start")
    service.until(lambda now: (now["profile"]["time_s"] or 0.0) > 1.0)
    service.accepted("hold")
    service.until(lambda now: now["state"] == "HOLD" and now["profile"]["speed"] == 0.0)
    service.accepted("resume")
    service.accepted("level", share=1.0)
    service.until(lambda now: now["level"]["now"] == 1.0)
    too_much = service.ask("level", share=1.01 * service.status()["level"]["limit"])
    assert not too_much.accepted
    assert "proved" in too_much.reason
    service.state("READY")
    assert service.end() == 0
    (record,) = lab.directory.glob("runs/shaking-*/run.mcap")
    run = open_run(record)
    assert [event["to"] for event in run.events if event.get("event") == "state"] == [
        "ARMED", "RUNNING", "HOLD", "RUNNING", "READY",
    ]  # fmt: skip
    levels = [event["share"] for event in run.events if "share" in event and not event.get("refused")]
    assert levels == [0.5, 1.0], "at the record's beginning, and as asked"
    assert run.damage is None
    assert abs(run.columns["reference.heave"]).max() == pytest.approx(0.004, rel=0.02)
    done = lab.run("report", record.parent, "--json")
    result = json.loads(done.stdout)
    assert (result["state"], result["cause"]) == ("READY", None)
    assert result["axes"]["heave"]["best_lag_nrmse"] < 0.2


def test_every_load_is_of_the_table_in_force_and_begins_at_100_percent(shared_service: Service) -> None:
    service, lab = shared_service, shared_service.lab
    service.state("OFF")
    profile = lab.profile(PROFILE.format(seconds=2), "often.yaml")

    def load() -> tuple[int, str]:
        done = lab.run("ctl", "load", profile, "--as", "night shift")
        return done.returncode, done.stdout + done.stderr

    def level(share: float) -> None:
        service.until(lambda now: now["level"]["now"] == now["level"]["target"] == share)

    assert load()[0] == 0
    for share in (0.3, service.status()["level"]["limit"]):
        service.accepted("level", share=share)
        level(share)
        assert load()[0] == 0
        level(1.0)
    text = lab.table.read_text(encoding="utf-8")
    lab.table.write_text(text.replace("12 m/s2", "30 m/s2"), encoding="utf-8")
    code, said = load()
    lab.table.write_text(text, encoding="utf-8")
    assert code == 6
    assert f"{lab.table}: differs from the settings in force: reload first" in said
    assert load()[0] == 0


def test_a_second_daemon_is_told_of_the_first_and_a_run_how_to_use_it(shared_service: Service) -> None:
    service, lab = shared_service, shared_service.lab
    service.state("OFF")
    pid = str(service.process.pid)
    second = lab.run("serve", "--table", lab.table, "--config", lab.config)
    assert (second.returncode, pid in second.stderr) == (2, True), second.stderr
    profile = lab.profile(PROFILE.format(seconds=2))
    beside = lab.run("run", profile, "--table", lab.table, "--config", lab.config)
    assert beside.returncode == 2
    assert pid in beside.stderr
    assert "mastd ctl load" in beside.stderr
    assert service.status()["state"] == "OFF"


def test_two_operators_one_lease_and_anybody_stops(shared_service: Service) -> None:
    service = shared_service
    service.state("OFF")
    service.accepted("load", profile=str(service.lab.profile(PROFILE.format(seconds=30))))
    service.rise()
    service.accepted("arm")
    service.accepted("start")
    service.until(lambda now: (now["profile"]["time_s"] or 0.0) > 1.0)
    with OperatorClient(service.address, "day shift") as other:
        refused = other.command("hold")
        assert not refused.accepted
        assert "night shift" in refused.reason
        assert other.command("stop").accepted
    service.state("READY")
    service.accepted("lower")
    service.state("OFF")
    (record,) = service.lab.directory.glob("runs/shaking-*/run.mcap")
    (end,) = [event for event in open_run(record).events if event.get("event") == "end"]
    assert (end["outcome"], end["state"]) == ("stopped", "READY")
    assert end["cause"] == "stopped by operator day shift"


def test_a_fault_stops_keeps_its_history_and_reset_never_moves(shared_service: Service) -> None:
    service = shared_service
    service.state("OFF")
    service.rise()
    assert service.ask("estop").accepted
    snapshot = service.state("ESTOP")
    assert snapshot["cause"]["name"] == "ESTOP"
    assert snapshot["cause"]["hint"]
    assert not service.ask("raise").accepted
    service.until(lambda now: now["pose"][2] < -0.045, 40.0)
    service.accepted("reset")
    assert service.state("OFF")["cause"] is None
    (history,) = service.lab.directory.glob("runs/fault-*-ESTOP.mcap")
    record = open_run(history)
    assert len(record.columns["cycle"]) >= 1000
    assert [event for event in record.events if event.get("event") == "fault" and event.get("first")]


def test_a_loop_that_hangs_is_shown_and_powers_off_when_it_comes_back(service: Service) -> None:
    service.state("OFF")
    service.rise()
    os.kill(service.process.pid, signal.SIGSTOP)
    # The gateway sees the last cycles late, the loop counts from its last one: stand clearly longer.
    stuck = service.until(lambda now: now["loop"] == "stuck" and now["silent_s"] > 2.3)
    assert "has not moved" in stuck["advice"]
    refused = service.ask("lower")
    assert not refused.accepted
    assert "restart the daemon" in refused.reason
    os.kill(service.process.pid, signal.SIGCONT)
    snapshot = service.until(lambda now: now["state"] == "FAULT")
    assert snapshot["cause"]["name"] == "LOOP_STUCK"
    assert service.end() == 3


def test_without_its_gateway_the_service_lowers_the_table_and_ends(service: Service) -> None:
    service.state("OFF")
    service.accepted("load", profile=str(service.lab.profile(PROFILE.format(seconds=60))))
    service.rise()
    service.accepted("arm")
    service.accepted("start")
    service.until(lambda now: (now["profile"]["time_s"] or 0.0) > 0.5)
    found = subprocess.run(
        ["pgrep", "-P", str(service.process.pid), "-f", "mastd.wire.operators.gateway"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    os.kill(int(found.stdout), signal.SIGKILL)
    assert service.process.wait(PATIENCE) == 3, "by itself, so that it is started anew"
    (record,) = service.lab.directory.glob("runs/*/run.mcap")
    events = open_run(record).events
    assert [event["name"] for event in events if event.get("event") == "fault"] == ["GATEWAY_LOST"]
    assert "FAULT" in [event.get("to") for event in events]
