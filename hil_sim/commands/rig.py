"""``hil-sim rig``: programs that join a running table as a rig."""

from __future__ import annotations

import argparse
from importlib import import_module

RIGS = ("driver", "damper", "quarter_car", "vehicle", "pose", "replay", "fmu.rig")
"""Modules of ``hil_sim.rigs`` in the order in which the help lists them: each has ``add_parser(subparsers)``
and ``run(arguments)``, which returns the exit code."""


def add_parsers(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of ``rig`` with one of its own for each program."""
    parser = subparsers.add_parser("rig", help="join a running table as a rig", description=__doc__)
    rigs = parser.add_subparsers(dest="rig", required=True, metavar="RIG")
    for name in RIGS:
        import_module(f"hil_sim.rigs.{name}").add_parser(rigs)
