"""The recorder of a service: runs one after the other in one process, and what goes wrong with one."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mastd.errors import FormatError, UsageError
from mastd.record.reader import Run, open_run
from mastd.record.recorder import RecorderHandle
from mastd.record.recover import recover
from tests.support.recording import Stream, ended, fault_files, stream_channels, wait_for

pytestmark = pytest.mark.real_time

RATE = 1000
CHANNELS = stream_channels(1_000_000_000 // RATE)


def serve(directory: Path) -> Stream:
    metadata = {"versions": {"mastd": "1"}, "name": "no profile"}
    return Stream(RecorderHandle.start_service(directory, metadata, CHANNELS, lockstep=True))


def begin(stream: Stream, directory: Path) -> Path:
    """Begin a run and return its directory; its metadata hold the directory's name."""
    file = directory.parent / f"{directory.name}.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"name": directory.name}))
    stream.event({"event": "record_begin", "directory": str(directory), "metadata_file": str(file)})
    return directory


def end(stream: Stream) -> None:
    stream.event({"event": "record_end"})


def holds(run: Run, first: int, count: int) -> bool:
    """Return whether a run's file is whole and holds exactly these steps, counted from its own start."""
    assert run.damage is None
    assert np.array_equal(run.columns["step"], np.arange(first, first + count))
    assert np.array_equal(run.numbers, np.arange(count))
    assert np.array_equal(run.times, np.arange(count) / RATE)
    return True


def test_three_runs_have_a_file_each_and_nothing_of_what_lies_between(tmp_path: Path) -> None:
    stream = serve(tmp_path)
    handle = stream.handle
    stream.missed = 5
    stream.push(1234)
    expected = []
    for number in (1, 2, 3):
        stream.event({"event": "between", "number": number})
        run = begin(stream, tmp_path / "runs" / f"run-{number}" if number < 3 else tmp_path / "third")
        expected.append((run, stream.step, 100 * number))
        stream.push(50 * number)
        stream.event({"event": "state", "to": "RUNNING"})
        stream.push(50 * number)
        stream.event({"event": "end", "outcome": "completed"})
        stream.event({"event": "record_end", "operator": "ann"})
        stream.push(77 if number < 3 else 0)  # an end needs no frame after it
    wait_for(
        lambda: handle.trouble() is None and handle.status.runs == 3, "the loop hears that all are whole"
    )
    assert handle.status.recording is None
    result = handle.close()
    assert (result.frames, result.gaps, result.dropped, result.error) == (600, 0, 0, None)
    for directory, first, count in expected:
        record = open_run(directory)
        assert holds(record, first, count)
        assert [(event["event"], event["frame"]) for event in record.events] == [
            ("state", count // 2),
            ("end", count),
        ]
        metadata = dict(record.metadata)
        assert isinstance(metadata.pop("started_unix"), float)
        assert metadata == {"versions": {"mastd": "1"}, "name": f"{directory.name}"}
        assert (record.end["frames"], record.end["closed"], record.end["operator"]) == (count, True, "ann")
        assert record.columns["slow"][0] == 300.0 + first


def test_the_metadata_file_may_lie_anywhere_and_paths_may_be_relative(tmp_path: Path) -> None:
    stream = serve(tmp_path)
    (tmp_path / "m.json").write_text('{"name": "here", "value": NaN}')
    stream.event({"event": "record_begin", "directory": "a/b", "metadata_file": "m.json"})
    stream.push(3)
    end(stream)
    assert stream.handle.close().error is None
    assert open_run(tmp_path / "a" / "b").metadata["name"] == "here"
    assert open_run(tmp_path / "a" / "b").metadata["value"] is None


def test_a_begin_while_a_run_is_open_finishes_the_old_one_first(tmp_path: Path) -> None:
    stream = serve(tmp_path)
    end(stream)
    stream.push(10)
    first = begin(stream, tmp_path / "first")
    stream.push(20)
    second = begin(stream, tmp_path / "second")
    stream.push(30)
    end(stream)
    end(stream)
    stream.push(5)
    assert stream.handle.close().error is None
    assert holds(open_run(first), 10, 20)
    assert holds(open_run(second), 30, 30)
    assert open_run(first).end["superseded"] is True
    assert "superseded" not in open_run(second).end


def test_a_run_that_is_open_at_the_end_is_finished(tmp_path: Path) -> None:
    stream = serve(tmp_path)
    stream.push(10)
    run = begin(stream, tmp_path / "run")
    stream.push(700)
    assert stream.handle.close().frames == 700
    assert holds(open_run(run), 10, 700)
    assert open_run(run).end["closed"] is True


def test_faults_go_beside_the_run_or_into_the_services_directory(tmp_path: Path) -> None:
    stream = serve(tmp_path)
    stream.push(5600)
    stream.fault("STROKE")
    stream.push(1000)
    run = begin(stream, tmp_path / "run")
    stream.push(250)
    stream.fault()
    stream.push(100)
    end(stream)
    stream.push(2000)
    assert stream.handle.close().fault_files == 2
    (between,), (within,) = fault_files(tmp_path), fault_files(run)
    assert holds(open_run(between), 600, 6000)
    assert holds(open_run(within), 1850, 6000)
    account = open_run(between).metadata["fault_history"]
    assert isinstance(account, dict)
    assert (account["run"], account["run_time_s"]) == (None, None)
    assert open_run(between).metadata["name"] == "no profile"
    account = open_run(within).metadata["fault_history"]
    assert isinstance(account, dict)
    assert (account["run"], account["run_time_s"]) == (str(run / "run.mcap"), 0.25)
    assert open_run(within).metadata["name"] == "run"
    assert [event["event"] for event in open_run(run).events] == ["fault"]
    kinds = [event["event"] for event in open_run(within).events]
    assert kinds == ["fault", "record_begin", "fault"]


def test_a_place_that_cannot_be_written_costs_that_run_only(tmp_path: Path) -> None:
    stream = serve(tmp_path)
    handle = stream.handle
    (tmp_path / "file").write_text("in the way")
    stream.push(600)
    stream.event({"event": "record_begin", "directory": f"{tmp_path}/file/run"})
    stream.push(600)
    wait_for(lambda: "file/run" in str(handle.trouble()), "the loop hears of it")
    assert "Not a directory" in str(handle.trouble()) or "File exists" in str(handle.trouble())
    stream.fault()
    end(stream)
    stream.push(1000)
    assert handle.trouble() is not None, "it stands until the next run begins"
    assert handle.alive()
    run = begin(stream, tmp_path / "good")
    stream.push(100)
    wait_for(lambda: handle.trouble() is None, "the next run is recorded")
    end(stream)
    stream.push(1)
    result = handle.close()
    assert (result.frames, result.error, result.fault_files) == (100, None, 1)
    assert holds(open_run(run), 2200, 100)
    assert holds(open_run(fault_files(tmp_path)[0]), 0, 2200)


def test_a_directory_that_holds_a_record_keeps_it_and_the_run_goes_into_a_namesake(tmp_path: Path) -> None:
    stream = serve(tmp_path)
    begin(stream, tmp_path / "old")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "run.mcap").write_text("precious")
    stream.push(600)
    end(stream)
    stream.push(1)
    assert stream.handle.close().error is None
    assert holds(open_run(tmp_path / "old-2"), 0, 600)
    assert (tmp_path / "old" / "run.mcap").read_text() == "precious"


@pytest.mark.parametrize("text", [None, "{", "[1]", '{"a": ' * 100_000])
def test_metadata_that_cannot_be_read_do_not_cost_the_run(tmp_path: Path, text: str | None) -> None:
    stream = serve(tmp_path)
    file = tmp_path / "metadata.json"
    if text is not None:
        file.write_text(text)
    stream.event({"event": "record_begin", "directory": "run", "metadata_file": str(file)})
    stream.push(10)
    wait_for(lambda: stream.handle.trouble() is not None, "the loop hears of it")
    assert f"{file}: the run's metadata cannot be read" in str(stream.handle.trouble())
    assert "\n" not in str(stream.handle.trouble())
    end(stream)
    stream.push(1)
    stream.handle.close()
    assert holds(open_run(tmp_path / "run"), 0, 10)
    assert open_run(tmp_path / "run").metadata["name"] == "no profile"


def test_a_full_disk_breaks_the_run_off_and_the_next_one_is_whole(tmp_path: Path) -> None:
    stream = serve(tmp_path)
    handle = stream.handle
    first = begin(stream, tmp_path / "first")
    _, hard = resource.prlimit(handle.process_id, resource.RLIMIT_FSIZE)
    resource.prlimit(handle.process_id, resource.RLIMIT_FSIZE, (20_000, hard))

    def broken() -> bool:
        stream.push(100)
        return handle.trouble() is not None

    wait_for(broken, "the loop hears of it")
    assert handle.trouble() == f"{first}/run.mcap: the record is truncated: File too large"
    resource.prlimit(handle.process_id, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, hard))
    end(stream)
    stream.push(10)
    start = stream.step
    second = begin(stream, tmp_path / "second")
    stream.push(100)
    end(stream)
    stream.push(1)
    assert handle.close().error is None
    assert recover(first / "run.mcap").frames > 0
    kept = open_run(first).columns["step"]
    assert np.array_equal(kept, np.arange(len(kept)))
    assert holds(open_run(second), start, 100)


def test_a_run_of_a_killed_recorder_recovers(tmp_path: Path) -> None:
    stream = serve(tmp_path)
    stream.push(300)
    run = begin(stream, tmp_path / "run")
    stream.push(2000)

    def on_disk() -> bool:
        with contextlib.suppress(FormatError):
            return len(open_run(run).times) >= 1000
        return False

    wait_for(on_disk, "chunks are on disk")
    os.kill(stream.handle.process_id, signal.SIGKILL)
    wait_for(lambda: stream.handle.trouble() is not None, "the loop hears of it")
    assert stream.handle.trouble() == "the recorder's process has ended"
    assert recover(run).original is not None
    kept = len(open_run(run).times)
    assert kept >= 1000
    assert holds(open_run(run), 300, kept)
    assert stream.handle.close().error == "the recorder's process has died"


def test_frames_that_found_no_room_are_trouble_once(tmp_path: Path) -> None:
    handle = RecorderHandle.start_service(tmp_path, {}, CHANNELS)
    os.kill(handle.process_id, signal.SIGSTOP)
    while handle.push(np.zeros(3)):
        pass
    assert handle.trouble() == "1 frames dropped: the recorder does not keep up"
    assert handle.trouble() is None
    os.kill(handle.process_id, signal.SIGCONT)
    handle.close()


def test_a_service_directory_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="cannot record here: Not a directory"):
        RecorderHandle.start_service(tmp_path / "file" / "runs", {}, CHANNELS)


PRODUCER = """
import sys
from pathlib import Path
from mastd.record.recorder import RecorderHandle
from tests.support.recording import Stream, stream_channels
stream = Stream(RecorderHandle.start_service(Path(sys.argv[1]), {}, stream_channels(1_000_000)))
stream.push(50)
stream.event({"event": "record_begin", "directory": "run"})
stream.push(500)
stream.fault()
stream.push(100)
print(stream.handle.process_id, flush=True)
sys.stdin.read()
"""


def test_a_killed_service_leaves_whole_files_and_no_process(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PRODUCER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as producer:
        assert producer.stdout is not None
        recorder = int(producer.stdout.readline())
        producer.kill()
        producer.wait()
        assert ended(recorder)
    run = open_run(tmp_path / "run")
    assert holds(run, 50, 600)
    assert [event["event"] for event in run.events] == ["fault", "producer_gone"]
    assert run.end["closed"] is False
    assert holds(open_run(fault_files(tmp_path / "run")[0]), 0, 650)


def resident_bytes(process_id: int) -> int:
    return int(Path(f"/proc/{process_id}/statm").read_text().split()[1]) * resource.getpagesize()


def test_memory_stays_flat_over_many_runs_and_a_long_stream(tmp_path: Path) -> None:
    stream = serve(tmp_path)

    def one_round(number: int) -> int:
        begin(stream, tmp_path / f"run-{number}")
        stream.push(2000)
        stream.fault()
        stream.push(3000)
        end(stream)
        for part in range(4):
            stream.event({"event": "between", "part": part})
            stream.push(1000)
        wait_for(lambda: stream.handle.backlog <= 1, "the recorder takes the frames")
        return resident_bytes(stream.handle.process_id)

    warm = max(one_round(number) for number in range(2))
    last = [one_round(number) for number in range(2, 7)][-1]
    assert last - warm < 2_000_000, "45,000 frames and five runs later"
    assert stream.handle.close().fault_files == 7
