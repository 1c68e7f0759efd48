"""`mastd keys`: who may connect from other machines; make, list and revoke keys."""

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
    "`server` makes the daemon's own keys, `new NAME` those of somebody, `revoke NAME` takes them back; "
    "a running daemon heeds it at once."
)
_ROLE = (
    "what the key allows: an observer watches and stops, a rig gives signals as well, an operator commands, "
    "an engineer also has the settings taken anew (operator)"
)


def add_parsers(subparsers: Subparsers) -> None:
    """Add the subcommand."""
    from mastd.wire.access.roles import ROLES

    parser = subparsers.add_parser(
        "keys", help="who may connect from other machines", description=_DESCRIPTION
    )
    parser.add_argument("action", nargs="?", choices=("list", "server", "new", "revoke"), default="list")
    parser.add_argument("name", nargs="?", metavar="NAME", help="who the key is for")
    parser.add_argument("--role", choices=ROLES, help=_ROLE)
    parser.add_argument("--dir", type=Path, help="directory of the keys (default: the user's configuration)")
    parser.add_argument("--json", action="store_true", help="print one JSON document, nothing else")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Carry out one action; return 0."""
    from mastd.errors import UsageError
    from mastd.wire.access.keys import KeyRing, keys_directory

    ring = KeyRing(arguments.dir or keys_directory())
    action, name = arguments.action, arguments.name
    if (action in ("new", "revoke")) != (name is not None):
        raise UsageError(f"keys {action}: {'a NAME is due' if name is None else 'takes no NAME'}")
    if arguments.role and action != "new":
        raise UsageError("--role goes with `mastd keys new NAME`")
    lines: list[str]
    document: dict[str, object]
    if action == "server":
        public = ring.make_server()
        document = {"server_key": str(public)}
        lines = [f"{public}: give this file to those who connect"]
    elif action == "new":
        role: Role = arguments.role or "operator"
        secret = ring.new(name, role)
        document = {"name": name, "role": role, "secret_key": str(secret)}
        what, port = ("hil-sim rig PROGRAM", "PORT+3") if role == "rig" else ("mastd ctl status", "PORT")
        lines = [
            f"{secret}: hand it to {name}, by a safe way, then delete it here",
            f"they connect by: {what} --address tcp://HOST:{port} --key {secret.name} "
            "--server-key server.key",
        ]
    elif action == "revoke":
        ring.revoke(name)
        document = {"revoked": name}
        lines = [f"{name} may not connect any more"]
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
        lines.append("  no server key: nobody connects from other machines; make one by `mastd keys server`")
    lines += [f"  {entry.name:24} {entry.role:10} {_time(entry.made)}" for entry in entries]
    if server and not entries:
        lines.append("  nobody may connect yet; `mastd keys new NAME`")
    return document, lines


def _time(seconds: float) -> str:
    """Return a time (s since 1970) as local time with its offset."""
    return time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(seconds))
