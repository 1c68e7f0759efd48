"""What is installed, kept and removed again; what systemd says of the units."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path, PurePosixPath

import pytest

from installer.environment import foreign_paths, locked
from installer.interpreter import InstallError, find_interpreter
from installer.paths import UNITS, Paths
from installer.transfer import install, uninstall
from tests.support.lab import ROOT

PATHS = Paths(PurePosixPath("/usr"))
SHIPPED = {
    "usr/bin/mastd": "launcher",
    "usr/lib/mastd/pyvenv.cfg": "home",
    "usr/lib/systemd/system/mastd.service": "[Unit]",
    "usr/share/doc/mastd/operating.md": "# Manual",
    "etc/mastd/table.yaml": "table: 1",
    "etc/mastd/daemon.yaml": "rate: 1 kHz",
    "etc/mastd/profiles/sine.yaml": "name: sine",
    "etc/default/mastd": "MASTD_PLANT=ipc:///plant",
}


def tree(directory: Path, **changes: str | None) -> Path:
    """Write a staged tree; ``changes`` by file name without its ending, None leaves the file out."""
    shutil.rmtree(directory, ignore_errors=True)
    for name, text in SHIPPED.items():
        content = changes.get(PurePosixPath(name).stem, text)
        if content is not None:
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
    return directory


def files(root: Path) -> dict[str, str]:
    found = (path for path in root.rglob("*") if path.is_file() and path.name != "installed.json")
    return {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in found}


def test_what_was_installed_is_removed_again_but_for_edits_and_records(tmp_path: Path) -> None:
    root = tmp_path / "machine"
    assert install(tree(tmp_path / "stage"), root, PATHS) == []
    assert files(root) == SHIPPED
    (root / "etc/mastd/table.yaml").write_text("table: measured", encoding="utf-8")
    (root / "etc/mastd/profiles/own.yaml").write_text("name: own", encoding="utf-8")
    (root / "var/cache/mastd/kernels").mkdir(parents=True)
    (root / "var/lib/mastd/runs").mkdir(parents=True)
    (root / "var/lib/mastd/runs/run.mcap").write_text("record", encoding="utf-8")
    said = uninstall(root, PATHS)
    assert said == ["left: /etc/mastd/table.yaml, which was edited", "left: /var/lib/mastd, the records"]
    assert files(root) == {
        "etc/mastd/table.yaml": "table: measured",
        "etc/mastd/profiles/own.yaml": "name: own",
        "var/lib/mastd/runs/run.mcap": "record",
    }
    with pytest.raises(InstallError, match="nothing is installed"):
        uninstall(root, PATHS)


def test_an_upgrade_keeps_edits_and_lays_the_new_file_beside_them(tmp_path: Path) -> None:
    root = tmp_path / "machine"
    install(tree(tmp_path / "stage"), root, PATHS)
    (root / "etc/mastd/table.yaml").write_text("table: measured", encoding="utf-8")
    newer = tree(tmp_path / "stage", table="table: 2", daemon="rate: 2 kHz", operating=None)
    said = install(newer, root, PATHS)
    assert said == ["kept: /etc/mastd/table.yaml, which was edited; the new one is /etc/mastd/table.yaml.new"]
    found = files(root)
    assert found["etc/mastd/table.yaml"] == "table: measured"
    assert found["etc/mastd/table.yaml.new"] == "table: 2"
    assert found["etc/mastd/daemon.yaml"] == "rate: 2 kHz", "a file that nobody has edited is the new one"
    assert "usr/share/doc/mastd/operating.md" not in found, "what the new version lacks is gone"
    uninstall(root, PATHS)
    assert files(root) == {"etc/mastd/table.yaml": "table: measured"}


def test_a_lock_is_cut_down_to_what_the_build_needs() -> None:
    wanted = "b-c==2 ; python_version < '4' \\\n    --hash=sha256:3\n"
    lock = f"a==1 \\\n    --hash=sha256:1 \\\n    --hash=sha256:2\n{wanted}"
    assert locked(("b-c",), lock) == wanted
    with pytest.raises(InstallError, match="does not lock d"):
        locked(("a", "d"), lock)


def test_files_that_name_where_they_were_built_are_found(tmp_path: Path) -> None:
    (tmp_path / "module.pyc").write_bytes(b"\x00/built/here/module.py\x00")
    (tmp_path / "clean.pyc").write_bytes(b"\x00/usr/lib/module.py\x00")
    assert foreign_paths(tmp_path, ("/built/here",)) == ["module.pyc"]


def test_an_interpreter_that_will_not_do_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(InstallError, match="cannot be run"):
        find_interpreter(str(tmp_path / "python3"))
    old = tmp_path / "old"
    old.write_text("#!/bin/sh\necho '[\"/usr/bin/python3.9\", 3, 9]'\n", encoding="utf-8")
    old.chmod(0o755)
    with pytest.raises(InstallError, match=r"3\.11 or newer"):
        find_interpreter(str(old))
    hidden = tmp_path / "hidden"
    hidden.write_text("#!/bin/sh\necho '[\"/home/anna/python3.12\", 3, 12]'\n", encoding="utf-8")
    hidden.chmod(0o755)
    with pytest.raises(InstallError, match="a service cannot see"):
        find_interpreter(str(hidden))


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_has_nothing_to_say_of_the_units(tmp_path: Path) -> None:
    units, programs = tmp_path / "usr/lib/systemd/system", tmp_path / "usr/bin"
    units.mkdir(parents=True)
    programs.mkdir()
    for name in UNITS:
        shutil.copy(ROOT / "systemd" / name, units / name)
    for target in ("sysinit", "basic", "shutdown", "network", "multi-user"):
        (units / f"{target}.target").write_text("[Unit]\nDescription=of the test\n", encoding="utf-8")
    for program in ("mastd", "hil-sim"):
        (programs / program).write_text("#!/bin/sh\n", encoding="utf-8")
        (programs / program).chmod(0o755)
    at = f"--root={tmp_path}"
    done = subprocess.run(
        ["systemd-analyze", "verify", at, *UNITS], capture_output=True, text=True, check=False
    )
    assert done.stdout + done.stderr == ""
    for name in UNITS:
        said = subprocess.run(
            ["systemd-analyze", "security", "--offline=true", at, name],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        found = re.search(r"exposure level for \S+: ([0-9.]+)", said)
        assert found is not None
        assert float(found[1]) <= 3.0, name


def test_compiled_kernels_of_a_service_are_closed_to_its_group() -> None:
    for name in UNITS:
        unit = (ROOT / "systemd" / name).read_text(encoding="utf-8")
        assert re.findall(r"^CacheDirectoryMode=(.*)$", unit, re.MULTILINE) == ["0700"], name
