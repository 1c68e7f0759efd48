"""Figures of following, against signals whose figures are known in closed form."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mastd.arrays import FloatArray
from mastd.signals.band import band_filter, judging_band
from mastd.signals.metrics import (
    best_lag,
    cross_axis,
    false_reversal,
    nrmse,
    peak_ratio,
    rms,
    second_derivative,
)

RATE = 1000.0


def faded(times: FloatArray, frequencies: tuple[float, ...], length: float = 20.0) -> FloatArray:
    window = np.where((times > 0.0) & (times < length), np.sin(np.pi * times / length) ** 2, 0.0)
    result: FloatArray = window * sum(np.sin(2 * np.pi * f * times + f) for f in frequencies)
    return result


TIMES = np.arange(-1.0, 21.0, 1.0 / RATE)


@given(lag=st.floats(-0.03, 0.06), gain=st.floats(0.5, 1.5))
def test_best_lag_finds_a_delay_to_a_fraction_of_a_sample(lag: float, gain: float) -> None:
    reference = faded(TIMES, (0.7, 1.9, 3.3))
    achieved = gain * faded(TIMES - lag, (0.7, 1.9, 3.3))
    fit = best_lag(achieved, reference, RATE)
    assert fit is not None
    # A wrong gain pulls the best lag aside by less than a tenth of a sample.
    assert fit[1] == pytest.approx(lag, abs=1e-4)
    assert fit[0] == pytest.approx(abs(gain - 1.0), abs=1e-3)


def test_a_cue_that_turns_round_when_the_asking_ends_is_a_reversal_and_one_that_is_late_is_none() -> None:
    asked, given = np.zeros(3000), np.zeros(3000)
    asked[500:1500] = 3.0
    given[550:1550] = 0.5  # late
    assert false_reversal(asked, given, 1e-3) == 0.0
    given[1600:1650] = -2.0
    assert false_reversal(asked, given, 1e-3) == 2.0
    assert false_reversal(-asked, -given, 1e-3) == 2.0
    given[1600:1650], given[1750:1800] = 0.0, -2.0  # later: on its way home, against nothing
    assert false_reversal(asked, given, 1e-3) == 0.0
    assert false_reversal(np.zeros(0), np.zeros(0), 1e-3) == 0.0


def test_of_equal_fits_of_a_sine_the_smallest_lag_counts() -> None:
    reference = np.sin(2 * np.pi * 20.0 * TIMES)
    achieved = np.sin(2 * np.pi * 20.0 * (TIMES - 0.006))
    fit = best_lag(achieved, reference, RATE)
    assert fit is not None
    assert fit[1] == pytest.approx(0.006, abs=1e-5)


def test_nrmse_of_a_delayed_sine_is_twice_the_sine_of_half_the_phase() -> None:
    times = np.arange(0.0, 10.0, 1.0 / RATE)  # whole periods
    reference = np.sin(2 * np.pi * 2.0 * times)
    achieved = np.sin(2 * np.pi * 2.0 * times - 0.3)
    assert nrmse(achieved, reference) == pytest.approx(2.0 * np.sin(0.15), rel=1e-9)
    assert rms(reference) == pytest.approx(np.sqrt(0.5), rel=1e-9)


def test_figures_without_meaning_are_none() -> None:
    zero, bad = np.zeros(100), np.full(100, np.nan)
    signal = np.sin(np.arange(100.0))
    assert nrmse(signal, zero) is None
    assert nrmse(bad, signal) is None
    assert peak_ratio(signal, zero) is None
    assert peak_ratio(np.zeros(0), np.zeros(0)) is None
    assert best_lag(signal, zero, RATE) is None
    assert best_lag(bad, signal, RATE) is None
    assert best_lag(signal, bad, RATE) is None
    assert best_lag(signal[:2], signal[:2], RATE) is None


def test_peak_ratio_takes_the_largest_magnitude_of_either_sign() -> None:
    assert peak_ratio(np.array([0.0, 1.0, -3.0]), np.array([2.0, 0.0, -1.0])) == pytest.approx(1.5)


def test_cross_axis_relates_idle_axes_to_all_driven_and_driven_axes_to_the_worst_idle() -> None:
    accelerations = {"surge": 0.1, "sway": 0.2, "heave": 3.0, "pitch": 4.0}
    ratios = cross_axis(accelerations, frozenset({"heave", "pitch"}))
    assert ratios["surge"] == pytest.approx(0.1 / 5.0)
    assert ratios["sway"] == pytest.approx(0.2 / 5.0)
    assert ratios["heave"] == pytest.approx(0.2 / 3.0)
    assert ratios["pitch"] == pytest.approx(0.2 / 4.0)
    assert set(cross_axis(accelerations, frozenset(accelerations)).values()) == {None}
    assert set(cross_axis(accelerations, frozenset()).values()) == {None}


def test_second_derivative_of_a_sine() -> None:
    wave = np.sin(2 * np.pi * 5.0 * TIMES)
    omega = 2 * np.pi * 5.0
    assert np.max(np.abs(second_derivative(wave, RATE)[1:-1] + omega**2 * wave[1:-1])) < 1e-4 * omega**2


@pytest.mark.parametrize(
    ("frequency", "gain"), [(0.05, 0.0), (0.5, 0.5), (1.6, 1.0), (5.0, 0.5), (50.0, 0.0)]
)
def test_the_band_filter_shifts_nothing_and_halves_at_its_corners(frequency: float, gain: float) -> None:
    times = np.arange(0.0, 80.0, 1.0 / RATE)
    wave = np.sin(2 * np.pi * frequency * times)
    filtered = band_filter(np.column_stack((wave, 2.0 * wave)), RATE, (0.5, 5.0))
    middle = slice(30_000, 50_000)
    assert np.max(np.abs(filtered[middle, 0] - gain * wave[middle])) < 2e-3
    assert np.allclose(filtered[:, 1], 2.0 * filtered[:, 0])


def test_a_band_from_zero_keeps_the_mean_and_one_beyond_the_samples_keeps_all() -> None:
    step = np.where(TIMES < 5.0, 0.0, 1.0)
    assert band_filter(step, RATE, (0.0, 5.0))[-1] == pytest.approx(1.0, abs=1e-6)
    assert np.array_equal(band_filter(step, RATE, (0.0, 450.0)), step)
    assert abs(np.mean(band_filter(step, RATE, (0.5, 450.0)))) < 1e-3
    with pytest.raises(ValueError, match="ascend"):
        band_filter(step, RATE, (5.0, 5.0))
    with pytest.raises(ValueError, match="ascend"):
        band_filter(step, RATE, (float("nan"), 5.0))


def test_a_sine_is_judged_in_an_octave_to_either_side() -> None:
    assert judging_band((2.0, 2.0)) == pytest.approx((1.0, 4.0))
    assert judging_band((0.5, 5.0)) == (0.5, 5.0)
    assert judging_band(None) == (0.0, 50.0)
