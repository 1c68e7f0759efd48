"""The gateway: the process that owns every socket but the plant's, between the operators and the loop.

Life. ``GatewayHandle.start`` starts ``python -m mastd.wire.gateway`` before the loop's process takes its
rights, gives it the blocks by file descriptor and the job through standard input, and waits until the
sockets are open. The gateway ends when the handle is closed, when the loop's process is gone or when the
status block says that the loop has ended. It ignores SIGINT, SIGTERM, SIGHUP and a watchdog's SIGABRT: as
long as the table can move, somebody must be able to stop it.

What happens in between stands in ``gateway_turns``; what is said in ``operator_messages``; who may what in
``operator_desk``.
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
from pathlib import Path

from mastd.errors import UsageError
from mastd.wire.address import snapshots_address, sockets_umask, telemetry_address
from mastd.wire.blocks import DRIVER, REQUEST, NewestValueBlock, status_layout
from mastd.wire.gateway_job import GatewayJob
from mastd.wire.rig_status import RIG_STATUS

START_TIMEOUT_S = 20.0
END_TIMEOUT_S = 2.0
_MESSAGE_BYTES = 1 << 16


class GatewayHandle:
    """The loop's side of the gateway; ``start`` makes one."""

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket, address: str) -> None:
        self.address = address
        self._process = process
        self._control = control

    @classmethod
    def start(
        cls,
        job: GatewayJob,
        request: NewestValueBlock,
        status: NewestValueBlock,
        driver: NewestValueBlock,
        rigs: NewestValueBlock | None = None,
    ) -> GatewayHandle:
        """Start the gateway and wait until its sockets are open.

        ``rigs`` is what the rigs' gateway shows, None where there is none.

        Start it before the loop takes its rights and locks its memory. Raises UsageError with one line if a
        socket cannot be opened; for one that another daemon serves, with that daemon's process id.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        arguments = {
            "--request": request.descriptor,
            "--status": status.descriptor,
            "--driver": driver.descriptor,
            "--rigs": rigs.descriptor if rigs is not None else -1,
            "--control": theirs.fileno(),
            "--parent": os.getpid(),
        }
        words = [str(word) for pair in arguments.items() for word in pair]
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "mastd.wire.gateway", *words],
            stdin=subprocess.PIPE,
            pass_fds=(
                *(block.descriptor for block in (request, status, driver)),
                theirs.fileno(),
                *job.loader_descriptors,
                *((rigs.descriptor,) if rigs is not None else ()),
                *([job.ring.descriptor] if job.ring is not None else ()),
            ),
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
            raise UsageError(str(answer.get("error", "the gateway did not start")))
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
    """Run the gateway's process; the arguments come from ``GatewayHandle.start``."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGABRT):
        signal.signal(number, signal.SIG_IGN)
    parser = argparse.ArgumentParser(prog="mastd.wire.gateway")
    for name in ("--request", "--status", "--driver", "--rigs", "--control", "--parent"):
        parser.add_argument(name, type=int, required=True)
    arguments = parser.parse_args()
    if os.sched_getscheduler(0) != os.SCHED_OTHER:  # inherited from a loop that already has its rights
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    control = socket.socket(fileno=arguments.control)
    job = GatewayJob.from_json(sys.stdin.buffer.read())

    from mastd.log.journald import connected_journal
    from mastd.log.sinks import open_sink
    from mastd.ring.observer import RingObserver
    from mastd.wire.gateway_sockets import OperatorSockets
    from mastd.wire.gateway_turns import GatewayTurns
    from mastd.wire.keys import KeyRing
    from mastd.wire.refusal_log import RefusalLog
    from mastd.wire.sessions import GatewayCounters
    from mastd.wire.telemetry_feed import TelemetryFeed

    counters = GatewayCounters()
    keys = KeyRing(Path(job.keys)) if job.keys else None
    is_service = bool(job.loader)  # a single run keeps no log of what was asked for
    log = RefusalLog(open_sink(connected_journal(os.environ)), is_service)
    os.umask(sockets_umask(job.address))
    try:
        telemetry = telemetry_address(job.address) if job.ring is not None else None
        sockets = OperatorSockets(
            job.address,
            snapshots_address(job.address),
            telemetry,
            job.network,
            keys,
            counters,
            log.unheard,
        )
    except UsageError as error:
        control.send(json.dumps({"error": str(error)}).encode())
        return 2
    os.umask(0o077)  # what the loader writes is for this user alone
    try:
        control.send(b'{"ready": true}')
        control.setblocking(False)
        request = NewestValueBlock(REQUEST, arguments.request)
        status = NewestValueBlock(status_layout(job.links), arguments.status)
        driver = NewestValueBlock(DRIVER, arguments.driver)
        feed = None
        if job.ring is not None:
            feed = TelemetryFeed(RingObserver(*job.ring), job.cycle_times(), sockets)
        rigs = NewestValueBlock(RIG_STATUS, arguments.rigs) if arguments.rigs >= 0 else None
        turns = GatewayTurns(
            job, sockets, counters, request, status, driver, rigs, feed, log, arguments.parent
        )
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
