"""The interpreter that the installed product runs on: one of the machine, not of a user."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

OLDEST = (3, 11)
_HIDDEN = ("/home/", "/root/", "/tmp/", "/run/")
_ASK = """
import json, os, sys
print(json.dumps([os.path.realpath(getattr(sys, "_base_executable", sys.executable)), *sys.version_info[:2]]))
try:
    import ensurepip, venv
except ImportError:
    print("no venv")
"""


class InstallError(Exception):
    """Something that whoever installs can put right; one line."""


@dataclass(frozen=True)
class Interpreter:
    """A Python: where it is, and its version."""

    path: Path
    version: tuple[int, int]

    @property
    def name(self) -> str:
        """As `python3.11`."""
        return f"python{self.version[0]}.{self.version[1]}"


def find_interpreter(command: str) -> Interpreter:
    """Return the interpreter that ``command`` is; raise InstallError where it will not do.

    A service sees neither home directories nor /tmp, so its interpreter must lie elsewhere.
    """
    try:
        answer = subprocess.run(
            [command, "-I", "-c", _ASK], capture_output=True, text=True, check=True
        ).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError) as error:
        raise InstallError(f"{command} cannot be run: {error}") from error
    path, major, minor = json.loads(answer[0])
    found = Interpreter(Path(path), (int(major), int(minor)))
    other = "set SYSTEM_PYTHON to another one, as a rule /usr/bin/python3"
    if found.version < OLDEST:
        raise InstallError(f"{command} is {found.name}, the product needs 3.11 or newer; {other}")
    if path.startswith(_HIDDEN):
        raise InstallError(f"{command} is {path}, which a service cannot see; {other}")
    if "no venv" in answer:
        raise InstallError(f"{command} has no venv module: on Debian 'apt-get install {found.name}-venv'")
    return found
