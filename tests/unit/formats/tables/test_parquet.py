"""Parquet: pandas reads it equal, and files of others are read or refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from mastd.errors import FormatError
from mastd.formats.tables import parquet
from tests.support.formats.written_series import measurement_of, series_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file.parquet"


def test_pandas_reads_it_back_equal(path: Path) -> None:
    table = np.random.default_rng(1).standard_normal((500, 3))
    table[3, 1] = np.nan
    parquet.write(path, measurement_of(series_of(table, 1e-3, 0.25)))
    frame = pd.read_parquet(path)
    assert list(frame.columns) == ["time", "heave", "heave (2)", "frame.x"]
    assert np.array_equal(frame["time"], 0.25 + 1e-3 * np.arange(500))
    assert np.array_equal(frame.to_numpy()[:, 1:], table, equal_nan=True)
    field = pq.read_schema(path).field("heave (2)")
    assert field.metadata[b"unit"] == "m/s²".encode()
    assert not field.nullable


def test_several_series_are_refused(path: Path) -> None:
    one = series_of(np.ones((3, 1)))
    with pytest.raises(FormatError, match=r"these are 2 series: choose channels of a single series"):
        parquet.write(path, measurement_of(one, one))
    assert not path.exists()


def test_a_frame_of_pandas_with_time_stamps_as_index(path: Path) -> None:
    frame = pd.DataFrame(
        {
            "x": [1.5, None, 2.5, 3.5],
            "count": np.array([1, 2, 3, 2**60]),
            "small": np.array([1, 2, 3, 4], np.float16),
            "on": [True, False, True, True],
            "maybe": pd.array([1, None, 3, 4], dtype="Int32"),
            "text": list("abcd"),
        },
        index=pd.date_range("2024-02-03 04:05:06", periods=4, freq="10ms", tz="UTC", name="when"),
    )
    frame.to_parquet(path)
    read = parquet.read(path)
    (series,) = read.series
    assert (series.step, series.start) == (0.01, 0.0)
    assert read.notes == {"when begins": "2024-02-03T04:05:06.000000 UTC, zone UTC"}
    values = {channel.name: channel.values.tolist() for channel in series.channels}
    assert values["small"] == [1.0, 2.0, 3.0, 4.0]
    assert values["on"] == [1.0, 0.0, 1.0, 1.0]
    assert values["count"] == [1.0, 2.0, 3.0, 2.0**60]
    assert np.array_equal(values["x"], [1.5, np.nan, 2.5, 3.5], equal_nan=True)
    assert np.array_equal(values["maybe"], [1.0, np.nan, 3.0, 4.0], equal_nan=True)
    assert read.warnings == (
        "x: 1 values are missing: read as NaN",
        "count: integers above 2^53 are rounded",
        "maybe: 1 values are missing: read as NaN",
        "not read (not numeric): 1 (text)",
    )


def test_columns_called_time_and_durations(path: Path) -> None:
    pd.DataFrame({"Time": [0.0, 0.1, 0.3], "x": [1.0, 2.0, 3.0]}).to_parquet(path)
    read = parquet.read(path)
    assert read.series[0].axis_values().tolist() == [0.0, 0.1, 0.3]
    assert read.series[0].axis_unit == ""
    assert read.warnings == ("Time: times without a unit",)
    durations = pa.array([5_000, 7_000, 9_000], pa.duration("us"))
    pq.write_table(pa.table({"x": [1, 2, 3], "d": durations}), path)
    series = parquet.read(path).series[0]
    assert (series.start, series.step) == (0.005, 0.002)


def test_without_times_there_is_no_step(path: Path) -> None:
    field = pa.field("x", pa.int16(), metadata={"unit": "mV", "description": "raw"})
    schema = pa.schema([field], metadata={"logger": "A-1"})
    pq.write_table(pa.table({"x": pa.array([1, 2], pa.int16())}, schema=schema), path)
    read = parquet.read(path)
    assert (read.series[0].step, read.series[0].abscissae) == (None, None)
    assert (read.channels[0].unit, read.channels[0].description) == ("mV", "raw")
    assert read.notes == {"logger": "A-1"}


def test_columns_with_the_same_name_or_one_that_looks_like_a_path(path: Path) -> None:
    nested = pa.array([{"b": 1.0}, {"b": 2.0}])
    numbers = [pa.array([3.0, 4.0]), pa.array([5.0, 6.0]), nested, pa.array([7.0, 8.0])]
    pq.write_table(pa.Table.from_arrays(numbers, names=["x", "x", "a", "a.b"]), path)
    read = parquet.read(path)
    assert [(one.name, one.values.tolist()) for one in read.channels] == [
        ("x", [3.0, 4.0]),
        ("x", [5.0, 6.0]),
        ("a.b", [7.0, 8.0]),
    ]


def test_a_bomb_of_equal_numbers_is_refused(path: Path) -> None:
    table = pa.table({"x": pa.array(np.zeros(20_000_000))})
    pq.write_table(table, path, compression="zstd", write_statistics=False)
    assert path.stat().st_size < 100_000
    with pytest.raises(
        FormatError,
        match=r"declares 40000000 values, 320 MB: maximum for a file of this "
        r"size",
    ):
        parquet.read(path)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"PAR1", "damaged: Parquet file size is 4 bytes"),
        (b"PAR1" + bytes(40), "damaged: Parquet magic bytes not found"),
        (b"PARE" + bytes(40) + b"PARE", "encrypted footer"),
        (b"PAR1" + bytes(20) + b"\xff\xff\xff\x7fPAR1", "damaged: Parquet file size is 32 bytes, smaller"),
    ],
)
def test_damaged_files_are_one_line(path: Path, content: bytes, text: str) -> None:
    path.write_bytes(content)
    assert parquet.recognises(content)
    with pytest.raises(FormatError, match=text) as raised:
        parquet.read(path)
    assert str(raised.value).startswith(f"{path}: ")
    assert "\n" not in str(raised.value)


def test_no_numbers_are_refused(path: Path) -> None:
    pq.write_table(pa.table({"text": ["a"]}), path)
    with pytest.raises(FormatError, match="Parquet without numeric columns"):
        parquet.read(path)
