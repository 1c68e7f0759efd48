"""The whole iteration around a callable that plays a profile: noise, first play, corrections, the best kept.

Everything that is known stands in the directory before the next play begins, so that an interrupted iteration
continues where it was: ``target.rsp``, ``matrix.npz``, for each play the drive, the profile that plays it and
the responses, and ``history.json``. ``drive.rsp`` and ``drive.yaml`` are the best so far.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from pydantic import TypeAdapter

from mastd.arrays import FloatArray
from mastd.control.iteration import drives, learning, noise
from mastd.control.iteration.figures import figures, sizes_of
from mastd.control.iteration.history import (
    MATRIX,
    MIN_GAIN,
    History,
    NoiseNote,
    PlayNote,
    load_matrix,
    save_matrix,
)
from mastd.control.iteration.responses import Columns, ResponseSet, motion_columns, short_names
from mastd.errors import MastdError, UsageError
from mastd.motion.preflight.preflight import examine, exceeded
from mastd.motion.profile.compiler import Block, Program, program
from mastd.motion.profile.file_notes import NO_FILES
from mastd.motion.profile.timeline import KNOT_SPACING, Timeline
from mastd.settings.profile.criteria import Criteria
from mastd.settings.profile.profile import ProfileSettings, Segment
from mastd.settings.table.table import TableSettings
from mastd.signals.band import band_filter, judging_band
from mastd.signals.frequency_matrix import FrequencyMatrix, frequency_matrix

Reporter = Callable[[str], None]

RATE: Final = 1.0 / KNOT_SPACING
NOISE: Final = -1
TARGET: Final = "target.rsp"
BEST_DRIVE, BEST_PROFILE = "drive.rsp", "drive.yaml"
_TRIALS: Final = 6
_LOW_COHERENCE: Final = 0.5
_MIN_RATIO: Final = 0.05
"""Of a step below which it is not worth a play."""


@dataclass(frozen=True)
class Playable:
    """A profile that is to be played: its settings, and its file, None where the iteration has none."""

    settings: ProfileSettings
    path: Path | None


class PlayFaultError(MastdError):
    """A fault has ended a play: the next attempt takes half the step."""

    exit_code = 3


class Play(Protocol):
    """Plays a profile's file and gives back the channels that were asked for."""

    def __call__(self, profile: Playable, number: int, channels: tuple[str, ...], knots: int) -> Columns:
        """Return each of ``channels`` (knots,) at every millisecond of the profile.

        ``number`` counts the plays of drives from 0; NOISE is that of the noise. Raises PlayFaultError where
        a fault has ended the play, another MastdError where it was not completed otherwise.
        """


@dataclass(frozen=True)
class Task:
    """What is iterated: a profile on a table, its motion of C, and the target of the responses.

    ``profile_path`` is None for a profile that was never a file; then drives are written, but no profiles.
    ``poses`` (k, 6) and ``accelerations`` (k, 6) of C at the knots, one pass of the profile; ``target``
    (k, r); ``band`` is the one that is judged, in Hz.
    """

    profile_path: Path | None
    profile: ProfileSettings
    table: TableSettings
    directory: Path
    responses: ResponseSet
    target: FloatArray
    poses: FloatArray
    accelerations: FloatArray
    band: tuple[float, float]

    @property
    def knots(self) -> int:
        """Values of each series."""
        return len(self.poses)


def task_of(
    profile_path: Path | None,
    profile: ProfileSettings,
    table: TableSettings,
    directory: Path,
    responses: ResponseSet,
    target: FloatArray | None = None,
) -> Task:
    """Return the task for a profile; ``target`` (n, r) of another motion, or None for the profile's own.

    A target that is longer than the profile is cut, a shorter one continued by zero. Raises UsageError for a
    profile that cannot be iterated, and what ``program`` raises.
    """
    if profile.mode != "segments":
        raise UsageError(
            f"{profile.name}: the motion comes from a driver or a rig; only segments can be iterated"
        )
    motion = program(profile, table)
    if motion.band is None:
        raise UsageError(
            f"{profile.name}: only moves between poses; there is no frequency band to iterate in"
        )
    sampled = sampled_motion(replace(motion, repeats=1).timeline())
    own = target
    if own is None:
        columns = motion_columns(sampled)
        strange = [name for name in responses.channels if name not in columns]
        if strange:
            raise UsageError(f"{', '.join(strange)}: not defined by the motion of the profile; give --target")
        own = responses.of(columns)
    short = len(sampled) - len(own)
    own = np.pad(own[: len(sampled)], ((0, max(0, short)), (0, 0)))
    return Task(
        profile_path,
        profile,
        table,
        directory,
        responses,
        own,
        sampled[:, 0],
        sampled[:, 2],
        judging_band(motion.band),
    )


def sampled_motion(timeline: Timeline) -> FloatArray:
    """Return pose of C and three derivatives (k, 4, 6) at every knot of a motion."""
    return timeline.sample(np.arange(timeline.end_knot + 1, dtype=np.float64) * KNOT_SPACING)


def begin(task: Task, origin: dict[str, object]) -> History:
    """Return the history of an iteration that begins, with its directory and target written.

    Raises UsageError for a profile that does not pass the check.
    """
    try:
        task.directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{task.directory}: cannot be created: {error.strerror}") from error
    drives.write_series(task.directory / TARGET, task.responses.names, task.responses.units, task.target)
    history = History(task.profile.name, task.band, (task.knots - 1) * KNOT_SPACING, origin)
    history.save(task.directory)
    return history


def iterate(
    task: Task,
    history: History,
    play: Play,
    plays: int,
    noise_time: float,
    matrix: FrequencyMatrix | None = None,
    report: Reporter | None = None,
    shown: Callable[[History], None] | None = None,
) -> History:
    """Play, correct and play again until play number ``plays``, from wherever ``history`` stands.

    ``noise_time`` in s is what the frequency response matrix is measured with, unless there is a ``matrix``
    or the directory holds one. ``report`` is called with each step in words, ``shown`` with the history after
    each play. Raises UsageError where the profile or the noise does not pass the check, and what ``play``
    raises.
    """
    report = report or (lambda line: None)
    if plays >= 1:
        history, matrix = _matrix(task, history, play, noise_time, matrix, report)
    for number in range(len(history.plays), plays + 1):
        made = _first(task) if number == 0 else _next(task, history, matrix, report)
        if isinstance(made, str):
            history = replace(history, ended=made)
            break
        try:
            history = history.with_play(_played(task, number, made, play))
        except PlayFaultError:
            if number > 0:
                replace(history, largest_gain=0.5 * made.gain).save(task.directory)
            raise
        note = history.plays[-1]
        _keep_best(task, history)
        history.save(task.directory)
        report(f"play {number}: error {note.figures.error:.4f}")
        if shown is not None:
            shown(history)
    history.save(task.directory)
    return history


@dataclass(frozen=True)
class _Made:
    """A drive that passes the check, and how it was made."""

    poses: FloatArray
    made_from: int | None
    gain: float
    ratio: float
    limit: str


def _first(task: Task) -> _Made:
    return _Made(task.poses, None, 1.0, 1.0, "")


def _next(task: Task, history: History, matrix: FrequencyMatrix | None, report: Reporter) -> _Made | str:
    """Return the next drive, or why there is none."""
    assert matrix is not None
    source, gain = history.next_step()
    if gain < MIN_GAIN:
        return f"run {source.number} cannot be improved: smaller steps gave no better result"
    poses = drives.read_drive(task.directory / source.drive, task.knots)
    missing = task.target - drives.read_series(task.directory / source.responses)[: task.knots]
    sizes = learning.Sizes(
        noise.noise_levels(task.accelerations, RATE, task.band, task.table.freedoms),
        sizes_of(band_filter(task.target, RATE, task.band), task.responses.units)[0],
    )
    change = gain * learning.correction(missing, RATE, matrix, sizes, task.band)
    ratio, limit = _passing_ratio(task, poses, change)
    if limit:
        report(f"the check limits the step to {ratio:.0%}: {limit}")
    if ratio < _MIN_RATIO:
        return f"the check allows no further step from run {source.number}: {limit}"
    return _Made(poses + ratio * change, source.number, gain, ratio, limit)


def _passing_ratio(task: Task, poses: FloatArray, change: FloatArray) -> tuple[float, str]:
    """Return how much of a change passes the check, to 1/32, and the limit that does not let more through."""
    passing, failing, limit = 0.0, 1.0, ""
    ratio = 1.0
    for _ in range(_TRIALS):
        refused = _refused(task, poses + ratio * change)
        if refused:
            failing, limit = ratio, refused
        else:
            passing = ratio
        if passing == 1.0:
            return 1.0, ""
        ratio = 0.5 * (passing + failing)
    return passing, limit


def _refused(task: Task, poses: FloatArray) -> str:
    """Return the first limit that a drive does not keep, "" if it passes."""
    played = drives.as_played(poses, drives.best_step(poses).knots)
    motion = Program((Block(played, 1),), 1, np.zeros(3), 1.0, NO_FILES, task.band)
    limits = exceeded(motion, task.table, task.profile.payload)
    return "; ".join(f"{one.name.replace('_', ' ')}, {one.where}" for one in limits[:1])


def _write_profile(
    task: Task, poses: FloatArray, drive: Path, path: Path, title: str
) -> tuple[Playable, drives.Step]:
    name = f"{task.profile.name}, {title}"[:100]
    written = drives.write_drive(drive, poses, {"drive": name})
    return _playable(task, path, name, drives.drive_segment(drive.name, task.band)), written


def _playable(task: Task, path: Path, name: str, segment: Mapping[str, Any]) -> Playable:
    """Return the profile of one segment on what the task has on the table, written where there are files."""
    if task.profile_path is not None:
        text = drives.derived_profile(task.profile_path, task.profile, name, [segment])
        drives.write_text(path, text)
    beside = {"directory": str(task.directory)}
    own: Segment = TypeAdapter(Segment).validate_python(segment, context=beside)
    only = {
        "name": name,
        "segments": (own,),
        "gain": 1.0,
        "repeats": 1,
        "point": "C",
        "verdict": Criteria(),
    }
    return Playable(task.profile.model_copy(update=only), None if task.profile_path is None else path)


def _played(task: Task, number: int, made: _Made, play: Play) -> PlayNote:
    drive, profile = f"drive_{number}.rsp", f"drive_{number}.yaml"
    title, path = f"drive {number}", task.directory / profile
    playable, written = _write_profile(task, made.poses, task.directory / drive, path, title)
    columns = play(playable, number, task.responses.channels, task.knots)
    responses = task.responses.of(columns)
    file = f"response_{number}.rsp"
    drives.write_series(task.directory / file, task.responses.names, task.responses.units, responses)
    judged = figures(responses, task.target, task.responses.names, task.responses.units, RATE, task.band)
    return PlayNote(
        number,
        drive,
        profile,
        file,
        made.made_from,
        made.gain,
        made.ratio,
        made.limit,
        written.knots * KNOT_SPACING,
        written.lost,
        judged,
    )


def _keep_best(task: Task, history: History) -> None:
    best = history.best
    if best is None or best is not history.plays[-1]:
        return
    poses = drives.read_drive(task.directory / best.drive, task.knots)
    directory = task.directory
    _write_profile(task, poses, directory / BEST_DRIVE, directory / BEST_PROFILE, "iterated")


def _matrix(
    task: Task,
    history: History,
    play: Play,
    noise_time: float,
    matrix: FrequencyMatrix | None,
    report: Reporter,
) -> tuple[History, FrequencyMatrix]:
    """Return the frequency response matrix: the one that is there, or measured now."""
    names = task.responses.names
    if history.noise is not None and (task.directory / MATRIX).is_file():
        return history, load_matrix(task.directory / MATRIX, names)
    levels: FloatArray = np.zeros(6)
    source, duration = "given", 0.0
    if matrix is None:
        playable, levels, motion = _noise_profile(task, noise_time, report)
        drives_played = motion[:, 2]
        duration, source = (len(motion) - 1) * KNOT_SPACING, "noise"
        columns = play(playable, NOISE, task.responses.channels, len(motion))
        matrix = matrix_of(drives_played, task.responses.of(columns))
    save_matrix(task.directory / MATRIX, matrix, names)
    inside = (matrix.frequency >= task.band[0]) & (matrix.frequency <= task.band[1])
    mean = np.mean(matrix.coherence[inside], axis=0) if np.any(inside) else np.zeros(len(names))
    coherence = {name: float(value) for name, value in zip(names, mean, strict=True)}
    moved = np.any(matrix.response, axis=(0, 2))
    values = ", ".join(f"{name} {mean[k]:.3f}" for k, name in enumerate(short_names(names)) if moved[k])
    report(f"frequency response matrix, mean coherence: {values}")
    if np.min(mean[moved], initial=1.0) < _LOW_COHERENCE:
        report("low coherence: uncorrelated response is not corrected; use a higher level or longer noise")
    history = replace(history, noise=NoiseNote(source, duration, tuple(map(float, levels)), coherence))
    history.save(task.directory)
    return history, matrix


def matrix_of(accelerations: FloatArray, responses: FloatArray) -> FrequencyMatrix:
    """Return the matrix from the accelerations (k, 6) that were asked of C to the responses (k, r)."""
    return frequency_matrix(accelerations, responses, RATE, learning.welch_segment(len(accelerations)))


def _noise_profile(task: Task, duration: float, report: Reporter) -> tuple[Playable, FloatArray, FloatArray]:
    """Return the noise's profile, its levels and its motion (k, 4, 6)."""
    levels = noise.noise_levels(task.accelerations, RATE, task.band, task.table.freedoms)
    path = task.directory / "noise.yaml"
    for _ in range(3):
        segment = noise.noise_segment(levels, task.band, duration)
        playable = _playable(task, path, f"{task.profile.name}, noise"[:100], segment)
        motion = program(playable.settings, task.table)
        proof = examine(motion, task.table, task.profile.payload)
        if proof.ok:
            return playable, levels, sampled_motion(motion.timeline())
        report(f"noise reduced to {proof.scale:.0%} to pass the check")
        levels = levels * proof.scale * 0.98
    raise UsageError(f"{task.profile.name}: no noise passes the check on this table with this payload")
