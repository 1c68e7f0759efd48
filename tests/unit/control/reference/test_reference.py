"""The reference generator: continuity, limits, and that slowing down never leaves the path."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mastd.arrays import FloatArray
from mastd.control.reference.reference import MotionLimits, Reference
from mastd.motion.profile.timeline import join

DT = 1e-3
MOVE = np.array([[0.02] * 6, [0.5] * 6, [10.0] * 6])
LIMITS = MotionLimits(MOVE, np.array([[0.5] * 6, [10.0] * 6]), 0.05, 0.4)


def run(reference: Reference, steps: int) -> FloatArray:
    rows = np.zeros((steps, 4, 6))
    for row in rows:
        reference.advance(DT)
        row[:] = reference.motion
    return rows


def sine_path(reference: Reference, rows: int, requests: dict[int, float]) -> FloatArray:
    """Play a timeline that shakes in heave, with changes of speed at the given steps."""
    times = np.arange(4001) * DT
    samples = np.zeros((4001, 6))
    u = np.minimum(times / 0.5, 1.0)
    rise = u**4 * (35.0 - 84.0 * u + 70.0 * u**2 - 20.0 * u**3)
    samples[:, 2] = 0.01 * rise * np.sin(2 * np.pi * 1.5 * times)
    timeline = join([(samples, 1)], 1)
    out = np.zeros((rows, 4, 6))
    reference.play(np.zeros(6))
    for step, row in enumerate(out):
        if step in requests:
            reference.slow(requests[step])
        reference.advance(DT, timeline)
        row[:] = reference.motion
    return out


def consistent(rows: FloatArray, tolerance: float, orders: int = 3) -> None:
    """Each derivative is the central difference of the one before, within the discretisation error."""
    for order in range(orders):
        difference = (rows[2:, order] - rows[:-2, order]) / (2 * DT)
        scale = max(1e-6, float(np.abs(rows[:, order + 1]).max()))
        assert np.abs(difference - rows[1:-1, order + 1]).max() <= tolerance * scale


def test_a_move_keeps_its_limits_and_ends_at_rest() -> None:
    reference = Reference(np.zeros((4, 6)), LIMITS)
    reference.rest(np.array([0, 0, -0.05, 0, 0, 0]))
    run(reference, 1)
    target = np.array([0.001, 0, 0, 0.01, 0, 0])
    duration = reference.move(target)
    rows = run(reference, int(duration / DT) + 2)
    assert reference.standing
    assert rows[-1, 0] == pytest.approx(target, abs=1e-12)
    for order in range(3):
        assert (np.abs(rows[:, order + 1]).max(axis=0) <= MOVE[order] * 1.001).all()
    assert np.abs(rows[:, 1]).max() == pytest.approx(0.02, rel=1e-3)
    consistent(rows, 0.01)


@settings(max_examples=25, deadline=None)
@given(st.integers(5, 900), st.integers(5, 900), st.integers(5, 900))
def test_hold_and_resume_at_any_moment_stay_on_the_path_and_are_smooth(
    first: int, second: int, third: int
) -> None:
    reference = Reference(np.zeros((4, 6)), LIMITS)
    rows = sine_path(reference, 4000, {first: 0.0, first + second: 1.0, first + second + third: 0.0})
    consistent(rows, 0.05, 2)
    v, a, j = (0.01 * (2 * np.pi * 1.5) ** order * 1.02 for order in (1, 2, 3))
    own, added = j, 3 * a * 1.5 / 0.4 + v * 4.5 / 0.4**2
    jerk = np.diff(rows[:, 0, 2], 3) / DT**3
    assert np.abs(jerk[600:]).max() <= own + added, "after the rise of the sine, whose jerk is higher"
    assert np.abs(rows[:, 0, 2]).max() <= 0.01 + 1e-12
    assert np.abs(rows[:, 1, 2]).max() <= 0.01 * 2 * np.pi * 1.5 * 1.02
    assert reference.standing


def test_a_brake_takes_the_measured_rate_to_rest_within_the_limits() -> None:
    pose, rates = np.array([0.0, 0, 0.01, 0, 0.002, 0]), np.array([0.0, 0, 0.11, 0, -0.02, 0])
    reference = Reference(np.array([pose, rates, np.zeros(6), np.zeros(6)]), LIMITS)
    reference.brake(pose, rates)
    rows = run(reference, 800)
    assert reference.standing
    assert rows[0, 0] == pytest.approx(pose, abs=2e-4)
    assert np.abs(rows[:, 2]).max() <= 0.5 * 1.001
    assert np.abs(rows[:, 3]).max() <= 10.0 * 1.001
    assert rows[-1, 1:] == pytest.approx(np.zeros((3, 6)), abs=1e-12)
    consistent(rows, 0.02)


def test_what_the_command_was_ahead_when_a_brake_begins_fades_out_without_a_step() -> None:
    pose, rates = np.array([0.0, 0, 0.01, 0, 0, 0]), np.array([0.0, 0, 0.11, 0, 0, 0])
    ahead = np.array([0.0, 0, 0.004, 0, 0, 0])
    reference = Reference(np.array([pose + ahead, rates, np.zeros(6), np.zeros(6)]), LIMITS)
    reference.brake(pose, rates)
    rows = run(reference, 800)
    assert rows[0, 0] == pytest.approx(pose + ahead, abs=2e-4)
    assert np.abs(rows[:, 2]).max() <= 2 * 0.5 * 1.001, "that of the brake and that of the fade"
    consistent(rows, 0.02, 2)
    assert reference.standing
    gentle = 1.875 * 0.11 / 0.5
    assert rows[-1, 0] == pytest.approx(pose + 0.5 * gentle * rates, abs=1e-9), "nothing of it is left"


def test_a_rejoin_starts_where_the_table_is_and_ends_on_the_path() -> None:
    reference = Reference(np.zeros((4, 6)), LIMITS)
    sine_path(reference, 300, {})
    measured = reference.motion[0] + np.array([0.001, 0, -0.002, 0, 0, 0])
    rates = np.array([0.0, 0, 0.03, 0, 0, 0])
    frozen = reference.time
    reference.rejoin(measured, rates)
    rows = run(reference, 3000)
    assert rows[0, 0] == pytest.approx(measured, abs=5e-5)
    assert rows[0, 1] == pytest.approx(rates, abs=2e-3)
    assert reference.time > frozen
    own = 0.01 * (2 * np.pi * 1.5) ** 2
    assert np.abs(rows[:, 2]).max() <= own + 0.5 * 1.1, "the path's own acceleration and the fade's"
    assert reference.motion[0] == pytest.approx(reference.path[0], abs=1e-12)
    assert reference.speed == 1.0


def test_a_rejoin_of_a_held_profile_does_not_start_it() -> None:
    reference = Reference(np.zeros((4, 6)), LIMITS)
    sine_path(reference, 1500, {300: 0.0})
    held = reference.time
    reference.rejoin(reference.motion[0] + 1e-3, np.zeros(6))
    run(reference, 3000)
    assert reference.time == held
    assert reference.standing
