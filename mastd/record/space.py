"""How long the free space of a disk lasts for recording.

Frames are packed on their way, so that a record is as a rule a third to nine tenths of what is counted here.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from mastd.record.channels import NANOSECONDS, ChannelSet

_UNITS = ((86400.0, "days"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))


@dataclass(frozen=True)
class Space:
    """Free bytes of the disk that holds ``directory``, and the bytes that a second of recording takes at
    most."""

    directory: Path
    free: int
    rate: float

    @property
    def seconds(self) -> float:
        """How long it lasts at least."""
        return self.free / self.rate

    def text(self) -> str:
        """Return it in words."""
        return (
            f"{self.directory}: {self.free / 1e9:.3g} GB free, enough for {duration_text(self.seconds)}"
            f" of recording at {self.rate / 1e6:.2g} MB/s"
        )

    def short_of(self, seconds: float) -> str | None:
        """Return what to tell where the space does not last as long as a profile; None where it does."""
        if self.seconds >= seconds:
            return None
        needed = duration_text(seconds)
        return f"{self.text()}; the profile takes {needed}: its record may break off; free some space"


def space(directory: Path, channels: ChannelSet) -> Space | None:
    """Return the space for records in a directory, which need not be there yet; None where nobody knows."""
    place = directory.absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    try:
        disk = os.statvfs(place)
    except OSError:
        return None
    return Space(
        directory, disk.f_bavail * disk.f_frsize, 8.0 * len(channels) * NANOSECONDS / channels.period_ns
    )


def duration_text(seconds: float) -> str:
    """Return a time in the unit that suits it."""
    size, unit = next((pair for pair in _UNITS if seconds >= 2.0 * pair[0]), _UNITS[-1])
    return f"{seconds / size:.3g} {unit}"
