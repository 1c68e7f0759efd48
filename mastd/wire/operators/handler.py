"""The operators' handler: what the gateway does with each message, without sockets and a clock of its own.

``on_message`` takes one message, ``poll`` does what time and the loop bring about; replies collect in
``replies``.

- ``stop`` and ``estop`` go into the loop's block at once, from anybody, at any rate, in every condition of
  the loop. A stop also refuses every request that still waits here: what was asked for before it must not
  move the table after it.
- Every other request needs the lease. One is in flight at a time, ``MAX_WAITING`` more wait in their order,
  further ones are refused as busy.
- What somebody drives with needs the lease as well; the newest goes to the loop, without an answer. A rig,
  which cannot command, drives without the lease, but not beside another driver.
- What a client may ask for is a matter of its role; over the network the key's role counts in every message.
- The loop answers through its status block. What it does not answer in time is withdrawn and refused.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from msgspec import UNSET

from mastd.wire.access.peer_credentials import acting_as
from mastd.wire.access.roles import Role, lesser
from mastd.wire.access.sessions import (
    NETWORK,
    Addresses,
    GatewayCounters,
    Order,
    Peer,
    PeerIdentity,
    Session,
    Sessions,
)
from mastd.wire.access.verbs import BY_NAME, COMMANDING, PREPARED, STOPPING, Verb, commands, may
from mastd.wire.common.lease import Lease
from mastd.wire.common.strict_messages import MalformedError
from mastd.wire.operators.answers import HandlerLog, NoHandlerLog, ReplyBuilder
from mastd.wire.operators.load_process import Loading
from mastd.wire.operators.messages import (
    OPERATOR_PROTOCOL_VERSION,
    Arguments,
    Close,
    Command,
    Drive,
    Hello,
    Jog,
    Load,
    Welcome,
    read_from_client,
)
from mastd.wire.operators.ports import HandlerPorts
from mastd.wire.operators.requests import Pending, SlotBook, numbers, split_refusal
from mastd.wire.operators.snapshot import OVER, driven_by_hand, loop_advice, whole
from mastd.wire.operators.status_view import StatusView
from mastd.wire.operators.terms import HandlerTerms

MAX_WAITING = 8
MAX_STOPS_WAITING = 512
"""Stops that wait for the loop's confirmation; further ones are answered as soon as they are in the block."""

_NOWHERE = Addresses()
_NO_LOG = NoHandlerLog()
_UNKNOWN_SESSION = "unknown session; send hello first"
_NOT_DRIVEN = (
    "drive is refused: no simulated car expects inputs; load a profile with mode: oils and "
    "driver: {kind: operator}"
)


class OperatorHandler:
    """Judges the operators' messages and speaks with the loop; all times are monotonic, in ns."""

    def __init__(
        self, terms: HandlerTerms, ports: HandlerPorts, counters: GatewayCounters, log: HandlerLog = _NO_LOG
    ) -> None:
        self.counters = counters
        self.lease = Lease(terms.lease_ns)
        self.sessions = Sessions(terms.command_rate, terms.burst)
        self._terms = terms
        self._port = ports.loop
        self._loader = ports.loader
        self._helpers = {"load": ports.loader, "reload": ports.checker}
        self._forwarder = ports.forwarder
        self._flying: Pending | None = None
        self._waiting: deque[Pending] = deque()
        self._stops: deque[Pending] = deque()
        self._loading: Pending | None = None
        self._slots = SlotBook(ports.loader.slots if ports.loader is not None else 1, terms.slot)
        self.status_view = StatusView(terms, ports, counters, self.lease, self.sessions)
        self._reply = ReplyBuilder(terms, self._port, self.lease, counters, self.status_view, log)
        self.replies = self._reply.replies

    def on_message(
        self,
        peer: Peer,
        frames: Sequence[bytes],
        now_ns: int,
        addresses: Addresses = _NOWHERE,
        identity: PeerIdentity | None = None,
    ) -> None:
        """Take one message, which is one frame, from ``identity``; None is for whoever they say they are."""
        self.counters.received += 1
        self._port.refresh(now_ns)  # judge by the newest status, not by that of the last poll
        if len(frames) != 1:
            self._reply.error(peer, "malformed", "a message is one frame; a REQ socket sends two, use DEALER")
            return
        try:
            message = read_from_client(frames[0])
        except MalformedError as error:
            self._reply.error(peer, "oversize" if error.oversize else "malformed", str(error), error.sequence)
            return
        if isinstance(message, Hello):
            self._welcome(peer, message, now_ns, addresses, identity)
        elif isinstance(message, Close):
            self.sessions.close(peer, message.session)
        elif isinstance(message, Drive):
            self._drive(peer, message, now_ns, identity)
        else:
            self._command(peer, message, now_ns, identity)

    def poll(self, now_ns: int) -> None:
        """Settle what the loop has answered or left unanswered, look at the loader, ask for the next."""
        self._port.refresh(now_ns)
        self._settle_stops(now_ns)
        self._settle_request(now_ns)
        self._settle_loading(now_ns)
        self._ask_next(now_ns)
        self._forwarder.poll(now_ns)

    def end(self, now_ns: int) -> None:
        """Tell everybody who still waits that the daemon has ended."""
        why, _, needed = (loop_advice(self._port, now_ns) or OVER).partition("; ")
        left = [*self._stops, *self._waiting, *(p for p in (self._flying, self._loading) if p is not None)]
        for pending in left:
            reason = f"{pending.command.verb} was not answered: {why}"
            self._reply.refuse(pending.session, pending.command, now_ns, reason, needed)

    def close(self) -> None:
        """Leave no loader behind."""
        for helper in self._helpers.values():
            if helper is not None:
                helper.end()

    def _welcome(
        self, peer: Peer, hello: Hello, now_ns: int, addresses: Addresses, identity: PeerIdentity | None
    ) -> None:
        if hello.protocol_version != OPERATOR_PROTOCOL_VERSION:
            self._reply.error(
                peer,
                "malformed",
                f"protocol version: gateway {OPERATOR_PROTOCOL_VERSION}, client {hello.protocol_version}",
            )
            return
        role = hello.role if identity is None else lesser(hello.role, identity.role)
        operator = hello.operator
        if identity is not None:
            # A key proves who somebody is; what such a client says about itself proves nothing.
            operator = acting_as(operator, identity.name) if identity.local else identity.name
        session, dropped = self.sessions.open(peer, operator, role, now_ns, hello.name)
        self.counters.sessions_dropped += dropped
        welcome = Welcome(
            OPERATOR_PROTOCOL_VERSION,
            session.number,
            self._terms.name,
            self._terms.pid,
            role,
            operator,
            addresses.snapshots,
            self._terms.lease_ns * 1e-9,
            self._terms.answer_ns * 1e-9,
            addresses.telemetry,
        )
        self._reply.welcome(peer, welcome)

    def _command(self, peer: Peer, command: Command, now_ns: int, identity: PeerIdentity | None) -> None:
        session = self.sessions.find(peer, command.session)
        if session is None:
            self._reply.error(peer, "unknown_session", _UNKNOWN_SESSION, command.sequence)
            return
        order = session.order(command.sequence)
        if order is Order.REPEATED:
            self._reply.again(session, command, now_ns)
            return
        if order is Order.OLD:
            reason = f"sequence {command.sequence} is older than {session.newest}; count upwards"
            self._reply.error(peer, "out_of_order", reason, command.sequence)
            return
        if command.verb not in STOPPING and not session.bucket.take(now_ns):
            reason = "too many commands in a short time; slow down and send it again"
            self._reply.error(peer, "too_many", reason, command.sequence)
            return
        session.begin(command.sequence)
        self.counters.commands += 1
        if command.verb in STOPPING:
            self._stop(session, command, now_ns)
        elif not may(role := _role(session, identity), command.verb):
            self._reply.refuse_role(session, command, role, now_ns)
        elif command.verb in COMMANDING:
            self._commanding(session, command, now_ns)
        elif command.verb == "release":
            self._release(session, command, now_ns)
        elif command.verb == "describe":
            self._reply.describe(session, command, now_ns)
        else:
            self._reply.status(session, command, now_ns)

    def _drive(self, peer: Peer, drive: Drive, now_ns: int, identity: PeerIdentity | None) -> None:
        """Pass on what somebody drives with; good inputs have no answer."""
        session, sequence = self.sessions.find(peer, drive.session), drive.sequence
        if session is None:
            self._reply.error(peer, "unknown_session", _UNKNOWN_SESSION, sequence)
        elif sequence <= session.driven:
            reason = f"drive: sequence {sequence} does not come after {session.driven}; count upwards"
            self._reply.error(peer, "out_of_order", reason, sequence)
        elif not may(role := _role(session, identity), "drive"):
            self._reply.error_role(session, drive, role)
        elif loop_advice(self._port, now_ns):
            self.counters.undriven += 1  # the loop would take it for new when it goes on
        elif not driven_by_hand(self._port.status):
            self._reply.error(peer, "not_allowed", _NOT_DRIVEN, sequence)
        elif not commands(role):
            self._drive_as_rig(session, drive, now_ns)
        elif not self.lease.take(session.operator, now_ns):
            self._reply.error_lease(session, drive, now_ns)
        else:
            session.driven = sequence
            self._forwarder.on_inputs(drive.inputs, session, now_ns)

    def _drive_as_rig(self, session: Session, drive: Drive, now_ns: int) -> None:
        """Pass on the inputs of one who commands nothing: no lease, but never beside another driver."""
        driver = self._forwarder.driver(now_ns)
        if driver not in ("", session.operator):
            reason = f"drive is refused: {driver} drives; end that first"
            self._reply.error(session.peer, "no_lease", reason, drive.sequence)
        else:
            session.driven = drive.sequence
            self._forwarder.on_inputs(drive.inputs, session, now_ns)

    def _stop(self, session: Session, command: Command, now_ns: int) -> None:
        emergency = command.verb == "estop"
        number = (self._port.estop if emergency else self._port.stop)(session.operator)
        while self._waiting:
            other = self._waiting.popleft()
            reason = f"{other.command.verb} is refused: {session.operator} has requested {command.verb}"
            self._reply.refuse(other.session, other.command, now_ns, reason, "check the status, then retry")
        if len(self._stops) >= MAX_STOPS_WAITING:
            self._reply.accept(session, command, now_ns, "it is in the loop's block, not confirmed yet")
            return
        verb = Verb.ESTOP if emergency else Verb.STOP
        end_ns = now_ns + self._terms.answer_ns
        self._stops.append(Pending(session, command, verb, number=number, end_ns=end_ns))

    def _commanding(self, session: Session, command: Command, now_ns: int) -> None:
        advice = loop_advice(self._port, now_ns)
        if advice:
            self._reply.refuse(session, command, now_ns, f"{command.verb} is refused: {advice}")
            return
        if not self.lease.take(session.operator, now_ns):
            self._reply.refuse_lease(session, command, now_ns)
            return
        problem = self._problem(command.arguments)
        if problem:
            self._reply.refuse(session, command, now_ns, f"{command.verb} is refused: {problem}")
        elif command.verb in PREPARED:
            self._prepare(session, command, now_ns)
        else:
            verb = BY_NAME[command.verb].request
            self._enqueue(Pending(session, command, verb, numbers(command)), now_ns)

    def _problem(self, arguments: Arguments) -> str:
        actuator = arguments.link if isinstance(arguments, Jog) else UNSET
        if actuator is not UNSET and not 1 <= actuator <= self._terms.actuators:
            return f"there is no actuator {actuator}, actuators are 1 to {self._terms.actuators}"
        return ""

    def _release(self, session: Session, command: Command, now_ns: int) -> None:
        if self.lease.release(session.operator, now_ns):
            self._reply.accept(session, command, now_ns)
        else:
            self._reply.refuse_lease(session, command, now_ns)

    def _prepare(self, session: Session, command: Command, now_ns: int) -> None:
        """Start the process whose part comes before the loop is asked: loader, or check of the settings."""
        verb, helper, state = command.verb, self._helpers[command.verb], self._reply.state
        states = BY_NAME[verb].accepted_in
        reason, needed = "", ""
        if helper is None:
            reason, needed = f"{verb} is refused: this daemon runs one profile", "start `mastd serve`"
        elif state not in states:
            reason, needed = f"{verb} is refused in {state}", f"{verb} in {' or '.join(states)}"
        elif under_way := self._under_way():
            self.counters.busy += 1
            reason, needed = f"{verb} is refused: {under_way}", "wait for it"
        else:
            slot, serial = self._slots.offer(whole(self._port.status.scalar("loaded")))
            arguments = command.arguments
            profile = arguments.profile if isinstance(arguments, Load) else ""
            if problem := helper.start(profile, slot, now_ns, session.peer[0] == NETWORK):
                reason = f"{verb} is refused: {problem}"
            else:
                self._loading = Pending(session, command, BY_NAME[verb].request, (float(slot), float(serial)))
        if reason:
            self._reply.refuse(session, command, now_ns, reason, needed)

    def _under_way(self) -> str:
        """Return what is on its way already: in a process, or as a request to the loop; empty for nothing."""
        requests = (self._loading, self._flying, *self._waiting)
        verbs = {pending.verb for pending in requests if pending is not None}
        if Verb.RELOAD in verbs:
            return "the settings are being reloaded"
        profile = self._loader.profile if self._loader is not None else ""
        return f"{profile or 'another profile'} is being loaded" if Verb.LOAD in verbs else ""

    def _enqueue(self, pending: Pending, now_ns: int) -> None:
        if len(self._waiting) >= MAX_WAITING:
            self.counters.busy += 1
            reason = f"{pending.command.verb} is refused: {MAX_WAITING} requests are waiting already"
            self._reply.refuse(pending.session, pending.command, now_ns, reason, "wait for their answers")
            return
        self._waiting.append(pending)
        self._ask_next(now_ns)

    def _ask_next(self, now_ns: int) -> None:
        if self._flying is not None or not self._waiting:
            return
        pending = self._waiting.popleft()
        number = self._port.ask(pending.verb, pending.arguments, pending.session.operator)
        self._flying = replace(pending, number=number, end_ns=now_ns + self._terms.answer_ns)

    def _settle_request(self, now_ns: int) -> None:
        flying = self._flying
        if flying is None:
            return
        answer = self._port.answer(flying.number)
        if answer is not None:
            self._flying = None
            if not answer.refused:
                self._reply.accept(flying.session, flying.command, now_ns, flying.note)
                return
            reason, needed = split_refusal(answer.refusal or f"{flying.command.verb} is refused by the loop")
            self._reply.refuse(flying.session, flying.command, now_ns, reason, needed)
        elif now_ns >= flying.end_ns:
            self._flying = None
            self._port.withdraw()
            self._unanswered(flying, now_ns, "it has been withdrawn")

    def _settle_stops(self, now_ns: int) -> None:
        for _ in range(len(self._stops)):
            pending = self._stops.popleft()
            if self._port.stopped(pending.number, pending.verb is Verb.ESTOP):
                self._reply.accept(pending.session, pending.command, now_ns)
            elif now_ns >= pending.end_ns:
                self._unanswered(pending, now_ns, "it stays in the loop's block")
            else:
                self._stops.append(pending)

    def _unanswered(self, pending: Pending, now_ns: int, fate: str) -> None:
        self.counters.unanswered += 1
        silent_s = self._port.silent_ns(now_ns) * 1e-9
        verb = pending.command.verb
        advice = loop_advice(self._port, now_ns)
        if not advice:
            advice = f"the loop has last moved {silent_s:.1f} s ago"
        reason = f"{verb} was not answered by the loop; {fate}: {advice}"
        self._reply.refuse(pending.session, pending.command, now_ns, reason, "see `mastd ctl status`")

    def _settle_loading(self, now_ns: int) -> None:
        pending = self._loading
        helper = self._helpers[pending.command.verb] if pending is not None else None
        if pending is None or helper is None:
            return
        # Whoever waits for the loader must not lose the table meanwhile.
        if self.lease.holder(now_ns) == pending.session.operator:
            self.lease.take(pending.session.operator, now_ns)
        loading = helper.poll(now_ns)
        if loading is None:
            return
        self._loading = None
        self._loaded(pending, loading, now_ns)

    def _loaded(self, pending: Pending, loading: Loading, now_ns: int) -> None:
        holder, verb = self.lease.holder(now_ns), pending.command.verb
        if not loading.ok:
            self._reply.refuse(pending.session, pending.command, now_ns, f"{verb} is refused: {loading.text}")
        elif holder != pending.session.operator:
            reason = f"{verb} is refused: control has passed to {holder or 'nobody'} meanwhile"
            self._reply.refuse(pending.session, pending.command, now_ns, reason, f"{verb} again")
        else:
            self._enqueue(replace(pending, note=loading.text), now_ns)


def _role(session: Session, identity: PeerIdentity | None) -> Role:
    """Return the role that counts now: the key's may have become a lesser one since the hello."""
    return session.role if identity is None else lesser(session.role, identity.role)
