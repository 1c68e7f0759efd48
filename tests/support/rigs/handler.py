"""What the rigs' tests share: a handler in virtual time, and the loop's side of its blocks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from mastd.safety.states import State
from mastd.wire.access.sessions import Peer
from mastd.wire.common.blocks import NewestValueBlock, status_layout
from mastd.wire.common.rig_block import (
    FRAME_HEAD,
    FRAME_HEAD_SIZE,
    RIG_ROWS,
    RIG_VALUES,
    RIG_WIDTH,
    Event,
    RigLink,
    rig_frame_layout,
)
from mastd.wire.common.rig_status import RigCounters
from mastd.wire.common.strict_messages import pack
from mastd.wire.rigs.config import RigConfig, RigGatewayConfig
from mastd.wire.rigs.handler import RigHandler
from mastd.wire.rigs.messages import (
    Error,
    Motion,
    Reject,
    RigHello,
    RigTerms,
    RigValues,
    RigWelcome,
    ToRig,
    read_to_rig,
)
from mastd.wire.rigs.subscriptions import Subscriptions

MS = 1_000_000
SECOND = 1000 * MS
ANNA, BERT = (0, b"anna's connection"), (0, b"bert's connection")
COLUMNS = (("pose.heave", "m"), ("pose.roll", "rad"), ("profile_time", "s"))
PEDALS = RigConfig(
    "pedals",
    "signals",
    (
        RigTerms("steering", "1", -1.0, 1.0, 4.0, 0.0, "hold"),
        RigTerms("throttle", "1", 0.0, 1.0, None, 0.0, "ramp"),
    ),
    timeout_s=0.05,
    message_rate=1000.0,
    motion_rate=1000.0,
    predict_s=0.0,
)
LEVER = RigConfig(
    "lever",
    "signals",
    (RigTerms("gear", "1", -1.0, 6.0, None, 0.0, "stop"),),
    timeout_s=0.05,
    message_rate=100.0,
    motion_rate=100.0,
    predict_s=0.0,
)
HELLO = RigHello(
    magic="mastd-rig",
    version_lowest=1,
    version_highest=1,
    name="pedals",
    program="bench of anna",
    role="any",
    frame="iso8855",
    units="SI",
    mode="any",
    period_ns=0,
    channels=(),
    channels_sha256="",
    reads=("pose.heave",),
    resume=0,
)


def rigs_job(mode: str = "free-run", address: str = "ipc:///nowhere") -> RigGatewayConfig:
    """Return the job of a gateway with two rigs."""
    return RigGatewayConfig(
        name="mastd",
        address=address,
        mode=mode,
        period_ns=MS,
        rigs=(PEDALS, LEVER),
        columns=COLUMNS,
        spare=0,
        states=tuple(state.name for state in State),
        actuators=7,
    )


class VirtualHandler:
    """A handler, the loop's ends of its blocks, and a clock that only moves when it is told to."""

    def __init__(self, mode: str = "free-run") -> None:
        self.now = SECOND
        self.frame = NewestValueBlock(rig_frame_layout(len(COLUMNS)))
        self.counters = RigCounters()
        self.told: list[str] = []
        """What was logged."""
        values = NewestValueBlock(RIG_VALUES)
        self.block = NewestValueBlock(RIG_VALUES, values.descriptor)
        self._kept = values
        self.places = rigs_job().rigs
        job = rigs_job(mode)
        numbers = itertools.count(1001)
        self.handler = RigHandler(
            job,
            4711,
            RigLink(values, NewestValueBlock(self.frame.layout, self.frame.descriptor), Event(), Event()),
            Subscriptions(COLUMNS, 0, NewestValueBlock(status_layout(7))),
            self.counters,
            self.now,
            self,
            lambda: next(numbers),
        )

    def rig(self, name: str, program: str, what: str) -> None:
        """Take a line of the log."""
        self.told.append(f"{name} {what}")

    def said(self, peer: Peer, data: bytes) -> list[ToRig]:
        """Let the handler hear a message and take its turn; return what it says to that peer."""
        self.handler.on_message(peer, [data], self.now)
        self.handler.poll(self.now)
        return self.answers(peer)

    def answers(self, peer: Peer) -> list[ToRig]:
        """Return what the handler has said to a peer; what it has said to others is forgotten."""
        found = [read_to_rig(data) for other, data in self.handler.replies if other == peer]
        self.handler.replies.clear()
        return found

    def join(self, peer: Peer, **changes: Any) -> RigWelcome:
        """Say hello and return the welcome."""
        welcome = self.said(peer, pack(replace(HELLO, **changes)))[0]
        assert isinstance(welcome, RigWelcome), welcome
        return welcome

    def refusal(self, peer: Peer, **changes: Any) -> list[str]:
        """Say hello and return why there is no place."""
        before = self.handler.counters.refused
        (refusal,) = self.said(peer, pack(replace(HELLO, **changes)))
        assert isinstance(refusal, Reject), refusal
        assert self.handler.counters.refused == before + 1
        return list(refusal.reasons)

    def trouble(self, peer: Peer, data: bytes) -> Error:
        """Say something that is not taken: it has changed nothing, and is counted under its name."""
        before, counted = self.rows().copy(), vars(self.counters).copy()
        (trouble,) = self.said(peer, data)
        assert isinstance(trouble, Error), trouble
        assert np.array_equal(self.rows(), before), "it has changed nothing"
        counted["received"] += 1
        counted[trouble.error] += 1
        assert vars(self.counters) == counted
        return trouble

    def give(
        self, welcome: RigWelcome, sequence: int, values: Sequence[float], step: int = -1, peer: Peer = ANNA
    ) -> list[ToRig]:
        """Give values, in whatever session, and return what the handler says."""
        return self.said(peer, values_of(welcome.session, sequence, values, step))

    def show(self, number: int, asked: int = 0, values: Sequence[float] = (0.1, 0.2, 0.3)) -> None:
        """Do as the loop does in one cycle: show a frame."""
        block = self.frame.values
        (
            block[FRAME_HEAD.number],
            block[FRAME_HEAD.plant_time],
            block[FRAME_HEAD.state],
            block[FRAME_HEAD.speed],
        ) = number, number * 1e-3, 5.0, 1.0
        block[FRAME_HEAD.asked] = asked
        block[FRAME_HEAD_SIZE:] = values
        self.frame.publish()
        self.handler.show(self.now)

    def motions(self, peer: Peer) -> list[Motion]:
        """Return the motions that a peer has been sent."""
        return [answer for answer in self.answers(peer) if isinstance(answer, Motion)]

    def rows(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return what the loop sees of the rigs."""
        self.block.read()
        return self.block.values[RIG_ROWS].reshape(-1, RIG_WIDTH)

    def wait(self, ns: int) -> None:
        """Let time pass, and the handler do what it brings about."""
        self.now += ns
        self.handler.poll(self.now)


def values_of(session: int, sequence: int, values: Sequence[float], step: int = -1) -> bytes:
    """Return a message that gives values."""
    return pack(RigValues(session, sequence, step, 1, np.array(values, dtype="<f8").tobytes()))
