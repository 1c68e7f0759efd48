"""The speed of path time: bounded, smooth, exact at its ends, whatever target comes at whatever moment."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mastd.arrays import FloatArray
from mastd.control.reference.time_scaling import (
    INSTANT,
    MAX_WAY,
    TIME_SCALING,
    advance_time,
    min_stop_time,
    speed_bounds,
)
from mastd.index_table import size_of

DT = 1e-3
DURATION = 0.4


def scaling_at(speed: float) -> FloatArray:
    scaling = np.zeros(size_of(TIME_SCALING))
    scaling[TIME_SCALING.speed] = speed
    scaling[[TIME_SCALING.max_rate, TIME_SCALING.max_acceleration]] = speed_bounds(DURATION)
    return scaling


def test_a_stop_takes_its_time_and_half_of_it_in_path_time() -> None:
    scaling = scaling_at(1.0)
    steps = 0
    while scaling[TIME_SCALING.speed] > 0.0:
        advance_time(scaling, 0.0, DT)
        steps += 1
    assert steps * DT == pytest.approx(DURATION, abs=1.5 * DT)
    assert scaling[TIME_SCALING.time] == pytest.approx(DURATION / 2, abs=1e-12)
    assert scaling[TIME_SCALING.rate] == 0.0


@settings(max_examples=60, deadline=None)
@example([(1, 5.960464477539063e-08), (22, 1.0), (66, 0.0)], DT)
@given(
    st.lists(st.tuples(st.integers(1, 300), st.floats(0.0, 1.0)), min_size=1, max_size=12),
    st.sampled_from([DT, 0.37e-3, 5e-3]),
)
def test_any_targets_at_any_moments_keep_the_bounds(changes: list[tuple[int, float]], dt: float) -> None:
    scaling = scaling_at(0.0)
    first, second = speed_bounds(DURATION)
    rows = [scaling.copy()]
    for steps, target in changes:
        for _ in range(steps):
            advance_time(scaling, target, dt)
            rows.append(scaling.copy())
    speeds, rates = np.array(rows)[:, TIME_SCALING.speed], np.array(rows)[:, TIME_SCALING.rate]
    assert ((speeds >= 0.0) & (speeds <= 1.0)).all()
    assert np.abs(rates).max() <= first * (1.0 + 1e-9)
    assert np.abs(np.diff(rates)).max() <= second * (dt + INSTANT) * (1.0 + 1e-6)
    assert np.abs(np.diff(speeds) - dt * rates[:-1]).max() <= second * dt * dt
    for _ in range(round(2.0 * DURATION / dt)):
        advance_time(scaling, changes[-1][1], dt)
    assert (scaling[TIME_SCALING.speed], scaling[TIME_SCALING.rate]) == (changes[-1][1], 0.0)


def test_one_long_step_is_many_short_ones() -> None:
    long, short = scaling_at(1.0), scaling_at(1.0)
    for target in (0.2, 0.9, 0.0):
        advance_time(long, target, 0.117)
        for _ in range(117):
            advance_time(short, target, DT)
        assert long[: TIME_SCALING.rate] == pytest.approx(short[: TIME_SCALING.rate], abs=1e-9)


def test_no_stop_covers_more_than_the_longest_way() -> None:
    first, _ = speed_bounds(DURATION)
    for speed in np.linspace(0.0, 1.0, 21):
        scaling = scaling_at(0.0)
        while scaling[TIME_SCALING.speed] < speed:
            advance_time(scaling, 1.0, DT)
        start = scaling[TIME_SCALING.time]
        assert scaling[TIME_SCALING.rate] <= first
        for _ in range(1000):
            advance_time(scaling, 0.0, DT)
        assert scaling[TIME_SCALING.time] - start <= 0.82 * DURATION <= MAX_WAY * DURATION


def test_the_minimum_stop_time_keeps_the_jerk() -> None:
    velocity, acceleration, jerk = 0.6, 12.0, 250.0
    first, second = speed_bounds(min_stop_time(velocity, acceleration, jerk))
    assert 3.0 * acceleration * first + velocity * second == pytest.approx(jerk, rel=1e-9)
