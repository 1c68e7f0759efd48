"""The Magic Formula: by its equations, by its laws, and by its derivatives, for every format."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mastd.arrays import FloatArray
from mastd.commands.vehicle.tyre import add_tyre_parser
from mastd.errors import UsageError
from mastd.formats.tyre.tir import TyreProperties
from mastd.vehicle.magic_formula.complex_step import real_arctan
from mastd.vehicle.magic_formula.formula import (
    normal_load,
    pack,
    peak_friction,
    relaxation_lengths,
    rolling_radius,
    slip_forces,
    slip_stiffness,
)
from tests.support.formats.tyre_texts import COMBINED, MF61, PAC2002, TYRES, read_text, tyre_text
from tests.support.vehicle.tyre_equations import Point, expected

FX, FY, MX, MY, MZ = range(5)
SPEED = 20.0
NOMINAL = 4200.0
OFFSETS = """
    PHX1 PHX2 PVX1 PVX2 PHY1 PHY2 PHY3 PVY1 PVY2 PVY3 PVY4 PKY6 PKY7 PEX4 PEY3 PEY4 QHZ1 QHZ2 QHZ3 QHZ4 QDZ6
    QDZ7 QDZ8 QDZ9 QDZ10 QDZ11 QEZ4 QEZ5 QBZ4 QDZ3 QSX1 SSZ1 SSZ3 SSZ4 RHX1 RHY1 RHY2 RBY3 RVY1 RVY2 RVY3
"""
"""What makes a tyre's two sides, or driving and braking, differ."""

complex_forces: Any = slip_forces
"""For the type checker, which knows the kernels with real numbers only."""

every_tyre = pytest.mark.parametrize("name", TYRES)


@pytest.fixture
def read(tmp_path: Path) -> Callable[[Mapping[str, float | str]], TyreProperties]:
    return lambda values: read_text(tmp_path, tyre_text(values))


@pytest.fixture
def tyre(read: Callable[[Mapping[str, float | str]], TyreProperties]) -> Callable[..., FloatArray]:
    """Return the packed tyre of a name, with values changed."""
    return lambda name, **changes: pack(read({**TYRES[name], **changes}))


@pytest.fixture
def symmetric(tyre: Callable[..., FloatArray]) -> Callable[[str], FloatArray]:
    def make(name: str) -> FloatArray:
        return tyre(name, **{key: 0.0 for key in OFFSETS.split() if key in TYRES[name]})

    return make


def forces(
    c: FloatArray,
    load: float = NOMINAL,
    kappa: float = 0.0,
    tan_alpha: float = 0.0,
    camber: float = 0.0,
    speed: float = SPEED,
    friction: float = 1.0,
    shift: float = 1.0,
) -> FloatArray:
    return np.array(slip_forces(c, load, kappa, tan_alpha, camber, speed, friction, shift))


def points(count: int, seed: int = 1) -> list[Point]:
    """Return points within the ranges of the invented tyre, away from nothing in particular."""
    random = np.random.default_rng(seed)
    return [
        Point(
            load=random.uniform(400.0, 9000.0),
            kappa=random.choice([0.05, 0.3, 1.5]) * random.uniform(-1.0, 1.0),
            tan_alpha=random.choice([0.05, 0.3, 1.5]) * random.uniform(-1.0, 1.0),
            camber=random.uniform(-0.15, 0.15),
            speed=random.uniform(2.0, 40.0),
            friction=random.uniform(0.4, 1.1),
        )
        for _ in range(count)
    ]


@every_tyre
def test_forces_are_those_of_the_equations(
    read: Callable[[Mapping[str, float | str]], TyreProperties], name: str
) -> None:
    """At 40 points each, by a second calculation from the manuals' equations."""
    properties = read(TYRES[name])
    c = pack(properties)
    for at in points(40):
        found = slip_forces(c, at.load, at.kappa, at.tan_alpha, at.camber, at.speed, at.friction, 1.0)
        right = expected(properties, at)
        scale = np.array([1.0, 1.0, 0.32, 0.32, 0.32]) * at.load
        # The friction ellipse has a small part added where both forces vanish.
        most = 1e-5 if name == "friction ellipse" else 1e-11
        assert np.allclose(np.array(found) / scale, np.array(right) / scale, rtol=0.0, atol=most), at


def test_forces_of_files_of_others(shared: Path) -> None:
    """At points within the range in which every formula is defined."""
    from mastd.formats.tyre.tir import read_tir

    for path in sorted((shared / "data" / "tir").glob("*.tir")):
        properties = read_tir(path)
        c = pack(properties)
        for at in points(20, seed=2):
            found = forces(c, at.load, at.kappa, at.tan_alpha, at.camber, at.speed, at.friction)
            right = np.array(expected(properties, at))
            right[MY] = found[MY] if properties.get("QSY1") == 0.0 else right[MY]
            assert np.allclose(found / at.load, right / at.load, rtol=0.0, atol=1e-5), (path, at)


@every_tyre
def test_a_complex_step_gives_the_derivatives(tyre: Callable[..., FloatArray], name: str) -> None:
    """Against differences of fourth order; F and M by load, κ, tan α and camber."""
    c = tyre(name)
    for at in points(40, seed=3):
        place = np.array([at.load, at.kappa, at.tan_alpha, at.camber])
        for variable, step in enumerate((0.5, 2e-5, 2e-5, 2e-5)):
            direction = np.eye(4)[variable]
            shifted = (place + 1e-20j * direction).tolist()
            found = np.array(complex_forces(c, *shifted, at.speed, at.friction, 0.7)).imag / 1e-20
            there = [
                np.array(complex_forces(c, *(place + part * step * direction), at.speed, at.friction, 0.7))
                for part in (-2.0, -1.0, 1.0, 2.0)
            ]
            right = (there[0] - 8.0 * there[1] + 8.0 * there[2] - there[3]) / (12.0 * step)
            scale = np.array([1.0, 1.0, 0.3, 0.3, 0.3]) * at.load * (1.0 / at.load if variable == 0 else 10.0)
            assert np.all(np.abs(found - right) <= 1e-7 * (np.abs(right) + scale)), (at, variable)


def test_the_arc_tangent_is_exact_to_the_last_digits() -> None:
    for x in (0.0, 1e-300, 1e-9, *np.linspace(0.01, 6.0, 600), 1e3, 1e300, math.inf):
        for sign in (1.0, -1.0):
            assert real_arctan(sign * x) == pytest.approx(math.atan(sign * x), rel=4e-16, abs=0.0)
    assert math.isnan(real_arctan(math.nan))


@every_tyre
def test_small_functions_take_complex_numbers_too(tyre: Callable[..., FloatArray], name: str) -> None:
    c = tyre(name)
    h = 1e-20
    for function, x, step in (
        (lambda load: slip_stiffness(c, load, 0.02 + 0.0 * load), 3000.0, 1.0),
        (lambda load: peak_friction(c, load, 0.02 + 0.0 * load), 3000.0, 1.0),
        (lambda load: relaxation_lengths(c, load, 0.02 + 0.0 * load), 3000.0, 1.0),
        (lambda load: [rolling_radius(c, load)], 3000.0, 1.0),
        (lambda depth: [normal_load(c, depth, 0.1 + 0.0 * depth)], 0.02, 1e-4),
        (lambda rate: [normal_load(c, 4e-4 + 0.0 * rate, rate)], 0.05, 1e-4),
    ):
        found = np.array(function(x + h * 1j)).imag / h
        right = (np.array(function(x + step)) - np.array(function(x - step))) / (2.0 * step)
        assert np.allclose(found, right, rtol=1e-5), (function, found, right)


@every_tyre
def test_forces_oppose_the_slip_and_keep_below_the_peaks(
    symmetric: Callable[[str], FloatArray], name: str
) -> None:
    c = symmetric(name)
    for at in points(60, seed=4):
        fx, fy, *_ = forces(c, at.load, at.kappa, at.tan_alpha, 0.0, friction=at.friction)
        mu_x, mu_y = np.array(peak_friction(c, at.load, 0.0)) * at.friction
        assert fx * at.kappa >= 0.0
        assert fy * at.tan_alpha <= 0.0
        assert abs(fx) <= mu_x * at.load * (1.0 + 1e-12)
        assert abs(fy) <= mu_y * at.load * (1.0 + 1e-12)
        # The weights of combined slip are fitted, not bounded: some per cent are theirs.
        assert math.hypot(fx / (mu_x * at.load), fy / (mu_y * at.load)) <= 1.1


@every_tyre
def test_signs_of_the_contact_axes(
    symmetric: Callable[[str], FloatArray], tyre: Callable[..., FloatArray], name: str
) -> None:
    """ISO 8855: a slip to the left pulls right and turns the wheel to the left; a top that leans right pulls
    right; a rolling wheel is braked."""
    c = symmetric(name)
    _, fy, _, my, mz = forces(c, tan_alpha=0.03)
    assert fy < 0.0
    assert mz > 0.0
    assert my < 0.0
    assert forces(c, kappa=0.03)[FX] > 0.0
    leaning = tyre(name)
    assert forces(leaning, camber=0.05)[FY] < forces(leaning)[FY]
    # Rolling backwards the force lies on the other side of the wheel's centre.
    backwards = forces(c, tan_alpha=0.03, speed=-SPEED)
    assert backwards[MZ] == pytest.approx(-mz, rel=1e-12)
    assert backwards[MY] == pytest.approx(-my, rel=1e-12)


@every_tyre
def test_a_symmetric_tyre_is_odd(symmetric: Callable[[str], FloatArray], name: str) -> None:
    c = symmetric(name)
    for at in points(20, seed=5):
        here = forces(c, at.load, at.kappa, at.tan_alpha, at.camber)
        there = forces(c, at.load, at.kappa, -at.tan_alpha, -at.camber)
        assert np.allclose(here[[FY, MX, MZ]], -there[[FY, MX, MZ]], rtol=1e-12, atol=1e-9)
        assert np.allclose(here[[FX, MY]], there[[FX, MY]], rtol=1e-12, atol=1e-9)
        assert forces(c, at.load, -at.kappa, at.tan_alpha)[FX] == pytest.approx(
            -forces(c, at.load, at.kappa, at.tan_alpha)[FX], rel=1e-12
        )


@every_tyre
def test_no_slip_no_force_where_there_are_no_offsets(tyre: Callable[..., FloatArray], name: str) -> None:
    """With ``shift`` 0, the state of a tyre at rest, even of a tyre that has offsets."""
    found = forces(tyre(name), camber=0.05, speed=0.0, shift=0.0)
    assert np.all(np.abs(found[[FX, FY, MY, MZ]]) <= 1e-12)
    assert np.any(np.abs(forces(tyre(name), camber=0.05)[[FX, FY]]) > 1.0)


@every_tyre
def test_one_slip_alone_is_pure_slip(
    tyre: Callable[..., FloatArray], symmetric: Callable[[str], FloatArray], name: str
) -> None:
    """Forces of combined slip become those of pure slip, and slip stiffness is their slope."""
    for at in points(10, seed=6):
        values = {
            **TYRES[name],
            **dict.fromkeys(COMBINED, 0.0),
            "RBX1": 1e-9,
            "RCX1": 1e-9,
            "RBY1": 1e-9,
            "RCY1": 1e-9,
        }
        pure = tyre(name, **{key: values[key] for key in COMBINED})
        combined = tyre(name)
        if name != "friction ellipse":
            assert forces(combined, at.load, at.kappa)[FX] == pytest.approx(
                forces(pure, at.load, at.kappa)[FX], rel=1e-9
            )
            assert forces(combined, at.load, 0.0, at.tan_alpha)[FY] == pytest.approx(
                forces(pure, at.load, 0.0, at.tan_alpha)[FY], rel=1e-9
            )
        c = symmetric(name)
        k_x, k_y = slip_stiffness(c, at.load, 0.0)
        step = 1e-7
        assert forces(c, at.load, step)[FX] / step == pytest.approx(k_x, rel=1e-6)
        assert forces(c, at.load, 0.0, step)[FY] / step == pytest.approx(-k_y, rel=1e-6)


@every_tyre
def test_peaks_are_reached(symmetric: Callable[[str], FloatArray], name: str) -> None:
    c = symmetric(name)
    mu_x, mu_y = peak_friction(c, NOMINAL, 0.0)
    slips = np.linspace(0.0, 1.0, 2001)
    along = max(forces(c, kappa=slip, friction=0.6)[FX] for slip in slips)
    across = min(forces(c, tan_alpha=slip, friction=0.6)[FY] for slip in slips)
    assert along == pytest.approx(0.6 * mu_x * NOMINAL, rel=1e-5)
    assert across == pytest.approx(-0.6 * mu_y * NOMINAL, rel=1e-5)


@every_tyre
def test_everything_is_finite_however_large_or_small(tyre: Callable[..., FloatArray], name: str) -> None:
    c = tyre(name)
    loads = (0.0, 1e-300, 1e-9, 1.0, NOMINAL, 1e5, 1e6)
    slips = (-50.0, -1.0, -1e-12, 0.0, 1e-12, 1.0, 50.0)
    angles = (-100.0, -1.0, 0.0, 1e-12, 1.0, 100.0)
    for load in loads:
        for kappa in slips:
            for tan_alpha in angles:
                for camber in (-1.5, 0.0, 0.4):
                    found = forces(c, load, kappa, tan_alpha, camber, -0.3, 0.0, 1.0)
                    assert np.all(np.isfinite(found)), (load, kappa, tan_alpha, camber)
                    arguments = [complex(x, 1e-20) for x in (load, kappa, tan_alpha, camber)]
                    found = np.array(complex_forces(c, *arguments, -0.3, 0.5, 1.0))
                    assert np.all(np.isfinite(found)), (load, kappa, tan_alpha, camber)
        for function in (slip_stiffness, peak_friction, relaxation_lengths):
            assert np.all(np.isfinite(function(c, load, 0.1)))
        assert rolling_radius(c, load) > 0.1
    assert np.all(forces(c, 0.0, 0.3, 0.3) == 0.0)
    assert min(relaxation_lengths(c, 0.0, 0.0)) > 0.0


@every_tyre
def test_everything_is_continuous(tyre: Callable[..., FloatArray], name: str) -> None:
    """Through zero slip, reversal, lift-off and the ends of the ranges: small steps give small changes."""
    c = tyre(name)
    sweeps: dict[str, Callable[[float], FloatArray]] = {
        "kappa": lambda x: forces(c, kappa=3.0 * x, tan_alpha=0.1),
        "tan_alpha": lambda x: forces(c, kappa=0.02, tan_alpha=3.0 * x, camber=0.03),
        "steep": lambda x: forces(c, kappa=0.02, tan_alpha=100.0 + 40.0 * x),
        "camber": lambda x: forces(c, kappa=0.02, tan_alpha=0.05, camber=x),
        "speed": lambda x: forces(c, kappa=0.02, tan_alpha=0.05, speed=4.0 * x),
        "load": lambda x: forces(c, load=2e4 * (1.0 + x), kappa=0.02, tan_alpha=0.05) * 0.1,
    }
    for what, sweep in sweeps.items():
        for count, most in ((2001, 0.06), (20001, 0.006)):
            values = np.array([sweep(x) for x in np.linspace(-1.0, 1.0, count)])
            assert np.max(np.abs(np.diff(values, axis=0))) <= most * NOMINAL, (what, count)


@every_tyre
def test_the_vertical_law_lifts_off_and_bottoms(tyre: Callable[..., FloatArray], name: str) -> None:
    c = tyre(name)
    assert normal_load(c, -0.01, 5.0) == 0.0
    assert normal_load(c, 0.0, 5.0) == 0.0
    assert normal_load(c, 0.01, -1e4) == 0.0
    assert normal_load(c, 5e-4, 1.0) - normal_load(c, 5e-4, 0.0) == pytest.approx(0.5 * 300.0)
    assert normal_load(c, 5e-3, 1.0) - normal_load(c, 5e-3, 0.0) == pytest.approx(300.0)
    depths = np.linspace(0.0, 0.14, 1401)
    loads = np.array([normal_load(c, depth, 0.0) for depth in depths])
    assert np.all(np.diff(loads) > 0.0)
    rim = 0.32 * 0.998 - 0.2 - 0.012 if name == "MF 6.1" else 0.32 - 0.2 - 0.01
    slope = np.diff(loads) / np.diff(depths)
    jump = float(depths[1:-1][np.argmax(np.diff(slope))])
    assert jump == pytest.approx(rim, abs=2e-4)
    assert np.isnan(normal_load(c, math.nan, 0.0))


def test_vertical_stiffness_and_rolling_radius(tyre: Callable[..., FloatArray]) -> None:
    """The file's stiffness is that at the nominal load (and pressure), with and without progression."""
    plain, curved = tyre("PAC2002"), tyre("MF 6.1", NOMPRES=250e3)
    for c in (plain, curved):
        depth = next(x for x in np.linspace(0.0, 0.1, 100001) if normal_load(c, x, 0.0) >= NOMINAL)
        slope = (normal_load(c, depth + 1e-5, 0.0) - normal_load(c, depth - 1e-5, 0.0)) / 2e-5
        assert slope == pytest.approx(210e3, rel=1e-4)
    assert normal_load(plain, 0.02, 0.0) == pytest.approx(4200.0)
    sunk = NOMINAL / 210e3 * (0.25 * math.atan(7.5) + 0.03)
    assert rolling_radius(plain, NOMINAL) == pytest.approx(0.32 - sunk)
    assert rolling_radius(curved, NOMINAL) == pytest.approx(0.32 * 0.998 - sunk)
    assert rolling_radius(plain, 0.0) == 0.32
    # With more air: stiffer by PFZ1 dp.
    firm = tyre("MF 6.1")
    assert normal_load(firm, 0.02, 0.0) / normal_load(curved, 0.02, 0.0) == pytest.approx(
        1.0 + 0.7 * 30 / 220
    )


def test_relaxation_lengths(tyre: Callable[..., FloatArray], read: Any) -> None:
    """By the older formats' own formula, and as slip stiffness over the carcass' stiffness."""
    c, fz0 = tyre("PAC2002"), 0.9 * NOMINAL
    d = 3000.0 / fz0 - 1.0
    along = 3000.0 * (2.1 + 0.8 * d) * math.exp(-0.3 * d) * 0.32 / NOMINAL
    across = 2.3 * math.sin(2.0 * math.atan(3000.0 / (1.6 * fz0))) * (1.0 - 0.35 * 1.1 * 0.05) * 0.32 * 0.9
    assert relaxation_lengths(c, 3000.0, 0.05) == pytest.approx((along, across))
    c = tyre("MF 6.1")
    k_x, k_y = slip_stiffness(c, 3000.0, 0.05)
    carcass_x, carcass_y = 350e3 * (1.0 + 0.1 * d), 110e3 * (1.0 - 0.15 * d)
    assert relaxation_lengths(c, 3000.0, 0.05) == pytest.approx((k_x / carcass_x, k_y / carcass_y))
    ruled = pack(
        read({k: v for k, v in MF61.items() if not k.endswith("AL_STIFFNESS") or k == "VERTICAL_STIFFNESS"})
    )
    k_x, k_y = slip_stiffness(ruled, NOMINAL * 0.9, 0.0)
    assert relaxation_lengths(ruled, NOMINAL * 0.9, 0.0) == pytest.approx((k_x / 357e3, k_y / 105e3))


def test_loads_beyond_the_files_range_keep_friction_and_stiffness(tyre: Callable[..., FloatArray]) -> None:
    """Beyond FZMAX the coefficients stand still: forces grow with the load."""
    for name in TYRES:
        c = tyre(name)
        assert np.allclose(
            forces(c, 2.0e4, 0.1, 0.1)[:2] / 2.0e4, forces(c, 10500.0, 0.1, 0.1)[:2] / 10500.0, rtol=1e-9
        )
    # The same where a polynomial of the file would turn friction into a push.
    steep = tyre("PAC2002", PDX2=-0.9, PKX2=-20.0)
    for load in np.linspace(100.0, 1e4, 30):
        assert min(peak_friction(steep, load, 0.0)) > 0.1
        assert min(slip_stiffness(steep, load, 0.0)) > load


def test_a_wheel_that_its_shift_drives_gets_no_rolling_moment(tyre: Callable[..., FloatArray]) -> None:
    """PAC2002 and MF 5.2 take the shifts of Fx for rolling resistance, but only where they brake."""
    none = {"QSY1": 0.0, "QSY2": 0.0, "PHX2": 0.0, "PVX1": 0.0, "PVX2": 0.0}
    braked, driven = tyre("MF 5.2", **none, PHX1=-0.001), tyre("MF 5.2", **none, PHX1=0.001)
    assert forces(braked)[MY] == pytest.approx(-0.32 * NOMINAL * 21.0 * 1.1 * 0.001)
    assert forces(driven)[MY] == 0.0
    fast, neither = tyre("MF 5.2", **none, PHX1=0.001, QSY3=0.01), tyre("MF 5.2", **none, PHX1=0.0, QSY3=0.01)
    assert forces(fast)[MY] == forces(neither)[MY] < 0.0
    assert forces(tyre("MF 5.2", QSY1=-0.01))[MY] == 0.0


def command(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_tyre_parser(parser.add_subparsers())
    return parser.parse_args(["tyre", *words])


def test_the_command_tells_and_draws_a_tyre(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "own.tir"
    path.write_text(tyre_text(PAC2002))
    picture = tmp_path / "own.svg"
    arguments = command(str(path), "--load", "3kN", "4200 N", "--json", "--plot", str(picture))
    assert arguments.run(arguments) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["format"] == "PAC2002"
    assert document["vertical_stiffness_n_per_m"] == pytest.approx(210e3)
    assert [row["load_n"] for row in document["loads"]] == [3000.0, 4200.0]
    assert document["loads"][1]["depth_m"] == pytest.approx(0.02)
    assert picture.read_text().lstrip().startswith("<?xml")
    arguments = command(str(path))
    assert arguments.run(arguments) == 0
    assert "PAC2002" in capsys.readouterr().out


def test_the_command_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    path = tmp_path / "own.tir"
    path.write_text(tyre_text(PAC2002))
    for words, said in (
        (["--load", "6", "-1kN"], "--load: 6 has no unit.*\n--load: -1kN is not above zero"),
        (["--plot", "a.gif"], "a picture ends in"),
        (["--plot", str(tmp_path / "none" / "a.svg")], "cannot be written"),
    ):
        arguments = command(str(path), *words)
        with pytest.raises(UsageError, match=said):
            arguments.run(arguments)
