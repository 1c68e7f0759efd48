"""The console's doors: nobody who waits, floods or guesses keeps out those who operate."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlencode

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Origin

from mastd.console import access, connections
from mastd.console.access import Tokens
from mastd.console.app import Console
from mastd.console.connections import NOBODY, PLACES, STRANGER, Holder, ServerLoop, surplus
from mastd.console.endpoint import endpoint
from mastd.console.hub import MAX_BROWSERS, MAX_OBSERVERS, Hub
from mastd.console.profiles import Profiles
from mastd.console.server import Certificate, server_of
from mastd.console.watcher import Door
from tests.support.lab import PATIENCE

LARGE = "/static/vendor/three/three.core.js"


class Served:
    """A console on a loopback port, without a daemon behind it."""

    def __init__(self, port: int, tokens: Tokens) -> None:
        self.port = port
        self.tokens = tokens

    async def ask(self, path: str, cookie: str = "", form: dict[str, str] | None = None) -> tuple[int, str]:
        """Return status and head of the answer to one request in a connection of its own."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        body = urlencode(form or {})
        lines = [
            f"{'POST' if form else 'GET'} {path} HTTP/1.1",
            f"host: 127.0.0.1:{self.port}",
            f"origin: http://127.0.0.1:{self.port}",
            f"cookie: {cookie}",
            f"content-length: {len(body)}",
            "connection: close",
        ]
        writer.write("\r\n".join([*lines, "", body]).encode())
        answer = (await reader.read()).decode(errors="replace")
        writer.close()
        return int(answer.split()[1]), answer.partition("\r\n\r\n")[0]

    async def log_in(self, token: str) -> str:
        """Return the cookie of a new session."""
        status, head = await self.ask("/login", form={"token": token})
        assert status == 303
        return head.partition("set-cookie: ")[2].partition(";")[0]

    def slow(self, cookie: str = "") -> socket.socket:
        """Return a connection that asks for much and takes nothing."""
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        connection.connect(("127.0.0.1", self.port))
        head = f"GET {LARGE} HTTP/1.1\r\nhost: 127.0.0.1:{self.port}\r\ncookie: {cookie}\r\n\r\n"
        connection.sendall(head.encode())
        connection.setblocking(False)
        return connection

    def browser(self, cookie: str) -> connect:
        """Return the socket of a browser."""
        return connect(
            f"ws://127.0.0.1:{self.port}/ws",
            origin=Origin(f"http://127.0.0.1:{self.port}"),
            additional_headers={"cookie": cookie},
        )


@asynccontextmanager
async def served(certificate: Certificate | None = None) -> AsyncIterator[Served]:
    """Serve a console."""
    tokens = Tokens()
    hub = Hub(Door("ipc:///nowhere", None), "anna", lambda name: name, lambda wanted: None)
    here = endpoint("127.0.0.1:0", False)
    with contextlib.closing(here.listen()) as listener:
        app = Console(here, "cookie", tokens, hub, Profiles([], Path("/nowhere"))).app()
        server = server_of(app, certificate)
        task = asyncio.create_task(server.serve([listener]))
        yield Served(listener.getsockname()[1], tokens)
        hub.end()
        server.should_exit = server.force_exit = True
        await task


def run(test: Callable[[Served], Awaitable[None]], certificate: Certificate | None = None) -> None:
    """Run a test with a console."""

    async def served_test() -> None:
        async with asyncio.timeout(PATIENCE), served(certificate) as console:
            await test(console)

    with asyncio.Runner(loop_factory=ServerLoop) as runner:
        runner.run(served_test())


async def ended(connection: socket.socket) -> None:
    """Wait until the console has ended a connection, taking what there is."""
    loop = asyncio.get_running_loop()
    with contextlib.suppress(ConnectionError):
        while await loop.sock_recv(connection, 1 << 20):
            pass


def test_the_right_token_is_taken_after_any_number_of_wrong_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "SLOW_S", 0.0)

    async def test(console: Served) -> None:
        answers = [(await console.ask("/login", form={"token": "wrong"}))[0] for _ in range(30)]
        assert answers == [403] * 5 + [429] * 25
        for token in (console.tokens.operator, console.tokens.observer):
            assert await console.log_in(token)

    run(test)


def test_strangers_who_take_nothing_keep_nobody_out() -> None:
    async def test(console: Served) -> None:
        cookie = await console.log_in(console.tokens.operator)
        with contextlib.ExitStack() as stack:
            own = stack.enter_context(console.slow(cookie))
            for _ in range(PLACES[STRANGER].of_all + 60):
                stack.enter_context(console.slow())
                assert (await console.ask("/"))[0] == 200
            assert (await console.ask("/", cookie))[0] == 200
            async with console.browser(cookie) as browser:
                assert json.loads(await browser.recv())["kind"] == "lost"
            taken = await asyncio.get_running_loop().sock_recv(own, 1 << 20)
            assert b" 200 OK" in taken, "whoever has logged in keeps the connection"

    run(test)


def test_observers_connections_take_none_of_the_operators() -> None:
    async def test(console: Served) -> None:
        cookie = await console.log_in(console.tokens.operator)
        with contextlib.ExitStack() as stack:
            for _ in range(4):
                watching = await console.log_in(console.tokens.observer)
                for _ in range(PLACES["observer"].of_one):
                    stack.enter_context(console.slow(watching))
            assert (await console.ask("/", cookie))[0] == 200

    run(test)


@pytest.mark.parametrize("limit", ["RESPONSE_S", "LOGGED_IN_RESPONSE_S"])
def test_a_response_that_nobody_takes_is_ended(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(console: Served) -> None:
        in_session = limit == "LOGGED_IN_RESPONSE_S"
        cookie = await console.log_in(console.tokens.observer) if in_session else ""
        monkeypatch.setattr(connections, limit, 0.2)
        with console.slow(cookie) as slow:
            await ended_unread(console, slow)

    run(test)


async def ended_unread(console: Served, slow: socket.socket) -> None:
    """Wait until the console has ended a connection from which nothing is read."""
    while slow.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == ESTABLISHED:
        await console.ask("/")


ESTABLISHED = 1


def test_a_second_request_that_never_ends_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(console: Served) -> None:
        head = f"GET / HTTP/1.1\r\nhost: 127.0.0.1:{console.port}\r\n"
        with socket.create_connection(("127.0.0.1", console.port)) as connection:
            connection.setblocking(False)
            connection.send(f"{head}\r\n".encode())
            assert b" 200 OK" in await asyncio.get_running_loop().sock_recv(connection, 1 << 20)
            connection.send(head.encode())
            await ended(connection)

    monkeypatch.setattr(connections, "REQUEST_S", 0.5)
    run(test)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_a_handshake_that_never_comes_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = Certificate(tmp_path / "certificate.pem", tmp_path / "key.pem")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    files = ["-keyout", str(own.private_key), "-out", str(own.certificate), "-subj", "/CN=localhost"]
    subprocess.run([*command, *files], check=True, capture_output=True)

    async def test(console: Served) -> None:
        with socket.create_connection(("127.0.0.1", console.port)) as silent:
            silent.setblocking(False)
            await ended(silent)

    monkeypatch.setattr(connections, "HANDSHAKE_S", 0.2)
    run(test, own)


async def code(browser: ClientConnection) -> int | None:
    """Return with which code a browser was sent away, None if it was not."""
    try:
        await browser.recv()
    except ConnectionClosed:
        return browser.close_code
    return None


def test_observers_take_no_place_of_those_who_operate() -> None:
    async def test(console: Served) -> None:
        watching = await console.log_in(console.tokens.observer)
        operating = await console.log_in(console.tokens.operator)
        async with contextlib.AsyncExitStack() as stack:

            async def join(cookie: str) -> int | None:
                return await code(await stack.enter_async_context(console.browser(cookie)))

            watchers = [await join(watching) for _ in range(MAX_BROWSERS)]
            assert watchers == [None] * MAX_OBSERVERS + [4004] * (MAX_BROWSERS - MAX_OBSERVERS)
            operators = [await join(operating) for _ in range(MAX_BROWSERS - MAX_OBSERVERS + 1)]
            assert operators == [None] * (MAX_BROWSERS - MAX_OBSERVERS) + [4004]

    run(test)


class Held:
    """A connection of a holder."""

    def __init__(self, role: str, owner: str, since: float) -> None:
        self.holder = Holder(role, owner)
        self.since = since

    def abort(self) -> None:
        self.holder = NOBODY


def test_the_oldest_of_whoever_holds_most_gives_way() -> None:
    one, all_ = PLACES[STRANGER].of_one, PLACES[STRANGER].of_all
    many = [Held(STRANGER, "a", 10.0 - k) for k in range(one)]
    assert surplus(many, STRANGER) is None
    assert surplus([*many, Held(STRANGER, "a", 20.0)], STRANGER) is many[-1]
    few = [Held(STRANGER, f"guest {k}", 0.0) for k in range(all_ - one)]
    assert surplus([*many, *few], STRANGER) is None
    assert surplus([*few, *many, Held(STRANGER, "new", 20.0)], STRANGER) is many[-1]
    assert surplus([*few, *many, Held("operator", "1", 20.0)], "operator") is None
