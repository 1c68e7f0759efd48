"""When to look for the loop's next frame: a timer that a poller can wait for, set by the time of the last.

In free-run the loop wakes nobody: to wake a process that sleeps on another processor costs it some 8 µs of
every cycle. Its frames come a period apart, so that whoever waits for them can know when to look. A frame
that is not there yet is looked for again soon, and less often the longer none has come.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import time
from typing import Final

_CLOCK_MONOTONIC: Final = time.CLOCK_MONOTONIC
_ABSOLUTE: Final = 1
_FLAGS: Final = os.O_NONBLOCK | os.O_CLOEXEC
MARGIN_NS: Final = 100_000
"""After the time at which the frame is expected, if the loop keeps its own."""
AGAIN_NS: Final = 200_000
SELDOM_NS: Final = 5_000_000
"""Between two looks for a frame that is late, at first and at most."""


class _TimerSetting(ctypes.Structure):
    """struct itimerspec: interval and first expiry, each seconds and nanoseconds (timerfd_create(2))."""

    _fields_ = tuple((name, ctypes.c_long) for name in ("interval_s", "interval_ns", "expiry_s", "expiry_ns"))


class FrameTimer:
    """A timer of the monotonic clock; ``descriptor`` can be read when it has expired.

    Raises OSError where the system has no timer to give.
    """

    def __init__(self, period_ns: int) -> None:
        self._period_ns = period_ns
        self._library = ctypes.CDLL(None, use_errno=True)
        self.descriptor: int = self._library.timerfd_create(_CLOCK_MONOTONIC, _FLAGS)
        if self.descriptor < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        self._setting = _TimerSetting(0, 0, 0, 0)
        self._missed = 0

    def expect_after(self, frame_ns: int) -> None:
        """Expire when the frame after that of ``frame_ns`` is expected."""
        self._missed = 0
        self._arm(frame_ns + self._period_ns + MARGIN_NS)

    def again(self, now_ns: int) -> None:
        """Expire a little later: there was no new frame."""
        self._missed += 1
        self._arm(now_ns + min(AGAIN_NS * self._missed, SELDOM_NS))

    def rest(self) -> None:
        """Do not expire."""
        self._missed = 0
        self._set(0)

    def clear(self) -> None:
        """Forget that it has expired."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.descriptor, 8)

    def close(self) -> None:
        """Give the timer back."""
        os.close(self.descriptor)

    def _arm(self, at_ns: int) -> None:
        self._set(max(at_ns, 1))

    def _set(self, at_ns: int) -> None:
        self._setting.expiry_s, self._setting.expiry_ns = divmod(at_ns, 1_000_000_000)
        self._library.timerfd_settime(self.descriptor, _ABSOLUTE, ctypes.byref(self._setting), None)
