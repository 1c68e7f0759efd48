"""What the channel groups of an MDF file hold, as ``asammdf`` shows it: series, notes and warnings."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import FormatError
from mastd.formats.core.even_axis import in_seconds, kept_or_own, series_on
from mastd.formats.core.measurement import START_TIME, Channel, Measurement, Series
from mastd.formats.sandbox.reader import check_expanded

_VARIABLE_LENGTH_GROUP: Final = 1
_BUS_EVENTS: Final = 2
"""Flags of a channel group (ASAM MDF 4.1, cg_flags)."""
_FIXED_LENGTH: Final = 0
_VIRTUAL: Final = 6
"""Types of a channel (cn_type)."""
_NUMBERS_4: Final = range(6)
_NUMBERS_3: Final = (*range(7), *range(9, 17))
"""Types of data that are numbers, in version 4 (cn_data_type) and before."""
_AXES: Final = {0: "s", 1: "s", 2: "rad", 3: "m", 4: ""}
"""Units of masters by what they count in (cn_sync_type)."""


def measurement_of(path: Path, mdf: Any) -> Measurement:
    """Read an open file; FormatError for data that are shorter than stated, or no numbers."""
    four = mdf.version >= "4.00"
    notes, own = _notes(mdf, four)
    warnings: list[str] = []
    if four and mdf.name != path:
        warnings.append("the file was not finalised by its writer: complete parts are read")
    chosen: dict[int, list[tuple[int, int]]] = {}
    buses, empty, others = 0, 0, 0
    for master, virtual in mdf.virtual_groups.items():
        for index in virtual.groups:
            group = mdf.groups[index]
            flags = group.channel_group.flags if four else 0
            if flags & _VARIABLE_LENGTH_GROUP:
                continue
            if flags & _BUS_EVENTS:
                buses += 1
                continue
            if group.channel_group.cycles_nr == 0 and not own:
                empty += 1
                continue
            if four:
                warnings.extend(_checked(path, mdf, index))
            numbers = _numbers(mdf, index, four)
            others += _plain_channels(mdf, index) - len(numbers)
            chosen.setdefault(master, []).extend((index, channel) for channel in numbers)
    check_expanded(path, sum(_values(mdf, pairs) for pairs in chosen.values()))
    series: list[Series] = []
    for master, pairs in chosen.items():
        if pairs:
            one, more = _series(mdf, master, pairs, own)
            series.append(one)
            warnings.extend(more)
    if buses:
        warnings.append(f"not read: {buses} channel group{'s' * (buses > 1)} of bus logging")
    if empty:
        warnings.append(f"{empty} channel group{'s' * (empty > 1)} without values")
    if others:
        warnings.append(f"not read (not numeric): {others} channel{'s' * (others > 1)}")
    if not series:
        raise FormatError(f"{path}: MDF without numeric channels{'; '.join(['', *warnings])}")
    return Measurement("mdf4", tuple(series), notes, tuple(warnings))


def _values(mdf: Any, pairs: list[tuple[int, int]]) -> int:
    """Return how many values channels have, times included."""
    return sum(int(mdf.groups[index].channel_group.cycles_nr) for index, _ in pairs) * 2


def _plain_channels(mdf: Any, index: int) -> int:
    return len(mdf.groups[index].channels) - (index in mdf.masters_db)


def _numbers(mdf: Any, index: int, four: bool) -> list[int]:
    """Return the numbers of a group's channels that are numbers, one a record."""
    group = mdf.groups[index]
    found = []
    for number, channel in enumerate(group.channels):
        if number == mdf.masters_db.get(index):
            continue
        if group.channel_dependencies[number]:
            continue
        if four and channel.channel_type not in (_FIXED_LENGTH, _VIRTUAL):
            continue
        if channel.data_type in (_NUMBERS_4 if four else _NUMBERS_3):
            found.append(number)
    return found


def _checked(path: Path, mdf: Any, index: int) -> list[str]:
    """Raise FormatError where a group's data are shorter than its records; warn where they are longer."""
    group = mdf.groups[index]
    header = group.channel_group
    size = path.stat().st_size
    record = header.samples_byte_nr + (0 if group.uses_ld else header.invalidation_bytes_nr)
    stated = header.cycles_nr * record
    found = 0
    for block in group.get_data_blocks():
        end = block.address + block.compressed_size
        if block.location == 0 and end > size:
            raise FormatError(
                f"{path}: truncated: the data of channel group {index + 1} extend to byte {end}, "
                f"the file has {size}"
            )
        found += block.original_size
        check_expanded(path, found // 8)
    if found < stated:
        raise FormatError(
            f"{path}: channel group {index + 1} states {header.cycles_nr} records of {record} bytes, "
            f"its data are {found} bytes"
        )
    if found > stated:
        return [
            f"channel group {index + 1} states {header.cycles_nr} records of {record} bytes, its data are "
            f"{found} bytes: the rest is not read"
        ]
    return []


def _series(mdf: Any, master: int, pairs: list[tuple[int, int]], own: bool) -> tuple[Series, tuple[str, ...]]:
    warnings: list[str] = []
    signals = mdf.select(
        [(None, index, channel) for index, channel in pairs],
        copy_master=False,
        ignore_value2text_conversions=True,
    )
    group = mdf.groups[master].channel_group
    name = getattr(group, "acq_name", "") or ""
    channels = []
    for signal in signals:
        if signal.samples.ndim != 1 or signal.samples.dtype.kind not in "iufb":
            warnings.append(f"{signal.name}: not read, its converted values are not numeric")
            continue
        values, more = _converted(signal)
        warnings.extend(more)
        channels.append(Channel(signal.name, _unit(signal.unit), values, _text(signal.comment)))
    if master not in mdf.masters_db:
        return Series(tuple(channels), None, name=name), tuple(warnings)
    # A copy: asammdf has one array for all channels of a group.
    times = np.array(signals[0].timestamps, dtype=np.float64)
    axis, kind = signals[0].master_metadata or ("time", 1)
    axis_unit = _AXES.get(int(kind), "")
    if own:
        properties = _properties(group.comment)
        step = _number(properties.get("mastd_step", ""))
        start = _number(properties.get("mastd_start", ""))
        series, more_warnings = kept_or_own(times, start or 0.0, step, tuple(channels), name)
    else:
        stated = _unit(mdf.groups[master].channels[mdf.masters_db[master]].unit)
        seconds = in_seconds(times, stated or "s") if axis_unit == "s" else times
        if seconds is None or (axis_unit == "s" and stated not in ("", "s")):
            warnings.append(f"{axis}: times are in s in MDF, the unit is {stated!r}")
        series, more_warnings = series_on(times if seconds is None else seconds, tuple(channels), name)
    return replace(series, axis=axis, axis_unit=axis_unit), (*warnings, *more_warnings)


def _converted(signal: Any) -> tuple[FloatArray, list[str]]:
    """Return the values as float64, NaN where they are marked invalid, and what that has changed."""
    values = np.asarray(signal.samples, dtype=np.float64)
    warnings = []
    if signal.samples.dtype.kind in "iu" and len(values) and np.any(np.abs(values) > 2.0**53):
        warnings.append(f"{signal.name}: integers above 2^53 are rounded")
    if signal.invalidation_bits is not None:
        invalid = np.asarray(signal.invalidation_bits, dtype=bool)
        if np.any(invalid):
            values = np.where(invalid, np.nan, values)
            warnings.append(f"{signal.name}: {int(np.sum(invalid))} values are marked invalid: read as NaN")
    return values, warnings


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _unit(text: Any) -> str:
    return text.decode("latin-1") if isinstance(text, bytes) else str(text or "")


def _text(comment: str) -> str:
    """Return a comment as text: of XML the text that it has."""
    if not comment.lstrip().startswith("<"):
        return comment
    root = _xml(comment)
    found = None if root is None else root.find(".//TX")
    return comment if found is None else (found.text or "")


def _xml(text: str) -> ElementTree.Element | None:
    try:
        # Names without that of the schema: some writers give it, others do not.
        return ElementTree.fromstring(text.replace(' xmlns="http://www.asam.net/mdf/v4"', ""))
    except ElementTree.ParseError:
        return None


def _properties(comment: str) -> dict[str, str]:
    root = _xml(comment)
    if root is None:
        return {}
    return {one.attrib["name"]: one.text or "" for one in root.iter("e") if "name" in one.attrib}


def _notes(mdf: Any, four: bool) -> tuple[dict[str, str], bool]:
    """Return what the file says about itself, and whether it is one of ours."""
    header = mdf.header
    notes = {"MDF version": mdf.version}
    if not four or header.abs_time:
        notes[START_TIME] = header.start_time.isoformat()
    if not four:
        fields = {name: getattr(header, name, "") for name in ("author", "department", "project", "subject")}
        fields["comment"] = header.comment
        return notes | {name: _unit(text).strip("\0 ") for name, text in fields.items() if text}, False
    if header.description:
        notes["comment"] = header.description
    properties = _flat(header._common_properties)
    own = properties.pop("mastd_layout", "") == "1"
    return notes | {name: _unquoted(text) if own else text for name, text in properties.items()}, own


def _flat(properties: Mapping[str, Any], before: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in properties.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{before}{name}.")
        else:
            found[f"{before}{name}"] = str(value)
    return found


def _unquoted(text: str) -> str:
    if text.startswith('"'):
        try:
            return str(json.loads(text))
        except ValueError:
            return text
    return text
