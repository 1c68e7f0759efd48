"""The service: a loop that waits for operators, plays what they load, and records every run.

It comes up in OFF and never moves by itself. SIGTERM and Ctrl-C stop what moves, lower the table and end it.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

from mastd.loop import host, loader, provenance
from mastd.loop.description import description
from mastd.loop.frame import frame_channels
from mastd.loop.host import Blocks, Connection
from mastd.loop.journal import ServiceJournal
from mastd.loop.operators import Operators
from mastd.loop.plan import Installation
from mastd.loop.script import StopRequest, leave_fault
from mastd.loop.slots import ProfileSlots
from mastd.loop.supervisor import Supervisor
from mastd.loop.warmup import compile_any_vehicle, compile_kernels
from mastd.record.channels import ChannelSet
from mastd.record.recorder import RecorderHandle
from mastd.safety.faults import Fault
from mastd.safety.states import State
from mastd.wire.blocks import Verb
from mastd.wire.vehicle_block import VEHICLE_NUMBERS


class ServiceScript:
    """Asks for nothing until the service is to end; then for stop and lower, until the table is down."""

    def __init__(self, supervisor: Supervisor, stop: StopRequest) -> None:
        self.finished = False
        self._supervisor = supervisor
        self._stop = stop
        self._stopped = False

    def heard(self, verb: Verb) -> None:
        """An operator may go on using the table until it is down."""

    def next(self, now_ns: int) -> Verb:
        """Return what to ask for in this cycle."""
        if not self._stop.requested:
            return Verb.NONE
        supervisor = self._supervisor
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


def serve(
    installation: Installation,
    connection: Connection,
    operators: Operators,
    directory: Path,
    stop: StopRequest,
) -> Fault | None:
    """Serve until ``stop`` is set and the table is down; return the fault it ended with, if any.

    Runs go to ``directory``. Raises ProtocolError when the plant refuses or is not there,
    RealtimeRightsError when rights are missing that a real plant needs, UsageError when nothing can be
    recorded or the operators' address is taken.
    """
    with ExitStack() as stack:
        compile_kernels(installation)
        compile_any_vehicle(installation)
        link = host.open_link(installation, connection, stack)
        slots = ProfileSlots()
        cycle = installation.bare_cycle(slots)
        blocks = Blocks.of(installation)
        profiles = operators.directory
        head = provenance.of_daemon(installation, connection, link.hello)
        loader.daemon_path(profiles).write_text(json.dumps(head), encoding="utf-8")
        channels = ChannelSet(frame_channels(cycle.frame.layout), installation.daemon.period_ns)
        lockstep = connection.mode == "lockstep"
        recorder = RecorderHandle.start_service(directory, head, channels, lockstep, VEHICLE_NUMBERS)
        stack.callback(recorder.close)
        load = loader.command(installation.table_path, slots, profiles)
        about = description(installation, link.hello, channels)
        gateway = operators.open(installation, blocks, stack, about, recorder, load, (slots.descriptor,))
        rights = host.take_rights(installation, link, cycle, stack)
        journal = ServiceJournal(recorder, cycle, directory.resolve(), profiles, rights)
        script = ServiceScript(cycle.supervisor, stop)
        host.loop(installation, connection, cycle, link, script, blocks, recorder, gateway, rights, journal)
        return cycle.supervisor.latch.first
