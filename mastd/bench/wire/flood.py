"""Bench of the loop beside hostile clients: its processor time with and without them, in turns of one run."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import ExitStack

import numpy as np

from mastd.bench.registry import Figure, bench, figure
from mastd.bench.wire import hostile
from mastd.bench.wire.operated import OperatedLoop

PHASE_CYCLES = 1_000
"""Cycles of a turn; hostile clients are awake in every other one."""
PHASES = 24
SETTLING = 200
"""Cycles at the beginning of a turn that are not counted."""


@bench("gateway.flood_added_us", "gateway.flood_compute_us", "gateway.quiet_compute_us")
def flood() -> dict[str, Figure]:
    """Processor time of the loop's cycle at 1 kHz beside clients that flood, never read and die."""
    with ExitStack() as stack:
        operated = OperatedLoop.open(stack, recorded=False)
        clients = [hostile.start(kind, operated.gateway.address) for kind in hostile.KINDS]
        for client in clients:
            operated.accompany(client)
        compute = operated.cycle.frame.field("compute")
        notes = operated.play(PHASE_CYCLES * PHASES, _note(clients, lambda: float(compute[0])))
    phases = np.array(notes).reshape(PHASES, PHASE_CYCLES)[:, SETTLING:] * 1e6
    quiet, loud = phases[0::2], phases[1::2]
    added = np.median(loud, axis=1) - np.median(quiet, axis=1)
    return {
        "gateway.flood_added_us": figure(added, "us"),
        "gateway.flood_compute_us": figure(loud.ravel(), "us"),
        "gateway.quiet_compute_us": figure(quiet.ravel(), "us"),
    }


def _note(clients: list[subprocess.Popen[bytes]], value: Callable[[], float]) -> Callable[[], float]:
    """Return what is called in each cycle: it wakes or stops the clients at the beginning of a turn."""
    count = 0

    def note() -> float:
        nonlocal count
        if count % PHASE_CYCLES == 0:
            wanted = signal.SIGCONT if count // PHASE_CYCLES % 2 else signal.SIGSTOP
            for client in clients:
                os.kill(client.pid, wanted)
        count += 1
        return value()

    return note
