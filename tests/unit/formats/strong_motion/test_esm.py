"""ESM and ITACA records: entries in any number, the stated unit, what contradicts itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from mastd.errors import FormatError
from mastd.formats import catalogue
from mastd.formats.core.measurement import Measurement
from mastd.formats.strong_motion import esm

TEXT = """EVENT_NAME: SOMEWHERE
MAGNITUDE_W:
STATION_NAME: Somewhere: upper hall
DATE_TIME_FIRST_SAMPLE_YYYYMMDD_HHMMSS: 20190728_160905.700
SAMPLING_INTERVAL_S: 0.005000
NDATA: 4
DURATION_S: 0.020
STREAM: HNE
UNITS: cm/s^2
PGA_CM/S^2: -3.5
DATA_TYPE: ACCELERATION
USER5:
0.000001
-3.500000
1.5
-0.000001
"""


def read(tmp_path: Path, content: str) -> Measurement:
    path = tmp_path / "x.ASC"
    path.write_text(content, encoding="utf-8")
    assert catalogue.recognise(path) is esm.FORMAT
    return esm.read(path)


def test_a_short_header(tmp_path: Path) -> None:
    """The header ends where the numbers begin; entries without a value are no notes."""
    measurement = read(tmp_path, TEXT)
    (series,) = measurement.series
    (channel,) = series.channels
    assert (channel.name, channel.unit, series.step) == ("HNE", "cm/s2", 0.005)
    assert channel.values.tolist() == [1e-6, -3.5, 1.5, -1e-6]
    assert measurement.notes["STATION_NAME"] == "Somewhere: upper hall"
    assert measurement.notes["start time"] == "2019-07-28T16:09:05.700"
    assert "MAGNITUDE_W" not in measurement.notes
    assert not measurement.warnings


@pytest.mark.parametrize(
    ("old", "new", "unit"),
    [
        ("UNITS: cm/s^2", "UNITS: gal", "gal"),
        ("UNITS: cm/s^2", "UNITS: cm/s", "cm/s"),
        ("UNITS: cm/s^2", "UNITS:", ""),
        ("UNITS: cm/s^2\n", "", ""),
    ],
)
def test_units_are_the_files_own(tmp_path: Path, old: str, new: str, unit: str) -> None:
    assert read(tmp_path, TEXT.replace(old, new)).channels[0].unit == unit


def test_what_is_not_stated_is_not_guessed(tmp_path: Path) -> None:
    """An interval left empty gives no step; a time in other words is read, one without sense is not."""
    assert read(tmp_path, TEXT.replace(" 0.005000", "")).series[0].step is None
    slashes = read(tmp_path, TEXT.replace("20190728_160905.700", "2019/07/28 16:09:05.700"))
    assert slashes.notes["start time"] == "2019-07-28T16:09:05.700"
    for time in ("28072019_160905.700", "20190728_160999.000", "20190728_250905.700", "yesterday"):
        assert "start time" not in read(tmp_path, TEXT.replace("20190728_160905.700", time)).notes


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("NDATA: 4", "NDATA: 5", ":6: NDATA is 5, but 4 values follow"),
        ("NDATA: 4", "NDATA:", ":6: NDATA is not a count"),
        ("0.005000", "0", ":5: SAMPLING_INTERVAL_S is '0', must be a number above zero"),
        ("0.005000", "0,005", ":5: SAMPLING_INTERVAL_S is '0,005'"),
        ("\n1.5\n", "\n1,5\n", ":15:1: comma in '1,5': use a decimal point"),
        ("\n1.5\n", "\nnan\n", ":15:1: 'nan' is not a number"),
        ("ACCELERATION", "ACCELERATION RESPONSE SPECTRUM", ":11: holds a response spectrum"),
    ],
)
def test_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(FormatError) as caught:
        read(tmp_path, TEXT.replace(old, new, 1))
    assert str(caught.value).partition(".ASC")[2].startswith(said)


def test_contradictions_that_are_told(tmp_path: Path) -> None:
    """The peak with its sign, and the duration: both values in the line."""
    (warning,) = read(tmp_path, TEXT.replace("-3.5\n", "3.5\n", 1)).warnings
    assert "states a peak of 3.5 cm/s2, that of the values has the opposite sign: -3.5" in warning
    (warning,) = read(tmp_path, TEXT.replace("0.020", "0.7")).warnings
    assert "states a duration of 0.7 s, 4 values every 0.005 s are 0.02 s" in warning
    assert not read(tmp_path, TEXT.replace("0.020", "0.015")).warnings, "some writers count the steps between"
