"""MDF: asammdf and mdfreader read it equal, others' files are read or refused."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import asammdf
import mdfreader
import numpy as np
import pytest

from mastd.errors import FormatError
from mastd.formats.core.measurement import Channel, Series
from mastd.formats.mdf import mdf4
from tests.support.formats.written_series import NAMES, measurement_of, series_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file.mf4"


@pytest.mark.filterwarnings("ignore:Could not parse CG block names tag")
def test_asammdf_and_mdfreader_read_it_back_equal(path: Path) -> None:
    rng = np.random.default_rng(1)
    tables = rng.standard_normal((500, 3)), rng.standard_normal((70, 1))
    fast = series_of(tables[0], 1e-3, 0.25, "frame")
    slow = Series((Channel("supply", "bar", tables[1][:, 0], "pressure"),), 0.1, 0.0, name="plant")
    mdf4.write(path, measurement_of(fast, slow))
    with asammdf.MDF(path) as mdf:
        assert mdf.version == "4.10"
        signal = mdf.get("supply")
        assert np.array_equal(signal.timestamps, 0.1 * np.arange(70))
        assert np.array_equal(signal.samples, tables[1][:, 0])
        assert (signal.unit, signal.comment) == ("bar", "pressure")
        for number in range(3):
            signal = mdf.get(group=0, index=number + 1)
            assert signal.name == NAMES[number]
            assert np.array_equal(signal.samples, tables[0][:, number])
            assert np.array_equal(signal.timestamps, 0.25 + 1e-3 * np.arange(500))
        notes = {one.get("name"): one.text for one in ElementTree.fromstring(mdf.header.comment).iter("e")}
        assert notes["title"] == "Prüfung <1> & 2"
        groups: Any = mdf.groups
        assert [group.channel_group.acq_name for group in groups] == ["frame", "plant"]
    other = mdfreader.Mdf(str(path))
    assert np.array_equal(other.get_channel_data("supply"), tables[1][:, 0])
    assert np.array_equal(other.get_channel_data("frame.x"), tables[0][:, 2])
    assert np.array_equal(
        other.get_channel_data(other.get_channel_master("frame.x")), 0.25 + 1e-3 * np.arange(500)
    )
    assert other.get_channel_unit("supply") == "bar"


def _foreign(path: Path, version: str, compression: Any = 0) -> None:
    times = np.arange(60) * 0.004
    with asammdf.MDF(version=version) as mdf:
        mdf.append(
            [
                asammdf.Signal(np.arange(60, dtype=np.int16), times, name="raw", unit="V", comment="of ADC"),
                asammdf.Signal(np.arange(60, dtype=">u4"), times, name="big-endian"),
                asammdf.Signal(
                    np.arange(60, dtype=np.uint8), times, name="linear", conversion={"a": 0.5, "b": -3.0}
                ),
                asammdf.Signal(np.array([b"text"] * 60), times, name="text", encoding="utf-8"),
            ],
            common_timebase=True,
        )
        mdf.append(asammdf.Signal(np.arange(30) * 0.25, times[:30] ** 2, name="uneven"))
        mdf.save(path, overwrite=True, compression=compression)


@pytest.mark.parametrize(
    ("version", "compression", "suffix"),
    [("2.14", 0, ".mdf"), ("3.30", 0, ".mdf"), ("4.00", 0, ".mf4"), ("4.10", 2, ".mf4"), ("4.20", 1, ".mf4")],
)
def test_files_of_every_version(tmp_path: Path, version: str, compression: int, suffix: str) -> None:
    path = tmp_path / f"foreign{suffix}"
    _foreign(path, version, compression)
    assert mdf4.recognises(path.read_bytes())
    read = mdf4.read(path)
    even, uneven = read.series
    assert (even.step, even.start, even.axis, even.axis_unit) == (0.004, 0.0, "time", "s")
    values = {channel.name: channel.values.tolist() for channel in even.channels}
    assert values == {
        "raw": list(range(60)),
        "big-endian": list(range(60)),
        "linear": [0.5 * number - 3.0 for number in range(60)],
    }
    assert even.channels[0].unit == "V"
    assert uneven.step is None
    assert np.array_equal(uneven.axis_values(), (np.arange(30) * 0.004) ** 2)
    assert read.notes["MDF version"] == version
    assert read.warnings == ("not read (not numeric): 1 channel",)


def test_values_marked_invalid_are_nan(path: Path) -> None:
    invalid = np.arange(10) % 3 == 0
    with asammdf.MDF(version="4.10") as mdf:
        mdf.append(asammdf.Signal(np.arange(10.0), np.arange(10) * 0.1, name="x", invalidation_bits=invalid))
        mdf.save(path)
    read = mdf4.read(path)
    assert np.array_equal(np.isnan(read.channels[0].values), invalid)
    assert read.warnings == ("x: 4 values are marked invalid: read as NaN",)


def test_a_group_without_master_has_no_step(path: Path) -> None:
    with asammdf.MDF(version="4.10") as mdf:
        mdf.append(asammdf.Signal(np.arange(9.0), np.arange(9) * 0.1, name="x"))
        master: Any = mdf.groups[0].channels[0]
        master.channel_type = master.sync_type = 0
        mdf.save(path)
    series = mdf4.read(path).series[0]
    assert (series.step, series.abscissae) == (None, None)
    assert [channel.name for channel in series.channels] == ["time", "x"]


@pytest.mark.parametrize(
    ("series", "text"),
    [
        (Series((), 0.1), "no channel group without channels"),
        (series_of(np.ones((3, 1)), None), "the step is unknown: give it"),
        (
            Series((Channel("x", "", np.ones(3)),), 0.1, axis_unit="furlong"),
            "axes in s, rad, m, or without a unit, not in 'furlong'",
        ),
    ],
)
def test_what_mdf_cannot_hold_is_refused(path: Path, series: Series, text: str) -> None:
    with pytest.raises(FormatError, match=text):
        mdf4.write(path, measurement_of(series))
    assert not path.exists()


class Parts:
    """A written file of 50 records of 16 bytes, and where its counts stand (ASAM MDF 4.1, blocks)."""

    def __init__(self, path: Path) -> None:
        self.path = path
        mdf4.write(path, measurement_of(series_of(np.arange(50.0)[:, None], 0.01)))
        self.content = bytearray(path.read_bytes())
        self.data = self.content.find(b"##DT")
        self.group = self.content.find(b"##DG")
        self.cycles = self.content.find(b"##CG") + 24 + 6 * 8 + 8

    def set(self, place: int, kind: str, value: Any) -> None:
        struct.pack_into(f"<{kind}", self.content, place, value)

    def read(self) -> Any:
        self.path.write_bytes(self.content)
        return mdf4.read(self.path)

    def not_finalised(self, flags: int) -> None:
        self.content[:8] = b"UnFinMF "
        self.set(60, "H", flags)
        self.set(self.cycles, "Q", 0)


def test_more_records_than_data_are_refused(path: Path) -> None:
    parts = Parts(path)
    parts.set(parts.cycles, "Q", 51)
    with pytest.raises(FormatError, match="states 51 records of 16 bytes, its data are 800 bytes"):
        parts.read()


@pytest.mark.parametrize("length", [24, 24 + 49 * 16, 10**15, 0])
def test_a_wrong_length_of_the_data_is_refused(path: Path, length: int) -> None:
    parts = Parts(path)
    parts.set(parts.data + 8, "Q", length)
    with pytest.raises(FormatError, match=r"states 50 records|damaged|declares"):
        parts.read()


def test_of_a_file_that_was_not_finalised_whole_records_are_read(path: Path) -> None:
    parts = Parts(path)
    # What a recorder leaves that was cut off: data at the end, whose length and count were never written.
    whole = parts.content[parts.data : parts.data + 24 + 30 * 16 + 5]
    place = len(parts.content) + -len(parts.content) % 8
    parts.content = parts.content.ljust(place, b"\0") + whole
    parts.set(parts.group + 24 + 16, "Q", place)
    parts.set(place + 8, "Q", 24)
    parts.not_finalised(0b101)
    read = parts.read()
    assert read.channels[0].values.tolist() == list(range(30))
    assert read.warnings[0] == "the file was not finalised by its writer: complete parts are read"


@pytest.mark.evidence
def test_a_file_cut_anywhere_is_one_line(path: Path) -> None:
    content = bytes(Parts(path).content)
    for kept in range(64, len(content) - 8, 7):
        path.write_bytes(content[:kept])
        with pytest.raises(FormatError) as raised:
            mdf4.read(path)
        assert "\n" not in str(raised.value)


def test_a_bomb_of_zeros_is_refused(path: Path) -> None:
    with asammdf.MDF(version="4.10") as mdf:
        mdf.append(asammdf.Signal(np.zeros(5_000_000, np.uint8), np.zeros(5_000_000), name="x"))
        mdf.save(path, compression=2)
    assert path.stat().st_size < 64_000
    with pytest.raises(
        FormatError, match="declares 10000000 values, 80 MB: maximum for a file of this size 64"
    ):
        mdf4.read(path)
