"""The gateway's turns: sockets, desk and blocks brought together, until the daemon ends.

A turn: wait for a message, at most ``TURN_MS``; take at most ``MESSAGES_PER_TURN`` from each socket; settle
what the loop has answered; show the heartbeat. A turn that was full is followed by a pause, so that a flood
costs a share of one processor only; whoever floods waits in his own queue, everybody else's next message is
in the next turn.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from mastd.wire.access.audit_log import RefusalLog
from mastd.wire.access.sessions import GatewayCounters
from mastd.wire.common.blocks import NewestValueBlock
from mastd.wire.operators.config import GatewayConfig
from mastd.wire.operators.driver_relay import DriverRelay
from mastd.wire.operators.handler import OperatorDesk
from mastd.wire.operators.load_process import ProfileLoader
from mastd.wire.operators.loop_port import Loop, LoopPort
from mastd.wire.operators.messages import pack_status
from mastd.wire.operators.sockets import OperatorSockets
from mastd.wire.operators.telemetry_feed import TelemetryFeed

TURN_MS = 5
MESSAGES_PER_TURN = 32
PAUSE_S = 0.001
HEARTBEAT_NS = 20_000_000
"""Every change of the block costs the loop a read of it, so the heartbeat does not come with every turn."""


class GatewayTurns:
    """Serves the operators turn by turn."""

    def __init__(
        self,
        config: GatewayConfig,
        sockets: OperatorSockets,
        counters: GatewayCounters,
        request: NewestValueBlock,
        status: NewestValueBlock,
        driver: NewestValueBlock,
        rigs: NewestValueBlock | None,
        feed: TelemetryFeed | None,
        log: RefusalLog,
        parent: int,
    ) -> None:
        self._feed = feed
        self._log = log
        self._sockets = sockets
        self._parent = parent
        self._port = LoopPort(request, status, round(config.loop_stuck_s * 1e9), time.monotonic_ns())
        loader = (
            ProfileLoader(config.loader, config.loader_descriptors, config.slots) if config.loader else None
        )
        checker = ProfileLoader(config.checker, (), 1, "check of the settings") if config.checker else None
        relay = DriverRelay(driver, counters)
        times = feed.times if feed is not None else None
        terms = config.terms(parent)
        self._desk = OperatorDesk(terms, self._port, loader, relay, counters, times, checker, log, rigs)
        self._every_ns = round(1e9 / config.status_rate)
        self._beaten_ns = 0
        self._shown_ns = 0
        self._shown = 0

    def run(self, told_to_end: Callable[[], bool]) -> None:
        """Serve until the daemon has ended or is gone."""
        try:
            while os.getppid() == self._parent and not told_to_end():
                taken = self._turn()
                if self._port.state(time.monotonic_ns()) is Loop.ENDED:
                    break
                if taken >= MESSAGES_PER_TURN:
                    time.sleep(PAUSE_S)
            self._desk.end(time.monotonic_ns())
            self._reply()
            self._show(time.monotonic_ns())
            if self._feed is not None:
                self._feed.end(time.monotonic_ns())
        finally:
            self._desk.close()

    def _turn(self) -> int:
        """Do one turn; return how many messages were taken."""
        sockets, desk = self._sockets, self._desk
        sockets.poll(TURN_MS)
        taken = 0
        for peer, frames, guest in sockets.receive(MESSAGES_PER_TURN):
            taken += 1
            desk.hear(peer, frames, time.monotonic_ns(), sockets.addresses(peer), guest)
            self._reply()
        now = time.monotonic_ns()
        desk.turn(now)
        self._reply()
        if now - self._beaten_ns >= HEARTBEAT_NS:
            self._beaten_ns = now
            self._port.beat()
        if self._feed is not None:
            self._feed.turn(now)
        self._log.turn()
        if now - self._shown_ns >= self._every_ns:
            self._show(now)
        return taken

    def _reply(self) -> None:
        replies = self._desk.replies
        while replies:
            self._sockets.send(*replies.popleft())

    def _show(self, now_ns: int) -> None:
        self._shown_ns = now_ns
        self._shown += 1
        self._sockets.publish(pack_status({"number": self._shown, **self._desk.board.snapshot(now_ns)}))
