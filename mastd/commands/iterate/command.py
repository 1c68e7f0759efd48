"""``mastd iterate PROFILE``: correct a drive from play to play until the target's responses come out."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mastd.commands.plant_options import add_plant_options, connection, daemon_settings, stop_on_signals
from mastd.commands.quantities import positive
from mastd.errors import MastdError, UsageError
from mastd.units import TIME

if TYPE_CHECKING:
    from mastd.arrays import FloatArray
    from mastd.commands import Subparsers
    from mastd.control.iteration.driver import Task
    from mastd.control.iteration.history import History
    from mastd.control.iteration.responses import Columns, ResponseSet
    from mastd.loop.process.host import Connection
    from mastd.loop.process.installation import Plan
    from mastd.loop.process.script import StopRequest
    from mastd.loop.service.player import Player
    from mastd.signals.frequency_matrix import FrequencyMatrix

LENGTH_TOLERANCE = 0.05
"""Fraction of the profile's length by which a target may differ without notice."""
_REMEMBERED: Final = (
    *("table", "config", "identified", "truth", "seed", "fault", "plant", "allow_remote", "operators"),
    *("noise", "responses", "plays"),
)
"""Options that an iteration that continues takes from where it began."""
_PAGE, _PICTURE = "iteration.html", "convergence.svg"


def add_parsers(subparsers: Subparsers) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "iterate", help="iterate a drive file until the responses match the target"
    )
    parser.add_argument(
        "profile", nargs="?", help="profile file, or the name of a starter profile; not with --resume"
    )
    parser.add_argument(
        "--plays", type=_plays, metavar="N", help="corrected runs after the first one (default: 3)"
    )
    parser.add_argument(
        "--noise", metavar="TIME", help="noise to measure the frequency response matrix with (default: 100 s)"
    )
    parser.add_argument(
        "--matrix",
        metavar="PATH",
        type=Path,
        help="take the matrix from an iteration's or identify's directory, or from a run with motion in "
        "all axes",
    )
    parser.add_argument(
        "--target",
        metavar="FILE",
        type=Path,
        help="file or run with the target responses (default: the profile's own motion)",
    )
    parser.add_argument(
        "--responses",
        metavar="NAME[=CHANNEL],…",
        help="channels of the record to compare with the target's channels of that name, or CHANNEL",
    )
    parser.add_argument("--resume", metavar="DIR", type=Path, help="continue the iteration in this directory")
    add_plant_options(parser)
    parser.add_argument(
        "--identified", metavar="FILE", help="values from `mastd identify`, instead of the nominal settings"
    )
    parser.add_argument("--json", action="store_true", help="print only one JSON document")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Iterate; return 0, 3 where a fault stopped a run, 5 where somebody did."""
    from mastd.loop.process.compile_progress import report_compiling

    with stop_on_signals() as stop, report_compiling():
        return _run(arguments, stop)


def _run(arguments: argparse.Namespace, stop: StopRequest) -> int:
    from mastd.control.iteration.driver import PlayFaultError, iterate
    from mastd.loop.realtime.lock import plant_lock

    history, task, matrix = _resumed(arguments) if arguments.resume else _begun(arguments)
    directory = task.directory
    player = _player(arguments, directory, stop)
    report = (lambda line: None) if arguments.json else partial(print, flush=True)
    noise = positive("--noise", arguments.noise, TIME)
    try:
        with plant_lock(arguments.plant):
            history = iterate(
                task, history, player, arguments.plays, noise, matrix, report, partial(_show, directory)
            )
    except MastdError as error:
        print(error, file=sys.stderr)
        smaller = ", with half the step," if isinstance(error, PlayFaultError) else ""
        print(
            f"completed runs are kept; continue{smaller} with: mastd iterate --resume {directory}",
            file=sys.stderr,
        )
        return error.exit_code
    _show(directory, history)
    if arguments.json:
        print(json.dumps({**history.document(), "directory": str(directory)}, allow_nan=False))
    else:
        print(_summary(directory, history))
    return 0


def _begun(arguments: argparse.Namespace) -> tuple[History, Task, FrequencyMatrix | None]:
    """Return an iteration that begins, in a directory of its own."""
    from mastd.control.iteration.driver import begin, task_of
    from mastd.loop.service.journal import slug
    from mastd.settings.core.starter import find

    if arguments.profile is None:
        raise UsageError("give PROFILE, or the directory of an iteration with --resume")
    arguments.plays = 3 if arguments.plays is None else arguments.plays
    arguments.noise = arguments.noise or "100 s"
    positive("--noise", arguments.noise, TIME)
    path = find("profile", arguments.profile)
    plan = _plan(arguments, path)
    responses, channels = _responses(arguments, plan)
    target = None if arguments.target is None else _target(arguments.target, responses, channels)
    matrix = (
        None if arguments.matrix is None else _given_matrix(arguments.matrix, responses, plan.table.freedoms)
    )
    stem = Path(arguments.out) / f"iterate-{slug(plan.profile.name)}-{time.strftime('%Y%m%d-%H%M%S')}"
    directory = next(candidate for candidate in _candidates(stem) if not candidate.exists())
    task = task_of(path, plan.profile, plan.table, directory, responses, target)
    if target is not None:
        _report_length(arguments.target, len(target), task.knots)
    verdict = plan.check()
    if not verdict.ok:
        raise UsageError(f"{path}: refused, the check failed:\n{verdict.text()}")
    return begin(task, _origin(arguments, plan)), task, matrix


def _report_length(path: Path, target: int, knots: int) -> None:
    """Say that a target is not as long as the motion of the profile, in milliseconds both."""
    if abs(target - knots) > LENGTH_TOLERANCE * knots:
        rest = "is followed by rest" if target < knots else "is cut"
        seconds = (1e-3 * target, 1e-3 * knots)
        print(f"{path}: takes {seconds[0]:g} s, the profile {seconds[1]:g} s: it {rest}", file=sys.stderr)


def _resumed(arguments: argparse.Namespace) -> tuple[History, Task, FrequencyMatrix | None]:
    """Return an iteration that continues, with the options that it began with."""
    from dataclasses import replace

    from mastd.control.iteration.driver import TARGET, task_of
    from mastd.control.iteration.drives import read_series
    from mastd.control.iteration.history import load_history

    if arguments.profile is not None:
        raise UsageError("remove PROFILE: --resume takes it from the iteration")
    directory = arguments.resume
    history = load_history(directory)
    origin = history.origin
    asked = arguments.plays
    print(f"{directory}: continues with its original options, except --plays", file=sys.stderr)
    for name in _REMEMBERED:
        setattr(arguments, name, origin.get(name))
    arguments.plays = origin["plays"] if asked is None else asked
    path = Path(origin["profile"])
    plan = _plan(arguments, path)
    if _sha256(plan) != origin["profile_sha256"]:
        raise UsageError(f"{path}: has changed since {directory} began: start a new iteration")
    responses, _ = _responses(arguments, plan)
    target = read_series(directory / TARGET)
    task = task_of(path, plan.profile, plan.table, directory, responses, target)
    return replace(history, ended=""), task, None


def _origin(arguments: argparse.Namespace, plan: Plan) -> dict[str, Any]:
    """Return what an iteration must know again to continue."""
    kept = {name: getattr(arguments, name) for name in _REMEMBERED}
    for name in ("table", "config", "identified", "truth"):
        if kept[name] is not None and Path(kept[name]).is_file():
            kept[name] = str(Path(kept[name]).resolve())
    target = None if arguments.target is None else str(arguments.target.resolve())
    profile = str(plan.profile_path.resolve())
    return {**kept, "profile": profile, "profile_sha256": _sha256(plan), "target": target}


def _sha256(plan: Plan) -> str:
    return hashlib.sha256(plan.profile_text.encode("utf-8")).hexdigest()


def _candidates(stem: Path) -> list[Path]:
    return [stem, *(stem.with_name(f"{stem.name}-{count}") for count in range(2, 1000))]


def _plan(arguments: argparse.Namespace, profile: Path) -> Plan:
    from mastd.loop.process.installation import Plan
    from mastd.settings.core.starter import find

    identified = None if arguments.identified is None else Path(arguments.identified)
    return Plan.load(find("table", arguments.table), profile, daemon_settings(arguments), identified)


def _responses(arguments: argparse.Namespace, plan: Plan) -> tuple[ResponseSet, dict[str, str]]:
    """Return the responses that are meant, and the target's channels that are called otherwise."""
    from mastd.control.iteration.responses import CENTRE, chosen, of_profile
    from mastd.control.iteration.target import names_in, pairs_of
    from mastd.loop.measurement.frame import channel_units

    known = channel_units(plan.table) | {one.name: one.unit for one in plan.vehicle_channels}
    if arguments.responses:
        names, channels = pairs_of(arguments.responses.split(","))
        return chosen(names, plan.table, known), channels
    if arguments.target is None:
        return of_profile(plan.profile.point, plan.table), {}
    if arguments.target.is_dir():
        arguments.responses = ",".join(CENTRE)
        return chosen(CENTRE, plan.table, known), {}
    held = names_in(arguments.target)
    sensors = [sensor.name for sensor in plan.table.sensors.accelerometers]
    names = [name for name in held if name in known or name in sensors or name.startswith("point_")]
    if not names:
        raise UsageError(
            f"{arguments.target}: holds {', '.join(held[:8])}{', …' if len(held) > 8 else ''}, no channel "
            "of a record: assign them with --responses NAME=CHANNEL,…"
        )
    arguments.responses = ",".join(names)
    return chosen(names, plan.table, known), {}


def _target(path: Path, responses: ResponseSet, channels: dict[str, str]) -> FloatArray:
    """Return the target of a file, or of a run from its profile's start on."""
    from mastd.control.iteration.target import read_target

    if not path.is_dir():
        return read_target(path, responses, channels)
    if channels:
        raise UsageError(f"{path}: is a run: its channels have the names of the responses")
    return responses.of(_columns_of_run(path, responses.channels))


def _columns_of_run(path: Path, channels: Sequence[str]) -> Columns:
    """Return channels of a run at every millisecond of its profile."""
    from mastd.motion.profile.timeline import KNOT_SPACING
    from mastd.record.play_columns import play_columns
    from mastd.record.reader import find_run, open_run

    record = open_run(find_run(path))
    duration = record.metadata.get("duration")
    if not isinstance(duration, int | float):
        raise UsageError(f"{path}: its record does not state the duration of the profile")
    return play_columns(record, channels, KNOT_SPACING, int(duration / KNOT_SPACING + 0.5) + 1)


def _given_matrix(path: Path, responses: ResponseSet, freedoms: Sequence[str]) -> FrequencyMatrix:
    """Return the matrix of an earlier iteration, or of a run."""
    import numpy as np

    from mastd.control.iteration.driver import matrix_of
    from mastd.control.iteration.history import MATRIX, load_matrix
    from mastd.settings.core.axes import AXES

    if (path / MATRIX).is_file():
        return load_matrix(path / MATRIX, responses.names)
    drives = [f"reference_acceleration.{axis}" for axis in AXES]
    columns = _columns_of_run(path, [*drives, *responses.channels])
    accelerations = np.column_stack([columns[name] for name in drives])
    still = [axis for k, axis in enumerate(AXES) if axis in freedoms and not np.any(accelerations[:, k])]
    if still:
        raise UsageError(
            f"{path}: did not move {', '.join(still)}, the matrix needs motion in every axis that is free"
        )
    return matrix_of(accelerations, responses.of(columns))


def _player(arguments: argparse.Namespace, directory: Path, stop: StopRequest) -> Player:
    from mastd.loop.process.endpoints import Kind, operators_endpoint
    from mastd.loop.service.player import Player

    kind = Kind.RUN if arguments.plant else Kind.SIMULATED_RUN
    return Player(
        partial(_plan, arguments),
        partial(_connection, arguments),
        directory,
        partial(operators_endpoint, kind, arguments.operators),
        live=not arguments.json and sys.stderr.isatty(),
        stop=stop,
    )


def _connection(arguments: argparse.Namespace, plan: Plan, number: int) -> Connection:
    """Return how the plant is reached; a simulated one in lockstep, its noise again for each play."""
    from mastd.wire.plant.provider import rigid_payload

    own = argparse.Namespace(**{**vars(arguments), "seed": arguments.seed + number + 1})
    payload = rigid_payload(plan.profile)
    if arguments.plant:
        return connection(own, plan, payload, "socket", "free-run")
    return connection(own, plan, payload, "direct", "lockstep")


def _show(directory: Path, history: History) -> None:
    """Write page and picture of an iteration."""
    import numpy as np

    from mastd.control.iteration.drives import write_text
    from mastd.control.iteration.history import MATRIX
    from mastd.report.pages.iteration import MatrixPicture, convergence_svg, iteration_page
    from mastd.report.write import write_page

    if not history.plays:
        return
    matrix = None
    if (directory / MATRIX).is_file():
        with np.load(directory / MATRIX) as held:
            matrix = MatrixPicture(held["frequency"], np.abs(held["response"]), held["coherence"])
    document = history.document()
    write_page(iteration_page(document, matrix), directory / _PAGE)
    write_text(directory / _PICTURE, convergence_svg(document))


def _summary(directory: Path, history: History) -> str:
    from mastd.control.iteration.responses import short_names
    from mastd.report.pages.iteration import moved_responses

    best = history.best
    if best is None:
        return "nothing was run"
    moved = moved_responses(history.document()["plays"])
    names = short_names([best.figures.responses[k].name for k in moved])
    widths = [max(7, len(name)) for name in names]
    pairs = zip(names, widths, strict=True)
    lines = ["run    error  " + "  ".join(name.rjust(width) for name, width in pairs)]
    for play in history.plays:
        figures = zip((play.figures.responses[k].nrmse for k in moved), widths, strict=True)
        values = "  ".join(f"{nrmse:{width}.4f}" for nrmse, width in figures)
        mark = " <- best" if play is best else ""
        lines.append(f"{play.number:4d}  {play.figures.error:6.4f}  {values}{mark}")
    if history.ended:
        lines.append(history.ended)
    lines.append("error: rms of target less response over that of the target, in the judged band")
    lines.append(f"best drive: {directory / 'drive.rsp'}, run it with {directory / 'drive.yaml'}")
    lines.append(f"page: {directory / _PAGE}")
    return "\n".join(lines)


def _plays(text: str) -> int:
    number = int(text)
    if not 0 <= number <= 100:
        raise argparse.ArgumentTypeError("number of runs: 0 to 100")
    return number
