"""Benches of the table's control: a simulated table of hidden truth, its true motion beside what was asked.

``docs/theory.md`` has the figures. Each takes the median of all seeds, ``worst_`` the worst of them; a play
that did not reach its end counts as one that followed nothing. Files of results and ``--seeds`` make it
possible to go on after an interruption and to look at a single play.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from mastd.bench.control_cases import CASES
from mastd.bench.control_results import Job, Result, Results, carry_out, digest
from mastd.bench.control_work import play_case
from mastd.bench.registry import Figure, Scope, long_bench

UNITS: Mapping[str, str] = MappingProxyType(
    {
        "lag_s": "s",
        "bandwidth_hz": "Hz",
        "flatness_hz": "Hz",
        "internal_force_rms_n": "N",
    }
)
"""Of those figures that are no ratios or counts."""
NOTHING_FOLLOWED: Mapping[str, float] = MappingProxyType(
    {"best_lag_nrmse": 1.0, "raw_nrmse": 1.0, "cross_axis": 1.0, "bandwidth_hz": 0.0, "flatness_hz": 0.0}
)
WORST = "worst_"


def case_names() -> Iterator[str]:
    """Return the names of all figures of all cases."""
    for group, case in CASES.items():
        for axis in case.axes:
            yield from (f"control.{group}.{axis}.{name}" for name in (*case.figures, "stopped"))
        yield f"control.{group}.internal_force_rms_n"


@long_bench(*case_names())
def cases(wanted: Sequence[str], scope: Scope) -> dict[str, Figure]:
    """Play every case and axis that is asked for with every seed."""
    asked = frozenset(wanted)
    chosen = [
        (group, axis)
        for group, case in CASES.items()
        for axis in case.axes
        if f"control.{group}.internal_force_rms_n" in asked
        or any(f"control.{group}.{axis}.{name}" in asked for name in (*case.figures, "stopped"))
    ]
    results = Results(scope.directory, digest())
    jobs = [Job(group, seed, axis) for group, axis in chosen for seed in scope.seeds]
    carry_out(jobs, results, play_case, scope.directory, scope.tell)
    found = {job: result for job in jobs for result in (results.get(job),) if result is not None}
    figures: dict[str, Figure] = {}
    for group, axis in chosen:
        own = [result for job, result in found.items() if (job.group, job.axis) == (group, axis)]
        for name in CASES[group].figures:
            figures |= _figure(f"control.{group}.{axis}", name, own)
        stopped = sum(result.cause is not None for result in own)
        figures[f"control.{group}.{axis}.stopped"] = Figure(stopped, "1", len(own))
    for group in dict.fromkeys(group for group, _ in chosen):
        own = [result for job, result in found.items() if job.group == group]
        figures |= _figure(f"control.{group}", "internal_force_rms_n", own)
    return figures


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
    return {f"{begin}.{name}": Figure(value, UNITS.get(own, "1"), len(values))}
