"""What the panel's threads tell each other: the newest status, the messages, the question that waits."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from mastd.panel.keys import CONFIRM, CONFIRM_S
from mastd.panel.reading import Document, text
from mastd.panel.view import Message, View

LOST_S: Final = 3.0
"""Without news for so long the connection is lost, whatever the socket says."""
_MAX_MESSAGES: Final = 50


class PanelStatus:
    """Written by watcher, senders and keyboard, read by the drawing thread; every call is short."""

    def __init__(self, me: str, observer: bool, clock: Callable[[], float] = time.monotonic) -> None:
        """``me`` is who looks and commands here; ``clock`` in s."""
        self._clock = clock
        self.changed = threading.Event()
        """Set when something is to be shown at once."""
        self._lock = threading.Lock()
        self._me = me
        self._observer = observer
        self._status: Document = {}
        self._description: Document = {}
        self._arrived = self._clock()
        self._lost = ""
        self._messages: deque[Message] = deque(maxlen=_MAX_MESSAGES)
        self._count = 0
        self._verb = ""
        self._asked = 0.0
        self._help = False

    def show(self, status: Document) -> None:
        """Take a new status."""
        with self._lock:
            before, self._status = self._status, status
            self._arrived = self._clock()
            was_lost, self._lost = self._lost, ""
        changed = [
            (text(reported, "state"), text(reported, "loop"), text(reported, "cause", "text"))
            for reported in (before, status)
        ]
        if was_lost:
            self.add_message("the daemon answers again", event=True)
        elif before and changed[0] != changed[1]:
            self.add_message(_change(before, status), good=not changed[1][2], event=True)
        if was_lost or changed[0] != changed[1]:
            self.changed.set()

    def describe(self, description: Document) -> None:
        """Take what the daemon tells of itself."""
        with self._lock:
            self._description = description

    def lose(self, reason: str) -> None:
        """Note that the daemon cannot be heard any more."""
        with self._lock:
            self._lost = reason
        self.changed.set()

    @property
    def lost(self) -> bool:
        """Whether the daemon cannot be heard."""
        with self._lock:
            return bool(self._lost) or self._clock() - self._arrived > LOST_S

    def add_message(self, text: str, good: bool = True, event: bool = False) -> None:
        """Add a message."""
        message = Message(time.strftime("%H:%M:%S"), text, good, event)
        with self._lock:
            self._messages.append(message)
            self._count += 1
        self.changed.set()

    def messages_since(self, count: int) -> list[Message]:
        """Return the messages after the first ``count`` ever told, as far as they are kept."""
        with self._lock:
            new = min(self._count - count, len(self._messages))
            return list(self._messages)[len(self._messages) - new :]

    @property
    def message_count(self) -> int:
        """How many messages have been told ever."""
        with self._lock:
            return self._count

    def ask(self, verb: str) -> None:
        """Let a verb wait for its confirmation."""
        with self._lock:
            self._verb, self._asked = verb, self._clock()
        self.changed.set()

    def confirmed(self, key: str) -> str:
        """Return the verb that ``key`` confirms, empty for none; no key lets a question wait on."""
        with self._lock:
            verb, self._verb = self._verb, ""
            in_time = self._clock() - self._asked <= CONFIRM_S
        self.changed.set()
        return verb if key == CONFIRM and in_time else ""

    def show_help(self, on: bool) -> None:
        """Show what the keys do, or the table again."""
        with self._lock:
            self._help = on
        self.changed.set()

    @property
    def helping(self) -> bool:
        """Whether the keys are being explained."""
        return self._help

    def view(self) -> View:
        """Return all that is to be shown now."""
        with self._lock:
            now = self._clock()
            age, waits = now - self._arrived, CONFIRM_S - (now - self._asked)
            silent = f"no status received for {age:.0f} s" if age > LOST_S else ""
            verb = self._verb if waits > 0.0 else ""
            question = (
                f" {verb}? press {CONFIRM} within {waits:.0f} s, any other key leaves it " if verb else ""
            )
            return View(
                self._status,
                self._description,
                age,
                self._lost or silent,
                self._me,
                self._observer,
                tuple(self._messages),
                question,
                self._help,
            )


def _change(before: Document, status: Document) -> str:
    was, now = text(before, "state"), text(status, "state")
    cause, loop = text(status, "cause", "text"), text(status, "loop")
    change = f"{was} > {now}" if was != now else now
    if loop != text(before, "loop"):
        change += f", the loop is {loop}"
    return f"{change}: {cause}" if cause and cause != text(before, "cause", "text") else change
