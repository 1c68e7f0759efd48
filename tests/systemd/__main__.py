"""`make systemd-test`: one line for each step with its figure; exit code 0 only if all went as they must.

It needs root, mmdebstrap, systemd-nspawn and, for the first run, a Debian mirror, and installs nothing.
What can be used again is kept in build/: the fresh root, and the kernels of the last run (`--warm` hands them
in, otherwise the first start compiles them).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from installer.deb import build_package
from installer.interpreter import find_interpreter
from installer.paths import UNITS
from tests.systemd import steps_install, steps_service, virtual
from tests.systemd.machine import BUILD, SUITE, Machine, missing, pristine_root
from tests.systemd.scene import Scene

STEPS: tuple[Callable[[Scene], str], ...] = (
    steps_install.installed,
    steps_install.verified,
    steps_service.waits_for_the_plant,
    steps_service.meets_the_plant,
    steps_service.has_its_rights,
    steps_service.operated_by_the_group,
    steps_service.told_in_the_journal,
    steps_service.shown_in_a_browser,
    steps_service.killed,
    steps_service.stands_still,
    steps_service.stopped_while_running,
    steps_service.reloaded,
    steps_install.upgrade_refused,
    steps_install.upgraded,
    steps_install.removed,
    steps_install.purged,
    steps_install.installed_without_dpkg,
    virtual.rights_by_limits_alone,
)


def main() -> int:
    """Return 0 when every step went well, 1 at the first that did not, 2 when something is missing."""
    parser = argparse.ArgumentParser(prog="systemd-test", description=__doc__)
    parser.add_argument("--warm", action="store_true", help="hand in the kernels of the last run")
    arguments = parser.parse_args()
    kernels = BUILD / "kernels.tar"
    lack = missing()
    if not lack and arguments.warm and not kernels.exists():
        lack = "no kernels are kept; run it without --warm once"
    if lack:
        print(f"systemd-test: {lack}", file=sys.stderr)
        return 2
    try:
        package = max(BUILD.glob("mastd_*.deb"), key=lambda path: path.stat().st_mtime)
    except ValueError:
        print("systemd-test: there is no package; `make deb` makes it", file=sys.stderr)
        return 2
    begin = time.monotonic()
    try:
        return 0 if run(package, kernels, arguments.warm) else 1
    finally:
        print(f"{time.monotonic() - begin:8.1f} s in all")


def run(package: Path, kernels: Path, warm: bool) -> bool:
    """Boot a machine and go through all steps; return whether all went well."""
    newer = newer_package(package)
    archive = BUILD / f"{SUITE}.tar"
    pristine_root(archive)
    with Machine.boot(archive, BUILD / "container") as machine:
        scene = Scene(machine, package, newer, kernels if warm else None)
        for step in STEPS:
            if not done(scene, step):
                return False
            if step is steps_service.operated_by_the_group and not warm:
                keep_kernels(scene, kernels)
    return True


def done(scene: Scene, step: Callable[[Scene], str]) -> bool:
    """Do one step and print how it went."""
    begin = time.monotonic()
    name = step.__name__.replace("_", " ")
    try:
        figure, word = step(scene), "ok"
    except Exception as error:  # whatever it is, the journal tells more
        figure, word = f"{type(error).__name__}: {error}", "FAILED"
    print(f"{time.monotonic() - begin:8.1f} s  {word:6} {name}: {figure}", flush=True)
    if word == "ok":
        return True
    units = [f"--unit={unit}" for unit in UNITS]
    lines = scene.machine.run("journalctl", "--no-pager", "--lines=300", *units, check=False).stdout
    told = [line for line in lines.splitlines() if " cycles; " not in line]
    print("\n".join(told[-60:]), file=sys.stderr)
    return False


def newer_package(package: Path) -> Path:
    """Make a package of a higher version from the same tree, with a settings file that has changed."""
    tree, directory = BUILD / "stage", BUILD / "newer"
    directory.mkdir(exist_ok=True)
    version = f"{package.name.split('_')[1]}+1"
    made = directory / package.name.replace(package.name.split("_")[1], version)
    if made.exists() and made.stat().st_mtime > package.stat().st_mtime:
        return made
    settings = tree / "etc/mastd/daemon.yaml"
    text = settings.read_text(encoding="utf-8")
    settings.write_text(f"{text}# as the newer version has it\n", encoding="utf-8")
    try:
        return build_package(tree, find_interpreter("/usr/bin/python3"), version, directory)
    finally:
        settings.write_text(text, encoding="utf-8")


def keep_kernels(scene: Scene, archive: Path) -> None:
    """Keep the compiled kernels for `--warm`."""
    subprocess.run(
        ["tar", "-C", str(scene.machine.root / "var/cache/mastd"), "-cf", str(archive), "."], check=True
    )


if __name__ == "__main__":
    sys.exit(main())
