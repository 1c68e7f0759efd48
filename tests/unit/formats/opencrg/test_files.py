"""OpenCRG files as they come: references, damage, contradictions, what the common interface makes of them."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mastd.errors import FormatError
from mastd.formats.opencrg.file import FORMAT, read_opencrg
from mastd.formats.opencrg.road import OpenCrgRoad
from mastd.formats.opencrg.write import write_opencrg
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


def refer(path: Path, *name: str, more: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(more + block("ROAD_CRG_FILE", "* the road", *name))
    return path


def test_a_file_may_refer_to_another_one(tmp_path: Path) -> None:
    (tmp_path / "a" / "my data").mkdir(parents=True)
    crg(
        tmp_path / "a" / "my data" / "road.crg",
        more=block("ROAD_CRG_MODS", "SCALE_Z_GRID = 2", "SCALE_WIDTH = 2"),
    )
    plain = read_opencrg(refer(tmp_path / "a" / "plain.crg", "my data/road.crg ! below"))
    assert plain.heights == pytest.approx(2.0 * Z)
    # A name that is too long for a line goes on in the next; Windows has other separators.
    assert read_opencrg(
        refer(tmp_path / "a" / "long.crg", "my data\\", "road", ".crg")
    ).heights == pytest.approx(2 * Z)
    own = block("ROAD_CRG_MODS", "SCALE_Z_GRID = 3") + block("ROAD_CRG_OPTS", "BORDER_MODE_U = 1")
    changed = read_opencrg(refer(tmp_path / "top.crg", "a/plain.crg", more=own))
    assert changed.heights == pytest.approx(3.0 * Z)
    assert changed.across == pytest.approx(ACROSS)
    assert changed.warnings[0].startswith(f"{tmp_path}/top.crg:5: BORDER_MODE_U")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("../road.crg", "leaves the folder"),
        ("below/../inside.crg", "leaves the folder"),
        ("below/../../road.crg", "leaves the folder"),
        ("..\\road.crg", "leaves the folder"),
        ("/etc/passwd", "leaves the folder"),
        ("C:\\road.crg", "leaves the folder"),
        ("out/road.crg", "leaves the folder"),
        ("none.crg", "no file"),
        ("below", "no file"),
        ("self.crg", "circular reference"),
        ("circle.crg", "circular reference"),
        ("$HOME/road.crg", "expected the name of a file, without variables"),
        ("", "expected the name of a file"),
        ("x" * 900, "cannot be resolved"),
        ("x" * 1001, "a name of more than 1000 characters"),
        ("a\x01b", "expected the name of a file"),
    ],
)
def test_references_that_lead_nowhere_are_refused(tmp_path: Path, name: str, told: str) -> None:
    folder = tmp_path / "files"
    crg(tmp_path / "road.crg")
    (folder / "below").mkdir(parents=True)
    crg(folder / "inside.crg")
    (folder / "out").symlink_to(tmp_path)
    refer(folder / "circle.crg", "self.crg")
    with pytest.raises(FormatError) as error:
        read_opencrg(refer(folder / "self.crg", name))
    assert told in str(error.value)
    assert str(error.value).startswith(str(folder))
    assert "\n" not in str(error.value)


def test_references_end_somewhere(tmp_path: Path) -> None:
    crg(tmp_path / "0.crg")
    for k in range(1, 7):
        refer(tmp_path / f"{k}.crg", f"{k - 1}.crg")
    assert read_opencrg(tmp_path / "5.crg").heights == pytest.approx(Z)
    with pytest.raises(FormatError, match=r"1.crg:1: .*the 6th reference in a row, at most 5"):
        read_opencrg(tmp_path / "6.crg")


def test_old_line_ends_and_numbers(tmp_path: Path) -> None:
    path = crg(tmp_path / "a.crg", road=ROAD.replace("0.5", "5.0d-01 ! half") + RANGE + "* no number\n\n")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r"))
    assert read_opencrg(path).heights == pytest.approx(Z)
    path.write_bytes(path.read_bytes().replace(b"\r", b"\r\r\n"))
    assert read_opencrg(path).heights == pytest.approx(Z)


def test_blanks_may_follow_the_numbers_of_a_line(tmp_path: Path) -> None:
    lines = cells(Z).splitlines()
    lines[2] += "   "
    lines[5] += " " * 100
    assert read_opencrg(crg(tmp_path / "a.crg", data="\n".join(lines))).heights == pytest.approx(Z)
    for wrong in (lines[3][:-1], lines[3] + " 1", lines[3] + " " * 99 + "1"):
        path = crg(tmp_path / "b.crg", data="\n".join([*lines[:3], wrong, *lines[4:]]))
        with pytest.raises(
            FormatError, match=rf"b.crg:22: {len(wrong)} characters, expected 4 numbers of 10$"
        ):
            read_opencrg(path)


def test_any_bytes_for_not_a_number_are_a_missing_cell(tmp_path: Path) -> None:
    """Signalling ones too, of which the conversion would warn."""
    table = Z.astype(">f4")
    data = bytearray(table.tobytes())
    data[:4], data[-4:] = b"\x7f\x80\0\1", b"\xff\xc0\0\0"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        road = read_opencrg(crg(tmp_path / "a.crg", coding="KRBI", data=bytes(data)))
    assert road.heights[0, 0] == pytest.approx(Z[0, 1])
    assert road.heights[-1, -1] == pytest.approx(Z[-1, -2])


def test_long_sections_may_stand_in_any_order(tmp_path: Path) -> None:
    order = [2, 0, 3, 1]
    at = "".join(f"D:Long  Section at v = {ACROSS[k]} , m ! here\n" for k in order)
    numbers = "".join(f"D:long section {k + 1},m\n" for k in order)
    for name, channels in (("a", at), ("b", numbers)):
        road = read_opencrg(crg(tmp_path / f"{name}.crg", channels=channels, data=cells(Z[:, order])))
        assert road.across == pytest.approx(ACROSS)
        assert road.heights == pytest.approx(Z)
        assert not road.warnings


@pytest.mark.parametrize(
    ("stated", "first"),
    [("LONG_SECTION_V_RIGHT = 2\n", 2.0), ("LONG_SECTION_V_LEFT = 2\n", -1.0), ("", -1.5)],
)
def test_one_edge_or_none_may_be_stated(tmp_path: Path, stated: str, first: float) -> None:
    assert read_opencrg(crg(tmp_path / "a.crg", road=ROAD + stated)).across == pytest.approx(
        first + np.arange(4)
    )


BEND = np.column_stack([0.02 * np.arange(9), Z])
BEND_END = 0.5 * np.array([np.cos(BEND[1:, 0]).sum(), np.sin(BEND[1:, 0]).sum()])


def ending(**ends: float) -> str:
    return ROAD + RANGE + "".join(f"REFERENCE_LINE_END_{key.upper()} = {z:.7f}\n" for key, z in ends.items())


def test_an_end_that_is_stated_is_met(tmp_path: Path) -> None:
    """A difference of 1 cm over 4 m is spread along the line, and told."""
    x, y = BEND_END
    exact = read_opencrg(
        crg(tmp_path / "a.crg", channels=PHI + SECTIONS, data=cells(BEND), road=ending(x=x, y=y))
    )
    assert not exact.warnings
    assert exact.line[-1] == pytest.approx(BEND_END, abs=1e-6)
    off = read_opencrg(
        crg(tmp_path / "b.crg", channels=PHI + SECTIONS, data=cells(BEND), road=ending(x=x + 0.01, y=y))
    )
    assert off.line - exact.line == pytest.approx(np.outer(np.linspace(0.0, 1.0, 9), [0.01, 0.0]), abs=1e-6)
    assert "b.crg:10: the reference line is stated to end at x, y = 3.98" in off.warnings[0]
    assert off.warnings[0].endswith("m: the difference is distributed")
    with pytest.raises(
        FormatError, match=r"c.crg:10: .* integrated headings give 3.9\S*, 0.\S* m: expected only one of them"
    ):
        read_opencrg(
            crg(tmp_path / "c.crg", channels=PHI + SECTIONS, data=cells(BEND), road=ending(x=3.0, y=y))
        )


def test_heights_of_a_slope_meet_their_end(tmp_path: Path) -> None:
    sloped = np.column_stack([np.full(9, 0.1), Z])
    road = read_opencrg(
        crg(tmp_path / "a.crg", channels=SLOPE + SECTIONS, data=cells(sloped), road=ending(z=0.42))
    )
    assert road.heights - Z == pytest.approx(np.repeat(np.linspace(0.0, 0.42, 9)[:, np.newaxis], 4, axis=1))
    assert (
        "stated to end at z = 0.42 m, integrated slopes give 0.4 m: the difference is "
        "distributed" in road.warnings[0]
    )
    with pytest.raises(
        FormatError,
        match=r"stated to end at z = 1 m, integrated slopes give 0.4 m: expected only one",
    ):
        read_opencrg(
            crg(tmp_path / "b.crg", channels=SLOPE + SECTIONS, data=cells(sloped), road=ending(z=1.0))
        )


@pytest.mark.parametrize(
    ("road", "told"),
    [
        (
            ending(x=4.01, y=0.0),
            "stated to end at x, y = 4.01, 0 m, integrated headings give 4, 0 m: its headings are used",
        ),
        (ROAD + RANGE.replace("1.5", "1.6"), None),
        (
            ROAD + RANGE + "REFERENCE_LINE_NAME = 1\n",
            "REFERENCE_LINE_NAME is unknown in $ROAD_CRG: ignored",
        ),
        (ROAD + RANGE + "$\n$NEWS\nabc\n", "block $NEWS is unknown: ignored"),
    ],
)
def test_what_is_odd_is_told(tmp_path: Path, road: str, told: str | None) -> None:
    channels = "".join(f"D:long section at v = {v},m\n" for v in ACROSS) if told is None else SECTIONS
    told = (
        told
        or "LONG_SECTION_V_RIGHT is -1.6 m, the outermost long section is at v = -1.5 m: the long sections"
    )
    read = read_opencrg(crg(tmp_path / "a.crg", road=road, channels=channels))
    assert told in read.warnings[0]
    assert read.heights == pytest.approx(Z)


def test_the_virtual_channel_is_compared(tmp_path: Path) -> None:
    def told(line: str) -> tuple[str, ...]:
        return read_opencrg(crg(tmp_path / "a.crg", channels=f"{line}\n{SECTIONS}")).warnings

    assert not told("U:reference line u,m,0,0.5 ! only for viewing")
    assert not told("U:reference line u,m")
    assert "U: has u begin at 0 m every 0.25 m, $ROAD_CRG at 0 m every 0.5 m" in told("U:u,m,0,0.25")[0]


def test_stated_ends_of_channels_are_compared(tmp_path: Path) -> None:
    path = crg(
        tmp_path / "a.crg",
        road=ROAD + RANGE + "REFERENCE_LINE_START_B = 0.02\nREFERENCE_LINE_END_B = 0.05\n",
        channels=BANKING + SECTIONS,
        data=cells(np.column_stack([np.full(9, 0.02), Z])),
    )
    told = "banking at the end is stated as 0.05, the channel has 0.02 there: the channel is used"
    assert read_opencrg(path).warnings == (f"{path}:11: {told}",)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"road": ROAD + RANGE + "REFERENCE_LINE_END_B = 0.1\n"},
            "END_B is 0.1, at the start 0, without a",
        ),
        (
            {"road": ROAD + RANGE + "REFERENCE_LINE_END_PHI = 1\n"},
            "END_PHI is 1, at the start 0, without a",
        ),
        (
            {"road": ROAD + RANGE + "LONG_SECTION_V_LEFT = 2\n"},
            "LONG_SECTION_V_LEFT is 2 here and 1.5 in line 9",
        ),
        ({"channels": SECTIONS + "D:long section at v = 3,m\n"}, "all by v or all by number"),
        (
            {"channels": SECTIONS.replace("2,m", "3,m")},
            "long section 3: expected the numbers 1 to 4, each once",
        ),
        ({"channels": SECTIONS.replace("2,m", "at v = x,m")}, "'x' is not a finite number"),
        ({"channels": PHI + PHI + SECTIONS}, "a second channel 'reference line phi'"),
        ({"channels": "D:reference line x,m\n" + SECTIONS}, "channel 'reference line x' is unknown"),
        ({"channels": "?:long section 1,m\n" + SECTIONS}, "in $KD_Definition, expected D:, U: or #:"),
        ({"channels": "#:LRFI\n" + SECTIONS}, "a second format '#:LRFI'"),
        (
            {"channels": PHI + SECTIONS, "data": cells(np.column_stack([holed((4, 1))[:, 1], Z]))},
            "row 5, u = 2 m, ref",
        ),
        (
            {"channels": BANKING + SECTIONS, "data": cells(np.column_stack([holed((0, 1))[:, 1], Z]))},
            "line banking: no",
        ),
        (
            {"road": "REFERENCE_LINE_END_U = 1e300\n" + ROAD[27:] + RANGE},
            "2e+300 increments of 0.5 m, expected a whole",
        ),
        (
            {"road": "REFERENCE_LINE_END_U = 4e8\n" + ROAD[27:] + RANGE},
            "9 lines of data, expected 800000001 for",
        ),
    ],
)
def test_what_contradicts_itself_is_refused(tmp_path: Path, changes: dict[str, str], told: str) -> None:
    with pytest.raises(FormatError) as error:
        read_opencrg(crg(tmp_path / "a.crg", **changes))
    assert told in str(error.value)


@pytest.fixture
def binary(tmp_path: Path) -> Path:
    """A binary road whose last record is filled up, with CR LF and LF among its numbers."""
    heights = np.random.default_rng(0).normal(0.0, 0.1, (401, 3))
    heights[7, 1], heights[300, 0] = np.frombuffer(b"\x3d\r\n\x3d\x3d\n\x0a\x3d", ">f4")
    line = np.column_stack([0.5 * np.arange(401), np.zeros(401)])
    write_opencrg(tmp_path / "whole.crg", OpenCrgRoad(0.0, 0.5, line, np.arange(3.0), heights), "KRBI")
    return tmp_path / "whole.crg"


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (b"\n", b"\r\n", "looks like line ends converted inside (keep *.crg -text in .gitattributes)"),
        (b"\r\n", b"\n", "looks like line ends converted inside"),
        (None, -1, "truncated"),
        (None, -4, "truncated"),
        (None, -2000, "truncated"),
        (None, 5, "more than declared"),
    ],
)
def test_damage_to_binary_data_is_told(
    binary: Path, before: bytes | None, after: bytes | int, told: str
) -> None:
    whole = binary.read_bytes()
    if isinstance(after, bytes):
        damaged = whole.replace(before or b"", after)
    else:
        damaged = whole[:after] if after < 0 else whole + b"\0" * after
    binary.write_bytes(damaged)
    with pytest.raises(FormatError) as error:
        read_opencrg(binary)
    assert told in str(error.value)
    assert "expected 401 rows x 3 columns x 4 = 4812, or 4880 in records of 80: " in str(error.value)


def test_a_road_behind_the_common_interface(tmp_path: Path) -> None:
    table = np.column_stack([BEND[:, 0], np.full(9, 0.1), holed((3, 0))])
    path = crg(
        tmp_path / "a.crg",
        channels=PHI + SLOPE + SECTIONS,
        data=cells(table),
        road=ROAD
        + RANGE
        + "REFERENCE_LINE_START_U = 0\nREFERENCE_LINE_START_Y = 2\nREFERENCE_LINE_START_B = 0.25\n",
        more=block("ROAD_CRG_MODS", "SCALE_Z_GRID = 2") + block("ROAD_CRG_OPTS", "BORDER_MODE_V = 1"),
    )
    read = FORMAT.read(path)
    (series,) = read.series
    assert (series.axis, series.axis_unit, series.step, series.start, series.count) == ("u", "m", 0.5, 0.0, 9)
    assert [(channel.name, channel.unit) for channel in series.channels] == [
        ("reference line x", "m"),
        ("reference line y", "m"),
        ("reference line z", "m"),
        ("reference line phi", "rad"),
        ("reference line slope", "m/m"),
        ("reference line banking", "m/m"),
        ("v = -1.5 m", "m"),
        ("v = -0.5 m", "m"),
        ("v = 0.5 m", "m"),
        ("v = 1.5 m", "m"),
    ]
    values = {channel.name: channel.values for channel in series.channels}
    assert values["reference line z"] == pytest.approx(0.05 * np.arange(9))
    assert values["reference line y"][[0, -1]] == pytest.approx([2.0, 2.0 + BEND_END[1]])
    assert values["reference line banking"] == pytest.approx(0.25)
    assert math.isnan(values["v = -1.5 m"][3])
    assert values["v = 1.5 m"] == pytest.approx(Z[:, 3])
    assert read.notes == {
        "$CT": "a road of our own",
        "$ROAD_CRG_OPTS": "BORDER_MODE_V = 1.0",
        "$ROAD_CRG_MODS": "SCALE_Z_GRID = 2.0",
    }
    assert read.warnings == (f"{path}: 1 of 36 cells have no value",)


def test_roads_are_recognised(tmp_path: Path, shared: Path) -> None:
    for path in (shared / "data" / "crg").glob("*.crg"):
        assert FORMAT.recognises(path.read_bytes()[:65536])
        assert FORMAT.read(path).series[0].count > 20
    assert FORMAT.recognises(b"$road_crg_file\r\nx.crg\r\n$\r\n")
    for other in (b"", b"HDF", b"costs $ROAD_CRG", b"$KD\n", b"time,x\n0,1\n"):
        assert not FORMAT.recognises(other)


TEXTS = [
    b"nan",
    b"1e999",
    b"-1",
    b"99999999999",
    b"1e-300",
    b"",
    b"$",
    b"$$$$\n",
    b"\r\n",
    b"D:long section 9,m\n",
]


@settings(max_examples=120)
@given(
    coding=st.sampled_from(["LRFI", "KDBI"]),
    changes=st.lists(
        st.tuples(st.floats(0.0, 1.0), st.integers(0, 12), st.sampled_from(TEXTS) | st.binary(max_size=4)),
        min_size=1,
        max_size=4,
    ),
    cut=st.none() | st.floats(0.0, 1.0),
)
def test_any_bytes_end_in_a_road_or_a_line(
    tmp_path_factory: pytest.TempPathFactory,
    coding: str,
    changes: list[tuple[float, int, bytes]],
    cut: float | None,
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.crg"
    data = cells(BEND) if coding == "LRFI" else BEND.astype(">f8").tobytes()
    more = block("ROAD_CRG_MODS", "SCALE_LENGTH = 2", "REFPOINT_U_FRACTION = 1", "GRID_NAN_MODE = 2")
    more += block("ROAD_CRG_OPTS", "BORDER_SMOOTH_UBEG = 1", "BORDER_MODE_U = 2")
    content = crg(path, coding=coding, channels=PHI + SECTIONS, data=data, more=more).read_bytes()
    for place, length, text in changes:
        at = int(place * len(content))
        content = content[:at] + text + content[at + length :]
    path.write_bytes(content if cut is None else content[: int(cut * len(content))])
    for read in (read_opencrg, FORMAT.read):
        told = ""
        try:
            read(path)
        except FormatError as error:
            told = str(error)
        assert all(line.startswith(str(path)) for line in told.splitlines())
