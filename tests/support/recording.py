"""What the recorder's tests share: frames that tell their number, and waiting for a process."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from mastd.arrays import FloatArray
from mastd.record.channels import Channel, ChannelSet
from mastd.record.recorder import RecorderHandle
from tests.support.lab import PATIENCE


def stream_channels(period_ns: int) -> ChannelSet:
    """Return the channels of ``Stream``: step and missed of every cycle, ``slow`` at a tenth of the rate."""
    slow = 1e8 / period_ns
    return ChannelSet([Channel("step", "1"), Channel("missed", "1"), Channel("slow", "K", slow)], period_ns)


class Stream:
    """Pushes frames whose channel ``step`` counts them; ``missed`` may be set at any time."""

    def __init__(self, handle: RecorderHandle) -> None:
        self.handle = handle
        self.step = 0
        self.missed = 0

    def push(self, count: int) -> None:
        """Push the next ``count`` frames."""
        for step in range(self.step, self.step + count):
            frame: FloatArray = np.array([step, self.missed, 300.0 + step])
            assert self.handle.push(frame)
        self.step += count

    def fault(self, name: str = "FOLLOWING_ERROR", action: str = "STOP", first: bool = True) -> None:
        """Offer a fault event as the loop does."""
        event = {"event": "fault", "name": name, "cause": "actuator 3 does not follow", "action": action}
        self.event({**event, "first": first, "cycle": self.step})

    def event(self, event: Mapping[str, object]) -> None:
        assert self.handle.event(event)


def fault_files(directory: Path) -> list[Path]:
    """Return the fault files of a directory, the oldest first."""
    return sorted(directory.glob("fault-*.mcap"))


def wait_for(condition: Callable[[], bool], what: str, limit: float = PATIENCE) -> None:
    """Ask again and again until the condition holds."""
    deadline = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < deadline, what
        select.select([], [], [], 0.002)


def ended(process_id: int) -> bool:
    """Return whether a process has ended within 20 s; a process that is gone or a zombie has."""
    try:
        descriptor = os.pidfd_open(process_id)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], 20.0)[0])
    finally:
        os.close(descriptor)
