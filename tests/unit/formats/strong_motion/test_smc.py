"""SMC records: fields that touch, markers of what is unknown, both forms of values."""

from __future__ import annotations

from pathlib import Path

import pytest

from mastd.errors import FormatError
from mastd.formats import catalogue
from mastd.formats.core.measurement import Measurement
from mastd.formats.strong_motion import smc

TEXTS = [
    "2 CORRECTED ACCELEROGRAM",
    "*",
    "ABC01",
    "     2011   3  11    0546 Somewhere",
    "*",
    "station = Somewhere, Hall               component=    360",
    "*",
    "*",
    "*",
    "*",
    "*",
]
NO_INTEGER, NO_REAL = -32768, 1.7e38
VALUES = [1.5057, -2.2223, -1.9234, -3.1562, -3.244, -3.5638, -5.1941, -5.7933, -0.5529, 104.41]
ROWS = [
    " 1.5057E+0-2.2223E+0-1.9234E+0-3.1562E+0-3.2440E+0-3.5638E+0-5.1941E+0-5.7933E+0",
    "-5.5290E-1 1.0441E+2",
]


def text(
    integers: dict[int, int] | None = None,
    reals: dict[int, float] | None = None,
    comments: tuple[str, ...] = ("|", "| a remark"),
    rows: list[str] = ROWS,
    texts: list[str] = TEXTS,
) -> str:
    """Return a file; numbers of the headers are counted from 1 on, as their description does."""
    whole = [NO_INTEGER] * 48
    for place, value in ({16: len(comments), 17: len(VALUES)} | (integers or {})).items():
        whole[place - 1] = value
    real = [NO_REAL] * 50
    for place, number in ({2: 200.0} | (reals or {})).items():
        real[place - 1] = number
    lines = [line.ljust(80) for line in texts]
    lines += ["".join(f"{value:10d}" for value in whole[k : k + 8]) for k in range(0, 48, 8)]
    lines += ["".join(f"{number:15.7E}" for number in real[k : k + 5]) for k in range(0, 50, 5)]
    return "\r\n".join([*lines, *comments, *rows, ""])


def read(tmp_path: Path, content: str) -> Measurement:
    path = tmp_path / "x.smc"
    path.write_bytes(content.encode())
    assert catalogue.recognise(path) is smc.FORMAT
    return smc.read(path)


def test_fields_that_touch(tmp_path: Path) -> None:
    """Values, rate, words; the marker of the unknown is no value of anything."""
    measurement = read(tmp_path, text())
    (series,) = measurement.series
    (channel,) = series.channels
    assert channel.values.tolist() == VALUES
    assert (channel.name, channel.unit, series.step) == ("360", "cm/s2", 0.005)
    assert measurement.notes["station"] == "Somewhere, Hall"
    assert measurement.notes["comments"] == "a remark"
    assert "start time" not in measurement.notes
    assert not measurement.warnings


def test_positive_fields_that_touch(tmp_path: Path) -> None:
    """Without a sign between them only the columns part them."""
    rows = ["10.5057E+010.2223E+011.9234E+0"]
    values = read(tmp_path, text({17: 3}, rows=rows)).channels[0].values
    assert values.tolist() == [10.5057, 10.2223, 11.9234]


def test_the_precise_form(tmp_path: Path) -> None:
    """The 47th integer tells of values in fields of fourteen."""
    rows = ["".join(field.rjust(14) for field in ("1.5057123E+0", "-2.2223123E+0", "-1.23456789E+1"))]
    values = read(tmp_path, text({17: 3, 47: 8}, rows=rows)).channels[0].values
    assert values.tolist() == [1.5057123, -2.2223123, -12.3456789]


@pytest.mark.parametrize(
    ("first", "unit"),
    [
        ("1 UNCORRECTED ACCELEROGRAM", "cm/s2"),
        ("3 VELOCITY", "cm/s"),
        ("4 DISPLACEMENT", "cm"),
        ("CORRECTED ACCELEROGRAM", "cm/s2"),
        ("0 UNKNOWN", ""),
        ("*", ""),
    ],
)
def test_units_are_those_of_the_kind_of_data(tmp_path: Path, first: str, unit: str) -> None:
    assert read(tmp_path, text(texts=[first, *TEXTS[1:]])).channels[0].unit == unit


@pytest.mark.parametrize(
    ("orientations", "component"),
    [({13: 90, 14: 45}, "45"), ({13: 0, 14: 360}, "UP"), ({13: 180}, "DOWN"), ({}, "")],
)
def test_components_without_words(tmp_path: Path, orientations: dict[int, int], component: str) -> None:
    texts = [*TEXTS[:5], "*", *TEXTS[6:]]
    measurement = read(tmp_path, text(orientations, texts=texts))
    assert measurement.notes.get("component", "") == component
    assert measurement.channels[0].name == (component or "ABC01")


def test_the_start(tmp_path: Path) -> None:
    """Year and day of the year; not stated without the second."""
    stated = {2: 2012, 3: 366, 4: 23, 5: 59, 6: 58, 7: 125}
    assert read(tmp_path, text(stated)).notes["start time"] == "2012-12-31T23:59:58.125"
    assert "start time" not in read(tmp_path, text(stated | {6: NO_INTEGER})).notes
    assert "start time" not in read(tmp_path, text(stated | {4: 25})).notes


def test_a_rate_that_is_not_stated(tmp_path: Path) -> None:
    assert read(tmp_path, text(reals={2: NO_REAL})).series[0].step is None


def test_contradictions_that_are_told(tmp_path: Path) -> None:
    (warning,) = read(tmp_path, text(reals={30: 99.0})).warnings
    assert "states a maximum of 99 cm/s2, that of the values is 104.41" in warning
    (warning,) = read(tmp_path, text({16: 7})).warnings
    assert ":13: states 7 comments, 2 lines begin with '|'" in warning


def test_refused(tmp_path: Path) -> None:
    """With the place; a value that is marked as missing makes a record nobody can play."""
    for content, said in (
        (text({17: 11}), ":14:1: states 11 values, but 10 follow"),
        (text({17: NO_INTEGER}), ":14:1: the count of values is -32768"),
        (text(reals={2: 0.0}), ":18:16: the rate is 0, expected 0 to 1e6/s"),
        (text(reals={2: 2e36}), ":18:16: the rate is 2e+36"),
        (text(texts=["5 RESPONSE SPECTRA", *TEXTS[1:]]), ":1: holds response spectra"),
        (text(rows=[ROWS[0], "-5.5290E-1 1,0441E+2"]), ":31:12: comma in '1,0441E+2'"),
        (text(rows=[ROWS[0], "-5.5290E-1**********"]), ":31:11: '**********' is not a number"),
        (text(rows=[ROWS[0], "-5.5290E-11.7000E+38"]), ": 1 values are marked as missing (1.7e+38)"),
        ("\r\n".join(text().split("\r\n")[:20]), ":20: an SMC file has 27 lines of header"),
    ):
        path = tmp_path / "x.smc"
        path.write_bytes(content.encode())
        with pytest.raises(FormatError) as caught:
            smc.read(path)
        assert str(caught.value).partition(".smc")[2].startswith(said)
