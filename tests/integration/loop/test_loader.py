"""The loader's real process: a profile checked and compiled into a slot, and what is refused."""

from __future__ import annotations

import hashlib
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mastd.loop.cycle.slots import ProfileSlots
from mastd.loop.loading import loader
from mastd.loop.process.installation import Plan
from tests.support.lab import Lab

PROFILE = """
name: shaking
payload:
  kind: rigid
  mass: 5 t
  centre_of_gravity: [0 m, 0 m, 1.2 m]
  inertia: [4000 kg m2, 9000 kg m2, 9000 kg m2]
segments:
  - kind: sine
    frequency: 2 Hz
    duration: 6 s
    axes: {heave: {amplitude: 5 mm}}
"""


@dataclass
class Loader:
    """Runs the loader as the gateway does."""

    lab: Lab
    slots: ProfileSlots
    directory: Path

    def load(self, profile: object, slot: int) -> tuple[int, dict[str, Any]]:
        done = subprocess.run(
            loader.command(self.lab.table, self.slots, self.directory),
            input=json.dumps({"profile": str(profile), "slot": slot}) + "\n",
            capture_output=True,
            text=True,
            pass_fds=(self.slots.descriptor,),
            env=self.lab.environment,
            timeout=120,
            check=False,
        )
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)


@pytest.fixture
def load(lab: Lab, tmp_path: Path) -> Loader:
    base = {"settings_text": {"table": "", "daemon": ""}, "seeds": {"plant": 0}, "daemon": {"rate": 1000.0}}
    loader.daemon_path(tmp_path).write_text(json.dumps(base), encoding="utf-8")
    return Loader(lab, ProfileSlots(), tmp_path)


def test_a_profile_comes_out_of_its_slot_as_it_was_compiled(load: Loader) -> None:
    path = load.lab.profile(PROFILE)
    code, document = load.load(path, 1)
    assert code == 0
    assert document["ok"]
    assert document["name"] == "shaking"
    assert "maximum span" in document["text"]
    loaded = load.slots.read(1, 5)
    assert loaded is not None
    plan = Plan.load(load.lab.table, path, load.lab.config)
    assert (loaded.serial, loaded.slot, loaded.name) == (5, 1, "shaking")
    assert loaded.level_limit == document["scale"] > 1.0
    assert np.array_equal(loaded.model, plan.ready.model)
    assert np.array_equal(loaded.timeline.coefficients, plan.timeline.coefficients)
    times = np.linspace(0.0, 6.0, 50)
    assert np.array_equal(loaded.timeline.sample(times), plan.timeline.sample(times))
    assert load.slots.read(0, 1) is None, "the other slot is still empty"
    head = json.loads(loader.metadata_path(load.directory, 1).read_text(encoding="utf-8"))
    assert head["profile"]["name"] == head["name"] == "shaking"
    assert head["settings_text"]["profile"] == PROFILE


def test_the_head_of_a_record_knows_the_files_of_its_profile(load: Loader) -> None:
    """Path and digest of each input file, and the band as it is played."""
    directory = load.lab.directory
    times = np.linspace(0.0, 10.0, 1001)
    values = np.sin(2.0 * np.pi * 3.0 * times) * np.exp(-((times - 5.0) ** 2))
    header = "T\nE\nACCELERATION TIME SERIES IN UNITS OF G\nNPTS= 1001, DT= .01 SEC\n"
    file = directory / "burst.AT2"
    file.write_text(header + "".join(f"{value:.6f}\n" for value in 0.1 * values), encoding="ascii")
    path = load.lab.profile(
        "name: p\nsegments:\n  - {kind: record, band: [1 Hz, 10 Hz], length_scale: 0.25, fade: 0.5 s, "
        "axes: {heave: {file: burst.AT2}}}\n"
    )
    code, document = load.load(path, 0)
    assert code == 0, document
    head = json.loads(loader.metadata_path(load.directory, 0).read_text(encoding="utf-8"))
    assert head["input_files_sha256"] == {str(file): hashlib.sha256(file.read_bytes()).hexdigest()}
    assert head["band"] == pytest.approx([2.0, 20.0])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (PROFILE.replace("5 mm", "80 mm"), "the check failed"),
        (PROFILE.replace("2 Hz", "2"), "profile.yaml:10"),
        ("", "profile.yaml"),
    ],
)
def test_what_cannot_be_played_is_refused_and_leaves_its_slot_empty(
    load: Loader, text: str, words: str
) -> None:
    code, document = load.load(load.lab.profile(text), 0)
    assert code == 1
    assert not document["ok"]
    assert words in document["text"]
    assert load.slots.read(0, 1) is None


def test_a_name_that_is_no_profile_is_refused_with_the_nearest(load: Loader) -> None:
    code, document = load.load("clas_b_road", 0)
    assert code == 1
    assert "did you mean class_b_road" in document["text"]
