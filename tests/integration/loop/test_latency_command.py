"""`mastd latency` as a user runs it, on whatever machine this is."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import subprocess
from pathlib import Path

import pytest

from mastd.cli import main
from mastd.latency.judge import Verdict
from mastd.loop.process.endpoints import Kind, operators_endpoint
from tests.support.lab import Lab

pytestmark = pytest.mark.alone

PR_CAPBSET_DROP, CAP_IPC_LOCK, CAP_SYS_NICE = 24, 14, 23
"""prctl(2) and capabilities(7)."""


def test_it_measures_and_judges_this_machine(lab: Lab) -> None:
    done = lab.run("latency", "--duration", "1s", "--rate", "500Hz", "--load", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert document["good_for"] in {verdict.value for verdict in Verdict}
    assert document["judgement"][0].startswith("This machine")
    for kind in document["wake_ups"]:
        assert 0 < kind["count"] <= 210, "0.4 s at 500 Hz"
        assert 0.0 <= kind["median_s"] <= kind["p99_s"] <= kind["p999_s"] <= kind["max_s"]
        assert sum(part["count"] for part in kind["histogram"]) == kind["count"]
    assert document["stalls"]["watched_s"] >= 0.2
    assert document["machine"]["processors"] == os.cpu_count()
    assert (document["load"], document["rate_hz"]) == (True, 500.0)


def without_rights() -> None:
    """Let what is executed next be an ordinary program, also where the tests run as root."""
    resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (1 << 16, 1 << 16))
    for capability in (CAP_IPC_LOCK, CAP_SYS_NICE):
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)  # fails where there is none to drop


def test_an_ordinary_program_without_rights_gets_an_answer_too(lab: Lab) -> None:
    done = subprocess.run(
        lab.command("latency", "--duration", "200ms", "--cpu", min(os.sched_getaffinity(0))),
        capture_output=True, text=True, preexec_fn=without_rights, env=lab.environment, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "Real-time scheduling was refused" in done.stdout
    assert "LimitRTPRIO=99" in done.stdout
    assert "LimitMEMLOCK=infinity" in done.stdout


@pytest.mark.parametrize(
    "options",
    [
        ["--duration", "1"],
        ["--duration", "1ms"],
        ["--rate", "1MHz"],
        ["--rate", "50Hz"],
        ["--cpu", "100000"],
    ],
)
def test_what_cannot_be_measured_is_refused_in_one_line(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["latency", *options]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(options[0])
    assert said.err.count("\n") == 1


def test_beside_a_daemon_nothing_is_measured(
    runtime: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    with operators_endpoint(Kind.SERVICE, None):
        assert main(["latency", "--duration", "200ms"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"a daemon with process id {os.getpid()} is running, and measuring")
    assert said.err.count("\n") == 1
