"""The last seconds of an episode, kept at every cycle and written as a record when something was violated."""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from mastd.arrays import FloatArray
from mastd.loop.measurement.frame import Frame, frame_channels
from mastd.record.channels import Channel, ChannelSet
from mastd.record.writer import RUN_FILE, RunWriter
from mastd.safety.faults import TABLE
from mastd.safety.states import State
from mastd.settings.core.axes import AXES

SECONDS = 10.0
_MAX_EVENTS = 4000
FAILURE_FILE = "failure.json"


class History:
    """Frames and true motion of the last ``SECONDS``, what happened, and a digest of all frames."""

    def __init__(self, frame: Frame, period_ns: int) -> None:
        self.frames = 0
        self.events: deque[tuple[int, Mapping[str, object]]] = deque(maxlen=_MAX_EVENTS)
        self._period_ns = period_ns
        recorded = frame_channels(frame.layout)
        self._channels = ChannelSet(recorded, period_ns).extended(_true_channels())
        self._size = len(recorded)
        self._values = frame.values[: self._size]
        self._rows: FloatArray = np.zeros((round(SECONDS * 1e9 / period_ns), len(self._channels)))
        self._digest = hashlib.blake2b(digest_size=16)

    def keep(self, truth: FloatArray) -> None:
        """Keep this cycle's frame and true motion."""
        index = self.frames % len(self._rows)
        if index == 0 and self.frames:
            self._digest.update(self._rows.data)
        row = self._rows[index]
        row[: self._size] = self._values
        row[self._size :] = truth[:18]
        self.frames += 1

    def note(self, event: Mapping[str, object]) -> None:
        """Keep something that happened in this cycle; call it before ``keep``."""
        self.events.append((self.frames, event))

    @property
    def digest(self) -> str:
        """Digest of all frames and true motions so far."""
        whole = self._digest.copy()
        left = self.frames % len(self._rows)
        if self.frames:
            whole.update(self._rows[: left or len(self._rows)].tobytes())
        return whole.hexdigest()

    def write(self, directory: Path, metadata: Mapping[str, object], failure: Mapping[str, object]) -> Path:
        """Write the record and what was violated into a new directory; return the record's path."""
        directory.mkdir(parents=True, exist_ok=False)
        path = directory / RUN_FILE
        first = max(0, self.frames - len(self._rows))
        writer = RunWriter(
            path,
            self._channels,
            {
                **metadata,
                "states": [state.name for state in State],
                "faults": {str(int(row.code)): row.title for row in TABLE},
            },
        )
        waiting = deque(entry for entry in self.events if entry[0] >= first)
        for number in range(first, self.frames):
            while waiting and waiting[0][0] <= number:
                writer.event({**waiting.popleft()[1], "frame": number - first})
            writer.frame(number - first, memoryview(self._rows[number % len(self._rows)].tobytes()))
        for _, event in waiting:
            writer.event(event)
        writer.event({"event": "violation", **failure})
        writer.finish({"outcome": "violation"})
        (directory / FAILURE_FILE).write_text(json.dumps(failure, indent=2) + "\n", encoding="utf-8")
        return path


def _true_channels() -> list[Channel]:
    """Return channels for the plant's true motion."""
    return [
        Channel(f"{name}.{axis}", unit if k < 3 else unit.replace("m", "rad", 1), None, f"{meaning} of C")
        for name, unit, meaning in (
            ("true_pose", "m", "true pose"),
            ("true_rate", "m/s", "rate of the true pose"),
            ("true_acceleration", "m/s2", "second derivative of the true pose"),
        )
        for k, axis in enumerate(AXES)
    ]
