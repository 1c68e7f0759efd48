"""The gateway's sockets: a ROUTER for commands, a PUB for the status and an XPUB for telemetry, for this
machine and, with keys, for others.

Every peer has bounded queues. A client that never reads loses its own answers, one that floods is slowed down
by its own full queue, since ROUTER takes one message of each peer in turn. Bigger messages than
``LARGEST_FRAME`` end their connection.

The network sockets speak CURVE only. Who connects is asked of this process (ZAP, RFC 27): its public key must
be in the key ring. A local client is whoever can enter the socket's directory.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

import zmq
from zmq.utils import z85

from mastd.errors import UsageError
from mastd.wire.address import check_address
from mastd.wire.keys import KeyRing
from mastd.wire.sessions import Addresses, GatewayCounters, Guest, Peer

HIGH_WATER_MARK = 256
SNAPSHOT_HIGH_WATER_MARK = 64
TELEMETRY_HIGH_WATER_MARK = 64
MOST_NOTICES = 1024
"""Subscriptions and their ends that are read at a time."""
LARGEST_FRAME = 1 << 16
HANDSHAKE_MS = 2000
LAST_WORDS_MS = 200
LOCK_PATIENCE_S = 1.0
LOCAL, NETWORK = 0, 1

_Socket = zmq.Socket[bytes]


class OperatorSockets:
    """All sockets of the gateway; raises UsageError where one cannot be opened."""

    def __init__(
        self,
        local: str,
        snapshots: str,
        telemetry: str | None,
        network: str | None,
        keys: KeyRing | None,
        counters: GatewayCounters,
    ) -> None:
        self._context: zmq.Context[_Socket] = zmq.Context()
        self._poller = zmq.Poller()
        self._keys = keys
        self._files: list[Path] = []
        self._locks: list[int] = []
        self._zap: _Socket | None = None
        self._counters = counters
        self._tellers: list[_Socket] = []
        self._telemetry: dict[int, str] = {}
        self._subscriptions = 0
        try:
            self._routers = {LOCAL: self._router(local, None)}
            self._publishers = [self._publisher(snapshots, None)]
            self._snapshots = {LOCAL: snapshots}
            if telemetry is not None:
                self._tellers.append(self._teller(telemetry, None))
                self._telemetry = {LOCAL: telemetry}
            if network is not None:
                self._open_network(network)
        except BaseException:
            self.close()
            raise

    def _open_network(self, address: str) -> None:
        if self._keys is None:
            raise UsageError(
                f"operators' address {address!r}: a network address needs keys; see `mastd keys server`"
            )
        address = check_address(address, allow_remote=True, what="operators' address")
        if not address.startswith("tcp://"):
            raise UsageError(f"operators' address {address!r}: it must be tcp://ADDRESS:PORT")
        secret = self._keys.server()[1]
        self._zap = self._context.socket(zmq.REP)
        self._zap.linger = 0
        self._zap.bind("inproc://zeromq.zap.01")
        self._poller.register(self._zap, zmq.POLLIN)
        router = self._routers[NETWORK] = self._router(address, secret)
        host, _, port = router.getsockopt_string(zmq.LAST_ENDPOINT).rpartition(":")
        self._publishers.append(self._publisher(f"{host}:{int(port) + 1}", secret))
        self._snapshots[NETWORK] = f"tcp://*:{int(port) + 1}"
        if self._telemetry:
            self._tellers.append(self._teller(f"{host}:{int(port) + 2}", secret))
            self._telemetry[NETWORK] = f"tcp://*:{int(port) + 2}"

    def poll(self, milliseconds: int) -> None:
        """Wait for a message, at most so long; answer who asks whether a key may connect."""
        self._poller.poll(milliseconds)
        if self._zap is None:
            return
        for _ in range(HIGH_WATER_MARK):
            try:
                self._answer_key(self._zap, self._zap.recv_multipart(zmq.NOBLOCK))
            except zmq.Again:
                break

    def receive(self, most: int) -> Iterator[tuple[Peer, list[bytes], Guest | None]]:
        """Take at most ``most`` messages from each ROUTER: peer, frames, and whose key it is."""
        for kind, router in self._routers.items():
            for _ in range(most):
                try:
                    # Frames as objects: they know the key of their connection.
                    parts = router.recv_multipart(zmq.NOBLOCK, copy=False)
                except zmq.Again:
                    break
                guest = None
                if kind == NETWORK and self._keys is not None:
                    key = str(parts[-1].get("User-Id")).encode()
                    guest = self._keys.guests().get(key)
                    if guest is None:  # its key has been removed since it connected
                        self._counters.strangers += 1
                        continue
                yield (kind, parts[0].bytes), [part.bytes for part in parts[1:]], guest

    def addresses(self, peer: Peer) -> Addresses:
        """Return where a peer can read status and telemetry; a host ``*`` is the one it has connected to."""
        return Addresses(self._snapshots[peer[0]], self._telemetry.get(peer[0], ""))

    def send(self, peer: Peer, data: bytes) -> None:
        """Send to a peer; what its queue has no room for, and what is for nobody, is lost."""
        try:
            self._routers[peer[0]].send_multipart((peer[1], data), zmq.NOBLOCK)
        except zmq.ZMQError:
            self._counters.unsent += 1

    def publish(self, data: bytes) -> None:
        """Send a status snapshot to whoever reads."""
        for publisher in self._publishers:
            with contextlib.suppress(zmq.ZMQError):
                publisher.send(data, zmq.NOBLOCK)

    def subscribed(self) -> bool:
        """Return whether anybody reads telemetry."""
        for teller in self._tellers:
            with contextlib.suppress(zmq.Again):
                for _ in range(MOST_NOTICES):
                    # The socket tells the first subscription to a topic, and the end of the last one.
                    self._subscriptions += {b"\1": 1, b"\0": -1}.get(teller.recv(zmq.NOBLOCK)[:1], 0)
        return self._subscriptions > 0

    def tell(self, data: bytes) -> None:
        """Send telemetry to whoever reads; who has no room loses it."""
        for teller in self._tellers:
            with contextlib.suppress(zmq.ZMQError):
                teller.send(data, zmq.NOBLOCK)

    def close(self) -> None:
        """Close everything and remove the socket files; the last words have a moment to leave."""
        self._context.destroy(linger=LAST_WORDS_MS)
        for path in self._files:
            path.unlink(missing_ok=True)
        for descriptor in self._locks:
            os.close(descriptor)

    def _router(self, address: str, secret: bytes | None) -> _Socket:
        socket = self._socket(zmq.ROUTER, HIGH_WATER_MARK, secret)
        self._bind(socket, address)
        self._poller.register(socket, zmq.POLLIN)
        return socket

    def _publisher(self, address: str, secret: bytes | None) -> _Socket:
        socket = self._socket(zmq.PUB, SNAPSHOT_HIGH_WATER_MARK, secret)
        self._bind(socket, address)
        return socket

    def _teller(self, address: str, secret: bytes | None) -> _Socket:
        socket = self._socket(zmq.XPUB, TELEMETRY_HIGH_WATER_MARK, secret)
        self._bind(socket, address)
        return socket

    def _socket(self, kind: int, mark: int, secret: bytes | None) -> _Socket:
        socket = self._context.socket(kind)
        socket.linger = 0
        socket.set_hwm(mark)
        socket.setsockopt(zmq.MAXMSGSIZE, LARGEST_FRAME)
        socket.setsockopt(zmq.HANDSHAKE_IVL, HANDSHAKE_MS)
        if secret is not None:
            socket.setsockopt(zmq.CURVE_SERVER, 1)
            socket.setsockopt(zmq.CURVE_SECRETKEY, secret)
            socket.setsockopt_string(zmq.ZAP_DOMAIN, "mastd")
            socket.setsockopt(zmq.HEARTBEAT_IVL, 2000)
        return socket

    def _bind(self, socket: _Socket, address: str) -> None:
        if address.startswith("ipc:///"):
            path = Path(address.removeprefix("ipc://"))
            self._lock(path)
            self._files.append(path)
        try:
            socket.bind(address)
        except zmq.ZMQError as error:
            raise UsageError(f"operators cannot be served at {address}: {error.strerror}") from error

    def _lock(self, path: Path) -> None:
        """Take the right to a socket file: a second bind would silently take over its clients."""
        lock = path.with_name(path.name + ".lock")
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise UsageError(f"operators cannot be served at {path}: {error.strerror}") from error
        self._locks.append(descriptor)
        end = time.monotonic() + LOCK_PATIENCE_S  # a gateway that has just lost its daemon needs a moment
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > end:
                    owner = os.pread(descriptor, 20, 0).decode(errors="replace").strip() or "unknown"
                    raise UsageError(
                        f"operators are served at {path} by the daemon with process id {owner} already; "
                        "stop it first, or set XDG_RUNTIME_DIR for a second one"
                    ) from None
                time.sleep(0.02)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getppid()).encode(), 0)

    def _answer_key(self, zap: _Socket, parts: list[bytes]) -> None:
        """Answer one question of ZAP: version, request, domain, address, identity, mechanism, key."""
        assert self._keys is not None
        request = parts[1] if len(parts) > 1 else b""
        known = False
        user = b""
        if len(parts) == 7 and parts[0] == b"1.0" and parts[5] == b"CURVE":
            user = z85.encode(parts[6])
            known = user in self._keys.guests()
        status, text = (b"200", b"OK") if known else (b"400", b"this key may not connect")
        zap.send_multipart((b"1.0", request, status, text, user if known else b"", b""))
