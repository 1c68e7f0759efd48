"""``mastd bench [NAME…]``: speeds on this machine, as medians, and ratios of one run."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mastd.errors import UsageError

if TYPE_CHECKING:
    from mastd.commands import Subparsers


def add_parsers(subparsers: Subparsers) -> None:
    """Add the parser of ``bench``."""
    parser = subparsers.add_parser("bench", help="measure execution times on this machine")
    parser.add_argument("names", metavar="NAME", nargs="*", help="figure or group, such as ik.us or fk")
    parser.add_argument("--list", action="store_true", help="list the names only")
    parser.add_argument(
        "--seeds", default="10", metavar="N|A-B", help="long benches: seeds 1 to N, or A to B (default: 10)"
    )
    parser.add_argument(
        "--out",
        default="runs/bench",
        metavar="DIR",
        help="long benches: directory of results, from which a second call continues (default: runs/bench)",
    )
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON document")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Measure and print; return 0."""
    from mastd.bench.registry import Scope, long_names, measure, names

    if arguments.list:
        long = [f"{name}  (slow, runs only when named)" for name in long_names()]
        print("\n".join([*names(), *long]))
        return 0
    scope = Scope(seeds_of(arguments.seeds), Path(arguments.out), _report)
    if sys.stderr.isatty():
        print("measuring; other load on this machine affects the figures", file=sys.stderr)
    figures = measure(arguments.names, scope)
    if arguments.json:
        print(json.dumps({name: figure.as_json() for name, figure in figures.items()}, allow_nan=False))
        return 0
    width = max((len(name) for name in figures), default=4)
    print(f"{'name':{width}}  {'median':>12}  {'p99':>12}  {'p99.9':>12}  unit")
    for name, figure in figures.items():
        high = ["-" if value is None else f"{value:.4g}" for value in (figure.p99, figure.p999)]
        print(f"{name:{width}}  {figure.median:>12.4g}  {high[0]:>12}  {high[1]:>12}  {figure.unit}")
    return 0


def _report(line: str) -> None:
    if sys.stderr.isatty():
        print(line, file=sys.stderr)


def seeds_of(text: str) -> tuple[int, ...]:
    """Return the seeds of ``N`` (1 to N) or ``A-B``; raise UsageError for anything else."""
    first, _, last = text.rpartition("-")
    if (first or "1").isdecimal() and last.isdecimal() and 1 <= int(first or "1") <= int(last) <= 10_000:
        return tuple(range(int(first or "1"), int(last) + 1))
    raise UsageError(f"--seeds {text}: expected a number of seeds or a range, for instance 3 or 4-6")
