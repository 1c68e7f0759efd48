"""The reply builder: answers and errors in their words, remembered, counted and logged as they must be.

Everything that is to be sent collects in ``replies``.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol

from msgspec.structs import replace

from mastd.wire.access.roles import Role, called
from mastd.wire.access.sessions import GatewayCounters, Peer, Session
from mastd.wire.access.verbs import minimum_role
from mastd.wire.common.lease import Lease
from mastd.wire.common.strict_messages import pack
from mastd.wire.operators.loop_port import Loop, LoopPort
from mastd.wire.operators.messages import Answer, Command, Drive, Error, Welcome
from mastd.wire.operators.status_view import StatusView
from mastd.wire.operators.terms import HandlerTerms


class HandlerLog(Protocol):
    """Who writes down what must not be forgotten."""

    def beyond_role(self, operator: str, role: Role, verb: str) -> None:
        """A command was refused because of its sender's role."""

    def accepted(self, operator: str, verb: str, holder: str) -> None:
        """A command was accepted; ``holder`` has the lease, empty for nobody."""


class NoHandlerLog:
    """Writes nothing down."""

    def beyond_role(self, operator: str, role: Role, verb: str) -> None:
        """Forget it."""

    def accepted(self, operator: str, verb: str, holder: str) -> None:
        """Forget it."""


class ReplyBuilder:
    """Composes and remembers answers; all times are monotonic, in ns."""

    def __init__(
        self,
        terms: HandlerTerms,
        port: LoopPort,
        lease: Lease,
        counters: GatewayCounters,
        status: StatusView,
        log: HandlerLog,
    ) -> None:
        self.replies: deque[tuple[Peer, bytes]] = deque()
        self._terms = terms
        self._port = port
        self._lease = lease
        self._counters = counters
        self._status = status
        self._log = log

    @property
    def state(self) -> str:
        """Name of the loop's state."""
        return self._terms.texts.state(self._port.status.scalar("state"))

    def welcome(self, peer: Peer, welcome: Welcome) -> None:
        """Greet a client."""
        self.replies.append((peer, pack(welcome)))

    def error(self, peer: Peer, error: str, reason: str, sequence: int = -1) -> None:
        """Say that a message was not taken, and count it under its name."""
        setattr(self._counters, error, getattr(self._counters, error) + 1)
        self.replies.append((peer, pack(Error(error, reason, sequence))))

    def again(self, session: Session, command: Command, now_ns: int) -> None:
        """Answer a repeated command as before, unless it is still on its way."""
        self._counters.replayed += 1
        remembered = session.answer(command.sequence)
        if command.verb == "describe":
            self.describe(session, command, now_ns)
        elif remembered is not None:
            self.replies.append((session.peer, remembered))

    def accept(self, session: Session, command: Command, now_ns: int, note: str = "") -> None:
        """Answer that a command was carried out; ``note`` says what else is to be known."""
        self._log.accepted(session.operator, command.verb, self._lease.holder(now_ns))
        self._keep(session, self._compose(session, command, now_ns, True, note))

    def refuse(self, session: Session, command: Command, now_ns: int, reason: str, needed: str = "") -> None:
        """Answer why a command was not carried out, and what would be needed."""
        self._keep(session, self._compose(session, command, now_ns, False, reason, needed))

    def refuse_lease(self, session: Session, command: Command, now_ns: int) -> None:
        """Answer that another one commands the table."""
        self._counters.no_lease += 1
        self.refuse(session, command, now_ns, *self._lease_texts(command.verb, now_ns))

    def refuse_role(self, session: Session, command: Command, role: Role, now_ns: int) -> None:
        """Answer that this role may not ask for that."""
        self._counters.not_allowed += 1
        self._log.beyond_role(session.operator, role, command.verb)
        self.refuse(session, command, now_ns, *_role_text(session, role, command.verb))

    def error_lease(self, session: Session, drive: Drive, now_ns: int) -> None:
        """Say of inputs that another one commands the table."""
        text = "; ".join(self._lease_texts("drive", now_ns))
        self.error(session.peer, "no_lease", text, drive.sequence)

    def error_role(self, session: Session, drive: Drive, role: Role) -> None:
        """Say of inputs that this role may not drive."""
        self._log.beyond_role(session.operator, role, "drive")
        text = "; ".join(_role_text(session, role, "drive"))
        self.error(session.peer, "not_allowed", text, drive.sequence)

    def status(self, session: Session, command: Command, now_ns: int) -> None:
        """Answer with everything that is known now."""
        answer = self._compose(session, command, now_ns, True)
        self._keep(session, replace(answer, snapshot=self._status.snapshot(now_ns)))

    def describe(self, session: Session, command: Command, now_ns: int) -> None:
        """Answer without remembering it: it is long, and can be said again at any time."""
        answer = self._compose(session, command, now_ns, True)
        packed = pack(replace(answer, description=self._status.description()))
        self.replies.append((session.peer, packed))

    def _lease_texts(self, verb: str, now_ns: int) -> tuple[str, str]:
        holder, left_s = self._lease.holder(now_ns), self._lease.left_ns(now_ns) * 1e-9
        return (
            f"{verb} is refused: {holder} has control for another {left_s:.0f} s",
            "ask for `mastd ctl release`, or wait until the lease has expired",
        )

    def _keep(self, session: Session, answer: Answer) -> None:
        """Send an answer and remember it."""
        packed = pack(answer)
        session.keep(answer.sequence, packed)
        self.replies.append((session.peer, packed))

    def _compose(
        self,
        session: Session,
        command: Command,
        now_ns: int,
        accepted: bool,
        reason: str = "",
        needed: str = "",
    ) -> Answer:
        begun = self._port.state(now_ns) is not Loop.PREPARING
        return Answer(
            session.number,
            command.sequence,
            command.verb,
            accepted,
            reason,
            needed,
            self.state if begun else "",
            self._port.status.text("cause"),
            self._lease.holder(now_ns),
        )


def _role_text(session: Session, role: Role, verb: str) -> tuple[str, str]:
    return (
        f"{verb} is refused: {session.operator} is {called(role)}",
        f"use the key, or the role, of {called(minimum_role(verb))}",
    )
