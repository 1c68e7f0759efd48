"""Noise of a given density, and recorded series that are corrected, integrated and resampled."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import signal

from mastd.arrays import FloatArray
from mastd.motion.profile.random import random_displacement
from mastd.motion.profile.records import CorrectedRecord, Recorded, TimeBase, correct
from mastd.signals import filters, spectra
from mastd.signals.fourier_sum import fourier_sum

SPACING = 1e-3


def corrected(
    values: FloatArray, step: float, band: tuple[float, float], baseline: str
) -> tuple[CorrectedRecord, FloatArray]:
    """Return a record of accelerations corrected, and its displacement every millisecond."""
    record = Recorded(values, step, 0.0, 2)
    base = TimeBase.of([record], band[0])
    result = correct(record, band, baseline, base)
    return result, result.motion(base.times(SPACING))[0]


BREAKS = (np.array([1.0, 5.0, 20.0]), np.array([0.01, 0.5, 0.05]))


def accelerations(displacement: FloatArray) -> FloatArray:
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
    result, displacement = corrected(acceleration, spacing, (0.3, 30.0), "linear")
    start = round(result.report.padding / SPACING)
    played = displacement[start : start + 5 * (len(times) - 1) + 1 : 5]
    middle = slice(1000, -1000)
    assert np.max(np.abs(played[middle] - truth[middle])) < 0.004
    assert result.report.slope == pytest.approx(-0.001, rel=0.02)
    assert result.report.offset == pytest.approx(0.05 - 0.001 * times[-1] / 2.0, abs=1e-4)
    assert result.report.after.displacement == pytest.approx(1.0, rel=0.01)
    assert result.report.after.velocity == pytest.approx(omega, rel=0.01)
    # The offset alone runs away to half a metre per second squared times a minute squared, over two.
    assert result.report.before.displacement > 50.0
    assert result.report.outside_band < 1e-3
    edge = np.max(np.abs(displacement[[0, -1]]))
    assert edge < 1e-3


def test_a_line_makes_no_difference_where_lines_are_taken_off() -> None:
    """With ``linear`` any offset and slope leave the displacement as it is, with ``mean`` any offset."""
    noise = np.random.default_rng(1).normal(size=3000)
    times = np.arange(3000) * 0.01
    for baseline, line in (("linear", 5.0 - 0.4 * times), ("mean", 5.0 + 0.0 * times)):
        plain = corrected(noise, 0.01, (0.5, 20.0), baseline)[1]
        lined = corrected(noise + line, 0.01, (0.5, 20.0), baseline)[1]
        assert np.allclose(plain, lined, rtol=0.0, atol=1e-9)
    left_in = corrected(noise + 5.0, 0.01, (0.5, 20.0), "none")[1]
    assert np.max(np.abs(left_in - plain)) > 1e-3


@pytest.mark.parametrize("baseline", ["none", "mean", "linear"])
def test_no_drift_whatever_the_baseline(baseline: str) -> None:
    """Even an offset left in does not run away: the band's lower end bounds the displacement."""
    noise = np.random.default_rng(0).normal(size=4000)
    _, displacement = corrected(noise + 0.3, 0.01, (0.5, 20.0), baseline)
    assert np.max(np.abs(displacement)) < 0.3
    assert abs(displacement[0]) < 5e-3
    assert abs(displacement[-1]) < 5e-3


def test_a_band_above_the_records_rate_is_refused() -> None:
    """A band must lie below half the rate at which the record was taken."""
    with pytest.raises(ValueError, match="below 50 Hz"):
        corrected(np.ones(1000), 0.01, (0.5, 60.0), "mean")


BURST = 11.0
"""Frequency in Hz of a burst whose three derivatives are known."""


def burst(times: NDArray[np.floating], derivative: int) -> FloatArray:
    """Return a derivative of exp(−(t/0.4)²) sin(2π·11 t), which is band-limited to some 7 to 15 Hz."""
    width, omega = 0.4, 2.0 * np.pi * BURST
    complex_rate = -2.0 * times / width**2 + 1j * omega
    series = np.exp(-((times / width) ** 2)) * np.exp(1j * omega * times)
    if derivative == 1:
        series = series * complex_rate
    elif derivative == 2:
        series = series * (complex_rate**2 - 2.0 / width**2)
    return np.asarray(series.imag)


@pytest.mark.parametrize("derivative", [0, 1, 2])
@pytest.mark.parametrize("angular", [False, True])
def test_whatever_was_recorded_the_displacement_is_the_same(derivative: int, angular: bool) -> None:
    """Accelerations, velocities and displacements of one motion are played as that motion."""
    step, begin = 1.0 / 256.0, -5.0
    times = begin + step * np.arange(2560)
    record = Recorded(burst(times, derivative), step, begin, derivative, angular)
    base = TimeBase.of([record], 1.0)
    result = correct(record, (1.0, 60.0), "mean", base)
    first, spacing, count = base.times(SPACING)
    at = first + spacing * np.arange(count)
    for order, moved in enumerate(result.motion((first, spacing, count), (0, 1, 2))):
        truth = burst(at, order)
        assert np.max(np.abs(moved - truth)) < 2e-4 * np.max(np.abs(truth))
    peaks = vars(result.report.after).values()
    plain = vars(result.report.before).values()
    for after, before, order in zip(peaks, plain, (2, 1, 0), strict=True):
        assert after == pytest.approx(np.max(np.abs(burst(at, order))), rel=1e-3)
        assert before == pytest.approx(after, rel=0.05)
    assert ("angular" in result.report.quantity or result.report.quantity == "angle") is angular


@settings(max_examples=25, deadline=None)
@given(st.floats(1e-3, 0.02), st.floats(-1.0, 1.0), st.integers(0, 300), st.integers(0, 300))
def test_records_of_any_step_and_start_are_not_moved_against_each_other(
    step: float, offset: float, before: int, after: int
) -> None:
    """One motion recorded twice, at unlike steps, starts and lengths, comes out the same to 20 ns of time."""
    half = 2.5
    start = -half + offset * 0.1
    times = start + step * np.arange(round(2.0 * half / step) + after)
    coarse = Recorded(burst(times, 2), step, start, 2)
    begin = -half - before * 0.0047
    fine = Recorded(burst(begin + 0.0047 * np.arange(1200 + before), 2), 0.0047, begin, 2)
    base = TimeBase.of([coarse, fine], 1.0)
    played = [
        correct(one, (1.0, 20.0), "none", base).motion(base.times(SPACING))[0] for one in (coarse, fine)
    ]
    assert len(played[0]) == len(played[1])
    # One of the two shifted by dt would differ by 2π f dt at most.
    assert np.max(np.abs(played[0] - played[1])) < 2.0 * np.pi * BURST * 2e-8 + 1e-6


@pytest.mark.parametrize(("frequency", "spacing"), [(1200.0, SPACING), (1200.0, 4e-3), (470.0, 4e-3)])
def test_a_line_above_the_knots_rate_leaves_no_trace(frequency: float, spacing: float) -> None:
    """A record at 5 kHz with a line at 1.2 kHz runs as the same record without the line.

    Taken every 1 ms the line would lie at 200 Hz; every 4 ms, at a length scale of 1/16, at 50 Hz, and one of
    470 Hz at 30 Hz. It is so strong that what the band-pass leaves of it would be seen there.
    """
    times = -3.0 + 2e-4 * np.arange(30_000)
    base_motion = burst(times, 2)
    line = 1e7 * np.exp(-(times**2)) * np.sin(2.0 * np.pi * frequency * times)
    played = []
    for values in (base_motion, base_motion + line):
        record = Recorded(values, 2e-4, -3.0, 2)
        base = TimeBase.of([record], 1.0)
        played.append(correct(record, (1.0, 60.0), "none", base).motion(base.times(spacing), (0, 2)))
    (plain, plain_rate), (lined, lined_rate) = played
    assert np.max(np.abs(plain - lined)) < 1e-8
    assert np.max(np.abs(plain_rate - lined_rate)) < 1e-4
    inside = slice(round(7.0 / spacing), round(11.0 / spacing))
    truth = burst(-3.0 - 6.0 + spacing * np.arange(len(plain)), 0)
    assert np.max(np.abs(plain[inside] - truth[inside])) < 2e-4


def test_energy_outside_the_band_is_told() -> None:
    """Two sines of 3 and 4 units of size, one outside the band: it has 16 of 25 parts of the energy."""
    times = 0.004 * np.arange(25_000)
    values = 3.0 * np.sin(2.0 * np.pi * 5.0 * times) + 4.0 * np.sin(2.0 * np.pi * 40.0 * times) + 7.0
    report = corrected(values, 0.004, (1.0, 20.0), "mean")[0].report
    assert report.outside_band == pytest.approx(16.0 / 25.0, abs=0.005)
    assert report.offset == pytest.approx(7.0, abs=1e-3)
    assert report.band == (1.0, 20.0)
    assert report.before.acceleration == pytest.approx(14.0, rel=0.02)
    assert report.after.acceleration == pytest.approx(3.0, rel=0.02)


@settings(max_examples=50, deadline=None)
@given(
    st.integers(1, 40),
    st.integers(1, 60),
    st.floats(0.5, 1e3),
    st.floats(-1e3, 1e3),
    st.floats(1e-6, 0.4),
    st.integers(0, 2**32 - 1),
)
def test_a_fourier_sum_is_the_sum(
    lines: int, count: int, period: float, first: float, share: float, seed: int
) -> None:
    """Every value of the fast sum is the sum written out."""
    generator = np.random.default_rng(seed)
    amplitudes = generator.normal(size=(2, lines)) + 1j * generator.normal(size=(2, lines))
    spacing = share * period
    turns = np.outer(np.arange(lines), first / period + share * np.arange(count))
    written_out = amplitudes @ np.exp(2j * np.pi * turns)
    fast = fourier_sum(amplitudes, period, first, spacing, count)
    assert np.max(np.abs(fast - written_out)) < 1e-9 * lines


def test_a_long_fourier_sum_keeps_its_digits() -> None:
    """A single line over a hundred thousand places: a sine of exactly its frequency to the end."""
    lines = np.zeros(40_000, dtype=np.complex128)
    lines[39_999] = 1.0
    values = fourier_sum(lines, 312.5, -6.0, 1e-3, 300_000)
    places = np.array([0, 1, 7, 150_001, 299_999])
    wanted = np.exp(2j * np.pi * ((39_999 / 312.5 * (-6.0 + 1e-3 * places)) % 1.0))
    assert np.max(np.abs(values[places] - wanted)) < 1e-8


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
