"""Messages between rigs and the rigs' gateway: what may be said, and the strict reading of it.

Every message is one frame with one MessagePack object (docs/protocol.md, "Rigs"). What comes many times a
second, ``motion`` and ``values``, is an array whose first entry is its kind; everything else is a map with a
text ``kind``. Unknown keys of maps are ignored, so that a later minor version may add some.

Reading checks types exactly (a boolean is no number), ranges, finiteness and lengths. What does not pass
raises ``MalformedRigError`` with one line that says what would be right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgpack

from mastd.errors import ProtocolError
from mastd.wire.common.layout import Field, Layout
from mastd.wire.plant.messages import is_finite

MAGIC: Final = "mastd-rig"
MIN_VERSION, MAX_VERSION = 1, 1
"""Versions of the protocol that this side speaks."""
FRAME, UNITS = "iso8855", "SI"
MAX_RIG_MESSAGE: Final = 1 << 14
MAX_TO_RIG: Final = 1 << 16
MAX_TEXT_LENGTH: Final = 200
MAX_READS: Final = 128
MAX_NUMBER: Final = (1 << 63) - 1
ANY: Final = "any"
"""Mode and role of a rig that takes those of the daemon."""
_pack = msgpack.Packer().pack
_unpack = msgpack.unpackb

ChannelLine = tuple[str, str]
"""Name and unit of a channel."""


class MalformedRigError(ProtocolError):
    """A message that is not one of the rigs' protocol; ``sequence`` is −1 where it could not be read."""

    def __init__(self, text: str, sequence: int = -1, *, oversize: bool = False) -> None:
        super().__init__(text)
        self.sequence = sequence
        self.oversize = oversize


@dataclass(frozen=True)
class RigHello:
    """A rig's request for its place. ``resume``: the session it had before, 0 for none."""

    magic: str
    version_lowest: int
    version_highest: int
    name: str
    program: str
    role: str
    """Kind of rig, as in the daemon's settings."""
    frame: str
    units: str
    mode: str
    period_ns: int
    """Period that the rig works with, 0 where it takes any."""
    channels: tuple[ChannelLine, ...]
    channels_sha256: str
    reads: tuple[str, ...]
    resume: int


@dataclass(frozen=True)
class RigTerms:
    """One channel that a rig gives, as the daemon treats it."""

    name: str
    unit: str
    lowest: float
    highest: float
    rate_limit: float | None
    neutral: float
    on_loss: str


@dataclass(frozen=True)
class RigWelcome:
    """The place that a rig has got."""

    protocol_version: int
    session: int
    name: str
    pid: int
    mode: str
    period_ns: int
    channels: tuple[RigTerms, ...]
    channels_sha256: str
    reads: tuple[ChannelLine, ...]
    reads_sha256: str
    timeout_s: float
    message_rate: float
    motion_rate: float
    predict_s: float
    beat_s: float
    lost_s: float
    states: tuple[str, ...]


@dataclass(frozen=True)
class RigValues:
    """What a rig gives: answers motion ``step``; ``block`` has 8 bytes for each of its channels."""

    session: int
    sequence: int
    step: int
    time_ns: int
    block: bytes


@dataclass(frozen=True)
class Motion:
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


@dataclass(frozen=True)
class Beat:
    """A sign of life. ``echo_ns``: time of the newest beat heard (0 none), which came ``held_ns`` ago."""

    session: int
    sequence: int
    time_ns: int
    echo_ns: int
    held_ns: int
    step: int


@dataclass(frozen=True)
class Request:
    """``stop``, ``estop`` or ``bye`` of a session."""

    kind: str
    session: int
    sequence: int


@dataclass(frozen=True)
class Done:
    """The gateway's answer to ``stop``, ``estop`` and ``bye``."""

    session: int
    sequence: int
    kind: str


@dataclass(frozen=True)
class Trouble:
    """The gateway's answer to a message that it has not taken: ``error`` names the counter that counts it."""

    error: str
    reason: str
    sequence: int = -1


@dataclass(frozen=True)
class Refusal:
    """The gateway's answer to a hello that gets no place; one line each."""

    reasons: tuple[str, ...]


FromRig = RigHello | RigValues | Beat | Request
ToRig = RigWelcome | Motion | Beat | Done | Trouble | Refusal
REQUESTS: Final = frozenset({"stop", "estop", "bye"})


def channels_hash(name: str, channels: Sequence[ChannelLine]) -> str:
    """Return the SHA-256 of a list of channels by the rule of all layouts; ``name``: values or motion."""
    return Layout(name, tuple(Field(channel, 1, unit, "") for channel, unit in channels)).sha256


def pack_rig_hello(hello: RigHello) -> bytes:
    """Return the message as bytes."""
    packed: bytes = _pack({"kind": "hello", **vars(hello)})
    return packed


def pack_welcome(welcome: RigWelcome) -> bytes:
    """Return the message as bytes."""
    entries = vars(welcome) | {"channels": [list(vars(terms).values()) for terms in welcome.channels]}
    packed: bytes = _pack({"kind": "welcome", **entries})
    return packed


def pack_refusal(refusal: Refusal) -> bytes:
    """Return the message as bytes."""
    packed: bytes = _pack({"kind": "refused", "reasons": refusal.reasons})
    return packed


def pack_values(values: RigValues) -> bytes:
    """Return the message as bytes."""
    packed: bytes = _pack(
        ("values", values.session, values.sequence, values.step, values.time_ns, values.block)
    )
    return packed


def pack_motion(motion: Motion) -> bytes:
    """Return the message as bytes."""
    packed: bytes = _pack(("motion", *vars(motion).values()))
    return packed


def pack_small(message: Beat | Request | Done | Trouble) -> bytes:
    """Return a beat, a request, its answer, or an error as bytes."""
    entries: dict[str, object] = dict(vars(message))
    if isinstance(message, Done):
        entries = {"kind": "done", "of": entries.pop("kind"), **entries}
    elif isinstance(message, Beat):
        entries = {"kind": "beat", **entries}
    elif isinstance(message, Trouble):
        entries = {"kind": "error", **entries}
    packed: bytes = _pack(entries)
    return packed


def read_from_rig(data: bytes) -> FromRig:
    """Return a rig's message; raise MalformedRigError for anything else."""
    message = _decode(data, MAX_RIG_MESSAGE)
    if type(message) is list:
        return _read_values(message)
    kind = _kind(message)
    if kind == "hello":
        return _read_hello(message)
    if kind == "beat":
        return _read_beat(message)
    if kind in REQUESTS:
        return Request(kind, _count(message, "session"), _count(message, "sequence"))
    raise MalformedRigError(f"kind is {kind[:40]!r}; a rig sends hello, values, beat, stop, estop and bye")


def read_to_rig(data: bytes) -> ToRig:
    """Return a message of the gateway; raise MalformedRigError for anything else."""
    message = _decode(data, MAX_TO_RIG)
    if type(message) is list:
        return _read_motion(message)
    kind = _kind(message)
    if kind == "welcome":
        return _read_welcome(message)
    if kind == "refused":
        return Refusal(tuple(_texts(message, "reasons", 64, 4000)))
    if kind == "beat":
        return _read_beat(message)
    if kind == "done":
        return Done(_count(message, "session"), _count(message, "sequence"), _text(message, "of"))
    if kind == "error":
        sequence = message.get("sequence")
        whole = sequence if type(sequence) is int else -1
        return Trouble(_text(message, "error"), _text(message, "reason", 4000), whole)
    raise MalformedRigError(f"kind is {kind[:40]!r}, which no gateway says")


def _decode(data: bytes, most: int) -> Any:
    if len(data) > most:
        raise MalformedRigError(f"{len(data)} bytes, a message has at most {most}", oversize=True)
    try:
        return _unpack(data)
    except Exception as error:  # msgpack raises five unrelated types
        raise MalformedRigError(f"not a MessagePack message: {type(error).__name__}") from error


def _kind(message: Any) -> str:
    kind = message.get("kind") if type(message) is dict else None
    if type(kind) is not str:
        raise MalformedRigError("a message is an array of values, or a map with a text kind")
    return kind


def _read_values(message: list[Any]) -> RigValues:
    # Straight comparisons: this runs thousands of times a second.
    if len(message) != 6 or message[0] != "values":
        raise MalformedRigError("an array must be values, session, sequence, step, time, block")
    _, session, sequence, step, time_ns, block = message
    known = sequence if type(sequence) is int and 0 <= sequence <= MAX_NUMBER else -1
    if not (type(session) is type(sequence) is type(step) is type(time_ns) is int):
        raise MalformedRigError("values: session, sequence, step and time are integers", known)
    most = MAX_NUMBER
    if not (0 < session <= most and 0 <= sequence <= most and -1 <= step <= most and 0 <= time_ns <= most):
        raise MalformedRigError("values: session, sequence, step or time is out of its range", known)
    if type(block) is not bytes or len(block) % 8:
        raise MalformedRigError("values: the block is binary, 8 bytes for each channel", known)
    if not is_finite(block):
        raise MalformedRigError("values: all values, and their sum, must be finite", known)
    return RigValues(session, sequence, step, time_ns, block)


def _read_motion(message: list[Any]) -> Motion:
    if len(message) != 10 or message[0] != "motion":
        raise MalformedRigError("an array must be a motion of 10 entries")
    _, session, sequence, step, time_ns, plant_time_ns, state, speed, answer_due, block = message
    if not all(type(part) is int for part in (session, sequence, step, time_ns, plant_time_ns, state)):
        raise MalformedRigError("motion: entries 2 to 7 are integers")
    if type(speed) is not float or type(answer_due) is not bool:
        raise MalformedRigError("motion: entry 8 is a float, entry 9 a boolean")
    if type(block) is not bytes or len(block) % 8:
        raise MalformedRigError("motion: the block is binary, 8 bytes for each channel")
    return Motion(session, sequence, step, time_ns, plant_time_ns, state, speed, answer_due, block)


def _read_beat(message: dict[Any, Any]) -> Beat:
    names = ("session", "sequence", "time_ns", "echo_ns", "held_ns")
    step = message.get("step", -1)
    if type(step) is not int or not -1 <= step <= MAX_NUMBER:
        raise MalformedRigError("step must be an integer from -1")
    session, sequence, time_ns, echo_ns, held_ns = (_count(message, name) for name in names)
    return Beat(session, sequence, time_ns, echo_ns, held_ns, step)


def _read_hello(message: dict[Any, Any]) -> RigHello:
    channels = _lines(message, "channels")
    return RigHello(
        magic=_text(message, "magic"),
        version_lowest=_count(message, "version_lowest"),
        version_highest=_count(message, "version_highest"),
        name=_text(message, "name"),
        program=_text(message, "program"),
        role=_text(message, "role"),
        frame=_text(message, "frame"),
        units=_text(message, "units"),
        mode=_text(message, "mode"),
        period_ns=_count(message, "period_ns"),
        channels=tuple(channels),
        channels_sha256=_text(message, "channels_sha256"),
        reads=tuple(_texts(message, "reads", MAX_READS, MAX_TEXT_LENGTH)),
        resume=_count(message, "resume"),
    )


def _read_welcome(message: dict[Any, Any]) -> RigWelcome:
    rows = message.get("channels")
    if type(rows) is not list or not all(type(row) is list and len(row) == 7 for row in rows):
        raise MalformedRigError("welcome: channels are arrays of 7 entries")
    entries: dict[str, Any] = {name: message.get(name) for name in RigWelcome.__dataclass_fields__}
    entries["channels"] = tuple(RigTerms(*row) for row in rows)
    entries["reads"] = tuple(_lines(message, "reads"))
    entries["states"] = tuple(_texts(message, "states", 64, MAX_TEXT_LENGTH))
    for name in ("timeout_s", "message_rate", "motion_rate", "predict_s", "beat_s", "lost_s"):
        if type(entries[name]) is not float:
            raise MalformedRigError(f"welcome: {name} is a float")
    for name in ("protocol_version", "session", "pid", "period_ns"):
        entries[name] = _count(message, name)
    for name in ("name", "mode", "channels_sha256", "reads_sha256"):
        entries[name] = _text(message, name)
    return RigWelcome(**entries)


def _text(message: dict[Any, Any], name: str, longest: int = MAX_TEXT_LENGTH) -> str:
    text = message.get(name)
    if type(text) is not str or len(text) > longest or not text.isprintable():
        raise MalformedRigError(f"{name} must be a printable text of at most {longest} characters")
    return text


def _texts(message: dict[Any, Any], name: str, most: int, longest: int) -> list[str]:
    texts = message.get(name)
    if type(texts) is not list or len(texts) > most:
        raise MalformedRigError(f"{name} must be an array of at most {most} texts")
    if not all(type(text) is str and len(text) <= longest and text.isprintable() for text in texts):
        raise MalformedRigError(f"{name} must be printable texts of at most {longest} characters")
    return texts


def _lines(message: dict[Any, Any], name: str) -> list[ChannelLine]:
    lines = message.get(name)
    if type(lines) is not list or len(lines) > MAX_READS:
        raise MalformedRigError(f"{name} must be an array of at most {MAX_READS} pairs of name and unit")
    for line in lines:
        if type(line) is not list or len(line) != 2 or not all(type(part) is str for part in line):
            raise MalformedRigError(f"{name} must be pairs of name and unit")
        if not all(len(part) <= MAX_TEXT_LENGTH and part.isprintable() for part in line):
            raise MalformedRigError(f"{name} must be printable, at most {MAX_TEXT_LENGTH} characters")
    return [(line[0], line[1]) for line in lines]


def _count(message: dict[Any, Any], name: str) -> int:
    number = message.get(name)
    if type(number) is not int or not 0 <= number <= MAX_NUMBER:
        raise MalformedRigError(f"{name} must be an integer from 0 to 2^63 - 1")
    return number
