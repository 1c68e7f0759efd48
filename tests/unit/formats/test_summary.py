"""Figures of a channel against exact arithmetic and scipy, whatever the values are."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import signal

from mastd.formats.core.measurement import Channel, Series
from mastd.formats.summary import density, duration, envelope, position_at, segment_of, statistics

MOST = float(np.finfo(np.float64).max)
VALUES = st.lists(
    st.floats(width=64) | st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, MOST, -MOST]),
    max_size=60,
)


@given(VALUES)
def test_figures_are_those_of_exact_arithmetic(values: list[float]) -> None:
    found = statistics(np.array(values))
    sound = [Fraction(value) for value in values if math.isfinite(value)]
    assert found.count == len(values)
    assert found.missing == sum(map(math.isnan, values))
    assert found.infinite == sum(map(math.isinf, values))
    if not sound:
        assert (
            found.minimum
            is found.maximum
            is found.mean
            is found.rms
            is found.deviation
            is found.crest
            is None
        )
        return
    assert found.minimum is not None
    assert found.maximum is not None
    assert found.minimum == min(sound)
    assert found.maximum == max(sound)
    assert found.min_index == next(k for k, value in enumerate(values) if value == found.minimum)
    assert found.max_index == next(k for k, value in enumerate(values) if value == found.maximum)
    largest = max(map(abs, sound)) or Fraction(1)
    # Shares of the largest value, which no square takes past what a float can hold.
    mean = sum(sound) / len(sound) / largest
    rms = math.sqrt(sum((value / largest) ** 2 for value in sound) / len(sound))
    deviation = math.sqrt(sum((value / largest - mean) ** 2 for value in sound) / len(sound))
    for figure, exact in ((found.mean, mean), (found.rms, rms), (found.deviation, deviation)):
        assert figure is not None
        assert math.isfinite(figure)
        assert abs(Fraction(figure) - Fraction(exact) * largest) <= largest * Fraction(1e-14) + Fraction(
            5e-324
        )
    assert (found.crest is None) == (rms == 0.0)
    if found.crest is not None:
        assert found.crest == pytest.approx(1.0 / rms, rel=1e-12)


def test_figures_of_a_series_of_many_blocks() -> None:
    values = np.random.default_rng(4).normal(3.0, 2.0, 700_001)
    values[[262_143, 262_144, 700_000]] = -40.0, 50.0, 50.0
    found = statistics(values)
    assert (found.min_index, found.max_index) == (262_143, 262_144)
    assert found.mean == pytest.approx(values.mean(), rel=1e-12)
    assert found.deviation == pytest.approx(values.std(), rel=1e-12)
    values[300_000:600_000] = np.nan
    found = statistics(values)
    assert found.missing == 300_000
    assert found.rms == pytest.approx(math.sqrt(np.nanmean(values**2)), rel=1e-12)
    assert (found.min_index, found.max_index) == (262_143, 262_144)


def test_places_and_lengths_are_told_where_they_are_known() -> None:
    channels = (Channel("a", "g", np.zeros(4)),)
    even = Series(channels, 0.005, start=1.0)
    assert position_at(even, 3) == 1.0 + 3 * 0.005
    assert duration(even) == 4 * 0.005
    uneven = Series(channels, None, abscissae=np.array([0.0, 1.0, 5.0, math.nan]))
    assert position_at(uneven, 2) == 5.0
    assert position_at(uneven, 3) is None
    assert duration(uneven) is None
    unknown = Series(channels, None)
    assert position_at(unknown, 2) is None
    assert duration(unknown) is None
    assert duration(Series((), 0.1)) is None


@pytest.mark.parametrize("count", [16, 100, 5_000, 300_001])
def test_a_spectrum_is_that_of_welch_over_the_whole_series(count: int) -> None:
    values = np.random.default_rng(count).normal(size=count)
    found = density(values, 0.005)
    assert found is not None
    segment = segment_of(count)
    frequencies, power = signal.welch(values, 200.0, nperseg=segment)
    np.testing.assert_allclose(found[0], frequencies)
    np.testing.assert_allclose(found[1], power, rtol=1e-9)


def test_a_spectrum_of_what_is_missing_is_none() -> None:
    values = np.ones(1000)
    values[999] = np.nan
    assert density(values, 0.01) is None
    assert density(np.ones(15), 0.01) is None
    assert density(np.full(100, 1e300) * np.resize([1.0, -1.0], 100), 0.01) is None, "past the largest float"


@given(
    st.integers(0, 5000).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, 2**32 - 1))),
    st.integers(2, 400),
    st.booleans(),
)
def test_an_envelope_keeps_the_extremes_with_few_places(
    drawn: tuple[int, int], most: int, holes: bool
) -> None:
    count, seed = drawn
    generator = np.random.default_rng(seed)
    values = generator.normal(size=count)
    if holes and count:
        values[generator.integers(0, count, 1 + count // 7)] = np.nan
    picked = envelope(values, most)
    assert (np.diff(picked) > 0).all()
    assert len(picked) <= max(1.5 * most + 3, 2)
    if np.isfinite(values).any():
        assert np.nanmin(values[picked]) == np.nanmin(values)
        assert np.nanmax(values[picked]) == np.nanmax(values)
    assert np.isnan(values[picked]).any() == np.isnan(values).any(), "a gap is seen"


def test_a_road_is_as_long_as_the_way_from_its_first_to_its_last_section() -> None:
    channels = (Channel("v = 0 m", "m", np.zeros(23)),)
    assert duration(Series(channels, 1.0, axis="u", axis_unit="m")) == 22.0
    assert duration(Series(channels, 1.0)) == 23.0
