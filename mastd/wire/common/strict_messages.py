"""Strict reading of MessagePack messages: types and ranges stand beside the fields of ``msgspec`` structs.

Types are exact (a boolean is no number, an integer may stand for a float), ranges exclude NaN, unknown
keys are ignored. What does not pass raises ``MalformedError`` with one line: which entry, what was expected.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from mastd.errors import ProtocolError, printable

MAX_NUMBER = (1 << 63) - 1
MAX_REASON_LENGTH = 300
_MAX_VALUE = sys.float_info.max

Count = Annotated[int, Meta(ge=0, le=MAX_NUMBER)]
Finite = Annotated[float, Meta(ge=-_MAX_VALUE, le=_MAX_VALUE)]
Message = TypeVar("Message")

pack = msgspec.msgpack.Encoder().encode
"""Return a message as bytes."""
_LOCATION = re.compile(r"(?P<what>.*) - at `\$(\[\.\.\.\])?\.?(?P<key>.*)`", re.DOTALL)
_ENTRY = re.compile(r"^\[(\d+)\]")
_TEXTS = (
    ("object missing required field", "missing entry"),
    ("object contains unknown field", "unknown entry"),
    ("object", "map"),
)
"""Words of msgspec and those of the protocol's page."""


class MalformedError(ProtocolError):
    """A message that is not one of the protocol; ``sequence`` is −1 where it could not be read."""

    def __init__(self, text: str, sequence: int = -1, oversize: bool = False) -> None:
        super().__init__(text)
        self.sequence = sequence
        self.oversize = oversize


def read_strictly(read: Callable[[bytes], Message], data: bytes, max_bytes: int) -> Message:
    """Return what ``read`` makes of ``data``; raise MalformedError for what it refuses by ValueError.

    ``read`` decodes with ``msgspec`` and may check what types do not express.
    """
    if len(data) > max_bytes:
        raise MalformedError(
            f"a message has at most {max_bytes} bytes, this one has {len(data)}", oversize=True
        )
    try:
        return read(data)
    except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
        kind, sequence = head(data)
        raise MalformedError(explain(error, kind), sequence) from error


def explain(error: Exception, where: str = "") -> str:
    """Return an error of reading as one printable line: ``where: entry: what was expected``."""
    if isinstance(error, RecursionError):
        return "not a MessagePack message: nested too deeply"
    text = str(error)
    if isinstance(error, msgspec.DecodeError) and not isinstance(error, msgspec.ValidationError):
        return f"not a MessagePack message: {text.removeprefix('MessagePack data is malformed: ')}"
    match = _LOCATION.fullmatch(text)
    what, key = (match["what"], match["key"]) if match else (text, "")
    if isinstance(error, msgspec.ValidationError):
        what = f"{what[:1].lower()}{what[1:]}".replace("`", "")
        for theirs, ours in _TEXTS:
            what = what.replace(theirs, ours)
    key = _ENTRY.sub(lambda match: f"entry {int(match[1]) + 1}", key)
    line = ": ".join(part for part in (where, key, what) if part)
    return printable(line[:MAX_REASON_LENGTH], keep="")


def head(data: bytes) -> tuple[str, int]:
    """Return kind and sequence of a message as far as they can be read: empty and −1 where they cannot."""
    message: Any = None
    try:
        message = msgspec.msgpack.decode(data)
    except (ValueError, RecursionError):
        return "", -1
    if type(message) is list:
        message = {"kind": message[0], "sequence": message[2]} if len(message) > 2 else {}
    if type(message) is not dict:
        return "", -1
    kind, sequence = message.get("kind"), message.get("sequence")
    if type(sequence) is not int or not 0 <= sequence <= MAX_NUMBER:
        sequence = -1
    return (kind[:20] if type(kind) is str else ""), sequence
