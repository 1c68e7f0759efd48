"""Columns of times: which are even, with what step, and which are no good axis."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies

from mastd.arrays import FloatArray
from mastd.formats.core.even_axis import even, first_fall, in_seconds

STEPS = strategies.one_of(
    strategies.sampled_from([1e-3, 0.01, 0.005, 1 / 256, 1 / 2048, 1 / 3, 0.1, 2.5]),
    strategies.integers(1, 100_000).map(lambda rate: 1.0 / rate),
)


def _places(start: float, step: float, count: int) -> FloatArray:
    return start + step * np.arange(count, dtype=np.float64)


@settings(max_examples=100)
@given(step=STEPS, count=strategies.integers(2, 3000), begin=strategies.integers(-1000, 1000))
def test_the_step_of_a_recorder_is_found_to_the_last_digit(step: float, count: int, begin: int) -> None:
    start = begin * step
    assert even(_places(start, step, count)) == (start, step)


def test_sums_of_rounded_steps_are_even() -> None:
    found = even(np.cumsum(np.full(600_000, 1e-3)) - 1e-3)
    assert found == (0.0, 1e-3)


def test_times_rounded_to_microseconds_are_even_and_jitter_is_not() -> None:
    times = _places(0.0, 1 / 256, 5000)
    assert even(np.round(times, 6)) == (0.0, 1 / 256)
    times[77] += 1e-5
    assert even(times) is None


def test_times_of_day_far_from_zero_are_even_to_their_last_digit() -> None:
    start = 1_700_000_000.0
    assert even(_places(start, 0.01, 1000)) == (start, 0.01)
    assert even(_places(1e15, 0.01, 1000)) is None


@pytest.mark.parametrize(
    "places",
    [
        [],
        [1.0],
        [0.0, 0.1, 0.3],
        [0.0, 0.1, 0.201],
        [0.0, 0.0, 0.0],
        [0.2, 0.1, 0.0],
        [0.0, 0.2, 0.1],
        [0.0, np.nan, 0.2],
        [0.0, 0.1, np.inf],
        [-1e308, 0.0, 1e308],
    ],
)
def test_uneven_places(places: list[float]) -> None:
    assert even(np.array(places)) is None


def test_where_times_do_not_increase() -> None:
    assert first_fall(np.array([0.0, 0.1, 0.4])) is None
    assert first_fall(np.array([0.0, 0.1, 0.1, 0.2])) == 2
    assert first_fall(np.array([0.0, np.nan, 0.2])) == 1


@pytest.mark.parametrize(
    ("unit", "seconds"), [("s", 7.0), ("ms", 0.007), ("µs", 7e-6), ("ns", 7e-9), ("min", 420.0)]
)
def test_units_of_time(unit: str, seconds: float) -> None:
    found = in_seconds(np.array([7.0]), unit)
    assert found is not None
    assert found[0] == seconds
    assert in_seconds(np.array([7.0]), "mm") is None
    assert in_seconds(np.array([7.0]), "") is None
