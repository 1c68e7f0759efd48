"""A gateway as a process: how it is started and ended, and what it does first. Both gateways live like this.

``start`` runs ``python -m MODULE`` before the loop's process takes its rights, gives it shared memory by
file descriptor and its configuration through standard input (MessagePack), and waits until its sockets are
open. It ends when the handle is closed or the loop's process is gone. It ignores SIGINT, SIGTERM, SIGHUP and
a watchdog's SIGABRT: as long as the table can move, somebody must be able to stop it.
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
from collections.abc import Mapping, Sequence
from typing import Self, TypeVar

import msgspec

from mastd.errors import UsageError
from mastd.oom_score import OF_GATEWAYS, give_up_protection
from mastd.wire.common.strict_messages import pack

Config = TypeVar("Config")

START_TIMEOUT_S = 20.0
END_TIMEOUT_S = 2.0
_MESSAGE_BYTES = 1 << 16
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGABRT)


class GatewayProcess:
    """The loop's side of a gateway."""

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket, address: str) -> None:
        self.address = address
        self._process = process
        self._control = control

    @classmethod
    def start_module(
        cls, module: str, shared: Mapping[str, int], more: Sequence[int], config: object, address: str
    ) -> Self:
        """Start a gateway and wait until its sockets are open.

        ``shared``: file descriptors by the names of the options that tell them, −1 for none; ``more``: others
        that it inherits; ``config`` is what ``LoopsEnd.config`` reads. Raises UsageError with one line if a
        socket cannot be opened.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        numbers = {**shared, "control": theirs.fileno(), "parent": os.getpid()}
        arguments = [argument for name, number in numbers.items() for argument in (f"--{name}", str(number))]
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", module, *arguments],
            stdin=subprocess.PIPE,
            pass_fds=(*(number for number in shared.values() if number >= 0), theirs.fileno(), *more),
            start_new_session=True,
        )
        theirs.close()
        handle = cls(process, ours, address)
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError), process.stdin:
            process.stdin.write(pack(config))
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


class LoopsEnd:
    """The gateway's side: numbers of what it was given, and the line to the loop's process."""

    def __init__(self, module: str, shared: Sequence[str]) -> None:
        """Do what a gateway does first, and read the options of ``start_module``: those named ``shared``."""
        for number in _IGNORED:
            signal.signal(number, signal.SIG_IGN)
        parser = argparse.ArgumentParser(prog=module)
        for name in (*shared, "control", "parent"):
            parser.add_argument(f"--{name}", type=int, required=True)
        self.given: dict[str, int] = vars(parser.parse_args())
        self.parent = self.given["parent"]
        if os.sched_getscheduler(0) != os.SCHED_OTHER:  # inherited from a loop that already has its rights
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        give_up_protection(OF_GATEWAYS)
        self._control = socket.socket(fileno=self.given["control"])

    def config(self, kind: type[Config]) -> Config:
        """Return the configuration that standard input holds."""
        return msgspec.msgpack.decode(sys.stdin.buffer.read(), type=kind)

    def refuse(self, error: UsageError) -> None:
        """Tell why it cannot begin."""
        self._control.send(json.dumps({"error": str(error)}).encode())

    def ready(self) -> None:
        """Tell that its sockets are open."""
        self._control.send(b'{"ready": true}')
        self._control.setblocking(False)

    def stop_requested(self) -> bool:
        """Return whether the handle has been closed."""
        try:
            return self._control.recv(1) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True
