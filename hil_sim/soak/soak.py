"""The soak itself: episodes of a few minutes, each from power-up, each with a seed of its own.

Each episode's table carries another payload, its plant has another truth; so episode k of a seed can be
replayed alone, whatever came before it.
"""

from __future__ import annotations

import gc
import hashlib
import os
import shlex
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

from hil_sim.plant.truth import DeviationTruth, PlantTruth
from hil_sim.soak.history import History
from hil_sim.soak.invariants import Invariants, Violation
from hil_sim.soak.numbers import Bounds
from hil_sim.soak.operators import NOTHING, Operator
from hil_sim.soak.profiles import random_payload, random_playable
from hil_sim.soak.troubles import Troubles
from hil_sim.soak.world import World, true_payload
from mastd.control.table.computed import with_computed_settings
from mastd.control.table.gains import with_drive_gains
from mastd.errors import UsageError
from mastd.settings.core.loader import load
from mastd.settings.daemon.daemon import DaemonSettings
from mastd.settings.table.table import TableSettings
from mastd.wire.access.verbs import Verb

EPISODE_SECONDS = 300.0
PROFILES = 4
"""Profiles an episode chooses from."""
MAX_GROWTH = 64.0
"""Growth of resident memory (MiB) from the second episode to the last that is still none."""
_PROGRESS_CYCLES = 5000


@dataclass(frozen=True)
class SoakOptions:
    """What to soak; times in s."""

    table: Path
    daemon: Path
    hours: float = 1.0
    seed: int = 1
    faults_per_minute: float = 1.0
    episode: int | None = None
    """Only this episode, for a replay; None for all."""
    out: Path | None = None
    """Directory for the record of a violation."""
    bounds: Bounds = field(default_factory=Bounds)


@dataclass
class Tally:
    """What has happened so far; sums over the episodes."""

    cycles: int = 0
    missed: int = 0
    completed: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    accepted: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    invariants: Counter[str] = field(default_factory=Counter)
    maxima: dict[str, float] = field(default_factory=dict)
    """Maximum met of each bounded number, SI."""
    memory: list[tuple[float, float]] = field(default_factory=list)
    """Simulated hours and resident memory (MiB) at the end of each episode."""


@dataclass(frozen=True)
class SoakResult:
    """How a soak went; ``digest`` covers every frame and every true motion."""

    options: SoakOptions
    tally: Tally
    simulated_s: float
    wall_s: float
    digest: str
    violation: Violation | None
    episode: int
    """The last episode that was begun."""
    record: Path | None

    @property
    def memory_slope(self) -> float:
        """Growth of resident memory in MiB per simulated hour, from the second episode on."""
        points = self.tally.memory[1:]
        if len(points) < 2:
            return 0.0
        (begin, first), (end, last) = points[0], points[-1]
        return (last - first) / (end - begin)

    @property
    def replay(self) -> str:
        """The command that plays the last episode again."""
        options = self.options
        return (
            f"hil-sim soak --seed {options.seed} --episode {self.episode}"
            f" --faults-per-minute {options.faults_per_minute:g} --hours {options.hours:g}"
            f" --table {shlex.quote(str(options.table))} --config {shlex.quote(str(options.daemon))}"
        )


Progress = Callable[[float, float, Tally], None]
"""Called now and then with simulated seconds done and due, and the tally."""


def soak(options: SoakOptions, progress: Progress | None = None) -> SoakResult:
    """Soak until the time is over or an invariant is violated.

    Raises SettingsError for settings that do not load, UsageError where the record cannot be written.
    """
    table = with_drive_gains(load(options.table, TableSettings))
    daemon = with_computed_settings(table, load(options.daemon, DaemonSettings))
    tally, digest = Tally(), hashlib.blake2b(digest_size=16)
    begun = time.monotonic()
    total = 3600.0 * options.hours
    done, number = 0.0, -1
    violation: Violation | None = None
    record: Path | None = None
    episodes = _episodes(total)
    if options.episode is not None:
        episodes = [one for one in episodes if one[0] == options.episode]
        if not episodes:
            raise UsageError(
                f"no episode {options.episode}: {options.hours:g} h have 0 to {_count(total) - 1}"
            )
    for number, seconds in episodes:
        episode = Episode(options, table, daemon, number, tally)
        try:
            violation = episode.run(seconds, partial(_report, progress, done, total, tally))
            done += episode.world.now_ns * 1e-9
            digest.update(episode.history.digest.encode())
            gc.collect()  # what an episode leaves in reference cycles is no growth
            tally.memory.append((done / 3600.0, resident_memory()))
            if violation is None:
                violation = _growth(tally, episode)
            if violation is not None:
                record = episode.write(violation)
        finally:
            episode.close()
        if violation is not None:
            break
    return SoakResult(
        options, tally, done, time.monotonic() - begun, digest.hexdigest(), violation, number, record
    )


def _episodes(total: float) -> list[tuple[int, float]]:
    """Return number and length of each episode."""
    return [(number, total / _count(total)) for number in range(_count(total))]


def _count(total: float) -> int:
    return max(1, round(total / EPISODE_SECONDS))


class Episode:
    """One world with its operator and its troubles, from power-up."""

    def __init__(
        self, options: SoakOptions, table: TableSettings, daemon: DaemonSettings, number: int, tally: Tally
    ) -> None:
        random = Random(f"mastd soak {options.seed} {number}")
        payload = random_payload(random)
        playables = [random_playable(random, table, payload, k) for k in range(PROFILES)]
        deviation = DeviationTruth(spread=random.choice((0.0, 0.02, 0.05)), seed=random.randrange(2**31))
        self.options = options
        self.number = number
        carried = playables[0].payload
        truth = PlantTruth(name=f"soak {number}", deviation=deviation, payload=true_payload(carried))
        self.world = World(table, daemon, carried, truth, random.randrange(2**31))
        self.operator = Operator(Random(random.getrandbits(64)), self.world, playables)
        self.troubles = Troubles(Random(random.getrandbits(64)), self.world, options.faults_per_minute)
        self.invariants = Invariants(self.world, table, daemon, options.bounds)
        self.history = History(self.world.cycle.frame, daemon.period_ns)
        self._profiles = [one.profile.model_dump(mode="json") for one in playables]
        self._tally = tally

    def run(self, seconds: float, progress: Callable[[float], None]) -> Violation | None:
        """Step until ``seconds`` have passed; return what was violated."""
        world, operator, troubles, history = self.world, self.operator, self.troubles, self.history
        supervisor = world.cycle.supervisor
        until_ns = round(seconds * 1e9)
        violation: Violation | None = None
        state, since = supervisor.state, 0
        while violation is None and world.now_ns < until_ns:
            now_ns = world.now_ns
            verb, arguments = NOTHING
            if now_ns >= troubles.due_ns and (done := troubles.act(now_ns)):
                history.note({"event": "injected", "fault": done})
                self.invariants.troubled_ns = now_ns
            if now_ns >= operator.due_ns:
                verb, arguments = operator.next(now_ns)
            try:
                world.step(verb, arguments)
            except Exception as error:  # whatever it is, it must not leave the cycle
                where = traceback.extract_tb(error.__traceback__)[-1]
                detail = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
                asked = f"{verb.name} {arguments}"
                violation = Violation("EXCEPTION", world.cycle.cycles, now_ns * 1e-9, f"{asked}: {detail}")
                break
            violation = self.invariants.check(verb)
            if world.events:
                self._count(world.events, verb, arguments)
            if supervisor.state is not state:
                self._tally.states[state.name] += world.cycle.cycles - since
                state, since = supervisor.state, world.cycle.cycles
            history.keep(world.truth)
            if world.cycle.cycles % _PROGRESS_CYCLES == 0:
                progress(world.now_ns * 1e-9)
        self._tally.states[state.name] += world.cycle.cycles - since
        self._close_tally()
        return violation

    def write(self, violation: Violation) -> Path | None:
        """Write the last seconds if a directory was given."""
        options = self.options
        if options.out is None:
            return None
        failure = {
            "rule": violation.rule,
            "detail": violation.detail,
            "cycle": violation.cycle,
            "time_s": violation.time_s,
            "seed": options.seed,
            "episode": self.number,
            "faults_per_minute": options.faults_per_minute,
            "hours": options.hours,
        }
        metadata = {"name": f"soak {options.seed}.{self.number}", "profiles": self._profiles, **failure}
        directory = options.out / f"soak-{options.seed}-{self.number}-{violation.cycle}"
        count = 1
        while directory.exists():
            count += 1
            directory = directory.with_name(f"soak-{options.seed}-{self.number}-{violation.cycle}-{count}")
        return self.history.write(directory, metadata, failure)

    def close(self) -> None:
        """Give back what the episode holds."""
        self.world.close()

    def _count(self, events: list[dict[str, object]], verb: Verb, arguments: tuple[float, ...]) -> None:
        tally = self._tally
        for event in events:
            noted = event
            if event["event"] == "request":
                (tally.refused if event["refused"] else tally.accepted)[str(event["verb"])] += 1
                noted = {**event, "arguments": [repr(value) for value in arguments]}
            elif event["event"] == "fault":
                tally.codes[str(event["name"])] += 1
            elif event["event"] == "state" and event["by"] == "profile ended":
                tally.completed += 1
            self.history.note(noted)

    def _close_tally(self) -> None:
        tally, cycle = self._tally, self.world.cycle
        tally.cycles += cycle.cycles
        tally.missed += cycle.missed
        tally.faults.update(self.troubles.counts)
        tally.invariants.update(self.invariants.totals())
        tally.invariants["MEMORY"] += 1
        for name, value in self.invariants.numbers.maxima().items():
            tally.maxima[name] = max(tally.maxima.get(name, 0.0), value)


def _growth(tally: Tally, episode: Episode) -> Violation | None:
    points = tally.memory[1:]
    if len(points) < 2 or not points[-1][1] - points[0][1] > MAX_GROWTH:
        return None
    detail = f"from {points[0][1]:.0f} MiB to {points[-1][1]:.0f} MiB"
    return Violation("MEMORY", episode.world.cycle.cycles, episode.world.now_ns * 1e-9, detail)


def _report(progress: Progress | None, before: float, total: float, tally: Tally, seconds: float) -> None:
    if progress is not None:
        progress(before + seconds, total, tally)


def resident_memory() -> float:
    """Return the resident memory of this process in MiB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
