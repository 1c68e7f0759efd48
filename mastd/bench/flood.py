"""Bench of the loop beside hostile clients: its processor time with and without them, in turns of one run."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from mastd.bench import hostile
from mastd.bench.loop import Play
from mastd.bench.registry import Figure, bench, figure
from mastd.errors import UsageError
from mastd.loop import host
from mastd.loop.description import description
from mastd.loop.frame import frame_channels
from mastd.loop.host import Blocks, Connection
from mastd.loop.operators import Kind, Operators
from mastd.loop.plan import Plan
from mastd.loop.warmup import compile_kernels
from mastd.settings.starter import find
from mastd.wire.provider import PlantRequest, rigid_payload

TURN = 1_000
"""Cycles of a turn; hostile clients are awake in every other one."""
TURNS = 24
SETTLING = 200
"""Cycles at the beginning of a turn that are not counted."""


@bench("gateway.flood_added_us", "gateway.flood_compute_us", "gateway.quiet_compute_us")
def flood() -> dict[str, Figure]:
    """Processor time of the loop's cycle at 1 kHz beside clients that flood, never read and die."""
    plan = Plan.load(find("table", "table"), find("profile", "class_b_road"), find("daemon", "simulated"))
    request = PlantRequest(
        plan.table_path, payload=rigid_payload(plan.profile), period_ns=plan.daemon.period_ns
    )
    connection = Connection(None, "socket", "free-run", request)
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mastd-")))
        operators = Operators(Kind.SIMULATED_RUN, f"ipc://{directory}/mastd.operators", directory)
        cycle = plan.cycle()
        compile_kernels(plan)
        link = host.open_link(plan, connection, stack)
        blocks = Blocks.of(plan)
        about = description(plan, frame_channels(cycle.frame.layout))
        gateway = operators.open(plan, blocks, stack, about, None)
        clients = [hostile.start(kind, gateway.address) for kind in hostile.KINDS]
        for client in clients:
            stack.callback(_end, client)
        rights = host.take_rights(plan, link, cycle, stack)
        compute = cycle.frame.field("compute")
        play = Play(cycle, TURN * TURNS, _note(clients, lambda: float(compute[0])))
        host.loop(plan, connection, cycle, link, play, blocks, None, gateway, rights)
    if len(play.notes) < TURN * TURNS:
        first = cycle.supervisor.latch.first
        raise UsageError(f"the run ended early: {first.cause if first else 'no fault'}")
    turns = np.array(play.notes[: TURN * TURNS]).reshape(TURNS, TURN)[:, SETTLING:] * 1e6
    quiet, loud = turns[0::2], turns[1::2]
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
        if count % TURN == 0:
            wanted = signal.SIGCONT if count // TURN % 2 else signal.SIGSTOP
            for client in clients:
                os.kill(client.pid, wanted)
        count += 1
        return value()

    return note


def _end(client: subprocess.Popen[bytes]) -> None:
    client.kill()
    client.wait()
