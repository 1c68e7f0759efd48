"""The recorder as a real process: what it writes, how it ends, and what its death costs."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from mcap.reader import make_reader

from mastd.errors import UsageError
from mastd.record.channels import Channel, ChannelSet
from mastd.record.reader import open_run
from mastd.record.recorder import RecorderHandle
from mastd.record.recover import recover
from tests.support.recording import ended, wait_for

pytestmark = pytest.mark.real_time

PERIOD_NS = 1_000_000
CHANNELS = ChannelSet(
    [
        Channel("step", "1"),
        Channel("pose.heave", "m"),
        Channel("wave", "N"),
        Channel("temperature", "K", 100.0),
    ],
    PERIOD_NS,
)
CHUNK_FRAMES = 250


def frame(step: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([step, 1e-3 * np.sin(0.01 * step), step % 7, 300.0 + step])


def push(handle: RecorderHandle, first: int, count: int) -> None:
    for step in range(first, first + count):
        handle.push(frame(step))


def test_an_independent_reader_decodes_the_file_by_its_schema_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "run.mcap"
    handle = RecorderHandle.start(path, {"seeds": {"profile": 3}, "text": "a: 1\n"}, CHANNELS, lockstep=True)
    push(handle, 0, 400)
    assert handle.event({"event": "state", "state": "RUNNING", "value": float("nan")})
    push(handle, 400, 600)
    assert handle.event({"event": "state", "state": "READY", "value": float("nan")})
    result = handle.close()
    assert (result.frames, result.dropped, result.gaps, result.error) == (1000, 0, 0, None)
    columns: dict[str, list[float]] = {}
    stamps: dict[str, list[int]] = {}
    events = []
    with path.open("rb") as file:
        reader = make_reader(file, validate_crcs=True)
        for schema, channel, message in reader.iter_messages():
            assert schema is not None
            if channel.topic == "events":
                events.append(json.loads(message.data))
                continue
            layout = json.loads(schema.data)
            assert (channel.message_encoding, layout["encoding"]) == ("float64le", "float64le")
            values = np.frombuffer(message.data, dtype="<f8")
            for item, value in zip(layout["channels"], values, strict=True):
                columns.setdefault(item["name"], []).append(value)
            stamps.setdefault(channel.topic, []).append(message.log_time)
        metadata = {record.name: record.metadata for record in reader.iter_metadata()}
        summary = reader.get_summary()
    steps = np.arange(1000)
    assert columns["step"] == steps.tolist()
    assert columns["pose.heave"] == (1e-3 * np.sin(0.01 * steps)).tolist()
    assert columns["temperature"] == (300.0 + steps[::10]).tolist()
    assert stamps["frame"] == (steps * PERIOD_NS).tolist()
    assert stamps["frame/100hz"] == (steps[::10] * PERIOD_NS).tolist()
    assert events == [
        {"event": "state", "state": "RUNNING", "value": None, "frame": 400},
        {"event": "state", "state": "READY", "value": None, "frame": 1000},
    ]
    assert json.loads(metadata["mastd"]["seeds"]) == {"profile": 3}
    assert json.loads(metadata["mastd"]["text"]) == "a: 1\n"
    assert json.loads(metadata["mastd.end"]["frames"]) == 1000
    assert summary is not None
    assert all(c.message_end_time - c.message_start_time <= 250_000_000 for c in summary.chunk_indexes)


def test_our_reader_gives_the_same_columns(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    handle = RecorderHandle.start(path, {"a": [1, 2]}, CHANNELS, lockstep=True)
    push(handle, 40, 600)
    handle.close()
    run = open_run(tmp_path)
    assert run.damage is None
    assert run.metadata == {"a": [1, 2]}
    assert run.end["closed"] is True
    assert run.period == pytest.approx(1e-3)
    assert np.array_equal(run.columns["step"], np.arange(40.0, 640.0))
    assert np.array_equal(run.times, np.arange(600) / 1000.0)
    assert np.array_equal(run.numbers, np.arange(600))
    assert run.units["wave"] == "N"
    slow = run.series_of("temperature")
    assert slow.rate_hz == pytest.approx(100.0)
    assert np.array_equal(run.columns["temperature"], 300.0 + np.arange(40, 640, 10))
    assert np.array_equal(slow.times, np.arange(0, 600, 10) / 1000.0)


def test_a_killed_recorder_is_not_noticed_and_its_file_recovers(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    handle = RecorderHandle.start(path, {"a": 1}, CHANNELS)
    push(handle, 0, 2000)
    wait_for(lambda: handle.backlog <= 1, "the recorder takes the frames")
    os.kill(handle.process_id, signal.SIGKILL)
    start = time.thread_time_ns()
    push(handle, 2000, 20_000)
    per_push = (time.thread_time_ns() - start) / 20_000
    assert per_push < 20_000  # making the frame included
    assert handle.dropped > 10_000
    wait_for(lambda: not handle.alive(), "the recorder is dead")
    assert handle.event({"event": "state"}) is False
    result = handle.close()
    assert result.error is not None
    assert result.dropped_events == 1
    recovery = recover(path)
    run = open_run(path)
    assert run.damage is None
    assert recovery.original is not None
    assert recovery.original.exists()
    kept = len(run.times)
    assert kept >= 2000 - CHUNK_FRAMES
    assert np.array_equal(run.columns["step"], np.arange(float(kept)))
    assert recovery.frames == kept


def test_a_recorder_killed_in_lockstep_costs_one_bounded_wait(tmp_path: Path) -> None:
    handle = RecorderHandle.start(tmp_path / "run.mcap", {}, CHANNELS, lockstep=True)
    os.kill(handle.process_id, signal.SIGKILL)
    start = time.monotonic()
    push(handle, 0, 30_000)
    assert time.monotonic() - start < 10.0
    assert handle.dropped > 20_000
    assert handle.close().error is not None


def test_a_stalled_recorder_costs_frames_that_are_marked_as_a_gap(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    handle = RecorderHandle.start(path, {}, CHANNELS)
    os.kill(handle.process_id, signal.SIGSTOP)
    push(handle, 0, 10_000)
    lost = handle.dropped
    assert lost > 0
    os.kill(handle.process_id, signal.SIGCONT)
    wait_for(lambda: handle.backlog == 0 or handle.push(frame(10_000)), "the recorder goes on")
    wait_for(lambda: handle.backlog <= 1, "the recorder catches up")
    push(handle, 10_001, 10)
    result = handle.close()
    assert result.error is None
    run = open_run(path)
    (gap,) = [event for event in run.events if event["event"] == "gap"]
    assert gap["lost"] == handle.dropped >= lost
    (jump,) = np.flatnonzero(np.diff(run.numbers) > 1)
    assert gap["frame"] == run.numbers[jump] + 1
    assert run.numbers[jump + 1] == run.numbers[jump] + 1 + gap["lost"]
    assert np.array_equal(np.rint(1e3 * run.times), run.numbers)


def test_a_flood_of_events_without_frames_is_written_or_counted(tmp_path: Path) -> None:
    handle = RecorderHandle.start(tmp_path / "run.mcap", {}, CHANNELS)
    push(handle, 0, 3)
    kept = sum(handle.event({"event": "flood", "number": number}) for number in range(20_000))
    result = handle.close()
    assert result.error is None
    assert kept + result.dropped_events == 20_000
    assert kept > 100
    assert len(open_run(tmp_path).events) == kept


def test_frames_lost_at_the_very_end_are_marked_too(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    handle = RecorderHandle.start(path, {}, CHANNELS)
    os.kill(handle.process_id, signal.SIGSTOP)
    push(handle, 0, 9000)
    os.kill(handle.process_id, signal.SIGCONT)
    result = handle.close()
    run = open_run(path)
    assert result.dropped > 0
    assert result.frames == len(run.times) == 9000 - result.dropped
    assert run.end["lost"] == result.dropped


PRODUCER = """
import os, sys, numpy as np
from pathlib import Path
from mastd.record.channels import Channel, ChannelSet
from mastd.record.recorder import RecorderHandle
channels = ChannelSet([Channel("step", "1"), Channel("wave", "N")], 1_000_000)
handle = RecorderHandle.start(Path(sys.argv[1]), {"a": 1}, channels)
handle.event({"event": "state", "step": 5})
for step in range(1000):
    handle.push(np.array([float(step), 0.0]))
if os.fork() == 0:  # a child that holds the recorder's socket open
    sys.stdin.read()
    os._exit(0)
print(handle.process_id, flush=True)
sys.stdin.read()
"""


def test_a_killed_loop_leaves_a_whole_file_and_no_process(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    with subprocess.Popen(
        [sys.executable, "-c", PRODUCER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as producer:
        assert producer.stdout is not None
        recorder = int(producer.stdout.readline())
        producer.kill()
        producer.wait()
        assert ended(recorder)
    run = open_run(path)
    assert run.damage is None
    assert np.array_equal(run.columns["step"], np.arange(1000.0))
    assert [event["event"] for event in run.events] == ["state", "producer_gone"]
    assert run.end["closed"] is False


def test_signals_for_the_loop_do_not_end_the_recorder(tmp_path: Path) -> None:
    handle = RecorderHandle.start(tmp_path / "run.mcap", {}, CHANNELS)
    push(handle, 0, 100)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(handle.process_id, number)
    push(handle, 100, 100)
    process_id = handle.process_id
    result = handle.close()
    assert (result.frames, result.error) == (200, None)
    assert ended(process_id)


def test_a_full_disk_ends_the_recorder_but_not_the_loop(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    handle = RecorderHandle.start(path, {}, CHANNELS)
    limit = path.stat().st_size + 20_000
    resource.prlimit(handle.process_id, resource.RLIMIT_FSIZE, (limit, limit))
    step = 0
    random = np.random.default_rng(1)
    while handle.alive():
        assert step < 2_000_000
        handle.push(np.array([float(step), *random.random(3)]))
        step += 1
    result = handle.close()
    assert result.error is not None
    assert "large" in result.error
    recovery = recover(path)
    assert recovery.frames % CHUNK_FRAMES == 0
    assert np.array_equal(open_run(path).columns["step"], np.arange(float(recovery.frames)))


def test_a_file_being_recorded_is_readable_but_not_recovered(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    handle = RecorderHandle.start(path, {}, CHANNELS)
    push(handle, 0, 1000)

    def readable() -> bool:
        with contextlib.suppress(Exception):
            return len(open_run(path).times) >= CHUNK_FRAMES
        return False

    wait_for(readable, "the first chunks are on disk while the recorder writes")
    with pytest.raises(UsageError, match="is still being recorded"):
        recover(path)
    assert handle.close().frames == 1000


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="cannot record here: File exists"):
        RecorderHandle.start(tmp_path / "file" / "run.mcap", {}, CHANNELS)
    (tmp_path / "run.mcap").write_text("precious")
    with pytest.raises(UsageError, match="cannot record here: File exists"):
        RecorderHandle.start(tmp_path / "run.mcap", {}, CHANNELS)
    assert (tmp_path / "run.mcap").read_text() == "precious"
