"""`mastd latency`: measure this machine, and say what rate it can hold and what to change."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mastd.commands import Subparsers
    from mastd.latency.judge import Tolerance
    from mastd.settings.daemon.daemon import DaemonSettings

MAX_S = 24 * 3600.0
MIN_S = 0.2


def add_parsers(subparsers: Subparsers) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "latency", help="measure the scheduling latency and the rate this machine can hold"
    )
    parser.add_argument("--duration", default="10s", metavar="TIME", help="total time (10s)")
    parser.add_argument("--rate", default="1kHz", metavar="RATE", help="required rate (1kHz)")
    parser.add_argument("--load", action="store_true", help="load all processors during the measurement")
    parser.add_argument("--cpu", type=int, metavar="N", help="measure on this processor")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Measure and print; return 0."""
    from mastd import units
    from mastd.commands.progress import Progress
    from mastd.commands.quantities import positive
    from mastd.errors import UsageError
    from mastd.latency.advice import advise
    from mastd.latency.judge import Tolerances, Verdict, highest_rate, sentences, verdict
    from mastd.latency.machine import read_machine
    from mastd.latency.survey import survey
    from mastd.latency.text import page
    from mastd.settings.core.loader import load
    from mastd.settings.core.starter import find
    from mastd.settings.daemon.daemon import DaemonSettings

    seconds = positive("--duration", arguments.duration, units.TIME)
    if not MIN_S <= seconds <= MAX_S:
        raise UsageError(f"--duration: {arguments.duration} is not between 0.2 s and 24 h")
    rate = positive("--rate", arguments.rate, units.FREQUENCY)
    if not 100.0 <= rate <= 10_000.0:
        raise UsageError(f"--rate: {arguments.rate} is not between 100 Hz and 10 kHz")
    processor = _processor(arguments.cpu)
    _refuse_beside_a_daemon()
    simulated = load(find("daemon", "simulated"), DaemonSettings)
    real = load(find("daemon", "real"), DaemonSettings)
    tolerances = Tolerances(_tolerance(real), _tolerance(simulated))
    settings = real.realtime.model_copy(update={"cpu": processor})
    shown = sys.stderr.isatty()
    with Progress(lambda done: f"latency: {done:.0%} of {seconds:g} s", shown=shown) as progress:
        measured = survey(settings, rate, seconds, arguments.load, progress)
    machine = read_machine()
    lines, advice = sentences(measured, tolerances), advise(measured, machine)
    if not arguments.json:
        print(page(measured, machine, lines, advice))
        return 0
    kinds = [measured.ordinary, *([measured.real_time] if measured.real_time else [])]
    document = {
        "rate_hz": rate,
        "duration_s": seconds,
        "load": measured.own_load,
        "processor": measured.processor,
        "good_for": verdict(measured, rate, tolerances).value,
        "highest_rate_hz": {
            wanted.value: highest_rate(measured, tolerances, wanted)
            for wanted in (Verdict.REAL, Verdict.TOLERATED, Verdict.SIMULATED)
        },
        "judgement": lines,
        "advice": [{"what": item.what, "why": item.why, "how": item.how} for item in advice],
        "wake_ups": [kind.as_json() for kind in kinds],
        "stalls": measured.stalls.as_json(),
        "busy": {
            "busy": measured.busy.busy,
            "stolen": measured.busy.stolen,
            "load_average": measured.busy.load_average,
        },
        "rights": [
            {"name": right.name, "obtained": right.obtained, "found": right.found, "advice": right.advice}
            for right in measured.rights
        ],
        "machine": machine.as_json(),
    }
    print(json.dumps(document, allow_nan=False))
    return 0


def _refuse_beside_a_daemon() -> None:
    """Raise UsageError when a daemon runs here: a real-time thread that never sleeps would stop its loop."""
    from mastd.errors import UsageError
    from mastd.wire.common.address import OPERATORS_SOCKET, SERVICE_DIRECTORY, operators_address, usual_daemon

    for address in (operators_address(), f"ipc://{SERVICE_DIRECTORY}/{OPERATORS_SOCKET}"):
        process_id = usual_daemon(address)
        if process_id is not None:
            raise UsageError(
                f"a daemon with process id {process_id} is running, and measuring would take processor"
                " time from it: lower the table and end it first (sudo systemctl stop mastd, or Ctrl-C in "
                "its terminal)"
            )


def _tolerance(daemon: DaemonSettings) -> Tolerance:
    from mastd.latency.judge import Tolerance

    return Tolerance(daemon.overrun.maximum_missed, daemon.overrun.late_share)


def _processor(number: int | None) -> int | None:
    """Return the processor that is asked for; raise UsageError when this process may not run there."""
    import os

    from mastd.errors import UsageError

    if number is not None and number not in os.sched_getaffinity(0):
        usable = ", ".join(map(str, sorted(os.sched_getaffinity(0))))
        raise UsageError(f"--cpu: processor {number} cannot be used; available: {usable}")
    return number
