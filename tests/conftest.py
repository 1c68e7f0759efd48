"""Fixtures of all tests."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

# Before numpy comes in: threads of its algebra cost more than the small matrices here.
for _library in ("OPENBLAS", "OMP", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

import hypothesis  # noqa: E402
import pytest  # noqa: E402

from tests.support.lab import ROOT, SHARED, Lab, StartFollower, quick_lab  # noqa: E402

# The same examples in every run, so that a change is judged by itself; `make evidence` looks for new ones.
hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None)
hypothesis.settings.register_profile("searching", derandomize=False, deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


@pytest.fixture
def lab(tmp_path: Path, runtime: Path) -> Lab:
    """A directory with quick settings and the commands of this checkout."""
    return replace(quick_lab(tmp_path), runtime=runtime)


@pytest.fixture
def runtime() -> Iterator[Path]:
    """Where daemons of one test have their sockets: a place of its own, whose path is short enough."""
    directory = tempfile.mkdtemp(prefix="mastd-test-")
    yield Path(directory)
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with real files beside the checkout."""
    if not SHARED.is_dir():
        pytest.skip("the shared data folder is not beside this checkout")
    return SHARED


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"ipc://{tmp_path}/plant"


@pytest.fixture
def own_signals() -> Iterator[None]:
    """Put the handlers of all signals back: a process that is asked to end keeps those that it has then."""
    before = {number: signal.getsignal(number) for number in signal.valid_signals()}
    yield
    for number, handler in before.items():
        if handler is not signal.getsignal(number):
            signal.signal(number, handler)


@pytest.fixture
def start_follower(address: str) -> Iterator[StartFollower]:
    """Return a function that starts ``follower.py`` as a process at the test's address."""
    processes: list[subprocess.Popen[bytes]] = []

    def start(mode: str, boot_id: int = 1, parent_pid: int | None = None) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [
            sys.executable,
            str(ROOT / "tests" / "support" / "wire" / "follower.py"),
            address,
            mode,
            str(boot_id),
        ]
        process = subprocess.Popen([*command, str(parent_pid or os.getpid())], env=environment)
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.wait()
