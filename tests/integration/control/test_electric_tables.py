"""Electric drives and other feedback than chamber pressures, from the file to the play of a motion."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from mastd.bench.control.plays import BenchPlant, Played, play
from mastd.bench.control.profiles import noise, read_profile
from mastd.bench.control.truth import TableTruth, hidden_truth
from mastd.cli import main
from mastd.control.table.stability_proof import stability_proof
from mastd.loop.process.installation import Installation
from mastd.settings.core.starter import find
from mastd.settings.table.payload import NoPayload
from tests.support.electric_tables import ELECTRIC, hydraulic, linear_motor, mixed
from tests.support.lab import ROOT
from tests.support.missed import missed

STARTER = ROOT / "config" / "tables" / "uniaxial_electric" / "table.yaml"
OIL = re.compile(r"oil|bar\b|L/min|pressure|accumulator|valve", re.I)


def installed(text: str, directory: Path) -> Installation:
    """Return the table of a file's text, stable with computed gains."""
    path = directory / "table.yaml"
    path.write_text(re.sub(r"schema=\S+", "", text), encoding="utf-8")
    on = Installation.read(path, find("daemon", "simulated"))
    proof = stability_proof(on.table, on.daemon, NoPayload())
    assert proof.ok, proof.text()
    return on


def played(on: Installation, axis: str, ratio: float, hidden: bool = False) -> Played:
    """Play noise along an axis, on a plant that deviates if ``hidden``."""
    profile = read_profile(noise(axis, ratio=ratio, duration=3.0, payload={"kind": "none"}))
    truth = hidden_truth(on.table, profile.payload, 3) if hidden else TableTruth((), None)
    return play(profile, BenchPlant(truth, 3), on=on)


@pytest.mark.parametrize("text", [ELECTRIC, linear_motor()], ids=["ball screw", "linear motor"])
def test_an_electric_table_follows_at_the_first_attempt(text: str, tmp_path: Path) -> None:
    found = played(installed(text, tmp_path), "surge", 0.5, hidden=True)
    assert missed(found, "surge") < 0.02
    assert not found.indicated
    measured = "load_cell" in text
    quantities = {name.partition(".")[0] for name in found.columns}
    assert ({"force", "load_cell"} <= quantities) == measured
    assert not quantities & {"pressure_1", "pressure_2", "supply"}
    assert measured or "force" not in quantities


@pytest.mark.parametrize("feedback", ["pressure_difference", "load_cell"])
def test_a_hydraulic_table_follows_by_another_feedback(feedback: str, tmp_path: Path) -> None:
    found = played(installed(hydraulic(feedback), tmp_path), "surge", 1.0)
    assert missed(found, "surge") < 0.025
    assert not found.indicated
    assert f"{feedback}.1" in found.columns
    assert "pressure_1.1" not in found.columns


def test_a_table_of_both_kinds_follows_along_both_axes(tmp_path: Path) -> None:
    on = installed(mixed(), tmp_path)
    for axis in on.table.freedoms:
        assert missed(played(on, axis, 0.5), axis) < 0.04


def test_check_and_show_tell_nothing_of_oil_where_there_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    table = STARTER
    assert main(["table", "show", str(table)]) == 0
    shown = capsys.readouterr().out
    assert not OIL.search(shown), shown
    assert "0.471 kW, ball screw, velocity loop 100 Hz" in shown
    profile = table.parent / "profiles" / "strong_motion.yaml"
    assert main(["check", str(profile), "--table", str(table)]) == 0
    checked = capsys.readouterr().out
    assert not OIL.search(checked), checked
    assert re.search(r"drive speed +0\.\d+ +1 ", checked)


def test_the_force_that_moves_motor_and_table_bounds_the_acceleration(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["table", "show", str(STARTER), "--json"]) == 0
    (axis,) = json.loads(capsys.readouterr().out)["axes"]
    assert axis["acceleration_bare"]["value"] == pytest.approx(0.9 * 708.7 / (7.74 + 8.0), rel=1e-6)


def test_identify_says_what_it_cannot_find_before_it_plays(capsys: pytest.CaptureFixture[str]) -> None:
    table = STARTER
    play_of = str(table.parent / "profiles" / "first_motion.yaml")
    assert main(["identify", "--play", play_of, "--table", str(table), "--sim", "--lockstep"]) == 2
    told = capsys.readouterr().err
    assert "actuator 1, ball screw: valve, oil and friction are found from both chamber pressures" in told
    assert "its feedback is none; nothing was played" in told
