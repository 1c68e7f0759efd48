"""One axis in its box: never outside whatever comes, gentle before the wall, quiet at it, and not timid."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mastd.arrays import FloatArray
from mastd.index_table import size_of
from mastd.kernel import kernel
from mastd.motion.washout.limiter import AXIS, BOX, advance_axis, box, enter
from mastd.motion.washout.stopping import highest_position

PERIOD = 1e-3
ROUNDING = 1.0 + 1e-9
BANG, PRESS, WITH_VELOCITY, NOISE, ALTERNATING, WALK = range(6)


@kernel
def drive(
    box: FloatArray,
    axis: FloatArray,
    period: float,
    kind: int,
    size: float,
    steps: int,
    seed: int,
    found: FloatArray,
) -> None:
    """Press an axis in one of the ways above; greatest |x|, |v|, |a|, |jerk| in periods and within them.

    ``found`` (7,): those four, changes of the jerk's sign that are no rounding, greatest acceleration against
    what is asked, way.
    """
    np.random.seed(seed)
    wanted, last, left = 0.0, 0.0, 0
    for k in range(steps):
        if kind == BANG:
            if left <= 0:
                wanted = size if np.random.random() < 0.5 else -size
                left = int(np.random.exponential() * 0.3 / period)
            left -= 1
        elif kind == PRESS:
            wanted = size
        elif kind == WITH_VELOCITY:
            wanted = size if axis[1] >= 0.0 else -size
        elif kind == NOISE:
            wanted = size * (np.random.random() - 0.5)
        elif kind == ALTERNATING:
            wanted = size if k % 2 == 0 else -size
        else:
            wanted = 0.999 * wanted + 0.02 * size * (np.random.random() - 0.5)
        x, v, a = axis[0], axis[1], axis[2]
        advance_axis(box, axis, wanted, period)
        jerk = axis[3]
        for part in range(1, 5):
            t = 0.25 * part * period
            found[0] = max(found[0], abs(x + t * (v + t * (0.5 * a + t * jerk / 6.0))))
            found[1] = max(found[1], abs(v + t * (a + 0.5 * t * jerk)))
        found[2] = max(found[2], abs(axis[2]))
        found[3] = max(found[3], abs(jerk))
        if abs(jerk) > 1e-3 * box[BOX.max_jerk]:
            if jerk * last < 0.0:
                found[4] += 1.0
            last = jerk
        found[5] = max(found[5], -axis[2] if wanted > 0.0 else axis[2])
        found[6] += abs(axis[0] - x)


def at_rest(limits: FloatArray) -> FloatArray:
    axis = np.zeros(size_of(AXIS))
    enter(limits, axis, 0.0, 0.0, 0.0)
    return axis


@pytest.mark.parametrize("kind", range(6))
def test_no_way_of_pressing_gets_out_of_the_box(kind: int) -> None:
    """Boxes of many shapes, at periods from 0.1 to 10 ms, with soft and hard braking before the wall."""
    random = np.random.default_rng(kind)
    for seed in range(60):
        travel, velocity = 10.0 ** random.uniform(-2.6, -1.0), 10.0 ** random.uniform(-2.0, 0.0)
        acceleration = 10.0 ** random.uniform(-1.0, 1.0)
        jerk = acceleration * 10.0 ** random.uniform(0.7, 2.3)
        braking = acceleration * 10.0 ** random.uniform(-1.5, 0.0)
        period = 10.0 ** random.uniform(-4.0, -2.0)
        limits = box(travel, velocity, acceleration, jerk, braking, period)
        found = np.zeros(7)
        drive(limits, at_rest(limits), period, kind, 10.0 * acceleration, 3000, seed, found)
        bounds = np.array([travel, velocity, acceleration, jerk])
        assert np.all(found[:4] <= bounds * ROUNDING), (travel, velocity, acceleration, jerk, braking, period)


@pytest.mark.parametrize("kind", [BANG, WITH_VELOCITY, WALK])
def test_ten_minutes_in_the_box(kind: int) -> None:
    limits = box(0.024, 0.11, 2.0, 40.0, 0.1, PERIOD)
    found = np.zeros(7)
    drive(limits, at_rest(limits), PERIOD, kind, 20.0, 600_000, 7, found)
    assert np.all(found[:4] <= np.array([0.024, 0.11, 2.0, 40.0]) * ROUNDING)
    assert found[0] > 0.023


@settings(max_examples=60)
@given(
    wanted=st.lists(
        st.tuples(st.floats(allow_nan=True, allow_infinity=True), st.integers(1, 120)),
        min_size=1,
        max_size=12,
    )
)
def test_any_number_may_be_asked_for(wanted: list[tuple[float, int]]) -> None:
    limits = box(0.01, 0.08, 3.0, 80.0, 0.5, PERIOD)
    axis = at_rest(limits)
    for value, periods in wanted:
        for _ in range(periods):
            advance_axis(limits, axis, value, PERIOD)
            assert np.all(np.abs(axis[:4]) <= np.array([0.01, 0.08, 3.0, 80.0]) * ROUNDING)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_asks_for_nothing(value: float) -> None:
    limits = box(0.01, 0.08, 3.0, 80.0, 0.5, PERIOD)
    axis = at_rest(limits)
    advance_axis(limits, axis, value, PERIOD)
    assert not np.any(axis[:4])


@pytest.mark.parametrize("braking", [0.1, 0.5, 2.0])
def test_the_wall_is_met_gently_quietly_and_all_the_way(braking: float) -> None:
    """Pressed for 20 s: braked by no more than θ, few changes of jerk, 98 % of the travel used."""
    limits = box(0.024, 0.11, 2.0, 40.0, braking, PERIOD)
    axis, found = at_rest(limits), np.zeros(7)
    drive(limits, axis, PERIOD, PRESS, 20.0, 20_000, 0, found)
    assert found[5] <= braking * ROUNDING
    assert 0.98 * 0.024 <= axis[AXIS.position] <= 0.024
    early = found[4]
    assert early <= 16
    assert abs(axis[AXIS.velocity]) < 1e-6
    drive(limits, axis, PERIOD, PRESS, 20.0, 20_000, 0, found)
    assert found[4] - early <= 2


def test_what_is_safe_is_left_alone() -> None:
    """Well inside, the acceleration asked for is reached after one period."""
    limits = box(0.024, 0.11, 2.0, 40.0, 0.1, PERIOD)
    axis = at_rest(limits)
    for k in range(200):
        wanted = 0.3 * math.sin(2.0 * math.pi * 5.0 * k * PERIOD)
        advance_axis(limits, axis, wanted, PERIOD)
        assert axis[AXIS.acceleration] == pytest.approx(wanted, abs=1e-12)


@settings(max_examples=40)
@given(
    place=st.floats(-0.1, 0.1),
    velocity=st.floats(-0.3, 0.3),
    acceleration=st.floats(-4.0, 4.0),
    wanted=st.sampled_from([-20.0, 0.0, 20.0]),
)
def test_from_outside_it_goes_no_further_than_it_must(
    place: float, velocity: float, acceleration: float, wanted: float
) -> None:
    """The planned stop from the first state is the furthest it ever gets, but for a grid's rounding."""
    limits = box(0.01, 0.08, 3.0, 80.0, 0.5, PERIOD)
    axis = np.zeros(size_of(AXIS))
    enter(limits, axis, place, velocity, acceleration)
    stop = (0.95 * 0.5, 0.8 * 80.0)
    upper = max(0.01, highest_position(place, velocity, acceleration, *stop))
    lower = max(0.01, highest_position(-place, -velocity, -acceleration, *stop))
    for _ in range(1500):
        advance_axis(limits, axis, wanted, PERIOD)
        assert -lower - 2e-4 <= axis[AXIS.position] <= upper + 2e-4
        assert abs(axis[AXIS.jerk]) <= 80.0 * ROUNDING


@settings(max_examples=30)
@given(velocity=st.floats(-0.3, 0.3), acceleration=st.floats(-3.0, 3.0))
def test_the_planned_stop_is_that_of_its_equations(velocity: float, acceleration: float) -> None:
    """Against a fine integration of: jerk down to −θ, hold, up so that v and a vanish together."""
    braking, jerk, dt = 0.4, 30.0, 2e-5
    x, v, a, highest = 0.0, velocity, acceleration, 0.0
    for _ in range(200_000):
        # Velocity left if the acceleration were taken back from now on.
        left = v - a * a / (2.0 * jerk) if a < 0.0 else v
        if a > 0.0:
            change = -jerk
        elif left <= 0.0 or a < -braking - jerk * dt:
            change = jerk
        else:
            change = -jerk if a > -braking else 0.0
        x += v * dt + 0.5 * a * dt * dt
        v += a * dt + 0.5 * change * dt * dt
        a += change * dt
        highest = max(highest, x)
        if v <= 0.0 and a <= 0.0:
            break
    assert highest_position(0.0, velocity, acceleration, braking, jerk) == pytest.approx(
        highest, rel=2e-3, abs=5e-6
    )
