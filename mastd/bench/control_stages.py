"""The stages of the table's control: how well a play goes with what is known by then."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from mastd.bench.control_figures import motion_figures, response_figures
from mastd.bench.control_plays import Played, play
from mastd.bench.control_profiles import BAND, WIDE_BAND, noise, wide_noise
from mastd.bench.control_results import Job, Result
from mastd.bench.control_truth import hidden_truth
from mastd.bench.control_variants import Variant
from mastd.settings.profile import ProfileSettings

MOTION = ("raw_nrmse", "best_lag_nrmse", "lag_s", "cross_axis", "internal_force_rms_n", "pose_error_m")
RESPONSE = ("bandwidth_hz", "flatness_db")
FLAT_UP_TO = 20.0
"""Hz up to which the response is to be flat."""


@dataclass(frozen=True)
class Stage:
    """What the control knows and may do; ``wide``: a play of wide noise shows the bandwidth, too."""

    variant: Variant = field(default_factory=Variant)
    identified: bool = False
    wide: bool = True


STAGES: dict[str, Stage] = {
    "first": Stage(),
}


def play_stage(job: Job, directory: Path) -> Result:
    """Return the figures of one stage with one hidden truth along one axis."""
    stage = STAGES[job.group]
    profile = noise(job.axis)
    played = _play(stage, profile, job.seed)
    figures = motion_figures(played, job.axis, BAND) if played.completed else {}
    cause = played.cause
    if stage.wide and played.completed:
        wide = _play(stage, wide_noise(job.axis), job.seed)
        if wide.completed:
            figures |= response_figures(wide, job.axis, FLAT_UP_TO, WIDE_BAND)
        cause = wide.cause
    return Result(figures, cause)


def _play(stage: Stage, profile: ProfileSettings, seed: int) -> Played:
    with tempfile.TemporaryDirectory(prefix="mastd-bench-") as directory:
        house = stage.variant.installation(Path(directory))
        return play(profile, hidden_truth(house.table, profile.payload, seed), seed, on=house)
