"""A command on a terminal of its own: what it shows, the keys it gets, the modes it leaves behind."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.lab import PATIENCE

_CODE = re.compile(r"\x1b\[(\??)([0-9;]*)([A-Za-z])")


class Screen:
    """The little of a terminal that the panel asks for: places, clearing, the other screen; no styles."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.rows = [[" "] * width for _ in range(height)]
        self.row = self.column = 0
        self.modes = {"7", "25"}
        """Private modes that are on, such as ``1049``."""
        self.styles: set[str] = set()
        """All codes of colours and other looks that have come."""
        self.wrapped = 0
        """How often a line went on beyond the last column."""
        self._rest = ""
        self._behind: tuple[list[list[str]], int, int] | None = None

    def resize(self, width: int, height: int) -> None:
        """Become another size; what is shown is drawn anew by whoever shows it."""
        self.width, self.height = width, height
        self.rows = [[" "] * width for _ in range(height)]
        self.row = self.column = 0
        if self._behind:
            self._behind = [row[:] for row in self.rows], 0, 0

    def feed(self, text: str) -> None:
        """Take what a program sends."""
        text, self._rest = self._rest + text, ""
        place = 0
        while place < len(text):
            character = text[place]
            if character == "\x1b":
                match = _CODE.match(text, place)
                if match is None:
                    self._rest = text[place:]
                    return
                self._obey(*match.groups())
                place = match.end()
                continue
            place += 1
            if character == "\r":
                self.column = 0
            elif character == "\n":
                self._line_feed()
            elif character >= " ":
                self._put(character)

    def _line_feed(self) -> None:
        self.row += 1
        if self.row == self.height:
            self.row -= 1
            self.rows = [*self.rows[1:], [" "] * self.width]

    def _put(self, character: str) -> None:
        if self.column >= self.width:
            self.wrapped += 1
            if "7" not in self.modes:
                return
            self.column = 0
            self._line_feed()
        self.rows[self.row][self.column] = character
        self.column += 1

    def _obey(self, private: str, numbers: str, command: str) -> None:
        if private:
            change = self.modes.add if command == "h" else self.modes.discard
            change(numbers)
            if numbers == "1049":
                self._turn(command == "h")
        elif command == "H":
            row, _, column = numbers.partition(";")
            self.row = min(int(row or 1), self.height) - 1
            self.column = int(column or 1) - 1
        elif command == "J":
            self.rows = [[" "] * self.width for _ in range(self.height)]
        elif command == "K":
            self.rows[self.row][self.column :] = [" "] * (self.width - self.column)
        elif command == "m":
            self.styles.update(numbers.split(";"))

    def _turn(self, other: bool) -> None:
        """Show the other screen, or what has been behind it."""
        if other:
            self._behind = self.rows, self.row, self.column
            self.rows = [[" "] * self.width for _ in range(self.height)]
        elif self._behind:
            self.rows, self.row, self.column = self._behind

    @property
    def lines(self) -> list[str]:
        """The rows without the blanks behind them."""
        return ["".join(row).rstrip() for row in self.rows]

    @property
    def text(self) -> str:
        """All that is shown."""
        return "\n".join(self.lines)


class Terminal:
    """A process on a pseudo-terminal; a context manager that ends it."""

    def __init__(
        self, command: Sequence[str], directory: Path, environment: Mapping[str, str], size: tuple[int, int]
    ) -> None:
        """``size`` is columns and rows."""
        self._ours, theirs = pty.openpty()
        self.device = os.ttyname(theirs)
        self.screen = Screen(*size)
        self.resize(*size)
        self._theirs = theirs  # kept open, so that what is left behind can be seen after the end
        self.before = termios.tcgetattr(theirs)
        self.raw = b""
        self.process = subprocess.Popen(
            ["setsid", "--ctty", *command],  # the terminal is its own, so that keys send signals
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=directory,
            env=environment,
        )

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self._ours)
        os.close(self._theirs)

    def resize(self, width: int, height: int) -> None:
        """Change columns and rows, as a window does."""
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        self.screen.resize(width, height)

    def press(self, keys: str) -> None:
        """Press keys."""
        os.write(self._ours, keys.encode())

    def read(self, seconds: float) -> bool:
        """Take what comes within a time; return whether something came."""
        if not select.select([self._ours], [], [], seconds)[0]:
            return False
        data = os.read(self._ours, 1 << 16)
        self.raw += data
        self.screen.feed(data.decode("utf-8", "ignore"))
        return True

    def until(self, done: Callable[[Screen], object], what: str, limit: float = PATIENCE) -> Screen:
        """Wait until the screen shows something."""
        end = time.monotonic() + limit
        while not done(self.screen):
            assert time.monotonic() < end, f"{what} was not shown:\n{self.screen.text}"
            self.read(0.1)
        return self.screen

    def shows(self, *words: str) -> Screen:
        """Wait until all of these words are on the screen."""
        return self.until(lambda screen: all(word in screen.text for word in words), ", ".join(words))

    def ended(self, limit: float = PATIENCE) -> int:
        """Wait for the end and return the exit code; what was sent last is on the screen then."""
        end = time.monotonic() + limit
        while self.process.poll() is None:
            assert time.monotonic() < end, f"it has not ended:\n{self.screen.text}"
            self.read(0.05)
        while self.read(0.0):
            pass
        return self.process.returncode

    @property
    def takes(self) -> bool:
        """Whether more can be shown before somebody reads."""
        return bool(select.select([], [self._theirs], [], 0.0)[1])

    @property
    def attributes(self) -> list[Any]:
        """The modes of the terminal now."""
        return termios.tcgetattr(self._theirs)
