"""Damages to the bytes of a record, each from a seed, and what of the record they leave whole."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mcap.reader import make_reader

BLOCK = 4096


@dataclass(frozen=True)
class Chunk:
    """One chunk of a sound record: its bytes from ``start`` to ``end``, those of its message index to
    ``stop``, and its frames."""

    start: int
    end: int
    stop: int
    frames: range


def chunks_of(path: Path, period_ns: int) -> list[Chunk]:
    """Return the chunks of a sound record without missed periods, as the MCAP library finds them."""
    with path.open("rb") as file:
        summary = make_reader(file).get_summary()
    assert summary is not None
    return [
        Chunk(
            index.chunk_start_offset,
            index.chunk_start_offset + index.chunk_length,
            index.chunk_start_offset + index.chunk_length + index.message_index_length,
            range(index.message_start_time // period_ns, index.message_end_time // period_ns + 1),
        )
        for index in summary.chunk_indexes
    ]


def kept_frames(damaged: bytes, whole: bytes, chunks: list[Chunk]) -> set[int]:
    """Return the frames of those chunks that stand unchanged in the damaged file, wherever."""
    kept: set[int] = set()
    for chunk in chunks:
        if whole[chunk.start : chunk.end] in damaged:
            kept |= set(chunk.frames)
    return kept


Damage = Callable[[bytes, list[Chunk], random.Random], bytes]


def _dropped_chunks(data: bytes, chunks: list[Chunk], dice: random.Random) -> bytes:
    first = dice.randrange(len(chunks))
    last = min(first + dice.choice((0, 0, 1, 5)), len(chunks) - 1)
    return data[: chunks[first].start] + data[chunks[last].stop :]


def _doubled_chunk(data: bytes, chunks: list[Chunk], dice: random.Random) -> bytes:
    chunk, at = dice.choice(chunks), dice.choice(chunks).stop
    return data[:at] + data[chunk.start : chunk.stop] + data[at:]


def _swapped_chunks(data: bytes, chunks: list[Chunk], dice: random.Random) -> bytes:
    a, b = sorted(dice.sample(chunks, 2), key=lambda chunk: chunk.start)
    between = data[a.stop : b.start]
    return data[: a.start] + data[b.start : b.stop] + between + data[a.start : a.stop] + data[b.stop :]


def _flipped_bit(data: bytes, chunks: list[Chunk], dice: random.Random) -> bytes:
    at = dice.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << dice.randrange(8)]) + data[at + 1 :]


def _flipped_framing(data: bytes, chunks: list[Chunk], dice: random.Random) -> bytes:
    """Flip a bit among opcode, length and head of a chunk, where it costs most."""
    at = dice.choice(chunks).start + dice.randrange(57)
    return data[:at] + bytes([data[at] ^ 1 << dice.randrange(8)]) + data[at + 1 :]


def _zeroed_block(data: bytes, chunks: list[Chunk], dice: random.Random) -> bytes:
    at = dice.randrange(len(data) // BLOCK) * BLOCK
    return data[:at] + bytes(BLOCK) + data[at + BLOCK :]


def _dropped_block(data: bytes, chunks: list[Chunk], dice: random.Random) -> bytes:
    at = dice.randrange(len(data) // BLOCK) * BLOCK
    return data[:at] + data[at + BLOCK :]


def _doubled_block(data: bytes, chunks: list[Chunk], dice: random.Random) -> bytes:
    at = dice.randrange(len(data) // BLOCK) * BLOCK
    return data[: at + BLOCK] + data[at:]


def _swapped_blocks(data: bytes, chunks: list[Chunk], dice: random.Random) -> bytes:
    a, b = sorted(dice.sample(range(len(data) // BLOCK), 2))
    first, second = data[a * BLOCK : (a + 1) * BLOCK], data[b * BLOCK : (b + 1) * BLOCK]
    return data[: a * BLOCK] + second + data[(a + 1) * BLOCK : b * BLOCK] + first + data[(b + 1) * BLOCK :]


def _truncated(data: bytes, chunks: list[Chunk], dice: random.Random) -> bytes:
    return data[: dice.randrange(len(data))]


DAMAGES: dict[str, Damage] = {
    "chunks dropped": _dropped_chunks,
    "chunk doubled": _doubled_chunk,
    "chunks swapped": _swapped_chunks,
    "bit flipped": _flipped_bit,
    "framing flipped": _flipped_framing,
    "block zeroed": _zeroed_block,
    "block dropped": _dropped_block,
    "block doubled": _doubled_block,
    "blocks swapped": _swapped_blocks,
    "truncated": _truncated,
}
