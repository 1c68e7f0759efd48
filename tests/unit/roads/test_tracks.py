"""Roads of two tracks: random ones of a class, and measured ones of a file."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mastd.arrays import FloatArray
from mastd.errors import FormatError
from mastd.kernel import kernel
from mastd.roads.ground import Ground, outside, surface, surface_friction
from mastd.roads.iso8608 import CLASS_DENSITIES, RoadClass
from mastd.roads.profiles import random_tracks
from mastd.roads.tracks import rolled_over, tracks
from mastd.signals import spectra

WIDTH = 1.6


@kernel
def _along(parameters: FloatArray, x: FloatArray, y: float, out: FloatArray) -> None:
    """What a compiled step does: call the surface at many points."""
    for row in range(len(x)):
        out[row, 0], out[row, 1], out[row, 2] = surface(parameters, x[row], y)


def along(ground: Ground, x: FloatArray, y: float) -> FloatArray:
    """Return height and slopes (n, 3) along a line of y."""
    out = np.zeros((len(x), 3))
    _along(ground.parameters, x, y, out)
    return out


@pytest.mark.parametrize("road_class", ["A", "C", "F"])
def test_the_wheels_feel_the_density_of_their_class(road_class: RoadClass) -> None:
    """Welch's estimate under both tracks, by octaves, and of the difference at short waves."""
    step = 0.02
    ground = Ground.tracks(road_class, WIDTH, length=1600.0, seed=5)
    x = np.arange(12.0, 1590.0, step)
    sides = np.array([along(ground, x, y)[:, 0] for y in (0.5 * WIDTH, -0.5 * WIDTH)])
    frequency, density = spectra.power_spectral_density(sides, step, 8192)
    inside = (frequency > 0.03) & (frequency < 2.5)
    wanted = CLASS_DENSITIES[road_class] * (frequency[inside] / 0.1) ** -2
    for side in density:
        ratio = side[inside] / wanted
        edges = np.searchsorted(frequency[inside], 0.03 * 2.0 ** np.arange(1, 7))
        assert all(0.7 < part.mean() < 1.35 for part in np.split(ratio, edges))
        assert abs(ratio.mean() - 1.0) < 0.08


def test_the_tracks_agree_on_long_waves_and_not_on_short_ones() -> None:
    estimates, step = [], 0.05
    for seed in range(3):
        ground = Ground.tracks("C", WIDTH, length=1000.0, seed=seed)
        x = np.arange(12.0, 990.0, step)
        left, right = (along(ground, x, y)[:, 0] for y in (0.5 * WIDTH, -0.5 * WIDTH))
        frequency, coherence = spectra.squared_coherence(left, right, step, 1024)
        estimates.append(coherence)
    inside = (frequency > 0.05) & (frequency < 2.0)
    # Ammon and Bormann's model for class C, written out again: Ω_p = 3.0 rad/m, p = 1.3.
    wanted = (1.0 + (2.0 * math.pi * frequency[inside] * WIDTH / 3.0) ** 2) ** -1.3
    assert np.mean(np.abs(np.mean(estimates, axis=0)[inside] - wanted)) < 0.06


def test_a_random_road_begins_level_and_is_the_same_for_the_same_seed() -> None:
    ground = Ground.tracks("D", WIDTH, start=3.0, length=200.0, seed=1)
    assert ground == Ground.tracks("D", WIDTH, start=3.0, length=200.0, seed=1)
    assert ground != Ground.tracks("D", WIDTH, start=3.0, length=200.0, seed=2)
    assert not along(ground, np.linspace(-20.0, 3.0, 50), 0.7).any()
    early = np.abs(along(ground, np.linspace(3.0, 4.0, 50), 0.8)[:, 0]).max()
    late = np.abs(along(ground, np.linspace(13.0, 200.0, 5000), 0.8)[:, 0]).max()
    assert 0.0 < early < 0.02 * late
    assert outside(ground.parameters, 2.0, 0.0) == pytest.approx(1.0)
    assert outside(ground.parameters, 100.0, 50.0) == 0.0
    assert outside(ground.with_run_up(3.0).parameters, 0.5, 0.0) == 0.0
    assert outside(ground.with_run_up(3.0).parameters, 205.0, 0.0) == pytest.approx(
        outside(ground.parameters, 205.0, 0.0)
    )


@settings(deadline=None)
@given(x=st.floats(-1.0, 13.0), y=st.floats(-3.0, 3.0), seed=st.integers(0, 20))
def test_slopes_are_the_derivatives_of_the_height(x: float, y: float, seed: int) -> None:
    heights = np.random.default_rng(seed).normal(0.0, 0.1, (2, 25))
    parameters, small = tracks(0.5, 0.5, heights, WIDTH), 1e-7
    _, slope, across = surface(parameters, x, y)
    ahead, behind = surface(parameters, x + small, y), surface(parameters, x - small, y)
    assert slope == pytest.approx((ahead[0] - behind[0]) / (2.0 * small), abs=2e-5)
    # Continuous along x whether or not a node lies between.
    assert ahead[1] == pytest.approx(behind[1], abs=2e-5)
    if abs(abs(y) - WIDTH) > 2.0 * small:
        left, right = surface(parameters, x, y + small)[0], surface(parameters, x, y - small)[0]
        assert across == pytest.approx((left - right) / (2.0 * small), abs=1e-6)


def test_heights_are_met_at_the_tracks_and_level_beyond_the_ends() -> None:
    heights = np.array([[0.1, 0.2, -0.1, 0.4], [0.0, 0.1, 0.3, -0.2]])
    parameters = tracks(2.0, 0.25, heights, WIDTH)
    for k in range(4):
        left, right = (surface(parameters, 2.0 + 0.25 * k, y)[0] for y in (0.8, -0.8))
        assert (left, right) == pytest.approx(heights[:, k], abs=1e-14)
        assert surface(parameters, 2.0 + 0.25 * k, 0.0)[0] == pytest.approx(heights[:, k].mean())
    assert surface(parameters, -1e9, 0.8) == pytest.approx((0.1, 0.0, 0.1 / WIDTH))
    assert surface(parameters, 1e9, -0.8) == pytest.approx((-0.2, 0.0, 0.6 / WIDTH))
    assert surface(parameters, 2.1, 50.0) == surface(parameters, 2.1, 1.6)
    assert surface(parameters, math.nan, 0.8)[1] == 0.0
    split = Ground(parameters).with_friction(1.0, 0.2).parameters
    assert (surface_friction(split, 2.3, 0.8), surface_friction(split, 2.3, -0.8)) == (1.0, 0.2)


def test_a_rigid_wheel_bridges_what_is_narrower_than_itself() -> None:
    """Against a disc lowered onto the road point by point; a hole of a hand's width is hardly felt."""
    spacing, radius = 0.01, 0.3
    x = spacing * np.arange(300)
    road = np.random.default_rng(4).normal(0.0, 0.004, 300)
    road[150:158] -= 0.2
    felt = rolled_over(road, spacing, radius)
    for k in range(40, 260, 7):
        near = np.abs(x - x[k]) < radius
        touch = road[near] + np.sqrt(radius**2 - (x[near] - x[k]) ** 2)
        assert felt[k] == pytest.approx(touch.max() - radius, abs=1e-12)
    assert np.all(felt >= road)
    assert felt[150:158].min() > -0.01
    assert np.array_equal(rolled_over(np.full(50, 0.3), spacing, radius), np.full(50, 0.3))


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_measured_road_of_one_or_two_tracks(tmp_path: Path) -> None:
    two = write(tmp_path / "two.csv", "x_m,left_m,right_m\n1,0.1,0\n1.5,0.2,0.1\n2,0.3,0.1\n")
    ground = Ground.profile(two, WIDTH)
    assert ground.height(1.5, 0.8) == pytest.approx(0.2)
    assert ground.height(1.5, -0.8) == pytest.approx(0.1)
    assert outside(ground.parameters, 2.5, 0.0) == pytest.approx(0.5)
    one = write(tmp_path / "one.csv", "z_m,x_m\n0.5,1\n0.6,1.5\n0.55,2\n")
    assert Ground.profile(one, WIDTH).height(1.5, -0.8) == pytest.approx(0.6)
    put = Ground.profile(one, WIDTH, start=10.0)
    assert put.height(10.0, 0.8) == pytest.approx(0.0)
    assert put.height(10.5, 0.8) == pytest.approx(0.1)
    faded = Ground.profile(one, WIDTH, start=10.0, fade=1.0)
    assert faded.height(10.5, 0.8) == pytest.approx(0.05)


def test_rows_that_are_not_equally_spaced_are_joined_by_lines(tmp_path: Path) -> None:
    uneven = write(tmp_path / "uneven.csv", "x_m,z_m\n0,0\n0.5,0.1\n0.7,0.12\n2,-0.1\n")
    ground = Ground.profile(uneven, WIDTH)
    for x, z in ((0.5, 0.1), (0.7, 0.12), (2.0, -0.1), (1.35, 0.01)):
        assert ground.height(x, 0.0) == pytest.approx(z, abs=3e-3)
    felt = Ground.profile(uneven, WIDTH, radius=0.3)
    assert all(felt.height(x, 0.0) >= ground.height(x, 0.0) - 3e-3 for x in np.linspace(0.0, 2.0, 41))


@pytest.mark.parametrize(
    ("names", "metre"),
    [
        ("x_m,z_mm", (1, 1000)),
        ("x_mm,z_mm", (1000, 1000)),
        ("x_km,z_cm", (0.001, 100)),
        ("x_m,z_um", (1, 1e6)),
    ],
)
def test_a_measured_road_in_other_units_of_length(
    tmp_path: Path, names: str, metre: tuple[float, float]
) -> None:
    x, z = np.arange(5.0), np.array([0.0, 0.01, -0.02, 0.03, 0.5])
    rows = "".join(f"{metre[0] * a:.12g},{metre[1] * b:.12g}\n" for a, b in zip(x, z, strict=True))
    ground = Ground.profile(write(tmp_path / "road.csv", f"{names}\n{rows}"), WIDTH)
    assert along(ground, x, 0.3)[:, 0] == pytest.approx(z, abs=1e-15)


def test_the_tracks_of_a_measured_road_may_have_units_of_their_own(tmp_path: Path) -> None:
    path = write(tmp_path / "road.csv", "left_mm,x_cm,right_m,note\n0,0,0,a\n20,50,0.03,b\n")
    ground = Ground.profile(path, WIDTH)
    assert (ground.height(0.5, 0.8), ground.height(0.5, -0.8)) == pytest.approx((0.02, 0.03))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x_ft,z_ft\n0,0\n1,1\n", "1:1: the first line must name the columns x_m, z_m; x_m, z_m are missing"),
        ("x_m,left_m\n0,0\n1,1\n", "right_m is missing"),
        ("x_m,z_m\n0,0\n1,nan\n", "3:2: z_m: 'nan' is not a finite number"),
        ("x_m,z_m\n0,0\n1,0.1\n1,0.2\n", "data row 3: x_m 1 does not increase: 1 before"),
        ("x_m,z_m\n1,0\n0,0.1\n-1,0.2\n", "data row 2: x_m 0 does not increase: 1 before"),
        ("x_mm,z_m\n0,0\n10,0\n5,0\n", "data row 3: x_mm 5 does not increase: 10 before"),
        (
            "x_mm,z_m\n0,0\n50000,0.1\n",
            "x_mm 50000 is 50 m after the row before, expected at most 5 m: is it in mm?",
        ),
        (
            "x_m,z_cm\n0,0\n0.5,120\n",
            "data row 2: z_cm 120 is 1.2 m above or below data row 1, 0.5 m before: is",
        ),
        ("x_m,x_mm,z_m\n0,0,0\n1,1,0\n", "1:1: the first line names x_m and x_mm, expected only one of them"),
        ("x_m;z_m\n0;0\n1;0\n", "1:1: the first line has ';' between its names, expected a comma"),
        ("x_m\tz_m\n0\t0\n1\t0\n", "1:1: the first line has '\\t' between its names, expected a comma"),
        ("x_m,z_m\n-1e308,0\n1e308,0\n", "x_m 1e+308 is inf m after the row before"),
        ("x_m,z_m\n0,0\n50,0.1\n", "x_m 50 is 50 m after the row before, expected at most 5 m"),
        ("x_m,z_m\n0,0\n0.1,12\n", "z_m 12 is at a slope of 120 from the previous row, maximum 20"),
        ("x_m,z_m\n0,0\n", "one row: a road needs at least two"),
        ("", "the first line must name the columns x_m, z_m"),
        (
            "x_m,z_m,left_m,right_m\n0,0,0,0\n1,0,0,0\n",
            "1:1: the first line names z_m and left_m or right",
        ),
        (
            "x_m,right_m,z_m\n0,0,0\n1,0,0\n",
            "1:1: the first line names z_m and left_m or right_m, expected",
        ),
        (
            "x_m,z_m\n0,0\n0.4,0.5\n0.8,1.3\n1.2,1\n",
            "data row 3: z_m 1.3 is 1.3 m above or below data row 1, 0.8 m before: is it in metres?",
        ),
        ("x_m,left_m,right_m\n0,0,0\n4,0,-4.5\n", "right_m -4.5 is 4.5 m above or below data row 1, 4 m bef"),
        ("x_m,z_m\n0,0\n1e-9,0\n4,0\n", "too large: 256000 MB, at most 64 MB"),
    ],
)
def test_a_file_that_is_no_measured_road_is_refused_in_one_line(tmp_path: Path, text: str, told: str) -> None:
    path = write(tmp_path / "road.csv", text)
    with pytest.raises(FormatError) as error:
        Ground.profile(path, WIDTH)
    assert told in str(error.value)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("wave", "height"), [(0.5, 1.0), (1.0, 1.0), (6.0, 10.0), (30.0, 10.0)])
def test_waves_of_millimetres_for_metres_are_refused(tmp_path: Path, wave: float, height: float) -> None:
    x = 0.05 * np.arange(1000)
    z = height * np.sin(2.0 * math.pi * x / wave)
    rows = "".join(f"{a:.6g},{b:.6g}\n" for a, b in zip(x, z, strict=True))
    with pytest.raises(FormatError, match=r"data row \d+: z_m \S+ is .* is it in metres\?"):
        Ground.profile(write(tmp_path / "wave.csv", f"x_m,z_m\n{rows}"), WIDTH)


@settings(deadline=None, max_examples=20)
@given(road_class=st.sampled_from(list(CLASS_DENSITIES)), seed=st.integers(0, 50))
def test_random_roads_are_believed_in_metres_and_not_in_millimetres(
    tmp_path_factory: pytest.TempPathFactory, road_class: RoadClass, seed: int
) -> None:
    """Any class of ISO 8608, 100 m of it."""
    ground = Ground.tracks(road_class, WIDTH, length=120.0, seed=seed)
    path = tmp_path_factory.getbasetemp() / "random.csv"
    x = np.arange(12.0, 112.0, 0.1)
    z = along(ground, x, 0.5 * WIDTH)[:, 0]
    for factor in (1.0, 1000.0):
        rows = "".join(f"{a:.6g},{factor * b:.9g}\n" for a, b in zip(x, z, strict=True))
        write(path, f"x_m,z_m\n{rows}")
        if factor == 1.0:
            Ground.profile(path, WIDTH)
        else:
            with pytest.raises(FormatError, match="is it in metres"):
                Ground.profile(path, WIDTH)


def test_kerbs_potholes_and_steep_ramps_are_roads(tmp_path: Path) -> None:
    kerb = "x_m,z_m\n0,0\n1,0\n1.01,0.15\n2,0.15\n2.02,-0.1\n2.5,-0.1\n2.52,0.15\n7,3.5\n"
    assert Ground.profile(write(tmp_path / "kerb.csv", kerb), WIDTH).height(1.5, 0.0) == pytest.approx(0.15)


def test_lengths_that_make_no_road_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="No such file"):
        Ground.profile(tmp_path / "none.csv", WIDTH)
    with pytest.raises(ValueError, match="fade 10"):
        Ground.tracks("A", WIDTH, length=5.0)
    with pytest.raises(ValueError, match="seed -1"):
        Ground.tracks("A", WIDTH, seed=-1)
    with pytest.raises(ValueError, match="too large: 320 MB"):
        Ground.tracks("A", WIDTH, length=1e6)
    with pytest.raises(ValueError, match="the shortest wave"):
        random_tracks("A", WIDTH, spacing=0.2)
    with pytest.raises(ValueError, match="track width nan"):
        tracks(0.0, 0.1, np.zeros((2, 3)), math.nan)
    with pytest.raises(ValueError, match="two heights or more"):
        tracks(0.0, 0.1, np.zeros((2, 1)), WIDTH)
    with pytest.raises(ValueError, match="height 2 of the right track"):
        tracks(0.0, 0.1, np.array([[0.0, 0.0], [0.0, math.nan]]), WIDTH)
