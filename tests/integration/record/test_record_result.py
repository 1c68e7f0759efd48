"""Result, page and commands on synthetic runs with known figures, written through the real recorder."""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import time
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mastd.commands import recover as recover_command
from mastd.commands import report as report_command
from mastd.commands.report import summary
from mastd.errors import FormatError, UsageError
from mastd.record.channels import Channel, ChannelSet
from mastd.record.fault_report import fault_summary
from mastd.record.reader import open_run
from mastd.record.recorder import RecorderHandle
from mastd.record.result import make_result
from mastd.record.writer import RunWriter
from mastd.report.drawing.html_page import html
from mastd.report.pages.run import run_page
from mastd.settings.core.axes import AXES
from tests.support.synthetic_run import (
    COMMAND_FIELDS,
    COMPLETED,
    FAULT,
    GAIN,
    LAG,
    PERIOD_NS,
    RATE,
    SIDEWAYS,
    STATES,
    TABLE,
    metadata,
    motion,
    record,
    record_in_service,
    synthetic,
    with_accelerations,
)


def axes_of(result: dict[str, object]) -> dict[str, dict[str, Any]]:
    axes = result["axes"]
    assert isinstance(axes, dict)
    return axes


def test_the_figures_are_those_that_were_put_in(tmp_path: Path) -> None:
    run = synthetic()
    result = make_result(open_run(record(run, tmp_path)))
    assert list(result)[:9] == [
        *("verdict", "state", "cause", "run", "command_sha256", "cycles", "missed", "axes"),
        "internal_force_rms_n",
    ]
    assert (result["verdict"], result["state"], result["cause"]) == ("pass", "READY", None)
    assert result["run"] == str(tmp_path)
    assert result["cycles"] == 4000
    assert result["missed"] == 0
    assert result["internal_force_rms_n"] == pytest.approx(np.sqrt((3000.0**2 + 5000.0**2) / 2.0))
    axes = axes_of(result)
    assert list(axes) == list(AXES)
    for axis in ("heave", "roll", "pitch"):
        assert axes[axis]["lag_s"] == pytest.approx(LAG, abs=1e-4)
        assert axes[axis]["best_lag_nrmse"] == pytest.approx(1.0 - GAIN, abs=1e-3)
        assert axes[axis]["peak_ratio"] == pytest.approx(GAIN, abs=2e-3)
        assert axes[axis]["nrmse"] > 2.0 * axes[axis]["best_lag_nrmse"]
    for axis in ("surge", "sway", "yaw"):
        assert all(axes[axis][name] is None for name in ("nrmse", "best_lag_nrmse", "lag_s", "peak_ratio"))
    # Heave moves sway along, so their ratio is exact; rotations count at 1.4 m.
    assert axes["heave"]["cross_axis"] == pytest.approx(SIDEWAYS, rel=1e-6)
    heave_share = axes["sway"]["cross_axis"] / SIDEWAYS
    together = np.array([axes[axis]["cross_axis"] for axis in ("heave", "roll", "pitch")]) ** -2.0
    assert heave_share**2 == pytest.approx(together[0] / np.sum(together), rel=1e-6)
    roll_sizes = {
        axis: np.std(np.diff(motion(axis, np.arange(0.0, 8.0, 1.0 / RATE), 8.0), 2))
        for axis in ("heave", "roll")
    }
    expected = SIDEWAYS * roll_sizes["heave"] / (1.4 * roll_sizes["roll"])
    assert axes["roll"]["cross_axis"] == pytest.approx(expected, rel=0.05)  # the band's corners take a little
    json.dumps(result, allow_nan=False)


def test_accelerations_are_judged_at_the_point_that_makes_the_motion(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = with_accelerations(synthetic(20.0))
    path = record(run, tmp_path / "c", duration=20.0)
    result = make_result(open_run(path))
    assert result["acceleration_point"] == "C"
    assert result["internal_force_peak_n"] == 5000.0
    axes = {axis: figures["acceleration"] for axis, figures in axes_of(result).items()}
    for axis in ("heave", "roll", "pitch"):
        own = axes[axis]
        assert own["lag_s"] == pytest.approx(LAG, abs=1e-4)
        assert own["best_lag_nrmse"] == pytest.approx(1.0 - GAIN, abs=1e-3)
        assert own["peak_ratio"] == pytest.approx(GAIN, abs=1e-2)
        assert own["spectrum_outside_share"] == 0.0
        assert own["thd"] is None
        assert own["flatness_hz"] == own["measured_to_hz"] > 2.5
    assert axes["sway"]["nrmse"] is None
    assert axes["heave"]["cross_axis"] == pytest.approx(SIDEWAYS, rel=1e-3)
    arguments = parse("report", str(path))
    assert arguments.run(arguments) == 0
    text = capsys.readouterr().out
    assert "delay-compensated 0.030 (8.3 ms), peak ratio 0.97" in text
    assert re.search(
        r"\n +acceleration nrmse 0\.\d+, delay-compensated 0\.030 \(8\.3 ms\), .* ±1\.5 dB to ≥ ", text
    )
    # A point 2 m above C sways as the table rolls: what was idle at C is driven there, and follows as well.
    head = {**metadata(duration=20.0), "table": {**TABLE, "control_point": [0.0, 0.0, 2.0]}}
    bounds = {"acceleration_nrmse": 1.0, "acceleration_best_lag_nrmse": 0.9, "spectrum_outside_share": 0.99}
    head["profile"] = {"name": "at T", "point": "T", "verdict": {"axes": {"sway": {**bounds, "thd": 0.1}}}}
    writer = RunWriter(tmp_path / "run.mcap", run.channels, head)
    for number, frame in enumerate(run.frames):
        writer.frame(number, memoryview(frame.tobytes()))
    writer.finish({})
    elsewhere = make_result(open_run(tmp_path))
    assert elsewhere["acceleration_point"] == "T"
    sway = axes_of(elsewhere)["sway"]
    assert sway["nrmse"] is None
    # The heave that leaks into the sway of C is neither asked for nor a share of what is.
    sizes = [np.std(run.column(f"reference_acceleration.{axis}")) for axis in ("heave", "roll")]
    leak = SIDEWAYS * sizes[0] / (2.0 * sizes[1])
    assert sway["acceleration"]["best_lag_nrmse"] == pytest.approx(np.hypot(1.0 - GAIN, leak), rel=0.1)
    assert sway["acceleration"]["lag_s"] == pytest.approx(LAG, abs=1e-3)
    assert isinstance(elsewhere["criteria"], list)
    given = {criterion["name"].removeprefix("sway."): criterion for criterion in elsewhere["criteria"]}
    for name in bounds:
        assert given[name]["value"] == sway["acceleration"][name.removeprefix("acceleration_")]
        assert given[name]["pass"]
    assert (given["thd"]["value"], given["thd"]["pass"]) == (None, False)


def test_motion_that_nobody_asked_for_is_judged_by_the_watch_of_the_daemon(tmp_path: Path) -> None:
    """0.1 rad/s² of yaw count at the lever arm of the head's settings; 5/7 of their limit are allowed."""
    run = with_accelerations(synthetic())
    times = np.arange(len(run.frames)) / RATE
    run.column("pose_acceleration.yaw")[:] = 0.1 * np.sin(20.0 * np.pi * times)
    for name, watch, arm, limit in (
        ("none", {}, 1.4, 0.5),
        ("large", {"daemon": {"unasked_motion": {"arm": 4.0, "limit": 0.5}}}, 4.0, 2.5 / 7.0),
    ):
        writer = RunWriter(tmp_path / f"{name}.mcap", run.channels, {**metadata(), **watch})
        for number, frame in enumerate(run.frames):
            writer.frame(number, memoryview(frame.tobytes()))
        writer.finish({})
        result = make_result(open_run(tmp_path / f"{name}.mcap"))
        assert axes_of(result)["yaw"]["unasked_motion"] == pytest.approx(0.1 * arm, rel=0.01)
        assert isinstance(result["criteria"], list)
        criterion = next(one for one in result["criteria"] if one["name"] == "yaw.unasked_motion")
        assert criterion["limit"] == pytest.approx(limit)
        assert criterion["pass"] is (0.1 * arm <= limit)


def test_command_sha256_covers_the_five_fields_of_the_profiles_window(tmp_path: Path) -> None:
    run = synthetic()
    names = [f"command.{field}.{actuator}" for field in COMMAND_FIELDS for actuator in range(1, 8)]
    digest = hashlib.sha256()
    for frame in run.frames[run.first : run.last + 1]:
        digest.update(np.array([frame[run.channels.column(name)] for name in names], dtype="<f8").tobytes())
    assert make_result(open_run(record(run, tmp_path / "a")))["command_sha256"] == digest.hexdigest()
    run.frames[run.last + 5, run.channels.column("command.length.1")] += 1.0
    assert make_result(open_run(record(run, tmp_path / "b")))["command_sha256"] == digest.hexdigest()
    run.frames[run.last, run.channels.column("command.trim.7")] += 1e-9
    assert make_result(open_run(record(run, tmp_path / "c")))["command_sha256"] != digest.hexdigest()


def test_lost_frames_leave_figures_but_no_digest(tmp_path: Path) -> None:
    run = synthetic()
    writer = RunWriter(tmp_path / "run.mcap", run.channels, metadata())
    for number, frame in enumerate(run.frames):
        if number not in (1000, 1001):
            writer.frame(number, memoryview(frame.tobytes()))
    writer.event(COMPLETED)
    writer.finish({})
    result = make_result(open_run(tmp_path))
    assert (result["verdict"], result["command_sha256"], result["lost_frames"]) == ("pass", None, 2)


def test_a_record_that_does_not_tell_how_the_run_ended_is_no_pass(tmp_path: Path) -> None:
    """Played to its end, and then an emergency stop, of which the record has lost the last seconds."""
    run = synthetic()
    assert make_result(open_run(record(run, tmp_path / "whole")))["verdict"] == "pass"
    result = make_result(open_run(record(run, tmp_path / "cut", ended=False)))
    assert (result["verdict"], result["cycles"]) == ("stopped", 4000)
    assert result["cause"] == ("the profile was played to its end; how the run ended is not in the record")


@pytest.mark.parametrize(
    ("criteria", "verdict"),
    [
        ({}, "pass"),
        ({"axes": {"pitch": {"lag": 0.008}}}, "fail"),
        ({"axes": {"pitch": {"lag": 0.009}}}, "pass"),
        ({"axes": {"heave": {"peak_ratio": [0.98, 1.02]}}}, "fail"),
        ({"axes": {"heave": {"cross_axis": 0.04}}}, "fail"),
        ({"axes": {"surge": {"nrmse": 0.5}}}, "fail"),  # no figure, since surge was not driven
        ({"missed_share": 0.0}, "pass"),
        ({"internal_force": 4000.0}, "fail"),
    ],
)
def test_the_profiles_criteria_decide(criteria: dict[str, object], verdict: str, tmp_path: Path) -> None:
    result = make_result(open_run(record(synthetic(), tmp_path, criteria=criteria)))
    assert result["verdict"] == verdict
    assert isinstance(result["criteria"], list)
    assert all(criterion["pass"] for criterion in result["criteria"]) == (verdict == "pass")


@pytest.mark.parametrize(("missed", "criteria", "told"), [(7, 0.1, False), (7, 1e-6, True), (0, 1e-6, False)])
def test_missed_cycles_are_named_beside_a_criterion_that_is_not_met(
    missed: int, criteria: float, told: bool, tmp_path: Path
) -> None:
    run = synthetic()
    run.column("missed")[2000:] = missed
    bounds: dict[str, object] = {"axes": {"heave": {"best_lag_nrmse": criteria}}}
    read = open_run(record(run, tmp_path, criteria=bounds))
    result = make_result(read)
    assert result["verdict"] == ("pass" if criteria == 0.1 else "fail")
    text = summary({**result, "page": None})
    page = html(run_page(read, result))
    for shown in (text, page):
        assert ("7 of 4,007 cycles were missed, up to 14 ms in a row" in shown) is told
        assert ("--lockstep" in shown) is told
        assert ("mastd latency" in shown) is told


def test_missed_lost_stale_and_invalid_steps_are_bridged(tmp_path: Path) -> None:
    run = synthetic()
    pose = [run.channels.column(f"pose.{axis}") for axis in AXES]
    run.frames[3000:3005, pose] = np.nan
    stale = [*pose, run.channels.column("step")]
    for start in range(1500, 2500, 12):
        run.frames[np.ix_(range(start, start + 6), stale)] = run.frames[start - 1, stale]
    keep = np.ones(len(run.frames), dtype=bool)
    keep[1000:1010] = keep[3500] = False
    run.column("missed")[:] = np.cumsum(~keep)
    thinned = replace(run, frames=run.frames[keep])
    thinned.column("cycle")[:] = np.arange(len(thinned.frames))
    result = make_result(open_run(record(thinned, tmp_path, criteria={"missed_share": 0.002})))
    assert (result["cycles"], result["missed"], result["verdict"]) == (3989, 11, "fail")
    assert "  11 of 4,000 cycles were missed, up to 20 ms in a row, which can be the reason: " in summary(
        {**result, "page": None}
    )
    axes = axes_of(result)
    for axis in ("heave", "roll", "pitch"):
        assert axes[axis]["lag_s"] == pytest.approx(LAG, abs=3e-4)
        assert axes[axis]["best_lag_nrmse"] == pytest.approx(1.0 - GAIN, abs=3e-3)


def test_frames_after_the_plants_death_have_their_time(tmp_path: Path) -> None:
    run = synthetic()
    run.frames[2000:, run.channels.column("step")] = 99
    record(run, tmp_path)
    times = open_run(tmp_path).times
    assert np.array_equal(np.diff(np.rint(times * RATE)), np.ones(len(times) - 1))
    assert make_result(open_run(tmp_path))["cycles"] == 4000


def test_a_record_without_valid_poses_has_no_figures_but_a_result(tmp_path: Path) -> None:
    run = synthetic(4.0)
    run.column("pose.yaw")[:] = np.nan
    result = make_result(open_run(record(run, tmp_path, duration=4.0)))
    assert result["verdict"] == "fail"
    for figures in axes_of(result).values():
        assert set(figures.pop("acceleration").values()) == set(figures.values()) == {None}


def test_a_fault_gives_its_name_and_state(tmp_path: Path) -> None:
    run = synthetic()
    run.frames[2000:, run.channels.column("fault")] = 12
    run.frames[2000:, run.channels.column("state")] = STATES.index("FAULT")
    result = make_result(open_run(record(run, tmp_path, ended=False)))
    assert (result["verdict"], result["state"], result["cause"]) == ("fault", "FAULT", "following error")
    assert result["cycles"] == 2000 - run.first


def test_a_stop_is_a_stop_however_well_it_followed(tmp_path: Path) -> None:
    run = synthetic()
    run.frames[2000:, run.channels.column("state")] = STATES.index("STOPPING")
    run.frames[2200:, run.channels.column("state")] = STATES.index("READY")
    run.frames[2300:, run.channels.column("state")] = STATES.index("LOWERING")
    result = make_result(open_run(record(run, tmp_path, ended=False)))
    assert (result["verdict"], result["state"]) == ("stopped", "READY")


def test_the_loops_own_account_of_the_end_comes_first(tmp_path: Path) -> None:
    event: dict[str, object] = {
        "event": "end",
        "state": "READY",
        "outcome": "stopped",
        "cause": "SIGTERM",
        "command_sha256": "ab" * 32,
    }
    result = make_result(open_run(record(synthetic(), tmp_path, events=(event,))))
    assert (result["verdict"], result["cause"]) == ("stopped", "SIGTERM")
    assert result["command_sha256"] == "ab" * 32


def test_a_run_that_never_started_has_a_result(tmp_path: Path) -> None:
    run = synthetic(2.0)
    run.column("state")[:] = STATES.index("READY")
    result = make_result(open_run(record(run, tmp_path, ended=False)))
    cause = "the profile was not started; how the run ended is not in the record"
    assert (result["verdict"], result["cause"]) == ("stopped", cause)
    assert (result["cycles"], result["command_sha256"]) == (0, None)


def test_a_record_of_another_kind_is_one_line(tmp_path: Path) -> None:
    channels = ChannelSet([Channel("step", "1"), Channel("a", "m")], PERIOD_NS)
    handle = RecorderHandle.start(tmp_path / "run.mcap", {"states": STATES}, channels, lockstep=True)
    handle.push(np.zeros(2))
    handle.close()
    with pytest.raises(FormatError, match="no channel cycle, missed, state, fault"):
        make_result(open_run(tmp_path))


def parse(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    subparsers = parser.add_subparsers()
    report_command.add_parsers(subparsers)
    recover_command.add_parsers(subparsers)
    return parser.parse_args(words)


def test_a_run_of_a_service_has_the_same_result_as_one_of_its_own(tmp_path: Path) -> None:
    run = synthetic()
    alone = make_result(open_run(record(run, tmp_path / "alone")))
    served = make_result(open_run(record_in_service(run, tmp_path, {"event": "mark"}, 0)))
    assert served.pop("run") == str(tmp_path / "run")
    alone.pop("run")
    assert served == alone
    assert served["verdict"] == "pass"


def test_report_of_a_fault_history_tells_the_cause_and_plots_the_seconds_around_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = synthetic()
    run.frames[3000:, run.channels.column("state")] = STATES.index("STOPPING")
    directory = record_in_service(run, tmp_path, FAULT, 3001)
    (path,) = directory.glob("fault-*.mcap")
    with pytest.raises(FormatError, match="is a fault history, not a run"):
        make_result(open_run(path))
    arguments = parse("report", str(path), "--json")
    assert arguments.run(arguments) == 3
    document = json.loads(capsys.readouterr().out)
    page = path.with_suffix(".html")
    assert document["page"] == str(page)
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert not (directory / "report.html").exists()
    assert (document["verdict"], document["fault_history"], document["cycle"]) == ("fault", True, 3000)
    assert (document["before_s"], document["after_s"]) == (pytest.approx(5.0), pytest.approx(1.0))
    assert document["time_in_run_s"] == pytest.approx(6.002)
    assert abs(datetime.fromisoformat(document["time"]).timestamp() - time.time()) < 60.0
    assert [0.0, "fault FOLLOWING_ERROR following error: actuator 3 is 41 mm off"] in document["events"]
    text = fault_summary(document)
    assert "following error: actuator 3 is 41 mm off (FOLLOWING_ERROR, action STOP)" in text
    assert "cycle 3000, state RUNNING, then STOPPING" in text
    assert f"{directory}/run.mcap, 6.002 s after its first frame" in text
    assert "what to do: An actuator does not follow" in text
    assert f"page: {page}" in text


def test_a_fault_history_without_the_pages_channels_still_tells_its_cause(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    channels = ChannelSet([Channel("step", "1"), Channel("a", "m")], PERIOD_NS)
    handle = RecorderHandle.start(tmp_path / "run.mcap", {}, channels, lockstep=True)
    handle.event(FAULT)
    handle.push(np.zeros(2))
    handle.close()
    (path,) = tmp_path.glob("fault-*.mcap")
    arguments = parse("report", str(path))
    assert arguments.run(arguments) == 3
    text = capsys.readouterr().out
    assert "actuator 3 is 41 mm off" in text
    assert "holds 0.000 s before and 0.002 s after" in text
    assert "no page:" in text
    assert not path.with_suffix(".html").exists()


def test_report_prints_one_document_and_makes_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events: tuple[dict[str, object], ...] = tuple({"event": "limit", "name": "x" * k} for k in range(9))
    run = synthetic(3.0)
    first = record(run, tmp_path / "a", events=events, duration=3.0)
    second = record(run, tmp_path / "b", criteria={"internal_force": 1.0}, duration=3.0)
    arguments = parse("report", str(first.parent), "--json", "--out", str(tmp_path / "new" / "page.pdf"))
    assert arguments.run(arguments) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["verdict"], document["page"]) == ("pass", str(tmp_path / "new" / "page.pdf"))
    assert Path(document["page"]).read_bytes().startswith(b"%PDF")
    arguments = parse("report", str(first), str(second))
    assert arguments.run(arguments) == 1
    text = capsys.readouterr().out
    assert "PASS" in text
    assert "internal_force is 4123" in text
    for directory in ("a", "b"):
        assert (
            (tmp_path / directory / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
        )
    arguments = parse("report", str(second), "--out", str(tmp_path / "page.docx"))
    with pytest.raises(UsageError, match=r"must end in \.html"):
        arguments.run(arguments)
    arguments = parse("report", str(first), str(second), "--out", "page.png")
    with pytest.raises(UsageError, match="one RUN"):
        arguments.run(arguments)


def test_recover_says_what_was_kept_and_report_reads_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = record(synthetic(), tmp_path, kill=True)
    cut = make_result(open_run(path))
    assert (cut["verdict"], cut["state"], cut["command_sha256"]) == ("stopped", "RUNNING", None)
    assert str(cut["cause"]).startswith(
        "stopped before the end of the profile; how the run ended is not in the record; the file is truncated"
    )
    arguments = parse("recover", str(path))
    assert arguments.run(arguments) == 0
    kept, beside = capsys.readouterr().out.splitlines()
    frames = len(open_run(path).times)
    assert 0 < frames < 4200
    assert f"kept {frames} frames" in kept
    assert "lost" in kept
    assert str(path.with_name("run.damaged.mcap")) in beside
    arguments = parse("report", str(path), "--json")
    assert arguments.run(arguments) == 5
    recovered = json.loads(capsys.readouterr().out)
    assert recovered["damage"].startswith("recovered, the file is truncated")
    assert (recovered["verdict"], recovered["command_sha256"]) == ("stopped", None)
    assert recovered["axes"] == cut["axes"]
    arguments = parse("recover", str(path), "--json")
    assert arguments.run(arguments) == 0
    assert json.loads(capsys.readouterr().out)["original"] is None
