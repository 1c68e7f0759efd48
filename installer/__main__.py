"""`python -m installer install|uninstall|deb`: arguments in, one call, exit code out."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tomllib
from pathlib import Path, PurePosixPath

from installer.deb import build_package
from installer.interpreter import InstallError, find_interpreter
from installer.paths import PROJECT, UNITS, Paths
from installer.stage import stage
from installer.transfer import install, uninstall

WORK = PROJECT / "build"


def main() -> int:
    """Return 0, or 2 with one line when something is in the way."""
    parser = argparse.ArgumentParser(prog="installer", description=__doc__)
    parser.add_argument("action", choices=("install", "uninstall", "deb"))
    parser.add_argument("--python", default="/usr/bin/python3", help="the machine's interpreter")
    parser.add_argument("--destdir", default="", help="install below this directory instead of the machine")
    parser.add_argument("--prefix", default="/usr", type=PurePosixPath)
    arguments = parser.parse_args()
    os.umask(0o022)
    try:
        if not arguments.prefix.is_absolute():
            raise InstallError(f"PREFIX must be an absolute path, not {arguments.prefix}")
        _act(arguments.action, arguments.python, Path(arguments.destdir or "/"), Paths(arguments.prefix))
    except InstallError as error:
        print(f"{arguments.action}: {error}", file=sys.stderr)
        return 2
    except PermissionError as error:
        print(f"{arguments.action}: {error.filename}: no permission; use sudo", file=sys.stderr)
        return 2
    return 0


def _act(action: str, python: str, root: Path, paths: Paths) -> None:
    this_machine = root.resolve() == Path("/")
    if action == "uninstall":
        if this_machine:
            _refuse_beside_a_service()
        for line in uninstall(root, paths):
            print(line)
        return
    interpreter = find_interpreter(python)
    tree = WORK / "stage"
    if action == "deb":
        stage(tree, Paths(PurePosixPath("/usr")), interpreter, WORK)
        print(build_package(tree, interpreter, project_version(), WORK))
        return
    if this_machine:
        _refuse_beside_a_service()
    stage(tree, paths, interpreter, WORK)
    for line in install(tree, root, paths):
        print(line)
    if this_machine:
        _tell_systemd()


def project_version() -> str:
    """Return the version that the project states."""
    text = (PROJECT / "pyproject.toml").read_text(encoding="utf-8")
    return str(tomllib.loads(text)["project"]["version"])


def _refuse_beside_a_service() -> None:
    """Raise InstallError while a service runs: what it starts later would come from another version."""
    if not Path("/run/systemd/system").is_dir():
        return
    for unit in UNITS:
        if subprocess.run(["systemctl", "--quiet", "is-active", unit], check=False).returncode == 0:
            raise InstallError(f"{unit} runs; 'systemctl stop {unit}' first, which lowers the table")


def _tell_systemd() -> None:
    """Make user and directories, and let systemd see the units."""
    subprocess.run(["systemd-sysusers", "mastd.conf"], check=False)
    subprocess.run(["systemd-tmpfiles", "--create", "mastd.conf"], check=False)
    if Path("/run/systemd/system").is_dir():
        subprocess.run(["systemctl", "daemon-reload"], check=False)
    print("installed, not enabled and not started: systemctl enable --now mastd hil-sim-plant")


if __name__ == "__main__":
    sys.exit(main())
