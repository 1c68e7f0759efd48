"""The command `mastd`: arguments in, one call, exit code out."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from importlib.metadata import version

from mastd.loop.realtime.rights import single_threaded_algebra
from mastd.program import CommandParser, run

COMMANDS = (
    "init",
    "table.command",
    "profiles",
    "check.command",
    "run",
    "identify.command",
    "iterate.command",
    "serve",
    "ctl.verbs",
    "console",
    "drive.command",
    "report",
    "export",
    "recover",
    "inspect.command",
    "kinematics",
    "vehicle.command",
    "reproduce",
    "bench",
    "latency",
    "warmup",
    "keys",
    "calibrate.offsets",
)
"""Modules of ``mastd.commands`` in the order in which the help lists them."""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all subcommands."""
    parser = argparse.ArgumentParser(
        prog="mastd", description="Real-time control daemon for a hydraulic multi-axis shaking table."
    )
    parser.add_argument("--version", action="version", version=f"mastd {version('mastd')}")
    subparsers = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", parser_class=CommandParser
    )
    for name in COMMANDS:
        import_module(f"mastd.commands.{name}").add_parsers(subparsers)
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run one command; return its exit code (docs/operating.md, "Exit codes")."""
    single_threaded_algebra()

    def work() -> int:
        parsed = build_parser().parse_args(arguments)
        code: int = parsed.run(parsed)
        return code

    return run(work)


if __name__ == "__main__":
    sys.exit(main())
