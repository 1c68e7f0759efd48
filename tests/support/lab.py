"""What the tests share: the real commands in a directory of their own, and settings that need no waiting."""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mastd.errors import MastdError
from mastd.record.reader import open_run

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
PATIENCE = 300.0
"""s after which what a test waits for is not coming: waits end by their event, on a busy machine too."""

SHAKING = """
name: shaking
segments:
  - kind: sine
    frequency: 2 Hz
    duration: 8 s
    axes: {heave: {amplitude: 4 mm}}
"""
"""A profile that shakes gently for a while."""

StartFollower = Callable[..., subprocess.Popen[bytes]]
"""Starts the independent plant of tests/support/wire/follower.py; see the fixture."""


@dataclass(frozen=True)
class Lab:
    """A directory with settings of its own and the commands of this checkout."""

    directory: Path
    runtime: Path | None = None
    """Where daemons have their sockets; None for the directory of this machine's user."""

    @property
    def table(self) -> Path:
        """A table whose supply comes up quickly."""
        return self.directory / "table.yaml"

    @property
    def config(self) -> Path:
        """Daemon settings whose own moves are quick."""
        return self.directory / "quick.yaml"

    def profile(self, text: str, name: str = "profile.yaml") -> Path:
        """Write a profile."""
        path = self.directory / name
        path.write_text(text, encoding="utf-8")
        return path

    def command(self, *arguments: object, program: str = "mastd") -> list[str]:
        """Return the command line of one of the programs."""
        module = {"mastd": "mastd", "hil-sim": "hil_sim"}[program]
        return [sys.executable, "-m", module, *map(str, arguments)]

    def run(
        self, *arguments: object, program: str = "mastd", timeout: float = PATIENCE
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(
            self.command(*arguments, program=program),
            capture_output=True,
            text=True,
            timeout=timeout,
            cwd=self.directory,
            env=self.environment,
            check=False,
        )

    def start(self, *arguments: object, program: str = "mastd") -> subprocess.Popen[str]:
        """Start a command."""
        return subprocess.Popen(
            self.command(*arguments, program=program),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.directory,
            env=self.environment,
        )

    def play(
        self, profile: object, *options: object, timeout: float = PATIENCE
    ) -> tuple[int, dict[str, Any]]:
        """Run a profile with quick settings; return exit code and document."""
        done = self.run(
            "run",
            profile,
            "--table",
            self.table,
            "--config",
            self.config,
            "--json",
            *options,
            timeout=timeout,
        )
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)

    def wait_for_state(self, process: subprocess.Popen[str], state: str) -> Path:
        """Return the record of a run once it has entered ``state``, as the record itself tells."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and process.poll() is None:
            for record in self.directory.glob("runs/*/run.mcap"):
                with contextlib.suppress(MastdError):
                    if any(event.get("to") == state for event in open_run(record).events):
                        return record
            # Nothing in another process's file can be waited for but by looking again.
            threading.Event().wait(0.25)
        process.kill()
        raise AssertionError(f"the run did not reach {state}: {process.communicate()[1]}")

    @property
    def environment(self) -> dict[str, str]:
        """The environment of the commands: this checkout first."""
        own = {} if self.runtime is None else {"XDG_RUNTIME_DIR": str(self.runtime)}
        return {**os.environ, "PYTHONPATH": str(ROOT), **own}


@contextlib.contextmanager
def full_disk(room: int) -> Iterator[None]:
    """Let no file grow beyond ``room`` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def replaced(text: str, pattern: str, replacement: str) -> str:
    """Return ``text`` with the one place of ``pattern`` replaced."""
    changed, count = re.subn(pattern, replacement, text, flags=re.MULTILINE)
    assert count == 1, f"{pattern} found {count} times"
    return changed


def quick_lab(directory: Path, starter: str = "") -> Lab:
    """Return a lab in ``directory`` whose supply comes up and whose table rises in a tenth of the time.

    ``starter``: name of another table than the default.
    """
    path = ROOT / "config" / "tables" / starter if starter else ROOT / "config"
    table = (path / "table.yaml").read_text(encoding="utf-8")
    table = re.sub(r"rise_time: [\d.]+ s ", "rise_time: 0.2 s ", table)
    table = replaced(table, r"hold_time: 2 s ", "hold_time: 0.2 s ")
    table = replaced(table, r"lowering_speed: [12]0 mm/s ", "lowering_speed: 25 mm/s ")
    (directory / "table.yaml").write_text(table, encoding="utf-8")
    daemon = (ROOT / "config" / "daemon" / "simulated.yaml").read_text(encoding="utf-8")
    daemon = replaced(daemon, r"^moves:\n", "moves:\n  velocity: 100 mm/s\n")
    daemon = replaced(daemon, r"^  acceleration: 0.1 m/s2", "  acceleration: 0.5 m/s2")
    daemon = replaced(daemon, r"^  jerk: 1 m/s3", "  jerk: 10 m/s3")
    daemon = replaced(daemon, r"^  stop_time: 1 s", "  stop_time: 0.5 s")
    (directory / "quick.yaml").write_text(daemon, encoding="utf-8")
    return Lab(directory)
