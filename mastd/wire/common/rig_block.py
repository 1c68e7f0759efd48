"""The two newest-value blocks between the loop and the rigs' gateway, and the two events that go with them.

``RIG_VALUES`` goes inwards: what each rig has given last, which step of the loop it answers, and stops that
rigs ask for, as counters. The frame's block goes outwards, once a cycle while a rig is there: what the loop
has measured in this cycle, with what it commanded in the one before. An event (eventfd) wakes the other
process; it carries nothing, so that a lost or a superfluous one does no harm.
"""

from __future__ import annotations

import contextlib
import os
import select
from dataclasses import dataclass
from typing import Final

from mastd.settings.rigs.channels import MAX_CHANNELS, MAX_RIGS
from mastd.wire.common.blocks import NewestValueBlock
from mastd.wire.common.layout import Field, Layout

_RIG_HEAD: Final = 4
JOINED, COUNT, STEP, IN_STEP = range(_RIG_HEAD)
"""Places in a rig's row: number of its joining, 0 while it is not there; values given; step of the loop that
the newest ones answer; 1 if it keeps in step with the loop. Then its values."""
FIRST_VALUE: Final = _RIG_HEAD
RIG_WIDTH: Final = _RIG_HEAD + MAX_CHANNELS
STOPS, ESTOPS, FIRST_RIG = 0, 1, 2

RIG_VALUES: Final = Layout(
    "rig values",
    (
        Field("stops", 1, "1", "stops that rigs have asked for so far"),
        Field("estops", 1, "1", "emergency stops that rigs have asked for so far"),
        Field("rigs", MAX_RIGS * RIG_WIDTH, "SI", "a row for each rig of the settings"),
    ),
)

NUMBER, TIME, PLANT_STEP, PLANT_TIME, STATE, SPEED, ASKED = range(7)
"""Places in the head of the frame's block: exchanges so far; monotonic time in s; step and time in s of the
plant; state; speed of path time; mask of the rigs whose answer to this exchange is waited for."""
SMOOTHED: Final = 7
FRAME_HEAD: Final = 13


def rig_frame_layout(width: int) -> Layout:
    """Return the layout of the frame's block for frames of ``width`` numbers."""
    return Layout(
        "rig frame",
        (
            Field("head", SMOOTHED, "SI", "see the places above"),
            Field("smoothed_pose", FRAME_HEAD - SMOOTHED, "m, rad", "what a vehicle on the table follows"),
            Field("frame", width, "SI", "the loop's frame"),
        ),
    )


class Event:
    """A wake-up for another process; both ends open it by its file descriptor."""

    def __init__(self, descriptor: int | None = None) -> None:
        self._owned = descriptor is None
        if descriptor is None:
            descriptor = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self.descriptor = descriptor

    def set(self) -> None:
        """Wake who waits; never blocks."""
        with contextlib.suppress(BlockingIOError):
            os.eventfd_write(self.descriptor, 1)

    def clear(self) -> None:
        """Forget that it was set."""
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self.descriptor)

    def wait(self, seconds: float) -> bool:
        """Wait until it is set, at most so long; return whether it was, and forget it."""
        ready = bool(select.select([self.descriptor], [], [], max(seconds, 0.0))[0])
        if ready:
            self.clear()
        return ready

    def close(self) -> None:
        """Close it where it was made."""
        if self._owned:
            os.close(self.descriptor)


@dataclass(frozen=True)
class RigLink:
    """What the loop shares with the rigs' gateway."""

    values: NewestValueBlock
    frame: NewestValueBlock
    shown: Event
    """Set by the loop in lockstep when it has shown a frame; in free-run the gateway looks by itself."""
    answered: Event
    """Set by the gateway when a rig that keeps in step has answered."""

    @classmethod
    def of(cls, width: int) -> RigLink:
        """Make it, for frames of ``width`` numbers."""
        frame = NewestValueBlock(rig_frame_layout(width))
        return cls(NewestValueBlock(RIG_VALUES), frame, Event(), Event())

    def close(self) -> None:
        """Release it; loop and gateway have ended."""
        for part in (self.values, self.frame, self.shown, self.answered):
            part.close()
