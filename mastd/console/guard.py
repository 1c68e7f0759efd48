"""What every request passes first: is it meant for this console, and does it come from its own page?

The page's own requests carry its origin. A form that is sent under ``Referrer-Policy: no-referrer`` has the
origin ``null`` (Fetch standard, "append a request Origin header"); then the browser's ``Sec-Fetch-Site``,
which no page can set, says where it comes from.
"""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mastd.console.endpoint import Endpoint

SECURITY_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_SOURCES = (
    "default-src 'self'; connect-src 'self' {socket}; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
"""Content Security Policy; the socket is named because some browsers do not count it among 'self'."""
_READING = ("GET", "HEAD")


class Guard:
    """An ASGI application around the console's: refuses what is foreign, adds the security headers."""

    def __init__(self, app: ASGIApp, endpoint: Endpoint) -> None:
        self._app = app
        self._endpoint = endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        reason = self._foreign(scope)
        if scope["type"] == "websocket":
            if reason:
                await send({"type": "websocket.close", "code": 1008, "reason": reason})
            else:
                await self._app(scope, receive, send)
            return

        async def secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(SECURITY_HEADERS)
                headers["content-security-policy"] = _SOURCES.format(
                    socket="" if reason else self._socket(scope)
                )
                headers.setdefault("cache-control", "no-store")
            await send(message)

        if reason:
            await PlainTextResponse(f"{reason}\n", 403)(scope, receive, secured)
        else:
            await self._app(scope, receive, secured)

    def _socket(self, scope: Scope) -> str:
        return f"ws{self._endpoint.scheme.removeprefix('http')}://{Headers(scope=scope)['host']}"

    def _foreign(self, scope: Scope) -> str:
        """Return why a request is refused, empty if it is not."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._endpoint.called(hosts[0]):
            return "this console is not called by that name; use the address that `mastd console` prints"
        if scope["type"] == "http" and scope["method"] in _READING:
            return ""
        origins = headers.getlist("origin")
        if origins == [f"{self._endpoint.scheme}://{hosts[0]}"]:
            return ""
        nameless = scope["type"] == "http" and origins in ([], ["null"])
        if nameless and headers.getlist("sec-fetch-site") == ["same-origin"]:
            return ""
        return "requests from other pages are refused"
