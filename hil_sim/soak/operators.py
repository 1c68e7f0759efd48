"""A random operator: mostly someone who wants to play profiles, sometimes someone who presses anything."""

from __future__ import annotations

import math
from random import Random

from hil_sim.soak.profiles import Playable
from hil_sim.soak.world import World
from mastd.safety.states import State
from mastd.wire.access.verbs import Verb
from mastd.wire.common.blocks import ARGUMENTS

Request = tuple[Verb, tuple[float, ...]]

NOTHING: Request = (Verb.NONE, ())

_SENSIBLE: dict[State, tuple[tuple[Verb, int], ...]] = {
    State.OFF: ((Verb.RAISE, 8), (Verb.LOAD, 3), (Verb.LEVEL, 1)),
    State.LOW: ((Verb.NONE, 40), (Verb.STOP, 1), (Verb.LOWER, 1)),
    State.HIGH: ((Verb.NONE, 40), (Verb.STOP, 1), (Verb.LOWER, 1)),
    State.RAISING: ((Verb.NONE, 40), (Verb.STOP, 1)),
    State.READY: (
        (Verb.ARM, 12),
        (Verb.RAISE, 5),
        (Verb.LOWER, 1),
        (Verb.LOAD, 5),
        (Verb.JOG, 3),
        (Verb.LEVEL, 2),
    ),
    State.ARMED: ((Verb.START, 12), (Verb.STOP, 1), (Verb.LOWER, 1), (Verb.LEVEL, 1)),
    State.RUNNING: ((Verb.NONE, 12), (Verb.HOLD, 4), (Verb.STOP, 2), (Verb.LEVEL, 4)),
    State.HOLD: ((Verb.RESUME, 6), (Verb.STOP, 1), (Verb.LEVEL, 2)),
    State.STOPPING: ((Verb.NONE, 1),),
    State.LOWERING: ((Verb.NONE, 1),),
    State.FAULT: ((Verb.RESET, 3), (Verb.LOWER, 1)),
    State.ESTOP: ((Verb.RESET, 1),),
}
_WRONG_RATIO = 0.12
"""Ratio of requests that are any verb at any moment, with numbers that may mean nothing."""
_NONSENSE = (math.nan, math.inf, -math.inf, 1e300, -1.0, 0.0, 1.0, 7.0, 0.5)
_PAUSE_NS = 6e8
"""Mean time between two requests; while a profile plays five times as much."""


class Operator:
    """Decides at random moments what to ask for."""

    def __init__(self, random: Random, world: World, playables: list[Playable]) -> None:
        self.due_ns = 0.0
        self._random = random
        self._world = world
        self._playables = playables

    def next(self, now_ns: int) -> Request:
        """Return the request for this cycle."""
        random = self._random
        state = self._world.cycle.supervisor.state
        pause = _PAUSE_NS * (5.0 if state is State.RUNNING else 1.0)
        self.due_ns = now_ns + random.expovariate(1.0) * pause
        if random.random() < _WRONG_RATIO:
            if random.random() < 0.3:
                self.due_ns = now_ns  # someone who presses twice
            return random.choice(tuple(Verb)), self._nonsense()
        verbs, weights = zip(*_SENSIBLE[state], strict=True)
        verb = random.choices(verbs, weights)[0]
        return verb, self._arguments(verb)

    def _nonsense(self) -> tuple[float, ...]:
        random = self._random
        return tuple(
            random.choice(_NONSENSE) if random.random() < 0.5 else random.uniform(-2.0, 2.0)
            for _ in range(ARGUMENTS)
        )

    def _arguments(self, verb: Verb) -> tuple[float, ...]:
        random = self._random
        given: list[float] = []
        if verb is Verb.LOAD:
            given = list(self._world.prepare(random.choice(self._playables)))
        elif verb is Verb.LEVEL:
            given = [random.choice((1.0, random.uniform(0.0, 1.2)))]
        elif verb is Verb.JOG:
            actuator = random.random() < 0.5
            amount = random.uniform(-1.0, 1.0) * random.choice((1e-4, 1e-3, 1e-2))
            given = [float(actuator), float(random.randrange(7 if actuator else 6)), amount]
        return (*given, *(0.0,) * (ARGUMENTS - len(given)))
