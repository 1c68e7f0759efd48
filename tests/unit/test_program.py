"""The edges of a program: exit codes, the report of a defect, streams that are not there."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mastd import cli
from mastd.commands import profiles
from mastd.errors import StoppedError, UsageError
from tests.support.lab import PATIENCE, ROOT, full_disk

IN_FULL = f"{'a' * 300}.yaml"
LONG = (
    ("check", IN_FULL),
    ("run", IN_FULL),
    ("inspect", IN_FULL),
    ("report", "a" * 300),
    ("export", "a" * 300, "--to", "csv"),
    ("recover", "a" * 300),
    ("init", "a" * 300),
    ("vehicle", "settle", "--vehicle", IN_FULL),
)


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> int:
    """Return the exit code of a command that raises."""

    def run(_: object) -> int:
        raise error

    monkeypatch.setattr(profiles, "run", run)
    return cli.main(["profiles"])


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (UsageError("no such thing"), 2, "no such thing\n"),
        (StoppedError("stopped before any motion"), 5, "stopped before any motion\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (PermissionError(errno.EACCES, "Permission denied", "/a/b"), 2, "/a/b: Permission denied\n"),
        (OSError(errno.ENOSPC, "No space left on device"), 2, "No space left on device\n"),
    ],
)
def test_each_end_has_its_exit_code_and_one_line(
    error: BaseException,
    code: int,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert failing(monkeypatch, error) == code
    assert capsys.readouterr().err == told


@pytest.mark.parametrize(
    "error", [KeyError("a\nb"), OSError(errno.EBADF, "Bad file descriptor"), MemoryError()]
)
def test_a_defect_is_70_with_one_line_and_a_file_to_send(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert failing(monkeypatch, error) == 70
    told = capsys.readouterr().err
    found = re.fullmatch(
        rf"a defect of mastd, {type(error).__name__}: .*at test_program\.py:\d+; please send (\S+)\n", told
    )
    assert found, told
    report = Path(found[1])
    assert report.is_relative_to(tmp_path / "state" / "mastd" / "defects")
    text = report.read_text(encoding="utf-8")
    assert "Traceback" in text
    assert "raise error" in text
    assert report.stat().st_mode & 0o077 == 0
    for _ in range(25):
        failing(monkeypatch, error)
    assert len(list(report.parent.iterdir())) == 20


def test_a_defect_that_cannot_be_kept_is_told_all_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for variable in ("STATE_DIRECTORY", "XDG_STATE_HOME", "HOME"):
        monkeypatch.setenv(variable, "/proc/nowhere")
    monkeypatch.setattr("tempfile.tempdir", "/proc/nowhere")
    assert failing(monkeypatch, KeyError("a")) == 70
    told = capsys.readouterr().err
    assert "could not be written" in told
    assert told.count("\n") == 1


def test_a_defect_in_a_process_of_its_own_is_70_too(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "mastd.console.listing"],
        input="[]",
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(tmp_path)},
        check=False,
    )
    assert done.returncode == 70
    assert re.fullmatch(rf"a defect of mastd, TypeError: .*; please send {tmp_path}\S+\n", done.stderr)


@pytest.mark.parametrize(
    ("words", "usage", "left"),
    [
        (["export", "first.mcap", "second.mcap"], "usage: mastd export ", "second.mcap"),
        (["vehicle", "bump", "--rack", "5mm"], "usage: mastd vehicle bump ", "--rack 5mm"),
        (["ctl", "raise", "now"], "usage: mastd ctl raise ", "now"),
    ],
)
def test_one_argument_too_many_is_told_with_the_usage_of_its_command(
    capsys: pytest.CaptureFixture[str], words: list[str], usage: str, left: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(words)
    printed = capsys.readouterr().err
    assert ended.value.code == 2
    assert printed.startswith(usage)
    assert f"error: unrecognized arguments: {left}" in printed


@pytest.mark.parametrize("words", LONG, ids=lambda words: words[0])
def test_a_name_that_is_too_long_is_one_line(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    code = cli.main(list(words))
    told = capsys.readouterr().err
    assert code == 2, told
    assert told.count("\n") == 1
    assert "aaaa" in told


@pytest.mark.parametrize("file", ["~nosuchuser/x.AT2", f"{'a' * 300}.AT2"])
def test_a_file_of_a_profile_that_cannot_be_reached_is_told_with_its_place(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    profile = tmp_path / "q.yaml"
    profile.write_text(
        "name: q\nsegments:\n"
        f"  - {{kind: record, band: [0.5 Hz, 15 Hz], axes: {{heave: {{file: '{file}'}}}}}}\n",
        encoding="utf-8",
    )
    assert cli.main(["check", str(profile)]) == 2
    told = capsys.readouterr().err
    assert re.match(rf"{profile}:3:\d+: segments\[0\]\.axes\.heave\.file: ", told), told
    assert told.count("\n") == 1


@pytest.mark.parametrize("existed", [False, True])
def test_a_full_disk_leaves_no_halves_of_starter_files(
    existed: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "mine"
    if existed:
        target.mkdir()
    with full_disk(3000):
        assert cli.main(["init", str(target)]) == 2
    told = capsys.readouterr().err
    assert told == f"{target}: cannot be written, nothing is left of it: File too large\n"
    assert list(tmp_path.rglob("*")) == ([target] if existed else [])
    assert cli.main(["init", str(target)]) == 0
    assert (target / "table.yaml").stat().st_size > 3000
    made = [f"{path.name}/" if path.is_dir() else path.name for path in sorted(target.iterdir())]
    assert {"plants/", "rigs.yaml", "schemas/"} <= set(made)
    assert capsys.readouterr().out.startswith(f"{target}: created {', '.join(made)}; try\n")
