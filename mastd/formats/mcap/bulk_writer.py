"""Writing MCAP a chunk at a time: messages of one size are one array, so that each costs some nanoseconds.

The layout is that of the MCAP specification, https://mcap.dev/spec, with all indexes and the summary.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

import numpy as np
import zstandard
from mcap.data_stream import RecordBuilder
from mcap.records import (
    Channel,
    ChunkIndex,
    DataEnd,
    Header,
    McapRecord,
    Metadata,
    MetadataIndex,
    Schema,
    Statistics,
    SummaryOffset,
)
from numpy.typing import NDArray

from mastd.arrays import FloatArray
from mastd.formats.mcap.chunks import CHUNK, FOOTER, MESSAGE
from mastd.formats.mcap.walk import MAGIC

_MESSAGE_INDEX: Final = 7
_CHUNK_HEAD: Final = struct.Struct("<BQQQQI")
_INDEX_ENTRY: Final = np.dtype([("time", "<u8"), ("offset", "<u8")])
_COMPRESSION: Final = "zstd"
_LEVEL: Final = 1


def message_dtype(columns: int) -> np.dtype[np.void]:
    """Return the layout of a message record whose body is a four-byte head and so many doubles."""
    return np.dtype(
        [
            ("opcode", "u1"),
            ("length", "<u8"),
            ("channel", "<u2"),
            ("sequence", "<u4"),
            ("log_time", "<u8"),
            ("publish_time", "<u8"),
            ("head", "V4"),
            ("values", "<f8", (columns,)),
        ]
    )


def message_records(
    channel_id: int,
    first: int,
    times_ns: NDArray[np.uint64],
    head: bytes,
    columns: Sequence[FloatArray],
) -> NDArray[np.void]:
    """Return the message records (k,) of equally long columns at times (k,), counted on from ``first``."""
    layout = message_dtype(len(columns))
    records: NDArray[np.void] = np.empty(len(times_ns), dtype=layout)
    records["opcode"] = MESSAGE
    records["length"] = layout.itemsize - 9
    records["channel"] = channel_id
    records["sequence"] = (np.arange(first, first + len(times_ns)) & 0xFFFFFFFF).astype(np.uint32)
    records["log_time"] = records["publish_time"] = times_ns
    records["head"] = np.void(head)
    values = records["values"]
    for number, column in enumerate(columns):
        values[:, number] = column
    return records


@dataclass(frozen=True)
class _Offset:
    """Where the summary's records of one kind stand."""

    opcode: int
    start: int
    stop: int


class BulkWriter:
    """Writes one file: the head, metadata, chunks, and ``finish``."""

    def __init__(
        self,
        file: BinaryIO,
        profile: str,
        library: str,
        schemas: Sequence[Schema],
        channels: Sequence[Channel],
    ) -> None:
        self._file = file
        self._position = 0
        self._schemas, self._channels = tuple(schemas), tuple(channels)
        self._chunks: list[ChunkIndex] = []
        self._metadata: list[MetadataIndex] = []
        self._counts = {channel.id: 0 for channel in channels}
        self._put(MAGIC)
        self._put(_record(Header(profile, library)))

    def metadata(self, name: str, texts: Mapping[str, str]) -> None:
        """Write a metadata record."""
        data = _record(Metadata(name=name, metadata=dict(texts)))
        self._metadata.append(MetadataIndex(offset=self._position, length=len(data), name=name))
        self._put(data)

    def chunk(self, parts: Sequence[NDArray[np.void]]) -> None:
        """Write message records, each part those of one channel, as a chunk; the first holds the
        definitions."""
        parts = [part for part in parts if len(part)]
        if not parts:
            return
        content = b"" if self._chunks else self._definitions()
        positions = []
        for part in parts:
            positions.append(len(content))
            content += part.tobytes()
        start = min(int(part["log_time"].min()) for part in parts)
        end = max(int(part["log_time"].max()) for part in parts)
        packed = zstandard.compress(content, _LEVEL)
        name = _COMPRESSION.encode()
        length = _CHUNK_HEAD.size - 9 + 4 + len(name) + 8 + len(packed)
        at = self._position
        self._put(_CHUNK_HEAD.pack(CHUNK, length, start, end, len(content), zlib.crc32(content)))
        self._put(struct.pack("<I", len(name)) + name + struct.pack("<Q", len(packed)))
        self._put(packed)
        chunk_length, indexes_at = self._position - at, self._position
        offsets = {}
        for part, offset in zip(parts, positions, strict=True):
            channel_id = int(part["channel"][0])
            offsets[channel_id] = self._position
            self._counts[channel_id] += len(part)
            self._put(_message_index(channel_id, part, offset))
        self._chunks.append(
            ChunkIndex(
                chunk_length=chunk_length,
                chunk_start_offset=at,
                compression=_COMPRESSION,
                compressed_size=len(packed),
                message_end_time=end,
                message_index_length=self._position - indexes_at,
                message_index_offsets=offsets,
                message_start_time=start,
                uncompressed_size=len(content),
            )
        )

    def finish(self) -> None:
        """Write the summary and the file's end."""
        if not self._chunks:
            self._put(self._definitions())
        self._put(_record(DataEnd(data_section_crc=0)))
        start = self._position
        summary = b""
        offsets = []
        for records in (self._schemas, self._channels, (self._statistics(),), self._chunks, self._metadata):
            data = b"".join(map(_record, records))
            if data:
                offsets.append(_Offset(data[0], start + len(summary), start + len(summary) + len(data)))
                summary += data
        offsets_start = start + len(summary)
        summary += b"".join(
            _record(SummaryOffset(offset.opcode, offset.start, offset.stop - offset.start))
            for offset in offsets
        )
        footer = struct.pack("<BQQQ", FOOTER, 20, start, offsets_start)
        checksum = zlib.crc32(footer, zlib.crc32(summary))
        self._put(summary + footer + struct.pack("<I", checksum) + MAGIC)

    def _definitions(self) -> bytes:
        return b"".join(map(_record, (*self._schemas, *self._channels)))

    def _statistics(self) -> Statistics:
        return Statistics(
            attachment_count=0,
            channel_count=len(self._channels),
            channel_message_counts=self._counts,
            chunk_count=len(self._chunks),
            message_count=sum(self._counts.values()),
            message_end_time=max((chunk.message_end_time for chunk in self._chunks), default=0),
            message_start_time=min((chunk.message_start_time for chunk in self._chunks), default=0),
            metadata_count=len(self._metadata),
            schema_count=len(self._schemas),
        )

    def _put(self, data: bytes) -> None:
        self._file.write(data)
        self._position += len(data)


def _record(record: McapRecord) -> bytes:
    builder: Any = RecordBuilder()
    record.write(builder)
    return bytes(builder.end())


def _message_index(channel_id: int, part: NDArray[np.void], offset: int) -> bytes:
    """Return the index of the messages of one channel that stand from ``offset`` on in their chunk."""
    entries = np.empty(len(part), dtype=_INDEX_ENTRY)
    entries["time"] = part["log_time"]
    entries["offset"] = offset + np.arange(len(part)) * part.dtype.itemsize
    data = entries.tobytes()
    return struct.pack("<BQHI", _MESSAGE_INDEX, 6 + len(data), channel_id, len(data)) + data
