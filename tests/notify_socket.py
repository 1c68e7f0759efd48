"""A stand-in for the service manager's end of the notify socket: what a daemon tells it."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from pathlib import Path


class NotifySocket:
    """Receives at ``path``; keeps every line that was told, in order."""

    def __init__(self, path: Path) -> None:
        self.address = str(path)
        self.lines: list[str] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(self.address)

    @property
    def statuses(self) -> list[str]:
        """All states in words so far."""
        return [line.removeprefix("STATUS=") for line in self.lines if line.startswith("STATUS=")]

    def next(self, seconds: float = 30.0) -> list[str]:
        """Return the lines of the next datagram, none if there is none in time."""
        self._socket.settimeout(max(seconds, 1e-3))
        try:
            lines = self._socket.recv(1 << 16).decode().splitlines()
        except TimeoutError:
            return []
        self.lines += lines
        return lines

    def until(self, told: Callable[[str], bool], seconds: float = 60.0) -> str:
        """Return the first line from now on that ``told`` is content with."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            for line in self.next(left):
                if told(line):
                    return line
        raise AssertionError(f"not told in {seconds:g} s; the last were {self.lines[-5:]}")

    def status(self, words: str, seconds: float = 60.0) -> str:
        """Wait for a state in which ``words`` stand."""
        return self.until(lambda line: line.startswith("STATUS=") and words in line, seconds)

    def waiting(self) -> list[str]:
        """Return the lines that have come already, without waiting."""
        found: list[str] = []
        while lines := self.next(0.0):
            found += lines
        return found

    def close(self) -> None:
        self._socket.close()
