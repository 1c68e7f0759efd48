"""COSMOS V1 and V2 records, one or several channels a file: reader and writer.

Count, unit and columns are those of the line before the values, the step (in ms) is that of the real
header, whose length (count · step) is only compared. Source: COSMOS Strong Motion Data Format, version
1.20.
"""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import FormatError
from mastd.formats.core.files import lines_of, replacing
from mastd.formats.core.measurement import START_TIME, Channel, Format, Measurement, Series
from mastd.formats.core.text_numbers import laid_out_values, rows_of, scaled_number
from mastd.formats.strong_motion.common import (
    COMPONENT,
    head_lines,
    in_units,
    left_out,
    line_of,
    peak_warning,
    report_renames,
    series_of,
    start_of,
    step_line,
)
from mastd.formats.strong_motion.cosmos_header import (
    AZIMUTH,
    DAY,
    HOUR,
    LENGTH,
    LINE,
    MAX_TEXT_LINES,
    MINUTE,
    MONTH,
    PEAK,
    PEAK_TIME,
    QUANTITY,
    SECOND,
    STEP_MS,
    UNIT_CODES,
    UNITS,
    YEAR,
    ChannelHead,
    begins_header,
    channel_head,
)

_END: Final = re.compile(r"\s*(?:/&|end\b)", re.IGNORECASE)
_NOTES: Final = (
    "title",
    "event",
    "hypocenter",
    "origin",
    "station",
    "site",
    "recorder",
    "record",
    "channel",
    "raw record",
    "processed",
    "filter",
)
"""What the lines of text are about."""
_LENGTH_RATIO: Final = 0.01
"""By which the stated length may differ from the values' before the step itself is in doubt."""
_UNKNOWN: Final = -999
_QUANTITIES: Final = {"m/s2": ("acceleration", 1), "m/s": ("velocity", 2), "m": ("displacement", 3)}
_TEXTS: Final = {"cm/s2": "cm/sec2", "cm/s": "cm/sec", "in/s2": "in/sec2", "in/s": "in/sec"}
_TITLE: Final = "a COSMOS file"


def read(path: Path) -> Measurement:
    """Read the channels of a COSMOS file in their own units, as one series where they have one time base.

    Raises FormatError with the location.
    """
    lines = lines_of(path)
    heads: list[ChannelHead] = []
    channels: list[FloatArray] = []
    warnings: list[str] = []
    index = 0
    while (index := _next_text(lines, index)) < len(lines):
        head = channel_head(path, lines, index)
        first = head.data_line + 1
        end = next((k for k in range(first, len(lines)) if _END.match(lines[k])), len(lines))
        values = laid_out_values(path, lines[first:end], first + 1, head.layout, head.count)
        if len(values) != head.count:
            raise FormatError(f"{path}:{first}: states {head.count} values, but {len(values)} follow")
        heads.append(head)
        channels.append(values)
        if marked := int(np.count_nonzero(values == head.unknown)):
            warnings.append(
                f"{path}:{first}: {marked} values are {head.unknown:g}, the marker of unknown values"
            )
        warnings += _length_warning(path, head)
        warnings += peak_warning(path, head.real(PEAK), values, head.unit)
        index = end + 1
    if not heads:
        raise FormatError(
            f"{path}:1: no channel, a COSMOS file has 'Integer-header values follow' after its text"
        )
    return Measurement("cosmos", _series(heads, channels), _notes(heads), tuple(warnings))


def write(path: Path, measurement: Measurement) -> tuple[str, ...]:
    """Write the channels of one series, one after the other, as V2; values and step keep all digits.

    Units without a code in COSMOS are converted to one that has. Raises FormatError.
    """
    series, step = series_of(measurement, path, _TITLE)
    lines: list[str] = []
    texts = []
    milliseconds = f"{Decimal(step).scaleb(3):.17E}"
    for number, channel in enumerate(series.channels, start=1):
        values, unit, converted = in_units(channel, path, _TITLE, tuple(UNIT_CODES.values()))
        lines += converted
        texts.append(_channel_text(measurement, number, channel, values, unit, milliseconds, step))
    with replacing(path) as file:
        for text in texts:
            file.write(text.encode())
    kept = (
        *_NOTES,
        START_TIME,
        "comments",
        *(name for name in measurement.notes if name.startswith(COMPONENT)),
    )
    return (*lines, *left_out(measurement, series, kept), *step_line(step, scaled_number(milliseconds, -3)))


def recognises(head: bytes) -> bool:
    """Return whether the integer header of a first channel follows at least one line of text."""
    return any(begins_header(line) for line in head_lines(head, MAX_TEXT_LINES)[1:])


def _next_text(lines: list[str], index: int) -> int:
    while index < len(lines) and not lines[index].strip():
        index += 1
    return index


def _length_warning(path: Path, head: ChannelHead) -> list[str]:
    """Compare the stated length with count · step; some writers state (count - 1) · step."""
    stated = head.real(LENGTH)
    if stated is None or head.step is None:
        return []
    length = head.count * head.step
    if abs(stated - length) <= head.step / 2 + 1e-6 * length:
        return []
    text = (
        f"{path}:{head.data_line + 1}: the header states a length of {stated:g} s, {head.count} values every "
        f"{head.step:g} s are {length:g} s"
    )
    if not abs(stated - length) <= max(1.5 * head.step, _LENGTH_RATIO * length):
        raise FormatError(f"{text}: step or count is wrong")
    return [f"{text}; all are read"]


def _series(heads: list[ChannelHead], values: list[FloatArray]) -> tuple[Series, ...]:
    names = [head.component or head.what for head in heads]
    twice = {name for name in names if names.count(name) > 1}
    channels = tuple(
        Channel(f"{head.number or number}: {name}" if name in twice else name, head.unit, one, head.what)
        for number, (head, name, one) in enumerate(zip(heads, names, values, strict=True), start=1)
    )
    if len({(head.step, head.count, head.start) for head in heads}) == 1:
        return (Series(channels, heads[0].step),)
    return tuple(
        Series((channel,), head.step, name=channel.name)
        for channel, head in zip(channels, heads, strict=True)
    )


def _notes(heads: list[ChannelHead]) -> dict[str, str]:
    first = heads[0]
    notes = {name: line for name, line in zip(_NOTES, first.text, strict=False) if line}
    notes["comments"] = " ".join(filter(None, first.comments))
    if len({head.start for head in heads}) == 1:
        notes[START_TIME] = first.start
    if len(heads) == 1:
        notes[COMPONENT] = first.component
    else:
        notes |= {f"{COMPONENT} {number}": head.component for number, head in enumerate(heads, start=1)}
    return {name: text for name, text in notes.items() if text}


def _channel_text(
    measurement: Measurement,
    number: int,
    channel: Channel,
    values: FloatArray,
    unit: str,
    milliseconds: str,
    step: float,
) -> str:
    notes = measurement.notes
    what, quantity = _quantity(channel)
    text = [line_of(notes.get(name, ""), 80) for name in _NOTES]
    text[0] = f"Corrected {what:<15s}(Format v01.20 with 13 text lines)"
    text[8] = f"Sta Chan{number:3d}: {_title_text(channel.name):s} (Rcrdr Chan{number:3d})"
    if START_TIME in notes and not re.search(r"start time", text[7], re.IGNORECASE):
        zone = "UTC" if _has_zone(notes[START_TIME]) else ""
        text[7] = f"Rcrd start time: {line_of(notes[START_TIME], 40)} {zone}"
    text = [_harmless(line) for line in text]
    text.append(
        f"Values used when parameter or data value is unknown/unspecified:{_UNKNOWN:7d},{_UNKNOWN:7.1f}"
    )
    integers, reals = _numbers(measurement, values, step)
    code = next(key for key, name in UNIT_CODES.items() if name == unit)
    integers[UNITS], integers[QUANTITY] = code, quantity
    fields = [f"{value:25.16E}" for value in reals]
    fields[STEP_MS] = f"{milliseconds:>25s}"
    comments = line_of(notes.get("comments", ""), 150)
    return "".join(
        [
            *(f"{line}\n" for line in text),
            " 100 Integer-header values follow on  10 lines, Format= (10I8)\n",
            *("".join(f"{value:8d}" for value in integers[k : k + 10]) + "\n" for k in range(0, 100, 10)),
            " 100 Real-header values follow on  34 lines, Format= (3E25.16)\n",
            *("".join(fields[k : k + 3]) + "\n" for k in range(0, 100, 3)),
            '   1 Comment line(s) follow, each starting with a "|":\n',
            f"| {comments}\n",
            f"{len(values):8d} {what} pts, approx {len(values) * step:.4g} secs, ",
            f"units={_TEXTS.get(unit, unit)}({code:02d}),Format=(3E25.16)\n",
            rows_of(values, "%25.16E", 3),
            f"/&  ----------  End of data for channel {number:2d}  ----------\n",
        ]
    )


def _quantity(channel: Channel) -> tuple[str, int]:
    from mastd.formats.core.units import si_unit

    meaning = si_unit(channel.unit)
    return _QUANTITIES.get(meaning.symbol if meaning else "", ("acceleration", _UNKNOWN))


def _numbers(measurement: Measurement, values: FloatArray, step: float) -> tuple[list[int], list[float]]:
    integers, reals = [_UNKNOWN] * 100, [float(_UNKNOWN)] * 100
    integers[0] = 2
    start = start_of(measurement.notes)
    if start is not None:
        integers[YEAR], integers[MONTH], integers[DAY] = start.year, start.month, start.day
        integers[HOUR], integers[MINUTE] = start.hour, start.minute
        reals[SECOND] = start.second + start.microsecond * 1e-6
    azimuth = re.fullmatch(r"(\d{1,3})(?: deg)?", measurement.notes.get(COMPONENT, ""))
    if azimuth is not None and int(azimuth[1]) <= 360:
        integers[AZIMUTH] = int(azimuth[1])
    peak = int(np.argmax(np.abs(values)))
    length = len(values) * step
    if np.isfinite(length):
        reals[LENGTH], reals[PEAK], reals[PEAK_TIME] = length, float(values[peak]), peak * step
    return integers, reals


def _title_text(name: str) -> str:
    """Return a name as the line of the channel has room for it."""
    return line_of(name.replace("(", "[").replace(")", "]"), 60)


def _has_zone(moment: str) -> bool:
    return re.search(r"(?:Z|[+-]\d\d:?\d\d)$", moment) is not None


def _harmless(line: str) -> str:
    """Return a line of text that begins no section."""
    return "" if begins_header(line[:LINE]) else line


FORMAT: Final = Format(
    "cosmos",
    "COSMOS V1/V2",
    (".v1", ".v2", ".v0", ".v1c", ".v2c"),
    recognises,
    read,
    report_renames(write, read),
)
