"""Where operators join a daemon, and who else is there: one service, or runs that give way to it."""

from __future__ import annotations

import enum
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mastd.errors import UsageError
from mastd.loop.realtime.lock import held
from mastd.ring.ends import RingLocation
from mastd.safety.faults import TABLE
from mastd.safety.states import State
from mastd.wire.access.keys import keys_directory
from mastd.wire.common.address import (
    DAEMON_LOCK,
    operators_address,
    private_directory,
    rigs_address,
    runtime_directory,
)
from mastd.wire.common.vehicle_block import VEHICLE_NUMBERS
from mastd.wire.operators.config import GatewayConfig
from mastd.wire.operators.gateway import GatewayHandle
from mastd.wire.operators.terms import FaultTexts, PreviousRun
from mastd.wire.rigs.config import RigGatewayConfig, names_of, rig_configs
from mastd.wire.rigs.gateway import RigGatewayHandle

if TYPE_CHECKING:
    from mastd.loop.process.host import Blocks
    from mastd.loop.process.installation import Installation


class Kind(enum.Enum):
    """What a daemon is for; it decides who gives way."""

    SERVICE = "service"
    RUN = "run"
    SIMULATED_RUN = "simulated run"


@dataclass(frozen=True)
class Loading:
    """Commands of the processes that load a profile and check settings before a reload, () for none."""

    loader: tuple[str, ...] = ()
    descriptors: tuple[int, ...] = ()
    """File descriptors that the loader inherits."""
    checker: tuple[str, ...] = ()


@dataclass(frozen=True)
class Operators:
    """The place where operators reach this daemon, and a directory of its own for as long as it lives."""

    kind: Kind
    address: str
    directory: Path
    note: str = ""
    """What the user should know of the address, empty when it is the usual one."""

    def open(
        self,
        installation: Installation,
        blocks: Blocks,
        stack: ExitStack,
        about: Mapping[str, Any],
        ring: RingLocation | None,
        loading: Loading = Loading(),
        previous: PreviousRun = PreviousRun(),  # noqa: B008  frozen
    ) -> GatewayHandle:
        """Start the gateway; it ends with the stack.

        ``about`` is what it tells of the daemon (see ``mastd.loop.process.description``), the recorder's
        frames are its telemetry.

        Raises UsageError when the address is taken or cannot be used.
        """
        daemon = installation.daemon
        config = GatewayConfig.of(
            daemon.gateway,
            actuators=len(installation.table.links),
            states=tuple(state.name for state in State),
            faults={
                int(row.code): FaultTexts(row.code.name, row.title, row.action.name, row.clear, row.hint)
                for row in TABLE
            },
            loop_stuck_s=daemon.timeouts.loop_stuck,
            name=f"mastd {self.kind.value}",
            address=self.address,
            keys=str(keys_directory()) if daemon.gateway.address else None,
            loader=loading.loader,
            loader_descriptors=loading.descriptors,
            description=about,
            ring=ring,
            checker=loading.checker,
            previous=previous,
            rigs=tuple(names_of(rig_configs(installation.rigs))),
        )
        gateway = GatewayHandle.start(config, blocks.request, blocks.status, blocks.driver, blocks.rig_status)
        stack.callback(gateway.close)
        return gateway

    def open_rigs(
        self,
        installation: Installation,
        blocks: Blocks,
        stack: ExitStack,
        about: Mapping[str, Any],
        mode: str,
    ) -> RigGatewayHandle | None:
        """Start the rigs' gateway, which ends with the stack; None where the settings name no rigs.

        Raises UsageError when its address is taken or cannot be used.
        """
        link = blocks.rigs
        if link is None:
            return None
        daemon = installation.daemon
        columns = [(name, unit) for name, unit, _ in about["channels"]]
        network = daemon.gateway.address
        config = RigGatewayConfig(
            name=f"mastd {self.kind.value}",
            address=rigs_address(self.address),
            mode=mode,
            period_ns=daemon.period_ns,
            rigs=rig_configs(installation.rigs),
            columns=tuple(columns[: installation.frame_width - VEHICLE_NUMBERS]),
            spare=VEHICLE_NUMBERS,
            states=tuple(state.name for state in State),
            actuators=len(installation.table.links),
            network=rigs_address(network) if network else None,
            keys=str(keys_directory()) if network else None,
        )
        rigs = RigGatewayHandle.start(config, link, blocks.status, blocks.rig_status)
        stack.callback(rigs.close)
        return rigs


@contextmanager
def operators_endpoint(kind: Kind, address: str | None) -> Iterator[Operators]:
    """Hold a place for operators: ``address``, or else the usual one of this machine's user.

    A service or a run on a plant that is already there must have the usual place; a run on a simulated plant
    of its own takes another one beside such a run. Raises UsageError with the process id of who is there.
    """
    directory = private_directory()
    try:
        if address is not None:
            yield Operators(kind, address, directory)
            return
        with held(runtime_directory() / DAEMON_LOCK, f"{os.getpid()} {kind.value}") as holder:
            if not holder:
                yield Operators(kind, operators_address(), directory)
                return
            pid, _, other = holder.partition(" ")
        if kind is not Kind.SIMULATED_RUN or other != Kind.SIMULATED_RUN.value:
            raise UsageError(_taken(kind, other or "daemon", pid))
        own = f"ipc://{directory}/mastd.operators"
        note = (
            f"another run (process id {pid}) is there already: `mastd ctl VERB` reaches that one, "
            f"`mastd ctl VERB --address {own}` reaches this one"
        )
        yield Operators(kind, own, directory, note)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _taken(kind: Kind, other: str, pid: str) -> str:
    if other == Kind.SERVICE.value and kind is not Kind.SERVICE:
        return (
            f"the service with process id {pid} is running on this machine: use `mastd ctl load PROFILE`, "
            "`mastd ctl raise`, "
            "`mastd ctl arm` and `mastd ctl start`, or give this run its own address with --operators"
        )
    return f"a {other} with process id {pid} is already running; stop it, or use another --operators address"
