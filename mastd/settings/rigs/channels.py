"""What a rig can give: its kinds, the channels of each, their units and usual ranges.

A rig's channels follow from its kind, or are chosen from those that there are. The order in which a rig's
settings name them is the order of the numbers in its messages.
"""

from __future__ import annotations

import math
import re
from typing import Final, NamedTuple

from mastd.settings.core.axes import AXES

MAX_RIGS: Final = 8
MAX_CHANNELS: Final = 24
"""Channels of one rig."""
SIGNALS, VEHICLE, POSE, SEAT = "signals", "vehicle", "pose", "seat"
"""Kinds: single signals; a vehicle on the table; the pose to go to; a vehicle that is driven elsewhere."""
KINDS: Final = (SIGNALS, VEHICLE, POSE, SEAT)
RATES, ACCELERATIONS = "rate", "acceleration"
AUXILIARY: Final = "auxiliary"


class Signal(NamedTuple):
    """One channel that a rig can give."""

    unit: str
    lowest: float
    highest: float
    meaning: str


WRENCH: Final = ("wrench.fx", "wrench.fy", "wrench.fz", "wrench.mx", "wrench.my", "wrench.mz")
POSES: Final = tuple(f"pose.{axis}" for axis in AXES)
POSE_RATES: Final = tuple(f"{RATES}.{axis}" for axis in AXES)
POSE_ACCELERATIONS: Final = tuple(f"{ACCELERATIONS}.{axis}" for axis in AXES)
FELT: Final = (
    *(f"seat.specific_force.{axis}" for axis in "xyz"),
    *(f"seat.angular_velocity.{axis}" for axis in "xyz"),
    *(f"seat.angular_acceleration.{axis}" for axis in "xyz"),
)

_PEDALS: Final = {
    "steering": Signal("1", -1.0, 1.0, "fraction of the travel of the racks, left positive"),
    "throttle": Signal("1", 0.0, 1.0, "pedal, 1 is down"),
    "brake": Signal("1", 0.0, 1.0, "pedal, 1 is down"),
    "clutch": Signal("1", 0.0, 1.0, "pedal, 1 is down"),
    "gear": Signal("1", -9.0, 100.0, "lever: below 0 reverse, 0 neutral, 100 the car's choice"),
}
DRIVER: Final = tuple(_PEDALS)
"""What a driver does, in the order of the driver's block."""
_OF_WHEEL: Final = {
    "wheel_torque": Signal("N m", -2e4, 2e4, "on the wheel from a motor, forward positive"),
    "damper_force": Signal("N", -1e5, 1e5, "added to that of the wheel's damper, pushing apart positive"),
}
WHEEL_SIGNALS: Final = tuple(_OF_WHEEL)
_OF_KIND: Final = {
    VEHICLE: {
        name: Signal("N" if ".f" in name else "N m", -1e6, 1e6, "on the table at C in P, weight included")
        for name in WRENCH
    },
    POSE: {
        **{
            name: Signal("m" if k < 3 else "rad", -1.0, 1.0, "pose of C to go to")
            for k, name in enumerate(POSES)
        },
        **{
            name: Signal("m/s" if k < 3 else "rad/s", -5.0, 5.0, "rate of that pose (Euler rates)")
            for k, name in enumerate(POSE_RATES)
        },
        **{
            name: Signal("m/s2" if k < 3 else "rad/s2", -100.0, 100.0, "second derivative of that pose")
            for k, name in enumerate(POSE_ACCELERATIONS)
        },
    },
    SEAT: {
        name: Signal(
            ("m/s2", "rad/s", "rad/s2")[k // 3],
            -(100.0, 10.0, 100.0)[k // 3],
            (100.0, 10.0, 100.0)[k // 3],
            (
                "specific force at the seat, +g upwards at rest",
                "of the chassis, in its axes",
                "of the chassis, in its axes",
            )[k // 3],
        )
        for k, name in enumerate(FELT)
    },
}
REQUIRED: Final = {VEHICLE: WRENCH, POSE: POSES, SEAT: FELT}
"""Channels that a rig of a kind always has, in this order."""
_NAME_PART: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")


def signal(kind: str, channel: str) -> Signal | None:
    """Return the known channel of a rig of this kind, None if there is no such channel.

    The unit of ``auxiliary.NAME`` is not known here: empty.
    """
    if kind != SIGNALS:
        return _OF_KIND[kind].get(channel)
    if channel in _PEDALS:
        return _PEDALS[channel]
    head, _, rest = channel.partition(".")
    if not _NAME_PART.fullmatch(rest):
        return None
    if head == AUXILIARY:
        return Signal("", -math.inf, math.inf, "recorded, and else not used")
    return _OF_WHEEL.get(head)


def choices(kind: str) -> str:
    """Return in words which channels a rig of this kind may have."""
    if kind == SIGNALS:
        wheel = ", ".join(f"{name}.WHEEL" for name in _OF_WHEEL)
        return f"{', '.join(_PEDALS)}, {wheel}, {AUXILIARY}.NAME"
    names = list(_OF_KIND[kind])
    return f"{names[0]} to {names[-1]}"
