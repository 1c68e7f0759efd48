"""The console's connections: limited in number, and ended when a browser takes nothing.

uvicorn writes to a browser only while its buffer has room, so a browser that takes nothing costs no more than
that; but closing such a connection would wait for ever for the buffer to empty.
"""

from __future__ import annotations

from asyncio import BaseTransport

from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

MAX_CONNECTIONS = 200
FIRST_REQUEST_S = 10.0


class Visitor(H11Protocol):
    """A connection that asks for something soon, or is closed; beyond the limit none is taken."""

    def connection_made(self, transport: BaseTransport) -> None:
        super().connection_made(transport)  # type: ignore[arg-type]
        if len(self.connections) > MAX_CONNECTIONS:
            self.transport.abort()
        else:
            self.loop.call_later(FIRST_REQUEST_S, self._check)

    def _check(self) -> None:
        if self.cycle is None and self in self.connections:
            self.transport.close()


class BrowserSocket(WebSocketsSansIOProtocol):
    """A WebSocket; the application finds it as ``scope["state"]["connection"]``."""

    def connection_made(self, transport: BaseTransport) -> None:
        super().connection_made(transport)
        self.app_state = {**self.app_state, "connection": self}

    def drop(self, code: int, reason: str, within_s: float) -> None:
        """Put the reason behind what the browser has not taken, and end the connection, taken or not."""
        if not self.close_sent and not self.disconnected:
            self.stop_keepalive()
            self.conn.send_close(code, reason)
            self.transport.write(b"".join(self.conn.data_to_send()))
            self.close_sent = True
        self.loop.call_later(within_s, self._abort)

    def _abort(self) -> None:
        if not self.disconnected:
            self.transport.abort()
