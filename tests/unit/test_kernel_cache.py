"""The cache of compiled kernels: of these sources only, private, and written by several at once."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from mastd.kernel import KernelIndex
from mastd.kernel_cache import Place, find_place
from tests.support.lab import PATIENCE, ROOT

SOURCE = "from mastd.kernel import kernel\nfrom mastd.numbers import FACTOR\n"
POSE = ("5mm", "0mm", "-3mm", "0.5deg", "0deg", "0deg")


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the spare cache lies, for each test alone."""
    directory = tmp_path / "temporary"
    directory.mkdir(mode=0o700)
    monkeypatch.setattr("tempfile.tempdir", str(directory))
    return directory


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A kernel and the file that its constant comes from."""
    directory = tmp_path / "sources"
    (directory / "mastd").mkdir(parents=True)
    (directory / "mastd" / "double.py").write_text(SOURCE, encoding="utf-8")
    (directory / "mastd" / "numbers.py").write_text("FACTOR = 2.0\n", encoding="utf-8")
    return directory


def kept(sources: Path, **environment: object) -> Path:
    place = find_place({name: str(value) for name, value in environment.items()}, sources)
    assert place.note == ""
    assert place.directory is not None
    return place.directory


def spare(place: Place, temporary: Path) -> bool:
    return place.directory is not None and place.directory.is_relative_to(temporary)


@pytest.mark.parametrize("variable", ["MASTD_CACHE", "NUMBA_CACHE_DIR", "CACHE_DIRECTORY", "XDG_CACHE_HOME"])
def test_a_changed_source_has_a_cache_of_its_own_wherever_it_lies(
    variable: str, sources: Path, tmp_path: Path
) -> None:
    wanted = {variable: tmp_path / "cache"}
    before = kept(sources, **wanted)
    assert before.is_relative_to(tmp_path / "cache")
    assert kept(sources, **wanted) == before
    numbers, others = sources / "mastd" / "numbers.py", sources / "mastd" / "others.py"
    others.write_text("WHOLE, UNUSED = 6.0, 1.0\n", encoding="utf-8")
    numbers.write_text("from mastd.others import (\n    WHOLE,\n)\nFACTOR = WHOLE / 2.0\n", encoding="utf-8")
    changed = kept(sources, **wanted)
    assert changed != before
    others.write_text("WHOLE, UNUSED = 8.0, 1.0\n", encoding="utf-8")
    assert kept(sources, **wanted) != changed, "of what the kernel's constant is computed from, too"


def test_a_command_uses_no_kernels_of_before_a_change(tmp_path: Path) -> None:
    for package in ("mastd", "hil_sim", "config"):
        ignored = shutil.ignore_patterns("__pycache__", "static")
        shutil.copytree(ROOT / package, tmp_path / package, ignore=ignored)
    environment = {name: value for name, value in os.environ.items() if name != "MASTD_CACHE"}
    environment |= {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-P", "-m", "mastd", "ik", *POSE]

    def fifth() -> str:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=True
        )
        assert done.stderr == ""
        return done.stdout.splitlines()[4].split()[2]

    assert fifth() == "1200.160199"
    changed = tmp_path / "mastd" / "kinematics" / "rotation.py"
    text = changed.read_text(encoding="utf-8")
    twice = text.replace("small_sine_cosine(roll)", "small_sine_cosine(2.0 * roll)")
    changed.write_text(twice, encoding="utf-8")
    assert twice != text
    assert fifth() == "1200.537121"


def test_the_cache_is_closed_to_all_others_whatever_the_umask(sources: Path, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        directory = kept(sources, NUMBA_CACHE_DIR=tmp_path / "made" / "cache")
    finally:
        os.umask(before)
    for path in (directory, directory.parent, tmp_path / "made"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    directory.chmod(0o755)  # as one that an older version has made
    assert stat.S_IMODE(kept(sources, NUMBA_CACHE_DIR=tmp_path / "made" / "cache").stat().st_mode) == 0o700


@pytest.mark.parametrize("open_one", ["", "..", "../.."])
def test_what_others_could_have_written_is_not_read(
    open_one: str, sources: Path, tmp_path: Path, temporary: Path
) -> None:
    wanted = {"MASTD_CACHE": str(tmp_path / "shared" / "cache")}
    opened = (kept(sources, **wanted) / open_one).resolve()
    opened.chmod(0o770)
    place = find_place(wanted, sources)
    assert spare(place, temporary)
    assert f"{opened} may be written to by others (mode 0770); set MASTD_CACHE" in place.note


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_cache_of_somebody_else_is_not_read(sources: Path, tmp_path: Path, temporary: Path) -> None:
    directory = kept(sources, MASTD_CACHE=tmp_path / "cache")
    os.chown(directory, 992, 992)
    place = find_place({"MASTD_CACHE": str(tmp_path / "cache")}, sources)
    assert spare(place, temporary)
    assert f"{directory} belongs to user 992" in place.note


def test_a_cache_that_cannot_be_made_is_made_elsewhere_or_left_out_and_told(
    sources: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = find_place({"XDG_CACHE_HOME": "/proc/nowhere"}, sources)
    assert spare(place, temporary)
    assert "/proc/nowhere" in place.note
    monkeypatch.setattr("tempfile.tempdir", "/proc/nowhere_else")
    place = find_place({"XDG_CACHE_HOME": "/proc/nowhere"}, sources)
    assert place.directory is None
    assert "not kept" in place.note
    assert "/proc/nowhere_else" in place.note
    assert find_place({"MASTD_CACHE": os.devnull}, sources) == Place(None)


def test_who_has_no_home_has_a_temporary_cache(
    sources: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    assert kept(sources).is_relative_to(temporary)


def test_whoever_saves_at_the_same_time_loses_nothing(tmp_path: Path) -> None:
    opened: Any = KernelIndex

    def save(key: int) -> None:
        opened(str(tmp_path), "kernel", "stamp").save(key, f"made for {key}")

    with ThreadPoolExecutor(8) as writers:
        list(writers.map(save, range(100)))
    cache = opened(str(tmp_path), "kernel", "stamp")
    assert [cache.load(key) for key in range(100)] == [f"made for {key}" for key in range(100)]


@pytest.mark.parametrize("ending", ["nbi", "1.nbc"])
def test_a_damaged_cache_is_made_anew(ending: str, tmp_path: Path) -> None:
    opened: Any = KernelIndex
    cache = opened(str(tmp_path), "kernel", "stamp")
    cache.save("key", "compiled")
    (tmp_path / f"kernel.{ending}").write_bytes(b"")
    assert cache.load("key") is None
    cache.save("key", "again")
    assert cache.load("key") == "again"
