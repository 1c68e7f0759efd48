"""The client of a rig: join a running daemon, read its motion, give values.

::

    with RigClient.join("pedals", reads=("vehicle.speed",)) as rig:
        while (motion := rig.receive(1.0)) is not None:
            rig.send((0.1, 0.5), motion)

A client is for one thread. It says hello again by itself when the daemon was silent, and takes its session up
again; the caller sees motions that go on, and in ``rejoined`` how often that was.
"""

from __future__ import annotations

import contextlib
import socket as machine
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import zmq

from mastd.errors import ProtocolError, UsageError
from mastd.wire.address import check_address, daemon_address, rigs_address
from mastd.wire.client import ClientKeys
from mastd.wire.keys import read_key
from mastd.wire.rig_messages import ANY, LARGEST_TO_RIG, ChannelLine, RigTerms, RigWelcome
from mastd.wire.rig_protocol import Floats, MotionSeen, RigRefusedError, RigSession

AGAIN_S = 0.1
PATIENCE_S = 5.0
SILENT_S = 3.0
"""Without a sign of life for so long, the daemon is gone."""
_MARK = 64
_MOST_TAKEN = 256


class RigClient:
    """A rig that has joined; ``join`` makes one."""

    def __init__(self, address: str, session: RigSession, keys: ClientKeys | None) -> None:
        self.address = address
        self.rejoined = 0
        self._session = session
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._socket = open_rig_socket(self._context, address, keys)
        self._asked = 0.0

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
        session = RigSession(name, kind, reads, program or f"{name}@{machine.gethostname()}", mode)
        client = cls(rig_address(address), session, keys)
        try:
            client._greet(patience)
        except BaseException:
            client.close()
            raise
        return client

    @property
    def channels(self) -> tuple[RigTerms, ...]:
        """What this rig gives, in the order of the values."""
        return self._session.channels

    @property
    def reads(self) -> tuple[ChannelLine, ...]:
        """Name and unit of what this rig reads, in the order of a motion's values."""
        return self._welcome.reads

    @property
    def mode(self) -> str:
        """lockstep or free-run."""
        return self._welcome.mode

    @property
    def period(self) -> float:
        """Of the loop, s."""
        return self._welcome.period_ns * 1e-9

    @property
    def offset(self) -> float | None:
        """The daemon's monotonic clock minus ours, s; None before it is known."""
        offset = self._session.clock.offset_ns
        return None if offset is None else offset * 1e-9

    @property
    def round_trip(self) -> float | None:
        """Shortest of the last round trips, s; None before it is known."""
        trip = self._session.clock.round_trip_ns
        return None if trip is None else trip * 1e-9

    @property
    def errors(self) -> tuple[int, str]:
        """How many messages the daemon has not taken, and why the last one."""
        return self._session.errors, self._session.last_error

    def receive(self, timeout: float = 1.0) -> MotionSeen | None:
        """Return the newest motion, None if none comes within ``timeout`` s.

        Raises UsageError when the daemon is gone, RigRefusedError when it does not take the rig again.
        """
        end = time.monotonic() + timeout
        while True:
            self._drain()
            motion = self._session.take()
            left = end - time.monotonic()
            if motion is not None or left <= 0.0:
                return motion
            self._socket.poll(round(1000 * min(left, 0.05)) + 1)

    def send(self, values: Sequence[float] | Floats, motion: MotionSeen | int) -> None:
        """Give values, in the order of ``channels``, computed from this motion (or its step).

        What cannot be sent at once is lost. Raises ValueError for values that do not fit the channels.
        """
        step = motion if isinstance(motion, int) else motion.step
        self._post(self._session.values(values, step, time.monotonic_ns()))

    def stop(self) -> None:
        """Ask for a soft stop of the table."""
        self._request("stop")

    def estop(self) -> None:
        """Ask for an emergency stop."""
        self._request("estop")

    def leave(self) -> None:
        """Give the place back."""
        if not self._context.closed:
            with contextlib.suppress(ProtocolError):
                self._post(self._session.request("bye")[0])
        self.close()

    def close(self) -> None:
        """End the connection without a word; the daemon finds the rig lost."""
        self._context.destroy(linger=200)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()

    @property
    def _welcome(self) -> RigWelcome:
        if self._session.welcome is None:
            raise ProtocolError("the rig has not joined")
        return self._session.welcome

    def _greet(self, patience: float) -> None:
        end = time.monotonic() + patience
        refused: tuple[str, ...] = ()
        while time.monotonic() < end:
            self._session.refused = ()
            self._session.hello()
            self._flush()
            again = time.monotonic() + AGAIN_S
            while (left := again - time.monotonic()) > 0.0:
                if self._socket.poll(round(1000 * left) + 1):
                    self._drain()
                if self._session.welcome is not None:
                    return
                refused = self._session.refused or refused
                if refused and not _may_change(refused):
                    raise RigRefusedError("\n".join(refused))
                if self._session.refused:
                    time.sleep(max(0.0, again - time.monotonic()))
        if refused:
            raise RigRefusedError("\n".join(refused))
        raise UsageError(
            f"no daemon serves rigs at {self.address}: start `mastd serve` or `mastd run`, with `rigs:` in "
            "the daemon's settings"
        )

    def _drain(self) -> None:
        session = self._session
        for _ in range(_MOST_TAKEN):
            try:
                data = self._socket.recv(zmq.NOBLOCK)
            except zmq.Again:
                break
            session.hear(data, time.monotonic_ns())
        now = time.monotonic_ns()
        beat = session.beat(now)
        if beat is not None:
            self._post(beat)
        if session.welcome is not None and (session.ended or session.silent(now)):
            self._again(now)

    def _again(self, now_ns: int) -> None:
        """Say hello again to a daemon that was silent; give up after ``SILENT_S``."""
        session = self._session
        if session.refused and not _may_change(session.refused):
            raise RigRefusedError("\n".join(session.refused))
        if now_ns - session.heard_ns > SILENT_S * 1e9:
            raise UsageError(f"the daemon at {self.address} is gone")
        if now_ns * 1e-9 - self._asked >= AGAIN_S:
            self._asked = now_ns * 1e-9
            self.rejoined += 1
            session.hello()
            self._flush()

    def _request(self, kind: str) -> None:
        self._post(self._session.request(kind)[0])

    def _flush(self) -> None:
        while self._session.outbox:
            self._post(self._session.outbox.pop(0))

    def _post(self, data: bytes) -> None:
        with contextlib.suppress(zmq.Again):
            self._socket.send(data, zmq.NOBLOCK)


def rig_address(address: str | None) -> str:
    """Return the address of the rigs' socket, None: of this machine's daemon; raise UsageError if wrong."""
    return check_address(address or rigs_address(daemon_address()), allow_remote=True, what="rigs' address")


def open_rig_socket(
    context: zmq.Context[zmq.Socket[bytes]], address: str, keys: ClientKeys | None
) -> zmq.Socket[bytes]:
    """Return the connected socket of a rig."""
    socket = context.socket(zmq.DEALER)
    prepare_rig_socket(socket, address, keys)
    return socket


def prepare_rig_socket(socket: zmq.Socket[bytes], address: str, keys: ClientKeys | None) -> None:
    """Set a DEALER up as a rig's, and connect it; raise UsageError for keys that cannot be read."""
    socket.linger = 0
    socket.set_hwm(_MARK)
    socket.setsockopt(zmq.MAXMSGSIZE, LARGEST_TO_RIG)
    socket.setsockopt(zmq.RECONNECT_IVL, 20)
    socket.setsockopt(zmq.IPV6, int("[" in address))
    if keys is not None:
        public, secret = read_key(Path(keys.own), secret=True)
        socket.setsockopt(zmq.CURVE_PUBLICKEY, public)
        socket.setsockopt(zmq.CURVE_SECRETKEY, secret)
        socket.setsockopt(zmq.CURVE_SERVERKEY, read_key(Path(keys.server), secret=False)[0])
    socket.connect(address)


def _may_change(reasons: Sequence[str]) -> bool:
    """Return whether a refusal may end by itself: a place that its last holder has left without a word."""
    return all(reason.startswith("the place of ") for reason in reasons)
