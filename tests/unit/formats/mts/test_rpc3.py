"""RPC III: every layout read back, by our reader and by an independent one; what is not whole is refused."""

from __future__ import annotations

import itertools
import warnings
from dataclasses import replace
from pathlib import Path
from typing import get_args

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import rpc3 as independent
from hypothesis import given, settings
from hypothesis import strategies as st

from mastd.arrays import FloatArray
from mastd.errors import FormatError
from mastd.formats.core.measurement import Channel, Measurement, Series
from mastd.formats.mts import rpc3
from mastd.formats.mts.rpc3 import FormatName, Layout, write_rpc3

independent.rpc3.progressbar = False
STEP = 1.0 / 256.0
COUNT = 150
FRAME = 32
SMALL = Layout(points_per_frame=FRAME, points_per_group=4 * FRAME)
INTEGERS = replace(SMALL, data_type="SHORT_INTEGER")


def table(values: FloatArray, step: float = STEP, notes: dict[str, str] | None = None) -> Measurement:
    """Columns as channels ``c1 [u1]``…"""
    channels = tuple(Channel(f"c{k}", f"u{k}", column) for k, column in enumerate(values.T, 1))
    return Measurement("test", (Series(channels, step),), notes or {})


def some_values(count: int = COUNT, channels: int = 3) -> FloatArray:
    """Values that float32 holds exactly, with a constant tail that is longer than a frame."""
    values = np.random.default_rng(3).normal(size=(count, channels)).astype(np.float32).astype(np.float64)
    values[-40:] = values[-40]
    return values * 2.0 ** np.arange(channels)


LAYOUTS = [
    Layout(word, kind, "DRIVE", FRAME, FRAME * group, half, blocks, filling, scale, *stated)  # type: ignore[arg-type]
    for word, kind, group, half in itertools.product(
        get_args(FormatName),
        ("FLOATING_POINT", "SHORT_INTEGER"),
        (1, 4),
        ("none", "counted", "added"),
    )
    for blocks, filling, scale, stated in (
        (None, b"\0", 32752, (True, True, True)),
        (20, b" ", 32768, (True, False, False)),
        (None, b"\0", 32752, (False, True, True)),
    )
    if stated[0] or kind == "SHORT_INTEGER"
]


def layout_name(layout: Layout) -> str:
    return "-".join(str(value) for value in vars(layout).values())


@pytest.mark.parametrize("layout", LAYOUTS, ids=layout_name)
def test_each_layout_is_read_back(tmp_path: Path, layout: Layout) -> None:
    """Values, names, units, step and notes come back; int16 within half of its step."""
    path = tmp_path / "file.rsp"
    values = some_values()
    write_rpc3(path, table(values, notes={"DATE": "01-Jan-2030 10:00:00", "PARENT_1": "x.rsp"}), layout)
    measurement = rpc3.FORMAT.read(path)
    series = measurement.series[0]
    read = series.matrix()
    if layout.states_samples:
        assert series.count == COUNT
    else:
        frames = 6 if layout.half_frames == "counted" and layout.points_per_group > 2 * FRAME else 5
        assert series.count == frames * FRAME
        assert not read[COUNT:].any(), "filling is zeros, and not cut"
    step = np.abs(values).max(axis=0) / layout.full_scale
    allowed = 0.0 if layout.data_type == "FLOATING_POINT" else step
    if layout.full_scale > 32767:
        allowed = allowed * 2.0
    if layout.format == "ASCII":
        read = read.astype(np.float32)
    assert np.all(np.abs(read[:COUNT] - values) <= allowed * 0.50001)
    assert [(channel.name, channel.unit) for channel in series.channels] == [
        ("c1", "u1"),
        ("c2", "u2"),
        ("c3", "u3"),
    ]
    assert (series.step, series.start) == (STEP, 0.0)
    assert measurement.notes["DATE"] == "01-Jan-2030 10:00:00"
    assert measurement.notes["PARENT_1"] == "x.rsp"
    assert measurement.notes["TIME_TYPE"] == "DRIVE"
    told = "HALF_FRAMES" in "".join(measurement.warnings)
    open_question = layout.points_per_group > FRAME and not layout.states_samples
    assert told == (layout.half_frames != "none" and open_question)


@pytest.mark.parametrize(
    "layout",
    [
        one
        for one in LAYOUTS
        if one.half_frames == "none" and one.format in ("BINARY", "BINARY_IEEE_LITTLE_END")
    ],
    ids=layout_name,
)
def test_an_independent_reader_reads_the_same(tmp_path: Path, layout: Layout) -> None:
    path = tmp_path / "file.rsp"
    write_rpc3(path, table(some_values()), layout)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        channels, _ = independent.read(str(path), strip=False)
    ours = rpc3.read(path).series[0]
    assert [(one.name, one.unit, one.dt) for one in channels] == [
        (c.name, c.unit, STEP) for c in ours.channels
    ]
    for theirs, channel in zip(channels, ours.channels, strict=True):
        assert np.array_equal(theirs.data, channel.values.astype(np.float32))


@pytest.mark.parametrize("kind", [int, float])
def test_files_of_an_independent_writer(tmp_path: Path, kind: type) -> None:
    values = some_values()
    channels = [
        independent.Channel(name=f"n{k}", unit="g", dt=0.01, data=column) for k, column in enumerate(values.T)
    ]
    path = tmp_path / "theirs.rsp"
    independent.write(str(path), channels, datatype=kind, pts_per_group=64)
    measurement = rpc3.read(path)
    series = measurement.series[0]
    allowed = np.abs(values).max(axis=0) / 32752 if kind is int else 0.0
    assert series.step == 0.01
    assert np.all(np.abs(series.matrix() - values) <= allowed * 0.50001)
    assert measurement.warnings == ()


@settings(max_examples=40)
@given(
    values=hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=70),
        elements=st.floats(-(2.0**100), 2.0**100, width=32),
    ),
    layout=st.sampled_from(
        [SMALL, INTEGERS, replace(SMALL, format="ASCII"), replace(SMALL, half_frames="added")]
    ),
    step=st.floats(1e-9, 1e9),
)
def test_any_table_survives(
    tmp_path_factory: pytest.TempPathFactory, values: FloatArray, layout: Layout, step: float
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.rsp"
    write_rpc3(path, table(values, step), layout)
    series = rpc3.read(path).series[0]
    assert series.step == step
    allowed = np.abs(values).max(axis=0) / 32752 * 0.50001 if layout is INTEGERS else 0.0
    read = series.matrix() if layout is INTEGERS else series.matrix().astype(np.float32)
    assert np.all(np.abs(read - values) <= allowed)


def written(tmp_path: Path, layout: Layout, **records: str | None) -> Path:
    """A file of our writer with some records changed, or taken out (None)."""
    path = tmp_path / "file.rsp"
    write_rpc3(path, table(some_values()), layout)
    content = bytearray(path.read_bytes())
    for key, value in records.items():
        place = content.index(key.replace("__", ".").encode() + b"\0") // 128 * 128
        if value is None:
            content[place : place + 128] = bytes(128)
        else:
            content[place + 32 : place + 128] = value.encode().ljust(96, b"\0")
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("layout", "records"),
    [
        (SMALL, {"DELTA_T": "3.906250D-003"}),
        (SMALL, {"DELTA_T": ".00390625"}),
        (SMALL, {"CHANNELS": "3."}),
        (SMALL, {"DATA_TYPE": "floating_point"}),
        (SMALL, {"HALF_FRAMES": None, "REPEATS": None, "BYPASS_FILTER": None, "PARTITIONS": None}),
        (INTEGERS, {"DATA_TYPE": None}),
        (INTEGERS, {"INT_FULL_SCALE": None}),
        (INTEGERS, {"INT_FULL_SCALE": "32768"}),
    ],
)
def test_what_other_writers_do(tmp_path: Path, layout: Layout, records: dict[str, str | None]) -> None:
    expected = rpc3.read(written(tmp_path, layout)).series[0]
    read = rpc3.read(written(tmp_path, layout, **records))
    assert read.series[0].step == STEP
    assert np.array_equal(read.series[0].matrix(), expected.matrix())


def test_lower_case_keywords(tmp_path: Path) -> None:
    path = written(tmp_path, SMALL)
    content = bytearray(path.read_bytes())
    for place in range(0, 18 * 128, 128):
        content[place : place + 32] = content[place : place + 32].lower()
    path.write_bytes(content)
    assert np.array_equal(rpc3.read(path).series[0].matrix(), some_values())


@pytest.mark.parametrize(("digit", "name"), [("1", "DRIVE"), ("2", "RESPONSE"), ("4", "MULT_RESP")])
def test_time_type_as_a_digit(tmp_path: Path, digit: str, name: str) -> None:
    assert rpc3.read(written(tmp_path, SMALL, TIME_TYPE=digit)).notes["TIME_TYPE"] == name


def test_peaks_have_no_times(tmp_path: Path) -> None:
    measurement = rpc3.read(written(tmp_path, SMALL, TIME_TYPE="7"))
    assert measurement.series[0].step is None
    assert "PEAK_PICK" in measurement.warnings[0]


@pytest.mark.parametrize("count", ["7", "400"])
def test_a_wrong_number_of_records(tmp_path: Path, count: str) -> None:
    """All that is there is taken, and both numbers are told."""
    measurement = rpc3.read(written(tmp_path, SMALL, NUM_PARAMS=count))
    assert np.array_equal(measurement.series[0].matrix(), some_values())
    assert f"NUM_PARAMS is {count}, but 37 records" in measurement.warnings[0]


def test_scales_of_floating_point_do_not_apply(tmp_path: Path) -> None:
    measurement = rpc3.read(written(tmp_path, SMALL, SCALE__CHAN_2="2.5"))
    assert np.array_equal(measurement.series[0].matrix(), some_values())
    assert "SCALE.CHAN_2 is 2.5" in measurement.warnings[0]


def test_names_and_units_that_are_not_there(tmp_path: Path) -> None:
    channels = rpc3.read(written(tmp_path, SMALL, DESC__CHAN_2=None, UNITS__CHAN_2=None)).channels
    assert [(channel.name, channel.unit) for channel in channels][1] == ("channel 2", "")


def test_a_last_group_that_is_not_whole(tmp_path: Path) -> None:
    """Five frames of 32 in groups of 128: the second group has 32 points a channel, in the file as well."""
    path = written(tmp_path, SMALL)
    header, data = path.read_bytes()[: -2 * 3 * 128 * 4], path.read_bytes()[-2 * 3 * 128 * 4 :]
    groups = np.frombuffer(data, "<f4").reshape(2, 3, 128)
    path.write_bytes(header + groups[0].tobytes() + groups[1, :, :32].tobytes())
    measurement = rpc3.read(path)
    assert np.array_equal(measurement.series[0].matrix(), some_values())
    assert "32 of 128 points" in measurement.warnings[0]


def test_samples_far_below_the_frames(tmp_path: Path) -> None:
    measurement = rpc3.read(written(tmp_path, SMALL, SAMPLES="20"))
    assert np.array_equal(measurement.series[0].matrix(), some_values()[:20])
    assert "SAMPLES is 20, the frames hold 160" in measurement.warnings[0]


def test_partitions_are_told(tmp_path: Path) -> None:
    measurement = rpc3.read(written(tmp_path, SMALL, PARTITIONS="2"))
    assert np.array_equal(measurement.series[0].matrix(), some_values())
    assert "2 partitions" in measurement.warnings[0]
    assert (
        "of 2 channels, CHANNELS is 3" in rpc3.read(written(tmp_path, SMALL, PART__NCHAN_1="2")).warnings[0]
    )


def test_numbers_that_are_none(tmp_path: Path) -> None:
    path = written(tmp_path, SMALL)
    content = bytearray(path.read_bytes())
    content = content[: -2 * 3 * 128 * 4] + b"\0\0\xc0\x7f" + content[-2 * 3 * 128 * 4 + 4 :]
    path.write_bytes(content)
    assert "c1: 1 values are not finite" in rpc3.read(path).warnings[0]


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ({"FILE_TYPE": "MATRIX"}, r"record 4: FILE_TYPE: 'MATRIX'.*only TIME_HISTORY"),
        ({"FORMAT": "VAX"}, r"record 1: FORMAT: 'VAX': must be BINARY,"),
        ({"DATA_TYPE": "DOUBLE"}, r"DATA_TYPE: 'DOUBLE': must be SHORT_INTEGER, FLOATING_POINT"),
        ({"DELTA_T": "3,90625E-3"}, r"record 6: DELTA_T: decimal comma in '3,90625E-3': use a decimal point"),
        ({"DELTA_T": None}, "DELTA_T is missing"),
        ({"DELTA_T": "0"}, "DELTA_T: '0': must be above zero"),
        ({"DELTA_T": "nan"}, "DELTA_T: 'nan' is not a number"),
        ({"DELTA_T": "1e999"}, "DELTA_T: '1e999' is not a number"),
        ({"FRAMES": "-1"}, "FRAMES: '-1': must be 1 to"),
        ({"FRAMES": "99999999999"}, "FRAMES: '99999999999': must be 1 to"),
        ({"CHANNELS": "2.5"}, "CHANNELS: '2.5' is not a whole number"),
        ({"PTS_PER_GROUP": "100"}, "PTS_PER_GROUP: 100 is no multiple of PTS_PER_FRAME, 32"),
        ({"NUM_HEADER_BLOCKS": "800"}, "800 blocks has 409600 bytes, the whole file has"),
        ({"SAMPLES": "161"}, "SAMPLES: 161, but the frames hold 160"),
        ({"CHANNELS": "4"}, "3072 bytes of data, the header states 4096: 1024 are missing"),
        ({"CHANNELS": "2"}, "3072 bytes of data, the header states 2048: 1024 too many"),
    ],
)
def test_headers_that_are_refused(tmp_path: Path, records: dict[str, str | None], message: str) -> None:
    path = written(tmp_path, SMALL, **records)
    with pytest.raises(FormatError, match=message) as caught:
        rpc3.read(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_integers_without_a_scale(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"SCALE\.CHAN_2 is missing"):
        rpc3.read(written(tmp_path, INTEGERS, SCALE__CHAN_2=None))


@pytest.mark.parametrize("cut", [1, 100, 1023])
def test_truncated_and_too_long(tmp_path: Path, cut: int) -> None:
    path = written(tmp_path, SMALL)
    content = path.read_bytes()
    path.write_bytes(content[:-cut])
    with pytest.raises(
        FormatError, match=rf"{3072 - cut} bytes of data, .* 3072: {cut} are missing: .* truncated"
    ):
        rpc3.read(path)
    path.write_bytes(content + bytes(cut))
    with pytest.raises(FormatError, match=rf"{3072 + cut} bytes of data, .* 3072: {cut} too many"):
        rpc3.read(path)
    path.write_bytes(content[: 4 * cut])
    with pytest.raises(FormatError):
        rpc3.read(path)


def test_converted_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "file.rsp"
    values = np.zeros((COUNT, 3))
    values[5] = np.frombuffer(b"\0\x0a\x0a\x40", "<f4")
    write_rpc3(path, table(values), SMALL)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"\n", b"\r\n"))
    with pytest.raises(FormatError, match=r"3078 .* states 3072: line ends were converted \(LF to CR LF\)"):
        rpc3.read(path)
    path.write_bytes(content.replace(b"\0\n\n", b"\n\n"))
    with pytest.raises(FormatError, match=r"3 are missing.*or line ends were converted \(CR LF to LF\)"):
        rpc3.read(path)


def test_a_header_with_swapped_bytes(tmp_path: Path) -> None:
    path = written(tmp_path, SMALL)
    content = np.frombuffer(path.read_bytes(), np.uint16).byteswap().tobytes()
    path.write_bytes(content)
    assert rpc3.recognises(content)
    with pytest.raises(FormatError, match="OFMRTA for FORMAT"):
        rpc3.read(path)


def test_a_keyword_with_two_values(tmp_path: Path) -> None:
    path = written(tmp_path, SMALL)
    path.write_bytes(path.read_bytes().replace(b"REPEATS\0", b"CHANNELS", 1))
    with pytest.raises(FormatError, match="CHANNELS is '1', in record 7 it is '3'"):
        rpc3.read(path)


def test_a_keyword_with_a_line_end_is_told_in_one_line(tmp_path: Path) -> None:
    path = written(tmp_path, SMALL)
    content = path.read_bytes().replace(b"REPEATS\0", b"TWO\nBITS", 1)
    path.write_bytes(content.replace(b"BYPASS_FILTER\0", b"TWO\nBITS\0\0\0\0\0\0", 1))
    with pytest.raises(FormatError, match="TWO BITS is '0', in record") as caught:
        rpc3.read(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (b"1 2 x", "number 3 behind the header: 'x' is not a number"),
        (b"1 2,5", "number 2 behind the header: '2,5': decimal comma"),
        (b"1 1_0", "'1_0' is not a number"),
        (b"1 2", "2 numbers, the header states 768: 766 are missing"),
    ],
)
def test_numbers_in_text(tmp_path: Path, words: bytes, message: str) -> None:
    path = written(tmp_path, replace(SMALL, format="ASCII"))
    header = path.read_bytes()[: 10 * 512]
    path.write_bytes(header + words)
    with pytest.raises(FormatError, match=message):
        rpc3.read(path)
    path.write_bytes(header + b"\r\n".join([b"1.5D+0"] * 768))
    assert np.all(rpc3.read(path).channels[0].values == 1.5)


def test_text_integers_are_whole(tmp_path: Path) -> None:
    path = written(tmp_path, replace(INTEGERS, format="ASCII"))
    path.write_bytes(path.read_bytes()[: 10 * 512] + b"1.5 " * 768)
    with pytest.raises(FormatError, match=r"'1\.5' is not a SHORT_INTEGER"):
        rpc3.read(path)


def test_what_is_not_kept_is_told(tmp_path: Path) -> None:
    name = "n" * 100
    values = np.array([0.1, 0.2])
    series = Series((Channel(name, "m/s²", values, "words"), Channel("ß°µ", "Ã²", values)), 0.5, start=2.0)
    path = tmp_path / "file.drv"
    told = rpc3.write(
        path, Measurement("test", (series,), {"a b": "x", "Station": "y" * 96, "SCALE.CHAN_1": "7"})
    )
    text = "\n".join(told)
    for part in (
        "begin at 0, not at 2 s",
        "32 bits",
        "name 'nnn",
        "description",
        "'a b' is not written",
        "Station is truncated",
    ):
        assert part in text
    read = rpc3.read(path)
    assert [(one.name, one.unit) for one in read.channels] == [("n" * 95, "m/s²"), ("ß°µ", "Ã²")]
    assert read.notes["TIME_TYPE"] == "DRIVE"
    assert read.notes["STATION"] == "y" * 95


@pytest.mark.parametrize(
    ("series", "message"),
    [
        (Series((Channel("a", "", np.array([1.0, np.nan])),), 1.0), "cannot hold nan"),
        (Series((Channel("a", "", np.array([1e39])),), 1.0), "a: 1e\\+39 exceeds"),
        (Series((Channel("a", "", np.array([1.0])),), None), "needs a constant step"),
        (
            Series((Channel("a", "", np.array([1.0])),), 1.0, axis="u", axis_unit="m"),
            "has times in s, this is u in m",
        ),
        (Series((Channel("a", "", np.zeros(0)),), 1.0), "without values"),
        (Series((), 1.0), "without values"),
    ],
)
def test_what_cannot_be_written(tmp_path: Path, series: Series, message: str) -> None:
    path = tmp_path / "file.rsp"
    path.write_text("as it was")
    with pytest.raises(FormatError, match=message):
        rpc3.write(path, Measurement("test", (series,)))
    assert path.read_text() == "as it was"
    assert [one.name for one in tmp_path.iterdir()] == ["file.rsp"]


@pytest.mark.parametrize(
    "layout",
    [
        replace(SMALL, points_per_group=100),
        replace(SMALL, states_data_type=False),
        replace(SMALL, header_blocks=2),
        replace(SMALL, points_per_frame=1, half_frames="added"),
    ],
)
def test_layouts_that_contradict_themselves(tmp_path: Path, layout: Layout) -> None:
    with pytest.raises(FormatError):
        write_rpc3(tmp_path / "file.rsp", table(some_values()), layout)


def statistics(values: FloatArray) -> list[float]:
    return [values.max(), values.min(), values.mean(), values.std(ddof=1), float(np.sqrt(np.mean(values**2)))]


@pytest.mark.parametrize(
    ("name", "count", "step", "first", "extremes", "at"),
    [
        ("SignalExample.rsp", 2048, 0.004, ("FDO_54xLoc_sh", "N"), (232.28383, -197.96619), (1154, 1706)),
        (
            "acc_Belgium_road_20Kph_Pass02_DATA7.rsp",
            76800,
            0.00390625,
            ("WFT1@LF_Z_Acceler.RN_1", "g"),
            (13.810871, -12.297732),
            (58656, 58669),
        ),
    ],
)
def test_real_files(
    shared: Path,
    tmp_path: Path,
    name: str,
    count: int,
    step: float,
    first: tuple[str, str],
    extremes: tuple[float, float],
    at: tuple[int, int],
) -> None:
    """The right readings, and the statistics that the files carry themselves."""
    measurement = rpc3.FORMAT.read(shared / "data" / "rpc3" / name)
    series = measurement.series[0]
    channel = series.channels[0]
    assert measurement.warnings == ()
    assert (series.count, series.step, (channel.name, channel.unit)) == (count, step, first)
    assert (int(np.argmax(channel.values)), int(np.argmin(channel.values))) == at
    assert (channel.values.max(), channel.values.min()) == pytest.approx(extremes, rel=1e-7)
    for k, one in enumerate(series.channels, 1):
        own = [float(text) for text in measurement.notes[f"NCODE_STAT1_CHAN_{k}"].split(",")]
        largest = max(abs(own[0]), abs(own[1]))
        assert statistics(one.values) == pytest.approx(own, rel=2e-4, abs=largest / 32000)
    again = tmp_path / "again.rsp"
    rpc3.write(again, measurement)
    read = rpc3.read(again)
    assert np.allclose(read.series[0].matrix(), series.matrix(), rtol=6e-8, atol=0.0)
    assert read.notes["DATE"] == measurement.notes["DATE"]
