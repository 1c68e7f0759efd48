"""Headers of 128-byte records, keyword and value, as RPC III and MTS .bin files have them.

A keyword has 32 bytes, a value 96. Both are text whatever the data are, filled up with NUL or blanks. Numbers
are as writers of several languages leave them: ``4.D-3``, ``3.906250E-003``, ``1024.``
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mastd.errors import FormatError

RECORD: Final = 128
"""Bytes of a record."""
KEY: Final = 32
"""Bytes of its keyword."""
VALUE: Final = RECORD - KEY
"""Bytes of its value."""
_NUMBER: Final = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[EeDd][+-]?\d{1,5})?")
_WITH_COMMA: Final = re.compile(r"[+-]?\d*,\d+(?:[EeDd][+-]?\d{1,5})?")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True)
class Record:
    """One record: its number in the file from 1 on, keyword (capitals) and value without filling."""

    number: int
    key: str
    value: str


def decode(content: bytes) -> str:
    """Return the text up to the first NUL, UTF-8 or Latin-1, without blanks around it."""
    text = content.split(b"\0", 1)[0]
    try:
        return text.decode("utf-8").strip()
    except UnicodeDecodeError:
        return text.decode("latin-1").strip()


def records_of(content: bytes, first: int = 0) -> list[Record]:
    """Return the whole records of some bytes; ``first`` records precede them in the file."""
    return [
        Record(
            first + offset // RECORD + 1,
            decode(content[offset : offset + KEY]).upper(),
            decode(content[offset + KEY : offset + RECORD]),
        )
        for offset in range(0, len(content) - RECORD + 1, RECORD)
    ]


@dataclass(frozen=True)
class Header:
    """Records of a file by keyword. All that is asked of them raises FormatError with the record's place."""

    path: Path
    records: Mapping[str, Record]

    def location(self, key: str) -> str:
        """Position of a keyword: the beginning of a message."""
        found = self.records.get(key)
        return f"{self.path}: {key}" if found is None else f"{self.path}: record {found.number}: {key}"

    def text(self, key: str) -> str | None:
        """The value of a keyword, None where it is not there or is empty."""
        found = self.records.get(key)
        return None if found is None or not found.value else found.value

    def number(self, key: str, default: float | None = None) -> float:
        """A finite number; ``default`` where there is none, which is an error if that is None."""
        text = self.text(key)
        if text is None:
            if default is None:
                raise FormatError(f"{self.location(key)} is missing")
            return default
        if _WITH_COMMA.fullmatch(text):
            raise FormatError(f"{self.location(key)}: decimal comma in {text[:40]!r}: use a decimal point")
        value = _value(text)
        if value is None:
            raise FormatError(f"{self.location(key)}: {text[:40]!r} is not a number")
        return value

    def whole(self, key: str, minimum: int, maximum: int, default: int | None = None) -> int:
        """An integer between two bounds, both included."""
        value = self.number(key, None if default is None else float(default))
        if value != math.floor(value):
            raise FormatError(f"{self.location(key)}: {self.text(key)!r} is not a whole number")
        if not minimum <= value <= maximum:
            raise FormatError(f"{self.location(key)}: {self.text(key)!r}: must be {minimum} to {maximum}")
        return int(value)


def fold(path: Path, records: Iterable[Record]) -> Header:
    """Return records by keyword; FormatError for one that is there twice with different values."""
    found: dict[str, Record] = {}
    for record in records:
        if not record.key:
            continue
        known = found.setdefault(record.key, record)
        if known.value != record.value:
            key = " ".join(record.key.split())
            raise FormatError(
                f"{path}: record {record.number}: {key} is {record.value[:40]!r}, in record {known.number} "
                f"it is {known.value[:40]!r}"
            )
    return Header(path, found)


def number_text(value: float) -> str:
    """Return a number as old readers know it (point, exponent), with as many digits as it needs."""
    short = f"{value:.6E}"
    return short if float(short) == value else f"{value:.16E}"


def fitting(text: str, maximum: int) -> bytes:
    """Truncate a text to a record: at most ``maximum`` bytes, no control characters.

    Latin-1, which old programs show, unless it would be read as something else; then UTF-8.
    """
    plain = _CONTROL.sub(" ", text).strip()[:maximum].rstrip()
    while len(content := _encoded(plain)) > maximum:
        plain = plain[:-1].rstrip()
    return content


def _encoded(plain: str) -> bytes:
    latin = plain.encode("latin-1", "replace")
    return latin if decode(latin) == plain else plain.encode("utf-8", "replace")


def packed(key: str, value: bytes, filling: bytes) -> bytes:
    """Return one record; the keyword must fit."""
    return key.encode("ascii").ljust(KEY, filling) + value.ljust(VALUE, filling)


def _value(text: str) -> float | None:
    if not _NUMBER.fullmatch(text):
        return None
    value = float(re.sub("[Dd]", "E", text))
    return value if math.isfinite(value) else None
