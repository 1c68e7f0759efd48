"""Magic Formula tyres in vehicle files: found, read, mounted on the side that is due, refused in one line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mastd.cli import main
from mastd.settings.core.export import as_json
from mastd.settings.core.loader import load_text
from mastd.settings.vehicle.vehicle import VehicleSettings
from mastd.vehicle.analysis.linearise import without_damping
from mastd.vehicle.equilibrium.dense_equations import System
from mastd.vehicle.equilibrium.settle import settle
from mastd.vehicle.magic_formula.formula import normal_load, peak_friction, rolling_radius
from mastd.vehicle.magic_formula.tyre import MagicTyre
from mastd.vehicle.model import library
from mastd.vehicle.model.build import build
from mastd.vehicle.model.definition import Model
from mastd.vehicle.state.motion import design_state
from mastd.vehicle.tyres.linear_tyre import Tyre
from mastd.vehicle.tyres.standing import standing_tyre
from tests.support.vehicle.refusals import refused_vehicle, wrong_lines
from tests.support.vehicle.texts import SEDAN, VEHICLES, changed, position

TIR = (VEHICLES / "tyres" / "passenger_205_55_r16.tir").read_text(encoding="utf-8")
LINEAR = SEDAN[SEDAN.index("    tyre:\n") : SEDAN.index("    springs:\n")]
ON_MAGIC = ("mcpherson_hatchback", "sedan", "transporter_8x8")


def in_front(tyre: str) -> str:
    """Return the sedan's file with another tyre on its front axle."""
    return changed(SEDAN, (LINEAR, f"    tyre: {tyre}\n"))


def model_of(directory: Path, tyre: str, tir: str = TIR) -> Model:
    """Return the sedan with front tyres of a property file ``own.tir`` beside its own file."""
    (directory / "own.tir").write_text(tir, encoding="utf-8")
    path = directory / "vehicle.yaml"
    path.write_text(in_front(tyre), encoding="utf-8")
    return library.find(str(path))


def magic(model: Model, wheel: int) -> MagicTyre:
    tyre = model.wheels[wheel].tyre
    assert isinstance(tyre, MagicTyre)
    return tyre


@pytest.mark.parametrize(
    ("side", "mirrored"),
    [("LEFT", [False, True]), ("RIGHT", [True, False]), ("SYMMETRIC", [False, False])],
)
def test_a_tyre_is_mirrored_where_it_was_measured_on_the_other_side(
    side: str, mirrored: list[bool], tmp_path: Path
) -> None:
    tir = changed(TIR, ("'LEFT'", f"'{side}'"))
    model = model_of(tmp_path, "{magic_formula: own.tir}", tir)
    assert [magic(model, wheel).mirrored for wheel in (0, 1)] == mirrored
    assert [type(wheel.tyre) for wheel in model.wheels] == [MagicTyre, MagicTyre, Tyre, Tyre]


def test_the_models_numbers_are_those_of_the_file(tmp_path: Path) -> None:
    tyre = magic(model_of(tmp_path, "{magic_formula: own.tir}"), 0)
    assert (tyre.name, tyre.free_radius, tyre.damping) == ("own", 0.316, 250.0)
    assert tyre.stiffness == pytest.approx(200e3, rel=1e-6)
    assert tyre.rolling_radius == rolling_radius(tyre.coefficients, 4000.0)
    assert 0.3 < tyre.rolling_radius < tyre.free_radius


@pytest.mark.parametrize("own", [1.0, 0.9])
def test_friction_multiplies_both_peaks(own: float, tmp_path: Path) -> None:
    tir = f"{TIR}\n[SCALING_COEFFICIENTS]\nLMUX = {own}\nLMUY = {own}\n"
    base, wet = (
        magic(model_of(tmp_path, f"{{magic_formula: own.tir, friction: {friction}}}", text), 0)
        for friction, text in (("100 %", TIR), ("60 %", tir))
    )
    dry, slippery = (np.array(peak_friction(tyre.coefficients, 4000.0, 0.0)) for tyre in (base, wet))
    assert slippery == pytest.approx(0.6 * own * dry)


def test_a_property_file_is_found_from_wherever_the_program_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "mine"
    assert main(["init", str(own)]) == 0
    monkeypatch.chdir(own / "profiles")
    for name in library.names():
        copied = library.find(f"../vehicles/{name}.yaml")
        shipped = library.find(name)
        for one, two in zip(copied.wheels, shipped.wheels, strict=True):
            assert type(one.tyre) is type(two.tyre)
            if isinstance(one.tyre, MagicTyre) and isinstance(two.tyre, MagicTyre):
                assert np.array_equal(one.tyre.coefficients, two.tyre.coefficients)


def test_recorded_settings_make_the_same_model(tmp_path: Path) -> None:
    settings = library.settings("sedan")
    again = build(VehicleSettings.model_validate(as_json(settings), strict=False))
    assert np.array_equal(magic(again, 0).coefficients, magic(build(settings), 0).coefficients)


# -------------------- what is refused


def test_what_is_wrong_in_a_property_file_is_told_with_both_places(tmp_path: Path) -> None:
    (tmp_path / "own.tir").write_text(changed(TIR, ("PKX1 ", "PKX9 "), ("1.05 ", "nan  ")), encoding="utf-8")
    text = in_front("{magic_formula: own.tir}")
    lines = refused_vehicle(tmp_path, text)
    start = f"{position(text, 'own.tir')}: axles[0].tyre.magic_formula: {tmp_path / 'own.tir'}:"
    assert len(lines) >= 2
    assert all(line.startswith(start) for line in lines)
    assert any("PKX1" in line for line in lines)
    assert any(line.startswith(f"{start}{position(TIR, '1.05')}: PDX1") for line in lines)


REFUSED = {
    "no-file": (
        in_front("{magic_formula: none.tir}"),
        "none.tir",
        "axles[0].tyre.magic_formula: there is no file {directory}/none.tir",
    ),
    "no-friction": (
        in_front("{magic_formula: own.tir, friction: 0}"),
        "0}\n",
        "axles[0].tyre.friction: 0 is out of range: must be above 0",
    ),
    "misspelt": (
        in_front("{magic_formula: own.tir, fricton: 0.9}"),
        "fricton",
        "axles[0].tyre.fricton: unknown key 'fricton', did you mean 'friction'?",
    ),
    "two-laws": (
        in_front("{magic_formula: own.tir, stiffness: 200 N/mm}"),
        "stiffness: 200",
        "axles[0].tyre.stiffness: unknown key 'stiffness', known: magic_formula, friction",
    ),
    "file-alone": (
        in_front("own.tir"),
        "own.tir",
        "axles[0].tyre: expected a group of keys, own.tir is text",
    ),
    "linear-without-slip": (
        changed(SEDAN, ("      cornering_stiffness: 14 1/rad\n", "")),
        "tyre:",
        "axles[0].tyre.cornering_stiffness: key 'cornering_stiffness' is missing (Lateral force per slip "
        "angle and wheel load)",
    ),
}


@wrong_lines(REFUSED)
def test_a_wrong_line_is_reported_at_its_position(text: str, part: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "own.tir").write_text(TIR, encoding="utf-8")
    assert refused_vehicle(tmp_path, text) == [
        f"{position(text, part)}: {message.format(directory=tmp_path)}"
    ]


def test_a_powertrain_on_an_axle_that_is_not_there_is_refused(tmp_path: Path) -> None:
    text = (VEHICLES / "sedan.yaml").read_text(encoding="utf-8").replace("tyres/", f"{VEHICLES}/tyres/")
    text = changed(text, ("axle: front", "axle: frnt"))
    message = "powertrain.differentials.front.axle: no axle 'frnt', did you mean 'front'?"
    assert refused_vehicle(tmp_path, text) == [f"{position(text, 'frnt')}: {message}"]


# -------------------- at rest


@pytest.mark.parametrize("load", [800.0, 4000.0, 9000.0])
def test_a_standing_tyre_carries_its_load_as_stiffly_at_the_same_depth(load: float, tmp_path: Path) -> None:
    tyre = magic(model_of(tmp_path, "{magic_formula: own.tir}"), 0)
    linear = standing_tyre(tyre, load)
    depth = tyre.free_radius - (linear.free_radius - load / linear.stiffness)
    loads = [normal_load(tyre.coefficients, depth + change, 0.0) for change in (-1e-5, 0.0, 1e-5)]
    assert loads[1] == pytest.approx(load, rel=1e-9)
    assert linear.stiffness == pytest.approx((loads[2] - loads[0]) / 2e-5, rel=1e-5)


def test_a_car_without_damping_stands_where_it_stood(tmp_path: Path) -> None:
    model = model_of(tmp_path, "{magic_formula: own.tir}")
    still = without_damping(model, np.array([4000.0, 4000.0, 3400.0, 3400.0]))
    tyres = [wheel.tyre for wheel in still.wheels]
    assert all(isinstance(tyre, Tyre) and tyre.cornering_stiffness == 0.0 for tyre in tyres)
    assert tyres[0] == standing_tyre(magic(model, 0), 4000.0)
    assert tyres[2].free_radius == model.wheels[2].tyre.free_radius


@pytest.mark.parametrize("name", ON_MAGIC)
def test_shipped_cars_stand_level_in_their_design_position(name: str) -> None:
    model = library.find(name)
    assert all(isinstance(wheel.tyre, MagicTyre) for wheel in model.wheels)
    found = settle(System(model), design_state(model))
    assert found.state.position[0] == pytest.approx(model.bodies[0].centre, abs=2e-4)
    left, right = found.wheel_loads[::2], found.wheel_loads[1::2]
    assert left == pytest.approx(right, rel=1e-6)


def test_the_transporter_stands_on_its_table_and_can_be_chained_to_it() -> None:
    """Tyres of 375 mm, patches at most half a metre long, on 5 by 2 m about the middle of the wheels."""
    text = (VEHICLES / "transporter_8x8.yaml").read_text(encoding="utf-8")
    start, end = text.index("# tie_downs:"), text.index("powertrain:")
    chains = text[start:end].replace("\n# ", "\n").removeprefix("# ")
    settings = load_text(
        text[:start] + chains + text[end:], str(VEHICLES / "transporter_8x8.yaml"), VehicleSettings
    )
    model = build(settings)
    assert (len(model.tie_downs), [chock.wheel for chock in model.chocks]) == (4, [0, 1, 6, 7])
    centres = np.array([wheel.centre for wheel in model.wheels])
    middle = 0.5 * (centres[0, 0] + centres[-1, 0])
    assert np.max(np.abs(centres[:, 0] - middle)) + 0.25 < 2.5
    assert np.max(np.abs(centres[:, 1])) + 0.375 / 2.0 < 1.0
    for chain in model.tie_downs:
        assert abs(chain.anchor[0] - middle) < 2.5
        assert abs(chain.anchor[1]) < 1.0
    assert model.gravity * sum(body.mass for body in model.bodies) == pytest.approx(25e3 * 9.80665)
