"""Messages between operators and the gateway: what may be said, and the strict reading of it.

Every message is one frame with one MessagePack map (docs/protocol.md). Unknown entries of a message are
ignored, so that a later minor version may add some; unknown verbs and unknown arguments are refused, because
an argument that nobody reads is a command that was not understood. Only ``stop`` and ``estop`` are taken
whatever comes with them.

What does not pass raises ``MalformedError`` (``mastd.wire.common.strict_messages``).
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from mastd.settings.core.axes import AXES
from mastd.wire.access.roles import Role
from mastd.wire.access.verbs import BY_NAME, STOPPING, VERBS
from mastd.wire.common.strict_messages import (
    Count,
    Finite,
    MalformedError,
    explain,
    pack,
    read_strictly,
)

OPERATOR_PROTOCOL_VERSION = 1
MAX_OPERATOR_MESSAGE = 1 << 14
MAX_ANSWER = 1 << 17
"""Bytes of the longest message of a gateway: a description names every channel and every fault."""
MAX_NAME_LENGTH = 200
MAX_PATH_LENGTH = 4096
MAX_RATIO = 100.0
"""Largest master gain that can be asked for; how much is allowed is for the loop to say."""
MIN_GEAR, MAX_GEAR = -9, 100
"""Gears that can be asked for, 100 leaves the choice to the car; which ones there are the vehicle knows."""
MAX_JOG = 10.0
"""Largest jog that can be asked for, in m or rad; how much is allowed is for the loop to say."""

Name = Annotated[str, Meta(max_length=MAX_NAME_LENGTH)]
Pedal = Annotated[float, Meta(ge=0.0, le=1.0)]


class Hello(Struct, frozen=True, tag_field="kind", tag="hello"):
    """A client's request for a session; ``operator`` is who acts, ``name`` the program it acts with."""

    protocol_version: int
    name: Name
    operator: Name
    role: Role


class Welcome(Struct, frozen=True, tag_field="kind", tag="welcome"):
    """The session that the gateway has opened, and what the client has to know of the daemon."""

    protocol_version: int
    session: int
    name: str
    pid: int
    role: str
    operator: str
    snapshots: str
    """Address of the status socket; empty if it is not known."""
    lease_s: Finite
    answer_s: Finite
    telemetry: str = ""
    """Address of the telemetry socket; empty if there is none."""


class NoArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of a verb that takes none."""


class Load(Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of ``load``: a path, or a starter profile's name."""

    profile: Annotated[str, Meta(max_length=MAX_PATH_LENGTH)]

    def __post_init__(self) -> None:
        if not self.profile or "\0" in self.profile:
            raise ValueError("profile must be a path or the name of a starter profile")


class Level(Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of ``level``: the master gain, 1 is the profile as written."""

    share: Annotated[float, Meta(ge=0.0, le=MAX_RATIO)]


class Jog(Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of ``jog``: ``amount`` m or rad; ``link`` counts from 1 to what the gateway knows."""

    amount: Annotated[float, Meta(ge=-MAX_JOG, le=MAX_JOG)]
    axis: str | UnsetType = UNSET
    link: int | UnsetType = UNSET

    def __post_init__(self) -> None:
        if (self.axis is UNSET) == (self.link is UNSET):
            raise ValueError("give either axis or link")
        if self.axis is not UNSET and self.axis not in AXES:
            raise ValueError(f"axis {self.axis[:20]!r} is not known; axes are {', '.join(AXES)}")


Arguments = NoArguments | Load | Level | Jog
ARGUMENTS: dict[str, type[Arguments]] = {"load": Load, "level": Level, "jog": Jog}
"""What the verbs with arguments take."""


class Command(Struct, frozen=True, tag_field="kind", tag="command"):
    """One command of a session; session and sequence together are its identity.

    ``arguments`` are a map to be sent, and an ``Arguments`` when they have been read.
    """

    session: Count
    sequence: Count
    verb: Name
    arguments: Any = None


class Inputs(NamedTuple):
    """What somebody drives with: steering −1…1 (left positive, of the rack's travel), throttle, brake and
    clutch pedal 0…1 (1: pressed), gear."""

    steering: float = 0.0
    throttle: float = 0.0
    brake: float = 0.0
    clutch: float = 0.0
    gear: int = 0


class Drive(Struct, frozen=True, tag_field="kind", tag="drive"):
    """The newest inputs of a session's driver; ``sequence`` counts upwards, apart from the commands."""

    session: Count
    sequence: Count
    steering: Annotated[float, Meta(ge=-1.0, le=1.0)]
    throttle: Pedal
    brake: Pedal
    clutch: Pedal
    gear: Annotated[int, Meta(ge=MIN_GEAR, le=MAX_GEAR)]

    @property
    def inputs(self) -> Inputs:
        """What is driven with."""
        return Inputs(self.steering, self.throttle, self.brake, self.clutch, self.gear)


class Close(Struct, frozen=True, tag_field="kind", tag="bye"):
    """The client ends its session."""

    session: Count


class Answer(Struct, frozen=True, tag_field="kind", tag="answer"):
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


class Error(Struct, frozen=True, tag_field="kind", tag="error"):
    """A message that was not taken as a command; nothing has changed by it.

    ``error`` is the counter's name: malformed, oversize, unknown_session, out_of_order, too_many; of inputs
    also not_allowed and no_lease.
    """

    error: str
    reason: str
    sequence: int


FromClient = Hello | Command | Drive | Close
FromGateway = Welcome | Answer | Error
_FROM_CLIENT: msgspec.msgpack.Decoder[FromClient] = msgspec.msgpack.Decoder(FromClient)
_FROM_GATEWAY: msgspec.msgpack.Decoder[FromGateway] = msgspec.msgpack.Decoder(FromGateway)
_STATUS: msgspec.msgpack.Decoder[dict[str, Any]] = msgspec.msgpack.Decoder(dict[str, Any])


def pack_drive(session: int, sequence: int, inputs: Inputs) -> bytes:
    """Return what somebody drives with as bytes."""
    return pack(Drive(session, sequence, *inputs))


def pack_status(snapshot: dict[str, Any]) -> bytes:
    """Return a status snapshot as bytes."""
    return pack({"kind": "status", **snapshot})


def read_from_client(data: bytes) -> FromClient:
    """Return the message of a client; raise ``MalformedError`` for anything else."""
    return read_strictly(_read_from_client, data, MAX_OPERATOR_MESSAGE)


def read_from_gateway(data: bytes) -> FromGateway:
    """Return the message of a gateway; raise ``MalformedError`` for anything else."""
    return read_strictly(_FROM_GATEWAY.decode, data, MAX_ANSWER)


def read_status(data: bytes) -> dict[str, Any]:
    """Return the entries of a status snapshot; raise ``MalformedError`` for anything else."""
    message = read_strictly(_STATUS.decode, data, MAX_ANSWER)
    if message.pop("kind", None) != "status":
        raise MalformedError("not a status")
    return message


def _read_from_client(data: bytes) -> FromClient:
    try:
        message = _FROM_CLIENT.decode(data)
    except msgspec.ValidationError:
        if (version := _other_version(data)) is None:
            raise
        return Hello(version, "", "", "operator")
    if isinstance(message, Command):
        return _checked(message)
    if isinstance(message, Hello):
        _check_names(message)
    return message


def _other_version(data: bytes) -> int | None:
    """Return the version of a hello of another one, of which nothing else is worth reporting; else None."""
    message = msgspec.msgpack.decode(data)
    hello = type(message) is dict and message.get("kind") == "hello"
    version = message.get("protocol_version") if hello else None
    return version if type(version) is int and version != OPERATOR_PROTOCOL_VERSION else None


def _check_names(hello: Hello) -> None:
    for key, text in (("operator", hello.operator), ("name", hello.name)):
        if not text.isprintable():  # it is shown on the terminals of others
            raise ValueError(f"{key} must be printable text, without line breaks and control characters")
    if not hello.operator.strip():
        raise ValueError("operator must name who acts, for instance anna@rig/tty1")


def _checked(command: Command) -> Command:
    """Return a command with its arguments as an ``Arguments``."""
    verb, given = command.verb, command.arguments
    if verb not in VERBS:
        raise ValueError(f"verb {verb[:20]!r} is not known; known are {', '.join(sorted(VERBS))}")
    arguments: Arguments = NoArguments()
    if verb not in STOPPING:  # whatever comes with a stop, it is a stop
        try:
            arguments = msgspec.convert(given, ARGUMENTS.get(verb, NoArguments))
        except msgspec.ValidationError as error:
            names = ", ".join(BY_NAME[verb].arguments) or "none"
            unit = ", where 1 is 100%" if verb == "level" else ""
            raise ValueError(f"{explain(error, verb)}{unit}; its arguments are: {names}") from error
    return Command(command.session, command.sequence, verb, arguments)
