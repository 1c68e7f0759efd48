"""Header of an RPC III file: its records, the layout of the data that they state, and the writing of both.

Source: MTS, "RPC File Formats". A header is ``NUM_HEADER_BLOCKS`` blocks of 512 bytes, four records each, and
the data begin behind the last block, not behind the last record.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mastd.errors import FormatError
from mastd.formats.core.keyword_records import (
    KEY,
    RECORD,
    VALUE,
    Header,
    decode,
    fitting,
    fold,
    packed,
    records_of,
)

BLOCK: Final = 512
MAX_BLOCKS: Final = 8192
"""Documented are 256; writers that found them too few go beyond."""
TIME_TYPES: Final = {
    "1": "DRIVE",
    "2": "RESPONSE",
    "3": "MULT_DRIVE",
    "4": "MULT_RESP",
    "5": "CONFIG_DRIVE",
    "6": "CONFIG_RESP",
    "7": "PEAK_PICK",
}
"""Old files have the digit."""
_ORDERS: Final = {"BINARY": "<", "BINARY_IEEE_LITTLE_END": "<", "BINARY_IEEE_BIG_END": ">", "ASCII": ""}
_SIZES: Final = {"SHORT_INTEGER": 2, "FLOATING_POINT": 4}
_KEYWORD: Final = re.compile(r"[A-Z][A-Z0-9_.\-]*")
_LAYOUT: Final = frozenset(
    {
        *("FORMAT", "NUM_HEADER_BLOCKS", "NUM_PARAMS", "FILE_TYPE", "DATA_TYPE", "CHANNELS", "DELTA_T"),
        *("PTS_PER_FRAME", "PTS_PER_GROUP", "FRAMES", "HALF_FRAMES", "SAMPLES"),
    }
)
_OF_CHANNEL: Final = re.compile(r"(?:PART\.N?CHAN|(?:DESC|UNITS|SCALE)\.CHAN)_\d+")
_OF_DATA: Final = re.compile(r"PARTITIONS$|PART\.|.*CHAN_\d+$|NCODE_STAT|INT_FULL_SCALE$|TIME_TYPE$")


@dataclass(frozen=True)
class Stated:
    """What a header states about the data.

    ``order`` is numpy's sign of the byte order, "" for numbers in text; ``samples`` the length of each
    channel where the file says it (an extension), else None; ``step`` s.
    """

    order: str
    data_type: str
    channels: int
    step: float
    points_per_frame: int
    points_per_group: int
    frames: int
    half_frames: bool
    samples: int | None

    @property
    def size(self) -> int:
        """Bytes of a number, of binary data."""
        return _SIZES[self.data_type]

    def groups(self, frames: int) -> int:
        """Groups of ``frames`` frames, the last one whole."""
        return -(-frames * self.points_per_frame // self.points_per_group)

    def numbers(self, frames: int) -> int:
        """Numbers of all channels in ``frames`` frames, the last group whole."""
        return self.groups(frames) * self.points_per_group * self.channels


def header_of(path: Path, content: bytes) -> tuple[Header, int, tuple[str, ...]]:
    """Return the records of a file, the byte at which its data begin, and warnings of the header.

    Raises FormatError for what is no RPC III file, or a header that is not whole.
    """
    start = content[:6].upper()
    if start == b"OFMRTA":
        raise FormatError(
            f"{path}: the bytes of the header are swapped in pairs (OFMRTA for FORMAT), and the byte "
            "order of the data is unknown: convert it with the program that wrote it, or swap the bytes "
            "(dd conv=swab)"
        )
    if start != b"FORMAT":
        raise FormatError(f"{path}: begins with {content[:6]!r}, an RPC III file begins with FORMAT")
    if len(content) < BLOCK:
        raise FormatError(f"{path}: {len(content)} bytes, the first block of the header alone has {BLOCK}")
    first = records_of(content[:BLOCK])
    for record, key in zip(first, ("FORMAT", "NUM_HEADER_BLOCKS", "NUM_PARAMS"), strict=False):
        if record.key != key:
            raise FormatError(f"{path}: record {record.number}: must be {key}, is {record.key[:40]!r}")
    blocks = fold(path, first[:3]).whole("NUM_HEADER_BLOCKS", 1, MAX_BLOCKS)
    end = blocks * BLOCK
    if end > len(content):
        raise FormatError(
            f"{path}: record 2: NUM_HEADER_BLOCKS: a header of {blocks} blocks has {end} bytes, "
            f"the whole file has {len(content)}: it is cut off"
        )
    records = [record for record in records_of(content[:end]) if record.key]
    count = fold(path, first[:3]).whole("NUM_PARAMS", 0, 10**9)
    counted = [record for record in records if record.number <= count]
    known = {record.key for record in counted}
    beyond = [
        record
        for record in records[len(counted) :]
        if record.key not in known and _KEYWORD.fullmatch(record.key)
    ]
    found = len(counted) + len(beyond)
    warnings: tuple[str, ...] = ()
    if count not in (found, records[-1].number):
        warnings = (f"NUM_PARAMS is {count}, but {found} records have a keyword: all are used",)
    return fold(path, [*counted, *beyond]), end, warnings


def stated_of(header: Header, size: int) -> tuple[Stated, tuple[str, ...]]:
    """Return the header's statements about the data of a file of ``size`` bytes, and warnings."""
    warnings: list[str] = []
    file_type = header.text("FILE_TYPE")
    if file_type is None:
        warnings.append("FILE_TYPE is missing: read as TIME_HISTORY")
    elif file_type.upper() != "TIME_HISTORY":
        raise FormatError(
            f"{header.location('FILE_TYPE')}: {file_type[:40]!r}: only TIME_HISTORY files are supported"
        )
    order = _chosen(header, "FORMAT", _ORDERS)
    data_type = _chosen(header, "DATA_TYPE", _SIZES, "SHORT_INTEGER")
    stated = Stated(
        order=_ORDERS[order],
        data_type=data_type,
        channels=header.whole("CHANNELS", 1, min(size, 4 * MAX_BLOCKS)),
        step=header.number("DELTA_T"),
        points_per_frame=header.whole("PTS_PER_FRAME", 1, size),
        points_per_group=header.whole("PTS_PER_GROUP", 1, size),
        frames=header.whole("FRAMES", 1, size),
        half_frames=header.whole("HALF_FRAMES", 0, 1, 0) == 1,
        samples=header.whole("SAMPLES", 1, size) if header.text("SAMPLES") else None,
    )
    if not stated.step > 0.0:
        raise FormatError(f"{header.location('DELTA_T')}: {header.text('DELTA_T')!r}: must be above zero")
    if stated.points_per_group % stated.points_per_frame:
        raise FormatError(
            f"{header.location('PTS_PER_GROUP')}: {stated.points_per_group} is no multiple of PTS_PER_FRAME, "
            f"{stated.points_per_frame}"
        )
    if stated.half_frames and stated.points_per_frame % 2:
        raise FormatError(
            f"{header.location('HALF_FRAMES')}: a frame of {stated.points_per_frame} points has no halves"
        )
    return stated, (*warnings, *_of_partitions(header, stated.channels))


def time_type(header: Header) -> str:
    """Return TIME_TYPE by its name, "" where there is none."""
    text = (header.text("TIME_TYPE") or "").upper()
    return TIME_TYPES.get(text, text)


def notes_of(header: Header) -> dict[str, str]:
    """Return the records that are neither the layout nor the names, units and scales of channels."""
    notes = {
        record.key: record.value
        for record in header.records.values()
        if record.value and record.key not in _LAYOUT and not _OF_CHANNEL.fullmatch(record.key)
    }
    return {**notes, "TIME_TYPE": time_type(header)} if "TIME_TYPE" in notes else notes


def _of_partitions(header: Header, channels: int) -> tuple[str, ...]:
    count = header.whole("PARTITIONS", 0, 4 * MAX_BLOCKS, 1)
    numbers = [header.whole(f"PART.NCHAN_{k}", 0, 10**9, 0) for k in range(1, count + 1)]
    if any(numbers) and sum(numbers) != channels:
        return (f"partitions of {sum(numbers)} channels, CHANNELS is {channels}: that number is used",)
    if count > 1:
        return (
            f"{count} partitions: interpreted as a division of the channels, all of which are in each group",
        )
    return ()


def _chosen(header: Header, key: str, known: Mapping[str, object], default: str | None = None) -> str:
    text = (header.text(key) or default or "").upper()
    if text not in known:
        raise FormatError(f"{header.location(key)}: {text[:40]!r}: must be {', '.join(known)}")
    return text


def written_notes(
    notes: Mapping[str, str], taken: Collection[str]
) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Return the notes that fit in a header beside the records ``taken``, and the lost ones in words.

    Notes about the stored numbers (statistics, limits, partitions) would not be those of the new file.
    """
    kept: dict[str, bytes] = {}
    statistics = [name for name in notes if name.upper().startswith("NCODE_STAT")]
    lost = [f"{len(statistics)} notes of the source file's statistics are not written"] if statistics else []
    for name, text in notes.items():
        key = name.upper()
        value = fitting(text, VALUE - 1)
        if key in taken or key in _LAYOUT or _OF_DATA.match(key):
            continue
        if len(key) > KEY - 1 or not _KEYWORD.fullmatch(key) or key in kept or not value:
            lost.append(f"the note {name[:60]!r} is not written: no keyword of RPC III")
            continue
        if decode(value) != text:
            lost.append(f"the note {name} is truncated to {VALUE - 1} characters")
        kept[key] = value
    return kept, tuple(lost)


def packed_header(
    format_name: str, records: Mapping[str, bytes], blocks: int | None, filling: bytes
) -> bytes:
    """Return a header for the FORMAT ``format_name``, in ``blocks`` blocks or as many as the records need.

    Raises FormatError where they need more than that.
    """
    count = 3 + len(records)
    needed = -(-count // (BLOCK // RECORD))
    used = needed if blocks is None else blocks
    if not needed <= used <= MAX_BLOCKS:
        raise FormatError(f"an RPC III header of {count} records needs {needed} blocks, at most {MAX_BLOCKS}")
    first = {
        "FORMAT": format_name.encode(),
        "NUM_HEADER_BLOCKS": str(used).encode(),
        "NUM_PARAMS": str(count).encode(),
    }
    content = b"".join(packed(key, value, filling) for key, value in {**first, **records}.items())
    return content.ljust(used * BLOCK, filling)
