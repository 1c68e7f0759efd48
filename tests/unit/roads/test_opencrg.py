"""OpenCRG roads: readings of real files, own files in every format, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mastd.errors import FormatError
from mastd.formats.opencrg.file import read_opencrg
from mastd.roads.grid import grid_position
from mastd.roads.ground import Ground, outside, surface
from tests.support.formats.opencrg_texts import RANGE, ROAD, SECTIONS, Z, cells, crg, holed


@pytest.mark.parametrize(
    ("name", "u", "v", "z"),
    [
        ("asam_handmade_straight", 11.0, 0.0, 0.0222222),
        ("asam_handmade_straight_minimalist", 11.0, 0.0, 0.0222222),
        ("chrono_detrended_rms_course_1in", 252.375, 0.0, -0.02171682),
    ],
)
def test_readings_of_straight_roads(shared: Path, name: str, u: float, v: float, z: float) -> None:
    ground = Ground.crg(shared / "data" / "crg" / f"{name}.crg").ground
    assert ground.height(u, v) == pytest.approx(z, abs=5e-8)
    assert outside(ground.parameters, u, 0.0) == 0.0


@pytest.mark.parametrize(
    ("name", "last", "edge", "lowest", "highest"),
    [
        ("asam_handmade_straight", 22.0, 1.5, -0.0333333, 0.0333333),
        ("asam_handmade_straight_minimalist", 22.0, 1.5, -0.0333333, 0.0333333),
        ("chrono_halfround_4in", 100.0, 3.0, 0.0, 0.1015874),
        ("chrono_detrended_rms_course_1in", 504.75, 3.0, -0.077184014, 0.12381911),
    ],
)
def test_ranges_of_real_roads(
    shared: Path, name: str, last: float, edge: float, lowest: float, highest: float
) -> None:
    road = read_opencrg(shared / "data" / "crg" / f"{name}.crg")
    assert road.heights.min() == pytest.approx(lowest, abs=5e-8)
    assert road.heights.max() == pytest.approx(highest, abs=5e-8)
    assert road.across[[0, -1]] == pytest.approx((-edge, edge))
    assert road.start + road.spacing * (len(road.line) - 1) == pytest.approx(last)
    parameters = Ground.crg(shared / "data" / "crg" / f"{name}.crg").ground.parameters
    assert outside(parameters, last + 2.0, 0.0) == pytest.approx(2.0)
    assert outside(parameters, 1.0, -edge - 0.5) == pytest.approx(0.5)


def test_readings_of_a_curved_banked_sloping_road(shared: Path) -> None:
    ground = Ground.crg(shared / "data" / "crg" / "asam_handmade_curved_banked_sloped.crg").ground
    parameters = ground.parameters
    x, y = 10.92183, 1.10131
    assert grid_position(parameters, x, y) == pytest.approx((11.0, 0.5), abs=1e-5)
    assert surface(parameters, x, y)[0] == pytest.approx(0.6822222, abs=2e-6)


def test_a_curved_road_is_where_the_library_has_it(shared: Path) -> None:
    """Places and heights at any u and v. The library's line has corners of 11 mrad where this one is smooth:
    half of it, 1.2 m beside the line, is 6.6 mm."""
    pycrg = pytest.importorskip("pycrg")
    path = shared / "data" / "crg" / "asam_handmade_curved_banked_sloped.crg"
    parameters = Ground.crg(path).ground.parameters
    rng = np.random.default_rng(1)
    with pycrg.DataSet.open(path, apply_modifiers=False) as dataset:
        point = dataset.create_contact_point()
        for u, v in zip(rng.uniform(0.5, 21.5, 300), rng.uniform(-1.2, 1.2, 300), strict=True):
            x, y = point.uv_to_xy(u, v)
            assert grid_position(parameters, x, y) == pytest.approx((u, v), abs=6.6e-3)
            assert surface(parameters, x, y)[0] == pytest.approx(point.uv_to_z(u, v), abs=1.5e-3)


def assert_is_z(path: Path, close: float = 1e-7) -> None:
    """The road of a file is ``Z`` every 0.5 m along and every 1 m across, straight along x."""
    road = read_opencrg(path)
    assert np.allclose(road.heights, Z, rtol=0.0, atol=close)
    assert np.allclose(road.across, [-1.5, -0.5, 0.5, 1.5])
    ground = Ground.crg(path).ground
    assert ground.height(1.5, 0.5) == pytest.approx(Z[3, 2], abs=close)
    assert ground.height(1.75, 1.0) == pytest.approx(Z[3:5, 2:].mean(), abs=close)


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_formatted_numbers(tmp_path: Path, ends: str) -> None:
    assert_is_z(crg(tmp_path / "a.crg", data=cells(Z).replace("\n", ends)))
    assert_is_z(crg(tmp_path / "b.crg", coding="LDFI", data=cells(Z, 20, 4).replace("\n", ends)))


@pytest.mark.parametrize("end", ["", "\r", "\x1a", "\0\0\x1a"])
def test_the_last_line_of_text_needs_no_end(tmp_path: Path, end: str) -> None:
    assert_is_z(crg(tmp_path / "c.crg", data=cells(Z)[:-1].replace("\n", "\r\n") + end))
    assert_is_z(crg(tmp_path / "a.crg", data=cells(Z)[:-1] + end))
    assert_is_z(crg(tmp_path / "b.crg", coding="LDFI", data=cells(Z, 20, 4)[:-1] + end))


@pytest.mark.parametrize(("coding", "kind"), [("KRBI", ">f4"), ("KDBI", ">f8")])
def test_binary_numbers(tmp_path: Path, coding: str, kind: str) -> None:
    data = Z.astype(kind).tobytes()
    filling = np.full((-len(data) % 80) // np.dtype(kind).itemsize, np.nan).astype(kind).tobytes()
    assert_is_z(crg(tmp_path / "filled.crg", coding=coding, data=data + filling))
    assert_is_z(crg(tmp_path / "bare.crg", coding=coding, data=data))


def test_the_end_of_formatted_data_need_not_be_stated(tmp_path: Path) -> None:
    assert_is_z(crg(tmp_path / "open.crg", road=ROAD[27:] + RANGE))


def test_a_road_without_a_range_lies_about_its_reference_line(tmp_path: Path) -> None:
    assert_is_z(crg(tmp_path / "a.crg", road=ROAD))
    named = "".join(f"D:long section at v = {v},m\n" for v in (-1.5, -0.5, 0.5, 1.5))
    assert_is_z(crg(tmp_path / "b.crg", road=ROAD, channels=named))


def test_only_the_files_own_modifiers_are_applied(tmp_path: Path) -> None:
    moved = ROAD + RANGE + "REFERENCE_LINE_START_X = 5.0\nREFERENCE_LINE_START_Z = 0.25\n"
    plain = Ground.crg(crg(tmp_path / "plain.crg", road=moved)).ground
    assert plain.height(6.5, 0.5) == pytest.approx(Z[3, 2] + 0.25, abs=1e-7)
    scaled = crg(tmp_path / "scaled.crg", more="$ROAD_CRG_MODS\nSCALE_Z_GRID = 2.0\n$\n")
    assert Ground.crg(scaled).ground.height(1.5, 0.5) == pytest.approx(2.0 * Z[3, 2], abs=1e-7)
    put = Ground.crg(tmp_path / "plain.crg", start=(1.0, 2.0)).ground
    assert put.height(2.5, 2.5) == pytest.approx(Z[3, 2] - Z[0, 1:3].mean(), abs=1e-7)


BINARY = Z.astype(">f4").tobytes()
INCREMENT_OF_V = "LONG_SECTION_V_INCREMENT = 1.0\n"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"data": "\n".join(cells(Z).split("\n")[:6])},
            "6 lines of data, expected 9 for 9 rows of 4 columns",
        ),
        ({"data": cells(Z)[:-6]}, ":27: 35 characters, expected 4 numbers of 10"),
        ({"data": cells(Z) + cells(Z[:1])}, "10 lines of data, expected 9"),
        ({"data": cells(Z).replace(f"{Z[2, 1]:10.5f}", "   0,03120")}, ":21:11: '0,03120' is not a finite"),
        ({"data": cells(Z).replace(f"{Z[2, 1]:10.5f}", "       inf")}, "'inf' is not a finite number"),
        ({"data": cells(Z).replace(f"{Z[2, 1]:10.5f}", "     1_000")}, "'1_000' is not a finite number"),
        ({"data": cells(Z).replace(f"{Z[2, 1]:10.5f}", " " * 10)}, ":21:11: '' is not a finite number"),
        ({"data": cells(Z).replace(f"{Z[2, 1]:10.5f}", "  5.68-304")}, "'5.68-304' is not a finite number"),
        ({"data": cells(holed((4, 1)))}, "data row 5, u = 2 m, v = -0.5 m: no finite number, which without"),
        (
            {"data": cells(holed(*((4, k) for k in range(4))))},
            "v = -1.5 m: no finite number, and no neighbour",
        ),
        ({"coding": "KRBI", "data": BINARY[:-1]}, "143 bytes of data, expected 9 rows x 4 columns x 4 = 144"),
        (
            {"coding": "KDBI", "data": BINARY},
            "expected 9 rows x 4 columns x 8 = 288, or 320 in records of 80",
        ),
        (
            {"coding": "KRBI", "road": ROAD[27:] + RANGE, "data": BINARY},
            "END_U is missing (required for binary data)",
        ),
        ({"coding": "KRBI", "data": np.full((9, 4), np.inf, ">f4").tobytes()}, "data row 1, long section 1"),
        ({"coding": "XYZW"}, "format 'XYZW': expected one of LRFI, LDFI, KRBI, KDBI"),
        ({"channels": SECTIONS.replace("3,m", "3,mm")}, ":15: long section 3: unit 'mm', expected m"),
        (
            {"channels": "D:reference line phi,deg\n" + SECTIONS},
            "reference line phi: unit 'deg', expected rad",
        ),
        ({"channels": "D:colour,m\n" + SECTIONS}, "channel 'colour' is unknown"),
        ({"channels": "D:long section 1,m\n"}, "two long sections or more"),
        ({"road": ROAD.replace("4.0", "4.2") + RANGE}, "u from 0 to 4.2 m is 8.4 increments of 0.5 m"),
        ({"road": ROAD.replace("0.5", "-0.5") + RANGE}, "REFERENCE_LINE_INCREMENT is missing, or not above"),
        ({"road": ROAD.replace("= 0.5", "= half") + RANGE}, ":6: REFERENCE_LINE_INCREMENT: 'half' is not a"),
        (
            {"road": ROAD.replace("= 1.0", "= 0.5") + RANGE},
            "4 long sections, expected 7 from v = -1.5 to 1.5",
        ),
        ({"road": ROAD.replace(INCREMENT_OF_V, "") + RANGE}, "LONG_SECTION_V_INCREMENT is missing"),
        ({"more": "$ROAD_CRG_FILE\nother.crg\n$\n"}, "$ROAD_CRG_FILE in addition to the file's own road"),
        ({"road": ROAD.replace("4.0", "0.5") + RANGE, "data": cells(Z)}, "9 lines of data, expected 2"),
    ],
)
def test_a_file_that_is_no_whole_road_is_refused(
    tmp_path: Path, changes: dict[str, str | bytes], told: str
) -> None:
    path = crg(tmp_path / "road.crg", **changes)  # type: ignore[arg-type]
    with pytest.raises(FormatError) as error:
        Ground.crg(path)
    assert told in str(error.value)
    assert all(line.startswith(str(path)) for line in str(error.value).splitlines())


def test_v_that_does_not_rise_is_refused(tmp_path: Path) -> None:
    named = "".join(f"D:long section at v = {v},m\n" for v in (-1.5, 0.5, 0.5, 1.5))
    with pytest.raises(FormatError, match="v must increase"):
        Ground.crg(crg(tmp_path / "road.crg", road=ROAD, channels=named))


def test_every_truncation_of_a_real_road_is_refused_in_one_line(shared: Path, tmp_path: Path) -> None:
    for name in ("asam_handmade_curved_banked_sloped", "chrono_halfround_4in"):
        whole = (shared / "data" / "crg" / f"{name}.crg").read_bytes()
        path = tmp_path / "cut.crg"
        for size in (0, 10, len(whole) // 3, len(whole) // 2, len(whole) - 81, len(whole) - 31):
            path.write_bytes(whole[:size])
            with pytest.raises(FormatError) as error:
                Ground.crg(path)
            assert "\n" not in str(error.value)


def test_line_ends_converted_in_binary_data_are_told(shared: Path, tmp_path: Path) -> None:
    whole = (shared / "data" / "crg" / "chrono_detrended_rms_course_1in.crg").read_bytes()
    path = tmp_path / "converted.crg"
    path.write_bytes(whole.replace(b"\n", b"\r\n"))
    with pytest.raises(FormatError, match="line ends converted"):
        Ground.crg(path)


def test_files_that_are_not_there_or_too_large_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="No such file"):
        Ground.crg(tmp_path / "none.crg")
    with (tmp_path / "large.crg").open("wb") as file:
        file.truncate(65_000_000)
    with pytest.raises(FormatError, match="too large: 65 MB, at most 64 MB"):
        Ground.crg(tmp_path / "large.crg")


def test_a_bend_too_narrow_for_the_road_is_refused(tmp_path: Path) -> None:
    headed = np.column_stack([0.4 * np.arange(9), Z])
    path = crg(tmp_path / "road.crg", channels="D:reference line phi,rad\n" + SECTIONS, data=cells(headed))
    with pytest.raises(FormatError, match=r"u = \S+ m: a radius of 1.25 m is too small for edges"):
        Ground.crg(path)
