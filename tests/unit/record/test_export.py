"""`mastd export` of records and of files: whole periods, what was missing, and where it comes from."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from mastd.arrays import FloatArray, IntArray
from mastd.cli import main
from mastd.formats.catalogue import read
from mastd.formats.core.measurement import Channel, Measurement, Series
from mastd.formats.mcap.file import FORMAT
from mastd.record.channels import Channel as Recorded
from mastd.record.channels import ChannelSet
from mastd.record.writer import RunWriter
from mastd.safety.states import State
from mastd.settings.core.axes import AXES

PERIOD = 0.001
CHANNELS = ChannelSet(
    [
        Recorded("state", "1", None, "state, see the record's list of states"),
        Recorded("missed", "1"),
        Recorded("profile_time", "s"),
        *(
            Recorded(f"{quantity}.{axis}", unit if axis in AXES[:3] else unit.replace("m", "rad"))
            for quantity, unit in (
                ("reference", "m"),
                ("reference_acceleration", "m/s2"),
                ("pose", "m"),
                ("pose_rate", "m/s"),
                ("pose_acceleration", "m/s2"),
            )
            for axis in AXES
        ),
        *(Recorded(f"command.length.{actuator}", "m", None, "length set-point") for actuator in range(1, 8)),
        Recorded("oil", "K", 100.0),
    ],
    1_000_000,
)
COUNT = 600
RUNNING = range(100, 500)


def value(period: int, column: int) -> float:
    return math.sin(0.02 * period + column) + column


def record(
    folder: Path, name: str = "shake-1", missed: int = 0, lost: int = 0, frames: int = COUNT
) -> IntArray:
    """Write a run in which periods are missed and frames lost behind frame 300; return its periods."""
    directory = folder / name
    directory.mkdir()
    head = {
        "name": "shake",
        "states": [state.name for state in State],
        "started_unix": 1.7e9,
        "versions": {"mastd": "1.2.3"},
        "plant": {"name": "rig", "simulated": True, "mode": "lockstep"},
    }
    writer = RunWriter(directory / "run.mcap", CHANNELS, head)
    periods = []
    for frame in range(frames):
        late = frame > 300
        period = frame + (missed + lost if late else 0)
        running = frame in RUNNING
        state = State.RUNNING if running else State.READY
        row = [value(period, column) for column in range(len(CHANNELS))]
        row[:3] = [float(state), missed if late else 0, 0.001 * (frame - 100) if running else math.nan]
        writer.frame(frame + (lost if late else 0), memoryview(np.array(row).tobytes()))
        periods.append(period)
    writer.event({"event": "end", "outcome": "stopped", "state": "RUNNING", "cause": "ended by tester"})
    writer.finish({})
    return np.array(periods)


def column(measurement: Measurement, name: str) -> FloatArray:
    return next(channel.values for channel in measurement.channels if channel.name == name)


def export(*words: object) -> int:
    return main(["export", *map(str, words)])


def test_reference_and_achieved_are_exported_beside_the_run_as_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record(tmp_path)
    assert export(tmp_path / "shake-1", "--to", "mcap") == 0
    path = tmp_path / "shake-1" / "shake-1.mcap"
    printed = capsys.readouterr().out.splitlines()
    assert printed == [
        f"{path}: MCAP, {path.stat().st_size / 1e6:.1f} MB",
        "  frame: 24 channels, 600 samples, 1000 Hz, 0 to 0.599 s",
    ]
    found = read(path)
    (series,) = found.series
    quantities = ("reference", "reference_acceleration", "pose", "pose_acceleration")
    assert [channel.name for channel in series.channels] == [
        f"{quantity}.{axis}" for quantity in quantities for axis in AXES
    ]
    assert [channel.unit for channel in series.channels][:6] == ["m"] * 3 + ["rad"] * 3
    assert np.array_equal(series.axis_values(), np.arange(COUNT) * PERIOD)
    for number, recorded in enumerate(CHANNELS):
        if recorded.name.startswith(quantities) and "rate" not in recorded.name:
            assert np.array_equal(
                column(found, recorded.name), [value(period, number) for period in range(COUNT)]
            )
    expected = {
        "run": "shake-1",
        "profile": "shake",
        "software": "mastd 1.2.3",
        "plant": "rig, simulated, lockstep",
        "started": "2023-11-14T22:13:20.000Z",
        "profile_played": "from 0.1 s to 0.499 s",
        "ended": "stopped in RUNNING: ended by tester",
        "signals": "reference, achieved",
    }
    assert expected.items() <= found.notes.items()
    assert "filled" not in found.notes


def test_other_signals_go_to_a_file_of_their_own_name(tmp_path: Path) -> None:
    record(tmp_path)
    for signals in ("drive", "reference,drive", "reference,achieved"):
        assert export(tmp_path / "shake-1", "--to", "mcap", "--signals", signals) == 0
    found = sorted(path.name for path in (tmp_path / "shake-1").glob("shake*"))
    assert found == ["shake-1-drive.mcap", "shake-1-reference-drive.mcap", "shake-1.mcap"]


def test_missing_periods_are_filled_counted_and_noted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    periods = record(tmp_path, missed=4, lost=3)
    out = tmp_path / "all.mcap"
    assert export(tmp_path / "shake-1", "--out", out, "--signals", "all") == 0
    printed = capsys.readouterr().out
    assert "7 of 607 periods missed or lost in 1 gaps" in printed
    found = read(out)
    fast, slow = found.series
    assert "7 of 607" in found.notes["filled"]
    assert (fast.count, fast.step, slow.step) == (COUNT + 7, PERIOD, 10 * PERIOD)
    assert len(fast.channels) + len(slow.channels) == len(CHANNELS)
    pose = column(found, "pose.heave")
    number = CHANNELS.column("pose.heave")
    assert np.array_equal(pose[periods], [value(period, number) for period in periods])
    gap = np.arange(300, 309)
    straight = pose[300] + (pose[308] - pose[300]) * (gap - 300) / 8
    assert np.allclose(pose[gap], straight, rtol=1e-12)
    assert column(found, "missed")[299:310].tolist() == [0.0] * 9 + [4.0] * 2
    assert set(column(found, "state")) == {float(State.READY), float(State.RUNNING)}
    assert column(found, "oil").shape == (61,)


def test_a_record_of_which_hardly_anything_is_left_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record(tmp_path, lost=100_000)
    assert export(tmp_path / "shake-1", "--to", "mcap") == 2
    assert "too few" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "shake-1").iterdir()] == ["run.mcap"]


def test_another_rate_and_a_span_stand_on_the_clock_of_the_record(tmp_path: Path) -> None:
    record(tmp_path)
    out = tmp_path / "part.mcap"
    words = ("--signals", "drive", "--rate", "250Hz", "--from", "0.1001s", "--to-time", "0.3s", "--out", out)
    assert export(tmp_path / "shake-1", *words) == 0
    (series,) = read(out).series
    assert [channel.name for channel in series.channels] == [f"command.length.{k}" for k in range(1, 8)]
    assert series.step == 1 / 250
    assert np.allclose(series.axis_values(), 0.104 + 0.004 * np.arange(50), rtol=1e-12)
    number = CHANNELS.column("command.length.1")
    expected = [value(4 * k, number) for k in range(26, 76)]
    assert np.abs(series.channels[0].values - expected).max() < 1e-4


def test_states_and_the_time_of_the_profile_are_held_at_another_rate(tmp_path: Path) -> None:
    record(tmp_path)
    out = tmp_path / "all.mcap"
    assert (
        export(tmp_path / "shake-1", "--channels", "state,profile_time", "--rate", "300Hz", "--out", out) == 0
    )
    found = read(out)
    latest = np.floor(np.arange(180) * 1000 / 300 + 1e-9)
    running = (latest >= RUNNING.start) & (latest < RUNNING.stop)
    assert np.array_equal(column(found, "state"), np.where(running, float(State.RUNNING), float(State.READY)))
    assert np.array_equal(np.isfinite(column(found, "profile_time")), running)


def test_a_record_cut_off_anywhere_exports_what_is_whole_or_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record(tmp_path)
    path, out = tmp_path / "shake-1" / "run.mcap", tmp_path / "out.mcap"
    whole = path.read_bytes()
    number = CHANNELS.column("pose.heave")
    exported = 0
    for length in range(0, len(whole), len(whole) // 25):
        path.write_bytes(whole[:length])
        out.unlink(missing_ok=True)
        code = export(path, "--channels", "pose.heave", "--out", out)
        printed = capsys.readouterr()
        if code == 2:
            assert len(printed.err.splitlines()) == 1
            assert not out.exists()
            continue
        exported += 1
        assert "  as read: the record is damaged: the file is truncated" in printed.out
        found = read(out)
        values = column(found, "pose.heave")
        assert values.tolist() == [value(period, number) for period in range(len(values))]
        assert "truncated" in found.notes["broken_off"]
    assert exported > 5


def plain(path: Path, step: float | None = 0.01, unit: str = "", places: bool = False) -> None:
    times = np.arange(50, dtype=np.float64) * 0.01
    channels = (
        Channel("a", unit, np.sin(times), "first"),
        Channel("b", "g", np.where(times < 0.3, times, math.nan)),
    )
    series = Series(channels, None if places else step, 0.0, times if places else None, name="s")
    assert FORMAT.write is not None
    FORMAT.write(path, Measurement("mcap", (series,), {"title": "a test"}))


def test_any_file_is_exported_with_what_the_user_says_and_keeps_its_notes(tmp_path: Path) -> None:
    source, out = tmp_path / "in.mcap", tmp_path / "out.mcap"
    plain(source)
    assert export(source, "--out", out, "--unit", "m/s2", "--channels", "a", "--rate", "50Hz") == 0
    found = read(out)
    (channel,) = found.channels
    assert (channel.name, channel.unit, channel.description) == ("a", "m/s2", "first")
    assert (found.series[0].step, found.series[0].count) == (0.02, 25)
    assert found.notes["title"] == "a test"
    assert found.notes["made_of"] == "in.mcap (mcap)"


def test_times_without_unit_are_given_their_step_before_anything_needs_seconds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = tmp_path / "in.csv", tmp_path / "out.rsp"
    source.write_text("0,1.5\n5,2.5\n10,-1\n")
    for words in ((), ("--rate", "50Hz")):
        assert export(source, "--out", out, "--unit", "g", *words) == 2
        assert "give the step" in capsys.readouterr().err
        assert not out.exists()
    assert export(source, "--out", out, "--unit", "g", "--step", "5ms") == 0
    assert read(out).series[0].step == 0.005


def test_only_what_the_profile_played(tmp_path: Path) -> None:
    record(tmp_path)
    out = tmp_path / "played.mcap"
    assert export(tmp_path / "shake-1", "--played", "--channels", "state", "--out", out) == 0
    found = read(out)
    assert set(column(found, "state")) == {float(State.RUNNING)}
    assert found.series[0].start == pytest.approx(0.001 * RUNNING.start)
    assert found.series[0].count == len(RUNNING)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["in.mcap", "--out", "o.mcap", "--played"], "in.mcap: is not a record: cut it with --from"),
        (["shake-1", "--to", "mcap", "--played", "--from", "1s"], "--played defines the time span"),
        (["in.mcap", "--to", "mcap"], "in.mcap: is the source itself"),
        (["in.mcap"], "--to FORMAT or --out FILE is required"),
        (["in.mcap", "--to", "wav"], "--to wav: is not a writable format: "),
        (["in.mcap", "--out", "out.xyz"], "out.xyz: unknown suffix"),
        (["in.mcap", "--out", "none/out.mcap"], "cannot be written"),
        (["in.mcap", "--out", "o.mcap", "--channels", "c,a"], "in.mcap: no channel c, available 2: a, b"),
        (["in.mcap", "--out", "o.mcap", "--signals", "drive"], "in.mcap: is not a record"),
        (["in.mcap", "--out", "o.mcap", "--unit", "mm"], "states the unit 'g', given is 'mm'"),
        (["in.mcap", "--out", "o.mcap", "--step", "20ms"], "states a step of 0.01 s, given is 0.02 s"),
        (["in.mcap", "--out", "o.mcap", "--rate", "50Hz"], "b: value 30 is nan, it cannot be resampled"),
        (["in.mcap", "--out", "o.mcap", "--rate", "50"], "--rate: 50 has no unit"),
        (["in.mcap", "--out", "o.mcap", "--rate", "0Hz"], "--rate: 0Hz is not above zero"),
        (["in.mcap", "--out", "o.mcap", "--from", "inf"], "--from: 'inf' is not finite"),
        (["in.mcap", "--out", "o.mcap", "--from", "7s"], "no values from 7 to inf"),
        (["in.mcap", "--out", "o.mcap", "--rate", "1e9Hz", "--channels", "a"], "maximum ratio 1000"),
        (["uneven.mcap", "--out", "o.mcap", "--rate", "10Hz"], "cannot be resampled"),
        (["shake-1", "--to", "mcap", "--signals", "drives"], "--signals drives: known are reference, "),
        (["shake-1", "--to", "mcap", "--channels", "pose.x"], "run.mcap: no channel pose.x"),
        (["shake-1", "--to", "mcap", "--unit", "m"], "a record states its units"),
        (["none", "--to", "mcap"], "none: cannot be read: No such file"),
        (["text.txt", "--to", "mcap"], "text.txt: not in any supported format"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_leaves_nothing(
    words: list[str],
    line: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    plain(Path("in.mcap"))
    plain(Path("uneven.mcap"), places=True)
    record(tmp_path, frames=20)
    Path("text.txt").write_text("neither a number nor a table", encoding="utf-8")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    assert export(*words) == 2
    printed = capsys.readouterr()
    assert line in printed.err
    assert len(printed.err.splitlines()) == 1
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
