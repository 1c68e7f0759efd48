"""Tables whose actuators are of several types, on the simulated plant, in lockstep."""

from __future__ import annotations

from pathlib import Path

import pytest

from mastd.bench.control.plays import BenchPlant, installation, play
from mastd.bench.control.profiles import noise, read_profile
from mastd.bench.control.truth import hidden_truth
from tests.support.lab import SHAKING, quick_lab
from tests.support.missed import missed
from tests.support.unlike_actuators import named_types

pytestmark = pytest.mark.real_time

STRONGER = 1.5


@pytest.mark.parametrize("axis", ["surge", "heave", "roll"])
def test_stronger_vertical_actuators_follow_at_the_first_play(axis: str, tmp_path: Path) -> None:
    path = tmp_path / "table.yaml"
    path.write_text(named_types(STRONGER), encoding="utf-8")
    at = installation(table=str(path))
    profile = read_profile(noise(axis, duration=8.0, ratio=1.0))
    played = play(profile, BenchPlant(hidden_truth(at.table, profile.payload, 3), 3), on=at)
    assert missed(played, axis) < 0.06
    assert not played.indicated


@pytest.mark.parametrize("gains", [False, True])
def test_named_types_that_are_alike_get_the_commands_of_one_type(tmp_path: Path, gains: bool) -> None:
    lab = quick_lab(tmp_path)
    profile = lab.profile(SHAKING.replace("8 s", "2 s"))
    options = ("--sim", "--link", "direct", "--lockstep", "--out", tmp_path / "runs")
    digests = []
    for text in (None, named_types(gains=gains)):
        if text is not None:
            lab.table.write_text(
                text.replace("rise_time: 2 s", "rise_time: 0.2 s")
                .replace("hold_time: 2 s", "hold_time: 0.2 s")
                .replace("lowering_speed: 10 mm/s", "lowering_speed: 25 mm/s"),
                encoding="utf-8",
            )
        code, document = lab.play(profile, *options)
        assert code == 0, document
        digests.append(document["command_sha256"])
    assert digests[0] == digests[1]
