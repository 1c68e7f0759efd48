"""`mastd serve`: the service. It comes up in OFF and does what operators ask by `mastd ctl`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mastd.commands.plant_options import add_plant_options, connection, daemon_settings, stop_on_signals

if TYPE_CHECKING:
    from mastd.commands import Subparsers
    from mastd.wire.provider import RigidPayload


def add_parsers(subparsers: Subparsers) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser("serve", help="run as a service for `mastd ctl`")
    add_plant_options(parser)
    parser.add_argument(
        "--payload",
        metavar="PROFILE",
        help="the simulated plant carries the payload of this profile (default: none)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serve until SIGTERM or Ctrl-C; return 0, or 3 when a fault is latched at the end."""
    from mastd.loop.lock import plant_lock
    from mastd.loop.operators import Kind, operators_place
    from mastd.loop.plan import Installation
    from mastd.loop.service import serve
    from mastd.settings.starter import find

    with stop_on_signals() as stop:
        installation = Installation.read(find("table", arguments.table), daemon_settings(arguments))
        link = connection(arguments, installation, _payload(arguments.payload))
        with plant_lock(link.address), operators_place(Kind.SERVICE, arguments.operators) as operators:
            print(f"mastd serves at {operators.address}; records go to {arguments.out}", file=sys.stderr)
            fault = serve(installation, link, operators, Path(arguments.out), stop)
    if fault is not None:
        print(f"ended with a fault: {fault.cause}", file=sys.stderr)
    return 0 if fault is None else 3


def _payload(profile: str | None) -> RigidPayload | None:
    from mastd.settings.loader import load
    from mastd.settings.profile import ProfileSettings
    from mastd.settings.starter import find
    from mastd.wire.provider import rigid_payload

    return rigid_payload(load(find("profile", profile), ProfileSettings)) if profile else None
