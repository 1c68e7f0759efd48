"""The whole product as a tree of files, as it will lie on the machine."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from installer.environment import build_environment, foreign_paths, write_launchers
from installer.interpreter import InstallError, Interpreter
from installer.paths import CONFIGURATION, DEFAULTS, PROJECT, UNITS, Paths, below

_CONFIGURATION = {
    "table.yaml": "table.yaml",
    "daemon/simulated.yaml": "daemon.yaml",
    "daemon/real.yaml": "daemon-real.yaml",
}


def stage(root: Path, paths: Paths, interpreter: Interpreter, work: Path) -> None:
    """Put everything below ``root``, which is emptied; raise InstallError when something cannot be had."""
    shutil.rmtree(root, ignore_errors=True)
    build_environment(root, paths, interpreter, work)
    write_launchers(root, paths)
    _units(root, paths)
    _configuration(root)
    _documents(root, paths)
    foreign = foreign_paths(root, (str(PROJECT), str(root.resolve()), str(work.resolve())))
    if foreign:
        raise InstallError(
            f"files that name the directory in which they were built: {', '.join(foreign[:5])}"
        )


def _units(root: Path, paths: Paths) -> None:
    """Copy units and what systemd makes for them; launchers and manuals are named where they lie."""
    targets = {
        **{name: paths.units / name for name in UNITS},
        "mastd.sysusers": paths.prefix / "lib/sysusers.d/mastd.conf",
        "mastd.tmpfiles": paths.prefix / "lib/tmpfiles.d/mastd.conf",
    }
    for name, target in targets.items():
        text = (PROJECT / "systemd" / name).read_text(encoding="utf-8")
        text = text.replace("/usr/bin/", f"{paths.programs}/")
        _write(below(root, target), text.replace("/usr/share/doc/mastd", str(paths.documents)))


def _configuration(root: Path) -> None:
    """Copy the configuration: the simulated preset, with the real one beside it."""
    shipped, target = PROJECT / "config", below(root, CONFIGURATION)
    for name, own in _CONFIGURATION.items():
        text = (shipped / name).read_text(encoding="utf-8")
        _write(target / own, re.sub(r"\$schema=(\.\./)*", "$schema=", text))
    for folder in ("profiles", "schemas"):
        shutil.copytree(shipped / folder, target / folder)
    shutil.copyfile(PROJECT / "systemd" / "mastd.default", _parent(below(root, DEFAULTS)))


def _documents(root: Path, paths: Paths) -> None:
    target = below(root, paths.documents)
    shutil.copytree(PROJECT / "docs", target)
    shutil.copyfile(PROJECT / "LICENSE", target / "copyright")


def _write(path: Path, text: str) -> None:
    _parent(path).write_text(text, encoding="utf-8")


def _parent(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
