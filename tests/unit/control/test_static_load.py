"""Weighing by the actuators' forces, for any layout; and what is a contradiction."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mastd.control.identification.static_load import ActuatorFriction, StaticLoad, contradiction, weigh
from mastd.settings.core.loader import load
from mastd.settings.table.table import TableSettings
from tests.support.lab import ROOT

GRAVITY = 9.81
TABLE = load(ROOT / "config" / "table.yaml", TableSettings)


def layout(actuators: int, seed: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Jacobian (n, 6) of actuators that stand criss-cross under a table."""
    random = np.random.default_rng(seed)
    above = random.uniform(-1.5, 1.5, (actuators, 3))
    along = random.normal(size=(actuators, 3)) + np.array([0.0, 0.0, 1.0])
    along /= np.linalg.norm(along, axis=1)[:, None]
    return np.hstack([along, np.cross(above, along)])


@pytest.mark.parametrize("actuators", [6, 7, 9])
def test_the_weight_is_found_whatever_the_layout_and_the_actuators_do_against_each_other(
    actuators: int,
) -> None:
    jacobian = layout(actuators, actuators)
    mass, x, y = 41e3, 0.13, -0.07
    weight = mass * GRAVITY * np.array([0.0, 0.0, 1.0, y, -x, 0.0])
    other = np.array([1e3, -2e3, 3e3, 4e3, -5e3, 6e3])
    against = np.linalg.svd(jacobian)[0][:, 6:].sum(axis=1) * 50e3
    forces = jacobian @ np.linalg.solve(jacobian.T @ jacobian, weight - other) + against
    found = weigh(jacobian, forces, np.full(actuators, 500.0), other, GRAVITY)
    assert found.mass == pytest.approx(mass)
    assert found.centre == pytest.approx((x, y))


def test_the_doubts_are_those_of_many_weighings_and_an_actuator_that_sticks_hardly_counts() -> None:
    jacobian = layout(8, 3)
    random = np.random.default_rng(1)
    doubts = np.array([200.0] * 7 + [20e3])
    weight = 30e3 * GRAVITY * np.array([0.0, 0.0, 1.0, 0.2, -0.1, 0.0])
    true = jacobian @ np.linalg.solve(jacobian.T @ jacobian, weight)
    several = [
        weigh(jacobian, true + doubts * random.normal(size=8), doubts, np.zeros(6), GRAVITY)
        for _ in range(2000)
    ]
    said = weigh(jacobian, true, doubts, np.zeros(6), GRAVITY)
    assert np.std([one.mass for one in several]) == pytest.approx(said.mass_doubt, rel=0.06)
    for axis in range(2):
        spread = np.std([one.centre[axis] for one in several])
        assert spread == pytest.approx(said.centre_doubt[axis], rel=0.06)
    plain = math.sqrt(np.sum((doubts * jacobian[:, 2]) ** 2)) / GRAVITY
    assert said.mass_doubt < 0.1 * plain, "the sum of all vertical forces is no better than the worst of them"


def test_friction_has_the_sign_of_the_rate_and_none_that_is_known_while_it_sticks() -> None:
    friction = ActuatorFriction.from_settings(TABLE)
    law = TABLE.types[0].cylinder.friction
    rates = np.array([0.02, -0.02, *0.5 * friction.sliding_rates[2:]])
    sliding = law.coulomb + 0.02 * law.viscous
    np.testing.assert_allclose(friction.forces(rates)[:3], [sliding, -sliding, 0.0])
    slides, half, sticks = friction.doubts(np.array([0.0, 0.5, 1.0, 0.0, 0.0, 0.0, 0.0]))[:3]
    assert slides < half < sticks
    assert sticks == pytest.approx(law.breakaway / math.sqrt(3.0), rel=0.1)


def test_only_what_is_certain_and_beyond_the_settings_is_a_contradiction() -> None:
    stated = StaticLoad(47e3, (0.0, 0.0))
    found = StaticLoad(44e3, (0.0, 0.05), 150.0, (0.005, 0.005))
    assert contradiction(found, stated, 4e3, 0.06) == ""
    assert contradiction(found, stated, 2e3, 0.06) == (
        "measured 44.0 ± 0.1 t, expected from the profile 47.0 t"
    )
    assert "50 ± 5 mm further left" in contradiction(found, stated, 4e3, 0.04)
    doubtful = StaticLoad(44e3, (0.0, 0.05), 1.6e3, (0.03, 0.03))
    assert contradiction(doubtful, stated, 2e3, 0.04) == "", "it may be the friction"
    assert contradiction(StaticLoad(math.nan, (0.0, 0.0)), stated, 2e3, 0.04)
