"""HDF5, as MATLAB's ``h5read`` takes it without tricks, written and read with ``h5py``.

What is written (layout 1)::

    /                   attributes: mastd_layout = 1, and one text for each note
    /frame              a group for each series, by its name; attributes: name, number (from 1 on), axis (the
                        name of the data set of places), start and step (float64, exact; no step where the
                        places are uneven)
    /frame/time         float64 (n,), attribute unit = "s": exactly start + k · step
    /frame/heave.pos    float64 (n,) for each channel; attributes: name, number (from 1 on), unit, description

A channel's name is the data set's name, dots and all. What HDF5 does not allow there is replaced (``/`` by
``|``), a name that comes twice is numbered; the attribute ``name`` has it as it was. Data sets are contiguous
and not compressed, so that MATLAB, C and a memory map read them alike. Other HDF5 files are read by
``mastd.formats.hdf5.foreign``.

Source: HDF5 File Format Specification 3.0 (The HDF Group).
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import FormatError
from mastd.formats.core.even_axis import check_stated, kept_or_own
from mastd.formats.core.files import head_of, replacing_named
from mastd.formats.core.measurement import HEAD, Channel, Format, Measurement, Series
from mastd.formats.core.packages import distinct, package, plain
from mastd.formats.hdf5.attributes import attribute_text, attributes, refuse_link, refuse_unreadable
from mastd.formats.hdf5.foreign import read_foreign
from mastd.formats.sandbox.reader import MIN_SECONDS, Packed, Sandbox, check_expanded, pack, unpack

_TITLE: Final = "HDF5"
_SIGNATURE: Final = b"\x89HDF\r\n\x1a\n"
_LAYOUT: Final = "mastd_layout"
_SANDBOX: Final = Sandbox(__name__, "h5py", "hdf", _TITLE)


def recognises(head: bytes) -> bool:
    """Return whether a file begins as HDF5: at byte 0, or after a user block of 512, 1024, … bytes."""
    offsets = [0, *(512 << power for power in range(8))]
    return any(head.startswith(_SIGNATURE, offset) for offset in offsets)


def read(path: Path) -> Measurement:
    """Read an HDF5 file.

    A file of ours comes back as it was. Of others: every group with one-dimensional data sets of numbers is a
    series for each length, a data set called time or t is its axis; two-dimensional ones give a channel for
    each column. External links, external and virtual data sets are refused, other files are never opened.
    """
    return unpack(_SANDBOX.call("read_here", path))


def read_here(path: Path) -> Packed:
    """Read in this process; see ``read``."""
    with _opened(path) as (file, warnings):
        own = attributes(file).get(_LAYOUT)
        measurement = _read_own(path, file) if own == "1" else read_foreign(path, file)
        return pack(measurement.with_warnings(*warnings))


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, tuple[str, ...]]]:
    h5py = package("h5py", "hdf", _TITLE)
    shared = _is_being_written(path)
    if shared:
        # Of such a file HDF5 takes damage for writing that goes on, and waits: no longer than this.
        signal.setitimer(signal.ITIMER_REAL, MIN_SECONDS)
    with h5py.File(path, "r", swmr=shared) as file:
        yield file, ("the file was not closed by its writer: only flushed data are read",) * shared


def _is_being_written(path: Path) -> bool:
    """Whether a file is one for a single writer and many readers that the writer has not closed."""
    head = head_of(path, HEAD)
    offset = head.find(_SIGNATURE)
    # Superblock of version 3: signature, version, two sizes, flags of consistency (bit 2).
    return offset >= 0 and head[offset + 8 : offset + 9] == b"\3" and head[offset + 11] & 4 != 0


def _read_own(path: Path, file: Any) -> Measurement:
    groups = sorted((group for group in _children(path, file) if "axis" in group.attrs), key=_number)
    columns = [[item for item in _children(path, group) if hasattr(item, "shape")] for group in groups]
    for items in columns:
        for item in items:
            refuse_unreadable(path, item)
    check_expanded(path, sum(item.size for items in columns for item in items))
    series: list[Series] = []
    warnings: list[str] = []
    for group, items in zip(groups, columns, strict=True):
        one, more = _own_series(path, group, items)
        series.append(one)
        warnings.extend(more)
    notes = {name: text for name, text in attributes(file).items() if name != _LAYOUT}
    return Measurement("hdf5", tuple(series), notes, tuple(warnings))


def _children(path: Path, group: Any) -> list[Any]:
    """Return the objects of a group that are in this file; raise FormatError for links to others."""
    for name in group:
        refuse_link(path, group, name)
    return [group[name] for name in group]


def _number(item: Any) -> int:
    return int(item.attrs.get("number", 0))


def _own_series(path: Path, group: Any, items: list[Any]) -> tuple[Series, tuple[str, ...]]:
    axis = attribute_text(group, "axis")
    name = attribute_text(group, "name")
    positions = next((item for item in items if item.name == f"{group.name}/{axis}"), None)
    chosen = sorted((item for item in items if item is not positions), key=_number)
    channels = tuple(
        Channel(
            attribute_text(item, "name"),
            attribute_text(item, "unit"),
            _column(path, item),
            attribute_text(item, "description"),
        )
        for item in chosen
    )
    lengths = {len(channel.values) for channel in channels}
    if len(lengths) > 1:
        raise FormatError(f"{path}: the data sets of {group.name} have different lengths: {sorted(lengths)}")
    step = float(group.attrs["step"]) if "step" in group.attrs else None
    start = float(group.attrs.get("start", 0.0))
    if positions is None:
        check_stated(start, step)
        return Series(channels, step, start, axis=axis, name=name), ()
    column = _column(path, positions)
    if channels and len(column) != len(channels[0].values):
        raise FormatError(
            f"{path}: {positions.name} has {len(column)} values, the other channels {len(channels[0].values)}"
        )
    series, warnings = kept_or_own(column, start, step, channels, name)
    unit = attribute_text(positions, "unit")
    return (
        Series(
            series.channels, series.step, series.start, series.abscissae, axis=axis, axis_unit=unit, name=name
        ),
        warnings,
    )


def _column(path: Path, item: Any) -> FloatArray:
    if item.ndim != 1 or item.dtype.kind not in "iuf":
        raise FormatError(f"{path}: {item.name} is not a numeric column")
    return np.asarray(item[()], dtype=np.float64)


def write(path: Path, measurement: Measurement) -> tuple[str, ...]:
    """Write series in layout 1; any number of them, of any length, step or none.

    Raises FormatError where the file system refuses, UsageError without h5py.
    """
    h5py = package("h5py", "hdf", _TITLE)
    with replacing_named(path) as temporary, h5py.File(temporary, "w") as file:
        file.attrs[_LAYOUT] = 1
        keys = distinct((plain(key) or "note" for key in measurement.notes), (_LAYOUT,))
        for key, text in zip(keys, measurement.notes.values(), strict=True):
            file.attrs[key] = plain(text)
        names = distinct(_name(series.name, "series") for series in measurement.series)
        for number, (name, series) in enumerate(zip(names, measurement.series, strict=True), start=1):
            _write_series(file.create_group(name), number, series)
    return ()


def _write_series(group: Any, number: int, series: Series) -> None:
    axis = _name(series.axis, "axis")
    group.attrs["name"] = plain(series.name)
    group.attrs["number"] = number
    group.attrs["axis"] = axis
    group.attrs["start"] = np.float64(series.start)
    if series.step is not None:
        group.attrs["step"] = np.float64(series.step)
    if series.abscissae is not None or series.step is not None:
        positions = group.create_dataset(axis, data=np.asarray(series.axis_values(), dtype=np.float64))
        positions.attrs["unit"] = plain(series.axis_unit)
    names = distinct((_name(channel.name, "channel") for channel in series.channels), (axis,))
    for index, (name, channel) in enumerate(zip(names, series.channels, strict=True), start=1):
        item = group.create_dataset(name, data=np.asarray(channel.values, dtype=np.float64))
        item.attrs["name"] = plain(channel.name)
        item.attrs["number"] = index
        item.attrs["unit"] = plain(channel.unit)
        item.attrs["description"] = plain(channel.description)


def _name(name: str, otherwise: str) -> str:
    """Return a name that an HDF5 object may have: no slash, not empty, not the name of the group itself."""
    return {"": otherwise, ".": "dot"}.get(allowed := plain(name).replace("/", "|"), allowed)


FORMAT = Format(
    name="hdf5",
    title=_TITLE,
    suffixes=(".h5", ".hdf5", ".hdf", ".he5", ".nxs", ".mat"),
    recognises=recognises,
    read=read,
    write=write,
    library=("h5py", "hdf"),
)
