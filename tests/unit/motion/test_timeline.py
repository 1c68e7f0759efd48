"""The spline timeline: exact derivatives, rest at both ends, repeats, accuracy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mastd.arrays import FloatArray
from mastd.motion.profile.fades import REST_KNOTS, rise, smooth_step, window
from mastd.motion.profile.timeline import KNOT_SPACING, Timeline, join


def noise(knots: int, seed: int) -> FloatArray:
    """Return faded low-pass noise in six axes, (knots, 6)."""
    rng = np.random.default_rng(seed)
    kernel = np.hanning(41) / 20.0
    raw = np.column_stack([np.convolve(rng.normal(size=knots + 40), kernel, "valid") for _ in range(6)])
    return 0.01 * raw * window(knots, 100)[:, None]


@pytest.fixture(scope="module")
def timeline() -> Timeline:
    """Return three blocks, the second one played three times, the whole twice."""
    blocks = [(noise(501, 1), 1), (noise(301, 2), 3), (noise(401, 3), 1)]
    return join(blocks, 2)


@settings(max_examples=60, deadline=None)
@given(start=st.floats(0.0, 3.6), length=st.floats(1e-5, 0.05))
def test_derivatives_are_exact(timeline: Timeline, start: float, length: float) -> None:
    """Every derivative integrates to the change of the one before: Gauss's rule is exact on each piece."""
    end = min(start + length, timeline.duration)
    inner = np.arange(np.floor(start / KNOT_SPACING) + 1, np.ceil(end / KNOT_SPACING)) * KNOT_SPACING
    edges = np.concatenate(([start], inner, [end]))
    nodes, weights = np.polynomial.legendre.leggauss(3)
    half, middle = np.diff(edges) / 2.0, (edges[1:] + edges[:-1]) / 2.0
    times = (middle[:, None] + half[:, None] * nodes).ravel()
    inside = timeline.sample(times).reshape(len(half), 3, 4, 6)
    integrals = np.einsum("p,pn,pndx->dx", half, np.broadcast_to(weights, (len(half), 3)), inside)
    ends = timeline.sample(np.array([start, end]))
    for order, scale in ((0, 1e-14), (1, 1e-11), (2, 1e-8)):
        change = ends[1, order] - ends[0, order]
        assert np.allclose(integrals[order + 1], change, rtol=0.0, atol=scale)


def test_jerk_is_continuous_at_the_knots(timeline: Timeline) -> None:
    """No derivative up to the jerk jumps where two pieces, two blocks or two repeats meet."""
    knots = np.arange(1, timeline.end_knot, dtype=np.float64) * KNOT_SPACING
    step = 1e-9
    before, after = timeline.sample(knots - step), timeline.sample(knots + step)
    largest = np.max(np.abs(timeline.sample(knots)), axis=(0, 2))
    jumps = np.max(np.abs(after - before), axis=(0, 2))
    assert np.all(jumps <= largest * 2e-5)


@pytest.mark.parametrize("time_s", [-5.0, 0.0, float("nan"), -float("inf")])
def test_rests_before_the_start(timeline: Timeline, time_s: float) -> None:
    """Before the start the motion stands at its first pose, all derivatives exactly zero."""
    out = np.full((4, 6), np.nan)
    timeline.evaluate(time_s, out)
    assert np.all(out == 0.0)


def test_rests_after_the_end() -> None:
    """After the end the motion stands at its last pose."""
    samples = rise(201)[:, None] * np.array([0.01, 0.0, 0.02, 0.003, 0.0, 0.0])
    timeline = join([(samples, 1)], 1)
    for time_s in (timeline.duration, timeline.duration + 1e-9, 1e9, float("inf")):
        out = np.full((4, 6), np.nan)
        timeline.evaluate(time_s, out)
        assert np.allclose(out[0], samples[-1], rtol=1e-15, atol=0.0)
        assert np.all(np.abs(out[1:]) <= np.array([[1e-14], [1e-11], [1e-8]]))


def test_repeats_play_the_same(timeline: Timeline) -> None:
    """Second and third play of a block, and the second pass of the whole, are the first one again."""
    inside = np.linspace(0.0, 0.299, 57)
    first = timeline.sample(0.5 + inside)
    assert np.allclose(timeline.sample(0.8 + inside), first, rtol=0.0, atol=1e-6)
    assert np.allclose(timeline.sample(1.1 + inside), first, rtol=0.0, atol=1e-6)
    length = timeline.duration / 2.0
    assert length == pytest.approx(0.5 + 3 * 0.3 + 0.4)
    assert np.allclose(timeline.sample(length + 0.5 + inside), first, rtol=0.0, atol=1e-6)


@pytest.mark.parametrize(("frequency", "tolerance"), [(5.0, 2e-9), (20.0, 4e-7), (50.0, 3e-5)])
def test_a_sine_comes_out(frequency: float, tolerance: float) -> None:
    """Up to the acceleration a sampled sine is the sine itself."""
    knots = np.arange(2001) * KNOT_SPACING
    omega = 2.0 * np.pi * frequency
    timeline = join([(np.outer(np.sin(omega * knots), np.ones(6)), 1)], 1)
    times = np.linspace(0.5, 1.5, 997)
    got = timeline.sample(times)[:, :, 3]
    wanted = (np.sin(omega * times), omega * np.cos(omega * times), -(omega**2) * np.sin(omega * times))
    for order, values in enumerate(wanted):
        assert np.max(np.abs(got[:, order] - values)) <= tolerance * omega**order


def test_windows_are_smooth_and_rest_at_their_ends() -> None:
    """A window rises to one and rests over the first and the last knots; too long a fade is shortened."""
    shape = window(1001, 200)
    assert np.all(shape[: REST_KNOTS + 1] == 0.0)
    assert np.all(shape[-REST_KNOTS - 1 :] == 0.0)
    assert np.all(shape[200:801] == 1.0)
    assert np.all(np.diff(shape[:201]) >= 0.0)
    assert np.max(window(101, 5000)) == pytest.approx(1.0)
    third = np.diff(smooth_step(np.linspace(0.0, 1.0, 1001)), 3) * 1e9
    assert abs(third[0]) < 2.0 * 840.0 * 1e-3
    assert np.max(np.abs(np.diff(third))) < 10.0
