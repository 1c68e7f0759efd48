"""`mastd run` as a user sees it: real processes, real sockets, real plant."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from mastd.loop.process.compile_progress import FIRST_TIME
from mastd.loop.process.host import Connection
from mastd.loop.process.installation import Plan
from mastd.loop.service.single_run import run
from mastd.record.reader import open_run
from mastd.safety.states import State
from mastd.wire.plant.provider import PlantRequest, rigid_payload
from tests.support.lab import PATIENCE, Lab

SHORT = """
name: short
payload: {kind: rigid, mass: 12 t, centre_of_gravity: [0 m, 0 m, 2 m], inertia: [8 t m2, 29 t m2, 29 t m2]}
segments:
  - kind: sine
    frequency: 2 Hz
    duration: 2.5 s
    fade: 0.5 s
    axes:
      heave: {amplitude: 4 mm}
      pitch: {amplitude: 0.1 deg}
verdict:
  axes:
    heave: {best_lag_nrmse: 0.1, lag: 20 ms}
    pitch: {best_lag_nrmse: 0.1, lag: 20 ms}
"""


def test_lockstep_repeats_bit_for_bit_direct_and_over_sockets(lab: Lab) -> None:
    plan = Plan.load(lab.table, lab.profile(SHORT), lab.config)

    def digest(link: str, seed: int) -> str:
        request = PlantRequest(
            plan.table_path, payload=rigid_payload(plan.profile), mode="lockstep", seed=seed
        )
        ending = run(plan, Connection(None, link, "lockstep", request), None, live=False)
        assert ending.completed
        assert ending.missed == 0
        return ending.command_sha256

    assert len({digest(link, 3) for link in ("direct", "direct", "socket", "socket")}) == 1


def test_a_lockstep_run_prints_one_document_with_the_same_digest_as_its_record(lab: Lab) -> None:
    code, document = lab.play(lab.profile(SHORT), "--lockstep", "--link", "direct")
    assert code == 0
    assert document["verdict"] == "pass"
    assert document["state"] == "READY"
    record = open_run(lab.directory / document["run"])
    window = np.flatnonzero(record.columns["state"] == State.RUNNING)
    names = [
        n
        for q in ("length", "rate", "acceleration", "force", "trim")
        for n in record.numbered(f"command.{q}")
    ]
    sent = np.ascontiguousarray(record.matrix(names)[window], dtype="<f8")
    assert hashlib.sha256(sent.tobytes()).hexdigest() == document["command_sha256"]


def test_a_real_strong_motion_record_is_checked_played_and_plotted(lab: Lab, shared: Path) -> None:
    profile = lab.profile(
        f"""
name: Gilroy array 6
segments:
  - kind: record
    axes: {{sway: {{file: {shared / "data" / "records" / "usgs_RSN763_GIL067.AT2"}, scale: 50 %}}}}
    band: [0.5 Hz, 15 Hz]
"""
    )
    checked = lab.run("check", profile, "--json")
    assert checked.returncode == 0, checked.stderr
    assert json.loads(checked.stdout)["scale"] > 1.0
    code, document = lab.play(profile, "--lockstep", "--link", "direct")
    assert code == 0
    assert document["axes"]["sway"]["best_lag_nrmse"] < 0.1
    acceleration = document["axes"]["sway"]["acceleration"]
    assert acceleration["best_lag_nrmse"] < 0.1
    assert abs(acceleration["lag_s"]) < 0.02
    assert acceleration["spectrum_outside_share"] < 0.1
    assert document["internal_force_peak_n"] > document["internal_force_rms_n"]
    assert (lab.directory / document["page"]).stat().st_size > 10_000


@pytest.mark.alone
def test_a_run_in_real_time_over_a_socket_passes_and_leaves_record_and_page(lab: Lab) -> None:
    code, document = lab.play(lab.profile(SHORT), "--sim")
    assert code == 0, document
    directory = lab.directory / document["run"]
    assert (directory / "report.html").stat().st_size > 10_000
    record = open_run(directory)
    assert record.damage is None
    seen = [State(int(code)).name for code in record.columns["state"]]
    order = list(dict.fromkeys(seen))
    assert (
        order == ["OFF", "LOW", "HIGH", "RAISING", "READY", "ARMED", "RUNNING", "LOWERING"]
        or order[-1] == "OFF"
    )
    assert document["axes"]["heave"]["best_lag_nrmse"] < 0.1
    # With the preview of a known profile the motion is as often a hair early as late.
    assert abs(document["axes"]["heave"]["lag_s"]) < 5e-3


@pytest.mark.real_time
@pytest.mark.parametrize(
    "number",
    [
        signal.SIGINT,
        *(
            pytest.param(number, marks=pytest.mark.evidence)
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGTSTP, signal.SIGUSR1)
        ),
    ],
)
def test_a_signal_stops_softly_lowers_and_closes_the_record(lab: Lab, number: signal.Signals) -> None:
    profile = lab.profile(SHORT.replace("duration: 2.5 s", "duration: 60 s"))
    process = lab.start("run", profile, "--table", lab.table, "--config", lab.config, "--json", "--sim")
    record = lab.wait_for_state(process, "RUNNING")
    end = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < end:
        process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.02)
    output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 5, errors
    document = json.loads(output)
    assert document["verdict"] == "stopped"
    assert document["cause"] == f"stopped by {number.name}"
    stopped = open_run(record)
    assert stopped.damage is None
    assert stopped.columns["pose.heave"][-1] < -0.045, "the table is down"
    assert (stopped.columns["state"] == State.STOPPING).any()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_anything_moves_ends_the_run_with_one_line(lab: Lab, number: signal.Signals) -> None:
    code = (
        "import os, sys, signal, mastd.loop.process.installation as plan\n"
        "load = plan.Plan.load\n"
        f"plan.Plan.load = lambda *a: (os.kill(os.getpid(), {int(number)}), load(*a))[1]\n"
        "from mastd.cli import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "run", str(lab.profile(SHORT)), "--json"],
        capture_output=True,
        text=True,
        cwd=lab.directory,
        env=lab.environment,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 5, done.stderr
    assert done.stderr.removeprefix(f"mastd: {FIRST_TIME}\n") == "stopped before any motion\n"
    assert not (lab.directory / "runs").exists()


def test_what_does_not_pass_the_check_is_refused_before_anything_moves(lab: Lab) -> None:
    profile = lab.profile(SHORT.replace("amplitude: 4 mm", "amplitude: 60 mm"))
    done = lab.run("run", profile, "--sim")
    assert done.returncode == 2
    assert "the check failed" in done.stderr
    assert "stroke" in done.stderr
    assert not (lab.directory / "runs").exists()


def test_nothing_is_left_behind(lab: Lab) -> None:
    lab.play(lab.profile(SHORT), "--lockstep")
    left = subprocess.run(
        ["pgrep", "-f", str(lab.directory)], capture_output=True, text=True, check=False
    ).stdout
    assert [pid for pid in left.split() if int(pid) != os.getpid()] == []
