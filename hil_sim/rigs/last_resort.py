"""The end of a process that was told to end and does not: a call into others' code never comes back."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Final

GRACE: Final = 2.0
"""s between a signal and the end by force."""


class LastResort:
    """Ends the process ``GRACE`` s after SIGTERM or SIGINT, if it has not ended; use it as a context manager.

    A signal's handler in Python has to wait until a call into a library returns; a thread does not. SIGTERM
    raises SystemExit as long as nobody else handles it. ``directory``: removed at the end, whichever way.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> LastResort:
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
        signal.signal(signal.SIGTERM, _leave)
        self._before = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        signal.set_wakeup_fd(self._before)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        os.close(self._write)
        self._thread.join()
        os.close(self._read)
        shutil.rmtree(self._directory, ignore_errors=True)

    def _watch(self) -> None:
        if not os.read(self._read, 1) or self._over.wait(GRACE):
            return
        shutil.rmtree(self._directory, ignore_errors=True)
        with contextlib.suppress(OSError):
            sys.stderr.write(f"killed: did not end on request for {GRACE:g} s\n")
            sys.stderr.flush()
        os._exit(3)


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
