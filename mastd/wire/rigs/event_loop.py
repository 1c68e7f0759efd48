"""The event loop of the rigs' gateway: socket, handler and blocks brought together, until the daemon ends.

One poll: wait for the loop's frame (in lockstep by its event, in free-run by its time) or a message, at most
``POLL_MS``; pass the frame on; take at most ``MESSAGES_PER_POLL`` messages; show the loop what has come. A
poll that was full is followed by a pause, so that a flood costs a part of one processor only: whoever floods
waits in their own queue, since the socket takes one message of each rig in turn.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from mastd.wire.access.audit_log import RefusalLog
from mastd.wire.access.verbs import may
from mastd.wire.common.blocks import NewestValueBlock
from mastd.wire.common.frame_timer import FrameTimer
from mastd.wire.common.rig_block import RigLink
from mastd.wire.common.rig_status import RigCounters, write_status
from mastd.wire.rigs.config import RigGatewayConfig
from mastd.wire.rigs.handler import RigHandler
from mastd.wire.rigs.sockets import RigSockets
from mastd.wire.rigs.subscriptions import Subscriptions

POLL_MS = 20
MESSAGES_PER_POLL = 64
PAUSE_S = 0.0005
SHOWN_NS = 100_000_000


class RigEventLoop:
    """Serves the rigs, poll by poll."""

    def __init__(
        self,
        config: RigGatewayConfig,
        parent: int,
        sockets: RigSockets,
        counters: RigCounters,
        link: RigLink,
        status: NewestValueBlock,
        rigs: NewestValueBlock,
        log: RefusalLog,
    ) -> None:
        self._parent = parent
        self._sockets = sockets
        self._counters = counters
        self._shown = link.shown
        self._answered = link.answered
        self._rigs = rigs
        self._lockstep = config.mode == "lockstep"
        self._log = log
        self._waits = False
        """The timer is set for a frame."""
        reads = Subscriptions(config.columns, config.spare, status)
        self._handler = RigHandler(config, parent, link, reads, counters, time.monotonic_ns(), log)
        self._shown_ns = 0
        self._timer = None if self._lockstep else FrameTimer(config.period_ns)
        sockets.also(link.shown.descriptor if self._timer is None else self._timer.descriptor)

    def run(self, stop_requested: Callable[[], bool]) -> None:
        """Serve until the daemon has ended or is gone."""
        looked = 0
        while True:
            now = time.monotonic_ns()
            if now - looked > SHOWN_NS // 2:
                looked = now
                if os.getppid() != self._parent or stop_requested():
                    break
            if self._poll() >= MESSAGES_PER_POLL:
                time.sleep(PAUSE_S)
        self._handler.end()
        self._reply()

    def _poll(self) -> int:
        """Poll once; return how many messages were taken."""
        sockets, handler = self._sockets, self._handler
        self._show_frame(sockets.poll(POLL_MS))
        self._reply()
        taken = 0
        for peer, frames, owner, role in sockets.receive(MESSAGES_PER_POLL):
            taken += 1
            handler.on_message(peer, frames, time.monotonic_ns(), owner, may=may(role, "drive"))
        now = time.monotonic_ns()
        if handler.poll(now) and self._lockstep:
            self._answered.set()
        self._reply()
        if now - self._shown_ns >= SHOWN_NS:
            self._shown_ns = now
            self._log.poll()
            write_status(self._rigs, self._counters, handler.states(now))
        return taken

    def _show_frame(self, ready: bool) -> None:
        """Pass the loop's frame on, where one is there or due; ``ready``: the event or the timer says so."""
        timer, now = self._timer, time.monotonic_ns()
        if timer is None:
            if ready:
                self._shown.clear()
                self._handler.show(now)
            return
        if ready:
            timer.clear()
        frame_ns = self._handler.show(now)
        if frame_ns:
            timer.expect_after(frame_ns)
        elif not self._handler.occupied:
            timer.rest()
        elif ready or not self._waits:
            timer.again(now)
        self._waits = self._handler.occupied

    def _reply(self) -> None:
        replies = self._handler.replies
        while replies:
            self._sockets.send(*replies.popleft())
