"""PEER files: every layout in use is read, every broken one is refused with its place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mastd.errors import FormatError
from mastd.formats import catalogue
from mastd.formats.core.measurement import Channel, Measurement, Series
from mastd.formats.strong_motion import peer

HEADER = "TITLE\nEVENT, DATE\nACCELERATION TIME SERIES IN UNITS OF G\n"
TINY = 1e-307
"""Below, numbers have fewer digits."""


def read(tmp_path: Path, text: str) -> Measurement:
    """Read a text through a file whose name has a blank and an accent in it."""
    path = tmp_path / "a réc ord.AT2"
    path.write_bytes(text.encode())
    assert catalogue.recognise(path) is peer.FORMAT
    return peer.read(path)


def complaint(tmp_path: Path, text: str) -> str:
    """Return what the reader says of a text, without the folder."""
    path = tmp_path / "record.AT2"
    path.write_bytes(text.encode())
    with pytest.raises(FormatError) as caught:
        peer.read(path)
    message = str(caught.value)
    assert "\n" not in message
    return message.rsplit(".AT2", 1)[1]


@pytest.mark.parametrize(
    "header",
    [
        HEADER + "NPTS=   4, DT= .00500 SEC\n",
        HEADER + "NPTS=   4, DT=   .0050 SEC,            \n",
        HEADER + "NPTS=4,DT=5.0D-3 SEC\n",
        HEADER + "NPTS= 4, DT= 5.0 MSEC\n",
        HEADER + "DT= .00500 SEC, NPTS= 4\n",
        HEADER + "NPTS= 4\nDT= .00500 SEC\n",
        HEADER + "   4   0.00500   NPTS, DT\n",
        HEADER + "4, 0.00500, NPTS, DT\n",
        "NPTS= 4, DT= .005 SEC\nACCELERATION TIME HISTORY IN UNITS OF G\nTITLE\nEVENT, DATE\n",
        "TITLE\nEVENT, DATE\nNPTS=   4, DT= .00500 SEC\nACCELERATION TIME SERIES IN UNITS OF G\n",
        "one\ntwo\nthree\nfour\n" + HEADER + "npts= 4, dt= .005 sec\n",
    ],
)
def test_headers(tmp_path: Path, header: str) -> None:
    """Count and step are found by their pattern, in either form and on any of the first lines."""
    measurement = read(tmp_path, header + "  .1E+00 -.2E+00  .3E+00\n  .4E+00\n")
    (series,) = measurement.series
    assert series.step == 0.005
    assert series.channels[0].unit == "g"
    assert series.channels[0].values.tolist() == [0.1, -0.2, 0.3, 0.4]
    assert not measurement.warnings


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r\r\n", "\r"])
def test_ends_of_lines(tmp_path: Path, end: str) -> None:
    """Whatever ends the lines, they are read, and counted right in complaints."""
    text = (HEADER + "NPTS= 3, DT= .01 SEC\n0.1 0.2\n0.3\n").replace("\n", end)
    assert read(tmp_path, text).channels[0].values.tolist() == [0.1, 0.2, 0.3]
    assert complaint(tmp_path, text.replace("0.3", "0.3x")).startswith(":6:1: '0.3x'")


@pytest.mark.parametrize(
    ("data", "values"),
    [
        ("0.1\n0.2\n-0.3\n", [0.1, 0.2, -0.3]),
        ("0.1 0.2 -0.3 1 2 3 4 5\n6 7\n", [0.1, 0.2, -0.3, 1, 2, 3, 4, 5, 6, 7]),
        (".1D-1 -2.5d+0 3.D0\n", [0.01, -2.5, 3.0]),
        ("5.68-304 0.5771964-104 1.5+100\n", [5.68e-304, 0.5771964e-104, 1.5e100]),
        ("-.8075668E-03-.8063926E-03 .5E-03\n", [-0.8075668e-3, -0.8063926e-3, 0.5e-3]),
        ("0.1234567E-010.2345678E-02\n", [0.01234567, 0.002345678]),
        ("1.5E-105-2.0E-104\n", [1.5e-105, -2.0e-104]),
        ("0.1 0.2   \n\n0.3\n  END\nof file, remarks\n", [0.1, 0.2, 0.3]),
        ("\t0.1\t0.2\r\n0.3\r\n\x1a", [0.1, 0.2, 0.3]),
    ],
)
def test_values(tmp_path: Path, data: str, values: list[float]) -> None:
    """One to many columns, Fortran's exponents with and without a letter, fields that touch."""
    measurement = read(tmp_path, HEADER + f"NPTS= {len(values)}, DT= .01 SEC\n" + data)
    assert measurement.channels[0].values.tolist() == values


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("0.1 0.2\n", ":4: NPTS is 3, but 2 values follow"),
        ("0.1 0.2 0.3 0.4\n", ":4: NPTS is 3, but 4 values follow"),
        ("0,1 0,2 0,3\n", ":5:1: comma in '0,1'"),
        ("0.1 0.2\n 0.3, \n", ":6:2: comma in '0.3,'"),
        ("0.1 NaN 0.3\n", ":5:5: 'NaN' is not a number"),
        ("NaN 0.2 0.3\n", ":5:1: 'NaN' is not a number"),
        ("0.1 0.2 *******\n", ":5:9: '*******' is not a number"),
        ("0.1 1e999 0.3\n", ":5:5: '1e999' is not a number"),
        ("104.410010.1234 0.3\n", ":5:1: '104.410010.1234' is not a number"),
        ("0.1 2x 0.3\n", ":5:5: '2x' is not a number"),
    ],
)
def test_refused_values(tmp_path: Path, data: str, said: str) -> None:
    """A wrong count, decimal commas, what is no number or cannot be told apart: its line and column."""
    assert complaint(tmp_path, HEADER + "NPTS= 3, DT= .01 SEC\n" + data).startswith(said)


def test_refused_headers(tmp_path: Path) -> None:
    """Without a count, with a step that is none, with a unit of another quantity, it is no PEER file."""
    assert "no NPTS and DT" in complaint(tmp_path, HEADER + "0.1 0.2\n")
    said = complaint(tmp_path, HEADER + "NPTS= 2, DT= 0,01 SEC\n0.1 0.2\n")
    assert said.startswith(":4:15: decimal comma in DT")
    assert "must be above zero" in complaint(tmp_path, HEADER + "NPTS= 2, DT= 0.0 SEC\n0.1 0.2\n")
    nonsense = "T\nE\nNPTS= 99999999999999999999, DT= 1e999 SEC\n0.1 0.2\n"
    assert peer.recognises(nonsense.encode())
    assert "NPTS" in complaint(tmp_path, nonsense)
    assert "must be above zero" in complaint(tmp_path, HEADER + "NPTS= 2, DT= -0.1 SEC\n0.1 0.2\n")
    wrong = "T\nE\nACCELERATION TIME SERIES IN UNITS OF CM/S\nNPTS= 2, DT= .01 SEC\n1 2\n"
    assert "acceleration in CM/S, which is a unit of velocity" in complaint(tmp_path, wrong)
    with pytest.raises(FormatError, match="cannot be read"):
        peer.read(tmp_path / "nowhere.AT2")


@pytest.mark.parametrize(
    ("line", "unit"),
    [
        ("ACCELERATION TIME SERIES IN UNITS OF G", "g"),
        ("ACCELERATION TIME HISTORY IN UNITS OF G.", "g"),
        ("ACCELERATION TIME SERIES IN UNITS OF g (9.81 m/s2)", "g"),
        ("ACCELERATION TIME SERIES IN UNITS OF CM/SEC/SEC", "cm/s2"),
        ("ACCELERATION TIME SERIES IN UNITS OF CM/S/S", "cm/s2"),
        ("ACCELERATION TIME SERIES IN UNITS OF CM/S**2", "cm/s2"),
        ("ACCELERATION TIME SERIES IN UNITS OF GAL", "gal"),
        ("VELOCITY TIME SERIES IN UNITS OF CM/SEC", "cm/s"),
        ("DISPLACEMENT TIME SERIES IN UNITS OF CM", "cm"),
        ("DISPLACEMENT TIME SERIES IN UNITS OF FURLONGS", "FURLONGS"),
        ("some other line", ""),
    ],
)
def test_units(tmp_path: Path, line: str, unit: str) -> None:
    """The unit is the file's own; without a line of units there is none, and the values are read."""
    measurement = read(tmp_path, f"T\nE\n{line}\nNPTS= 2, DT= .01 SEC\n1.0 -2.0\n")
    assert measurement.channels[0].unit == unit
    assert measurement.channels[0].values.tolist() == [1.0, -2.0]


def test_a_step_that_is_not_stated(tmp_path: Path) -> None:
    """Is not guessed; the user says it."""
    measurement = read(tmp_path, HEADER + "NPTS= 2\n0.1 0.2\n")
    assert measurement.series[0].step is None
    series, _ = catalogue.pick(measurement, tmp_path, step=0.02)
    assert series.axis_values().tolist() == [0.0, 0.02]


def test_words(tmp_path: Path) -> None:
    """The component names the channel, title and event are kept."""
    header = HEADER.replace("EVENT, DATE", "Quake, 1/2/1999, Station - Hall, UP")
    measurement = read(tmp_path, header + "NPTS= 1, DT= .01 SEC\n1\n")
    assert measurement.channels[0].name == "UP"
    event = "Quake, 1/2/1999, Station - Hall, UP"
    assert measurement.notes == {"title": "TITLE", "event": event, "component": "UP"}


@settings(max_examples=40)
@given(
    st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=23),
    st.floats(1e-300, 1e300),
    st.sampled_from(["g", "cm/s2", "m/s2", "cm/s", "m/s", "cm", "m", ""]),
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=60),
)
def test_written_files_are_read_back(
    tmp_path_factory: pytest.TempPathFactory, values: list[float], step: float, unit: str, words: str
) -> None:
    """To the eight digits of the form, with the same step and unit, whatever the words are."""
    path = tmp_path_factory.mktemp("peer") / "x.AT2"
    channel = Channel(words, unit, np.array(values))
    assert peer.write(path, Measurement("", (Series((channel,), step),), {"title": words})) == ()
    assert catalogue.recognise(path) is peer.FORMAT
    again = peer.read(path)
    assert again.series[0].step == step
    assert again.channels[0].unit == unit
    assert np.allclose(again.channels[0].values, values, rtol=5.0001e-8, atol=TINY)


@pytest.mark.parametrize("words", ["NPTS= 7, DT= 3", "UNITS OF CM", "5 0.1 NPTS, DT", "end", "1.5 2.5", ""])
def test_words_that_look_like_a_header(tmp_path: Path, words: str) -> None:
    """Do not come between the header and its reader."""
    path = tmp_path / "x.AT2"
    channel = Channel(words, "g", np.array([1.0, 2.0]))
    peer.write(path, Measurement("", (Series((channel,), 0.01),), {"title": words, "event": words}))
    (series,) = peer.read(path).series
    assert (series.step, series.channels[0].unit, series.channels[0].values.tolist()) == (
        0.01,
        "g",
        [1.0, 2.0],
    )


def test_what_is_written_beside_other_units(tmp_path: Path) -> None:
    """Units that PEER has no words for are converted, and what is lost is told; others are refused."""
    path = tmp_path / "x.AT2"
    channel = Channel("a", "mg", np.array([1000.0, -500.0]))
    measurement = Measurement("", (Series((channel,), 0.01, start=2.0),), {"title": "t", "filter": "none"})
    lines = peer.write(path, measurement)
    assert peer.read(path).channels[0].values.tolist() == [1.0, -0.5]
    assert [line.split(":")[0] for line in lines] == ["a", "notes", "the time of the first value, 2 s"]
    force = Measurement("", (Series((Channel("f", "kN", np.array([1.0])),), 0.01),))
    with pytest.raises(FormatError, match=r"f: a PEER file needs values in g, cm/s2.*these are in 'kN'"):
        peer.write(path, force)
    assert peer.read(path).channels[0].values.tolist() == [1.0, -0.5], "the file before is untouched"


def test_a_real_record(shared: Path) -> None:
    """A published record: count, step, first, last and peak."""
    path = shared / "data" / "records" / "usgs_RSN763_GIL067.AT2"
    assert catalogue.recognise(path) is peer.FORMAT
    (series,) = peer.read(path).series
    (channel,) = series.channels
    assert (channel.unit, len(channel.values), series.step) == ("g", 7999, 0.005)
    assert channel.values[[0, -1]].tolist() == [-0.0008075668, 0.0003362115]
    peak = int(np.argmax(np.abs(channel.values)))
    assert (channel.values[peak], series.axis_values()[peak]) == pytest.approx((-0.3585328, 3.365), rel=1e-12)
