"""The loop with the processes around it, put together in the one order that works, for `run` and `serve`.

All processes are started before memory is locked and rights are taken: forking afterwards would copy locked
pages and hand the rights on.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass

from mastd.errors import RealtimeRightsError
from mastd.loop.cycle.cycle import Cycle
from mastd.loop.payload.driver_port import DriverPort
from mastd.loop.process.child_watch import ChildWatch
from mastd.loop.process.installation import Installation
from mastd.loop.process.live import LiveLine
from mastd.loop.process.operator_requests import RequestPort
from mastd.loop.process.runner import Journal, Ports, Runner, Script
from mastd.loop.process.status_publisher import StatusPublisher
from mastd.loop.process.status_text import StatusReporter
from mastd.loop.realtime.clock import PeriodicClock
from mastd.loop.realtime.rights import NONE_OF_THEM, Rights, acquire, one_processor, relax
from mastd.record.recorder import RecorderHandle
from mastd.settings.daemon.daemon import RealtimeSettings
from mastd.wire.common.blocks import DRIVER, REAL, REQUEST, SIMULATED, NewestValueBlock, status_layout
from mastd.wire.common.rig_block import RigLink
from mastd.wire.common.rig_status import RIG_STATUS
from mastd.wire.operators.gateway import GatewayHandle
from mastd.wire.plant.direct_link import DirectLink
from mastd.wire.plant.hello import Mode
from mastd.wire.plant.process import PlantProcess
from mastd.wire.plant.provider import PlantRequest, find_provider
from mastd.wire.plant.socket_link import PlantLink, connect
from mastd.wire.rigs.gateway import RigGatewayHandle

PATIENCE_NS = 5_000_000_000


@dataclass(frozen=True)
class Connection:
    """How the plant is reached: a simulated one of our own (``address`` None) or one that is there."""

    address: str | None
    link: str
    mode: Mode
    request: PlantRequest
    allow_remote: bool = False

    @property
    def makes_time(self) -> bool:
        """Whether time is that of a simulation alone: a plant of one's own, in lockstep."""
        return self.mode == "lockstep" and self.address is None


@dataclass(frozen=True)
class Blocks:
    """The newest-value blocks between the loop and the processes around it."""

    request: NewestValueBlock
    status: NewestValueBlock
    driver: NewestValueBlock
    rigs: RigLink | None
    """Shared with the rigs' gateway; None where the settings name no rigs."""
    rig_status: NewestValueBlock

    @classmethod
    def of(cls, installation: Installation) -> Blocks:
        """Make them."""
        status = NewestValueBlock(status_layout(len(installation.table.links)))
        rigs = RigLink.of(installation.frame_width) if installation.rigs.rigs else None
        return cls(
            NewestValueBlock(REQUEST), status, NewestValueBlock(DRIVER), rigs, NewestValueBlock(RIG_STATUS)
        )

    def close(self) -> None:
        """Release their memory; the loop and the processes around it have ended."""
        for block in (self.request, self.status, self.driver, self.rig_status):
            block.close()
        if self.rigs is not None:
            self.rigs.close()


@dataclass(frozen=True)
class Processes:
    """The processes around the loop, None for one that does not run, and the blocks shared with them."""

    blocks: Blocks
    recorder: RecorderHandle | None = None
    gateway: GatewayHandle | None = None
    rigs: RigGatewayHandle | None = None


@dataclass(frozen=True)
class ServiceHooks:
    """What makes a loop a service's: who takes its events in the recorder's place and who reports its state.

    With a ``status_reporter`` a plant that was restarted is asked for a new session.
    """

    journal: Journal | None = None
    status_reporter: StatusReporter | None = None


def open_link(
    installation: Installation,
    connection: Connection,
    stack: ExitStack,
    waiting: Callable[[], None] | None = None,
    timeout_ns: int = PATIENCE_NS,
) -> PlantLink:
    """Open the plant link; a simulated plant is started and ended by the stack.

    A plant that is there already has ``timeout_ns`` to answer; ``waiting`` is called until it does
    (``mastd.wire.plant.socket_link.connect``).
    """
    terms = installation.terms(connection.mode)
    if connection.address is not None:
        remote = connection.allow_remote
        return connect(connection.address, terms, timeout_ns, allow_remote=remote, waiting=waiting)
    provider = find_provider()
    if connection.link == "direct":
        return DirectLink(provider.open(connection.request), terms)
    with processor_affinity(connection):
        plant = stack.enter_context(PlantProcess(provider, connection.request))
        return plant.connect(terms, waiting=waiting)


def processor_affinity(connection: Connection) -> AbstractContextManager[None]:
    """Return the context in which a plant process of our own is started, and in which the loop runs.

    In lockstep over a socket both share one processor: they take turns, and never run at once.
    """
    return one_processor() if connection.makes_time and connection.link == "socket" else nullcontext()


def show_plant(blocks: Blocks, link: PlantLink) -> None:
    """Show what is at the other end of the link."""
    kind = SIMULATED if link.hello.simulated else REAL
    blocks.status.set_text("plant", f"{kind}|{link.hello.name}")


def live_line(blocks: Blocks, installation: Installation, stack: ExitStack) -> None:
    """Show the live line until the stack is left."""
    free = installation.geometry.free_axes
    axes = [axis for axis in (2, 3) if axis in free] or free[:2]
    stack.enter_context(LiveLine(blocks.status, installation.geometry.actuators, axes))


def take_rights(
    installation: Installation, connection: Connection, link: PlantLink, cycle: Cycle, stack: ExitStack
) -> Rights:
    """Take the real-time rights until the stack is left; raise RealtimeRightsError where they are needed.

    What the plant is decides whether it takes the forces of a simulated vehicle.
    """
    settings = wanted_rights(installation, connection)
    cycle.orders.meet_plant(link.hello.simulated)
    processors = os.sched_getaffinity(0)
    rights = acquire(settings)
    stack.callback(os.sched_setaffinity, 0, processors)
    stack.callback(relax)
    cycle.supervisor.rights = link.hello.simulated or settings.allow_without_rights or not rights.degraded
    if not cycle.supervisor.rights:
        raise RealtimeRightsError(
            f"{installation.daemon_path}: real-time rights are missing: {rights.missing}. Grant them, or set "
            "realtime.allow_without_rights"
        )
    return rights


def wanted_rights(installation: Installation, connection: Connection) -> RealtimeSettings:
    """Return the rights that the loop asks for.

    A simulation that makes its own time asks for none: it never sleeps, and would stand in the way of a loop
    that must keep time.
    """
    settings = installation.daemon.realtime
    return settings.model_copy(update=NONE_OF_THEM) if connection.makes_time else settings


def connect_rigs(cycle: Cycle, blocks: Blocks, connection: Connection) -> None:
    """Let the cycle see the rigs, if the settings name any."""
    if blocks.rigs is not None:
        cycle.rigs.connect(blocks.rigs, lockstep=connection.mode == "lockstep")


def loop(
    installation: Installation,
    connection: Connection,
    cycle: Cycle,
    link: PlantLink,
    script: Script,
    processes: Processes,
    rights: Rights,
    hooks: ServiceHooks = ServiceHooks(),
) -> None:
    """Run cycles until the script has finished, then close the link to the plant.

    Rigs take part if ``connect_rigs`` was called.
    """
    daemon, blocks, recorder = installation.daemon, processes.blocks, processes.recorder
    reporter = hooks.status_reporter
    requests = RequestPort(blocks.request)
    cycle.vehicles.driver = DriverPort(blocks.driver)
    publisher = StatusPublisher(blocks.status, cycle, requests, recorder, rights.degraded)
    lost_ns = round(daemon.timeouts.gateway_lost * 1e9)
    plant = link if reporter is not None else None
    child_watch = ChildWatch(
        cycle.supervisor, requests, recorder, processes.gateway, lost_ns, reporter, plant, processes.rigs
    )
    ports = Ports(requests, publisher, child_watch)
    runner = Runner(cycle, link, script, daemon.period_ns, recorder, ports, hooks.journal)
    with processor_affinity(connection):
        if connection.mode == "lockstep":
            runner.lockstep()
        else:
            runner.free_run(PeriodicClock(daemon.period_ns, round(daemon.realtime.spin * 1e9)))
    publisher.publish(cycle.sensing.last_ns, ended=True)
    link.close()
