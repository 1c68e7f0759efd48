"""Who watches changes nothing: a lockstep run beside readers of its telemetry, one of which never reads."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from mastd.record.reader import find_run, open_run
from tests.support.lab import ROOT, Lab

pytestmark = [pytest.mark.real_time, pytest.mark.evidence]

LONG = """
name: long
segments:
  - kind: sine
    frequency: 2 Hz
    duration: 40 s
    axes: {heave: {amplitude: 4 mm}, roll: {amplitude: 0.2 deg}}
"""


@contextmanager
def reader(address: str, *options: str) -> Iterator[subprocess.Popen[str]]:
    """Start a reader that waits for the daemon."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.wire.telemetry_reader", address, *options],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def seen(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Return what a reader says at its end."""
    assert process.stdout is not None
    text = process.stdout.readline()
    assert text, "the reader has seen nothing"
    found: dict[str, Any] = json.loads(text)
    return found


@pytest.mark.parametrize("link", ["direct", "socket"])
def test_a_lockstep_run_is_the_same_beside_three_readers_of_which_one_is_deaf(lab: Lab, link: str) -> None:
    assert lab.runtime is not None
    profile = lab.profile(LONG)
    address = f"ipc://{lab.runtime}/watched.operators"
    options = ("--sim", "--lockstep", "--link", link, "--operators", address)
    code, alone = lab.play(profile, *options, timeout=300.0)
    assert code == 0
    with ExitStack() as stack:
        readers = [stack.enter_context(reader(address)) for _ in range(2)]
        deaf = stack.enter_context(reader(address, "deaf"))
        code, watched = lab.play(profile, *options, timeout=300.0)
        assert seen(deaf) == {"deaf": True}
        found = [seen(process) for process in readers]
    print(json.dumps({"cycles": watched["cycles"], "readers": found}))
    assert code == 0
    assert watched["command_sha256"] == alone["command_sha256"]
    assert watched["cycles"] == alone["cycles"]
    assert watched["missed"] == 0
    run = open_run(find_run(lab.directory / watched["run"]))
    cycles = run.columns["cycle"]
    assert cycles.tolist() == list(range(1, len(cycles) + 1)), "every frame is in the record"
    for one in found:
        assert one["shown"] > 0.5 * (len(cycles) - one["first"])
        assert one["misplaced"] == 0
        assert one["shown"] + one["gaps"] == one["following"] - one["first"]
        assert one["ended"] == 1
        assert one["following"] == len(cycles), "the last frame is shown as well"
