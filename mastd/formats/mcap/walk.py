"""Walking through an MCAP file that may be damaged anywhere: sound records only, memory and time bounded.

The framing (opcode, eight-byte length, content) is walked here, because ready-made readers trust a length
that a truncated file no longer holds (foxglove/mcap #1220). Behind a damaged place the walk goes on at the
next record that can be told by its bytes: a chunk, whose length stands in it twice, metadata of ours, the end
of the data. The layout is that of the MCAP specification, https://mcap.dev/spec.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from mastd.errors import FormatError
from mastd.formats.mcap.chunks import (
    CHANNEL,
    CHUNK,
    CHUNK_HEAD,
    DATA_END,
    FOOTER,
    HEADER,
    MAX_CHUNK,
    MESSAGE,
    METADATA,
    PREFIX,
    SCHEMA,
    Contents,
    Messages,
    UndefinedChannelError,
    define,
    messages_of,
    one_line,
    read_metadata,
    unpacked,
)

MAGIC: Final = b"\x89MCAP0\r\n"
_LOOSE_BYTES: Final = 1 << 20
_FOOTER: Final = struct.Struct("<QQI")
_ANCHOR: Final = re.compile(
    rb"\x06(?=[\s\S]{3}[\x00-\x02]\x00{4}[\s\S]{28}(?:\x04\x00{3}zstd|\x03\x00{3}lz4|\x00{4}))"
    rb"|\x0c(?=[\s\S]{3}[\x00-\x02]\x00{4}[\s\S]\x00{3}mastd)"
    rb"|\x0f(?=\x04\x00{7})|\x02(?=\x14\x00{7})"
)
"""How a chunk, metadata of ours, the end of the data and the footer begin."""
_ANCHOR_BYTES: Final = 64
_SCAN_BYTES: Final = 1 << 20
_READ_AT_ALL, _READ_RATIO = 1 << 27, 8
"""Bytes that are read of a damaged file, some of them again and again: some, and so many times its size."""


class _Record(NamedTuple):
    """One record as framed: ``problem`` says why there is none, empty where there is."""

    opcode: int
    data: bytes
    end: int
    problem: str = ""


def profile_of(head: bytes) -> str | None:
    """Return the profile that the first bytes of an MCAP file name, None if they are not of one."""
    prefix = len(MAGIC) + PREFIX.size
    if not head.startswith(MAGIC) or len(head) < prefix + 4 or head[len(MAGIC)] != HEADER:
        return None
    length = int.from_bytes(head[prefix : prefix + 4], "little")
    return head[prefix + 4 : prefix + 4 + length].decode("utf-8", "replace")


def walk(path: Path, contents: Contents) -> Iterator[Messages]:
    """Yield the messages of each sound chunk in the file's order and fill ``contents`` on the way.

    ``contents.damage`` says what was not sound. Messages outside of chunks are yielded some at a time. Raises
    FormatError if the file cannot be opened or is no MCAP file.
    """
    try:
        with path.open("rb") as file:
            contents.records_left = size = path.stat().st_size
            source = _Source(file, size)
            if source.bytes_at(0, len(MAGIC)) != MAGIC:
                if size < 2 * len(MAGIC) or source.bytes_at(size - len(MAGIC), len(MAGIC)) != MAGIC:
                    raise FormatError(
                        f"{path}: not an MCAP file, or truncated before its first {len(MAGIC)} bytes"
                    )
                contents.note_damage("the file's first bytes are damaged", len(MAGIC))
                source.checksum = None
            for messages in _walk_records(source, contents):
                if len(messages):
                    contents.chunks += 1
                    yield messages
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror or error}") from error


def chunk_at(path: Path, position: int, contents: Contents) -> Messages:
    """Return the messages of one chunk that a walk with ``contents`` has found sound."""
    with path.open("rb") as file:
        source = _Source(file, path.stat().st_size)
        record = source.record(position)
        contents.unpacked = 0
        contents.records_left = source.size
        return messages_of(unpacked(record.data, source.size, contents), contents)


class _Source:
    """The file's records by their position, and the checksum of what was read from one end to the other."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self.size = size
        self.checksum: int | None = zlib.crc32(MAGIC)
        """CRC-32 of the section up to the record read last; None once it is no longer known."""
        self.summary = size
        """Where the summary begins."""
        self._checked = len(MAGIC)
        self._file = file
        self._left = _READ_AT_ALL + _READ_RATIO * size

    def record(self, position: int) -> _Record:
        """Return the record at a position."""
        prefix = self.bytes_at(position, PREFIX.size)
        if len(prefix) < PREFIX.size:
            spent = "too much of it is damaged" if self._left <= 0 else ""
            return _Record(0, b"", self.size, spent or "the file is truncated")
        opcode, length = PREFIX.unpack(prefix)
        end = position + PREFIX.size + length
        if not opcode:
            return _Record(0, b"", self.size, "opcode 0")
        if end > self.size:
            return _Record(0, b"", self.size, "the file is truncated inside a record")
        if length > MAX_CHUNK:
            self.checksum = None
            if opcode not in (SCHEMA, CHANNEL, MESSAGE, CHUNK, METADATA):
                return _Record(opcode, b"", end)
            why = f"a record of {length / 1e6:.0f} MB, at most {MAX_CHUNK / 1e6:.0f} MB are read,"
            return _Record(0, b"", self.size, why)
        return _Record(opcode, self.bytes_at(position + PREFIX.size, length), end)

    def take(self, record: _Record, count: int | None = None) -> int | None:
        """Add a record to the section's checksum, up to ``count`` bytes of it, and return the checksum before
        it; None where that is unknown."""
        before = self.checksum
        prefix = PREFIX.pack(record.opcode, len(record.data))
        if before is None or record.end - len(prefix) - len(record.data) != self._checked:
            self.checksum = None
        else:
            self.checksum = zlib.crc32(record.data[:count], zlib.crc32(prefix, before))
        self._checked = record.end
        return before

    def begin_summary(self, position: int) -> None:
        """Begin the checksum anew, where the summary begins."""
        self.checksum, self.summary = 0, position

    def next_anchor(self, position: int) -> int | None:
        """Return where the next record stands that can be told by its bytes, from a position on."""
        while position < self.size and self._left > 0:
            block = self.bytes_at(position, _SCAN_BYTES)
            for match in _ANCHOR.finditer(block):
                if self._is_record(position + match.start()):
                    return position + match.start()
            position += max(len(block) - _ANCHOR_BYTES, 1) if len(block) == _SCAN_BYTES else _SCAN_BYTES
        return None

    def _is_record(self, position: int) -> bool:
        """Look at a likely record more closely: its length, by all that tells of it."""
        head = self.bytes_at(position, _ANCHOR_BYTES)
        opcode, length = PREFIX.unpack_from(head) if len(head) >= PREFIX.size else (0, self.size)
        end: int = position + PREFIX.size + length
        if opcode == FOOTER:
            return end + len(MAGIC) == self.size
        if opcode != CHUNK or end > self.size:
            return end <= self.size
        name = PREFIX.size + CHUNK_HEAD.size
        at = name + 4 + int.from_bytes(head[name : name + 4], "little")
        return position + at + 8 + int.from_bytes(head[at : at + 8], "little") == end

    def bytes_at(self, position: int, count: int) -> bytes:
        """Return some bytes, fewer at the file's end; none once enough was read of it."""
        if self._left <= 0:
            return b""
        self._file.seek(position)
        data = self._file.read(count)
        self._left -= len(data)
        return data


def _walk_records(source: _Source, contents: Contents) -> Iterator[Messages]:
    """Yield the chunks in their order, then those that came before the definition of their channels."""
    postponed: list[int] = []
    yield from _in_order(source, contents, postponed)
    if postponed:
        with suppress(Exception):  # as below
            _define_from_summary(source, contents)
    for position in postponed:
        record = source.record(position)
        try:
            messages = messages_of(unpacked(record.data, source.size, contents), contents)
        except Exception as error:
            why = f"damaged record ({_error_text(error)}) at byte {position} of {source.size}"
            contents.note_damage(why, record.end - position)
            continue
        contents.position = position
        yield messages


def _in_order(source: _Source, contents: Contents, postponed: list[int]) -> Iterator[Messages]:
    position = sure = len(MAGIC)
    # What lies before ``sure`` was sound; from there to ``position`` records were passed by their lengths.
    scanned = 0
    loose, loose_at = bytearray(), 0
    ended = False
    while True:
        record = source.record(position)
        outside = record.opcode in (SCHEMA, CHANNEL, MESSAGE) and not ended
        at = position
        try:
            if loose and (not outside or len(loose) > _LOOSE_BYTES):
                at, block = loose_at, bytes(loose)
                loose.clear()
                contents.position = -1
                yield messages_of(block, contents)
                at = sure = position
            if record.problem:
                raise ValueError(record.problem)
            if record.opcode == FOOTER:
                return _end(source, record, ended, contents)
            if outside:
                loose_at = loose_at if loose else position
                loose += PREFIX.pack(record.opcode, len(record.data)) + record.data
            elif record.opcode == CHUNK:
                content = unpacked(record.data, source.size, contents)
                try:
                    messages = messages_of(content, contents)
                except UndefinedChannelError:
                    postponed.append(position)
                else:
                    contents.position = position
                    yield messages
                sure = record.end
            elif record.opcode == METADATA:
                read_metadata(record.data, contents)
                sure = record.end
            checksum = source.take(record)
            if record.opcode == DATA_END:
                (stated,) = struct.unpack("<I", record.data)
                _compare(checksum, stated, "data", contents)
                source.begin_summary(record.end)
                ended, sure = True, record.end
            position = record.end
            continue
        except Exception as error:  # mcap, zstd, lz4, struct and text decoding raise unrelated types
            framing = at == position and record.problem
            why = framing or f"damaged record ({_error_text(error)})"
        loose.clear()
        source.checksum = None
        found = source.next_anchor(max(sure, scanned) + 1)
        if found is None:
            return contents.note_damage(f"{why} at byte {at} of {source.size}", source.size - at)
        if found < at:
            contents.note_damage(f"damaged record (wrong length) at byte {sure} of {source.size}")
        elif found > at:
            why = f"damaged record ({framing})" if framing else why
            contents.note_damage(f"{why} at byte {at} of {source.size}", found - at)
        position = scanned = found


def _end(source: _Source, footer: _Record, ended: bool, contents: Contents) -> None:
    """Take the footer; raise ValueError for what is none."""
    _, _, stated = _FOOTER.unpack(footer.data)
    if footer.end + len(MAGIC) > source.size:
        contents.note_damage(f"the file is truncated at byte {footer.end} of {source.size}")
        return
    if source.bytes_at(footer.end, len(MAGIC)) != MAGIC or footer.end + len(MAGIC) != source.size:
        raise ValueError("the file's end before its last byte")
    contents.complete = True
    if not ended:
        contents.note_damage("the end of the data is missing")
        return
    source.take(footer, _FOOTER.size - 4)
    _compare(source.checksum, stated, "summary", contents)


def _compare(found: int | None, stated: int, section: str, contents: Contents) -> None:
    """Note a wrong checksum of a section; zero states none."""
    if stated and found is not None and found != stated:
        contents.note_damage(f"wrong checksum of the file's {section}")


def _define_from_summary(source: _Source, contents: Contents) -> None:
    """Take the definitions that a whole file repeats at its end, if they are sound."""
    start, stop = source.summary, source.size - len(MAGIC) - 4
    summary = source.bytes_at(start, stop - start) if start < stop <= start + MAX_CHUNK else b""
    if not summary or zlib.crc32(summary) != int.from_bytes(source.bytes_at(stop, 4), "little"):
        return
    position = 0
    while True:
        opcode, length = PREFIX.unpack_from(summary, position)
        start, position = position + PREFIX.size, position + PREFIX.size + length
        if opcode not in (SCHEMA, CHANNEL):
            return
        if (opcode, summary[start : start + 2]) not in contents.definitions:
            define(opcode, summary[start:position], contents)


def _error_text(error: Exception) -> str:
    """Return what went wrong in a few words without a line end."""
    return (
        one_line(str(error)) if type(error) in (ValueError, UndefinedChannelError) else type(error).__name__
    )
