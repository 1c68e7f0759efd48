"""Benches of the force balance and of sines: plays with the starter settings or a part switched off."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np

from mastd.bench.control.cases import FULL_FORCE, PATIENT_GUARD
from mastd.bench.control.figures import axis_figures
from mastd.bench.control.plays import BenchPlant, Played, play
from mastd.bench.control.profiles import read_profile, sine, standing
from mastd.bench.control.results import Job, Result
from mastd.bench.control.truth import hidden_truth, with_offset
from mastd.bench.control.variants import Changes, Variant
from mastd.bench.control.work import identified_as
from mastd.signals.metrics import rms

ACTUATOR = 2
"""A vertical one, counted from 0."""
OFFSET = 0.2e-3
"""m in its transducer."""
STANDS = 8.0
"""s of standing."""
BALANCED_AFTER, JUDGED_UNTIL = 1.5, 3.5
"""s after the table stands on its actuators alone, between which its mean internal force is judged."""
BALANCE: Mapping[str, Changes] = MappingProxyType(
    {"with": {}, "without": {"control": {"balance": {"gain": "0 1/s"}}, "guard": PATIENT_GUARD}}
)
BALANCE_FIGURES = ("mean_internal_force_n", "last_internal_force_n", "largest_trim_m", "largest_force_n")
SINES: Mapping[str, tuple[float, str]] = MappingProxyType({"5hz": (5.0, "0.3 g"), "20hz": (20.0, "0.3 g")})
CORRECTION: Mapping[str, str] = MappingProxyType({"bound": "20 %", "time": "1 s"})
SINE_FIGURES = ("thd", "peak_ratio", "raw_nrmse", "best_lag_nrmse", "lag_s", "cross_axis")


def play_balance(job: Job, directory: Path) -> Result:
    """Stand with an offset in one transducer, with the balance or without."""
    with tempfile.TemporaryDirectory(prefix="mastd-bench-") as scratch:
        house = Variant(FULL_FORCE, BALANCE[job.axis]).installation(Path(scratch))
        profile = read_profile(standing(STANDS))
        truth = with_offset(hidden_truth(house.table, profile.payload, job.seed), ACTUATOR, OFFSET)
        played = play(profile, BenchPlant(truth, job.seed), on=house, settle=0.0)
    if not len(played.frames):
        return Result({}, played.cause, played.indicated)
    return Result(_standing_figures(played, len(house.table.links)), played.cause, played.indicated)


def _standing_figures(played: Played, actuators: int) -> dict[str, float]:
    force, rate = played.internal_force, played.rate
    judged = force[round(BALANCED_AFTER * rate) : round(JUDGED_UNTIL * rate)]
    lengths = played.channels("command.length.1", actuators)
    figures = {
        "last_internal_force_n": float(np.mean(np.abs(force[-round(0.5 * rate) :]))),
        "largest_trim_m": float(np.max(np.abs(lengths - lengths[0]))),
        "largest_force_n": float(np.max(np.abs(played.channels("force.1", actuators)))),
    }
    return {"mean_internal_force_n": abs(float(np.mean(judged))), **figures} if len(judged) else figures


def play_sine(job: Job, directory: Path) -> Result:
    """Play a sine of heave, in the group ``sine.identified`` with what was identified, in ``sine.corrected``
    with its amplitude, phase and harmonics corrected.
    """
    frequency, peak = SINES[job.axis]
    profile = read_profile(sine(frequency, peak, CORRECTION if job.group.endswith("corrected") else None))
    with tempfile.TemporaryDirectory(prefix="mastd-bench-") as scratch:
        house = Variant(FULL_FORCE).installation(Path(scratch))
        if job.group.endswith("identified"):
            house = replace(house, identified=identified_as(directory, job.seed))
        truth = hidden_truth(house.table, profile.payload, job.seed)
        played = play(profile, BenchPlant(truth, job.seed), on=house)
    if not played.completed:
        return Result({}, played.cause, played.indicated)
    figures = axis_figures(played, ("heave",), frequency)["heave"]
    return Result({**figures, "internal_force_rms_n": rms(played.internal_force)}, None, played.indicated)
