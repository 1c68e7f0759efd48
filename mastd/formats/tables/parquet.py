"""Parquet, one series a file, written and read with ``pyarrow``.

What is written: a column of places called ``time`` (or as the axis is called), then one column of float64 for
each channel, exact and without nulls. Beside the columns stand, as key-value metadata in UTF-8:

=================  =====  ===========================================================================
``mastd.layout``   file   "1"
``mastd.series``   file   JSON: ``name``, ``axis``, ``axis_unit``, ``start``, ``step`` (null where the
                          places are uneven), ``abscissae`` (whether the column of places is there)
``mastd.notes``    file   JSON: the notes, each by its name
``name``           field  the channel's name; that of the column is numbered where a name comes twice
``unit``           field  unit as the measurement spells it
``description``    field  description
=================  =====  ===========================================================================

Numbers in that JSON have every digit. Columns are not compressed: measured values hardly shrink.

Files of others: columns of numbers are channels; the first column of time stamps or durations, or else one
called time or t, is the axis, the index of pandas before others. ``unit`` and ``description`` of fields are
taken where they are.

Source: Apache Parquet format 2.10; "Pandas metadata" in the developer documentation of pandas.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from mastd.arrays import FloatArray
from mastd.errors import FormatError
from mastd.formats.core.even_axis import check_stated, in_seconds, kept_or_own, series_on
from mastd.formats.core.files import replacing
from mastd.formats.core.measurement import Channel, Format, Measurement, Series, one_series
from mastd.formats.core.packages import distinct, package, plain
from mastd.formats.sandbox.reader import Packed, Sandbox, check_expanded, pack, unpack

_TITLE: Final = "Parquet"
_SANDBOX: Final = Sandbox(__name__, "pyarrow.parquet", "parquet", _TITLE, ("pyarrow.compute",))
_TIMES: Final = ("time", "t", "times", "timestamp", "timestamps", "zeit")
_UNITS_A_SECOND: Final = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_NOT_NOTES: Final = ("ARROW:schema", "pandas", "mastd.layout", "mastd.series", "mastd.notes")
_MAX_NOTE: Final = 10_000


def recognises(head: bytes) -> bool:
    """Return whether a file has the Parquet signature, encrypted or not."""
    return head.startswith((b"PAR1", b"PARE"))


def read(path: Path) -> Measurement:
    """Return the numbers of a Parquet file as one series.

    A file of ours comes back as it was. Nulls are NaN, with a warning. Columns that are no numbers are not
    read, with a warning. Time stamps are s from the first on, which a note gives in full.
    """
    return unpack(_SANDBOX.call("read_here", path))


def first_use() -> None:
    """Load pyarrow's conversion of columns to numbers (pandas, where it is installed)."""
    package("pyarrow", "parquet", _TITLE).chunked_array([[0.0]]).to_numpy()


def read_here(path: Path) -> Packed:
    """Read in this process; see ``read``."""
    parquet = package("pyarrow.parquet", "parquet", _TITLE)
    with path.open("rb") as file:
        if file.read(4) == b"PARE":
            raise FormatError(f"{path}: Parquet with an encrypted footer is not supported")
    with parquet.ParquetFile(path, memory_map=False, pre_buffer=False) as opened:
        schema = opened.schema_arrow
        metadata = {_decoded(key): _decoded(text) for key, text in (schema.metadata or {}).items()}
        own = metadata.get("mastd.layout") == "1"
        fields = [(number, schema.field(number)) for number in range(len(schema))]
        chosen = [number for number, one in fields if _is_number(one.type) or _is_time(one.type)]
        check_expanded(path, opened.metadata.num_rows * (len(chosen) + 1))
        names = [schema.field(number).name for number in chosen]
        table = opened.read(columns=names, use_threads=False)
        if table.column_names != names:
            # Columns are chosen by their names, which may come twice or look like the path to a nested one.
            table = opened.read(use_threads=False)
        else:
            chosen = list(range(len(names)))
    if table.num_rows != opened.metadata.num_rows:
        raise FormatError(
            f"{path}: states {opened.metadata.num_rows} rows, its columns have {table.num_rows}"
        )
    columns = [_column(table, number) for number in chosen]
    skipped = [one.name for _, one in fields if not (_is_number(one.type) or _is_time(one.type))]
    measurement = _own(path, metadata, columns) if own else _foreign(path, metadata, columns, skipped)
    return pack(measurement)


@dataclass(frozen=True)
class _Column:
    """A column as it was read: ``values`` (n,), in s from ``first`` on where it is one of times."""

    name: str
    labels: Mapping[str, str]
    values: FloatArray
    is_time: bool
    first: str
    warnings: tuple[str, ...]


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def _is_number(kind: Any) -> bool:
    types = package("pyarrow", "parquet", _TITLE).types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def _is_time(kind: Any) -> bool:
    types = package("pyarrow", "parquet", _TITLE).types
    return bool(types.is_timestamp(kind) or types.is_duration(kind))


def _column(table: Any, number: int) -> _Column:
    pyarrow = package("pyarrow", "parquet", _TITLE)
    schema_field = table.schema.field(number)
    labels = {_decoded(key): _decoded(text) for key, text in (schema_field.metadata or {}).items()}
    data = table.column(number)
    warnings = []
    if data.null_count:
        warnings.append(f"{schema_field.name}: {data.null_count} values are missing: read as NaN")
    first = ""
    is_time = _is_time(schema_field.type)
    if is_time:
        whole = data.cast(pyarrow.int64())
        known = whole.drop_null()
        origin = 0
        if pyarrow.types.is_timestamp(schema_field.type) and len(known):
            origin = known[0].as_py()
            first = _moment(origin, schema_field.type)
        values = (_flat(whole, np.int64) - origin) / _UNITS_A_SECOND[schema_field.type.unit]
    else:
        if pyarrow.types.is_boolean(schema_field.type):
            data = data.cast(pyarrow.uint8())
        values = _flat(data.cast(pyarrow.float64(), safe=False), np.float64)
        if pyarrow.types.is_integer(schema_field.type) and np.any(np.abs(values) > 2.0**53):
            warnings.append(f"{schema_field.name}: integers above 2^53 are rounded")
    if data.null_count:
        values = np.where(_flat(data.is_null().cast(pyarrow.uint8()), np.uint8), np.nan, values)
    return _Column(schema_field.name, labels, values, is_time, first, tuple(warnings))


def _flat(data: Any, kind: type[np.generic]) -> Any:
    """Return a column as an array, anything where it is null: Arrow's own way would import pandas."""
    size = np.dtype(kind).itemsize
    parts = [
        np.frombuffer(chunk.buffers()[1], kind, len(chunk), chunk.offset * size)
        for chunk in data.chunks
        if len(chunk)
    ]
    return np.concatenate(parts) if parts else np.zeros(0, kind)


def _moment(count: int, kind: Any) -> str:
    unit = kind.unit
    zone = f" {kind.tz}" if kind.tz else ""
    return f"{np.datetime_as_string(np.datetime64(count, unit))}{' UTC, zone' if zone else ''}{zone}"


def _own(path: Path, metadata: Mapping[str, str], columns: list[_Column]) -> Measurement:
    stated = json.loads(metadata["mastd.series"])
    name, axis, axis_unit = (str(stated[key]) for key in ("name", "axis", "axis_unit"))
    start = float(stated["start"])
    step = None if stated["step"] is None else float(stated["step"])
    positions = columns.pop(0) if stated["places"] else None
    channels = tuple(
        Channel(
            column.labels.get("name", column.name),
            column.labels.get("unit", ""),
            column.values,
            column.labels.get("description", ""),
        )
        for column in columns
    )
    notes = {str(key): str(text) for key, text in json.loads(metadata["mastd.notes"]).items()}
    warnings = [warning for column in columns for warning in column.warnings]
    if positions is None:
        check_stated(start, step)
        series = Series(channels, step, start, name=name)
    else:
        series, more = kept_or_own(positions.values, start, step, channels, name)
        warnings.extend(more)
    return Measurement("parquet", (replace(series, axis=axis, axis_unit=axis_unit),), notes, tuple(warnings))


def _foreign(
    path: Path, metadata: Mapping[str, str], columns: list[_Column], skipped: list[str]
) -> Measurement:
    warnings = [warning for column in columns for warning in column.warnings]
    if skipped:
        more = ", …" if len(skipped) > 5 else ""
        warnings.append(f"not read (not numeric): {len(skipped)} ({', '.join(skipped[:5])}{more})")
    notes = {key: text[:_MAX_NOTE] for key, text in metadata.items() if key not in _NOT_NOTES}
    axis = _axis_of(metadata, columns)
    channels = tuple(_channel(column) for column in columns if column is not axis)
    if not channels:
        raise FormatError(f"{path}: Parquet without numeric columns")
    if axis is None:
        return Measurement("parquet", (Series(channels, None),), notes, tuple(warnings))
    if axis.first:
        notes[f"{axis.name} begins"] = axis.first
    unit = "s" if axis.is_time else axis.labels.get("unit", axis.labels.get("units", ""))
    if not unit:
        warnings.append(f"{axis.name}: times without a unit")
    positions = in_seconds(axis.values, unit) if unit else axis.values
    if positions is None:
        warnings.append(f"{axis.name}: the unit {unit!r} of the times is unknown: read unconverted")
        series = Series(channels, None, abscissae=axis.values, axis_unit=unit)
    else:
        series, more_warnings = series_on(positions, channels)
        series = series if unit else replace(series, axis_unit="")
        warnings.extend(more_warnings)
    return Measurement("parquet", (series,), notes, tuple(warnings))


def _axis_of(metadata: Mapping[str, str], columns: list[_Column]) -> _Column | None:
    """Return the column of times, by its type or its name; one that is an index of pandas before others."""
    indices = _pandas_indices(metadata.get("pandas", ""))
    by_type = [column for column in columns if column.is_time]
    by_name = [column for column in columns if column.name.lower() in _TIMES]
    return next(iter(sorted((*by_type, *by_name), key=lambda column: column.name not in indices)), None)


def _pandas_indices(text: str) -> tuple[str, ...]:
    try:
        described = json.loads(text)["index_columns"]
        return tuple(one for one in described if isinstance(one, str))
    except (ValueError, LookupError, TypeError, RecursionError):
        return ()


def _channel(column: _Column) -> Channel:
    unit = "s" if column.is_time else column.labels.get("unit", column.labels.get("units", ""))
    return Channel(column.name, unit, column.values, column.labels.get("description", ""))


def write(path: Path, measurement: Measurement) -> tuple[str, ...]:
    """Write the only series of a measurement; see the module for the metadata.

    Raises FormatError where there are several series or the file system refuses, UsageError without pyarrow.
    """
    pyarrow = package("pyarrow", "parquet", _TITLE)
    parquet = package("pyarrow.parquet", "parquet", _TITLE)
    series = one_series(measurement, path, _TITLE)
    has_positions = series.abscissae is not None or series.step is not None
    axis = [plain(series.axis) or "axis"] if has_positions else []
    columns = [series.axis_values()] if has_positions else []
    columns += [channel.values for channel in series.channels]
    names = [*axis, *distinct((plain(channel.name) or "channel" for channel in series.channels), axis)]
    labels: list[dict[str, str]] = [{"unit": plain(series.axis_unit)}] if has_positions else []
    labels += [
        {"name": plain(one.name), "unit": plain(one.unit), "description": plain(one.description)}
        for one in series.channels
    ]
    stated = {
        "name": series.name,
        "axis": series.axis,
        "axis_unit": series.axis_unit,
        "start": series.start,
        "step": series.step,
        "places": has_positions,
    }
    metadata = {
        "mastd.layout": "1",
        "mastd.series": json.dumps(stated),
        "mastd.notes": json.dumps(dict(measurement.notes)),
    }
    schema = pyarrow.schema(
        [
            pyarrow.field(name, pyarrow.float64(), nullable=False, metadata=label)
            for name, label in zip(names, labels, strict=True)
        ],
        metadata=metadata,
    )
    arrays = [_array(pyarrow, column) for column in columns]
    table = pyarrow.Table.from_arrays(arrays, schema=schema)
    with replacing(path) as file:
        parquet.write_table(table, file, compression="none", use_dictionary=False, write_statistics=True)
    return ()


def _array(pyarrow: Any, values: FloatArray) -> Any:
    """Return values as an array of Arrow, without copying them and without pandas."""
    buffer = pyarrow.py_buffer(np.ascontiguousarray(values, dtype=np.float64))
    return pyarrow.Array.from_buffers(pyarrow.float64(), len(values), [None, buffer])


FORMAT = Format(
    name="parquet",
    title=_TITLE,
    suffixes=(".parquet", ".pq"),
    recognises=recognises,
    read=read,
    write=write,
    library=("pyarrow", "parquet"),
)
