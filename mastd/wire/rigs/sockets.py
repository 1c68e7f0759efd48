"""The sockets of the rigs' gateway: a ROUTER for this machine and, with keys, one for others.

Every rig has bounded queues: one that does not read loses its own messages, one that floods waits in its own
queue. Longer messages than the protocol has end their connection. The network's socket speaks CURVE only and
has a context of its own, so that whatever comes from there does not hold up this machine's rigs.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import zmq

from mastd.errors import UsageError
from mastd.wire.access.authentication import Authentication, Unheard, check_network
from mastd.wire.access.keys import KeyRing
from mastd.wire.access.roles import Role
from mastd.wire.access.sessions import Peer
from mastd.wire.access.verbs import commands
from mastd.wire.common.rig_status import RigCounters
from mastd.wire.common.socket_file import SocketFile
from mastd.wire.rigs.config import RigGatewayConfig
from mastd.wire.rigs.messages import MAX_RIG_MESSAGE

MARK = 64
HANDSHAKE_MS = 2000
LINGER_MS = 200
LOCAL, NETWORK = 0, 1

_Socket = zmq.Socket[bytes]


class RigSockets:
    """All sockets of the rigs' gateway; raises UsageError where one cannot be opened.

    ``report`` is reported of everybody who is not let in.
    """

    def __init__(
        self, config: RigGatewayConfig, counters: RigCounters, report: Callable[[Unheard], None]
    ) -> None:
        self._context: zmq.Context[_Socket] = zmq.Context()
        self._network: zmq.Context[_Socket] = zmq.Context()
        self._poller = zmq.Poller()
        self._counters = counters
        self._report = report
        self._file: SocketFile | None = None
        self._routers: dict[int, _Socket] = {}
        self._authentication: Authentication | None = None
        self._endpoint = ""
        self._descriptor = -1
        try:
            self._file = SocketFile.of(config.address, os.getppid(), "rigs")
            self._routers[LOCAL] = self._router(self._context, config.address)
            if config.network is not None:
                self._open_network(config.network, config.keys)
        except BaseException:
            self.close()
            raise

    def also(self, descriptor: int) -> None:
        """Let ``poll`` end as well when this file descriptor can be read."""
        self._descriptor = descriptor
        self._poller.register(descriptor, zmq.POLLIN)

    def poll(self, milliseconds: int) -> bool:
        """Wait for a message, at most so long; return whether the other descriptor can be read."""
        ready = self._poller.poll(milliseconds)
        if self._authentication is not None:
            self._authentication.poll()
        return any(source == self._descriptor for source, _ in ready)

    def receive(self, maximum: int) -> Iterator[tuple[Peer, list[bytes], str | None, Role]]:
        """Take at most ``maximum`` messages from each ROUTER: peer, frames, whose key it is (None on the
        local socket, empty for one that may be any rig), and its role."""
        local = self._routers[LOCAL]
        for _ in range(maximum):
            try:
                peer, *frames = local.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                break
            yield (LOCAL, peer), frames, None, "engineer"
        if self._authentication is None:
            return
        for _ in range(maximum):
            try:
                # Frames as objects: they know the key of their connection.
                parts = self._routers[NETWORK].recv_multipart(zmq.NOBLOCK, copy=False)
            except zmq.Again:
                break
            identity = self._authentication.identity(parts[-1], self._endpoint)
            if identity is not None:
                owner = "" if commands(identity.role) else identity.name
                yield (NETWORK, parts[0].bytes), [part.bytes for part in parts[1:]], owner, identity.role

    def send(self, peer: Peer, data: bytes) -> None:
        """Send to a peer; what its queue has no space for, and what is for nobody, is lost."""
        try:
            self._routers[peer[0]].send_multipart((peer[1], data), zmq.NOBLOCK)
        except zmq.ZMQError:
            self._counters.unsent += 1

    def close(self) -> None:
        """Close everything and remove the socket's file; the last words have a moment to leave."""
        for context in (self._context, self._network):
            with contextlib.suppress(zmq.ZMQError):
                context.destroy(linger=LINGER_MS)
        if self._file is not None:
            self._file.close()

    def _open_network(self, address: str, keys: str | None) -> None:
        ring = KeyRing(Path(keys)) if keys is not None else None
        checked = check_network(address, ring, "rigs' address")
        assert ring is not None, "check_network refuses an address without keys"
        self._authentication = Authentication(self._network, self._poller, ring, self._counters, self._report)
        self._routers[NETWORK] = self._router(self._network, checked, self._authentication)
        self._endpoint = checked

    def _router(
        self, context: zmq.Context[_Socket], address: str, authentication: Authentication | None = None
    ) -> _Socket:
        socket = context.socket(zmq.ROUTER)
        socket.linger = 0
        socket.set_hwm(MARK)
        socket.setsockopt(zmq.MAXMSGSIZE, 4 * MAX_RIG_MESSAGE)
        socket.setsockopt(zmq.HANDSHAKE_IVL, HANDSHAKE_MS)
        socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
        socket.setsockopt(zmq.IPV6, int("[" in address))
        if authentication is not None:
            authentication.protect(socket, address)
        try:
            socket.bind(address)
        except zmq.ZMQError as error:
            raise UsageError(f"rigs cannot be served at {address}: {error.strerror}") from error
        self._poller.register(socket, zmq.POLLIN)
        return socket
