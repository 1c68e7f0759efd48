"""`mastd run` as a user sees it: real processes, real sockets, real plant."""

from __future__ import annotations

import json
import os
import signal
import subprocess

import pytest

from mastd.record.reader import open_run
from mastd.safety.states import State
from tests.lab import Lab

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
    profile = lab.profile(SHORT)
    results = [
        lab.play(profile, "--lockstep", "--link", link) for link in ("direct", "direct", "socket", "socket")
    ]
    for code, document in results:
        assert code == 0
        assert document["verdict"] == "pass"
        assert document["missed"] == 0
        assert document["state"] == "READY"
    assert len({document["command_sha256"] for _, document in results}) == 1
    _, other = lab.play(profile, "--lockstep", "--link", "direct", "--seed", "5")
    assert other["axes"]["heave"] != results[0][1]["axes"]["heave"], "another seed gives other sensor noise"


def test_a_run_in_real_time_over_a_socket_passes_and_leaves_record_and_page(lab: Lab) -> None:
    code, document = lab.play(lab.profile(SHORT), "--sim")
    assert code == 0, document
    directory = lab.directory / document["run"]
    assert (directory / "report.png").stat().st_size > 10_000
    run = open_run(directory)
    assert run.damage is None
    seen = [State(int(code)).name for code in run.columns["state"]]
    order = list(dict.fromkeys(seen))
    assert (
        order == ["OFF", "LOW", "HIGH", "RAISING", "READY", "ARMED", "RUNNING", "LOWERING"]
        or order[-1] == "OFF"
    )
    assert document["axes"]["heave"]["best_lag_nrmse"] < 0.1
    assert 0.0 <= document["axes"]["heave"]["lag_s"] < 0.02


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_softly_lowers_and_closes_the_record(lab: Lab, number: signal.Signals) -> None:
    profile = lab.profile(SHORT.replace("duration: 2.5 s", "duration: 60 s"))
    process = lab.start("run", profile, "--table", lab.table, "--config", lab.config, "--json", "--sim")
    record = lab.wait_for_state(process, "RUNNING")
    process.send_signal(number)
    process.send_signal(number)
    output, errors = process.communicate(timeout=30)
    assert process.returncode == 1, errors
    document = json.loads(output)
    assert document["verdict"] == "stopped"
    assert document["cause"] == "stopped by the operator"
    run = open_run(record)
    assert run.damage is None
    assert run.columns["pose.heave"][-1] < -0.045, "the table is down"
    assert (run.columns["state"] == State.STOPPING).any()


def test_what_does_not_pass_the_check_is_refused_before_anything_moves(lab: Lab) -> None:
    profile = lab.profile(SHORT.replace("amplitude: 4 mm", "amplitude: 60 mm"))
    done = lab.run("run", profile, "--sim")
    assert done.returncode == 2
    assert "does not pass the check" in done.stderr
    assert "stroke" in done.stderr
    assert not (lab.directory / "runs").exists()


def test_nothing_is_left_behind(lab: Lab) -> None:
    lab.play(lab.profile(SHORT), "--lockstep")
    left = subprocess.run(
        ["pgrep", "-f", str(lab.directory)], capture_output=True, text=True, check=False
    ).stdout
    assert [pid for pid in left.split() if int(pid) != os.getpid()] == []
