"""The plant link as the loop sees it: newest sample in, command out, over a socket or in process.

The two kinds behave alike (docs/protocol.md). In lockstep sample k answers command k - 1, in free-run the
newest sample wins. The link numbers the commands itself and echoes in each the step of the newest sample it
has handed out, so that a plant can tell a command that was computed from an old sample.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, cast

import zmq

from mastd.errors import ProtocolError
from mastd.wire.common.address import check_address
from mastd.wire.plant import hello as session
from mastd.wire.plant.hello import DaemonHello, LinkTerms, Mode, PlantHello
from mastd.wire.plant.messages import Command, Sample, decode_sample

__all__ = [
    "LOST_PLANT_NS",
    "AddressInUseError",
    "LinkCounters",
    "LinkTerms",
    "Mode",
    "NoPlantError",
    "PlantHello",
    "PlantLink",
    "SocketLink",
    "connect",
]

LOST_PLANT_NS = 2_000_000_000
HIGH_WATER_MARK = 256  # messages: a quarter of a second at 1 kHz; never near 1, which loses half of them
MAX_MESSAGE = 64 * 1024  # bytes
LINGER_MS = 200  # how long closing waits for the last command and the farewell to leave
SPIN_NS = 200_000
ANSWERS_ASLEEP = 300  # how many answers are waited for asleep after one that did not come while spinning
OTHERS_PER_CALL = 4  # messages that are no samples and are read per call; the rest is counted as invalid
DRAIN_LIMIT = 4 * HIGH_WATER_MARK  # messages taken per call at most


class NoPlantError(ProtocolError):
    """No plant answers: it may come yet."""


class AddressInUseError(ProtocolError):
    """The plant serves another daemon, which may leave it yet."""


@dataclass
class LinkCounters:
    """What became of the messages of one session."""

    received: int = 0  # samples taken over
    lost: int = 0  # samples the plant numbered but which never came
    invalid: int = 0  # messages that are no valid sample
    old: int = 0  # samples that came twice, out of order, or as answer to an earlier command
    other_boot: int = 0  # samples of another boot of the plant
    unsent: int = 0  # commands that could not be queued (in process: or were not finite)


class PlantLink(Protocol):
    """One end of a plant link."""

    @property
    def hello(self) -> PlantHello:
        """What the plant said of itself."""

    @property
    def counters(self) -> LinkCounters:
        """What became of the messages so far."""

    @property
    def refusal(self) -> str | None:
        """The plant's last complaint since the session began: place lost, plant restarted, bad command."""

    def newest(self, sample: Sample, timeout_ns: int) -> int:
        """Fill ``sample`` with the newest one and return how many arrived; 0 leaves it untouched.

        Waits at most ``timeout_ns`` (rounded up to 1 ms) for the first: in lockstep for the answer to the
        last command, in free-run for the plant's clock. With 0 it only takes what is there.
        """

    def send(self, command: Command) -> bool:
        """Number ``command`` (sequence, step) and send it; False if it could not be queued."""

    def renew(self) -> None:
        """Ask the plant for a new session, without waiting; it may have been restarted meanwhile.

        Only while nothing is asked of the plant. ``hello`` changes when it welcomes this daemon again, and
        ``refusal`` says why if it does not.
        """

    def close(self) -> None:
        """Leave the plant; what was sent before still goes out."""


class SocketLink:
    """The plant link over ZeroMQ: one DEALER socket to the plant's ROUTER. Made by ``connect``."""

    def __init__(
        self,
        socket: zmq.Socket[bytes],
        context: zmq.Context[zmq.Socket[bytes]],
        terms: LinkTerms,
        hello: PlantHello,
        name: str = "mastd",
    ) -> None:
        self.hello = hello
        self.counters = LinkCounters()
        self.refusal: str | None = None
        self._socket = socket
        self._context = context
        self._lockstep = terms.mode == "lockstep"
        self._receive_ms = -1
        self._asleep = 0
        self._layout = terms.sample_layout
        self._sample_sequence = -1
        self._step = 0
        self._command_sequence = -1
        self._greeting = DaemonHello.of(terms, name)
        self._renewing = False
        self._others = 0
        """Messages of this call that are no samples."""

    def newest(self, sample: Sample, timeout_ns: int) -> int:
        """Fill ``sample`` with the newest one; see ``PlantLink.newest``."""
        self._others = 0
        if timeout_ns <= 0:
            return self._drain(sample)
        count = self._wait(sample, timeout_ns)
        return count if self._lockstep or not count else count + self._drain(sample)

    def send(self, command: Command) -> bool:
        """Number ``command`` and send it; see ``PlantLink.send``."""
        command.sequence = self._command_sequence + 1
        command.step = self._step
        try:
            self._socket.send(command.pack(), zmq.NOBLOCK)
        except zmq.Again:
            self.counters.unsent += 1
            return False
        self._command_sequence += 1
        return True

    def renew(self) -> None:
        """Say hello again; see ``PlantLink.renew``."""
        self._renewing = True
        with contextlib.suppress(zmq.Again):  # it is not there
            self._socket.send(session.pack_hello(self._greeting), zmq.NOBLOCK)

    def close(self) -> None:
        """Say goodbye, which frees the place at once, and close the socket; may be called twice."""
        if self._socket.closed:
            return
        with contextlib.suppress(zmq.Again):  # no plant there any more
            self._socket.send(session.pack_map("bye", {}), zmq.NOBLOCK)
        self._socket.close(linger=LINGER_MS)
        self._context.term()

    def _wait(self, sample: Sample, timeout_ns: int) -> int:
        """Wait for one valid sample, asleep in ``recv``; polling first would add a third to a round trip."""
        deadline = time.monotonic_ns() + timeout_ns
        if self._lockstep:
            self._spin()
        left = timeout_ns
        while left > 0:
            timeout_ms = _milliseconds(left)
            if timeout_ms != self._receive_ms:
                self._socket.rcvtimeo = self._receive_ms = timeout_ms
            try:
                data = self._socket.recv()
            except zmq.Again:
                return 0
            if self._take(data, sample):
                return 1
            left = deadline - time.monotonic_ns()
        return 0

    def _spin(self) -> None:
        """Look for the answer again and again for a short while, as long as that pays.

        On a machine with a core to spare it takes half off the round trip, the sleep and wake-up of this
        thread. Where the socket's own thread or the plant wait for this very core it only holds them up:
        the answer fails to come in time, and the next ones are waited for asleep.
        """
        if self._asleep > 0:
            self._asleep -= 1
            return
        socket = self._socket
        end = time.monotonic_ns() + SPIN_NS
        while not cast(int, socket.getsockopt(zmq.EVENTS)) & zmq.POLLIN:
            if time.monotonic_ns() > end:
                self._asleep = ANSWERS_ASLEEP
                return
            os.sched_yield()

    def _drain(self, sample: Sample) -> int:
        """Take all waiting messages, keep the newest valid sample, and return how many were valid."""
        count = 0
        socket = self._socket
        try:
            data = socket.recv(zmq.NOBLOCK)
        except zmq.Again:
            return 0
        for taken in range(1, DRAIN_LIMIT + 1):
            count += self._take(data, sample)
            # Asking for more costs half of what a refused recv and its exception do.
            if taken == DRAIN_LIMIT or not cast(int, socket.getsockopt(zmq.EVENTS)) & zmq.POLLIN:
                break
            data = socket.recv(zmq.NOBLOCK)
        return count

    def _take(self, data: bytes, sample: Sample) -> bool:
        """Fill ``sample`` from a message if it is a later sample of this session; count it otherwise."""
        counters = self.counters
        try:
            parts = decode_sample(data, self._layout)
        except ProtocolError:
            self._take_other(data)
            return False
        _, boot_id, sequence, _, _, command_sequence, *_ = parts
        if boot_id != self.hello.boot_id:
            counters.other_boot += 1
            return False
        last = self._sample_sequence
        if sequence <= last or (self._lockstep and command_sequence != self._command_sequence):
            counters.old += 1
            return False
        if last >= 0:
            counters.lost += sequence - last - 1
        counters.received += 1
        self._sample_sequence = sequence
        sample.fill(parts)
        self._step = sample.step
        return True

    def _take_other(self, data: bytes) -> None:
        self._others += 1
        if self._others > OTHERS_PER_CALL:
            self.counters.invalid += 1
            return
        try:
            message = session.unpack_map(data)
        except ProtocolError:
            self.counters.invalid += 1
            return
        if message["kind"] == "refused":
            self.refusal = session.read_refusal(message).text
        elif message["kind"] == "welcome" and self._renewing:
            self._take_welcome(message)

    def _take_welcome(self, message: dict[str, object]) -> None:
        """Begin a new session; commands are counted on, since old ones may still wait in the plant."""
        try:
            welcome = session.read_welcome(message)
        except ProtocolError:
            self.counters.invalid += 1
            return
        differences = session.mismatches(welcome, self._greeting)
        if welcome.simulated != self.hello.simulated:
            kinds = ("a real plant", "a simulated plant")
            differences = (f"{kinds[welcome.simulated]} has replaced {kinds[self.hello.simulated]}",)
        if differences:
            self.refusal = f"{'; '.join(differences)}; restart the daemon"
            return
        self._renewing = False
        self.refusal = None
        if welcome.boot_id != self.hello.boot_id:
            self.hello = welcome
            self._sample_sequence = -1
            self._step = 0


def _milliseconds(nanoseconds: int) -> int:
    return -(-nanoseconds // 1_000_000)


def connect(
    address: str,
    terms: LinkTerms,
    timeout_ns: int = 5_000_000_000,
    name: str = "mastd",
    allow_remote: bool = False,
    waiting: Callable[[], None] | None = None,
) -> SocketLink:
    """Connect to the plant at ``address`` and open a session under ``terms``.

    ``waiting`` is called every 50 ms until the plant answers; what it raises ends the attempt.
    Raises UsageError for an address that is not allowed, ProtocolError if the plant refuses (both values):
    AddressInUseError if it names the daemon that has the place, NoPlantError if none answers within
    ``timeout_ns``.
    """
    address = check_address(address, allow_remote)
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    socket = context.socket(zmq.DEALER)
    try:
        socket.linger = 0
        socket.set_hwm(HIGH_WATER_MARK)
        socket.setsockopt(zmq.IMMEDIATE, 1)
        socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE)
        socket.setsockopt(zmq.RECONNECT_IVL, 20)
        socket.setsockopt(zmq.ROUTING_ID, b"mastd" + secrets.token_bytes(11))
        socket.connect(address)
        hello = _greet(socket, address, DaemonHello.of(terms, name), timeout_ns, waiting)
        return SocketLink(socket, context, terms, hello, name)
    except BaseException:
        socket.close()
        context.term()
        raise


def _greet(
    socket: zmq.Socket[bytes],
    address: str,
    hello: DaemonHello,
    timeout_ns: int,
    waiting: Callable[[], None] | None,
) -> PlantHello:
    """Send the hello until the plant answers, and return its welcome."""
    deadline = time.monotonic_ns() + timeout_ns
    sent_ns: int | None = None
    while (now := time.monotonic_ns()) < deadline:
        if sent_ns is None or now - sent_ns > 500_000_000:
            try:
                socket.send(session.pack_hello(hello), zmq.NOBLOCK)
                sent_ns = now
            except zmq.Again:
                pass  # not connected yet
        # While unconnected nothing can arrive and only the return of "ready to send" matters.
        event = socket.poll(50, zmq.POLLIN if sent_ns is not None else zmq.POLLOUT)
        if event & zmq.POLLIN:
            message = session.unpack_map(socket.recv(zmq.NOBLOCK))
            if message["kind"] == "refused":
                refusal = session.read_refusal(message)
                kind = AddressInUseError if refusal.holder else ProtocolError
                raise kind(f"the plant at {address} refuses: {refusal.text}")
            if message["kind"] == "welcome":
                welcome = session.read_welcome(message)
                # A careless plant may welcome whom it should have refused.
                if differences := session.mismatches(welcome, hello):
                    raise ProtocolError(f"the plant at {address} does not fit: {'; '.join(differences)}")
                return welcome
        elif waiting is not None:
            waiting()
    raise NoPlantError(f"no plant answers at {address} within {timeout_ns / 1e9:g} s")
