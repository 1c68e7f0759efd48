"""Processes killed at the worst moment: the table stays gentle, comes down, and somebody says why."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hil_sim.plant.client import ask
from hil_sim.plant.provider import provider
from mastd.loop.process.installation import Plan
from mastd.loop.process.script import RunScript
from mastd.record.recover import recover
from mastd.safety.states import State
from mastd.settings.core.starter import find
from mastd.wire.plant.direct_link import DirectLink
from mastd.wire.plant.provider import PlantRequest, rigid_payload
from mastd.wire.plant.socket_link import LOST_PLANT_NS
from tests.support.lab import PATIENCE, Lab

pytestmark = pytest.mark.real_time

HALF_G = 0.5 * 9.80665
ROAD = """
name: rough ride
segments:
  - kind: sine
    frequency: 1.5 Hz
    duration: 60 s
    axes: {heave: {amplitude: 9 mm}, roll: {amplitude: 0.1 deg}}
"""


def fastest_instant(plan: Plan) -> float:
    """Return the time of the profile at which a corner of the table moves fastest."""
    times = np.arange(0.0, plan.timeline.duration, 1e-3)
    rates = plan.timeline.sample(times)[:, 1]
    corners = np.abs(rates[:, 2]) + 1.4 * np.abs(rates[:, 4]) + 0.8 * np.abs(rates[:, 3])
    return float(times[np.argmax(corners)])


def test_the_demos_daemon_killed_at_its_fastest_instant() -> None:
    """In virtual time, on the plant's true motion: from one cycle to the next no command comes any more."""
    plan = Plan.load(find("table", "table"), find("profile", "class_b_road"), find("daemon", "simulated"))
    plant = provider.open(PlantRequest(plan.table_path, payload=rigid_payload(plan.profile), mode="lockstep"))
    link = DirectLink(plant, plan.terms("lockstep"))
    cycle = plan.cycle()
    script = RunScript(cycle.supervisor)
    instant = fastest_instant(plan)
    for _ in range(60_000):
        link.newest(cycle.sample, LOST_PLANT_NS)
        now = cycle.sample.step * plan.daemon.period_ns
        cycle.step(1, now, script.next(now))
        link.send(cycle.command)
        if cycle.supervisor.state is State.RUNNING and cycle.reference.time >= instant:
            break
    assert cycle.supervisor.state is State.RUNNING
    assert np.abs(plant.true_velocity[2]) > 0.02, "the table is really moving"
    peak = 0.0
    for _ in range(20_000):
        plant.advance(None, plan.daemon.period_ns)
        peak = max(peak, float(np.linalg.norm(plant.true_acceleration[:3])))
    assert peak < HALF_G, f"{peak / 9.80665:.2f} g"
    assert plant.true_pose[2] < -0.045, "the table has come down by itself"
    assert np.abs(plant.true_velocity).max() < 1e-3


def test_kill_9_of_the_daemon_lets_the_table_down_gently(lab: Lab) -> None:
    address, log = f"ipc://{lab.directory}/plant", lab.directory / "motion"
    plant = lab.start(
        "plant", "--table", lab.table, "--address", address, "--motion-log", log, program="hil-sim"
    )
    daemon = lab.start(
        "run", lab.profile(ROAD), "--table", lab.table, "--config", lab.config, "--plant", address
    )
    try:
        lab.wait_for_state(daemon, "RUNNING")
        moving(address)
        daemon.kill()
        daemon.wait()
        came_down(address)
    finally:
        daemon.kill()
        plant.terminate()
        plant.communicate(timeout=PATIENCE)
        daemon.communicate(timeout=PATIENCE)
    rows = np.fromfile(log, dtype="<f8").reshape(-1, 19)
    assert np.linalg.norm(rows[:, 13:16], axis=1).max() < HALF_G
    assert rows[-1, 3] < -0.045


def moving(address: str) -> None:
    """Return while the table moves fast, as the plant itself tells."""
    watch(address, lambda truth: abs(float(truth["velocity"][2])) > 0.06, 10.0)


def came_down(address: str) -> None:
    """Return once the table lies on its stops."""
    watch(address, lambda truth: float(truth["pose"][2]) < -0.0495, 30.0)


def watch(address: str, reached: Callable[[dict[str, Any]], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if reached(ask(address, "truth")):
            return
        threading.Event().wait(0.005)
    raise AssertionError(f"not within {seconds:g} s")


def child(process: subprocess.Popen[str], words: str) -> int:
    """Return the process id of the child of ``process`` whose command line has ``words``."""
    listed = subprocess.run(
        ["pgrep", "-P", str(process.pid), "-f", words], capture_output=True, text=True, check=True
    )
    return int(listed.stdout.split()[0])


def test_kill_9_of_the_recorder_is_not_noticed_by_the_loop_and_the_file_recovers(lab: Lab) -> None:
    profile = lab.profile(ROAD.replace("60 s", "4 s"))
    process = lab.start("run", profile, "--table", lab.table, "--config", lab.config, "--json", "--sim")
    record = lab.wait_for_state(process, "RUNNING")
    os.kill(child(process, "mastd.record.recorder"), signal.SIGKILL)
    output, errors = process.communicate(timeout=PATIENCE)
    document = json.loads(output)
    assert process.returncode == 1, errors
    assert document["state"] == "READY", "the run went to its end"
    assert "recorder lost" in document["cause"]
    recovery = recover(record)
    assert recovery.frames > 1000
    assert lab.run("report", record, "--json").returncode == 5


def test_kill_9_of_the_plant_ends_in_fault_with_its_cause_within_the_time_out(lab: Lab) -> None:
    process = lab.start(
        "run", lab.profile(ROAD), "--table", lab.table, "--config", lab.config, "--json", "--sim"
    )
    lab.wait_for_state(process, "RUNNING")
    os.kill(child(process, "hil_sim plant"), signal.SIGKILL)
    killed = time.monotonic()
    output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 3, errors
    assert time.monotonic() - killed < 20.0
    document = json.loads(output)
    assert document["state"] == "FAULT"
    assert re.search("stale|lost|link late", document["cause"])


@pytest.mark.evidence
@pytest.mark.parametrize("stall", [0.09, 0.14])
def test_a_stalled_daemon_goes_on_by_itself(lab: Lab, stall: float) -> None:
    """Shorter than the drive's time-out the drive bridges it; longer, the profile waits and rejoins."""
    address, log = f"ipc://{lab.directory}/plant", lab.directory / "motion"
    plant = lab.start(
        "plant", "--table", lab.table, "--address", address, "--motion-log", log, program="hil-sim"
    )
    daemon = lab.start(
        "run", lab.profile(ROAD.replace("60 s", "6 s")), "--table", lab.table, "--config", lab.config,
        "--plant", address, "--json",
    )  # fmt: skip
    try:
        lab.wait_for_state(daemon, "RUNNING")
        moving(address)
        daemon.send_signal(signal.SIGSTOP)
        threading.Event().wait(stall)  # the stall itself
        daemon.send_signal(signal.SIGCONT)
        output, errors = daemon.communicate(timeout=PATIENCE)
    finally:
        daemon.kill()
        plant.terminate()
        plant.communicate(timeout=PATIENCE)
    document = json.loads(output)
    assert document["state"] == "READY", errors
    assert document["missed"] >= stall * 900
    rows = np.fromfile(log, dtype="<f8").reshape(-1, 19)
    assert np.linalg.norm(rows[:, 13:16], axis=1).max() < HALF_G


@pytest.mark.evidence
def test_the_plant_can_be_reached_again_after_its_daemon_died(lab: Lab, tmp_path: Path) -> None:
    address = f"ipc://{lab.directory}/plant"
    plant = lab.start("plant", "--table", lab.table, "--address", address, program="hil-sim")
    try:
        arguments = (
            "run",
            lab.profile(ROAD),
            "--table",
            lab.table,
            "--config",
            lab.config,
            "--plant",
            address,
        )
        first = lab.start(*arguments)
        lab.wait_for_state(first, "RUNNING")
        second = lab.run(*arguments)
        assert second.returncode == 2
        assert str(first.pid) in second.stderr, "the second daemon is told who drives the plant"
        first.kill()
        first.communicate()
        came_down(address)
        short = lab.profile(ROAD.replace("60 s", "3 s"), "short.yaml")
        code, document = lab.play(short, "--plant", address)
        assert code == 0, document
    finally:
        plant.terminate()
        plant.communicate(timeout=PATIENCE)
