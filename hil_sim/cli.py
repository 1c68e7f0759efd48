"""The command `hil-sim`: arguments in, one call, exit code out."""

from __future__ import annotations

import argparse
from importlib import import_module
from importlib.metadata import version

from mastd.program import CommandParser, run

COMMANDS = ("plant", "rig", "soak")
"""Modules of ``hil_sim.commands`` in the order in which the help lists them."""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all subcommands."""
    parser = argparse.ArgumentParser(
        prog="hil-sim", description="The simulated world of the shaking table: plant, faults and rigs."
    )
    parser.add_argument("--version", action="version", version=f"hil-sim {version('mastd')}")
    subparsers = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", parser_class=CommandParser
    )
    for name in COMMANDS:
        import_module(f"hil_sim.commands.{name}").add_parsers(subparsers)
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run one command; return 0 done, 1 an invariant violated, 2 usage, 3 a rig's failure, 70 defect."""

    def work() -> int:
        parsed = build_parser().parse_args(arguments)
        code: int = parsed.run(parsed)
        return code

    return run(work)
