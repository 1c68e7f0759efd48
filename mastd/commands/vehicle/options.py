"""Options of ``mastd vehicle``: quantities with units, and what every manoeuvre's parser has."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mastd import units
from mastd.errors import UsageError
from mastd.settings.vehicle.solver_names import FORMULATIONS, POLICIES, TREE_FORMULATIONS, TREE_INTEGRATORS

if TYPE_CHECKING:
    from mastd.commands import Subparsers
    from mastd.units import Dimension
    from mastd.vehicle.solver.choice import Solver

DEFAULT_VEHICLE = "benchmark_sedan"

# argparse takes what looks like a negative number for a value, not for an option; here it may have a unit.
_NEGATIVE_QUANTITY = re.compile(r"-\.?[0-9]")

_QUANTITIES: dict[str, tuple[Dimension, str]] = {
    "step": (units.TIME, "size of a step (default: 1 ms)"),
    "speed": (units.VELOCITY, "speed ahead, such as 60 km/h"),
    "duration": (units.TIME, "how long it lasts"),
    "rack": (units.LENGTH, "displacement of the first rack, left positive (default: -7 mm)"),
    "ramp-start": (units.TIME, "when the rack begins to move (default: 0.5 s)"),
    "ramp-end": (units.TIME, "when the rack has arrived (default: 1 s)"),
    "height": (units.LENGTH, "height of the bump, negative: a pothole (default: 30 mm)"),
    "length": (units.LENGTH, "length of the bump (default: 1.2 m)"),
    "travel": (units.LENGTH, "wheel travel up and down (default: between the first stops, or 60 mm)"),
    "rack-travel": (units.LENGTH, "displacement of the rack either way (default: as far as it goes)"),
    "distance": (units.LENGTH, "x where the bump begins; the model's x = 0 starts at 0 (default: 5 m)"),
    "frequency": (units.FREQUENCY, "of the sine (default: 0.5 Hz)"),
    "offset": (units.LENGTH, "lateral offset of the other lane, left positive (default: 3.5 m)"),
    "preview": (units.TIME, "preview time of the driver (default: 0.6 s)"),
    "pedal": (units.RATIO, "position of the brake pedal (default: 100 %%)"),
    "deceleration": (units.ACCELERATION, "held by the driver's foot, instead of --pedal"),
    "friction-left": (units.RATIO, "factor on the tyres' friction left of y = 0 (default: 100 %%)"),
    "friction-right": (units.RATIO, "factor on the tyres' friction right of y = 0 (default: 100 %%)"),
    "throttle": (units.RATIO, "how far the pedal goes down (default: 100 %%)"),
}
"""Options that are quantities: dimension and help."""
_POSITIVE = {
    *("step", "duration", "length", "travel", "rack-travel", "frequency", "preview"),
    *("pedal", "deceleration", "throttle", "friction-left", "friction-right"),
}
_NOT_NEGATIVE = {"speed", "ramp-start", "ramp-end"}
_RATIOS = {"pedal", "throttle"}


def quantities(arguments: argparse.Namespace) -> dict[str, float]:
    """Return the quantities that were given, in SI, by the names of their options.

    Raises UsageError, one line each, for those that are no such quantity or out of their range.
    """
    found: dict[str, float] = {}
    problems = []
    for name, (dimension, _) in _QUANTITIES.items():
        key = name.replace("-", "_")
        text = getattr(arguments, key, None)
        if text is None:
            continue
        try:
            found[key] = units.parse(text, dimension)
        except units.UnitError as error:
            problems.append(f"--{name}: {error}")
            continue
        if name in _POSITIVE and not found[key] > 0.0:
            problems.append(f"--{name}: {text} is not above zero")
        elif name in _NOT_NEGATIVE and not found[key] >= 0.0:
            problems.append(f"--{name}: {text} is below zero")
        elif name in _RATIOS and not found[key] <= 1.0:
            problems.append(f"--{name}: {text} is more than there is, 100 %")
    if problems:
        raise UsageError("\n".join(problems))
    return found


def add_quantities(
    parser: argparse.ArgumentParser, *names: str, help_texts: Mapping[str, str] | None = None
) -> None:
    """Add options that are quantities; ``help_texts``: other words of help for some of them."""
    for name in names:
        dimension, text = _QUANTITIES[name]
        parser.add_argument(
            f"--{name}", metavar=dimension.name.upper(), help=(help_texts or {}).get(name, text)
        )


def add_manoeuvre(
    subparsers: Subparsers, name: str, text: str, carry_out: Callable[[argparse.Namespace], int]
) -> argparse.ArgumentParser:
    """Return the parser of one manoeuvre with the options common to all."""
    parser = subparsers.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    parser._negative_number_matcher = _NEGATIVE_QUANTITY
    parser.add_argument(
        "--vehicle",
        default=DEFAULT_VEHICLE,
        metavar="NAME|FILE",
        help=f"vehicle settings (default: {DEFAULT_VEHICLE})",
    )
    parser.add_argument(
        "--solver",
        choices=FORMULATIONS,
        default="chassis",
        metavar="NAME",
        help="chassis: equations relative to the chassis, constant (chord) Jacobian; inertial: a full Newton "
        f"Jacobian every step; over a tree of links: {', '.join(TREE_FORMULATIONS)}. All give the same "
        "motion; equilibria, modes and kinematics do not depend on it (default: chassis)",
    )
    parser.add_argument(
        "--integrator",
        choices=TREE_INTEGRATORS,
        help="time integrator of a solver over a tree of links (default: the solver's usual one)",
    )
    parser.add_argument(
        "--jacobian",
        choices=POLICIES,
        help="columns of the Jacobian that implicit-euler recomputes in a step (default: full; with "
        "partial-jacobian round-robin). All but full: covered by KR patent 10-1310276",
    )
    parser.add_argument(
        "--cartesian",
        action="append",
        default=[],
        metavar="SUBSYSTEM",
        help="with --solver subsystem-joint: relative Cartesian coordinates here, such as 'front left'",
    )
    add_quantities(parser, "step")
    parser.add_argument("--json", action="store_true", help="print the result as one JSON document")
    parser.set_defaults(carry_out=carry_out)
    return parser


def solver_of(arguments: argparse.Namespace) -> Solver:
    """Return what ``add_manoeuvre``'s options say of the solver; raise UsageError where they do not go
    together."""
    from mastd.vehicle.solver.choice import Solver

    if arguments.cartesian and arguments.solver != "subsystem-joint":
        raise UsageError(f"--cartesian: goes with --solver subsystem-joint, not with {arguments.solver}")
    return Solver(arguments.solver, arguments.integrator, arguments.jacobian, tuple(arguments.cartesian))


def add_history_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of manoeuvres in the time domain."""
    parser.add_argument(
        "--accuracy",
        choices=("fast", "exact"),
        default="fast",
        help="exact: velocities keep the joints to 1e-8 m/s, too (default: fast)",
    )
    add_quantities(parser, "duration")
    parser.add_argument("--out", dest="target", type=Path, metavar="FILE.csv", help="write the trajectory")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg|png|pdf", help="draw the trajectory")


def add_rows_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--in``."""
    parser.add_argument(
        "--in",
        dest="source",
        type=Path,
        metavar="FILE.csv",
        help="controls by rows of t_s and any of front_rack_m, drive_torque_fl_Nm, brake_torque_fl_Nm, …",
    )


def check_locations(arguments: argparse.Namespace) -> None:
    """Check the output files before the calculation; raise UsageError, one line each."""
    problems = []
    for path in (getattr(arguments, "target", None), getattr(arguments, "plot", None)):
        if path is None:
            continue
        if path.is_dir():
            problems.append(f"{path}: cannot be written: Is a directory")
        elif not path.parent.is_dir():
            problems.append(f"{path}: cannot be written: No such file or directory")
    if problems:
        raise UsageError("\n".join(problems))


def deliver(path: Path, write: Callable[[Path], None]) -> None:
    """Write a file; raise UsageError if it cannot be written."""
    try:
        write(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from error
