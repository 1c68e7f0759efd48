"""Steps: the package comes onto the machine, is upgraded, and goes again."""

from __future__ import annotations

import re
import time
from pathlib import PurePosixPath

from installer.paths import UNITS, Paths
from installer.transfer import install, uninstall
from tests.systemd.machine import BUILD, StepError
from tests.systemd.scene import PROFILE, RECORDS, Scene, expect, those

MAX_EXPOSURE = 3.0
EDITED = "# edited by the technician\n"


def installed(scene: Scene) -> str:
    """The package is installed: enabled, not started, with user, group and directories."""
    machine = scene.machine
    scene.before = everything(scene)
    said = scene.dpkg("--install", scene.hand_in(scene.package)).stdout
    expect("not started" in said, "the installation does not say that nothing was started")
    for unit, word in zip(UNITS, ("enabled", "enabled", "disabled"), strict=True):
        found = machine.run("systemctl", "is-enabled", unit, check=False).stdout.strip()
        expect(found == word, f"{unit} is {found}, not {word}")
        active = machine.run("systemctl", "is-active", unit, check=False).stdout.strip()
        expect(active == "inactive", f"{unit} is {active} after the installation")
    expect("mastd" in machine.output("getent", "passwd", "mastd"), "there is no user mastd")
    machine.run("useradd", "--create-home", "--groups", "mastd", "anna")
    machine.run("useradd", "--create-home", "bob")
    size = int(machine.output("dpkg-query", "--show", "--showformat=${Installed-Size}", "mastd"))
    return f"enabled, not started; {size / 1024:.0f} MB"


def verified(scene: Scene) -> str:
    """systemd finds nothing to say of the units, and little exposure."""
    done = scene.machine.run("systemd-analyze", "verify", *UNITS, check=False)
    said = (done.stdout + done.stderr).strip()
    expect(not said and done.returncode == 0, f"systemd-analyze verify: {said}")
    figures = []
    for unit in UNITS:
        table = scene.machine.run("systemd-analyze", "security", "--no-pager", unit).stdout
        found = re.search(r"exposure level for \S+: ([0-9.]+)", table)
        expect(found is not None, f"systemd-analyze security {unit} tells no exposure")
        exposure = float(found[1]) if found else 10.0
        expect(exposure <= MAX_EXPOSURE, f"exposure of {unit} is {exposure}")
        figures.append(f"{unit.removesuffix('.service')} {exposure}")
    return f"verify prints nothing; exposure: {', '.join(figures)}"


def upgrade_refused(scene: Scene) -> str:
    """With the table up an upgrade changes nothing and says what to do."""
    machine = scene.machine
    scene.ctl("raise", "--wait")
    process = scene.main_process()
    done = scene.dpkg("--install", scene.hand_in(scene.newer), check=False)
    expect(done.returncode != 0, "the upgrade went on although the table was up")
    said = next((line for line in done.stderr.splitlines() if line.startswith("mastd: ")), "")
    expect("nothing has been changed" in said, f"the refusal does not say what is: {done.stderr[-300:]}")
    expect(scene.main_process() == process, "the daemon was restarted")
    expect(machine.state() == "READY", f"the table is in {machine.state()}, not in READY")
    expect(version(scene) == first_version(scene), f"version {version(scene)} is installed")
    scene.ctl("lower", "--wait")
    return said.removeprefix("mastd: ")


def upgraded(scene: Scene) -> str:
    """With the table down the upgrade goes through; edits stay, and the daemon is up again in OFF."""
    machine = scene.machine
    machine.run("sh", "-c", f"printf '{EDITED}' >> /etc/mastd/daemon.yaml")
    machine.run("sed", "-i", "s/^MASTD_OPTIONS=.*/MASTD_OPTIONS=--seed 7/", "/etc/default/mastd")
    process = scene.main_process()
    begin = time.monotonic()
    # As apt does where nobody answers questions: edited files are kept.
    scene.dpkg("--force-confdef", "--force-confold", "--install", scene.hand_in(scene.newer))
    expect(version(scene) != first_version(scene), "the old version is still installed")
    seconds = time.monotonic() - begin
    starting = machine.wait_state("OFF", seconds=600.0)
    expect(scene.main_process() != process, "the old daemon still runs")
    expect(EDITED in machine.output("cat", "/etc/mastd/daemon.yaml") + "\n", "the edited daemon.yaml is lost")
    expect("--seed 7" in machine.output("cat", "/etc/default/mastd"), "the edited defaults are lost")
    expect(
        "newer" in machine.output("cat", "/etc/mastd/daemon.yaml.dpkg-dist"), "the new file is not beside it"
    )
    return f"{version(scene)} in {seconds:.0f} s, OFF {starting:.0f} s later; edits kept"


def removed(scene: Scene) -> str:
    """Removing with the table up lowers it first; settings, records and user stay."""
    machine = scene.machine
    scene.ctl("raise", "--wait")
    begin = time.monotonic()
    records = scene.records()
    scene.dpkg("--remove", "mastd")
    seconds = time.monotonic() - begin
    ended = machine.journal(
        "_SYSTEMD_UNIT=init.scope", "UNIT=mastd.service", "--grep=Deactivated successfully"
    )
    expect(bool(ended), "the daemon did not end in order")
    for place in ("/usr/bin/mastd", "/usr/lib/mastd", "/lib/systemd/system/mastd.service"):
        expect(machine.run("test", "-e", place, check=False).returncode != 0, f"{place} is still there")
    expect(EDITED in machine.output("cat", "/etc/mastd/daemon.yaml") + "\n", "the settings are gone")
    expect(scene.records() == records, "records are gone")
    machine.run("getent", "passwd", "mastd")
    expect(machine.output("systemctl", "is-system-running") == "running", "systemd is not content")
    return f"lowered and removed in {seconds:.0f} s; settings, {len(records)} records and the user stay"


def purged(scene: Scene) -> str:
    """Purging leaves the records and what somebody has added, and nothing else."""
    machine = scene.machine
    machine.close_eye()
    said = scene.dpkg("--purge", "mastd").stdout
    expect(RECORDS in said, "purge does not say that records are left")
    for database in ("passwd", "group"):
        expect(
            machine.run("getent", database, "mastd", check=False).returncode != 0,
            f"mastd is left in {database}",
        )
    left = sorted(name for name in everything(scene) - scene.before if re.search(r"mastd|hil-sim", name))
    own = [name for name in left if name.startswith(f"{RECORDS}/")]
    added = [name for name in left if name in (PROFILE, "/etc/mastd/profiles/long.yaml")]
    ways = {"/var/lib/mastd", RECORDS, "/etc/mastd", "/etc/mastd/profiles"}
    other = [name for name in left if name not in own and name not in added and name not in ways]
    expect(not other, f"left behind: {those(other)}")
    expect(bool(own), "the records are gone")
    owners = machine.output("stat", "--format=%U:%G", "/var/lib/mastd")
    expect(owners == "root:root", f"the records belong to {owners}")
    return f"left: {len(own)} files of records, {len(added)} profiles that were added"


def installed_without_dpkg(scene: Scene) -> str:
    """`make install` puts the same onto the machine, and `make uninstall` leaves what was edited."""
    machine, paths = scene.machine, Paths(PurePosixPath("/usr"))
    before = everything(scene)
    begin = time.monotonic()
    install(BUILD / "stage", machine.root, paths)
    seconds = time.monotonic() - begin
    machine.run("systemd-sysusers", "mastd.conf")
    machine.run("systemd-tmpfiles", "--create", "mastd.conf")
    machine.run("systemctl", "daemon-reload")
    said = machine.run("systemd-analyze", "verify", *UNITS, check=False)
    expect(not (said.stdout + said.stderr).strip(), f"systemd-analyze verify: {said.stderr}")
    lengths = machine.output("mastd", "ik", "0mm", "0mm", "0mm", "0deg", "0deg", "0deg", "--json", user="bob")
    expect("lengths_m" in lengths, f"mastd ik says: {lengths}")
    machine.run("sh", "-c", f"printf '{EDITED}' >> /etc/mastd/table.yaml")
    left = uninstall(machine.root, paths)
    expect(any("table.yaml, which was edited" in line for line in left), f"uninstall says: {left}")
    remaining = {name for name in everything(scene) - before if re.search(r"mastd|hil-sim", name)}
    expect(remaining <= {"/etc/mastd/table.yaml"}, f"left behind: {those(sorted(remaining))}")
    return f"in {seconds:.0f} s; {'; '.join(left)}"


def everything(scene: Scene) -> set[str]:
    """Return all files of the machine that outlast a restart."""
    found = scene.machine.output("find", "/", "-xdev", "-not", "-path", "/root/*", "-not", "-path", "/home/*")
    return set(found.splitlines())


def version(scene: Scene) -> str:
    """Return the installed version."""
    return scene.machine.output("dpkg-query", "--show", "--showformat=${Version}", "mastd")


def first_version(scene: Scene) -> str:
    """Return the version that was installed first."""
    found = re.fullmatch(r"mastd_(.+)_\w+\.deb", scene.package.name)
    if found is None:
        raise StepError(f"{scene.package.name} names no version")
    return found[1]
