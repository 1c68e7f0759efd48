"""Processes that the console starts for long calculations: low priority, limited time, none left behind.

Run as a module (``python -m mastd.console.child PARENT MODULE …``) it becomes another module with low
priority, and dies with its parent however that ends (prctl(2), PR_SET_PDEATHSIG, which execve(2) keeps).
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import sys
from dataclasses import dataclass

PR_SET_PDEATHSIG = 1
PATIENT = 10
"""Added to the process's nice value."""


@dataclass(frozen=True)
class Done:
    """How a process ended: its code, None if it was ended for taking too long, and what it printed."""

    code: int | None
    output: bytes
    messages: str


class Children:
    """Processes that are running; ``end`` leaves none."""

    def __init__(self) -> None:
        self._running: set[asyncio.subprocess.Process] = set()
        self._ended = False

    async def run(self, module: str, *arguments: str, given: bytes = b"", limit_s: float) -> Done:
        """Run ``python -m MODULE ARGUMENTS`` to its end, or to the end of its time."""
        if self._ended:
            return Done(None, b"", "")
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "mastd.console.child",
            str(os.getpid()),
            module,
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        self._running.add(process)
        try:
            async with asyncio.timeout(limit_s):
                output, messages = await process.communicate(given)
        except TimeoutError:
            return Done(None, b"", "")
        finally:
            self._running.discard(process)
            _kill(process)
        return Done(process.returncode, output, messages.decode(errors="replace"))

    def end(self) -> None:
        """End all that run, and start no more."""
        self._ended = True
        for process in self._running:
            _kill(process)


def _kill(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def main() -> None:
    """Become the module that is asked for."""
    parent, *module = sys.argv[1:]
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    os.nice(PATIENT)
    if os.getppid() == int(parent):  # else it has ended before the line above
        os.execv(sys.executable, [sys.executable, "-m", *module])


if __name__ == "__main__":
    main()
