"""Plays one profile after the other and gives back their records' channels: what the iteration plays with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from mastd.control.iteration.driver import NOISE, Playable, PlayFaultError
from mastd.control.iteration.responses import Columns
from mastd.errors import FormatError, MastdError, UsageError
from mastd.loop.process.endpoints import Operators
from mastd.loop.process.host import Connection
from mastd.loop.process.installation import Plan
from mastd.loop.process.script import StopRequest
from mastd.loop.service.single_run import RunOutcome, run
from mastd.motion.preflight.preflight import exceeded
from mastd.motion.profile.timeline import KNOT_SPACING
from mastd.record.play_columns import play_columns
from mastd.record.reader import open_run
from mastd.record.writer import RUN_FILE


class PlayError(MastdError):
    """A play that somebody has stopped, or whose record cannot be used."""

    exit_code = 5


@dataclass
class Player:
    """Plays profiles on one plant, as ``mastd.control.iteration.driver.Play``.

    ``plan`` reads a profile's file, ``connect`` says how the plant is reached for a play of this number.
    Records go to ``directory``/play_N/run.mcap, that of the noise to noise/run.mcap; ``operators`` is where
    they may join, None for nobody.
    """

    plan: Callable[[Path], Plan]
    connect: Callable[[Plan, int], Connection]
    directory: Path
    operators: Callable[[], AbstractContextManager[Operators]] | None = None
    live: bool = False
    stop: StopRequest = field(default_factory=StopRequest)

    def __call__(self, profile: Playable, number: int, channels: tuple[str, ...], knots: int) -> Columns:
        """Play a profile; raises PlayFaultError, PlayError, and what ``session.run`` raises."""
        if profile.path is None:
            raise UsageError(f"{profile.settings.name}: has no file to run")
        plan = self.plan(profile.path)
        _refuse_unproved(plan)
        record = self._record(number)
        if self.stop.requested:
            raise PlayError("stopped before the next run")
        connection = self.connect(plan, number)
        if self.operators is None:
            outcome = run(plan, connection, record, self.live, self.stop)
        else:
            with self.operators() as operators:
                outcome = run(plan, connection, record, self.live, self.stop, operators=operators)
        _refuse_unfinished(profile.path, outcome)
        wanted = set(channels)
        recorded = open_run(record, lambda name: name in wanted or name in _ALWAYS)
        try:
            return play_columns(recorded, channels, KNOT_SPACING, knots)
        except FormatError as error:
            raise PlayError(str(error)) from error

    def _record(self, number: int) -> Path:
        """Return where a play is recorded; one that was broken off keeps its place."""
        return next(path for path in self._candidates(number) if not path.parent.exists())

    def _candidates(self, number: int) -> Iterator[Path]:
        name = "noise" if number == NOISE else f"play_{number}"
        yield self.directory / name / RUN_FILE
        for more in range(2, 1000):
            yield self.directory / f"{name}-{more}" / RUN_FILE


_ALWAYS = ("step", "state", "profile_time")


def _refuse_unfinished(profile: Path, outcome: RunOutcome) -> None:
    if outcome.fault is not None:
        raise PlayFaultError(f"{profile}: stopped by a fault: {outcome.fault.cause}")
    if not outcome.completed:
        raise PlayError(
            f"{profile}: stopped in {outcome.state.name} before the end of the profile: {outcome.cause}"
        )
    if outcome.recorded is not None and outcome.recorded.error is not None:
        raise PlayError(f"{profile}: the record was lost: {outcome.recorded.error}")


def _refuse_unproved(plan: Plan) -> None:
    """What was proved was in memory, what is played comes from files, which others may have changed."""
    motion = plan.inputs.motion
    limits = () if motion is None else exceeded(motion.largest, plan.table, plan.profile.payload)
    if limits:
        worst = limits[0]
        raise PlayError(
            f"{plan.profile_path}: its drive has changed since it passed the check, {worst.name} is now"
            f" {worst.worst:g} {worst.unit} of {worst.limit:g}; repeat the iteration"
        )
    plan.inputs.confirm()
