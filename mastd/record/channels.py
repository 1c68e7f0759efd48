"""Channels of a record: which numbers a frame holds, in which unit, and how often.

A frame is one flat float64 array per control cycle. Its columns are the channels of a ``ChannelSet``: first
the channels of every cycle, then those of each slower rate. ``loop_channels`` gives the columns that the
loop always writes; the payload and the rigs append theirs with ``extended``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

AXES = ("surge", "sway", "heave", "roll", "pitch", "yaw")
LENGTH_AXES = AXES[:3]
NANOSECONDS = 1_000_000_000


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
            raise ValueError(f"period is {period_ns} ns, it must be positive")
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
            raise ValueError(f"channel names must be unique and not empty, look at {double}")

    def __len__(self) -> int:
        return len(self.channels)

    def __iter__(self) -> Iterator[Channel]:
        return iter(self.channels)

    def column(self, name: str) -> int:
        """Return the column of one channel."""
        return self.columns[name]

    def slice(self, first: str, count: int) -> slice:
        """Return the columns of ``count`` channels that follow one another from ``first`` on."""
        start = self.columns[first]
        return slice(start, start + count)

    def extended(self, channels: Iterable[Channel]) -> ChannelSet:
        """Return a new set with further channels; look columns up in the new set, slower ones move back."""
        return ChannelSet((*self.channels, *channels), self.period_ns)


def _interval(channel: Channel, period_ns: int) -> int:
    """Return every how many steps a channel is kept."""
    if channel.rate_hz is None:
        return 1
    if not channel.rate_hz > 0:
        raise ValueError(f"channel {channel.name}: rate is {channel.rate_hz} Hz, it must be positive")
    steps = NANOSECONDS / (channel.rate_hz * period_ns)
    every = round(steps)
    if every < 1 or abs(steps - every) > 1e-6 * every:
        cycle_rate = NANOSECONDS / period_ns
        raise ValueError(
            f"channel {channel.name}: rate {channel.rate_hz:g} Hz must be the cycle's rate {cycle_rate:g} Hz"
            " divided by an integer"
        )
    return every


def loop_channels(
    links: int, accelerometers: int, supply: Sequence[tuple[str, str, str]], period_ns: int
) -> ChannelSet:
    """Return the channels that the control loop writes in every cycle.

    ``supply`` are (name, unit, meaning) of the supply block, as in ``mastd.wire.layout.SUPPLY_FIELDS``.
    Frame k holds sample k and what was computed from it: the pose is the measured one at step k, while
    reference and command are meant for step k + 1, whose sample answers them.
    """
    channels = [
        Channel("cycle", "1", None, "cycles executed, counted from 0"),
        Channel("step", "1", None, "control periods since the record began, missed ones included"),
        Channel("plant_time", "s", None, "plant time of the sample"),
        Channel(
            "profile_time", "s", None, "time in the profile that the reference belongs to, NaN without one"
        ),
        Channel("state", "1", None, "state, index into the metadata's states"),
        Channel("fault", "1", None, "code of the latched fault, 0 for none"),
        Channel("flags", "1", None, "flags of the sample as an integer"),
        Channel("late", "s", None, "start of the cycle after its deadline"),
        Channel("compute", "s", None, "thread time of the cycle's work"),
        Channel("missed", "1", None, "periods missed since the record began"),
    ]
    for quantity, suffix, meaning in (
        ("reference", "", "reference pose of C for the next step"),
        ("reference_rate", "/s", "rate of the reference pose (Euler rates)"),
        ("reference_acceleration", "/s2", "second derivative of the reference pose"),
        ("pose", "", "measured pose of C against neutral"),
        ("pose_rate", "/s", "rate of the measured pose (Euler rates)"),
    ):
        for axis in AXES:
            base = "m" if axis in LENGTH_AXES else "rad"
            channels.append(Channel(f"{quantity}.{axis}", base + suffix, None, meaning))
    channels += [
        Channel("residual", "m", None, "forward kinematics: sum of the absolute length differences left"),
        Channel("updates", "1", None, "forward kinematics: updates of the observer"),
        Channel("redundancy_residual", "m", None, "disagreement of the redundant link with the others"),
    ]
    for quantity, unit, meaning in (
        ("command.length", "m", "length set-point at the end of the coming period"),
        ("command.rate", "m/s", "rate of the length set-point"),
        ("command.acceleration", "m/s2", "second derivative of the length set-point"),
        ("command.force", "N", "expected actuator force, tension negative"),
        ("command.trim", "m/s", "valve trim as no-load speed"),
        ("length", "m", "measured length"),
        ("pressure_1", "Pa", "pressure of chamber 1, which extends the link"),
        ("pressure_2", "Pa", "pressure of chamber 2"),
        ("spool", "1", "valve opening, 1 is fully open to chamber 1"),
    ):
        channels += [Channel(f"{quantity}.{link}", unit, None, meaning) for link in range(1, links + 1)]
    channels += [Channel(f"supply.{name}", unit, None, meaning) for name, unit, meaning in supply]
    channels += [
        Channel(f"accelerometer.{index}", "m/s2", None, "specific force along the sensor's axis")
        for index in range(1, accelerometers + 1)
    ]
    channels.append(Channel("internal_force", "N", None, "actuator forces along the null space of the links"))
    return ChannelSet(channels, period_ns)
