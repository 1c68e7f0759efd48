"""The rigs' handler: what their gateway does with each message, without sockets and a clock of its own.

``on_message`` takes one message, ``show`` passes on a frame that the loop has shown, ``poll`` does what time
brings about; replies collect in ``replies``, stops go into the loop's block at once.

- A place belongs to one session. Who says hello while another one is heard is refused with its name; a place
  of which nothing has been heard for ``LOST_NS`` is free. The session continues where a hello resumes it.
- Values: the newest win. They are in the loop's block after the poll in which they came; what newer ones
  overtake in the same poll is counted.
- Whatever is not taken is answered with an error and counted, and has changed nothing.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from mastd.wire.access.sessions import Peer
from mastd.wire.common.rig_block import ESTOPS, FRAME_HEAD, RIG_ROW, RIG_ROWS, RIG_WIDTH, STOPS, RigLink
from mastd.wire.common.rig_status import RigCounters, RigState
from mastd.wire.common.strict_messages import MalformedError, pack
from mastd.wire.rigs.config import RigGatewayConfig
from mastd.wire.rigs.handshake import agree
from mastd.wire.rigs.messages import (
    MAX_VERSION,
    Ack,
    Error,
    FromRig,
    Heartbeat,
    Motion,
    Reject,
    Request,
    RigHello,
    RigValues,
    RigWelcome,
    channels_hash,
    read_from_rig,
)
from mastd.wire.rigs.session import LOST_NS, RigSession
from mastd.wire.rigs.subscriptions import Subscriptions

HEARTBEAT_NS = 100_000_000
_UNKNOWN = "unknown or expired session; send hello"


class RigLog(Protocol):
    """Who is reported of what rigs do that people should know."""

    def rig(self, name: str, program: str, what: str) -> None:
        """A rig has joined, left, been lost or refused, or has asked for a stop."""


class RigHandler:
    """Judges the rigs' messages; all times are monotonic, in ns."""

    def __init__(
        self,
        config: RigGatewayConfig,
        pid: int,
        link: RigLink,
        reads: Subscriptions,
        counters: RigCounters,
        now_ns: int,
        log: RigLog,
        new_number: Callable[[], int] = lambda: secrets.randbits(62) + 1,
    ) -> None:
        self.counters = counters
        self.replies: deque[tuple[Peer, bytes]] = deque()
        self._config = config
        self._pid = pid
        self._values = link.values
        self._frame = link.frame
        self._reads = reads
        self._log = log
        self._new_number = new_number
        self._sessions = [RigSession(index, rig, now_ns) for index, rig in enumerate(config.rigs)]
        self._by_name = {session.config.name: session for session in self._sessions}
        self._by_peer: dict[Peer, RigSession] = {}
        self._rows = link.values.values[RIG_ROWS].reshape(-1, RIG_WIDTH)
        self._changed = False
        self._step = -1
        self._asked = 0
        self._every = [max(1, round(1e9 / config.period_ns / rig.motion_rate)) for rig in config.rigs]
        link.values.read()  # a second gateway counts on from the first one
        self._rows[:, RIG_ROW.joined] = 0.0

    def on_message(
        self, peer: Peer, frames: Sequence[bytes], now_ns: int, owner: str | None = None, *, may: bool = True
    ) -> None:
        """Take one message, which is one frame.

        ``owner``: whose key it is, None on the local socket, empty for one that may be any rig; ``may``:
        whether that key permits to be a rig at all.
        """
        self.counters.received += 1
        if len(frames) != 1:
            self._error(peer, "malformed", "a message is one frame; use a DEALER socket")
            return
        try:
            message = read_from_rig(frames[0])
        except MalformedError as error:
            self._error(peer, "oversize" if error.oversize else "malformed", str(error), error.sequence)
            return
        if isinstance(message, RigHello):
            self._hello(peer, message, now_ns, owner, may=may)
            return
        session = self._by_peer.get(peer)
        if isinstance(message, Request) and message.kind != "bye":
            # Anybody may stop, whoever has the place.
            self._stop(peer, message, owner)
            return
        if session is None or session.number != message.session:
            self._error(peer, "unknown_session", _UNKNOWN, message.sequence)
        elif message.sequence <= session.sequence:
            reason = f"sequence {message.sequence} does not come after {session.sequence}; count upwards"
            self._error(peer, "out_of_order", reason, message.sequence)
        elif isinstance(message, Request):
            session.sequence = message.sequence
            self.replies.append((peer, pack(Ack("bye", session.number, message.sequence))))
            self._log.rig(session.config.name, session.program, "has left")
            self._leave(session)
        elif not (self._is_waited_for(session, message) or session.bucket.take(now_ns)):
            reason = f"more than {session.config.message_rate:g} messages per second; slow down"
            self._error(peer, "too_many", reason, message.sequence)
        elif isinstance(message, Heartbeat):
            session.sequence, session.heard_ns = message.sequence, now_ns
            session.clock.update(message.time_ns, message.echo_ns, message.held_ns, now_ns)
        else:
            self._take(session, message, now_ns)

    @property
    def occupied(self) -> bool:
        """Somebody has a session."""
        return bool(self._by_peer)

    def show(self, now_ns: int) -> int:
        """Pass the newest frame on to the rigs that read it now; return its time in ns, 0 if it is old."""
        frame = self._frame
        if not (frame.changed() and frame.read()):
            return 0
        self._step = step = int(frame.values[FRAME_HEAD.number])
        self._asked = int(frame.values[FRAME_HEAD.asked])
        self._reads.refresh(session for session in self._sessions if session.taken)
        for session in self._sessions:
            if session.taken and (self._is_due(session) or step % self._every[session.index] == 0):
                self._show_to(session, now_ns)
        return round(float(frame.values[FRAME_HEAD.time]) * 1e9)

    def poll(self, now_ns: int) -> bool:
        """Do what time brings about, and show the loop what has come; return whether there was anything."""
        for session in self._sessions:
            if not session.taken:
                continue
            if session.given_up(now_ns, due=self._is_due(session)):
                self._log.rig(session.config.name, session.program, "lost: nothing heard of it")
                self._leave(session)
            elif now_ns - session.heartbeat_ns >= HEARTBEAT_NS and session.heartbeat_step != self._step:
                # A loop that does not move gives no sign of life, whatever moves here.
                session.heartbeat_ns, session.heartbeat_step = now_ns, self._step
                session.sent += 1
                echo, held = session.clock.echo(now_ns)
                heartbeat = Heartbeat(session.number, session.sent, now_ns, echo, held, self._step)
                self.replies.append((session.peer, pack(heartbeat)))
        for session in self._sessions:
            if session.pending is not None:
                row = self._rows[session.index]
                numbers = np.frombuffer(session.pending)
                row[RIG_ROW.values : RIG_ROW.values + len(numbers)] = numbers
                row[RIG_ROW.given] += 1.0
                row[RIG_ROW.step] = session.answered
                session.pending = None
                self._changed = True
        if not self._changed:
            return False
        self._changed = False
        self._values.publish()
        return True

    def states(self, now_ns: int) -> list[RigState]:
        """Return what is known of every rig."""
        return [session.state(self._step, now_ns) for session in self._sessions]

    def end(self) -> None:
        """Tell every rig that the daemon has ended."""
        for session in self._sessions:
            if session.taken:
                self.replies.append((session.peer, pack(Error("ended", "the daemon has ended"))))

    def _hello(self, peer: Peer, hello: RigHello, now_ns: int, owner: str | None, *, may: bool) -> None:
        session = self._by_name.get(hello.name)
        reasons = agree(self._config, session.config if session is not None else None, hello)
        if session is not None:
            reasons += self._reads.unknown(hello.reads)
        if not may:
            self.counters.not_allowed += 1
            reasons = ["this key is an observer's; a rig needs a key of role rig, see `mastd keys`"]
        elif owner and owner != hello.name:
            self.counters.not_allowed += 1
            reasons = [f"name: the key is {owner}'s, the rig's name is {hello.name}"]
        elif session is not None and not reasons:
            resumed = session.taken and hello.resume == session.number
            if session.taken and session.peer != peer and not resumed and not session.lost(now_ns):
                silent = (now_ns - session.heard_ns) * 1e-9
                reasons = [
                    f"the place of {hello.name} is taken by {session.program}, heard {silent:.2f} s ago"
                ]
        if session is None or reasons:
            self.counters.refused += 1
            self.replies.append((peer, pack(Reject(tuple(reasons)))))
            self._log.rig(hello.name, hello.program, f"refused: {reasons[0]}")
            return
        self._welcome(session, peer, hello, now_ns)

    def _welcome(self, session: RigSession, peer: Peer, hello: RigHello, now_ns: int) -> None:
        before = self._by_peer.get(peer)
        if before is not None and before is not session:
            self._leave(before)
        self._by_peer.pop(session.peer, None)
        goes_on = session.taken and hello.resume == session.number
        number = session.number if goes_on else self._new_number()
        session.open(number, peer, hello.program, lockstep=self._config.mode == "lockstep", now_ns=now_ns)
        self._by_peer[peer] = session
        self._log.rig(session.config.name, hello.program, "goes on" if goes_on else "has joined")
        self._reads.bind(session, hello.reads)
        row = self._rows[session.index]
        if not goes_on:
            row[RIG_ROW.joined], row[RIG_ROW.given], row[RIG_ROW.step] = session.joinings, 0.0, -1.0
        row[RIG_ROW.in_step] = float(session.lockstep)
        self._changed = True
        rig = session.config
        given = tuple((terms.name, terms.unit) for terms in rig.channels)
        welcome = RigWelcome(
            MAX_VERSION,
            number,
            self._config.name,
            self._pid,
            self._config.mode,
            self._config.period_ns,
            rig.channels,
            channels_hash("values", given),
            session.reads,
            channels_hash("motion", session.reads),
            rig.timeout_s,
            rig.message_rate,
            rig.motion_rate,
            rig.predict_s,
            HEARTBEAT_NS / 1e9,
            LOST_NS / 1e9,
            self._config.states,
        )
        self.replies.append((peer, pack(welcome)))
        if self._is_due(session):
            self._show_to(session, now_ns)  # the loop stands still: there will be no other motion

    def _is_due(self, session: RigSession) -> bool:
        return bool(self._asked >> session.index & 1)

    def _is_waited_for(self, session: RigSession, message: FromRig) -> bool:
        """Return whether the loop stands still for this message: lockstep is faster than any rate."""
        if not (self._is_due(session) and isinstance(message, RigValues)):
            return False
        return message.step == self._step > session.answered

    def _show_to(self, session: RigSession, now_ns: int) -> None:
        block = self._frame.values
        session.sent += 1
        session.shown = self._step
        motion = Motion(
            session.number,
            session.sent,
            self._step,
            now_ns,
            round(float(block[FRAME_HEAD.plant_time]) * 1e9),
            int(block[FRAME_HEAD.state]),
            float(block[FRAME_HEAD.speed]),
            self._is_due(session),
            session.motion(block),
        )
        self.replies.append((session.peer, pack(motion)))

    def _take(self, session: RigSession, message: RigValues, now_ns: int) -> None:
        due = 8 * len(session.config.channels)
        if len(message.block) != due:
            reason = f"values: {len(message.block)} bytes, expected {due} ({due // 8} channels)"
            self._error(session.peer, "wrong_channels", reason, message.sequence)
            return
        if message.step > max(session.shown, session.answered):
            reason = f"values: step {message.step} has not been shown yet, the newest is {session.shown}"
            self._error(session.peer, "ahead", reason, message.sequence)
            return
        self.counters.values += 1
        self.counters.overtaken += session.pending is not None
        session.values += 1
        session.sequence, session.heard_ns, session.values_ns = message.sequence, now_ns, now_ns
        session.answered = max(message.step, session.answered)
        session.pending = message.block

    def _stop(self, peer: Peer, request: Request, owner: str | None) -> None:
        counter = ESTOPS if request.kind == "estop" else STOPS
        self.counters.stops += 1
        session = self._by_peer.get(peer)
        who = (
            (session.config.name, session.program)
            if session is not None
            else (owner or "unnamed", "without a place")
        )
        self._values.values[counter] += 1.0
        self._values.set_text("stopped_by", who[0])
        self._values.publish()
        self._log.rig(*who, f"asks for {request.kind}")
        self.replies.append((peer, pack(Ack(request.kind, request.session, request.sequence))))

    def _leave(self, session: RigSession) -> None:
        self._by_peer.pop(session.peer, None)
        session.close()
        self._rows[session.index, RIG_ROW.joined] = 0.0
        self._changed = True

    def _error(self, peer: Peer, error: str, reason: str, sequence: int = -1) -> None:
        setattr(self.counters, error, getattr(self.counters, error) + 1)
        self.replies.append((peer, pack(Error(error, reason, sequence))))
