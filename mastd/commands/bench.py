"""``mastd bench [NAME…]``: speeds on this machine, as medians, and ratios of one run."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mastd.commands import Subparsers


def add_parsers(subparsers: Subparsers) -> None:
    """Add the parser of ``bench``."""
    parser = subparsers.add_parser("bench", help="measure speeds on this machine")
    parser.add_argument("names", metavar="NAME", nargs="*", help="figure or group, such as ik.us or fk")
    parser.add_argument("--list", action="store_true", help="list the names and measure nothing")
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON document")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Measure and print; return 0."""
    from mastd.bench.registry import measure, names

    if arguments.list:
        print("\n".join(names()))
        return 0
    if sys.stderr.isatty():
        print("measuring; other load on this machine shows in the figures", file=sys.stderr)
    figures = measure(arguments.names)
    if arguments.json:
        print(json.dumps({name: figure.as_json() for name, figure in figures.items()}, allow_nan=False))
        return 0
    width = max((len(name) for name in figures), default=4)
    print(f"{'name':{width}}  {'median':>12}  {'p99':>12}  {'p99.9':>12}  unit")
    for name, figure in figures.items():
        high = ["-" if value is None else f"{value:.4g}" for value in (figure.p99, figure.p999)]
        print(f"{name:{width}}  {figure.median:>12.4g}  {high[0]:>12}  {high[1]:>12}  {figure.unit}")
    return 0
