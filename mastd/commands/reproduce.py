"""``mastd reproduce [ID…]``: the source documents' numbers beside ours, all computed afresh."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mastd.commands import Subparsers
    from mastd.reproduce.item import Item


def add_parsers(subparsers: Subparsers) -> None:
    """Add the parser of ``reproduce``."""
    parser = subparsers.add_parser(
        "reproduce", help="recompute the tables of the source documents and compare"
    )
    parser.add_argument(
        "identifiers",
        metavar="ID",
        nargs="*",
        help="document or item, for instance 004 or 004.table3.observer (default: all)",
    )
    parser.add_argument(
        "--table", metavar="FILE", default="table", help="table settings (default: the starter table)"
    )
    parser.add_argument("--json", action="store_true", help="print the items as one JSON document")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Compute and print the chosen items; return 0 if all are within, 1 if not."""
    from mastd.reproduce.registry import select
    from mastd.settings.core.starter import find

    items = select(arguments.identifiers, find("table", arguments.table))
    if arguments.json:
        print(json.dumps([item.as_json() for item in items], allow_nan=False))
    else:
        _print_table(items)
    return 0 if all(item.within for item in items) else 1


def _print_table(items: list[Item]) -> None:
    width = max(len(item.identifier) for item in items)
    print(f"{'id':{width}}  {'paper':>10}  {'ours':>12}  {'unit':5}  within  what")
    for item in items:
        paper = "-" if item.paper is None else f"{item.paper:g}"
        ours = "-" if item.ours is None else f"{item.ours:.6g}"
        within = "yes" if item.within else "NO"
        print(f"{item.identifier:{width}}  {paper:>10}  {ours:>12}  {item.unit:5}  {within:6}  {item.what}")
    missed = sum(not item.within for item in items)
    documents = sorted({item.document for item in items})
    named = f"document {documents[0]}" if len(documents) == 1 else f"documents {', '.join(documents)}"
    print(f"{len(items) - missed} of {len(items)} within the tolerances of {named}")
