"""The terminal of somebody who drives: keys byte by byte, and a line that changes."""

from __future__ import annotations

import os
import signal
import sys
import termios
from contextlib import suppress
from types import FrameType
from typing import Any

from mastd.errors import UsageError, printable


class Terminal:
    """The keyboard byte by byte, without echo and signals, until the context is left, however it is left."""

    def __init__(self) -> None:
        """Raise UsageError where standard input is no terminal."""
        try:
            self.descriptor = sys.stdin.fileno()
            self._before = termios.tcgetattr(self.descriptor)
        except (OSError, ValueError, termios.error):
            raise UsageError(
                "drive: standard input is not a terminal: keys drive the car, or stop and quit with a gamepad"
            ) from None
        self._shown = sys.stdout.isatty()
        self._signals: dict[int, Any] = {}

    def __enter__(self) -> Terminal:
        for number in (signal.SIGTERM, signal.SIGHUP):
            self._signals[number] = signal.signal(number, _leave)
        mode = termios.tcgetattr(self.descriptor)
        mode[0] &= ~(termios.IXON | termios.ICRNL)
        mode[3] &= ~(termios.ICANON | termios.ECHO | termios.ISIG | termios.IEXTEN)
        mode[6][termios.VMIN], mode[6][termios.VTIME] = 1, 0
        termios.tcsetattr(self.descriptor, termios.TCSANOW, mode)
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError, termios.error):  # a terminal that is gone
            termios.tcsetattr(self.descriptor, termios.TCSANOW, self._before)
            termios.tcflush(self.descriptor, termios.TCIFLUSH)  # keys for the car are none for the shell
            self.write("\n")
        for number, handler in self._signals.items():
            signal.signal(number, handler)

    def write(self, text: str) -> None:
        """Print to an interactive terminal."""
        if self._shown:
            print(text, end="", flush=True)

    def show_line(self, text: str) -> None:
        """Print a line that stays, above the one that changes."""
        self.write(f"\r\x1b[K{printable(text, keep='')}\n")

    def line(self, text: str) -> None:
        """Print over the present line, cut to the terminal's width."""
        if self._shown:
            width = os.get_terminal_size(sys.stdout.fileno()).columns or 80
            print(f"\r\x1b[K{text[: width - 1]}", end="", flush=True)


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
