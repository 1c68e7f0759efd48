"""`mastd serve`: the service. It comes up in OFF and does what operators ask by `mastd ctl`."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mastd.commands.plant_options import (
    add_plant_options,
    connection,
    daemon_settings,
    rigs_settings,
    stop_on_signals,
)
from mastd.errors import MastdError

if TYPE_CHECKING:
    from mastd.commands import Subparsers
    from mastd.loop.process.host import Connection
    from mastd.loop.process.installation import Installation
    from mastd.loop.process.script import StopRequest
    from mastd.loop.realtime.systemd_notify import ServiceManager
    from mastd.safety.faults import Fault
    from mastd.wire.plant.provider import RigidPayload


def add_parsers(subparsers: Subparsers) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser("serve", help="run as a service for `mastd ctl`")
    add_plant_options(parser)
    parser.add_argument(
        "--payload",
        metavar="PROFILE",
        help="payload of the simulated plant: that of this profile (default: none)",
    )
    # For ExecStopPost= of the unit alone: notes how the service has ended.
    parser.add_argument("--ended", action="store_true", help=argparse.SUPPRESS)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serve until SIGTERM or Ctrl-C; return 0, or 3 when a fault is latched at the end.

    SIGHUP reloads the settings, as `mastd ctl reload` does.
    """
    from mastd.loop.realtime.systemd_notify import ServiceManager

    manager = ServiceManager.from_environment()
    if arguments.ended:
        return _ended(arguments)
    with stop_on_signals(reload=True) as stop:
        try:
            fault = _serve(arguments, stop, manager)
        except KeyboardInterrupt:  # before anything was there that has to be ended in order
            return 0
        except MastdError as error:
            manager.status(f"refused: {error}")
            raise
        finally:
            manager.close()
    if fault is not None:
        print(f"ended with a fault: {fault.cause}", file=sys.stderr)
    return 0 if fault is None else 3


def _serve(arguments: argparse.Namespace, stop: StopRequest, manager: ServiceManager) -> Fault | None:
    with stop.interrupting():
        manager.busy("reading the settings")
        from mastd.loop.process.compile_progress import report_compiling
        from mastd.loop.process.endpoints import Kind, operators_endpoint
        from mastd.loop.process.installation import Installation
        from mastd.loop.realtime.lock import plant_lock
        from mastd.loop.service.service import ServiceContext, serve
        from mastd.loop.service.shutdown_record import ShutdownRecord, state_directory
        from mastd.settings.core.starter import find
        from mastd.wire.access.authentication import check_network
        from mastd.wire.access.keys import KeyRing, keys_directory

        payload = _payload(arguments.payload)
        with report_compiling(manager, _say):
            rigs = rigs_settings(arguments)
            installation = Installation.read(
                find("table", arguments.table), daemon_settings(arguments), rigs_path=rigs
            )
        network = installation.daemon.gateway.address
        if network is not None:  # before kernels are compiled, which may take minutes
            check_network(network, KeyRing(keys_directory()))

    def connect(installation: Installation) -> Connection:
        return connection(arguments, installation, payload)

    address = connect(installation).address
    with plant_lock(address), operators_endpoint(Kind.SERVICE, arguments.operators) as operators:
        out = Path(arguments.out)
        shutdown_record = ShutdownRecord(state_directory(out))
        context = ServiceContext(connect, operators, out, stop, manager, shutdown_record, _say, rigs)
        try:
            fault = serve(installation, context)
        except (MastdError, KeyboardInterrupt):  # told here and now
            shutdown_record.end("")
            raise
        shutdown_record.end(fault.cause if fault is not None else "")
        return fault


def _ended(arguments: argparse.Namespace) -> int:
    """Note how the service has ended."""
    from mastd.loop.service.shutdown_record import note_shutdown, state_directory

    shutdown = note_shutdown(state_directory(Path(arguments.out)), os.environ)
    if not shutdown.good:
        _say(f"ended: {shutdown.text}")
    return 0


def _say(text: str) -> None:
    with contextlib.suppress(OSError):  # who listened is gone; the table is not
        print(text, file=sys.stderr, flush=True)


def _payload(profile: str | None) -> RigidPayload | None:
    from mastd.settings.core.loader import load
    from mastd.settings.core.starter import find
    from mastd.settings.profile.profile import ProfileSettings
    from mastd.wire.plant.provider import rigid_payload

    return rigid_payload(load(find("profile", profile), ProfileSettings)) if profile else None
