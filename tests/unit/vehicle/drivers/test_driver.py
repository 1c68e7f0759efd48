"""Drivers by themselves: how a hand moves a rack, what a course is, how a speed is asked for."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mastd.arrays import FloatArray
from mastd.errors import FormatError
from mastd.vehicle.drivers.base import Hand, Seen
from mastd.vehicle.drivers.course import Course, circle, double_lane_change, read_course, slalom
from mastd.vehicle.drivers.pedals import SpeedController, SpeedGains
from mastd.vehicle.manoeuvres.handling import slow_ramp, swelling_sine

LIMIT, RATE = 0.08, 0.3


def moved(targets: list[float]) -> tuple[FloatArray, FloatArray]:
    """Return times and rows of a hand that gets a new target every 10 ms, ten rows each."""
    hand = Hand(LIMIT, RATE)
    times = np.asarray(np.arange(1, 10 * len(targets) + 1) * 1e-3, dtype=np.float64)
    rows = [hand.move(target, 0.01 * k, times[10 * k : 10 * k + 10]) for k, target in enumerate(targets)]
    return times, np.vstack(rows)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.floats(-0.5, 0.5), min_size=2, max_size=15))
def test_a_hand_keeps_to_travel_and_rate_and_its_rows_are_one_motion(targets: list[float]) -> None:
    held = [target for target in targets for _ in range(25)]
    times, rows = moved(held)
    assert np.abs(rows[:, 0]).max() <= LIMIT
    assert np.abs(rows[:, 1]).max() <= 1.02 * RATE
    # A cubic between the samples: the trapezoid of rate is exact but for the jerk.
    step = np.diff(times)
    mean_rate = np.diff(rows[:, 0]) / step
    trapezoid = 0.5 * (rows[1:, 1] + rows[:-1, 1]) - np.diff(rows[:, 2]) * step / 12.0
    assert np.allclose(mean_rate, trapezoid, rtol=0, atol=1e-9)
    mean_acceleration = np.diff(rows[:, 1]) / step
    assert np.allclose(mean_acceleration, 0.5 * (rows[1:, 2] + rows[:-1, 2]), rtol=0, atol=1e-7)


def test_a_hand_arrives_and_does_not_overshoot() -> None:
    _, rows = moved([0.03] * 100)
    assert rows[-1] == pytest.approx([0.03, 0.0, 0.0], abs=1e-4)
    assert rows[:, 0].max() < 0.0302


@settings(deadline=None, max_examples=30)
@given(
    amplitude=st.floats(-0.05, 0.05).filter(lambda value: abs(value) > 1e-3),
    frequency=st.floats(0.1, 3.0),
    periods=st.integers(1, 5),
)
def test_the_sine_begins_and_ends_at_rest_and_its_rows_are_one_motion(
    amplitude: float, frequency: float, periods: int
) -> None:
    times = np.linspace(0.0, 0.5 + periods / frequency + 0.2, 20_001)
    rows = swelling_sine(times, amplitude, frequency, periods, 0.5)
    assert np.array_equal(rows[0], np.zeros(3))
    assert np.allclose(rows[-1], 0.0, rtol=0, atol=1e-12)
    assert abs(np.abs(rows[:, 0]).max() / abs(amplitude) - 1.0) < 0.05
    inner = slice(1, -1)
    for order in (0, 1):
        slope = np.gradient(rows[:, order], times)[inner]
        scale = np.abs(rows[:, order + 1]).max()
        # Differences over the ends of the swelling, where the jerk jumps, are off by up to its half step.
        assert np.abs(slope - rows[inner, order + 1]).max() < 5e-3 * scale


def test_the_slow_ramp_arrives_with_a_steady_rate() -> None:
    times = np.linspace(0.0, 20.0, 20_001)
    rows = slow_ramp(times, 0.01, 1.0, 20.0)
    assert rows[-1] == pytest.approx([0.01, 0.01 / 18.5, 0.0])
    assert np.abs(np.gradient(rows[:, 0], times) - rows[:, 1]).max() < 1e-6
    assert not rows[:1000].any()


@pytest.mark.parametrize(
    "course", [double_lane_change(10.0), slalom(40.0, 30.0, 1.5, 5), circle(-40.0, 10.0, turns=1.0)]
)
def test_heading_and_curvature_are_the_derivatives_of_a_course(course: Course) -> None:
    ahead = np.diff(course.position, axis=0)
    chord = np.unwrap(np.arctan2(ahead[:, 1], ahead[:, 0]))
    middle = 0.5 * (course.heading[1:] + course.heading[:-1])
    assert np.abs(chord - middle).max() < 2e-3
    bend = np.diff(course.heading) / np.diff(course.length)
    between = 0.5 * (course.curvature[1:] + course.curvature[:-1])
    # Half cosines end with a jump of curvature, which falls into one interval.
    assert np.quantile(np.abs(bend - between), 0.9) < 2e-3
    assert np.hypot(*ahead.T) == pytest.approx(np.diff(course.length), rel=1e-3)


@settings(deadline=None, max_examples=60)
@given(length=st.floats(-5.0, 160.0), aside=st.floats(-2.0, 2.0))
def test_the_nearest_point_of_a_course_is_found_from_beside_it(length: float, aside: float) -> None:
    course = double_lane_change(10.0)
    x, y, heading, _ = course.at(length)
    place = x - aside * math.sin(heading), y + aside * math.cos(heading)
    found, beside = course.nearest(*place, length + 3.0)
    assert found == pytest.approx(length, abs=0.05)
    assert beside == pytest.approx(aside, abs=0.01)


def test_the_lane_change_goes_to_the_other_lane_and_back() -> None:
    course = double_lane_change(0.0, -3.0)
    heights = course.position[:, 1]
    assert heights.min() == pytest.approx(-3.0)
    assert heights[0] == heights[-1] == 0.0
    there = course.position[np.abs(heights + 3.0) < 1e-9, 0]
    assert (there[0], there[-1]) == pytest.approx((50.0, 65.0), abs=0.3)


def seen(time: float, speed: float) -> Seen:
    return Seen(time, np.zeros(3), 0.0, np.array([speed, 0.0, 0.0]), 0.0, np.zeros(4), 0.0)


def test_what_cannot_be_had_is_not_summed_up() -> None:
    """A car that may accelerate with 1 m/s² only reaches a speed far away without shooting beyond it."""
    controller = SpeedController(SpeedGains(max_drive=1.0))
    speed, fastest = 0.0, 0.0
    for k in range(6000):
        speed += 0.01 * (controller.demand(20.0, 0.0, seen(0.01 * k, speed)) - 0.1)
        fastest = max(fastest, speed)
    assert speed == pytest.approx(20.0, abs=0.02)
    assert fastest < 20.2


def test_the_course_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "way.csv"
    x = np.linspace(-5.0, 200.0, 50)
    np.savetxt(
        path, np.column_stack([x, 1e-3 * x**2]), delimiter=",", header="x_m,y_m", comments="", fmt="%.9g"
    )
    course = read_course(path, (0.0, 0.0))
    along, _ = course.nearest(100.0, 10.0, 105.0)
    _, _, heading, curvature = course.at(along)
    assert heading == pytest.approx(math.atan(0.2), abs=1e-3)
    assert curvature == pytest.approx(2e-3 / (1.0 + 0.04) ** 1.5, rel=0.02)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x_m,y_m\n0,0\n1,0\n", ["2 points; a course needs three or more"]),
        ("x_m,y_m\n0,0\n1,0\n1,0\n", ["row 3: the same point as in the row before"]),
        (
            "x_m,y_m\n0,9\n0,20\n0,30\n",
            ["turn its points", "heading of 90 deg"],
        ),
        ("x_m,y_m\n0,9\n10,9\n20,9\n", ["begins 9.0 m off the car"]),
    ],
)
def test_courses_that_are_none_are_refused(tmp_path: Path, text: str, told: list[str]) -> None:
    path = tmp_path / "way.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FormatError) as refused:
        read_course(path, (0.0, 0.0))
    for words in told:
        assert words in str(refused.value)
