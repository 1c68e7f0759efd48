"""The master gain: smooth, within the hull of what was asked for, frozen with path time, exact at rest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mastd.arrays import FloatArray
from mastd.control.reference.master_gain import gain_refusal, min_level_time
from mastd.control.reference.reference import MotionLimits, Reference
from mastd.motion.profile.timeline import Timeline, join

DT = 1e-3
LEVEL_TIME = 1.0
LIMITS = MotionLimits(
    np.array([[0.02] * 6, [0.5] * 6, [10.0] * 6]), np.array([[0.5] * 6, [10.0] * 6]), 0.05, 0.4, LEVEL_TIME
)


def shake(seconds: float = 6.0, pause: float = 0.0) -> Timeline:
    """A heave and pitch shaking; it begins at rest after ``pause`` and lasts to the end."""
    times = np.arange(round(seconds / DT) + 1) * DT - pause
    u = np.clip(times / 0.5, 0.0, 1.0)
    rise = u**4 * (35.0 - 84.0 * u + 70.0 * u**2 - 20.0 * u**3)
    samples = np.zeros((len(times), 6))
    samples[:, 2] = 0.01 * rise * np.sin(2 * np.pi * 1.5 * times)
    samples[:, 4] = 0.002 * rise * np.sin(2 * np.pi * 2.1 * times)
    return join([(samples, 1)], 1)


def play(timeline: Timeline, steps: int, levels: dict[int, float], speeds: dict[int, float]) -> FloatArray:
    """Return motion and, in a fifth row, [level, time, speed, 0, 0, 0] of every step."""
    reference = Reference(np.zeros((4, 6)), LIMITS)
    reference.play(np.zeros(6))
    rows = np.zeros((steps, 5, 6))
    for step, row in enumerate(rows):
        if step in levels:
            reference.set_gain(levels[step])
            assert reference.gain_target == levels[step]
        if step in speeds:
            reference.slow(speeds[step])
        reference.advance(DT, timeline)
        row[:4] = reference.motion
        row[4, :3] = reference.gain, reference.time, reference.speed
    return rows


def test_a_level_of_one_leaves_the_path_bit_for_bit() -> None:
    timeline = shake()
    rows = play(timeline, 3000, {}, {})
    assert np.array_equal(rows[:, :4], timeline.sample(rows[:, 4, 1]))


def test_back_at_one_the_path_is_itself_again_bit_for_bit() -> None:
    timeline = shake()
    rows = play(timeline, 5500, {300: 0.2, 700: 1.0}, {})
    assert not np.array_equal(rows[1000, :4], timeline.sample(rows[1000:1001, 4, 1])[0])
    assert np.array_equal(rows[5000:, :4], timeline.sample(rows[5000:, 4, 1]))


def test_a_change_takes_the_level_time_and_settles_exactly() -> None:
    rows = play(shake(), 5000, {1000: 0.3}, {})
    level = rows[:, 4, 0]
    assert level[999] == 1.0
    assert level[1000 + round(LEVEL_TIME / DT)] == pytest.approx(0.3, abs=0.7 * 0.004)
    assert level[1000 + round(0.3 * LEVEL_TIME / DT)] == pytest.approx(0.3, abs=0.7 * 0.45)
    assert level[-1] == 0.3


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 900), st.floats(0.0, 1.5)), min_size=1, max_size=6),
    st.lists(st.tuples(st.integers(1, 900), st.sampled_from([0.0, 1.0])), max_size=4),
)
def test_level_stays_in_the_hull_and_the_motion_is_smooth(
    changes: list[tuple[int, float]], holds: list[tuple[int, float]]
) -> None:
    timeline = shake()
    levels = {sum(step for step, _ in changes[: k + 1]): value for k, (_, value) in enumerate(changes)}
    speeds = {sum(step for step, _ in holds[: k + 1]): value for k, (_, value) in enumerate(holds)}
    rows = play(timeline, 3500, levels, speeds)
    reached = 1.0
    low = high = 1.0
    for step, level in enumerate(rows[:, 4, 0]):
        reached = levels.get(step, reached)
        low, high = min(low, reached), max(high, reached)
        assert low - 1e-12 <= level <= high + 1e-12
    path = timeline.sample(rows[:, 4, 1])[:, 0] * rows[:, 4, 0, None]
    assert np.abs(rows[:, 0] - path).max() <= 1e-15
    v, a, j = (0.01 * 1.5 * (2 * np.pi * 1.6) ** order * 3.0 for order in (1, 2, 3))
    first, second, third = (2.0 * (10.0 / LEVEL_TIME) ** order for order in (1, 2, 3))
    added = 0.01 * third + 3.0 * (second * 0.25 * v + first * 0.3 * a)
    warped = 3.0 * a * 1.5 / 0.4 + v * 4.5 / 0.4**2
    for order in range(2):
        difference = (rows[2:, order] - rows[:-2, order]) / (2 * DT)
        assert np.abs(difference - rows[1:-1, order + 1]).max() <= 0.02 * (v, a)[order]
    assert np.abs(np.diff(rows[:, 0], 3, axis=0)).max() / DT**3 <= j + added + warped


def test_on_hold_the_level_waits_with_path_time() -> None:
    rows = play(shake(), 4000, {1500: 0.4}, {600: 0.0, 2500: 1.0})
    held = rows[1490:2490]
    assert (held[:, 4, 0] == 1.0).all()
    assert (held[:, :4] == held[0, :4]).all(), "not even the pose moves"
    assert rows[-1, 4, 0] < 0.5


def test_while_nothing_is_played_the_level_is_taken_over_at_once() -> None:
    reference = Reference(np.zeros((4, 6)), LIMITS)
    reference.set_gain(0.5)
    assert reference.gain == 0.5
    reference.play(np.zeros(6))
    timeline = shake()
    reference.advance(DT, timeline)
    for _ in range(1500):
        reference.advance(DT, timeline)
    assert reference.motion[0] == pytest.approx(0.5 * timeline.sample(np.array([reference.time]))[0, 0])


def test_a_profile_that_ends_off_neutral_is_settled_only_when_its_level_is() -> None:
    samples = np.zeros((1001, 6))
    u = np.minimum(np.arange(1001) / 900.0, 1.0)
    samples[:, 2] = 0.01 * u**4 * (35.0 - 84.0 * u + 70.0 * u**2 - 20.0 * u**3)
    timeline = join([(samples, 1)], 1)
    reference = Reference(np.zeros((4, 6)), LIMITS)
    reference.play(np.zeros(6))
    for step in range(1100):
        if step == 900:
            reference.set_gain(0.5)
        reference.advance(DT, timeline)
    assert reference.time > timeline.duration
    assert not reference.settled
    for _ in range(5000):
        reference.advance(DT, timeline)
    assert reference.settled
    assert reference.motion[0, 2] == pytest.approx(0.005, abs=1e-12)


@pytest.mark.parametrize(
    ("target", "limit", "said"),
    [
        (-0.01, 1.0, "0 % to 100.0 %"),
        (1.31, 1.3, "0 % to 130.0 %"),
        (float("nan"), 1.0, "not a valid ratio"),
        (float("inf"), 1.0, "not a valid ratio"),
    ],
)
def test_a_level_that_was_not_proved_is_refused_with_what_is_possible(
    target: float, limit: float, said: str
) -> None:
    assert said in gain_refusal(target, limit)


def test_levels_from_nothing_to_the_limit_are_taken() -> None:
    assert not any(gain_refusal(target, 1.3) for target in (0.0, 0.5, 1.0, 1.3))


def test_the_minimum_level_time_keeps_the_jerk() -> None:
    reach, velocity, acceleration, jerk = 0.048, 0.6, 12.0, 250.0
    rate = 10.0 / min_level_time(reach, velocity, acceleration, jerk)
    added = reach * rate**3 + 3 * 0.2306 * velocity * rate**2 + 3 * 0.2707 * acceleration * rate
    assert added == pytest.approx(jerk, rel=1e-6)
