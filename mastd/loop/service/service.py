"""The service: a loop that waits for operators, plays what they load, and records every run.

It comes up in OFF and never moves by itself. SIGTERM and Ctrl-C stop what moves, lower the table and end it.
A plant that is not there is waited for, with the gateway there to say so. `reload` ends the loop in OFF, and
all around it is made again with new settings; if these cannot come up, with the old ones.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mastd.errors import MastdError
from mastd.loop.cycle.slots import ProfileSlots
from mastd.loop.cycle.supervisor import Supervisor
from mastd.loop.loading import loader, settings_check
from mastd.loop.measurement.frame import Frame
from mastd.loop.process import host, provenance
from mastd.loop.process.child_watch import Process
from mastd.loop.process.compile_progress import report_compiling
from mastd.loop.process.description import description
from mastd.loop.process.endpoints import Loading, Operators
from mastd.loop.process.host import Blocks, Connection, Processes, ServiceHooks
from mastd.loop.process.installation import Installation
from mastd.loop.process.plant_wait import ATTEMPT_NS, await_plant
from mastd.loop.process.script import StopRequest, leave_fault
from mastd.loop.process.status_text import StatusReporter
from mastd.loop.process.warmup import compile_any_vehicle, compile_kernels
from mastd.loop.realtime.systemd_notify import ServiceManager
from mastd.loop.service.journal import ServiceJournal, rights_event
from mastd.loop.service.shutdown_record import ShutdownRecord
from mastd.record.channels import ChannelSet
from mastd.record.recorder import RecorderHandle, recorder_ring
from mastd.record.service_log.log import destination
from mastd.ring.ends import RingProducer
from mastd.safety.faults import Code, Fault
from mastd.safety.states import State
from mastd.wire.access.verbs import Verb
from mastd.wire.common.blocks import NewestValueBlock
from mastd.wire.common.vehicle_block import VEHICLE_NUMBERS
from mastd.wire.operators.gateway import GatewayHandle
from mastd.wire.operators.terms import PreviousRun
from mastd.wire.plant.socket_link import PlantLink
from mastd.wire.rigs.gateway import RigGatewayHandle

ENDING_S = 30.0
"""The longest that recorder and gateway may take to end, or be ended, on a busy machine."""
RELOADING = "the settings are being reloaded; the daemon restarts by itself"
DEGRADED = "DEGRADED_RT, real-time rights are missing"


class ServiceScript:
    """Asks for nothing until the service is to end; then for stop and lower, until the table is down.

    A reload that was granted ends the loop as well; ``status`` then shows that it comes back.

    Without its gateway nobody can ask for anything: once its fault has brought the table to rest, the script
    lowers it. Where the gateway's process has ended it then ends the service, so that a service manager can
    start all of it anew; one that only hangs may come back, and its operators then find the table down.
    """

    def __init__(
        self, supervisor: Supervisor, stop: StopRequest, status: NewestValueBlock, gateway: Process
    ) -> None:
        self.finished = False
        self.reload = False
        self._supervisor = supervisor
        self._stop = stop
        self._status = status
        self._gateway = gateway
        self._stopped = False

    def heard(self, verb: Verb) -> None:
        """An operator may continue using the table until it is down."""
        if verb is Verb.RELOAD:
            self.finished = self.reload = True
            self._status.set_text("waiting", RELOADING)

    def next(self, now_ns: int) -> Verb:
        """Return what to ask for in this cycle."""
        supervisor = self._supervisor
        if self._stop.reload:  # once: where it is refused the log says so
            self._stop.reload = False
            if supervisor.state is State.OFF and supervisor.drive_idle:
                self.heard(Verb.RELOAD)
            return Verb.RELOAD
        if not self._stop.requested:
            if Code.GATEWAY_LOST not in supervisor.latch.active:
                return Verb.NONE
            if self._gateway.alive():
                return leave_fault(supervisor, now_ns)[0] if supervisor.state is State.FAULT else Verb.NONE
        supervisor.asker = self._stop.by or supervisor.asker
        match supervisor.state:
            case State.OFF:
                self.finished = True
            case State.ESTOP:
                self.finished = supervisor.down(now_ns)
            case State.READY | State.ARMED:
                return Verb.LOWER
            case State.FAULT:
                verb, self.finished = leave_fault(supervisor, now_ns)
                return verb
            case State.STOPPING | State.LOWERING:
                pass
            case _ if not self._stopped:
                self._stopped = True
                return Verb.STOP
        return Verb.NONE


@dataclass(frozen=True)
class ServiceContext:
    """What stays the same however often the settings are reloaded."""

    connect: Callable[[Installation], Connection]
    operators: Operators
    directory: Path
    """Where runs go."""
    stop: StopRequest
    manager: ServiceManager
    shutdown_record: ShutdownRecord
    say: Callable[[str], None]
    """Tells the people at the terminal, or the log."""
    rigs: Path | None = None
    """File of rigs instead of what the settings name."""


def serve(installation: Installation, context: ServiceContext) -> Fault | None:
    """Serve until ``stop`` is set and the table is down; return the fault it ended with, if any.

    Raises ProtocolError when the plant refuses, RealtimeRightsError when rights are missing that a real plant
    needs, UsageError when nothing can be recorded or the operators' address is taken.
    """
    last = context.shutdown_record.last
    previous = PreviousRun(last_ending=last.text if last is not None else "")
    if last is not None:
        context.say(f"last ending: {last.text}")
    old: Installation | None = None
    while True:
        generation = Generation(installation, context, previous)
        try:
            generation.run()
        except MastdError as error:
            if old is None or generation.begun:
                raise
            previous = _keep_old_settings(previous, str(error), context)
            installation, old = old, None
            continue
        if not generation.reload or context.stop.requested:
            return generation.fault
        context.say("settings: reloaded")
        context.manager.reloading()
        previous = replace(previous, reloads=previous.reloads + 1, kept_old="")
        old = installation
        try:
            with report_compiling(context.manager, context.say):
                context.manager.busy("reloading: reading the settings")
                installation = Installation.read(old.table_path, old.daemon_path, rigs_path=context.rigs)
        except MastdError as error:
            previous = _keep_old_settings(previous, str(error), context)
            installation, old = old, None


def _keep_old_settings(previous: PreviousRun, why: str, context: ServiceContext) -> PreviousRun:
    """Tell that the old settings are taken again, and why."""
    context.say(f"settings: reload failed, the previous settings remain in force: {why}")
    return replace(previous, kept_old=why)


class Generation:
    """One life of loop and processes around it, with one installation."""

    def __init__(self, installation: Installation, context: ServiceContext, previous: PreviousRun) -> None:
        self.begun = False
        """The loop has begun: from now on this installation is the one in force."""
        self.reload = False
        """It ended because an operator has asked for new settings."""
        self.fault: Fault | None = None
        """The first cause that was latched at the end."""
        self._up = False
        self._installation = installation
        self._context = context
        self._previous = previous
        self._blocks = Blocks.of(installation)
        self._slots = ProfileSlots()
        table = installation.table
        frame = Frame.of(table, installation.rig_channels)
        self._channels = ChannelSet(frame.channels, installation.daemon.period_ns)

    def run(self) -> None:
        """Prepare everything, wait for the plant, run the loop until it ends, and end everything in order."""
        context = self._context
        with ExitStack() as stack:
            stack.callback(self._slots.close)
            stack.callback(self._blocks.close)
            self._compile()
            connection = context.connect(self._installation)
            ring = recorder_ring(self._channels, connection.mode == "lockstep", VEHICLE_NUMBERS)
            about = description(self._installation, self._channels)
            gateway = self._open_gateway(about, ring, stack)
            rigs = context.operators.open_rigs(
                self._installation, self._blocks, stack, about, connection.mode
            )
            context.say(f"mastd serves at {gateway.address}; records go to {context.directory}")
            context.shutdown_record.helpers(gateway.process_id)
            link = None
            try:
                link = self._await_plant(connection, stack)
            finally:
                if link is None:
                    ring.release()  # later the recorder's handle does it
            if link is None:
                self._stopping()
                return
            context.manager.busy("starting the loop")
            self._loop(connection, link, gateway, rigs, ring, stack)

    def _compile(self) -> None:
        context = self._context
        context.manager.busy("loading the kernels")
        with context.stop.interrupting(), report_compiling(context.manager, context.say):
            compile_kernels(self._installation)
            compile_any_vehicle(self._installation)

    def _open_gateway(self, about: Mapping[str, Any], ring: RingProducer, stack: ExitStack) -> GatewayHandle:
        installation, operators = self._installation, self._context.operators
        return operators.open(
            installation,
            self._blocks,
            stack,
            about,
            ring.location,
            Loading(
                tuple(loader.command(self._slots, operators.directory)),
                (self._slots.descriptor,),
                tuple(
                    settings_check.command(
                        installation.table_path, installation.daemon_path, self._context.rigs
                    )
                ),
            ),
            self._previous,
        )

    def _await_plant(self, connection: Connection, stack: ExitStack) -> PlantLink | None:
        """Return the link, closed by the stack; None when the service is to end."""
        context = self._context
        context.manager.attentive()

        def attempt(waiting: Callable[[], None]) -> PlantLink:
            return host.open_link(self._installation, connection, stack, waiting, ATTEMPT_NS)

        link = await_plant(attempt, context.stop, context.manager.alive, self._show_waiting)
        if link is not None:
            stack.callback(link.close)
        return link

    def _show_waiting(self, text: str) -> None:
        """Show what is waited for; a daemon that waits for its plant is up."""
        context, status = self._context, self._blocks.status
        context.say(text)
        status.set_text("waiting", text)
        status.publish()
        context.manager.status("; ".join(part for part in (text, self._note) if part))
        self._come_up()

    def _come_up(self) -> None:
        """Tell that the daemon is up, once."""
        if not self._up:
            self._up = True
            self._context.manager.ready()

    def _stopping(self) -> None:
        manager = self._context.manager
        manager.status("stopping: finishing the records")
        manager.stopping()

    @property
    def _note(self) -> str:
        """What went before, in words for the service manager."""
        previous = self._previous
        ending = f"last ending: {previous.last_ending}" if previous.last_ending else ""
        kept = f"reload failed, the previous settings remain in force: {previous.kept_old}"
        return "; ".join(part for part in (kept if previous.kept_old else "", ending) if part)

    def _loop(
        self,
        connection: Connection,
        link: PlantLink,
        gateway: GatewayHandle,
        rigs: RigGatewayHandle | None,
        ring: RingProducer,
        stack: ExitStack,
    ) -> None:
        installation, context, blocks = self._installation, self._context, self._blocks
        blocks.status.set_text("waiting", "")
        host.show_plant(blocks, link)
        cycle = installation.bare_cycle(self._slots)
        profiles = context.operators.directory
        head = provenance.of_daemon(installation, connection, link.hello)
        if self._previous.last_ending:
            head["last_ending"] = self._previous.last_ending
        loader.daemon_path(profiles).write_text(json.dumps(head), encoding="utf-8")
        recorder = RecorderHandle.start_service(
            context.directory, head, self._channels, log=destination(os.environ), ring=ring
        )
        stack.callback(recorder.close)
        context.shutdown_record.helpers(gateway.process_id, recorder.process_id)
        rights = host.take_rights(installation, connection, link, cycle, stack)
        journal = ServiceJournal(recorder, cycle, context.directory.resolve(), profiles, rights)
        journal.event(rights_event(rights))
        if self._previous.last_ending:
            journal.event({"event": "last_ending", "text": self._previous.last_ending})
        host.connect_rigs(cycle, blocks, connection)
        script = ServiceScript(cycle.supervisor, context.stop, blocks.status, gateway)
        always = DEGRADED if rights.degraded else ""
        status_reporter = StatusReporter(context.manager, cycle, context.stop, self._note, always)
        context.manager.attentive()
        self._come_up()
        self.begun = True
        host.loop(
            installation,
            connection,
            cycle,
            link,
            script,
            Processes(blocks, recorder, gateway, rigs),
            rights,
            ServiceHooks(journal, status_reporter),
        )
        # From here on nothing feeds the watchdog, and the processes around may take their time to end.
        context.manager.busy("the table is down; closing the files", ENDING_S)
        self.reload, self.fault = script.reload, cycle.supervisor.latch.first
        if not self.reload:
            self._stopping()
