"""The real processes of the campaign of kills: a simulated plant, a service on it, and its operator.

What the table really does is read from the plant's own log of its true motion.
"""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from hil_sim.plant.client import ask
from mastd.arrays import FloatArray
from mastd.errors import MastdError, ProtocolError, UsageError
from mastd.wire.operators.client import OperatorClient
from tests.support.lab import PATIENCE, SHAKING, quick_lab, replaced
from tests.support.rigs.fuzz import RIGS

OPERATOR: Final = "night shift"
AMPLITUDE: Final = 0.004
PROFILE: Final = replaced(SHAKING, "duration: 8 s", "duration: 4 s")
MODULES: Final = {
    "recorder": "mastd.record.recorder",
    "gateway": "mastd.wire.operators.gateway",
    "rigs' gateway": "mastd.wire.rigs.gateway",
    "loader": "mastd.loop.loading.loader",
}
"""Processes of the service by their programs."""
DOWN: Final = -0.0495
"""Heave in m of a table on its stops."""
LOOK_S: Final = 0.12
"""Between two looks at what another process does; more requests than that would be too many."""


class Bench:
    """A plant, a service and an operator in a directory of their own; sockets are in ``runtime``."""

    def __init__(self, directory: Path, runtime: Path) -> None:
        directory.mkdir(parents=True)
        self.lab = replace(quick_lab(directory), runtime=runtime)
        (directory / "rigs.yaml").write_text(RIGS, encoding="utf-8")
        settings = self.lab.config.read_text(encoding="utf-8")
        self.lab.config.write_text(f"{settings}rigs: rigs.yaml\n", encoding="utf-8")
        self.profile = self.lab.profile(PROFILE)
        self.plant: subprocess.Popen[bytes] | None = None
        self.service: subprocess.Popen[bytes] | None = None
        self.client: OperatorClient | None = None
        self._plants = 0
        self._read = 0
        self._runtime = runtime
        self.address = f"ipc://{runtime}/plant"

    def start_plant(self) -> None:
        """Start a plant; its table lies on its stops."""
        self._plants += 1
        self._read = 0
        self.plant = self._start(
            *("plant", "--table", self.lab.table, "--address", self.address),
            *("--motion-log", self._log),
            program="hil-sim",
        )
        self.wait_for(lambda: self.plant_time() >= 0, "a plant that answers", PATIENCE)

    def start_service(self) -> None:
        """Start a service and load the profile; the plant runs."""
        self.service = self._start(
            *("serve", "--table", self.lab.table, "--config", self.lab.config, "--plant", self.address)
        )
        self.wait_for(self._join, "a service that answers", PATIENCE)
        self.wait_for(lambda: self.state() == "OFF", "a loop in OFF", PATIENCE)
        assert self.client is not None
        self.wait_for(
            lambda: self.command("load", profile=str(self.profile)), "a profile that is loaded", PATIENCE
        )

    def _start(self, *arguments: object, program: str = "mastd") -> subprocess.Popen[bytes]:
        with (self.lab.directory / "log.txt").open("ab") as log:
            return subprocess.Popen(
                self.lab.command(*arguments, program=program),
                stdout=log,
                stderr=log,
                cwd=self.lab.directory,
                env=self.lab.environment,
            )

    def _join(self) -> bool:
        assert self.service is not None
        assert self.service.poll() is None, "the service has ended while it was starting"
        with suppress(UsageError):
            self.client = OperatorClient(f"ipc://{self._runtime}/mastd.operators", OPERATOR)
        return self.client is not None

    def leave(self) -> None:
        """Close the operator's session with a service that is gone."""
        if self.client is not None:
            self.client.close()
            self.client = None

    @staticmethod
    def wait_for(reached: Callable[[], object], what: str, seconds: float) -> None:
        """Return once ``reached`` is true; AssertionError after ``seconds``."""
        deadline = time.monotonic() + seconds
        while not reached():
            assert time.monotonic() < deadline, f"no {what} within {seconds:g} s"
            pause(LOOK_S)

    def status(self) -> dict[str, Any]:
        """Return the daemon's status, an empty one while it does not answer."""
        if self.client is not None:
            with suppress(UsageError, ProtocolError):
                return self.client.status()
        return {}

    def state(self) -> str:
        """Return the state of a loop that runs, empty for none."""
        status = self.status()
        return str(status["state"]) if status.get("loop") == "running" else ""

    def command(self, verb: str, **arguments: object) -> bool:
        """Give a command; return whether it was accepted."""
        assert self.client is not None
        with suppress(UsageError, ProtocolError):
            return self.client.command(verb, arguments).accepted
        return False

    def process_id(self, name: str) -> int | None:
        """Return the process id of one of the processes, None where there is none."""
        if name == "plant":
            return None if self.plant is None else self.plant.pid
        if self.service is None or name == "loop":
            return None if self.service is None else self.service.pid
        module = MODULES[name].encode()
        for pid in family(self.service.pid):
            if module in command_line(pid):
                return pid
        return None

    def come_down(self) -> None:
        """Bring the table down and clear what is latched, as an operator does; AssertionError if it fails."""
        verbs = {"READY": "lower", "ARMED": "lower", "ESTOP": "reset"}
        verbs |= dict.fromkeys(("LOW", "HIGH", "RAISING", "RUNNING", "HOLD"), "stop")
        deadline = time.monotonic() + 90.0
        while True:
            status = self.status()
            state = status.get("state", "") if status.get("loop") == "running" else ""
            if state == "OFF" and self.heave() < DOWN:
                return
            if state == "FAULT":
                self.command("lower" if status["pose"][2] > -0.045 else "reset")
            elif state in verbs:
                self.command(verbs[state])
            told = {key: status.get(key) for key in ("loop", "state", "cause", "active")}
            assert time.monotonic() < deadline, f"the table does not come down: {told}"
            pause(LOOK_S)

    def end_service(self) -> int:
        """End the service in order; return its exit code."""
        assert self.service is not None
        self.service.send_signal(signal.SIGTERM)
        code = self.service.wait(PATIENCE)
        self.leave()
        return code

    def truth(self) -> dict[str, Any]:
        """Return the plant's true motion now."""
        return ask(self.address, "truth")

    def heave(self) -> float:
        """Return the true heave."""
        return float(self.truth()["pose"][2])

    def plant_time(self) -> float:
        """Return the plant's time in s, -1 while it does not answer."""
        with suppress(MastdError):
            return 1e-9 * int(str(ask(self.address, "truth", timeout_s=1.0)["time_ns"]))
        return -1.0

    @property
    def _log(self) -> Path:
        return self.lab.directory / f"motion-{self._plants}"

    def motion(self, until: float = 0.0) -> FloatArray:
        """Return the rows of true motion (k, 19) since the last call, at least up to ``until`` of plant time.

        Where the plant was killed, what it had not yet written is missing.
        """
        rows = np.zeros((0, 19))
        deadline = time.monotonic() + 30.0
        while True:
            values = np.fromfile(self._log, dtype="<f8", offset=self._read)
            new = values[: len(values) // 19 * 19].reshape(-1, 19)
            self._read += new.nbytes
            rows = np.concatenate((rows, new))
            if until <= 0.0 or (len(rows) and rows[-1, 0] >= until):
                return rows
            assert time.monotonic() < deadline, "the plant writes no true motion"
            pause(LOOK_S)

    def strays(self) -> list[str]:
        """Return the processes of this bench that belong to neither its plant nor its service."""
        own: set[int] = set()
        for process in (self.plant, self.service):
            if process is not None and process.poll() is None:
                own |= set(family(process.pid))
        mark = f"XDG_RUNTIME_DIR={self._runtime}\0".encode()
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                if mark in path.read_bytes() and int(path.parent.name) not in own:
                    found.append(f"{path.parent.name}: {command_line(int(path.parent.name)).decode()}")
        return found

    def close(self) -> None:
        """End all processes, whatever they do."""
        self.leave()
        for process in (self.service, self.plant):
            if process is not None and process.poll() is None:
                with suppress(ProcessLookupError):
                    process.send_signal(signal.SIGCONT)
                process.terminate()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(30.0)
                process.kill()
                process.wait()


def pause(seconds: float) -> None:
    """Let other processes do what they do: there is no event of theirs to wait for."""
    threading.Event().wait(seconds)


def family(pid: int) -> Iterator[int]:
    """Yield a process and all that it has started."""
    yield pid
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for child in (thread / "children").read_text(encoding="ascii").split():
                yield from family(int(child))


def command_line(pid: int) -> bytes:
    """Return a process's command line, words divided by spaces; empty for one that is gone."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
    return b""
