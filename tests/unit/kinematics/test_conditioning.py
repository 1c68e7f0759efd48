"""The condition number of the Jacobian against numpy's, by another way."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mastd.kinematics.conditioning import condition_number


@pytest.mark.parametrize("actuators", [6, 7, 9])
def test_it_is_the_product_of_the_frobenius_norms(actuators: int) -> None:
    random = np.random.default_rng(actuators)
    for _ in range(50):
        jacobian = random.normal(size=(actuators, 6)) * random.uniform(0.1, 3.0, size=6)
        wanted = np.linalg.norm(jacobian) * np.linalg.norm(np.linalg.pinv(jacobian)) / 6.0
        found = condition_number(jacobian, np.ones(6), np.full((6, 6), np.nan))
        assert found == pytest.approx(wanted, rel=1e-6)
        assert np.linalg.cond(jacobian) / 6.0 <= found * (1.0 + 1e-9)
        assert found <= np.linalg.cond(jacobian) * (1.0 + 1e-9)


def test_the_best_table_has_1_and_a_singular_one_is_infinite() -> None:
    work = np.zeros((6, 6))
    assert condition_number(3.0 * np.eye(6), np.ones(6), work) == pytest.approx(1.0)
    singular = np.eye(6)
    singular[5, 5] = 0.0
    assert condition_number(singular, np.ones(6), work) == math.inf
    assert condition_number(np.full((7, 6), np.nan), np.ones(6), work) == math.inf


def test_an_axis_that_guides_hold_does_not_count() -> None:
    freedoms = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 1.0])
    held = np.random.default_rng(3).normal(size=(4, 6)) * freedoms
    free = held[:, freedoms == 1.0]
    expected = np.linalg.norm(free) * np.linalg.norm(np.linalg.pinv(free)) / 3.0
    assert condition_number(held, freedoms, np.full((6, 6), np.nan)) == pytest.approx(expected)
