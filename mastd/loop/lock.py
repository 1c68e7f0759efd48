"""Lock files that say who holds them: one daemon per plant, one place for operators."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mastd.errors import UsageError
from mastd.wire.address import runtime_directory


@contextmanager
def held(path: Path, words: str) -> Iterator[str]:
    """Hold a lock file with ``words`` in it for as long as the context, or the process, lasts.

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
        file.write(words)
        file.flush()
        yield ""


@contextmanager
def plant_lock(address: str | None) -> Iterator[None]:
    """Hold the plant at ``address``; None is a simulated plant of one's own, which needs no lock.

    Raises UsageError with the process id of the daemon that holds it.
    """
    if address is None:
        yield
        return
    path = runtime_directory() / f"plant-{hashlib.sha256(address.encode()).hexdigest()[:16]}.lock"
    with held(path, str(os.getpid())) as owner:
        if owner:
            raise UsageError(
                f"the plant at {address} is driven by the daemon with process id {owner}; stop it first"
            )
        yield
