"""MTS RPC III time histories (.rsp, .drv, .tim, .rpc): reader and writer.

Source: MTS, "RPC File Formats". Behind the header stand groups of ``PTS_PER_GROUP`` points; in each group one
channel follows the other. The last group is written whole, whatever of it is filled. Numbers are int16, to be
multiplied by the channel's SCALE, or float32; of little or big end, or text: there, how numbers are parted is
not stated, any blanks and line ends are taken.

The length of a channel is FRAMES · PTS_PER_FRAME, or SAMPLES where a file has that extension; a tail of equal
values is data like any other. HALF_FRAMES adds half a frame without data at each end; whether FRAMES counts
them is not stated, the file's size tells.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from mastd.arrays import FloatArray
from mastd.errors import FormatError
from mastd.formats.core.files import content_of, replacing
from mastd.formats.core.keyword_records import VALUE, Header, decode, fitting, number_text
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
from mastd.formats.mts.rpc3_header import (
    Stated,
    header_of,
    notes_of,
    packed_header,
    stated_of,
    time_type,
    written_notes,
)

TITLE: Final = "RPC III"
FULL_SCALE: Final = 32752
"""Of int16 numbers, by MTS."""
FormatName = Literal["BINARY", "BINARY_IEEE_LITTLE_END", "BINARY_IEEE_BIG_END", "ASCII"]
Numbers = NDArray[np.generic]
"""As they are stored: int16, float32, or what was text."""
_MAX_CHANNELS: Final = 128
_A_LINE: Final = 8
_MAX_VALUE: Final = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Layout:
    """How a file is written; all that the format leaves open.

    ``half_frames``: "none", or half a frame at each end, which FRAMES has "counted" or which was "added" to
    it. ``header_blocks``: None for as many as needed. ``full_scale``: the int16 number of the largest value.
    ``states_…``: whether the record is written; without DATA_TYPE a file is SHORT_INTEGER.
    """

    format: FormatName = "BINARY_IEEE_LITTLE_END"
    data_type: Literal["FLOATING_POINT", "SHORT_INTEGER"] = "FLOATING_POINT"
    time_type: Literal["DRIVE", "RESPONSE"] = "RESPONSE"
    points_per_frame: int = 1024
    points_per_group: int = 2048
    half_frames: Literal["none", "counted", "added"] = "none"
    header_blocks: int | None = None
    filling: bytes = b"\0"
    full_scale: int = FULL_SCALE
    states_data_type: bool = True
    states_samples: bool = True
    states_full_scale: bool = True


def read(path: Path) -> Measurement:
    """Read a file; its values are number · SCALE in the unit as written.

    Raises FormatError where the header is not whole or contradicts itself, and where the file has not exactly
    the size that the header states.
    """
    content = content_of(path)
    header, begin, odd_header = header_of(path, content)
    stated, odd_data = stated_of(header, len(content))
    warnings = [*odd_header, *odd_data]
    numbers = _numbers_of(path, content, begin, stated)
    frames, whole = _frames_stored(path, content, begin, len(numbers), stated, warnings)
    first, count = _span(header, stated, frames, warnings)
    channels = tuple(
        _channel(header, stated, k, _points(numbers, stated, k, whole, frames)[first : first + count])
        for k in range(1, stated.channels + 1)
    )
    warnings += _of_scales(header, stated)
    warnings += [
        f"{channel.name}: {wrong} values are not finite numbers"
        for channel in channels
        if (wrong := int(np.count_nonzero(~np.isfinite(channel.values))))
    ]
    step: float | None = stated.step
    if time_type(header) == "PEAK_PICK":
        step = None
        warnings.append("TIME_TYPE is PEAK_PICK: a sequence of peaks with unknown spacing")
    return Measurement("rpc3", (Series(channels, step),), notes_of(header), tuple(warnings))


def write(path: Path, measurement: Measurement) -> tuple[str, ...]:
    """Write one series as float32, which keeps 7 digits and needs no scale.

    Old controllers read int16 only: ``write_rpc3`` with a layout of data type SHORT_INTEGER. A file ``.drv``
    is of TIME_TYPE DRIVE, all others of RESPONSE. Returns what is not kept; raises FormatError.
    """
    return write_rpc3(
        path, measurement, Layout(time_type="DRIVE" if path.suffix.lower() == ".drv" else "RESPONSE")
    )


def write_rpc3(path: Path, measurement: Measurement, layout: Layout) -> tuple[str, ...]:
    """Write one series of finite values in a layout; return what the file does not keep, one line each.

    Raises FormatError for what the format cannot hold, and for a layout that contradicts itself.
    """
    series = one_series(measurement, path, TITLE)
    step = step_in_seconds(series, path, TITLE)
    finite(series, path, TITLE)
    if not series.count:
        raise FormatError(f"{path}: {TITLE} cannot hold channels without values")
    _check(path, layout)
    lost = [f"the times begin at 0, not at {series.start:g} s"] if series.start else []
    if len(series.channels) > _MAX_CHANNELS:
        lost.append(
            f"{len(series.channels)} channels: some readers support only the documented {_MAX_CHANNELS}"
        )
    scales, raw = _raw(path, series, layout, lost)
    records = _records(series, step, scales, layout, lost)
    notes, not_kept = written_notes(measurement.notes, records)
    content = packed_header(layout.format, {**records, **notes}, layout.header_blocks, layout.filling)
    with replacing(path) as file:
        file.write(content)
        file.write(_data(raw, layout))
    return (*lost, *not_kept)


def recognises(head: bytes) -> bool:
    """Return whether a file begins as RPC III files do, or as they do with swapped bytes."""
    return head[:6].upper() in (b"FORMAT", b"OFMRTA") and (
        b"NUM_HEADER_BLOCKS" in head[:512].upper() or head[:6].upper() == b"OFMRTA"
    )


def _numbers_of(path: Path, content: bytes, begin: int, stated: Stated) -> Numbers:
    """Return all numbers behind the header, as they are stored."""
    if not stated.order:
        return _text_numbers(path, content, begin, stated)
    kind = f"{stated.order}{'i2' if stated.data_type == 'SHORT_INTEGER' else 'f4'}"
    count = (len(content) - begin) // stated.size
    return np.frombuffer(content, dtype=kind, count=count, offset=begin)


def _text_numbers(path: Path, content: bytes, begin: int, stated: Stated) -> FloatArray:
    words = content[begin:].replace(b"\0", b" ").split()
    try:
        values = np.fromiter(map(_text_number, words), dtype=np.float64, count=len(words))
    except ValueError:
        wrong = next(k for k, word in enumerate(words) if not _is_number(word))
        text = words[wrong][:30].decode("latin-1")
        hint = ": decimal comma, use a decimal point" if "," in text else " is not a number"
        raise FormatError(f"{path}: number {wrong + 1} behind the header: {text!r}{hint}") from None
    if stated.data_type == "SHORT_INTEGER":
        odd = np.flatnonzero(~((values == np.floor(values)) & (np.abs(values) <= 32768)))
        if len(odd):
            text = words[odd[0]][:30].decode("latin-1")
            raise FormatError(
                f"{path}: number {odd[0] + 1} behind the header: {text!r} is not a SHORT_INTEGER"
            )
    return values


def _text_number(word: bytes) -> float:
    if b"_" in word:
        raise ValueError(word)
    try:
        return float(word)
    except ValueError:
        return float(word.upper().replace(b"D", b"E"))


def _is_number(word: bytes) -> bool:
    try:
        _text_number(word)
    except ValueError:
        return False
    return True


def _frames_stored(
    path: Path, content: bytes, begin: int, count: int, stated: Stated, warnings: list[str]
) -> tuple[int, bool]:
    """Return how many frames are stored, and whether the last group is whole.

    ``count``: the numbers that there are. Raises FormatError where the size agrees with no reading.
    """
    readings = [stated.frames + 1, stated.frames] if stated.half_frames else [stated.frames]
    if not stated.order:
        size, present, unit = 1, count, "numbers"
    else:
        size, present, unit = stated.size, len(content) - begin, "bytes of data"
    fitting_ones = [frames for frames in readings if stated.numbers(frames) * size == present]
    if len(fitting_ones) > 1 and stated.samples is None:
        warnings.append(
            f"HALF_FRAMES: the size does not show whether FRAMES, {stated.frames}, counts them: "
            "read as if not, the last frame may be empty"
        )
    if fitting_ones:
        return fitting_ones[0], True
    for frames in readings:
        points = frames * stated.points_per_frame
        if points * stated.channels * size == present:
            warnings.append(
                f"the last group is incomplete: {points % stated.points_per_group} of "
                f"{stated.points_per_group} points a channel, read as such"
            )
            return frames, False
    raise FormatError(
        _size_complaint(path, content[begin:], present, stated.numbers(readings[-1]) * size, unit)
    )


def _size_complaint(path: Path, data: bytes, present: int, stated: int, unit: str) -> str:
    text = f"{path}: {present} {unit}, the header states {stated}: "
    pairs = data.count(b"\r\n")
    if present > stated:
        if pairs == data.count(b"\n") == present - stated:
            return f"{text}line ends were converted (LF to CR LF): transfer it again as binary"
        return f"{text}{present - stated} too many"
    hint = ", or line ends were converted (CR LF to LF)" if not pairs and b"\n" in data else ""
    return f"{text}{stated - present} are missing: the file is truncated{hint}"


def _span(header: Header, stated: Stated, frames: int, warnings: list[str]) -> tuple[int, int]:
    """Return the first point with data and the number of such points."""
    points = stated.points_per_frame
    first = points // 2 if stated.half_frames else 0
    maximum = frames * points - 2 * first
    if maximum < 1:
        raise FormatError(
            f"{header.location('HALF_FRAMES')}: {frames} frame in all, the two halves, and no data"
        )
    if stated.samples is None:
        return first, maximum
    if stated.samples > maximum:
        raise FormatError(f"{header.location('SAMPLES')}: {stated.samples}, but the frames hold {maximum}")
    if maximum - stated.samples >= stated.points_per_group:
        warnings.append(f"SAMPLES is {stated.samples}, the frames hold {maximum}: {stated.samples} are used")
    return first, stated.samples


def _points(numbers: Numbers, stated: Stated, k: int, whole: bool, frames: int) -> Numbers:
    """Return all stored points of channel ``k`` (from 1 on), filling included."""
    points, channels = stated.points_per_group, stated.channels
    groups = stated.groups(frames) if whole else frames * stated.points_per_frame // points
    blocks = numbers[: groups * points * channels].reshape(groups, channels, points)
    joined = blocks[:, k - 1].reshape(-1)
    if whole:
        return joined
    rest = numbers[groups * points * channels :].reshape(channels, -1)
    return np.concatenate([joined, rest[k - 1]])


def _channel(header: Header, stated: Stated, k: int, points: Numbers) -> Channel:
    with np.errstate(invalid="ignore"):  # a signalling NaN is one like any other
        values = points.astype(np.float64)
    if stated.data_type == "SHORT_INTEGER":
        with np.errstate(over="ignore"):
            values *= header.number(f"SCALE.CHAN_{k}")
    name = header.text(f"DESC.CHAN_{k}") or f"channel {k}"
    return Channel(name, header.text(f"UNITS.CHAN_{k}") or "", values)


def _of_scales(header: Header, stated: Stated) -> list[str]:
    if stated.data_type == "SHORT_INTEGER":
        return []
    keys = [f"SCALE.CHAN_{k}" for k in range(1, stated.channels + 1)]
    other = [key for key in keys if header.number(key, 1.0) != 1.0]
    if not other:
        return []
    return [f"{other[0]} is {header.text(other[0])}: FLOATING_POINT has no scale: values as stored"]


def _check(path: Path, layout: Layout) -> None:
    frame, group = layout.points_per_frame, layout.points_per_group
    if frame < 1 or group % frame or (layout.half_frames != "none" and frame % 2):
        raise FormatError(
            f"{path}: groups of {group} points cannot be made of frames of {frame}, or of halves of them"
        )
    if layout.data_type != "SHORT_INTEGER" and not layout.states_data_type:
        raise FormatError(f"{path}: a file without DATA_TYPE is SHORT_INTEGER, not {layout.data_type}")


def _raw(path: Path, series: Series, layout: Layout, lost: list[str]) -> tuple[list[float], list[Numbers]]:
    """Return the scale of each channel and the numbers to be stored, (n,) each."""
    if layout.data_type == "SHORT_INTEGER":
        lost.append(f"values are rounded to 16 bits: in steps of the channel's largest / {layout.full_scale}")
        pairs = [_integers(channel.values, layout.full_scale) for channel in series.channels]
        return [scale for scale, _ in pairs], [numbers for _, numbers in pairs]
    for channel in series.channels:
        maximum = float(np.max(np.abs(channel.values)))
        if maximum > _MAX_VALUE:
            raise FormatError(f"{path}: {channel.name}: {maximum:g} exceeds the 32-bit range")
    numbers: list[Numbers] = [channel.values.astype(np.float32) for channel in series.channels]
    pairs_equal = zip(numbers, series.channels, strict=True)
    if not all(np.array_equal(stored, channel.values) for stored, channel in pairs_equal):
        lost.append("values are rounded to 32 bits: 7 digits")
    return [1.0] * len(numbers), numbers


def _integers(values: FloatArray, full_scale: int) -> tuple[float, Numbers]:
    scale = float(f"{np.max(np.abs(values)) / full_scale:.9E}") or 1.0
    maximum = min(full_scale, 32767)
    return scale, np.clip(np.rint(values / scale), -maximum, maximum).astype(np.int16)


def _records(
    series: Series, step: float, scales: list[float], layout: Layout, lost: list[str]
) -> dict[str, bytes]:
    """Return the records of a file but the three that come first and the notes."""
    data_frames = -(-series.count // layout.points_per_frame)
    channels = len(series.channels)
    texts: dict[str, str | int] = {
        "FILE_TYPE": "TIME_HISTORY",
        "TIME_TYPE": layout.time_type,
        "DELTA_T": number_text(step),
        "CHANNELS": channels,
        "PTS_PER_FRAME": layout.points_per_frame,
        "PTS_PER_GROUP": layout.points_per_group,
        "FRAMES": data_frames + (layout.half_frames == "counted"),
        "HALF_FRAMES": int(layout.half_frames != "none"),
        "REPEATS": 1,
        "BYPASS_FILTER": 0,
        "PARTITIONS": 1,
        "PART.CHAN_1": 1,
        "PART.NCHAN_1": channels,
    }
    if layout.states_data_type:
        texts["DATA_TYPE"] = layout.data_type
    if layout.states_samples:
        texts["SAMPLES"] = series.count
    if layout.states_full_scale:
        texts["INT_FULL_SCALE"] = layout.full_scale
    records = {key: str(text).encode() for key, text in texts.items()}
    for k, (channel, scale) in enumerate(zip(series.channels, scales, strict=True), 1):
        records |= _of_channel(k, channel, scale, lost)
    lost += lost_descriptions(series)
    return records


def _of_channel(k: int, channel: Channel, scale: float, lost: list[str]) -> Mapping[str, bytes]:
    maximum = number_text(float(np.max(np.abs(channel.values))))
    name, unit = fitting(channel.name, VALUE - 1), fitting(channel.unit, VALUE - 1)
    for what, text, kept in (("name", channel.name, name), ("unit", channel.unit, unit)):
        if decode(kept) != text:
            lost.append(f"channel {k}: the {what} {text[:40]!r}… is written as {decode(kept)!r}")
    return {
        f"DESC.CHAN_{k}": name,
        f"UNITS.CHAN_{k}": unit,
        f"SCALE.CHAN_{k}": number_text(scale).encode(),
        f"UPPER_LIMIT.CHAN_{k}": maximum.encode(),
        f"LOWER_LIMIT.CHAN_{k}": (f"-{maximum}").encode(),
        f"MAP.CHAN_{k}": str(k).encode(),
    }


def _data(raw: list[Numbers], layout: Layout) -> bytes:
    """Return the data behind the header: filled up, in groups, in the layout's order."""
    frame, group = layout.points_per_frame, layout.points_per_group
    count = len(raw[0])
    lead = 0 if layout.half_frames == "none" else frame // 2
    frames = -(-count // frame) + (lead > 0)
    groups = -(-frames * frame // group)
    table = np.zeros((len(raw), groups * group), dtype=raw[0].dtype)
    for row, numbers in zip(table, raw, strict=True):
        row[lead : lead + count] = numbers
    stored = np.ascontiguousarray(table.reshape(len(raw), groups, group).swapaxes(0, 1))
    if layout.format == "ASCII":
        return _lines(stored.reshape(-1))
    return stored.astype(stored.dtype.newbyteorder(">" if "BIG" in layout.format else "<")).tobytes()


def _lines(numbers: Numbers) -> bytes:
    integers = numbers.dtype.kind == "i"
    words = [f"{number:7d}" if integers else f"{number:16.8E}" for number in numbers.tolist()]
    lines = ["".join(words[k : k + _A_LINE]) for k in range(0, len(words), _A_LINE)]
    return ("\n".join(lines) + "\n").encode()


FORMAT: Final = Format(
    name="rpc3",
    title=TITLE,
    suffixes=(".rsp", ".drv", ".tim", ".rpc", ".rpc3"),
    recognises=recognises,
    read=read,
    write=write,
)
