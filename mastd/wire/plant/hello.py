"""Opening and closing of a session on the plant link: hello, welcome, refusal (docs/protocol.md).

These messages are MessagePack maps with text keys; unknown keys are ignored, so that a later minor version
may add some. Whatever must be equal at both ends is compared by the plant, and a refusal names both values.
"""

from __future__ import annotations

import os
import socket
from dataclasses import asdict, dataclass, fields
from typing import Literal, TypeVar, get_args

import msgpack

from mastd.errors import ProtocolError, printable
from mastd.wire.common.layout import Layout, command_layout, sample_layout
from mastd.wire.plant.messages import PROTOCOL_VERSION, decode

Mode = Literal["lockstep", "free-run"]
MODES: tuple[str, ...] = get_args(Mode)
MAX_TEXT_LENGTH = 200
MAX_REASONS = 16
MAX_SESSION_BYTES = 16384
"""Of a message of the session: reading a longer one would cost the loop its period."""
_SIGNED_64 = 1 << 63


@dataclass(frozen=True)
class LinkTerms:
    """What both ends of a plant link must agree on."""

    sample_layout: Layout
    command_layout: Layout
    mode: Mode
    period_ns: int
    actuators: int = 0
    accelerometers: int = 0
    table: bytes = b""
    """The table's description in its ``table_layout``; not compared, a plant need not use it."""

    @classmethod
    def of(
        cls,
        actuators: int,
        accelerometers: int,
        mode: Mode,
        period_ns: int,
        table: bytes = b"",
        sample: Layout | None = None,
    ) -> LinkTerms:
        """Return the terms of a table with so many actuators and single-axis sensors.

        ``sample``: the layout of its samples, if not all actuators have two chamber pressures.
        """
        return cls(
            sample or sample_layout(actuators, accelerometers),
            command_layout(actuators),
            mode,
            period_ns,
            actuators,
            accelerometers,
            table,
        )


@dataclass(frozen=True)
class DaemonHello:
    """The daemon's request for the plant's one place: the terms it wants and who it is."""

    protocol_version: int
    sample_sha256: str
    command_sha256: str
    mode: str
    period_ns: int
    actuators: int
    accelerometers: int
    table: bytes
    name: str
    pid: int
    host: str

    @classmethod
    def of(cls, terms: LinkTerms, name: str) -> DaemonHello:
        """Return this process's hello for ``terms``."""
        return cls(
            PROTOCOL_VERSION,
            terms.sample_layout.sha256,
            terms.command_layout.sha256,
            terms.mode,
            terms.period_ns,
            terms.actuators,
            terms.accelerometers,
            terms.table,
            name,
            os.getpid(),
            socket.gethostname()[:MAX_TEXT_LENGTH],
        )

    @property
    def who(self) -> str:
        """The daemon's name, process id and host in words."""
        return f"{self.name} (pid {self.pid} on {self.host})"


@dataclass(frozen=True)
class PlantHello:
    """The plant's welcome: its terms, the identity of its present boot, and whether it is a simulation."""

    protocol_version: int
    sample_sha256: str
    command_sha256: str
    mode: str
    period_ns: int
    boot_id: int
    name: str
    simulated: bool

    @classmethod
    def of(cls, terms: LinkTerms, boot_id: int, name: str, simulated: bool) -> PlantHello:
        """Return the hello of a plant that serves ``terms``."""
        return cls(
            PROTOCOL_VERSION,
            terms.sample_layout.sha256,
            terms.command_layout.sha256,
            terms.mode,
            terms.period_ns,
            boot_id,
            name,
            simulated,
        )


@dataclass(frozen=True)
class Refusal:
    """Why the plant does not serve a peer; ``holder`` names the daemon that has the place, else empty."""

    reasons: tuple[str, ...]
    holder: str = ""

    @property
    def text(self) -> str:
        """All reasons in one line."""
        return "; ".join(self.reasons)


_COMPARED = (
    ("mode", "mode", "start both ends in the same mode"),
    ("period_ns", "period", "start both ends with the same period"),
    ("sample_sha256", "sample layout", "both ends must read the same table file"),
    ("command_sha256", "command layout", "both ends must read the same table file"),
)


def mismatches(plant: PlantHello, daemon: DaemonHello) -> tuple[str, ...]:
    """Return one line with both values for every term on which the two ends differ."""
    if plant.protocol_version != daemon.protocol_version:
        # Nothing else of another version can be judged.
        return (f"protocol version: plant {plant.protocol_version}, daemon {daemon.protocol_version}",)
    return tuple(
        f"{text}: plant {_shown(getattr(plant, field))}, daemon {_shown(getattr(daemon, field))}; {advice}"
        for field, text, advice in _COMPARED
        if getattr(plant, field) != getattr(daemon, field)
    )


def _shown(value: object) -> str:
    if isinstance(value, int):
        return f"{value} ns"
    return str(value)[:16]


def pack_hello(hello: DaemonHello) -> bytes:
    """Return the daemon's hello as bytes."""
    return pack_map("hello", asdict(hello))


def pack_welcome(hello: PlantHello) -> bytes:
    """Return the plant's welcome as bytes."""
    return pack_map("welcome", asdict(hello))


def pack_refusal(refusal: Refusal) -> bytes:
    """Return a refusal as bytes."""
    return pack_map("refused", {"reasons": list(refusal.reasons), "holder": refusal.holder})


def pack_map(kind: str, entries: dict[str, object]) -> bytes:
    """Return a message of the session as bytes: a map whose ``kind`` says what it is."""
    packed: bytes = msgpack.packb({"kind": kind, **entries})
    return packed


def unpack_map(data: bytes) -> dict[str, object]:
    """Return a message of the session; raise ProtocolError unless it is a map with a text ``kind``."""
    if len(data) > MAX_SESSION_BYTES:
        raise ProtocolError(
            f"a message of the session has at most {MAX_SESSION_BYTES} bytes, not {len(data)}"
        )
    message = decode(data)
    if not isinstance(message, dict) or not isinstance(message.get("kind"), str):
        raise ProtocolError("not a message of the session: it must be a map with a text 'kind'")
    return message


def read_hello(message: dict[str, object]) -> DaemonHello:
    """Return the daemon's hello in ``message``; raise ProtocolError for a missing or wrong entry."""
    return _read(message, DaemonHello)


def read_welcome(message: dict[str, object]) -> PlantHello:
    """Return the plant's welcome in ``message``; raise ProtocolError for a missing or wrong entry."""
    return _read(message, PlantHello)


def read_refusal(message: dict[str, object]) -> Refusal:
    """Return the refusal in ``message``; what cannot be read of it is left out: it is a refusal anyway."""
    reasons = message.get("reasons")
    holder = message.get("holder")
    given = reasons[:MAX_REASONS] if isinstance(reasons, list) else []
    texts = tuple(_text(reason) for reason in given if isinstance(reason, str))
    return Refusal(texts or ("no reason given",), _text(holder) if isinstance(holder, str) else "")


def _text(value: str) -> str:
    """Return a peer's text cut to size, with nothing in it that a terminal would obey."""
    return printable(value[:MAX_TEXT_LENGTH], keep="")


_Hello = TypeVar("_Hello", DaemonHello, PlantHello)
_TYPES: dict[str, type] = {"int": int, "str": str, "bool": bool, "bytes": bytes}


def _read(message: dict[str, object], cls: type[_Hello]) -> _Hello:
    version = message.get("protocol_version")
    if type(version) is int and version != PROTOCOL_VERSION:
        # The other entries belong to another version: only the version itself is worth reporting.
        blank = {field.name: _TYPES[str(field.type)]() for field in fields(cls)}
        return cls(**{**blank, "protocol_version": version})
    entries: dict[str, object] = {}
    for field in fields(cls):
        value = message.get(field.name)
        wanted = _TYPES[str(field.type)]
        if type(value) is not wanted:
            raise ProtocolError(f"{message['kind']}: {field.name} must be given as {field.type}")
        if isinstance(value, str) and len(value) > MAX_TEXT_LENGTH:
            raise ProtocolError(
                f"{message['kind']}: {field.name} must not be longer than {MAX_TEXT_LENGTH} characters"
            )
        if isinstance(value, int) and not -_SIGNED_64 <= value < _SIGNED_64:
            raise ProtocolError(f"{message['kind']}: {field.name} must be a signed 64-bit integer")
        entries[field.name] = _text(value) if isinstance(value, str) else value
    return cls(**entries)  # type: ignore[arg-type]
