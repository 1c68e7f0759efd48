"""``mastd recover FILE``: repair a damaged record."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_parsers(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of ``recover``."""
    parser = subparsers.add_parser("recover", help="repair a damaged record")
    parser.add_argument("file", metavar="FILE", type=Path, help="the record, or its run's directory")
    parser.add_argument("--json", action="store_true", help="print the frames kept and lost as JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Recover one file and print what was kept and what was lost."""
    import dataclasses
    import json

    from mastd.record.recover import recover

    recovery = recover(arguments.file)
    if arguments.json:
        print(json.dumps(dataclasses.asdict(recovery), default=str))
        return 0
    reach = "" if recovery.last_time is None else f", up to {recovery.last_time:.3f} s"
    kept = f"{recovery.frames} frames and {recovery.events} events in {recovery.chunks} chunks{reach}"
    if recovery.original is None:
        known = f"; {recovery.damage}" if recovery.damage else ""
        print(f"{recovery.path}: nothing to repair ({kept}{known})")
    else:
        print(
            f"{recovery.path}: kept {kept}; lost {recovery.lost_bytes} bytes and at least"
            f" {recovery.missing} frames: {recovery.damage}"
        )
        print(f"the damaged file is now {recovery.original}")
    return 0
