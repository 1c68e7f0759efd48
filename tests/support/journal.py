"""A stand-in for systemd-journald, and an independent reader of what it gets."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path


def fields_of(datagram: bytes) -> dict[str, str]:
    """Return the fields of one entry of the native protocol."""
    fields: dict[str, str] = {}
    at = 0
    while at < len(datagram):
        end = datagram.index(b"\n", at)
        line = datagram[at:end]
        if b"=" in line:
            key, _, value = line.partition(b"=")
            at = end + 1
        else:
            key = line
            (size,) = struct.unpack_from("<Q", datagram, end + 1)
            begin = end + 9
            value = datagram[begin : begin + size]
            assert datagram[begin + size : begin + size + 1] == b"\n"
            at = begin + size + 1
        name = key.decode("ascii")
        assert name not in fields
        fields[name] = value.decode()
    return fields


class Journal:
    """Takes entries at a socket until it is closed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: list[dict[str, str]] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._take, daemon=True)
        self._thread.start()

    def _take(self) -> None:
        while data := self._socket.recv(1 << 18):
            with self._changed:
                self.entries.append(fields_of(data))
                self._changed.notify_all()

    def until(
        self, wanted: Callable[[dict[str, str]], bool], what: str, seconds: float = 40.0
    ) -> dict[str, str]:
        """Return the first entry that is wanted, as soon as it is there."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while True:
                for found in self.entries:
                    if wanted(found):
                        return found
                left = deadline - time.monotonic()
                messages = [entry["MESSAGE"] for entry in self.entries]
                assert left > 0, f"{what} is not among {messages}"
                self._changed.wait(left)

    def close(self) -> None:
        """End the thread."""
        with contextlib.closing(self._socket), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as last:
            last.sendto(b"", str(self.path))
            self._thread.join()


@contextlib.contextmanager
def journal(path: Path) -> Iterator[Journal]:
    """Give a journal at a path, whose length a socket allows."""
    found = Journal(path)
    try:
        yield found
    finally:
        found.close()
