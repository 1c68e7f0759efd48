"""The life of a service as its manager and its operators see it: real daemon, real plant, real sockets.

The service manager is a stand-in for the other end of its notify socket
(tests/support/wire/notify_socket.py).
"""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mastd.loop.process.child_watch import LOOK_NS
from mastd.wire.operators.client import OperatorClient
from tests.support.lab import PATIENCE, Lab, replaced
from tests.support.wire.notify_socket import Listener
from tests.support.wire.operators import wait_for

pytestmark = pytest.mark.real_time

START_S = 120.0
"""The first start compiles the kernels."""


class Unit:
    """A service on a plant that comes and goes, as a unit of a service manager runs it."""

    def __init__(self, lab: Lab) -> None:
        assert lab.runtime is not None
        lab.runtime.chmod(0o750)
        self.lab = lab
        self.address = f"ipc://{lab.runtime}/plant"
        self.manager = Listener(lab.runtime / "notify")
        self.plant: subprocess.Popen[str] | None = None
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> int:
        """Start the service as a service manager does; return its process id."""
        command = self.lab.command(
            *("serve", "--table", self.lab.table, "--config", self.lab.config, "--plant", self.address)
        )
        variables = {
            "NOTIFY_SOCKET": self.manager.address,
            "WATCHDOG_USEC": "2000000",
            "RUNTIME_DIRECTORY": str(self.lab.runtime),
        }
        with open(self.lab.directory / "log", "ab") as log:
            self.process = subprocess.Popen(
                command, stderr=log, cwd=self.lab.directory, env={**self.lab.environment, **variables}
            )
        return self.process.pid

    def start_plant(self, *options: object) -> None:
        """Start the plant, after the one that was there."""
        self.stop_plant()
        self.plant = self.lab.start(
            *("plant", "--table", self.lab.table, "--address", self.address, *options), program="hil-sim"
        )

    def stop_plant(self) -> None:
        if self.plant is not None:
            self.plant.kill()
            self.plant.communicate()
            self.plant = None

    def wait(self) -> int:
        assert self.process is not None
        return self.process.wait(PATIENCE)

    def ended(self, result: str, code: str, status: str) -> None:
        """Do what the service manager does when the main process is gone."""
        variables = {"SERVICE_RESULT": result, "EXIT_CODE": code, "EXIT_STATUS": status}
        done = subprocess.run(
            self.lab.command("serve", "--ended"),
            cwd=self.lab.directory,
            env={**self.lab.environment, **variables},
            check=False,
        )
        assert done.returncode == 0

    @property
    def log(self) -> str:
        return (self.lab.directory / "log").read_text(encoding="utf-8")

    def client(self) -> OperatorClient:
        return OperatorClient(f"ipc://{self.lab.runtime}/mastd.operators", "anna")

    def state(self, name: str) -> None:
        with self.client() as client:
            next(now for now in client.watch() if now["loop"] == "running" and now["state"] == name)

    def rise(self) -> None:
        """Raise the table; a drive that is still letting it down is waited for."""
        with self.client() as client:
            next(now for now in client.watch() if client.command("raise").accepted)
        self.state("READY")

    def close(self) -> None:
        self.stop_plant()
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        self.manager.close()


@pytest.fixture
def unit(lab: Lab) -> Iterator[Unit]:
    unit = Unit(lab)
    yield unit
    unit.close()


def reload(unit: Unit) -> tuple[int, dict[str, Any]]:
    """Have the settings taken anew by the command; return its exit code and document."""
    with unit.client() as client:
        client.command("reset")  # of what a busy machine may have caused
    done = unit.lab.run("ctl", "reload", "--as", "anna", "--json", timeout=START_S)
    return done.returncode, json.loads(done.stdout)


def settings_are_taken_anew(unit: Unit, process_id: int) -> None:
    """Wrong files change nothing, right ones are in force afterwards, in the same process."""
    lab = unit.lab
    good, table = lab.config.read_text(encoding="utf-8"), lab.table.read_text(encoding="utf-8")
    lab.config.write_text(replaced(good, "^rate: 1 kHz", "rate: 1 mm"), encoding="utf-8")
    lab.table.write_text(replaced(table, r"rise_time: 0.2 s ", "rise_time: soon "), encoding="utf-8")
    code, answer = reload(unit)
    assert (code, answer["accepted"]) == (6, False)
    heading, *lines = answer["reason"].splitlines()
    assert heading == "reload is refused: the present settings remain in force:"
    assert [line.split(":")[0] for line in lines] == [str(lab.table), str(lab.config)]
    lab.table.write_text(table, encoding="utf-8")
    lab.config.write_text(replaced(good, "^  lease: 60 s", "  lease: 45 s"), encoding="utf-8")
    code, answer = reload(unit)
    assert code == 0, answer
    assert answer["reason"] == "the new settings are in force; load a profile again"
    told = [line for line in unit.manager.lines if line in ("READY=1", "RELOADING=1")]
    assert told == ["READY=1", "RELOADING=1", "READY=1"]
    with unit.client() as client:
        assert (client.welcome.pid, client.welcome.lease_s) == (process_id, 45.0)


def the_plant_is_restarted(unit: Unit) -> None:
    """A raised table loses its plant, and can be used again as soon as that is back and the fault reset."""
    unit.stop_plant()
    assert "samples stale" in unit.manager.status("FAULT: ")
    with unit.client() as client:
        next(now for now in client.watch() if "PLANT_LOST" in now["active"])
        unit.start_plant()
        wait_for(lambda: "PLANT_LOST" not in client.status()["active"], "the plant is found again", START_S)
        assert client.status()["state"] == "FAULT", "nobody has reset it"
        assert client.command("reset").accepted
    unit.state("OFF")


def the_loop_stands(unit: Unit, process_id: int) -> None:
    """Stop the process; the watchdog is not fed until somebody has noticed."""
    with unit.client() as client:
        os.kill(process_id, signal.SIGSTOP)
        wait_for(lambda: is_stopped(process_id), "it stands")
        told = len(unit.manager.lines)
        stuck = next(now for now in client.watch() if now["loop"] == "stuck")
        assert stuck["silent_s"] > 4e-9 * LOOK_NS
        assert unit.manager.lines[told:].count("WATCHDOG=1") <= 1, "a loop that stands feeds no watchdog"


def helpers(process_id: int) -> list[int]:
    """Return the processes that a daemon has started."""
    found = Path(f"/proc/{process_id}/task/{process_id}/children").read_text(encoding="ascii")
    return [int(text) for text in found.split()]


def is_stopped(process_id: int) -> bool:
    return Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def test_a_day_of_a_service(unit: Unit) -> None:
    """It waits for its plant, takes new settings, loses and finds the plant, stands still, and ends."""
    process_id = unit.start()
    manager = unit.manager
    assert unit.lab.runtime is not None
    manager.status("loading the kernels", START_S)
    manager.status("waiting for the plant: no plant answers at", START_S)
    assert manager.lines[0] == "STATUS=reading the settings"
    assert any(line.startswith("EXTEND_TIMEOUT_USEC=") for line in manager.lines)
    manager.until(lambda line: line == "READY=1")
    with unit.client() as client:
        status = client.status()
        assert (status["loop"], status["waiting"][:21]) == ("preparing", "waiting for the plant")
        refused = client.command("raise")
        assert not refused.accepted
        assert "waiting for the plant: no plant answers" in refused.reason
    for name in ("mastd.operators", "mastd.status"):
        assert stat.S_IMODE((unit.lab.runtime / name).stat().st_mode) == 0o660, "for the service's group"
    shown = unit.lab.run("ctl", "status").stdout
    assert "LOOP PREPARING: waiting for the plant: no plant answers at ipc:" in shown
    manager.until(lambda line: line == "WATCHDOG=1")  # also while it waits
    unit.start_plant()
    manager.status("OFF", START_S)
    for helper in helpers(process_id):
        inherited = Path(f"/proc/{helper}/environ").read_bytes()
        assert b"NOTIFY_SOCKET" not in inherited
        assert b"WATCHDOG" not in inherited
    settings_are_taken_anew(unit, process_id)
    unit.rise()
    the_plant_is_restarted(unit)
    unit.rise()
    the_loop_stands(unit, process_id)
    os.kill(process_id, signal.SIGCONT)
    assert "loop" in manager.status("FAULT: ")
    os.kill(process_id, signal.SIGTERM)
    assert unit.wait() == 3
    manager.status("stopping: finishing the records")
    assert "STOPPING=1" in manager.lines
    unit.ended("exit-code", "exited", "3")
    noted = json.loads((unit.lab.directory / "runs" / "last-ending.json").read_text(encoding="utf-8"))
    assert noted["status"] == "3"
    assert "loop" in noted["cause"]


@pytest.mark.evidence
def test_after_the_watchdog_the_next_start_tells_why(unit: Unit) -> None:
    process_id = unit.start()
    unit.start_plant()
    unit.manager.status("OFF", START_S)
    the_loop_stands(unit, process_id)
    os.kill(process_id, signal.SIGKILL)  # SIGABRT by the service manager, to the same effect
    unit.wait()
    unit.ended("watchdog", "dumped", "ABRT")
    unit.start()
    unit.manager.status("last ending: ", START_S)
    assert "watchdog: the loop was stuck" in unit.lab.run("ctl", "status").stdout
    unit.rise()  # it has come up in OFF and can be used
    with unit.client() as client:
        assert "watchdog" in client.status()["last_ending"]
    assert "last ending" not in unit.manager.status("READY")
    assert unit.process is not None
    unit.process.send_signal(signal.SIGTERM)
    assert unit.wait() == 0
    assert "STATUS=stopping: LOWERING" in [line.partition(";")[0] for line in unit.manager.lines]


@pytest.mark.evidence
def test_settings_that_the_plant_refuses_give_way_to_the_old_ones(unit: Unit) -> None:
    process_id, lab = unit.start(), unit.lab
    unit.start_plant()
    unit.manager.status("OFF", START_S)
    good = lab.config.read_text(encoding="utf-8")
    lab.config.write_text(replaced(good, "^rate: 1 kHz", "rate: 500 Hz"), encoding="utf-8")
    code, answer = reload(unit)
    assert code == 6
    assert "period: plant 1000000 ns, daemon 2000000 ns" in answer["reason"]
    assert "the previous settings remain in force" in answer["needed"]
    assert "reload failed, the previous settings remain in force: the plant at" in unit.log
    unit.rise()  # it can be used
    with unit.client() as client:
        refused = client.command("reload")
        assert (refused.reason, refused.needed) == ("reload is refused in READY", "reload in OFF")
    open_files = len(list(Path(f"/proc/{process_id}/fd").iterdir()))
    assert open_files < 40, "nothing is left open by the turns before"


@pytest.mark.evidence
def test_a_plant_with_other_terms_is_a_settings_error_and_sigterm_ends_the_wait(unit: Unit) -> None:
    process_id = unit.start()
    unit.manager.status("waiting for the plant", START_S)
    os.kill(process_id, signal.SIGTERM)
    assert unit.wait() == 0
    unit.start()
    unit.start_plant("--period", "2 ms")
    assert unit.wait() == 2
    assert unit.log.splitlines()[-1].startswith(
        f"the plant at {unit.address} refuses: period: plant 2000000 ns"
    )
    assert unit.manager.status("refused: the plant at")
    assert not (unit.lab.directory / "runs" / "running.json").exists(), "it was told here and now"
