"""A Debian machine with a systemd of its own: a directory booted as a container, entered from outside."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.lab import ROOT

BUILD = ROOT / "build"
PROGRAMS = ("mmdebstrap", "systemd-nspawn", "nsenter", "tar", "dpkg-deb")
PACKAGES = ("systemd", "systemd-sysv", "dbus", "python3", "init-system-helpers", "zlib1g", "libstdc++6")
SUITE = "bookworm"
_ENVIRONMENT = (
    "env",
    "-i",
    "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG=C.UTF-8",
    "DEBIAN_FRONTEND=noninteractive",
)
_EYE = """
import json, sys
from hil_sim.plant.client import ask
for _ in sys.stdin:
    print(json.dumps(ask("ipc:///run/mastd-plant/plant", "truth")), flush=True)
"""
_CAPABILITIES = "CAP_SYS_NICE,CAP_IPC_LOCK"


class StepError(AssertionError):
    """A step that did not go as it must; one line."""


def missing() -> str:
    """Return what this machine lacks for the test, empty if nothing."""
    if os.geteuid() != 0:
        return "root is needed, to boot a container"
    absent = [program for program in PROGRAMS if shutil.which(program) is None]
    if absent:
        return f"{', '.join(absent)} missing: apt-get install mmdebstrap systemd-container"
    return ""


def pristine_root(archive: Path, packages: Sequence[str] = PACKAGES) -> None:
    """Make the archive of a fresh Debian root, unless it is there."""
    if archive.exists():
        return
    archive.parent.mkdir(parents=True, exist_ok=True)
    partly = archive.with_name(f"new-{archive.name}")
    include = f"--include={','.join(packages)}"
    done = subprocess.run(
        ["mmdebstrap", "--variant=minbase", "--mode=root", include, SUITE, str(partly)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise StepError(f"mmdebstrap failed: {done.stderr.strip().splitlines()[-1]}")
    partly.replace(archive)


@dataclass
class Machine:
    """The booted container; a context manager that ends it."""

    root: Path
    process: subprocess.Popen[bytes]
    eye: subprocess.Popen[str] | None = None
    """The process that asks the plant for the truth."""

    @classmethod
    def boot(cls, archive: Path, root: Path) -> Machine:
        """Unpack a root and boot it; it has no network but its own loopback."""
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        subprocess.run(["tar", "-C", str(root), "-xf", str(archive)], check=True)
        command = ["systemd-nspawn", "--quiet", "--boot", "--register=no", "--keep-unit", "--private-network"]
        process = subprocess.Popen(
            [*command, f"--capability={_CAPABILITIES}", "--console=pipe", f"--directory={root}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        machine = cls(root, process)
        try:
            machine.wait(machine._booted, "the container has booted", 60.0)
        except BaseException:
            machine.end()
            raise
        return machine

    def run(
        self, *command: str, user: str = "", check: bool = True, given: str = "", timeout: float = 900.0
    ) -> subprocess.CompletedProcess[str]:
        """Run a command inside to its end; with ``check`` StepError tells of one that fails."""
        done = subprocess.run(
            [*self.enter(user), *command],
            input=given,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
            cwd="/",
        )
        if check and done.returncode:
            said = (done.stderr.strip() or done.stdout.strip() or "nothing said").splitlines()
            raise StepError(f"{' '.join(command)} ended with {done.returncode}: {' / '.join(said[-3:])}")
        return done

    def enter(self, user: str = "") -> list[str]:
        """Return the beginning of a command line that is carried out inside."""
        # Not runuser: its sessions would fill the journal.
        ids = ("setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "env", f"HOME=/home/{user}")
        return ["nsenter", "--all", f"--target={self._leader()}", *_ENVIRONMENT, *(ids if user else ())]

    def output(self, *command: str, user: str = "") -> str:
        """Return what a command says."""
        return self.run(*command, user=user).stdout.strip()

    def shows(self, unit: str, name: str) -> str:
        """Return a property of a unit."""
        return self.output("systemctl", "show", f"--property={name}", "--value", unit)

    def status(self) -> Mapping[str, Any]:
        """Return the daemon's status as the technician's command gives it."""
        document = json.loads(self.output("mastd", "ctl", "status", "--json", user="anna"))
        assert isinstance(document, dict)
        return document

    def truth(self) -> Mapping[str, Any]:
        """Return where the simulated table really is and how fast it moves.

        One process of the container stays to ask the plant; a new one for every look would take a second.
        """
        if self.eye is None or self.eye.poll() is not None:
            self.eye = subprocess.Popen(
                [*self.enter("mastd"), "/usr/lib/mastd/bin/python3", "-c", _EYE],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd="/",
            )
        assert self.eye.stdin is not None
        assert self.eye.stdout is not None
        self.eye.stdin.write("\n")
        self.eye.stdin.flush()
        document = json.loads(self.eye.stdout.readline() or "{}")
        assert isinstance(document, dict)
        return document

    def close_eye(self) -> None:
        """End the process that asks the plant; it runs under the daemon's user."""
        if self.eye is not None:
            self.eye.kill()
            self.eye.communicate()
            self.eye = None

    def height(self) -> float:
        """Return the true height of the table against neutral, m."""
        return float(self.truth()["pose"][2])

    def journal(self, *matches: str) -> list[dict[str, Any]]:
        """Return the journal's entries since the boot that match."""
        lines = self.output("journalctl", "--boot", "--output=json", "--no-pager", *matches).splitlines()
        return [json.loads(line) for line in lines]

    def wait(self, reached: Callable[[], bool], what: str, seconds: float, every: float = 0.2) -> float:
        """Wait until something in the container can be seen; return the seconds that took.

        Nothing in another machine can be waited for but by looking again.
        """
        begin = time.monotonic()
        while not reached():
            if self.process.poll() is not None:
                said = self.process.stderr.read().decode().strip() if self.process.stderr else ""
                raise StepError(f"the container has ended: {said}")
            if time.monotonic() - begin > seconds:
                raise StepError(f"not within {seconds:g} s: {what}")
            threading.Event().wait(every)
        return time.monotonic() - begin

    def wait_state(self, *states: str, seconds: float = 60.0) -> float:
        """Wait until the daemon is in one of ``states``."""
        return self.wait(lambda: self.state() in states, " or ".join(states), seconds)

    def state(self) -> str:
        """Return the daemon's state as it tells systemd, empty while it is not up."""
        if self.shows("mastd.service", "ActiveState") != "active":
            return ""
        return re.split(r"[ :;]", self.shows("mastd.service", "StatusText"), maxsplit=1)[0]

    def end(self) -> None:
        """Power the container off, by force if need be."""
        self.close_eye()
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def __enter__(self) -> Machine:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def _leader(self) -> int:
        """Return the process id that the container's first process has out here."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        if not children:
            raise StepError("the container has no first process")
        return int(children[0])

    def _booted(self) -> bool:
        try:
            said = self.run("systemctl", "is-system-running", check=False).stdout.strip()
        except (OSError, StepError):
            return False
        return said in {"running", "degraded"}
