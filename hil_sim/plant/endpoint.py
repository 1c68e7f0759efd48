"""The plant's end of the plant link: one ROUTER socket, one place for a daemon (docs/protocol.md)."""

from __future__ import annotations

import enum
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import zmq

from hil_sim.plant.socket_lock import SocketLock
from mastd.errors import MastdError, ProtocolError, UsageError
from mastd.wire.common.address import check_address
from mastd.wire.plant import hello as session
from mastd.wire.plant.hello import LinkTerms, PlantHello, Refusal
from mastd.wire.plant.messages import Command, CommandParts, Sample, decode_command, is_finite
from mastd.wire.plant.socket_link import HIGH_WATER_MARK, MAX_MESSAGE

WAIT_MS = 50
SILENCE_NS = 2_000_000_000
LATEST_COMMAND_NS = 20_000_000  # age of the sample a command was computed from; control bears no more
COMPLAINT_INTERVAL_NS = 500_000_000

Request = Callable[[dict[str, object]], dict[str, object]]


class Event(enum.Enum):
    """What one call of ``PlantEndpoint.receive`` found."""

    NOTHING = enum.auto()
    COMMAND = enum.auto()
    WELCOMED = enum.auto()
    OTHER = enum.auto()


@dataclass
class EndpointCounters:
    """What became of the messages since the endpoint was opened."""

    commands: int = 0  # accepted
    lost: int = 0  # commands the daemon numbered but which never came
    invalid: int = 0  # messages that are no valid command or request
    old: int = 0  # commands that came twice or out of order
    late: int = 0  # commands computed from a sample that is too old by now
    strangers: int = 0  # commands from peers that do not have the place
    unsent: int = 0  # samples the daemon's queue had no room for


class PlantEndpoint:
    """Socket server around a plant: greets daemons, hands out valid commands, publishes samples.

    ``request`` answers the requests of a simulated plant (kinds other than those of the protocol's core); it
    takes the message and returns the answer's entries, or raises a MastdError that becomes a refusal.
    """

    def __init__(
        self,
        address: str,
        terms: LinkTerms,
        hello: PlantHello,
        request: Request,
        allow_remote: bool = False,
    ) -> None:
        address = check_address(address, allow_remote)
        self.hello = hello
        self.counters = EndpointCounters()
        self.daemon: session.DaemonHello | None = None
        self._request = request
        self._oldest = LATEST_COMMAND_NS // terms.period_ns
        self._layout = terms.command_layout
        self._holder = b""
        self._heard_ns = 0
        self._complained_ns = 0
        self._command_sequence = -1
        self._sample_sequence = 0
        self._lock = SocketLock(address)
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._socket = self._context.socket(zmq.ROUTER)
        try:
            self._open(address)
        except BaseException:
            self.close()
            raise

    def _open(self, address: str) -> None:
        socket = self._socket
        socket.linger = 0
        socket.rcvtimeo = WAIT_MS
        socket.set_hwm(HIGH_WATER_MARK)
        socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE)
        socket.setsockopt(zmq.ROUTER_MANDATORY, 1)  # a vanished or stuck daemon must show when sending
        socket.setsockopt(zmq.ROUTER_HANDOVER, 1)  # a daemon that reconnects keeps its place
        socket.setsockopt(zmq.HANDSHAKE_IVL, 1000)
        try:
            socket.bind(address)
        except zmq.ZMQError as error:
            raise UsageError(f"the plant cannot listen at {address}: {error.strerror}") from error
        self.address = socket.getsockopt_string(zmq.LAST_ENDPOINT)

    def receive(self, command: Command, step: int, wait: bool = False) -> Event:
        """Take one message, at plant step ``step``; fill ``command`` if it is the daemon's next one.

        With ``wait`` it waits up to ``WAIT_MS`` for a message.
        """
        try:
            peer = self._socket.recv(0 if wait else zmq.NOBLOCK)
        except zmq.Again:
            return Event.NOTHING
        data = self._socket.recv(zmq.NOBLOCK)
        if self._socket.getsockopt(zmq.RCVMORE):
            while self._socket.getsockopt(zmq.RCVMORE):
                self._socket.recv(zmq.NOBLOCK)
            self.counters.invalid += 1
            return Event.OTHER
        now_ns = time.monotonic_ns()
        if peer == self._holder:
            self._heard_ns = now_ns
        try:
            parts = decode_command(data, self._layout)
        except ProtocolError as error:
            return self._receive_other(peer, data, str(error), step, now_ns)
        if not self._accept(peer, parts, step, now_ns):
            return Event.OTHER
        command.fill(parts)
        return Event.COMMAND

    def publish(self, sample: Sample) -> None:
        """Number ``sample`` and send it to the daemon that has the place, if there is one."""
        sample.sequence = self._sample_sequence
        sample.command_sequence = self._command_sequence
        self._sample_sequence += 1
        if self._holder and not self._send(self._holder, sample.pack()):
            self.counters.unsent += 1

    def status(self, step: int) -> dict[str, object]:
        """Return who has the place, the plant's step, and what became of the messages."""
        return {
            "step": step,
            "daemon": self.daemon.who if self.daemon else "",
            "counters": asdict(self.counters),
        }

    def close(self) -> None:
        """Stop listening and remove the socket file."""
        self._socket.close()
        self._context.term()
        self._lock.release()

    def _accept(self, peer: bytes, parts: CommandParts, step: int, now_ns: int) -> bool:
        """Return whether a decoded command may be applied; count and complain if it may not."""
        _, sequence, command_step, _, _, block = parts
        counters = self.counters
        if peer != self._holder:
            counters.strangers += 1
            self._complain(peer, f"no session: send hello first (boot {self.hello.boot_id})", now_ns)
            return False
        if not is_finite(block):
            counters.invalid += 1
            self._complain(peer, f"command {sequence} holds a value that is not finite", now_ns)
            return False
        if sequence <= self._command_sequence:
            counters.old += 1
            return False
        if not 0 <= step - command_step <= self._oldest:
            counters.late += 1
            self._complain(
                peer,
                f"command {sequence} belongs to step {command_step}, the plant is at step {step}",
                now_ns,
            )
            return False
        counters.lost += sequence - self._command_sequence - 1
        counters.commands += 1
        self._command_sequence = sequence
        return True

    def _receive_other(self, peer: bytes, data: bytes, problem: str, step: int, now_ns: int) -> Event:
        try:
            message = session.unpack_map(data)
        except ProtocolError:
            self.counters.invalid += 1
            self._complain(peer, problem, now_ns)
            return Event.OTHER
        kind = message["kind"]
        try:
            if kind == "hello":
                return self._greet(peer, session.read_hello(message), now_ns)
            if kind == "bye":
                if peer == self._holder:
                    self._free()
                return Event.OTHER
            answer = self.status(step) if kind == "status" else self._request(message)
            self._send(peer, session.pack_map("answer", answer))
        except MastdError as error:
            self._send(peer, session.pack_refusal(Refusal((str(error)[: session.MAX_TEXT_LENGTH],))))
        return Event.OTHER

    def _greet(self, peer: bytes, daemon: session.DaemonHello, now_ns: int) -> Event:
        """Give the place to ``peer``, or refuse it with the reasons."""
        if reasons := session.mismatches(self.hello, daemon):
            self._send(peer, session.pack_refusal(Refusal(reasons)))
            return Event.OTHER
        if self.daemon is not None and peer != self._holder and self._holder_lives(now_ns):
            holder = self.daemon.who
            refusal = Refusal((f"the plant is in use by {holder}",), holder)
            self._send(peer, session.pack_refusal(refusal))
            return Event.OTHER
        if self._holder and peer != self._holder:
            notice = Refusal((f"the plant is now in use by {daemon.who}",), daemon.who)
            self._send(self._holder, session.pack_refusal(notice))
        self.daemon, self._holder, self._heard_ns = daemon, peer, now_ns
        self._command_sequence = -1
        self._send(peer, session.pack_welcome(self.hello))
        return Event.WELCOMED

    def _holder_lives(self, now_ns: int) -> bool:
        """Return whether the daemon that has the place is neither silent for too long nor disconnected."""
        if now_ns - self._heard_ns > SILENCE_NS:
            return False
        self._send(self._holder, session.pack_map("probe", {}))
        return bool(self._holder)

    def _send(self, peer: bytes, data: bytes) -> bool:
        """Send without waiting; a holder that is gone loses its place."""
        try:
            self._socket.send(peer, zmq.SNDMORE | zmq.NOBLOCK)
            self._socket.send(data, zmq.NOBLOCK)
        except zmq.Again:
            return False
        except zmq.ZMQError as error:
            if error.errno != zmq.EHOSTUNREACH:
                raise
            if peer == self._holder:
                self._free()
            return False
        return True

    def _free(self) -> None:
        self.daemon = None
        self._holder = b""

    def _complain(self, peer: bytes, reason: str, now_ns: int) -> None:
        """Tell a peer what is wrong with its messages, not oftener than the interval."""
        if now_ns - self._complained_ns >= COMPLAINT_INTERVAL_NS:
            self._complained_ns = now_ns
            self._send(peer, session.pack_refusal(Refusal((reason,))))
