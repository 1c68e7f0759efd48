"""Brakes, air, straps, chocks and held motions in vehicle files: what the model gets, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mastd.settings.core.loader import load_text
from mastd.settings.vehicle.vehicle import VehicleSettings
from mastd.vehicle.model import library
from mastd.vehicle.model.build import build
from mastd.vehicle.model.definition import Model
from tests.support.vehicle.refusals import refused_vehicle, wrong_lines
from tests.support.vehicle.texts import SEDAN, VEHICLES, changed, position

QUARTER = (VEHICLES / "quarter_car.yaml").read_text(encoding="utf-8")
AIR = "aerodynamics: {drag_area: 0.66 m2, centre: [-1.2 m, 0 m, 0.6 m], rear_lift_area: -900 cm2}\n"
STRAP = """tie_downs:
  front_left: {point: [0.5 m, 0.4 m, 300 mm], anchor: [1 m, 0.8 m, 0 m], stiffness: 2 kN/mm}
"""
CHOCKS = "chocks: {wheels: [rl, rr], gap: 5 mm, stiffness: 400 N/mm}\n"
TIE_ROD = "    tie_rod: {to: chassis}\n"
"""What stands in the sedan's rear axle alone."""
BAR = "{body: knuckle, point: wheel_centre, stiffness: 1 N/mm}"


def with_lines(*lines: str) -> str:
    """Return the sedan's file with lines before its chassis."""
    return changed(SEDAN, ("chassis:\n", "".join(lines) + "chassis:\n"))


def model_of(text: str) -> Model:
    return build(load_text(text, "vehicle.yaml", VehicleSettings))


def test_brakes_are_those_of_each_wheel_of_their_axle() -> None:
    model = model_of(changed(SEDAN, (TIE_ROD, f"{TIE_ROD}    brakes: {{torque: 1.1 kN m}}\n")))
    assert [wheel.brake_torque for wheel in model.wheels] == [0.0, 0.0, 1100.0, 1100.0]


def test_lift_acts_between_the_wheels_where_no_other_place_is_given() -> None:
    air = model_of(with_lines(AIR)).aerodynamics
    assert air is not None
    assert [air.drag_area, air.front_lift_area, air.rear_lift_area] == pytest.approx([0.66, 0.0, -0.09])
    # Dry air at 20 °C and 101325 Pa, R = 287.05 J/(kg K).
    assert air.density == pytest.approx(101325 / (287.05 * 293.15), rel=1e-3)
    np.testing.assert_allclose([air.front, air.rear], [[0.0, 0.0, 0.31], [-2.8, 0.0, 0.31]])
    front = "front: [0.2 m, 0 m, 0.4 m]}\n"
    other = model_of(with_lines(AIR.replace("}\n", f", {front}"))).aerodynamics
    assert other is not None
    np.testing.assert_allclose(other.front, [0.2, 0.0, 0.4])


def test_straps_and_chocks_have_the_numbers_of_the_file() -> None:
    model = model_of(with_lines(STRAP, CHOCKS))
    (strap,) = model.tie_downs
    assert (strap.name, strap.stiffness, strap.damping, strap.preload) == ("front left", 2e6, 0.0, 0.0)
    np.testing.assert_allclose([strap.point, strap.anchor], [[0.5, 0.4, 0.3], [1.0, 0.8, 0.0]])
    assert [(chock.wheel, chock.clearance, chock.stiffness) for chock in model.chocks] == [
        (2, 0.005, 4e5),
        (3, 0.005, 4e5),
    ]


def test_a_car_without_these_has_none_of_them() -> None:
    model = model_of(SEDAN)
    assert (model.aerodynamics, model.tie_downs, model.chocks, model.held) == (None, (), (), ())


def test_a_quarter_car_has_one_corner_that_is_not_mirrored() -> None:
    model = library.find("quarter_car")
    assert model.held == (0, 1, 3, 4, 5)
    assert [body.name for body in model.bodies] == [
        "chassis",
        "corner left lower arm",
        "corner left upper arm",
        "corner left knuckle",
    ]
    assert [wheel.name for wheel in model.wheels] == ["fl"]
    assert model.wheels[0].centre[1] > 0.0


REFUSED = {
    "braking-the-wrong-way": (
        changed(SEDAN, (TIE_ROD, f"{TIE_ROD}    brakes: {{torque: -1 kN m}}\n")),
        "-1 kN m",
        "axles[1].brakes.torque: -1 kN m is out of range: must be at least 0 kN m",
    ),
    "force-for-moment": (
        changed(SEDAN, (TIE_ROD, f"{TIE_ROD}    brakes: {{torque: 1 kN}}\n")),
        "1 kN}",
        "axles[1].brakes.torque: 'kN' is a unit of force, expected a moment (N m, kN m, MN m; for instance "
        "10 kN m)",
    ),
    "wind-that-drives": (
        with_lines(AIR.replace("0.66 m2", "-0.66 m2")),
        "-0.66 m2",
        "aerodynamics.drag_area: -0.66 m2 is out of range: must be at least 0 m2",
    ),
    "drag-nowhere": (
        with_lines(AIR.replace("centre: [-1.2 m, 0 m, 0.6 m], ", "")),
        "aerodynamics",
        "aerodynamics.centre: key 'centre' is missing (Where the drag acts on the chassis)",
    ),
    "strap-that-hangs": (
        with_lines(STRAP.replace("0.8 m, 0 m]", "0.8 m, 350 mm]")),
        "anchor",
        "tie_downs.front_left.anchor: at z = 350 mm does not lie below the strap's point on the chassis, at "
        "300 mm",
    ),
    "strap-of-no-length": (
        with_lines(STRAP.replace("[1 m, 0.8 m, 0 m]", "[0.5 m, 0.4 m, 300 mm]")),
        "anchor",
        "tie_downs.front_left.anchor: at z = 300 mm does not lie below the strap's point on the chassis, at "
        "300 mm",
    ),
    "strap-of-rubber-band": (
        with_lines(STRAP.replace("2 kN/mm", "0 N/mm")),
        "0 N/mm",
        "tie_downs.front_left.stiffness: 0 N/mm is out of range: must be above 0 N/mm",
    ),
    "chocks-of-no-wheel": (
        with_lines(CHOCKS.replace("rr]", "3r]")),
        "3r]",
        "chocks.wheels[1]: no wheel '3r', known: fl, fr, rl, rr",
    ),
    "chocks-twice": (
        with_lines(CHOCKS.replace("rr]", "rl]")),
        "rl], gap",
        "chocks.wheels[1]: wheel 'rl' has its chocks already",
    ),
    "chocks-of-none": (
        with_lines(CHOCKS.replace("[rl, rr]", "[]")),
        "wheels: []",
        "chocks.wheels: 0 items, there must be at least 1",
    ),
    "held-with-two-axles": (
        with_lines("held: [yaw]\n"),
        "axles:",
        "axles: 2 given, a vehicle whose motions are held has one axle",
    ),
    "one-axle-not-held": (
        changed(QUARTER, ("held: [surge, sway, roll, pitch, yaw]\n", "")),
        "axles:",
        "axles: 1 given, a vehicle has at least two axles, or one with held motions",
    ),
    "nose-dives": (
        changed(QUARTER, ("sway, roll, pitch", "sway, roll")),
        "axles:",
        "axles: a vehicle of one axle falls over, hold its pitch, too",
    ),
    "falls-on-its-side": (
        changed(QUARTER, ("sway, roll, pitch", "sway, pitch")),
        "left\n    hardpoints",
        "axles[0].side: a vehicle of one side falls over, hold its roll, too",
    ),
    "held-twice": (
        changed(QUARTER, ("sway, roll", "sway, sway, roll")),
        "sway, roll",
        "held[2]: sway is held already",
    ),
    "held-nothing-known": (
        changed(QUARTER, ("sway, roll", "sway, rol")),
        "rol,",
        "held[2]: 'rol': expected one of surge, sway, heave, roll, pitch, yaw, did you mean 'roll'?",
    ),
    "right-side": (
        changed(QUARTER, ("side: left", "side: right")),
        "right",
        "axles[0].side: 'right': expected one of left",
    ),
    "bar-of-one-side": (
        changed(
            QUARTER,
            ("    tie_rod: {to", f"    anti_roll_bar: {BAR}\n    tie_rod: {{to"),
        ),
        "anti_roll_bar",
        "axles[0].anti_roll_bar: an axle with its left side alone has nothing to join it to",
    ),
}


@wrong_lines(REFUSED)
def test_a_wrong_line_is_reported_at_its_position(text: str, part: str, message: str, tmp_path: Path) -> None:
    assert refused_vehicle(tmp_path, text) == [f"{position(text, part)}: {message}"]
