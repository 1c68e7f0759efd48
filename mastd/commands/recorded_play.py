"""One recorded play of a plan that has passed its check: what `run`, `identify` and `calibrate` share."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mastd.commands.plant_options import connection
from mastd.errors import FormatError, StoppedError, UsageError

if TYPE_CHECKING:
    from mastd.loop.process.installation import Plan
    from mastd.loop.process.script import StopRequest
    from mastd.loop.service.single_run import RunOutcome
    from mastd.motion.preflight.verdict import Preflight
    from mastd.record.reader import Run
    from mastd.wire.plant.hello import Mode


def add_play_options(parser: argparse.ArgumentParser) -> None:
    """Add how a simulated plant of one's own is joined, and how the answer is printed."""
    parser.add_argument(
        "--link", choices=("direct", "socket"), help="kind of link to mastd's own simulated plant"
    )
    parser.add_argument("--lockstep", action="store_true", help="plant and loop in lockstep, repeatable")
    parser.add_argument("--json", action="store_true", help="print only one JSON document")


@contextmanager
def preparing(arguments: argparse.Namespace) -> Iterator[bool]:
    """Yield whether somebody watches, and tell when kernels are compiled.

    Raises UsageError for options that clash.
    """
    from mastd.loop.process.compile_progress import report_compiling

    if arguments.plant and arguments.link == "direct":
        raise UsageError("--link direct applies only to mastd's own simulated plant: remove --plant")
    with report_compiling():
        yield not arguments.json and sys.stderr.isatty()


def recorded_play(
    arguments: argparse.Namespace, plan: Plan, verdict: Preflight, stop: StopRequest, *, live: bool
) -> tuple[Path, RunOutcome]:
    """Play, and return the record and how it ended.

    Raises UsageError for a plan that does not pass its check, StoppedError before anything has moved, and
    what ``mastd.loop.service.single_run.run`` raises.
    """
    from mastd.loop.service.journal import slug
    from mastd.record.writer import RUN_FILE

    if not verdict.ok:
        raise UsageError(f"{plan.profile_path}: refused, the check failed:\n{verdict.text()}")
    if stop.requested:
        raise StoppedError("stopped before any motion")
    directory = Path(arguments.out) / f"{slug(plan.profile.name)}-{time.strftime('%Y%m%d-%H%M%S')}"
    record = new_directory(directory) / RUN_FILE
    with remove_if_empty(record.parent):
        return record, _play(arguments, plan, record, stop, verdict.scale, live)


@contextmanager
def remove_if_empty(directory: Path) -> Iterator[None]:
    """Leave no directory behind of a run that did not come to be."""
    try:
        yield
    except BaseException:
        with suppress(OSError):
            directory.rmdir()
        raise


def _play(
    arguments: argparse.Namespace, plan: Plan, record: Path, stop: StopRequest, level: float, live: bool
) -> RunOutcome:
    from mastd.loop.process.endpoints import Kind, operators_endpoint
    from mastd.loop.realtime.lock import plant_lock
    from mastd.loop.service.single_run import run as play
    from mastd.wire.plant.provider import rigid_payload

    mode: Mode = "lockstep" if arguments.lockstep else "free-run"
    link = connection(arguments, plan, rigid_payload(plan.profile), arguments.link or "socket", mode)
    kind = Kind.RUN if arguments.plant else Kind.SIMULATED_RUN
    with plant_lock(link.address), operators_endpoint(kind, arguments.operators) as operators:
        if operators.note:
            print(operators.note, file=sys.stderr)
        return play(plan, link, record, live, stop, level, operators)


def judged(record: Path, outcome: RunOutcome) -> tuple[dict[str, object], Run | None]:
    """Return the document of a run that was played, and its record, None where none can be read.

    A record that was lost hides neither the verdict nor the cause (``mastd.record.result``).
    """
    from mastd.record.result import Ending, make_result, with_lost_record, without_record
    from mastd.report.reading import read

    ending = Ending(
        "fault" if outcome.fault else "completed" if outcome.completed else "stopped",
        outcome.state.name,
        outcome.cause,
        outcome.command_sha256,
        outcome.cycles,
        outcome.missed,
    )
    lost = outcome.recorded.error if outcome.recorded is not None else None
    try:
        run = read(record)
        result = make_result(run)
    except FormatError as error:
        return without_record(record.parent, ending, lost or str(error)), None
    return (result if lost is None else with_lost_record(result, ending, lost)), run


def new_directory(directory: Path) -> Path:
    """Make a directory that nobody else has: two runs may begin in the same second.

    Raises UsageError where none can be made.
    """
    for suffix in ("", *(f"-{count}" for count in range(2, 1000))):
        candidate = directory.with_name(directory.name + suffix)
        try:
            candidate.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise UsageError(f"{candidate}: cannot record here: {error.strerror}") from error
        return candidate
    raise UsageError(f"{directory}: already holds a thousand runs of this second")
