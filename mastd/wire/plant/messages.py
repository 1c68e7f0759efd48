"""Samples and commands of the plant link: preallocated, filled in place, packed to MessagePack and back.

A message on the wire is a MessagePack array: kind, integers, and one binary block in the layout of
``mastd.wire.common.layout`` (see docs/protocol.md). Decoding validates everything but the plausibility of the
numbers, which is the guard's task; a message that does not decode leaves the target untouched.
"""

from __future__ import annotations

import enum
import math
from typing import Any, cast

import msgpack
import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import ProtocolError
from mastd.wire.common.layout import Layout

PROTOCOL_VERSION = 3
SAMPLE_KIND = "sample"
COMMAND_KIND = "command"
_SIGNED_64 = 1 << 63  # MessagePack holds integers from -2**63 to 2**64 - 1: only the upper end needs a check
_HEAD_BYTES = 128
"""Of a message beside its block and its validity: kind, up to seven integers, and the lengths of all."""
_pack = msgpack.Packer().pack
_unpack = msgpack.unpackb

SampleParts = tuple[str, int, int, int, int, int, int, int, bytes, bytes]
"""Kind, boot id, sequence, step, time, command sequence, stage, flags, validity, block."""
CommandParts = tuple[str, int, int, int, int, bytes]
"""Kind, sequence, step, mode, stage, block."""


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


_LAST_STAGE = int(max(Stage))  # plain integers: comparing with members of an enumeration costs ten times more
_LAST_MODE = int(max(DriveMode))


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


class _Message:
    """What both messages have; ``values`` is the float64 block (its own, or one given)."""

    __slots__ = ("_bytes", "layout", "sequence", "stage", "step", "values")

    def __init__(self, layout: Layout, values: FloatArray | None = None) -> None:
        self.layout = layout
        self.values: FloatArray = np.zeros(layout.size) if values is None else values
        self._bytes = self.values.data.cast("B")
        self.sequence = 0
        self.step = 0
        self.stage = int(Stage.OFF)

    def field(self, name: str) -> FloatArray:
        """Return the view of one field of the block."""
        return self.values[self.layout.slices[name]]


class Sample(_Message):
    """One plant sample; ``values`` is the float64 block and ``field`` a view into it.

    ``valid`` has one bit per value of the block (bit k set: value k is valid).
    ``command_sequence`` is the sequence of the last command the plant has applied, −1 before the first.
    """

    __slots__ = ("_all_valid", "boot_id", "command_sequence", "flags", "time_ns", "valid")

    def __init__(self, layout: Layout, values: FloatArray | None = None) -> None:
        super().__init__(layout, values)
        self.boot_id = 0
        self.time_ns = 0
        self.command_sequence = -1
        self.flags = 0
        self._all_valid = (1 << layout.size) - 1
        self.valid = self._all_valid

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
        packed: bytes = _pack(
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
                self._bytes,
            )
        )
        return packed

    def unpack(self, data: bytes) -> None:
        """Fill this sample from bytes; raise ProtocolError and change nothing if they are not a sample."""
        self.fill(decode_sample(data, self.layout))

    def fill(self, parts: SampleParts) -> None:
        """Take over what ``decode_sample`` returned for this layout."""
        (
            _,
            self.boot_id,
            self.sequence,
            self.step,
            self.time_ns,
            self.command_sequence,
            self.stage,
            self.flags,
            valid,
            block,
        ) = parts
        self.valid = int.from_bytes(valid, "little") & self._all_valid
        self._bytes[:] = block


class Command(_Message):
    """One command to the plant."""

    __slots__ = ("mode",)

    def __init__(self, layout: Layout, values: FloatArray | None = None) -> None:
        super().__init__(layout, values)
        self.mode = int(DriveMode.DISABLED)

    def copy_from(self, other: Command) -> None:
        """Take over every part of ``other``, which has the same layout."""
        self.values[:] = other.values
        self.sequence = other.sequence
        self.step = other.step
        self.mode = other.mode
        self.stage = other.stage

    def pack(self) -> bytes:
        """Return the message as bytes."""
        packed: bytes = _pack((COMMAND_KIND, self.sequence, self.step, self.mode, self.stage, self._bytes))
        return packed

    def unpack(self, data: bytes) -> None:
        """Fill this command from bytes; raise ProtocolError and change nothing if they are not a command."""
        self.fill(decode_command(data, self.layout))

    def fill(self, parts: CommandParts) -> None:
        """Take over what ``decode_command`` returned for this layout."""
        _, self.sequence, self.step, self.mode, self.stage, block = parts
        self._bytes[:] = block


def decode_sample(data: bytes, layout: Layout) -> SampleParts:
    """Return the checked parts of a sample message; raise ProtocolError if the bytes are not one."""
    parts = _parts(data, SAMPLE_KIND, 10, _HEAD_BYTES + 9 * layout.size)
    _, boot_id, sequence, step, time_ns, command_sequence, stage, flags, valid, block = parts
    # Straight comparisons: this runs once per cycle on cold caches.
    if not (
        type(boot_id) is type(sequence) is type(step) is type(time_ns) is int
        and type(command_sequence) is type(stage) is type(flags) is int
        and boot_id < _SIGNED_64
        and sequence < _SIGNED_64
        and step < _SIGNED_64
        and time_ns < _SIGNED_64
        and command_sequence < _SIGNED_64
        and flags < _SIGNED_64
    ):
        raise ProtocolError("sample: parts 2 to 8 must be signed 64-bit integers")
    if not 0 <= stage <= _LAST_STAGE:
        raise ProtocolError(f"sample: stage is {stage}, it must be 0, 1 or 2")
    if type(valid) is not bytes or len(valid) != (layout.size + 7) >> 3:
        raise ProtocolError(f"sample: validity must be {(layout.size + 7) // 8} bytes")
    if type(block) is not bytes or len(block) != layout.size << 3:
        raise ProtocolError(f"sample: block must be {8 * layout.size} bytes ({layout.size} float64)")
    return cast(SampleParts, parts)


def decode_command(data: bytes, layout: Layout) -> CommandParts:
    """Return the checked parts of a command message; raise ProtocolError if the bytes are not one."""
    parts = _parts(data, COMMAND_KIND, 6, _HEAD_BYTES + 8 * layout.size)
    _, sequence, step, mode, stage, block = parts
    if not (
        type(sequence) is type(step) is type(mode) is type(stage) is int
        and sequence < _SIGNED_64
        and step < _SIGNED_64
    ):
        raise ProtocolError("command: parts 2 to 5 must be signed 64-bit integers")
    if not 0 <= mode <= _LAST_MODE:
        raise ProtocolError(f"command: mode is {mode}, it must be 0, 1 or 2")
    if not 0 <= stage <= _LAST_STAGE:
        raise ProtocolError(f"command: stage is {stage}, it must be 0, 1 or 2")
    if type(block) is not bytes or len(block) != layout.size << 3:
        raise ProtocolError(f"command: block must be {8 * layout.size} bytes ({layout.size} float64)")
    return cast(CommandParts, parts)


def is_finite(block: bytes | memoryview) -> bool:
    """Return whether all values of a block, and their sum, are finite; a plant applies no other command."""
    return math.isfinite(sum(memoryview(block).cast("B").cast("d")))


def decode(data: bytes) -> object:
    """Decode MessagePack; raise ProtocolError for anything that is not exactly one well-formed object."""
    try:
        return _unpack(data)
    except Exception as error:  # msgpack raises five unrelated types
        raise ProtocolError(f"not a MessagePack message: {type(error).__name__}") from error


def _parts(data: bytes, kind: str, length: int, largest: int) -> list[Any]:
    """Return the parts of a message of at most ``largest`` bytes; others are not even decoded."""
    if len(data) > largest:
        raise ProtocolError(f"not a {kind} message: {len(data)} bytes, it has at most {largest}")
    message = decode(data)
    if type(message) is not list or len(message) != length or message[0] != kind:
        raise ProtocolError(
            f"not a {kind} message: it must be an array of {length} that begins with {kind!r}"
        )
    return message
