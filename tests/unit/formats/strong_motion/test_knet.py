"""K-NET and KiK-net records: the scale applied once, the offset kept and told, what is not whole refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mastd.errors import FormatError
from mastd.formats import catalogue
from mastd.formats.core.measurement import Measurement
from mastd.formats.strong_motion import knet

HEADER = """Origin Time       2006/01/18 23:25:00
Lat.              37.8
Long.             142.2
Depth. (km)       36
Mag.              5.7
Station Code      ABC002
Station Lat.      38.7
Station Long.     141.5
Station Height(m) 79
Record Time       2006/01/18 23:25:46
Sampling Freq(Hz) 100Hz
Duration Time(s)  {duration}
Dir.              N-S
Scale Factor      {scale}
Max. Acc. (gal)   {peak}
Last Correction   2006/01/18 23:25:31
Memo.
"""
COUNTS = np.tile([8009.0, 9006.0, 7998.0, 8001.0, 7009.0], 20)


def rows(counts: np.ndarray[tuple[int], np.dtype[np.float64]]) -> str:
    return "".join(
        "".join(f"{count:9.0f}" for count in counts[k : k + 8]) + "\n" for k in range(0, len(counts), 8)
    )


def text(scale: str = "3920(gal)/6182761", duration: str = "1", peak: str = "") -> str:
    values = COUNTS * 3920 / 6182761
    stated = peak or f"{np.max(np.abs(values - np.mean(values))):.3f}"
    return HEADER.format(scale=scale, duration=duration, peak=stated) + rows(COUNTS)


def read(tmp_path: Path, content: str) -> Measurement:
    path = tmp_path / "ABC0020601182325.NS"
    path.write_text(content, encoding="utf-8")
    assert catalogue.recognise(path) is knet.FORMAT
    return knet.read(path)


def test_counts_become_gal_once_and_keep_their_offset(tmp_path: Path) -> None:
    """Each value is its count times the scale, to the last digit; the mean is kept, with a word about it."""
    measurement = read(tmp_path, text())
    (series,) = measurement.series
    (channel,) = series.channels
    assert channel.values.tolist() == [count * 3920 / 6182761 for count in COUNTS]
    assert (channel.name, channel.unit, series.step) == ("N-S", "gal", 0.01)
    assert measurement.notes["start time"] == "2006-01-18T23:25:31.000+09:00", "15 s before the record time"
    (warning,) = measurement.warnings
    assert "constant offset of 5.07" in warning
    assert "retained" in warning


@pytest.mark.parametrize("scale", ["3920.0 (gal) / 6182761", "2000(gal)/8388608", "7845(gal)/8223790"])
def test_scales(tmp_path: Path, scale: str) -> None:
    full, counts = (float(part) for part in scale.replace("(gal)", "").split("/"))
    measurement = read(tmp_path, text(scale=scale, peak=""))
    assert np.array_equal(measurement.channels[0].values, COUNTS * full / counts)


def test_the_peak_of_the_header_is_compared_without_the_mean(tmp_path: Path) -> None:
    """A scale that was applied twice, or not at all, would show here."""
    warnings = read(tmp_path, text(peak="61.2")).warnings
    assert any(
        ":15: states a peak of 61.2 gal, that of the values less their mean is 0.63" in line
        for line in warnings
    )


def test_a_duration_that_is_not_the_values(tmp_path: Path) -> None:
    """Less than a second is a warning; more is a file that is not whole."""
    warnings = read(tmp_path, text(duration="1.5")).warnings
    assert "states a duration of 1.5 s, its 100 values every 0.01 s are 1 s" in warnings[0]
    with pytest.raises(FormatError, match=r":12: states a duration of 108 s, its 100 values"):
        read(tmp_path, text(duration="108"))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("3920(gal)/6182761", "3920/6182761", ":14: Scale Factor is '3920/6182761', not like 3920(gal)"),
        ("3920(gal)/6182761", "3920(gal)/0", ":14: Scale Factor is '3920(gal)/0'"),
        ("3920(gal)/6182761", "71(gal)/1e-320", ":14: Scale Factor '71(gal)/1e-320' makes values"),
        ("100Hz", "0Hz", ":11: Sampling Freq(Hz) is '0Hz', must be a number above zero"),
        ("100Hz", "nanHz", ":11: Sampling Freq(Hz) is 'nanHz'"),
        ("     9006", "   9006.5", ":18: value 2 is 9006.5, not a whole count"),
        ("     9006", "    9,006", ":18:14: comma in '9,006'"),
        ("     9006", "         ", ":18:10: a field contains no number"),
        ("Depth. (km)       36\n", "", ":4: 'Mag.              ', expected 'Depth. (km)'"),
    ],
)
def test_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(FormatError) as caught:
        read(tmp_path, text().replace(old, new, 1))
    assert str(caught.value).partition(".NS")[2].startswith(said.replace("'Mag.              '", "'Mag.'"))


def test_a_header_with_another_spelling(tmp_path: Path) -> None:
    """``Max Acc.`` as the description of the form spells it; Windows ends of lines."""
    content = text().replace("Max. Acc. (gal)  ", "Max Acc. (gal)  ").replace("\n", "\r\n")
    assert len(read(tmp_path, content).channels[0].values) == len(COUNTS)


def test_a_file_without_values(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=":18: no values follow"):
        read(tmp_path, HEADER.format(scale="3920(gal)/6182761", duration="1", peak="1"))
