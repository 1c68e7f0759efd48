"""What is told of a run when its record is damaged, incomplete, moved, deleted or refused by the disk."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mastd.commands.recorded_play import new_directory
from mastd.commands.report import exit_code, summary
from mastd.errors import FormatError
from mastd.record.channels import Channel, ChannelSet
from mastd.record.completeness import refuse_incomplete
from mastd.record.history import Arrived
from mastd.record.reader import open_run
from mastd.record.result import Ending, make_result, with_lost_record, without_record
from mastd.record.run_files import RunFiles
from mastd.record.space import Space, duration_text, space
from mastd.record.writer import RunWriter
from tests.support.synthetic_run import COMPLETED, PERIOD_NS, Synthetic, metadata, synthetic

FULL = "No space left on device"
ESTOP = Ending("fault", "ESTOP", "emergency stop: requested by operator anna", "ab" * 32, 6000, 0)
STEPS = ChannelSet([Channel("step", "1")], 1_000_000)


def written(run: Synthetic, directory: Path, lost: range, criteria: dict[str, object]) -> Path:
    """Write a run of which the recorder has dropped some frames."""
    directory.mkdir(exist_ok=True)
    writer = RunWriter(directory / "run.mcap", run.channels, metadata(criteria))
    for number, frame in enumerate(run.frames):
        if number not in lost:
            writer.frame(number, memoryview(frame.tobytes()))
    writer.event(COMPLETED)
    writer.finish({})
    return directory


@pytest.mark.parametrize(
    ("lost", "criteria", "failed"),
    [
        (range(1000, 1004), {}, []),  # 0.1 % of 4000 frames, 8 ms
        (range(1000, 1005), {}, ["lost_share"]),
        (range(1000, 1011), {"lost_share": 0.01}, ["longest_gap"]),  # 22 ms
        (range(1000, 1010), {"lost_share": 0.01}, []),
        (range(1000, 3000), {"lost_share": 0.6, "longest_gap": 5.0}, []),
        (range(190, 200), {}, ["lost_share"]),  # just before the profile: who knows of which state
        (range(4200, 4230), {}, ["lost_share", "longest_gap"]),
        (range(50, 190), {}, []),
    ],
)
def test_frames_that_the_recorder_dropped_count_against_the_verdict(
    lost: range, criteria: dict[str, object], failed: list[str], tmp_path: Path
) -> None:
    run = open_run(written(synthetic(), tmp_path, lost, criteria))
    assert run.damage is None, "the recorder has told them"
    result = make_result(run)
    assert isinstance(result["criteria"], list)
    assert [one["name"] for one in result["criteria"] if not one["pass"]] == failed
    assert (result["verdict"], result["lost_frames"]) == ("fail" if failed else "pass", len(lost))
    if failed:
        assert f"not met: {failed[0]} is " in summary({**result, "page": None})
        with pytest.raises(FormatError, match="frames are missing while the profile ran"):
            refuse_incomplete(run)
    else:
        refuse_incomplete(run)


def test_a_fault_stays_a_fault_whatever_becomes_of_its_record(tmp_path: Path) -> None:
    recorded = make_result(open_run(written(synthetic(), tmp_path, range(0), {})))
    for result in (with_lost_record(recorded, ESTOP, FULL), without_record(tmp_path, ESTOP, FULL)):
        assert (result["verdict"], result["state"], exit_code(result)) == ("fault", "ESTOP", 3)
        assert result["cause"] == f"emergency stop: requested by operator anna; recorder lost: {FULL}"
        assert result["command_sha256"] == ESTOP.command_sha256
        assert result.keys() == recorded.keys()
        assert "FAULT, ended in ESTOP (emergency stop" in summary(result)
        json.dumps(result, allow_nan=False)
    stopped = replace(ESTOP, outcome="stopped", state="READY", cause="stopped by SIGTERM")
    result = with_lost_record(recorded, stopped, FULL)
    assert (result["verdict"], result["cause"]) == ("stopped", f"stopped by SIGTERM; recorder lost: {FULL}")
    completed = replace(ESTOP, outcome="completed", state="READY", cause=None)
    result = without_record(tmp_path, completed, FULL)
    assert (result["verdict"], exit_code(result)) == ("fail", 1)
    assert result["cause"] == f"recorder lost: {FULL}; the run itself completed"


def frames(files: RunFiles, numbers: range) -> None:
    for number in numbers:
        files.frame(number, memoryview(np.array([float(number)]).tobytes()))


def begin(files: RunFiles, directory: Path, number: int, unix: float) -> None:
    event = {"event": "record_begin", "directory": str(directory), "metadata_file": "loaded.json"}
    files.event(Arrived({**event, "frame": number}, number, 100, unix))


def test_runs_of_one_loading_begin_at_their_own_start_each_in_a_directory_of_its_own(
    tmp_path: Path,
) -> None:
    (tmp_path / "loaded.json").write_text(json.dumps({"name": "sine", "started_unix": 1.0e9}))
    files = RunFiles(STEPS, tmp_path, {}, None)
    for run, unix in enumerate((1.8e9, 1.8e9 + 60.5, 1.8e9 + 60.5)):
        begin(files, tmp_path / "sine", 100 * run, unix)
        frames(files, range(100 * run, 100 * run + 50))
        files.event(Arrived({"event": "record_end", "frame": 100 * run + 50}, 100 * run + 50, 100, unix))
    assert files.status()["runs"] == 3
    records = [open_run(tmp_path / name) for name in ("sine", "sine-2", "sine-3")]
    assert [record.metadata["started_unix"] for record in records] == [1.8e9, 1.8e9 + 60.5, 1.8e9 + 60.5]
    assert [record.columns["step"][0] for record in records] == [0.0, 100.0, 200.0]


@pytest.mark.parametrize("single", [True, False])
def test_a_record_that_is_moved_or_deleted_is_told(single: bool, tmp_path: Path) -> None:
    directory = tmp_path / "run"
    directory.mkdir()
    files = RunFiles(STEPS, tmp_path, {}, directory / "run.mcap" if single else None)
    if not single:
        (tmp_path / "loaded.json").write_text("{}")
        begin(files, directory, 0, 1.8e9)
    frames(files, range(300))
    directory.rename(tmp_path / "elsewhere")
    frames(files, range(300, 600))
    files.finish(600, closed=True)
    place = f"was moved while it was written, it is now {tmp_path}/elsewhere/run.mcap"
    assert files.totals()["error"] == f"{directory}/run.mcap: {place}"
    assert len(open_run(tmp_path / "elsewhere").times) == 600, "nothing of it is lost"
    files = RunFiles(STEPS, tmp_path, {}, tmp_path / "elsewhere" / "other.mcap")
    shutil.rmtree(tmp_path / "elsewhere")
    files.finish(0, closed=True)
    assert files.totals()["error"] == f"{tmp_path}/elsewhere/other.mcap: was deleted while it was written"


def test_two_runs_of_one_second_have_a_directory_each(tmp_path: Path) -> None:
    first, second = (new_directory(tmp_path / "sine-20261129-120000") for _ in range(2))
    assert (first.name, second.name) == ("sine-20261129-120000", "sine-20261129-120000-2")
    assert first.is_dir()
    assert second.is_dir()


def test_the_space_tells_how_long_it_lasts(tmp_path: Path) -> None:
    channels = ChannelSet([Channel(f"c{k}", "m") for k in range(125)], PERIOD_NS)
    found = space(tmp_path / "not" / "there" / "yet", channels)
    assert found is not None
    assert found.rate == 125 * 8 * 500
    assert found.free > 0
    small = Space(tmp_path, 5_000_000, 500_000.0)
    assert small.seconds == 10.0
    assert small.short_of(10.0) is None
    told = small.short_of(45.0)
    assert told is not None
    assert "0.005 GB free, enough for 10 s of recording at 0.5 MB/s; the profile takes 45 s" in told
    assert [duration_text(time) for time in (1.0, 119.0, 7200.0, 1e6)] == ["1 s", "119 s", "2 h", "11.6 days"]
