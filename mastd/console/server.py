"""The console's process: sockets, signals, the files of the tokens, and the order in which all of it ends."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from mastd.console.access import TokenFiles, Tokens
from mastd.console.app import Console
from mastd.console.connections import BrowserSocket, ServerLoop, Visitor
from mastd.console.endpoint import Endpoint
from mastd.console.hub import Hub
from mastd.console.messages import MAX_MESSAGE
from mastd.console.profiles import Profiles
from mastd.console.watcher import Box, Door, Watcher
from mastd.errors import UsageError
from mastd.wire.common.address import runtime_directory
from mastd.wire.operators.client import identity

ENDING_S = 1
"""Time that connections have to end by themselves (whole seconds)."""
THREADS_S = 0.5
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Certificate:
    """Files of the server's certificate (with its chain) and of its private key, PEM."""

    certificate: Path
    private_key: Path

    def check(self) -> None:
        """Raise UsageError unless both can be read and belong together."""
        for path in (self.certificate, self.private_key):
            if not path.is_file():
                raise UsageError(f"{path}: no such file")
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.certificate, self.private_key, "")
        except (OSError, ValueError) as error:
            raise UsageError(
                f"{self.certificate} and {self.private_key}: not a certificate and its key (PEM, without a "
                f"password): {error}"
            ) from None


class _Server(uvicorn.Server):
    """A server whose signals are handled by the console, which ends in order and with exit code 0."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


Announce = Callable[[str, Tokens, TokenFiles], None]
"""Tells the user the address of the page and the tokens."""


def serve(
    endpoint: Endpoint, certificate: Certificate | None, door: Door, profiles: Profiles, announce: Announce
) -> None:
    """Serve until SIGINT, SIGTERM or SIGHUP; raise UsageError where that cannot begin."""
    with (
        contextlib.closing(endpoint.listen()) as listener,
        asyncio.Runner(loop_factory=ServerLoop) as runner,
    ):
        runner.run(_serve(listener, endpoint, certificate, door, profiles, announce))


def server_of(app: ASGIApp, certificate: Certificate | None = None) -> uvicorn.Server:
    """Return the server of an application, with the limits of ``mastd.console.connections``."""
    return _Server(
        uvicorn.Config(
            app,
            http=Visitor,
            ws=BrowserSocket,
            ws_max_size=MAX_MESSAGE,
            ws_per_message_deflate=False,
            log_config=None,
            log_level="error",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="off",
            timeout_graceful_shutdown=ENDING_S,
            ssl_certfile=certificate.certificate if certificate else None,
            ssl_keyfile=certificate.private_key if certificate else None,
        )
    )


async def _serve(
    listener: socket.socket,
    endpoint: Endpoint,
    certificate: Certificate | None,
    door: Door,
    profiles: Profiles,
    announce: Announce,
) -> None:
    loop = asyncio.get_running_loop()
    port = int(listener.getsockname()[1])
    user = identity().partition("/")[0]
    tokens = Tokens()
    watcher = Watcher(door, f"{user}/console")
    hub = Hub(door, user, profiles.file_of, watcher.want)
    app = Console(endpoint, f"mastd-console-{port}", tokens, hub, profiles).app()
    server = server_of(app, certificate)

    def end() -> None:
        hub.end()
        profiles.end()
        server.should_exit = True

    for number in _SIGNALS:
        loop.add_signal_handler(number, end)
    with TokenFiles(runtime_directory(), port, tokens) as files:
        announce(endpoint.url(port), tokens, files)
        watcher.start(Box(loop, hub))
        try:
            await server.serve([listener])
        finally:
            watcher.end(THREADS_S)
