"""Displacement transducers beside the actuators: measured, used for the pose, watched, and named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from mastd.bench.control.plays import BenchPlant, Played, play
from mastd.bench.control.profiles import read_profile
from mastd.bench.control.truth import TableTruth
from mastd.control.identification.length_offsets import SlowMotion, displacement_errors
from mastd.errors import SettingsError
from mastd.kinematics.geometry import Geometry
from mastd.kinematics.ranges import displacement_warnings
from mastd.kinematics.workspace import lengths_at
from mastd.loop.process.installation import Installation
from mastd.settings.core.loader import load_text
from mastd.settings.core.starter import find
from mastd.settings.core.strict_yaml import read_text
from mastd.settings.table.table import TableSettings
from tests.support.lab import ROOT

PROFILE = """
name: short
fade: 0.2 s
payload: {kind: none}
segments:
  - {kind: sine, frequency: 4 Hz, duration: 1 s, axes: {sway: {amplitude: 4 mm}, heave: {amplitude: 3 mm}}}
"""


WIRES = """  displacement:
    - {name: wire heave, table_point: [0.2 m, 0.1 m, -0.3 m], base_point: [0.2 m, 0.1 m, 0.6 m], \
neutral_length: 1.1 m, range: 200 mm, offset: 0 mm, serial: D-1}
    - {name: wire sway, table_point: [0.5 m, 1.2 m, 0 m], base_point: [0.5 m, 3.2 m, 2 m], \
neutral_length: 2 m, range: 200 mm, offset: 0 mm, serial: D-2}
"""


def table_with_wires(wires: str = WIRES) -> str:
    """Return the table's text, C at neutral 2 m above the ground."""
    text = read_text(ROOT / "config" / "tables" / "eight_actuators" / "table.yaml")
    head, limits, rest = text.partition("\nlimits:")
    return head.rstrip("\n") + "\n" + wires + limits + rest


@pytest.fixture(scope="module")
def table_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("beside") / "table.yaml"
    path.write_text(table_with_wires(), encoding="utf-8")
    return path


def played(path: Path, *faults: str) -> Played:
    house = Installation.read(path, find("daemon", "simulated"))
    return play(read_profile(PROFILE), BenchPlant(TableTruth((), None), 3, faults=faults), on=house)


def test_a_play_records_the_distance_between_the_points_of_each(table_file: Path) -> None:
    """From the plant's true pose, by a rotation that is none of the product's."""
    run = played(table_file)
    assert run.completed
    poses = run.truth[:, :6]
    turned = Rotation.from_euler("ZYX", poses[:, [5, 4, 3]])
    ends = ([0.2, 0.1, -0.3], [0.2, 0.1, 0.6]), ([0.5, 1.2, 0.0], [0.5, 3.2, 2.0])
    measured = run.channels("displacement.1", 2)
    for k, (at_table, at_base) in enumerate(ends):
        along = [0.0, 0.0, 2.0] + poses[:, :3] + turned.apply(at_table) - at_base
        # The frame holds the sample before the one that answers its command.
        true = np.linalg.norm(along, axis=1)
        assert np.std(measured[1:, k] - true[:-1]) < 5e-6
        assert np.ptp(measured[:, k]) > 5e-3
    assert "displacement.1" in run.columns
    assert np.max(np.abs(run.channel("redundancy_residual"))) < 50e-6


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        ("displacement-missing.2@17s", "displacement transducer wire sway"),
        ("displacement-offset.1@17s:30mm", "displacement transducer wire heave"),
        ("displacement-offset.2@17s:4mm", "residual"),
    ],
)
def test_a_transducer_that_fails_ends_the_play_by_name(table_file: Path, fault: str, cause: str) -> None:
    run = played(table_file, fault)
    assert not run.completed
    assert cause in (run.cause or "")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            "neutral_length: 1.1 m",
            "neutral_length: 1.4 m",
            "neutral_length: is 1400 mm, but the points of wire heave",
        ),
        ("serial: D-2", "serial: L-0001", "serial: serial 'L-0001' is used twice"),
        ("name: wire sway", "name: lateral front", "name: name 'lateral front' is used twice"),
        (
            "range: 200 mm, offset: 0 mm, serial: D-1",
            "range: 1.2 m, offset: 0 mm, serial: D-1",
            "range: is 1.2 m",
        ),
    ],
)
def test_what_cannot_be_is_refused_at_its_place(old: str, new: str, problem: str) -> None:
    assert old in WIRES
    text = table_with_wires(WIRES.replace(old, new))
    line = 1 + text[: text.rindex(new)].count("\n")
    with pytest.raises(SettingsError) as refused:
        load_text(text, "table.yaml", TableSettings)
    assert f"table.yaml:{line}:" in str(refused.value)
    assert problem in str(refused.value)


def test_a_range_that_is_too_short_is_warned_of() -> None:
    short = table_with_wires(WIRES.replace("range: 200 mm", "range: 100 mm", 1))
    (warning,) = displacement_warnings(load_text(short, "table.yaml", TableSettings))
    assert warning.startswith("sensors.displacement[0].range: wire heave reads ±100 mm, but within")
    assert not displacement_warnings(load_text(table_with_wires(), "table.yaml", TableSettings))


def test_the_error_of_each_is_found_against_the_actuators() -> None:
    """The recorded pose is that of all lengths: errors of the wires are in it, and not in the figures."""
    table = load_text(table_with_wires(), "table.yaml", TableSettings)
    geometry, everything = Geometry.from_settings(table), Geometry.of_lengths(table)
    phase = np.linspace(0.0, 8.0 * np.pi, 2000)
    poses = np.sin(phase)[:, None] * np.array([5e-3, -4e-3, 20e-3, 3e-3, -2e-3, 1e-3])
    lengths, wrong = lengths_at(everything, poses), np.array([0.4e-3, -0.25e-3])
    shifted = poses + np.array([0.1e-3, -0.2e-3, 0.15e-3, 0.0, 0.05e-3, 0.0])
    motion = SlowMotion(
        shifted, lengths[:, :8], np.zeros((2000, 8)), np.zeros((2000, 8)), lengths[:, 8:] + wrong
    )
    errors, doubts = displacement_errors(geometry, everything, motion, np.zeros(8))
    assert errors == pytest.approx(wrong, abs=2e-6)
    assert np.all(doubts < 2e-6)
