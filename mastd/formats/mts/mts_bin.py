"""MTS time series (.bin), as the 469D controller records them: reader and writer, binary and text.

Source: the layout of MTS time series files (B. Thoen, 2000). Records of 128 bytes: FILE_TYPE first, then
FILE_DATE, FILE_INFO, DELTA_T and CHANNELS in any order, then DESC.CHAN_n and UNITS.CHAN_n of each channel,
then EXTENDED_HEADER_RECORDS and as many more where FILE_TYPE says so. Behind them float32 of little end, one
value of each channel after the other. The text variant has a line for each record, and a line for each set of
values; it is reported by a line end in the first 129 bytes.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mastd.arrays import BoolArray, FloatArray
from mastd.errors import FormatError
from mastd.formats.core.files import content_of, replacing
from mastd.formats.core.keyword_records import (
    KEY,
    RECORD,
    VALUE,
    Header,
    Record,
    decode,
    fitting,
    fold,
    packed,
    records_of,
)
from mastd.formats.core.measurement import (
    Channel,
    Format,
    Measurement,
    Series,
    finite,
    lost_descriptions,
    one_series,
    step_in_seconds,
)

TITLE: Final = "MTS time series"
_PLAIN: Final = "TIME_SERIES"
_EXTENDED: Final = "TIME_SERIES_WITH_EXTENDED_HEADER"
_FIRST: Final = 5
"""Records before those of the channels."""
_MAX_CHANNELS: Final = 10_000
_NOTED: Final = ("FILE_DATE", "FILE_INFO")
_KEYWORD: Final = re.compile(r"[!-~]+(?: [!-~]+)*")
_MAX_VALUE: Final = float(np.finfo(np.float32).max)
_TELLING: Final = 16
"""Different numbers that it takes to tell their byte order."""
_LOOKED_AT: Final = 100_000


def read(path: Path) -> Measurement:
    """Read a file; raise FormatError where its header or its last set of values is incomplete."""
    content = content_of(path)
    if not recognises(content[:RECORD]):
        raise FormatError(f"{path}: does not begin with FILE_TYPE TIME_SERIES, as an MTS time series must")
    text = b"\n" in content[: RECORD + 1]
    source = _Lines(path, content) if text else _Blocks(path, content)
    first = fold(path, source.records(_FIRST))
    channels = first.whole("CHANNELS", 1, min(_MAX_CHANNELS, len(content)))
    step = first.number("DELTA_T")
    if not step > 0.0:
        raise FormatError(f"{first.location('DELTA_T')}: {first.text('DELTA_T')!r}: must be above zero")
    of_channels = fold(path, source.records(2 * channels))
    extended: list[Record] = []
    if (first.text("FILE_TYPE") or "").upper() == _EXTENDED:
        count = fold(path, source.records(1)).whole("EXTENDED_HEADER_RECORDS", 0, len(content))
        extended = source.records(count)
    table, warnings = source.table(channels)
    series = Series(
        tuple(
            Channel(
                of_channels.text(f"DESC.CHAN_{k}") or f"channel {k}",
                of_channels.text(f"UNITS.CHAN_{k}") or "",
                _exact(column),
            )
            for k, column in enumerate(table.T, 1)
        ),
        step,
    )
    missing = [k for k in range(1, channels + 1) if f"DESC.CHAN_{k}" not in of_channels.records]
    if missing:
        warnings += (f"DESC.CHAN_{missing[0]} is missing",)
    return Measurement("mts_bin", (series,), _notes(first, extended), warnings)


def write(path: Path, measurement: Measurement) -> tuple[str, ...]:
    """Write one series of finite values as binary; return what is not kept, raise FormatError."""
    return write_mts(path, measurement, text=False)


def write_mts(path: Path, measurement: Measurement, *, text: bool) -> tuple[str, ...]:
    """Write one series of finite values, float32 or, as text, with all digits.

    Returns what the file does not keep, one line each; raises FormatError for what it cannot hold.
    """
    series = one_series(measurement, path, TITLE)
    step = step_in_seconds(series, path, TITLE)
    finite(series, path, TITLE)
    if not 1 <= len(series.channels) <= _MAX_CHANNELS:
        raise FormatError(f"{path}: {TITLE} cannot hold {len(series.channels)} channels")
    lost = [f"the times begin at 0, not at {series.start:g} s"] if series.start else []
    records = _records(series, step, measurement, lost)
    table = series.matrix()
    if text:
        lines = [key.ljust(KEY).encode() + value for key, value in records]
        lines += [b"\t".join(repr(value).encode() for value in row) for row in table.tolist()]
        content = b"".join(line.rstrip() + b"\n" for line in lines)
    else:
        header = b"".join(packed(key, value, b" ") for key, value in records)
        content = header + _floats(path, series, table, lost).tobytes()
    with replacing(path) as file:
        file.write(content)
    return tuple(lost)


def recognises(head: bytes) -> bool:
    """Return whether a file begins with the record FILE_TYPE TIME_SERIES."""
    return (
        re.match(rb"FILE_TYPE[ \0]{23}TIME_SERIES(?:_WITH_EXTENDED_HEADER)?(?![A-Za-z0-9_])", head, re.I)
        is not None
    )


class _Blocks:
    """A binary file, read from its begin to its end."""

    def __init__(self, path: Path, content: bytes) -> None:
        self._path, self._content, self._at = path, content, 0

    def records(self, count: int) -> list[Record]:
        """Return the next records."""
        end = self._at + count * RECORD
        if end > len(self._content):
            raise FormatError(
                f"{self._path}: {len(self._content)} bytes, the header alone has {end}: the file is truncated"
            )
        found = records_of(self._content[self._at : end], self._at // RECORD)
        self._at = end
        return found

    def table(self, channels: int) -> tuple[NDArray[np.floating], tuple[str, ...]]:
        """Return all that follows, (n, channels), and what is odd about it."""
        size = len(self._content) - self._at
        if size % (4 * channels):
            raise FormatError(
                f"{self._path}: {size} bytes of data, which is no multiple of {4 * channels} "
                f"({channels} channels of 4 bytes): {size % (4 * channels)} are left over, the file "
                "is cut off or was converted"
            )
        values = np.frombuffer(self._content, "<f4", offset=self._at)
        if _other_order(values[:_LOOKED_AT]):
            raise FormatError(
                f"{self._path}: the numbers are plausible only in the other byte order (big-endian)"
            )
        wrong = int(np.count_nonzero(~np.isfinite(values)))
        return values.reshape(-1, channels), (f"{wrong} values are not finite numbers",) if wrong else ()


class _Lines:
    """A text, read from its first line to its last."""

    def __init__(self, path: Path, content: bytes) -> None:
        self._path, self._at = path, 0
        self._lines = content.replace(b"\r\n", b"\n").split(b"\n")

    def records(self, count: int) -> list[Record]:
        """Return the records of the next lines."""
        if self._at + count > len(self._lines):
            raise FormatError(
                f"{self._path}: {len(self._lines)} lines, the header alone has {self._at + count}"
            )
        lines = self._lines[self._at : self._at + count]
        found = [
            Record(self._at + k, decode(line[:KEY]).upper(), decode(line[KEY:RECORD]))
            for k, line in enumerate(lines, 1)
        ]
        self._at += count
        return found

    def table(self, channels: int) -> tuple[FloatArray, tuple[str, ...]]:
        """Return the numbers of all lines that follow, (n, channels)."""
        rows: list[list[float]] = []
        for number, line in enumerate(self._lines[self._at :], self._at + 1):
            words = line.split()
            if not words:
                continue
            if len(words) != channels:
                raise FormatError(
                    f"{self._path}:{number}: {len(words)} values, there are {channels} channels"
                )
            rows.append([self._number(number, word) for word in words])
        values = np.array(rows, dtype=np.float64).reshape(-1, channels)
        wrong = int(np.count_nonzero(~np.isfinite(values)))
        return values, (f"{wrong} values are not finite numbers",) if wrong else ()

    def _number(self, line: int, word: bytes) -> float:
        try:
            if b"_" in word:
                raise ValueError
            return float(word.upper().replace(b"D", b"E") if b"d" in word or b"D" in word else word)
        except ValueError:
            text = word[:30].decode("latin-1")
            hint = ": decimal comma, use a decimal point" if "," in text else " is not a number"
            raise FormatError(f"{self._path}:{line}: {text!r}{hint}") from None


def _exact(column: NDArray[np.floating]) -> FloatArray:
    with np.errstate(invalid="ignore"):  # a signalling NaN is one like any other
        return np.ascontiguousarray(column, dtype=np.float64)


def _other_order(values: NDArray[np.float32]) -> bool:
    """Whether bytes that are absurd as they stand are all sensible the other way round.

    A few different numbers can be so by chance.
    """
    if len(np.unique(values)) < _TELLING:
        return False
    with np.errstate(all="ignore"):
        absurd = [np.count_nonzero(~_sensible(one)) for one in (values, values.byteswap())]
    return bool(absurd[0] > len(values) // 4 and absurd[1] == 0)


def _sensible(values: NDArray[np.float32]) -> BoolArray:
    size = np.abs(values)
    return np.asarray((size == 0.0) | ((size > 1e-20) & (size < 1e20)))


def _notes(first: Header, extended: list[Record]) -> dict[str, str]:
    notes = {key: text for key in _NOTED if (text := first.text(key))}
    for record in extended:
        if record.key and record.value and record.key not in notes:
            notes[record.key] = record.value
    return notes


def _records(
    series: Series, step: float, measurement: Measurement, lost: list[str]
) -> list[tuple[str, bytes]]:
    """Return all records of a header."""
    notes: dict[str, bytes] = {}
    for name, text in measurement.notes.items():
        key, value = name.upper(), fitting(text, VALUE)
        if len(key) > KEY or not _KEYWORD.fullmatch(key) or key in notes or not value:
            lost.append(f"the note {name[:60]!r} is not written: no keyword of {TITLE}")
            continue
        if decode(value) != text:
            lost.append(f"the note {name} is truncated to {VALUE} characters")
        notes[key] = value
    further = {key: value for key, value in notes.items() if key not in _NOTED}
    records = [
        ("FILE_TYPE", (_EXTENDED if further else _PLAIN).encode()),
        *((key, notes.get(key, b"")) for key in _NOTED),
        ("DELTA_T", repr(step).encode()),
        ("CHANNELS", str(len(series.channels)).encode()),
    ]
    for k, channel in enumerate(series.channels, 1):
        for key, what, text in (("DESC", "name", channel.name), ("UNITS", "unit", channel.unit)):
            kept = fitting(text, VALUE)
            if decode(kept) != text:
                lost.append(f"channel {k}: the {what} {text[:40]!r}… is written as {decode(kept)!r}")
            records.append((f"{key}.CHAN_{k}", kept))
    lost += lost_descriptions(series)
    if further:
        records += [("EXTENDED_HEADER_RECORDS", str(len(further)).encode()), *further.items()]
    return records


def _floats(path: Path, series: Series, table: FloatArray, lost: list[str]) -> NDArray[np.float32]:
    for channel in series.channels:
        if channel.values.size and (maximum := float(np.max(np.abs(channel.values)))) > _MAX_VALUE:
            raise FormatError(f"{path}: {channel.name}: {maximum:g} exceeds the 32-bit range")
    stored = table.astype("<f4")
    if not np.array_equal(stored, table):
        lost.append("values are rounded to 32 bits: 7 digits")
    return stored


FORMAT: Final = Format(
    name="mts_bin", title=TITLE, suffixes=(".bin",), recognises=recognises, read=read, write=write
)
