"""The speed of path time: bounded, smooth, exact at its ends, whatever target comes at whatever moment."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mastd.arrays import FloatArray
from mastd.control.reference.time_scaling import (
    FIRST,
    INSTANT,
    MAX_FIRST,
    MAX_SECOND,
    MAX_WAY,
    SPEED,
    TIME,
    WARP_SIZE,
    advance_speed,
    least_duration,
    speed_bounds,
)

DT = 1e-3
DURATION = 0.4


def warp_at(speed: float) -> FloatArray:
    warp = np.zeros(WARP_SIZE)
    warp[SPEED] = speed
    warp[[MAX_FIRST, MAX_SECOND]] = speed_bounds(DURATION)
    return warp


def test_a_stop_takes_its_time_and_half_of_it_in_path_time() -> None:
    warp = warp_at(1.0)
    steps = 0
    while warp[SPEED] > 0.0:
        advance_speed(warp, 0.0, DT)
        steps += 1
    assert steps * DT == pytest.approx(DURATION, abs=1.5 * DT)
    assert warp[TIME] == pytest.approx(DURATION / 2, abs=1e-12)
    assert warp[FIRST] == 0.0


@settings(max_examples=60, deadline=None)
@example([(1, 5.960464477539063e-08), (22, 1.0), (66, 0.0)], DT)
@given(
    st.lists(st.tuples(st.integers(1, 300), st.floats(0.0, 1.0)), min_size=1, max_size=12),
    st.sampled_from([DT, 0.37e-3, 5e-3]),
)
def test_any_targets_at_any_moments_keep_the_bounds(changes: list[tuple[int, float]], dt: float) -> None:
    warp = warp_at(0.0)
    first, second = speed_bounds(DURATION)
    rows = [warp.copy()]
    for steps, target in changes:
        for _ in range(steps):
            advance_speed(warp, target, dt)
            rows.append(warp.copy())
    speeds, rates = np.array(rows)[:, SPEED], np.array(rows)[:, FIRST]
    assert ((speeds >= 0.0) & (speeds <= 1.0)).all()
    assert np.abs(rates).max() <= first * (1.0 + 1e-9)
    assert np.abs(np.diff(rates)).max() <= second * (dt + INSTANT) * (1.0 + 1e-6)
    assert np.abs(np.diff(speeds) - dt * rates[:-1]).max() <= second * dt * dt
    for _ in range(round(2.0 * DURATION / dt)):
        advance_speed(warp, changes[-1][1], dt)
    assert (warp[SPEED], warp[FIRST]) == (changes[-1][1], 0.0)


def test_one_long_step_is_many_short_ones() -> None:
    long, short = warp_at(1.0), warp_at(1.0)
    for target in (0.2, 0.9, 0.0):
        advance_speed(long, target, 0.117)
        for _ in range(117):
            advance_speed(short, target, DT)
        assert long[:FIRST] == pytest.approx(short[:FIRST], abs=1e-9)


def test_no_stop_covers_more_than_the_longest_way() -> None:
    first, _ = speed_bounds(DURATION)
    for speed in np.linspace(0.0, 1.0, 21):
        warp = warp_at(0.0)
        while warp[SPEED] < speed:
            advance_speed(warp, 1.0, DT)
        start = warp[TIME]
        assert warp[FIRST] <= first
        for _ in range(1000):
            advance_speed(warp, 0.0, DT)
        assert warp[TIME] - start <= 0.82 * DURATION <= MAX_WAY * DURATION


def test_the_least_duration_keeps_the_jerk() -> None:
    velocity, acceleration, jerk = 0.6, 12.0, 250.0
    first, second = speed_bounds(least_duration(velocity, acceleration, jerk))
    assert 3.0 * acceleration * first + velocity * second == pytest.approx(jerk, rel=1e-9)
