"""A rig's session without sockets: what is said when, and what is made of what comes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import ProtocolError, UsageError
from mastd.wire.common.clock_offset import ClockOffset
from mastd.wire.common.strict_messages import MalformedError, pack
from mastd.wire.rigs.messages import (
    ANY,
    FRAME,
    MAGIC,
    MAX_VERSION,
    MIN_VERSION,
    REQUESTS,
    UNITS,
    Ack,
    ChannelLine,
    Error,
    Heartbeat,
    Motion,
    Reject,
    RigHello,
    RigTerms,
    RigValues,
    RigWelcome,
    read_to_rig,
)

AGAIN_S = 0.1
"""s between two hellos."""
SILENT_S = 3.0
"""Without a sign of life for so long, the daemon is gone."""


class RigRefusedError(ProtocolError):
    """The daemon gives the rig no place; a line for each reason."""


@dataclass(frozen=True, eq=False)
class MotionSeen:
    """What the daemon has shown: at ``step`` the channels that the rig reads had these ``values``.

    ``time``: of the plant, s. ``state``: of the table, as in the status. ``speed``: of path time, 1 plays
    and 0 stands. ``missed``: motions since the last one that did not come or were not taken.
    ``answer_due``: the loop stands still until the rig answers (lockstep).
    """

    step: int
    time: float
    state: str
    speed: float
    missed: int
    answer_due: bool
    values: FloatArray


class ClientSession:
    """The rig's side of the protocol; all times are ``time.monotonic_ns``.

    ``outbox`` holds what is to be sent. ``motion`` is the newest motion that has not been taken yet.
    """

    def __init__(self, name: str, kind: str, reads: Sequence[str], program: str, mode: str = ANY) -> None:
        self.outbox: list[bytes] = []
        self.welcome: RigWelcome | None = None
        self.refused: tuple[str, ...] = ()
        self.errors = 0
        """Messages that the daemon has not taken."""
        self.last_error = ""
        self.ended = False
        """The daemon has said that it ends, or that it does not know this session."""
        self.rejoined = 0
        """How often the place was given again."""
        self.heard_ns = 0
        self.clock = ClockOffset()
        self._name, self._kind, self._reads, self._program, self._mode = (
            name,
            kind,
            tuple(reads),
            program,
            mode,
        )
        self._sequence = 0
        self._motion: Motion | None = None
        self._last_step = -1
        self._received = 0
        self._heartbeat_ns = 0
        self._asked_ns: int | None = None
        self._gap = 0
        self._unconfirmed: dict[str, int | None] = {}
        """Stops that the daemon has not confirmed, and when they were said last (None: just now)."""

    def hello(self) -> None:
        """Ask for the place; a session that was there before is taken up again."""
        before = self.welcome.session if self.welcome is not None else 0
        self.outbox.append(
            pack(
                RigHello(
                    MAGIC,
                    MIN_VERSION,
                    MAX_VERSION,
                    self._name,
                    self._program,
                    self._kind,
                    FRAME,
                    UNITS,
                    self._mode,
                    0,
                    (),
                    "",
                    self._reads,
                    before,
                )
            )
        )

    def poll(self, now_ns: int) -> None:
        """Put what is expected now into the outbox: a hello until there is a welcome, and after silence; a
        heartbeat; a stop that was not confirmed.

        Raises RigRefusedError with every reason when the daemon gives no place and will not, UsageError when
        one that was there is gone.
        """
        self._say_again(now_ns)
        welcome = self.welcome
        if welcome is not None and not (self.ended or self.silent(now_ns)):
            heartbeat = self.heartbeat(now_ns)
            if heartbeat is not None:
                self.outbox.append(heartbeat)
            return
        if self.refused and not _may_change(self.refused):
            raise RigRefusedError("\n".join(self.refused))
        if welcome is not None and now_ns - self.heard_ns > SILENT_S * 1e9:
            raise UsageError(f"the daemon {welcome.name} (process id {welcome.pid}) is gone")
        if self._asked_ns is None or now_ns - self._asked_ns >= AGAIN_S * 1e9:
            self._asked_ns = now_ns
            self.hello()

    def nobody(self, address: str) -> RigRefusedError | UsageError:
        """Return why there is no welcome after all the patience."""
        if self.refused:
            return RigRefusedError("\n".join(self.refused))
        if address.startswith("tcp://"):
            return UsageError(
                f"no daemon serves rigs at {address}: rigs have the third port after the operators', and "
                "need their own key and the daemon's (--key, --server-key); or it names no rigs"
            )
        return UsageError(
            f"no daemon serves rigs at {address}: start `mastd serve` or `mastd run` with rigs (--rigs FILE, "
            "or `rigs:` in the daemon's settings); one that compiles its kernels first takes minutes"
        )

    def on_message(self, data: bytes, now_ns: int) -> None:
        """Take one message of the daemon; one that is none is passed over."""
        try:
            message = read_to_rig(data)
        except MalformedError:
            return
        if isinstance(message, Motion):
            self._on_motion(message, now_ns)
        elif isinstance(message, Heartbeat):
            if self._is_ours(message.session):
                self.heard_ns = now_ns
                self.clock.update(message.time_ns, message.echo_ns, message.held_ns, now_ns)
        elif isinstance(message, RigWelcome):
            if self.welcome is None or message.session != self.welcome.session:
                self._sequence, self._received = 0, 0
                self.clock = ClockOffset()
            # What is due is shown once more after a welcome: the answer may have been lost.
            self._last_step = -1
            self.rejoined += self.welcome is not None
            self.welcome, self.refused, self.heard_ns, self.ended = message, (), now_ns, False
        elif isinstance(message, Reject):
            self.refused = message.reasons
        elif isinstance(message, Ack):
            self._unconfirmed.pop(message.of, None)
        elif isinstance(message, Error):
            self._on_error(message)

    def take(self) -> MotionSeen | None:
        """Return the newest motion that has not been taken yet, None if there is none."""
        motion, self._motion = self._motion, None
        if motion is None or self.welcome is None:
            return None
        gap, self._gap = self._gap, 0
        states = self.welcome.states
        return MotionSeen(
            motion.step,
            motion.plant_time_ns * 1e-9,
            states[motion.state] if 0 <= motion.state < len(states) else "UNKNOWN",
            motion.speed,
            gap,
            motion.answer_due,
            np.frombuffer(motion.block, dtype="<f8"),
        )

    def values(self, values: Sequence[float] | FloatArray, step: int, now_ns: int) -> bytes:
        """Return the message that gives ``values``, in the order of the channels, as the answer to ``step``.

        Raises ValueError for another number of them, or one that is not finite.
        """
        welcome = self._joined()
        block = np.asarray(values, dtype="<f8")
        if block.shape != (len(welcome.channels),):
            raise ValueError(f"{block.size} values, expected {len(welcome.channels)} channels")
        if not np.isfinite(block).all():
            raise ValueError("all values must be finite")
        self._sequence += 1
        return pack(RigValues(welcome.session, self._sequence, step, now_ns, block.tobytes()))

    def request(self, kind: str) -> tuple[bytes, int]:
        """Return a stop, estop or bye, and its sequence."""
        welcome = self._joined()
        self._sequence += 1
        if kind != "bye":
            self._unconfirmed[kind] = None
        return pack(REQUESTS[kind](welcome.session, self._sequence)), self._sequence

    def _say_again(self, now_ns: int) -> None:
        """Repeat the stops that were not confirmed: one that is lost must not be."""
        for kind, sent_ns in list(self._unconfirmed.items()):
            if sent_ns is None:
                self._unconfirmed[kind] = now_ns
            elif now_ns - sent_ns >= AGAIN_S * 1e9:
                self.outbox.append(self.request(kind)[0])
                self._unconfirmed[kind] = now_ns

    def heartbeat(self, now_ns: int) -> bytes | None:
        """Return the sign of life that is expected now, None if none is."""
        welcome = self.welcome
        if welcome is None or now_ns - self._heartbeat_ns < welcome.beat_s * 1e9:
            return None
        self._heartbeat_ns = now_ns
        self._sequence += 1
        echo, held = self.clock.echo(now_ns)
        return pack(Heartbeat(welcome.session, self._sequence, now_ns, echo, held, self._last_step))

    def silent(self, now_ns: int) -> bool:
        """Return whether the daemon has been silent for longer than it may be."""
        return self.welcome is not None and now_ns - self.heard_ns > self.welcome.lost_s * 1e9

    def _on_motion(self, motion: Motion, now_ns: int) -> None:
        if not self._is_ours(motion.session) or motion.step <= self._last_step:
            return
        self.heard_ns = now_ns
        if self._received:
            self._gap += max(motion.sequence - self._received - 1, 0)
        if self._motion is not None:
            self._gap += 1
        self._received, self._last_step, self._motion = motion.sequence, motion.step, motion

    def _on_error(self, error: Error) -> None:
        self.errors += 1
        self.last_error = f"{error.error}: {error.reason}"
        if error.error in {"unknown_session", "ended"}:
            self.ended = True

    def _is_ours(self, session: int) -> bool:
        return self.welcome is not None and session == self.welcome.session

    def _joined(self) -> RigWelcome:
        return joined(self.welcome)


class JoinedRig:
    """What a client tells of its place, whatever brings its messages."""

    def __init__(self, address: str, session: ClientSession) -> None:
        self.address = address
        self._session = session

    @property
    def channels(self) -> tuple[RigTerms, ...]:
        """What this rig gives, in the order of the values."""
        return self._welcome.channels

    @property
    def reads(self) -> tuple[ChannelLine, ...]:
        """Name and unit of what it reads, in the order of a motion's values."""
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
    def rejoined(self) -> int:
        """How often the place had to be taken again."""
        return self._session.rejoined

    @property
    def errors(self) -> tuple[int, str]:
        """How many messages the daemon has not taken, and why the last one."""
        return self._session.errors, self._session.last_error

    @property
    def _welcome(self) -> RigWelcome:
        return joined(self._session.welcome)


def joined(welcome: RigWelcome | None) -> RigWelcome:
    """Return the welcome; raise ProtocolError where there is none yet."""
    if welcome is None:
        raise ProtocolError("the rig has not joined")
    return welcome


def _may_change(reasons: Sequence[str]) -> bool:
    """Return whether a refusal may end by itself: a place that its last holder has left without notice."""
    return all(reason.startswith("the place of ") for reason in reasons)
