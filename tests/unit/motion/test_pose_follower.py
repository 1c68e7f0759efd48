"""A rig's pose, followed by the table: in its box whatever comes, late by as much as is told, no swing."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mastd.arrays import FloatArray
from mastd.motion.follower.follower import PoseFollower
from mastd.settings.core.axes import AXES
from mastd.settings.profile.stream import PoseStream, RotationBox, TranslationBox

PERIOD = 1e-3
WHOLE = (1.0, 0.0, 0.0)
HEAVE = TranslationBox(travel=0.025, velocity=0.15, acceleration=2.5, jerk=160.0)
ROLL = RotationBox(travel=0.01, velocity=0.06, acceleration=0.8, jerk=60.0)
WIDE = TranslationBox(travel=0.05, velocity=0.5, acceleration=10.0, jerk=1000.0)
ROUNDING = 1.0 + 1e-9


def stream(**boxes: TranslationBox | RotationBox) -> PoseStream:
    return PoseStream(kind="pose", rig="source", duration=60.0, **boxes)  # type: ignore[arg-type]


def sizes(box: TranslationBox | RotationBox) -> FloatArray:
    return np.array([box.travel, box.velocity, box.acceleration, box.jerk])


@pytest.mark.parametrize("derivatives", [False, True])
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), size=st.sampled_from([0.01, 1.0, 1e6]), every=st.integers(1, 200))
def test_no_pose_whatever_gets_an_axis_out_of_its_box(
    derivatives: bool, seed: int, size: float, every: int
) -> None:
    """Jumps of any size at any rate, with rates and accelerations that do not belong to them."""
    random = np.random.default_rng(seed)
    follower = PoseFollower(stream(heave=HEAVE, roll=ROLL), PERIOD)
    rows = np.zeros((4, 6))
    rows[:, 2], rows[:, 3] = sizes(HEAVE), sizes(ROLL)
    for step in range(1500):
        if step % every == 0:
            values = size * random.uniform(-1.0, 1.0, 18)
        follower.step(values, derivatives, WHOLE)
        assert np.all(np.abs(follower.motion) <= rows * ROUNDING)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_no_message(value: float) -> None:
    follower = PoseFollower(stream(heave=HEAVE), PERIOD)
    values = np.zeros(18)
    values[2] = 0.01
    for _ in range(2000):
        follower.step(values, True, WHOLE)
    stood = follower.motion.copy()
    values[:] = value
    for _ in range(100):
        follower.step(values, True, WHOLE)
    assert follower.motion == pytest.approx(stood, abs=1e-9)
    assert stood[0, 2] == pytest.approx(0.01, abs=1e-6)


def sine_response(frequency: float, size: float, derivatives: bool, every: int) -> tuple[float, float]:
    """Return amplitude ratio and lag in s of the path behind a rig that gives every n-th period."""
    follower = PoseFollower(stream(heave=WIDE), PERIOD)
    omega, count = 2.0 * math.pi * frequency, 4000
    asked, made, values = np.zeros(count), np.zeros(count), np.zeros(18)
    for step in range(count):
        phase = omega * step * PERIOD
        asked[step] = size * math.sin(phase)
        if step % every == 0:
            values[[2, 8, 14]] = (
                asked[step],
                size * omega * math.cos(phase),
                -size * omega**2 * math.sin(phase),
            )
        follower.step(values, derivatives, WHOLE)
        made[step] = follower.motion[0, 2]
    wave = np.exp(-1j * omega * PERIOD * np.arange(count))[count // 2 :]
    ratio = complex((wave @ made[count // 2 :]) / (wave @ asked[count // 2 :]))
    return abs(ratio), -float(np.angle(ratio)) / omega


@pytest.mark.parametrize(
    ("frequency", "size", "derivatives", "every", "lag", "ratio"),
    [
        (1.0, 0.01, True, 1, 0.0, 1.0),
        (5.0, 0.004, True, 1, 0.0, 1.0),
        (1.0, 0.01, False, 1, 7.96e-3, 0.9994),
        (5.0, 0.004, False, 1, 7.95e-3, 0.985),
        (1.0, 0.01, True, 10, 0.0, 1.0),
        (1.0, 0.01, False, 10, 16.96e-3, 0.9991),
        (5.0, 0.004, False, 10, 16.95e-3, 0.979),
    ],
)
def test_the_lag_is_the_one_that_the_operators_page_tells(
    frequency: float, size: float, derivatives: bool, every: int, lag: float, ratio: float
) -> None:
    found_ratio, found_lag = sine_response(frequency, size, derivatives, every)
    assert found_lag == pytest.approx(lag, abs=0.1e-3)
    assert found_ratio == pytest.approx(ratio, abs=3e-3)


def test_a_jump_becomes_one_move_without_overshoot() -> None:
    follower = PoseFollower(stream(heave=HEAVE), PERIOD)
    values, heights = np.zeros(6), []
    values[2] = 0.02
    for _ in range(1500):
        follower.step(values, False, WHOLE)
        heights.append(follower.motion[0, 2])
    assert max(heights) <= 0.02 + 1e-6
    assert heights[-1] == pytest.approx(0.02, abs=1e-9)
    assert heights[300] > 0.0198, "and swift: 0.15 m/s takes 133 ms for it"


def test_a_pose_beyond_the_travel_is_gone_to_as_far_as_it_goes() -> None:
    follower = PoseFollower(stream(heave=HEAVE), PERIOD)
    for _ in range(2000):
        follower.step(np.full(6, 0.4), False, WHOLE)
    assert 0.98 * HEAVE.travel < follower.motion[0, 2] <= HEAVE.travel
    assert not np.delete(follower.motion, 2, axis=1).any(), "axes without a box stand still"


def test_axes_without_a_box_go_home_gently_from_where_the_table_stood() -> None:
    follower = PoseFollower(stream(heave=HEAVE), PERIOD)
    start = np.zeros((4, 6))
    start[0] = [0.01, -0.01, 0.005, 0.004, -0.004, 0.003]
    follower.begin(start, np.zeros(6))
    rates, furthest = np.zeros(6), np.zeros(6)
    for _ in range(3000):
        follower.step(np.zeros(6), False, WHOLE)
        rates = np.maximum(rates, np.abs(follower.motion[1]))
        furthest = np.maximum(furthest, np.abs(follower.motion[0]))
    assert np.abs(follower.motion[0]).max() < 1e-5
    assert np.all(furthest <= np.abs(start[0]) + 1e-9), "straight home"
    assert np.all(np.delete(rates, AXES.index("heave")) <= 0.02 * ROUNDING)


def test_it_is_copied_in_the_middle_and_goes_on_identically() -> None:
    follower = PoseFollower(stream(heave=HEAVE, roll=ROLL), PERIOD)
    random = np.random.default_rng(4)
    for _ in range(300):
        follower.step(0.01 * random.standard_normal(6), False, WHOLE)
    again = pickle.loads(pickle.dumps(follower))
    for _ in range(300):
        values = 0.01 * random.standard_normal(6)
        for one in (follower, again):
            one.step(values, False, WHOLE)
    assert np.array_equal(follower.motion, again.motion)
    with pytest.raises(ValueError, match="not finite"):
        follower.begin(np.full((4, 6), np.nan), np.zeros(6))
