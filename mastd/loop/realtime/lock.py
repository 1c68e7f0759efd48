"""Lock files that say who holds them: one daemon per plant, one place for operators."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mastd.errors import UsageError
from mastd.wire.common.address import SERVICE_DIRECTORY, runtime_directory

_STOP = "use `mastd ctl`, or stop it first (`systemctl stop mastd`)"


@contextmanager
def held(path: Path, text: str) -> Iterator[str]:
    """Hold a lock file with ``text`` in it for as long as the context, or the process, lasts.

    Gives an empty text, or the words of whoever holds it already ("unknown" if there are none).
    """
    with open(path, "a+", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            yield file.read().strip() or "unknown"
            return
        file.truncate(0)
        file.write(text)
        file.flush()
        yield ""


def holder(path: Path) -> str:
    """Return the words of whoever holds a lock file, empty if nobody does or if it cannot be seen."""
    try:
        with open(path, encoding="ascii") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return file.read().strip() or "unknown"
    except OSError:
        return ""
    return ""


@contextmanager
def plant_lock(address: str | None) -> Iterator[None]:
    """Hold the plant at ``address``; None is a simulated plant of one's own, which needs no lock.

    Raises UsageError with the process id of the daemon that holds it, be it this user's or the service.
    Where the service's directory cannot be entered, the plant itself says who has its place.
    """
    if address is None:
        yield
        return
    name = f"plant-{hashlib.sha256(address.encode()).hexdigest()[:16]}.lock"
    path, service = runtime_directory() / name, SERVICE_DIRECTORY / name
    if path != service and (owner := holder(service)):
        raise UsageError(f"the plant at {address} is in use by the service with process id {owner}; {_STOP}")
    with held(path, str(os.getpid())) as owner:
        if owner:
            raise UsageError(
                f"the plant at {address} is in use by the daemon with process id {owner}; stop it first"
            )
        yield
