"""The figures of ``mastd.bench.formulations.bench`` as tables in Markdown, measured again.

``python -m mastd.bench.formulations.table [VEHICLE …]`` writes one table for each vehicle.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from mastd.bench.formulations.bench import SOLVERS, name_of, of_vehicle
from mastd.bench.registry import Figure
from mastd.vehicle.model.library import names

HEADINGS = ("solver", "µs a step", "operations", "largest step", "µs a simulated ms", "joint error")


def table(vehicle: str, figures: Mapping[str, Figure]) -> str:
    """Return one vehicle's figures as a table in Markdown; what was not measured or not reached is a dash.

    ``µs a simulated ms``: of steps as large as they can be.
    """
    lines = [f"**{vehicle}**", "", _line(HEADINGS), _line(["---", *["---:"] * (len(HEADINGS) - 1)])]
    for solver in SOLVERS:
        own = {
            measure: figures[name].median
            for measure in ("us", "operations", "largest_step_ms", "joint_error_m")
            if (name := name_of(vehicle, solver, measure)) in figures
        }
        if own:
            lines.append(_line([f"`{solver}`", *_cells(own)]))
    return "\n".join(lines) + "\n"


def _cells(own: Mapping[str, float]) -> list[str]:
    each = own["us"] / own["largest_step_ms"] if {"us", "largest_step_ms"} <= set(own) else None
    return [
        f"{own['us']:.3g}" if "us" in own else "–",
        f"{own['operations']:,.0f}" if "operations" in own else "–",
        f"{own['largest_step_ms']:g} ms" if "largest_step_ms" in own else "–",
        "–" if each is None else f"{each:.3g}",
        f"{own['joint_error_m']:.0e} m" if "joint_error_m" in own else "–",
    ]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _main(vehicles: Sequence[str]) -> None:
    for vehicle in vehicles or names():
        sys.stdout.write(table(vehicle, of_vehicle(vehicle, SOLVERS)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _main(sys.argv[1:])
