"""What is compared with the target: channels of a record, or what follows from them, as one array.

Times are those of the profile: value k belongs to k milliseconds of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Final, Protocol

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import UsageError
from mastd.kinematics.control_point import motion_at_point
from mastd.settings.core.axes import AXES
from mastd.settings.table.sensors import AccelerometerSettings
from mastd.settings.table.table import TableSettings

Columns = Mapping[str, FloatArray]
"""Channel of a record → its values (k,)."""

CENTRE: Final = tuple(f"pose_acceleration.{axis}" for axis in AXES)
"""The six accelerations of C: second derivatives of its pose, gravity removed."""
CONTROL_POINT: Final = tuple(f"point_acceleration.{axis}" for axis in AXES)
"""The same of the control point T."""
_MOTION: Final = tuple(
    f"{quantity}.{axis}" for quantity in ("pose", "pose_rate", "pose_acceleration") for axis in AXES
)
_ACCELERATION: Final = ("m/s2", "rad/s2")


class _Value(Protocol):
    def __call__(self, columns: Columns) -> FloatArray: ...


@dataclass(frozen=True)
class Response:
    """One response: its name and SI unit, the channels that it is made of, and how."""

    name: str
    unit: str
    channels: tuple[str, ...]
    value: _Value


@dataclass(frozen=True)
class ResponseSet:
    """Several responses, in their order."""

    responses: tuple[Response, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the responses."""
        return tuple(one.name for one in self.responses)

    @property
    def units(self) -> tuple[str, ...]:
        """SI units of the responses."""
        return tuple(one.unit for one in self.responses)

    @property
    def channels(self) -> tuple[str, ...]:
        """All channels of a record that they are made of, each once."""
        return tuple(dict.fromkeys(name for one in self.responses for name in one.channels))

    def of(self, columns: Columns) -> FloatArray:
        """Return the responses (k, r) from the channels of one play."""
        return np.column_stack([one.value(columns) for one in self.responses])


def short_names(names: Sequence[str]) -> list[str]:
    """Return the last parts of names, the whole names where two would be alike."""
    last = [name.rpartition(".")[2] for name in names]
    return last if len(set(last)) == len(last) else list(names)


def of_profile(point: str, table: TableSettings) -> ResponseSet:
    """Return the six accelerations of the point, C or T, that a profile moves."""
    names = CENTRE if point == "C" else CONTROL_POINT
    return chosen(names, table, dict(zip(CENTRE, (_ACCELERATION[k // 3] for k in range(6)), strict=True)))


def chosen(names: Sequence[str], table: TableSettings, channels: Mapping[str, str]) -> ResponseSet:
    """Return the responses of these names, ``channels`` being names and SI units of what a record holds.

    A name is that of an accelerometer of the table, whose gravity is taken out by the measured attitude; one
    of ``CONTROL_POINT``; or any channel, as it is recorded. Raises UsageError naming those that there are
    not.
    """
    sensors = {sensor.name: k for k, sensor in enumerate(table.sensors.accelerometers)}
    sensors |= {f"accelerometer.{k + 1}": k for k in sensors.values()}
    responses: list[Response] = []
    unknown: list[str] = []
    for name in dict.fromkeys(names):
        if name in sensors:
            sensor = table.sensors.accelerometers[sensors[name]]
            source = f"accelerometer.{sensors[name] + 1}"
            pose = tuple(f"pose.{axis}" for axis in AXES)
            value = partial(_without_gravity, source, sensor, table.gravity)
            responses.append(Response(name, "m/s2", (source, *pose), value))
        elif name in CONTROL_POINT:
            axis = CONTROL_POINT.index(name)
            value = partial(_at_point, table.control_point, axis)
            responses.append(Response(name, _ACCELERATION[axis // 3], _MOTION, value))
        elif name in channels:
            responses.append(Response(name, channels[name], (name,), partial(_column, name)))
        else:
            known = [*channels, *sensors, *CONTROL_POINT]
            near = get_close_matches(name, known, n=1)
            unknown.append(f"no response {name!r}" + (f", did you mean {near[0]}?" if near else ""))
    if unknown:
        raise UsageError("\n".join(unknown))
    return ResponseSet(tuple(responses))


def motion_columns(motion: FloatArray) -> dict[str, FloatArray]:
    """Return a motion of C (k, 3 or more, 6), pose and its derivatives, as if it had been recorded."""
    return {name: motion[:, number // 6, number % 6] for number, name in enumerate(_MOTION)}


def _column(name: str, columns: Columns) -> FloatArray:
    return columns[name]


def _at_point(point: tuple[float, float, float], axis: int, columns: Columns) -> FloatArray:
    """Return one acceleration (k,) of a point of the table."""
    motion = np.stack([columns[name] for name in _MOTION], axis=1).reshape(-1, 3, 6)
    position = np.array(point)
    moved = np.empty((3, 6))
    out = np.empty(len(motion))
    for k, one in enumerate(np.ascontiguousarray(motion)):
        motion_at_point(one, position, moved)
        out[k] = moved[2, axis]
    return out


def _without_gravity(
    source: str, sensor: AccelerometerSettings, gravity: float, columns: Columns
) -> FloatArray:
    """Return an accelerometer's reading less what gravity adds along it: d·R⁻¹ [0, 0, g]."""
    roll, pitch = columns["pose.roll"], columns["pose.pitch"]
    x, y, z = sensor.direction
    upwards = -x * np.sin(pitch) + np.cos(pitch) * (y * np.sin(roll) + z * np.cos(roll))
    read: FloatArray = sensor.scale * columns[source] + sensor.offset - gravity * upwards
    return read
