"""The plant link over real sockets and real processes: both modes, one daemon per plant, loss and restart."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hil_sim.plant.client import ask
from mastd.errors import ProtocolError
from mastd.wire.plant.direct_link import DirectLink, DirectPlant
from mastd.wire.plant.hello import LinkTerms, Mode
from mastd.wire.plant.messages import Command, Sample
from mastd.wire.plant.socket_link import PlantLink, SocketLink, connect
from tests.support.lab import PATIENCE

pytestmark = pytest.mark.real_time

PERIOD = 1_000_000
SECOND = 1_000_000_000
ROOT = Path(__file__).parents[3]

StartFollower = Callable[..., "subprocess.Popen[bytes]"]


def terms(mode: Mode) -> LinkTerms:
    return LinkTerms.of(7, 3, mode, PERIOD)


def follower() -> DirectPlant:
    spec = importlib.util.spec_from_file_location(
        "follower", ROOT / "tests" / "support" / "wire" / "follower.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    plant: DirectPlant = module.Follower(PERIOD)
    return plant


def messages(mode: Mode) -> tuple[Sample, Command]:
    return Sample(terms(mode).sample_layout), Command(terms(mode).command_layout)


def command_stream(link: PlantLink, cycles: int) -> str:
    """Close a small loop over ``link`` in lockstep and return the hash of all commands."""
    sample, command = messages("lockstep")
    digest = hashlib.sha256()
    for step in range(cycles):
        assert link.newest(sample, 2 * SECOND) == 1
        assert sample.step == step
        lengths = sample.field("lengths")
        command.field("lengths")[:] = 1.0 + 0.3 * (1.1 - lengths) + 0.01 * (step % 7)
        command.field("rates")[:] = lengths / 3.0
        digest.update(command.values.tobytes())
        assert link.send(command)
    assert link.newest(sample, 2 * SECOND) == 1
    return digest.hexdigest()


def counters(address: str) -> dict[str, int]:
    found = ask(address, "status")["counters"]
    assert isinstance(found, dict)
    return found


def wait_until(condition: Callable[[], bool], what: str, timeout_s: float = PATIENCE) -> None:
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, f"waited in vain until {what}"
        time.sleep(0.002)


def test_lockstep_gives_the_same_commands_direct_and_over_a_socket(
    start_follower: StartFollower, address: str
) -> None:
    start_follower("lockstep")
    link = connect(address, terms("lockstep"))
    over_socket = command_stream(link, 300)
    assert (link.counters.lost, link.counters.old, link.counters.invalid) == (0, 0, 0)
    link.close()
    assert command_stream(DirectLink(follower(), terms("lockstep")), 300) == over_socket


def test_plant_time_stands_still_between_lockstep_sessions(
    start_follower: StartFollower, address: str
) -> None:
    start_follower("lockstep")
    first = connect(address, terms("lockstep"))
    command_stream(first, 5)
    first.close()
    second = connect(address, terms("lockstep"))
    sample, command = messages("lockstep")
    assert second.newest(sample, SECOND) == 1
    assert (sample.step, sample.time_ns, sample.command_sequence) == (5, 5 * PERIOD, -1)
    assert second.send(command)
    assert second.newest(sample, SECOND) == 1
    assert (sample.step, sample.command_sequence) == (6, 0)
    second.close()


def test_free_run_follows_the_plants_clock_and_applies_commands(
    start_follower: StartFollower, address: str
) -> None:
    start_follower("free-run")
    link = connect(address, terms("free-run"))
    sample, command = messages("free-run")
    command.field("lengths")[:] = 1.5
    assert link.newest(sample, SECOND) >= 1
    begun, first_step, seen = time.monotonic(), sample.step, 0
    while sample.field("lengths")[0] < 1.4:
        seen += link.newest(sample, SECOND)
        assert sample.time_ns == sample.step * PERIOD
        link.send(command)
        assert time.monotonic() - begun < 10
    steps = sample.step - first_step
    assert seen + link.counters.lost <= steps, "no more than one sample per period"
    assert steps >= 16, "a tenth of the way per period needs 16 periods"
    link.close()


def test_newest_takes_all_that_waits_and_keeps_the_last(start_follower: StartFollower, address: str) -> None:
    start_follower("free-run")
    link = connect(address, terms("free-run"))
    sample, _ = messages("free-run")
    assert link.newest(sample, SECOND) >= 1
    step = sample.step
    end = time.monotonic_ns() + 50 * PERIOD
    wait_until(lambda: time.monotonic_ns() > end, "50 periods have passed")
    count = link.newest(sample, 0)
    assert count > 10
    assert sample.step >= step + count
    assert link.counters.received >= count
    link.close()


def test_a_stopped_plant_integrates_the_gap_in_one_go_and_stamps_it(
    start_follower: StartFollower, address: str
) -> None:
    process = start_follower("free-run")
    link = connect(address, terms("free-run"))
    sample, command = messages("free-run")
    assert link.newest(sample, SECOND) >= 1
    os.kill(process.pid, signal.SIGSTOP)
    end = time.monotonic_ns() + 60 * PERIOD
    wait_until(lambda: time.monotonic_ns() > end, "60 periods have passed")
    link.newest(sample, 0)  # what was still on its way
    link.send(command)
    step, sequence = sample.step, sample.sequence
    os.kill(process.pid, signal.SIGCONT)
    # The period in which it was stopped may still come first; the gap follows in one sample.
    wait_until(lambda: link.newest(sample, SECOND) > 0 and sample.step - step >= 50, "the gap has passed")
    assert sample.time_ns == sample.step * PERIOD
    assert sample.sequence - sequence < 50, "one sample for the whole gap"
    wait_until(
        lambda: link.newest(sample, SECOND) > 0 and sample.command_sequence == command.sequence,
        "the command that waited is applied",
    )
    link.close()


def test_commands_that_waited_too_long_are_not_applied(start_follower: StartFollower, address: str) -> None:
    process = start_follower("free-run")
    link = connect(address, terms("free-run"))
    sample, command = messages("free-run")
    assert link.newest(sample, SECOND) >= 1
    end = sample.step + 150
    wait_until(lambda: int(str(ask(address, "status")["step"])) > end, "the daemon has slept for 150 periods")
    assert link.send(command), "computed from the old sample"
    wait_until(lambda: counters(address)["late"] == 1, "the command is refused")
    assert counters(address)["commands"] == 0
    assert link.newest(sample, SECOND) >= 1
    assert link.refusal is not None
    assert f"belongs to step {command.step}" in link.refusal
    assert link.send(command)
    wait_until(lambda: counters(address)["commands"] == 1, "the next command is applied")
    assert process.poll() is None
    link.close()


def test_a_second_daemon_is_refused_with_the_identity_of_the_first(
    start_follower: StartFollower, address: str
) -> None:
    start_follower("lockstep")
    first = connect(address, terms("lockstep"), name="first daemon")
    with pytest.raises(ProtocolError, match=f"first daemon \\(pid {os.getpid()} on "):
        connect(address, terms("lockstep"), name="second daemon")
    assert command_stream(first, 20)
    first.close()
    second = connect(address, terms("lockstep"), name="second daemon")
    second.close()


@pytest.mark.parametrize("mode", ["lockstep", "free-run"])
def test_a_killed_daemon_frees_the_place_at_once(
    start_follower: StartFollower, address: str, mode: Mode
) -> None:
    start_follower(mode)
    program = (
        "import sys, time\n"
        "from mastd.wire.plant.hello import LinkTerms\n"
        "from mastd.wire.plant.socket_link import connect\n"
        f"link = connect({address!r}, LinkTerms.of(7, 3, {mode!r}, {PERIOD}), name='doomed')\n"
        "print('connected', flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)}
    ) as daemon:
        assert daemon.stdout is not None
        assert daemon.stdout.readline() == b"connected\n"
        with pytest.raises(ProtocolError, match=f"doomed \\(pid {daemon.pid} on "):
            connect(address, terms(mode))
        daemon.kill()
    found: list[SocketLink] = []

    def connected() -> bool:
        try:
            found.append(connect(address, terms(mode)))
        except ProtocolError:
            return False
        return True

    begun = time.monotonic()
    wait_until(connected, "the place is free")
    assert time.monotonic() - begun < 1.5, "the silence of 2 s need not be waited for"
    found[0].close()


def test_different_terms_are_refused_with_both_values(start_follower: StartFollower, address: str) -> None:
    start_follower("lockstep")
    with pytest.raises(ProtocolError, match="mode: plant lockstep, daemon free-run") as refused:
        connect(address, LinkTerms.of(6, 3, "free-run", 2 * PERIOD))
    text = str(refused.value)
    assert "plant 1000000 ns, daemon 2000000 ns" in text
    assert "command layout: plant " in text
    assert address in text


def test_an_address_without_a_plant_is_told_after_the_time_out(address: str) -> None:
    with pytest.raises(ProtocolError, match=r"no plant answers at .* within 0\.2 s"):
        connect(address, terms("lockstep"), timeout_ns=SECOND // 5)


def test_a_lost_plant_shows_within_the_time_out_and_a_restart_is_visible(
    start_follower: StartFollower, address: str
) -> None:
    process = start_follower("lockstep", boot_id=1)
    link = connect(address, terms("lockstep"))
    sample, command = messages("lockstep")
    assert link.newest(sample, SECOND) == 1
    process.kill()
    process.wait()
    link.send(command)
    begun = time.monotonic()
    assert link.newest(sample, SECOND // 5) == 0
    assert 0.19 < time.monotonic() - begun < 1.0
    wait_until(lambda: not link.send(command), "sending shows that nobody is there")

    start_follower("lockstep", boot_id=2)
    wait_until(lambda: link.send(command) and link.newest(sample, PERIOD) == 0 and bool(link.refusal), "told")
    assert link.refusal is not None
    assert "send hello first (boot 2)" in link.refusal
    link.close()
    again = connect(address, terms("lockstep"))
    assert again.hello.boot_id == 2
    assert again.newest(sample, SECOND) == 1
    assert sample.step == 0
    again.close()


def test_a_plant_ends_cleanly_when_told(start_follower: StartFollower, address: str) -> None:
    for mode in ("lockstep", "free-run"):
        process = start_follower(mode)
        link = connect(address, terms("lockstep" if mode == "lockstep" else "free-run"))
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        directory = Path(address.removeprefix("ipc://")).parent
        assert list(directory.iterdir()) == []
        link.close()


def test_a_plant_ends_when_its_parent_is_gone(start_follower: StartFollower, address: str) -> None:
    parent = subprocess.Popen(["sleep", "60"])
    process = start_follower("free-run", parent_pid=parent.pid)
    connect(address, terms("free-run")).close()
    assert process.poll() is None
    parent.kill()
    parent.wait()
    assert process.wait(PATIENCE) == 0


def test_a_second_plant_at_the_same_socket_file_is_refused(
    start_follower: StartFollower, address: str
) -> None:
    first = start_follower("lockstep")
    link = connect(address, terms("lockstep"))
    second = subprocess.run(
        [
            sys.executable,
            str(ROOT / "tests" / "support" / "wire" / "follower.py"),
            address,
            "lockstep",
            "2",
            "0",
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert second.returncode != 0
    assert f"another plant (pid {first.pid}) listens at {address}" in second.stderr
    assert command_stream(link, 3)
    link.close()


def test_a_socket_file_left_by_a_killed_plant_is_no_obstacle(
    start_follower: StartFollower, address: str
) -> None:
    process = start_follower("lockstep", boot_id=1)
    connect(address, terms("lockstep")).close()
    process.kill()
    process.wait()
    start_follower("lockstep", boot_id=2)
    link = connect(address, terms("lockstep"))
    assert link.hello.boot_id == 2
    link.close()
