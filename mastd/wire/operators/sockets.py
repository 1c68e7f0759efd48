"""The gateway's sockets: a ROUTER for commands, a PUB for the status and an XPUB for telemetry, for this
machine and, with keys, for others.

Every peer has bounded queues. A client that never reads loses its own answers, one that floods is slowed down
by its own full queue, since ROUTER takes one message of each peer in turn. Bigger messages than
``MAX_FRAME`` end their connection.

The network sockets speak CURVE only, with keys of the key ring (``authentication``). A local client is
whoever can enter the socket's directory. When a key is revoked, messages of its connection are dropped from
then on, and the network's status and telemetry are opened again, which ends its subscriptions.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator

import zmq

from mastd.errors import UsageError
from mastd.wire.access.authentication import Authentication, Unheard, check_network
from mastd.wire.access.keys import KeyRing
from mastd.wire.access.peer_credentials import PeerUsers
from mastd.wire.access.sessions import (
    LOCAL,
    NETWORK,
    OBSERVERS,
    Addresses,
    GatewayCounters,
    Peer,
    PeerIdentity,
)
from mastd.wire.common.address import observers_address, snapshots_address, telemetry_address
from mastd.wire.common.socket_file import SocketFile

HIGH_WATER_MARK = 256
SNAPSHOT_HIGH_WATER_MARK = 64
TELEMETRY_HIGH_WATER_MARK = 64
MAX_NOTICES = 1024
"""Subscriptions and their ends that are read at a time."""
MAX_FRAME = 1 << 16
HANDSHAKE_MS = 2000
LINGER_MS = 200
_MARKS = {
    int(zmq.ROUTER): HIGH_WATER_MARK,
    int(zmq.PUB): SNAPSHOT_HIGH_WATER_MARK,
    int(zmq.XPUB): TELEMETRY_HIGH_WATER_MARK,
}

_Socket = zmq.Socket[bytes]


def _report_nobody(unheard: Unheard) -> None:
    """Somebody is not let in, and nobody needs to know."""


class OperatorSockets:
    """All sockets of the gateway; raises UsageError where one cannot be opened.

    ``report`` is told of everybody who is not let in. The network's sockets have a context of their own, so
    that whatever comes from there does not hold up this machine's.
    """

    def __init__(
        self,
        local: str,
        snapshots: str,
        telemetry: str | None,
        network: str | None,
        keys: KeyRing | None,
        counters: GatewayCounters,
        report: Callable[[Unheard], None] = _report_nobody,
    ) -> None:
        self._context: zmq.Context[_Socket] = zmq.Context()
        self._network: zmq.Context[_Socket] = zmq.Context()
        self._poller = zmq.Poller()
        self._files: list[SocketFile] = []
        self._counters = counters
        self._report = report
        self._authentication: Authentication | None = None
        self._revocations = 0
        self._routers: dict[int, _Socket] = {}
        self._publishers: dict[int, _Socket] = {}
        self._tellers: dict[int, _Socket] = {}
        self._subscriptions: dict[int, int] = {}
        self._endpoint = ""
        self._outlets: dict[int, str] = {}
        """Addresses of the network's status and telemetry, by the kind of socket."""
        self._users = PeerUsers()
        self._snapshots = {LOCAL: snapshots}
        self._telemetry = {LOCAL: telemetry} if telemetry is not None else {}
        try:
            self._routers[LOCAL] = self._router(local)
            self._publishers[LOCAL] = self._bound(zmq.PUB, snapshots)
            if telemetry is not None:
                self._tellers[LOCAL] = self._bound(zmq.XPUB, telemetry)
            if (observers := observers_address(local)) is not None:
                self._open_observers(observers)
            if network is not None:
                self._open_network(network, keys)
        except BaseException:
            self.close()
            raise

    def _open_observers(self, address: str) -> None:
        """Open the sockets of those on this machine who only watch; their directory says who that is."""
        self._snapshots[OBSERVERS] = snapshots_address(address)
        self._routers[OBSERVERS] = self._router(address)
        self._publishers[OBSERVERS] = self._bound(zmq.PUB, self._snapshots[OBSERVERS])
        opened = [address, self._snapshots[OBSERVERS]]
        if self._telemetry:
            self._telemetry[OBSERVERS] = telemetry_address(address)
            self._tellers[OBSERVERS] = self._bound(zmq.XPUB, self._telemetry[OBSERVERS])
            opened.append(self._telemetry[OBSERVERS])
        for each in opened:
            os.chmod(each.removeprefix("ipc://"), 0o666)

    def _open_network(self, address: str, keys: KeyRing | None) -> None:
        checked = check_network(address, keys)
        assert keys is not None
        self._authentication = Authentication(self._network, self._poller, keys, self._counters, self._report)
        router = self._routers[NETWORK] = self._router(checked, self._authentication)
        self._endpoint = router.getsockopt_string(zmq.LAST_ENDPOINT)
        host, _, port = self._endpoint.rpartition(":")
        self._outlets[zmq.PUB] = f"{host}:{int(port) + 1}"
        self._snapshots[NETWORK] = f"tcp://*:{int(port) + 1}"
        if self._telemetry:
            self._outlets[zmq.XPUB] = f"{host}:{int(port) + 2}"
            self._telemetry[NETWORK] = f"tcp://*:{int(port) + 2}"
        self._open_outlets()

    def _open_outlets(self) -> None:
        """Open those of the network's status and telemetry that are not open."""
        for kind, outlets in ((zmq.PUB, self._publishers), (zmq.XPUB, self._tellers)):
            if kind in self._outlets and NETWORK not in outlets:
                outlets[NETWORK] = self._bound(kind, self._outlets[kind], self._authentication)

    def _close_outlets(self) -> None:
        """End every subscription from the network; who still has a key comes back by itself."""
        assert self._authentication is not None
        for outlets in (self._publishers, self._tellers):
            outlet = outlets.pop(NETWORK, None)
            if outlet is not None:
                self._authentication.release(outlet)
                outlet.close(0)
        self._subscriptions.pop(NETWORK, None)

    def poll(self, milliseconds: int) -> None:
        """Wait for a message, at most so long; answer who asks whether a key may connect."""
        self._poller.poll(milliseconds)
        if self._authentication is None:
            return
        self._authentication.poll()
        if self._authentication.revocations != self._revocations:
            self._revocations = self._authentication.revocations
            self._close_outlets()
        with contextlib.suppress(UsageError):  # a port that was just closed may take a moment to be free
            self._open_outlets()

    def receive(self, maximum: int) -> Iterator[tuple[Peer, list[bytes], PeerIdentity | None]]:
        """Take at most ``maximum`` messages from each ROUTER: peer, frames, and who it comes from."""
        for kind, router in self._routers.items():
            for _ in range(maximum):
                try:
                    # Frames as objects: they know the key of their connection.
                    parts = router.recv_multipart(zmq.NOBLOCK, copy=False)
                except zmq.Again:
                    break
                if kind == NETWORK and self._authentication is not None:
                    identity = self._authentication.identity(parts[-1], self._endpoint)
                    if identity is None:
                        continue
                else:
                    identity = self._users.identity(parts[-1], kind)
                yield (kind, parts[0].bytes), [part.bytes for part in parts[1:]], identity

    def addresses(self, peer: Peer) -> Addresses:
        """Return where a peer can read status and telemetry; a host ``*`` is the one it has connected to."""
        return Addresses(self._snapshots[peer[0]], self._telemetry.get(peer[0], ""))

    def send(self, peer: Peer, data: bytes) -> None:
        """Send to a peer; what its queue has no space for, and what is for nobody, is lost."""
        try:
            self._routers[peer[0]].send_multipart((peer[1], data), zmq.NOBLOCK)
        except zmq.ZMQError:
            self._counters.unsent += 1

    def publish(self, data: bytes) -> None:
        """Send a status snapshot to whoever reads."""
        for publisher in self._publishers.values():
            with contextlib.suppress(zmq.ZMQError):
                publisher.send(data, zmq.NOBLOCK)

    def subscribed(self) -> bool:
        """Return whether anybody reads telemetry."""
        for endpoint, teller in self._tellers.items():
            with contextlib.suppress(zmq.Again):
                for _ in range(MAX_NOTICES):
                    # The socket tells the first subscription to a topic, and the end of the last one.
                    change = {b"\1": 1, b"\0": -1}.get(teller.recv(zmq.NOBLOCK)[:1], 0)
                    self._subscriptions[endpoint] = self._subscriptions.get(endpoint, 0) + change
        return any(count > 0 for count in self._subscriptions.values())

    def send_telemetry(self, data: bytes) -> None:
        """Send telemetry to whoever reads; who has no space loses it."""
        for teller in self._tellers.values():
            with contextlib.suppress(zmq.ZMQError):
                teller.send(data, zmq.NOBLOCK)

    def close(self) -> None:
        """Close everything and remove the socket files; the last words have a moment to leave."""
        self._network.destroy(linger=LINGER_MS)
        self._context.destroy(linger=LINGER_MS)
        for file in self._files:
            file.close()

    def _router(self, address: str, authentication: Authentication | None = None) -> _Socket:
        socket = self._bound(zmq.ROUTER, address, authentication)
        self._poller.register(socket, zmq.POLLIN)
        return socket

    def _bound(self, kind: int, address: str, authentication: Authentication | None = None) -> _Socket:
        """Return a socket that is bound, with what bounds a peer's share."""
        file = SocketFile.of(address, os.getppid())
        if file is not None:
            self._files.append(file)
        context = self._context if authentication is None else self._network
        socket = context.socket(kind)
        socket.linger = 0
        socket.set_hwm(_MARKS[kind])
        socket.setsockopt(zmq.MAXMSGSIZE, MAX_FRAME)
        socket.setsockopt(zmq.HANDSHAKE_IVL, HANDSHAKE_MS)
        if authentication is not None:
            authentication.protect(socket, address)
        try:
            socket.bind(address)
        except zmq.ZMQError as error:
            if authentication is not None:
                authentication.release(socket)
            socket.close()
            raise UsageError(f"operators cannot be served at {address}: {error.strerror}") from error
        return socket
