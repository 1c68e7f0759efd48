"""Iteration on the simulated plant, by the command a user types: convergence, resumption, targets, limits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mastd.cli import main
from mastd.formats import catalogue
from mastd.formats.core.measurement import Channel, Measurement, Series
from mastd.formats.mts import rpc3
from tests.support.lab import ROOT, Lab

pytestmark = pytest.mark.real_time

NOISE = """
name: two axes
fade: 0.4 s
payload:
  kind: rigid
  mass: 12 t
  centre_of_gravity: [0 m, 0 m, 2 m]
  inertia: [10250 kg m2, 40000 kg m2, 42250 kg m2]
segments:
  - kind: random
    duration: {duration}
    axes:
      heave: {{density: [[2 Hz, 0.001 g2/Hz], [12 Hz, 0.001 g2/Hz]]}}
      roll: {{density: [[2 Hz, 0.02 (rad/s2)2/Hz], [12 Hz, 0.02 (rad/s2)2/Hz]]}}
"""
TRUTH = "name: uneven\ndeviation: {spread: 10 %, seed: 4}\n"


def iterated(lab: Lab, capsys: pytest.CaptureFixture[str], *words: object) -> dict[str, Any]:
    """Iterate in this process; return the document."""
    capsys.readouterr()
    assert main(["iterate", *map(str, words), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert isinstance(document, dict)
    return document


def settings(lab: Lab) -> list[object]:
    truth = lab.directory / "truth.yaml"
    truth.write_text(TRUTH, encoding="utf-8")
    out = lab.directory / "runs"
    return ["--table", lab.table, "--config", lab.config, "--truth", truth, "--out", out]


def errors(document: dict[str, Any]) -> list[float]:
    return [play["error"] for play in document["plays"]]


def test_an_iteration_converges_goes_on_where_it_was_and_leaves_a_drive_that_plays(
    lab: Lab, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(lab.runtime))
    profile = lab.profile(NOISE.format(duration="2.5 s"))
    first = iterated(lab, capsys, profile, "--noise", "3 s", "--plays", 0, *settings(lab))
    directory = Path(first["directory"])
    # What an interruption leaves: a play that was begun, and no page.
    (directory / "play_1").mkdir()
    (directory / "iteration.html").unlink()
    second = iterated(lab, capsys, "--resume", directory, "--plays", 1)
    assert (directory / "play_1-2" / "run.mcap").is_file()
    before, after = errors(second)
    assert [before] == errors(first)
    assert after < 0.35 * before
    assert after < 0.05
    assert second["noise"]["coherence"]["pose_acceleration.heave"] > 0.9
    assert "Convergence" in (directory / "iteration.html").read_text(encoding="utf-8")
    assert (directory / "convergence.svg").read_text(encoding="utf-8").startswith("<svg xmlns")
    assert second["best"] == 1
    best = second["plays"][1]

    drive = catalogue.read(directory / "drive.rsp")
    assert [channel.name for channel in drive.channels] == ["surge", "sway", "heave", "roll", "pitch", "yaw"]
    assert drive.notes
    target = catalogue.read(directory / "target.rsp").series[0]
    response = catalogue.read(directory / best["responses"]).series[0]
    heave = target.channels[2].values - response.channels[2].values
    assert np.sqrt(np.mean(heave**2)) < 0.2 * np.sqrt(np.mean(target.channels[2].values ** 2))
    assert main(["check", str(directory / "drive.yaml"), "--table", str(lab.table)]) == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["first_motion", "--resume", "nowhere"], "remove PROFILE"),
        (["--resume", "nowhere"], "no history.json"),
        ([], "give PROFILE"),
        (["drive_by_hand"], "only segments can be iterated"),
        (["random", "--noise", "ten"], "--noise"),
        (["random", "--responses", "pose_acceleration.haeve"], "did you mean pose_acceleration.heave?"),
        (["random", "--responses", "internal_force"], "give --target"),
        (["random", "--target", "{target}"], "no channel of a record"),
        (["random", "--target", "{target}", "--responses", "pose.heave=left hub"], "unit g, expected m"),
        (["random", "--matrix", "nowhere"], "nowhere"),
    ],
)
def test_what_cannot_be_iterated_is_told_before_anything_moves(
    words: list[str], told: str, lab: Lab, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(lab.directory)
    file = lab.directory / "road.rsp"
    hub = Channel("left hub", "g", np.sin(np.arange(500.0)))
    rpc3.write(file, Measurement("rpc3", (Series((hub,), 1.0 / 256.0),)))
    code = main(["iterate", *(word.replace("{target}", str(file)) for word in words)])
    error = capsys.readouterr().err
    assert code == 2, error
    assert told in error
    assert "Traceback" not in error
    assert not (lab.directory / "runs").exists()


@pytest.mark.evidence
def test_a_drive_never_leaves_what_the_check_permits(
    lab: Lab, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A target that asks for more than the table can give: the step is scaled back, and the play goes on."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(lab.runtime))
    weak = lab.profile(NOISE.format(duration="6 s") + "gain: 0.5\n", "weak.yaml")
    small = iterated(lab, capsys, weak, "--plays", 0, *settings(lab))
    series = catalogue.read(Path(small["directory"]) / "target.rsp").series[0]
    louder = tuple(Channel(one.name, one.unit, 4.0 * one.values) for one in series.channels)
    wanted = lab.directory / "louder.rsp"
    rpc3.write(wanted, Measurement("rpc3", (Series(louder, series.step),)))
    document = iterated(
        lab, capsys, weak, "--target", wanted, "--plays", 2, "--noise", "10 s", *settings(lab)
    )
    held = [play for play in document["plays"] if play["share"] < 1.0]
    assert held
    assert held[0]["limit"]
    for play in document["plays"]:
        path = Path(document["directory"]) / play["profile"]
        assert main(["check", str(path), "--table", str(lab.table)]) == 0


@pytest.mark.evidence
def test_a_fault_in_a_play_halves_the_step_of_the_next_attempt(
    lab: Lab, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(lab.runtime))
    profile = lab.profile(NOISE.format(duration="4 s"))
    document = iterated(lab, capsys, profile, "--plays", 1, "--noise", "4 s", *settings(lab))
    path = Path(document["directory"]) / "history.json"
    history = json.loads(path.read_text(encoding="utf-8"))
    history["origin"]["fault"] = ["length-nan.3@4s"]
    path.write_text(json.dumps(history), encoding="utf-8")
    assert main(["iterate", "--resume", str(path.parent), "--plays", "2"]) == 3
    told = capsys.readouterr().err
    assert "stopped by a fault" in told
    assert "with half the step, with: mastd iterate --resume" in told
    history = json.loads(path.read_text(encoding="utf-8"))
    assert len(history["plays"]) == 2
    history["origin"]["fault"] = []
    path.write_text(json.dumps(history), encoding="utf-8")
    again = iterated(lab, capsys, "--resume", path.parent, "--plays", 2)
    assert again["plays"][2]["gain"] == 0.5


@pytest.mark.evidence
@pytest.mark.parametrize(("name", "most"), [("measured_road", 0.01), ("strong_motion", 0.015)])
def test_files_of_roads_and_earthquakes_come_out_within_two_plays(
    name: str,
    most: float,
    lab: Lab,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(lab.runtime))
    document = iterated(lab, capsys, name, "--plays", 2, "--noise", "60 s", *settings(lab))
    assert errors(document)[2] < most


@pytest.mark.evidence
def test_seat_body_and_wheels_of_a_simulated_car_become_those_of_another_run(
    lab: Lab, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight responses of six drives, from a profile that moves at little more than half."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(lab.runtime))
    text = (ROOT / "config" / "profiles" / "sedan_on_table.yaml").read_text(encoding="utf-8")
    text = text.replace("duration: 20 s", "duration: 8 s").replace("[0.5 Hz, 8 Hz]", "[1 Hz, 8 Hz]")
    code, wanted = lab.play(lab.profile(text), "--lockstep", "--link", "direct")
    assert code in (0, 1)
    weak = lab.profile(text.replace("seed: 7", "seed: 7\ngain: 0.6"), "weak.yaml")
    wheels = ",".join(f"vehicle.travel.{name}" for name in ("fl", "fr", "rl", "rr"))
    axes = ",".join(f"vehicle.acceleration.{axis}" for axis in "xyz")
    document = iterated(
        lab,
        capsys,
        weak,
        *("--target", lab.directory / wanted["run"]),
        *("--responses", f"seat.acceleration.z,{axes},{wheels}"),
        *("--plays", 3, "--noise", "60 s"),
        *settings(lab),
    )
    found = errors(document)
    assert found[0] > 0.3
    assert found[3] < 0.03
