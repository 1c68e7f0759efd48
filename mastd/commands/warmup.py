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
    """Compile; say how long it took and where the cache is."""
    import time

    from mastd.kernel import cache_directory
    from mastd.loop.plan import Plan
    from mastd.loop.warmup import compile_kernels
    from mastd.settings.starter import find
    from mastd.vehicle.library import find as find_vehicle
    from mastd.vehicle.simulation import Simulation

    begun = time.monotonic()
    compile_kernels(
        Plan.load(find("table", "table"), find("profile", "first_motion"), find("daemon", "simulated"))
    )
    vehicle = Simulation(find_vehicle("benchmark_sedan"))
    vehicle.start(0.0)
    vehicle.step(vehicle.system.inputs.row())
    if sys.stderr.isatty():
        print(f"kernels ready in {time.monotonic() - begun:.1f} s ({cache_directory()})", file=sys.stderr)
    return 0
