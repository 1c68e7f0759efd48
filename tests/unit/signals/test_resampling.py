"""Another rate: what lies below both Nyquist frequencies stays, what lies above goes, nothing is shifted."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mastd.arrays import FloatArray
from mastd.signals.resampling import PASS_RATIO, new_count, resample

RATES = [
    (1000.0, 200.0),
    (1000.0, 512.0),
    (200.0, 1000.0),
    (256.0, 1000.0),
    (1000.0, 999.97),
    (1000.0, 1000.0 / math.pi),
    (1000.0 / math.pi, 1000.0),
]
"""Ratios of small whole numbers, of large ones, and of none."""


def sine(frequency: float, rate: float, count: int) -> FloatArray:
    values: FloatArray = np.sin(2.0 * np.pi * frequency * np.arange(count) / rate + 0.4)
    return values


@pytest.mark.parametrize(("rate", "new_rate"), RATES)
@pytest.mark.parametrize("share", [0.02, 0.5, PASS_RATIO])
def test_a_sine_below_the_lower_nyquist_frequency_is_kept_where_it_was(
    rate: float, new_rate: float, share: float
) -> None:
    frequency = share * min(rate, new_rate) / 2.0
    done = resample(sine(frequency, rate, 8000), 1.0 / rate, 1.0 / new_rate)
    edge = math.ceil(70 * new_rate / min(rate, new_rate))
    error = done - sine(frequency, new_rate, len(done))
    assert np.abs(error[edge:-edge]).max() < 1e-4


@pytest.mark.parametrize(("rate", "new_rate"), [(1000.0, 200.0), (1000.0, 512.0), (1000.0, 1000.0 / math.pi)])
@pytest.mark.parametrize("share", [1.0, 1.02, 1.5, 1.9])
def test_a_sine_above_the_new_nyquist_frequency_is_gone(rate: float, new_rate: float, share: float) -> None:
    done = resample(sine(share * new_rate / 2.0, rate, 8000), 1.0 / rate, 1.0 / new_rate)
    assert np.abs(done[70:-70]).max() < 1e-4  # 80 dB


@pytest.mark.parametrize(("rate", "new_rate"), RATES)
def test_offsets_do_not_ring_at_the_ends_and_slopes_stay(rate: float, new_rate: float) -> None:
    times = np.arange(3000) / rate
    values = np.column_stack([np.full(3000, 1e6), 7.0 - 3.0 * times])
    done = resample(values, 1.0 / rate, 1.0 / new_rate)
    assert np.abs(done[:, 0] - 1e6).max() < 1e-8
    assert np.abs(done[:, 1] - (7.0 - 3.0 * np.arange(len(done)) / new_rate)).max() < 1e-5


@pytest.mark.parametrize(("rate", "new_rate"), RATES)
def test_an_impulse_becomes_a_pulse_that_is_symmetric_about_its_place(rate: float, new_rate: float) -> None:
    """So the phase is zero at every frequency."""
    values = np.zeros(4001)
    values[2000] = 1.0
    done = resample(values, 1.0 / rate, 1.0 / new_rate)
    places = np.arange(len(done)) / new_rate - 2000 / rate
    assert abs(np.sum(places * done**2) / np.sum(done**2)) < 2e-3 / min(rate, new_rate)


def test_what_comes_out_has_the_length_that_fits_and_begins_where_it_began() -> None:
    values = np.random.default_rng(2).standard_normal((1001, 2))
    for new_step, count in ((0.005, 201), (0.004, 251), (0.003, 334), (0.0005, 2001), (0.9, 2), (1.0, 2)):
        assert new_count(1001, 0.001, new_step) == count
        assert resample(values, 0.001, new_step).shape == (count, 2)
    ramp = np.arange(1001.0)
    assert resample(ramp, 0.001, 0.005)[0] == pytest.approx(0.0, abs=1e-9)
    assert np.array_equal(resample(values, 0.01, 0.01), values)


@settings(max_examples=40)
@given(
    count=st.integers(0, 400),
    columns=st.integers(1, 3),
    ratio=st.floats(0.02, 50.0) | st.sampled_from([0.1, 0.25, 0.5, 0.75, 2.0, 2.5, 3.0, 7.0]),
)
def test_columns_do_not_touch_each_other_and_it_is_linear(count: int, columns: int, ratio: float) -> None:
    values = np.random.default_rng(count).standard_normal((count, columns))
    done = resample(values, 1.0, ratio)
    assert done.shape == (new_count(count, 1.0, ratio), columns)
    assert np.all(np.isfinite(done))
    for column in range(columns):
        assert np.allclose(resample(values[:, column], 1.0, ratio), done[:, column], atol=1e-12)
    assert np.allclose(resample(5.0 - 2.0 * values, 1.0, ratio), 5.0 - 2.0 * done, atol=1e-9)


@pytest.mark.parametrize(
    ("values", "step", "new_step"),
    [
        ([0.0, math.nan], 1.0, 2.0),
        ([0.0, math.inf], 1.0, 1.0),
        ([0.0, 1.0], 0.0, 1.0),
        ([0.0, 1.0], 1.0, -1.0),
        ([0.0, 1.0], math.nan, 1.0),
        ([0.0, 1.0], 1.0, 1e9),
        ([0.0, 1.0], 1.0, 1e-9),
    ],
)
def test_what_cannot_be_resampled_is_refused(values: list[float], step: float, new_step: float) -> None:
    with pytest.raises(ValueError, match=r"finite|step"):
        resample(np.array(values), step, new_step)
