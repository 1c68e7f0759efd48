"""What all steps share: the machine, the packages, and the daemon's processes as seen from outside."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.systemd.machine import Machine, StepError

PROFILE = "/etc/mastd/profiles/step.yaml"
SHORT = """
name: step
segments:
  - {kind: ramp, to: {heave: 3 mm}, duration: 1 s}
  - {kind: sine, frequency: 2 Hz, duration: 4 s, axes: {heave: {amplitude: 2 mm}}}
  - {kind: ramp, to: {heave: 0 mm}, duration: 1 s}
"""
LONG_PROFILE = "/etc/mastd/profiles/long.yaml"
LONG = """
name: long
segments:
  - {kind: sine, frequency: 1.5 Hz, duration: 90 s, axes: {heave: {amplitude: 6 mm}}}
"""
DOWN_M = -0.0495
"""True height of a table that lies on its lower stops."""
RECORDS = "/var/lib/mastd/runs"


@dataclass
class Scene:
    """The machine and what the steps have to know of each other."""

    machine: Machine
    package: Path
    newer: Path
    kernels: Path | None
    """Kernels of a former run; None where the first start has to compile them."""
    before: set[str] = field(default_factory=set)
    """All files before the installation."""
    held: list[str] = field(default_factory=list)
    """Units whose rights come from a drop-in of the test."""

    def dpkg(self, *options: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run dpkg; the container's disk needs no waiting for."""
        return self.machine.run("dpkg", "--force-unsafe-io", *options, check=check)

    def hand_in(self, package: Path) -> str:
        """Put a package into the container; return its name there."""
        name = f"/root/{package.name}"
        target = self.machine.root / name[1:]
        if not target.exists():
            subprocess.run(["cp", str(package), str(target)], check=True)
        return name

    def ctl(self, verb: str, *arguments: str, user: str = "anna") -> str:
        """Operate the daemon as the technician does; StepError tells of a refusal."""
        return self.machine.output("mastd", "ctl", verb, *arguments, user=user)

    def main_process(self) -> int:
        """Return the process id of the daemon in the container."""
        return int(self.machine.shows("mastd.service", "MainPID"))

    def play(self, profile: str) -> None:
        """Load a profile, raise the table and start."""
        self.ctl("load", profile)
        self.ctl("raise", "--wait")
        self.ctl("arm", "--wait")
        self.ctl("start", "--wait")

    def shaken(self) -> None:
        """Bring the daemon into a long run that really moves the table."""
        self.machine.run("tee", LONG_PROFILE, user="anna", given=LONG)
        if self.machine.state() == "OFF":
            self.play(LONG_PROFILE)
        self.machine.wait(
            lambda: abs(float(self.machine.truth()["velocity"][2])) > 0.02, "the table moves", 20.0
        )

    def records(self) -> list[str]:
        """Return the directories of all runs, oldest first."""
        return self.machine.output("ls", "-1tr", RECORDS).split()

    def judged(self, record: str) -> Mapping[str, Any]:
        """Return what `mastd report` finds in a record, as the technician calls it."""
        import json

        done = self.machine.run("mastd", "report", "--json", f"{RECORDS}/{record}", user="anna", check=False)
        if not done.stdout:
            raise StepError(f"mastd report {record}: {done.stderr.strip()}")
        document = json.loads(done.stdout)
        assert isinstance(document, dict)
        return document


def expect(right: bool, what: str) -> None:
    """Raise StepError with ``what`` is wrong unless it is right."""
    if not right:
        raise StepError(what)


def those(names: Sequence[str]) -> str:
    """Return names as words."""
    return ", ".join(names) if names else "none"
