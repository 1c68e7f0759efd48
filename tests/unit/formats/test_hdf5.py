"""HDF5: h5py sees it as MATLAB does, and files of others are read or refused."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from mastd.errors import FormatError
from mastd.formats.core.measurement import Measurement
from mastd.formats.hdf5 import hdf5
from tests.support.formats.written_series import measurement_of, series_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file.h5"


def test_h5py_reads_it_back_equal(path: Path) -> None:
    table = np.random.default_rng(1).standard_normal((500, 3))
    hdf5.write(path, measurement_of(series_of(table, 1e-3, 0.25, "frame")))
    with h5py.File(path) as file:
        assert file.attrs["settings"].startswith("table:\n  mass")
        group = file["frame"]
        assert list(group) == ["frame.x", "heave", "heave (2)", "time"]
        assert np.array_equal(group["time"], 0.25 + 1e-3 * np.arange(500))
        assert np.array_equal(group["frame.x"], table[:, 2])
        assert (group.attrs["start"], group.attrs["step"]) == (0.25, 1e-3)
        assert group["heave (2)"].attrs["unit"] == "m/s²"
        assert group["heave"].dtype == np.float64
        assert group["heave"].chunks is None


def _matlab(file: h5py.File, name: str, values: Any, kind: str = "double") -> None:
    # As MATLAB does: an n × m matrix is (m, n) in the file.
    dataset = file.create_dataset(name, data=np.atleast_2d(values).T)
    dataset.attrs["MATLAB_class"] = np.bytes_(kind)


def test_a_mat_file_of_matlab(path: Path) -> None:
    times = np.arange(40)[:, None] * 0.005
    table = np.random.default_rng(2).standard_normal((40, 3))
    with h5py.File(path, "w", userblock_size=512) as file:
        _matlab(file, "run/t", times)
        _matlab(file, "run/accelerations", table)
        _matlab(file, "run/row", table[:, :1].T)
        _matlab(file, "run/fs", 200.0)
        _matlab(file, "wide", table[:2])
        _matlab(file, "run/site", np.frombuffer("Prüfstand".encode("utf-16le"), np.uint16)[None], "char")
        file.create_dataset("cells", data=[file["run"].ref], dtype=h5py.ref_dtype)
    assert hdf5.recognises(path.read_bytes())
    read = hdf5.read(path)
    wide, series = read.series
    assert np.array_equal(wide.matrix(), table[:2])
    assert (series.name, series.step, series.start) == ("run", 0.005, 0.0)
    assert [channel.name for channel in series.channels] == [
        *(f"accelerations[{number}]" for number in (1, 2, 3)),
        "row",
    ]
    assert np.array_equal(series.matrix(), np.column_stack([table, table[:, 0]]))
    assert read.notes == {"run/fs": "200.0", "run/site": "Prüfstand"}
    assert read.warnings == (
        "/run/t: times without a unit",
        "not read (no numeric series): 1 (cells)",
    )


def test_groups_of_others(path: Path) -> None:
    with h5py.File(path, "w", libver="latest") as file:
        file.attrs["operator"] = "A. N. Other"
        group = file.create_group("daq")
        group["Time"] = np.arange(30, dtype=">u4") * 2
        group["Time"].attrs["units"] = np.bytes_("ms")
        packed = group.create_dataset(
            "force", data=np.arange(30, dtype=">i2"), chunks=(7,), compression="gzip", shuffle=True
        )
        packed.attrs["Unit"] = ["kN"]
        group["flags"] = np.arange(30) % 2 == 0
        group["table"] = np.arange(60.0).reshape(30, 2)
        group["slow"] = np.arange(5, dtype=np.int64) + 2**60
        group["again"] = h5py.SoftLink("/daq/force")
        group["loop"] = group
    read = hdf5.read(path)
    fast, slow = read.series
    assert (fast.name, fast.step, fast.start, fast.axis_unit) == ("daq", 0.002, 0.0, "s")
    found = {channel.name: channel for channel in fast.channels}
    assert list(found) == ["flags", "force", "table[1]", "table[2]"]
    assert found["force"].unit == "kN"
    assert found["force"].values.tolist() == list(range(30))
    assert found["table[2]"].values.tolist() == list(range(1, 60, 2))
    assert (slow.step, slow.count) == (None, 5)
    assert read.notes == {"operator": "A. N. Other"}
    assert read.warnings == ("/daq/slow: integers above 2^53 are rounded",)


def test_uneven_times_and_times_that_go_back(path: Path) -> None:
    with h5py.File(path, "w") as file:
        for name, times in (("a", [0.0, 0.1, 0.3]), ("b", [0.0, 0.2, 0.1])):
            file[f"{name}/time"] = times
            file[f"{name}/time"].attrs["unit"] = "s"
            file[f"{name}/x"] = [1.0, 2.0, 3.0]
    read = hdf5.read(path)
    assert [series.step for series in read.series] == [None, None]
    assert [series.axis_values().tolist() for series in read.series] == [[0.0, 0.1, 0.3], [0.0, 0.2, 0.1]]
    assert read.warnings == ("b: the times do not increase from value 1 (0.2 s) to the next (0.1 s)",)


def test_changed_times_count_against_the_stated_step(path: Path) -> None:
    hdf5.write(path, measurement_of(series_of(np.ones((4, 1)), 0.1, 0.0, "s")))
    with h5py.File(path, "r+") as file:
        file["s/time"][:] = np.arange(4) * 0.2
    read = hdf5.read(path)
    assert read.series[0].step == 0.2
    assert read.warnings == ("s: states start 0 s and step 0.1 s, its times are others: they count",)


def _external_link(group: h5py.Group, other: Path) -> None:
    group["x"] = h5py.ExternalLink(str(other), "/secret")


def _external_values(group: h5py.Group, other: Path) -> None:
    group.create_dataset("x", (3,), "f8", external=[(str(other), 0, 24)])


def _virtual(group: h5py.Group, other: Path) -> None:
    layout = h5py.VirtualLayout((3,), "f8")
    layout[:] = h5py.VirtualSource(str(other), "secret", (3,))
    group.create_virtual_dataset("x", layout)


def _bomb(group: h5py.Group, _: Path) -> None:
    group.create_dataset("x", (10**12,), "f8", chunks=(1000,))


def _unknown_filter(group: h5py.Group, _: Path) -> None:
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_chunk((3,))
    properties.set_filter(32015, h5py.h5z.FLAG_OPTIONAL)
    h5py.h5d.create(group.id, b"x", h5py.h5t.IEEE_F64LE, h5py.h5s.create_simple((3,)), properties)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (_external_link, r"/s/x is a link to the file '.*': external files are not opened"),
        (_external_values, r"the values of /s/x are in external files, which are not opened"),
        (_virtual, r"the values of /s/x are in external files, which are not opened"),
        (_bomb, r"declares 10000000000\d\d values, 8000000 MB: maximum for a file of this size 64 MB"),
        (_unknown_filter, r"/s/x is compressed with the filter 32015 \(.*\), which is not available"),
    ],
)
@pytest.mark.parametrize("own", [False, True])
def test_other_files_bombs_and_unknown_filters_are_refused(
    path: Path, tmp_path: Path, make: Callable[[h5py.Group, Path], None], text: str, own: bool
) -> None:
    other = tmp_path / "other.h5"
    with h5py.File(other, "w") as file:
        file["secret"] = [1.0, 2.0, 3.0]
    hdf5.write(path, measurement_of(series_of(np.ones((3, 1)), 0.1, name="s")))
    with h5py.File(path, "r+" if own else "w") as file:
        make(file.require_group("s"), other)
    with pytest.raises(FormatError, match=text) as raised:
        hdf5.read(path)
    assert str(raised.value).startswith(f"{path}: ")
    assert "\n" not in str(raised.value)


def test_no_numbers_are_refused(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["note"] = "text"
        file["table"] = np.zeros(5, [("a", "f8")])
    with pytest.raises(FormatError, match=r"without any series of numbers: not read .*: 1 \(table\)"):
        hdf5.read(path)


def test_a_file_that_its_writer_never_closed(path: Path) -> None:
    program = (
        "import h5py, os, sys; file = h5py.File(sys.argv[1], 'w', libver='latest'); "
        "x = file.create_dataset('x', (0,), 'f8', maxshape=(None,), chunks=(100,)); file.swmr_mode = True; "
        "x.resize((150,)); x[:] = range(150); x.flush(); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", program, str(path)], check=True)
    read = hdf5.read(path)
    assert read.channels[0].values.tolist() == list(range(150))
    assert read.warnings == ("the file was not closed by its writer: only flushed data are read",)


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.99])
def test_a_cut_file_is_one_line(path: Path, kept: float) -> None:
    hdf5.write(path, measurement_of(series_of(np.ones((50, 3)), 0.1)))
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content))])
    with pytest.raises(FormatError, match=r"damaged: .*truncated file") as raised:
        hdf5.read(path)
    assert "\n" not in str(raised.value)


def test_no_series_at_all_comes_back(path: Path) -> None:
    hdf5.write(path, Measurement("test", (), {"title": "nothing"}))
    read = hdf5.read(path)
    assert (read.series, read.notes) == ((), {"title": "nothing"})
