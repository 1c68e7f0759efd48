"""The console's pages and its socket: log in and out, static files, profiles, check, ``/ws``."""

from __future__ import annotations

import asyncio
import html
import time
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from mastd.console.access import Session, Sessions, Tokens, Tries
from mastd.console.connections import BrowserSocket, Holder, Visitor
from mastd.console.endpoint import Endpoint
from mastd.console.guard import Guard
from mastd.console.hub import Hub
from mastd.console.profiles import STARTER_TABLE, Profiles
from mastd.wire.access.verbs import console_table

STATIC: Final = Path(__file__).parent / "static"
MAX_BODY = 4096
BODY_S = 5.0
LOGIN_LINE: Final = "<!-- line -->"
"""Where in the login page the line goes that says what was wrong."""


class Console:
    """Routes over what the console knows; made for one server."""

    def __init__(self, endpoint: Endpoint, cookie: str, tokens: Tokens, hub: Hub, profiles: Profiles) -> None:
        self._endpoint = endpoint
        self._cookie = cookie
        self._tokens = tokens
        self._hub = hub
        self._profiles = profiles
        self._tries = Tries()
        self._sessions = Sessions()

    def app(self) -> ASGIApp:
        """Return the application."""
        routes: list[BaseRoute] = [
            Route("/", self._page),
            Route("/login", self._log_in, methods=["POST"]),
            Route("/logout", self._log_out, methods=["POST"]),
            Route("/api/profiles", self._list),
            Route("/api/check", self._check, methods=["POST"]),
            WebSocketRoute("/ws", self._socket),
            Route("/static/verbs.js", self._verbs),
            Mount("/static", _Files(directory=STATIC)),
        ]
        routed = Starlette(routes=routes)

        async def recognised(scope: Scope, receive: Receive, send: Send) -> None:
            """Tell the connection whose request this is: who has logged in has places of their own."""
            session = None if scope["type"] == "lifespan" else self._session(HTTPConnection(scope))
            if session is not None:
                held: Visitor | BrowserSocket = scope["state"]["connection"]
                held.belongs_to(Holder(session.role, str(session.number)))
            await routed(scope, receive, send)

        return Guard(recognised, self._endpoint)

    def _session(self, connection: HTTPConnection) -> Session | None:
        return self._sessions.find(connection.cookies.get(self._cookie), time.monotonic())

    async def _page(self, request: Request) -> Response:
        if self._session(request) is None:
            return _login_page("", 200)
        return FileResponse(STATIC / "index.html")

    async def _verbs(self, request: Request) -> Response:
        """The table of verbs, as a module of the page."""
        module = f"export const VERBS = {orjson.dumps(console_table()).decode()};\n"
        return Response(module, media_type="text/javascript", headers={"cache-control": "no-cache"})

    async def _log_in(self, request: Request) -> Response:
        address = request.client.host if request.client is not None else ""
        now_s = time.monotonic()
        form = parse_qs((await _body(request)).decode(errors="replace"), max_num_fields=4)
        role = self._tokens.role(form.get("token", [""])[0].strip())
        if not role:
            if self._tries.wrong(address, now_s):
                await self._tries.slow_down()
                return _login_page("Too many wrong tokens; further ones are answered slowly.", 429)
            return _login_page("This is not the token that `mastd console` has printed.", 403)
        session = self._sessions.open(role, now_s)
        response = RedirectResponse("/", 303)
        response.set_cookie(
            self._cookie,
            session.key,
            secure=self._endpoint.secure,
            httponly=True,
            samesite="strict",
        )
        return response

    async def _log_out(self, request: Request) -> Response:
        session = self._session(request)
        if session is not None:
            self._sessions.close(session)
            self._hub.log_out(session)
        response = RedirectResponse("/", 303)
        response.delete_cookie(self._cookie, secure=self._endpoint.secure, httponly=True, samesite="strict")
        return response

    async def _list(self, request: Request) -> Response:
        if self._session(request) is None:
            return _refusal("log in first", 401)
        return _json(await self._profiles.listed(self._table(STARTER_TABLE)))

    async def _check(self, request: Request) -> Response:
        session = self._session(request)
        if session is None:
            return _refusal("log in first", 401)
        if session.role != "operator":
            return _refusal("check is refused: this browser only watches", 403)
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return _refusal('check: send JSON, {"profile": name}', 415)
        try:
            asked = orjson.loads(await _body(request))
        except orjson.JSONDecodeError:
            asked = None
        if type(asked) is not dict or list(asked) != ["profile"] or type(asked["profile"]) is not str:
            return _refusal('check: send JSON, {"profile": name}', 400)
        table = self._table("")
        if not table:
            return _refusal("check: the daemon does not answer, so its table is not known", 503)
        return _json(await self._profiles.check(asked["profile"], table))

    def _table(self, otherwise: str) -> str:
        """Return the file of the daemon's table."""
        description = self._hub.description
        return otherwise if description is None else str(description["table_file"])

    async def _socket(self, websocket: WebSocket) -> None:
        session = self._session(websocket)
        if session is None:
            await websocket.close(1008, "log in first")
        else:
            await self._hub.serve(websocket, session)


class _Files(StaticFiles):
    """Static files that a browser asks for again, since they may be of another version tomorrow."""

    def file_response(self, *args: object, **kwargs: object) -> Response:
        response = super().file_response(*args, **kwargs)  # type: ignore[arg-type]
        response.headers["cache-control"] = "no-cache"
        return response


async def _body(request: Request) -> bytes:
    """Return the body of a request; one that is long or slow is refused."""
    body = b""
    try:
        async with asyncio.timeout(BODY_S):
            async for part in request.stream():
                body += part
                if len(body) > MAX_BODY:
                    raise HTTPException(413)
    except TimeoutError:
        raise HTTPException(408) from None
    return body


def _login_page(line: str, status: int) -> Response:
    page = (STATIC / "login.html").read_text(encoding="utf-8")
    return HTMLResponse(page.replace(LOGIN_LINE, html.escape(line)), status)


def _refusal(reason: str, status: int) -> Response:
    return _json({"ok": False, "text": reason, "document": None}, status)


def _json(document: object, status: int = 200) -> Response:
    return Response(orjson.dumps(document), status, media_type="application/json")
