"""Clients that nobody wants, each a process: one floods, one never reads, one dies in the middle, over and over.

``python -m mastd.bench.hostile KIND ADDRESS`` with KIND flood, deaf or dying; it ends when its parent is gone.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

import zmq

from mastd.wire.operator_messages import OPERATOR_PROTOCOL_VERSION, Hello, pack_command, pack_hello

KINDS = ("flood", "deaf", "dying")


def start(kind: str, address: str) -> subprocess.Popen[bytes]:
    """Start one hostile client."""
    return subprocess.Popen([sys.executable, "-P", "-m", "mastd.bench.hostile", kind, address])


def main(kind: str, address: str) -> None:
    """Misbehave until the parent is gone."""
    parent = os.getppid()
    hello = pack_hello(Hello(OPERATOR_PROTOCOL_VERSION, kind, f"hostile {kind}", "operator"))
    number = 0
    while os.getppid() == parent:
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        socket = context.socket(zmq.DEALER)
        socket.linger = 0
        socket.connect(address)
        socket.send(hello)
        session = 0 if kind == "deaf" else _session(socket)
        for _ in range(1000 if kind == "dying" else 1_000_000_000):
            number += 1
            try:
                socket.send(pack_command(session, number, "status", {}), zmq.NOBLOCK)
            except zmq.Again:
                time.sleep(1e-4)
            if number % 64 == 0 and os.getppid() != parent:
                break
            if kind == "flood":
                while socket.poll(0):
                    socket.recv()
        socket.close()
        context.term()


def _session(socket: zmq.Socket[bytes]) -> int:
    from mastd.wire.operator_messages import Welcome, read_from_gateway

    if socket.poll(2000):
        message = read_from_gateway(socket.recv())
        if isinstance(message, Welcome):
            return message.session
    return 0


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
