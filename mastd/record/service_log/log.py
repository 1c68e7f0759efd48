"""The log of a service, written by the recorder's process: it sees every event and every frame of the loop.

The loop itself never writes a line. Events become lines (``service_log_lines``), throttled by kind and name;
once a second the frames become a line of statistics (``service_log_statistics``). Where to, the loop's side
chooses (``destination``): the journal when a service manager has connected it, else one plain line an
event on standard error, without statistics.

Loss policy. Neither a full journal nor a terminal that nobody reads can hold up the recorder: lines are
counted instead, and the count is reported as soon as there is room again.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from mastd.errors import printable
from mastd.log.journald import connected_journal
from mastd.log.sinks import CRITICAL, ERROR, NOTICE, STDERR, Line, Sink, open_sink
from mastd.record.channels import ChannelSet
from mastd.record.history import Arrived
from mastd.record.service_log.lines import and_more, line_of
from mastd.record.service_log.statistics import SecondOfFrames
from mastd.record.service_log.throttle import Throttle

STATISTICS_S = 1.0


def destination(environment: Mapping[str, str], descriptor: int = STDERR) -> dict[str, str]:
    """Return the destination of a service's log, for the recorder's config: the journal if connected."""
    path = connected_journal(environment, descriptor)
    return {"to": "journal", "socket": path} if path else {"to": "stderr"}


class Log(Protocol):
    """What the recorder's process tells of what it sees."""

    def event(self, arrived: Arrived) -> None:
        """Log one event."""

    def frames(self, frames: Sequence[tuple[int, memoryview]]) -> None:
        """Take frames, at least one, in their order."""

    def poll(self) -> None:
        """Log what has become due."""

    def trouble(self, text: str) -> None:
        """Tell why something is not being recorded."""

    def close(self, whole: bool) -> None:
        """End; ``whole`` is False when the loop has gone without notice."""


def say(text: object) -> None:
    """Write one line to standard error, which may lie on a full disk."""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"mastd recorder: {text}\n")
        sys.stderr.flush()


class NoLog:
    """The log of a single run: except for what is not recorded, `mastd run` says everything itself."""

    def event(self, arrived: Arrived) -> None:
        """Log nothing."""

    def frames(self, frames: Sequence[tuple[int, memoryview]]) -> None:
        """Ignore the frames."""

    def poll(self) -> None:
        """Log nothing."""

    def trouble(self, text: str) -> None:
        """Say why something is not being recorded."""
        say(text)

    def close(self, whole: bool) -> None:
        """Say nothing."""


class ServiceLog:
    """Turns events and frames into lines."""

    def __init__(self, sink: Sink, channels: ChannelSet, states: Sequence[str]) -> None:
        self._sink = sink
        self._throttle: Throttle[Line] = Throttle()
        self._second = SecondOfFrames(channels, states)
        self._fault_names: dict[int, str] = {}
        self._state = ""
        self._run = ""
        self._reported_at: float | None = None

    def event(self, arrived: Arrived) -> None:
        """Log one event, unless too many like it were logged within the window; always count it."""
        event = arrived.event
        kind = event.get("event")
        self._count(event)
        if kind == "state":
            self._state = str(event.get("to"))
        elif kind == "record_begin":
            self._run = Path(str(event.get("directory"))).name
        line = line_of(event)
        if line is not None:
            self._write_line(line, arrived.unix)
        if kind == "record_end":
            self._run = ""

    def frames(self, frames: Sequence[tuple[int, memoryview]]) -> None:
        """Take frames for the statistics of this second."""
        if self._reported_at is None:
            self._reported_at = time.monotonic()
        self._second.take(frames)
        self._state = self._second.state or self._state

    def poll(self) -> None:
        """Log the suppressed events of expired windows, and the statistics of an elapsed second."""
        now = time.monotonic()
        self._report_held_back(now)
        if self._reported_at is None or now - self._reported_at < STATISTICS_S:
            return
        elapsed, self._reported_at = now - self._reported_at, now
        line = self._second.line(elapsed, self._fault_names)
        if self._sink.statistics:
            self._write(line, time.time())

    def trouble(self, text: str) -> None:
        """Tell why something is not being recorded."""
        self._write_line(Line("recorder", f"not recorded: {text}", ERROR), time.time())

    def close(self, whole: bool) -> None:
        """Log the suppressed events and, if the loop ended unannounced, that."""
        self._report_held_back(time.monotonic(), end=True)
        if whole:
            self._write(Line("end", "the loop has ended", NOTICE), time.time())
        else:
            gone = "the loop's process ended without notice: the drive lowers the table by itself"
            advice = "Find the cause (journalctl, dmesg: killed?), then restart it; it starts in OFF"
            self._write(Line("end", f"{gone}. {advice}", CRITICAL), time.time())
        self._sink.close()

    def _count(self, event: Mapping[str, object]) -> None:
        counters = self._second.counters
        if event.get("event") == "fault":
            counters.faults += 1
            code = event.get("code")
            if isinstance(code, int):
                self._fault_names[code] = str(event.get("name"))
        elif event.get("event") == "request":
            counters.requests += 1
            counters.refused += bool(event.get("refused"))

    def _write_line(self, line: Line, unix: float) -> None:
        now = time.monotonic()
        self._report_held_back(now)
        if self._throttle.admits(line.label, line, now):
            self._write(line, unix)

    def _report_held_back(self, now: float, end: bool = False) -> None:
        for line, count, window_s in self._throttle.over(now, end):
            self._write(and_more(line, count, window_s), time.time())

    def _write(self, line: Line, unix: float) -> None:
        context = {"MASTD_STATE": self._state, "MASTD_RUN": self._run}
        fields = {**{key: value for key, value in context.items() if value}, **line.fields}
        self._sink.write(Line(line.label, printable(line.message), line.priority, fields), unix)


def open_log(where: Mapping[str, str] | None, channels: ChannelSet, states: Sequence[str]) -> Log:
    """Open the log of a config (``destination``, None for none); ``states`` by their numbers."""
    if where is None:
        return NoLog()
    return ServiceLog(open_sink(where.get("socket", "")), channels, states)
