"""Tables in text: what real files do, each as a small text; written and read back, here and by pandas."""

from __future__ import annotations

import io
from pathlib import Path

import hypothesis.extra.numpy as hnp
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mastd.arrays import FloatArray
from mastd.errors import FormatError
from mastd.formats import catalogue
from mastd.formats.core.measurement import Channel, Measurement, Series
from mastd.formats.tables import csv_table

NAN = float("nan")


def read(folder: Path, text: str | bytes) -> Measurement:
    """What a text is read as; it must be recognised as a table."""
    path = folder / "table.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert csv_table.recognises(path.read_bytes()[:65536])
    return csv_table.FORMAT.read(path)


def names(measurement: Measurement) -> list[tuple[str, str]]:
    return [(channel.name, channel.unit) for channel in measurement.channels]


def values(measurement: Measurement) -> list[list[float]]:
    return [channel.values.tolist() for channel in measurement.channels]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\r\r\n"])
@pytest.mark.parametrize(
    "text",
    [
        "time [s],x [m],y\n0,1,2\n0.5,-3e2,.5\n1,+4.,6\n",
        "time [s];x [m];y\n0;1;2\n0.5;-3e2;.5\n1;+4.;6",
        "time [s]\tx [m]\ty\n0\t1\t2\n0.5\t-3e2\t.5\n1\t+4.\t6\n\n",
        " time [s]  x [m] y\n 0   1 2\n0.5 -3e2\t.5\n 1  +4. 6 \n",
        "\ufefftime [s] , x [m], y\n\n 0, 1 ,2\n0.5 , -3e2,.5\n# within\n1,+4.,6\n\x1a",
        '"time [s]","x [m]","y"\n"0","1","2"\n0.5,-3e2,.5\n1,+4.,6\n',
        "t (s),x (m),y\n0,1,2\n0.5,-3D2,.5\n1,+4.,6\n",
        "Time,x,y\ns,m,-\n0,1,2\n0.5,-3d2,.5\n1,+4.,6\n",
        "Time;x;y\n[s];[m];[-]\n0;1;2\n0.5;-3e+02;.5\n1;+4.;6\n",
        "time [ms],x [m],y,\n0,1,2,\n500,-3e2,.5,\n1000,+4.,6,\n",
        "# time [s],x [m],y\n0,1,2\n0.5,-300,.5\n1,+4.,6\n",
        'time [s];"x, m";y []\n0;1;2\n0.5;-300;.5\n1;4;6\n',
    ],
)
def test_the_same_table(tmp_path: Path, text: str, end: str) -> None:
    measurement = read(tmp_path, text.replace("\n", end))
    assert names(measurement) == [("x", "m"), ("y", "")]
    assert values(measurement) == [[1.0, -300.0, 4.0], [2.0, 0.5, 6.0]]
    series = measurement.series[0]
    assert (series.step, series.start, series.abscissae) == (0.5, 0.0, None)
    assert measurement.warnings == ()


def test_own_tables_of_si_columns(tmp_path: Path) -> None:
    measurement = read(tmp_path, "t_s,x_m,vx_ms,roll_rad,f_fl_N\n0,1,2,3,4\n.1,1,2,3,4\n")
    assert names(measurement) == [("x_m", "m"), ("vx_ms", "m/s"), ("roll_rad", "rad"), ("f_fl_N", "N")]
    assert measurement.series[0].step == 0.1
    assert read(tmp_path, "time_ms,x_m\n0,1\n10,1\n").series[0].step == 0.01


def test_ends_of_names_are_no_units_elsewhere(tmp_path: Path) -> None:
    """North is no newton where another column says east."""
    assert names(read(tmp_path, "time [s],acc_N,acc_E\n0,1,2\n1,2,3\n")) == [("acc_N", ""), ("acc_E", "")]
    assert names(read(tmp_path, "acc_N,acc_E\n0,1\n1,2\n")) == [("acc_N", ""), ("acc_E", "")]


def test_parentheses_that_are_no_unit(tmp_path: Path) -> None:
    text = "time [s],wheel (left),acc (rear) (m/s^2),f (kN)\n0,1,2,3\n1,2,3,4\n"
    assert names(read(tmp_path, text)) == [("wheel (left)", ""), ("acc (rear)", "m/s^2"), ("f", "kN")]


def test_comments_are_notes(tmp_path: Path) -> None:
    text = "# station: Gilroy: east\n% filter: 0.1 Hz\n; plain words\n// more\nTitle of it\na,b\n1,2\n3,4\n"
    measurement = read(tmp_path, text)
    assert measurement.notes == {
        "station": "Gilroy: east",
        "filter": "0.1 Hz",
        "comment": "plain words",
        "comment 2": "more",
        "title": "Title of it",
    }
    assert names(measurement) == [("a", ""), ("b", "")]
    assert measurement.series[0].step is None


def test_a_comment_further_up_names_no_columns(tmp_path: Path) -> None:
    measurement = read(tmp_path, "# hello, world\nTitle\n3,2\n1,4\n")
    assert names(measurement) == [("column 1", ""), ("column 2", "")]
    assert measurement.notes == {"comment": "hello, world", "title": "Title"}


def test_name_line_and_count_with_step(tmp_path: Path) -> None:
    measurement = read(tmp_path, "test-motion\n3 0.0100\n2.42E-07\n1.46E-07\n-3\n")
    assert names(measurement) == [("test-motion", "")]
    assert measurement.series[0].step == 0.01
    assert values(measurement) == [[2.42e-07, 1.46e-07, -3.0]]
    with pytest.raises(FormatError, match=r"csv:2: states 4 values, 3 follow"):
        read(tmp_path, "test-motion\n4 0.0100\n2.42E-07\n1.46E-07\n-3\n")


@pytest.mark.parametrize("text", ["1\n2\n3", "acc [g]\n1\n2\n3\n", "first\nacc (g)\n\n1\n2\n3\n"])
def test_one_column_states_no_step(tmp_path: Path, text: str) -> None:
    measurement = read(tmp_path, text)
    assert measurement.series[0].step is None
    assert measurement.series[0].abscissae is None
    assert names(measurement) == [("acc", "g") if "acc" in text else ("column 1", "")]
    assert values(measurement) == [[1.0, 2.0, 3.0]]


def test_two_columns_without_names(tmp_path: Path) -> None:
    measurement = read(tmp_path, "0.00 1.5\n0.02 2.5\n0.04 -1\n")
    assert measurement.series[0].step == 0.02
    assert names(measurement) == [("column 2", "")]
    assert "used as time without a unit" in measurement.warnings[0]
    both = read(tmp_path, "3 1.5\n1 2.5\n2 -1\n")
    assert len(both.channels) == 2
    assert both.series[0].step is None


def test_a_time_without_unit_is_told(tmp_path: Path) -> None:
    measurement = read(tmp_path, "Time,a\n0,1\n2,1\n")
    assert measurement.series[0].step == 2.0
    assert measurement.series[0].axis_unit == ""
    assert measurement.warnings == ("Time states no unit",)
    given = catalogue.with_step(measurement.series[0], Path("a.csv"), 0.002)
    assert (given.step, given.axis_unit) == (0.002, "s")


def test_a_time_in_an_unknown_unit_stays_a_channel(tmp_path: Path) -> None:
    measurement = read(tmp_path, "time [fortnights],a\n0,1\n2,1\n")
    assert names(measurement) == [("time", "fortnights"), ("a", "")]
    assert "not a unit of time" in measurement.warnings[0]


def test_numbers_of_fortran(tmp_path: Path) -> None:
    measurement = read(tmp_path, "a b\n5.68-304 1.0D+02\n0.5771964-104 -.25d-1\n")
    assert values(measurement) == [[5.68e-304, 0.5771964e-104], [100.0, -0.025]]


def test_empty_cells_are_nan_and_counted(tmp_path: Path) -> None:
    measurement = read(tmp_path, "time [s],a,b\n0,,1\n1,nan,2\n2,3,N/A\n3,4,\n")
    assert np.array_equal(values(measurement), [[NAN, NAN, 3.0, 4.0], [1.0, 2.0, NAN, NAN]], equal_nan=True)
    assert measurement.warnings == ("4 cells are empty or marked as missing: read as NaN",)


def test_infinite_cells_are_told(tmp_path: Path) -> None:
    assert read(tmp_path, "a,b\n1,inf\n1,1e999\n").warnings == ("2 cells are infinite",)


@pytest.mark.parametrize(
    ("step", "count", "form"),
    [
        (1.0 / 256.0, 2000, "{:.6f}"),
        (1.0 / 1024.0, 2000, "{:.6f}"),
        (1.0 / 3.0, 300, "{:.4f}"),
        (0.005, 900, "{:.6g}"),
        (0.01, 2000, "{:.7E}"),
        (1.0 / 2048.0, 30000, "{:.9f}"),
        (0.02, 300, "{:.2f}"),
        (1e-6, 300, "{!r}"),
        (1.0 / 3.0, 300, "{!r}"),
    ],
)
def test_printed_times_that_are_even(tmp_path: Path, step: float, count: int, form: str) -> None:
    """The step is the true one, not one that the last digit has bent."""
    lines = [f"{form.format(k * step)},1\n" for k in range(count)]
    measurement = read(tmp_path, "time [s],a\n" + "".join(lines))
    assert measurement.series[0].step == step
    assert measurement.warnings == ()


def test_times_of_too_few_digits_are_told(tmp_path: Path) -> None:
    lines = [f"{k / 256.0:.3f},1\n" for k in range(500)]
    measurement = read(tmp_path, "time [s],a\n" + "".join(lines))
    assert measurement.series[0].step == 1.0 / 256.0
    assert measurement.warnings == (
        "the times are printed in units of 0.001, the step is taken as 0.00390625",
    )


def test_times_of_32_bits_are_told(tmp_path: Path) -> None:
    lines = [f"{float(np.float32(k * 0.01))!r},1\n" for k in range(5000)]
    measurement = read(tmp_path, "time [s],a\n" + "".join(lines))
    assert measurement.series[0].step == 0.01
    assert "numbers of 32 bits" in measurement.warnings[0]


@pytest.mark.parametrize("missing", [3, 50, 98])
def test_a_missing_sample_leaves_uneven_places(tmp_path: Path, missing: int) -> None:
    times = [k / 1000.0 for k in range(100) if k != missing]
    measurement = read(tmp_path, "time [s],a\n" + "".join(f"{time:.4f},1\n" for time in times))
    series = measurement.series[0]
    assert series.step is None
    assert series.abscissae is not None
    assert series.abscissae.tolist() == times


def test_a_missing_sample_is_no_rounding(tmp_path: Path) -> None:
    """A step of 1.00081 ms would round to these times."""
    lines = [f"{k / 1000.0:.3f},1\n" for k in range(1000) if k != 617]
    assert read(tmp_path, "time [s],a\n" + "".join(lines)).series[0].step is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time [s],a\n0,1\n\n# x\n0.1,2\n0.1,3\n", r"csv:6: the time does not increase: 0.1 after 0.1"),
        ("time [s],a\n0,1\n0.2,2\n0.1,3\n", r"csv:4: the time does not increase: 0.1 after 0.2"),
        ("time [s],a\n0,1\n,2\n", r"csv:3: the time does not increase: nan after 0"),
        ("acc [g]\n0,5\n1,5\n-2,5\n", r"csv:2: one name above 2 columns: a decimal comma"),
        ("time [s],a\n-inf,1\n0,2\n", r"csv:2: the time does not increase: -inf"),
        ("a,b\n1,2\n3\n4,5,6\n", r"csv:3: unequal number of values: line 2 has 2"),
        ("a,b\n1,2\n3,4\n5\n6,7,8\n", r"csv:4: 1 cells, the table has 2 columns\n.*csv:5: 3 cells"),
        ("a,b\n1,2\n3,4\n5, x1\n", r"csv:4:4: 'x1' is not a number"),
        ("a,b\n1,2\n3,x\n5,6\n", r"csv:3:3: 'x' is not a number|csv:3: '3,x' between rows of 2 numbers"),
        ("a;b\n1;2\n3;4\n5;6,5\n", r"csv:4:3: comma in '6,5': use a decimal point"),
        ("a;b\n1,5;2,5\n3;4\n", r"csv:2:1: decimal comma in '1,5': use a decimal point"),
        ("0,5\t1\n0,6\t2\n", r"csv:1:1: decimal comma in '0,5'"),
        ("0,5 1\n0,6 2\n", r"csv:1:1: decimal comma in '0,5'"),
        ("0,25\n0,05\n0,5\n", r"csv:2:2: decimal comma in '0,05'"),
        ("1,2\n3,4\na,1_0\n5,6\n", r"csv:3:1: 'a' is not a number"),
        ("a,b\n1,2\n3,4\n1_0,6\n", r"csv:4:1: '1_0' is not a number"),
        ("a,b,c\n1,2\n3,4\n", r"csv:1: 3 names above 2 columns"),
        ("1.5,abc\n1,2\n3,4\n", r"csv:1: "),
        ("1,2\nx,y\n3,4\n", r"csv:2: 'x,y' between rows of 2 numbers"),
        ("a;b\n1;2\n3;4\n1,5\n", r"csv:4: 1 cells, the table has 2 columns"),
        ("a,b\n1,2\n3,+4\n1+5,6\n", r"csv:4:1: '1\+5' is not a number"),
        (f"1,{2:.250f}\n" * 18000 + "3;4\n", r"csv:18001: 1 cells"),
        (b"\xff\xfe1\0,\0", "UTF-16"),
        (
            "a,b\n" + "1,2\n" * 3 + "x,y\n" * 30,
            r"(?s)csv:24:1: 'x' is not a number\n[^\n]*more problems may follow$",
        ),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str | bytes, message: str) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(FormatError, match=message) as caught:
        csv_table.read(path)
    assert all(line.startswith(f"{path}:") for line in str(caught.value).split("\n"))


@pytest.mark.parametrize("text", ["", "words only\nand more\n", "{'a': 1}\n", "\0\1\2 1\n2\n"])
def test_what_is_no_table(tmp_path: Path, text: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text)
    assert not csv_table.recognises(text.encode())
    with pytest.raises(FormatError, match=r"no table of numbers|is not a text file"):
        csv_table.read(path)


@pytest.mark.parametrize("kind", ["plain", "signs", "letters", "blanks"])
def test_long_tables_are_read_alike(tmp_path: Path, kind: str) -> None:
    """More than is read at once; the fast ways and the careful one agree."""
    table = np.random.default_rng(5).normal(size=(12000 if kind == "plain" else 1000, 20))
    text = "\n".join(",".join(map(repr, row)) for row in table.tolist())
    if kind == "signs":
        text = text.replace(",", ",+").replace("+-", "-").replace("0.", ".")
    elif kind == "letters":
        text = text.replace("e", "D")
    elif kind == "blanks":
        text = text.replace(",", "  \t")
    measurement = read(tmp_path, text)
    assert np.array_equal(measurement.series[0].matrix(), table)


TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Z"]), max_size=12)


@settings(max_examples=40)
@given(
    table=hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=12),
        elements=st.floats(allow_infinity=False),
    ),
    step=st.one_of(st.none(), st.floats(1e-9, 1e9)),
    start=st.sampled_from([0.0, 0.25, -3.0]),
    name=TEXT,
    unit=TEXT.filter(lambda text: "[" not in text and "]" not in text),
)
def test_any_table_survives(
    tmp_path_factory: pytest.TempPathFactory,
    table: FloatArray,
    step: float | None,
    start: float,
    name: str,
    unit: str,
) -> None:
    """Numbers to the last bit, names and units whatever they are; one row is at one place, not at a step."""
    path = tmp_path_factory.getbasetemp() / "any.csv"
    channels = tuple(Channel(f"{name}{k}", unit, column) for k, column in enumerate(table.T))
    series = Series(channels, step, start if step else 0.0)
    told = csv_table.write(path, Measurement("test", (series,), {"note": "words, and: more"}))
    measurement = csv_table.read(path)
    again = measurement.series[0]
    assert len(told) == (step is not None and len(table) == 1), "the step of one row"
    assert np.array_equal(again.matrix(), table, equal_nan=True)
    assert np.array_equal(np.signbit(again.matrix()), np.signbit(np.where(np.isnan(table), 1.0, table)))
    assert names(measurement) == [(one.name, one.unit) for one in channels]
    assert measurement.notes == {"note": "words, and: more"}
    if step is not None and start == 0.0:
        assert np.array_equal(again.axis_values(), series.axis_values())
        assert len(table) == 1 or again.step == step


def a_recording() -> Measurement:
    rng = np.random.default_rng(2)
    channels = [Channel(f"c{k}", "m/s²", rng.normal(size=700)) for k in range(3)]
    channels[1].values[5] = NAN
    return Measurement("test", (Series(tuple(channels), 0.001, 0.5),), {"station": "#1", "a:b": "c"})


def test_pandas_reads_the_same(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    told = csv_table.write(path, a_recording())
    frame = pd.read_csv(path, comment="#")
    series = a_recording().series[0]
    assert list(frame.columns) == ["time [s]", "c0 [m/s²]", "c1 [m/s²]", "c2 [m/s²]"]
    assert np.array_equal(frame["time [s]"], 0.5 + 0.001 * np.arange(700))
    assert np.array_equal(frame.to_numpy()[:, 1:], series.matrix(), equal_nan=True)
    assert told == ("the note 'a:b' is written as 'a b': 'c'",)


def test_a_file_of_pandas(tmp_path: Path) -> None:
    table = np.random.default_rng(4).normal(size=(50, 3))
    frame = pd.DataFrame(
        table, columns=["a [g]", "b", "c (N)"], index=pd.Index(np.arange(50) * 0.02, name="time [s]")
    )
    text = io.StringIO()
    frame.to_csv(text)
    measurement = read(tmp_path, text.getvalue())
    assert names(measurement) == [("a", "g"), ("b", ""), ("c", "N")]
    assert np.array_equal(measurement.series[0].matrix(), table)
    assert measurement.series[0].step == 0.02


def test_a_first_line_without_numbers_survives(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    column = np.array([NAN, 1.0])
    series = Series((Channel("a", "", column), Channel("b", "", column)), None)
    csv_table.write(path, Measurement("test", (series,)))
    assert np.array_equal(csv_table.read(path).series[0].matrix(), series.matrix(), equal_nan=True)


def test_uneven_places_and_roads_survive(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    abscissae = np.array([0.0, 0.1, 0.35])
    series = Series((Channel("z", "m", np.array([1.0, 2.0, 3.0])),), None, abscissae=abscissae)
    csv_table.write(path, Measurement("test", (series,)))
    read_again = csv_table.read(path).series[0]
    assert np.array_equal(read_again.axis_values(), abscissae)
    assert read_again.step is None
    road = Series(series.channels, 0.1, axis="u", axis_unit="m")
    csv_table.write(path, Measurement("test", (road,)))
    assert names(csv_table.read(path)) == [("u", "m"), ("z", "m")]


@pytest.mark.parametrize(
    ("measurement", "message"),
    [
        (Measurement("t", (Series((Channel("a", "", np.array([np.inf])),), 1.0),)), "infinite values of a"),
        (Measurement("t", (Series((), 1.0),)), "without channels"),
        (Measurement("t", ()), "these are 0 series"),
    ],
)
def test_what_cannot_be_written(tmp_path: Path, measurement: Measurement, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        csv_table.write(tmp_path / "table.csv", measurement)
    assert not list(tmp_path.iterdir())


def test_a_real_record(shared: Path) -> None:
    measurement = csv_table.read(shared / "data" / "records" / "eqsig_test_motion_dt0p01.txt")
    column = measurement.channels[0].values
    assert (len(column), measurement.series[0].step, measurement.channels[0].unit) == (4684, 0.01, "")
    assert (column[0], column[-1], column[1405]) == (2.42e-07, -3.15e-05, -1.41)
    assert int(np.argmax(np.abs(column))) == 1405


def test_real_tables_of_si_columns(shared: Path) -> None:
    for name, count in (("reference_bump.csv", 251), ("reference_jturn.csv", 401)):
        measurement = csv_table.read(shared / "data" / "sedan_benchmark" / name)
        series = measurement.series[0]
        assert (series.count, series.step, measurement.warnings) == (count, 0.01, ())
        assert dict(names(measurement))["wz_rads"] == "rad/s"
