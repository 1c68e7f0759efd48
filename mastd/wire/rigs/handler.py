"""The rigs' desk: what their gateway does with each message, without sockets and without a clock of its own.

``hear`` takes one message, ``show`` passes on a frame that the loop has shown, ``turn`` does what time brings
about; replies collect in ``replies``, stops go into the loop's block at once.

- A place belongs to one session. Who says hello while another one is heard is refused with its name; a place
  of which nothing has been heard for ``LOST_NS`` is free. The session goes on where a hello resumes it.
- Values: the newest win. They are in the loop's block after the turn in which they came; what newer ones
  overtake in the same turn is counted.
- Whatever is not taken is answered with an error and counted, and has changed nothing.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from mastd.wire.access.sessions import Peer
from mastd.wire.common.blocks import NewestValueBlock
from mastd.wire.common.rig_block import (
    ASKED,
    COUNT,
    ESTOPS,
    FIRST_RIG,
    FIRST_VALUE,
    IN_STEP,
    JOINED,
    NUMBER,
    PLANT_TIME,
    RIG_WIDTH,
    SPEED,
    STATE,
    STEP,
    STOPS,
    TIME,
)
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
from mastd.wire.rigs.session import LOST_NS, RigSeat
from mastd.wire.rigs.subscriptions import Reads

BEAT_NS = 100_000_000
_UNKNOWN = "this session is not known here, or has lost its place; say hello"


class RigLog(Protocol):
    """Who is told of what rigs do that people should know."""

    def rig(self, name: str, program: str, what: str) -> None:
        """A rig has joined, left, been lost or refused, or has asked for a stop."""


class RigDesk:
    """Judges the rigs' messages; all times are monotonic, in ns."""

    def __init__(
        self,
        config: RigGatewayConfig,
        pid: int,
        values: NewestValueBlock,
        frame: NewestValueBlock,
        reads: Reads,
        counters: RigCounters,
        now_ns: int,
        log: RigLog,
        new_session: Callable[[], int] = lambda: secrets.randbits(62) + 1,
    ) -> None:
        self.counters = counters
        self.replies: deque[tuple[Peer, bytes]] = deque()
        self._config = config
        self._pid = pid
        self._values = values
        self._frame = frame
        self._reads = reads
        self._log = log
        self._new_session = new_session
        self._seats = [RigSeat(index, place, now_ns) for index, place in enumerate(config.places)]
        self._by_name = {seat.place.name: seat for seat in self._seats}
        self._by_peer: dict[Peer, RigSeat] = {}
        self._rows = values.values[FIRST_RIG:].reshape(-1, RIG_WIDTH)
        self._changed = False
        self._step = -1
        self._asked = 0
        self._every = [max(1, round(1e9 / config.period_ns / place.motion_rate)) for place in config.places]
        values.read()  # a second gateway counts on from the first one
        self._rows[:, JOINED] = 0.0

    def hear(
        self, peer: Peer, frames: Sequence[bytes], now_ns: int, owner: str | None = None, *, may: bool = True
    ) -> None:
        """Take one message, which is one frame.

        ``owner``: whose key it is, None on the local socket, empty for one that may be any rig; ``may``:
        whether that key permits to be a rig at all.
        """
        self.counters.received += 1
        if len(frames) != 1:
            self._complain(peer, "malformed", "a message is one frame; use a DEALER socket")
            return
        try:
            message = read_from_rig(frames[0])
        except MalformedError as error:
            self._complain(peer, "oversize" if error.oversize else "malformed", str(error), error.sequence)
            return
        if isinstance(message, RigHello):
            self._hello(peer, message, now_ns, owner, may=may)
            return
        seat = self._by_peer.get(peer)
        if isinstance(message, Request) and message.kind != "bye":
            # Anybody may stop, whoever has the place.
            self._stop(peer, message, owner)
            return
        if seat is None or seat.session != message.session:
            self._complain(peer, "unknown_session", _UNKNOWN, message.sequence)
        elif message.sequence <= seat.sequence:
            reason = f"sequence {message.sequence} does not come after {seat.sequence}; count upwards"
            self._complain(peer, "out_of_order", reason, message.sequence)
        elif isinstance(message, Request):
            seat.sequence = message.sequence
            self.replies.append((peer, pack(Ack("bye", seat.session, message.sequence))))
            self._log.rig(seat.place.name, seat.program, "has left")
            self._leave(seat)
        elif not (self._is_waited_for(seat, message) or seat.bucket.take(now_ns)):
            reason = f"more than {seat.place.message_rate:g} messages per second; slow down"
            self._complain(peer, "too_many", reason, message.sequence)
        elif isinstance(message, Heartbeat):
            seat.sequence, seat.heard_ns = message.sequence, now_ns
            seat.clock.hear(message.time_ns, message.echo_ns, message.held_ns, now_ns)
        else:
            self._take(seat, message, now_ns)

    @property
    def occupied(self) -> bool:
        """Somebody has a place."""
        return bool(self._by_peer)

    def show(self, now_ns: int) -> int:
        """Pass the newest frame on to the rigs that read it now; return its time in ns, 0 if it is old."""
        frame = self._frame
        if not (frame.changed() and frame.read()):
            return 0
        self._step = step = int(frame.values[NUMBER])
        self._asked = int(frame.values[ASKED])
        self._reads.refresh(seat for seat in self._seats if seat.taken)
        for seat in self._seats:
            if seat.taken and (self._is_due(seat) or step % self._every[seat.index] == 0):
                self._show_to(seat, now_ns)
        return round(float(frame.values[TIME]) * 1e9)

    def turn(self, now_ns: int) -> bool:
        """Do what time brings about, and show the loop what has come; return whether there was anything."""
        for seat in self._seats:
            if not seat.taken:
                continue
            if seat.given_up(now_ns, due=self._is_due(seat)):
                self._log.rig(seat.place.name, seat.program, "lost: nothing heard of it")
                self._leave(seat)
            elif now_ns - seat.beaten_ns >= BEAT_NS and seat.beaten_step != self._step:
                # A loop that does not move gives no sign of life, whatever moves here.
                seat.beaten_ns, seat.beaten_step = now_ns, self._step
                seat.sent += 1
                echo, held = seat.clock.echo(now_ns)
                beat = Heartbeat(seat.session, seat.sent, now_ns, echo, held, self._step)
                self.replies.append((seat.peer, pack(beat)))
        for seat in self._seats:
            if seat.pending is not None:
                row = self._rows[seat.index]
                numbers = np.frombuffer(seat.pending)
                row[FIRST_VALUE : FIRST_VALUE + len(numbers)] = numbers
                row[COUNT] += 1.0
                row[STEP] = seat.answered
                seat.pending = None
                self._changed = True
        if not self._changed:
            return False
        self._changed = False
        self._values.publish()
        return True

    def states(self, now_ns: int) -> list[RigState]:
        """Return what is known of every rig."""
        return [seat.state(self._step, now_ns) for seat in self._seats]

    def end(self) -> None:
        """Tell every rig that the daemon has ended."""
        for seat in self._seats:
            if seat.taken:
                self.replies.append((seat.peer, pack(Error("ended", "the daemon has ended"))))

    def _hello(self, peer: Peer, hello: RigHello, now_ns: int, owner: str | None, *, may: bool) -> None:
        seat = self._by_name.get(hello.name)
        reasons = agree(self._config, seat.place if seat is not None else None, hello)
        if seat is not None:
            reasons += self._reads.unknown(hello.reads)
        if not may:
            self.counters.not_allowed += 1
            reasons = ["this key is an observer's; a rig needs a key of role rig, see `mastd keys`"]
        elif owner and owner != hello.name:
            self.counters.not_allowed += 1
            reasons = [f"name: the key is {owner}'s, the rig says {hello.name}"]
        elif seat is not None and not reasons:
            resumed = seat.taken and hello.resume == seat.session
            if seat.taken and seat.peer != peer and not resumed and not seat.lost(now_ns):
                silent = (now_ns - seat.heard_ns) * 1e-9
                reasons = [f"the place of {hello.name} is taken by {seat.program}, heard {silent:.2f} s ago"]
        if seat is None or reasons:
            self.counters.refused += 1
            self.replies.append((peer, pack(Reject(tuple(reasons)))))
            self._log.rig(hello.name, hello.program, f"refused: {reasons[0]}")
            return
        self._welcome(seat, peer, hello, now_ns)

    def _welcome(self, seat: RigSeat, peer: Peer, hello: RigHello, now_ns: int) -> None:
        before = self._by_peer.get(peer)
        if before is not None and before is not seat:
            self._leave(before)
        self._by_peer.pop(seat.peer, None)
        goes_on = seat.taken and hello.resume == seat.session
        session = seat.session if goes_on else self._new_session()
        seat.open(session, peer, hello.program, lockstep=self._config.mode == "lockstep", now_ns=now_ns)
        self._by_peer[peer] = seat
        self._log.rig(seat.place.name, hello.program, "goes on" if goes_on else "has joined")
        self._reads.bind(seat, hello.reads)
        row = self._rows[seat.index]
        if not goes_on:
            row[JOINED], row[COUNT], row[STEP] = seat.joinings, 0.0, -1.0
        row[IN_STEP] = float(seat.lockstep)
        self._changed = True
        place = seat.place
        given = tuple((terms.name, terms.unit) for terms in place.channels)
        welcome = RigWelcome(
            MAX_VERSION,
            session,
            self._config.name,
            self._pid,
            self._config.mode,
            self._config.period_ns,
            place.channels,
            channels_hash("values", given),
            seat.reads,
            channels_hash("motion", seat.reads),
            place.timeout_s,
            place.message_rate,
            place.motion_rate,
            place.predict_s,
            BEAT_NS / 1e9,
            LOST_NS / 1e9,
            self._config.states,
        )
        self.replies.append((peer, pack(welcome)))
        if self._is_due(seat):
            self._show_to(seat, now_ns)  # the loop stands still: there will be no other motion

    def _is_due(self, seat: RigSeat) -> bool:
        return bool(self._asked >> seat.index & 1)

    def _is_waited_for(self, seat: RigSeat, message: FromRig) -> bool:
        """Return whether the loop stands still for this message: lockstep is faster than any rate."""
        if not (self._is_due(seat) and isinstance(message, RigValues)):
            return False
        return message.step == self._step > seat.answered

    def _show_to(self, seat: RigSeat, now_ns: int) -> None:
        block = self._frame.values
        seat.sent += 1
        seat.shown = self._step
        motion = Motion(
            seat.session,
            seat.sent,
            self._step,
            now_ns,
            round(float(block[PLANT_TIME]) * 1e9),
            int(block[STATE]),
            float(block[SPEED]),
            self._is_due(seat),
            seat.motion(block),
        )
        self.replies.append((seat.peer, pack(motion)))

    def _take(self, seat: RigSeat, message: RigValues, now_ns: int) -> None:
        due = 8 * len(seat.place.channels)
        if len(message.block) != due:
            reason = f"values: {len(message.block)} bytes, {due} are due ({due // 8} channels)"
            self._complain(seat.peer, "wrong_channels", reason, message.sequence)
            return
        if message.step > max(seat.shown, seat.answered):
            reason = f"values: step {message.step} has not been shown yet, the newest is {seat.shown}"
            self._complain(seat.peer, "ahead", reason, message.sequence)
            return
        self.counters.values += 1
        self.counters.overtaken += seat.pending is not None
        seat.values += 1
        seat.sequence, seat.heard_ns, seat.values_ns = message.sequence, now_ns, now_ns
        seat.answered = max(message.step, seat.answered)
        seat.pending = message.block

    def _stop(self, peer: Peer, request: Request, owner: str | None) -> None:
        place = ESTOPS if request.kind == "estop" else STOPS
        self._values.values[place] += 1.0
        self._values.publish()
        self.counters.stops += 1
        seat = self._by_peer.get(peer)
        who = (seat.place.name, seat.program) if seat is not None else (owner or "unnamed", "without a place")
        self._log.rig(*who, f"asks for {request.kind}")
        self.replies.append((peer, pack(Ack(request.kind, request.session, request.sequence))))

    def _leave(self, seat: RigSeat) -> None:
        self._by_peer.pop(seat.peer, None)
        seat.close()
        self._rows[seat.index, JOINED] = 0.0
        self._changed = True

    def _complain(self, peer: Peer, error: str, reason: str, sequence: int = -1) -> None:
        setattr(self.counters, error, getattr(self.counters, error) + 1)
        self.replies.append((peer, pack(Error(error, reason, sequence))))
