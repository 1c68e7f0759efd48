"""What operators ask of the loop, taken from the gateway's block: one verb a cycle, stops before everything.

The gateway may die or send nonsense; nothing here trusts more than that the block holds numbers.
"""

from __future__ import annotations

import math

from mastd.wire.access.verbs import NO_VERB, Verb
from mastd.wire.common.blocks import ARGUMENTS, REQUEST, NewestValueBlock

VERBS = {int(verb): verb for verb in Verb}
HEARTBEAT, STOPS, ESTOPS, NUMBER, VERB = (REQUEST.slices[field.name].start for field in REQUEST.fields[:5])
FIRST_ARGUMENT = REQUEST.slices["arguments"].start
OVERTAKEN = "a stop in the same cycle took precedence; repeat the request if still required"


class RequestPort:
    """The loop's end of the request block; ``take`` gives the verb for a cycle, ``answer`` closes it."""

    def __init__(self, block: NewestValueBlock) -> None:
        self.arguments: tuple[float, ...] = ()
        """Numbers that go with the verb taken."""
        self.answered = 0
        """Number of the last request that has its answer."""
        self.refusal = ""
        """Why that one was refused, empty when it was accepted."""
        self.by = ""
        """Who has asked for the verb taken last."""
        self.stops = 0
        self.estops = 0
        self.heartbeat = 0.0
        self._block = block
        self._open = 0

    def take(self) -> Verb:
        """Return what to do in this cycle; NONE when nothing new was asked for."""
        block = self._block
        if not (block.changed() and block.read()):
            return NO_VERB
        values = block.values
        self.heartbeat = float(values[HEARTBEAT])
        stops, estops, number = _whole(values[STOPS]), _whole(values[ESTOPS]), _whole(values[NUMBER])
        fresh = number > self.answered
        if estops > self.estops or stops > self.stops:
            verb = Verb.ESTOP if estops > self.estops else Verb.STOP
            self.estops, self.stops = max(estops, self.estops), max(stops, self.stops)
            self.by = _operator(block.text("stopped_by"))
            if fresh:
                self.answered, self.refusal = number, OVERTAKEN
            return verb
        if not fresh:
            return Verb.NONE
        self._open = number
        self.by = _operator(block.text("asked_by"))
        self.arguments = tuple(values[FIRST_ARGUMENT : FIRST_ARGUMENT + ARGUMENTS].tolist())
        verb = VERBS.get(_whole(values[VERB]), Verb.NONE)
        if verb is Verb.NONE:
            self.answer("unknown request: gateway and loop have different versions; restart the daemon")
        return verb

    def answer(self, refusal: str) -> None:
        """Answer the request that was taken, if there is one: accepted when ``refusal`` is empty."""
        if self._open:
            self.answered, self.refusal, self._open = self._open, refusal, 0
            self.arguments = ()


def _operator(name: str) -> str:
    """Return who asks, in words, by the name in the block."""
    return f"operator {name}" if name.isprintable() and name else "an operator"


def _whole(value: float) -> int:
    """Return a count, 0 for anything that is none."""
    return int(value) if math.isfinite(value) and value >= 0.0 and value == int(value) else 0
