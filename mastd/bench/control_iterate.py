"""The iteration of a drive on a simulated table of hidden truth, judged by the true motion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from mastd.bench.control_plays import Played
from mastd.control.iteration.driver import begin, iterate, matrix_of, sampled_motion, task_of
from mastd.control.iteration.responses import Columns, ResponseSet, of_profile
from mastd.errors import MastdError
from mastd.loop.frame import channel_units
from mastd.motion.compiler import program
from mastd.motion.timeline import KNOT_SPACING
from mastd.record.play_columns import play_columns
from mastd.settings.loader import load
from mastd.settings.profile import ProfileSettings
from mastd.settings.table import TableSettings
from mastd.signals.frequency_matrix import FrequencyMatrix

PlayOnce = Callable[[ProfileSettings, int], Played]
"""Plays a profile; the number tells one play's noise from another's."""


class NotPlayedError(MastdError):
    """A play of an iteration that did not come to its end."""


@dataclass
class Player:
    """Plays drives as the iteration wants it and keeps what was played, by number."""

    once: PlayOnce
    table: TableSettings
    played: dict[int, Played] = field(default_factory=dict)

    def __call__(self, profile: Path, number: int, channels: tuple[str, ...], knots: int) -> Columns:
        """Return the channels; see ``mastd.control.iteration.driver.Play``."""
        settings = load(profile, ProfileSettings, channels=channel_units(self.table))
        played = self.once(settings, number)
        if not played.completed:
            raise NotPlayedError(f"play {number}: {played.cause}")
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
    """What was played, by number, beside the motion that was the target, and the number of the play that the iteration takes for its best."""

    played: dict[int, Played]
    best: int


def iterated(
    profile: Path, table: TableSettings, once: PlayOnce, matrix: FrequencyMatrix, plays: int, place: Path
) -> Iterated:
    """Iterate the motion of a profile's file over ``plays`` corrections; files go below ``place``.

    Raises MastdError where a play was not completed.
    """
    settings = load(profile, ProfileSettings, channels=channel_units(table))
    task = task_of(profile, settings, table, place, responses_of(settings, table))
    player = Player(once, table)
    history = iterate(task, begin(task, {}), player, plays, 0.0, matrix)
    assert history.best is not None
    target = program(settings, table)
    asked = target.timeline()
    return Iterated(
        {number: played.against(asked, target.band) for number, played in player.played.items()},
        history.best.number,
    )
