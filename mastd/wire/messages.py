"""Samples and commands of the plant link: preallocated, filled in place, packed to MessagePack and back.

A message on the wire is a MessagePack array: kind, integers, and one binary block in the layout of
``mastd.wire.layout`` (see docs/protocol.md). Decoding validates everything but the plausibility of the
numbers, which is the guard's task; a message that does not decode leaves the target untouched.
"""

from __future__ import annotations

import enum
import math

import msgpack
import numpy as np
from numpy.typing import NDArray

from mastd.errors import ProtocolError
from mastd.wire.layout import Layout

PROTOCOL_VERSION = 1
SAMPLE_KIND = "sample"
COMMAND_KIND = "command"
_SIGNED_64 = 1 << 63


class Stage(enum.IntEnum):
    """Stage of the hydraulic supply, as requested and as reached."""

    OFF = 0
    LOW = 1
    HIGH = 2


class DriveMode(enum.IntEnum):
    """What the drive is asked to do with a command."""

    DISABLED = 0
    FOLLOW = 1
    LOWER = 2


class SampleFlag(enum.IntFlag):
    """Bits of a sample's ``flags``."""

    ESTOP = 1
    SUPPLY_FAULT = 2
    OIL_OVERHEATED = 4
    OIL_LOW = 8
    FILTER_BLOCKED = 16
    DRIVE_FADING = 32
    DRIVE_LOWERING = 64
    DRIVE_TIMED_OUT = 128


class Sample:
    """One plant sample; ``values`` is the float64 block (its own, or one given) and ``field`` a view into it.

    ``valid`` has one bit per value of the block (bit k set: value k is valid).
    ``command_sequence`` is the sequence of the last command the plant has applied, −1 before the first.
    """

    __slots__ = (
        "boot_id",
        "command_sequence",
        "flags",
        "layout",
        "sequence",
        "stage",
        "step",
        "time_ns",
        "valid",
        "values",
    )

    def __init__(self, layout: Layout, values: NDArray[np.float64] | None = None) -> None:
        self.layout = layout
        self.values: NDArray[np.float64] = np.zeros(layout.size) if values is None else values
        self.boot_id = 0
        self.sequence = 0
        self.step = 0
        self.time_ns = 0
        self.command_sequence = -1
        self.stage = 0
        self.flags = 0
        self.valid = (1 << layout.size) - 1

    def field(self, name: str) -> NDArray[np.float64]:
        """Return the view of one field of the block."""
        return self.values[self.layout.slices[name]]

    def copy_from(self, other: Sample) -> None:
        """Take over every part of ``other``, which has the same layout."""
        self.values[:] = other.values
        self.boot_id = other.boot_id
        self.sequence = other.sequence
        self.step = other.step
        self.time_ns = other.time_ns
        self.command_sequence = other.command_sequence
        self.stage = other.stage
        self.flags = other.flags
        self.valid = other.valid

    def pack(self) -> bytes:
        """Return the message as bytes."""
        packed: bytes = msgpack.packb(
            (
                SAMPLE_KIND,
                self.boot_id,
                self.sequence,
                self.step,
                self.time_ns,
                self.command_sequence,
                self.stage,
                self.flags,
                self.valid.to_bytes((self.layout.size + 7) // 8, "little"),
                self.values.tobytes(),
            )
        )
        return packed

    def unpack(self, data: bytes) -> None:
        """Fill this sample from bytes; raise ProtocolError and change nothing if they are not a sample."""
        parts = _parts(data, SAMPLE_KIND, 10)
        integers = _integers(
            parts[1:8], ("boot_id", "sequence", "step", "time_ns", "command_sequence", "stage", "flags")
        )
        if integers[5] not in Stage._value2member_map_:
            raise ProtocolError(f"sample: stage is {integers[5]}, it must be 0, 1 or 2")
        valid = parts[8]
        if not isinstance(valid, bytes) or len(valid) != (self.layout.size + 7) // 8:
            raise ProtocolError(f"sample: validity must be {(self.layout.size + 7) // 8} bytes")
        values = _block(parts[9], self.layout)
        (
            self.boot_id,
            self.sequence,
            self.step,
            self.time_ns,
            self.command_sequence,
            self.stage,
            self.flags,
        ) = integers
        self.valid = int.from_bytes(valid, "little")
        self.values[:] = values


class Command:
    """One command to the plant; ``values`` is the float64 block (its own, or one given)."""

    __slots__ = ("layout", "mode", "sequence", "stage", "step", "values")

    def __init__(self, layout: Layout, values: NDArray[np.float64] | None = None) -> None:
        self.layout = layout
        self.values: NDArray[np.float64] = np.zeros(layout.size) if values is None else values
        self.sequence = 0
        self.step = 0
        self.mode = int(DriveMode.DISABLED)
        self.stage = int(Stage.OFF)

    def field(self, name: str) -> NDArray[np.float64]:
        """Return the view of one field of the block."""
        return self.values[self.layout.slices[name]]

    def copy_from(self, other: Command) -> None:
        """Take over every part of ``other``, which has the same layout."""
        self.values[:] = other.values
        self.sequence = other.sequence
        self.step = other.step
        self.mode = other.mode
        self.stage = other.stage

    def pack(self) -> bytes:
        """Return the message as bytes."""
        packed: bytes = msgpack.packb(
            (COMMAND_KIND, self.sequence, self.step, self.mode, self.stage, self.values.tobytes())
        )
        return packed

    def unpack(self, data: bytes) -> None:
        """Fill this command from bytes; raise ProtocolError and change nothing if they are not a command."""
        parts = _parts(data, COMMAND_KIND, 6)
        sequence, step, mode, stage = _integers(parts[1:5], ("sequence", "step", "mode", "stage"))
        if mode not in DriveMode._value2member_map_:
            raise ProtocolError(f"command: mode is {mode}, it must be 0, 1 or 2")
        if stage not in Stage._value2member_map_:
            raise ProtocolError(f"command: stage is {stage}, it must be 0, 1 or 2")
        values = _block(parts[5], self.layout)
        self.sequence, self.step, self.mode, self.stage = sequence, step, mode, stage
        self.values[:] = values


def is_finite(command: Command) -> bool:
    """Tell whether every value of ``command`` is finite; neither end lets another one pass."""
    values = command.values
    return math.isfinite(values.dot(values))


def decode(data: bytes) -> object:
    """Decode MessagePack; raise ProtocolError for anything that is not exactly one well-formed object."""
    try:
        return msgpack.unpackb(data, raw=False, strict_map_key=True)
    except Exception as error:  # msgpack raises five unrelated types
        raise ProtocolError(f"not a MessagePack message: {type(error).__name__}") from error


def _parts(data: bytes, kind: str, length: int) -> list[object]:
    message = decode(data)
    if not isinstance(message, list) or not message or message[0] != kind:
        raise ProtocolError(f"not a {kind} message")
    if len(message) != length:
        raise ProtocolError(f"{kind}: {len(message)} parts, it must have {length}")
    return message


def _integers(parts: list[object], names: tuple[str, ...]) -> list[int]:
    for part, name in zip(parts, names, strict=True):
        if type(part) is not int or not -_SIGNED_64 <= part < _SIGNED_64:
            raise ProtocolError(f"{name} must be a signed 64-bit integer")
    return parts  # type: ignore[return-value]


def _block(part: object, layout: Layout) -> NDArray[np.float64]:
    if not isinstance(part, bytes) or len(part) != 8 * layout.size:
        raise ProtocolError(f"{layout.name}: block must be {8 * layout.size} bytes ({layout.size} float64)")
    return np.frombuffer(part, dtype="<f8")
