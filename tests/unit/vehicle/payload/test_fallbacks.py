"""What a driven vehicle does when something goes wrong: each case provoked for real."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mastd.arrays import FloatArray
from mastd.index_table import size_of
from mastd.loop.payload.virtual_drive import HOME, MAX_WAY_HOME, VirtualDrive
from mastd.settings.profile.cueing import WashoutSettings
from mastd.settings.profile.oils import FlatRoad, KerbRoad, RandomDriver
from mastd.vehicle.drivers.controls import Controls, no_controls
from mastd.vehicle.drivers.random import STEERING_BAND, RandomPace, Wave
from mastd.vehicle.drivers.takeover import GIVING, TAKING, Takeover
from mastd.vehicle.model.definition import Model
from mastd.vehicle.model.library import find
from mastd.vehicle.payload import fallbacks
from mastd.vehicle.payload.fallbacks import Watch
from mastd.vehicle.payload.road_step import MISSED, SOUND, WATCHED
from tests.support.vehicle.virtual_drives import PERIOD, by_hand, drive_of, grid


@cache
def sedan() -> Model:
    return find("sedan")


def names(drive: VirtualDrive) -> list[str]:
    return [condition.name for condition in drive.conditions]


def until(drive: VirtualDrive, name: str, longest: float) -> str:
    """Drive until something is wrong; return the words for it."""
    for _ in range(round(longest / PERIOD)):
        drive.step()
        if name in names(drive):
            return next(condition.text for condition in drive.conditions if condition.name == name)
    raise AssertionError(f"not {name} within {longest} s")


def shares(drive: VirtualDrive, seconds: float) -> FloatArray:
    """Drive on; return the share of the cue after each period."""
    found = []
    for _ in range(round(seconds / PERIOD)):
        drive.step()
        found.append(drive.vehicle.fraction)
    return np.array(found)


def comes_home(drive: VirtualDrive) -> None:
    """The table is brought to neutral, whatever its vehicle does."""
    for _ in range(round(12.0 / PERIOD)):
        drive.step()
    assert (np.abs(drive.motion[:2]) <= HOME).all()


def assert_fades(share: FloatArray, lasting: float) -> None:
    """From 1 to 0, smoothly, in ``lasting`` s."""
    count = round(lasting / PERIOD)
    assert share[count] == 0.0
    assert not share[count:].any()
    assert (np.diff(share) <= 0.0).all()
    assert np.abs(np.diff(share)).max() < 2.0 * PERIOD / lasting


def test_a_vehicle_without_numbers_stands_still_and_the_table_comes_home() -> None:
    drive = drive_of(road=KerbRoad(kind="kerb", height=0.24, distance=5.0), speed=15.0, duration=4.0)
    text = until(drive, fallbacks.NOT_FINITE, 2.0)
    assert text.startswith("the vehicle's motion is not finite any more, it is frozen, 0.4")
    assert drive.vehicle.frozen
    last = drive.signals.copy()
    assert np.isfinite(last).all()
    assert np.isfinite(drive.felt).all()
    assert_fades(shares(drive, 0.5), fallbacks.FADE_OUT)
    assert np.array_equal(drive.signals, last)
    assert not drive.finished
    comes_home(drive)
    assert names(drive) == [fallbacks.NOT_FINITE]
    assert drive.finished
    drive.begin(np.zeros((3, 6)))
    assert drive.conditions == ()
    assert drive.vehicle.fraction == 1.0
    until(drive, fallbacks.NOT_FINITE, 2.0)


def test_a_vehicle_that_rolls_over_stands_still(tmp_path: Path) -> None:
    left = 6.0 * np.clip((0.5 * np.arange(121) - 10.0) / 15.0, 0.0, 1.0)
    drive = drive_of(road=grid(tmp_path / "corkscrew.crg", left, np.zeros(121)), speed=16.0, duration=3.0)
    text = until(drive, fallbacks.ROLLED_OVER, 3.0)
    assert text.startswith("the vehicle rolled over: roll 60 deg, it is frozen, 1.7")
    assert drive.signals[9] > np.radians(60.0)
    assert_fades(shares(drive, 0.5), fallbacks.FADE_OUT)
    comes_home(drive)


def test_a_vehicle_that_spins_coasts_to_rest_and_is_driven_again() -> None:
    drive = by_hand(road=FlatRoad(friction=0.5), speed=30.0, duration=30.0)

    def go(seconds: float, values: list[float]) -> list[list[str]]:
        seen = []
        for _ in range(round(seconds / PERIOD / 10)):
            drive.receive(np.array(values))
            for _ in range(10):
                drive.step()
                seen.append(names(drive))
        return seen

    go(0.5, [0.0, 0.0, 0.0, 0.0, 100.0])
    go(0.4, [1.0, 0.0, 0.0, 0.0, 100.0])
    while fallbacks.SPUN not in names(drive):
        assert drive.time < 6.0
        go(0.01, [1.0, 0.0, 0.6, 0.0, 100.0])
    assert "off its axis at" in drive.conditions[0].text
    assert "it coasts" in drive.conditions[0].text
    rack = drive.inputs[0]
    go(0.3, [-1.0, 1.0, 0.0, 0.0, 100.0])
    # The driver steers the other way and gives full throttle: nothing of it arrives.
    assert drive.vehicle.fraction == 0.0
    assert drive.inputs[0] == pytest.approx(rack, abs=0.02)
    assert drive.inputs[1] == 0.0
    assert 0.0 < drive.inputs[2] < 0.4
    gone = go(7.0, [0.0, 0.0, 0.0, 0.0, 100.0])
    assert gone[0] == [fallbacks.SPUN]
    assert gone[-1] == []
    assert abs(drive.signals[3]) < 0.1
    assert drive.vehicle.fraction == 1.0
    go(3.0, [0.0, 0.3, 0.0, 0.0, 100.0])
    assert drive.signals[3] > 1.0


def test_a_vehicle_beside_its_road_goes_on_and_is_told(tmp_path: Path) -> None:
    road = grid(tmp_path / "short.crg", np.zeros(61), np.zeros(61))
    drive = drive_of(road=road, speed=16.0, driver=RandomDriver(kind="random"))
    text = until(drive, fallbacks.OFF_ROAD, 6.0)
    assert text.startswith("the vehicle is off the road: wheel ")
    assert "by 0.5" in text
    assert drive.signals[drive.layout.wheel(7)].max() > fallbacks.OFF_ROAD_DISTANCE
    speed = drive.signals[3]
    assert (shares(drive, 0.3) == 1.0).all()
    assert drive.signals[3] == pytest.approx(speed, abs=2.0)
    assert names(drive) == [fallbacks.OFF_ROAD]


def test_a_silent_driver_is_lost_after_the_time_out_and_the_vehicle_coasts() -> None:
    drive = by_hand()
    heard = np.array([0.15, 0.2, 0.0, 0.0, 100.0])
    drive.step()
    assert names(drive) == [fallbacks.DRIVER_LOST]
    for _ in range(1000):
        drive.receive(heard)
        drive.step()
    assert drive.conditions == ()
    assert drive.inputs[:2] == pytest.approx(heard[:2], abs=1e-3)
    assert drive.signals[14] > 0.0  # to the left
    driven = drive.inputs.copy()
    for _ in range(290):
        drive.step()
    assert drive.conditions == ()
    assert drive.inputs == pytest.approx(driven, abs=0.02)
    text = until(drive, fallbacks.DRIVER_LOST, 0.03)
    assert text.startswith("the driver is lost, no messages received: the vehicle coasts, 1.3")
    for _ in range(500):
        drive.step()
    begin = drive.signals[3]
    for _ in range(1000):
        drive.step()
    assert begin - drive.signals[3] == pytest.approx(2.0, abs=0.6)
    assert drive.inputs[0] == pytest.approx(heard[0], abs=0.01)
    assert drive.inputs[1] == 0.0
    assert drive.vehicle.fraction == 1.0
    drive.receive(heard)
    for _ in range(11):
        drive.step()
    assert drive.conditions == ()


def test_a_table_that_does_not_come_home_ends_the_drive_all_the_same() -> None:
    slow = WashoutSettings.model_validate({"kind": "washout", "surge": {"corner": 0.01, "slow_corner": 0.0}})
    drive = drive_of(duration=0.1, speed=0.0, cueing=slow)
    drive.begin(np.array([[0.02, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0] * 6, [0.0] * 6]))
    while not drive.finished:
        assert drive.time < 0.1 + MAX_WAY_HOME
        drive.step()
    assert drive.time == pytest.approx(0.1 + MAX_WAY_HOME)
    assert drive.motion[0, 0] > HOME[0]


def looked(statuses: list[int]) -> Watch:
    seen = Watch(["fl", "fr", "rl", "rr"], PERIOD)
    for k, status in enumerate(statuses):
        seen.update(status, [0.0] * size_of(WATCHED), (k + 1) * PERIOD)
    return seen


def test_steps_that_miss_their_tolerances_count_only_in_a_row() -> None:
    assert not looked([MISSED] * 19 + [SOUND] + [MISSED] * 19).stopped
    failed = looked([MISSED] * 20)
    assert failed.stopped
    (condition,) = failed.conditions
    assert condition.name == fallbacks.NOT_CONVERGED
    assert condition.text == (
        "the vehicle's steps did not converge for 20 ms, it is frozen, 0.02 s after the start"
    )


@pytest.mark.parametrize(
    ("ahead", "aside", "spun"),
    [(10.0, 30.0, False), (10.0, -40.0, True), (-20.0, 0.0, False), (-5.0, 20.0, True), (0.0, 2.9, False)],
)
def test_a_spin_is_a_course_across_the_vehicle(ahead: float, aside: float, spun: bool) -> None:
    seen = Watch(["fl"], PERIOD)
    seen.update(SOUND, [0.0, 0.0, ahead, aside, 0.0, 0.0], 1.0)
    assert seen.spun is spun


@settings(deadline=None, max_examples=60)
@given(st.lists(st.booleans(), min_size=3, max_size=14), st.floats(0.2, 3.0))
def test_racks_never_jump_when_controls_are_taken_or_given(asked: list[bool], frequency: float) -> None:
    model = sedan()
    takeover = Takeover(1)
    rows: list[FloatArray] = []
    times = np.asarray(PERIOD * np.arange(1, 101), dtype=np.float64)
    w = 2.0 * np.pi * frequency
    for k, taken in enumerate(asked):
        at = times + 0.1 * k
        controls, other = no_controls(model, at), no_controls(model, at)
        sine, cosine = 0.03 * np.sin(w * at), 0.03 * np.cos(w * at)
        controls.drives[:, 0, :] = np.column_stack([sine, w * cosine, -w * w * sine])
        controls.driver[:, 0] = 1.0
        other.driver[:, 1] = 0.5
        takeover.ask(taken)
        if takeover.needed:
            takeover.mix(controls, other, times)
        else:
            takeover.note(controls)
        rows.append(np.column_stack([controls.drives[:, 0, :], controls.driver[:, :2]]))
    place, speed, push, throttle, brake = np.vstack(rows).T
    for lower, upper in ((place, speed), (speed, push)):
        steps = np.diff(lower) / PERIOD - 0.5 * (upper[1:] + upper[:-1])
        assert np.abs(steps).max() <= 2e-3 * max(np.abs(upper).max(), 0.1)
    quickest = 1.875 * PERIOD / min(TAKING, GIVING) * 1.01
    assert np.abs(np.diff(throttle)).max() <= quickest
    assert throttle + 2.0 * brake == pytest.approx(1.0)


def test_controls_that_are_taken_are_the_others_and_come_back() -> None:
    model = sedan()
    takeover = Takeover(1)
    times = np.asarray(PERIOD * np.arange(1, 601), dtype=np.float64)

    def controls(rack: float) -> Controls:
        made = no_controls(model, times)
        made.drives[:, 0, 0] = rack
        made.driver[:, 3] = 4.0
        return made

    takeover.note(controls(0.01))
    takeover.ask(True)
    for share, rack, gear in ((1.0, 0.01, 0.0), (0.0, 0.05, 4.0)):
        takeover.ask(share == 1.0)
        own = controls(0.05)
        takeover.mix(own, no_controls(model, times), times)
        assert own.drives[-1, 0] == pytest.approx([rack, 0.0, 0.0])
        assert own.driver[-1, 3] == gear
    assert not takeover.needed


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**40), value=st.floats(-1.0, 1.0), rate=st.floats(0.05, 5.0))
def test_random_wishes_are_smooth_bounded_and_slow_enough(seed: int, value: float, rate: float) -> None:
    wave = Wave.of(seed, 0, STEERING_BAND).slowed_to(rate).beginning_at(value)
    assert wave.at(0.0)[0] == pytest.approx(value)
    times = np.linspace(0.0, 50.0, 2001)
    values, rates = np.array([wave.at(float(time)) for time in times]).T
    assert np.abs(values).max() <= 1.0
    assert np.abs(np.gradient(values, times) - rates)[1:-1].max() < 0.02 * max(np.abs(rates).max(), 0.1)
    assert np.quantile(np.abs(rates), 0.99) <= rate


def test_another_seed_is_another_wish() -> None:
    first, again, other, stream = (
        Wave.of(seed, stream, STEERING_BAND).at(3.0) for seed, stream in ((1, 0), (1, 0), (2, 0), (1, 1))
    )
    assert first == again
    assert len({first, other, stream}) == 3


def test_a_random_pace_begins_at_the_speed_and_never_stands() -> None:
    pace = RandomPace(5, 12.0, 20.0, 2.0)
    speeds = np.array([pace(float(time))[0] for time in np.arange(0.0, 3600.0, 1.0)])
    assert speeds[0] == pytest.approx(12.0)
    assert 0.15 * 20.0 <= speeds.min() < 5.0
    assert 18.0 < speeds.max() <= 20.0
