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
from typing import Annotated, Final, NamedTuple

from mastd.index_table import Entry, index_table, size_of
from mastd.settings.rigs.channels import MAX_CHANNELS, MAX_RIGS
from mastd.wire.common.blocks import NAME_BYTES, NewestValueBlock
from mastd.wire.common.layout import Field, Layout


class RigRow(NamedTuple):
    """What the block of values holds of one rig."""

    joined: Annotated[int, Entry("1", "number of its joining, 0 while it is not there")]
    given: Annotated[int, Entry("1", "values received")]
    step: Annotated[int, Entry("1", "step of the loop that the newest ones answer")]
    in_step: Annotated[int, Entry("1", "1 if it keeps in step with the loop")]
    values: Annotated[int, Entry("SI", "its values", MAX_CHANNELS)]


class FrameHead(NamedTuple):
    """What stands before the loop's frame in the frame's block."""

    number: Annotated[int, Entry("1", "exchanges so far")]
    time: Annotated[int, Entry("s", "monotonic time")]
    plant_step: Annotated[int, Entry("1", "step of the plant")]
    plant_time: Annotated[int, Entry("s", "time of the plant")]
    state: Annotated[int, Entry("1", "state of the table")]
    speed: Annotated[int, Entry("1", "speed of path time")]
    asked: Annotated[int, Entry("1", "mask of the rigs whose answer to this exchange is waited for")]
    smoothed_pose: Annotated[int, Entry("m, rad", "what a vehicle on the table follows", 6)]


RIG_ROW: Final = index_table(RigRow)
RIG_WIDTH: Final = size_of(RIG_ROW)
FRAME_HEAD: Final = index_table(FrameHead)
FRAME_HEAD_SIZE: Final = size_of(FRAME_HEAD)

RIG_VALUES: Final = Layout(
    "rig values",
    (
        Field("stops", 1, "1", "number of stops requested by rigs"),
        Field("estops", 1, "1", "number of emergency stops requested by rigs"),
        Field("rigs", MAX_RIGS * RIG_WIDTH, "SI", "a row for each rig of the settings"),
        Field("stopped_by", NAME_BYTES // 8, "UTF-8", "the rig that has asked for the newest stop"),
    ),
)

STOPS, ESTOPS, FIRST_RIG = (RIG_VALUES.slices[name].start for name in ("stops", "estops", "rigs"))
RIG_ROWS: Final = RIG_VALUES.slices["rigs"]


def rig_frame_layout(width: int) -> Layout:
    """Return the layout of the frame's block for frames of ``width`` numbers."""
    return Layout(
        "rig frame",
        (
            Field("head", FRAME_HEAD.smoothed_pose, "SI", "see FrameHead"),
            Field(
                "smoothed_pose",
                FRAME_HEAD_SIZE - FRAME_HEAD.smoothed_pose,
                "m, rad",
                "what a vehicle on the table follows",
            ),
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
