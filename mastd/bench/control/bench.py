"""Benches of the table's control: a simulated table of hidden truth, its true motion beside what was asked.

``docs/theory.md`` has the figures. Each takes the median of all seeds, ``worst_`` the worst of them; a play
that did not reach its end counts as one that followed nothing. Files of results and ``--seeds`` make it
possible to continue after an interruption and to look at a single play.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np

from mastd.bench.control.groups import GROUPS
from mastd.bench.control.results import Job, Result, Results, carry_out, digest
from mastd.bench.registry import Figure, Scope, long_bench
from mastd.errors import MastdError

UNITS: Mapping[str, str] = MappingProxyType({"_s": "s", "_hz": "Hz", "_n": "N", "_m": "m"})
"""By the end of a figure's name; all others are ratios and counts."""
NOTHING_FOLLOWED: Mapping[str, float] = MappingProxyType(
    {"best_lag_nrmse": 1.0, "raw_nrmse": 1.0, "cross_axis": 1.0, "bandwidth_hz": 0.0, "flatness_hz": 0.0}
)
WORST = "worst_"
FORCE = "internal_force_rms_n"


def names_of(group: str, axis: str) -> Iterator[str]:
    """Return the names of the figures of one axis."""
    yield from (f"control.{group}.{axis}.{name}" for name in (*GROUPS[group].figures, "stopped"))


@long_bench(
    *(
        name
        for group, of_group in GROUPS.items()
        for name in (
            *(name for axis in of_group.axes for name in names_of(group, axis)),
            *((f"control.{group}.{FORCE}",) if "raw_nrmse" in of_group.figures else ()),
        )
    )
)
def control(wanted: Sequence[str], scope: Scope) -> dict[str, Figure]:
    """Play every group and axis that is asked for with every seed."""
    asked = frozenset(wanted)
    chosen = [
        (group, axis)
        for group, of_group in GROUPS.items()
        for axis in of_group.axes
        if f"control.{group}.{FORCE}" in asked or not asked.isdisjoint(names_of(group, axis))
    ]
    made_with = digest()
    results = Results(scope.directory, made_with)
    directory = scope.directory / f"found-{made_with}"
    directory.mkdir(exist_ok=True)
    for wave in _waves([Job(group, seed, axis) for group, axis in chosen for seed in scope.seeds]):
        carry_out(wave, results, work, directory, scope.report)
    figures: dict[str, Figure] = {}
    by_group: dict[str, list[Result]] = {}
    for group, axis in chosen:
        found = [results.get(Job(group, seed, axis)) for seed in scope.seeds]
        own = [result for result in found if result is not None]
        by_group.setdefault(group, []).extend(own)
        for name in GROUPS[group].figures:
            figures |= _figure(f"control.{group}.{axis}", name, own)
        stopped = sum(result.cause is not None for result in own)
        figures[f"control.{group}.{axis}.stopped"] = Figure(stopped, "1", len(own))
    for group, own in by_group.items():
        figures |= _figure(f"control.{group}", FORCE, own)
    return figures


def work(job: Job, directory: Path) -> Result:
    """Do one job; what keeps it from being done is its cause."""
    try:
        return GROUPS[job.group].work(job, directory)
    except (MastdError, ValueError) as error:
        return Result({}, str(error))


def _waves(jobs: Sequence[Job]) -> list[list[Job]]:
    """Return the jobs behind those that they need, wave by wave."""
    waves = [list(jobs)]
    while True:
        needed = [Job(group, job.seed, axis) for job in waves[0] for group, axis in GROUPS[job.group].needs]
        if not needed:
            return waves
        waves.insert(0, list(dict.fromkeys(needed)))


def _figure(begin: str, name: str, results: Sequence[Result]) -> dict[str, Figure]:
    """Return one figure over several plays, none where no play has it."""
    own = name.removeprefix(WORST)
    values = [
        value
        for value in (result.figures.get(own, NOTHING_FOLLOWED.get(own)) for result in results)
        if value is not None
    ]
    if not values:
        return {}
    value = max(values) if name.startswith(WORST) else float(np.median(values))
    unit = next((unit for end, unit in UNITS.items() if own.endswith(end)), "1")
    return {f"{begin}.{name}": Figure(value, unit, len(values))}
