"""The terminal: what it can show, the screen and keyboard while the panel has them, and giving them back."""

from __future__ import annotations

import contextlib
import curses
import os
import select
import signal
import sys
import termios
import threading
from collections.abc import Mapping
from types import FrameType
from typing import Any, Final

from mastd.errors import UsageError
from mastd.panel.view import Display

NO_SCREEN: Final = frozenset({"", "dumb", "unknown", "emacs"})
"""Values of TERM at which a cursor cannot be placed."""
LEAVING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_WATCHED: Final = (*LEAVING, signal.SIGTSTP, signal.SIGCONT)
_LINGER_S: Final = 1.0
_CHECK_INTERVAL_S: Final = 0.1
_USUAL_SIZE: Final = (80, 24)
# Cursor hidden, lines not continued on the next row, pasted text marked as such.
_ENTER: Final = "\x1b[?25l\x1b[?7l\x1b[?2004h"
_LEAVE: Final = "\x1b[0m\x1b[?2004l\x1b[?7h\x1b[?25h"
_OTHER_SCREEN: Final = ("\x1b[?1049h", "\x1b[?1049l")


def can_show(environment: Mapping[str, str]) -> bool:
    """Return whether a panel can be shown: keyboard and screen are a terminal with a cursor to place."""
    try:
        both = os.isatty(sys.stdin.fileno()) and os.isatty(sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        return False
    return both and environment.get("TERM", "") not in NO_SCREEN


def speaks_unicode(encoding: str, environment: Mapping[str, str]) -> bool:
    """Return whether characters beyond ASCII arrive; Python's own encoding hides a plain locale."""
    named = (environment.get(name, "") for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    locale = next((name for name in named if name), "")
    return all(
        name.lower().replace("-", "").endswith("utf8") for name in (encoding, locale.partition("@")[0])
    )


def _number_of_colours(terminal: str, descriptor: int) -> int:
    try:
        curses.setupterm(terminal, descriptor)
        return curses.tigetnum("colors")
    except curses.error:  # newer than this machine's list of terminals
        return 8


def _has_other_screen(terminal: str, descriptor: int) -> bool:
    try:
        curses.setupterm(terminal, descriptor)
        return curses.tigetstr("smcup") is not None
    except curses.error:
        return True


def _unblocked(screen: int) -> int:
    """Return a descriptor of the same terminal at which writing does not wait; others' stay as they are."""
    try:
        return os.open(os.ttyname(screen), os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError:  # it belongs to another user
        return os.dup(screen)


class Terminal:
    """Screen and keyboard while the context is held; whatever ends it, the terminal is as it was before.

    Signals do nothing by themselves: their numbers come out of ``woken`` like keys out of the keyboard.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Raise UsageError where standard input is no terminal."""
        self.keyboard = sys.stdin.fileno()
        self._screen = sys.stdout.fileno()
        try:
            self._before = termios.tcgetattr(self.keyboard)
        except termios.error as error:
            raise UsageError(f"watch: standard input is no terminal ({error}); use --lines") from error
        self._encoding = sys.stdout.encoding
        name = environment.get("TERM", "")
        self._unicode = speaks_unicode(self._encoding, environment)
        self._colour = not environment.get("NO_COLOR") and _number_of_colours(name, self._screen) >= 8
        self._enter, self._leave = _OTHER_SCREEN if _has_other_screen(name, self._screen) else ("", "")
        self._unblocked = _unblocked(self._screen)
        self._taken = False
        self._signals: dict[int, Any] = {}
        self.woken, self._waker = os.pipe()
        self._wake_before = -1

    def display(self) -> Display:
        """Return what the terminal can show now."""
        try:
            size = tuple(os.get_terminal_size(self._screen))
        except OSError:
            size = (0, 0)
        width, height = (found or usual for found, usual in zip(size, _USUAL_SIZE, strict=True))
        return Display(width, height, self._unicode, self._colour)

    def write(self, text: str) -> None:
        """Send text to the screen while it is ours; what comes too late is left out."""
        data = text.encode(self._encoding, "replace")
        while data and self._taken:
            try:
                data = data[os.write(self._unblocked, data) :]
            except BlockingIOError:
                select.select([], [self._unblocked], [], _CHECK_INTERVAL_S)

    def take(self) -> None:
        """Take screen and keyboard; again after somebody else had them. Raises OSError if they are gone."""
        try:
            mode = termios.tcgetattr(self.keyboard)
            # Ctrl-S must not freeze the screen: s is what people press when they want to stop.
            mode[0] &= ~(termios.IXON | termios.IXOFF)
            mode[3] &= ~(termios.ICANON | termios.ECHO | termios.IEXTEN)
            mode[6][termios.VMIN], mode[6][termios.VTIME] = 1, 0
            termios.tcsetattr(self.keyboard, termios.TCSANOW, mode)
        except termios.error as error:
            raise OSError(*error.args) from error
        enter = _ENTER if self._taken else self._enter + _ENTER
        self._taken = True
        self.write(enter)

    def give_back(self) -> None:
        """Make the terminal as it was."""
        self._taken = False
        below = self._leave or f"\x1b[{self.display().height};1H\r\n"
        with contextlib.suppress(OSError, termios.error):  # a terminal that is gone
            # Keys for the panel are none for the shell.
            termios.tcflush(self.keyboard, termios.TCIFLUSH)
            termios.tcsetattr(self.keyboard, termios.TCSANOW, self._before)
            if not select.select([], [self._screen], [], _LINGER_S)[1]:
                # A terminal that takes nothing any more must not keep the panel from ending.
                termios.tcflush(self._screen, termios.TCOFLUSH)
            os.write(self._screen, (_LEAVE + below).encode("ascii"))

    def suspend(self) -> None:
        """Suspend this process as Ctrl-Z does, with the terminal restored, until it is resumed."""
        self.give_back()
        handler = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        # To this thread, so that it stops here and not a little later.
        signal.pthread_kill(threading.get_ident(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, handler)
        self.take()

    def __enter__(self) -> Terminal:
        os.set_blocking(self._waker, False)
        os.set_blocking(self.woken, False)
        self._wake_before = signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        for number in _WATCHED:
            self._signals[number] = signal.signal(number, _noted)
        try:
            self.take()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _end(self) -> None:
        self.give_back()
        signal.set_wakeup_fd(self._wake_before)
        for number, handler in self._signals.items():
            signal.signal(number, handler)
        for descriptor in (self._waker, self.woken, self._unblocked):
            os.close(descriptor)


def _noted(number: int, frame: FrameType | None) -> None:
    """The number has gone into the pipe already."""
