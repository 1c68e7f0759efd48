"""The gateway: the process that owns every socket but the plant's, between the operators and the loop.

It lives as ``gateway_process`` says, and ends as well when the status block says that the loop has ended.
What happens in between stands in ``event_loop``, what is said in ``messages``, who may what in ``handler``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from mastd import program
from mastd.errors import UsageError
from mastd.wire.common.address import snapshots_address, sockets_umask, telemetry_address
from mastd.wire.common.blocks import DRIVER, REQUEST, NewestValueBlock, status_layout
from mastd.wire.common.gateway_process import GatewayProcess, LoopsEnd
from mastd.wire.common.rig_status import RIG_STATUS
from mastd.wire.operators.config import GatewayConfig

_MODULE = "mastd.wire.operators.gateway"
_SHARED = ("request", "status", "driver", "rigs")


class GatewayHandle(GatewayProcess):
    """The loop's side of the gateway; ``start`` makes one."""

    @classmethod
    def start(
        cls,
        config: GatewayConfig,
        request: NewestValueBlock,
        status: NewestValueBlock,
        driver: NewestValueBlock,
        rigs: NewestValueBlock | None = None,
    ) -> GatewayHandle:
        """Start the gateway and wait until its sockets are open.

        ``rigs`` is what the rigs' gateway shows, None where there is none.

        Start it before the loop takes its rights and locks its memory. Raises UsageError with one line if a
        socket cannot be opened; for one that another daemon serves, with that daemon's process id.
        """
        blocks = (request.descriptor, status.descriptor, driver.descriptor)
        shown = rigs.descriptor if rigs is not None else -1
        more = (*config.loader_descriptors, *((config.ring.descriptor,) if config.ring is not None else ()))
        shared = dict(zip(_SHARED, (*blocks, shown), strict=True))
        return cls.start_module(_MODULE, shared, more, config, config.address)


def main() -> int:
    """Run the gateway's process; the arguments come from ``GatewayHandle.start``."""
    loop = LoopsEnd(_MODULE, _SHARED)
    given = loop.given
    config = loop.config(GatewayConfig)

    from mastd.log.journald import connected_journal
    from mastd.log.sinks import open_sink
    from mastd.ring.observer import RingObserver
    from mastd.wire.access.audit_log import RefusalLog
    from mastd.wire.access.keys import KeyRing
    from mastd.wire.access.sessions import GatewayCounters
    from mastd.wire.operators.event_loop import GatewayEventLoop
    from mastd.wire.operators.ports import GatewayBlocks
    from mastd.wire.operators.sockets import OperatorSockets
    from mastd.wire.operators.telemetry_feed import TelemetryFeed

    counters = GatewayCounters()
    keys = KeyRing(Path(config.keys)) if config.keys else None
    is_service = bool(config.loader)  # a single run keeps no log of what was asked for
    log = RefusalLog(open_sink(connected_journal(os.environ)), is_service)
    os.umask(sockets_umask(config.address))
    try:
        telemetry = telemetry_address(config.address) if config.ring is not None else None
        sockets = OperatorSockets(
            config.address,
            snapshots_address(config.address),
            telemetry,
            config.network,
            keys,
            counters,
            log.unheard,
        )
    except UsageError as error:
        loop.refuse(error)
        return 2
    os.umask(0o077)  # what the loader writes is for this user alone
    try:
        loop.ready()
        blocks = GatewayBlocks(
            NewestValueBlock(REQUEST, given["request"]),
            NewestValueBlock(status_layout(config.actuators), given["status"]),
            NewestValueBlock(DRIVER, given["driver"]),
            NewestValueBlock(RIG_STATUS, given["rigs"]) if given["rigs"] >= 0 else None,
        )
        feed = None
        if config.ring is not None:
            feed = TelemetryFeed(RingObserver(*config.ring), config.cycle_times(), sockets)
        event_loop = GatewayEventLoop(config, sockets, counters, blocks, feed, log, loop.parent)
        event_loop.run(loop.stop_requested)
    finally:
        sockets.close()
        log.close()
    return 0


if __name__ == "__main__":
    sys.exit(program.run(main))
