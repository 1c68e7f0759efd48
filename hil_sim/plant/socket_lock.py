"""Keeps two plants from one socket file: a second bind would silently take over the first one's clients."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from mastd.errors import UsageError


class SocketLock:
    """Exclusive right to the socket file of an ``ipc://`` address, as a locked file beside it.

    Other addresses need none: the kernel refuses a second bind of a port or of an abstract name.
    """

    def __init__(self, address: str) -> None:
        """Take the right, or raise UsageError if another process has it or the directory cannot be used."""
        self._descriptor = -1
        self._path: Path | None = None
        if not address.startswith("ipc:///"):
            return
        self._path = Path(address.removeprefix("ipc://") + ".lock")
        while True:
            try:
                descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except OSError as error:
                raise UsageError(f"the plant cannot listen at {address}: {error.strerror}") from error
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                owner = os.pread(descriptor, 20, 0).decode(errors="replace").strip()
                os.close(descriptor)
                raise UsageError(f"another plant (pid {owner}) listens at {address}") from None
            # The previous owner may have removed the file between our opening and locking it.
            if self._is_current(descriptor):
                break
            os.close(descriptor)
        os.pwrite(descriptor, f"{os.getpid():<20}".encode(), 0)
        self._descriptor = descriptor

    def release(self) -> None:
        """Remove the socket file, which ZeroMQ leaves, and give the right back; may be called twice."""
        if self._descriptor >= 0 and self._path is not None:
            self._path.with_name(self._path.name.removesuffix(".lock")).unlink(missing_ok=True)
            self._path.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = -1

    def _is_current(self, descriptor: int) -> bool:
        assert self._path is not None
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(self._path))
        except FileNotFoundError:
            return False
