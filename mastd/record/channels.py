"""Channels of a record: which numbers a frame holds, in which unit, and how often.

A frame is one flat float64 array per control cycle. Its columns are the channels of a ``ChannelSet``: first
the channels of every cycle, then those of each slower rate. The loop gives the columns it always writes
(``mastd.loop.measurement.frame``); the payload and the rigs append theirs with ``extended``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from struct import Struct

from mastd.settings.core.axes import AXES

LENGTH_AXES = AXES[:3]
NANOSECONDS = 1_000_000_000
_FLOAT64 = Struct("<d")
_MAX_PERIODS = 1 << 53


@dataclass(frozen=True)
class Channel:
    """One recorded quantity; ``rate_hz`` None means every control cycle."""

    name: str
    unit: str
    rate_hz: float | None = None
    meaning: str = ""


@dataclass(frozen=True)
class ChannelGroup:
    """Channels of one rate: columns ``start``…``stop`` of the frame, kept every ``every``-th step."""

    topic: str
    channels: tuple[Channel, ...]
    start: int
    stop: int
    every: int
    rate_hz: float


class ChannelSet:
    """The ordered channels of a frame.

    Channels of every cycle come first, then each slower rate, fastest first; within a rate the order given is
    kept. A slower rate must divide the cycle's rate, because the record keeps every k-th integer step. Raises
    ValueError for a double or empty name and for a rate that does not divide.
    """

    def __init__(self, channels: Iterable[Channel], period_ns: int) -> None:
        given = tuple(channels)
        if period_ns <= 0:
            raise ValueError(f"period is {period_ns} ns, must be positive")
        self.period_ns = period_ns
        by_interval: dict[int, list[Channel]] = {1: []}
        for channel in given:
            by_interval.setdefault(_interval(channel, period_ns), []).append(channel)
        ordered: list[Channel] = []
        groups: list[ChannelGroup] = []
        for every in sorted(by_interval):
            members = tuple(by_interval[every])
            rate = NANOSECONDS / (period_ns * every)
            topic = "frame" if every == 1 else f"frame/{rate:g}hz"
            groups.append(
                ChannelGroup(topic, members, len(ordered), len(ordered) + len(members), every, rate)
            )
            ordered += members
        self.channels = tuple(ordered)
        self.groups = tuple(groups)
        self.columns = {channel.name: column for column, channel in enumerate(ordered)}
        if len(self.columns) != len(ordered) or "" in self.columns:
            names = [channel.name for channel in ordered]
            double = sorted({name for name in names if names.count(name) > 1 or not name})
            raise ValueError(f"channel names must be unique and not empty: {double}")

    def __len__(self) -> int:
        return len(self.channels)

    def __iter__(self) -> Iterator[Channel]:
        return iter(self.channels)

    def column(self, name: str) -> int:
        """Return the column of one channel."""
        return self.columns[name]

    def extended(self, channels: Iterable[Channel]) -> ChannelSet:
        """Return a new set with further channels; look up columns in the new set, slower ones move back."""
        return ChannelSet((*self.channels, *channels), self.period_ns)


class PeriodCounter:
    """Places frames in time: whole periods since frame number ``first``, missed periods included.

    The channel ``missed`` counts the periods missed since the loop began; what it says at the first frame
    seen is where counting starts. Places never descend, whatever the channel holds.
    """

    def __init__(self, channels: ChannelSet, first: int = 0) -> None:
        self._offset = 8 * channels.column("missed") if "missed" in channels.columns else None
        self._first = first
        self._base: int | None = None
        self._missed = 0

    def take(self, number: int, data: memoryview) -> int:
        """Return the period of the frame with this number and these bytes."""
        if self._offset is not None:
            (missed,) = _FLOAT64.unpack_from(data, self._offset)
            if 0.0 <= missed <= _MAX_PERIODS:
                if self._base is None:
                    self._base = int(missed)
                self._missed = max(self._missed, int(missed) - self._base)
        return self.position(number)

    def position(self, number: int) -> int:
        """Return the period number of a frame relative to the frames that were taken."""
        return number - self._first + self._missed


def _interval(channel: Channel, period_ns: int) -> int:
    """Return every how many steps a channel is kept."""
    if channel.rate_hz is None:
        return 1
    if not channel.rate_hz > 0:
        raise ValueError(f"channel {channel.name}: rate is {channel.rate_hz} Hz, must be positive")
    steps = NANOSECONDS / (channel.rate_hz * period_ns)
    every = round(steps)
    if every < 1 or abs(steps - every) > 1e-6 * every:
        cycle_rate = NANOSECONDS / period_ns
        raise ValueError(
            f"channel {channel.name}: rate {channel.rate_hz:g} Hz must be the cycle's rate {cycle_rate:g} Hz"
            " divided by an integer"
        )
    return every
