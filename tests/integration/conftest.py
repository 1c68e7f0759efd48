"""Processes and addresses for the tests of the link; nothing outlives its test."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

StartFollower = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"ipc://{tmp_path}/plant"


@pytest.fixture
def start_follower(address: str) -> Iterator[StartFollower]:
    """Return a function that starts ``follower.py`` as a process at the test's address."""
    processes: list[subprocess.Popen[bytes]] = []

    def start(mode: str, boot_id: int = 1, parent_pid: int | None = None) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, str(HERE / "follower.py"), address, mode, str(boot_id)]
        process = subprocess.Popen([*command, str(parent_pid or os.getpid())], env=environment)
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.wait()
