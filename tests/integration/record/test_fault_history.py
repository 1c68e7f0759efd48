"""Files of the seconds around a fault, written by the real recorder: what is in them, and what is not."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import signal
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from mastd.errors import FormatError
from mastd.record.history import MAX_FILES, MAX_OPEN
from mastd.record.reader import Run, open_run
from mastd.record.recorder import RecorderHandle
from mastd.record.recover import recover
from tests.support.recording import Stream, fault_files, stream_channels, wait_for

pytestmark = pytest.mark.real_time

RATE = 100
CHANNELS = stream_channels(1_000_000_000 // RATE)
BEFORE, AFTER = 5 * RATE, 1 * RATE


def start(directory: Path) -> Stream:
    handle = RecorderHandle.start(directory / "run.mcap", {"name": "x"}, CHANNELS, lockstep=True)
    return Stream(handle)


def steps(run: Run, first: int, count: int) -> bool:
    """Return whether a file holds exactly these steps, counted and timed from its own first frame on."""
    assert np.array_equal(run.columns["step"], np.arange(first, first + count))
    assert np.array_equal(run.numbers, np.arange(count))
    assert np.array_equal(run.times, np.arange(count) / RATE)
    return True


def test_exactly_five_seconds_before_and_one_after_are_kept(tmp_path: Path) -> None:
    began = time.time()
    stream = start(tmp_path)
    stream.push(499)
    stream.event({"event": "too old"})
    stream.push(2)
    stream.event({"event": "request", "verb": "start"})
    stream.push(499)
    stream.fault()
    stream.push(AFTER - 1)
    stream.event({"event": "state", "to": "FAULT"})
    stream.push(1)
    stream.event({"event": "too new"})
    stream.push(200)
    result = stream.handle.close()
    assert (result.fault_files, result.fault_files_skipped, result.error) == (1, 0, None)
    (path,) = fault_files(tmp_path)
    stamp = re.fullmatch(r"fault-(\d{8}T\d{6}\.\d{3})Z-FOLLOWING_ERROR\.mcap", path.name)
    assert stamp is not None
    moment = datetime.strptime(stamp[1], "%Y%m%dT%H%M%S.%f").replace(tzinfo=UTC).timestamp()
    assert began - 0.001 <= moment <= time.time()
    file = open_run(path)
    assert file.damage is None
    assert steps(file, 1000 - BEFORE, BEFORE + AFTER)
    assert np.array_equal(file.columns["slow"], 300.0 + np.arange(1000 - BEFORE, 1000 + AFTER, 10))
    assert [(event["event"], event["frame"]) for event in file.events] == [
        ("request", 1),
        ("fault", BEFORE),
        ("state", BEFORE + AFTER - 1),
    ]
    account = file.metadata["fault_history"]
    assert isinstance(account, dict)
    assert file.metadata["name"] == "x"
    assert account["fault"] == {**file.events[1]}
    assert account["fault"]["cycle"] == 1000
    assert (account["run"], account["run_time_s"]) == (str(tmp_path / "run.mcap"), 10.0)
    assert (account["first_frame"], account["fault_frame"]) == (1000 - BEFORE, BEFORE)
    assert file.end["closed"] is True
    run = open_run(tmp_path)
    assert steps(run, 0, 1300)
    assert [event["event"] for event in run.events] == ["too old", "request", "fault", "state", "too new"]


def test_seconds_are_counted_in_periods_missed_ones_included(tmp_path: Path) -> None:
    stream = start(tmp_path)
    stream.missed = 7
    stream.push(800)
    stream.missed += 120
    stream.push(200)
    stream.fault()
    stream.push(30)
    stream.missed += 40
    stream.push(200)
    stream.handle.close()
    file = open_run(fault_files(tmp_path)[0])
    assert np.array_equal(file.columns["step"], np.arange(1000 - (BEFORE - 120), 1000 + AFTER - 40))
    periods = file.numbers + file.columns["missed"] - 7
    assert np.array_equal(np.rint(file.times * RATE), periods)
    account = file.metadata["fault_history"]
    assert isinstance(account, dict)
    assert account["run_time_s"] == pytest.approx(11.2)


def test_two_faults_in_a_row_have_a_file_each(tmp_path: Path) -> None:
    stream = start(tmp_path)
    stream.push(700)
    stream.fault("SAMPLE_STALE", "HOLD")
    stream.push(40)
    stream.fault("PLANT_LOST", "POWER_OFF")
    stream.push(300)
    assert stream.handle.close().fault_files == 2
    files = {path.stem.rsplit("-", 1)[1]: open_run(path) for path in fault_files(tmp_path)}
    assert steps(files["SAMPLE_STALE"], 700 - BEFORE, BEFORE + AFTER)
    assert steps(files["PLANT_LOST"], 740 - BEFORE, BEFORE + AFTER)
    for file in files.values():
        assert [event["name"] for event in file.events] == ["SAMPLE_STALE", "PLANT_LOST"]


def test_only_a_first_cause_that_stops_the_table_makes_a_file(tmp_path: Path) -> None:
    stream = start(tmp_path)
    stream.push(10)
    stream.fault(action="INDICATE")
    stream.fault(first=False)
    stream.event({"event": "state", "first": True, "action": "STOP"})
    stream.push(AFTER + 10)
    result = stream.handle.close()
    assert (result.fault_files, result.fault_files_skipped) == (0, 0)
    assert fault_files(tmp_path) == []


@pytest.mark.parametrize("before", [0, 1, 3])
def test_a_fault_at_the_very_start_has_what_there_is(tmp_path: Path, before: int) -> None:
    stream = start(tmp_path)
    stream.push(before)
    stream.event({"event": "earlier"})
    stream.fault()
    stream.push(300)
    stream.handle.close()
    file = open_run(fault_files(tmp_path)[0])
    assert steps(file, 0, before + AFTER)
    assert [(event["event"], event["frame"]) for event in file.events] == [
        ("earlier", before),
        ("fault", before),
    ]


def test_an_end_within_the_second_after_leaves_a_whole_file(tmp_path: Path) -> None:
    stream = start(tmp_path)
    stream.push(600)
    stream.fault()
    stream.push(30)
    assert stream.handle.close().fault_files == 1
    file = open_run(fault_files(tmp_path)[0])
    assert steps(file, 600 - BEFORE, BEFORE + 30)
    assert (file.damage, file.end["closed"]) == (None, False)


def test_a_recorder_killed_after_the_fault_leaves_the_seconds_before_it(tmp_path: Path) -> None:
    stream = start(tmp_path)
    stream.push(600)
    stream.fault()
    stream.push(30)

    def on_disk() -> bool:
        with contextlib.suppress(FormatError):
            return any(len(open_run(path).times) >= BEFORE for path in fault_files(tmp_path))
        return False

    wait_for(on_disk, "the history is on disk before the second after the fault has passed")
    os.kill(stream.handle.process_id, signal.SIGKILL)
    assert stream.handle.close().error is not None
    (path,) = fault_files(tmp_path)
    assert open_run(path).damage is not None
    assert recover(path).original is not None
    file = open_run(path)
    assert np.array_equal(file.columns["step"][:BEFORE], np.arange(600 - BEFORE, 600))
    assert [event["event"] for event in file.events] == ["fault"]


def test_lost_frames_are_a_gap_in_the_history_too(tmp_path: Path) -> None:
    handle = RecorderHandle.start(tmp_path / "run.mcap", {}, CHANNELS)
    stream = Stream(handle)
    stream.push(100)
    wait_for(lambda: handle.backlog == 0 or handle.push(np.array([0.0, 0.0, 0.0])), "the frames are taken")
    os.kill(handle.process_id, signal.SIGSTOP)
    while handle.push(np.array([1.0, 0.0, 0.0])):
        pass
    handle.push(np.array([1.0, 0.0, 0.0]))
    os.kill(handle.process_id, signal.SIGCONT)
    wait_for(lambda: handle.backlog < 500, "the recorder catches up")
    stream.push(1)
    stream.fault()
    stream.push(AFTER)
    handle.close()
    file = open_run(fault_files(tmp_path)[0])
    (gap,) = [event for event in file.events if event["event"] == "gap"]
    assert gap["lost"] == handle.dropped == 2
    assert len(file.times) == BEFORE + AFTER - 2
    assert np.array_equal(np.rint(file.times * RATE), file.numbers)


def test_files_open_at_a_time_are_bounded_and_the_rest_is_counted(tmp_path: Path) -> None:
    stream = start(tmp_path)
    for _ in range(MAX_OPEN + 2):
        stream.fault()
    stream.push(AFTER)
    stream.fault()
    stream.push(1)
    result = stream.handle.close()
    assert len(fault_files(tmp_path)) == result.fault_files == MAX_OPEN + 1
    assert (result.fault_files_skipped, result.error) == (2, None)


def test_files_of_a_recorders_life_are_bounded_and_the_rest_is_counted(tmp_path: Path) -> None:
    channels = stream_channels(500_000_000)
    stream = Stream(RecorderHandle.start(tmp_path / "run.mcap", {}, channels, lockstep=True))
    for _ in range(MAX_FILES + 3):
        stream.fault()
        stream.push(3)
    result = stream.handle.close()
    assert len(fault_files(tmp_path)) == result.fault_files == MAX_FILES
    assert (result.fault_files_skipped, result.error) == (3, None)
    assert len(open_run(tmp_path).times) == stream.step


def limit_file_size(handle: RecorderHandle, size: int) -> None:
    """Let every write beyond ``size`` bytes of a file fail, as on a full disk."""
    _, hard = resource.prlimit(handle.process_id, resource.RLIMIT_FSIZE)
    resource.prlimit(handle.process_id, resource.RLIMIT_FSIZE, (size, hard))


@pytest.mark.parametrize("room", [0, 1500])
def test_a_full_disk_costs_the_file_and_is_told(tmp_path: Path, room: int) -> None:
    handle = RecorderHandle.start_service(tmp_path, {}, CHANNELS, lockstep=True)
    stream = Stream(handle)
    stream.push(600)
    limit_file_size(handle, room)
    stream.fault()
    stream.push(AFTER)
    wait_for(lambda: handle.trouble() is not None, "the loop hears of it")
    assert "fault history" in str(handle.trouble())
    assert "File too large" in str(handle.trouble())
    assert handle.status.fault_files_skipped == 1
    limit_file_size(handle, resource.RLIM_INFINITY)
    stream.fault("STROKE")
    stream.push(AFTER + 1)
    wait_for(lambda: handle.trouble() is None, "the next file is whole")
    result = handle.close()
    assert (result.fault_files, result.fault_files_skipped) == (1, 1)
    assert steps(open_run(fault_files(tmp_path)[-1]), 700 - BEFORE, BEFORE + AFTER)
    assert len(fault_files(tmp_path)) == (1 if room == 0 else 2)
