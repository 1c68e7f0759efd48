"""The socket of the rigs' gateway: one ROUTER for this machine.

Every rig has bounded queues: one that does not read loses its own messages, one that floods waits in its own
queue. Longer messages than the protocol has end their connection.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import zmq

from mastd.errors import UsageError
from mastd.wire.rig_job import RigsJob
from mastd.wire.rig_messages import LARGEST_RIG_MESSAGE
from mastd.wire.rig_status import RigCounters
from mastd.wire.sessions import Peer

RECEIVED_MARK = 64
SENT_MARK = 64
HANDSHAKE_MS = 2000
LAST_WORDS_MS = 200
LOCAL, NETWORK = 0, 1

_Socket = zmq.Socket[bytes]


class RigSockets:
    """All sockets of the rigs' gateway; raises UsageError where one cannot be opened."""

    def __init__(self, job: RigsJob, counters: RigCounters) -> None:
        self._context: zmq.Context[_Socket] = zmq.Context()
        self._poller = zmq.Poller()
        self._counters = counters
        self._files: list[Path] = []
        self._descriptor = -1
        try:
            self._routers = {LOCAL: self._router(job.address)}
        except BaseException:
            self.close()
            raise

    def also(self, descriptor: int) -> None:
        """Let ``poll`` end as well when this file descriptor can be read."""
        self._descriptor = descriptor
        self._poller.register(descriptor, zmq.POLLIN)

    def poll(self, milliseconds: int) -> bool:
        """Wait for a message, at most so long; return whether the other descriptor can be read."""
        return any(ready == self._descriptor for ready, _ in self._poller.poll(milliseconds))

    def receive(self, most: int) -> Iterator[tuple[Peer, list[bytes], str | None, bool]]:
        """Take at most ``most`` messages from each ROUTER: peer, frames, whose key it is, and whether that
        key may be a rig's."""
        for kind, router in self._routers.items():
            for _ in range(most):
                try:
                    parts = router.recv_multipart(zmq.NOBLOCK)
                except zmq.Again:
                    break
                yield (kind, parts[0]), parts[1:], None, True

    def send(self, peer: Peer, data: bytes) -> None:
        """Send to a peer; what its queue has no room for, and what is for nobody, is lost."""
        try:
            self._routers[peer[0]].send_multipart((peer[1], data), zmq.NOBLOCK)
        except zmq.ZMQError:
            self._counters.unsent += 1

    def close(self) -> None:
        """Close everything and remove the socket files; the last words have a moment to leave."""
        self._context.destroy(linger=LAST_WORDS_MS)
        for path in self._files:
            path.unlink(missing_ok=True)

    def _router(self, address: str) -> _Socket:
        socket = self._context.socket(zmq.ROUTER)
        socket.linger = 0
        socket.setsockopt(zmq.RCVHWM, RECEIVED_MARK)
        socket.setsockopt(zmq.SNDHWM, SENT_MARK)
        socket.setsockopt(zmq.MAXMSGSIZE, 4 * LARGEST_RIG_MESSAGE)
        socket.setsockopt(zmq.HANDSHAKE_IVL, HANDSHAKE_MS)
        socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
        if address.startswith("ipc:///"):
            self._files.append(Path(address.removeprefix("ipc://")))
        try:
            socket.bind(address)
        except zmq.ZMQError as error:
            raise UsageError(f"rigs cannot be served at {address}: {error.strerror}") from error
        self._poller.register(socket, zmq.POLLIN)
        return socket
