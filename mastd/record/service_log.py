"""The log of a service, written by the recorder's process: it sees every event and every frame of the loop.

The loop itself never writes a line. Events become lines (``service_log_lines``), throttled by kind and name;
once a second the frames become a line of statistics (``service_log_statistics``). Where to, the loop's side
chooses (``destination``): the journal when a service manager has connected it, else one plain line an
event on standard error, without statistics.

Loss policy. Neither a full journal nor a terminal that nobody reads can hold up the recorder: lines are
counted instead, and the count is told as soon as there is room again.
"""

from __future__ import annotations

import contextlib
import os
import queue
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from mastd.errors import printable
from mastd.record.channels import ChannelSet
from mastd.record.history import Arrived
from mastd.record.journald import SOCKET, Journal
from mastd.record.service_log_lines import CRITICAL, ERROR, NOTICE, Line, and_more, line_of
from mastd.record.service_log_statistics import SecondOfFrames
from mastd.record.service_log_throttle import Throttle

IDENTIFIER = "mastd"
JOURNAL_VARIABLE = "MASTD_JOURNAL"
"""Environment variable: path of another socket that speaks journald's protocol."""
STATISTICS_S = 1.0
MOST_WAITING = 1024
"""Lines that wait for a terminal or pipe; further ones are counted."""
_LAST_WORDS_S = 1.0
_STDERR = 2


def destination(environment: Mapping[str, str], descriptor: int = _STDERR) -> dict[str, str]:
    """Return where a service's log goes, for the recorder's job.

    That is the journal when ``$JOURNAL_STREAM`` names what ``descriptor`` is connected to (a terminal that a
    service has opened inherits the variable, but not the stream) and the journal's socket is there.
    """
    path = environment.get(JOURNAL_VARIABLE) or SOCKET
    stream = environment.get("JOURNAL_STREAM")
    with contextlib.suppress(OSError):
        status = os.fstat(descriptor)
        if stream == f"{status.st_dev}:{status.st_ino}" and Path(path).is_socket():
            return {"to": "journal", "socket": path}
    return {"to": "stderr"}


class Log(Protocol):
    """What the recorder's process tells of what it sees."""

    def event(self, arrived: Arrived) -> None:
        """Tell of one event."""

    def frames(self, frames: Sequence[tuple[int, memoryview]]) -> None:
        """Take frames, at least one, in their order."""

    def look(self) -> None:
        """Tell what has come due."""

    def trouble(self, text: str) -> None:
        """Tell why something is not being recorded."""

    def close(self, whole: bool) -> None:
        """End; ``whole`` is False when the loop has gone without a word."""


class Sink(Protocol):
    """Where lines go."""

    statistics: bool
    """Whether the lines of every second belong here."""

    def write(self, line: Line, unix: float) -> None:
        """Write one line, or count it as lost; never wait."""

    def close(self) -> None:
        """Write what is waiting, for a bounded time."""


def say(text: object) -> None:
    """Write one line to standard error, which may lie on a full disk."""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"mastd recorder: {text}\n")
        sys.stderr.flush()


class NoLog:
    """The log of a single run: but for what is not recorded, `mastd run` says everything itself."""

    def event(self, arrived: Arrived) -> None:
        """Say nothing."""

    def frames(self, frames: Sequence[tuple[int, memoryview]]) -> None:
        """Look at nothing."""

    def look(self) -> None:
        """Nothing comes due."""

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
        self._told: float | None = None

    def event(self, arrived: Arrived) -> None:
        """Tell of one event, unless too many like it have been told just now; count it in any case."""
        event = arrived.event
        kind = event.get("event")
        self._count(event)
        if kind == "state":
            self._state = str(event.get("to"))
        elif kind == "record_begin":
            self._run = Path(str(event.get("directory"))).name
        line = line_of(event)
        if line is not None:
            self._tell(line, arrived.unix)
        if kind == "record_end":
            self._run = ""

    def frames(self, frames: Sequence[tuple[int, memoryview]]) -> None:
        """Take frames for the statistics of this second."""
        if self._told is None:
            self._told = time.monotonic()
        self._second.take(frames)
        self._state = self._second.state or self._state

    def look(self) -> None:
        """Tell what was held back, and the second that is over."""
        now = time.monotonic()
        self._tell_held_back(now)
        if self._told is None or now - self._told < STATISTICS_S:
            return
        elapsed, self._told = now - self._told, now
        line = self._second.line(elapsed, self._fault_names)
        if self._sink.statistics:
            self._write(line, time.time())

    def trouble(self, text: str) -> None:
        """Tell why something is not being recorded."""
        self._tell(Line("recorder", f"not recorded: {text}", ERROR), time.time())

    def close(self, whole: bool) -> None:
        """Tell what was held back and, if the loop has gone without a word, that."""
        self._tell_held_back(time.monotonic(), end=True)
        if whole:
            self._write(Line("end", "the loop has ended", NOTICE), time.time())
        else:
            gone = "the loop's process is gone without a word: the drive lets the table down by itself"
            advice = "Look why it ended (journalctl, dmesg: killed?), then start it again; it comes up in OFF"
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

    def _tell(self, line: Line, unix: float) -> None:
        now = time.monotonic()
        self._tell_held_back(now)
        if self._throttle.admits(line.label, line, now):
            self._write(line, unix)

    def _tell_held_back(self, now: float, end: bool = False) -> None:
        for line, count, window_s in self._throttle.over(now, end):
            self._write(and_more(line, count, window_s), time.time())

    def _write(self, line: Line, unix: float) -> None:
        place = {"MASTD_STATE": self._state, "MASTD_RUN": self._run}
        fields = {**{key: value for key, value in place.items() if value}, **line.fields}
        self._sink.write(Line(line.label, printable(line.message), line.priority, fields), unix)


class JournalSink:
    """Lines as entries of the journal."""

    statistics = True

    def __init__(self, path: str) -> None:
        self._journal = Journal(path, {"SYSLOG_IDENTIFIER": IDENTIFIER})

    def write(self, line: Line, unix: float) -> None:
        """Send one entry."""
        self._journal.send(line.message, line.priority, line.fields)

    def close(self) -> None:
        """Close the socket."""
        self._journal.close()


class PlainLines:
    """Lines of text for a terminal, pipe or file, written by a thread of its own: any of them may block."""

    statistics = False

    def __init__(self, descriptor: int = _STDERR) -> None:
        self._descriptor = descriptor
        self._lines: queue.Queue[str | None] = queue.Queue(MOST_WAITING)
        self._lost = 0
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def write(self, line: Line, unix: float) -> None:
        """Hand one line to the thread."""
        stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(unix))
        text = line.message.replace("\n", " ")
        try:
            if self._lost:
                self._lines.put_nowait(f"{stamp}  {self._lost} lines are missing: nobody was reading\n")
                self._lost = 0
            self._lines.put_nowait(f"{stamp}  {text}\n")
        except queue.Full:
            self._lost += 1

    def close(self) -> None:
        """Wait until all is written, but not for a reader who does not read."""
        with contextlib.suppress(queue.Full):
            self._lines.put_nowait(None)
            self._thread.join(_LAST_WORDS_S)

    def _work(self) -> None:
        while (line := self._lines.get()) is not None:
            data = line.encode("utf-8", errors="backslashreplace")
            with contextlib.suppress(OSError):
                while data:
                    data = data[os.write(self._descriptor, data) :]


def open_log(where: Mapping[str, str] | None, channels: ChannelSet, states: Sequence[str]) -> Log:
    """Return the log that a job asks for (``destination``, None for none); ``states`` by their numbers."""
    if where is None:
        return NoLog()
    sink = JournalSink(where["socket"]) if where["to"] == "journal" else PlainLines()
    return ServiceLog(sink, channels, states)
