"""Fault history: the newest 5 s of frames and events, and the files made of them around a fault.

What a file holds. Place P is where the fault event lies between two frames. The file holds every frame of the
5 s before P and of the 1 s from P on, at full rate, counted in periods of the loop, missed ones included; the
events between its first and its last frame; the metadata of the run (of the service between runs); and the
metadata record's key ``fault_history``::

    {"fault": the event, "unix": wall time, "before_s": 5, "after_s": 1,
     "first_frame": number in the whole stream of this file's frame 0,
     "fault_frame": number in this file of the first frame after the fault,
     "run": path of the run's file or null, "run_time_s": time of the fault in the run's file or null}

A fault in the first seconds has less before it, an end within the second after it less behind it.

Loss policy. A file is begun at once, so that a killed recorder has the seconds before the fault on disk. At
most ``MAX_OPEN`` files are open at a time and ``MAX_FILES`` are begun in the life of a recorder; further
first causes are counted, not kept. A file system that refuses costs the file, which is counted. Memory: 5 s
of frames (1.3 kB each at seven actuators: 6.5 MB at 1 kHz), ``MAX_EVENTS`` events of at most
``MAX_EVENT_BYTES``; longer events stay out of the history.
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mastd.record.channels import NANOSECONDS, ChannelSet, PeriodCounter
from mastd.record.writer import RunWriter

BEFORE_S, AFTER_S = 5, 1
MAX_FILES = 100
MAX_OPEN = 4
MAX_EVENTS = 1024
MAX_EVENT_BYTES = 16 * 1024
HISTORY_KEY = "fault_history"
_STOPPING_ACTIONS = frozenset({"HOLD", "STOP", "POWER_OFF"})
_MAX_NAME_LENGTH = 40
_MAX_NAMESAKES = 1000


@dataclass(frozen=True)
class Arrived:
    """One event as the recorder got it: frames offered before it, its size in bytes, its wall time."""

    event: Mapping[str, object]
    number: int
    size: int
    unix: float


@dataclass(frozen=True)
class Origin:
    """Where a fault file belongs: its directory, its metadata, the run's file that is open or None."""

    directory: Path
    metadata: Mapping[str, object]
    run: RunWriter | None


def is_first_cause(event: Mapping[str, object]) -> bool:
    """Return whether an event is the fault that stops the table: first of its kind, action hold or worse."""
    return (
        event.get("event") == "fault"
        and event.get("first") is True
        and event.get("action") in _STOPPING_ACTIONS
    )


class History:
    """The newest 5 s of frames and the newest events, in the order in which they came."""

    def __init__(self, channels: ChannelSet) -> None:
        self._length = BEFORE_S * NANOSECONDS // channels.period_ns
        self._frames: deque[tuple[int, int, bytes]] = deque()
        self._events: deque[Arrived] = deque(maxlen=MAX_EVENTS)
        self._periods = PeriodCounter(channels)

    def frame(self, number: int, data: memoryview) -> int:
        """Keep one frame, forget what is older than 5 s, and return its period."""
        period = self._periods.take(number, data)
        frames = self._frames
        frames.append((number, period, bytes(data)))
        while frames[0][1] <= period - self._length:
            frames.popleft()
        return period

    def event(self, arrived: Arrived) -> None:
        """Keep one event."""
        if arrived.size <= MAX_EVENT_BYTES or is_first_cause(arrived.event):
            self._events.append(arrived)

    def position(self, number: int) -> int:
        """Return the period of an event before which ``number`` frames were offered."""
        return self._periods.position(number)

    def since(self, period: int) -> Iterator[tuple[int, bytes]]:
        """Yield number and bytes of the frames kept from ``period`` on."""
        return ((number, data) for number, at, data in self._frames if at >= period)

    def events(self, number: int) -> list[Arrived]:
        """Return the kept events, those before which at least ``number`` frames were offered."""
        return [arrived for arrived in self._events if arrived.number >= number]


@dataclass
class _Open:
    """A fault file that waits for the second after the fault, which ends before period ``until``."""

    writer: RunWriter
    until: int
    last: int


class FaultFiles:
    """Writes fault files from the history; nothing here raises for what the file system refuses."""

    def __init__(self, channels: ChannelSet, history: History) -> None:
        self.written = 0
        """Files that are finished."""
        self.skipped = 0
        """First causes without a whole file: too many, or refused by the file system."""
        self.trouble: str | None = None
        """Why the newest file could not be written, None once one could."""
        self._begun = 0
        self._channels = channels
        self._history = history
        self._before = BEFORE_S * NANOSECONDS // channels.period_ns
        self._after = AFTER_S * NANOSECONDS // channels.period_ns
        self._open: list[_Open] = []

    def begin(self, fault: Arrived, origins: list[Origin]) -> None:
        """Open the file of one first cause with the kept history, where a directory accepts it."""
        if self._begun >= MAX_FILES or len(self._open) >= MAX_OPEN:
            self.skipped += 1
            return
        index = self._history.position(fault.number)
        for origin in origins:
            try:
                writer = self._create(fault, origin, index)
            except OSError as error:
                self.trouble = f"{origin.directory}: no fault history: {error.strerror or error}"
                continue
            self.trouble = None
            self._begun += 1
            file = _Open(writer, index + self._after, fault.number + self._after)
            self._open.append(file)
            self._guarded(file, lambda writer: self._write_history(writer, index))
            return
        self.skipped += 1

    def frame(self, number: int, data: memoryview, period: int) -> None:
        """Add one frame to the files that wait for it; finish those that have their second."""
        for file in list(self._open):
            if period < file.until:
                self._guarded(file, lambda writer: writer.frame(number, data))
            if period + 1 >= file.until and file in self._open:
                self._finish(file, complete=True, reached=min(number, file.last))

    def event(self, event: Mapping[str, object]) -> None:
        """Add one event to the files that are open."""
        for file in list(self._open):
            self._guarded(file, lambda writer: writer.event(event))

    def synchronise_if_due(self) -> None:
        """Synchronise data older than 0.25 s with the disk."""
        for file in list(self._open):
            self._guarded(file, RunWriter.synchronise_if_due)

    def finish(self, offered: int) -> None:
        """Close open files at the end of the recorder: with less than a second after the fault."""
        for file in list(self._open):
            self._finish(file, complete=False, reached=min(offered, file.last))

    def _create(self, fault: Arrived, origin: Origin, index: int) -> RunWriter:
        first = next((number for number, _ in self._history.since(index - self._before)), fault.number)
        description = {
            "fault": {**fault.event, "frame": fault.number - first},
            "unix": fault.unix,
            "before_s": BEFORE_S,
            "after_s": AFTER_S,
            "first_frame": first,
            "fault_frame": fault.number - first,
            "run": None if origin.run is None else str(origin.run.path),
            "run_time_s": None if origin.run is None else origin.run.time_ns(fault.number) / NANOSECONDS,
        }
        metadata = {**origin.metadata, HISTORY_KEY: description}
        origin.directory.mkdir(parents=True, exist_ok=True)
        stem = file_stem(fault)
        for number in range(1, _MAX_NAMESAKES):
            path = origin.directory / f"{stem}{'' if number == 1 else f'-{number}'}.mcap"
            try:
                channels = self._channels if origin.run is None else origin.run.channels
                return RunWriter(path, channels, metadata, first)
            except FileExistsError:
                continue
        raise FileExistsError(f"{stem}.mcap exists {_MAX_NAMESAKES} times")

    def _write_history(self, writer: RunWriter, index: int) -> None:
        """Write the seconds before ``index``; the fault event is the newest in the history."""
        events = deque(self._history.events(writer.first))
        for number, data in self._history.since(index - self._before):
            while events and events[0].number <= number:
                writer.event(events.popleft().event)
            writer.frame(number, memoryview(data))
        for arrived in events:
            writer.event(arrived.event)
        writer.flush()

    def _finish(self, file: _Open, complete: bool, reached: int) -> None:
        """Finish one file; frames before number ``reached`` that never came are a gap."""

        def finish(writer: RunWriter) -> None:
            writer.skip_to(reached)
            writer.finish({"closed": complete, "ended_unix": time.time()})

        self._guarded(file, finish)
        if file in self._open:
            self._open.remove(file)
            self.written += 1

    def _guarded(self, file: _Open, action: Callable[[RunWriter], None]) -> None:
        """Do one thing with a file; give the file up if the file system refuses."""
        try:
            action(file.writer)
        except OSError as error:
            self.trouble = f"{file.writer.path}: fault history truncated: {error.strerror or error}"
            self.skipped += 1
            file.writer.abandon()
            self._open.remove(file)


def file_stem(fault: Arrived) -> str:
    """Return ``fault-<utc time>-<code name>``; the time is the event's arrival, to the millisecond."""
    milliseconds = round(fault.unix * 1e3)
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(milliseconds // 1000))
    name = re.sub(r"[^A-Za-z0-9_]+", "_", str(fault.event.get("name", "")))[:_MAX_NAME_LENGTH] or "UNNAMED"
    return f"fault-{stamp}.{milliseconds % 1000:03d}Z-{name}"
