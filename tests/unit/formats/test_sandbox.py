"""Readers in a process of their own: what a C library does on a damaged file stays there."""

from __future__ import annotations

import multiprocessing
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mastd.errors import FormatError, UsageError
from mastd.formats.sandbox.reader import Sandbox, unpack
from tests.support.lab import PATIENCE, ROOT

MODULE = "tests.support.formats.misbehaving_library"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    one = Sandbox(MODULE, "numpy", "none", "test files")
    yield one
    one.end()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    one = tmp_path / "a file.bin"
    one.write_bytes(bytes(range(200)))
    return one


def test_arrays_come_back_as_they_were_and_may_be_changed(sandbox: Sandbox, path: Path) -> None:
    packed = sandbox.call("bytes_of", path)
    assert packed.document["size"] == 200
    assert packed.arrays[0].tolist() == list(range(200))
    assert packed.arrays[1].shape == (0, 3)
    assert packed.arrays[2] == 1.5
    packed.arrays[0][3] = 77.0
    assert sandbox.call("bytes_of", path).arrays[0][3] == 3.0


@pytest.mark.parametrize(
    ("function", "text"),
    [
        ("crash", "{path}: damaged: numpy crashes (Segmentation fault)"),
        ("abort", "{path}: damaged: numpy crashes (Aborted)"),
        ("spin", "{path}: damaged: numpy cannot read it in 1.0 s"),
        ("grow", "{path}: damaged: numpy needs more than 200 MB"),
        ("fill_disk", "{path}: damaged: [Errno 27] File too large"),
        ("leave", "{path}: damaged: numpy ends with code 7"),
        ("refuse", "{path}:3: no number"),
        ("stumble", "{path}: damaged: division by zero"),
    ],
)
def test_what_a_library_does_is_one_line_and_the_next_file_is_read(
    sandbox: Sandbox, path: Path, function: str, text: str
) -> None:
    with pytest.raises(FormatError) as raised:
        sandbox.call(function, path)
    assert str(raised.value) == text.format(path=path)
    assert sandbox.call("bytes_of", path).document["size"] == 200


def test_what_a_library_prints_is_not_seen_and_what_it_warns_of_is_a_warning(
    path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    sandbox = Sandbox(MODULE, "numpy", "none", "test files")
    measurement = unpack(sandbox.call("talk", path))
    sandbox.end()
    assert measurement.warnings == ("own", "an odd header", "a group is empty")
    assert capfd.readouterr() == ("", "")


def test_temporary_files_of_a_library_that_crashes_are_removed(sandbox: Sandbox, path: Path) -> None:
    with pytest.raises(FormatError, match="crashes"):
        sandbox.call("leave_files", path)
    left = Path(path.with_suffix(".told").read_text(encoding="utf-8"))
    assert not left.parent.exists()


@pytest.mark.parametrize("name", ["missing", "."])
def test_what_is_no_file_is_refused(sandbox: Sandbox, tmp_path: Path, name: str) -> None:
    with pytest.raises(FormatError, match=r"cannot be read: No such file|is not a file"):
        sandbox.call("bytes_of", tmp_path / name)


def test_a_pipe_is_not_waited_for(sandbox: Sandbox, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FormatError, match="is not a file"):
        sandbox.call("bytes_of", tmp_path / "pipe")


def test_a_missing_library_says_how_to_install_it(path: Path) -> None:
    with pytest.raises(UsageError, match=r"no_such_library: pip install 'mastd\[extra\]'"):
        Sandbox(MODULE, "no_such_library", "extra", "test files").call("bytes_of", path)


def test_a_library_that_cannot_be_imported_is_one_line(path: Path) -> None:
    with pytest.raises(UsageError, match=r"numpy cannot be used: ModuleNotFoundError: No module named"):
        Sandbox("tests.unit.no_such_module", "numpy", "extra", "test files").call("bytes_of", path)


def _sums(sandbox: Sandbox, path: Path) -> list[float]:
    return [float(np.sum(sandbox.call("bytes_of", path).arrays[0])) for _ in range(20)]


def _tell_sums(sandbox: Sandbox, path: Path, answer: multiprocessing.Queue[list[float]]) -> None:
    answer.put(_sums(sandbox, path))


def test_a_daemonic_process_forked_from_one_that_reads_can_read_at_the_same_time(
    sandbox: Sandbox, path: Path
) -> None:
    sandbox.call("bytes_of", path)
    other = path.with_name("other.bin")
    other.write_bytes(bytes([1]) * 100_000)
    context = multiprocessing.get_context("fork")
    answer = context.Queue()
    process = context.Process(target=_tell_sums, args=(sandbox, other, answer), daemon=True)
    process.start()
    assert _sums(sandbox, path) == [19900.0] * 20
    assert answer.get(timeout=PATIENCE) == [100_000.0] * 20
    process.join(PATIENCE)
    assert process.exitcode == 0


def _templates_of(pid: int) -> list[int]:
    """Return the template processes that a process has started."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"mastd.formats.sandbox.fork_server" in words and str(pid).encode() in words:
                found.append(int(entry.name))
    return found


@pytest.mark.real_time
@pytest.mark.parametrize("ending", ["returns", "is killed"])
def test_no_process_is_left_when_the_caller(path: Path, ending: str) -> None:
    program = (
        "import sys; from pathlib import Path; from mastd.formats.sandbox.reader import Sandbox; "
        f"sandbox = Sandbox({MODULE!r}, 'numpy', 'none', 'test files'); "
        "print(sandbox.call('bytes_of', Path(sys.argv[1])).document['size'], flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == b"200\n"
    (template,) = _templates_of(process.pid)
    watched = os.pidfd_open(template)
    if ending == "returns":
        process.stdin.close()
        assert process.wait(PATIENCE) == 0
    else:
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE)
    ended, _, _ = select.select([watched], [], [], 30.0)
    os.close(watched)
    process.stdout.close()
    process.stdin.close()
    assert ended
    assert _templates_of(process.pid) == []
