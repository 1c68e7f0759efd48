"""Processes that watch the table, and in turns are just as busy without any connection to it.

``python -m mastd.bench.wire.watchers KIND PLACE ADDRESS DESCRIPTOR``, KIND of ``KINDS``. What to do stands on
a board in shared memory: the phase, and for each place the fraction of a processor that its process has used
while it watched. In the phase ``BESIDE`` it uses the same share, waking as often. It ends when its parent is
gone.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import UsageError
from mastd.wire.operators.client import OperatorClient

PAUSED, WATCHING, BESIDE = 0, 1, 2
KINDS = ("panel", "console", "telemetry", "telemetry", "telemetry", "gateway")
"""A panel and a console follow the status; three processes read telemetry; the last one stands, in the phase
``BESIDE``, for what all of them cost the gateway."""
_WAKES_HZ = {"panel": 20.0, "console": 20.0, "telemetry": 50.0, "gateway": 50.0}
_IDLE_S = 0.02
_News = TypeVar("_News")


class WorkerStatus:
    """The phase and the shares, in shared memory."""

    def __init__(self, count: int, descriptor: int | None = None) -> None:
        size = 8 * (1 + count)
        if descriptor is None:
            descriptor = os.memfd_create("mastd-watchers", os.MFD_CLOEXEC)
            os.ftruncate(descriptor, size)
        self.descriptor = descriptor
        self._values: FloatArray = np.frombuffer(mmap.mmap(descriptor, size), dtype=np.float64)
        self.loads = self._values[1:]

    @property
    def phase(self) -> int:
        """What the processes do."""
        return int(self._values[0])

    @phase.setter
    def phase(self, phase: int) -> None:
        self._values[0] = phase

    def start(self, module: str, *text: object) -> subprocess.Popen[bytes]:
        """Start a process of a module with these words and the board's descriptor behind them."""
        command = [sys.executable, "-P", "-m", module, *map(str, text), str(self.descriptor)]
        return subprocess.Popen(command, pass_fds=(self.descriptor,))


def main(kind: str, index: int, address: str, descriptor: int) -> None:
    """Do what the board says until the parent is gone."""
    status = WorkerStatus(len(KINDS), descriptor)
    parent = os.getppid()
    while os.getppid() == parent:
        if status.phase == BESIDE:
            be_busy(status, index, 1.0 / _WAKES_HZ[kind])
        elif status.phase == WATCHING and kind != "gateway":
            with contextlib.suppress(UsageError):
                watch(status, kind, index, address)
        else:
            time.sleep(_IDLE_S)


def watch(status: WorkerStatus, kind: str, index: int, address: str) -> None:
    """Watch as a user's program does, and note how busy that is."""
    with OperatorClient(address, kind, role="observer", name=f"bench {kind}") as client:
        client.describe()
        if kind == "telemetry":
            use(status, index, client.telemetry(), lambda news: news.frames.astype(np.float32).tobytes())
        else:
            use(status, index, client.watch(), json.dumps)


def use(status: WorkerStatus, index: int, stream: Iterable[_News], take: Callable[[_News], object]) -> None:
    """Take what comes in the phase ``WATCHING``."""
    begun = used = 0.0
    for news in stream:
        take(news)
        if status.phase != WATCHING:
            break
        if not begun:
            begun, used = time.monotonic(), time.process_time()
    else:
        return
    if begun:
        status.loads[index] = (time.process_time() - used) / (time.monotonic() - begun)


def be_busy(status: WorkerStatus, index: int, period_s: float) -> None:
    """Use the fraction of a processor that was used for watching."""
    wake = time.monotonic()
    while status.phase == BESIDE:
        end = time.thread_time() + status.loads[index] * period_s
        while time.thread_time() < end:
            pass
        wake = max(wake + period_s, time.monotonic())
        time.sleep(max(0.0, wake - time.monotonic()))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
