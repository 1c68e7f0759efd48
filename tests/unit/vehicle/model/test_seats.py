"""Seats of a vehicle: what its file says of them, and what is felt on them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from mastd.arrays import FloatArray
from mastd.errors import SettingsError, UsageError
from mastd.settings.core.loader import load_text
from mastd.settings.vehicle.vehicle import VehicleSettings
from mastd.vehicle.model import library
from mastd.vehicle.model.build import build
from mastd.vehicle.model.definition import Model
from mastd.vehicle.payload.seat import feel
from mastd.vehicle.state.trace import (
    ACCELERATION,
    ANGLES,
    ANGULAR_ACCELERATION,
    ANGULAR_VELOCITY,
    CHASSIS_WIDTH,
)
from tests.support.vehicle.texts import SEDAN, VEHICLES, changed

GRAVITY = 9.81
SEATS = "seats:\n  driver: {position: [-1440 mm, 370 mm, 490 mm]}\n"


def model_of(text: str) -> Model:
    return build(load_text(text, "vehicle.yaml", VehicleSettings))


@pytest.mark.parametrize("name", sorted(path.stem for path in VEHICLES.glob("*.yaml")))
def test_every_shipped_vehicle_has_a_drivers_seat_within_it(name: str) -> None:
    settings = load_text(
        (VEHICLES / f"{name}.yaml").read_text(encoding="utf-8").replace("tyres/", f"{VEHICLES}/tyres/"),
        f"{name}.yaml",
        VehicleSettings,
    )
    model = build(settings)
    position = model.seat().position + model.bodies[0].centre
    np.testing.assert_allclose(position, settings.seats["driver"].position, atol=1e-12)
    wheels = np.array([wheel.centre for wheel in model.wheels])
    assert np.min(wheels[:, 0]) <= position[0] <= np.max(wheels[:, 0]) + 1.0
    assert 0.0 < position[1] < np.max(wheels[:, 1])
    assert 0.3 < position[2] < 2.5


def test_a_vehicle_without_seats_is_valid_and_whoever_asks_for_one_is_told() -> None:
    model = model_of(changed(SEDAN, (SEATS, "")))
    assert model.seats == ()
    with pytest.raises(
        UsageError, match=r"benchmark sedan: has no seats, one is written as `seats: {driver: "
    ):
        model.seat()


def test_a_seat_that_there_is_not_is_told_with_the_nearest_name() -> None:
    model = model_of(
        changed(SEDAN, (SEATS, f"{SEATS}  front_passenger: {{position: [0 m, -0.4 m, 0.5 m]}}\n"))
    )
    assert [seat.name for seat in model.seats] == ["driver", "front_passenger"]
    with pytest.raises(
        UsageError, match=r"benchmark sedan: no seat 'passenger', did you mean 'front_passenger'\?"
    ):
        model.seat("passenger")


def test_a_seat_in_the_file_is_checked_like_everything_in_it(tmp_path: Path) -> None:
    path = tmp_path / "vehicle.yaml"
    path.write_text(
        changed(SEDAN, ("driver: {position: [-1440 mm", "Driver: {position: [-1440")), encoding="utf-8"
    )
    with pytest.raises(SettingsError) as refused:
        library.find(str(path))
    assert ["seats.Driver" in line for line in refused.value.problems] == [True, True], refused.value.problems


def felt_on_a_path(time: float, place: FloatArray) -> FloatArray:
    """Return what a seat feels on a made-up path, from the second difference of where the seat is."""
    step = 1e-4

    def attitude(at: float) -> Rotation:
        return Rotation.from_euler("ZYX", [0.7 * at, 0.3 * np.sin(2.0 * at), 0.2 * np.cos(3.0 * at)])

    def centre(at: float) -> FloatArray:
        return np.array([3.0 * at, np.sin(2.0 * at), 0.1 * np.cos(5.0 * at)])

    def where(at: float) -> FloatArray:
        position: FloatArray = centre(at) + attitude(at).apply(place)
        return position

    def second(of: list[FloatArray]) -> FloatArray:
        difference: FloatArray = (of[2] - 2.0 * of[1] + of[0]) / step**2
        return difference

    def turning(at: float) -> FloatArray:
        turn: FloatArray = (attitude(at - step).inv() * attitude(at + step)).as_rotvec()
        return turn / (2.0 * step)

    times = [time - step, time, time + step]
    into_chassis = attitude(time).inv()
    row = np.zeros(CHASSIS_WIDTH)
    row[ACCELERATION] = into_chassis.apply(second([centre(at) for at in times]))
    row[ANGLES] = attitude(time).as_euler("ZYX")[::-1]
    row[ANGULAR_VELOCITY] = turning(time)
    row[ANGULAR_ACCELERATION] = (turning(time + step) - turning(time - step)) / (2.0 * step)
    felt = np.empty(9)
    feel(row, place, GRAVITY, felt)
    expected = into_chassis.apply(second([where(at) for at in times]) + np.array([0.0, 0.0, GRAVITY]))
    np.testing.assert_allclose(felt[:3], expected, atol=1e-5)
    np.testing.assert_array_equal(felt[3:6], row[ANGULAR_VELOCITY])
    np.testing.assert_array_equal(felt[6:9], row[ANGULAR_ACCELERATION])
    return felt


@pytest.mark.parametrize("time", [0.0, 0.4, 1.1, 2.3])
def test_the_seat_feels_the_acceleration_of_its_place_less_gravity(time: float) -> None:
    here = felt_on_a_path(time, np.array([-0.2, 0.4, -0.1]))
    there = felt_on_a_path(time, np.array([1.5, -0.4, 0.6]))
    assert np.linalg.norm(here[:3] - there[:3]) > 0.1  # the path turns enough for the place to count


def test_at_rest_a_seat_feels_gravity_upwards_wherever_it_is() -> None:
    felt = np.empty(9)
    feel(np.zeros(CHASSIS_WIDTH), np.array([1.0, 2.0, 3.0]), GRAVITY, felt)
    np.testing.assert_array_equal(felt, [0.0, 0.0, GRAVITY, *[0.0] * 6])
