"""The client of a rig: join a running daemon, read its motion, give values.

::

    with RigClient.join("pedals", reads=("vehicle.speed",)) as rig:
        while (motion := rig.receive(1.0)) is not None:
            rig.send((0.1, 0.5), motion)

A client is for one thread. It says hello again by itself when the daemon was silent, and takes its session up
again; the caller sees motions that go on, and in ``rejoined`` how often that was. The asynchronous client is
``mastd.wire.rigs.client_async.AsyncRigClient``.
"""

from __future__ import annotations

import contextlib
import socket as machine
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar, cast

import zmq

from mastd.arrays import FloatArray
from mastd.errors import ProtocolError
from mastd.wire.access.keys import read_key
from mastd.wire.common.address import check_address, daemon_address, rigs_address
from mastd.wire.operators.client import ClientKeys
from mastd.wire.rigs.client_session import ClientSession, JoinedRig, MotionSeen
from mastd.wire.rigs.messages import ANY, MAX_TO_RIG

PATIENCE_S = 5.0
MAX_TAKEN = 256
"""Messages that are taken at once."""
SLICE_S = 0.05
"""s between two looks at what is expected."""
_MARK = 64
Result = TypeVar("Result")


class ConnectedRig(JoinedRig):
    """What both clients of a rig share: a connection that is never waited for, and what waits between looks.

    Generators yield the longest time to wait for a message, in ms, and return their result.
    """

    def __init__(self, address: str, session: ClientSession, keys: ClientKeys | None) -> None:
        super().__init__(address, session)
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._socket = open_rig_socket(self._context, address, keys)

    def close(self) -> None:
        """End the connection without notice; the daemon finds the rig lost."""
        self._context.destroy(linger=200)

    def _joining(self, patience: float) -> Generator[int, None, None]:
        end = time.monotonic() + patience
        while True:
            self._drain()
            if self._session.welcome is not None:
                return
            left = end - time.monotonic()
            if left <= 0.0:
                raise self._session.nobody(self.address)
            yield _wait_ms(left)

    def _receiving(self, timeout: float) -> Generator[int, None, MotionSeen | None]:
        end = time.monotonic() + timeout
        while True:
            self._drain()
            motion = self._session.take()
            left = end - time.monotonic()
            if motion is not None or left <= 0.0:
                return motion
            yield _wait_ms(left)

    def _give(self, values: Sequence[float] | FloatArray, motion: MotionSeen | int) -> None:
        step = motion if isinstance(motion, int) else motion.step
        self._post(self._session.values(values, step, time.monotonic_ns()))

    def _request(self, kind: str) -> None:
        self._post(self._session.request(kind)[0])

    def _leave(self) -> None:
        if not self._context.closed:
            with contextlib.suppress(ProtocolError):
                self._request("bye")
        self.close()

    def _drain(self) -> None:
        for _ in range(MAX_TAKEN):
            try:
                data = self._socket.recv(zmq.NOBLOCK)
            except zmq.Again:
                break
            self._session.on_message(data, time.monotonic_ns())
        self._session.poll(time.monotonic_ns())
        while self._session.outbox:
            self._post(self._session.outbox.pop(0))

    def _post(self, data: bytes) -> None:
        with contextlib.suppress(zmq.Again):
            self._socket.send(data, zmq.NOBLOCK)


class RigClient(ConnectedRig):
    """A rig that has joined; ``join`` makes one."""

    @classmethod
    def join(
        cls,
        name: str,
        *,
        kind: str = ANY,
        reads: Sequence[str] = (),
        address: str | None = None,
        keys: ClientKeys | None = None,
        patience: float = PATIENCE_S,
        mode: str = ANY,
        program: str = "",
    ) -> Self:
        """Join as the rig ``name`` of the daemon's rigs file; read the channels ``reads``.

        ``address``: of the rigs' socket, None for this machine's daemon. Raises UsageError if no daemon
        answers within ``patience`` s, RigRefusedError with every reason if it gives no place.
        """
        session = ClientSession(name, kind, reads, program or own_program(name), mode)
        client = cls(rig_address(address), session, keys)
        try:
            client._wait(client._joining(patience))
        except BaseException:
            client.close()
            raise
        return client

    def receive(self, timeout: float = 1.0) -> MotionSeen | None:
        """Return the newest motion, None if none comes within ``timeout`` s.

        Raises UsageError when the daemon is gone, RigRefusedError when it does not take the rig again.
        """
        return self._wait(self._receiving(timeout))

    def send(self, values: Sequence[float] | FloatArray, motion: MotionSeen | int) -> None:
        """Give values, in the order of ``channels``, computed from this motion (or its step).

        What cannot be sent at once is lost. Raises ValueError for values that do not fit the channels.
        """
        self._give(values, motion)

    def stop(self) -> None:
        """Ask for a soft stop of the table."""
        self._request("stop")

    def estop(self) -> None:
        """Ask for an emergency stop."""
        self._request("estop")

    def leave(self) -> None:
        """End the session and the connection."""
        self._leave()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()

    def _wait(self, waits: Generator[int, None, Result]) -> Result:
        while True:
            try:
                wait_ms = next(waits)
            except StopIteration as done:
                return cast(Result, done.value)
            self._socket.poll(wait_ms)


def _wait_ms(left: float) -> int:
    return round(1000 * min(left, SLICE_S)) + 1


def own_program(name: str) -> str:
    """Return what a rig calls itself to people where nothing better is known."""
    return f"{name}@{machine.gethostname()}"


def rig_address(address: str | None) -> str:
    """Return the address of the rigs' socket, None: of this machine's daemon; raise UsageError if wrong."""
    return check_address(address or rigs_address(daemon_address()), allow_remote=True, what="rigs' address")


def open_rig_socket(
    context: zmq.Context[zmq.Socket[bytes]], address: str, keys: ClientKeys | None
) -> zmq.Socket[bytes]:
    """Return the connected socket of a rig; raise UsageError for keys that cannot be read."""
    socket = context.socket(zmq.DEALER)
    socket.linger = 0
    socket.immediate = True  # hellos do not pile up until a daemon is there
    socket.set_hwm(_MARK)
    socket.setsockopt(zmq.MAXMSGSIZE, MAX_TO_RIG)
    socket.setsockopt(zmq.RECONNECT_IVL, 20)
    socket.setsockopt(zmq.IPV6, int("[" in address))
    if keys is not None:
        public, secret = read_key(Path(keys.own), secret=True)
        socket.setsockopt(zmq.CURVE_PUBLICKEY, public)
        socket.setsockopt(zmq.CURVE_SECRETKEY, secret)
        socket.setsockopt(zmq.CURVE_SERVERKEY, read_key(Path(keys.server), secret=False)[0])
    socket.connect(address)
    return socket
