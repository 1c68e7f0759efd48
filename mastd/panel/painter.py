"""Brings lines of text to a terminal; only changed lines are sent, so that slow connections stay usable."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from rich.color import ColorSystem
from rich.console import Console
from rich.segment import Segment
from rich.text import Text

from mastd.panel.view import Display

_CLEAR: Final = "\x1b[H\x1b[2J"
_CLEAR_REST: Final = "\x1b[K"


class Painter:
    """What a terminal shows now, and how it becomes what it should show."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._shown: list[str] = []
        self._display: Display | None = None

    def forget(self) -> None:
        """Draw everything the next time: something else has been on the screen."""
        self._display = None

    def paint(self, lines: Sequence[Text], display: Display) -> None:
        """Show lines, one for each row from the top."""
        anew = display != self._display
        if anew:
            self._console = _console(display)
        drawn = list(self._encoded(lines, display))
        parts = [_CLEAR] if anew else []
        for row, line in enumerate(drawn, start=1):
            if anew or row > len(self._shown) or line != self._shown[row - 1]:
                parts.append(f"\x1b[{row};1H{line}")
        if parts:
            self._write("".join(parts))
        self._shown, self._display = drawn, display

    def _encoded(self, lines: Iterable[Text], display: Display) -> Iterable[str]:
        for line in lines:
            # After the last column a terminal would clear that column itself.
            rest = _CLEAR_REST if line.cell_len < display.width else ""
            yield f"{encoded(line, self._console)}\x1b[0m{rest}"


def encoded(line: Text, console: Console) -> str:
    """Return a line with the codes of its styles."""
    segments: Iterable[Segment] = line.render(console)
    if console.no_color:
        segments = Segment.remove_color(segments)
    return "".join(
        segment.style.render(segment.text, color_system=ColorSystem.STANDARD)
        if segment.style
        else segment.text
        for segment in segments
    )


def _console(display: Display) -> Console:
    return Console(
        file=io.StringIO(),
        force_terminal=True,
        color_system="standard",
        no_color=not display.colour,
        width=display.width,
        height=display.height,
        legacy_windows=False,
        _environ={},
    )
