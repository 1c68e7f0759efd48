"""Clients that nobody wants, each a process: one floods, one never reads, one dies again and again, one
drives a car as fast as it can send.

``python -m mastd.bench.wire.hostile KIND ADDRESS``, KIND of ``KINDS``; it ends when its parent is gone.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time

from mastd.errors import UsageError
from mastd.wire.operators.drive_client import DriveClient
from mastd.wire.operators.messages import Inputs

KINDS = ("flood", "deaf", "dying", "driving")
DYING_AFTER = 500


def start(kind: str, address: str) -> subprocess.Popen[bytes]:
    """Start one hostile client."""
    return subprocess.Popen([sys.executable, "-P", "-m", "mastd.bench.wire.hostile", kind, address])


def main(kind: str, address: str) -> None:
    """Misbehave until the parent is gone."""
    parent = os.getppid()
    if kind != "dying":
        misbehave(kind, address, parent)
        return
    while os.getppid() == parent:
        child = os.fork()
        if child == 0:
            misbehave(kind, address, os.getppid())
            os._exit(1)  # in the middle: no goodbye, its connection open
        os.waitpid(child, 0)


def misbehave(kind: str, address: str, parent: int) -> None:
    """Send without end, or until it is time to die; only the flood reads its answers now and then."""
    client = None
    while client is None and os.getppid() == parent:
        try:
            client = DriveClient(address, f"hostile {kind}")
        except UsageError:
            time.sleep(0.01)  # nobody there yet
    sent = 0
    while client is not None and os.getppid() == parent and not (kind == "dying" and sent > DYING_AFTER):
        sent += 1
        if kind == "driving":
            client.drive(Inputs(throttle=(sent % DYING_AFTER) / DYING_AFTER))
        else:
            client.send("status")
        if kind == "flood" and sent % DYING_AFTER == 0:
            with contextlib.suppress(UsageError):  # a session that the gateway has dropped meanwhile
                client.status()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
