"""`mastd profiles`: which starter profiles can be played, by name."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mastd.commands import Subparsers


def add_parsers(subparsers: Subparsers) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser("profiles", help="list the starter profiles")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """List name, duration and description."""
    from mastd.motion.profile.compiler import compile_profile
    from mastd.settings.core.loader import load
    from mastd.settings.core.starter import find, names
    from mastd.settings.profile.profile import ProfileSettings
    from mastd.settings.table.table import TableSettings

    table = load(find("table", "table"), TableSettings)
    listed = []
    for name in names("profile"):
        profile = load(find("profile", name), ProfileSettings)
        made = profile.made_duration
        duration = compile_profile(profile, table).duration if made is None else made
        listed.append(
            {"name": name, "duration_s": duration, "description": profile.description or profile.name}
        )
    if arguments.json:
        print(json.dumps(listed))
    else:
        width = max(len(str(entry["name"])) for entry in listed)
        for entry in listed:
            print(f"{entry['name']:{width}} {entry['duration_s']:7.1f} s  {entry['description']}")
    return 0
