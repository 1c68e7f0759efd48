"""What the example rigs compute, without a table: forces, courses, poses, times of a record."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from hil_sim.rigs import damper, driver, pose, quarter_car, replay, vehicle
from hil_sim.rigs.driver_course import Follower
from mastd.arrays import FloatArray
from mastd.errors import FormatError
from mastd.vehicle.drivers.course import double_lane_change
from mastd.wire.rigs.client_session import MotionSeen

STEP = 1e-3


def motion(
    values: Sequence[float], time: float = 0.0, state: str = "RUNNING", speed: float = 1.0
) -> MotionSeen:
    return MotionSeen(round(time / STEP), time, state, speed, 0, True, np.array(values, dtype=np.float64))


def ride(force: bool) -> tuple[float, float]:
    """Return the effective acceleration of a quarter car's body on a rough road, and the largest power that
    the skyhook's force gave."""
    body, wheel, spring, soft, tyre = 340.0, 40.0, 22e3, 700.0, 210e3
    noise = np.random.default_rng(5).standard_normal(20_000)
    law = damper.Skyhook(1, 2500.0, 4000.0)
    x, road, given, power, squares = np.zeros(4), 0.0, 0.0, 0.0, 0.0
    acceleration = 0.0
    for k, shock in enumerate(noise):
        if force:
            given = law.step(k * STEP, acceleration, [x[1] - x[0]])[0]
        power = max(power, given * (x[2] - x[3]))
        # A road's velocity is white: 2 π n0 √(Gd v), class B at 20 m/s.
        road += STEP * 2.0 * math.pi * 0.1 * math.sqrt(64e-6 * 20.0) * shock / math.sqrt(2.0 * STEP)
        strut = spring * (x[0] - x[1]) + soft * (x[2] - x[3]) - given
        acceleration = -strut / body
        x[2] += STEP * acceleration
        x[3] += STEP * (strut + tyre * (road - x[1])) / wheel
        x[:2] += STEP * x[2:]
        squares += acceleration**2
    return math.sqrt(squares / len(noise)), power


def test_the_skyhook_calms_the_body_and_its_damper_only_takes_energy_out() -> None:
    passive, _ = ride(force=False)
    active, power = ride(force=True)
    assert active < 0.85 * passive
    # The rate of the travel comes through a filter; what that lets through is no more than a moment of it.
    assert power < 30.0


def test_the_skyhook_ignores_offsets_and_gives_nothing_without_a_vehicle() -> None:
    law = damper.Skyhook(2, 2500.0, 4000.0)
    for k in range(20_000):
        forces = law.step(k * STEP, 0.3, [0.01, 0.02])
    assert abs(law.speed) < 1e-6
    assert forces == [0.0, 0.0]
    assert law.step(30.0, math.nan, [0.0, 0.0]) == [0.0, 0.0]
    ecu = damper.DamperEcu(
        ("fl", "fr"), law, ("vehicle.acceleration.z", "vehicle.travel.fl", "vehicle.travel.fr")
    )
    assert ecu.answer(motion([0.0, 0.01, 0.01], 31.0)) == [0.0, 0.0]
    assert "fl" in ecu.line()


def test_a_force_pushes_against_the_body_and_never_along_the_damper() -> None:
    law = damper.Skyhook(1, 2500.0, 4000.0)
    for k in range(100):  # the body goes up and the damper becomes longer: pull
        (force,) = law.step(k * STEP, 2.0, [-0.3 * k * STEP])
    assert -2500.0 * 0.2 < force < -2500.0 * 0.15
    for k in range(100, 200):  # still up, but the damper becomes shorter: nothing
        (force,) = law.step(k * STEP, 0.0, [0.3 * k * STEP])
    assert force == 0.0


def test_the_quarter_car_moves_as_its_equations_say() -> None:
    """Against an independent integration, over a bump that lifts the tyre off the ground."""
    weight = 380.0 * quarter_car.GRAVITY

    def height(time: float) -> float:
        return 0.06 * math.sin(2.0 * math.pi * 6.0 * time) if time > 0.1 else 0.0

    def derivative(time: float, x: FloatArray) -> list[float]:
        after = (math.floor(time / STEP + 1e-9) + 1) * STEP
        before = after - STEP
        rate = (height(after) - height(before)) / STEP
        now = height(before) + rate * (time - before)
        strut = 22e3 * (x[0] - x[1]) + 1500.0 * (x[2] - x[3])
        pressed = max(weight + 210e3 * (now - x[1]) + 250.0 * (rate - x[3]), 0.0)
        return [x[2], x[3], -strut / 340.0, (strut + pressed - weight) / 40.0]

    car = quarter_car.QuarterCar(340.0, 40.0, 22e3, 1500.0, 210e3, 250.0, STEP)
    heights, loads = [], []
    for k in range(1, 601):
        car.go_on(height(k * STEP))
        heights.append(car.body)
        loads.append(car.load)
    times = np.arange(1, 601) * STEP
    exact = solve_ivp(derivative, (0.0, 0.6), np.zeros(4), t_eval=times, max_step=STEP, rtol=1e-8, atol=1e-10)
    assert np.abs(np.array(heights) - exact.y[0]).max() < 2e-5
    assert min(loads) == 0.0
    assert max(loads) > 2.0 * weight


def test_the_quarter_car_lies_in_off_and_its_wrench_is_that_of_a_force_where_it_stands() -> None:
    car = quarter_car.QuarterCar(340.0, 40.0, 22e3, 1500.0, 210e3, 250.0, STEP)
    rig = quarter_car.OnTable(car, (0.4, -0.3), STEP)
    load = car.weight
    still = (0.0, 0.0, -load, 0.3 * load, 0.4 * load, 0.0)
    assert rig.answer(motion([0, 0, -0.2, 0, 0, 0], 0.0, "OFF")) == pytest.approx(still)
    assert rig.answer(motion([0, 0, -0.2, 0, 0, 0], STEP, "LOW")) == pytest.approx(still)
    raised = rig.answer(motion([0, 0, -0.2, 0.01, 0, 0], 2 * STEP, "READY"))
    assert raised[2] == pytest.approx(-(load + 210e3 * 0.01 * -0.3 + 250.0 * -0.3 * 0.01 / STEP), rel=0.05)
    assert rig.answer(motion([0, 0, -0.1, 0, 0, 0], 3 * STEP, "OFF")) == pytest.approx(still)


def single_track(driven: Follower, seconds: float, speed: float) -> FloatArray:
    """Return where a car goes (n, 2) that a follower steers: a linear single track of 1.5 t."""
    mass, inertia, front, rear, grip_front, grip_rear = 1500.0, 2400.0, 1.2, 1.5, 90e3, 110e3
    largest = (front + rear) / 5.0  # rad at the end of the steering: it turns with 5 m, not with 6 m
    x = y = yaw = sideways = rate = 0.0
    way = []
    for k in range(round(seconds / STEP)):
        steering = driven.drive(k * STEP, speed, yaw, rate)[0]
        slip_front = largest * steering - (sideways + front * rate) / speed
        slip_rear = -(sideways - rear * rate) / speed
        sideways += STEP * ((grip_front * slip_front + grip_rear * slip_rear) / mass - speed * rate)
        rate += STEP * (front * grip_front * slip_front - rear * grip_rear * slip_rear) / inertia
        yaw += STEP * rate
        x += STEP * (speed * math.cos(yaw) - sideways * math.sin(yaw))
        y += STEP * (speed * math.sin(yaw) + sideways * math.cos(yaw))
        way.append((x, y))
    return np.array(way)


def test_a_course_is_followed_through_a_double_lane_change() -> None:
    course = double_lane_change(10.0)
    speed = 60.0 / 3.6
    way = single_track(Follower(course, 6.0, None), 10.0, speed)
    off = [abs(course.nearest(x, y, x)[1]) for x, y in way[::50]]
    assert max(way[:, 1]) > 3.0, "it changes to the other lane"
    assert max(off) < 0.8
    assert abs(way[-1, 1]) < 0.5


def test_a_follower_holds_the_speed_and_lets_go_where_no_car_is_driven() -> None:
    driven = Follower(double_lane_change(10.0), 6.0, 15.0)
    assert driven.drive(math.nan, math.nan, math.nan, math.nan) == (0.0, 0.0, 0.0, 0.0, 100.0)
    assert driven.drive(0.0, 10.0, 1.0, 0.0)[1] > 0.5
    assert driven.drive(0.1, 18.0, 1.0, 0.0)[2] > 0.3


def test_a_script_is_driven_by_the_time_of_the_profile(tmp_path: Path) -> None:
    table = tmp_path / "script.csv"
    table.write_text("time_s,steering,throttle,brake\n1,0,0.2,0\n2,0.5,0.4,0\n3,0,0,1\n", encoding="utf-8")
    plain = tmp_path / "script.yaml"
    plain.write_text("- [1, 0, 0.2, 0]\n- [2, 0.5, 0.4, 0]\n- [3, 0, 0, 1]\n", encoding="utf-8")
    assert driver.read_script(table) == driver.read_script(plain)
    hands = driver.Driving(driver.Script(driver.read_script(plain)), ("gear", "throttle", "steering"), STEP)
    nothing = (math.nan, math.nan, math.nan)
    assert hands.answer(motion([0.0, *nothing], state="OFF")) == [100.0, 0.2, 0.0]
    assert hands.answer(motion([1.5 - STEP, *nothing])) == pytest.approx([100.0, 0.3, 0.25])
    assert hands.answer(motion([1.5, *nothing], speed=0.0)) == pytest.approx([100.0, 0.3, 0.25])
    assert hands.answer(motion([9.0, *nothing])) == [100.0, 0.0, 0.0]
    assert "throttle   0%" in hands.line()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("- [0, 0, 0]\n", "row 1: expected four numbers"),
        ("- [0, 0, 0, .nan]\n", "row 1: expected four numbers"),
        ("- [1, 0, 0, 0]\n- [1, 0, 0, 0]\n", "after that of the row before"),
        ("steering: 1\n", "expected a list of rows"),
        ("[[", "cannot be read"),
    ],
)
def test_a_script_that_is_none_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "script.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FormatError, match=problem):
        driver.read_script(path)


def laws(tmp_path: Path) -> dict[str, pose.Law]:
    path = tmp_path / "poses.csv"
    path.write_text("time_s,heave_m\n0,0\n1,0.02\n2.5,-0.01\n4,0\n", encoding="utf-8")
    return {
        "sine": pose.sine(0.01, 1.5),
        "sweep": pose.sweep(0.01, 0.5, 5.0, 3.0),
        **pose.file_laws(path),
    }


@pytest.mark.parametrize("name", ["sine", "sweep", "heave"])
def test_poses_begin_smoothly_and_have_their_exact_derivatives(name: str, tmp_path: Path) -> None:
    law = laws(tmp_path)[name]
    step = 5e-4
    rows = np.array([pose.faded(law, k * step) for k in range(-1, 10_001)])
    assert not rows[:2].any()
    middle = (rows[2:] - rows[:-2]) / (2.0 * step)
    turning = np.abs(rows[2:, 2] - rows[:-2, 2]) > 0.5  # a sweep that ends, and ends of a spline's pieces
    assert np.abs(middle[:, 0] - rows[1:-1, 1]).max() < 3e-5
    assert np.abs(middle[:, 1] - rows[1:-1, 2])[~turning].max() < 3e-2
    assert np.abs(rows[:, 0]).max() > 5e-3


def test_a_pose_follows_the_profiles_time_and_stands_on_hold() -> None:
    channels = ("pose.heave", "pose.roll", "rate.heave", "acceleration.heave")
    source = pose.PoseSource({"heave": (pose.sine(0.01, 1.0), pose.sine(0.002, 1.0))}, channels, STEP)
    assert source.answer(motion([0.0], state="OFF")) == [0.0, 0.0, 0.0, 0.0]
    heave, roll, rate, acceleration = source.answer(motion([3.25 - STEP]))
    expected = (0.012, 0.0, 0.0, -0.012 * 4.0 * math.pi**2)
    assert (heave, roll, rate, acceleration) == pytest.approx(expected, abs=1e-9)
    assert source.answer(motion([3.1], speed=0.0))[2:] == [0.0, 0.0]


def test_a_record_is_replayed_by_the_time_of_its_profile() -> None:
    """A motion shows the time of the cycle before the one that its answer goes into."""
    times = STEP * np.array([0, 1, 2, 2, 2, 3, 4])  # held for two periods
    rows = np.arange(7.0).reshape(-1, 1)
    rig = replay.Recorded(times, rows, STEP)
    assert rig.answer(motion([0.0], state="OFF")) == [0.0]
    assert rig.answer(motion([math.nan], state="READY")) == [0.0]
    played = [float(rig.answer(motion([k * STEP]))[0]) for k in range(4)]
    assert played == [1.0, 2.0, 5.0, 6.0]
    assert rig.answer(motion([math.nan], state="READY")) == [6.0]


def test_a_vehicle_lies_in_off_and_takes_the_steps_of_the_plants_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[object] = []

    class Vehicle:
        wrench = np.arange(6.0)

        def lie(self, pose: FloatArray) -> None:
            done.append("lie")

        def follow(self, pose: FloatArray, steps: int) -> None:
            done.append(steps)

    rig = vehicle.Riding(Vehicle(), STEP)  # type: ignore[arg-type]  # what is used of a vehicle
    for time, state in ((5.0, "LOW"), (5.001, "LOW"), (5.004, "RUNNING"), (5.004, "HOLD"), (5.005, "OFF")):
        assert rig.answer(motion([0.0] * 6, time, state)).tolist() == [0, 1, 2, 3, 4, 5]
    assert done == ["lie", 1, 3, 0, "lie"]
