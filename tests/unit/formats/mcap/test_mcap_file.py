"""MCAP files: what is written comes back to the last bit, also in an independent reader; damage is told."""

from __future__ import annotations

import json
import math
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lz4.frame  # type: ignore[import-untyped]
import numpy as np
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcap.reader import make_reader
from mcap.writer import CompressionType, Writer
from mcap_ros2.decoder import DecoderFactory

from mastd.errors import FormatError
from mastd.formats.catalogue import read, recognise
from mastd.formats.core.measurement import Channel, Measurement, Series
from mastd.formats.mcap.file import FORMAT
from mastd.record.channels import Channel as RecordChannel
from mastd.record.channels import ChannelSet
from mastd.record.writer import RunWriter

EACH_TIME = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


def write(path: Path, *series: Series, notes: dict[str, str] | None = None) -> tuple[str, ...]:
    assert FORMAT.write is not None
    return FORMAT.write(path, Measurement("test", series, notes or {}))


def wave(name: str, count: int, seed: int = 1) -> Channel:
    return Channel(name, "m", np.random.default_rng(seed).standard_normal(count), "made up")


def decoded(path: Path) -> list[tuple[Any, Any, Any]]:
    """Return channel, message and decoded body of all messages, by the package mcap-ros2-support."""
    with path.open("rb") as file:
        reader = make_reader(file, validate_crcs=True, decoder_factories=[DecoderFactory()])
        return [(channel, message, body) for _, channel, message, body in reader.iter_decoded_messages()]


def result_or_line(path: Path) -> Measurement | None:
    """Return what is read, None for a refusal, which must be one line that names the file."""
    problem = ""
    try:
        found = FORMAT.read(path)
    except FormatError as error:
        found, problem = None, str(error)
    assert "\n" not in problem
    assert (found is not None) != problem.startswith(str(path))
    return found


def same(first: Series, second: Series) -> bool:
    heads = [(one.name, one.step, one.start, one.axis, one.axis_unit) for one in (first, second)]
    abscissae = [np.zeros(0) if one.abscissae is None else one.abscissae for one in (first, second)]
    names = [[(c.name, c.unit, c.description) for c in one.channels] for one in (first, second)]
    return (
        heads[0] == heads[1]
        and (first.abscissae is None) == (second.abscissae is None)
        and abscissae[0].tobytes() == abscissae[1].tobytes()
        and names[0] == names[1]
        and first.matrix().tobytes() == second.matrix().tobytes()
    )


@st.composite
def any_series(draw: st.DrawFn) -> Series:
    count = draw(st.integers(0, 12))
    numbers = st.lists(st.floats(), min_size=count, max_size=count)
    text = st.text(max_size=8)
    channels = tuple(
        Channel(draw(text), draw(text), np.array(draw(numbers), dtype=np.float64), draw(text))
        for _ in range(draw(st.integers(1, 4)))
    )
    axis, unit = draw(st.sampled_from([("time", "s"), ("u", "m")]))
    start = draw(st.floats(-1e6, 1e6))
    if draw(st.booleans()):
        step = draw(st.floats(1e-9, 1e3))
        return Series(channels, step, start, None, axis, unit, draw(text))
    places = draw(st.lists(st.floats(-1e6, 1e6), min_size=count, max_size=count))
    return Series(channels, None, start, np.array(places, dtype=np.float64), axis, unit, draw(text))


@settings(max_examples=40, suppress_health_check=EACH_TIME)
@given(
    series=st.lists(any_series(), min_size=1, max_size=3),
    notes=st.dictionaries(st.text(max_size=5), st.text(max_size=9), max_size=3),
)
def test_any_series_come_back_to_the_last_bit(
    series: list[Series], notes: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "any.mcap"
    write(path, *series, notes=notes)
    found = read(path)
    assert found.format == "mcap"
    assert dict(found.notes) == notes
    assert found.warnings == ()
    assert len(found.series) == len(series)
    assert all(same(one, other) for one, other in zip(series, found.series, strict=True))
    messages = decoded(path)
    assert len(messages) == sum(one.count for one in series)


def test_series_without_values_keep_their_place(tmp_path: Path) -> None:
    path = tmp_path / "two.mcap"
    write(path, Series((wave("a", 0),), 0.1, name="none"), Series((wave("b", 3),), 0.1, name="some"))
    assert [(series.name, series.count) for series in read(path).series] == [("none", 0), ("some", 3)]


def test_an_independent_reader_gets_the_same_numbers_at_exact_times(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    names = ["pose.heave", "Pose Heave", "4WD", "", "class", "pose.heave"]
    channels = tuple(wave(name, 5000, seed) for seed, name in enumerate(names))
    special = channels[0].values
    special[:4] = [math.nan, math.inf, -math.inf, -0.0]
    slow = Series((Channel("T", "K", np.arange(50.0)),), 0.1, 7.0, name="slow/10hz")
    assert write(path, Series(channels, 0.001, 7.0, name="frame"), slow) == ()
    messages = decoded(path)
    fast = [(message, body) for channel, message, body in messages if channel.topic == "/frame"]
    assert [message.log_time for message, _ in fast] == [7_000_000_000 + k * 1_000_000 for k in range(5000)]
    fields = ["pose_heave", "pose_heave_2", "channel_4wd", "channel", "class", "pose_heave_3"]
    for field, channel in zip(fields, channels, strict=True):
        values = np.array([getattr(body, field) for _, body in fast])
        assert values.tobytes() == channel.values.tobytes()
    assert [message.log_time for channel, message, _ in messages if channel.topic == "/slow/n10hz"] == [
        7_000_000_000 + k * 100_000_000 for k in range(50)
    ]
    assert [message.log_time for _, message, _ in messages] == sorted(
        message.log_time for _, message, _ in messages
    )


def test_what_only_this_program_reads_back_is_told(tmp_path: Path) -> None:
    path = tmp_path / "road.mcap"
    road = Series((wave("z", 9),), 0.1, -0.4, axis="u", axis_unit="m")
    lines = write(path, road)
    assert len(lines) == 2
    assert "1 m as 1 s" in lines[0]
    assert "-0.4" in lines[1]
    assert same(read(path).series[0], road)
    assert [message.log_time for _, message, _ in decoded(path)] == [k * 10**8 for k in range(9)]


@pytest.mark.parametrize(
    ("series", "words"),
    [
        (Series((wave("a", 3),), None), "is unknown: give it"),
        (Series((wave("a", 3),), 0.0), "must be positive"),
        (Series((wave("a", 3),), math.nan), "must be positive"),
        (Series((wave("a", 3),), math.inf), "reaches to inf"),
        (Series((wave("a", 3),), 1.0, math.nan), "reaches to nan"),
        (Series((wave("a", 3),), 1.0, 1e300), "reaches to 1e.300"),
        (Series((wave("a", 2),), None, 0.0, np.array([0.0, math.nan])), "time of value 1 is nan"),
        (Series((), 1.0), "without channels"),
    ],
)
def test_what_the_format_cannot_hold_is_refused_and_leaves_no_file(
    series: Series, words: str, tmp_path: Path
) -> None:
    with pytest.raises(FormatError, match=words):
        write(tmp_path / "out.mcap", series)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FormatError, match="no series"):
        write(tmp_path / "out.mcap")


RECORDED = ChannelSet(
    [
        RecordChannel("step", "1", None, "step of the sample"),
        RecordChannel("missed", "1"),
        RecordChannel("slow", "K", 5.0),
    ],
    100_000_000,
)


def record(path: Path, missed: int = 0, lost: int = 0) -> None:
    """Write 20 frames at 10 Hz; before frame 12 some periods are missed and some frames lost."""
    head = {"name": "a run", "plant": {"name": "rig", "simulated": True, "mode": "lockstep"}}
    writer = RunWriter(path, RECORDED, {**head, "settings_text": {"profile": "name: a run\n"}})
    for number in range(20):
        late = number >= 12
        values = [number, missed if late else 0, 300.0]
        writer.frame(number + (lost if late else 0), memoryview(np.array(values, dtype=np.float64).tobytes()))
    writer.event({"event": "end"})
    writer.finish({})


def test_a_record_is_read_with_its_channels_and_origin(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    record(path)
    found = read(path)
    fast, slow = found.series
    assert (fast.name, fast.step, fast.start, fast.count) == ("frame", 0.1, 0.0, 20)
    assert (slow.name, slow.step, slow.count) == ("frame/5hz", 0.2, 10)
    assert [(c.name, c.unit, c.description) for c in fast.channels] == [
        ("step", "1", "step of the sample"),
        ("missed", "1", ""),
    ]
    assert np.array_equal(fast.channels[0].values, np.arange(20.0))
    assert found.notes["profile"] == "a run"
    assert found.notes["plant"] == "rig, simulated, lockstep"
    # By hand: printf 'name: a run\n' | sha256sum
    assert found.notes["profile_sha256"].startswith("ad3482bc94461e38")
    assert found.warnings == ()


def test_missing_frames_of_a_record_make_its_times_uneven_and_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    record(path, missed=3, lost=2)
    found = read(path)
    fast = found.series[0]
    assert fast.step is None
    periods = [*range(12), *range(17, 25)]
    assert np.array_equal(fast.axis_values(), np.array(periods) / 10.0)
    assert (
        "periods missing: 5, in 1 gaps, the first after 1.1 s, 2 of them lost frames" in (found.warnings[0])
    )


@pytest.mark.parametrize("every", [31, pytest.param(1, marks=pytest.mark.evidence)])
def test_every_cut_keeps_what_is_whole_or_is_one_line(every: int, tmp_path: Path) -> None:
    path = tmp_path / "cut.mcap"
    series = (Series((wave("a", 40), wave("b", 40, 2)), 0.01, name="s"), Series((wave("c", 7),), 0.05))
    write(path, *series, notes={"title": "a test"})
    written = path.read_bytes()
    record(tmp_path / "run.mcap")
    for whole in (written, (tmp_path / "run.mcap").read_bytes()):
        path.write_bytes(whole)
        full = read(path).series[0].matrix()
        chunk = whole.index(b"zstd")
        near = {*range(chunk - 50, chunk + 50), *range(len(whole) - 40, len(whole))}
        for length in sorted({*range(0, len(whole), every), *near}):
            path.write_bytes(whole[:length])
            found = result_or_line(path)
            if found is None:
                continue
            assert "truncated" in found.warnings[0]
            part = found.series[0].matrix()
            assert part.tobytes() == full[: len(part)].tobytes()


def unpacked(whole: bytes) -> bytes:
    """Return an MCAP file with its chunks unpacked and without checksums, so that damage gets through."""
    done, place = whole[:8], 8
    while place + 9 <= len(whole):
        opcode, length = struct.unpack_from("<BQ", whole, place)
        body = whole[place + 9 : place + 9 + length]
        if opcode == 6:
            named = int.from_bytes(body[28:32], "little")
            content = zstandard.decompress(body[40 + named :])
            body = body[:24] + bytes(8) + struct.pack("<Q", len(content)) + content
        done += struct.pack("<BQ", opcode, len(body)) + body
        place += 9 + length
    return done


TEXTS = (b"nan", b"1e999", b"-1", b"99999999999", b"null", b"[]", b'"', b"\n")
LENGTHS = (b"\xff" * 8, struct.pack("<Q", 1 << 40), struct.pack("<Q", 1 << 31), bytes(8))


def test_damage_anywhere_ends_in_a_result_or_one_line(tmp_path: Path) -> None:
    path = tmp_path / "any.mcap"
    write(path, Series((wave("a", 30), wave("b", 30)), 0.01, name="s"), notes={"title": "t"})
    seeds = [path.read_bytes()]
    record(tmp_path / "run.mcap", missed=1)
    seeds.append((tmp_path / "run.mcap").read_bytes())
    seeds += [unpacked(seed) for seed in seeds]
    dice = random.Random(9)
    read_at_all = 0
    for _ in range(400):
        damaged = bytearray(dice.choice(seeds))
        for _ in range(dice.choice((1, 1, 3))):
            place = dice.randrange(len(damaged))
            kind = dice.randrange(5)
            if kind == 0:
                damaged[place] ^= 1 << dice.randrange(8)
            elif kind == 1:
                del damaged[place : place + dice.randrange(1, 9)]
            elif kind == 2:
                damaged[place:place] = dice.randbytes(dice.randrange(1, 9))
            else:
                piece = dice.choice(TEXTS if kind == 3 else LENGTHS)
                damaged[place : place + len(piece)] = piece
        path.write_bytes(damaged)
        found = result_or_line(path)
        if found is None:
            continue
        read_at_all += 1
        assert not any("\n" in warning for warning in found.warnings)
        assert all(channel.values.dtype == np.float64 for channel in found.channels)
    assert 80 < read_at_all < 320


# Files of others -------------------------------------------------------------------------------------------


def foreign(path: Path, fill: Callable[[Any], None], **options: Any) -> None:
    with path.open("wb") as file:
        writer: Any = Writer(file, **options)
        writer.start("ros2", "another program")
        fill(writer)
        writer.finish()


def flat(writer: Any, definition: bytes = b"float64 data  # what is measured\n", topic: str = "/v") -> int:
    schema = writer.register_schema("std_msgs/msg/Float64", "ros2msg", definition)
    return int(writer.register_channel(topic, "cdr", schema))


@pytest.mark.parametrize(
    "options",
    [
        {"compression": CompressionType.NONE},
        {"compression": CompressionType.LZ4},
        {"compression": CompressionType.ZSTD, "chunk_size": 100},
        {"use_chunking": False},
    ],
)
@pytest.mark.parametrize("order", ["<", ">"])
def test_flat_messages_of_others_are_read(options: dict[str, Any], order: str, tmp_path: Path) -> None:
    path = tmp_path / "bag.mcap"

    def fill(writer: Any) -> None:
        channel = flat(writer)
        other = writer.register_channel("/log", "json", 0)
        for k in range(30):
            body = (b"\0\1\0\0" if order == "<" else bytes(4)) + struct.pack(f"{order}d", k / 3)
            writer.add_message(channel, 5_000_000 * k + 10**9, body, 0, k)
            writer.add_message(other, 5_000_000 * k, b"{}", 0)

    foreign(path, fill, **options)
    found = read(path)
    (series,) = found.series
    assert (series.step, series.start) == (0.005, 1.0)
    assert [(c.name, c.unit, c.description) for c in series.channels] == [("/v/data", "", "what is measured")]
    assert np.array_equal(series.channels[0].values, np.arange(30) / 3)
    assert found.warnings == ("not read: /log (json)",)


def test_times_since_1970_are_counted_from_the_first_message(tmp_path: Path) -> None:
    path = tmp_path / "bag.mcap"
    stamps = [1_700_000_000_123_456_789 + k * k * 1000 for k in range(5)]

    def fill(writer: Any) -> None:
        channel = flat(writer)
        for stamp in stamps:
            writer.add_message(channel, stamp, b"\0\1\0\0" + bytes(8), stamp)

    foreign(path, fill)
    found = read(path)
    assert found.series[0].step is None
    assert np.array_equal(found.series[0].axis_values(), np.array([0, 1, 4, 9, 16]) * 1e-6)
    assert "1700000000123456789 ns" in found.warnings[0]


@pytest.mark.parametrize("definition", [b"string data\n", b"float64[] data\n", b"std_msgs/Header h\n", b""])
def test_what_is_not_read_is_refused_by_its_encodings(definition: bytes, tmp_path: Path) -> None:
    path = tmp_path / "bag.mcap"

    def fill(writer: Any) -> None:
        writer.add_message(flat(writer, definition), 0, bytes(16), 0)
        image = writer.register_schema("foxglove.Image", "protobuf", b"\0")
        writer.add_message(writer.register_channel("/im\nage", "protobuf", image), 0, b"", 0)

    foreign(path, fill)
    with pytest.raises(FormatError) as caught:
        read(path)
    assert str(caught.value) == (
        f"{path}: no topic of flat float64 messages (cdr of ros2msg, float64le), there are"
        " /v (cdr, ros2msg std_msgs/msg/Float64), /im?age (protobuf, protobuf foxglove.Image)"
    )


def test_messages_that_contradict_their_definition_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bag.mcap"
    for body, words in (
        (bytes(13), "13 bytes, expected 12"),
        (b"\0\2\0\0" + bytes(8), "plain CDR"),
        (b"", "0 bytes"),
    ):

        def fill(writer: Any, body: bytes = body) -> None:
            writer.add_message(flat(writer), 0, body, 0)

        foreign(path, fill)
        with pytest.raises(FormatError, match=words):
            read(path)


def test_messages_that_another_program_left_out_are_noticed(tmp_path: Path) -> None:
    path, kept = tmp_path / "whole.mcap", tmp_path / "kept.mcap"
    write(path, Series((wave("a", 50),), 0.01, 2.0, name="s"))
    for keep, start, step in ((range(10, 20), 2.1, 0.01), ([1, 2, 40], 2.0, None)):
        with path.open("rb") as file:
            messages = list(make_reader(file).iter_messages())

        def fill(writer: Any, keep: Any = keep, messages: Any = messages) -> None:
            schema, channel, _ = messages[0]
            number = writer.register_channel(
                channel.topic,
                "cdr",
                writer.register_schema(schema.name, "ros2msg", schema.data),
                channel.metadata,
            )
            for _, _, message in messages:
                if message.sequence in keep:
                    writer.add_message(number, message.log_time, message.data, 0, message.sequence)

        foreign(kept, fill)
        found = read(kept)
        assert found.series[0].step == step
        assert found.series[0].start == pytest.approx(start)
        assert np.allclose(found.series[0].axis_values(), 2.0 + 0.01 * np.array(keep), rtol=1e-12)
        assert len(found.warnings) == (step is None)


# Hostile files ---------------------------------------------------------------------------------------------


def rec(opcode: int, body: bytes) -> bytes:
    return struct.pack("<BQ", opcode, len(body)) + body


def text(content: bytes) -> bytes:
    return struct.pack("<I", len(content)) + content


def chunk(
    content: bytes, size: int | None = None, packed: bytes | None = None, name: bytes = b"zstd"
) -> bytes:
    packed = zstandard.compress(content) if packed is None else packed
    head = struct.pack("<QQQI", 0, 0, len(content) if size is None else size, 0)
    return rec(6, head + text(name) + struct.pack("<Q", len(packed)) + packed)


HEAD = b"\x89MCAP0\r\n" + rec(1, text(b"ros2") + text(b""))


def defined(fields: bytes) -> bytes:
    schema = rec(3, struct.pack("<H", 1) + text(b"a/msg/B") + text(b"ros2msg") + text(fields))
    return schema + rec(4, struct.pack("<HH", 1, 1) + text(b"/t") + text(b"cdr") + bytes(4))


DEFINED = defined(b"float64 a\n")
ONE = rec(5, struct.pack("<HIQQ", 1, 0, 0, 0) + b"\0\1\0\0" + bytes(8))


def frames_of(schema: bytes) -> bytes:
    defined = rec(3, struct.pack("<H", 1) + text(b"a") + text(b"json") + text(schema))
    return (
        HEAD + defined + rec(4, struct.pack("<HH", 1, 1) + text(b"/t") + text(b"float64le") + bytes(4)) + ONE
    )


TOO_LONG = b'{"channels": [{"name": "a", "unit": "m"}], "rate_hz": 1' + b"0" * 5000 + b"}"
HOSTILE = {
    "more records than bytes": (
        HEAD + chunk(DEFINED + ONE * 500_000),
        "more records than possible in a file of this size",
    ),
    "unpacks to more than it says": (
        HEAD + chunk(bytes(1 << 25), size=100),
        "chunk length differs from its header",
    ),
    "lz4 unpacks to more": (
        HEAD + chunk(b"", size=100, packed=lz4.frame.compress(bytes(1 << 25)), name=b"lz4"),
        "chunk length differs from its header",
    ),
    "too large": (HEAD + chunk(b"", size=1 << 50), "chunk too large"),
    "unpacks a thousandfold": (HEAD + DEFINED + 40 * chunk(rec(4, bytes(30_000_000))), "chunk too large"),
    "unknown compression": (HEAD + chunk(DEFINED + ONE, name=b"rar\n"), "unknown compression"),
    "message of no channel": (HEAD + chunk(ONE), "unknown channel 1"),
    "message without a header": (HEAD + chunk(DEFINED + rec(5, b"\1\0")), "without a header"),
    "two channels of one number": (
        HEAD + chunk(DEFINED + DEFINED.replace(b"/t", b"/u") + ONE),
        "duplicate definition of a number",
    ),
    "nested schema": (frames_of(b"[" * 200_000), "schema of channel /t cannot be read"),
    "no channels": (frames_of(b'{"channels": [], "rate_hz": 1}'), "names 0 channels"),
    "no rate": (frames_of(b'{"channels": [{"name": "a", "unit": "m"}], "rate_hz": NaN}'), "rate of nan"),
    "rate beyond all": (
        frames_of(b'{"channels": [{"name": "a", "unit": "m"}], "rate_hz": 1e-300}'),
        "rate of 1e-300",
    ),
    "rate of digits": (frames_of(TOO_LONG), "schema of channel /t cannot be read"),
    "another size": (frames_of(b'{"channels": [{"name": "a", "unit": "m"}], "rate_hz": 10}'), "12 bytes, 8"),
    "more fields than sense": (HEAD + chunk(defined(b"float64 a\n" * 300_000) + ONE), "no topic of flat"),
    "a line without end": (HEAD + chunk(defined(b"float64 " + b" " * 3_000_000 + b"!") + ONE), "no topic of"),
    "only its head": (HEAD, "holds no topics"),
    "only its magic": (HEAD[:8], "holds no topics"),
    "nothing": (HEAD[:5], "not an MCAP file"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_one_line(name: str, tmp_path: Path) -> None:
    path = tmp_path / "hostile.mcap"
    content, words = HOSTILE[name]
    path.write_bytes(content)
    with pytest.raises(FormatError) as caught:
        FORMAT.read(path)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")
    assert words in str(caught.value)


def test_our_metadata_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.mcap"
    write(path, Series((wave("a", 3), wave("b", 3)), 0.5, name="s"))
    with path.open("rb") as file:
        schema, channel, message = next(iter(make_reader(file).iter_messages()))
    assert schema is not None
    place = json.loads(channel.metadata["mastd.series"])
    listed = json.loads(channel.metadata["mastd.channels"])
    for series, channels in (
        ({**place, "step": 0.0}, listed),
        ({**place, "step": "nan"}, listed),
        ({**place, "start": [1]}, listed),
        ({**place, "places": "a"}, listed),
        ({}, listed),
        ([], listed),
        (place, listed[:1]),
        (place, [{**listed[0], "field": "z"}, listed[1]]),
    ):

        def fill(writer: Any, series: Any = series, channels: Any = channels) -> None:
            metadata = {"mastd.series": json.dumps(series), "mastd.channels": json.dumps(channels)}
            number = writer.register_channel(
                "/s", "cdr", writer.register_schema(schema.name, "ros2msg", schema.data), metadata
            )
            writer.add_message(number, 0, message.data, 0)

        foreign(path, fill)
        with pytest.raises(FormatError, match="do not fit"):
            read(path)


def test_the_format_is_told_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "strange.name"
    write(path, Series((wave("a", 3),), 1.0))
    assert recognise(path) is FORMAT
    path.write_bytes(path.read_bytes()[:7])
    with pytest.raises(FormatError):
        recognise(path)
