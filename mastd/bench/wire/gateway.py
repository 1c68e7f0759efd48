"""Bench of the gateway: how long a stop takes from a client to the loop's block, through real sockets."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import numpy as np

from mastd.bench.registry import Figure, bench, figure
from mastd.safety.states import State
from mastd.wire.common.blocks import DRIVER, REQUEST, NewestValueBlock, status_layout
from mastd.wire.operators.client import OperatorClient
from mastd.wire.operators.config import GatewayConfig
from mastd.wire.operators.gateway import GatewayHandle

STOPS = 2000
ACTUATORS = 7
MAX_WAIT_S = 5.0
PAUSE_S = 0.001


@bench("gateway.stop_us")
def stop() -> dict[str, Figure]:
    """Time from the client's call to the raised counter in the block, the gateway asleep before each.

    The reader looks for the counter without sleeping, since the loop's own period is not part of the figure.
    """
    request = NewestValueBlock(REQUEST)
    status = NewestValueBlock(status_layout(ACTUATORS))
    view = NewestValueBlock(REQUEST, request.descriptor)
    status.publish()
    with tempfile.TemporaryDirectory(prefix="mastd-") as directory:
        job = GatewayConfig(
            actuators=ACTUATORS,
            states=tuple(state.name for state in State),
            faults={},
            loop_stuck_s=MAX_WAIT_S,
            lease_s=60.0,
            command_rate=50.0,
            burst=50,
            answer_s=MAX_WAIT_S,
            status_rate=20.0,
            address=f"ipc://{Path(directory)}/mastd.operators",
        )
        gateway = GatewayHandle.start(job, request, status, NewestValueBlock(DRIVER))
        try:
            with OperatorClient(gateway.address, "bench") as client:
                times = [_one_stop(client, view, status, number) for number in range(1, STOPS + 1)]
        finally:
            gateway.close()
    return {"gateway.stop_us": figure(np.array(times) * 1e6, "us")}


def _one_stop(client: OperatorClient, view: NewestValueBlock, status: NewestValueBlock, number: int) -> float:
    time.sleep(PAUSE_S)
    begun = time.perf_counter()
    client.send("stop")
    while not (view.changed() and view.read() and view.scalar("stops") >= number):
        if time.perf_counter() - begun > MAX_WAIT_S:
            raise TimeoutError("the gateway did not raise the counter")
        os.sched_yield()
    passed = time.perf_counter() - begun
    status.field("stops_answered")[:] = number
    status.field("cycle")[:] = number
    status.publish()
    return passed
