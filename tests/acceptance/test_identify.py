"""`mastd identify` against a plant that is not what its settings say: found within the stated uncertainty."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from hil_sim.plant.truth import PlantTruth, true_actuators
from mastd.cli import main
from mastd.control.identification.regression import least_squares
from mastd.settings.core.loader import load
from mastd.settings.core.starter import find
from mastd.settings.table.identified import IdentifiedSettings
from mastd.settings.table.table import TableSettings
from tests.support.lab import Lab

SHORT = """
name: short identification
fade: 0.5 s
segments:
  - kind: random
    duration: 3.5 s
    axes:
      surge: {density: [[1 Hz, 1e-4 g2/Hz], [20 Hz, 1e-4 g2/Hz]]}
      sway: {density: [[1 Hz, 1e-4 g2/Hz], [20 Hz, 1e-4 g2/Hz]]}
      heave: {density: [[1 Hz, 1e-4 g2/Hz], [20 Hz, 1e-4 g2/Hz]]}
      roll: {density: [[1 Hz, 0.003 (rad/s2)2/Hz], [20 Hz, 0.003 (rad/s2)2/Hz]]}
      pitch: {density: [[1 Hz, 0.003 (rad/s2)2/Hz], [20 Hz, 0.003 (rad/s2)2/Hz]]}
      yaw: {density: [[1 Hz, 0.003 (rad/s2)2/Hz], [20 Hz, 0.003 (rad/s2)2/Hz]]}
  - kind: sine
    frequency: 1 Hz
    duration: 2.5 s
    axes:
      surge: {amplitude: 20 mm}
      sway: {amplitude: 20 mm, phase: 60 deg}
      heave: {amplitude: 15 mm, phase: 120 deg}
"""
CARRIES = """
name: what it should carry
payload:
  {kind: rigid, mass: 12 t, centre_of_gravity: [0 m, 0 m, 2 m], inertia: [10250 kg m2, 40 t m2, 42250 kg m2]}
segments:
  - {kind: hold, duration: 1 s}
"""


def hidden_truth(path: Path, table: TableSettings, seed: int) -> Path:
    """Write a plant's truth: all hydraulics off by up to a tenth, delays by a quarter, another payload."""
    chance = np.random.default_rng(seed)
    actuators = "".join(
        f"  - {{link: {actuator.name}, delay: {chance.uniform(0.75, 1.25):.4f} ms, overlap: 0.5 %}}\n"
        for actuator in table.links
    )
    mass, high, *inertia = chance.uniform(0.9, 1.1, 5) * [12.0, 2.0, 10.25, 40.0, 42.25]
    along, across = chance.uniform(-0.1, 0.1, 2)
    path.write_text(
        f"name: hidden {seed}\ndeviation: {{spread: 10 %, seed: {seed}}}\nactuators:\n{actuators}"
        f"payload:\n  mass: {mass:.4f} t\n"
        f"  centre_of_gravity: [{along:.5f} m, {across:.5f} m, {high:.5f} m]\n"
        f"  inertia: [{', '.join(f'{value:.4f} t m2' for value in inertia)}]\n",
        encoding="utf-8",
    )
    return path


def compared(
    found: IdentifiedSettings, truth_path: Path, table: TableSettings
) -> Iterator[tuple[str, float, float, float]]:
    """Give name, error, uncertainty and scale of every value found."""
    truth = load(truth_path, PlantTruth)
    for actuator, true in zip(found.links, true_actuators(table, truth), strict=True):
        # A slower spool counts as delay.
        lag = true["damping_ratio"] / true["natural_frequency"]
        nominal_lag = table.types[0].valve.damping_ratio / table.types[0].valve.natural_frequency
        for name, estimate, value, scale in (
            ("gain", actuator.valve_gain, true["rated_flow"] / table.types[0].valve.rated_flow, 1.0),
            ("delay", actuator.valve_delay, true["delay"] + (lag - nominal_lag) / math.pi, 1.0),
            ("overlap", actuator.valve_overlap, true["overlap"], 1.0),
            ("bulk modulus", actuator.bulk_modulus, true["bulk_modulus"], true["bulk_modulus"]),
            ("coulomb", actuator.coulomb, true["coulomb"], true["coulomb"]),
            ("viscous", actuator.viscous, true["viscous"], true["viscous"]),
        ):
            yield name, (estimate.value - value) / scale, estimate.uncertainty / scale, scale
    body, real = found.payload, truth.payload
    assert body is not None
    assert real is not None
    yield "mass", (body.mass.value - real.mass) / real.mass, body.mass.uncertainty / real.mass, real.mass
    for place, value in zip(body.centre_of_gravity, real.centre_of_gravity, strict=True):
        yield "centre of gravity", place.value - value, place.uncertainty, 1.0
    for inertia, value in zip(body.inertia, real.inertia, strict=True):
        yield "inertia", inertia.value / value - 1.0, inertia.uncertainty / value, value


@pytest.fixture
def place(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """The lab as the place in which this process works."""
    monkeypatch.chdir(lab.directory)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(lab.runtime))
    return lab


def identify(
    place: Lab, truth: Path, play: Path, seed: int, capsys: pytest.CaptureFixture[str]
) -> dict[str, object]:
    """Play and find; return the document."""
    arguments = ["--play", play, "--profile", place.profile(CARRIES, "carries.yaml"), "--seed", seed]
    arguments += ["--table", place.table, "--config", place.config, "--truth", truth]
    assert main(["identify", *map(str, arguments), "--lockstep", "--link", "direct", "--json"]) == 0
    document: dict[str, object] = json.loads(capsys.readouterr().out)
    return document


def test_a_short_play_finds_what_the_plant_is_within_the_uncertainty_that_it_states(
    place: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    table = load(place.table, TableSettings)
    truth = hidden_truth(place.directory / "truth.yaml", table, 7)
    document = identify(place, truth, place.profile(SHORT, "short.yaml"), 7, capsys)
    found = load(Path(str(document["identified"])), IdentifiedSettings)
    assert found.nominal_payload.startswith("rigid, 12000.0 kg")
    assert Path(str(document["matrix"])).is_file()
    coherence = document["coherence"]
    assert isinstance(coherence, dict)
    assert min(coherence.values()) > 0.95
    bounds = {"gain": 0.02, "delay": 6e-5, "overlap": 5e-4, "bulk modulus": 0.03, "coulomb": 0.05}
    bounds |= {"mass": 0.01, "centre of gravity": 0.02, "inertia": 0.06}
    for name, error, uncertainty, _ in compared(found, truth, table):
        assert abs(error) < 3.5 * uncertainty, (name, error, uncertainty)
        assert abs(error) < bounds.get(name, math.inf), (name, error)
    assert "vertical front left" in Path(str(document["page"])).read_text(encoding="utf-8")
    assert document["notes"] == []

    run, again = str(document["run"]), Path("again.yaml")
    assert main(["identify", "--from", run, "--write", str(again)]) == 0
    assert "lateral rear" in capsys.readouterr().out
    repeated = load(again, IdentifiedSettings)
    assert repeated.links == found.links
    assert repeated.run_sha256 == found.run_sha256

    assert main(["identify", "--from", run, "--profile", "sine"]) == 2
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1)


def test_the_uncertainty_of_dependent_residuals_is_their_spread() -> None:
    chance = np.random.default_rng(3)
    values, stated = [], []
    for _ in range(150):
        slow = np.convolve(chance.normal(size=1250), np.ones(50) / 50.0, mode="valid")
        shape = np.convolve(chance.normal(size=1250), np.ones(50) / 50.0, mode="valid")
        fit = least_squares(shape[:, None, None], (2.0 * shape + slow)[:, None], 100)
        values.append(fit.values[0])
        stated.append(fit.deviations[0])
    assert abs(np.mean(values) - 2.0) < 0.05
    assert 0.8 < np.mean(stated) / np.std(values) < 1.25


@pytest.mark.evidence
def test_five_plants_are_found_to_what_the_control_needs(
    place: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    table = load(place.table, TableSettings)
    needed = {"gain": 0.01, "delay": 3e-5, "overlap": 2e-4, "bulk modulus": 0.02, "coulomb": 0.05}
    needed |= {"viscous": 0.15, "mass": 0.01, "centre of gravity": 0.02, "inertia": 0.03}
    for seed in range(1, 6):
        truth = hidden_truth(place.directory / f"truth_{seed}.yaml", table, seed)
        document = identify(place, truth, find("profile", "identify"), seed, capsys)
        found = load(Path(str(document["identified"])), IdentifiedSettings)
        for name, error, uncertainty, _ in compared(found, truth, table):
            assert abs(error) < needed[name], (seed, name, error)
            assert abs(error) < 3.0 * uncertainty, (seed, name, error, uncertainty)
