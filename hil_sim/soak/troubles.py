"""Random faults: of the plant (every kind that can be injected), of the line, and of the loop's machine."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

from hil_sim import faults
from hil_sim.faults import Fault
from hil_sim.soak.world import World

CLEARING = frozenset({"clear", "estop-release"})
"""What ends faults; they are not counted as such."""

GARBAGE = (math.inf, -math.inf, math.nan, 1e308, -1e308, 5e-324, 0.0, 1e6, -1.0)
"""Values that a broken converter may tell."""

_VALUES: dict[str, Callable[[Random], float]] = {
    "length-offset": lambda random: _signed(random, 1e-4, 5e-2),
    "length-drift": lambda random: _signed(random, 1e-4, 2e-2),
    "length-noise": lambda random: _log(random, 5e-6, 1e-3),
    "pressure-offset": lambda random: _signed(random, 1e5, 2e7),
    "pressure-drift": lambda random: _signed(random, 1e5, 1e7),
    "pressure-noise": lambda random: _log(random, 1e4, 5e6),
    "spool-offset": lambda random: _signed(random, 1e-2, 1.0),
    "spool-drift": lambda random: _signed(random, 1e-3, 1.0),
    "spool-noise": lambda random: _log(random, 1e-3, 0.3),
    "accelerometer-offset": lambda random: _signed(random, 0.05, 50.0),
    "accelerometer-drift": lambda random: _signed(random, 0.01, 10.0),
    "accelerometer-noise": lambda random: _log(random, 0.01, 5.0),
    "valve-stuck": lambda random: random.choice((math.nan, math.nan, 0.0, random.uniform(-0.3, 0.3))),
    "supply-weak": lambda random: random.uniform(0.0, 0.3),
    "oil-level": lambda random: random.uniform(0.1, 0.9),
    "oil-temperature": lambda random: random.uniform(300.0, 370.0),
    "filter-blocked": lambda random: _log(random, 1e4, 1e6),
    "clock-rate": lambda random: random.choice((0.0, 0.5, 0.99, 1.0001, 1.01, 2.0, 50.0)),
    "silence": lambda random: _log(random, 0.002, 4.0),
}


def _log(random: Random, low: float, high: float) -> float:
    return float(low * (high / low) ** random.random())


def _signed(random: Random, low: float, high: float) -> float:
    return random.choice((-1.0, 1.0)) * _log(random, low, high)


def _count(random: Random, maximum: int) -> int:
    return max(1, round(_log(random, 1.0, float(maximum))))


LINE_FAULTS = ("stall", "samples-lost", "commands-lost", "samples-repeated", "sample-garbled", "cycles-late")
"""Faults that sit between plant and loop, or in the loop's machine."""


class Troubles:
    """Begins faults at random moments, ``per_minute`` of them, and lets each end after a while."""

    def __init__(self, random: Random, world: World, per_minute: float) -> None:
        self.counts: dict[str, int] = {}
        self._random = random
        self._world = world
        self._mean_ns = 60e9 / per_minute if per_minute > 0.0 else math.inf
        known = (name for name in faults.names() if name not in CLEARING and world.plant.suffers(name))
        self._names = (*known, *LINE_FAULTS)
        self._clear_ns = math.inf
        self._release_ns = math.inf
        self._next_ns = 0.0
        self._plan()
        self.due_ns = self._earliest()

    def act(self, now_ns: int) -> str:
        """Begin or end what is expected; return what was done, empty for nothing."""
        done = ""
        if now_ns >= self._release_ns:
            self._release_ns = math.inf
            self._world.inject(Fault("estop-release"))
            done = "estop-release"
        elif now_ns >= self._clear_ns:
            self._clear_ns = math.inf
            self._world.inject(Fault("clear"))
            done = "clear"
        elif now_ns >= self._next_ns:
            done = self._begin(now_ns)
            self._plan()
        self.due_ns = self._earliest()
        return done

    def _earliest(self) -> float:
        return min(self._next_ns, self._clear_ns, self._release_ns)

    def _plan(self) -> None:
        if math.isfinite(self._mean_ns):
            self._next_ns += self._random.expovariate(1.0) * self._mean_ns
        else:
            self._next_ns = math.inf

    def _begin(self, now_ns: int) -> str:
        random = self._random
        # Half of them between plant and loop: there are fewer kinds of those.
        name = random.choice(LINE_FAULTS) if random.random() < 0.35 else random.choice(self._names)
        self.counts[name] = self.counts.get(name, 0) + 1
        if name in LINE_FAULTS:
            return self._disturb(name)
        kind = faults.kind_of(name)
        sensor = name.partition("-")[0]
        counted = sensor if sensor in faults.CHANNELS else "length"
        channels = len(self._world.plant.channels(counted))
        channel = random.randrange(channels) if kind.channels else 0
        value = _VALUES[name](random) if name in _VALUES else 0.0
        self._world.inject(Fault(name, 0, channel, value))
        ends_ns = now_ns + random.expovariate(1.0) * 3e9 + 50e6
        if name == "estop":
            self._release_ns = ends_ns
        else:
            self._clear_ns = ends_ns
        return f"{name}{f'.{channel + 1}' if kind.channels else ''}:{value:g}"

    def _disturb(self, name: str) -> str:
        random, trouble = self._random, self._world.trouble
        count = _count(random, 4000)
        if name == "stall":
            count = _count(random, 600)
            trouble.skipped = count
        elif name == "samples-lost":
            trouble.deaf = count
        elif name == "commands-lost":
            trouble.mute = count
        elif name == "samples-repeated":
            trouble.repeated = count
        elif name == "sample-garbled":
            count = _count(random, 50)
            trouble.garbled = count
            trouble.position = random.randrange(len(self._world.cycle.sample.values))
            trouble.value = random.choice(GARBAGE)
            return f"{name} {count} at {trouble.position}: {trouble.value:g}"
        else:
            trouble.late = count
            trouble.late_ns = round(_log(random, 1e5, 5e7))
        return f"{name} {count}"
