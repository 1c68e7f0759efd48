"""`mastd run PROFILE`: play one profile, record it, report, verdict."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from mastd.commands.plant_options import add_plant_options, connection, daemon_settings, stop_on_signals
from mastd.commands.progress import riding
from mastd.commands.report import exit_code, summary, write_run_page
from mastd.errors import StoppedError, UsageError

if TYPE_CHECKING:
    from mastd.commands import Subparsers
    from mastd.loop.script import StopRequest
    from mastd.loop.session import Ending
    from mastd.wire.hello import Mode


def add_parsers(subparsers: Subparsers) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser("run", help="play one profile, record, report, verdict")
    parser.add_argument("profile", help="profile file, or the name of a starter profile")
    add_plant_options(parser)
    parser.add_argument("--link", choices=("direct", "socket"), help="kind of link to a plant of its own")
    parser.add_argument("--lockstep", action="store_true", help="plant and loop step by step, repeatable")
    parser.add_argument(
        "--identified", metavar="FILE", help="what `mastd identify` has found out, in the settings' place"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document, nothing else")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Check, play, record and judge; return 0 pass, 1 fail or stopped, 3 fault.

    Ctrl-C and SIGTERM are heard from here to the end: before anything moves they end the run at once,
    afterwards they ask for a soft stop, and the document is printed all the same.
    """
    with stop_on_signals() as stop:
        return _run(arguments, stop)


def _run(arguments: argparse.Namespace, stop: StopRequest) -> int:
    from mastd.loop.journal import slug
    from mastd.loop.lock import plant_lock
    from mastd.loop.operators import Kind, operators_place
    from mastd.loop.plan import Plan
    from mastd.loop.session import run as play
    from mastd.motion.preflight import check
    from mastd.record.result import make_result
    from mastd.report.reading import read
    from mastd.report.run_page import default_page, run_page
    from mastd.settings.starter import find
    from mastd.wire.provider import rigid_payload

    if arguments.plant and arguments.link == "direct":
        raise UsageError("--link direct is for a simulated plant of the run's own; leave out --plant")
    live = not arguments.json and sys.stderr.isatty()
    if live:
        print("preparing; the very first run compiles the kernels, which takes a minute", file=sys.stderr)
    plan = Plan.load(
        find("table", arguments.table),
        find("profile", arguments.profile),
        daemon_settings(arguments),
        Path(arguments.identified) if arguments.identified else None,
    )
    with riding(shown=live) as progress:
        verdict = check(plan.profile, plan.table, progress)
    if not verdict.ok:
        raise UsageError(f"{plan.profile_path}: refused, it does not pass the check:\n{verdict.text()}")
    if stop.requested:
        raise StoppedError("stopped before anything moved")
    directory = Path(arguments.out) / f"{slug(plan.profile.name)}-{time.strftime('%Y%m%d-%H%M%S')}"
    record_path = fresh_directory(directory) / "run.mcap"
    mode: Mode = "lockstep" if arguments.lockstep else "free-run"
    payload = rigid_payload(plan.profile)
    link = connection(arguments, plan, payload, arguments.link or "socket", mode)
    kind = Kind.RUN if arguments.plant else Kind.SIMULATED_RUN
    with plant_lock(link.address), operators_place(kind, arguments.operators) as operators:
        if operators.note:
            print(operators.note, file=sys.stderr)
        ending = play(plan, link, record_path, live, stop, verdict.scale, operators)
    record = read(record_path)
    result = make_result(record)
    tell_recorder_loss(result, ending)
    try:
        write_run_page(run_page(record, result), default_page(record_path), result)
    except UsageError as error:  # a full disk must not hide how the run went
        result["page"], result["no_page"] = None, str(error)
    if arguments.json:
        print(json.dumps(result, allow_nan=False))
    else:
        print(summary(result))
        if ending.rights.degraded:
            print(f"  DEGRADED_RT: {ending.rights.missing}")
    return exit_code(result)


def tell_recorder_loss(result: dict[str, object], ending: Ending) -> None:
    """A run that was not recorded to its end cannot be judged: say so, and what is known."""
    if ending.recorded is None or ending.recorded.error is None:
        return
    result["command_sha256"] = ending.command_sha256
    result["state"] = ending.state.name
    if ending.completed:
        result["verdict"] = "fail"
    result["cause"] = f"recorder lost: {ending.recorded.error}; the run itself " + (
        "went to its end" if ending.completed else f"ended in {ending.state.name}"
    )


def fresh_directory(directory: Path) -> Path:
    """Return a directory that does not exist yet: two runs may begin in the same second."""
    for suffix in ("", *(f"-{count}" for count in range(2, 1000))):
        candidate = directory.with_name(directory.name + suffix)
        if not candidate.exists():
            return candidate
    raise UsageError(f"{directory}: a thousand runs of this second are there already")
