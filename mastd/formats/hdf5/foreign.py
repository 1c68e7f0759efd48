"""HDF5 files of other programs, MATLAB's .mat files of version 7.3 among them: their series of numbers.

A group's data sets of numbers are channels; those of equal length are one series. A data set called time or t
(or so) of that length is its axis. Two-dimensional data sets are a channel for each column: along the length
of the group's times, where there are such; else, as MATLAB stores its columns, along the last dimension in
its own files, and along the first in others. Dimensions of length 1 do not count. Scalars and short texts are
notes. Links within the file are not followed: what they lead to is found at its own place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import FormatError
from mastd.formats.core.even_axis import in_seconds, series_on
from mastd.formats.core.measurement import Channel, Measurement, Series
from mastd.formats.core.packages import package
from mastd.formats.hdf5.attributes import attribute_text, attributes, refuse_link, refuse_unreadable
from mastd.formats.sandbox.reader import check_expanded

_TIMES: Final = ("time", "t", "times", "timestamp", "timestamps", "zeit")
_UNITS: Final = ("unit", "units", "Unit", "Units", "UNIT", "UNITS")
_DESCRIPTIONS: Final = ("description", "long_name", "comment", "Description", "Comment")
_HIDDEN: Final = ("#refs#", "#subsystem#")
"""Where MATLAB keeps what cells and objects refer to."""
_MAX_NOTE: Final = 10_000
_MAX_COLUMNS: Final = 10_000


@dataclass
class _Content:
    """What a walk through the file finds."""

    groups: dict[str, list[Any]] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)


def read_foreign(path: Path, file: Any) -> Measurement:
    """Return the series of a file; FormatError where there are none, or values are not in it or too many."""
    content = _walked(path, file)
    datasets = [dataset for found in content.groups.values() for dataset in found]
    for dataset in datasets:
        refuse_unreadable(path, dataset)
    check_expanded(path, sum(dataset.size for dataset in datasets))
    series: list[Series] = []
    warnings: list[str] = []
    for name, found in content.groups.items():
        for one, more in _series_of(path, name.strip("/"), found):
            series.append(one)
            warnings.extend(more)
    if not series:
        raise FormatError(f"{path}: HDF5 without any series of numbers{_of_skipped(content.skipped, ': ')}")
    if content.skipped:
        warnings.append(_of_skipped(content.skipped, ""))
    return Measurement("hdf5", tuple(series), {**attributes(file), **content.notes}, tuple(warnings))


def _of_skipped(names: list[str], before: str) -> str:
    if not names:
        return ""
    more = ", …" if len(names) > 5 else ""
    return f"{before}not read (no numeric series): {len(names)} ({', '.join(names[:5])}{more})"


def _walked(path: Path, file: Any) -> _Content:
    h5py = package("h5py", "hdf", "HDF5")
    content = _Content()
    seen = set()
    waiting = [file]
    while waiting:
        group = waiting.pop(0)
        found = []
        for name in group:
            link = refuse_link(path, group, name)
            if not isinstance(link, h5py.HardLink) or name in _HIDDEN:
                continue
            item = group[name]
            address = h5py.h5o.get_info(item.id).addr
            if address in seen:
                continue
            seen.add(address)
            if isinstance(item, h5py.Group):
                waiting.append(item)
            elif not isinstance(item, h5py.Dataset):
                continue
            elif _is_series(item):
                found.append(item)
            else:
                _note(path, item, content)
        if found:
            content.groups[group.name] = found
    return content


def _is_series(dataset: Any) -> bool:
    if dataset.shape is None or dataset.dtype.kind not in "iufb" or "MATLAB_empty" in dataset.attrs:
        return False
    if attribute_text(dataset, "MATLAB_class") == "char":
        return False
    return dataset.size > 1 and len(_lengths(dataset)) <= 2


def _lengths(dataset: Any) -> tuple[int, ...]:
    """Return the dimensions of a data set but those of 1."""
    return tuple(length for length in dataset.shape if length != 1)


def _note(path: Path, dataset: Any, content: _Content) -> None:
    """Keep a scalar or a short text as a note; count anything else as skipped."""
    name = dataset.name.strip("/")
    text = ""
    if dataset.shape is not None and 0 < dataset.size <= _MAX_NOTE:
        refuse_unreadable(path, dataset)
        if attribute_text(dataset, "MATLAB_class") == "char" and dataset.dtype.kind == "u":
            text = "".join(chr(int(code)) for code in dataset[()].ravel(order="F") if code < 0xD800)
        elif dataset.size == 1 and dataset.dtype.kind in "iufbSO":
            value = dataset[()]
            value = value.ravel()[0] if isinstance(value, np.ndarray) else value
            text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
            text = "" if dataset.dtype.kind == "O" and not isinstance(value, bytes | str) else text
    if text:
        content.notes[name] = text[:_MAX_NOTE]
    else:
        content.skipped.append(name)


def _series_of(path: Path, name: str, found: list[Any]) -> Iterator[tuple[Series, tuple[str, ...]]]:
    """Yield a series for each length of the columns that a group has."""
    times = {
        _lengths(dataset)[0]: dataset
        for dataset in reversed(found)
        if dataset.name.rpartition("/")[2].lower() in _TIMES and len(_lengths(dataset)) == 1
    }
    axes = [dataset.name for dataset in times.values()]
    channels: dict[int, list[Channel]] = {}
    warnings: list[str] = []
    for dataset in found:
        if dataset.name in axes:
            continue
        columns = _columns(path, dataset, times)
        values = [one for _, one in columns]
        if dataset.dtype.kind in "iu" and any(np.any(np.abs(one) > 2.0**53) for one in values):
            warnings.append(f"{dataset.name}: integers above 2^53 are rounded")
        unit, description = attribute_text(dataset, *_UNITS), attribute_text(dataset, *_DESCRIPTIONS)
        for label, one in columns:
            channels.setdefault(len(one), []).append(Channel(label, unit, one, description))
    for count, some in channels.items():
        if count not in times:
            yield Series(tuple(some), None, name=name), tuple(warnings)
        else:
            yield _timed(times[count], tuple(some), name, warnings)
        warnings = []


def _timed(
    dataset: Any, channels: tuple[Channel, ...], name: str, warnings: list[str]
) -> tuple[Series, tuple[str, ...]]:
    unit = attribute_text(dataset, *_UNITS)
    column = np.asarray(dataset[()], dtype=np.float64).ravel()
    if not unit:
        series, more_warnings = series_on(column, channels, name)
        warning = f"{dataset.name}: times without a unit"
        return replace(series, axis_unit=""), (*warnings, warning, *more_warnings)
    positions = in_seconds(column, unit)
    if positions is None:
        more = f"{dataset.name}: the unit {unit!r} of the times is unknown: read unconverted"
        return Series(channels, None, abscissae=column, axis_unit=unit, name=name), (*warnings, more)
    series, more_warnings = series_on(positions, channels, name)
    return series, (*warnings, *more_warnings)


def _columns(path: Path, dataset: Any, times: dict[int, Any]) -> list[tuple[str, FloatArray]]:
    """Return the columns of a data set with their names."""
    label = dataset.name.rpartition("/")[2]
    lengths = _lengths(dataset)
    values = np.asarray(dataset[()], dtype=np.float64).reshape(lengths)
    if len(lengths) == 1:
        return [(label, values)]
    along_last = "MATLAB_class" in dataset.attrs
    if (lengths[0] in times) != (lengths[1] in times):
        along_last = lengths[1] in times
    table = values.T if along_last else values
    if table.shape[1] > _MAX_COLUMNS:
        raise FormatError(
            f"{path}: {dataset.name} has {table.shape[1]} columns of {table.shape[0]} values: more than "
            f"{_MAX_COLUMNS} channels are not read"
        )
    return [
        (f"{label}[{number}]", np.ascontiguousarray(column)) for number, column in enumerate(table.T, start=1)
    ]
