"""Chunks of an MCAP file: what a chunk unpacks to, and the messages among its records; memory is bounded.

Ready-made readers unpack whatever a chunk claims to hold, and take microseconds a message. The layout is that
of the MCAP specification, https://mcap.dev/spec.
"""

from __future__ import annotations

import struct
import zlib
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from typing import Final

import numpy as np
from mcap.data_stream import ReadDataStream
from mcap.records import Channel, Metadata, Schema
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from mastd.arrays import IntArray

HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, METADATA, DATA_END = 1, 2, 3, 4, 5, 6, 0xC, 0xF
"""Opcodes of the records that are looked at."""
PREFIX: Final = struct.Struct("<BQ")
CHUNK_HEAD: Final = struct.Struct("<QQQI")
MAX_CHUNK: Final = 1 << 25
"""Bytes of a chunk, packed or not, and of any other record that is read."""
CHECKSUM_KEY: Final = "crc32"
"""Of a metadata record of our own: CRC-32 of its other entries, since MCAP has none for metadata."""
_MESSAGE_HEAD: Final = np.dtype(
    [("channel", "<u2"), ("sequence", "<u4"), ("log_time", "<u8"), ("publish_time", "<u8")]
)
_UNPACKED_AT_ALL, _UNPACKED_RATIO = 1 << 26, 300
"""Bytes that a file may unpack to: some, and so many times its size. Its records may be as many as it has
bytes: those of a real one differ at least in their times."""
_MAX_DEFINITIONS: Final = 10_000
_MAX_NAMED: Final = 3


class UndefinedChannelError(ValueError):
    """A message of a channel that nothing before it has defined."""


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
    """What a walk has met so far: schemas, channels, metadata, sound chunks, and what is damaged."""

    schemas: dict[int, Schema] = field(default_factory=dict)
    channels: dict[int, Channel] = field(default_factory=dict)
    metadata: dict[str, dict[str, str]] = field(default_factory=dict)
    chunks: int = 0
    complete: bool = False
    """The file's end was reached."""
    damages: list[str] = field(default_factory=list)
    """The first damaged places, in words."""
    damaged: int = 0
    """How many there are."""
    lost_bytes: int = 0
    position: int = -1
    """Where the chunk stands whose messages were yielded last, −1 for messages outside of chunks."""
    unpacked: int = 0
    records_left: int = 0
    definitions: dict[tuple[int, bytes], bytes] = field(default_factory=dict)
    """Schema and channel records as they stand, by opcode and number."""

    @property
    def damage(self) -> str | None:
        """What is damaged, in one line; None for a whole file."""
        more = self.damaged - len(self.damages)
        return "; ".join([*self.damages, *([f"and {more} places more"] if more else [])]) or None

    def note_damage(self, why: str, lost_bytes: int = 0) -> None:
        """Take one damaged place."""
        self.damaged += 1
        self.lost_bytes += lost_bytes
        if len(self.damages) < _MAX_NAMED:
            self.damages.append(why)


def with_checksum(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the entries of a metadata record and their checksum."""
    return {**texts, CHECKSUM_KEY: _checksum(texts)}


def read_metadata(data: bytes, contents: Contents) -> None:
    """Take a metadata record; raise some exception if it is not sound."""
    stream = ReadDataStream(BytesIO(data))
    record = Metadata.read(stream)
    if stream.count != len(data):
        raise ValueError("metadata differ in length from their record")
    stated = record.metadata.pop(CHECKSUM_KEY, None)
    if stated not in (None, _checksum(record.metadata)):
        raise ValueError(f"wrong checksum of the metadata {one_line(record.name)}")
    contents.metadata[record.name] = record.metadata


def _checksum(texts: Mapping[str, str]) -> str:
    ordered = "\0".join(part for key in sorted(texts) for part in (key, texts[key]))
    return f"{zlib.crc32(ordered.encode()):08x}"


def one_line(text: str) -> str:
    """Return a name from a file as printable text in one line of limited length."""
    return "".join(character if character.isprintable() else "?" for character in text[:120])


def unpacked(data: bytes, file_size: int, contents: Contents) -> bytes:
    """Return the records of one whole chunk; raise some exception if it is not sound."""
    _, _, size, checksum = CHUNK_HEAD.unpack_from(data)
    offset = CHUNK_HEAD.size + 4
    named = int.from_bytes(data[offset - 4 : offset], "little")
    compression = data[offset : offset + named].decode()
    offset += named + 8
    length = int.from_bytes(data[offset - 8 : offset], "little")
    packed = memoryview(data)[offset:]
    if length != len(packed):
        raise ValueError("chunk and its record differ in length")
    if size <= MAX_CHUNK:  # a false size must not cost the chunks behind it
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


def messages_of(content: bytes, contents: Contents) -> Messages:
    """Return the messages among records that follow each other; raise some exception for unsound ones,
    UndefinedChannelError for a message of an undefined channel."""
    starts, stops = array("q"), array("q")
    size = len(content)
    position = 0
    unpack = PREFIX.unpack_from
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
            define(opcode, content[start:position], contents)
    contents.records_left = left
    begins: IntArray = np.frombuffer(starts, dtype=np.int64)
    heads = _gather(content, begins, _MESSAGE_HEAD.itemsize).view(_MESSAGE_HEAD)[:, 0]
    channel_ids = heads["channel"].astype(np.int64)
    if unknown := set(np.unique(channel_ids).tolist()) - contents.channels.keys():
        raise UndefinedChannelError(f"message of unknown channel {min(unknown)}")
    return Messages(
        channel_ids,
        heads["sequence"].astype(np.int64),
        heads["log_time"].astype(np.uint64),
        begins + _MESSAGE_HEAD.itemsize,
        np.frombuffer(stops, dtype=np.int64),
        content,
    )


def define(opcode: int, data: bytes, contents: Contents) -> None:
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
