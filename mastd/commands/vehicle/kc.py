"""``mastd vehicle kc``: how the wheels stand as they travel and as the rack moves, the chassis held."""

from __future__ import annotations

import argparse
import csv
import json
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.commands.vehicle.options import deliver
from mastd.commands.vehicle.text import fixed, table_text
from mastd.record.plain import plain
from mastd.vehicle.kinematics.suspension import POINTS, AxleKinematics, Sweep, suspension_kinematics
from mastd.vehicle.model.library import find

_PER_CORNER: Final = {
    "travel_m": "travel",
    "camber_rad": "camber",
    "toe_rad": "toe",
    "steer_rad": "steer",
    "castor_rad": "castor",
    "kingpin_inclination_rad": "kingpin_inclination",
    "castor_offset_m": "castor_offset",
    "kingpin_offset_m": "kingpin_offset",
    "recession_m": "recession",
    "spring_length_m": "spring_length",
    "motion_ratio": "motion_ratio",
}
"""Column or key → field of ``Sweep`` with a value for each corner, (n, corners)."""
_PER_AXLE: Final = {
    "rack_m": "rack",
    "track_m": "track",
    "track_change_m": "track_change",
    "ackermann": "ackermann",
}
"""Column or key → field of ``Sweep`` with one value for the axle, (n)."""


def run_kc(arguments: argparse.Namespace, given: dict[str, float]) -> int:
    """Print, write or draw the kinematics of every axle."""
    from mastd.vehicle.plots.manoeuvre import check_format, write_kinematics

    if arguments.plot:
        check_format(arguments.plot)
    model = find(arguments.vehicle)
    shown = sys.stderr.isatty() and not arguments.json
    axles = suspension_kinematics(
        model,
        travel=_range(given.get("travel")),
        rack=_range(given.get("rack_travel")),
        watch=_report if shown else None,
    )
    if shown:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    if arguments.target:
        deliver(arguments.target, lambda path: _write(path, axles))
    if arguments.plot:
        write_kinematics(axles, f"{model.name}: kinematics of the suspension", arguments.plot)
    if arguments.json:
        print(json.dumps(plain(_document(axles)), allow_nan=False))
    else:
        print("\n\n".join(_page(axle) for axle in axles))
    return 0


def _range(amount: float | None) -> FloatArray | None:
    return None if amount is None else np.linspace(-amount, amount, POINTS)


def _report(axle: str) -> None:
    print(f"\r\x1b[Kaxle {axle} …", end="", file=sys.stderr, flush=True)


def _document(axles: Sequence[AxleKinematics]) -> dict[str, object]:
    return {
        "axles": [
            {
                "axle": axle.axle,
                "corners": axle.travel.corners,
                "travel": _sweep(axle.travel),
                "steer": [{"drive": turned.drive, **_sweep(turned)} for turned in axle.steer],
            }
            for axle in axles
        ]
    }


def _sweep(sweep: Sweep) -> dict[str, object]:
    """Return (n, corners) and (n) lists under their names."""
    return {name: getattr(sweep, field) for name, field in (_PER_CORNER | _PER_AXLE).items()}


def _write(path: Path, axles: Sequence[AxleKinematics]) -> None:
    """Write one row for each position and corner; cells of what does not exist are empty."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("axle", "sweep", "corner", *_PER_CORNER, *_PER_AXLE))
        for axle in axles:
            for sweep in (axle.travel, *axle.steer):
                writer.writerows(_rows(sweep))


def _rows(sweep: Sweep) -> Iterator[tuple[str, ...]]:
    for index, corner in enumerate(sweep.corners):
        for row in range(len(sweep.rack)):
            values = [
                *(getattr(sweep, field)[row, index] for field in _PER_CORNER.values()),
                *(getattr(sweep, field)[row] for field in _PER_AXLE.values()),
            ]
            cells = ("" if not math.isfinite(value) else repr(float(value)) for value in values)
            yield (sweep.axle, sweep.drive or "travel", corner, *cells)


def _page(axle: AxleKinematics) -> str:
    """Return the first corner's values at both ends and in the middle of each sweep, and the axle's track."""
    sweep = axle.travel
    lines = [f"axle {axle.axle}, wheel {sweep.corners[0]}", ""]
    header = ("travel, mm", "camber, deg", "toe-in, deg", "track change, mm", "motion ratio")
    rows = [
        [
            fixed(1e3 * sweep.travel[row, 0], 1),
            fixed(math.degrees(sweep.camber[row, 0]), 4),
            fixed(math.degrees(sweep.toe[row, 0]), 4),
            fixed(1e3 * sweep.track_change[row], 3),
            fixed(sweep.motion_ratio[row, 0], 4).rjust(len(header[-1])),
        ]
        for row in _shown(len(sweep.rack))
    ]
    lines.append(table_text(header, rows))
    for turned in axle.steer:
        names = [f"steer {corner}, deg" for corner in turned.corners]
        table = [
            [
                fixed(1e3 * turned.rack[row], 1),
                *(fixed(math.degrees(angle), 4) for angle in turned.steer[row]),
                fixed(turned.ackermann[row], 3) if math.isfinite(turned.ackermann[row]) else "-",
            ]
            for row in _shown(len(turned.rack))
        ]
        lines.extend(("", table_text((f"{turned.drive}, mm", *names, "Ackermann"), table)))
    return "\n".join(lines)


def _shown(count: int) -> list[int]:
    """Return five positions, or all where there are fewer."""
    return sorted({round(ratio * (count - 1) / 4) for ratio in range(5)})
