"""COSMOS records: several channels, stated formats, codes of units, counts and lengths that do not agree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mastd.errors import FormatError
from mastd.formats import catalogue
from mastd.formats.core.measurement import Channel, Measurement, Series
from mastd.formats.strong_motion import cosmos


def channel_text(
    integers: dict[int, int] | None = None,
    reals: dict[int, float] | None = None,
    direction: str = "340 deg",
    number: int = 1,
    data: str = "   3  acceleration pts, approx   0 secs, units=cm/sec2(04),Format=(8F10.5)",
    rows: str = "   1.00000  -2.50000    .25000",
    end: str = "/&  ----------  End of data for channel  1  ----------",
    comments: str = '   1 Comment line(s) follow, each starting with a "|":\n | a remark',
) -> str:
    """Return one channel; places in the headers are counted from 0 on."""
    whole = [-999] * 100
    for place, value in ({0: 2, 1: 1, 2: 4} | (integers or {})).items():
        whole[place] = value
    real = [-999.0] * 100
    for place, size in ({61: 5.0} | (reals or {})).items():
        real[place] = size
    lines = [
        "Corrected acceleration    (Format v01.20 with 13 text lines) Src: none",
        "Somewhere",
        *[""] * 5,
        "Rcrd start time:06/16/2005, 20:53:04.400 UTC (Q=2)",
        f"Sta Chan  {number}: {direction} (Rcrdr Chan  1) Location: hall",
        *[""] * 3,
        "Values used when parameter or data value is unknown/unspecified:   -999, -999.0",
        " 100 Integer-header values follow on  10 lines, Format= (10I8)",
        *("".join(f"{value:8d}" for value in whole[k : k + 10]) for k in range(0, 100, 10)),
        " 100 Real-header values follow on  17 lines, Format= (6F13.6)",
        *("".join(f"{size:13.6f}" for size in real[k : k + 6]) for k in range(0, 100, 6)),
        comments,
        data,
        rows,
    ]
    return "\n".join([*lines, *([end] if end else [])]) + "\n"


def read(tmp_path: Path, content: str) -> Measurement:
    path = tmp_path / "x.v2"
    path.write_text(content, encoding="utf-8")
    assert catalogue.recognise(path) is cosmos.FORMAT
    return cosmos.read(path)


def complaint(tmp_path: Path, content: str) -> str:
    with pytest.raises(FormatError) as caught:
        read(tmp_path, content)
    assert "\n" not in str(caught.value)
    return str(caught.value).partition(".v2")[2]


def test_one_channel(tmp_path: Path) -> None:
    """The step is in ms, the unit in words and code, the start in the integers."""
    start = {39: 2005, 40: 167, 41: 6, 42: 16, 43: 20, 44: 53}
    measurement = read(tmp_path, channel_text(start, {29: 4.4}))
    (series,) = measurement.series
    (channel,) = series.channels
    assert channel.values.tolist() == [1.0, -2.5, 0.25]
    assert (channel.name, channel.unit, series.step) == ("340 deg", "cm/s2", 0.005)
    assert measurement.notes["start time"] == "2005-06-16T20:53:04.400+00:00"
    assert (measurement.notes["component"], measurement.notes["comments"]) == ("340 deg", "a remark")
    assert not measurement.warnings


def test_several_channels(tmp_path: Path) -> None:
    """On one time base they are one series, with numbers in names that are alike; others are series apart."""
    both = read(tmp_path, channel_text() + "\n" + channel_text(direction="Up", number=2)).series
    assert [[channel.name for channel in series.channels] for series in both] == [["340 deg", "Up"]]
    alike = read(tmp_path, channel_text() + channel_text(number=7)).series
    assert [channel.name for channel in alike[0].channels] == ["1: 340 deg", "7: 340 deg"]
    apart = read(tmp_path, channel_text() + channel_text(reals={61: 10.0}, direction="Up")).series
    assert [series.step for series in apart] == [0.005, 0.01]


@pytest.mark.parametrize(
    ("data", "code", "unit"),
    [
        ("units=cm/sec2(04),Format=(8F10.5)", 4, "cm/s2"),
        ("units=cm/sec2 (04), Format=(8F10.5)", -999, "cm/s2"),
        ("units=g(02),Format=(8F10.5)", 2, "g"),
        ("units=counts (50),Format=(8F10.5)", 50, "counts"),
        ("units=mg(11),Format=(8F10.5)", 11, "mg"),
        ("units=(10),Format=(8F10.5)", -999, "gal"),
        ("Format=(8F10.5)", 10, "gal"),
        ("Format=(8F10.5)", -999, ""),
        ("units=parsec/fortnight(99),Format=(8F10.5)", 99, "parsec/fortnight"),
    ],
)
def test_units(tmp_path: Path, data: str, code: int, unit: str) -> None:
    """By the word, else by the codes; without both there is none."""
    content = channel_text({2: code}, data=f"   3  acceleration pts, approx 0 secs, {data}")
    assert read(tmp_path, content).channels[0].unit == unit


def test_units_that_contradict(tmp_path: Path) -> None:
    assert "states contradicting units: cm/s2 by its text, cm/s2 by its code, g by its header" in complaint(
        tmp_path, channel_text({2: 2})
    )


@pytest.mark.parametrize(
    ("layout", "rows"),
    [
        ("(8F10.5)", "1.0 -2.5 .25"),
        ("(1E15.6)", "   1.000000E+00\n  -2.500000E+00\n   2.500000E-01"),
        ("(1I6)", "  1.0 \n  -2.5 \n  0.25 "),
        ("(3F5.2)", " 1.00-2.50 0.25"),
        ("(1P,3E9.2)", "1.000E+00-2.50E+002.500E-01"),
    ],
)
def test_columns(tmp_path: Path, layout: str, rows: str) -> None:
    """Those of the stated format; blanks part the values of writers that do not keep to it."""
    data = f"   3 acceleration pts, approx 0 secs, units=cm/sec2(04),Format={layout}"
    assert read(tmp_path, channel_text(data=data, rows=rows)).channels[0].values.tolist() == [1.0, -2.5, 0.25]


def test_ends(tmp_path: Path) -> None:
    """Either end of data, or the end of the file."""
    for end in ("End-of-data for Chan  1 acceleration", ""):
        assert len(read(tmp_path, channel_text(end=end)).channels[0].values) == 3


def test_counts_and_lengths(tmp_path: Path) -> None:
    """The count must be that of the values; a length of one step less is read with a word, others are not."""
    four = "   4  acceleration pts, approx   0 secs, units=cm/sec2(04),Format=(8F10.5)"
    assert complaint(tmp_path, channel_text(data=four)).startswith(":45: states 4 values, but 3 follow")
    assert not read(tmp_path, channel_text(reals={62: 0.015})).warnings
    (warning,) = read(tmp_path, channel_text(reals={62: 0.01})).warnings
    assert "states a length of 0.01 s, 3 values every 0.005 s are 0.015 s; all are read" in warning
    said = complaint(tmp_path, channel_text(reals={62: 70.0}))
    assert "states a length of 70 s, 3 values every 0.005 s are 0.015 s: step or count is wrong" in said


def test_a_step_that_is_not_stated(tmp_path: Path) -> None:
    """Is not taken from the raw data's."""
    assert read(tmp_path, channel_text(reals={61: -999.0, 33: 0.005})).series[0].step is None
    assert "the step, is 0.000000 ms" in complaint(tmp_path, channel_text(reals={61: 0.0}))


def test_comments_that_are_counted_wrongly(tmp_path: Path) -> None:
    comments = '   5 Comment line(s) follow, each starting with a "|":\n | one\n | two'
    assert read(tmp_path, channel_text(comments=comments)).notes["comments"] == "one two"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("(8F10.5)", "(whatever)", ":45: states no column format like (8F10.5)"),
        ("(10I8)", "(A80)", ":14: the format '(A80)' has no columns"),
        ("on  10 lines", "on 9999 lines", ":14: states 100 values on 9999 lines, which are missing"),
        ("Real-header", "Rael-header", ":25: no line like '100 Real-header values follow"),
        ("1 Comment", "1 Commend", ":43: no line like '2 Comment line(s) follow'"),
        ("acceleration pts", "acceleration dots", ":45: no line like '7000 acceleration pts"),
        ("-2.50000", "-2,50000", ":46:13: comma in '-2,50000'"),
        ("-2.50000", "    NaN ", ":46:17: 'NaN' is not a number"),
    ],
)
def test_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert complaint(tmp_path, channel_text().replace(old, new, 1)).startswith(said)


def test_channels_are_written_and_read_back(tmp_path: Path) -> None:
    """With all digits, names and units, in one series."""
    values = np.sin(np.arange(50.0)) * 1e-7
    channels = (
        Channel("Up", "g", values),
        Channel("Up", "g", values * 3.0),
        Channel("90 deg", "cm/s", values**3),
    )
    path = tmp_path / "x.v2"
    assert cosmos.write(path, Measurement("", (Series(channels, 1 / 3),), {"event": "Quake"})) == ()
    measurement = cosmos.read(path)
    (series,) = measurement.series
    assert series.step == 1 / 3
    assert [(one.name, one.unit) for one in series.channels] == [
        ("1: Up", "g"),
        ("2: Up", "g"),
        ("90 deg", "cm/s"),
    ]
    assert np.array_equal(series.matrix(), np.column_stack([one.values for one in channels]))
    assert measurement.notes["event"] == "Quake"


def test_quantity_and_units_stand_where_real_records_have_them(tmp_path: Path, shared: Path) -> None:
    """Acceleration (1) in cm/s2 (4): the second and the third integer."""
    ours = tmp_path / "a.v2"
    series = Series((Channel("a", "cm/s2", np.array([0.0, 1.5, -2.0])),), 0.01)
    cosmos.write(ours, Measurement("cosmos", (series,)))
    for path in (shared / "data" / "records" / "usgs_cosmos12.v1", ours):
        lines = path.read_text(encoding="latin-1").splitlines()
        first = next(k for k, line in enumerate(lines) if "Integer-header" in line) + 1
        assert lines[first].split()[1:3] == ["1", "4"]


def test_values_that_bear_the_mark_of_unknown_ones_are_told(tmp_path: Path) -> None:
    path = tmp_path / "a.v2"
    series = Series((Channel("a", "cm/s2", np.array([0.0, -999.0, 1.0])),), 0.01)
    cosmos.write(path, Measurement("cosmos", (series,)))
    (warning,) = cosmos.read(path).warnings
    assert "1 values are -999, the marker of unknown values" in warning
