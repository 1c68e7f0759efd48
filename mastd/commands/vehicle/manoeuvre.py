"""``mastd vehicle``: manoeuvres driven through time, from their options to page, file and picture."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from mastd import units
from mastd.commands.progress import Progress
from mastd.commands.vehicle.ground import add_ground_options, ground_of
from mastd.commands.vehicle.options import (
    add_history_options,
    add_manoeuvre,
    add_quantities,
    add_rows_option,
    deliver,
    quantities,
    solver_of,
)
from mastd.errors import UsageError

if TYPE_CHECKING:
    from mastd.commands import Subparsers
    from mastd.vehicle.drivers.course import Course
    from mastd.vehicle.manoeuvres.base import Manoeuvre
    from mastd.vehicle.model.definition import Model

Plan: TypeAlias = "Callable[[argparse.Namespace, Model, dict[str, float]], Manoeuvre]"
"""Options, vehicle and the quantities that were given → manoeuvre; raises UsageError, one line each."""

DEFAULT_STEP: Final = 1e-3
FAULT: Final = 3
_STEERING_LAW: Final = ("rack", "ramp-start", "ramp-end")
_FRICTION: Final = ("friction-left", "friction-right")
_SLALOM: Final = (40.0, 30.0, 1.5, 6)
"""Where the first cone stands (m), spacing, offset (m), number of cones."""
_CIRCLE_START: Final = 10.0
"""m."""
_MIN_RADIUS: Final = 5.0
"""m."""


def add_drive_parsers(subparsers: Subparsers) -> None:
    """Add the parsers of the manoeuvres that are driven through time."""
    turn = _history(subparsers, "jturn", "J-turn: the rack is moved at speed (60 km/h, 4 s)")
    add_quantities(turn, "speed", *_STEERING_LAW)
    add_rows_option(turn)
    over = _history(subparsers, "bump", "straight over a half-sine bump (40 km/h, 2.5 s)")
    add_quantities(over, "speed", "height", "length", "distance")
    add_rows_option(over)
    over.add_argument(
        "--side", choices=("both", "left", "right"), default="both", help="under which wheels (default: both)"
    )
    ramp = _history(
        subparsers, "ramp-steer", "slow ramp of the rack at held speed: gradients (80 km/h, 20 s)"
    )
    add_quantities(
        ramp,
        *("speed", "rack", "ramp-start"),
        help_texts={
            "rack": "where the first rack arrives at the end, left positive (default: for 4 m/s2)",
            "ramp-start": "when the rack begins to move (default: 1 s)",
        },
    )
    sine = _history(
        subparsers, "sine-steer", "sine of the rack at held speed: gain and phase of the car (80 km/h)"
    )
    add_quantities(
        sine,
        *("speed", "rack", "frequency"),
        help_texts={"rack": "amplitude of the first rack (default: that of a steady turn of 2 m/s2)"},
    )
    sine.add_argument("--periods", type=int, default=4, metavar="COUNT", help="how many (default: 4)")
    _add_line_parsers(subparsers)


def _add_line_parsers(subparsers: Subparsers) -> None:
    """Add the parsers of the manoeuvres along a line."""
    straight = _history(subparsers, "road", "a road at held speed: shaking, wheel loads (80 km/h, 10 s)")
    add_quantities(straight, "speed")
    add_ground_options(straight)
    add_rows_option(straight)
    stop = _history(subparsers, "brake", "straight braking to standstill: distance, deceleration (80 km/h)")
    add_quantities(stop, "speed", "pedal", "deceleration", *_FRICTION)
    stop.add_argument(
        "--steer", action="store_true", help="the driver keeps the car on its line (default: the rack stays)"
    )
    away = _history(subparsers, "start", "standing start: clutch and gears by the driver (15 s)")
    add_quantities(away, "throttle", *_FRICTION)
    change = _history(subparsers, "lane-change", "double lane change, steered by a driver (60 km/h)")
    add_quantities(change, "speed", "offset", "preview")
    change.add_argument(
        "--path",
        metavar="slalom|circle:RADIUS|FILE.csv",
        help="another course: a slalom of six cones 30 m apart, a circle to the left such as circle:40m, "
        "or the points x_m, y_m of a file, which begins at the car and heads along x",
    )
    step = _history(subparsers, "kerb", "over a kerb, rolling freely: loads, travel (30 km/h, 2.5 s)")
    add_quantities(
        step,
        *("speed", "height", "length", "distance"),
        help_texts={
            "height": "height of the kerb (default: 100 mm)",
            "length": "how long it is until it goes down again (default: it does not)",
            "distance": "x where it begins (default: 5 m)",
        },
    )
    step.add_argument(
        "--side", choices=("both", "left", "right"), default="both", help="under which wheels (default: both)"
    )
    add_rows_option(step)


def _history(subparsers: Subparsers, name: str, text: str) -> argparse.ArgumentParser:
    parser = add_manoeuvre(subparsers, name, text, drive)
    add_history_options(parser)
    return parser


def drive(arguments: argparse.Namespace) -> int:
    """Carry out a manoeuvre; return 0, or 3 if a step of the solver did not converge."""
    from mastd.commands.vehicle.text import document, fault, page
    from mastd.vehicle.manoeuvres.base import play, step_count
    from mastd.vehicle.manoeuvres.summary import summary
    from mastd.vehicle.model.library import find
    from mastd.vehicle.plots.manoeuvre import check_format, write_manoeuvre
    from mastd.vehicle.state.trace import save_trace

    given = quantities(arguments)
    step = given.pop("step", DEFAULT_STEP)
    solver = solver_of(arguments)
    if arguments.plot:
        check_format(arguments.plot)
    model = find(arguments.vehicle)
    manoeuvre = _planned(arguments, model, given)
    step_count(manoeuvre.duration, step)
    troubles: list[str] = []
    with Progress(
        lambda done: f"{done:.2f} of {manoeuvre.duration:.2f} s",
        shown=not arguments.json and sys.stderr.isatty(),
        first="compiling, or loading compiled kernels …",
    ) as progress:
        trace, seconds_per_step = play(
            model,
            manoeuvre,
            step=step,
            solver=solver,
            accuracy=arguments.accuracy,
            progress=progress,
            trouble=troubles.append,
        )
    figures = summary(trace)
    # What comes after a step that failed is no measurement.
    findings = manoeuvre.findings(trace) if figures.unconverged is None else ()
    setup = {
        "manoeuvre": manoeuvre.name,
        "vehicle": model.name,
        "solver": solver.formulation,
        "integrator": solver.steps_by,
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
        print(json.dumps(document(setup, trace, figures, seconds_per_step, findings), allow_nan=False))
    else:
        print(page(setup, trace, figures, seconds_per_step, findings))
    if figures.unconverged is None:
        return 0
    message = fault(
        figures,
        accuracy=arguments.accuracy,
        solver=solver.formulation,
        step=step,
        trouble="".join(troubles),
    )
    print(message, file=sys.stderr)
    return FAULT


def _planned(arguments: argparse.Namespace, model: Model, given: dict[str, float]) -> Manoeuvre:
    """Return the manoeuvre that the options describe; raise UsageError or FormatError for what is none."""
    manoeuvre = _PLANS[arguments.manoeuvre](arguments, model, given)
    source = getattr(arguments, "source", None)
    if source is None:
        return manoeuvre
    from mastd.vehicle.drivers.controls import rows_of_file
    from mastd.vehicle.manoeuvres.base import driven

    controls, end = rows_of_file(source, model)
    duration = given.get("duration", end)
    if not duration <= end:
        raise UsageError(f"--duration: {duration:g} s is longer than the rows of {source}, {end:g} s")
    return driven(manoeuvre, controls, duration)


def _jturn(arguments: argparse.Namespace, model: Model, given: dict[str, float]) -> Manoeuvre:
    from mastd.vehicle.manoeuvres.base import jturn

    beside = [name for name in _STEERING_LAW if name.replace("-", "_") in given] if arguments.source else []
    if beside:
        raise UsageError("\n".join(f"--{name}: give it or --in, not both" for name in beside))
    return jturn(model, **given)


def _bump(arguments: argparse.Namespace, model: Model, given: dict[str, float]) -> Manoeuvre:
    from mastd.vehicle.manoeuvres.base import bump

    return bump(model, side=arguments.side, **given)


def _ramp_steer(arguments: argparse.Namespace, model: Model, given: dict[str, float]) -> Manoeuvre:
    from mastd.vehicle.manoeuvres.handling import ramp_steer

    return ramp_steer(model, **given)


def _sine_steer(arguments: argparse.Namespace, model: Model, given: dict[str, float]) -> Manoeuvre:
    from mastd.vehicle.manoeuvres.handling import sine_steer

    return sine_steer(model, periods=arguments.periods, **given)


def _road(arguments: argparse.Namespace, model: Model, given: dict[str, float]) -> Manoeuvre:
    from mastd.vehicle.manoeuvres.line import road

    return road(model, ground_of(arguments, model), **given)


def _brake(arguments: argparse.Namespace, model: Model, given: dict[str, float]) -> Manoeuvre:
    from mastd.vehicle.manoeuvres.line import brake

    friction = _friction(given)
    return brake(model, friction=friction, steered=arguments.steer, **given)


def _start(arguments: argparse.Namespace, model: Model, given: dict[str, float]) -> Manoeuvre:
    from mastd.vehicle.manoeuvres.line import start

    friction = _friction(given)
    return start(model, friction=friction, **given)


def _lane_change(arguments: argparse.Namespace, model: Model, given: dict[str, float]) -> Manoeuvre:
    from mastd.vehicle.manoeuvres.line import lane_change

    course = None
    if arguments.path:
        course = _course(arguments.path)
        if "offset" in given:
            raise UsageError("--offset: is that of the double lane change; give it or --path, not both")
    return lane_change(model, course=course, **given)


def _kerb(arguments: argparse.Namespace, model: Model, given: dict[str, float]) -> Manoeuvre:
    from mastd.vehicle.manoeuvres.line import kerb

    return kerb(model, side=arguments.side, **given)


def _course(text: str) -> Course:
    """Return the course that ``--path`` names; raise UsageError or FormatError for what is none."""
    from mastd.vehicle.drivers.course import circle, read_course, slalom

    if text == "slalom":
        return slalom(*_SLALOM)
    if text.startswith("circle:"):
        try:
            radius = units.parse(text.removeprefix("circle:"), units.LENGTH)
        except units.UnitError as error:
            raise UsageError(f"--path: {text}: {error}") from None
        if not abs(radius) >= _MIN_RADIUS:
            raise UsageError(f"--path: {text}: a circle has a radius of {_MIN_RADIUS:g} m or more")
        return circle(radius, _CIRCLE_START)
    if not text.endswith(".csv"):
        raise UsageError(f"--path: {text}: known are slalom, circle:RADIUS such as circle:40m, and FILE.csv")
    return read_course(Path(text), (0.0, 0.0))


def _friction(given: dict[str, float]) -> tuple[float, float]:
    """Take the factors left and right out of the quantities; one that is not given is that of a dry road."""
    return given.pop("friction_left", 1.0), given.pop("friction_right", 1.0)


_PLANS: Final[Mapping[str, Plan]] = {
    "road": _road,
    "brake": _brake,
    "start": _start,
    "lane-change": _lane_change,
    "kerb": _kerb,
    "jturn": _jturn,
    "bump": _bump,
    "ramp-steer": _ramp_steer,
    "sine-steer": _sine_steer,
}
"""Manoeuvre → its plan."""
