"""A car driven by hand: which way it goes, what happens when nothing is heard any more; nothing jumps."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mastd.roads.ground import Ground
from mastd.vehicle.drivers.base import Seen
from mastd.vehicle.drivers.car import Car
from mastd.vehicle.drivers.controls import Controls, no_controls
from mastd.vehicle.drivers.manual import COASTING, PEDAL_TIME, RACK_RATE, ManualDriver
from mastd.vehicle.model.library import find
from mastd.vehicle.powertrain.fields import DRIVE, DRIVER
from mastd.vehicle.simulation.simulation import Simulation

Script = Callable[[float], tuple[float, float, float, float, float] | None]
STEP, SAMPLE = 1e-3, 0.01
TIMEOUT = 0.3
TORQUES, MANUAL = "benchmark_sedan", "sedan"


@cache
def car_of(name: str) -> Car:
    return Car.of(find(name))


def seen(car: Car, time: float, speed: float, engine: float = 0.0) -> Seen:
    spins = np.full(len(car.model.wheels), speed / 0.3)
    return Seen(time, np.zeros(3), 0.0, np.array([speed, 0.0, 0.0]), 0.0, spins, engine)


def controls_of(
    driver: ManualDriver, car: Car, script: Script, duration: float, speed: float, engine: float = 200.0
) -> tuple[Controls, list[bool]]:
    """Return the controls of a car that keeps its speed whatever is done, and when its driver was lost."""
    parts, lost = [], []
    for look in range(round(duration / SAMPLE)):
        time = look * SAMPLE
        values = script(time)
        if values is not None:
            driver.receive(np.array(values), time)
        times = np.asarray(time + STEP * np.arange(1, 11), dtype=np.float64)
        controls = no_controls(car.model, times)
        driver.act(seen(car, time, speed, engine), times, controls)
        parts.append(controls)
        lost.append(driver.lost)
    names = ("drives", "drive_torque", "brake_torque", "driver")
    return Controls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names)), lost


def driven(name: str, script: Script, duration: float, speed: float = 0.0) -> tuple[ManualDriver, list[Seen]]:
    """Drive a car through time; return the driver and what was seen at each look and at the end."""
    car = car_of(name)
    driver = ManualDriver(car.model, car, TIMEOUT)
    simulation = Simulation(car.model, step=STEP, ground=Ground.flat())
    simulation.start(speed, car.gear_for(speed))
    sights = [Seen.last(simulation.sample())]
    for look in range(round(duration / SAMPLE)):
        time = look * SAMPLE
        values = script(time)
        if values is not None:
            driver.receive(np.array(values), time)
        times = np.asarray(time + STEP * np.arange(1, 11), dtype=np.float64)
        controls = no_controls(car.model, times)
        driver.act(sights[-1], times, controls)
        sights.append(Seen.last(simulation.run(controls.rows(car.model))))
    return driver, sights


@pytest.mark.parametrize("steering", [0.3, -0.3])
@pytest.mark.parametrize("name", [TORQUES, MANUAL])
def test_steering_to_the_left_turns_the_car_to_the_left(name: str, steering: float) -> None:
    _, sights = driven(name, lambda time: (steering, 0.0, 0.0, 0.0, 0.0), 1.0, speed=8.0)
    assert np.sign(sights[-1].yaw) == np.sign(steering)
    assert abs(sights[-1].yaw_rate) > 0.1


def test_all_racks_go_by_one_share_in_the_ratio_of_rolling_about_one_point() -> None:
    car = car_of("transporter_8x8")
    driver = ManualDriver(car.model, car, TIMEOUT)
    controls, _ = controls_of(driver, car, lambda time: (1.0, 0.0, 0.0, 0.0, 0.0), 2.0, 5.0)
    places = np.abs(controls.drives[:, :, 0])
    limits = np.array([drive.limit for drive in car.model.drives])
    assert (places <= limits).all()
    assert np.max(places[-1] / limits) == pytest.approx(0.98, abs=1e-3)
    moved = places[:, 0] > 1e-4
    shares = np.abs(car.track.drive_ratios(len(limits)))
    assert np.allclose(places[moved, 1] / places[moved, 0], shares[1] / shares[0], rtol=1e-9)


@settings(deadline=None, max_examples=12)
@given(
    st.lists(
        st.none()
        | st.tuples(
            st.floats(-1, 1),
            st.floats(0, 1),
            st.floats(0, 1),
            st.floats(0, 1),
            st.sampled_from([-1, 0, 1, 3, 57, DRIVE]),
        ),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from([TORQUES, MANUAL]),
    st.sampled_from([0.0, 12.0]),
)
def test_whatever_is_heard_racks_and_pedals_move_as_hands_and_feet_do(
    heard: list[tuple[float, float, float, float, float] | None], name: str, speed: float
) -> None:
    car = car_of(name)
    driver = ManualDriver(car.model, car, TIMEOUT)
    controls, _ = controls_of(driver, car, lambda time: heard[int(time / 0.5) % len(heard)], 3.0, speed)
    pedals = controls.driver[:, [DRIVER.throttle, DRIVER.brake, DRIVER.clutch]]
    assert ((pedals >= 0.0) & (pedals <= 1.0)).all()
    assert np.abs(np.diff(pedals, axis=0)).max() <= STEP / PEDAL_TIME + 1e-12
    place, rate, acceleration = (controls.drives[:, 0, order] for order in range(3))
    assert np.abs(place).max() <= car.model.drives[0].limit
    assert np.abs(rate).max() <= 1.02 * RACK_RATE
    # A cubic between the samples: the trapezoid of rate is exact but for the jerk.
    trapezoid = 0.5 * (rate[1:] + rate[:-1]) - np.diff(acceleration) * STEP / 12.0
    assert np.allclose(np.diff(place) / STEP, trapezoid, rtol=0, atol=1e-9)
    max_drive = 4.0 * car.mass * np.mean([wheel.tyre.rolling_radius for wheel in car.model.wheels])
    assert np.abs(np.diff(controls.drive_torque, axis=0)).max() <= max_drive / 4 * STEP / PEDAL_TIME * 1.01
    assert (controls.brake_torque >= 0.0).all()


def test_a_driver_who_is_not_heard_is_lost_after_the_timeout_and_back_with_the_next_word() -> None:
    car = car_of(MANUAL)
    driver = ManualDriver(car.model, car, TIMEOUT)
    assert driver.lost
    heard = (0.4, 0.8, 0.0, 0.0, 2.0)
    controls, lost = controls_of(
        driver, car, lambda time: heard if time < 1.0 or time > 2.0 else None, 3.0, 12.0
    )
    last = 0.99
    times = np.arange(len(lost)) * SAMPLE
    silent = times - np.minimum(times, last)
    silent[times > 2.0] = 0.0
    sure = np.abs(silent - TIMEOUT) > 1e-9
    assert np.array_equal(np.array(lost)[sure], (silent > TIMEOUT)[sure])
    frozen = slice(round(0.6 / STEP), round(1.29 / STEP))
    assert np.ptp(controls.driver[frozen], axis=0) == pytest.approx(0.0, abs=1e-12)
    gone = slice(round(1.5 / STEP), round(2.0 / STEP))
    assert not controls.driver[gone, DRIVER.throttle].any()
    assert (controls.driver[gone, DRIVER.clutch] == 1.0).all()
    rack = controls.drives[:, 0, 0]
    assert rack[gone] == pytest.approx(rack[frozen][-1], rel=1e-3)
    assert (controls.driver[gone, DRIVER.gear] == 2.0).all()
    assert controls.driver[-1, DRIVER.throttle] == pytest.approx(0.8)


@pytest.mark.parametrize("name", [TORQUES, MANUAL])
def test_a_car_whose_driver_is_lost_brakes_gently_to_standstill_and_is_held(name: str) -> None:
    speed = 6.0
    driver, sights = driven(
        name, lambda time: (0.0, 0.2, 0.0, 0.0, DRIVE) if time < 0.2 else None, 5.5, speed=speed
    )
    assert driver.lost
    speeds = np.array([sight.speed for sight in sights])
    coasting = slice(100, 250)
    slope = np.polyfit(SAMPLE * np.arange(150), speeds[coasting], 1)[0]
    assert slope == pytest.approx(-COASTING, rel=0.1)
    assert np.abs(speeds[-50:]).max() < 0.05


def test_in_drive_a_car_with_a_gearbox_by_hand_starts_changes_up_and_stands_again_without_stalling() -> None:
    def script(time: float) -> tuple[float, float, float, float, float]:
        return (0.0, 0.6, 0.0, 0.0, DRIVE) if time < 5.0 else (0.0, 0.0, 0.6, 0.0, DRIVE)

    _, sights = driven(MANUAL, script, 8.0)
    speeds = [sight.speed for sight in sights]
    assert max(speeds) > 10.0
    assert abs(speeds[-1]) < 0.05
    powertrain = find(MANUAL).powertrain
    assert powertrain is not None
    assert min(sight.engine_speed for sight in sights) > 1.5 * powertrain.engine.stall_speed


def test_a_car_that_has_come_to_rest_in_a_high_gear_starts_in_the_first() -> None:
    car = car_of(MANUAL)
    driver = ManualDriver(car.model, car, TIMEOUT)
    rolling, _ = controls_of(driver, car, lambda time: (0.0, 0.1, 0.0, 0.0, DRIVE), 1.0, 25.0)
    assert rolling.driver[-1, DRIVER.gear] > 2.0
    standing, _ = controls_of(driver, car, lambda time: (0.0, 0.0, 0.5, 0.0, DRIVE), 1.5, 0.0, engine=84.0)
    assert standing.driver[-1, DRIVER.gear] == 1.0
    assert standing.driver[-1, DRIVER.clutch] == 1.0


def test_a_driver_without_a_clutch_pedal_reverses() -> None:
    _, sights = driven(MANUAL, lambda time: (0.0, 0.3, 0.0, 0.0, -1.0), 3.0)
    assert sights[-1].speed < -1.0


def test_whoever_touches_the_clutch_has_it() -> None:
    car = car_of(MANUAL)

    def script(time: float) -> tuple[float, float, float, float, float]:
        return 0.0, 0.3, 0.0, 0.5 if time < 0.5 else 0.0, 1.0 if time < 1.5 else DRIVE

    driver = ManualDriver(car.model, car, TIMEOUT)
    controls, _ = controls_of(driver, car, script, 2.0, 0.0, engine=80.0)
    clutch = controls.driver[:, DRIVER.clutch]
    assert clutch[round(0.4 / STEP)] == 0.5
    # The engine would stall here: the foot is the driver's.
    assert not clutch[round(0.6 / STEP) : round(1.5 / STEP)].any()
    assert clutch[-1] > 0.5, "in DRIVE there is help again"


@pytest.mark.parametrize(("gear", "speed", "lever"), [(-1.0, 10.0, 0.0), (-1.0, 0.0, -1.0), (57.0, 0.0, 0.0)])
def test_a_gear_that_there_is_not_is_neutral_and_reverse_waits_for_the_car(
    gear: float, speed: float, lever: float
) -> None:
    car = car_of(MANUAL)
    driver = ManualDriver(car.model, car, TIMEOUT)
    controls, _ = controls_of(driver, car, lambda time: (0.0, 0.0, 0.0, 0.0, gear), 1.0, speed)
    assert controls.driver[-1, DRIVER.gear] == lever


def test_a_gearbox_that_chooses_itself_gets_the_lever_as_it_is() -> None:
    car = car_of("transporter_8x8")
    driver = ManualDriver(car.model, car, TIMEOUT)
    controls, _ = controls_of(
        driver, car, lambda time: (0.0, 0.5, 0.0, 0.0, DRIVE if time < 0.5 else 2.0), 1.0, 3.0
    )
    levers = controls.driver[:, DRIVER.gear]
    assert (levers[0], levers[-1]) == (DRIVE, 2.0)
