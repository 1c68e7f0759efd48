"""Records of volume II: the line before the values counts, whatever the text says of the raw data."""

from __future__ import annotations

from pathlib import Path

import pytest

from mastd.errors import FormatError
from mastd.formats import catalogue
from mastd.formats.core.measurement import Measurement
from mastd.formats.strong_motion import usc

HEAD = """CORRECTED ACCELEROGRAM  AB127  94.610.0 COMP N08W   FILE   0  CORRESPONDING T
FILE     0 OF UNCORRECTED ACCELEROGRAM DATA OF VOLUME I:
SOMEWHERE EARTHQUAKE
UNITS ARE SEC AND G/10
ACCELEROGRAM IS BAND-PASS FILTERED BETWEEN  .225- .325 AND 25.00-27.00 HZ.
PEAK ACCELERATION =  {peak}  CMS/SEC/SEC AT    4.580   SEC.
    0    2    2  127
      .039      .550
"""
SECTION = "    9 POINTS OF ACC DATA EQUALLY SPACED AT   .020 SEC.  IN UNITS CM/SEC/SEC\n"
VALUES = """    -1.133    -1.152     -.596      .494      .888     -.019    -1.193     -.564
   242.395
"""
COUNT = 9


def read(tmp_path: Path, content: str) -> Measurement:
    path = tmp_path / "x.s0a"
    path.write_bytes(content.replace("\n", "\r\n").encode())
    assert catalogue.recognise(path) is usc.FORMAT
    return usc.read(path)


def text(peak: str = "242.39450") -> str:
    return HEAD.format(peak=peak) + SECTION + VALUES


def test_the_unit_is_that_of_the_section(tmp_path: Path) -> None:
    """Not the G/10 of the raw data; step, count, direction, filter."""
    measurement = read(tmp_path, text())
    (series,) = measurement.series
    (channel,) = series.channels
    assert channel.values.tolist() == [-1.133, -1.152, -0.596, 0.494, 0.888, -0.019, -1.193, -0.564, 242.395]
    assert (channel.name, channel.unit, series.step) == ("N08W", "cm/s2", 0.02)
    assert measurement.notes["filter"].startswith("ACCELEROGRAM IS BAND-PASS")
    assert not measurement.warnings


def test_the_peak_of_the_text(tmp_path: Path) -> None:
    """With the other sign it is told, and with another size."""
    (warning,) = read(tmp_path, text("-242.39450")).warnings
    assert "states a peak of -242.394 cm/s2, that of the values has the opposite sign: 242.395" in warning
    (warning,) = read(tmp_path, text("200.0")).warnings
    assert "states a peak of 200 cm/s2, that of the values is 242.395" in warning


def test_several_sections_and_components(tmp_path: Path) -> None:
    """Velocity behind acceleration, then a second component; another step makes series of their own."""
    velocity = SECTION.replace("ACC", "VEL").replace("CM/SEC/SEC", "CM/SEC")
    up = text().replace("N08W", "UP")
    (series,) = read(tmp_path, text() + velocity + VALUES + up).series
    assert [(one.name, one.unit) for one in series.channels] == [
        ("N08W", "cm/s2"),
        ("N08W velocity", "cm/s"),
        ("UP", "cm/s2"),
    ]
    several = read(tmp_path, text() + velocity.replace(".020", ".040") + VALUES).series
    assert [one.step for one in several] == [0.02, 0.04]
    (same,) = read(tmp_path, text() + text()).series
    assert [one.name for one in same.channels] == ["N08W 1", "N08W 2"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (SECTION, SECTION.replace("9 P", "10 P"), ":9: states 10 points, but 9 follow"),
        (SECTION, SECTION.replace(".020", "0.0"), ":9: values every 0.0 s, must be above zero"),
        (
            SECTION,
            SECTION.replace("CM/SEC/SEC", "CM/SEC"),
            ":9: acceleration in CM/SEC, which is a unit of vel",
        ),
        ("   242.395", "   242,395", ":11:4: comma in '242,395'"),
        ("   242.395", "   242.395" * 9, ":11:81: the line continues after its 8 fields"),
        (SECTION, "", ":1: no line like '1887 POINTS OF ACC DATA"),
    ],
)
def test_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = tmp_path / "x.s0a"
    path.write_text(text().replace(old, new), encoding="utf-8")
    with pytest.raises(FormatError) as caught:
        usc.read(path)
    assert str(caught.value).partition(".s0a")[2].startswith(said)


def test_a_section_without_units(tmp_path: Path) -> None:
    """Has none: the words on the raw data are no statement on these values."""
    content = text().replace("  IN UNITS CM/SEC/SEC", "")
    assert read(tmp_path, content).channels[0].unit == ""


def test_a_value_too_large(tmp_path: Path) -> None:
    """Does not fit the ten characters of a field."""
    from mastd.formats.core.measurement import Channel, Series

    path = tmp_path / "x.s0a"
    measurement = read(tmp_path, text())
    large = Channel("a", "cm/s2", measurement.channels[0].values * 1e3)
    with pytest.raises(FormatError, match="holds values below 1e5 cm/s2, these reach 242395"):
        usc.write(path, Measurement("", (Series((large,), 0.02),)))


def test_others_of_this_family(tmp_path: Path) -> None:
    """Small letters, a unit without the word before it, a format, a line that ends the values."""
    section = "    9 points of accel data equally spaced at   .005 sec, in cm/sec2. (5f9.3)\n"
    rows = "   -1.133   -1.152    -.596     .494     .888\n    -.019   -1.193    -.564-1242.395\n"
    end = "/&  ----------  End of data for channel  1  ----------\n"
    (series,) = read(tmp_path, HEAD.format(peak="-1242.395") + section + rows + end).series
    assert (series.step, series.channels[0].unit) == (0.005, "cm/s2")
    assert series.channels[0].values[[0, -1]].tolist() == [-1.133, -1242.395]
