"""The native protocol of systemd-journald: one datagram an entry, a line ``KEY=value`` a field.

A value with a line end in it stands in the binary form instead: the key, a line end, the length as a
little-endian 64-bit number, the bytes, a line end. Source: "Native Journal Protocol" of the systemd project,
systemd.journal-fields(7).

Loss policy. Nothing here waits. An entry that the journal has no space for, or that finds no journal, is
counted, and the next one that goes through is preceded by an entry that says how many are missing.
Long values are cut at ``MAX_VALUE_BYTES``; fields that would make the entry longer than ``MAX_ENTRY_BYTES``
are left out.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path

SOCKET = "/run/systemd/journal/socket"
JOURNAL_VARIABLE = "MASTD_JOURNAL"
"""Environment variable: path of another socket that speaks journald's protocol."""
MAX_VALUE_BYTES = 16 * 1024
MAX_ENTRY_BYTES = 96 * 1024
"""Below what a datagram may hold by default (``net.core.wmem_default``): the journal needs no file."""
_CUT = " … (cut)".encode()
_KEY = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_WARNING = 4
_STDERR = 2


def connected_journal(environment: Mapping[str, str], descriptor: int = _STDERR) -> str:
    """Return the socket of the journal that a service manager has connected, empty if there is none.

    It has when ``$JOURNAL_STREAM`` names what ``descriptor`` is connected to (a terminal that a service has
    opened inherits the variable, but not the stream) and the journal's socket is there.
    """
    path = environment.get(JOURNAL_VARIABLE) or SOCKET
    with contextlib.suppress(OSError):
        status = os.fstat(descriptor)
        stream = f"{status.st_dev}:{status.st_ino}"
        if environment.get("JOURNAL_STREAM") == stream and Path(path).is_socket():
            return path
    return ""


def entry(fields: Iterable[tuple[str, str]]) -> bytes:
    """Return the datagram of one entry; raises ValueError for a key that the journal would refuse."""
    parts: list[bytes] = []
    size = 0
    for key, value in fields:
        part = _field(key, value)
        if size + len(part) <= MAX_ENTRY_BYTES:
            parts.append(part)
            size += len(part)
    return b"".join(parts)


def _field(key: str, value: str) -> bytes:
    if not _KEY.fullmatch(key):
        raise ValueError(f"{key!r} cannot be the key of a journal's field")
    data = value.encode("utf-8", errors="backslashreplace")
    if len(data) > MAX_VALUE_BYTES:
        whole = data[: MAX_VALUE_BYTES - len(_CUT)].decode("utf-8", errors="ignore").encode()
        data = whole + _CUT
    name = key.encode("ascii")
    if b"\n" in data:
        return name + b"\n" + len(data).to_bytes(8, "little") + data + b"\n"
    return name + b"=" + data + b"\n"


class Journal:
    """Sends entries to the journal at ``path``; ``always`` are fields that stand in every one."""

    def __init__(self, path: str, always: Mapping[str, str]) -> None:
        self.lost = 0
        """Entries since the last one that went through, which nobody will read."""
        self._path = path
        self._always = dict(always)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)

    def send(self, message: str, priority: int, fields: Mapping[str, str]) -> None:
        """Send one entry, or count it as lost."""
        lost = self.lost
        if lost and not self._offer(
            f"{lost} entries of this log are missing: the journal took none", _WARNING, {}
        ):
            self.lost += 1
            return
        self.lost = 0
        if not self._offer(message, priority, fields):
            self.lost += 1

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _offer(self, message: str, priority: int, fields: Mapping[str, str]) -> bool:
        head = {"MESSAGE": message, "PRIORITY": str(priority)}
        try:
            self._socket.sendto(entry((head | self._always | dict(fields)).items()), self._path)
        except OSError:
            return False
        return True
