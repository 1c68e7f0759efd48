"""``hil-sim soak``: random profiles, commands and faults in virtual time, invariants after every cycle."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from mastd import units
from mastd.commands.plant_options import seed

if TYPE_CHECKING:
    from hil_sim.soak.soak import SoakResult, Tally

MAX_HOURS = 1000.0
_REDRAW_S = 0.5


def add_parsers(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the parser of ``soak``."""
    parser = subparsers.add_parser(
        "soak",
        help="random profiles, commands and faults in virtual time",
        description=__doc__,
        epilog="exit codes: 0 clean, 1 an invariant was violated, 2 usage or configuration",
    )
    add = parser.add_argument
    add("--hours", metavar="H", type=_hours, default=1.0, help="simulated hours (1)")
    add("--seed", metavar="N", type=seed, default=1, help="makes everything that is random (1)")
    add("--faults-per-minute", metavar="F", type=_rate, default=1.0, help="faults per simulated minute (1)")
    add("--episode", metavar="K", type=int, help="only this episode of the seed, to see a violation again")
    add("--out", metavar="DIR", type=Path, default=Path("soak"), help="records of violations go here (soak)")
    add("--table", metavar="FILE", default="table", help="table settings (default: the starter table)")
    add("--config", metavar="FILE", default="simulated", help="daemon settings (simulated)")
    add("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Soak; return 0 when every invariant held, 1 otherwise."""
    from hil_sim.soak.soak import SoakOptions, soak
    from mastd.settings.core.starter import find

    options = SoakOptions(
        find("table", arguments.table),
        find("daemon", arguments.config),
        arguments.hours,
        arguments.seed,
        arguments.faults_per_minute,
        arguments.episode,
        arguments.out,
    )
    progress = _Progress() if sys.stderr.isatty() and not arguments.json else None
    try:
        result = soak(options, progress)
    finally:
        if progress is not None:
            progress.clear()
    print(json.dumps(document(result)) if arguments.json else text(result))
    return 0 if result.violation is None else 1


def document(result: SoakResult) -> dict[str, object]:
    """Return the result as plain data."""
    tally, violation = result.tally, result.violation
    return {
        "ok": violation is None,
        "seed": result.options.seed,
        "faults_per_minute": result.options.faults_per_minute,
        "cycles": tally.cycles,
        "missed": tally.missed,
        "simulated_h": result.simulated_s / 3600.0,
        "wall_s": result.wall_s,
        "runs_completed": tally.completed,
        "faults": dict(sorted(tally.faults.items())),
        "detected": dict(sorted(tally.codes.items())),
        "commands": {
            verb: {"accepted": tally.accepted[verb], "refused": tally.refused[verb]}
            for verb in sorted({*tally.accepted, *tally.refused})
        },
        "states": dict(sorted(tally.states.items())),
        "invariants": dict(tally.invariants),
        "largest": tally.maxima,
        "memory_mib": tally.memory[-1][1] if tally.memory else None,
        "memory_slope_mib_per_h": result.memory_slope,
        "digest": result.digest,
        "violation": None
        if violation is None
        else {
            "rule": violation.rule,
            "detail": violation.detail,
            "cycle": violation.cycle,
            "time_s": violation.time_s,
            "episode": result.episode,
            "record": None if result.record is None else str(result.record),
            "replay": result.replay,
        },
    }


def text(result: SoakResult) -> str:
    """Return the result for people."""
    tally, violation = result.tally, result.violation
    hours = result.simulated_s / 3600.0
    speed = result.simulated_s / result.wall_s if result.wall_s > 0.0 else 0.0
    verbs = sorted({*tally.accepted, *tally.refused})
    lines = [
        f"cycles       {tally.cycles} ({hours:.2f} h simulated, {tally.missed} periods missed on purpose)",
        f"wall time    {result.wall_s:.0f} s, {speed:.0f} times as fast as real",
        f"profiles     {tally.completed} completed",
        f"faults       {sum(tally.faults.values())}: {_listed(tally.faults)}",
        f"detected     {sum(tally.codes.values())}: {_listed(tally.codes)}",
        "commands     "
        + ", ".join(f"{verb} {tally.accepted[verb]}+{tally.refused[verb]}" for verb in verbs)
        + " (accepted + refused)",
        f"invariants   {sum(tally.invariants.values())} checks: {_listed(tally.invariants)}",
        f"largest      {', '.join(f'{name} {value:.3g}' for name, value in tally.maxima.items())}",
        f"memory       {tally.memory[-1][1]:.0f} MiB, {result.memory_slope:+.1f} MiB per simulated hour"
        if tally.memory
        else "memory       not measured",
        f"digest       {result.digest}",
    ]
    if violation is None:
        return "\n".join([*lines, "clean"])
    lines.append(f"VIOLATED     {violation.text}")
    if result.record is not None:
        lines.append(f"record       {result.record}")
    return "\n".join([*lines, f"again        {result.replay}"])


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items(), key=lambda item: -item[1]))


class _Progress:
    """One line on the terminal, redrawn twice a second."""

    def __init__(self) -> None:
        self._begun = self._drawn = time.monotonic()

    def __call__(self, done: float, total: float, tally: Tally) -> None:
        now = time.monotonic()
        if now - self._drawn < _REDRAW_S:
            return
        self._drawn = now
        left = (now - self._begun) * (total - done) / max(done, 1.0)
        print(
            f"\r\x1b[K{done / 60:.1f} of {total / 60:.1f} simulated minutes, {tally.completed} profiles,"
            f" {sum(tally.faults.values())} faults, {left:.0f} s left",
            end="",
            file=sys.stderr,
            flush=True,
        )

    def clear(self) -> None:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _hours(value: str) -> float:
    hours = _number(value)
    if not 0.0 < hours <= MAX_HOURS:
        raise argparse.ArgumentTypeError(f"must be above 0 and at most {MAX_HOURS:g}, not {value}")
    return hours


def _rate(value: str) -> float:
    rate = _number(value)
    if not 0.0 <= rate <= 600.0:
        raise argparse.ArgumentTypeError(f"must be 0 to 600 a minute, not {value}")
    return rate


def _number(value: str) -> float:
    try:
        return units.parse(value, units.RATIO)
    except units.UnitError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
