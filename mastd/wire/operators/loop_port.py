"""The gateway's end of the two blocks: requests in, answers and status out, and whether the loop still moves.

Stops and emergency stops are counters: they are raised at once, whatever else is in flight, and nothing that
is written later can take their place. Every other request has a number, and there is at most one of them in
flight. One that the loop does not answer in time is *withdrawn*: a request for nothing, with the next number,
takes its place, so that a loop that wakes up later does not begin to move on a forgotten command.

The loop is alive while its cycle counter advances. The time in the block says nothing about that: in
lockstep it is the plant's.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

from mastd.wire.access.verbs import Verb
from mastd.wire.common.blocks import ARGUMENTS, NewestValueBlock


class Loop(enum.Enum):
    """What is known of the loop."""

    PREPARING = "preparing"
    RUNNING = "running"
    STUCK = "stuck"
    ENDED = "ended"


class LoopAnswer(NamedTuple):
    """The loop's answer to a numbered request; ``refusal`` is empty when it was accepted."""

    refused: bool
    refusal: str


class LoopPort:
    """Writes the request block, reads the status block; ``refresh`` before each use."""

    def __init__(
        self, request: NewestValueBlock, status: NewestValueBlock, stuck_ns: int, now_ns: int
    ) -> None:
        self.status = status
        request.read()  # a second gateway goes on where the first one ended
        self.stops = int(request.scalar("stops"))
        self.estops = int(request.scalar("estops"))
        self.number = int(request.scalar("number"))
        self._request = request
        self._stuck_ns = stuck_ns
        self._cycle = -1.0
        self._moved_ns = now_ns
        self._seen = False

    def refresh(self, now_ns: int) -> None:
        """Take the newest status and note whether the loop has moved since the last one.

        Before its first cycle the daemon only shows what it waits for.
        """
        if not self.status.changed() or not self.status.read():
            return
        cycle = self.status.scalar("cycle")
        if cycle == 0.0 and not self.status.scalar("ended"):
            return
        if cycle != self._cycle or not self._seen:
            self._cycle = cycle
            self._seen = True
            self._moved_ns = now_ns

    def heartbeat(self) -> None:
        """Show the loop that the gateway is alive."""
        self._request.field("heartbeat")[:] += 1.0
        self._request.publish()

    def state(self, now_ns: int) -> Loop:
        """Return what is known of the loop."""
        if not self._seen:
            return Loop.PREPARING
        if self.status.scalar("ended"):
            return Loop.ENDED
        return Loop.STUCK if now_ns - self._moved_ns > self._stuck_ns else Loop.RUNNING

    def silent_ns(self, now_ns: int) -> int:
        """Return how long the loop has not moved."""
        return now_ns - self._moved_ns

    def stop(self, by: str = "") -> int:
        """Ask for a stop in the name of an operator; return its number."""
        self.stops += 1
        self._request.set_text("stopped_by", by)
        self._request.field("stops")[:] = self.stops
        self._request.publish()
        return self.stops

    def estop(self, by: str = "") -> int:
        """Ask for an emergency stop in the name of an operator; return its number."""
        self.estops += 1
        self._request.set_text("stopped_by", by)
        self._request.field("estops")[:] = self.estops
        self._request.publish()
        return self.estops

    def stopped(self, number: int, emergency: bool) -> bool:
        """Return whether the loop has taken this stop."""
        return self.status.scalar("estops_answered" if emergency else "stops_answered") >= number

    def ask(self, verb: Verb, arguments: tuple[float, ...] = (), by: str = "") -> int:
        """Ask for something in the name of an operator; return its number."""
        self.number += 1
        padded = (*arguments, *(0.0 for _ in range(ARGUMENTS - len(arguments))))
        self._request.field("number")[:] = self.number
        self._request.field("verb")[:] = verb
        self._request.field("arguments")[:] = padded
        self._request.set_text("asked_by", by)
        self._request.publish()
        return self.number

    def withdraw(self) -> None:
        """Replace the request in flight by one for nothing."""
        self.ask(Verb.NONE)

    def answer(self, number: int) -> LoopAnswer | None:
        """Return the loop's answer to a request, None while there is none."""
        if self.status.scalar("answered") != number:
            return None
        refused = bool(self.status.scalar("refused"))
        return LoopAnswer(refused, self.status.text("refusal") if refused else "")
