"""Noise of a given density, and records that are corrected and integrated."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import signal

from mastd.motion.random import random_displacement
from mastd.motion.records import correct
from mastd.signals import filters, spectra

SPACING = 1e-3
BREAKS = (np.array([1.0, 5.0, 20.0]), np.array([0.01, 0.5, 0.05]))


def accelerations(displacement: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the second differences of the inner part."""
    return np.asarray(np.gradient(np.gradient(displacement, SPACING), SPACING)[200:-200])


def test_density_of_the_noise() -> None:
    """Welch's estimate of the acceleration lies on the break points' lines and vanishes outside."""
    displacement = random_displacement(200_000, SPACING, BREAKS, 10.0, [5])
    frequency, density = spectra.power_spectral_density(accelerations(displacement), SPACING, 8192)
    for at, wanted in (
        (1.5, 0.01 * (1.5 / 1.0) ** 2.4307),
        (5.0, 0.5),
        (10.0, 0.5 * 2.0**-1.661),
        (15.0, 0.0807),
    ):
        near = (frequency > at / 1.06) & (frequency < at * 1.06)
        assert np.mean(density[near]) == pytest.approx(wanted, rel=0.15)
    assert np.max(density[frequency > 21.0]) < 1e-3
    assert np.max(density[frequency < 0.8]) < 1e-3


@pytest.mark.parametrize("sigma", [2.5, 3.0, 4.0])
def test_peaks_are_clipped_and_the_level_kept(sigma: float) -> None:
    """Peaks stay within the clip, the effective value stays that of the density."""
    displacement = random_displacement(120_000, SPACING, BREAKS, sigma, [9])
    acceleration = accelerations(displacement)
    grid = np.linspace(1.0, 20.0, 20_001)
    density = spectra.interpolate_density(*BREAKS, grid)
    effective = np.sqrt(np.sum((density[1:] + density[:-1]) / 2.0) * (grid[1] - grid[0]))
    assert np.std(acceleration) == pytest.approx(effective, rel=0.03)
    assert np.max(np.abs(acceleration)) <= 1.04 * sigma * effective


def test_noise_is_seeded() -> None:
    """A seed makes its own noise, always the same."""
    first, again, other = (random_displacement(5000, SPACING, BREAKS, 3.0, [s]) for s in (1, 1, 2))
    assert np.array_equal(first, again)
    assert abs(np.corrcoef(first, other)[0, 1]) < 0.5


def test_noise_too_short_for_its_band() -> None:
    """A tenth of a second holds no line of a narrow low band."""
    with pytest.raises(ValueError, match="too short"):
        random_displacement(100, SPACING, (np.array([0.1, 0.2]), np.array([1.0, 1.0])), 3.0, [1])


def test_a_record_is_integrated() -> None:
    """Known motion under offset and trend: they are taken off and stated, the displacement comes back."""
    spacing = 0.005
    times = np.arange(12_000) * spacing
    envelope = np.exp(-(((times - 30.0) / 6.0) ** 2))
    omega = 2.0 * np.pi * 3.0
    # Slow envelope: the displacement of a narrow-band burst is −a/ω² up to the envelope's own slopes.
    truth = -envelope * np.sin(omega * times)
    acceleration = np.gradient(np.gradient(truth, spacing), spacing) + 0.05 - 0.001 * times
    result = correct(acceleration, spacing, (0.3, 30.0), "linear", SPACING)
    start = round(result.report.padding / SPACING)
    played = result.displacement[start : start + 5 * (len(times) - 1) + 1 : 5]
    middle = slice(1000, -1000)
    assert np.max(np.abs(played[middle] - truth[middle])) < 0.004
    assert result.report.slope == pytest.approx(-0.001, rel=0.02)
    assert result.report.offset == pytest.approx(0.05 - 0.001 * times[-1] / 2.0, abs=1e-4)
    assert result.report.peak_displacement == pytest.approx(1.0, rel=0.01)
    edge = np.max(np.abs(result.displacement[[0, -1]]))
    assert edge < 1e-3


def test_a_line_makes_no_difference_where_lines_are_taken_off() -> None:
    """With ``linear`` any offset and slope leave the displacement as it is, with ``mean`` any offset."""
    noise = np.random.default_rng(1).normal(size=3000)
    times = np.arange(3000) * 0.01
    for baseline, line in (("linear", 5.0 - 0.4 * times), ("mean", 5.0 + 0.0 * times)):
        plain = correct(noise, 0.01, (0.5, 20.0), baseline, SPACING).displacement
        lined = correct(noise + line, 0.01, (0.5, 20.0), baseline, SPACING).displacement
        assert np.allclose(plain, lined, rtol=0.0, atol=1e-9)
    left_in = correct(noise + 5.0, 0.01, (0.5, 20.0), "none", SPACING).displacement
    assert np.max(np.abs(left_in - plain)) > 1e-3


@pytest.mark.parametrize("baseline", ["none", "mean", "linear"])
def test_no_drift_whatever_the_baseline(baseline: str) -> None:
    """Even an offset left in does not run away: the band's lower end bounds the displacement."""
    noise = np.random.default_rng(0).normal(size=4000)
    result = correct(noise + 0.3, 0.01, (0.5, 20.0), baseline, SPACING)
    assert np.max(np.abs(result.displacement)) < 0.3
    assert abs(result.displacement[0]) < 5e-3
    assert abs(result.displacement[-1]) < 5e-3


def test_a_band_above_the_records_rate_is_refused() -> None:
    """A band must lie below half the rate at which the record was taken."""
    with pytest.raises(ValueError, match="below 50 Hz"):
        correct(np.ones(1000), 0.01, (0.5, 60.0), "mean", SPACING)


def test_band_pass_gain_is_that_of_the_filter_run_both_ways() -> None:
    """The gain is the square of Butterworth's high-pass and low-pass: half at the corners, zero at zero."""
    frequency = np.array([0.0, 0.1, 1.0, 5.0, 20.0, 100.0])
    gain = filters.band_pass_gain(frequency, 1.0, 20.0, 4)
    high = signal.butter(4, 2.0 * np.pi * 1.0, "highpass", analog=True, output="sos")
    low = signal.butter(4, 2.0 * np.pi * 20.0, "lowpass", analog=True, output="sos")
    s = 2j * np.pi * frequency
    wanted = np.ones(len(frequency))
    for section in (*high, *low):
        wanted = wanted * np.abs(np.polyval(section[:3], s) / np.polyval(section[3:], s)) ** 2
    assert gain == pytest.approx(wanted, rel=1e-9, abs=1e-12)
    assert gain[[2, 4]] == pytest.approx([0.5, 0.5], rel=1e-4)
