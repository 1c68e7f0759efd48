"""What operators' messages are made of beside the loop's blocks: names, texts of faults, terms, the past."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class FaultTexts:
    """What people are reported of one fault: the row of the fault table in words."""

    name: str
    title: str
    action: str
    clear: str
    hint: str


@dataclass(frozen=True)
class StatusTexts:
    """Names that the loop's numbers stand for; they come with the gateway's configuration."""

    states: tuple[str, ...]
    faults: Mapping[int, FaultTexts] = field(default_factory=dict)

    def state(self, number: float) -> str:
        """Return the name of a state."""
        return self.states[int(number)] if 0 <= number < len(self.states) else "UNKNOWN"

    def fault(self, code: int) -> FaultTexts:
        """Return the words of a fault's code."""
        unknown = f"fault {code}"
        return self.faults.get(code) or FaultTexts(unknown, unknown, "", "", "see the daemon's log")


@dataclass(frozen=True)
class PreviousRun:
    """What operators should know of the time before this loop began."""

    last_ending: str = ""
    """How the daemon before this one ended, empty if well."""
    reloads: int = 0
    """How often this daemon has taken its settings again, with or without success."""
    kept_old: str = ""
    """Why the newest settings could not be taken and the old ones are in force, empty if they are."""


@dataclass(frozen=True)
class HandlerTerms:
    """What the handler has to know beside the loop's blocks."""

    name: str
    pid: int
    actuators: int
    texts: StatusTexts
    lease_ns: int
    answer_ns: int
    command_rate: float
    burst: int
    slot: int = -1
    """Slot of the profile that the loop has at the beginning, −1 for none."""
    description: Mapping[str, Any] = field(default_factory=dict)
    spare: int = 0
    """Numbers of a frame after those that the description names."""
    previous: PreviousRun = PreviousRun()
    rigs: tuple[tuple[str, str], ...] = ()
    """Name and kind of the rigs that may join."""
