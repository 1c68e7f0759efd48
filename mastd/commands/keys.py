"""`mastd keys`: who may connect from other machines; make, add and remove keys."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mastd.commands import Subparsers
    from mastd.wire.keys import KeyRing

_DESCRIPTION = (
    "Operators on other machines connect with keys (CURVE). Without an action, list who may connect. "
    "`server` makes the daemon's own keys, `add NAME` those of somebody, `remove NAME` forgets them."
)


def add_parsers(subparsers: Subparsers) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "keys", help="who may connect from other machines", description=_DESCRIPTION
    )
    parser.add_argument("action", nargs="?", choices=("list", "server", "add", "remove"), default="list")
    parser.add_argument("name", nargs="?", metavar="NAME", help="who the key is for")
    parser.add_argument("--observer", action="store_true", help="may only watch, and stop")
    parser.add_argument("--dir", type=Path, help="directory of the keys (default: the user's configuration)")
    parser.add_argument("--json", action="store_true", help="print one JSON document, nothing else")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Carry out one action; return 0."""
    from mastd.errors import UsageError
    from mastd.wire.keys import KeyRing, keys_directory

    ring = KeyRing(arguments.dir or keys_directory())
    action, name = arguments.action, arguments.name
    if (action in ("add", "remove")) != (name is not None):
        raise UsageError(f"keys {action}: {'a NAME is due' if name is None else 'takes no NAME'}")
    if arguments.observer and action != "add":
        raise UsageError("--observer goes with `mastd keys add NAME`")
    lines: list[str]
    document: dict[str, object]
    if action == "server":
        public = ring.make_server()
        document = {"server_key": str(public)}
        lines = [f"{public}: give this file to those who connect"]
    elif action == "add":
        secret = ring.add(name, arguments.observer)
        document = {"name": name, "observer": arguments.observer, "secret_key": str(secret)}
        lines = [
            f"{secret}: hand it to {name}, by a safe way, then delete it here",
            f"they connect by: mastd ctl status --address tcp://HOST:PORT --key {secret.name} "
            "--server-key server.key",
        ]
    elif action == "remove":
        ring.remove(name)
        document = {"removed": name}
        lines = [f"{name} may not connect any more"]
    else:
        document, lines = _listing(ring)
    print(json.dumps(document) if arguments.json else "\n".join(lines))
    return 0


def _listing(ring: KeyRing) -> tuple[dict[str, object], list[str]]:
    guests = sorted(ring.guests().values(), key=lambda guest: guest.name)
    server = ring.server_key.exists()
    document: dict[str, object] = {
        "directory": str(ring.directory),
        "server": server,
        "operators": [guest.name for guest in guests if not guest.observer],
        "observers": [guest.name for guest in guests if guest.observer],
    }
    lines = [f"keys in {ring.directory}"]
    if not server:
        lines.append("  no server key: nobody connects from other machines; make one by `mastd keys server`")
    lines += [f"  {guest.name:24} {'observer' if guest.observer else 'operator'}" for guest in guests]
    if server and not guests:
        lines.append("  nobody may connect yet; `mastd keys add NAME`")
    return document, lines
