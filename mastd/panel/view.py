"""All that a screen of the panel shows, and what the terminal that shows it can do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from mastd.panel.reading import Document

STALE_S: Final = 1.0
"""Older than this, what is shown is called old."""
MIN_WIDTH: Final = 20


@dataclass(frozen=True)
class Message:
    """An answer to a key, or an event: something that happened by itself."""

    clock: str
    """When, as local time."""
    text: str
    good: bool = True
    event: bool = False


@dataclass(frozen=True)
class View:
    """What is known at one moment; ages and times in s."""

    status: Document = field(default_factory=dict)
    """The newest status, empty before the first."""
    description: Document = field(default_factory=dict)
    """What the daemon tells of itself, empty where it does not."""
    age_s: float = 0.0
    """Since the newest status has come."""
    lost: str = ""
    """Why the connection is lost, empty while it holds."""
    me: str = ""
    observer: bool = False
    """Whether this panel may only watch and stop."""
    messages: tuple[Message, ...] = ()
    """The newest last."""
    question: str = ""
    """What waits for a confirmation, empty for nothing."""
    help: bool = False


@dataclass(frozen=True)
class Display:
    """What the terminal can show: columns, rows, characters beyond ASCII, colours."""

    width: int = 80
    height: int = 24
    unicode: bool = True
    colour: bool = True


@dataclass(frozen=True)
class Glyphs:
    """The characters that are drawn with."""

    line: str
    track: str
    middle: str
    marker: str
    left: str
    right: str
    full: str
    empty: str


UNICODE: Final = Glyphs("─", "─", "┼", "█", "├", "┤", "█", "░")
ASCII: Final = Glyphs("-", "-", "+", "#", "[", "]", "#", ".")


def glyphs(display: Display) -> Glyphs:
    """Return the characters for a terminal."""
    return UNICODE if display.unicode else ASCII
