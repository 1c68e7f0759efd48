"""The operators' client: says hello, sends commands until they are answered, follows the status.

A command that is not answered is sent again under the same sequence, so that it is carried out once however
often it was sent. One client is for one thread.

Rigs have clients of their own, ``mastd.wire.rigs.client`` and ``mastd.wire.rigs.client_async``.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import socket as machine
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import zmq

from mastd.errors import ProtocolError, UsageError
from mastd.wire.access.roles import Role
from mastd.wire.access.verbs import PREPARED, STOPPING
from mastd.wire.common.address import check_address, daemon_address, snapshots_address, usual_daemon
from mastd.wire.common.strict_messages import MalformedError, pack
from mastd.wire.operators.messages import (
    MAX_ANSWER,
    MAX_NAME_LENGTH,
    OPERATOR_PROTOCOL_VERSION,
    Answer,
    Close,
    Command,
    Error,
    FromGateway,
    Hello,
    Welcome,
    read_from_gateway,
    read_status,
)

if TYPE_CHECKING:  # numpy takes its time to be imported, and few clients read telemetry
    from mastd.wire.operators.telemetry import Telemetry

HELLO_S = 2.0
AGAIN_S = 0.5
SLOW_DOWN_S = 0.1
SILENT_S = 3.0
LOADING_S = 130.0
_HIGH_WATER_MARK = 64


@dataclass(frozen=True)
class ClientKeys:
    """Files with the client's secret key and the server's public one, for a network address."""

    own: Path
    server: Path


def identity() -> str:
    """Return who acts here: ``user@host/terminal``."""
    terminal = ""
    for descriptor in (0, 1, 2):
        with contextlib.suppress(OSError):
            terminal = "/" + os.ttyname(descriptor).removeprefix("/dev/")
            break
    try:
        user = pwd.getpwuid(os.getuid()).pw_name  # as the gateway finds it, whatever the environment says
    except KeyError:  # a user without a name
        user = str(os.getuid())
    name = f"{user}@{machine.gethostname()}{terminal}"[:MAX_NAME_LENGTH]
    return "".join(character if character.isprintable() else "?" for character in name)


class OperatorClient:
    """A session with the gateway at ``address``; a context manager.

    ``operator`` is who acts (see ``identity``), ``role`` the most that it wants to be
    (``mastd.wire.access.roles``); over the network a key may grant less. Raises UsageError if no daemon
    answers there within ``patience_s``, ProtocolError if it refuses.
    """

    def __init__(
        self,
        address: str | None = None,
        operator: str | None = None,
        role: Role = "engineer",
        name: str = "mastd ctl",
        keys: ClientKeys | None = None,
        patience_s: float = HELLO_S,
    ) -> None:
        self.address = check_address(
            address or daemon_address(), allow_remote=True, what="operators' address"
        )
        self._hello = Hello(OPERATOR_PROTOCOL_VERSION, name, operator or identity(), role)
        self._keys = keys
        self._patience_s = patience_s
        if self.address.startswith("ipc:///"):
            self._inspect(Path(self.address.removeprefix("ipc://")))
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._sequence = 0
        try:
            self._socket = self._open(zmq.DEALER, self.address)
            self.welcome = self._greet()
        except BaseException:
            self.close()
            raise

    def command(
        self, verb: str, arguments: Mapping[str, object] | None = None, timeout_s: float | None = None
    ) -> Answer:
        """Send a command and return its answer; the arguments as they stand on the wire.

        Raises UsageError when no answer comes within ``timeout_s`` (by default longer than the daemon waits
        for its loop), ProtocolError when the gateway does not understand the command.
        """
        if timeout_s is None:
            timeout_s = LOADING_S if verb in PREPARED else self.welcome.answer_s + HELLO_S
        end = time.monotonic() + timeout_s
        sent, again = 0, 0.0
        number = self._next(verb, arguments)
        while (now := time.monotonic()) < end:
            if now >= again:
                self._send(number)
                sent, again = sent + 1, now + AGAIN_S
            message = self._receive(min(again, end) - now)
            if isinstance(message, Answer) and self._is_for(message, number):
                return message
            if isinstance(message, Error) and message.sequence in (number[0], -1):
                if message.error == "too_many":
                    again = time.monotonic() + SLOW_DOWN_S
                elif message.error == "unknown_session":
                    if sent > 1 and verb not in STOPPING:
                        raise UsageError(
                            f"{verb}: the connection was lost and whether it was carried out is not known; "
                            "see `mastd ctl status`"
                        )
                    self.welcome = self._greet()
                    number = self._next(verb, arguments)
                    sent, again = 0, 0.0
                else:
                    reason = message.reason.removeprefix("command: ").removeprefix(f"{verb}: ")
                    raise ProtocolError(f"{verb}: {reason}")
        silent = f"{verb}: the daemon at {self.address} does not answer within {timeout_s:g} s"
        raise UsageError(_with(silent, self._silent_daemon()))

    def send(self, verb: str, arguments: Mapping[str, object] | None = None) -> None:
        """Send a command once and do not wait for its answer."""
        self._send(self._next(verb, arguments))

    def status(self) -> dict[str, Any]:
        """Return everything the daemon tells about itself (docs/protocol.md)."""
        return self.command("status").snapshot or {}

    def describe(self) -> dict[str, Any]:
        """Return what the daemon is: table, actuators, channels, states, faults (docs/protocol.md)."""
        return self.command("describe").description or {}

    def watch(self) -> Iterator[dict[str, Any]]:
        """Give status snapshots as they come, until the daemon ends; what is not read in time is lost.

        Raises UsageError when none comes for ``SILENT_S``.
        """
        subscriber = self._subscriber()
        try:
            while True:
                if not subscriber.poll(round(SILENT_S * 1000)):
                    raise self._silent("status")
                with contextlib.suppress(MalformedError):
                    snapshot = read_status(subscriber.recv())
                    yield snapshot
                    if snapshot.get("loop") == "ended":
                        return
        finally:
            subscriber.close()

    def telemetry(self) -> Iterator[Telemetry]:
        """Give the loop's frames as they come, until the daemon ends; what is not read in time is lost.

        Twice a second something is given even if there are no frames. Raises UsageError when there is no
        telemetry, or none comes for ``SILENT_S``.
        """
        from mastd.wire.operators.telemetry import MAX_TELEMETRY, read_telemetry

        if not self.welcome.telemetry:
            raise UsageError(f"the daemon at {self.address} has no telemetry, because it records nothing")
        subscriber = self._open(zmq.SUB, self._beside(self.welcome.telemetry), MAX_TELEMETRY)
        subscriber.setsockopt(zmq.SUBSCRIBE, b"")
        try:
            while True:
                if not subscriber.poll(round(SILENT_S * 1000)):
                    raise self._silent("telemetry")
                with contextlib.suppress(MalformedError):
                    telemetry = read_telemetry(subscriber.recv())
                    yield telemetry
                    if telemetry.ended:
                        return
        finally:
            subscriber.close()

    def close(self) -> None:
        """End the session; what was said last has a moment to leave."""
        if hasattr(self, "welcome"):
            with contextlib.suppress(zmq.ZMQError):
                self._socket.send(pack(Close(self.welcome.session)), zmq.NOBLOCK)
        self._context.destroy(linger=200)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open(self, kind: int, address: str, maximum: int = 2 * MAX_ANSWER) -> zmq.Socket[bytes]:
        socket = self._context.socket(kind)
        socket.linger = 0
        socket.set_hwm(_HIGH_WATER_MARK)
        socket.setsockopt(zmq.MAXMSGSIZE, maximum)
        socket.setsockopt(zmq.RECONNECT_IVL, 20)
        socket.setsockopt(zmq.IPV6, int("[" in address))
        if self._keys is not None:
            public, secret = _key(self._keys.own, "mastd keys new NAME", secret=True)
            socket.setsockopt(zmq.CURVE_PUBLICKEY, public)
            socket.setsockopt(zmq.CURVE_SECRETKEY, secret)
            socket.setsockopt(zmq.CURVE_SERVERKEY, _key(self._keys.server, "mastd keys server")[0])
        socket.connect(address)
        return socket

    def _subscriber(self) -> zmq.Socket[bytes]:
        """Open the daemon's status socket."""
        address = self.welcome.snapshots or snapshots_address(self.address)
        subscriber = self._open(zmq.SUB, self._beside(address))
        subscriber.setsockopt(zmq.SUBSCRIBE, b"")
        return subscriber

    def _beside(self, address: str) -> str:
        """Return the address of another socket of the daemon; a host ``*`` is the one connected to."""
        if not address.startswith("tcp://*:"):
            return address
        return f"{self.address.rpartition(':')[0]}:{address.rpartition(':')[2]}"

    def _greet(self) -> Welcome:
        end = time.monotonic() + self._patience_s
        again = 0.0
        while (now := time.monotonic()) < end:
            if now >= again:
                with contextlib.suppress(zmq.Again):
                    self._socket.send(pack(self._hello), zmq.NOBLOCK)
                again = now + AGAIN_S
            message = self._receive(min(again, end) - now)
            if isinstance(message, Welcome):
                self._sequence = 0
                return message
            if isinstance(message, Error) and message.error != "unknown_session":
                raise ProtocolError(f"the daemon at {self.address} refuses: {message.reason}")
        raise self._nobody()

    def _next(self, verb: str, arguments: Mapping[str, object] | None) -> tuple[int, bytes]:
        self._sequence += 1
        return self._sequence, pack(
            Command(self.welcome.session, self._sequence, verb, dict(arguments or {}))
        )

    def _send(self, number: tuple[int, bytes]) -> None:
        with contextlib.suppress(zmq.Again):
            self._socket.send(number[1], zmq.NOBLOCK)

    def _is_for(self, answer: Answer, number: tuple[int, bytes]) -> bool:
        return answer.session == self.welcome.session and answer.sequence == number[0]

    def _receive(self, seconds: float) -> FromGateway | None:
        """Return the next message of the gateway, None if none comes in time or it is not one."""
        if not self._socket.poll(max(0, round(seconds * 1000))):
            return None
        try:
            return read_from_gateway(self._socket.recv(zmq.NOBLOCK))
        except (MalformedError, zmq.Again):
            return None

    def _inspect(self, socket: Path) -> None:
        """Raise UsageError if there is no such socket, or none that this user may use."""
        try:
            there = socket.exists()
        except PermissionError:
            there = True
        if not there:
            raise self._nobody()
        if not os.access(socket, os.W_OK):
            raise UsageError(f"{self.address}: you have no permission to use this socket")

    def _silent(self, what: str) -> UsageError:
        return UsageError(
            _with(f"the daemon at {self.address} shows no {what} any more", self._silent_daemon())
        )

    def _nobody(self) -> UsageError:
        silent = self._silent_daemon()
        if silent:
            return UsageError(f"no answer from {self.address}, but {silent}")
        if self.address.startswith("tcp://"):
            return UsageError(
                f"no daemon answers at {self.address}: it may not run there, or not serve the network "
                "(`gateway.address`), or the keys do not fit: --server-key must be that daemon's server.key, "
                "and --key one that `mastd keys` lists there"
            )
        return UsageError(f"no daemon answers at {self.address}: start `mastd serve` or `mastd run`")

    def _silent_daemon(self) -> str:
        """Return what to do with a daemon that lives but does not answer, empty if none is known to live."""
        process_id = usual_daemon(self.address)
        if process_id is None:
            return ""
        return (
            f"the daemon with process id {process_id} is there: if it is just starting, wait (a first start "
            "takes minutes); if not, use the table's e-stop, or end it by "
            f"`kill -TERM {process_id}` (SIGTERM), which lowers the table"
        )


def _with(text: str, more: str) -> str:
    return f"{text}; {more}" if more else text


def _key(path: Path, command: str, secret: bool = False) -> tuple[bytes, bytes]:
    """Return a key; if there is none, UsageError names the command that makes it."""
    from mastd.wire.access.keys import read_key  # what it imports takes its time, and few clients have keys

    if not path.is_file():
        raise UsageError(f"{path}: no key there; where the daemon runs, `{command}` makes one")
    return read_key(path, secret)
