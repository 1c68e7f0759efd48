"""What the console hears of the daemon: one thread reads the status, one the telemetry, both for ever.

A daemon that goes is looked for again until the console ends. What the threads hear is handed to the event
loop's thread through a box of fixed size: changes of the daemon in order, the newest status and frames.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mastd.arrays import FloatArray, IntArray
from mastd.console.messages import pack
from mastd.errors import MastdError
from mastd.wire.access.roles import Role, read_role
from mastd.wire.access.verbs import commands
from mastd.wire.operators.client import ClientKeys, OperatorClient

AGAIN_S = 0.5
"""Pause before a daemon that has gone is looked for again."""
STATUS_S = 0.045
"""Shortest time between statuses to browsers, unless the state changes: 20 a second and a little slack."""
GATHERED_S = 0.035
"""Frames of at least so long go to the browsers in one message: two of the daemon's messages."""
MAX_FRAMES = 25
MAX_CHANGES = 16


@dataclass(frozen=True)
class Door:
    """How the daemon is reached; everything that the console says to it goes through such a session."""

    address: str | None
    keys: ClientKeys | None

    def open(self, operator: str, commands: bool = True) -> OperatorClient:
        """Return a session of ``operator``, who may command or only watch and stop.

        Raises MastdError if no daemon answers or it refuses.
        """
        role: Role = "engineer" if commands else "observer"
        return OperatorClient(self.address, operator, role, "mastd console", self.keys)


@dataclass(frozen=True)
class Daemon:
    """A daemon that answers: its description, and whether it lets the console's key command.

    ``name`` is the name of the key, under which all browsers act; empty on this machine, where each browser
    has its own.
    """

    description: dict[str, Any]
    commands: bool
    name: str


class Listener(Protocol):
    """Who is reported what the threads hear, in the event loop's thread."""

    def found(self, daemon: Daemon) -> None:
        """A daemon answers, maybe another one than before."""

    def lost(self, reason: str) -> None:
        """No daemon answers."""

    def status(self, text: str) -> None:
        """A status, as a message to browsers."""

    def frames(self, numbers: IntArray, frames: FloatArray) -> None:
        """Frames (n, channels) with their numbers (n,)."""


class Box:
    """Between the threads and the event loop: nothing here waits, and nothing grows."""

    def __init__(self, loop: asyncio.AbstractEventLoop, listener: Listener) -> None:
        self._loop = loop
        self._listener = listener
        self._lock = threading.Lock()
        self._changes: deque[Daemon | str] = deque(maxlen=MAX_CHANGES)
        self._status = ""
        self._frames: deque[tuple[IntArray, FloatArray]] = deque(maxlen=MAX_FRAMES)
        self._called = False

    def change(self, daemon: Daemon | str) -> None:
        """Tell that a daemon was found, or lost for a reason; what came before is of no more interest."""
        with self._lock:
            self._changes.append(daemon)
            self._status = ""
            self._frames.clear()
            self._call()

    def status(self, text: str) -> None:
        """Tell the newest status."""
        with self._lock:
            self._status = text
            self._call()

    def frames(self, numbers: IntArray, frames: FloatArray) -> None:
        """Tell frames; the oldest give way, which their numbers show."""
        with self._lock:
            self._frames.append((numbers, frames))
            self._call()

    def _call(self) -> None:
        if not self._called:
            self._called = True
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        with self._lock:
            self._called = False
            changes, status, frames = list(self._changes), self._status, list(self._frames)
            self._changes.clear()
            self._frames.clear()
            self._status = ""
        for change in changes:
            if isinstance(change, Daemon):
                self._listener.found(change)
            else:
                self._listener.lost(change)
        for numbers, values in frames:
            self._listener.frames(numbers, values)
        if status:
            self._listener.status(status)


class Watcher:
    """The two threads that read the daemon."""

    def __init__(self, door: Door, operator: str) -> None:
        self._door = door
        self._operator = operator
        self._ended = threading.Event()
        self._wanted = threading.Event()
        self._threads: list[threading.Thread] = []
        self._reason = ""

    def start(self, box: Box) -> None:
        """Begin to read."""
        for read in (self._read_status, self._read_telemetry):
            self._threads.append(threading.Thread(target=self._keep, args=(read, box), daemon=True))
            self._threads[-1].start()

    def want(self, wanted: bool) -> None:
        """Say whether anybody looks at traces; telemetry that nobody wants is not asked for."""
        if wanted:
            self._wanted.set()
        else:
            self._wanted.clear()

    def end(self, within_s: float) -> None:
        """End the threads; one that waits for a silent daemon is left to the end of the process."""
        self._ended.set()
        self._wanted.set()
        until = time.monotonic() + within_s
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _keep(self, read: Callable[[Box], None], box: Box) -> None:
        while not self._ended.is_set():
            read(box)
            self._ended.wait(AGAIN_S)

    def _read_status(self, box: Box) -> None:
        try:
            with self._door.open(self._operator) as client:
                daemon = self._meet(client)
                self._reason = ""
                box.change(daemon)
                self._follow(client, box, daemon)
            reason = "the daemon has ended; reconnecting"
        except MastdError as error:
            reason = str(error)
        if reason != self._reason and not self._ended.is_set():
            self._reason = reason
            box.change(reason)

    def _meet(self, client: OperatorClient) -> Daemon:
        own = client.welcome.operator == self._operator
        role = read_role(client.welcome.role)
        granted = role is not None and commands(role)
        return Daemon(client.describe(), granted, "" if own else client.welcome.operator)

    def _follow(self, client: OperatorClient, box: Box, daemon: Daemon) -> None:
        """Hand on statuses until the daemon ends, or another one answers in its place."""
        shown_s, matter, carried = 0.0, None, None
        for snapshot in client.watch():
            if self._ended.is_set() or snapshot.get("pid") != daemon.description.get("pid"):
                return
            if carried != (carried := _carried(snapshot)):
                # Another vehicle has other channels; a daemon that waits for its plant cannot tell of it.
                now = self._meet(client)
                if now != daemon:
                    daemon = now
                    box.change(daemon)
            now_s = time.monotonic()
            important = (snapshot.get("state"), snapshot.get("cause"), snapshot.get("loop"))
            if now_s - shown_s >= STATUS_S or important != matter:
                shown_s, matter = now_s, important
                box.status(pack("status", status=snapshot))

    def _read_telemetry(self, box: Box) -> None:
        self._wanted.wait()
        if self._ended.is_set():
            return
        numbers: list[IntArray] = []
        frames: list[FloatArray] = []
        # That the daemon does not answer is told by the other thread.
        with contextlib.suppress(MastdError), self._door.open(self._operator, False) as client:
            gathered_s = time.monotonic()
            for telemetry in client.telemetry():
                if not self._wanted.is_set() or self._ended.is_set():
                    return
                if not len(telemetry.numbers):
                    continue
                numbers.append(telemetry.numbers)
                frames.append(telemetry.frames)
                if time.monotonic() - gathered_s >= GATHERED_S:
                    box.frames(np.concatenate(numbers), np.concatenate(frames))
                    numbers, frames = [], []
                    gathered_s = time.monotonic()


def _carried(snapshot: dict[str, Any]) -> tuple[object, ...]:
    """Return what tells one loaded vehicle from another, and whether the plant is there already."""
    waiting = snapshot.get("loop") == "preparing"
    return waiting, (snapshot.get("profile") or {}).get("loaded"), (snapshot.get("vehicle") or {}).get("name")
