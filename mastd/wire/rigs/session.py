"""One rig's session at the gateway: who has it, what was heard of it, and what it reads."""

from __future__ import annotations

import math

import numpy as np

from mastd.arrays import FloatArray, IntArray
from mastd.wire.access.sessions import Peer, TokenBucket
from mastd.wire.common.clock_offset import ClockOffset
from mastd.wire.common.rig_status import RigState
from mastd.wire.rigs.config import RigConfig
from mastd.wire.rigs.messages import ChannelLine

NEVER = -2
DUE_NS = 2_500_000_000
"""Lockstep waits for an answer for 2 s; then the loop has found the rig lost."""
LOST_NS = 300_000_000
"""A rig of which nothing has been heard for so long, three heartbeats, has lost its session."""


class RigSession:
    """The session of one rig of the settings, open or not; times are monotonic, in ns."""

    def __init__(self, index: int, config: RigConfig, now_ns: int) -> None:
        self.index = index
        self.config = config
        self.bucket = TokenBucket(config.message_rate, max(2, round(config.message_rate / 4.0)), now_ns)
        self.number = 0
        """Number of the session, 0 while nobody is there."""
        self.joinings = 0
        self.peer: Peer = (0, b"")
        self.program = ""
        self.lockstep = False
        self.reads: tuple[ChannelLine, ...] = ()
        self.columns: IntArray = np.zeros(0, dtype=np.int64)
        """Columns of what it reads in the frame's block, −1 for what there is not now."""
        self.heard_ns = 0
        self.values_ns = 0
        self.answered = -1
        self.sequence = -1
        self.sent = 0
        self.shown = -1
        """Step of the newest motion sent."""
        self.values = 0
        self.pending: bytes | None = None
        """Newest values, until they are in the loop's block."""
        self.heartbeat_ns = 0
        self.heartbeat_step = NEVER
        """Step of the loop at the newest sign of life."""
        self.clock = ClockOffset()

    @property
    def taken(self) -> bool:
        """Somebody is there."""
        return self.number != 0

    def lost(self, now_ns: int) -> bool:
        """Return whether who is there has been silent for too long: another may take the session over."""
        return now_ns - self.heard_ns > LOST_NS

    def given_up(self, now_ns: int, *, due: bool) -> bool:
        """Return whether the session is closed though nobody else wants it.

        ``due``: the loop waits for the rig's answer, which a busy machine may hold up.
        """
        return self.lost(now_ns) and not (due and now_ns - self.heard_ns <= DUE_NS)

    def open(self, number: int, peer: Peer, program: str, *, lockstep: bool, now_ns: int) -> None:
        """Give the session to a rig; one that continues keeps its count of messages."""
        if number != self.number:
            self.joinings += 1
            self.sequence, self.sent, self.answered, self.shown = -1, 0, -1, -1
            self.clock = ClockOffset()
        self.number, self.peer, self.program, self.lockstep = number, peer, program, lockstep
        self.heard_ns, self.pending = now_ns, None
        self.heartbeat_ns, self.heartbeat_step = 0, NEVER

    def close(self) -> None:
        """Nobody is there any more."""
        self.number, self.peer, self.pending = 0, (0, b""), None

    def motion(self, block: FloatArray) -> bytes:
        """Return what the rig reads of the frame's block, NaN for what there is not now."""
        values = np.where(self.columns >= 0, block[self.columns], np.nan)
        return values.tobytes()

    def state(self, step: int, now_ns: int) -> RigState:
        """Return what is known of the rig now; ``step``: newest of the loop's exchanges."""
        offset, trip = self.clock.offset_ns, self.clock.round_trip_ns
        return RigState(
            joined=self.taken,
            age_s=(now_ns - self.values_ns) * 1e-9 if self.values else math.nan,
            delay=float(step - self.answered) if self.answered >= 0 else math.nan,
            offset_s=math.nan if offset is None else offset * 1e-9,
            round_trip_s=math.nan if trip is None else trip * 1e-9,
            values=self.values,
            lockstep=self.lockstep,
            program=self.program,
        )
