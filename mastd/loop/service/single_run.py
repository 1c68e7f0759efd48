"""One run from plan to result: plant, recorder, gateway, rights, loop, and the same way back.

Whatever happens, the recorder closes its file and the simulated plant ends.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from mastd.control.table.delay_margin import require_feedback
from mastd.control.table.stability_proof import require_stability
from mastd.errors import RealtimeRightsError, UsageError
from mastd.loop.cycle.cycle import Cycle
from mastd.loop.process import host, provenance
from mastd.loop.process.description import description
from mastd.loop.process.endpoints import Operators
from mastd.loop.process.host import Blocks, Connection, Processes
from mastd.loop.process.installation import Plan
from mastd.loop.process.script import RunScript, StopRequest
from mastd.loop.process.warmup import compile_kernels, compile_vehicles
from mastd.loop.realtime.rights import Rights
from mastd.loop.service.journal import end_event, rights_event
from mastd.record.channels import ChannelSet
from mastd.record.recorder import RecorderHandle, RecorderResult
from mastd.record.space import Space, space
from mastd.safety.faults import Fault
from mastd.safety.states import State

RIGS_S = 600.0
"""Time in which the rigs of a profile must have joined; one that compiles kernels first takes minutes."""


@dataclass(frozen=True)
class RunOutcome:
    """How a run ended."""

    state: State
    fault: Fault | None
    completed: bool
    command_sha256: str
    cycles: int
    missed: int
    recorded: RecorderResult | None
    rights: Rights
    cause: str | None
    """Why it did not play the profile to its end, None if it did."""


def run(
    plan: Plan,
    connection: Connection,
    record_path: Path | None,
    live: bool,
    stop: StopRequest | None = None,
    level_limit: float = 1.0,
    operators: Operators | None = None,
) -> RunOutcome:
    """Play the plan's profile once and return how it ended; ``stop`` may be set at any time.

    ``level_limit`` is the largest master gain that the check has proved; ``operators`` is where they may
    join, None for nobody. Raises ProtocolError when the plant refuses or is not there, RealtimeRightsError
    when rights are missing that a real plant needs, UsageError when the record cannot be written or the
    acceleration feedback is faded out too late for the payload.
    """
    require_stability(plan.table, plan.daemon, plan.profile.payload, plan.table_path)
    require_feedback(plan.table, plan.daemon, plan.profile.payload, plan.daemon_path)
    with ExitStack() as stack:
        cycle = plan.cycle(level_limit)
        compile_kernels(plan)
        compile_vehicles(plan.ready.vehicle, plan.ready.driven)
        link = host.open_link(plan, connection, stack)
        stack.callback(link.close)
        blocks = Blocks.of(plan)
        recorder = None
        recorded = (*cycle.frame.channels, *plan.vehicle_channels)
        if record_path is not None:
            channels = ChannelSet(recorded, plan.daemon.period_ns)
            tell_space(space(record_path.parent, channels), plan.ready.duration, live)
            metadata = provenance.join(
                provenance.of_daemon(plan, connection, link.hello),
                provenance.of_profile(plan.profile_text, plan.inputs, plan.ready, plan.vehicle_channels),
            )
            lockstep = connection.mode == "lockstep"
            recorder = RecorderHandle.start(record_path, metadata, channels, lockstep)
        gateway, rigs = None, None
        if operators is not None:
            host.show_plant(blocks, link)
            about = description(plan, recorded)
            ring = recorder.ring if recorder is not None else None
            gateway = operators.open(plan, blocks, stack, about, ring)
            rigs = operators.open_rigs(plan, blocks, stack, about, connection.mode)
        if live:
            host.live_line(blocks, plan, stack)
        try:
            rights = host.take_rights(plan, connection, link, cycle, stack)
        except RealtimeRightsError:
            if recorder is not None:
                recorder.close()
            raise
        if recorder is not None:
            recorder.event(rights_event(rights))
        host.connect_rigs(cycle, blocks, connection)
        await_rigs(cycle, plan.ready.rigs, stop)
        script = RunScript(cycle.supervisor, stop)
        host.loop(plan, connection, cycle, link, script, Processes(blocks, recorder, gateway, rigs), rights)
        return _end(cycle, script, recorder, rights)


def tell_space(found: Space | None, duration: float, live: bool) -> None:
    """Tell before anything moves for how long the disk has room; where it is enough, only who watches."""
    if found is None:
        return
    short = found.short_of(duration)
    if short or live:
        sys.stderr.write(f"{short or found.text()}\n")


def await_rigs(cycle: Cycle, names: Sequence[str], stop: StopRequest | None) -> None:
    """Wait until the rigs that the profile uses have joined, before the first cycle.

    So a run in lockstep has its rigs from the first step on. Raises UsageError when they do not come within
    ``RIGS_S``; a wish to stop ends the waiting.
    """
    end = time.monotonic() + RIGS_S
    told = False
    while absent := cycle.rigs.absent(names):
        if stop is not None and stop.requested:
            return
        if time.monotonic() > end:
            raise UsageError(
                f"rig {absent[0]} has not joined within {RIGS_S:g} s: start it and repeat the run; "
                "`hil-sim rig --help` lists those available"
            )
        if not told:
            names_due = ", ".join(absent)
            with contextlib.suppress(OSError):
                sys.stderr.write(
                    f"waiting for rig {names_due} to join, for {RIGS_S:g} s at most; Ctrl-C cancels\n"
                )
            told = True
        time.sleep(0.02)


def _end(cycle: Cycle, script: RunScript, recorder: RecorderHandle | None, rights: Rights) -> RunOutcome:
    fault = script.fault or cycle.supervisor.latch.first
    cause = fault.cause if fault else _why(script)
    recorded = None
    if recorder is not None:
        recorder.event(
            end_event(
                "fault" if fault else "completed" if script.completed else "stopped",
                script.ended_in.name,
                cause,
                cycle.command_sha256,
                cycle.cycles,
                cycle.missed,
            )
        )
        recorded = recorder.close()
    return RunOutcome(
        script.ended_in,
        fault,
        script.completed,
        cycle.command_sha256,
        cycle.cycles,
        cycle.missed,
        recorded,
        rights,
        cause,
    )


def _why(script: RunScript) -> str | None:
    """Return why a run without a fault did not play its profile to the end."""
    if script.completed:
        return None
    return script.refusal or f"stopped by {script.stopped_by or 'an operator'}"
