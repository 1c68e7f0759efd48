"""Figures of accelerations, against systems whose figures are known in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from mastd.arrays import ComplexArray, FloatArray
from mastd.kinematics.control_point import motion_at_point
from mastd.record.acceleration import sines
from mastd.settings.core.axes import AXES
from mastd.signals.acceleration_figures import FIGURES, acceleration_figures
from mastd.signals.distortion import total_harmonic_distortion
from mastd.signals.point_motion import acceleration_at_point, displacement_at_point
from mastd.signals.response_spectrum import octave_points, outside_ratio, response_spectrum
from mastd.signals.transfer_points import transfer_points

RATE = 1000.0
COUNT = 40_000
TIMES = np.arange(COUNT) / RATE
BAND = (0.5, 80.0)
HEAVE = AXES.index("heave")


def noise(seed: int, low: float = 0.5, high: float = 80.0) -> FloatArray:
    """Return flat noise of a band, effective value 1, at rest at both ends."""
    lines = np.fft.rfft(np.random.default_rng(seed).standard_normal(COUNT))
    frequency = np.fft.rfftfreq(COUNT, 1.0 / RATE)
    wave = np.fft.irfft(np.where((frequency >= low) & (frequency <= high), lines, 0.0), COUNT)
    fade = np.clip(np.minimum(TIMES - 1.0, TIMES[-1] - 1.0 - TIMES), 0.0, 1.0)
    faded: FloatArray = wave / np.std(wave) * fade**2 * (3.0 - 2.0 * fade)
    return faded


def through(wave: FloatArray, system: ComplexArray) -> FloatArray:
    """Return what a system, given on the lines of the spectrum, makes of a wave."""
    result: FloatArray = np.fft.irfft(np.fft.rfft(wave) * system, COUNT)
    return result


LINES = np.fft.rfftfreq(COUNT, 1.0 / RATE)


def figures_of(
    achieved: FloatArray, asked: FloatArray, band: tuple[float, float] = BAND, sine: float | None = None
) -> dict[str, float | None]:
    """Return the figures of heave where nothing else moves or is asked to."""
    six = np.zeros((2, len(asked), 6))
    six[0, :, HEAVE], six[1, :, HEAVE] = achieved, asked
    return acceleration_figures(six[0], six[1], RATE, band, {"heave"}, sine)["heave"]


@pytest.mark.parametrize("damping", [0.25, 0.9])
def test_the_points_of_a_second_order_system_are_those_of_its_equation(damping: float) -> None:
    natural = 25.0
    share = (LINES / natural).astype(np.complex128)
    system = 1.0 / (1.0 - share**2 + 2j * damping * share)
    asked = noise(1)
    random = np.random.default_rng(2).standard_normal(COUNT)
    figures = figures_of(through(asked, system) + 0.02 * random, asked)

    def crossing(level: float) -> float:
        """Solve |H|² = level in closed form, from below."""
        b = 2.0 * damping**2 - 1.0
        inner = np.sqrt(b**2 - 1.0 + 1.0 / level)
        roots = np.sqrt(np.array([root for root in (-b - inner, -b + inner) if root > 0.0]))
        return natural * float(roots.min())

    flat = crossing(10**0.15) if damping < 0.5 else crossing(10**-0.15)
    assert figures["flatness_hz"] == pytest.approx(flat, rel=0.04)
    assert figures["bandwidth_hz"] == pytest.approx(crossing(10**-0.3), rel=0.04)
    assert figures["measured_to_hz"] == pytest.approx(80.0, rel=0.05)
    assert figures["thd"] is None


def test_a_delay_is_a_lag_and_nothing_else() -> None:
    lag = 0.0034
    asked = noise(3, 0.5, 20.0)
    figures = figures_of(through(asked, np.exp(-2j * np.pi * LINES * lag)), asked, (0.5, 20.0))
    assert figures["lag_s"] == pytest.approx(lag, abs=1e-5)
    assert figures["best_lag_nrmse"] == pytest.approx(0.0, abs=1e-3)
    # |1 − exp(−iωT)|² over the band as its filter weighs it: half at the corners, as its square.
    inside = (LINES >= 0.5) & (LINES <= 20.0)
    weight = (inside / (1.0 + (np.maximum(LINES, 1e-9) / 20.0) ** 8)) ** 2
    turned = np.sum(weight * np.abs(1.0 - np.exp(-2j * np.pi * LINES * lag)) ** 2)
    assert figures["nrmse"] == pytest.approx(np.sqrt(turned / np.sum(weight)), rel=0.03)
    assert figures["peak_ratio"] == pytest.approx(1.0, abs=1e-2)
    assert figures["spectrum_outside_share"] == 0.0
    # It never leaves, so all are the end of what was asked: lower bounds.
    assert figures["bandwidth_hz"] == figures["flatness_hz"] == figures["measured_to_hz"]
    assert figures["measured_to_hz"] == pytest.approx(20.0, rel=0.05)


def test_a_long_delay_takes_nothing_off_the_transfer_function() -> None:
    asked = noise(8)
    figures = figures_of(through(asked, np.exp(-2j * np.pi * LINES * 0.1)), asked)
    assert figures["flatness_hz"] == figures["measured_to_hz"] == pytest.approx(80.0, rel=0.01)


def test_a_gain_beyond_the_tolerance_puts_the_whole_response_spectrum_outside() -> None:
    asked = noise(4, 0.5, 20.0)
    for gain, outside in ((1.09, 0.0), (1.12, 1.0), (0.88, 1.0)):
        figures = figures_of(gain * asked, asked, (0.5, 20.0))
        assert figures["spectrum_outside_share"] == outside
        assert figures["nrmse"] == pytest.approx(abs(gain - 1.0), rel=1e-6)
        assert figures["best_lag_nrmse"] == pytest.approx(abs(gain - 1.0), rel=1e-6)
    # A line at 10 Hz that was not asked for is outside around there only.
    line = 0.5 * np.sin(2 * np.pi * 10.0 * TIMES)
    share = figures_of(asked + line, asked, (0.5, 20.0))["spectrum_outside_share"]
    assert share is not None
    assert 0.02 < share < 0.4


def test_of_axes_only_the_driven_have_figures_and_the_others_their_cross_axis() -> None:
    asked, achieved = np.zeros((2, COUNT, 6))
    asked[:, HEAVE] = noise(5, 0.5, 20.0)
    achieved[:, HEAVE] = asked[:, HEAVE]
    achieved[:, AXES.index("roll")] = 0.1 / 1.4 * asked[:, HEAVE]
    figures = acceleration_figures(achieved, asked, RATE, (0.5, 20.0), ["heave"])
    assert list(figures) == list(AXES)
    assert all(list(own) == list(FIGURES) for own in figures.values())
    assert figures["roll"]["cross_axis"] == pytest.approx(0.1)
    assert figures["heave"]["cross_axis"] == pytest.approx(0.1)
    assert figures["surge"]["cross_axis"] == 0.0
    assert {value for name, value in figures["roll"].items() if name != "cross_axis"} == {None}
    achieved[7, 0] = np.nan
    bad = acceleration_figures(achieved, asked, RATE, (0.5, 20.0), ["heave"])
    assert {value for own in bad.values() for value in own.values()} == {None}
    with pytest.raises(ValueError, match=r"\(k, 6\)"):
        acceleration_figures(achieved[:, :3], asked[:, :3], RATE, (0.5, 20.0), ["heave"])


@pytest.mark.parametrize("frequency", [5.0, 7.31, 90.0])
def test_the_distortion_of_a_sine_is_what_was_put_in(frequency: float) -> None:
    turn = 2.0 * np.pi * frequency * TIMES
    fade = np.clip(np.minimum(TIMES - 1.0, 31.0 - TIMES) / 2.0, 0.0, 1.0)
    asked = 3.0 * fade * np.sin(turn)
    # In the fades the wrong is larger than in the steady part; harmonic 6 does not count; an offset neither.
    wrong = 0.03 * np.sin(2 * turn + 1.0) + 0.04 * np.cos(3 * turn) + 0.2 * np.sin(6 * turn)
    achieved = 2.9 * np.sin(turn - 0.4) + 2.9 * np.where(fade < 1.0, 20.0, 1.0) * wrong + 0.3
    assert total_harmonic_distortion(achieved, asked, RATE, frequency) == pytest.approx(0.05, rel=2e-3)
    figures = figures_of(achieved, asked, (0.5 * frequency, 2.0 * frequency), frequency)
    assert figures["thd"] == pytest.approx(0.05, rel=2e-3)
    assert figures["bandwidth_hz"] is None  # one frequency says nothing of a band
    assert total_harmonic_distortion(achieved[:4000], asked[:4000], RATE, 4.0 / 2.0) is None
    assert total_harmonic_distortion(achieved, 0.0 * asked, RATE, frequency) is None
    assert total_harmonic_distortion(achieved, asked, RATE, 260.0) is None


def test_harmonics_beyond_half_of_the_rate_do_not_count() -> None:
    turn = 2.0 * np.pi * 170.0 * TIMES
    # The third, at 510 Hz, would show at 490 Hz.
    achieved = np.sin(turn) + 0.1 * np.sin(2 * turn) + 0.5 * np.sin(3 * turn)
    figure = total_harmonic_distortion(achieved, np.sin(turn), RATE, 170.0)
    assert figure == pytest.approx(0.1, rel=1e-3)


def test_response_spectra_of_a_step_and_of_a_sine_at_resonance() -> None:
    zeta = 0.05
    step = np.ones((COUNT, 2)) * (1.0, -2.0)
    step[0] = 0.0
    spectrum = response_spectrum(step, RATE, np.array([0.5, 2.0, 5.0]), zeta)
    overshoot = 1.0 + np.exp(-zeta / np.sqrt(1.0 - zeta**2) * (np.pi - 2.0 * np.arcsin(zeta)))
    assert spectrum[:, 0] == pytest.approx(overshoot, rel=1e-3)
    assert spectrum[:, 1] == pytest.approx(2.0 * overshoot, rel=1e-3)
    sine = np.sin(2.0 * np.pi * 4.0 * TIMES)
    (largest,) = response_spectrum(sine, RATE, np.array([4.0]), zeta)
    assert largest == pytest.approx(np.sqrt(1.0 + 4.0 * zeta**2) / (2.0 * zeta), rel=2e-3)
    # Far above the motion the mass does what the base does.
    (stiff,) = response_spectrum(sine, RATE, np.array([300.0]), zeta)
    assert stiff == pytest.approx(1.0, rel=2e-3)
    assert response_spectrum(np.empty(0), RATE, np.array([4.0])) == pytest.approx(0.0)
    with pytest.raises(ValueError, match="damping"):
        response_spectrum(sine, RATE, np.array([4.0]), 0.0)


def test_points_of_a_spectrum_stand_a_twelfth_of_an_octave_apart_or_closer() -> None:
    points = octave_points((0.5, 20.0))
    assert (points[0], points[-1]) == pytest.approx((0.5, 20.0))
    assert np.diff(np.log2(points)).max() <= 1.0 / 12.0
    assert len(octave_points((1.0, 4.0))) == 25
    with pytest.raises(ValueError, match="ascend"):
        octave_points((0.0, 4.0))
    assert outside_ratio(np.array([1.0, 1.2]), np.array([1.0, 1.0]), 0.1) == 0.5
    assert outside_ratio(np.array([1.0, np.nan]), np.array([1.0, 1.0]), 0.1) == 0.5
    assert outside_ratio(np.array([1.0, 1.2]), np.array([1.0, 0.0]), 0.1) is None
    assert outside_ratio(np.empty(0), np.empty(0), 0.1) is None


def test_what_was_drowned_or_too_short_has_no_transfer_points() -> None:
    asked = noise(6, 0.5, 20.0)
    stranger = noise(7, 0.5, 20.0)
    assert transfer_points(stranger, asked, RATE, (0.5, 20.0), 0.0).measured_to_hz is None
    short = transfer_points(asked[:60], asked[:60], RATE, (0.5, 20.0), 0.0)
    assert short.measured_to_hz is short.bandwidth_hz is short.flatness_hz is None


def test_a_point_moves_as_the_kinematics_say() -> None:
    time = np.arange(2000) / RATE
    waves = 2.0 * np.pi * np.array([1.0, 1.3, 0.7, 2.0, 1.7, 2.3])
    angles = np.outer(time, waves) + np.arange(6.0)
    pose, rate, acceleration = (
        0.2 * np.sin(angles),
        0.2 * waves * np.cos(angles),
        -0.2 * waves**2 * np.sin(angles),
    )
    point = np.array([0.7, -0.4, 1.9])
    expected = np.array([pose, rate, acceleration]).transpose(1, 0, 2).copy()
    for motion in expected:
        motion_at_point(motion, point, motion)
    assert np.allclose(displacement_at_point(pose, point), expected[:, 0], atol=1e-12)
    moved = acceleration_at_point(pose, acceleration, RATE, point)
    # The ends take one-sided differences; a rate from differences is 1e-4 off here.
    assert np.allclose(moved[1:-1], expected[1:-1, 2], atol=5e-3)
    assert np.ptp(expected[:, 2, 0] - acceleration[:, 0]) > 50.0


def test_an_axis_plays_one_sine_if_nothing_else_moves_it() -> None:
    def sine(frequency: object, *axes: str) -> dict[str, object]:
        sizes = {axis: {"amplitude": 1e-3} if axis in axes else None for axis in AXES}
        return {"kind": "sine", "frequency": frequency, "axes": sizes}

    hold, ramp = {"kind": "hold", "duration": 1.0}, {"kind": "ramp", "to": {"roll": 0.0, "yaw": None}}
    noise_of_sway = {"kind": "random", "axes": {"sway": {"density": []}}}
    segments = [
        sine(5.0, "heave", "sway", "roll"),
        hold,
        sine(5.0, "heave"),
        sine(8.0, "yaw"),
        ramp,
        noise_of_sway,
    ]
    assert sines({"segments": segments}) == {"heave": 5.0, "yaw": 8.0}
    assert sines({"segments": [*segments, sine(6.0, "heave")]}) == {"yaw": 8.0}
    assert sines({"segments": [*segments, {"kind": "road"}]}) == {}
    assert sines({"segments": [sine("fast", "heave"), "nonsense"]}) == {}
    assert sines({}) == sines({"segments": 3}) == {}
