"""MTS .bin time series: written and read back, binary and text; what is not whole is refused."""

from __future__ import annotations

from pathlib import Path

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mastd.arrays import FloatArray
from mastd.errors import FormatError
from mastd.formats.core.measurement import Channel, Measurement, Series
from mastd.formats.mts import mts_bin

STEP = 1.0 / 2048.0
NAMES = ("Long Displ ref", "Lat Accel fbk")


def record(key: str, value: str) -> bytes:
    return key.encode().ljust(32) + value.encode().ljust(96)


def header(extended: int | None = None, **values: str) -> bytes:
    """A header as the controller writes it, its first records in an order of their own."""
    kind = "TIME_SERIES" if extended is None else "TIME_SERIES_WITH_EXTENDED_HEADER"
    first = {
        "CHANNELS": "2",
        "DELTA_T": "0.00048828125",
        "FILE_INFO": "run 7",
        "FILE_DATE": "1 May 2003",
        **values,
    }
    records = [record("FILE_TYPE", kind), *(record(key, value) for key, value in first.items())]
    records += [record("UNITS.CHAN_2", "g"), record("DESC.CHAN_2", NAMES[1])]
    records += [record("DESC.CHAN_1", NAMES[0]), record("UNITS.CHAN_1", "in")]
    if extended is not None:
        records += [record("EXTENDED_HEADER_RECORDS", str(extended))]
        records += [record(f"GAIN_{k}", f"{k}.5") for k in range(extended)]
    return b"".join(records)


VALUES = np.random.default_rng(1).normal(size=(50, 2)).astype(np.float32)


@pytest.mark.parametrize("extended", [None, 0, 3])
def test_a_file_of_the_controller(tmp_path: Path, extended: int | None) -> None:
    path = tmp_path / "record.bin"
    path.write_bytes(header(extended) + VALUES.astype("<f4").tobytes())
    assert mts_bin.recognises(path.read_bytes())
    measurement = mts_bin.FORMAT.read(path)
    series = measurement.series[0]
    assert np.array_equal(series.matrix(), VALUES)
    assert [(one.name, one.unit) for one in series.channels] == [(NAMES[0], "in"), (NAMES[1], "g")]
    assert series.step == STEP
    gains = {f"GAIN_{k}": f"{k}.5" for k in range(extended or 0)}
    assert measurement.notes == {"FILE_DATE": "1 May 2003", "FILE_INFO": "run 7", **gains}


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_text(tmp_path: Path, end: bytes) -> None:
    content = header(1)
    lines = [content[k : k + 128].rstrip() for k in range(0, len(content), 128)]
    path = tmp_path / "record.bin"
    path.write_bytes(end.join([*lines, b"1.000000\t-2.5", b" 1D-3   4", b""]))
    measurement = mts_bin.read(path)
    assert np.array_equal(measurement.series[0].matrix(), [[1.0, -2.5], [0.001, 4.0]])
    assert measurement.notes["GAIN_0"] == "0.5"


@settings(max_examples=40)
@given(
    values=hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=20),
        elements=st.floats(-(2.0**100), 2.0**100, width=32),
    ),
    step=st.floats(1e-9, 1e9),
    text=st.booleans(),
    notes=st.dictionaries(
        st.text("AZ_.09", min_size=1, max_size=32),
        st.text("az 09%.", min_size=1, max_size=96).map(str.strip).filter(bool),
    ),
)
def test_any_table_survives(
    tmp_path_factory: pytest.TempPathFactory,
    values: FloatArray,
    step: float,
    text: bool,
    notes: dict[str, str],
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.bin"
    channels = tuple(Channel(f"name {k}", f"u{k}", column) for k, column in enumerate(values.T))
    told = mts_bin.write_mts(path, Measurement("test", (Series(channels, step),), notes), text=text)
    measurement = mts_bin.read(path)
    series = measurement.series[0]
    assert told == ()
    assert np.array_equal(series.matrix(), values)
    assert series.step == step
    assert [(one.name, one.unit) for one in series.channels] == [(one.name, one.unit) for one in channels]
    assert measurement.notes == notes


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (header()[:300], "300 bytes, the header alone has 640: the file is truncated"),
        (header()[:700], "700 bytes, the header alone has 1152"),
        (header(200)[:-100], "the header alone has"),
        (header() + VALUES.tobytes()[:-3], "397 bytes of data, which is no multiple of 8 .* 5 are left over"),
        (header(DELTA_T="0,01") + VALUES.tobytes(), "record 3: DELTA_T: decimal comma in '0,01'"),
        (header(DELTA_T="-1") + VALUES.tobytes(), "DELTA_T: '-1': must be above zero"),
        (header(CHANNELS="99999999999"), "CHANNELS: '99999999999': must be 1 to"),
        (header(CHANNELS="3") + bytes(12), "the header alone has"),
        (header() + VALUES.astype(">f4").tobytes(), "plausible only in the other byte order"),
        (record("FILE_TYPE", "SPECTRUM"), "does not begin with FILE_TYPE TIME_SERIES"),
        (b"FILE_TYPE" + b" " * 23 + b"TIME_SERIES\nCHANNELS", "2 lines, the header alone has 5"),
    ],
)
def test_what_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "record.bin"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=message) as caught:
        mts_bin.read(path)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"1\t2\t3", ":10: 3 values, there are 2 channels"),
        (b"1,5 2", ":10: '1,5': decimal comma"),
        (b"1 x", ":10: 'x' is not a number"),
        (b"1 1_0", ":10: '1_0' is not a number"),
    ],
)
def test_texts_that_are_refused(tmp_path: Path, line: bytes, message: str) -> None:
    content = header()
    lines = [content[k : k + 128].rstrip() for k in range(0, len(content), 128)]
    path = tmp_path / "record.bin"
    path.write_bytes(b"\n".join([*lines, line]))
    with pytest.raises(FormatError, match=message):
        mts_bin.read(path)


def test_numbers_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "record.bin"
    path.write_bytes(header() + np.array([[1.0, np.nan]], "<f4").tobytes())
    assert mts_bin.read(path).warnings == ("1 values are not finite numbers",)


def test_what_is_not_kept_is_told(tmp_path: Path) -> None:
    series = Series((Channel("n" * 100, "m", np.array([0.1]), "words"),), 0.5, start=1.0)
    notes = {"FILE_INFO": "i" * 97, "KEY\n": "x"}
    told = "\n".join(mts_bin.write(tmp_path / "record.bin", Measurement("test", (series,), notes)))
    for part in (
        "begin at 0, not at 1 s",
        "32 bits",
        "the name 'nnn",
        "description",
        "FILE_INFO is truncated to 96",
        "'KEY",
    ):
        assert part in told


@pytest.mark.parametrize(
    ("series", "message"),
    [
        (Series((Channel("a", "", np.array([np.inf])),), 1.0), "cannot hold inf"),
        (Series((Channel("a", "", np.array([1e39])),), 1.0), "exceeds the 32-bit range"),
        (Series((Channel("a", "", np.array([1.0])),), None), "needs a constant step"),
        (Series((), 1.0), "cannot hold 0 channels"),
        (Series((Channel("a", "", np.array([1.0])),), 1.0, axis="u", axis_unit="m"), "has times in s"),
    ],
)
def test_what_cannot_be_written(tmp_path: Path, series: Series, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        mts_bin.write(tmp_path / "record.bin", Measurement("test", (series,)))
    assert not list(tmp_path.iterdir())
