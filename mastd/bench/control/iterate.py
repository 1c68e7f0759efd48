"""The iteration of a drive on a simulated table of hidden truth, judged by the true motion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from mastd.bench.control.plays import Played
from mastd.control.iteration.driver import (
    Playable,
    PlayFaultError,
    begin,
    iterate,
    matrix_of,
    sampled_motion,
    task_of,
)
from mastd.control.iteration.history import load_history
from mastd.control.iteration.responses import Columns, ResponseSet, of_profile
from mastd.motion.profile.compiler import program
from mastd.motion.profile.timeline import KNOT_SPACING
from mastd.record.play_columns import play_columns
from mastd.settings.profile.profile import ProfileSettings
from mastd.settings.table.table import TableSettings
from mastd.signals.frequency_matrix import FrequencyMatrix

PlayOnce = Callable[[ProfileSettings, int], Played]
"""Plays a profile; the number tells one play's noise from another's."""
MAX_FAULTS = 3
"""Plays that may end in a fault, after each of which half the step is tried."""


@dataclass
class Player:
    """Plays drives as the iteration wants it and keeps what was played, by number."""

    once: PlayOnce
    played: dict[int, Played] = field(default_factory=dict)

    def __call__(self, profile: Playable, number: int, channels: tuple[str, ...], knots: int) -> Columns:
        """Return the channels; see ``mastd.control.iteration.driver.Play``."""
        played = self.once(profile.settings, number)
        if not played.completed:
            raise PlayFaultError(f"play {number}: {played.cause}")
        self.played[number] = played
        return play_columns(played.as_record(), channels, KNOT_SPACING, knots)


def responses_of(profile: ProfileSettings, table: TableSettings) -> ResponseSet:
    """Return what is compared with the target: the measured accelerations of the profile's own point."""
    return of_profile(profile.point, table)


def frequency_matrix_of(profile: ProfileSettings, played: Played, table: TableSettings) -> FrequencyMatrix:
    """Return the frequency response matrix that a play of noise shows."""
    motion = sampled_motion(program(profile, table).timeline())
    responses = responses_of(profile, table)
    columns = play_columns(played.as_record(), responses.channels, KNOT_SPACING, len(motion))
    return matrix_of(motion[:, 2], responses.of(columns))


@dataclass(frozen=True)
class Iterated:
    """What was played, by number, beside the target, and the number of what the iteration takes for best."""

    played: dict[int, Played]
    best: int
    faults: tuple[str, ...]
    """What has ended plays meanwhile."""


def iterated(
    profile: ProfileSettings,
    table: TableSettings,
    once: PlayOnce,
    matrix: FrequencyMatrix,
    plays: int,
    directory: Path,
) -> Iterated:
    """Iterate the motion of a profile over ``plays`` corrections; files go below ``directory``.

    Raises PlayFaultError where the first play, or too many of those after it, end in a fault.
    """
    task = task_of(None, profile, table, directory, responses_of(profile, table))
    player = Player(once)
    history = begin(task, {})
    faults: list[str] = []
    while True:
        try:
            history = iterate(task, history, player, plays, 0.0, matrix)
            break
        except PlayFaultError as error:
            faults.append(str(error))
            if not player.played or len(faults) > MAX_FAULTS:
                raise
            history = load_history(directory)
    assert history.best is not None
    target = program(profile, table)
    asked = target.timeline()
    return Iterated(
        {number: played.against(asked, target.band) for number, played in player.played.items()},
        history.best.number,
        tuple(faults),
    )
