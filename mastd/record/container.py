"""Walking through an MCAP file that may end anywhere: whole records only, memory bounded by the file's size.

The framing (opcode, eight-byte length, content) is walked here, because ready-made readers trust a length
that a truncated file no longer holds (foxglove/mcap #1220). The content of whole records is decoded by the
mcap package.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from mcap.data_stream import ReadDataStream
from mcap.opcode import Opcode
from mcap.records import Channel, Chunk, Metadata, Schema
from mcap.stream_reader import get_chunk_data_stream

from mastd.errors import FormatError

MAGIC = b"\x89MCAP0\r\n"
_PREFIX = struct.Struct("<BQ")
_MESSAGE = struct.Struct("<HIQQ")
_MAXIMUM_CHUNK = 1 << 28


@dataclass(frozen=True)
class Message:
    """One message: channel number, sequence, time in ns, and its bytes."""

    channel_id: int
    sequence: int
    time_ns: int
    data: memoryview


@dataclass
class Contents:
    """What a walk has met so far: schemas, channels, metadata, chunks, and the first damage if any."""

    schemas: dict[int, Schema] = field(default_factory=dict)
    channels: dict[int, Channel] = field(default_factory=dict)
    metadata: dict[str, dict[str, str]] = field(default_factory=dict)
    chunks: int = 0
    complete: bool = False
    damage: str | None = None
    damage_at: int = 0
    lost_bytes: int = 0


def walk(path: Path, contents: Contents) -> Iterator[list[Message]]:
    """Yield the messages of each whole chunk in the file's order and fill ``contents`` on the way.

    A file that breaks off or is damaged ends the walk at its last sound record; ``contents.damage`` says why.
    Raises FormatError if the file cannot be opened or is no MCAP file.
    """
    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            if file.read(len(MAGIC)) != MAGIC:
                raise FormatError(f"{path}: not an MCAP file, or cut off before its first {len(MAGIC)} bytes")
            yield from _walk_records(file, size, contents)
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror or error}") from error


def _walk_records(file: BinaryIO, size: int, contents: Contents) -> Iterator[list[Message]]:
    position = len(MAGIC)
    while True:
        prefix = file.read(_PREFIX.size)
        if len(prefix) < _PREFIX.size:
            return _damaged(contents, "the file breaks off", position, size)
        opcode, length = _PREFIX.unpack(prefix)
        end = position + _PREFIX.size + length
        if end > size:
            return _damaged(contents, "the file breaks off inside a record", position, size)
        messages: list[Message] = []
        if opcode in (Opcode.CHUNK, Opcode.METADATA):
            data = file.read(length)
            try:
                if opcode == Opcode.CHUNK:
                    messages = _chunk(data, contents)
                else:
                    record = Metadata.read(_stream(data))
                    contents.metadata[record.name] = record.metadata
            except Exception as error:  # mcap, zstd, struct and text decoding raise unrelated types
                return _damaged(contents, f"damaged record ({type(error).__name__})", position, size)
        elif opcode == Opcode.FOOTER:
            file.seek(end)
            if file.read(len(MAGIC)) != MAGIC:
                return _damaged(contents, "the file breaks off", position, size)
            contents.complete = True
            return None
        else:
            file.seek(end)
        position = end
        if messages:
            contents.chunks += 1
            yield messages


def _damaged(contents: Contents, why: str, position: int, size: int) -> None:
    contents.damage = f"{why} at byte {position} of {size}"
    contents.damage_at = position
    contents.lost_bytes = size - position


def _stream(data: bytes) -> ReadDataStream:
    return ReadDataStream(BytesIO(data))


def _chunk(data: bytes, contents: Contents) -> list[Message]:
    """Return the messages of one whole chunk; raise some exception if it is not sound."""
    chunk = Chunk.read(_stream(data))
    if not chunk.uncompressed_size <= _MAXIMUM_CHUNK:
        raise ValueError("chunk too large")
    stream, length = get_chunk_data_stream(chunk, validate_crc=True)
    return _messages(memoryview(stream.read(length)), contents)


def _messages(content: memoryview, contents: Contents) -> list[Message]:
    messages = []
    position = 0
    while position < len(content):
        opcode, length = _PREFIX.unpack_from(content, position)
        start = position + _PREFIX.size
        position = start + length
        if position > len(content):
            raise ValueError("record longer than its chunk")
        if opcode == Opcode.MESSAGE:
            channel_id, sequence, time_ns, _ = _MESSAGE.unpack_from(content, start)
            if channel_id not in contents.channels:
                raise ValueError("message of an unknown channel")
            messages.append(Message(channel_id, sequence, time_ns, content[start + _MESSAGE.size : position]))
        elif opcode == Opcode.SCHEMA:
            schema = Schema.read(_stream(bytes(content[start:position])))
            contents.schemas[schema.id] = schema
        elif opcode == Opcode.CHANNEL:
            channel = Channel.read(_stream(bytes(content[start:position])))
            contents.channels[channel.id] = channel
    return messages
