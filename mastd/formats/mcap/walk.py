"""Walking through an MCAP file that may end anywhere: whole records only, memory bounded by the file's size.

The framing (opcode, eight-byte length, content) is walked here, because ready-made readers trust a length
that a truncated file no longer holds (foxglove/mcap #1220), unpack whatever a chunk claims to hold, and take
microseconds a message. The layout is that of the MCAP specification, https://mcap.dev/spec.
"""

from __future__ import annotations

import struct
import zlib
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
from mcap.data_stream import ReadDataStream
from mcap.records import Channel, Metadata, Schema
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from mastd.arrays import IntArray
from mastd.errors import FormatError

MAGIC: Final = b"\x89MCAP0\r\n"
HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, METADATA, DATA_END = 1, 2, 3, 4, 5, 6, 0xC, 0xF
"""Opcodes of the records that are looked at."""
_PREFIX: Final = struct.Struct("<BQ")
_CHUNK_HEAD: Final = struct.Struct("<QQQI")
_MESSAGE_HEAD: Final = np.dtype(
    [("channel", "<u2"), ("sequence", "<u4"), ("log_time", "<u8"), ("publish_time", "<u8")]
)
MAX_CHUNK: Final = 1 << 25
"""Bytes of a chunk, packed or not, and of any other record that is read."""
_LOOSE_BYTES: Final = 1 << 20
_UNPACKED_AT_ALL, _UNPACKED_RATIO = 1 << 26, 300
"""Bytes that a file may unpack to: some, and so many times its size. Its records may be as many as it has
bytes: those of a real one differ at least in their times."""
_MAX_DEFINITIONS: Final = 10_000


@dataclass(frozen=True, eq=False)
class Messages:
    """Messages of one chunk in their order: channels (k,), sequences (k,), times (k,) in ns; their bytes lie
    in ``content`` from ``starts`` (k,) to ``stops`` (k,)."""

    channel_ids: IntArray
    sequences: IntArray
    times_ns: NDArray[np.uint64]
    starts: IntArray
    stops: IntArray
    content: bytes

    def __len__(self) -> int:
        return len(self.starts)

    def data(self, index: int) -> bytes:
        """Return the bytes of one message."""
        return self.content[self.starts[index] : self.stops[index]]

    def by_channel(self) -> Iterator[tuple[int, Messages]]:
        """Yield each channel with its messages."""
        for channel_id in np.unique(self.channel_ids):
            own = self.channel_ids == channel_id
            yield (
                int(channel_id),
                Messages(
                    self.channel_ids[own],
                    self.sequences[own],
                    self.times_ns[own],
                    self.starts[own],
                    self.stops[own],
                    self.content,
                ),
            )

    def rows(self) -> NDArray[np.uint8]:
        """Return the bytes side by side, (k, size); raise ValueError that names two sizes if they differ."""
        sizes = self.stops - self.starts
        if np.any(sizes != sizes[0]):
            raise ValueError(f"{sizes[0]} and {sizes[sizes != sizes[0]][0]}")
        return _gather(self.content, self.starts, int(sizes[0]))


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
    unpacked: int = 0
    records_left: int = 0
    definitions: dict[tuple[int, bytes], bytes] = field(default_factory=dict)
    """Schema and channel records as they stand, by opcode and number."""


def one_line(text: str) -> str:
    """Return a name from a file as printable text in one line of limited length."""
    return "".join(character if character.isprintable() else "?" for character in text[:120])


def profile_of(head: bytes) -> str | None:
    """Return the profile that the first bytes of an MCAP file name, None if they are not of one."""
    prefix = len(MAGIC) + _PREFIX.size
    if not head.startswith(MAGIC) or len(head) < prefix + 4 or head[len(MAGIC)] != HEADER:
        return None
    length = int.from_bytes(head[prefix : prefix + 4], "little")
    return head[prefix + 4 : prefix + 4 + length].decode("utf-8", "replace")


def walk(path: Path, contents: Contents) -> Iterator[Messages]:
    """Yield the messages of each whole chunk in the file's order and fill ``contents`` on the way.

    A file that breaks off or is damaged ends the walk at its last sound record; ``contents.damage`` says why.
    Messages outside of chunks are yielded some at a time. Raises FormatError if the file cannot be opened or
    is no MCAP file.
    """
    try:
        with path.open("rb") as file:
            contents.records_left = size = path.stat().st_size
            if file.read(len(MAGIC)) != MAGIC:
                raise FormatError(
                    f"{path}: not an MCAP file, or truncated before its first {len(MAGIC)} bytes"
                )
            for messages in _walk_records(file, size, contents):
                if len(messages):
                    contents.chunks += 1
                    yield messages
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror or error}") from error


def _walk_records(file: BinaryIO, size: int, contents: Contents) -> Iterator[Messages]:
    loose, loose_at = bytearray(), 0
    for opcode, position, data in _records(file, size, contents):
        outside = opcode in (SCHEMA, CHANNEL, MESSAGE)
        at = position
        try:
            if loose and (not outside or len(loose) > _LOOSE_BYTES):
                at = loose_at
                yield _messages(bytes(loose), contents)
                loose.clear()
            at = position
            if outside:
                loose_at = loose_at if loose else position
                loose += _PREFIX.pack(opcode, len(data)) + data
            elif opcode == CHUNK:
                yield _messages(_unpacked(data, size, contents), contents)
            elif opcode == METADATA:
                record = Metadata.read(ReadDataStream(BytesIO(data)))
                contents.metadata[record.name] = record.metadata
        except Exception as error:  # mcap, zstd, lz4, struct and text decoding raise unrelated types
            return _damaged(contents, f"damaged record ({_error_text(error)})", at, size)


def _records(file: BinaryIO, size: int, contents: Contents) -> Iterator[tuple[int, int, bytes]]:
    """Yield opcode, place and content of the whole records that are of interest, last that of the footer."""
    position = len(MAGIC)
    ended = False
    while True:
        prefix = file.read(_PREFIX.size)
        if len(prefix) < _PREFIX.size:
            yield FOOTER, position, b""
            return _damaged(contents, "the file is truncated", position, size)
        opcode, length = _PREFIX.unpack(prefix)
        end = position + _PREFIX.size + length
        if end > size:
            yield FOOTER, position, b""
            return _damaged(contents, "the file is truncated inside a record", position, size)
        if opcode == FOOTER:
            file.seek(end)
            yield FOOTER, position, b""
            if file.read(len(MAGIC)) != MAGIC:
                return _damaged(contents, "the file is truncated", position, size)
            contents.complete = True
            return None
        ended = ended or opcode == DATA_END
        if opcode in (SCHEMA, CHANNEL, MESSAGE, CHUNK, METADATA) and not ended:
            if length > MAX_CHUNK:
                yield FOOTER, position, b""
                why = f"a record of {length / 1e6:.0f} MB, at most {MAX_CHUNK / 1e6:.0f} MB are read,"
                return _damaged(contents, why, position, size)
            yield opcode, position, file.read(length)
        else:
            file.seek(end)
        position = end


def _damaged(contents: Contents, why: str, position: int, size: int) -> None:
    if contents.damage is None:
        contents.damage = f"{why} at byte {position} of {size}"
        contents.damage_at = position
        contents.lost_bytes = size - position


def _error_text(error: Exception) -> str:
    """Return what went wrong in a few words without a line end."""
    return one_line(str(error)) if type(error) is ValueError else type(error).__name__


def _unpacked(data: bytes, file_size: int, contents: Contents) -> bytes:
    """Return the records of one whole chunk; raise some exception if it is not sound."""
    _, _, size, checksum = _CHUNK_HEAD.unpack_from(data)
    offset = _CHUNK_HEAD.size + 4
    named = int.from_bytes(data[offset - 4 : offset], "little")
    compression = data[offset : offset + named].decode()
    offset += named + 8
    length = int.from_bytes(data[offset - 8 : offset], "little")
    packed = memoryview(data)[offset:]
    if length != len(packed):
        raise ValueError("chunk and its record differ in length")
    contents.unpacked += size
    if size > MAX_CHUNK or contents.unpacked > _UNPACKED_AT_ALL + _UNPACKED_RATIO * file_size:
        raise ValueError("chunk too large")
    content = _decompressed(packed, compression, size)
    if len(content) != size:
        raise ValueError("chunk length differs from its header")
    if checksum and zlib.crc32(content) != checksum:
        raise ValueError("wrong checksum")
    return content


def _decompressed(packed: memoryview, compression: str, size: int) -> bytes:
    """Return at most one byte more than ``size``, whatever is packed."""
    if compression == "zstd":
        import zstandard

        reader = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(packed)
        return reader.read(size + 1)
    if compression == "lz4":
        import lz4.frame  # type: ignore[import-untyped]

        return bytes(lz4.frame.LZ4FrameDecompressor().decompress(packed, max_length=size + 1))
    if compression:
        raise ValueError(f"unknown compression {compression[:20]!r}")
    return bytes(packed)


def _messages(content: bytes, contents: Contents) -> Messages:
    """Return the messages among records that follow each other; raise some exception for unsound ones."""
    starts, stops = array("q"), array("q")
    size = len(content)
    position = 0
    unpack = _PREFIX.unpack_from
    left = contents.records_left
    while position < size:
        opcode, length = unpack(content, position)
        left -= 1
        if left < 0:
            raise ValueError("more records than possible in a file of this size")
        start = position + 9
        position = start + length
        if position > size:
            raise ValueError("record longer than its chunk")
        if opcode == MESSAGE:
            if length < _MESSAGE_HEAD.itemsize:
                raise ValueError("message without a header")
            starts.append(start)
            stops.append(position)
        elif opcode in (SCHEMA, CHANNEL):
            _define(opcode, content[start:position], contents)
    contents.records_left = left
    begins: IntArray = np.frombuffer(starts, dtype=np.int64)
    heads = _gather(content, begins, _MESSAGE_HEAD.itemsize).view(_MESSAGE_HEAD)[:, 0]
    channel_ids = heads["channel"].astype(np.int64)
    if unknown := set(np.unique(channel_ids).tolist()) - contents.channels.keys():
        raise ValueError(f"message of unknown channel {min(unknown)}")
    return Messages(
        channel_ids,
        heads["sequence"].astype(np.int64),
        heads["log_time"].astype(np.uint64),
        begins + _MESSAGE_HEAD.itemsize,
        np.frombuffer(stops, dtype=np.int64),
        content,
    )


def _define(opcode: int, data: bytes, contents: Contents) -> None:
    """Take a schema or channel; the same one may be repeated, another one of the same number may not."""
    key = opcode, data[:2]
    known = contents.definitions.get(key)
    if known is not None:
        if known != data:
            raise ValueError("duplicate definition of a number")
        return
    if len(contents.definitions) >= _MAX_DEFINITIONS:
        raise ValueError("too many definitions")
    contents.definitions[key] = data
    stream = ReadDataStream(BytesIO(data))
    if opcode == SCHEMA:
        schema = Schema.read(stream)
        contents.schemas[schema.id] = schema
    else:
        channel = Channel.read(stream)
        contents.channels[channel.id] = channel


def _gather(content: bytes, starts: IntArray, size: int) -> NDArray[np.uint8]:
    """Return ``size`` bytes from each start on, (k, size); all of them lie in ``content``."""
    if not len(starts) or not size:
        return np.zeros((len(starts), size), dtype=np.uint8)
    flat: NDArray[np.uint8] = np.frombuffer(content, dtype=np.uint8)
    windows = as_strided(flat, (len(flat) - size + 1, size), (1, 1), writeable=False)
    return windows[starts]
