"""A random operator: mostly someone who wants to play profiles, sometimes someone who presses anything."""

from __future__ import annotations

from random import Random

from hil_sim.soak.profiles import Playable
from hil_sim.soak.world import World
from mastd.loop.blocks import Verb
from mastd.safety.states import State

Request = tuple[Verb, tuple[float, ...]]
NOTHING: Request = (Verb.NONE, ())

_SENSIBLE: dict[State, tuple[tuple[Verb, int], ...]] = {
    State.OFF: ((Verb.RAISE, 1),),
    State.LOW: ((Verb.NONE, 40), (Verb.STOP, 1), (Verb.LOWER, 1)),
    State.HIGH: ((Verb.NONE, 40), (Verb.STOP, 1), (Verb.LOWER, 1)),
    State.RAISING: ((Verb.NONE, 40), (Verb.STOP, 1)),
    State.READY: ((Verb.ARM, 12), (Verb.RAISE, 4), (Verb.LOWER, 1)),
    State.ARMED: ((Verb.START, 12), (Verb.STOP, 1), (Verb.LOWER, 1)),
    State.RUNNING: ((Verb.NONE, 12), (Verb.HOLD, 4), (Verb.STOP, 2)),
    State.HOLD: ((Verb.RESUME, 6), (Verb.STOP, 1)),
    State.STOPPING: ((Verb.NONE, 1),),
    State.LOWERING: ((Verb.NONE, 1),),
    State.FAULT: ((Verb.RESET, 3), (Verb.LOWER, 1)),
    State.ESTOP: ((Verb.RESET, 1),),
}
_WRONG_SHARE = 0.12
"""Share of requests that are any verb at any moment."""
_LOAD_SHARE = 0.3
"""Share of the moments in OFF and READY at which another profile is loaded first."""
_PAUSE_NS = 6e8
"""Mean time between two requests; while a profile plays five times as much."""


class Operator:
    """Decides at random moments what to ask for."""

    def __init__(self, random: Random, world: World, playables: list[Playable]) -> None:
        self.due_ns = 0.0
        self.loads = 0
        self._random = random
        self._world = world
        self._playables = playables
        self._again = NOTHING

    def next(self, now_ns: int) -> Request:
        """Return the request for this cycle."""
        random = self._random
        supervisor = self._world.cycle.supervisor
        state = supervisor.state
        pause = _PAUSE_NS * (5.0 if state is State.RUNNING else 1.0)
        self.due_ns = now_ns + random.expovariate(1.0) * pause
        if random.random() < _WRONG_SHARE:
            if random.random() < 0.3:
                self.due_ns = now_ns  # someone who presses twice
            return random.choice(tuple(Verb)), tuple(random.uniform(-2.0, 2.0) for _ in range(4))
        if state in (State.OFF, State.READY) and random.random() < _LOAD_SHARE:
            self._load()
        verbs, weights = zip(*_SENSIBLE[state], strict=True)
        return random.choices(verbs, weights)[0], ()

    def _load(self) -> None:
        if self._world.cycle.reference.standing:
            self._world.load(self._random.choice(self._playables))
            self.loads += 1
