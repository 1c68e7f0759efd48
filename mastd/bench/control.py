"""Benches of the table's control: a simulated table of hidden truth, its true motion beside what was asked.

``docs/theory.md`` has the figures. Each takes the median of all seeds, ``worst_`` the worst of them; a play
that did not reach its end counts as one that followed nothing. Files of results and ``--seeds`` make it
possible to go on after an interruption and to look at a single play.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mastd.bench.control_results import Job, Result, Results, carry_out, digest
from mastd.bench.control_stages import STAGES, play_stage
from mastd.bench.registry import Figure, Scope, long_bench
from mastd.settings.segments import AXES

UNITS = {
    "best_lag_nrmse": "1",
    "worst_best_lag_nrmse": "1",
    "raw_nrmse": "1",
    "lag_s": "s",
    "cross_axis": "1",
    "bandwidth_hz": "Hz",
    "flatness_db": "dB",
    "pose_error_m": "m",
    "internal_force_rms_n": "N",
    "stopped": "1",
}
OF_AN_AXIS = (
    "best_lag_nrmse",
    "worst_best_lag_nrmse",
    "raw_nrmse",
    "lag_s",
    "cross_axis",
    "bandwidth_hz",
    "flatness_db",
    "pose_error_m",
    "stopped",
)
NOTHING_FOLLOWED = {"best_lag_nrmse": 1.0, "raw_nrmse": 1.0, "cross_axis": 1.0, "bandwidth_hz": 0.0}


def _names(stage: str) -> Iterator[str]:
    for axis in AXES:
        yield from (f"control.{stage}.{axis}.{name}" for name in OF_AN_AXIS)
    yield f"control.{stage}.internal_force_rms_n"


@long_bench(*(name for stage in STAGES for name in _names(stage)))
def stages(wanted: Sequence[str], scope: Scope) -> dict[str, Figure]:
    """Play every stage and axis that is asked for with every seed."""
    asked = {(parts[1], parts[2]) for parts in (name.split(".") for name in wanted)}
    chosen = [
        (stage, axis)
        for stage in STAGES
        for axis in AXES
        if (stage, axis) in asked or (stage, "internal_force_rms_n") in asked
    ]
    results = Results(scope.directory, digest())
    jobs = [Job(stage, seed, axis) for stage, axis in chosen for seed in scope.seeds]
    carry_out(jobs, results, play_stage, scope.directory, scope.tell)
    figures: dict[str, Figure] = {}
    for stage, axis in chosen:
        found = [results.get(Job(stage, seed, axis)) for seed in scope.seeds]
        figures |= _of_axis(f"control.{stage}.{axis}", [result for result in found if result is not None])
    for stage in dict.fromkeys(stage for stage, _ in chosen):
        forces = [
            result.figures["internal_force_rms_n"]
            for result in (results.get(job) for job in jobs if job.group == stage)
            if result is not None and "internal_force_rms_n" in result.figures
        ]
        if forces:
            name = f"control.{stage}.internal_force_rms_n"
            figures[name] = Figure(float(np.median(forces)), "N", len(forces))
    return figures


def _of_axis(begin: str, results: Sequence[Result]) -> dict[str, Figure]:
    """Return the figures of an axis over all its plays."""
    figures = {f"{begin}.stopped": Figure(sum(r.cause is not None for r in results), "1", len(results))}
    for name in OF_AN_AXIS:
        values = [
            value
            for value in (r.figures.get(name, NOTHING_FOLLOWED.get(name)) for r in results)
            if value is not None
        ]
        if values:
            figures[f"{begin}.{name}"] = Figure(float(np.median(values)), UNITS[name], len(values))
        if values and name == "best_lag_nrmse":
            figures[f"{begin}.worst_{name}"] = Figure(max(values), UNITS[name], len(values))
    return figures
