"""Messages between rigs and the rigs' gateway: what may be said, and the strict reading of it.

Every message is one frame with one MessagePack object (docs/protocol.md, "Rigs"). What comes many times a
second, ``motion`` and ``values``, is an array whose first entry is its kind; everything else is a map with a
text ``kind``. Unknown keys of maps are ignored, so that a later minor version may add some.

What does not pass raises ``MalformedError`` (``mastd.wire.common.strict_messages``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from mastd.wire.common.layout import Field, Layout
from mastd.wire.common.strict_messages import MAX_NUMBER, Count, Finite, read_strictly
from mastd.wire.plant.messages import is_finite

MAGIC: Final = "mastd-rig"
MIN_VERSION, MAX_VERSION = 1, 1
"""Versions of the protocol that this side speaks."""
FRAME, UNITS = "iso8855", "SI"
MAX_RIG_MESSAGE: Final = 1 << 14
MAX_TO_RIG: Final = 1 << 16
MAX_TEXT_LENGTH: Final = 200
MAX_REASON_LENGTH: Final = 4000
MAX_READS: Final = 128
MAX_LINES: Final = 64
ANY: Final = "any"
"""Mode and role of a rig that takes those of the daemon."""

Text = Annotated[str, Meta(max_length=MAX_TEXT_LENGTH)]
Reason = Annotated[str, Meta(max_length=MAX_REASON_LENGTH)]
SessionNumber = Annotated[int, Meta(ge=1, le=MAX_NUMBER)]
Step = Annotated[int, Meta(ge=-1, le=MAX_NUMBER)]
ChannelLine = tuple[Text, Text]
"""Name and unit of a channel."""
ChannelLines = Annotated[tuple[ChannelLine, ...], Meta(max_length=MAX_READS)]


class RigHello(Struct, frozen=True, tag_field="kind", tag="hello"):
    """A rig's request for its channels. ``resume``: the session it had before, 0 for none."""

    magic: Text
    version_lowest: Count
    version_highest: Count
    name: Text
    program: Text
    role: Text
    """Kind of rig, as in the daemon's settings."""
    frame: Text
    units: Text
    mode: Text
    period_ns: Count
    """Period that the rig works with, 0 where it takes any."""
    channels: ChannelLines
    channels_sha256: Text
    reads: Annotated[tuple[Text, ...], Meta(max_length=MAX_READS)]
    resume: Count


class RigTerms(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """One channel that a rig gives, as the daemon treats it."""

    name: str
    unit: str
    lowest: float
    highest: float
    rate_limit: float | None
    neutral: float
    on_loss: str


class RigWelcome(Struct, frozen=True, tag_field="kind", tag="welcome"):
    """The session that a rig has got, and what it gives and reads."""

    protocol_version: Count
    session: Count
    name: Text
    pid: Count
    mode: Text
    period_ns: Count
    channels: tuple[RigTerms, ...]
    channels_sha256: Text
    reads: ChannelLines
    reads_sha256: Text
    timeout_s: Finite
    message_rate: Finite
    motion_rate: Finite
    predict_s: Finite
    beat_s: Finite
    lost_s: Finite
    states: Annotated[tuple[Text, ...], Meta(max_length=MAX_LINES)]


class RigValues(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="values"):
    """What a rig gives: answers motion ``step``; ``block`` has 8 bytes for each of its channels."""

    session: SessionNumber
    sequence: Count
    step: Step
    time_ns: Count
    block: bytes


class Motion(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="motion"):
    """What a rig is shown: ``block`` has 8 bytes for each channel that it reads."""

    session: int
    sequence: int
    step: int
    time_ns: int
    plant_time_ns: int
    state: int
    speed: float
    answer_due: bool
    block: bytes


class Heartbeat(Struct, frozen=True, tag_field="kind", tag="beat"):
    """A sign of life. ``echo_ns``: time of the newest one heard (0 none), which came ``held_ns`` ago."""

    session: Count
    sequence: Count
    time_ns: Count
    echo_ns: Count
    held_ns: Count
    step: Step = -1


class Request(Struct, frozen=True, tag_field="kind"):
    """``stop``, ``estop`` or ``bye`` of a session."""

    session: Count
    sequence: Count

    @property
    def kind(self) -> str:
        """What is asked for, as it stands on the wire."""
        return str(self.__struct_config__.tag)


class Stop(Request, frozen=True, tag="stop"):
    """A rig asks for a soft stop."""


class EmergencyStop(Request, frozen=True, tag="estop"):
    """A rig asks for an emergency stop."""


class Close(Request, frozen=True, tag="bye"):
    """A rig ends its session."""


class Ack(Struct, frozen=True, tag_field="kind", tag="done"):
    """The gateway's answer to the request ``of``: stop, estop or bye."""

    of: Text
    session: Count
    sequence: Count


class Error(Struct, frozen=True, tag_field="kind", tag="error"):
    """The gateway's answer to a message that it has not taken: ``error`` names the counter that counts it."""

    error: Text
    reason: Reason
    sequence: int = -1


class Reject(Struct, frozen=True, tag_field="kind", tag="refused"):
    """The gateway's answer to a hello that gets no session; one line each."""

    reasons: Annotated[tuple[Reason, ...], Meta(max_length=MAX_LINES)]


REQUESTS: Final[dict[str, type[Request]]] = {"stop": Stop, "estop": EmergencyStop, "bye": Close}
FromRig = RigHello | RigValues | Heartbeat | Stop | EmergencyStop | Close
ToRig = RigWelcome | Motion | Heartbeat | Ack | Error | Reject
_VALUES: msgspec.msgpack.Decoder[RigValues] = msgspec.msgpack.Decoder(RigValues)
_MOTION: msgspec.msgpack.Decoder[Motion] = msgspec.msgpack.Decoder(Motion)
_FROM_RIG: msgspec.msgpack.Decoder[RigHello | Heartbeat | Stop | EmergencyStop | Close] = (
    msgspec.msgpack.Decoder(RigHello | Heartbeat | Stop | EmergencyStop | Close)
)
_TO_RIG: msgspec.msgpack.Decoder[RigWelcome | Heartbeat | Ack | Error | Reject] = msgspec.msgpack.Decoder(
    RigWelcome | Heartbeat | Ack | Error | Reject
)


def channels_hash(name: str, channels: Sequence[ChannelLine]) -> str:
    """Return the SHA-256 of a list of channels by the rule of all layouts; ``name``: values or motion."""
    return Layout(name, tuple(Field(channel, 1, unit, "") for channel, unit in channels)).sha256


def read_from_rig(data: bytes) -> FromRig:
    """Return a rig's message; raise MalformedError for anything else."""
    return read_strictly(_read_from_rig, data, MAX_RIG_MESSAGE)


def read_to_rig(data: bytes) -> ToRig:
    """Return a message of the gateway; raise MalformedError for anything else."""
    return read_strictly(_read_to_rig, data, MAX_TO_RIG)


def _read_from_rig(data: bytes) -> FromRig:
    if _is_array(data):
        values = _VALUES.decode(data)
        _check_block(values.block)
        if not is_finite(values.block):
            raise ValueError("all values, and their sum, must be finite")
        return values
    message = _FROM_RIG.decode(data)
    if isinstance(message, RigHello):
        _check_printable(message)
    return message


def _read_to_rig(data: bytes) -> ToRig:
    if _is_array(data):
        motion = _MOTION.decode(data)
        _check_block(motion.block)
        return motion
    message = _TO_RIG.decode(data)
    _check_printable(message)
    return message


def _is_array(data: bytes) -> bool:
    return bool(data) and (data[0] & 0xF0 == 0x90 or data[0] in (0xDC, 0xDD))


def _check_block(block: bytes) -> None:
    if len(block) % 8:
        raise ValueError("the block is binary, 8 bytes for each channel")


def _check_printable(message: Struct) -> None:
    for name in message.__struct_fields__:
        if not all(text.isprintable() for text in _texts(getattr(message, name))):
            raise ValueError(f"{name} must be printable text")


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _texts(part)
