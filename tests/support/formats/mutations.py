"""Damage of files: what storage, transfer, other programs and ill will do to bytes, drawn from a source of
chance, so that both hypothesis and a long run with a seed can use it."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import Final

MAX_BYTES: Final = 400_000
"""Of a damaged file: inserted copies could grow one without end."""
_NUMBER: Final = re.compile(rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?")
_HEAD: Final = 4096
"""Bytes in which headers stand, which are hit more often than what follows."""
_TEXTS: Final = (
    *(b"nan", b"inf", b"-inf", b"1e999", b"-1e999", b"1e-320", b"-1", b"0", b"-0.0", b"99999999999", b""),
    *(b"2147483647", b"4294967296", b"18446744073709551616", b"1_000", b"1,5", b"0x10", b"1e", b"+", b"."),
    *(b"9" * 400, b"\xd9\xa1\xd9\xa2", b"1.0000000000001", b"TRUE", b"3", b"7", b"1000000"),
)
_WORDS: Final = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
_LONG_WORDS: Final = (*_WORDS, 1 << 31, 1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
_LINES: Final = re.compile(rb"[^\n]*\n?")


def damaged(chance: random.Random, content: bytes, others: Sequence[bytes] = ()) -> bytes:
    """Return ``content`` after one to four accidents; ``others`` are files it may be spliced with."""
    for _ in range(chance.randint(1, 4)):
        kind = chance.choice(_KINDS)
        content = kind(chance, content, others)[:MAX_BYTES]
    return content


def junk(chance: random.Random, magic: bytes, most: int = 2000) -> bytes:
    """Return bytes of no meaning behind the beginning of a format's files."""
    return magic + chance.randbytes(chance.randint(0, most))


def _place(chance: random.Random, size: int) -> int:
    """Return a place in a file, in every other draw within its header."""
    return chance.randint(0, min(size, _HEAD) if chance.random() < 0.5 else size)


def _cut_off(chance: random.Random, content: bytes, others: Sequence[bytes]) -> bytes:
    return content[: _place(chance, len(content))]


def _flipped(chance: random.Random, content: bytes, others: Sequence[bytes]) -> bytes:
    if not content:
        return content
    changed = bytearray(content)
    for _ in range(chance.randint(1, 8)):
        changed[_place(chance, len(changed) - 1)] ^= 1 << chance.randint(0, 7)
    return bytes(changed)


def _word(chance: random.Random, content: bytes, others: Sequence[bytes]) -> bytes:
    """Overwrite a count, an offset or a size by a hostile one."""
    size = chance.choice((1, 2, 4, 8))
    value = chance.choice(_LONG_WORDS) & ((1 << 8 * size) - 1)
    start = _place(chance, len(content))
    if chance.random() < 0.5:
        start -= start % size
    return content[:start] + value.to_bytes(size, chance.choice(("little", "big"))) + content[start + size :]


def _inserted(chance: random.Random, content: bytes, others: Sequence[bytes]) -> bytes:
    start = _place(chance, len(content))
    filling = chance.choice(
        (b"\0", b" ", b"\n", b"\r", b"\t", b",", b"\xff", b"\x1b[2J", chance.randbytes(1))
    )
    return content[:start] + filling * chance.choice((1, 1, 2, 7, 128, 5000)) + content[start:]


def _left_out(chance: random.Random, content: bytes, others: Sequence[bytes]) -> bytes:
    start = _place(chance, len(content))
    return content[:start] + content[start + chance.choice((1, 1, 2, 4, 8, 128, 512, len(content) // 3)) :]


def _doubled(chance: random.Random, content: bytes, others: Sequence[bytes]) -> bytes:
    start = _place(chance, len(content))
    stop = start + chance.choice((1, 8, 128, 512, 4096))
    return content[:stop] + content[start:stop] * chance.choice((1, 3)) + content[stop:]


def _spliced(chance: random.Random, content: bytes, others: Sequence[bytes]) -> bytes:
    other = chance.choice(list(others)) if others else content
    return content[: _place(chance, len(content))] + other[_place(chance, len(other)) :]


def _renumbered(chance: random.Random, content: bytes, others: Sequence[bytes]) -> bytes:
    """Replace a number that stands in the file as text."""
    reach = _HEAD if chance.random() < 0.7 else len(content)
    numbers = list(_NUMBER.finditer(content, 0, reach))
    if not numbers:
        return content
    found = chance.choice(numbers)
    text = chance.choice(_TEXTS)
    if chance.random() < 0.5:  # headers of fixed fields keep their places
        text = text[: len(found.group())].rjust(len(found.group()))
    return content[: found.start()] + text + content[found.end() :]


def _relined(chance: random.Random, content: bytes, others: Sequence[bytes]) -> bytes:
    """Leave out, double or exchange lines, or change how they end."""
    if chance.random() < 0.2:
        return content.replace(b"\r\n", b"\n").replace(b"\n", chance.choice((b"\r\n", b"\r", b"\r\r\n")))
    lines = [line for line in _LINES.findall(content[:65536]) if line]
    if len(lines) < 2:
        return content
    first = chance.randrange(min(len(lines), 80))
    second = chance.randrange(len(lines))
    match chance.randint(0, 2):
        case 0:
            del lines[first]
        case 1:
            lines.insert(second, lines[first])
        case _:
            lines[first], lines[second] = lines[second], lines[first]
    return b"".join(lines) + content[65536:]


_KINDS: Final[tuple[Callable[[random.Random, bytes, Sequence[bytes]], bytes], ...]] = (
    _cut_off,
    _flipped,
    _flipped,
    _word,
    _word,
    _inserted,
    _left_out,
    _doubled,
    _spliced,
    _renumbered,
    _renumbered,
    _renumbered,
    _relined,
)
