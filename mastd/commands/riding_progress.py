"""One line on a terminal while a vehicle is simulated on the table for the check."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Final

_REDRAW_S: Final = 0.5


class RidingProgress:
    """Tells how much of the motion the vehicle has been taken through; nothing where it is not shown."""

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown
        self._drawn = time.monotonic()

    def __call__(self, share: float) -> None:
        """Draw ``share``, 0 to 1, unless it was drawn just before."""
        now = time.monotonic()
        if not self._shown or now - self._drawn < _REDRAW_S:
            return
        self._drawn = now
        print(f"\r\x1b[Kcheck: the vehicle on the table, {share:.0%}", end="", file=sys.stderr, flush=True)

    def __enter__(self) -> RidingProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
