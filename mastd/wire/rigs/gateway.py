"""The rigs' gateway: the process that owns the rigs' socket, between the rigs and the loop.

It is a process of its own, beside that of the operators, so that eight rigs at the loop's rate, or one that
floods, cost the operators nothing: a stop of theirs does not wait behind a rig. It is started only where the
settings name rigs, and lives as ``gateway_process`` says.
"""

from __future__ import annotations

import os
import sys

from mastd import program
from mastd.errors import UsageError
from mastd.wire.common.address import sockets_umask
from mastd.wire.common.blocks import NewestValueBlock, status_layout
from mastd.wire.common.gateway_process import GatewayProcess, LoopsEnd
from mastd.wire.common.rig_block import RIG_VALUES, Event, RigLink, rig_frame_layout
from mastd.wire.common.rig_status import RIG_STATUS
from mastd.wire.rigs.config import RigGatewayConfig

_MODULE = "mastd.wire.rigs.gateway"
_SHARED = ("values", "frame", "shown", "answered", "status", "rigs")


class RigGatewayHandle(GatewayProcess):
    """The loop's side of the rigs' gateway; ``start`` makes one."""

    @classmethod
    def start(
        cls, config: RigGatewayConfig, link: RigLink, status: NewestValueBlock, rigs: NewestValueBlock
    ) -> RigGatewayHandle:
        """Start the gateway and wait until its socket is open.

        ``status`` is the loop's, read here; ``rigs`` is what this gateway shows of the rigs. Raises
        UsageError with one line if a socket cannot be opened.
        """
        blocks = (link.values.descriptor, link.frame.descriptor)
        events = (link.shown.descriptor, link.answered.descriptor)
        shared = dict(zip(_SHARED, (*blocks, *events, status.descriptor, rigs.descriptor), strict=True))
        return cls.start_module(_MODULE, shared, (), config, config.address)


def main() -> int:
    """Run the gateway's process; the arguments come from ``RigGatewayHandle.start``."""
    loop = LoopsEnd(_MODULE, _SHARED)
    given = loop.given
    config = loop.config(RigGatewayConfig)

    from mastd.log.journald import connected_journal
    from mastd.log.sinks import open_sink
    from mastd.wire.access.audit_log import RefusalLog
    from mastd.wire.common.rig_status import RigCounters
    from mastd.wire.rigs.event_loop import RigEventLoop
    from mastd.wire.rigs.sockets import RigSockets

    counters = RigCounters()
    log = RefusalLog(open_sink(connected_journal(os.environ)))
    os.umask(sockets_umask(config.address))
    try:
        sockets = RigSockets(config, counters, log.unheard)
    except UsageError as error:
        loop.refuse(error)
        return 2
    try:
        width = len(config.columns) + config.spare
        link = RigLink(
            NewestValueBlock(RIG_VALUES, given["values"]),
            NewestValueBlock(rig_frame_layout(width), given["frame"]),
            Event(given["shown"]),
            Event(given["answered"]),
        )
        status = NewestValueBlock(status_layout(config.actuators), given["status"])
        rigs = NewestValueBlock(RIG_STATUS, given["rigs"])
        event_loop = RigEventLoop(config, loop.parent, sockets, counters, link, status, rigs, log)
        loop.ready()
        event_loop.run(loop.stop_requested)
    finally:
        sockets.close()
        log.close()
    return 0


if __name__ == "__main__":
    sys.exit(program.run(main))
