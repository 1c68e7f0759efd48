"""The gateway's event loop: sockets, handler and blocks brought together, until the daemon ends.

One poll: wait for a message, at most ``POLL_MS``; take at most ``MESSAGES_PER_POLL`` from each socket; settle
what the loop has answered; show the heartbeat. A poll that was full is followed by a pause, so that a flood
costs a part of one processor only; whoever floods waits in their own queue, everybody else's next message is
in the next poll.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from mastd.wire.access.audit_log import RefusalLog
from mastd.wire.access.sessions import GatewayCounters
from mastd.wire.operators.config import GatewayConfig
from mastd.wire.operators.driver_forwarder import DriverForwarder
from mastd.wire.operators.handler import OperatorHandler
from mastd.wire.operators.load_process import ProfileLoader
from mastd.wire.operators.loop_port import Loop, LoopPort
from mastd.wire.operators.messages import pack_status
from mastd.wire.operators.ports import GatewayBlocks, HandlerPorts
from mastd.wire.operators.sockets import OperatorSockets
from mastd.wire.operators.telemetry_feed import TelemetryFeed

POLL_MS = 5
MESSAGES_PER_POLL = 32
PAUSE_S = 0.001
HEARTBEAT_NS = 20_000_000
"""Every change of the block costs the loop a read of it, so the heartbeat does not come with every poll."""


class GatewayEventLoop:
    """Serves the operators, poll by poll."""

    def __init__(
        self,
        config: GatewayConfig,
        sockets: OperatorSockets,
        counters: GatewayCounters,
        blocks: GatewayBlocks,
        feed: TelemetryFeed | None,
        log: RefusalLog,
        parent: int,
    ) -> None:
        self._feed = feed
        self._log = log
        self._sockets = sockets
        self._parent = parent
        self._port = LoopPort(
            blocks.request, blocks.status, round(config.loop_stuck_s * 1e9), time.monotonic_ns()
        )
        loader, descriptors, checker = config.loader, config.loader_descriptors, config.checker
        ports = HandlerPorts(
            self._port,
            DriverForwarder(blocks.driver, counters),
            loader=ProfileLoader(loader, descriptors, config.slots) if loader else None,
            checker=ProfileLoader(checker, (), 1, "check of the settings") if checker else None,
            times=feed.times if feed is not None else None,
            rigs=blocks.rigs,
        )
        self._handler = OperatorHandler(config.terms(parent), ports, counters, log)
        self._every_ns = round(1e9 / config.status_rate)
        self._heartbeat_ns = 0
        self._shown_ns = 0
        self._shown = 0

    def run(self, stop_requested: Callable[[], bool]) -> None:
        """Serve until the daemon has ended or is gone."""
        try:
            while os.getppid() == self._parent and not stop_requested():
                taken = self._poll()
                if self._port.state(time.monotonic_ns()) is Loop.ENDED:
                    break
                if taken >= MESSAGES_PER_POLL:
                    time.sleep(PAUSE_S)
            self._handler.end(time.monotonic_ns())
            self._reply()
            self._show(time.monotonic_ns())
            if self._feed is not None:
                self._feed.end(time.monotonic_ns())
        finally:
            self._handler.close()

    def _poll(self) -> int:
        """Poll once; return how many messages were taken."""
        sockets, handler = self._sockets, self._handler
        sockets.poll(POLL_MS)
        taken = 0
        for peer, frames, identity in sockets.receive(MESSAGES_PER_POLL):
            taken += 1
            handler.on_message(peer, frames, time.monotonic_ns(), sockets.addresses(peer), identity)
            self._reply()
        now = time.monotonic_ns()
        handler.poll(now)
        self._reply()
        if now - self._heartbeat_ns >= HEARTBEAT_NS:
            self._heartbeat_ns = now
            self._port.heartbeat()
        if self._feed is not None:
            self._feed.poll(now)
        self._log.poll()
        if now - self._shown_ns >= self._every_ns:
            self._show(now)
        return taken

    def _reply(self) -> None:
        replies = self._handler.replies
        while replies:
            self._sockets.send(*replies.popleft())

    def _show(self, now_ns: int) -> None:
        self._shown_ns = now_ns
        self._shown += 1
        snapshot = self._handler.status_view.snapshot(now_ns)
        self._sockets.publish(pack_status({"number": self._shown, **snapshot}))
