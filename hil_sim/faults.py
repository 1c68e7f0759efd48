"""Faults that can be injected into the simulated plant, each named, at a plant time.

As text: ``NAME[.CHANNEL]@TIME[:VALUE]``, for instance ``estop@5s``, ``length-offset.3@2s:0.2mm``,
``length-nan.1@500ms``. Channels count from 1. What changes a sensor's value (offset, drift, noise, stuck)
sits in the transducer, so the drive sees it too; ``nan`` and ``missing`` sit in the line to the daemon.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from re import compile as pattern
from typing import Final

from mastd import units
from mastd.errors import UsageError
from mastd.units import Dimension, Unit

PRESSURE_RATE: Final = Dimension(
    "rate of a pressure", (Unit("Pa/s", Fraction(1)), Unit("bar/s", Fraction(100_000))), "5 bar/s"
)

CHANNELS: Final[Mapping[str, Dimension]] = {
    "length": units.LENGTH,
    "pressure": units.PRESSURE,
    "spool": units.RATIO,
    "accelerometer": units.ACCELERATION,
}
"""Sensors that can fail, with what they measure. Pressures count chamber 1, 2 of actuator 1, then of 2, …"""

DRIFTS: Final[Mapping[str, Dimension]] = {
    "length": units.VELOCITY,
    "pressure": PRESSURE_RATE,
    "spool": units.RATE,
    "accelerometer": units.JERK,
}
"""What each sensor's drift is measured in."""


@dataclass(frozen=True)
class Kind:
    """What a fault does, what it takes as its value (SI), and what stands there without one.

    ``dimension`` None: no value; ``default`` None: expected a value. ``channels``: of one actuator.
    """

    meaning: str
    dimension: Dimension | None = None
    default: float | None = None
    lowest: float = -math.inf
    highest: float = math.inf
    channels: bool = False


SENSOR_FAULTS: Final[Mapping[str, str]] = {
    "stuck": "the sensor keeps its present value",
    "nan": "its value is not a number",
    "missing": "its value is marked invalid",
    "offset": "this offset jumps in",
    "drift": "an offset grows from zero at this rate",
    "noise": "further noise of this standard deviation",
}
"""What can befall each sensor, with what it means."""

PLANT_FAULTS: Final[Mapping[str, Kind]] = {
    "estop": Kind("the emergency stop is pressed"),
    "estop-release": Kind("the emergency stop is released"),
    "valve-stuck": Kind(
        "the valve's spool stays where it is, or at this opening",
        units.RATIO,
        math.nan,
        -1.0,
        1.0,
        channels=True,
    ),
    "supply-loss": Kind("the pump stops delivering, or electric drives lose their power"),
    "supply-weak": Kind("the pump delivers at most this fraction of its flow", units.RATIO, 0.1, 0.0, 1.0),
    "oil-level": Kind("the oil level falls to this value", units.RATIO, 0.4),
    "oil-temperature": Kind("the oil is this warm", units.TEMPERATURE, 353.15),
    "filter-blocked": Kind("the return filter's pressure drop rises by this", units.PRESSURE, 5.0e5),
    "clock-rate": Kind(
        "the time stamps of the samples run at this rate (nothing else does)", units.RATIO, 1.01, 0.0, 100.0
    ),
    "silence": Kind("the plant sends no samples for this long", units.TIME, 1.0),
    "clear": Kind("all faults but the emergency stop end"),
}

_TEXT = pattern(r"(?P<name>[a-z-]+)(?:\.(?P<channel>[0-9]{1,3}))?@(?P<time>[^:@]+)(?::(?P<value>[^:@]+))?")


@dataclass(frozen=True)
class Fault:
    """One fault: its name, start (plant time, ns), channel or actuator (from 0) and value (SI)."""

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


def kind_of(name: str) -> Kind:
    """Return what the fault ``name`` does and takes; raise KeyError for a name that is none."""
    if name in PLANT_FAULTS:
        return PLANT_FAULTS[name]
    sensor, _, kind = name.partition("-")
    dimension = {"offset": CHANNELS[sensor], "noise": CHANNELS[sensor], "drift": DRIFTS[sensor]}.get(kind)
    lowest = 0.0 if kind == "noise" else -math.inf
    return Kind(SENSOR_FAULTS[kind], dimension, lowest=lowest, channels=True)


def describe() -> str:
    """Return the list of all faults for people: how each is written, and what it does."""
    lines = [f"  {'|'.join(CHANNELS)}-KIND.CHANNEL@TIME, KIND one of:"]
    for kind, meaning in SENSOR_FAULTS.items():
        takes = kind_of(f"length-{kind}").dimension
        lines.append(f"    {kind + (':VALUE' if takes else ''):22}{meaning}")
    for name, row in PLANT_FAULTS.items():
        text = f"{name}{'.LINK' if row.channels else ''}@TIME"
        if row.dimension is not None:
            text += "[:VALUE]"
        default = ""
        if row.dimension is not None and row.default is not None and math.isfinite(row.default):
            default = f" ({f'{row.default:g} {row.dimension.si}'.strip()})"
        lines.append(f"  {text:30}{row.meaning}{default}")
    return "\n".join(lines)


def parse(text: str) -> Fault:
    """Return the fault that ``text`` describes; raise UsageError with what would be right."""
    match = _TEXT.fullmatch(text.strip())
    if match is None:
        raise UsageError(
            f"fault {text!r}: expected NAME[.CHANNEL]@TIME[:VALUE], for instance length-nan.3@2s"
        )
    name = match["name"]
    if name not in names():
        raise UsageError(f"fault {text!r}: no fault {name!r}; there are {', '.join(names())}")
    start_ns = round(1e9 * _quantity(text, match["time"], units.TIME))
    if start_ns < 0:
        raise UsageError(f"fault {text!r}: the time must not be negative")
    kind = kind_of(name)
    return Fault(name, start_ns, _channel(text, match["channel"], kind), _value(text, match["value"], kind))


def _channel(text: str, part: str | None, kind: Kind) -> int:
    if not kind.channels:
        if part is not None:
            raise UsageError(f"fault {text!r}: it has no channels")
        return 0
    if part is None or int(part) < 1:
        name = text.strip().split("@")[0].split(".")[0]
        raise UsageError(f"fault {text!r}: expected a channel from 1, for instance {name}.1@2s")
    return int(part) - 1


def _value(text: str, part: str | None, kind: Kind) -> float:
    dimension = kind.dimension
    if dimension is None:
        if part is not None:
            raise UsageError(f"fault {text!r}: it takes no value")
        return 0.0
    if part is None:
        if kind.default is None:
            raise UsageError(f"fault {text!r}: expected a value, for instance :{dimension.example}")
        return kind.default
    value = _quantity(text, part, dimension)
    if not kind.lowest <= value <= kind.highest:
        bounds = f"{kind.lowest:g} to {kind.highest:g}" if math.isfinite(kind.highest) else "not negative"
        raise UsageError(f"fault {text!r}: the value must be {bounds}")
    return value


def _quantity(text: str, part: str, dimension: Dimension) -> float:
    try:
        return units.parse(part, dimension)
    except units.UnitError as error:
        raise UsageError(f"fault {text!r}: {error}") from error
