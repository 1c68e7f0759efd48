"""What the operators' gateway works through: blocks shared with the loop, helper processes, the driver."""

from __future__ import annotations

from dataclasses import dataclass

from mastd.wire.common.blocks import NewestValueBlock
from mastd.wire.common.cycle_times import CycleTimes
from mastd.wire.operators.driver_forwarder import DriverForwarder
from mastd.wire.operators.load_process import ProfileLoader
from mastd.wire.operators.loop_port import LoopPort


@dataclass(frozen=True)
class GatewayBlocks:
    """Newest-value blocks between the gateway and the processes around it."""

    request: NewestValueBlock
    status: NewestValueBlock
    driver: NewestValueBlock
    rigs: NewestValueBlock | None = None
    """What the rigs' gateway shows (``mastd.wire.common.rig_status``), None where there is none."""


@dataclass(frozen=True)
class HandlerPorts:
    """What the handler reads and writes beside its clients' messages."""

    loop: LoopPort
    forwarder: DriverForwarder
    loader: ProfileLoader | None = None
    """None where this daemon plays one profile."""
    checker: ProfileLoader | None = None
    """None where the settings cannot be reloaded."""
    times: CycleTimes | None = None
    """None where nothing is recorded."""
    rigs: NewestValueBlock | None = None
    """See ``GatewayBlocks``."""
