"""One line on a terminal that tells how far a long command is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final

_REDRAW_S: Final = 0.5
_CLEAR: Final = "\r\x1b[K"


class Progress:
    """Redraws its line twice a second at most, and takes it away at the end; not shown, it does nothing."""

    def __init__(self, text_of: Callable[[float], str], *, shown: bool, first: str = "") -> None:
        """Report what is done as ``text_of`` has it; ``first`` stands there until then."""
        self._text = text_of
        self._shown = shown
        self._drawn = time.monotonic()
        if shown and first:
            print(first, end="", file=sys.stderr, flush=True)

    def __call__(self, done: float) -> None:
        """Draw how much is done, unless it was drawn just before."""
        now = time.monotonic()
        if not self._shown or now - self._drawn < _REDRAW_S:
            return
        self._drawn = now
        print(f"{_CLEAR}{self._text(done)}", end="", file=sys.stderr, flush=True)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            print(_CLEAR, end="", file=sys.stderr, flush=True)


def riding(*, shown: bool) -> Progress:
    """Return the line of a vehicle that is taken through a motion, told its share 0…1."""
    return Progress(lambda ratio: f"check: the vehicle on the table, {ratio:.0%}", shown=shown)
