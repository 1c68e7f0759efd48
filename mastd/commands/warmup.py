"""`mastd warmup`: compile the kernels of cycle and vehicle into the cache; first runs then start at once."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mastd.commands import Subparsers


def add_parsers(subparsers: Subparsers) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser("warmup", help="compile the kernels into the cache")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Compile; print the duration and the cache directory."""
    import time

    from mastd.kernel import cache_directory
    from mastd.loop.process.compile_progress import report_compiling
    from mastd.loop.process.installation import Installation
    from mastd.loop.process.warmup import compile_any_vehicle, compile_kernels
    from mastd.settings.core.starter import find

    begun = time.monotonic()
    installation = Installation.read(find("table", "table"), find("daemon", "simulated"))
    with report_compiling():
        compile_kernels(installation)
        compile_any_vehicle(installation)
    if sys.stderr.isatty():
        print(
            f"kernels ready in {time.monotonic() - begun:.1f} s ({cache_directory() or 'not kept'})",
            file=sys.stderr,
        )
    return 0
