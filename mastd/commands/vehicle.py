"""``mastd vehicle``: the car alone, at rest, over a bump, round a bend, its modes and its suspension."""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from mastd import units
from mastd.errors import UsageError

if TYPE_CHECKING:
    from mastd.commands import Subparsers
    from mastd.units import Dimension
    from mastd.vehicle.manoeuvres import Manoeuvre
    from mastd.vehicle.model import Model

DEFAULT_VEHICLE = "benchmark_sedan"
DEFAULT_STEP = 1e-3
FAULT = 3
_REDRAW_S = 0.2

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
}
"""Options that are quantities: dimension and help."""
_STEERING_LAW = ("rack", "ramp-start", "ramp-end")
_POSITIVE = {"step", "duration", "length", "travel", "rack-travel"}
_NOT_NEGATIVE = {"speed", "ramp-start", "ramp-end"}


def add_parsers(subparsers: Subparsers) -> None:
    """Add the parser of ``vehicle`` with one of its own for each manoeuvre."""
    vehicle = subparsers.add_parser("vehicle", help="the car alone: manoeuvres, modes, suspension")
    manoeuvres = vehicle.add_subparsers(dest="manoeuvre", required=True, metavar="MANOEUVRE")
    settle = _manoeuvre(
        manoeuvres, "settle", "equilibrium at rest: wheel loads, pose of the chassis", _settle
    )
    turn = _manoeuvre(manoeuvres, "jturn", "J-turn: the rack is moved at speed (60 km/h, 4 s)", _drive)
    _add_drive_options(turn, *_STEERING_LAW)
    over = _manoeuvre(manoeuvres, "bump", "straight over a half-sine bump (40 km/h, 2.5 s)", _drive)
    _add_drive_options(over, "height", "length", "distance")
    over.add_argument(
        "--side", choices=("both", "left", "right"), default="both", help="under which wheels (default: both)"
    )
    modes = _manoeuvre(manoeuvres, "linearise", "modes about the equilibrium", _linearise)
    modes.add_argument(
        "--undamped", action="store_true", help="without dampers, tyre damping and the tyres' slip"
    )
    _add_quantities(modes, "speed")
    bench = _manoeuvre(manoeuvres, "kc", "camber, toe, track over travel; rack to steer (kinematics)", _kc)
    _add_quantities(bench, "travel", "rack-travel")
    bench.add_argument("--plot", type=Path, metavar="FILE.svg|png|pdf", help="draw the curves")
    for parser in (settle, modes, bench):
        parser.add_argument("--out", dest="target", type=Path, metavar="FILE.csv", help="write it as a table")


def _check_places(arguments: argparse.Namespace) -> None:
    """Refuse, before anything is calculated, what could not be written afterwards; one line each."""
    problems = []
    for path in (arguments.target, getattr(arguments, "plot", None)):
        if path is None:
            continue
        if path.is_dir():
            problems.append(f"{path}: cannot be written: Is a directory")
        elif not path.parent.is_dir():
            problems.append(f"{path}: cannot be written: No such file or directory")
    if problems:
        raise UsageError("\n".join(problems))


def run(arguments: argparse.Namespace) -> int:
    """Carry out one manoeuvre; return 0, or 3 if a step of the solver did not converge."""
    import numpy as np

    carry_out: Callable[[argparse.Namespace], int] = arguments.carry_out
    _check_places(arguments)
    try:
        # What is not finite is told as such; numpy's own warnings would only name lines of the program.
        with np.errstate(all="ignore"):
            return carry_out(arguments)
    except (np.linalg.LinAlgError, FloatingPointError) as error:
        raise UsageError(
            f"{arguments.vehicle}: its numbers cannot be calculated with ({error}); look for a mass, "
            "inertia, stiffness, damping or place that is out of all proportion"
        ) from error


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
    if problems:
        raise UsageError("\n".join(problems))
    return found


def _settle(arguments: argparse.Namespace) -> int:
    given = quantities(arguments)
    from mastd.commands.vehicle_static import run_settle

    return run_settle(arguments, given)


def _linearise(arguments: argparse.Namespace) -> int:
    given = quantities(arguments)
    from mastd.commands.vehicle_static import run_linearise

    return run_linearise(arguments, given)


def _kc(arguments: argparse.Namespace) -> int:
    given = quantities(arguments)
    from mastd.commands.vehicle_kc import run_kc

    return run_kc(arguments, given)


def deliver(path: Path, write: Callable[[Path], None]) -> None:
    """Write a file; raise UsageError if it cannot be written."""
    try:
        write(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from error


def _drive(arguments: argparse.Namespace) -> int:
    from mastd.commands.vehicle_text import document, fault, page
    from mastd.vehicle.library import find
    from mastd.vehicle.manoeuvres import play, step_count, summary
    from mastd.vehicle.plots import check_format, write_manoeuvre
    from mastd.vehicle.trace import save_trace

    given = quantities(arguments)
    step = given.pop("step", DEFAULT_STEP)
    if arguments.plot:
        check_format(arguments.plot)
    model = find(arguments.vehicle)
    manoeuvre = _planned(arguments, model, given)
    step_count(manoeuvre.duration, step)
    with _Progress(manoeuvre.duration, shown=not arguments.json and sys.stderr.isatty()) as progress:
        trace, seconds_per_step = play(
            model,
            manoeuvre,
            step=step,
            formulation=arguments.solver,
            accuracy=arguments.accuracy,
            progress=progress,
        )
    figures = summary(trace)
    setup = {
        "manoeuvre": manoeuvre.name,
        "vehicle": model.name,
        "solver": arguments.solver,
        "accuracy": arguments.accuracy,
        "step_s": step,
        "speed_ms": manoeuvre.speed,
    }
    if arguments.target:
        deliver(arguments.target, lambda path: save_trace(path, trace))
    if arguments.plot:
        title = f"{model.name}, {manoeuvre.name} from {manoeuvre.speed * 3.6:.4g} km/h ({arguments.solver})"
        write_manoeuvre(trace, title, arguments.plot)
    if arguments.json:
        print(json.dumps(document(setup, trace, figures, seconds_per_step), allow_nan=False))
    else:
        print(page(setup, trace, figures, seconds_per_step))
    if figures.unconverged is None:
        return 0
    print(fault(figures, arguments.accuracy), file=sys.stderr)
    return FAULT


def _planned(arguments: argparse.Namespace, model: Model, given: dict[str, float]) -> Manoeuvre:
    """Return the manoeuvre that the options describe; raise UsageError or FormatError for what is none."""
    from mastd.vehicle.manoeuvres import bump, driven, jturn
    from mastd.vehicle.steering import rows_of_file

    if arguments.manoeuvre == "bump":
        manoeuvre = bump(model, side=arguments.side, **given)
    else:
        _refuse_law_beside_rows(arguments, given)
        manoeuvre = jturn(model, **given)
    if not arguments.source:
        return manoeuvre
    controls, end = rows_of_file(arguments.source, model)
    duration = given.get("duration", end)
    if not duration <= end:
        raise UsageError(
            f"--duration: {duration:g} s is longer than the rows of {arguments.source}, {end:g} s"
        )
    return driven(manoeuvre, controls, duration)


def _refuse_law_beside_rows(arguments: argparse.Namespace, given: dict[str, float]) -> None:
    """Raise UsageError for options of the steering law where the rows of a file steer."""
    beside = [name for name in _STEERING_LAW if name.replace("-", "_") in given] if arguments.source else []
    if beside:
        raise UsageError("\n".join(f"--{name}: give it or --in, not both" for name in beside))


def _manoeuvre(
    subparsers: Subparsers, name: str, text: str, carry_out: Callable[[argparse.Namespace], int]
) -> argparse.ArgumentParser:
    """Return the parser of one manoeuvre with what all of them have."""
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
        choices=("chassis", "inertial"),
        default="chassis",
        help="chassis: equations relative to the chassis, a matrix that is never renewed; inertial: a fresh "
        "one every step. Equilibria, modes and kinematics do not depend on it (default: chassis)",
    )
    _add_quantities(parser, "step")
    parser.add_argument("--json", action="store_true", help="print the result as one JSON document")
    parser.set_defaults(run=run, carry_out=carry_out)
    return parser


def _add_drive_options(parser: argparse.ArgumentParser, *names: str) -> None:
    parser.add_argument(
        "--accuracy",
        choices=("fast", "exact"),
        default="fast",
        help="exact: velocities keep the joints to 1e-8 m/s, too (default: fast)",
    )
    _add_quantities(parser, "speed", "duration", *names)
    parser.add_argument(
        "--in",
        dest="source",
        type=Path,
        metavar="FILE.csv",
        help="controls by rows of t_s and any of front_rack_m, drive_torque_fl_Nm, brake_torque_fl_Nm, …",
    )
    parser.add_argument("--out", dest="target", type=Path, metavar="FILE.csv", help="write the trajectory")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg|png|pdf", help="draw the trajectory")


def _add_quantities(parser: argparse.ArgumentParser, *names: str) -> None:
    for name in names:
        dimension, text = _QUANTITIES[name]
        parser.add_argument(f"--{name}", metavar=dimension.name.upper(), help=text)


class _Progress:
    """One line on a terminal: how much of the manoeuvre is done."""

    def __init__(self, duration: float, *, shown: bool) -> None:
        self._duration = duration
        self._shown = shown
        self._drawn = 0.0
        if shown:
            print("compiling, or loading what was compiled …", end="", file=sys.stderr, flush=True)

    def __call__(self, done: float) -> None:
        now = time.monotonic()
        if not self._shown or now - self._drawn < _REDRAW_S:
            return
        self._drawn = now
        print(f"\r\x1b[K{done:.2f} of {self._duration:.2f} s", end="", file=sys.stderr, flush=True)

    def __enter__(self) -> _Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
