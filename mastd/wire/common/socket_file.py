"""Socket files: the right to one, so that a second process does not silently take over its clients."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from pathlib import Path
from typing import Self

from mastd.errors import UsageError

PATIENCE_S = 1.0
"""A gateway that has just lost its daemon needs a moment to end."""
_CHECK_INTERVAL_S = 0.02
_MAX_ID_LENGTH = 20


class SocketFile:
    """The right to the socket file at ``path``, held until it is closed; the file goes with it.

    The lock beside it (``.lock``) says the process id of whoever holds it: ``owner``, in decimal. ``what``
    says who is served there, in errors. Raises UsageError if another process has it, or the directory cannot
    be written to.
    """

    def __init__(self, path: Path, owner: int, what: str = "operators") -> None:
        self.path = path
        lock = path.with_name(path.name + ".lock")
        try:
            self._descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise UsageError(f"{what} cannot be served at {path}: {error.strerror}") from error
        try:
            self._take(what)
        except BaseException:
            os.close(self._descriptor)
            raise
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, str(owner).encode(), 0)

    @classmethod
    def of(cls, address: str, owner: int, what: str = "operators") -> Self | None:
        """Return the right to the file of an address, None for one without a file."""
        if not address.startswith("ipc:///"):
            return None
        return cls(Path(address.removeprefix("ipc://")), owner, what)

    def close(self) -> None:
        """Remove the socket file and give the right back."""
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)
        os.close(self._descriptor)

    def _take(self, what: str) -> None:
        end = time.monotonic() + PATIENCE_S
        while True:
            with contextlib.suppress(OSError):
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            if time.monotonic() > end:
                owner = os.pread(self._descriptor, _MAX_ID_LENGTH, 0).decode(errors="replace").strip()
                raise UsageError(
                    f"{what} are served at {self.path} by the daemon with process id {owner or 'unknown'} "
                    "already; stop it first, or set XDG_RUNTIME_DIR for a second one"
                )
            time.sleep(_CHECK_INTERVAL_S)
