"""Requests on their way from an operator to the loop: what waits, in which numbers, in which slot."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mastd.settings.core.axes import AXES
from mastd.wire.access.sessions import Session
from mastd.wire.access.verbs import Verb
from mastd.wire.operators.messages import Command, Jog, Level

_REFUSED_IN_STATE = re.compile(r"(\w+ is refused in [A-Z]+): (.+)", re.DOTALL)


@dataclass(frozen=True)
class Pending:
    """A command that waits for something: for its turn, for its loader, or for the loop."""

    session: Session
    command: Command
    verb: Verb
    arguments: tuple[float, ...] = ()
    number: int = 0
    end_ns: int = 0
    note: str = ""
    """What its sender is reported when it is accepted."""


class SlotBook:
    """Knows which of the profile slots the loop uses, so that the next loading goes into another one.

    Every loading has a serial number, and the loop shows that of the profile it has. ``slot`` is the one in
    use at the beginning, −1 for none.
    """

    def __init__(self, slots: int, slot: int) -> None:
        self._slots = slots
        self._used = slot
        self._offered = (slot, 0)

    def offer(self, loaded: int) -> tuple[int, int]:
        """Return slot and serial number of the next loading; ``loaded`` is the serial the loop shows."""
        slot, serial = self._offered
        if serial and loaded == serial:
            self._used = slot
        self._offered = ((self._used + 1) % self._slots, max(loaded, serial) + 1)
        return self._offered


def numbers(command: Command) -> tuple[float, ...]:
    """Return a command's arguments as the request block holds them."""
    match command.arguments:
        case Level(share):
            return (share,)
        case Jog(amount, str() as axis):
            return (0.0, float(AXES.index(axis)), amount)
        case Jog(amount, link=int() as actuator):
            return (1.0, float(actuator - 1), amount)
    return ()


def split_refusal(text: str) -> tuple[str, str]:
    """Return reason and what is needed of the loop's one text.

    The loop writes ``arm is refused in OFF: raise the table first``, or ``reason; what is needed``.
    """
    match = _REFUSED_IN_STATE.fullmatch(text)
    if match:
        return match[1], match[2]
    reason, _, needed = text.partition("; ")
    return reason, needed
