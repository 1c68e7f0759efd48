"""One recorded play of a plan that has passed its check: what `run`, `identify` and `calibrate` share."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from mastd.commands.plant_options import connection
from mastd.errors import StoppedError, UsageError

if TYPE_CHECKING:
    from mastd.loop.process.installation import Plan
    from mastd.loop.process.script import StopRequest
    from mastd.loop.service.single_run import RunOutcome
    from mastd.motion.preflight.verdict import Preflight
    from mastd.wire.plant.hello import Mode


def add_play_options(parser: argparse.ArgumentParser) -> None:
    """Add how a simulated plant of one's own is joined, and how the answer is printed."""
    parser.add_argument(
        "--link", choices=("direct", "socket"), help="kind of link to mastd's own simulated plant"
    )
    parser.add_argument("--lockstep", action="store_true", help="plant and loop in lockstep, repeatable")
    parser.add_argument("--json", action="store_true", help="print only one JSON document")


def prepare(arguments: argparse.Namespace) -> bool:
    """Tell that it begins, and return whether somebody watches; raise UsageError for options that clash."""
    if arguments.plant and arguments.link == "direct":
        raise UsageError("--link direct applies only to mastd's own simulated plant: remove --plant")
    live = not arguments.json and sys.stderr.isatty()
    if live:
        print("preparing; the first run compiles the kernels, which takes a minute", file=sys.stderr)
    return live


def recorded_play(
    arguments: argparse.Namespace, plan: Plan, verdict: Preflight, stop: StopRequest, *, live: bool
) -> tuple[Path, RunOutcome]:
    """Play, and return the record and how it ended.

    Raises UsageError for a plan that does not pass its check, StoppedError before anything has moved, and
    what ``mastd.loop.service.single_run.run`` raises.
    """
    from mastd.loop.process.endpoints import Kind, operators_endpoint
    from mastd.loop.realtime.lock import plant_lock
    from mastd.loop.service.journal import slug
    from mastd.loop.service.single_run import run as play
    from mastd.wire.plant.provider import rigid_payload

    if not verdict.ok:
        raise UsageError(f"{plan.profile_path}: refused, the check failed:\n{verdict.text()}")
    if stop.requested:
        raise StoppedError("stopped before any motion")
    directory = Path(arguments.out) / f"{slug(plan.profile.name)}-{time.strftime('%Y%m%d-%H%M%S')}"
    record = new_directory(directory) / "run.mcap"
    mode: Mode = "lockstep" if arguments.lockstep else "free-run"
    link = connection(arguments, plan, rigid_payload(plan.profile), arguments.link or "socket", mode)
    kind = Kind.RUN if arguments.plant else Kind.SIMULATED_RUN
    with plant_lock(link.address), operators_endpoint(kind, arguments.operators) as operators:
        if operators.note:
            print(operators.note, file=sys.stderr)
        return record, play(plan, link, record, live, stop, verdict.scale, operators)


def report_recorder_loss(result: dict[str, object], outcome: RunOutcome) -> None:
    """A run that was not recorded to its end cannot be judged: say so, and what is known."""
    if outcome.recorded is None or outcome.recorded.error is None:
        return
    result["command_sha256"] = outcome.command_sha256
    result["state"] = outcome.state.name
    if outcome.completed:
        result["verdict"] = "fail"
    result["cause"] = f"recorder lost: {outcome.recorded.error}; the run itself " + (
        "completed" if outcome.completed else f"ended in {outcome.state.name}"
    )


def new_directory(directory: Path) -> Path:
    """Return a directory that does not exist yet: two runs may begin in the same second."""
    for suffix in ("", *(f"-{count}" for count in range(2, 1000))):
        candidate = directory.with_name(directory.name + suffix)
        if not candidate.exists():
            return candidate
    raise UsageError(f"{directory}: already holds a thousand runs of this second")
