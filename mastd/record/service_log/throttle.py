"""Keeps a log readable when one thing happens over and over: so many in a window, the rest counted."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

MAX_IN_A_WINDOW = 20
WINDOW_S = 60.0
MAX_KEYS = 256
"""Kinds that are counted apart; what comes beyond shares one count."""
_OTHERS = ("others",)

Item = TypeVar("Item")


@dataclass
class Window(Generic[Item]):
    """What came of one kind since ``begun``; ``newest`` is the last one that was held back."""

    begun: float
    admitted: int = 0
    more: int = 0
    newest: Item | None = None


class Throttle(Generic[Item]):
    """Admits the first of each kind in a window that begins with the first one.

    Times are seconds of any clock that does not go back.
    """

    def __init__(self, maximum: int = MAX_IN_A_WINDOW, window_s: float = WINDOW_S) -> None:
        self.window_s = window_s
        self._maximum = maximum
        self._windows: dict[Hashable, Window[Item]] = {}

    def admits(self, key: Hashable, item: Item, now: float) -> bool:
        """Return whether an item of this kind may be logged now; else count it."""
        if key not in self._windows and len(self._windows) >= MAX_KEYS:
            key = _OTHERS
        window = self._windows.setdefault(key, Window(now))
        if window.admitted < self._maximum:
            window.admitted += 1
            return True
        window.more += 1
        window.newest = item
        return False

    def over(self, now: float, end: bool = False) -> list[tuple[Item, int, float]]:
        """Remove expired windows (``end``: all), and return the number of suppressed items in each.

        That is the newest item, how many there were, and the seconds of the window. To be called before
        ``admits`` of the same time, so that a new window can begin.
        """
        over = [key for key, window in self._windows.items() if end or now - window.begun >= self.window_s]
        windows = [self._windows.pop(key) for key in over]
        return [
            (window.newest, window.more, min(now - window.begun, self.window_s))
            for window in windows
            if window.newest is not None
        ]
