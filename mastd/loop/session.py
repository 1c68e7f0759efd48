"""One run from plan to result: plant, recorder, rights, loop, and the same way back.

Processes are started before memory is locked and rights are taken; whatever happens, the recorder closes its
file and the simulated plant ends.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path

from mastd.errors import RealtimeRightsError
from mastd.loop import provenance
from mastd.loop.clock import PeriodicClock
from mastd.loop.companions import Companions
from mastd.loop.cycle import Cycle
from mastd.loop.frame import frame_channels
from mastd.loop.live import LiveLine
from mastd.loop.plan import Plan
from mastd.loop.publisher import StatusPublisher
from mastd.loop.realtime import Rights, acquire, one_processor, relax
from mastd.loop.requests import RequestPort
from mastd.loop.runner import Runner
from mastd.loop.script import RunScript, StopRequest
from mastd.loop.warmup import compile_kernels
from mastd.record.channels import ChannelSet
from mastd.record.recorder import RecorderHandle, RecorderResult
from mastd.safety.faults import Fault
from mastd.safety.states import State
from mastd.wire.blocks import REQUEST, NewestValueBlock, status_layout
from mastd.wire.direct_link import DirectLink
from mastd.wire.hello import Mode
from mastd.wire.plant_link import PlantLink, connect
from mastd.wire.plant_process import PlantProcess
from mastd.wire.provider import PlantRequest, find_provider


@dataclass(frozen=True)
class Connection:
    """How the plant is reached: a simulated one of our own (``address`` None) or one that is there."""

    address: str | None
    link: str
    mode: Mode
    request: PlantRequest
    allow_remote: bool = False


@dataclass(frozen=True)
class Ending:
    """How a run ended."""

    state: State
    fault: Fault | None
    completed: bool
    command_sha256: str
    cycles: int
    missed: int
    recorded: RecorderResult | None
    rights: Rights


def run(
    plan: Plan,
    connection: Connection,
    record_path: Path | None,
    live: bool,
    stop: StopRequest | None = None,
) -> Ending:
    """Play the plan's profile once and return how it ended; ``stop`` may be set at any time.

    Raises ProtocolError when the plant refuses or is not there, RealtimeRightsError when rights are missing
    that a real plant needs, UsageError when the record cannot be written.
    """
    with ExitStack() as stack:
        cycle = plan.cycle()
        compile_kernels(plan)
        link = open_link(plan, connection, stack)
        channels = ChannelSet(frame_channels(cycle.frame.layout), plan.daemon.period_ns)
        lockstep = connection.mode == "lockstep"
        recorder = None
        if record_path is not None:
            metadata = provenance.metadata(plan, connection, link.hello)
            recorder = RecorderHandle.start(record_path, metadata, channels, lockstep)
        status = NewestValueBlock(status_layout(len(plan.table.links)))
        requests = RequestPort(NewestValueBlock(REQUEST))
        if live:
            stack.enter_context(LiveLine(status, len(plan.table.links)))
        script = RunScript(cycle.supervisor, stop)
        rights = acquire(plan.daemon.realtime)
        stack.callback(relax)
        allowed = link.hello.simulated or plan.daemon.realtime.allow_without_rights
        cycle.supervisor.rights = allowed or not rights.degraded
        if not cycle.supervisor.rights:
            if recorder is not None:
                recorder.close()
            raise RealtimeRightsError(
                f"{plan.daemon_path}: real-time rights are missing: {rights.missing}. Grant them, or set "
                "realtime.allow_without_rights"
            )
        if recorder is not None:
            recorder.event({"event": "rights", "degraded": rights.degraded, "rights": rights.as_dict()})
        publisher = StatusPublisher(status, cycle, requests, recorder, rights.degraded)
        companions = Companions(cycle.supervisor, requests, recorder, None, 0)
        runner = Runner(cycle, link, script, plan.daemon.period_ns, recorder, requests, publisher, companions)
        with turns(connection):
            if lockstep:
                runner.lockstep()
            else:
                runner.free_run(PeriodicClock(plan.daemon.period_ns, round(plan.daemon.realtime.spin * 1e9)))
        publisher.publish(cycle.sensing.last_ns, ended=True)
        link.close()
        return _end(cycle, script, recorder, rights)


def open_link(plan: Plan, connection: Connection, stack: ExitStack) -> PlantLink:
    """Open the plant link; a simulated plant is started and ended by the stack."""
    terms = plan.terms(connection.mode)
    if connection.address is not None:
        return connect(connection.address, terms, allow_remote=connection.allow_remote)
    provider = find_provider()
    if connection.link == "direct":
        return DirectLink(provider.open(connection.request), terms)
    with turns(connection):
        plant = stack.enter_context(PlantProcess(provider, connection.request))
        return plant.connect(terms)


def turns(connection: Connection) -> AbstractContextManager[None]:
    """Return the context in which a plant process of our own is started, and in which the loop runs."""
    own = connection.mode == "lockstep" and connection.address is None and connection.link == "socket"
    return one_processor() if own else nullcontext()


def _end(cycle: Cycle, script: RunScript, recorder: RecorderHandle | None, rights: Rights) -> Ending:
    supervisor = cycle.supervisor
    fault = supervisor.latch.first
    recorded = None
    if recorder is not None:
        recorder.event(
            {
                "event": "end",
                "outcome": "fault" if fault else "completed" if script.completed else "stopped",
                "state": script.ended_in.name,
                "cause": fault.cause if fault else _why(script),
                "command_sha256": cycle.command_sha256,
                "cycles": cycle.cycles,
                "missed": cycle.missed,
            }
        )
        recorded = recorder.close()
    return Ending(
        script.ended_in,
        fault,
        script.completed,
        cycle.command_sha256,
        cycle.cycles,
        cycle.missed,
        recorded,
        rights,
    )


def _why(script: RunScript) -> str | None:
    """Return why a run without a fault did not play its profile to the end."""
    if script.completed:
        return None
    return script.refusal or "stopped by the operator"
