"""The console's connections: limited in number for each role, and ended when a browser takes nothing.

uvicorn writes to a browser only while its buffer has room, so a browser that takes nothing costs no more than
that; but it would wait for ever for the buffer to empty. So each request and each response has its time.

Places are kept apart: whoever has not logged in, observers and operators take none of each other's. When a
kind has no place left, its oldest connection of whoever holds most of them gives way to the new one: so a
newcomer always gets in, and one address, or one session, pays for itself.
"""

from __future__ import annotations

import asyncio
import resource
import socket
import struct
from asyncio import BaseTransport
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol, TypeVar, cast

from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

HANDSHAKE_S = 5.0
"""Time for the handshake of TLS, before which a connection is nobody's and counts nowhere."""
MAX_FILES = 8192
"""Descriptors that the console may use, most of them for connections in their handshake."""
REQUEST_S = 10.0
"""Time to send a request, from the connection or the response before on."""
RESPONSE_S = 20.0
"""Time to take a response, for whoever has not logged in."""
LOGGED_IN_RESPONSE_S = 200.0
"""The same for a session, whose listing and check of a profile take their time first."""


class Places(NamedTuple):
    """How many connections there may be of one kind, and how many of them one owner may have."""

    of_all: int
    of_one: int


STRANGER = "stranger"
PLACES = {STRANGER: Places(100, 50), "observer": Places(50, 25), "operator": Places(50, 25)}
"""By role; the owner is a session, or a stranger's address."""


_RESET = struct.pack("ii", 1, 0)


class Holder(NamedTuple):
    """Who holds a connection: a role of ``PLACES``, and the session's number or the address."""

    role: str
    owner: str


NOBODY = Holder("", "")
"""Holder of a connection that has been given up and is about to end."""


class Held(Protocol):
    """A connection that somebody holds."""

    holder: Holder
    since: float
    """When it was made, s."""

    def abort(self) -> None:
        """End it at once."""


Connection = TypeVar("Connection", bound=Held)


def surplus(connections: Iterable[Connection], role: str) -> Connection | None:
    """Return which connection of a role must give way, None while there are places."""
    of_role = [connection for connection in connections if connection.holder.role == role]
    of_role.sort(key=lambda connection: connection.since)
    counts = Counter(connection.holder for connection in of_role)
    if not counts:
        return None
    holder, most = counts.most_common(1)[0]
    places = PLACES[role]
    if len(of_role) <= places.of_all and most <= places.of_one:
        return None
    return next(connection for connection in of_role if connection.holder == holder)


def _make_room(connections: Iterable[object], role: str) -> None:
    held = cast("Iterable[Held]", connections)  # uvicorn's set has what the two classes below have put in
    if (given_up := surplus(held, role)) is not None:
        given_up.abort()


class Visitor(H11Protocol):
    """A connection that asks for something soon and takes the answer in time, or is ended."""

    def connection_made(self, transport: BaseTransport) -> None:
        super().connection_made(transport)  # type: ignore[arg-type]
        self.app_state = {**self.app_state, "connection": self}
        self.since = self.loop.time()
        self.holder = _stranger(self.client)
        self._limit: asyncio.TimerHandle | None = None
        self._limited = self.cycle
        self._allow(REQUEST_S)
        _make_room(self.connections, STRANGER)

    def connection_lost(self, exc: Exception | None) -> None:
        self._allow(None)
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        if self.cycle is not self._limited and self in self.connections:
            self._limited = self.cycle
            if not self.cycle.response_complete:
                self._allow(RESPONSE_S)

    def on_response_complete(self) -> None:
        self._allow(REQUEST_S)
        super().on_response_complete()

    def handle_websocket_upgrade(self, event: object) -> None:
        self._allow(None)
        super().handle_websocket_upgrade(event)  # type: ignore[arg-type]

    def belongs_to(self, holder: Holder) -> None:
        """Learn whose request this is."""
        self.holder = holder
        self._allow(LOGGED_IN_RESPONSE_S)
        _make_room(self.connections, holder.role)

    def abort(self) -> None:
        """End it at once."""
        self.holder = NOBODY
        # Reset, or the system would keep what nobody takes, and try for minutes to send it.
        self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.transport.abort()

    def _allow(self, seconds: float | None) -> None:
        """Let the connection live for so long, unless something comes; None for as long as it wants."""
        if self._limit is not None:
            self._limit.cancel()
        self._limit = None if seconds is None else self.loop.call_later(seconds, self.abort)


class BrowserSocket(WebSocketsSansIOProtocol):
    """A WebSocket; the application finds it as ``scope["state"]["connection"]``."""

    def connection_made(self, transport: BaseTransport) -> None:
        super().connection_made(transport)
        self.app_state = {**self.app_state, "connection": self}
        self.since = self.loop.time()
        self.holder = _stranger(self.client)
        _make_room(self.connections, STRANGER)

    def belongs_to(self, holder: Holder) -> None:
        """Learn whose browser this is."""
        self.holder = holder
        _make_room(self.connections, holder.role)

    def drop(self, code: int, reason: str, within_s: float) -> None:
        """Put the reason behind what the browser has not taken, and end the connection, taken or not."""
        if not self.close_sent and not self.disconnected:
            self.stop_keepalive()
            self.conn.send_close(code, reason)
            self.transport.write(b"".join(self.conn.data_to_send()))
            self.close_sent = True
        self.loop.call_later(within_s, self.abort)

    def abort(self) -> None:
        """End it at once."""
        self.holder = NOBODY
        if not self.disconnected:
            self.transport.abort()


class ServerLoop(asyncio.SelectorEventLoop):
    """An event loop whose servers wait ``HANDSHAKE_S`` for TLS, and have descriptors for many who do not."""

    async def create_server(self, *given: Any, **options: Any) -> asyncio.Server:
        """Create a server as asyncio does."""
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = MAX_FILES if most == resource.RLIM_INFINITY else min(MAX_FILES, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
        if options.get("ssl") is not None:
            options["ssl_handshake_timeout"] = HANDSHAKE_S
        return await super().create_server(*given, **options)


def _stranger(client: tuple[str, int] | None) -> Holder:
    return Holder(STRANGER, client[0] if client is not None else "")
