"""The rigs' gateway: the process that owns the rigs' socket, between the rigs and the loop.

It is a process of its own, beside that of the operators, so that eight rigs at the loop's rate, or one that
floods, cost the operators nothing: a stop of theirs does not wait behind a rig. It is started only where the
settings name rigs. It lives as the operators' gateway does (``mastd.wire.gateway``): it ignores signals, and
ends when its handle is closed or the loop's process is gone.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys

from mastd.errors import UsageError
from mastd.wire.address import sockets_umask
from mastd.wire.blocks import NewestValueBlock, status_layout
from mastd.wire.rig_block import RIG_VALUES, Event, RigLink, rig_frame_layout
from mastd.wire.rig_job import RigsJob
from mastd.wire.rig_status import RIG_STATUS

START_TIMEOUT_S = 20.0
END_TIMEOUT_S = 2.0
_MESSAGE_BYTES = 1 << 16
_DESCRIPTORS = ("values", "frame", "shown", "answered", "status", "rigs", "control", "parent")


class RigGatewayHandle:
    """The loop's side of the rigs' gateway; ``start`` makes one."""

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket, address: str) -> None:
        self.address = address
        self._process = process
        self._control = control

    @classmethod
    def start(
        cls,
        job: RigsJob,
        link: RigLink,
        status: NewestValueBlock,
        rigs: NewestValueBlock,
    ) -> RigGatewayHandle:
        """Start the gateway and wait until its socket is open.

        ``status`` is the loop's, read here; ``rigs`` is what this gateway shows of the rigs. Raises
        UsageError with one line if a socket cannot be opened.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        parts = (link.values, link.frame, link.shown, link.answered, status, rigs)
        shared = [part.descriptor for part in parts]
        numbers = (*shared, theirs.fileno(), os.getpid())
        pairs = zip(_DESCRIPTORS, numbers, strict=True)
        words = [word for name, number in pairs for word in (f"--{name}", str(number))]
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "mastd.wire.rig_gateway", *words],
            stdin=subprocess.PIPE,
            pass_fds=(*shared, theirs.fileno()),
            start_new_session=True,
        )
        theirs.close()
        handle = cls(process, ours, job.address)
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError), process.stdin:
            process.stdin.write(job.to_json())
        ours.settimeout(START_TIMEOUT_S)
        answer: dict[str, object] = {}
        with contextlib.suppress(OSError, ValueError):
            answer = json.loads(ours.recv(_MESSAGE_BYTES))
        if "ready" not in answer:
            handle.close(0.0)
            raise UsageError(str(answer.get("error", "the rigs' gateway did not start")))
        return handle

    @property
    def process_id(self) -> int:
        """Process id of the gateway."""
        return self._process.pid

    def alive(self) -> bool:
        """Return whether the gateway's process still runs."""
        return self._process.poll() is None

    def close(self, patience: float = END_TIMEOUT_S) -> None:
        """End the gateway, by force if it does not end by itself within ``patience`` seconds."""
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._control.close()


def main() -> int:
    """Run the gateway's process; the arguments come from ``RigGatewayHandle.start``."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGABRT):
        signal.signal(number, signal.SIG_IGN)
    parser = argparse.ArgumentParser(prog="mastd.wire.rig_gateway")
    for name in _DESCRIPTORS:
        parser.add_argument(f"--{name}", type=int, required=True)
    given = parser.parse_args()
    if os.sched_getscheduler(0) != os.SCHED_OTHER:  # inherited from a loop that already has its rights
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    control = socket.socket(fileno=given.control)
    job = RigsJob.from_json(sys.stdin.buffer.read())

    from mastd.log.journald import connected_journal
    from mastd.log.sinks import open_sink
    from mastd.wire.refusal_log import RefusalLog
    from mastd.wire.rig_sockets import RigSockets
    from mastd.wire.rig_status import RigCounters
    from mastd.wire.rig_turns import RigTurns

    counters = RigCounters()
    log = RefusalLog(open_sink(connected_journal(os.environ)))
    os.umask(sockets_umask(job.address))
    try:
        sockets = RigSockets(job, counters, log.unheard)
    except UsageError as error:
        control.send(json.dumps({"error": str(error)}).encode())
        return 2
    try:
        width = len(job.columns) + job.spare
        turns = RigTurns(
            job,
            given.parent,
            sockets,
            counters,
            NewestValueBlock(RIG_VALUES, given.values),
            NewestValueBlock(rig_frame_layout(width), given.frame),
            Event(given.shown),
            Event(given.answered),
            NewestValueBlock(status_layout(job.links), given.status),
            NewestValueBlock(RIG_STATUS, given.rigs),
            log,
        )
        control.send(b'{"ready": true}')
        control.setblocking(False)
        turns.run(lambda: _told_to_end(control))
    finally:
        sockets.close()
        log.close()
    return 0


def _told_to_end(control: socket.socket) -> bool:
    try:
        return control.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


if __name__ == "__main__":
    sys.exit(main())
