"""``mastd inspect FILE…``: what a file of series, a road or a tyre holds, in figures and as a picture."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mastd import units
from mastd.commands.quantities import positive
from mastd.errors import FormatError, MastdError, UsageError

if TYPE_CHECKING:
    from mastd.commands import Subparsers
    from mastd.commands.inspect.report import Inspected

_ABOUT = """
Reads records, drive files, measurement files, roads and tyres, tells their format by their content, and
shows what they hold: series, channels with units, statistics, the file's own words, and what is odd about
it. A step or a unit that the file does not state is never guessed: give it with --step or --unit.
"""


def add_parsers(subparsers: Subparsers) -> None:
    """Add the parser of ``inspect``."""
    parser = subparsers.add_parser(
        "inspect",
        help="show the contents of a file of records, measurements, roads or tyres",
        description=_ABOUT,
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a file, or a run's directory")
    parser.add_argument(
        "--channels",
        metavar="NAME,…",
        help="only these channels, by name, by patterns like pose.*, or by number from 1",
    )
    parser.add_argument("--unit", help="unit of the channels, such as g, where the file states none")
    parser.add_argument("--step", help="time from value to value, such as 5ms, where the file states none")
    parser.add_argument("--all", action="store_true", help="show all channels and all of the file's notes")
    parser.add_argument(
        "--plot",
        type=Path,
        metavar="FILE.svg|png|pdf",
        help="draw up to 12 channels over time and their power spectral densities; a road's heights",
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON document, a list for several files"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Show every file named; return 2 if one of them cannot be read, after all others."""
    if arguments.plot is not None:
        from mastd.commands.inspect.picture import check_picture

        if len(arguments.files) > 1:
            raise UsageError("--plot takes one FILE")
        check_picture(arguments.plot)
    step = None if arguments.step is None else positive("--step", arguments.step, units.TIME)
    documents: list[object] = []
    unread = 0
    for index, path in enumerate(arguments.files):
        try:
            text, document = _shown(path, arguments, step)
        except MastdError as error:
            unread += 1
            print(error, file=sys.stderr)
            documents.append({"file": str(path), "problems": str(error).splitlines()})
            continue
        documents.append(document)
        if not arguments.json:
            print(("\n" if index else "") + text)
    if arguments.json:
        print(json.dumps(documents[0] if len(documents) == 1 else documents, allow_nan=False))
    return FormatError.exit_code if unread else 0


def _shown(path: Path, arguments: argparse.Namespace, step: float | None) -> tuple[str, object]:
    """Return what is said of a file, for people and for programs; draw it if that is asked for."""
    from mastd.commands.inspect import report

    if path.suffix.lower() == ".tir":
        return _tyre(path, arguments)
    inspected = report.inspect(_file_of(path), _names(arguments.channels), arguments.unit, step)
    if arguments.plot is not None:
        from mastd.commands.inspect.picture import write_picture

        inspected = _noted(inspected, write_picture(inspected, arguments.plot))
    return report.page(inspected, everything=arguments.all), report.document(inspected)


def _noted(inspected: Inspected, notes: list[str]) -> Inspected:
    return replace(inspected, remarks=(*inspected.remarks, *notes))


def _file_of(path: Path) -> Path:
    """Return the file that holds the series: in a run's directory its record."""
    if not path.is_dir():
        return path
    from mastd.record.writer import RUN_FILE

    record = path / RUN_FILE
    if not record.is_file():
        raise FormatError(f"{path}: a directory without {RUN_FILE}: not a run")
    return record


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _tyre(path: Path, arguments: argparse.Namespace) -> tuple[str, object]:
    if arguments.plot is not None:
        raise UsageError(f"{path}: draw a tyre's curves with `mastd vehicle tyre FILE --plot`")
    from mastd.commands.inspect.tyre import tyre_document, tyre_page
    from mastd.formats.tyre.tir import read_tir

    properties = read_tir(path)
    return tyre_page(path, properties), tyre_document(path, properties)
