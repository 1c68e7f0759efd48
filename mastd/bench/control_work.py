"""One job of the benches of the control: a case, a hidden truth, an axis, and what its plays show."""

from __future__ import annotations

import tempfile
from pathlib import Path

from mastd.bench.control_cases import CASES, Case
from mastd.bench.control_figures import motion_figures, response_figures
from mastd.bench.control_known import known_to_accuracy
from mastd.bench.control_plays import Played, play
from mastd.bench.control_profiles import wide_noise
from mastd.bench.control_results import Job, Result
from mastd.bench.control_truth import hidden_truth
from mastd.settings.profile import ProfileSettings

BEGINS_AT = 7.3
"""s of plant time at which a profile begins, about: supply, raising, settling come before."""


def play_case(job: Job, directory: Path) -> Result:
    """Return the figures of one case with one hidden truth along one axis."""
    case = CASES[job.group]
    played = _play(case, case.profile(job.axis), job.seed)
    if not played.completed:
        return Result({}, played.cause, played.indicated)
    figures = motion_figures(played, job.axis)
    if case.wide:
        wide = _play(case, wide_noise(job.axis), job.seed)
        if not wide.completed:
            return Result(figures, f"wide noise: {wide.cause}", played.indicated)
        figures |= response_figures(wide, job.axis)
    return Result(figures, None, played.indicated)


def _play(case: Case, profile: ProfileSettings, seed: int) -> Played:
    with tempfile.TemporaryDirectory(prefix="mastd-bench-") as place:
        house = case.variant.installation(Path(place))
        plant_table = None
        if case.plant_variant is not None:
            (Path(place) / "plant").mkdir()
            plant_table = case.plant_variant.installation(Path(place) / "plant").table_path
        truth = case.truth(hidden_truth(house.table, profile.payload, seed))
        return play(
            profile,
            truth,
            seed,
            on=house,
            identified=known_to_accuracy(truth, house.table, seed) if case.known else None,
            streamed=case.streamed,
            faults=[
                f"{name}@{BEGINS_AT + at} s" + (f":{value}" if value else "")
                for name, at, value in case.faults
            ],
            plant_table=plant_table,
        )
