"""The loop at 1 kHz with the gateway beside it, for benches of those who connect to it.

As in the daemon, all processes are started before the loop takes its rights: ``open``, then ``accompany``,
then ``play``.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from mastd.bench.loop import Play
from mastd.errors import UsageError
from mastd.loop.cycle.cycle import Cycle
from mastd.loop.process import host
from mastd.loop.process.description import description
from mastd.loop.process.endpoints import Kind, Operators
from mastd.loop.process.host import Blocks, Connection
from mastd.loop.process.installation import Plan
from mastd.loop.process.warmup import compile_kernels
from mastd.loop.service.single_run import await_rigs
from mastd.record.channels import ChannelSet
from mastd.record.recorder import RecorderHandle
from mastd.settings.core.starter import find
from mastd.wire.operators.gateway import GatewayHandle
from mastd.wire.plant.hello import Mode
from mastd.wire.plant.provider import PlantRequest, rigid_payload
from mastd.wire.plant.socket_link import PlantLink
from mastd.wire.rigs.gateway import RigGatewayHandle


@dataclass(frozen=True)
class OperatedLoop:
    """A loop on the class B road with a plant of its own; ``stack`` ends everything."""

    plan: Plan
    cycle: Cycle
    gateway: GatewayHandle
    rigs: RigGatewayHandle | None
    connection: Connection
    link: PlantLink
    blocks: Blocks
    recorder: RecorderHandle | None
    stack: ExitStack

    @classmethod
    def open(
        cls,
        stack: ExitStack,
        recorded: bool,
        profile: Path | None = None,
        rigs: Path | None = None,
        mode: Mode = "free-run",
    ) -> OperatedLoop:
        """Start plant, gateway and, if the frames are to be ``recorded``, the recorder.

        ``profile`` replaces the class B road, ``rigs`` names who may join from outside.
        """
        plan = Plan.load(
            find("table", "table"),
            profile or find("profile", "class_b_road"),
            find("daemon", "simulated"),
            rigs_path=rigs,
        )
        request = PlantRequest(
            plan.table_path, payload=rigid_payload(plan.profile), mode=mode, period_ns=plan.daemon.period_ns
        )
        connection = Connection(None, "socket" if mode == "free-run" else "direct", mode, request)
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mastd-")))
        operators = Operators(Kind.SIMULATED_RUN, f"ipc://{directory}/mastd.operators", directory)
        cycle = plan.cycle()
        compile_kernels(plan)
        link = host.open_link(plan, connection, stack)
        blocks = Blocks.of(plan)
        channels = ChannelSet(cycle.frame.channels, plan.daemon.period_ns)
        recorder = RecorderHandle.start(directory / "run.mcap", {}, channels) if recorded else None
        if recorder is not None:
            stack.callback(recorder.close)
        ring = recorder.ring if recorder is not None else None
        about = description(plan, channels)
        gateway = operators.open(plan, blocks, stack, about, ring)
        rig_gateway = operators.open_rigs(plan, blocks, stack, about, connection.mode)
        return cls(plan, cycle, gateway, rig_gateway, connection, link, blocks, recorder, stack)

    def accompany(self, process: subprocess.Popen[bytes]) -> None:
        """End a client's process with the rest."""
        self.stack.callback(process.wait)
        self.stack.callback(process.kill)

    def play(self, cycles: int, note: Callable[[], float]) -> list[float]:
        """Return what ``note`` gives in each of ``cycles`` cycles; raise UsageError if they end early."""
        rights = host.take_rights(self.plan, self.connection, self.link, self.cycle, self.stack)
        host.connect_rigs(self.cycle, self.blocks, self.connection)
        await_rigs(self.cycle, self.plan.ready.rigs, None)
        play = Play(self.cycle, cycles, note)
        host.loop(
            self.plan,
            self.connection,
            self.cycle,
            self.link,
            play,
            host.Processes(self.blocks, self.recorder, self.gateway, self.rigs),
            rights,
        )
        if len(play.notes) < cycles:
            first = self.cycle.supervisor.latch.first
            raise UsageError(f"the run ended early: {first.cause if first else 'no fault'}")
        return play.notes[:cycles]
