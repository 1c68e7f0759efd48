"""Rigs that load the rigs' gateway, good ones and bad ones, for benches: whoever calls them says how long.

``steady`` answers each motion at once, ``flood`` sends values as fast as it can and reads what comes,
``deaf`` sends and never reads, ``half_open`` connects and does not even greet.
"""

from __future__ import annotations

import contextlib
import socket as machine
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import msgpack
import zmq

from mastd.wire.common.strict_messages import pack
from mastd.wire.rigs.client import open_rig_socket
from mastd.wire.rigs.client_session import ClientSession
from mastd.wire.rigs.messages import Close

READS: Final = ("pose.heave", "profile_time")
_IDLE_S: Final = 0.02
_CHECK_INTERVAL_S: Final = 0.05
"""How often a rig looks whether it is still wanted."""
_SLOW_S: Final = 0.01
_PATIENCE_MS: Final = 2000
_SIGN_MS: Final = 50
_pack, _unpack = msgpack.Packer().pack, msgpack.unpackb
_Socket = zmq.Socket[bytes]


class Rig:
    """One rig: a connection, its session and its count of messages."""

    def __init__(self, context: zmq.Context[_Socket], name: str, address: str) -> None:
        self.socket = open_rig_socket(context, address, None)
        self._session = ClientSession(name, "any", READS, f"bench {name}")
        self.number = 0
        self._sequence = 1 << 32
        self._block = b""

    def join(self, wanted: Callable[[], bool]) -> bool:
        """Say hello until there is a place, as long as that is wanted; return whether there is."""
        session = self._session
        while session.welcome is None and wanted():
            session.hello()
            self.socket.send(session.outbox.pop())
            if self.socket.poll(_PATIENCE_MS):  # a second hello would end the session of the first
                session.on_message(self.socket.recv(), time.monotonic_ns())
            if session.refused:
                session.refused = ()
                time.sleep(_IDLE_S)
        if session.welcome is None:
            return False
        self.number, self._block = session.welcome.session, bytes(8 * len(session.welcome.channels))
        return True

    def answer(self) -> None:
        """Answer the newest motion that has come."""
        newest: list[Any] | None = None
        with contextlib.suppress(zmq.Again):
            while True:
                message = _unpack(self.socket.recv(zmq.NOBLOCK))
                if type(message) is list:
                    newest = message
        if newest is not None:
            self.give(newest[3])

    def give(self, step: int, flags: int = zmq.NOBLOCK) -> None:
        """Give values for a step, or as ``flags`` say wait until they can be sent."""
        self._sequence += 1
        message = ("values", self.number, self._sequence, step, time.monotonic_ns(), self._block)
        with contextlib.suppress(zmq.Again):
            self.socket.send(_pack(message), flags)

    def leave(self) -> None:
        """Give the place back."""
        with contextlib.suppress(zmq.Again):
            self.socket.send(pack(Close(self.number, self._sequence + 1)), zmq.NOBLOCK)


@contextlib.contextmanager
def connected(names: Sequence[str], address: str, wanted: Callable[[], bool]) -> Iterator[list[Rig]]:
    """Yield rigs of these names as soon as they have joined; none if that is not wanted any more."""
    context: zmq.Context[_Socket] = zmq.Context()
    try:
        rigs = [Rig(context, name, address) for name in names]
        joined = all(rig.join(wanted) for rig in rigs)
        yield rigs if joined else []
        for rig in rigs if joined else []:
            rig.leave()
    finally:
        context.destroy(linger=200)


def steady(rigs: list[Rig], wanted: Callable[[], bool]) -> None:
    """Answer every motion."""
    poller = zmq.Poller()
    for rig in rigs:
        poller.register(rig.socket, zmq.POLLIN)
    next_check = 0.0
    while (now := time.monotonic()) < next_check or wanted():
        next_check = next_check if now < next_check else now + _CHECK_INTERVAL_S
        ready = dict(poller.poll(_SIGN_MS))
        for rig in rigs:
            if rig.socket in ready:
                rig.answer()
            elif not ready:
                rig.give(-1)  # a sign of life before the loop begins


def flood(rigs: list[Rig], wanted: Callable[[], bool]) -> None:
    """Send as fast as the connection takes it."""
    (rig,) = rigs
    rig.socket.sndtimeo = round(1e3 * _SLOW_S)
    while wanted():
        for _ in range(200):
            rig.give(-1, 0)
        with contextlib.suppress(zmq.Again):
            while True:
                rig.socket.recv(zmq.NOBLOCK)


def deaf(rigs: list[Rig], wanted: Callable[[], bool]) -> None:
    """Send now and then, and never read."""
    (rig,) = rigs
    while wanted():
        rig.give(-1)
        time.sleep(_SLOW_S)


def half_open(address: str, wanted: Callable[[], bool]) -> None:
    """Connect without a greeting, again and again: it is dropped each time."""
    while wanted():
        with machine.socket(machine.AF_UNIX) as raw, contextlib.suppress(OSError):
            raw.settimeout(_CHECK_INTERVAL_S)
            raw.connect(address.removeprefix("ipc://"))
            while wanted():
                with contextlib.suppress(TimeoutError):
                    if not raw.recv(1 << 12):
                        break
