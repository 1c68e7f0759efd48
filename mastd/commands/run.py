"""`mastd run PROFILE`: play one profile, record it, report, verdict."""

from __future__ import annotations

import argparse
import json
import re
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from mastd.commands.report import exit_code, summary
from mastd.errors import StoppedError, UsageError

if TYPE_CHECKING:
    from mastd.commands import Subparsers
    from mastd.loop.plan import Plan
    from mastd.loop.script import StopRequest
    from mastd.loop.session import Connection, Ending
    from mastd.wire.hello import Mode


def add_parsers(subparsers: Subparsers) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser("run", help="play one profile, record, report, verdict")
    parser.add_argument("profile", help="profile file, or the name of a starter profile")
    plant = parser.add_mutually_exclusive_group()
    plant.add_argument("--sim", action="store_true", help="a simulated plant of its own (the default)")
    plant.add_argument("--plant", metavar="ADDRESS", help="address of a plant that is already there")
    parser.add_argument(
        "--allow-remote",
        action="store_true",
        help="permit a --plant address on another machine; the link is not protected",
    )
    parser.add_argument("--link", choices=("direct", "socket"), help="kind of link to a plant of its own")
    parser.add_argument("--lockstep", action="store_true", help="plant and loop step by step, repeatable")
    parser.add_argument(
        "--out", default="runs", metavar="DIR", help="directory for the record (default: runs)"
    )
    parser.add_argument("--table", default="table", metavar="FILE", help="table settings")
    parser.add_argument("--config", metavar="FILE", help="daemon settings (default: simulated, or real)")
    parser.add_argument("--truth", metavar="FILE", help="what the simulated plant really is")
    parser.add_argument("--seed", type=seed, default=0, help="seed of the simulated plant")
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="NAME@TIME[:VALUE]",
        help="fault in the simulated plant",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document, nothing else")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Check, play, record and judge; return 0 pass, 1 fail or stopped, 3 fault.

    Ctrl-C and SIGTERM are heard from here to the end: before anything moves they end the run at once,
    afterwards they ask for a soft stop, and the document is printed all the same.
    """
    from mastd.loop.script import StopRequest

    stop = StopRequest()

    def ask(number: int, frame: FrameType | None) -> None:
        stop.requested = True

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        return _run(arguments, stop)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _run(arguments: argparse.Namespace, stop: StopRequest) -> int:
    from mastd.loop.plan import Plan
    from mastd.motion.preflight import check
    from mastd.record.reader import open_run
    from mastd.record.report import write_page
    from mastd.record.result import make_result
    from mastd.settings.starter import find

    if arguments.plant and arguments.link == "direct":
        raise UsageError("--link direct is for a simulated plant of the run's own; leave out --plant")
    if arguments.plant and (arguments.truth or arguments.fault):
        raise UsageError("--truth and --fault are for a simulated plant of the run's own; leave out --plant")
    live = not arguments.json and sys.stderr.isatty()
    if live:
        print("preparing; the very first run compiles the kernels, which takes a minute", file=sys.stderr)
    plan = Plan.load(
        find("table", arguments.table),
        find("profile", arguments.profile),
        find("daemon", arguments.config or ("real" if arguments.plant else "simulated")),
    )
    verdict = check(plan.profile, plan.table)
    if not verdict.ok:
        raise UsageError(f"{plan.profile_path}: refused, it does not pass the check:\n{verdict.text()}")
    if stop.requested:
        raise StoppedError("stopped before anything moved")
    directory = Path(arguments.out) / f"{_slug(plan.profile.name)}-{time.strftime('%Y%m%d-%H%M%S')}"
    record_path = _fresh(directory) / "run.mcap"
    ending = _play(plan, _connection(arguments, plan), record_path, live, stop)
    record = open_run(record_path)
    result = make_result(record)
    _tell_recorder_loss(result, ending)
    page = record_path.with_name("report.png")
    write_page(record, result, page)
    result["page"] = str(page)
    if arguments.json:
        print(json.dumps(result, allow_nan=False))
    else:
        print(summary(result))
        if ending.rights.degraded:
            print(f"  DEGRADED_RT: {ending.rights.missing}")
    return exit_code(result)


def _tell_recorder_loss(result: dict[str, object], ending: Ending) -> None:
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


def _play(plan: Plan, connection: Connection, record_path: Path, live: bool, stop: StopRequest) -> Ending:
    from mastd.loop.lock import plant_lock
    from mastd.loop.session import run as play

    with plant_lock(connection.address):
        return play(plan, connection, record_path, live, stop)


def _connection(arguments: argparse.Namespace, plan: Plan) -> Connection:
    from mastd.loop.session import Connection
    from mastd.wire.provider import PlantRequest, rigid_payload

    mode: Mode = "lockstep" if arguments.lockstep else "free-run"
    return Connection(
        arguments.plant,
        arguments.link or "socket",
        mode,
        PlantRequest(
            table_path=plan.table_path,
            truth_path=Path(arguments.truth) if arguments.truth else None,
            payload=rigid_payload(plan.profile),
            mode=mode,
            period_ns=plan.daemon.period_ns,
            seed=arguments.seed,
            faults=tuple(arguments.fault),
        ),
        arguments.allow_remote,
    )


def seed(text: str) -> int:
    """Return a seed; argparse tells who gives another one."""
    number = int(text)
    if not 0 <= number < 1 << 63:
        raise argparse.ArgumentTypeError("a seed is a whole number from 0 to 2^63 - 1")
    return number


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "run"


def _fresh(directory: Path) -> Path:
    """Return a directory that does not exist yet: two runs may begin in the same second."""
    for suffix in ("", *(f"-{count}" for count in range(2, 1000))):
        candidate = directory.with_name(directory.name + suffix)
        if not candidate.exists():
            return candidate
    raise UsageError(f"{directory}: a thousand runs of this second are there already")
