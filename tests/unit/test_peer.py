"""PEER files: every layout in use is read, every broken one is refused with its place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mastd.errors import FormatError
from mastd.formats import peer

G = 9.80665
HEADER = "TITLE\nEVENT, DATE\nACCELERATION TIME SERIES IN UNITS OF G\n"


def read(tmp_path: Path, text: str) -> peer.PeerRecord:
    """Read a text through a file whose name has a blank and an accent in it."""
    path = tmp_path / "a réc ord.AT2"
    path.write_bytes(text.encode())
    return peer.read(path)


def complaint(tmp_path: Path, text: str) -> str:
    """Return what the reader says of a text, without the folder."""
    with pytest.raises(FormatError) as caught:
        read(tmp_path, text)
    message = str(caught.value)
    assert "\n" not in message
    return message.rsplit(".AT2", 1)[1]


@pytest.mark.parametrize(
    "header",
    [
        HEADER + "NPTS=   4, DT= .00500 SEC\n",
        HEADER + "NPTS=   4, DT=   .0050 SEC,            \n",
        HEADER + "NPTS=4,DT=5.0D-3 SEC\n",
        HEADER + "   4   0.00500   NPTS, DT\n",
        "TITLE\nEVENT, DATE\nNPTS=   4, DT= .00500 SEC\nACCELERATION TIME SERIES IN UNITS OF G\n",
        "one\ntwo\nthree\nfour\n" + HEADER + "npts= 4, dt= .005 sec\n",
    ],
)
def test_headers(tmp_path: Path, header: str) -> None:
    """Count and step are found by their pattern, in either form and on any of the first lines."""
    record = read(tmp_path, header + "  .1E+00 -.2E+00  .3E+00\n  .4E+00\n")
    assert record.spacing == 0.005
    assert np.allclose(record.values, np.array([0.1, -0.2, 0.3, 0.4]) * G, rtol=1e-15)


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
        ("\t0.1\t0.2\r\n0.3\r\n", [0.1, 0.2, 0.3]),
    ],
)
def test_values(tmp_path: Path, data: str, values: list[float]) -> None:
    """One to many columns, Fortran's exponents with and without a letter, fields that touch."""
    record = read(tmp_path, HEADER + f"NPTS= {len(values)}, DT= .01 SEC\n" + data)
    assert np.allclose(record.values / G, values, rtol=1e-14, atol=0.0)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("0.1 0.2\n", ":4: NPTS is 3, but 2 values follow"),
        ("0.1 0.2 0.3 0.4\n", ":4: NPTS is 3, but 4 values follow"),
        ("0,1 0,2 0,3\n", ":5:1: comma in '0,1'"),
        ("0.1 0.2\n 0.3, \n", ":6:2: comma in '0.3,'"),
        ("0.1 NaN 0.3\n", ":5:5: 'NaN' is not a number"),
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
    """Without count and step, without units, with a step that is none, it is no PEER file."""
    assert "no NPTS and DT" in complaint(tmp_path, HEADER + "0.1 0.2\n")
    assert "UNITS OF G" in complaint(tmp_path, "TITLE\nNPTS= 2, DT= .01 SEC\n0.1 0.2\n")
    assert "decimal comma in DT" in complaint(tmp_path, HEADER + "NPTS= 2, DT= 0,01 SEC\n0.1 0.2\n")
    assert "must be above zero" in complaint(tmp_path, HEADER + "NPTS= 2, DT= 0.0 SEC\n0.1 0.2\n")
    with pytest.raises(FormatError, match="cannot be read"):
        peer.read(tmp_path / "nowhere.AT2")


def test_velocities_and_displacements(tmp_path: Path) -> None:
    """Files of velocity and displacement come in cm/s and cm."""
    for quantity, units in (("VELOCITY", "CM/S"), ("DISPLACEMENT", "CM")):
        header = f"T\nE\n{quantity} TIME SERIES IN UNITS OF {units}\nNPTS= 2, DT= .01 SEC\n"
        record = read(tmp_path, header + "1.0 -2.0\n")
        assert record.quantity == quantity.lower()
        assert record.values == pytest.approx([0.01, -0.02])


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=1, max_size=23))
def test_written_files_are_read_back(tmp_path_factory: pytest.TempPathFactory, values: list[float]) -> None:
    """What is written is read back to the eight digits of the form."""
    path = tmp_path_factory.mktemp("peer") / "x.AT2"
    record = peer.PeerRecord("title", "event", "acceleration", 0.005, np.array(values))
    peer.write(path, record)
    again = peer.read(path)
    assert (again.title, again.event, again.quantity, again.spacing) == (
        "title",
        "event",
        "acceleration",
        0.005,
    )
    assert np.allclose(again.values, values, rtol=1e-7, atol=1e-99)


def test_a_real_record() -> None:
    """A published record: count, step, first, last and peak."""
    path = Path(__file__).parents[2].parent / "shared" / "data" / "records" / "usgs_RSN763_GIL067.AT2"
    if not path.is_file():
        pytest.skip("the folder of real records is not beside this checkout")
    record = peer.read(path)
    in_g = record.values / G
    assert len(in_g) == 7999
    assert record.spacing == 0.005
    assert in_g[[0, -1]] == pytest.approx([-0.0008075668, 0.0003362115], rel=1e-12)
    peak = int(np.argmax(np.abs(in_g)))
    assert (in_g[peak], peak * record.spacing) == pytest.approx((-0.3585328, 3.365), rel=1e-12)
