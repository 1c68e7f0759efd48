"""Roads survive being written, in every coding, and other readers take what is written."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mastd.errors import FormatError
from mastd.formats.core.measurement import Channel, Measurement, Series
from mastd.formats.opencrg.file import FORMAT, read_opencrg
from mastd.formats.opencrg.header import CODINGS
from mastd.formats.opencrg.road import OpenCrgRoad
from mastd.formats.opencrg.write import write_opencrg
from tests.support.formats.opencrg_texts import (
    BANKING,
    PHI,
    RANGE,
    ROAD,
    SECTIONS,
    SLOPE,
    Z,
    block,
    cells,
    crg,
    holed,
)

HEIGHTS = {"LRFI": (5e-7, 1e-6), "LDFI": (1e-14, 1e-15), "KRBI": (1e-12, 1e-7), "KDBI": (1e-14, 1e-15)}
"""Digits of a coding: metres, and of a height."""
TURNS = {"LRFI": 1e-6, "LDFI": 1e-14, "KRBI": 2e-7, "KDBI": 1e-14}
"""Of a heading, rad."""


def any_road(seed: int, curved: bool, even: bool, scale: float, level: float) -> OpenCrgRoad:
    rng = np.random.default_rng(seed)
    rows, columns, spacing = (
        int(rng.integers(2, 40)),
        int(rng.integers(2, 11)),
        float(rng.choice([0.01, 0.3, 1.0])),
    )
    turns = rng.normal(0.0, 0.05 * spacing, rows - 1) if curved else np.zeros(rows - 1)
    headings = rng.uniform(-3.0, 3.0) + np.cumsum(turns)
    chords = spacing * np.column_stack([np.cos(headings), np.sin(headings)])
    line = np.cumsum(np.vstack([rng.uniform(-500.0, 500.0, 2), chords]), axis=0)
    across = np.cumsum(np.full(columns, 0.25) if even else rng.uniform(1e-3, 1.0, columns)) - 1.0
    heights = level + scale * rng.normal(0.0, 1.0, (rows, columns))
    return OpenCrgRoad(float(rng.choice([0.0, -2.5, 100.0])), spacing, line, across, heights)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    curved=st.booleans(),
    even=st.booleans(),
    scale=st.sampled_from([1e-6, 0.02, 5.0]),
    level=st.sampled_from([0.0, 812.3, -3.0]),
    coding=st.sampled_from(CODINGS),
)
def test_any_road_survives_and_the_library_reads_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    seed: int,
    curved: bool,
    even: bool,
    scale: float,
    level: float,
    coding: str,
) -> None:
    road = any_road(seed, curved, even, scale, level)
    path = tmp_path_factory.getbasetemp() / "written.crg"
    write_opencrg(path, road, coding, ["$ a comment", "x" * 72 + "$ROAD_CRG"])
    read = read_opencrg(path)
    metres, share = HEIGHTS[coding]
    beside = metres + share * (np.abs(road.heights).max() - abs(round(level)) + 5.0 + 10.0 * scale)
    close = 1e-12 * abs(level) + beside
    far = 1e-11 + TURNS[coding] * road.spacing * len(road.line)
    assert not read.warnings
    assert (read.start, read.spacing) == (road.start, road.spacing)
    assert read.across == pytest.approx(road.across, abs=1e-12)
    assert np.abs(read.heights - road.heights).max() <= close
    assert np.abs(read.line - road.line).max() <= far
    pycrg = pytest.importorskip("pycrg")
    with pycrg.DataSet.open(path, check=True) as dataset:
        grid = dataset.grid()
    # The library keeps heights in single precision.
    assert np.abs(grid.elevation - road.heights).max() <= close + 1e-7 * (5.0 + 10.0 * scale)
    assert np.abs(np.column_stack([grid.x, grid.y]) - road.line).max() <= far
    assert grid.v == pytest.approx(road.across, abs=1e-12)
    header = path.read_bytes().split(b"$$$$")[0].decode("ascii").splitlines()
    assert all(len(line) <= 72 for line in header)
    assert header.count("$ROAD_CRG") == 1


@settings(max_examples=40)
@given(table=st.lists(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3), min_size=2, max_size=6))
def test_any_table_of_heights_survives_every_digit(
    tmp_path_factory: pytest.TempPathFactory, table: list[list[float]]
) -> None:
    heights = np.array(table)
    path = tmp_path_factory.getbasetemp() / "table.crg"
    channels = [Channel(f"v = {k} m", "m", heights[:, k]) for k in range(3)]
    series = Series(tuple(channels), 0.1, 7.0, axis="u", axis_unit="m")
    assert FORMAT.write is not None
    assert FORMAT.write(path, Measurement("csv", (series,))) == ()
    read = FORMAT.read(path).series[0]
    assert read.matrix()[:, 3:] == pytest.approx(heights, abs=1e-30, rel=0.0)
    assert (read.start, read.step) == (7.0, 0.1)


def test_a_first_number_like_a_line_end_is_not_misread(tmp_path: Path) -> None:
    """Other readers pass over line ends after the header."""
    heights = Z.copy()
    heights[0, 0] = np.frombuffer(b"\n\r\n\0\0\0\0\1", ">f8")[0]
    line = np.column_stack([np.arange(9.0), np.zeros(9)])
    write_opencrg(tmp_path / "a.crg", OpenCrgRoad(0.0, 1.0, line, np.arange(4.0), heights))
    assert read_opencrg(tmp_path / "a.crg").heights == pytest.approx(heights, abs=1e-30)
    pycrg = pytest.importorskip("pycrg")
    with pycrg.DataSet.open(tmp_path / "a.crg") as dataset:
        assert dataset.grid().z == pytest.approx(heights, abs=1e-8)


@pytest.mark.parametrize("channels", [(), (PHI,), (SLOPE, BANKING), (PHI, SLOPE, BANKING)])
def test_what_is_stored_survives_reading_and_writing(tmp_path: Path, channels: tuple[str, ...]) -> None:
    """Cells without a number, comments, options and modifiers too."""
    assert FORMAT.write is not None
    own = np.column_stack(
        [0.01 * np.arange(9.0) * (k + 1) for k in range(len(channels))] + [holed((4, 1), (5, 0))]
    )
    path = crg(
        tmp_path / "a.crg",
        channels="".join(channels) + SECTIONS,
        data=cells(own),
        road=ROAD + RANGE + "REFERENCE_LINE_START_Z = 4\nREFERENCE_LINE_START_X = 3\n",
        more=block("ROAD_CRG_MODS", "GRID_NAN_MODE = 2") + block("ROAD_CRG_OPTS", "BORDER_MODE_U = 1"),
    )
    first = FORMAT.read(path)
    assert FORMAT.write(tmp_path / "b.crg", first) == ()
    again = FORMAT.read(tmp_path / "b.crg")
    assert [channel.name for channel in again.channels] == [channel.name for channel in first.channels]
    for one, other in zip(first.channels, again.channels, strict=True):
        skipped = 1 if one.name in ("reference line phi", "reference line slope") else 0
        assert other.values[skipped:] == pytest.approx(one.values[skipped:], abs=1e-12, nan_ok=True)
    assert again.notes == first.notes
    assert read_opencrg(tmp_path / "b.crg").heights == pytest.approx(read_opencrg(path).heights, abs=1e-12)
    pycrg = pytest.importorskip("pycrg")
    with pycrg.DataSet.open(tmp_path / "b.crg") as dataset:
        assert dataset.grid().elevation == pytest.approx(read_opencrg(path).heights, abs=1e-6)


def test_levels_of_the_line_become_its_slopes(tmp_path: Path) -> None:
    assert FORMAT.write is not None
    level = np.array([1.0, 1.2, 1.1, 5.0])
    channels = [Channel("reference line z", "m", level)]
    channels += [Channel(f"v = {v} m", "m", np.full(4, v)) for v in (0.5, -0.5)]
    measurement = Measurement("csv", (Series(tuple(channels), 2.0, axis="u", axis_unit="m"),))
    assert FORMAT.write(tmp_path / "a.crg", measurement) == ()
    road = read_opencrg(tmp_path / "a.crg")
    assert road.heights == pytest.approx(level[:, np.newaxis] + np.array([-0.5, 0.5]))
    assert road.across == pytest.approx([-0.5, 0.5])


STRAIGHT = OpenCrgRoad(0.0, 0.5, np.column_stack([0.5 * np.arange(9), np.zeros(9)]), np.arange(4.0), Z)


@pytest.mark.parametrize(
    ("road", "coding", "told"),
    [
        (STRAIGHT, "LRBI", "coding 'LRBI', expected one of LRFI, LDFI, KRBI, KDBI"),
        (
            replace(STRAIGHT, spacing=0.51),
            "KDBI",
            "0.5 m from row 1 to the next, OpenCRG has the increment 0.51 m",
        ),
        (replace(STRAIGHT, heights=holed((1, 1))), "KDBI", "heights: not all numbers are finite"),
        (replace(STRAIGHT, heights=Z * 1e40), "KRBI", "a number is too large for KRBI"),
        (replace(STRAIGHT, heights=Z[:, :1], across=np.zeros(1)), "KDBI", "9 rows of 1 heights at 1 v"),
        (
            replace(STRAIGHT, heights=Z[:8]),
            "KDBI",
            "heights (8, 4) and line (9, 2): expected (n, m) and (n, 2)",
        ),
        (replace(STRAIGHT, across=np.array([0.0, 1.0, 1.0, 2.0])), "KDBI", "v must increase"),
        (replace(STRAIGHT, start=math.nan), "KDBI", "u from nan every 0.5 m"),
        (
            replace(STRAIGHT, line=STRAIGHT.line + math.inf),
            "KDBI",
            "reference line: not all numbers are finite",
        ),
    ],
)
def test_what_is_no_road_is_not_written(tmp_path: Path, road: OpenCrgRoad, coding: str, told: str) -> None:
    with pytest.raises(FormatError) as error:
        write_opencrg(tmp_path / "a.crg", road, coding)
    assert told in str(error.value)
    assert not list(tmp_path.iterdir())


def series(*names: str, unit: str = "m", step: float | None = 0.5, axis_unit: str = "m") -> Series:
    channels = tuple(Channel(name, unit, np.arange(9.0)) for name in names)
    return Series(channels, step, axis="u" if axis_unit == "m" else "time", axis_unit=axis_unit)


@pytest.mark.parametrize(
    ("what", "told"),
    [
        (
            (series("v = 0 m", "v = 1 m", axis_unit="s"),),
            "holds heights along a road in m, this series is time in 's'",
        ),
        ((series("v = 0 m", "v = 1 m", step=None),), "OpenCRG needs a constant step"),
        ((series("v = 0 m", "heave"),), "two or more height channels named 'v = … m', here are 1"),
        ((series("v = 0 m", "v = 1 m", unit="mm"),), "v = 0 m: unit 'mm', OpenCRG needs m"),
        ((series("v = 0 m", "v = x m"),), "'x' is not a number"),
        ((series("v = 0 m", "v = nan m"),), "v: not all numbers are finite"),
        ((series("v = 0 m", "v = 1 m", "reference line x", "reference line y"),), "0.5 m between all"),
        ((series("v = 0 m", "v = 1 m"),) * 2, "these are 2 series"),
    ],
)
def test_series_that_are_no_road_are_not_written(tmp_path: Path, what: tuple[Series, ...], told: str) -> None:
    assert FORMAT.write is not None
    with pytest.raises(FormatError) as error:
        FORMAT.write(tmp_path / "a.crg", Measurement("csv", what))
    assert told in str(error.value)
    assert not list(tmp_path.iterdir())


def test_what_a_road_does_not_keep_is_told(tmp_path: Path) -> None:
    assert FORMAT.write is not None
    measurement = Measurement("csv", (series("v = 0 m", "v = 1 m", "speed"),), {"station": "here"})
    lost = FORMAT.write(tmp_path / "a.crg", measurement)
    assert lost == ("channel 'speed' is not written", "note 'station' is not written")
