"""`mastd keys`: manage who may connect from other machines; make, list and revoke keys."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mastd.commands import Subparsers
    from mastd.wire.access.keys import KeyRing
    from mastd.wire.access.roles import Role

_DESCRIPTION = (
    "Clients on other machines connect with keys (CURVE). Without an action, list who may connect. "
    "`server` makes the daemon's own keys, `new NAME` those of a client, `revoke NAME` revokes them; "
    "effective immediately in a running daemon."
)
_ROLE = (
    "role of the key: an observer views and stops, a rig also sends signals, an operator commands, "
    "an engineer also reloads the settings (operator)"
)


def add_parsers(subparsers: Subparsers) -> None:
    """Add the subcommand."""
    from mastd.wire.access.roles import ROLES

    parser = subparsers.add_parser(
        "keys", help="manage who may connect from other machines", description=_DESCRIPTION
    )
    parser.add_argument("action", nargs="?", choices=("list", "server", "new", "revoke"), default="list")
    parser.add_argument("name", nargs="?", metavar="NAME", help="name of the key's holder")
    parser.add_argument("--role", choices=ROLES, help=_ROLE)
    parser.add_argument("--dir", type=Path, help="directory of the keys (default: the user's configuration)")
    parser.add_argument("--json", action="store_true", help="print only one JSON document")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Carry out one action; return 0."""
    from mastd.errors import UsageError
    from mastd.wire.access.keys import KeyRing, keys_directory

    ring = KeyRing(arguments.dir or keys_directory())
    action, name = arguments.action, arguments.name
    if (action in ("new", "revoke")) != (name is not None):
        raise UsageError(f"keys {action}: {'expected a NAME' if name is None else 'takes no NAME'}")
    if arguments.role and action != "new":
        raise UsageError("--role goes with `mastd keys new NAME`")
    lines: list[str]
    document: dict[str, object]
    if action == "server":
        public = ring.make_server()
        document = {"server_key": str(public)}
        lines = [f"{public}: give this file to all clients"]
    elif action == "new":
        role: Role = arguments.role or "operator"
        secret = ring.new(name, role)
        document = {"name": name, "role": role, "secret_key": str(secret)}
        what, port = ("hil-sim rig PROGRAM", "PORT+3") if role == "rig" else ("mastd ctl status", "PORT")
        lines = [
            f"{secret}: send it to {name} over a secure channel, then delete it here",
            f"to connect: {what} --address tcp://HOST:{port} --key {secret.name} --server-key server.key",
        ]
    elif action == "revoke":
        ring.revoke(name)
        document = {"revoked": name}
        lines = [f"{name} can no longer connect"]
    else:
        document, lines = _listing(ring)
    print(json.dumps(document) if arguments.json else "\n".join(lines))
    return 0


def _listing(ring: KeyRing) -> tuple[dict[str, object], list[str]]:
    entries = ring.entries()
    server = ring.server_key.exists()
    document: dict[str, object] = {
        "directory": str(ring.directory),
        "server": server,
        "keys": [{"name": entry.name, "role": entry.role, "made": _time(entry.made)} for entry in entries],
    }
    lines = [f"keys in {ring.directory}"]
    if not server:
        lines.append(
            "  no server key: no connections from other machines; create one with `mastd keys server`"
        )
    lines += [f"  {entry.name:24} {entry.role:10} {_time(entry.made)}" for entry in entries]
    if server and not entries:
        lines.append("  no client keys; create one with `mastd keys new NAME`")
    return document, lines


def _time(seconds: float) -> str:
    """Return a time (s since 1970) as local time with its offset."""
    return time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(seconds))
