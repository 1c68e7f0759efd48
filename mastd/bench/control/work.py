"""One job of the benches of the control: plays with one hidden truth, and what they show.

Each function takes a job and the directory in which what is found out about a truth is kept for other jobs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import yaml

from mastd.bench.control.cases import CASES, Case, Known
from mastd.bench.control.figures import axis_figures, motion_figures, response_figures
from mastd.bench.control.identify import errors, identify
from mastd.bench.control.iterate import frequency_matrix_of, iterated, responses_of
from mastd.bench.control.known import known_to_accuracy
from mastd.bench.control.plays import BenchPlant, Played, play
from mastd.bench.control.profiles import PAYLOAD, VEHICLE, matrix_noise, noise, read_profile, wide_noise
from mastd.bench.control.results import Job, Result
from mastd.bench.control.truth import TableTruth, hidden_truth
from mastd.control.iteration.history import MATRIX, load_matrix, save_matrix
from mastd.errors import UsageError
from mastd.loop.process.installation import Installation
from mastd.motion.preflight.preflight import check
from mastd.settings.core.loader import load
from mastd.settings.core.starter import find
from mastd.settings.core.strict_yaml import read_text
from mastd.settings.profile.profile import ProfileSettings
from mastd.settings.table.identified import IdentifiedSettings
from mastd.settings.table.identified_file import identified_text
from mastd.settings.table.table import TableSettings
from mastd.signals.metrics import rms

BEGINS_AT = 7.3
"""s of plant time at which a profile begins, about: supply, raising and settling come before."""
RIGID, SPRUNG, VEHICULAR = "rigid", "sprung", "vehicle"
"""The payload while the matrix is measured."""
PLAYS, MORE_PLAYS = 2, 3
"""Corrections of an iteration; where the payload does not stand still on the table, one more."""
RESERVE = 0.9
"""Of the scale that would just pass the check: the iteration is to have room."""


def play_case(job: Job, directory: Path) -> Result:
    """Play one case along one axis."""
    case = CASES[job.group]
    played = _play(case, case.profile(job.axis), job.seed, directory)
    if not played.completed:
        return Result({}, played.cause, played.indicated)
    figures = motion_figures(played, job.axis)
    if case.wide:
        wide = _play(case, wide_noise(job.axis), job.seed, directory)
        if not wide.completed:
            return Result(figures, f"wide noise: {wide.cause}", played.indicated)
        figures |= response_figures(wide, job.axis)
    return Result(figures, None, played.indicated)


def find_out(job: Job, directory: Path) -> Result:
    """Identify a truth; the values are kept."""
    profile = read_profile(_with_payload(read_text(find("profile", "identify"))))
    with tempfile.TemporaryDirectory(prefix="mastd-bench-") as scratch:
        house = CASES["first"].variant.installation(Path(scratch))
        truth = hidden_truth(house.table, profile.payload, job.seed)
        played = play(profile, BenchPlant(truth, job.seed), on=house)
    if not played.completed:
        return Result({}, played.cause, played.indicated)
    found = identify(played, house.table, profile.payload)
    _identified_file(directory, job.seed).write_text(identified_text(found), encoding="utf-8")
    return Result(errors(found, truth, house.table), None, played.indicated)


def measure_matrix(job: Job, directory: Path) -> Result:
    """Measure the frequency response matrix with the payload; it is kept."""
    case = CASES[f"{SPRUNG}.first"] if job.axis == SPRUNG else CASES["identified"]
    text = passing(matrix_noise(VEHICLE))[0] if job.axis == VEHICULAR else matrix_noise()
    profile = read_profile(text)
    played = _play(case, text, job.seed, directory)
    if not played.completed:
        return Result({}, played.cause, played.indicated)
    with tempfile.TemporaryDirectory(prefix="mastd-bench-") as scratch:
        table = case.variant.installation(Path(scratch)).table
    matrix = frequency_matrix_of(profile, played, table)
    _matrix_directory(directory, job).mkdir(parents=True, exist_ok=True)
    save_matrix(_matrix_directory(directory, job) / MATRIX, matrix, responses_of(profile, table).names)
    inside = (matrix.frequency >= 1.0) & (matrix.frequency <= 20.0)
    return Result({"coherence": float(np.mean(matrix.coherence[inside]))}, None, played.indicated)


@cache
def starter_table() -> TableSettings:
    """Return the starter table."""
    return load(find("table", "table"), TableSettings)


def passing(text: str) -> tuple[str, float]:
    """Return a profile's text with the gain at which it passes the check, 1 at most, and that gain."""
    verdict = check(read_profile(text), starter_table())
    gain = 1.0 if verdict.ok and verdict.scale * RESERVE >= 1.0 else verdict.scale * RESERVE
    return yaml.safe_dump({**yaml.safe_load(text), "gain": gain}, sort_keys=False), gain


def iterate_noise(job: Job, directory: Path) -> Result:
    """Iterate noise along one axis; the payload is rigid, or sprung in the group of that name."""
    kind = SPRUNG if job.group.startswith(SPRUNG) else RIGID
    case = CASES[f"{SPRUNG}.first"] if kind == SPRUNG else CASES["identified"]
    plays = MORE_PLAYS if kind == SPRUNG else PLAYS
    matrix = Job("matrix", job.seed, kind)
    return iterate_profile(case, noise(job.axis), (job.axis,), matrix, plays, directory)


def iterate_profile(
    case: Case, text: str, driven: tuple[str, ...], matrix_job: Job, plays: int, directory: Path
) -> Result:
    """Iterate a profile's own motion; figures are those of the play that the iteration takes for its best."""
    seed = matrix_job.seed
    with tempfile.TemporaryDirectory(prefix="mastd-bench-") as scratch:
        profile = read_profile(text)
        table = case.variant.installation(Path(scratch)).table

        def once(settings: ProfileSettings, number: int) -> Played:
            return _play_settings(case, settings, seed, directory, noise_seed=1000 * seed + number)

        names = responses_of(profile, table).names
        matrix = load_matrix(_matrix_directory(directory, matrix_job) / MATRIX, names)
        done = iterated(profile, table, once, matrix, plays, Path(scratch) / "iteration")
    best = done.played[done.best]
    figures = {
        **_of_plays(done.played, driven),
        "faults": float(len(done.faults)),
        "plays": float(done.best),
        "internal_force_rms_n": rms(best.internal_force),
    }
    return Result({**figures, **_figures(best, driven)}, None, (*done.faults, *best.indicated))


def _of_plays(played: Mapping[int, Played], driven: tuple[str, ...]) -> dict[str, float]:
    """Return all figures of the first play, and the raw NRMSE of each, with the play in their names."""
    first = {_within(name, 0): value for name, value in _figures(played[0], driven).items()}
    raw = {
        _within(name, number): value
        for number, one in played.items()
        for name, value in _figures(one, driven).items()
        if name.endswith("raw_nrmse")
    }
    return first | raw


def _within(name: str, number: int) -> str:
    """Return the name of a figure of one play: ``heave.play_1_raw_nrmse``."""
    axis, dot, figure = name.rpartition(".")
    return f"{axis}{dot}play_{number}_{figure}"


def _figures(played: Played, driven: tuple[str, ...]) -> dict[str, float]:
    """Return figures by name, with the axis in front where several are driven."""
    found = axis_figures(played, driven)
    if len(driven) == 1:
        return found[driven[0]]
    return {f"{axis}.{name}": value for axis in driven for name, value in found[axis].items()}


def _play(case: Case, text: str, seed: int, directory: Path) -> Played:
    return _play_settings(case, read_profile(text), seed, directory, noise_seed=seed)


def _play_settings(
    case: Case, profile: ProfileSettings, seed: int, directory: Path, noise_seed: int
) -> Played:
    """Play a profile as a case says, with its hidden truth number ``seed``."""
    with tempfile.TemporaryDirectory(prefix="mastd-bench-") as scratch:
        house = case.variant.installation(Path(scratch))
        truth = case.truth(hidden_truth(house.table, profile.payload, seed))
        house = replace(house, identified=_known(case.known, truth, house, profile, seed, directory))
        plant_table = None
        if case.plant_variant is not None:
            (Path(scratch) / "plant").mkdir()
            plant_table = case.plant_variant.installation(Path(scratch) / "plant").table_path
        faults = tuple(
            f"{name}@{BEGINS_AT + at} s" + (f":{value}" if value else "") for name, at, value in case.faults
        )
        plant = BenchPlant(truth, noise_seed, faults, plant_table)
        return play(profile, plant, on=house, streamed=case.streamed)


def _known(
    known: Known, truth: TableTruth, house: Installation, profile: ProfileSettings, seed: int, directory: Path
) -> IdentifiedSettings | None:
    if known == "nothing":
        return None
    if known == "two per cent":
        return known_to_accuracy(truth, house.table, profile.payload, seed)
    return identified_as(directory, seed)


def identified_as(directory: Path, seed: int) -> IdentifiedSettings:
    """Return what was identified of a truth; raise UsageError if that did not succeed."""
    if not _identified_file(directory, seed).exists():
        raise UsageError("of this truth nothing was identified")
    return load(_identified_file(directory, seed), IdentifiedSettings)


def _identified_file(directory: Path, seed: int) -> Path:
    return directory / f"identified-{seed}.yaml"


def _matrix_directory(directory: Path, job: Job) -> Path:
    return directory / f"matrix-{job.axis}-{job.seed}"


def _with_payload(text: str) -> str:
    """Return a profile's text with the benches' payload on the table."""
    return yaml.safe_dump({**yaml.safe_load(text), "payload": dict(PAYLOAD)}, sort_keys=False)
