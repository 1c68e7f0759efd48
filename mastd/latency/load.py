"""Work that keeps a machine busy while it is measured: arithmetic, memory, disk, one process a processor.

``python -m mastd.latency.load`` works until its standard input ends.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterator

BLOCK_BYTES = 1 << 22


@contextlib.contextmanager
def busy_machine(processes: int) -> Iterator[None]:
    """Keep this many processes working in the context."""
    workers = [
        subprocess.Popen([sys.executable, "-P", "-m", "mastd.latency.load"], stdin=subprocess.PIPE)
        for _ in range(processes)
    ]
    try:
        yield
    finally:
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.close()
        for worker in workers:
            worker.wait()


def main() -> int:
    """Work until standard input ends."""
    with contextlib.suppress(OSError):  # an ordinary program, whatever its parent has become
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    block = bytearray(BLOCK_BYTES)
    with tempfile.TemporaryFile() as file:
        while not select.select([sys.stdin], [], [], 0.0)[0]:
            digest = hashlib.sha256(block).digest()
            block[: BLOCK_BYTES // 2] = block[BLOCK_BYTES // 2 :]
            block[: len(digest)] = digest
            with contextlib.suppress(OSError):
                file.seek(0)
                file.write(block)
                file.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
