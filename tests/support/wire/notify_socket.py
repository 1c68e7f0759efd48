"""A stand-in for the service manager's end of the notify socket: what a daemon tells it."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path


class NotifySocket:
    """Receives at ``path``, datagram by datagram, when it is asked to."""

    def __init__(self, path: Path) -> None:
        self.address = str(path)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(self.address)

    def next(self) -> list[str]:
        """Return the lines of the next datagram, none if there is none yet."""
        try:
            return self._socket.recv(1 << 16, socket.MSG_DONTWAIT).decode().splitlines()
        except BlockingIOError:
            return []

    def waiting(self) -> list[str]:
        """Return the lines of all datagrams that have come."""
        found: list[str] = []
        while lines := self.next():
            found += lines
        return found

    def close(self) -> None:
        self._socket.close()


class Listener(NotifySocket):
    """Receives all the time, since the queue of such a socket is short; keeps every line in order."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.lines: list[str] = []
        self._looked_at = 0
        self._told = threading.Condition()
        self._ended = False
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def until(self, told: Callable[[str], bool], seconds: float = 60.0) -> str:
        """Return the first line, after the one found last, that ``told`` is content with."""
        end = time.monotonic() + seconds
        with self._told:
            while True:
                while self._looked_at < len(self.lines):
                    self._looked_at += 1
                    if told(self.lines[self._looked_at - 1]):
                        return self.lines[self._looked_at - 1]
                left = end - time.monotonic()
                assert left > 0.0, f"not told in {seconds:g} s; the last were {self.lines[-5:]}"
                self._told.wait(left)

    def status(self, words: str, seconds: float = 60.0) -> str:
        """Wait for a state in which ``words`` stand."""
        return self.until(lambda line: line.startswith("STATUS=") and words in line, seconds)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        super().close()

    def _listen(self) -> None:
        while data := self._socket.recv(1 << 16):
            with self._told:
                self.lines += data.decode().splitlines()
                self._told.notify_all()
