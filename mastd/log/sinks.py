"""Lines of a log, and where they go: the journal, or plain text on standard error.

Loss policy. Neither a full journal nor a terminal that nobody reads can hold up who writes: lines are counted
instead, and the count is reported as soon as there is room again.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from mastd.log.journald import Journal

IDENTIFIER = "mastd"
CRITICAL, ERROR, WARNING, NOTICE, INFORMATION = 2, 3, 4, 5, 6
STDERR = 2
MAX_WAITING = 1024
"""Lines that wait for a terminal or pipe; further ones are counted."""
_FLUSH_S = 1.0


@dataclass(frozen=True)
class Line:
    """One entry of the log; ``label`` says in short what it is about and what it is throttled by."""

    label: str
    message: str
    priority: int
    fields: Mapping[str, str] = field(default_factory=dict)


class Sink(Protocol):
    """Where lines go."""

    statistics: bool
    """Whether the lines of every second belong here."""

    def write(self, line: Line, unix: float) -> None:
        """Write one line, or count it as lost; never wait."""

    def close(self) -> None:
        """Write what is waiting, for a bounded time."""


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

    def __init__(self, descriptor: int = STDERR) -> None:
        self._descriptor = descriptor
        self._lines: queue.Queue[str | None] = queue.Queue(MAX_WAITING)
        self._lost = 0
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def write(self, line: Line, unix: float) -> None:
        """Hand one line to the thread."""
        stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(unix))
        text = line.message.replace("\n", " ")
        try:
            if self._lost:
                self._lines.put_nowait(f"{stamp}  {self._lost} lines are missing: output was not read\n")
                self._lost = 0
            self._lines.put_nowait(f"{stamp}  {text}\n")
        except queue.Full:
            self._lost += 1

    def close(self) -> None:
        """Wait until all is written, but not for a reader who does not read."""
        with contextlib.suppress(queue.Full):
            self._lines.put_nowait(None)
            self._thread.join(_FLUSH_S)

    def _work(self) -> None:
        while (line := self._lines.get()) is not None:
            data = line.encode("utf-8", errors="backslashreplace")
            with contextlib.suppress(OSError):
                while data:
                    data = data[os.write(self._descriptor, data) :]


def open_sink(journal: str) -> Sink:
    """Return where lines go: the journal at this socket, standard error if it is empty."""
    return JournalSink(journal) if journal else PlainLines()
