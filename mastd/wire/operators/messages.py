"""Messages between operators and the gateway: what may be said, and the strict reading of it.

Every message is one frame with one MessagePack map whose text ``kind`` says what it is (docs/protocol.md,
chapter "Operators"). A client sends ``hello``, ``command``, ``drive`` and ``bye``; the gateway sends
``welcome``, ``answer``, ``error`` and, on its status socket, ``status``. Unknown keys of a message are
ignored, so that a later minor version may add some; unknown verbs and unknown arguments are refused, because
an argument that nobody reads is a command that was not understood. Only ``stop`` and ``estop`` are taken
whatever comes with them.

Reading checks types exactly (a boolean is no number), ranges, finiteness and lengths. What does not pass
raises ``MalformedError`` with one line that says what would be right.
"""

from __future__ import annotations

import math
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any, TypeVar

import msgpack

from mastd.errors import ProtocolError
from mastd.wire.access.roles import ROLES, Role, read_role
from mastd.wire.access.verbs import BY_NAME, STOPPING, VERBS

OPERATOR_PROTOCOL_VERSION = 1
MAX_OPERATOR_MESSAGE = 1 << 14
MAX_ANSWER = 1 << 17
"""Bytes of the longest message of a gateway: a description names every channel and every fault."""
MAX_NAME_LENGTH = 200
MAX_PATH_LENGTH = 4096
MAX_NUMBER = (1 << 63) - 1
MAX_SHARE = 100.0
"""Largest master gain that can be asked for; how much is allowed is for the loop to say."""
MIN_GEAR, MAX_GEAR = -9, 100
"""Gears that can be asked for, 100 leaves the choice to the car; which ones there are the vehicle knows."""
MAX_JOG = 10.0
"""Largest jog that can be asked for, in m or rad; how much is allowed is for the loop to say."""

AXES = ("surge", "sway", "heave", "roll", "pitch", "yaw")


class MalformedError(ProtocolError):
    """A message that is not one of the operators' protocol; ``sequence`` is −1 where it could not be read."""

    def __init__(self, text: str, sequence: int = -1, oversize: bool = False) -> None:
        super().__init__(text)
        self.sequence = sequence
        self.oversize = oversize


@dataclass(frozen=True)
class Hello:
    """A client's request for a session; ``operator`` is who acts, ``name`` the program it acts with."""

    protocol_version: int
    name: str
    operator: str
    role: Role


@dataclass(frozen=True)
class Welcome:
    """The session that the gateway has opened, and what the client has to know of the daemon."""

    protocol_version: int
    session: int
    name: str
    pid: int
    role: str
    operator: str
    snapshots: str
    """Address of the status socket; empty if it cannot be told."""
    lease_s: float
    answer_s: float
    telemetry: str = ""
    """Address of the telemetry socket; empty if there is none."""


@dataclass(frozen=True)
class Arguments:
    """Checked arguments of a command; only those of its verb mean anything.

    ``profile`` is a path or a starter's name, ``share`` the master gain (1 is the profile as written),
    ``axis`` an index into ``AXES``, ``link`` counts from 0 here (from 1 on the wire; whether there is such a
    link is for the desk to say), ``amount`` m or rad.
    """

    profile: str = ""
    share: float = 0.0
    axis: int | None = None
    link: int | None = None
    amount: float = 0.0


@dataclass(frozen=True)
class Command:
    """One command of a session; session and sequence together are its identity."""

    session: int
    sequence: int
    verb: str
    arguments: Arguments


@dataclass(frozen=True)
class Inputs:
    """What somebody drives with: steering −1…1 (left positive, share of the rack's travel), throttle, brake
    and clutch pedal 0…1 (1: pressed), gear."""

    steering: float = 0.0
    throttle: float = 0.0
    brake: float = 0.0
    clutch: float = 0.0
    gear: int = 0


@dataclass(frozen=True)
class Drive:
    """The newest inputs of a session's driver; ``sequence`` counts upwards, apart from the commands."""

    session: int
    sequence: int
    inputs: Inputs


@dataclass(frozen=True)
class Bye:
    """The client has no more to say in this session."""

    session: int


@dataclass(frozen=True)
class Answer:
    """What became of a command; a refusal says why and, where that is known, what would be needed."""

    session: int
    sequence: int
    verb: str
    accepted: bool
    reason: str
    needed: str
    state: str
    cause: str
    lease: str
    """Who holds the lease, empty for nobody."""
    snapshot: dict[str, Any] | None = None
    """Everything known, in the answer to ``status``."""
    description: dict[str, Any] | None = None
    """What the daemon is, in the answer to ``describe``."""


@dataclass(frozen=True)
class Complaint:
    """A message that was not taken as a command (kind ``error``); nothing has changed by it.

    ``error`` is the counter's name: malformed, oversize, unknown_session, out_of_order, too_many; of inputs
    also not_allowed and no_lease.
    """

    error: str
    reason: str
    sequence: int


FromClient = Hello | Command | Drive | Bye
FromGateway = Welcome | Answer | Complaint


def pack_hello(hello: Hello) -> bytes:
    """Return a hello as bytes."""
    return _pack("hello", asdict(hello))


def pack_command(session: int, sequence: int, verb: str, arguments: dict[str, object]) -> bytes:
    """Return a command as bytes; the arguments as they stand on the wire (``link`` counts from 1)."""
    return _pack("command", {"session": session, "sequence": sequence, "verb": verb, "arguments": arguments})


def pack_drive(session: int, sequence: int, inputs: Inputs) -> bytes:
    """Return what somebody drives with as bytes."""
    return _pack("drive", {"session": session, "sequence": sequence, **asdict(inputs)})


def pack_bye(session: int) -> bytes:
    """Return the end of a session as bytes."""
    return _pack("bye", {"session": session})


def pack_welcome(welcome: Welcome) -> bytes:
    """Return a welcome as bytes."""
    return _pack("welcome", asdict(welcome))


def pack_answer(answer: Answer) -> bytes:
    """Return an answer as bytes."""
    return _pack("answer", {field.name: getattr(answer, field.name) for field in fields(Answer)})


def pack_complaint(complaint: Complaint) -> bytes:
    """Return an error as bytes."""
    return _pack("error", asdict(complaint))


def pack_status(snapshot: dict[str, Any]) -> bytes:
    """Return a status snapshot as bytes."""
    return _pack("status", snapshot)


def read_from_client(data: bytes) -> FromClient:
    """Return the message of a client; raise ``MalformedError`` for anything else."""
    message = _map(data)
    kind = message["kind"]
    if kind == "command":
        return _command(message)
    if kind == "drive":
        return _drive(message)
    if kind == "hello":
        return _hello(message)
    if kind == "bye":
        return Bye(_integer(message, "session", "bye"))
    raise MalformedError(f"kind {kind[:20]!r} is not known; send hello, command, drive or bye")


def read_from_gateway(data: bytes) -> FromGateway:
    """Return the message of a gateway; raise ``MalformedError`` for anything else."""
    message = _map(data, MAX_ANSWER)
    classes: dict[str, type[FromGateway]] = {"welcome": Welcome, "answer": Answer, "error": Complaint}
    cls = classes.get(message["kind"])
    if cls is None:
        raise MalformedError(f"kind {message['kind'][:20]!r} is not known")
    return _read(message, cls)


def read_status(data: bytes) -> dict[str, Any]:
    """Return the entries of a status snapshot; raise ``MalformedError`` for anything else."""
    message = _map(data, MAX_ANSWER)
    if message.pop("kind") != "status":
        raise MalformedError("not a status")
    return message


def _pack(kind: str, entries: dict[str, Any]) -> bytes:
    packed: bytes = msgpack.packb({"kind": kind, **entries})
    return packed


def _map(data: bytes, largest: int = MAX_OPERATOR_MESSAGE) -> dict[str, Any]:
    if len(data) > largest:
        raise MalformedError(
            f"a message has at most {largest} bytes, this one has {len(data)}", oversize=True
        )
    try:
        message = msgpack.unpackb(data)
    except Exception as error:  # msgpack raises five unrelated types
        raise MalformedError(f"not a MessagePack message: {type(error).__name__}") from error
    if type(message) is not dict or type(message.get("kind")) is not str:
        raise MalformedError("a message is a map with a text 'kind'")
    return message


def _hello(message: dict[str, Any]) -> Hello:
    version = _integer(message, "protocol_version", "hello", least=-MAX_NUMBER)
    if version != OPERATOR_PROTOCOL_VERSION:
        # The other entries belong to another version: only the version itself is worth reporting.
        return Hello(version, "", "", "operator")
    word = _text(message, "role", "hello", MAX_NAME_LENGTH)
    role = read_role(word)
    if role is None:
        raise MalformedError(f"hello: role {word[:20]!r} is not known; roles are {', '.join(ROLES)}")
    name = _text(message, "name", "hello", MAX_NAME_LENGTH)
    operator = _text(message, "operator", "hello", MAX_NAME_LENGTH)
    for key, text in (("operator", operator), ("name", name)):
        if not text.isprintable():  # it is shown on the terminals of others
            raise MalformedError(
                f"hello: {key} must be printable text, without line breaks and control characters"
            )
    if not operator.strip():
        raise MalformedError("hello: operator must say who acts, for instance anna@rig/tty1")
    return Hello(version, name, operator, role)


def _command(message: dict[str, Any]) -> Command:
    session = _integer(message, "session", "command")
    sequence = _integer(message, "sequence", "command")
    try:
        verb = _text(message, "verb", "command", MAX_NAME_LENGTH)
        if verb not in VERBS:
            raise MalformedError(f"verb {verb[:20]!r} is not known; known are {', '.join(sorted(VERBS))}")
        return Command(session, sequence, verb, _arguments(verb, message.get("arguments")))
    except MalformedError as error:
        error.sequence = sequence
        raise


def _drive(message: dict[str, Any]) -> Drive:
    session = _integer(message, "session", "drive")
    sequence = _integer(message, "sequence", "drive")
    try:
        inputs = Inputs(
            steering=_number(message, "steering", "drive", -1.0, 1.0),
            throttle=_number(message, "throttle", "drive", 0.0, 1.0),
            brake=_number(message, "brake", "drive", 0.0, 1.0),
            clutch=_number(message, "clutch", "drive", 0.0, 1.0),
            gear=_integer(message, "gear", "drive", MIN_GEAR, MAX_GEAR),
        )
    except MalformedError as error:
        error.sequence = sequence
        raise
    return Drive(session, sequence, inputs)


def _arguments(verb: str, given: object) -> Arguments:
    if verb in STOPPING:  # whatever comes with a stop, it is a stop
        return Arguments()
    if type(given) is not dict:
        raise MalformedError(f"{verb}: arguments must be given as a map, an empty one for none")
    wanted = BY_NAME[verb].arguments
    for key in given:
        if key not in wanted:
            named = ", ".join(wanted) or "none"
            raise MalformedError(
                f"{verb}: argument {str(key)[:20]!r} is not known; its arguments are: {named}"
            )
    if verb == "load":
        profile = _text(given, "profile", verb, MAX_PATH_LENGTH)
        if not profile or "\0" in profile:
            raise MalformedError("load: profile must be a path or the name of a starter profile")
        return Arguments(profile=profile)
    if verb == "level":
        try:
            return Arguments(share=_number(given, "share", verb, 0.0, MAX_SHARE))
        except MalformedError as error:
            raise MalformedError(f"{error}, where 1 is 100%") from error
    if verb == "jog":
        return _jog(given)
    return Arguments()


def _jog(given: dict[str, Any]) -> Arguments:
    amount = _number(given, "amount", "jog", -MAX_JOG, MAX_JOG)
    if ("axis" in given) == ("link" in given):
        raise MalformedError("jog: give either axis or link")
    if "link" in given:
        return Arguments(link=_whole(given, "link", "jog") - 1, amount=amount)
    axis = _text(given, "axis", "jog", MAX_NAME_LENGTH)
    if axis not in AXES:
        raise MalformedError(f"jog: axis {axis[:20]!r} is not known; axes are {', '.join(AXES)}")
    return Arguments(axis=AXES.index(axis), amount=amount)


def _whole(message: dict[str, Any], key: str, where: str) -> int:
    """Return an integer of which only the daemon knows which ones there are."""
    value = message.get(key)
    if type(value) is not int:
        raise MalformedError(f"{where}: {key} must be given as an integer")
    return value


def _integer(message: dict[str, Any], key: str, where: str, least: int = 0, most: int = MAX_NUMBER) -> int:
    value = message.get(key)
    if type(value) is not int or not least <= value <= most:
        raise MalformedError(f"{where}: {key} must be given as an integer from {least} to {most}")
    return value


def _number(message: dict[str, Any], key: str, where: str, least: float, most: float) -> float:
    value = message.get(key)
    if type(value) not in (int, float) or not least <= value <= most:  # type: ignore[operator]
        raise MalformedError(f"{where}: {key} must be given as a number from {least:g} to {most:g}")
    return float(value)  # type: ignore[arg-type]


def _text(message: dict[str, Any], key: str, where: str, longest: int) -> str:
    value = message.get(key)
    if type(value) is not str or len(value) > longest:
        raise MalformedError(f"{where}: {key} must be given as text of at most {longest} characters")
    return value


_Message = TypeVar("_Message", bound=FromGateway)


def _read(message: dict[str, Any], cls: type[_Message]) -> _Message:
    entries: dict[str, object] = {}
    for field in fields(cls):
        if field.name not in message and field.default is not MISSING:
            continue  # a gateway that is older than this client
        value = message.get(field.name)
        wanted = _TYPES[str(field.type)]
        if type(value) not in wanted or (type(value) is float and not math.isfinite(value)):
            raise MalformedError(f"{message['kind']}: {field.name} must be given as {field.type}")
        entries[field.name] = value
    return cls(**entries)  # type: ignore[arg-type]


_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "str": (str,),
    "bool": (bool,),
    "float": (float, int),
    "dict[str, Any] | None": (dict, type(None)),
}
