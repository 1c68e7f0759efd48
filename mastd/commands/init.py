"""`mastd init DIR`: copy the starter files, to make them one's own."""

from __future__ import annotations

import argparse
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from mastd.errors import UsageError
from mastd.settings.core.starter import DEFAULT_TABLE

if TYPE_CHECKING:
    from mastd.commands import Subparsers


def add_parsers(subparsers: Subparsers) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser("init", help="copy the starter files into a new directory")
    parser.add_argument("directory", type=Path, metavar="DIR", help="directory to create")
    parser.add_argument(
        "--table",
        metavar="NAME",
        default=DEFAULT_TABLE,
        help=f"table to start from (default: {DEFAULT_TABLE}; an unknown name lists them)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Copy the starter files; never overwrite anything."""
    from mastd.settings.core.starter import table_files

    sources = table_files(arguments.table)
    target: Path = arguments.directory
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target}: exists and is not empty: give a new directory")
    existed = target.exists()
    try:
        for source, left_out in sources:
            shutil.copytree(source, target, ignore=shutil.ignore_patterns(*left_out), dirs_exist_ok=True)
    except OSError as error:
        for half in target.iterdir() if existed else (target,):
            shutil.rmtree(half) if half.is_dir() else half.unlink(missing_ok=True)
        reason = error.strerror
        if isinstance(error, shutil.Error):  # a list of what each file met, as text
            reason = re.sub(r"\[Errno \d+\] ([^:]*).*", r"\1", error.args[0][0][2])
        raise UsageError(f"{target}: cannot be written, nothing is left of it: {reason}") from error
    made = (f"{path.name}/" if path.is_dir() else path.name for path in sorted(target.iterdir()))
    print(f"{target}: created {', '.join(made)}; try")
    print(f"  mastd check {target}/profiles/first_motion.yaml --table {target}/table.yaml")
    return 0
