"""Record files that are cut off, damaged or foreign: whole chunks are kept, everything else is one line.

What becomes of a thousand damaged records: test_damaged_records.py.
"""

from __future__ import annotations

import math
import os
import random
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcap.reader import make_reader

from mastd.errors import FormatError
from mastd.record.channels import Channel, ChannelSet
from mastd.record.reader import open_run
from mastd.record.recover import recover
from mastd.record.writer import RunWriter
from tests.support.record.reading import opened

CHANNELS = ChannelSet([Channel("step", "1"), Channel("wave", "m"), Channel("slow", "K", 5.0)], 100_000_000)
CHUNKS, FRAMES_PER_CHUNK = 4, 3
BLOCK = 128
"""Bytes of a disk's block, few as the file is small."""


def write(path: Path, synchronise: bool = False) -> None:
    """Write CHUNKS chunks of FRAMES_PER_CHUNK frames and an event each, at 10 Hz."""
    writer = RunWriter(path, CHANNELS, {"name": "cut me", "seeds": {"profile": 1}})
    for step in range(CHUNKS * FRAMES_PER_CHUNK):
        writer.frame(step, memoryview(np.array([step, math.sin(step), 300.0]).tobytes()))
        if step % FRAMES_PER_CHUNK == 0:
            writer.event({"event": "mark", "frame": step})
        if synchronise and step % FRAMES_PER_CHUNK == FRAMES_PER_CHUNK - 1:
            writer.flush()
    writer.finish({})


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("record") / "run.mcap"
    write(path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cut")


def chunk_ends(data: bytes, directory: Path) -> list[int]:
    """Return where each chunk ends, as the summary of the whole file says."""
    path = directory / "whole.mcap"
    path.write_bytes(data)
    with path.open("rb") as file:
        summary = make_reader(file).get_summary()
    assert summary is not None
    return [index.chunk_start_offset + index.chunk_length for index in summary.chunk_indexes]


def test_every_truncation_keeps_all_whole_chunks_or_is_one_line(whole: bytes, place: Path) -> None:
    ends = chunk_ends(whole, place)
    assert len(ends) == CHUNKS
    path = place / "cut.mcap"
    near_ends = {end + k for end in ends for k in range(-20, 21)}
    dense = range(ends[1] + 100)  # from here on the structure repeats itself
    for length in sorted({*dense, *near_ends, *range(0, len(whole), 5), *range(len(whole) - 60, len(whole))}):
        path.write_bytes(whole[:length])
        kept = sum(end <= length for end in ends)
        if kept == 0:
            with pytest.raises(FormatError) as caught:
                open_run(path)
            assert "\n" not in str(caught.value)
            continue
        run = open_run(path)
        assert run.damage is not None
        assert run.metadata["name"] == "cut me"
        assert np.array_equal(run.columns["step"], np.arange(float(kept * FRAMES_PER_CHUNK)))
        assert np.array_equal(run.columns["wave"], [math.sin(k) for k in range(kept * FRAMES_PER_CHUNK)])
        assert len(run.events) == kept
    path.write_bytes(whole)
    assert open_run(path).damage is None


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_recovery_makes_a_whole_file_of_every_truncation(
    whole: bytes, place: Path, data: st.DataObject
) -> None:
    ends = chunk_ends(whole, place)
    length = data.draw(st.integers(0, len(whole) - 1) | st.sampled_from([*ends, *(end - 1 for end in ends)]))
    path = place / "recover.mcap"
    path.write_bytes(whole[:length])
    before = set(place.iterdir())
    kept = sum(end <= length for end in ends)
    if kept == 0:
        with pytest.raises(FormatError):
            recover(path)
        assert path.read_bytes() == whole[:length]
        assert set(place.iterdir()) == before
        return
    recovery = recover(path)
    assert recovery.original is not None
    assert recovery.original.read_bytes() == whole[:length]
    recovery.original.unlink()
    assert (recovery.frames, recovery.events, recovery.chunks) == (kept * FRAMES_PER_CHUNK, kept, kept)
    assert recovery.lost_bytes < length
    run = open_run(path)
    assert run.damage is None
    assert run.metadata["seeds"] == {"profile": 1}
    assert np.array_equal(run.columns["step"], np.arange(float(kept * FRAMES_PER_CHUNK)))
    with path.open("rb") as file:
        reader = make_reader(file, validate_crcs=True)
        assert sum(1 for _ in reader.iter_messages(topics=["frame"])) == kept * FRAMES_PER_CHUNK
    again = recover(path)
    assert again.original is None
    assert again.frames == recovery.frames


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_anywhere_gives_a_run_or_one_line(whole: bytes, place: Path, data: st.DataObject) -> None:
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        position = data.draw(st.integers(0, len(whole) - 1))
        damaged[position : position + 8] = data.draw(st.binary(max_size=8))
    path = place / "damaged.mcap"
    path.write_bytes(damaged)
    run = opened(path)
    assert isinstance(run, str) or np.array_equal(run.columns["step"], run.numbers)


def record_starts(data: bytes) -> list[tuple[int, int]]:
    """Return opcode and place of every record, by the lengths of the sound file."""
    found, place = [], 8
    while data[place] != 0x02:
        found.append((data[place], place))
        place += 9 + int.from_bytes(data[place + 1 : place + 9], "little")
    return found


@pytest.mark.parametrize("length", [1 << 20, 1 << 40, (1 << 63) - 1, (1 << 64) - 1])
def test_a_length_beyond_the_file_costs_no_memory(whole: bytes, length: int, tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    third = [place for opcode, place in record_starts(whole) if opcode == 0x06][2]
    path.write_bytes(whole[: third + 1] + length.to_bytes(8, "little") + whole[third + 9 :])
    run = open_run(path)
    assert run.damage is not None
    assert run.numbers.tolist() == [
        *range(2 * FRAMES_PER_CHUNK),
        *range(3 * FRAMES_PER_CHUNK, len(run.times) + 3),
    ]
    assert run.lost == FRAMES_PER_CHUNK


def test_a_chunk_with_a_wrong_checksum_is_left_out(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    second = [place for opcode, place in record_starts(whole) if opcode == 0x06][1]
    checksum = second + 9 + 3 * 8  # after start time, end time and size
    path.write_bytes(whole[:checksum] + bytes([whole[checksum] ^ 1]) + whole[checksum + 1 :])
    run = open_run(path)
    assert run.damage is not None
    assert "wrong checksum" in run.damage
    assert run.numbers.tolist() == [*range(3), *range(6, 12)]


@pytest.mark.parametrize(
    "content", [b"", b"\x89MCAP0\r", b"\x89MCAP0\r\n", b"name: a table\n" * 100, bytes(5000)]
)
def test_foreign_files_are_one_line(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    path.write_bytes(content)
    for reading in (open_run, recover):
        with pytest.raises(FormatError) as caught:
            reading(path)
        assert "\n" not in str(caught.value)
        assert str(path) in str(caught.value)
    assert path.read_bytes() == content
    with pytest.raises(FormatError, match="No such file"):
        open_run(tmp_path / "none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FormatError, match="No such file"):
        recover(tmp_path / "empty")


def test_time_goes_on_by_frames_and_missed_periods_whatever_the_numbers_are(tmp_path: Path) -> None:
    channels = ChannelSet(
        [Channel("missed", "1"), Channel("wave", "m"), Channel("slow", "K", 5.0)], 100_000_000
    )
    writer = RunWriter(tmp_path / "run.mcap", channels, {})
    missed = (0.0, 0.0, 3.0, math.nan, math.inf, -1.0, 4.0)
    for number, value in enumerate(missed):
        writer.frame(number, memoryview(np.array([value, 0.0, number]).tobytes()))
    writer.frame(9, memoryview(np.array([4.0, 0.0, 9.0]).tobytes()))
    writer.finish({})
    run = open_run(tmp_path)
    periods = [0, 1, 5, 6, 7, 8, 10, 13]
    assert np.array_equal(run.times, np.array(periods) / 10.0)
    assert np.array_equal(run.columns["missed"], [*missed, 4.0], equal_nan=True)
    assert run.numbers.tolist() == [0, 1, 2, 3, 4, 5, 6, 9]
    # Every other period, or the first frame after it where that one is missing.
    assert run.columns["slow"].tolist() == [0, 2, 3, 5, 6, 9]
    assert [(event["event"], event["lost"], event["frame"]) for event in run.events] == [("gap", 2, 7)]


def crash(data: bytes, synchronised: list[int], dice: random.Random) -> tuple[bytes, int]:
    """Return what is on disk after a crash at any byte, and the bytes of it that were synchronised.

    Blocks written since may have come in any order: some of them are still zeros.
    """
    length = dice.randrange(len(data) + 1)
    sure = max((size for size in synchronised if size <= length), default=0)
    left = bytearray(data[:length])
    if dice.random() < 0.5:
        for start in range(sure, length, BLOCK):
            if dice.random() < 0.5:
                left[start : start + BLOCK] = bytes(len(left[start : start + BLOCK]))
    return bytes(left), sure


def try_crashes(seeds: range, directory: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Cut a record at as many bytes while it is written; return the frames that were kept."""
    path = directory / "written.mcap"
    sizes = [0]
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", lambda descriptor: sizes.append(os.fstat(descriptor).st_size))
        write(path, synchronise=True)
    data = path.read_bytes()
    ends = chunk_ends(data, directory)
    cut = directory / "cut.mcap"
    kept = 0
    for seed in seeds:
        left, sure = crash(data, sizes, random.Random(seed))
        cut.write_bytes(left)
        promised = FRAMES_PER_CHUNK * sum(end <= sure for end in ends)
        run = opened(cut)
        if isinstance(run, str):
            assert promised == 0, f"crash {seed}: {run}"
            continue
        assert len(run.times) >= promised, f"crash {seed}: {len(run.times)} frames of {promised} on disk"
        assert np.array_equal(run.columns["step"], run.numbers), f"crash {seed}"
        assert (run.damage is None) == (left == data), f"crash {seed}"
        kept += len(run.times)
    return kept


def test_a_crash_of_the_writer_leaves_what_was_synchronised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert try_crashes(range(300), tmp_path, monkeypatch) > 0


@pytest.mark.evidence
def test_ten_thousand_crashes_of_the_writer_leave_what_was_synchronised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = try_crashes(range(1000, 11_000), tmp_path, monkeypatch)
    print(f"10,000 crashes of the writer: every record readable, {kept} frames kept")


def test_frame_numbers_go_on_past_32_bits(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path / "run.mcap", CHANNELS, {})
    for number in range((1 << 32) - 2, (1 << 32) + 2):
        writer.frame(number, memoryview(np.zeros(3).tobytes()))
    writer.finish({})
    assert np.diff(open_run(tmp_path).numbers).tolist() == [1, 1, 1]


@pytest.mark.real_time
def test_the_file_takes_25_000_frames_a_second_on_one_core(tmp_path: Path) -> None:
    width, count = 170, 10_000
    channels = ChannelSet(
        [Channel("step", "1"), *(Channel(f"c{k}", "m") for k in range(1, width))], 1_000_000
    )
    frames = np.random.default_rng(1).standard_normal((count, width))
    frames[:, 0] = np.arange(count)
    data = memoryview(frames.tobytes())
    writer = RunWriter(tmp_path / "run.mcap", channels, {})
    start = time.thread_time()
    for index in range(count):
        writer.frame(index, data[8 * width * index : 8 * width * (index + 1)])
        writer.synchronise_if_due()
    rate = count / (time.thread_time() - start)
    writer.finish({})
    print(f"recorder: {rate:.0f} frames per second of processor time")
    assert rate > 25_000


def test_a_record_of_a_run_whose_frames_were_all_lost_says_so(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    writer = RunWriter(path, CHANNELS, {"name": "no frame came"})
    writer.event({"event": "mark"})
    writer.finish({})
    for read in (open_run, recover):
        with pytest.raises(FormatError) as told:
            read(path)
        assert str(told.value).endswith("it holds no frames" if read is recover else ": holds no frames")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FormatError, match="nothing to recover, it holds no frames: the file is truncated"):
        recover(path)
