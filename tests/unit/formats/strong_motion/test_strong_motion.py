"""Text formats of strong-motion records, all alike: read back, told apart, real files, broken files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mastd.errors import FormatError
from mastd.formats import catalogue
from mastd.formats.core.measurement import Channel, Measurement, Series
from mastd.formats.core.units import si_unit

NAMES = ("peer", "smc", "cosmos", "usc", "esm", "knet")
UNITS = {
    "peer": ("g", "cm/s2", "cm/s", "cm"),
    "smc": ("cm/s2", "cm/s", "cm", ""),
    "cosmos": ("g", "cm/s2", "cm/s", "cm", "gal", "mg", "counts", "in/s2"),
    "usc": ("cm/s2", "cm/s", "cm"),
    "esm": ("cm/s2", "cm/s", "cm", ""),
    "knet": ("gal",),
}
VALUES = {"usc": 99999.0, "smc": 9.99e37}
STEPS = {"smc": (1e-6, 1e6), "knet": (1e-9, 1e9)}
REAL = {
    "usgs_0111a.smc": ("smc", 6001, 0.005, "cm/s2", 104.41, 10.17, 1.5057, -0.28745),
    "usgs_cosmos12.v1": ("cosmos", 7000, 0.01, "cm/s2", -161.9618, 27.85, -1e-05, -3e-05),
    "usgs_usc_017m30bt.s0a": ("usc", 1887, 0.02, "cm/s2", 242.395, 4.58, -1.133, 2.032),
    "usgs_esm_DLFA_HNN.ASC": ("esm", 13876, 0.005, "cm/s2", 0.190172, 36.6, 0.0, -1e-06),
}
"""Format, count, step in s, unit, peak, its time in s, first and last value, as stated beside the files."""
BROKEN = (b"nan", b"1e999", b"-1", b"99999999999", b"*****", b"\x00", b"\xff", b"\n", b" ", b",", b"9" * 400)


def allowed(name: str, values: list[float]) -> float | np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return by how much values may change in a format, as its writer states it."""
    sizes = np.abs(values)
    exponents = np.floor(np.log10(np.maximum(sizes, 1e-307)))
    if name == "peer":
        return sizes * 5.0001e-8 + 1e-307
    if name == "smc":
        digits = np.where(np.abs(exponents) >= 98, 3, np.where(np.abs(exponents) >= 8, 4, 5))
        return sizes * 5.0001 * 10.0**-digits + 1e-307
    if name == "usc":
        return 0.00050001
    if name == "knet":
        return float(np.max(sizes)) * 6.1e-8 + 1e-307
    return 0.0


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=30)
@given(data=st.data())
def test_what_is_written_is_read_back(
    name: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Values to what the writer states, the same unit, the step exactly or as the writer's line says."""
    most = VALUES.get(name, 1.7e308)
    values = data.draw(st.lists(st.floats(-most, most), min_size=1, max_size=40))
    step = data.draw(
        st.floats(*STEPS.get(name, (1e-200, 1e200))) | st.sampled_from([0.01, 0.005, 0.002, 1 / 3, 1e-4])
    )
    unit = data.draw(st.sampled_from(UNITS[name]))
    words = data.draw(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=40))
    known = catalogue.named(name)
    path = tmp_path_factory.mktemp(name) / "x"
    notes = dict.fromkeys(["title", "event", "station", "date", "comments", "STATION_NAME", "Memo"], words)
    channel = Channel(words or "channel", unit, np.array(values), words)
    assert known.write is not None
    lines = known.write(path, Measurement("", (Series((channel,), step),), notes))
    assert catalogue.recognise(path) is known
    measurement = known.read(path)
    (series,) = measurement.series
    assert not [warning for warning in measurement.warnings if "constant offset" not in warning]
    assert series.channels[0].unit == unit
    assert series.step is not None
    if any("the step of" in line for line in lines):
        assert series.step == pytest.approx(step, rel=6e-8)
    else:
        assert series.step == step
    change = np.abs(series.channels[0].values / 2 - np.array(values) / 2)
    assert np.all(change <= np.asarray(allowed(name, values)) / 2)


@pytest.mark.parametrize("name", NAMES)
def test_a_second_time_changes_nothing(name: str, tmp_path: Path) -> None:
    """What was read and is written again is read as the same, its words included."""
    known = catalogue.named(name)
    assert known.write is not None
    notes = {"start time": "2011-03-11T05:46:23.250+00:00", "component": "N12E", "event": "Quake, A, N12E"}
    values = np.round(200.0 * np.sin(np.arange(100) ** 2 * 0.1), 2)
    unit = UNITS[name][0]
    first, second = tmp_path / "first", tmp_path / "second"
    known.write(first, Measurement("", (Series((Channel("N12E", unit, values),), 0.01),), notes))
    one = known.read(first)
    known.write(second, one)
    two = known.read(second)
    assert two.notes == one.notes
    assert two.channels[0].name == one.channels[0].name == "N12E"
    assert np.allclose(two.channels[0].values, one.channels[0].values, rtol=1e-6, atol=1e-5)
    if name in ("smc", "cosmos", "esm", "knet"):
        assert one.notes["start time"].startswith(
            ("2011-03-11T05:46:23.250", "2011-03-11T14:46:23.250+09:00")
        )


@pytest.mark.parametrize("name", NAMES)
def test_what_cannot_be_written(name: str, tmp_path: Path) -> None:
    """Two rates, no step, no values, other quantities: one line, and no file."""
    known = catalogue.named(name)
    assert known.write is not None
    unit = UNITS[name][0]
    one = Channel("a", unit, np.array([1.0, 2.0]))
    abscissae = np.array([0.0, 0.3])
    for series in (
        (Series((one,), 0.1), Series((one,), 0.2)),
        (Series((one,), None),),
        (Series((one,), None, abscissae=abscissae),),
        (Series((one,), 0.1, axis="u", axis_unit="m"),),
        (Series((Channel("a", unit, np.array([])),), 0.1),),
        (Series((Channel("a", unit, np.array([np.nan])),), 0.1),),
        (Series((Channel("a", "kN", np.array([1.0])),), 0.1),),
        *(() if name == "cosmos" else ((Series((one, one), 0.1),),)),
    ):
        with pytest.raises(FormatError) as caught:
            known.write(tmp_path / "x", Measurement("", series))
        assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", NAMES)
def test_other_units_are_converted_and_told(name: str, tmp_path: Path) -> None:
    """Metres per square second become the format's own acceleration."""
    known = catalogue.named(name)
    assert known.write is not None
    channel = Channel("a", "ft/s2", np.array([1.0, -2.0, 0.5]))
    lines = known.write(tmp_path / "x", Measurement("", (Series((channel,), 0.01),)))
    assert any("a: the unit ft/s2, values are written in" in line for line in lines)
    again = known.read(tmp_path / "x").channels[0]
    meaning = si_unit(again.unit)
    assert meaning is not None
    assert np.allclose(again.values * meaning.factor, channel.values * 0.3048, rtol=2e-4)


@pytest.mark.parametrize("file", REAL)
def test_real_files(shared: Path, file: str) -> None:
    """Each is recognised and read as the readings beside the files say."""
    path = shared / "data" / "records" / file
    name, count, step, unit, peak, peak_time, first, last = REAL[file]
    head = path.read_bytes()[:65536]
    assert [one.name for one in catalogue.formats() if one.name in NAMES and one.recognises(head)] == [name]
    series = catalogue.read(path).series[0]
    channel = series.channels[0]
    assert (len(channel.values), series.step, channel.unit) == (count, step, unit)
    assert channel.values[[0, -1]].tolist() == [first, last]
    at = int(np.argmax(np.abs(channel.values)))
    assert (channel.values[at], at * step) == pytest.approx((peak, peak_time), rel=1e-12)


def test_a_file_of_none_of_these(shared: Path) -> None:
    """The record in one column below two lines is taken by none of the formats here."""
    head = (shared / "data" / "records" / "eqsig_test_motion_dt0p01.txt").read_bytes()[:65536]
    assert not [one.name for one in catalogue.formats() if one.name in NAMES and one.recognises(head)]


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40)
@given(data=st.data())
def test_broken_files_end_in_one_line(
    name: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Cut short, with bytes flipped, put in, taken out, or with other words: read, or refused in one line."""
    known = catalogue.named(name)
    assert known.write is not None
    path = tmp_path_factory.mktemp(name) / "x"
    channel = Channel("a", UNITS[name][0], 100.0 * np.sin(np.arange(30.0)))
    known.write(path, Measurement("", (Series((channel,), 0.01),), {"start time": "2011-03-11T05:46:23"}))
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(content) - 1))
        length = data.draw(st.integers(0, 12))
        content[place : place + length] = data.draw(st.sampled_from(BROKEN) | st.binary(max_size=12))
    path.write_bytes(content[: data.draw(st.integers(1, len(content)))])
    said = ""
    try:
        assert all(np.isfinite(one.values).all() for one in known.read(path).channels)
    except FormatError as error:
        said = str(error)
    assert "\n" not in said
    assert said.startswith(str(path) if said else "")


@pytest.mark.parametrize("name", NAMES)
@given(content=st.binary(max_size=300))
@example(content=b"")
@example(content=b"\n" * 200)
@settings(max_examples=30)
def test_any_bytes(name: str, content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    known = catalogue.named(name)
    known.recognises(content)
    path = tmp_path_factory.mktemp(name) / "x"
    path.write_bytes(content)
    with pytest.raises(FormatError):
        known.read(path)
