"""Who connects over a network: CURVE keys, asked for by ZAP (RFC 27), and what became of those without.

``Authentication`` belongs to one ZeroMQ context, whose network sockets it protects. It answers libzmq's
question whether a public key may connect, and reads what libzmq tells of connections that came not so far:

- without a key a client ends the handshake by itself, as does whoever only looks for an open port, or it says
  nothing and is dropped: what libzmq tells of these is the same;
- for another server's key the handshake cannot be deciphered;
- an unknown or a revoked key comes to the question, which also has the peer's address.

Each is counted and reported. A connection whose key is revoked later is known by the key of its messages.
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import zmq
from zmq.utils import z85
from zmq.utils.monitor import recv_monitor_message

from mastd.errors import UsageError
from mastd.wire.access.keys import KeyRing
from mastd.wire.access.sessions import PeerIdentity
from mastd.wire.common.address import check_address

MAX_QUESTIONS = 256
"""Questions and events that are taken at a time from one socket."""
HEARTBEAT_MS = 2000
DOMAIN = "mastd"
_ZAP = "inproc://zeromq.zap.01"
_EVENTS = zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL

_Socket = zmq.Socket[bytes]


def check_network(address: str, keys: KeyRing | None, what: str = "operators' address") -> str:
    """Return a network address that may be served; UsageError for others, or without a key of our own."""
    checked = check_address(address, allow_remote=True, what=what)
    if not checked.startswith("tcp://"):
        raise UsageError(f"{what} {address!r}: it must be tcp://ADDRESS:PORT")
    if keys is None:
        raise UsageError(f"{what} {address!r}: a network address needs keys; see `mastd keys server`")
    try:
        keys.server()
    except UsageError as error:
        raise UsageError(f"{what} {address!r}: a network address needs keys: {error}") from error
    return checked


class Cause(enum.Enum):
    """Why somebody is not heard."""

    NO_KEY = "no_key"
    OTHER_SERVER = "other_server"
    NOT_UNDERSTOOD = "not_understood"
    UNKNOWN_KEY = "unknown_key"
    REVOKED_KEY = "revoked_key"
    REVOKED_MESSAGE = "revoked_message"


_PROTOCOL_CAUSES = {
    int(zmq.PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH): Cause.NO_KEY,
    int(zmq.PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC): Cause.OTHER_SERVER,
}


@dataclass(frozen=True)
class Unheard:
    """A connection that was refused, or a message that was dropped.

    ``endpoint`` is the socket's own address, ``peer`` where the connection comes from (empty where it is not
    known), ``name`` that of the key.
    """

    cause: Cause
    endpoint: str
    peer: str = ""
    name: str = ""


class Counters(Protocol):
    """What is counted."""

    unauthenticated: int
    unknown_keys: int
    revoked: int


class Authentication:
    """Protects network sockets of one context; what it reads is registered at ``poller``.

    Raises UsageError when the daemon has no key of its own.
    """

    def __init__(
        self,
        context: zmq.Context[_Socket],
        poller: zmq.Poller,
        keys: KeyRing,
        counters: Counters,
        report: Callable[[Unheard], None],
    ) -> None:
        self.revocations = 0
        """How often a key was revoked with which somebody had connected."""
        self._secret = keys.server()[1]
        self._poller = poller
        self._keys = keys
        self._counters = counters
        self._report = report
        self._admitted: set[bytes] = set()
        self._monitors: dict[_Socket, tuple[_Socket, str]] = {}
        self._zap = context.socket(zmq.REP)
        self._zap.linger = 0
        self._zap.bind(_ZAP)
        poller.register(self._zap, zmq.POLLIN)

    def protect(self, socket: _Socket, endpoint: str) -> None:
        """Let only known keys in; to be called before the socket is bound to ``endpoint``."""
        socket.setsockopt(zmq.CURVE_SERVER, 1)
        socket.setsockopt(zmq.CURVE_SECRETKEY, self._secret)
        socket.setsockopt_string(zmq.ZAP_DOMAIN, DOMAIN)
        socket.setsockopt(zmq.HEARTBEAT_IVL, HEARTBEAT_MS)
        monitor = socket.get_monitor_socket(_EVENTS)
        monitor.linger = 0
        self._monitors[socket] = monitor, endpoint
        self._poller.register(monitor, zmq.POLLIN)

    def release(self, socket: _Socket) -> None:
        """Look after a socket no more; to be called before it is closed."""
        monitor, _ = self._monitors.pop(socket)
        self._poller.unregister(monitor)
        socket.disable_monitor()

    def poll(self) -> None:
        """Answer who asks, take what there is of failed connections, and see whose key was revoked."""
        for _ in range(MAX_QUESTIONS):
            try:
                self._answer(self._zap.recv_multipart(zmq.NOBLOCK))
            except zmq.Again:
                break
        for monitor, endpoint in self._monitors.values():
            self._read(monitor, endpoint)
        gone = self._admitted - self._keys.identities().keys()
        if gone:
            self._admitted -= gone
            self.revocations += 1

    def identity(self, frame: zmq.Frame, endpoint: str) -> PeerIdentity | None:
        """Return whose key the connection of a message has; None, counted, if it has been revoked since."""
        key = str(frame.get("User-Id")).encode()
        identity = self._keys.identities().get(key)
        if identity is None:
            self._counters.revoked += 1
            name = self._keys.revoked().get(key, "")
            self._report(Unheard(Cause.REVOKED_MESSAGE, endpoint, str(frame.get("Peer-Address")), name))
        return identity

    def _answer(self, parts: list[bytes]) -> None:
        """Answer one question of ZAP: version, request, domain, address, identity, mechanism, key."""
        request = parts[1] if len(parts) > 1 else b""
        known = False
        user = b""
        if len(parts) == 7 and parts[0] == b"1.0" and parts[5] == b"CURVE":
            user = z85.encode(parts[6])
            known = user in self._keys.identities()
            if known:
                self._admitted.add(user)
            else:
                self._refuse(user, parts[3].decode(errors="replace"))
        status, text = (b"200", b"OK") if known else (b"400", b"this key may not connect")
        self._zap.send_multipart((b"1.0", request, status, text, user if known else b"", b""))

    def _refuse(self, user: bytes, peer: str) -> None:
        name = self._keys.revoked().get(user)
        if name is None:
            self._counters.unknown_keys += 1
            self._report(Unheard(Cause.UNKNOWN_KEY, "", peer, user.decode()))
        else:
            self._counters.revoked += 1
            self._report(Unheard(Cause.REVOKED_KEY, "", peer, name))

    def _read(self, monitor: _Socket, endpoint: str) -> None:
        with contextlib.suppress(zmq.Again):
            for _ in range(MAX_QUESTIONS):
                event = recv_monitor_message(monitor, zmq.NOBLOCK)
                cause = Cause.NO_KEY
                if event["event"] == zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL:
                    cause = _PROTOCOL_CAUSES.get(int(event["value"]), Cause.NOT_UNDERSTOOD)
                self._counters.unauthenticated += 1
                self._report(Unheard(cause, endpoint))
