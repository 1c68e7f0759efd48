"""``mastd vehicle``: the car alone, at rest, driven, its modes, its suspension, its figures, its loop with
the table."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from mastd.commands.vehicle.coupling import add_coupling_parser
from mastd.commands.vehicle.fmu import add_fmu_parser
from mastd.commands.vehicle.manoeuvre import add_drive_parsers
from mastd.commands.vehicle.options import add_manoeuvre, add_quantities, check_locations, quantities
from mastd.commands.vehicle.tyre import add_tyre_parser
from mastd.errors import UsageError

if TYPE_CHECKING:
    from mastd.commands import Subparsers


def add_parsers(subparsers: Subparsers) -> None:
    """Add the parser of ``vehicle`` with one of its own for each manoeuvre."""
    vehicle = subparsers.add_parser("vehicle", help="the car alone: manoeuvres, modes, suspension")
    manoeuvres = vehicle.add_subparsers(dest="manoeuvre", required=True, metavar="MANOEUVRE")
    vehicle.set_defaults(run=run)
    settle = add_manoeuvre(
        manoeuvres, "settle", "equilibrium at rest: wheel loads, pose of the chassis", _settle
    )
    settle.add_argument(
        "--restrained", action="store_true", help="with its tie_downs and chocks on, as on a table"
    )
    add_drive_parsers(manoeuvres)
    modes = add_manoeuvre(manoeuvres, "linearise", "modes about the equilibrium", _linearise)
    modes.add_argument(
        "--undamped", action="store_true", help="without dampers, tyre damping and the tyres' slip"
    )
    add_quantities(modes, "speed")
    bench = add_manoeuvre(manoeuvres, "kc", "camber, toe, track over travel; rack to steer (kinematics)", _kc)
    add_quantities(bench, "travel", "rack-travel")
    bench.add_argument("--plot", type=Path, metavar="FILE.svg|png|pdf", help="draw the curves")
    facts = add_manoeuvre(
        manoeuvres,
        "figures",
        "figures of handling, ride and braking against closed formulas (80 km/h)",
        _figures,
    )
    add_quantities(facts, "speed", help_texts={"speed": "of turn, modes and braking (default: 80 km/h)"})
    add_coupling_parser(manoeuvres)
    add_tyre_parser(manoeuvres)
    add_fmu_parser(manoeuvres)
    for parser in (settle, modes, bench, facts):
        parser.add_argument("--out", dest="target", type=Path, metavar="FILE.csv", help="write it as a table")


def run(arguments: argparse.Namespace) -> int:
    """Carry out one manoeuvre; return 0, or 3 if a step of the solver did not converge."""
    import numpy as np

    carry_out: Callable[[argparse.Namespace], int] = arguments.carry_out
    check_locations(arguments)
    try:
        # What is not finite is reported as such; numpy's own warnings would only name lines of the program.
        with np.errstate(all="ignore"):
            return carry_out(arguments)
    except (np.linalg.LinAlgError, FloatingPointError) as error:
        raise UsageError(
            f"{arguments.vehicle}: its numbers cannot be calculated with ({error}); check for a mass, "
            "inertia, stiffness, damping or position of an implausible size"
        ) from error


def _settle(arguments: argparse.Namespace) -> int:
    given = quantities(arguments)
    from mastd.commands.vehicle.static import run_settle

    return run_settle(arguments, given)


def _linearise(arguments: argparse.Namespace) -> int:
    given = quantities(arguments)
    from mastd.commands.vehicle.static import run_linearise

    return run_linearise(arguments, given)


def _figures(arguments: argparse.Namespace) -> int:
    given = quantities(arguments)
    from mastd.commands.vehicle.figures import run_figures

    return run_figures(arguments, given)


def _kc(arguments: argparse.Namespace) -> int:
    given = quantities(arguments)
    from mastd.commands.vehicle.kc import run_kc

    return run_kc(arguments, given)
