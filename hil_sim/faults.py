"""Faults that can be injected into the simulated plant, each named, at a plant time.

As text: ``NAME[.CHANNEL]@TIME[:VALUE]``, for instance ``estop@5s``, ``length-offset.3@2s:0.2mm``,
``length-nan.1@500ms``. Channels count from 1. A fault of an offset or a stuck value sits in the transducer,
so the drive sees it too; ``nan`` and ``missing`` sit in the line to the daemon.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mastd import units
from mastd.errors import UsageError
from mastd.units import Dimension

CHANNELS: Final[Mapping[str, Dimension]] = {
    "length": units.LENGTH,
    "pressure": units.PRESSURE,
    "spool": units.RATIO,
    "accelerometer": units.ACCELERATION,
}
"""Sensors that can fail, with what they measure. Pressures count chamber 1 and 2 of link 1, then link 2, …"""

SENSOR_FAULTS: Final = ("stuck", "nan", "missing", "offset")
"""Stuck at its present value; not a number; marked invalid; an offset that jumps in."""


@dataclass(frozen=True)
class _Kind:
    """What a fault that is not a sensor's takes as its value, and its default (SI)."""

    meaning: str
    dimension: Dimension | None = None
    default: float | None = None


PLANT_FAULTS: Final[Mapping[str, _Kind]] = {
    "estop": _Kind("the emergency stop is pressed"),
    "estop-release": _Kind("the emergency stop is released"),
    "supply-loss": _Kind("the pump stops delivering"),
    "oil-level": _Kind("the oil level falls to this value", units.RATIO, 0.4),
    "oil-temperature": _Kind("the oil is this warm", units.TEMPERATURE, 353.15),
    "filter-blocked": _Kind("the return filter's pressure drop rises by this", units.PRESSURE, 5.0e5),
    "silence": _Kind("the plant sends no samples for this long", units.TIME, 1.0),
    "clear": _Kind("all faults but the emergency stop end"),
}

_TEXT = re.compile(r"(?P<name>[a-z-]+)(?:\.(?P<channel>[0-9]{1,3}))?@(?P<time>[^:@]+)(?::(?P<value>[^:@]+))?")


@dataclass(frozen=True)
class Fault:
    """One fault: its name, its start (plant time, ns), its sensor channel (from 0) and its value (SI)."""

    name: str
    start_ns: int = 0
    channel: int = 0
    value: float = 0.0

    @property
    def sensor(self) -> tuple[str, str] | None:
        """Return (sensor, kind) of a sensor's fault, None for any other."""
        sensor, _, kind = self.name.partition("-")
        return (sensor, kind) if sensor in CHANNELS and kind in SENSOR_FAULTS else None


def names() -> tuple[str, ...]:
    """Return the names of all faults."""
    return (*(f"{sensor}-{kind}" for sensor in CHANNELS for kind in SENSOR_FAULTS), *PLANT_FAULTS)


def parse(text: str) -> Fault:
    """Return the fault that ``text`` describes; raise UsageError with what would be right."""
    match = _TEXT.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"fault {text!r}: NAME[.CHANNEL]@TIME[:VALUE] is due, for instance length-nan.3@2s")
    name = match["name"]
    if name not in names():
        raise UsageError(f"fault {text!r}: no fault {name!r}; there are {', '.join(names())}")
    fault = Fault(name, round(1e9 * _quantity(text, match["time"], units.TIME)))
    if fault.start_ns < 0:
        raise UsageError(f"fault {text!r}: the time must not be negative")
    channel = match["channel"]
    dimension: Dimension | None = None
    value: float | None = None
    sensor = fault.sensor
    if sensor is None:
        if channel is not None:
            raise UsageError(f"fault {text!r}: {name} has no channels")
        dimension, value = PLANT_FAULTS[name].dimension, PLANT_FAULTS[name].default
    else:
        if channel is None or int(channel) < 1:
            raise UsageError(f"fault {text!r}: a channel from 1 is due, for instance {name}.1@2s")
        if sensor[1] == "offset":
            dimension = CHANNELS[sensor[0]]
            if match["value"] is None:
                raise UsageError(f"fault {text!r}: a value is due, for instance :{dimension.example}")
    if match["value"] is not None:
        if dimension is None:
            raise UsageError(f"fault {text!r}: {name} takes no value")
        value = _quantity(text, match["value"], dimension)
    return Fault(name, fault.start_ns, int(channel) - 1 if channel else 0, value or 0.0)


def _quantity(text: str, part: str, dimension: Dimension) -> float:
    try:
        return units.parse(part, dimension)
    except units.UnitError as error:
        raise UsageError(f"fault {text!r}: {error}") from error
