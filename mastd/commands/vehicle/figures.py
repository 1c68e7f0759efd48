"""``mastd vehicle figures``: figures of handling, ride and braking against closed formulas."""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path

from mastd.commands.vehicle.options import deliver, solver_of
from mastd.commands.vehicle.text import aligned, entries, finding_lines
from mastd.formats.core.columns import write_columns
from mastd.record.plain import plain
from mastd.vehicle.manoeuvres.base import KM_PER_H
from mastd.vehicle.manoeuvres.figures import figures
from mastd.vehicle.model.library import find

_SPEED = 80.0 * KM_PER_H


def run_figures(arguments: argparse.Namespace, given: dict[str, float]) -> int:
    """Print, write or both: the figures of a vehicle."""
    model = find(arguments.vehicle)
    shown = sys.stderr.isatty() and not arguments.json
    speed = given.get("speed", _SPEED)

    def show_part(part: str) -> None:
        if shown:
            print(f"\r\x1b[K{part} …", end="", file=sys.stderr, flush=True)

    found = figures(
        model,
        speed=speed,
        step=given.get("step", 1e-3),
        solver=solver_of(arguments),
        accuracy="fast",
        report=show_part,
    )
    if shown:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    if arguments.target:
        names = tuple(finding.key for finding in found)
        values = [finding.value if math.isfinite(finding.value) else None for finding in found]

        def write(path: Path) -> None:
            with path.open("w", encoding="utf-8", newline="") as file:
                write_columns(file, names, [values])

        deliver(arguments.target, write)
    if arguments.json:
        document = {"vehicle": model.name, "speed_ms": speed, "figures": entries(found)}
        print(json.dumps(plain(document), allow_nan=False))
        return 0
    print(f"{model.name}, at {speed * 3.6:.4g} km/h")
    print(aligned(finding_lines(found)))
    return 0
