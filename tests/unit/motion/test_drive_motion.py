"""Drives: files that are played as they stand, what writing one costs, and files that are none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mastd.arrays import FloatArray
from mastd.cli import main
from mastd.control.iteration.drives import best_step, read_drive, write_drive
from mastd.errors import SettingsError
from mastd.formats.core.measurement import Channel, Measurement, Series
from mastd.formats.mts import rpc3
from mastd.motion.profile.compiler import compile_profile, program
from mastd.motion.profile.timeline import KNOT_SPACING, Timeline
from mastd.settings.core.axes import AXES
from mastd.settings.core.loader import load, load_text
from mastd.settings.core.starter import find
from mastd.settings.profile.profile import ProfileSettings
from mastd.settings.table.table import TableSettings

BAND = "band: [1 Hz, 20 Hz]"


@pytest.fixture(scope="module")
def table() -> TableSettings:
    """Return the starter table."""
    return load(find("table", "table"), TableSettings)


def profile(path: Path, segment: str) -> ProfileSettings:
    return load_text(f"name: p\nsegments:\n  - {segment}\n", str(path / "p.yaml"), ProfileSettings)


def sampled(timeline: Timeline) -> FloatArray:
    """Return pose, rate, acceleration and jerk (k, 4, 6) at the knots and between them."""
    return timeline.sample(np.arange(2 * timeline.end_knot, dtype=np.float64) * (0.5 * KNOT_SPACING))


@pytest.mark.parametrize("name", ["random", "strong_motion", "sweep"])
def test_a_motion_comes_back_from_its_file_within_a_thousandth(
    name: str, table: TableSettings, tmp_path: Path
) -> None:
    """Acceleration and jerk, of every axis that moves: 32 bits, differentiated two and three times."""
    motion = compile_profile(load(find("profile", name), ProfileSettings), table)
    knots = motion.end_knot + 1
    poses = motion.sample(np.arange(knots, dtype=np.float64) * KNOT_SPACING)[:, 0]
    step = write_drive(tmp_path / "drive.rsp", poses, {})
    played = compile_profile(profile(tmp_path, f"{{kind: drive, file: drive.rsp, {BAND}}}"), table)
    asked, given = sampled(motion), sampled(played)[: 2 * motion.end_knot]
    for axis in range(6):
        acceleration = np.sqrt(np.mean(asked[:, 2, axis] ** 2))
        if acceleration > 0.01:
            for order, most in ((0, 1e-5), (2, 1e-3), (3, 1e-2)):
                size = np.sqrt(np.mean(asked[:, order, axis] ** 2))
                error = np.sqrt(np.mean((given[:, order, axis] - asked[:, order, axis]) ** 2))
                assert error < most * size, (AXES[axis], order)
    assert step.lost < 1e-3
    assert np.array_equal(read_drive(tmp_path / "drive.rsp", knots), program_samples(tmp_path, table)[:knots])


def program_samples(path: Path, table: TableSettings) -> FloatArray:
    return program(profile(path, f"{{kind: drive, file: drive.rsp, {BAND}}}"), table).blocks[0].samples


def test_a_millisecond_from_value_to_value_costs_more_than_four(table: TableSettings) -> None:
    """Why drives are not written at the rate of the loop."""
    motion = compile_profile(load(find("profile", "random"), ProfileSettings), table)
    poses = motion.sample(np.arange(motion.end_knot + 1, dtype=np.float64) * KNOT_SPACING)[:, 0]
    assert best_step(poses).knots in (4, 5)
    assert best_step(poses).lost < 1e-4


def rsp(path: Path, values: FloatArray, step: float = 1e-3, unit: str = "m", name: str = "heave") -> Path:
    series = Series((Channel(name, unit, np.asarray(values, dtype=np.float64)),), step)
    rpc3.write(path / "drive.rsp", Measurement("rpc3", (series,)))
    return path


def bump(count: int, size: float) -> FloatArray:
    return size * (np.sin(np.pi * np.arange(count) / (count - 1)) ** 4)


def test_values_are_played_where_they_stand(table: TableSettings, tmp_path: Path) -> None:
    values = bump(2001, 8.0)
    rsp(tmp_path, values, unit="mm", name="down")
    segment = "{kind: drive, file: drive.rsp, gain: 0.5, repeats: 2, band: [1 Hz, 9 Hz], "
    segment += "channels: {heave: {channel: down, scale: -1}}}"
    made = program(profile(tmp_path, segment), table)
    assert made.band == (1.0, 9.0)
    assert made.blocks[0].repeats == 2
    samples = made.blocks[0].samples
    assert len(samples) == 2001
    assert np.allclose(samples[:, 2], -0.5e-3 * values, atol=1e-9)
    assert not np.any(samples[:, [0, 1, 3, 4, 5]])


def test_a_drive_that_sets_off_at_once_gets_the_rest_that_the_path_needs(
    table: TableSettings, tmp_path: Path
) -> None:
    values = 0.002 * (1.0 - np.cos(2.0 * np.pi * np.arange(1001) / 1000.0))
    rsp(tmp_path, values)
    segment = f"{{kind: drive, file: drive.rsp, {BAND}, channels: {{heave: {{}}}}}}"
    samples = program(profile(tmp_path, segment), table).blocks[0].samples
    assert len(samples) == 1001 + 2 * 4
    assert not np.any(samples[:5])
    assert np.allclose(samples[4:-4, 2], values, atol=1e-9)


HEAVE = "channels: {heave: {}}"


@pytest.mark.parametrize(
    ("values", "step", "unit", "name", "channels", "words"),
    [
        (bump(500, 0.01) + 0.003, 1e-3, "m", "heave", HEAVE, "begins 3 mm from neutral, at"),
        (bump(500, 0.01)[:400], 1e-3, "m", "heave", HEAVE, "heave ends"),
        (np.linspace(0, 0.01, 500), 1e-3, "m", "heave", HEAVE, "begins 0 mm from neutral, at 20"),
        (bump(500, 0.01), 5e-4, "m", "heave", HEAVE, "0.5 ms, a drive allows one per millisecond at most"),
        (bump(500, 0.01), 1e-3, "m/s2", "heave", HEAVE, "contains acceleration, a drive needs displacements"),
        (bump(500, 0.01), 1e-3, "m", "heave", "", "no channel 'surge', available: 'heave'"),
    ],
)
def test_what_is_no_drive_is_refused_in_one_line(
    values: FloatArray,
    step: float,
    unit: str,
    name: str,
    channels: str,
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rsp(tmp_path, values, step, unit, name)
    more = f", {channels}" if channels else ""
    text = f"name: p\nsegments:\n  - {{kind: drive, file: drive.rsp, {BAND}{more}}}\n"
    (tmp_path / "p.yaml").write_text(text, encoding="utf-8")
    assert main(["check", str(tmp_path / "p.yaml")]) == 2
    told = capsys.readouterr().err
    assert words in told
    assert "Traceback" not in told
    if channels:
        assert len(told.splitlines()) == 1


def test_a_drive_without_axes_is_refused(tmp_path: Path) -> None:
    rsp(tmp_path, bump(500, 0.01))
    with pytest.raises(SettingsError, match="no axis given"):
        profile(tmp_path, f"{{kind: drive, file: drive.rsp, {BAND}, channels: {{}}}}")
