"""Messages between the page and the console: what a browser may say, and what it is reported.

Browsers send JSON text, ``command``, ``traces`` and ``ping``; keys that nobody reads are refused, because a
word that is not understood may have been the important one. Only ``stop`` and ``estop`` are taken whatever
comes with them. What does not pass raises ``MessageError`` with one line that says what would be right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from mastd.errors import MastdError
from mastd.wire.access.verbs import COMMANDING, STOPPING, may
from mastd.wire.operators.messages import Answer

MAX_MESSAGE = 16 * 1024
"""Longest message of a browser in bytes."""
MAX_CHANNELS = 16
MAX_TEXT_LENGTH = 200
MAX_LOAD = 4096
"""Longest name of a profile, which may be the path that the list of profiles tells."""
MAX_ARGUMENTS = 8
MAX_NUMBER = (1 << 53) - 1
"""Largest integer that JavaScript knows exactly."""
BUTTONS = COMMANDING | STOPPING | {"release"}
"""Verbs that the page may send."""


class MessageError(MastdError):
    """A browser's message that is refused; ``number`` is its id if it has one, ``verb`` the command's."""

    def __init__(self, text: str, number: int | None = None, verb: str = "") -> None:
        super().__init__(text)
        self.number = number
        self.verb = verb


@dataclass(frozen=True)
class Ping:
    """The page asks whether the console is there."""

    number: int


@dataclass(frozen=True)
class Choice:
    """The channels whose traces the page wants from now on, none for no traces."""

    channels: tuple[str, ...]


@dataclass(frozen=True)
class Order:
    """A command for the daemon; the arguments as they stand on the operators' wire."""

    number: int | None
    verb: str
    arguments: dict[str, object]


def read_message(text: str) -> Ping | Choice | Order:
    """Return the message of a browser; raise ``MessageError`` for anything else."""
    if len(text) > MAX_MESSAGE:  # characters; the socket itself counts bytes
        raise MessageError(f"a message has at most {MAX_MESSAGE} bytes")
    try:
        message = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise MessageError("not a JSON message") from None
    if type(message) is not dict:
        raise MessageError("a message is a JSON object with a text 'kind'")
    kind = message.get("kind")
    if kind == "command":
        return _order(message)
    if kind == "traces":
        return _choice(message)
    if kind == "ping":
        _only(message, ("kind", "id"), "ping")
        number = _number(message)
        if number is None:
            raise MessageError("ping: id must be given as a whole number from 0")
        return Ping(number)
    shown = kind[:20] if type(kind) is str else type(kind).__name__
    raise MessageError(f"kind {shown!r} is not known; send command, traces or ping")


def refusal(role: str, verb: str) -> str:
    """Return why this role may not ask for ``verb``, empty if it may."""
    if role == "operator" or may("observer", verb):
        return ""
    return f"{verb} is refused: this browser only watches; it may stop, for more log in as operator"


def _order(message: dict[str, Any]) -> Order:
    verb, number = message.get("verb"), _number(message)
    if type(verb) is not str:
        raise MessageError("command: verb must be given as text", number)
    if verb in STOPPING:  # whatever comes with a stop, it is a stop
        return Order(number, verb, {})
    if verb not in BUTTONS:
        raise MessageError(f"verb {verb[:20]!r} is not known; known are {', '.join(sorted(BUTTONS))}", number)
    try:
        _only(message, ("kind", "id", "verb", "arguments"), verb)
        if number is None:
            raise MessageError(f"{verb}: id must be given as a whole number from 0")
        return Order(number, verb, _arguments(verb, message.get("arguments", {})))
    except MessageError as error:
        raise MessageError(str(error), number, verb) from None


def _arguments(verb: str, given: object) -> dict[str, object]:
    if type(given) is not dict or len(given) > MAX_ARGUMENTS:
        raise MessageError(f"{verb}: arguments must be given as an object of at most {MAX_ARGUMENTS} entries")
    longest = MAX_LOAD if verb == "load" else MAX_TEXT_LENGTH
    for key, value in given.items():
        plain = type(value) in (int, float, str) and len(str(value)) <= longest
        if len(key) > MAX_TEXT_LENGTH or not plain:
            raise MessageError(
                f"{verb}: {key[:20]!r} must be a number or text of at most {longest} characters"
            )
    return given


def _choice(message: dict[str, Any]) -> Choice:
    _only(message, ("kind", "channels"), "traces")
    channels = message.get("channels")
    if type(channels) is not list or len(channels) > MAX_CHANNELS:
        raise MessageError(f"traces: channels must be given as a list of at most {MAX_CHANNELS} names")
    if not all(type(name) is str and len(name) <= MAX_TEXT_LENGTH for name in channels):
        raise MessageError(f"traces: a channel is a name of at most {MAX_TEXT_LENGTH} characters")
    return Choice(tuple(dict.fromkeys(channels)))


def _only(message: dict[str, Any], known: tuple[str, ...], what: str) -> None:
    for key in message:
        if key not in known:
            raise MessageError(f"{what}: key {key[:20]!r} is not known; its keys are {', '.join(known)}")


def _number(message: dict[str, Any]) -> int | None:
    value = message.get("id")
    return value if type(value) is int and 0 <= value <= MAX_NUMBER else None


def pack(kind: str, **entries: object) -> str:
    """Return a message to browsers as JSON text; numbers that are not finite become null."""
    return orjson.dumps({"kind": kind, **entries}, default=str, option=orjson.OPT_NON_STR_KEYS).decode()


def answered(number: int | None, answer: Answer) -> str:
    """Return the daemon's answer to a command as a message."""
    return pack(
        "answer",
        id=number,
        accepted=answer.accepted,
        verb=answer.verb,
        reason=answer.reason,
        needed=answer.needed,
        state=answer.state,
        cause=answer.cause,
    )


def refused(number: int | None, verb: str, reason: str) -> str:
    """Return the answer to what did not reach the daemon."""
    return pack("answer", id=number, accepted=False, verb=verb, reason=reason, needed="", state="", cause="")
