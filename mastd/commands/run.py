"""`mastd run PROFILE`: play one profile, record it, report, verdict."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from mastd.commands.plant_options import add_plant_options, daemon_settings, rigs_settings, stop_on_signals
from mastd.commands.progress import riding
from mastd.commands.recorded_play import add_play_options, judged, preparing, recorded_play
from mastd.commands.report import exit_code, summary, write_run_page
from mastd.errors import FormatError
from mastd.program import tell_result

if TYPE_CHECKING:
    from mastd.commands import Subparsers
    from mastd.loop.process.script import StopRequest


def add_parsers(subparsers: Subparsers) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser("run", help="run one profile: record, report, verdict")
    parser.add_argument("profile", help="profile file, or the name of a starter profile")
    add_plant_options(parser)
    add_play_options(parser)
    parser.add_argument(
        "--identified", metavar="FILE", help="values from `mastd identify`, instead of the nominal settings"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Check, play, record and judge; return 0 pass, 1 fail, 3 fault, 5 stopped.

    Ctrl-C and SIGTERM are heard from here to the end: before anything moves they end the run at once,
    afterwards they ask for a soft stop, and the document is printed all the same.
    """
    with stop_on_signals() as stop:
        return _run(arguments, stop)


def _run(arguments: argparse.Namespace, stop: StopRequest) -> int:
    from mastd.loop.process.installation import Plan
    from mastd.report.pages.run import default_page, run_page
    from mastd.settings.core.starter import find

    with preparing(arguments) as live:
        plan = Plan.load(
            find("table", arguments.table),
            find("profile", arguments.profile),
            daemon_settings(arguments),
            Path(arguments.identified) if arguments.identified else None,
            rigs_settings(arguments),
        )
        with riding(shown=live) as progress:
            verdict = plan.check(progress)
        record_path, outcome = recorded_play(arguments, plan, verdict, stop, live=live)
    result, record = judged(record_path, outcome)
    result["page"] = None
    if record is not None:
        try:
            write_run_page(run_page(record, result), default_page(record_path), result)
        except FormatError as error:  # a full disk must not hide how the run went
            result["no_page"] = str(error)
    if arguments.json:
        tell_result(json.dumps(result, allow_nan=False))
    else:
        tell_result(summary(result))
        if outcome.rights.degraded:
            tell_result(f"  DEGRADED_RT: {outcome.rights.missing}")
    return exit_code(result)
