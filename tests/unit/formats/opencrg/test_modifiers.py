"""Modifiers and options of OpenCRG files: against ASAM's own C library, and against numbers by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mastd.errors import FormatError
from mastd.formats.opencrg.file import read_opencrg
from mastd.formats.opencrg.road import OpenCrgRoad
from tests.support.formats.opencrg_texts import (
    ACROSS,
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

SCALES = ("z_grid", "slope", "banking", "length", "width", "curvature")
POINT = {
    "u": ("refpoint_u", 3.25),
    "u_fraction": ("refpoint_u_fraction", 0.4),
    "v": ("refpoint_v", 0.3),
    "v_fraction": ("refpoint_v_fraction", 0.7),
    "x": ("refpoint_x", 12.0),
    "y": ("refpoint_y", -5.0),
    "z": ("refpoint_z", 0.7),
    "phi": ("refpoint_phi", 0.6),
}
LINE = ("refline_offset_x", "refline_offset_y", "refline_offset_z", "refline_offset_phi")


def modified(path: Path, *lines: str, **changes: Any) -> OpenCrgRoad:
    return read_opencrg(crg(path, more=block("ROAD_CRG_MODS", *lines), **changes))


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    curved=st.booleans(),
    scales=st.sets(st.sampled_from(SCALES)),
    point=st.sets(st.sampled_from(sorted(POINT))),
    line=st.sets(st.sampled_from(LINE)),
    mode=st.sampled_from([1, 2]),
)
def test_modifiers_are_those_of_the_library(
    tmp_path_factory: pytest.TempPathFactory,
    seed: int,
    curved: bool,
    scales: set[str],
    point: set[str],
    line: set[str],
    mode: int,
) -> None:
    """Of a file that the library wrote as well. It keeps heights in single precision."""
    pycrg = pytest.importorskip("pycrg")
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.integers(12, 30)), int(rng.integers(3, 7))
    heights = rng.normal(0.0, 0.1, (rows, columns))
    heights[rng.integers(0, rows, 3), 0] = math.nan
    heights[rng.integers(0, rows, 3), -1] = math.nan
    modifiers: dict[str, float] = {f"scale_{name}": float(rng.uniform(0.6, 1.4)) for name in scales}
    for other in ("u", "v"):
        if other in point:
            point = point - {f"{other}_fraction"}
    modifiers |= dict(POINT[name] for name in point)
    if not point:
        modifiers |= {name: float(rng.normal()) for name in line}
        modifiers |= {"refline_rotcenter_x": 1.0, "refline_rotcenter_y": 2.0} if line else {}
    path = tmp_path_factory.getbasetemp() / "modified.crg"
    pycrg.write(
        path,
        heights,
        0.5,
        np.sort(rng.permutation(40)[:columns]) * 0.1 - 2.0,
        phi=0.3 + np.cumsum(np.append(0.0, rng.normal(0.0, 0.02, rows - 2))) if curved else 0.3,
        slope=rng.normal(0.0, 0.05, rows - 1),
        banking=rng.normal(0.0, 0.05, rows),
        u0=2.0,
        x0=3.0,
        y0=4.0,
        z0=5.0,
        fmt="KDBI",
        mods={**modifiers, "grid_nan_mode": mode},
        check=False,
    )
    road = read_opencrg(path)
    with pycrg.DataSet.open(path) as dataset:
        grid = dataset.grid()
    assert road.line == pytest.approx(np.column_stack([grid.x, grid.y]), abs=1e-10)
    assert road.heights == pytest.approx(grid.elevation, abs=2e-7)
    assert road.across == pytest.approx(grid.v)
    assert road.spacing == pytest.approx(grid.u[1] - grid.u[0])
    assert road.start == 2.0


def test_scales_by_hand(tmp_path: Path) -> None:
    """Slope 0.1, banking 0.02, a bend of 0.01 rad every 0.5 m; the first heading and slope are not used."""
    rows = len(Z)
    headings = 0.01 * np.arange(rows)
    table = np.column_stack([headings, np.full(rows, 0.1), np.full(rows, 0.02), Z])
    road = modified(
        tmp_path / "a.crg",
        "SCALE_Z_GRID = 3",
        "SCALE_SLOPE = 0.5",
        "SCALE_BANKING = 2.0d0",
        "SCALE_LENGTH = 2",
        "SCALE_WIDTH = 1.5",
        "SCALE_CURVATURE = -1",
        channels=PHI + SLOPE + BANKING + SECTIONS,
        data=cells(table),
        road=ROAD + RANGE + "REFERENCE_LINE_START_PHI = 0\nREFERENCE_LINE_END_Z = 0.4\n",
    )
    u = np.arange(rows)
    assert road.spacing == 1.0
    assert road.across == pytest.approx(1.5 * ACROSS)
    wanted = 3.0 * Z + 0.05 * u[:, np.newaxis] + 0.04 * 1.5 * ACROSS
    assert road.heights == pytest.approx(wanted, abs=1e-12)
    assert road.line[1:] == pytest.approx(
        np.cumsum(np.column_stack([np.cos(headings), -np.sin(headings)])[1:], axis=0), abs=1e-12
    )


def test_curvature_is_scaled_where_headings_pass_half_a_turn(tmp_path: Path) -> None:
    """The library would take the jump from π to −π for a bend."""
    headings = 3.0 + 0.1 * np.arange(9)
    stored = np.column_stack([np.arctan2(np.sin(headings), np.cos(headings)), Z])
    road = modified(
        tmp_path / "a.crg",
        "SCALE_CURVATURE = 0.5",
        channels=PHI + SECTIONS,
        data=cells(stored),
        road=ROAD + RANGE + "REFERENCE_LINE_START_PHI = 3.0\n",
    )
    chords = np.diff(road.line, axis=0)
    assert np.unwrap(np.arctan2(chords[:, 1], chords[:, 0])) == pytest.approx(
        3.0 + 0.05 * np.arange(1, 9), abs=1e-5
    )


def test_places_by_hand(tmp_path: Path) -> None:
    """A straight road along x: by a point of it, and by an offset about another point."""
    road = modified(
        tmp_path / "a.crg",
        "REFPOINT_U = 1",
        "REFPOINT_V = 0.5",
        "REFPOINT_X = 7",
        "REFPOINT_PHI = 1.5707963267948966",
    )
    assert road.line[[0, -1]] == pytest.approx(np.array([[7.5, -1.0], [7.5, 3.0]]), abs=1e-12)
    assert road.heights == pytest.approx(Z - Z[2, 2], abs=1e-12)
    road = modified(
        tmp_path / "b.crg",
        "REFLINE_OFFSET_PHI = 3.141592653589793",
        "REFLINE_OFFSET_X = 1",
        "REFLINE_OFFSET_Z = -0.5",
        "REFLINE_ROTCENTER_X = 2",
        "REFLINE_ROTCENTER_Y = 3",
    )
    assert road.line[[0, -1]] == pytest.approx(np.array([[5.0, 6.0], [1.0, 6.0]]), abs=1e-12)
    assert road.heights == pytest.approx(Z - 0.5, abs=1e-12)
    between = modified(
        tmp_path / "c.crg", "REFPOINT_U_FRACTION = 0.5", "REFPOINT_U_OFFSET = 0.25", "REFPOINT_Z = 1"
    )
    assert between.line[0, 0] == pytest.approx(-2.25)
    assert between.heights == pytest.approx(Z + 1.0 - Z[4:6, 1:3].mean(), abs=1e-12)
    assert not between.warnings
    both = modified(tmp_path / "d.crg", "REFPOINT_X = 3", "REFLINE_OFFSET_X = 100")
    assert both.line[0, 0] == 3.0
    assert "d.crg:13: REFLINE_OFFSET_X and REFPOINT_…: REFPOINT_… is used" in both.warnings[0]


def test_cells_without_a_number_at_the_edges_take_their_neighbours(tmp_path: Path) -> None:
    table = holed((3, 0), (4, 0), (4, 1), (6, 3), (7, 2), (7, 3))
    road = read_opencrg(crg(tmp_path / "a.crg", data=cells(table)))
    wanted = Z.copy()
    wanted[3, 0], wanted[4, :2], wanted[6, 3], wanted[7, 2:] = Z[3, 1], Z[4, 2], Z[6, 2], Z[7, 1]
    assert road.heights == pytest.approx(wanted, abs=1e-12)
    assert modified(tmp_path / "b.crg", "SCALE_WIDTH = 1", data=cells(table)).heights == pytest.approx(wanted)


def test_grid_nan_modes(tmp_path: Path) -> None:
    """Row after row, also where the library forgets the offset: after a row with a gap at the right edge."""
    table = holed((2, 0), (3, 3), (4, 1), (4, 2), (5, 0), (5, 2))
    zero = modified(tmp_path / "a.crg", "GRID_NAN_MODE = 1", "GRID_NAN_OFFSET = 0.25", data=cells(table))
    assert zero.heights == pytest.approx(np.where(np.isnan(table), 0.25, Z), abs=1e-12)
    last = modified(tmp_path / "b.crg", "GRID_NAN_MODE = 2", "GRID_NAN_OFFSET = 0.25", data=cells(table))
    wanted = Z.copy()
    wanted[2, 0], wanted[3, 3], wanted[4, 1:3] = Z[2, 1] + 0.25, Z[3, 2] + 0.25, Z[4, 0] + 0.25
    wanted[5, 0], wanted[5, 2] = Z[5, 1] + 0.25, Z[5, 1] + 0.25
    assert last.heights == pytest.approx(wanted, abs=1e-12)
    with pytest.raises(FormatError, match=r"row 3, u = 1 m, v = -1.5 m: .*GRID_NAN_MODE = 0 leaves it so"):
        modified(tmp_path / "c.crg", "GRID_NAN_MODE = 0", data=cells(table))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("SCALE_LENGTH = 0", ":12: SCALE_LENGTH is 0, expected a factor above 0"),
        ("SCALE_WIDTH = -1", ":12: SCALE_WIDTH is -1, expected a factor above 0"),
        ("SCALE_LENGTH = 1e-300", "SCALE_LENGTH gives 5e-301 m a row"),
        ("SCALE_Z_GRID = 1e308\nSCALE_SLOPE = 2\nREFPOINT_Z = 1.7e308", "positions overflow"),
        ("SCALE_Z_GRID = much", ":12: SCALE_Z_GRID: 'much' is not a finite number"),
        ("SCALE_Z_GRID = 1e999", ":12: SCALE_Z_GRID: '1e999' is not a finite number"),
        ("SCALE_Z_GRID 2", ":12: 'SCALE_Z_GRID 2' in $ROAD_CRG_MODS, expected KEY = number"),
        ("GRID_NAN_MODE = 3", ":12: GRID_NAN_MODE is 3, expected 0, 1 or 2"),
        (
            "REFPOINT_U = 1\nREFPOINT_U_FRACTION = 0",
            ":13: REFPOINT_U_FRACTION and REFPOINT_U, expected only one",
        ),
        ("SCALE_Z_GRID = 2\nscale_z_grid = 3", ":13: scale_z_grid is 3 here and 2 in line 12"),
    ],
)
def test_modifiers_that_mean_nothing_are_refused(tmp_path: Path, line: str, told: str) -> None:
    with pytest.raises(FormatError) as error:
        modified(tmp_path / "a.crg", line, data=cells(100.0 * Z))
    assert told in str(error.value)
    assert "\n" not in str(error.value)


def test_a_modifier_that_is_not_known_is_told(tmp_path: Path) -> None:
    road = modified(tmp_path / "a.crg", "SCALE_Z = 2", "SCALE_Z_GRID = 2")
    assert road.warnings == (f"{tmp_path}/a.crg:12: SCALE_Z is unknown in $ROAD_CRG_MODS: ignored",)
    assert road.heights == pytest.approx(2.0 * Z, abs=1e-12)


def test_smoothing_zones_are_those_of_the_library(tmp_path: Path) -> None:
    """At the grid's places; the road lies at 3 m, with a slope of 0.1."""
    pycrg = pytest.importorskip("pycrg")
    path = crg(
        tmp_path / "a.crg",
        more=block("ROAD_CRG_OPTS", "BORDER_SMOOTH_UBEG = 1.25", "BORDER_SMOOTH_UEND = 2"),
        road=ROAD + RANGE + "REFERENCE_LINE_START_Z = 3\n",
        channels=SLOPE + BANKING + SECTIONS,
        data=cells(np.column_stack([np.full(9, 0.1), np.full(9, 0.05), Z])),
    )
    road = read_opencrg(path)
    with pycrg.DataSet.open(path, apply_modifiers=False) as dataset:
        point = dataset.create_contact_point()
        for row in range(9):
            for column in range(4):
                there = point.uv_to_z(0.5 * row, ACROSS[column])
                assert road.heights[row, column] == pytest.approx(there, abs=1e-6)
    assert not road.warnings
    assert road.heights[[0, -1]] == pytest.approx(np.array([[3.0] * 4, [3.4] * 4]))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "BORDER_MODE_U = 0",
            ":12: BORDER_MODE_U = 0 (no road) is not applied: beyond the ends the ground continues",
        ),
        ("BORDER_MODE_U = 1", "BORDER_MODE_U = 1 (height zero) is not applied"),
        (
            "BORDER_MODE_V = 3",
            "BORDER_MODE_V = 3 (the road again) is not applied: beyond the edges the ground",
        ),
        ("BORDER_MODE_V = 4", "BORDER_MODE_V = 4 (the road mirrored) is not applied"),
        ("BORDER_OFFSET_V = -0.1", "BORDER_OFFSET_V = -0.1 m is not applied: beyond the edges"),
        ("REFLINE_CONTINUATION = 1", "REFLINE_CONTINUATION = 1 (a closed track) is not applied"),
        ("BORDER_MODE = 1", "BORDER_MODE is unknown in $ROAD_CRG_OPTS: ignored"),
    ],
)
def test_options_that_are_not_applied_are_told(tmp_path: Path, line: str, told: str) -> None:
    road = read_opencrg(crg(tmp_path / "a.crg", more=block("ROAD_CRG_OPTS", line)))
    assert len(road.warnings) == 1
    assert told in road.warnings[0]
    assert road.warnings[0].startswith(f"{tmp_path}/a.crg:12: ")
    assert road.heights == pytest.approx(Z, abs=1e-12)


def test_options_that_change_no_height_are_silent(tmp_path: Path) -> None:
    lines = ["BORDER_MODE_U = 2", "BORDER_OFFSET_U = 0", "REFLINE_SEARCH_FAR = 1.5", "WARN_CURV_GLOBAL = 0"]
    lines += ["CHECK_EPS = 1e-6", "LOG_MSGS = -1", "REFLINE_CONTINUATION = 0", "BORDER_SMOOTH_UEND = 0"]
    assert not read_opencrg(crg(tmp_path / "a.crg", more=block("ROAD_CRG_OPTS", *lines))).warnings


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("BORDER_MODE_U = 5", ":12: BORDER_MODE_U is 5, expected 0 to 4"),
        ("REFLINE_CONTINUATION = 2", ":12: REFLINE_CONTINUATION is 2, expected 0 or 1"),
        ("BORDER_SMOOTH_UBEG = -1", ":12: BORDER_SMOOTH_UBEG is -1 m, expected a length"),
    ],
)
def test_options_that_mean_nothing_are_refused(tmp_path: Path, line: str, told: str) -> None:
    with pytest.raises(FormatError) as error:
        read_opencrg(crg(tmp_path / "a.crg", more=block("ROAD_CRG_OPTS", line)))
    assert told in str(error.value)
