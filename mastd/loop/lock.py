"""One daemon per plant: a lock file named after the plant's address, held as long as the process lives."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager

from mastd.errors import UsageError
from mastd.wire.address import runtime_directory


@contextmanager
def plant_lock(address: str | None) -> Iterator[None]:
    """Hold the plant at ``address``; None is a simulated plant of one's own, which needs no lock.

    Raises UsageError with the process id of the daemon that holds it.
    """
    if address is None:
        yield
        return
    path = runtime_directory() / f"plant-{hashlib.sha256(address.encode()).hexdigest()[:16]}.lock"
    with open(path, "a+", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.seek(0)
            owner = file.read().strip() or "unknown"
            raise UsageError(
                f"the plant at {address} is driven by the daemon with process id {owner}; stop it first"
            ) from error
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
